//! What `lnetctl net show -v` prints: this node's interfaces, with their health.

use crate::text::{Lines, digits, key_and_value, words};

/// An interface of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LnetInterface<'a> {
    /// Its address, e.g. "172.16.0.24@tcp".
    pub nid: &'a str,
    /// Whether it is up.
    pub is_up: Option<bool>,
    /// Messages sent.
    pub sent: Option<u64>,
    /// Messages received.
    pub received: Option<u64>,
    /// Messages dropped.
    pub dropped: Option<u64>,
    /// 1000 if nothing went wrong lately.
    pub health: Option<u64>,
}

/// Reads the interfaces. Other lines are settings, and are not looked at.
pub fn lnetctl_interfaces(text: &[u8]) -> impl Iterator<Item = LnetInterface<'_>> {
    let mut lines = Lines::of(text);
    let mut next_nid = None;
    std::iter::from_fn(move || {
        let nid = next_nid.take().or_else(|| lines.find_map(nid))?;
        let mut interface = LnetInterface {
            nid,
            is_up: None,
            sent: None,
            received: None,
            dropped: None,
            health: None,
        };
        for line in lines.by_ref() {
            next_nid = self::nid(line);
            if next_nid.is_some() {
                break;
            }
            let Some((key, value)) = key_and_value(line) else { continue };
            match key {
                b"status" => interface.is_up = Some(value == b"up"),
                b"send_count" => interface.sent = digits(value),
                b"recv_count" => interface.received = digits(value),
                b"drop_count" => interface.dropped = digits(value),
                b"health value" => interface.health = digits(value),
                _ => {}
            }
        }
        Some(interface)
    })
}

/// "        - nid: 0@lo".
fn nid(line: &[u8]) -> Option<&str> {
    words(line.trim_ascii().strip_prefix(b"- nid:")?.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_has_its_own() {
        let text = b"net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          statistics:
              send_count: 180076
              recv_count: 180072
              drop_count: 4
          health stats:
              health value: 1000
          CPT: \"[0,1,2,3,4]\"
    - net type: tcp
      local NI(s):
        - nid: 172.16.0.24@tcp
          status: down
";
        let interfaces: Vec<_> = lnetctl_interfaces(text).collect();
        assert_eq!(interfaces.len(), 2);
        assert_eq!(interfaces[0].dropped, Some(4));
        assert_eq!(interfaces[0].health, Some(1000));
        assert_eq!((interfaces[1].nid, interfaces[1].is_up), ("172.16.0.24@tcp", Some(false)));
        assert_eq!(interfaces[1].sent, None);
    }
}
