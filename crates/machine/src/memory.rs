//! How much memory there is, from `/proc/meminfo`.

use std::path::PathBuf;

use plimsoll_domain::Bytes;

use crate::{Machine, MachineError};

const MEMINFO: &str = "/proc/meminfo";

/// The machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All that the kernel manages.
    pub total: Bytes,
    /// What programs could get without swapping, as the kernel estimates.
    pub available: Bytes,
    /// What waits to be written to storage.
    pub dirty: Option<Bytes>,
    /// What is being written to storage.
    pub under_write: Option<Bytes>,
}

impl Machine {
    /// Returns the machine's memory.
    pub fn memory(&self) -> Result<Memory, MachineError> {
        let text = self.read("the memory size", MEMINFO)?;
        parse_meminfo(&text).ok_or_else(|| MachineError::Understand {
            what: "the memory size",
            path: PathBuf::from(MEMINFO),
            reason: "no lines \"MemTotal:\" and \"MemAvailable:\" in kB".to_owned(),
        })
    }
}

/// Reads the text of `/proc/meminfo`. Its "kB" are 1024 bytes
/// (Documentation/filesystems/proc.rst, "meminfo").
pub fn parse_meminfo(text: &str) -> Option<Memory> {
    Some(Memory {
        total: field(text, "MemTotal:")?,
        available: field(text, "MemAvailable:")?,
        dirty: field(text, "Dirty:"),
        under_write: field(text, "Writeback:"),
    })
}

fn field(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_total_and_available() {
        let text = "MemTotal:       24682416 kB\nMemFree: 1 kB\nMemAvailable:   23000000 kB\nDirty:    12 kB\n";
        let memory = parse_meminfo(text).unwrap();
        assert_eq!(memory.total, Bytes::new(24_682_416 * 1024));
        assert_eq!(memory.available, Bytes::new(23_000_000 * 1024));
        assert_eq!((memory.dirty, memory.under_write), (Some(Bytes::new(12 * 1024)), None));
        assert_eq!(parse_meminfo("MemTotal: 99999999999999999999 kB\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(MemTotal:|MemAvailable:|kB|\\s|[0-9]|.){0,60}") {
            parse_meminfo(&text);
        }
    }
}
