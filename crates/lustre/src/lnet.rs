//! LNet's counters and tables below `lnet` in debugfs (lnet_debugfs.c).

use crate::text::{Fields, Lines, digits, key_and_value, words};

/// What this node's LNet has sent, received, forwarded and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LnetCounters {
    /// Messages under way.
    pub messages: u64,
    /// The most that were.
    pub messages_most: u64,
    /// Errors.
    pub errors: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Messages forwarded for others.
    pub routed: u64,
    /// Messages dropped.
    pub dropped: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes forwarded for others.
    pub routed_bytes: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
}

impl LnetCounters {
    /// Reads the text of `stats` in debugfs: eleven numbers (proc_lnet_stats).
    pub fn of(text: &[u8]) -> Option<Self> {
        let mut fields = Fields::of(text.trim_ascii());
        let mut next = || fields.next().and_then(digits);
        let counters = Self {
            messages: next()?,
            messages_most: next()?,
            errors: next()?,
            sent: next()?,
            received: next()?,
            routed: next()?,
            dropped: next()?,
            sent_bytes: next()?,
            received_bytes: next()?,
            routed_bytes: next()?,
            dropped_bytes: next()?,
        };
        fields.next().is_none().then_some(counters)
    }

    /// Reads what `lnetctl stats show` prints; lines that are not known go to `unknown`.
    pub fn of_lnetctl<'a>(text: &'a [u8], mut unknown: impl FnMut(&'a [u8])) -> Option<Self> {
        let mut counters = Self::default();
        let mut found = false;
        for line in Lines::of(text).filter(|line| !line.trim_ascii().is_empty()) {
            let Some((key, value)) = key_and_value(line) else {
                unknown(line);
                continue;
            };
            let Some(value) = digits(value) else {
                if key != b"statistics" {
                    unknown(line);
                }
                continue;
            };
            match counters.place(key) {
                Some(place) => (*place, found) = (value, true),
                // The health counters of 2.12 and later: resends and errors by kind.
                None if key.ends_with(b"_count") || key == b"rst_alloc" => {}
                None => unknown(line),
            }
        }
        found.then_some(counters)
    }

    fn place(&mut self, key: &[u8]) -> Option<&mut u64> {
        Some(match key {
            b"msgs_alloc" => &mut self.messages,
            b"msgs_max" => &mut self.messages_most,
            b"errors" => &mut self.errors,
            b"send_count" => &mut self.sent,
            b"recv_count" => &mut self.received,
            b"route_count" => &mut self.routed,
            b"drop_count" => &mut self.dropped,
            b"send_length" => &mut self.sent_bytes,
            b"recv_length" => &mut self.received_bytes,
            b"route_length" => &mut self.routed_bytes,
            b"drop_length" => &mut self.dropped_bytes,
            _ => return None,
        })
    }
}

/// The rows of `peers`, `routers` or `nis`, whose columns differ between releases and are named in the first line.
#[derive(Debug, Clone)]
pub struct LnetTable<'a> {
    head: &'a [u8],
    lines: Lines<'a>,
}

/// A row of such a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LnetRow<'a> {
    head: &'a [u8],
    line: &'a [u8],
}

/// Reads a table of LNet's.
pub fn lnet_table(text: &[u8]) -> LnetTable<'_> {
    let mut lines = Lines::of(text);
    LnetTable { head: lines.next().unwrap_or_default(), lines }
}

impl<'a> Iterator for LnetTable<'a> {
    type Item = LnetRow<'a>;

    fn next(&mut self) -> Option<LnetRow<'a>> {
        let line = self.lines.find(|line| !line.trim_ascii().is_empty())?;
        Some(LnetRow { head: self.head, line })
    }
}

impl<'a> LnetRow<'a> {
    /// Returns the row's field in the first column of that name.
    pub fn field(&self, column: &str) -> Option<&'a str> {
        let place = Fields::of(self.head).position(|name| name == column.as_bytes())?;
        words(Fields::of(self.line).nth(place)?)
    }

    /// Returns whether it is up, whatever the release calls that; `None` where it is not said.
    pub fn is_up(&self) -> Option<bool> {
        let word = ["status", "state", "alive"].into_iter().find_map(|name| self.field(name))?;
        match word {
            "up" => Some(true),
            "down" => Some(false),
            _ => None,
        }
    }

    /// Returns the line as it is.
    pub fn text(&self) -> &'a [u8] {
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_debugfs_and_lnetctl() {
        let text = b"0 28 0 101719323 101719291 0 5 21201322992 53029565353720 0 0\n";
        let counters = LnetCounters::of(text).unwrap();
        assert_eq!((counters.sent, counters.dropped), (101_719_323, 5));
        assert_eq!(counters.received_bytes, 53_029_565_353_720);
        assert_eq!(LnetCounters::of(b"1 2 3"), None);
        assert_eq!(LnetCounters::of(b""), None);
        let mut unknown = Vec::new();
        let text = b"statistics:\n    msgs_alloc: 1\n    resend_count: 0\n    send_length: 7\n    mood: good\n";
        let counters = LnetCounters::of_lnetctl(text, |line| unknown.push(line)).unwrap();
        assert_eq!((counters.messages, counters.sent_bytes), (1, 7));
        assert_eq!(unknown, [b"    mood: good"]);
    }

    #[test]
    fn tables_of_old_and_new_releases() {
        let text = b"nid                      refs state  last   max   rtr   min    tx   min queue
10.0.0.1@o2ib               1    up    -1     8     8     8     8     6 0
10.0.0.2@o2ib               1  down    -1     8     8     8     8     6 64
10.0.0.3@o2ib               1    NA    -1     8     8     8     8     6 0
";
        let rows: Vec<_> = lnet_table(text).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows.iter().map(LnetRow::is_up).collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
        assert_eq!(rows[1].field("queue"), Some("64"));
        let routers = b"Routing disabled\n";
        assert_eq!(lnet_table(routers).count(), 0);
        let text = b"ref  rtr_ref alive router\n3    1       up    10.0.0.9@tcp\n";
        let row = lnet_table(text).next().unwrap();
        assert_eq!((row.field("router"), row.is_up()), (Some("10.0.0.9@tcp"), Some(true)));
    }
}
