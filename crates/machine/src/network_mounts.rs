//! File systems whose storage is elsewhere.

use std::collections::HashSet;

use crate::{Machine, MachineError, Mount, Space};

/// Types of /proc/self/mountinfo, those of FUSE without their "fuse.". Beyond the list of systemd
/// (`fstype_is_network` in src/basic/mountpoint-util.c) those of parallel file systems; Lustre is not
/// among them, because its targets are known one by one.
const NETWORK: [&str; 26] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "beegfs",
    "gpfs",
    "wekafs",
    "pvfs2",
    "orangefs",
    "panfs",
    "dvs",
    "daos",
    "dfuse",
    "juicefs",
    "moosefs",
    "mfs",
    "lizardfs",
    "quobyte",
    "seaweedfs",
    "curvefs",
    "unifyfs",
    "plfs",
    "afs",
];

/// Also on other machines, but not offered as targets: those of Lustre are known one by one, and
/// nobody balances load over a directory of one's own elsewhere.
const REMOTE: [&str; 2] = ["lustre", "fuse.sshfs"];

fn is_network(fs_type: &str) -> bool {
    NETWORK.contains(&fs_type.strip_prefix("fuse.").unwrap_or(fs_type))
}

impl Space {
    /// Returns whether its data lie on other machines.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.fs_type.as_str()) || is_network(&self.fs_type)
    }
}

impl Mount {
    /// Returns whether it is a network file system that may be offered as a target.
    pub fn is_network(&self) -> bool {
        is_network(&self.fs_type)
    }

    /// Returns whether it can be written.
    pub fn is_writable(&self) -> bool {
        let read_only = |options: &str| options.split(',').any(|option| option == "ro");
        !read_only(&self.options) && !read_only(&self.super_options)
    }

    /// Returns the machine that serves it, where the source names exactly one: of NFS and SMB.
    pub fn server(&self) -> Option<String> {
        let source = self.source.to_str()?;
        let host = match self.fs_type.as_str() {
            "nfs" | "nfs4" => source.split_once(":/").map(|(host, _)| host)?,
            "cifs" | "smb3" => source.strip_prefix("//")?.split('/').next()?,
            _ => return None,
        };
        let host = host.trim_matches(['[', ']']);
        (!host.is_empty()).then(|| host.to_owned())
    }
}

impl Machine {
    /// Network file systems other than Lustre, each once, at its first mount that shows the whole of it.
    pub fn network_mounts(&self) -> Result<Vec<Mount>, MachineError> {
        let mut mounts = self.mounts()?;
        mounts.retain(Mount::is_network);
        // A stable sort: mounts of a directory of it (bind mounts) come after those of the whole.
        mounts.sort_by_key(|mount| mount.root.components().count());
        let mut seen = HashSet::new();
        mounts.retain(|mount| seen.insert(mount.device));
        mounts.sort_by(|one, other| one.point.cmp(&other.point));
        Ok(mounts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_mountinfo;
    use plimsoll_domain::Bytes;

    const CAPTURED: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:40 / /home rw,relatime - nfs4 filer:/export/home rw,vers=4.2,addr=10.0.0.2
31 27 0:41 / /gluster rw,relatime - fuse.glusterfs node1:/vol rw,user_id=0
32 27 0:42 /project /scratch/p rw,relatime - ceph 10.0.0.3:6789:/ rw,acl
33 27 0:42 / /ceph rw,relatime - ceph 10.0.0.3:6789:/ rw,acl
34 27 0:43 / /beegfs rw,relatime - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/x.conf
35 27 0:44 / /gpfs/fs1 rw,relatime - gpfs fs1 rw,relatime
36 27 0:45 / /weka rw,relatime - wekafs weka/default rw
37 27 0:46 / /orange rw,relatime - pvfs2 tcp://n:3334/orangefs rw
38 27 0:47 / /old ro,relatime - nfs [fd00::1]:/old ro,vers=3
39 27 0:48 / /lustre rw - lustre 10.0.0.1@tcp:/scratch rw,flock
40 27 0:49 / /me rw - fuse.sshfs me@host:/ rw
41 27 0:50 / /cfuse rw - fuse.ceph-fuse ceph-fuse rw
42 27 0:51 / /win rw - cifs //filer2/share rw
43 27 0:52 / /memory rw - tmpfs tmpfs rw
";

    fn machine() -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), CAPTURED).unwrap();
        let machine = Machine::at(root.path(), "");
        (root, machine)
    }

    #[test]
    fn each_is_found_once_and_where_the_whole_of_it_is_seen() {
        let (_root, machine) = machine();
        let found = machine.network_mounts().unwrap();
        let points: Vec<&str> = found.iter().map(|it| it.point.to_str().unwrap()).collect();
        let wanted = ["/beegfs", "/ceph", "/cfuse", "/gluster", "/gpfs/fs1", "/home", "/old"];
        assert_eq!(points, [&wanted[..], &["/orange", "/weka", "/win"]].concat());
        let read_only: Vec<_> = found.iter().filter(|it| !it.is_writable()).collect();
        assert_eq!(read_only.len(), 1);
    }

    #[test]
    fn what_is_on_other_machines_is_no_place_to_spool() {
        let space = |fs_type: &str| Space {
            fs_type: fs_type.into(),
            mounted_at: "/".into(),
            total: Bytes::new(1),
            available: Bytes::new(1),
        };
        let remote = |fs_type| space(fs_type).is_remote();
        assert!(["lustre", "fuse.sshfs", "fuse.glusterfs", "nfs4"].into_iter().all(remote));
        assert!(!["ext4", "tmpfs", "fuse.mergerfs"].into_iter().any(remote));
    }

    #[test]
    fn servers_are_told_where_there_is_one() {
        let servers: Vec<_> =
            parse_mountinfo(CAPTURED.as_bytes()).iter().filter_map(Mount::server).collect();
        assert_eq!(servers, ["filer", "fd00::1", "filer2"]);
    }
}
