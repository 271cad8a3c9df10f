//! `import`: how a client's connection to a target is (lprocfs_import_seq_show in obdclass).
//!
//! Its many other lines differ between releases and say how the connection was agreed on; they are not looked at.

use crate::text::{Fields, Lines, digits, key_and_value, words};

/// What `import` says of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Import<'a> {
    /// The target, e.g. "scratch-OST0004_UUID".
    pub target: Option<&'a str>,
    /// Its state in Lustre's own word: "FULL" and "IDLE" are fine, "DISCONN" is not.
    pub state: Option<&'a str>,
    /// The server that is connected to.
    pub connection: Option<&'a str>,
    /// Requests under way.
    pub in_flight: Option<u64>,
    /// Requests that were not answered in time.
    pub timeouts: Option<u64>,
    /// Mean time of a request, in microseconds.
    pub mean_microseconds: Option<u64>,
}

impl<'a> Import<'a> {
    /// Reads the text of `import`; lines without a key go to `unknown`. `None` if there is no state.
    pub fn of(text: &'a [u8], mut unknown: impl FnMut(&'a [u8])) -> Option<Self> {
        let mut import = Self::default();
        for line in Lines::of(text).filter(|line| !line.trim_ascii().is_empty()) {
            match key_and_value(line) {
                Some((key, value)) => import.take(key, value),
                None => unknown(line),
            }
        }
        import.state.is_some().then_some(import)
    }

    /// Returns true if the connection can be used.
    pub fn is_connected(&self) -> bool {
        matches!(self.state, Some("FULL" | "IDLE"))
    }

    fn take(&mut self, key: &[u8], value: &'a [u8]) {
        match key {
            b"target" => self.target = words(value),
            b"state" => self.state = words(value),
            b"current_connection" => {
                self.connection = words(value).map(|value| value.trim_matches('"'));
            }
            b"inflight" => self.in_flight = digits(value),
            b"timeouts" => self.timeouts = digits(value),
            b"avg_waittime" => self.mean_microseconds = Fields::of(value).next().and_then(digits),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_forms() {
        let text = b"import:
    name: fs-OST0004-osc-ffff88105db50000
    target: fs-OST0004_UUID
    state: FULL
    connect_flags: [ write_grant, server_lock ]
    connection:
       failover_nids: [ 172.20.20.5@o2ib, 172.20.20.6@o2ib ]
       nids_stats:
          \"172.20.20.5@o2ib\": { connects: 1, replied: 1, uptodate: true, sec_ago: 9 }
       current_connection: \"172.20.20.5@o2ib\"
    rpcs:
       inflight: 3
       unregistering: 0
       timeouts: 2
       avg_waittime: 331 usec
";
        let mut unknown = 0;
        let import = Import::of(text, |_| unknown += 1).unwrap();
        assert_eq!(unknown, 0);
        assert!(import.is_connected());
        assert_eq!(import.target, Some("fs-OST0004_UUID"));
        assert_eq!(import.connection, Some("172.20.20.5@o2ib"));
        assert_eq!((import.in_flight, import.timeouts), (Some(3), Some(2)));
        assert_eq!(import.mean_microseconds, Some(331));
        assert!(!Import::of(b"state: DISCONN", |_| ()).unwrap().is_connected());
        assert_eq!(Import::of(b"import:\n", |_| ()), None);
    }
}
