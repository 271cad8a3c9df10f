//! Sizes of the I/O between a Lustre server and its disk, from `brw_stats`.

use std::collections::BTreeMap;

use plimsoll_lustre::{BrwLine, Histogram};

use crate::Machine;

/// How many disk I/Os a target has done, by size: the largest size of a bin, and its count.
///
/// Lustre counts an I/O in the first bin whose size is not less than its own
/// (lprocfs_oh_tally_log2 in obdclass), so bytes are known up to a factor of two only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrwSizes {
    /// Reads, ascending by size.
    pub reads: BTreeMap<u64, u64>,
    /// Writes, ascending by size.
    pub writes: BTreeMap<u64, u64>,
}

impl Machine {
    /// Returns the disk I/O sizes of a Lustre target that this machine serves, e.g.
    /// "scratch-OST0003". `None` where the file is not there or may not be read.
    pub fn brw_sizes(&self, target: &str) -> Option<BrwSizes> {
        let files = self.lustre_counters();
        let of_target =
            |instance: &str, name: Option<&str>| instance == target && name == Some("brw_stats");
        let mut found = files.iter().filter(|file| {
            of_target(&file.instance, file.path.file_name().and_then(|name| name.to_str()))
        });
        found.find_map(|file| parse_brw_sizes(&self.bytes(&file.path).ok()?))
    }
}

/// Reads the disk I/O sizes in the text of `brw_stats`; `None` when it has none.
pub fn parse_brw_sizes(text: &[u8]) -> Option<BrwSizes> {
    let mut sizes = None;
    for line in plimsoll_lustre::brw_stats(text) {
        match line {
            BrwLine::Head(Histogram::DiskSize) => sizes = Some(BrwSizes::default()),
            BrwLine::Bin(Histogram::DiskSize, bin) => {
                let sizes = sizes.get_or_insert_default();
                sizes.reads.insert(bin.upper, bin.reads);
                sizes.writes.insert(bin.upper, bin.writes);
            }
            _ => {}
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use proptest::prelude::*;

    const CAPTURED: &str = "\
                           read      |     write
I/O time (1/1000s)     ios   % cum % |  ios         % cum %
1:                  521780   1   1   |    0   0   0

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
512:                     1   0   0   |    0   0   0
16K:                  4449   0   0   | 255983  17  40
1M:\t\t              43866371  99 100   | 850248  57 100

                           read      |     write
block maps msec        maps  % cum % |  maps        % cum %
1:           12689 100 100   |    0   0   0
";

    #[test]
    fn reads_sizes_and_nothing_else() {
        let sizes = parse_brw_sizes(CAPTURED.as_bytes()).unwrap();
        let reads: Vec<_> = sizes.reads.into_iter().collect();
        assert_eq!(reads, [(512, 1), (16 << 10, 4449), (1 << 20, 43_866_371)]);
        assert_eq!(sizes.writes[&(1 << 20)], 850_248);
        assert_eq!(parse_brw_sizes(b"snapshot_time: 1"), None);
        assert_eq!(parse_brw_sizes(b"disk I/O size  ios"), Some(BrwSizes::default()));
    }

    #[test]
    fn is_found_for_the_target_that_is_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/kernel/debug/lustre/osd-ldiskfs/fs-OST0001");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("brw_stats"), CAPTURED).unwrap();
        let machine = Machine::at(root.path(), "");
        assert!(machine.brw_sizes("fs-OST0001").is_some());
        assert_eq!(machine.brw_sizes("fs-OST0002"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(disk I/O size\n)?([0-9KMG:| \n]|.){0,120}") {
            parse_brw_sizes(text.as_bytes());
        }
    }
}
