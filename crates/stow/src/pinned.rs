//! Logs on Lustre: each on one target, as its name says, and with one stripe.

use std::fs::File;
use std::io;

use plimsoll_guarded::Directory;
use plimsoll_lustre::{
    DELAY_CREATE, LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, SUPER_MAGIC, StripedLayout, TargetKind,
    TargetName, layout_request,
};
use rustix::fs::{OFlags, XattrFlags, fgetxattr, fsetxattr, fstatfs};
use rustix::io::Errno;

use crate::rights::PRIVATE_FILE;

/// Of one stripe it means nothing, but Lustre wants a size.
const STRIPE_BYTES: u32 = 1 << 20;

/// What is asked of the kernel.
pub trait LayoutCalls {
    /// Returns what kind of file system a directory is on.
    fn kind(&self, directory: &Directory) -> Result<u64, Errno>;
    /// Gives a file its layout.
    fn set(&self, file: &File, request: &[u8]) -> Result<(), Errno>;
    /// Returns the layout of a file.
    fn get(&self, file: &File) -> Result<Vec<u8>, Errno>;
}

/// The kernel itself.
pub struct Kernel;

impl LayoutCalls for Kernel {
    fn kind(&self, directory: &Directory) -> Result<u64, Errno> {
        Ok(fstatfs(directory)?.f_type as u64)
    }

    fn set(&self, file: &File, request: &[u8]) -> Result<(), Errno> {
        fsetxattr(file, LAYOUT_ATTRIBUTE, request, XattrFlags::empty())
    }

    fn get(&self, file: &File) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; LAYOUT_BYTES_MAX];
        let count = fgetxattr(file, LAYOUT_ATTRIBUTE, &mut bytes[..])?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// Makes the file of a log for the target of this name. On Lustre, a target that is called as Lustre calls it (`scratch-OST0003`) gets
/// the whole file.
///
/// # Errors
/// If the file system refuses, or has laid it out otherwise: it can do so without a word. There is no file then.
pub fn create(
    directory: &Directory,
    name: &str,
    target: &str,
    calls: &impl LayoutCalls,
) -> io::Result<File> {
    let index = index_of(target).filter(|_| calls.kind(directory) == Ok(SUPER_MAGIC));
    let Some(index) = index else {
        return directory.create(name, OFlags::RDWR, PRIVATE_FILE);
    };
    let flags = OFlags::RDWR | OFlags::from_bits_retain(DELAY_CREATE);
    let file = directory.create(name, flags, PRIVATE_FILE)?;
    let pinned = pin(&file, index, calls);
    if pinned.is_err() {
        let _ = directory.remove_file(name);
    }
    pinned.map(|()| file)
}

fn pin(file: &File, index: u16, calls: &impl LayoutCalls) -> io::Result<()> {
    calls.set(file, &layout_request(index, 1, STRIPE_BYTES))?;
    let layout = StripedLayout::parse(&calls.get(file)?);
    match layout.map(|it| it.targets) {
        Some(targets) if targets == [u32::from(index)] => Ok(()),
        targets => {
            let got = targets.map_or("not in stripes".into(), |it| format!("on {it:?}"));
            Err(io::Error::other(format!("its log should be on OST {index} and is {got}")))
        }
    }
}

/// Returns the number of an OST in its file system.
fn index_of(target: &str) -> Option<u16> {
    let found = TargetName::of(target).filter(|it| it.kind == TargetKind::Ost)?;
    u16::from_str_radix(found.name.get(found.name.len() - 4..)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Answers as Lustre was seen to, and keeps what it was asked for.
    struct Recorded {
        kind: u64,
        /// Where it puts a file, whatever is asked for.
        targets: &'static [u32],
        asked: RefCell<Vec<Vec<u8>>>,
    }

    impl LayoutCalls for Recorded {
        fn kind(&self, _directory: &Directory) -> Result<u64, Errno> {
            Ok(self.kind)
        }

        fn set(&self, _file: &File, request: &[u8]) -> Result<(), Errno> {
            self.asked.borrow_mut().push(request.to_vec());
            Ok(())
        }

        fn get(&self, _file: &File) -> Result<Vec<u8>, Errno> {
            let mut bytes = layout_request(0, self.targets.len() as u16, 1 << 20).to_vec();
            for target in self.targets {
                bytes.extend([0; 20]);
                bytes.extend(target.to_le_bytes());
            }
            Ok(bytes)
        }
    }

    #[test]
    fn a_log_is_on_the_target_that_its_name_says_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let lustre = |targets| Recorded { kind: SUPER_MAGIC, targets, asked: RefCell::default() };
        let calls = lustre(&[0x1f]);
        create(&directory, "log-0000", "scratch-OST001f", &calls).unwrap();
        let mut expected = vec![0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0];
        expected.extend([0; 16]);
        expected.extend([0, 0, 0x10, 0, 1, 0, 0x1f, 0]);
        assert_eq!(calls.asked.into_inner(), [expected], "one stripe on OST 31");
        for others in [&[][..], &[3], &[0x1f, 3]] {
            let refused = create(&directory, "log-0001", "scratch-OST001f", &lustre(others));
            let why = refused.unwrap_err().to_string();
            assert!(why.starts_with("its log should be on OST 31 and is on ["), "{why}");
            assert!(!folder.path().join("log-0001").exists());
        }
    }

    #[test]
    fn elsewhere_nothing_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        for (number, (kind, target)) in (0..).zip([
            (0xEF53, "scratch-OST0001"),
            (SUPER_MAGIC, "ost1"),
            (SUPER_MAGIC, "fs-MDT0000"),
        ]) {
            let calls = Recorded { kind, targets: &[9], asked: RefCell::default() };
            create(&directory, &format!("log-{number:04}"), target, &calls).unwrap();
            assert_eq!(calls.asked.into_inner(), Vec::<Vec<u8>>::new(), "{target}");
        }
    }
}
