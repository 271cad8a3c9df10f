//! A file system that another user serves (FUSE), and who asks it anything.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::attacker::ATTACKER;
use super::command::Outcome;

/// Requests of the kernel (include/uapi/linux/fuse.h): a header of 40 bytes, of which the second word is what is asked,
/// and the ninth whose process asks.
const HEADER_BYTES: usize = 40;
const FORGET: u32 = 2;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;
/// Kinds of files (inode(7)).
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const PROTOCOL: [u32; 2] = [7, 31];

/// A mount of the attacker's that everybody may look into. Whoever does is noted, and gets an error rather than
/// waiting for ever: no test hangs.
pub struct Served {
    /// Its root, wherever the directories above are moved.
    root: OwnedFd,
    /// What was asked, and the process group that asked.
    asked: Arc<Mutex<Vec<(u32, i32)>>>,
}

impl Served {
    /// Mounts it on a directory; `None`, and says so, where that cannot be done. Nothing outside of it is changed.
    pub fn on(point: &Path) -> Option<Self> {
        Self::of_kind(point, DIRECTORY)
    }

    fn of_kind(point: &Path, kind: u32) -> Option<Self> {
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let mounted = device.map_err(|error| error.to_string()).and_then(|device| {
            let options = format!(
                "fd={},rootmode={kind:o},user_id={ATTACKER},group_id={ATTACKER},allow_other",
                device.as_raw_fd()
            );
            let options = std::ffi::CString::new(options).unwrap();
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            let mounted = mount("forged", point, "fuse", flags, Some(options.as_c_str()));
            mounted.map(|()| device).map_err(|error| error.to_string())
        });
        match mounted {
            Ok(device) => {
                let asked = Arc::new(Mutex::new(Vec::new()));
                let noted = asked.clone();
                std::thread::spawn(move || serve(device, &noted));
                // Only held, which asks nothing.
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let root = rustix::fs::open(point, flags, Mode::empty()).unwrap();
                Some(Served { root, asked })
            }
            Err(error) => {
                eprintln!("SKIPPED: no FUSE file system can be mounted here: {error}");
                None
            }
        }
    }

    /// Makes a directory of the attacker's, and mounts it there.
    pub fn on_new(point: &Path) -> Option<Self> {
        std::fs::create_dir(point).unwrap();
        chown(point, Some(ATTACKER), Some(ATTACKER)).unwrap();
        Self::on(point)
    }

    /// Makes a file of the attacker's, and mounts one that the attacker serves in its place.
    pub fn on_new_file(point: &Path) -> Option<Self> {
        std::fs::write(point, "").unwrap();
        chown(point, Some(ATTACKER), Some(ATTACKER)).unwrap();
        Self::of_kind(point, REGULAR)
    }

    /// Runs a command that must not ask for anything that is mounted there.
    #[track_caller]
    pub fn run_unasked(&self, command: &mut Command) -> Outcome {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().unwrap();
        let group = process.id().cast_signed();
        let outcome: Outcome = process.wait_with_output().unwrap().into();
        let asked = self.asked_by(group);
        assert!(asked.is_empty(), "{command:?} asked {asked:?}: {}", outcome.stderr);
        outcome
    }

    /// What processes of this group asked for.
    pub fn asked_by(&self, group: i32) -> Vec<u32> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(_, asking)| *asking == group).map(|(what, _)| *what).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let root = format!("/proc/self/fd/{}", self.root.as_raw_fd());
        unmount(root, UnmountFlags::DETACH).unwrap();
    }
}

/// Answers until the file system is unmounted.
fn serve(mut device: File, asked: &Mutex<Vec<(u32, i32)>>) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = device.read(&mut request) {
        assert!(length >= HEADER_BYTES);
        let word = |index: usize| {
            u32::from_ne_bytes(request[4 * index..4 * index + 4].try_into().unwrap())
        };
        let (what, process, number) = (word(1), word(8), &request[8..16]);
        let mut answer = Vec::new();
        match what {
            FORGET | BATCH_FORGET | INTERRUPT => continue,
            INIT => {
                let mut words = [0u32; 16];
                words[..2].copy_from_slice(&PROTOCOL);
                // The most that is written at once.
                words[5] = 4096;
                answer.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
            }
            _ => asked.lock().unwrap().push((what, group_of(process))),
        }
        let error = if what == INIT { 0 } else { -rustix::io::Errno::NOTCONN.raw_os_error() };
        let mut whole = (16 + answer.len() as u32).to_ne_bytes().to_vec();
        whole.extend(error.to_ne_bytes());
        whole.extend(number);
        whole.extend(answer);
        let _ = device.write_all(&whole);
    }
}

/// Returns the group of a process, which waits for an answer and so is there (proc(5), /proc/PID/stat).
fn group_of(process: u32) -> i32 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let behind_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    behind_name.split_whitespace().nth(2).and_then(|it| it.parse().ok()).unwrap_or(0)
}
