//! File systems to which one node writes: what its kernel tells of a file there is so at every moment.

use std::os::fd::AsFd;

use rustix::fs::fstatfs;

/// File systems (statfs(2)) that have one node: ext4, xfs, tmpfs, btrfs, overlayfs, f2fs, ZFS. What is not listed may have several.
const OF_ONE_NODE: [i64; 7] =
    [0xEF53, 0x5846_5342, 0x0102_1994, 0x9123_683E, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1];

/// Returns whether only this node writes to the file system of a file.
pub fn is_of_one_node(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|it| is_kind_of_one_node(it.f_type))
}

/// Returns whether only one node writes to file systems of this kind (statfs(2)).
pub fn is_kind_of_one_node(kind: i64) -> bool {
    OF_ONE_NODE.contains(&kind)
}
