//! What is mounted where, from `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::{DeviceNumber, Machine, MachineError};

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One mount. Fields as in Documentation/filesystems/proc.rst, section 3.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Number of the mount, which no other one has at the same time.
    pub number: u64,
    /// Number of the file system's device; for a disk, that of the disk.
    pub device: DeviceNumber,
    /// The directory *of the file system* that is mounted; "/" unless it is a bind
    /// mount or a cgroup seen from a container.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of this mount.
    pub options: String,
    /// File system type, e.g. "ext4" or "lustre".
    pub fs_type: String,
    /// What is mounted, e.g. "/dev/sda1" or "10.0.0.1@tcp:/scratch".
    pub source: OsString,
    /// Options of the file system.
    pub super_options: String,
}

impl Mount {
    /// Returns who mounted it, if a process of theirs serves it (FUSE): whoever looks at it waits for that process.
    pub fn served_by(&self) -> Option<u32> {
        let is_fuse = self.fs_type.starts_with("fuse");
        let mut options = self.super_options.split(',').filter(|_| is_fuse);
        options.find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
    }

    /// Returns true if the file system itself has the option, e.g. "blkio".
    pub fn has_super_option(&self, option: &str) -> bool {
        self.super_options.split(',').any(|have| have == option)
    }
}

impl Machine {
    /// Returns all mounts that this process sees, in the order they were made.
    pub fn mounts(&self) -> Result<Vec<Mount>, MachineError> {
        let text = self.bytes(MOUNTINFO).map_err(|cause| MachineError::Read {
            what: "the mounts",
            path: PathBuf::from(MOUNTINFO),
            cause,
        })?;
        Ok(parse_mountinfo(&text))
    }

    /// Returns the Lustre file systems among the mounts.
    pub fn lustre_mounts(&self) -> Result<Vec<Mount>, MachineError> {
        let mut mounts = self.mounts()?;
        mounts.retain(|mount| mount.fs_type == "lustre");
        Ok(mounts)
    }

    /// Returns the mount that holds a path. The path must be absolute and free of symlinks.
    pub fn mount_of(&self, path: &Path) -> Result<Option<Mount>, MachineError> {
        let mounts = self.mounts()?;
        // Of several mounts on one directory the last one is visible.
        let depth = |mount: &Mount| mount.point.components().count();
        Ok(mounts.into_iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(depth))
    }
}

/// Reads the text of a mountinfo file. Lines that are not mounts are skipped.
pub fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    // A source may be empty: two blanks in a row.
    let mut fields = line.split(|&byte| byte == b' ');
    let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let _parent = fields.next()?;
    let device = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let root = path(fields.next()?);
    let point = path(fields.next()?);
    let options = text(fields.next()?);
    // Any number of optional fields, ended by a single hyphen.
    fields.by_ref().find(|field| *field == b"-")?;
    let fs_type = text(fields.next()?);
    let source = OsString::from_vec(unescape(fields.next()?));
    let super_options = fields.next().map(text).unwrap_or_default();
    Some(Mount { number, device, root, point, options, fs_type, source, super_options })
}

fn path(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

/// Undoes the kernel's `\040` for space, tab, newline and backslash (fs/seq_file.c).
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, after.get(..3).and_then(octal)) {
            (b'\\', Some(escaped)) => {
                plain.push(escaped);
                rest = &after[3..];
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    let mut value: u32 = 0;
    for &digit in digits {
        if !(b'0'..=b'7').contains(&digit) {
            return None;
        }
        value = value * 8 + u32::from(digit - b'0');
    }
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPTURED: &str = r"22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
36 27 0:44 / /mnt/my\040data\134x rw,relatime - lustre 10.0.0.1@tcp:/scratch rw,flock
junk
40 27 7:0 / /mnt rw - ext4
41 27 0:50 / /mnt/last rw - tmpfs none
";

    #[test]
    fn reads_a_captured_file() {
        let mounts = parse_mountinfo(CAPTURED.as_bytes());
        assert_eq!(mounts.len(), 4, "junk and the line without a source are skipped");
        assert_eq!(mounts[1].device, DeviceNumber { major: 254, minor: 0 });
        assert!(mounts[1].has_super_option("discard"));
        assert_eq!(mounts[2].point, Path::new(r"/mnt/my data\x"));
        assert_eq!(mounts[2].source, "10.0.0.1@tcp:/scratch");
        assert_eq!(mounts[3].super_options, "");
    }

    #[test]
    fn finds_lustre_and_the_mount_of_a_path() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountinfo"), CAPTURED).unwrap();
        let machine = Machine::at(root.path(), "");
        assert_eq!(machine.lustre_mounts().unwrap().len(), 1);
        let mount_type = |path: &str| machine.mount_of(Path::new(path)).unwrap().unwrap().fs_type;
        assert_eq!(mount_type("/mnt/last/x"), "tmpfs");
        assert_eq!(mount_type("/mnt/lasting"), "ext4", "a name's beginning is not its parent");
    }

    #[test]
    fn a_missing_proc_is_an_error_with_a_hint() {
        let root = tempfile::tempdir().unwrap();
        let error = Machine::at(root.path(), "").mounts().unwrap_err();
        assert!(error.to_string().contains("/proc/self/mountinfo"), "{error}");
        assert!(error.hint().contains("/proc"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            parse_mountinfo(&bytes);
        }

        #[test]
        fn escaped_names_read_back(name in proptest::collection::vec(1u8.., 1..40)) {
            let escaped: Vec<u8> = name
                .iter()
                .flat_map(|byte| match byte {
                    b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                    plain => vec![*plain],
                })
                .collect();
            prop_assert_eq!(unescape(&escaped), name);
        }
    }
}
