//! The file in which transfers seek. It has no name, so it cannot stay behind: the kernel
//! frees it when the program ends, however it ends.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_engine::Source;
use plimsoll_guarded::working_file::CALIBRATION;
use plimsoll_guarded::{Directory, WorkingDirectory, is_without_nameless};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::CalibrateError;

/// A file without a name on the target. It is opened once: some file systems (GlusterFS) do not let
/// a file be opened again whose name is gone.
#[derive(Debug)]
pub struct Scratch {
    files: [File; 1],
    path: PathBuf,
    /// Where the file had its name. Removed after the file is closed, as NFS keeps a name until then.
    _working: Option<Working>,
}

/// Makes a file at that path in a private directory and gives it a place of its own.
type LayOut<'a> = &'a dyn Fn(&Directory, &Path) -> Result<(), CalibrateError>;

impl Scratch {
    /// Makes the file; by `lay_out`, under a name, where its place must be chosen (Lustre).
    ///
    /// # Errors
    /// If no file can be made in the directory.
    pub fn create(target: &Directory, lay_out: Option<LayOut<'_>>) -> Result<Self, CalibrateError> {
        let directory = target.path();
        let failed = |cause| CalibrateError::Create { directory: directory.to_owned(), cause };
        if lay_out.is_none() {
            match nameless(target) {
                Ok(file) => {
                    let path = directory.join(CALIBRATION);
                    return Ok(Scratch { files: [file], path, _working: None });
                }
                Err(errno) if is_without_nameless(errno) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        let working = Working(WorkingDirectory::make_in(target).map_err(failed)?);
        let private = working.0.directory();
        let path = private.path().join(CALIBRATION);
        if let Some(lay_out) = lay_out {
            lay_out(private, &path)?;
        } else {
            private.create(CALIBRATION, OFlags::WRONLY, 0o600).map_err(failed)?;
        }
        let file = open(private).map_err(failed)?;
        private.remove_file(CALIBRATION).map_err(failed)?;
        // Here already if possible, in case that the program is killed.
        let _ = working.0.remove();
        Ok(Scratch { files: [file], path, _working: Some(working) })
    }

    /// Returns the file for a burst.
    pub fn source(&self) -> Source<'_> {
        Source::Open(&self.files)
    }

    /// Returns the name of the file in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A private directory that goes when this does.
#[derive(Debug)]
struct Working(WorkingDirectory);

impl Drop for Working {
    fn drop(&mut self) {
        // A target that vanished took it along.
        let _ = self.0.remove();
    }
}

/// Makes a file without a name in the very directory that was looked at: its path may be exchanged by now.
fn nameless(directory: &Directory) -> Result<File, Errno> {
    let open = |flags: OFlags| directory.create_nameless(flags | OFlags::RDWR);
    // Where O_DIRECT is refused the first burst says so.
    open(OFlags::DIRECT).or_else(|_| open(OFlags::empty()))
}

fn open(private: &Directory) -> io::Result<File> {
    match private.open_file(CALIBRATION, OFlags::RDWR | OFlags::DIRECT) {
        Err(cause) if cause.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            private.open_file(CALIBRATION, OFlags::RDWR)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    fn opened(folder: &tempfile::TempDir) -> Directory {
        Directory::open(folder.path()).unwrap()
    }

    /// What whoever may rename in the directory above can do between the looking and the making.
    #[test]
    fn an_exchanged_target_is_not_followed() {
        let above = tempfile::tempdir_in("/var/tmp").unwrap();
        let [target, moved, precious] = ["t", "moved", "precious"].map(|it| above.path().join(it));
        fs::create_dir(&target).unwrap();
        fs::create_dir(&precious).unwrap();
        let named: LayOut<'_> = &|private, _| {
            private.create(CALIBRATION, OFlags::WRONLY, 0o600).map(drop).map_err(|cause| {
                CalibrateError::Create { directory: private.path().to_owned(), cause }
            })
        };
        let opened = Directory::open(&target).unwrap();
        fs::rename(&target, &moved).unwrap();
        std::os::unix::fs::symlink(&precious, &target).unwrap();
        for lay_out in [None, Some(named)] {
            let scratch = Scratch::create(&opened, lay_out).unwrap();
            let Source::Open([file]) = scratch.source() else { panic!("not open") };
            let of = |path: &Path| fs::metadata(path).unwrap();
            use std::os::unix::fs::MetadataExt;
            assert_eq!(file.metadata().unwrap().dev(), of(&moved).dev());
            let shown = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            assert!(shown.starts_with(&moved), "{}", shown.display());
            drop(scratch);
            assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
            assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
        }
    }

    #[test]
    fn nothing_is_to_be_seen_and_yet_it_can_be_used() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let named: LayOut<'_> = &|private, _| {
            private.create(CALIBRATION, OFlags::WRONLY, 0o600).map(drop).map_err(|cause| {
                CalibrateError::Create { directory: private.path().to_owned(), cause }
            })
        };
        for lay_out in [None, Some(named)] {
            let scratch = Scratch::create(&opened(&folder), lay_out).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            // Without O_DIRECT, whose memory would have to be aligned.
            let Source::Open([file]) = scratch.source() else { panic!("not open") };
            rustix::fs::fcntl_setfl(file, OFlags::RDWR).unwrap();
            file.write_all_at(b"data", 0).unwrap();
            let mut read = [0; 4];
            file.read_exact_at(&mut read, 0).unwrap();
            assert_eq!(&read, b"data");
            drop(scratch);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    /// What whoever may write to the target can do between the making of a file and its opening.
    #[test]
    fn an_exchanged_directory_leads_nowhere() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (moved, precious) = (folder.path().join("moved"), folder.path().join("precious"));
        fs::write(&precious, "thesis").unwrap();
        let exchanged: LayOut<'_> = &|private, path| {
            private.create(CALIBRATION, OFlags::WRONLY, 0o600).unwrap();
            fs::rename(private.path(), &moved).unwrap();
            fs::create_dir(private.path()).unwrap();
            std::os::unix::fs::symlink(&precious, path).unwrap();
            Ok(())
        };
        let scratch = Scratch::create(&opened(&folder), Some(exchanged)).unwrap();
        let Source::Open([file]) = scratch.source() else { panic!("not open") };
        assert_eq!(file.metadata().unwrap().len(), 0);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0, "emptied where it is");
        drop(scratch);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let fails: LayOut<'_> = &|_, _| Err(CalibrateError::OneSize);
        assert!(Scratch::create(&opened(&folder), Some(fails)).is_err());
        let does_nothing: LayOut<'_> = &|_, _| Ok(());
        assert!(Scratch::create(&opened(&folder), Some(does_nothing)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
