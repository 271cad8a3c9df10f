//! Bursts that cannot be done say why, on what, and what to do about it.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{DISK, MEMORY, burst, directory_in, failure, has_uring, queued, reading, run};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Caching;
use plimsoll_engine::{Burst, Prepared, Source, Stripe};

/// A mount and a loop device below it, removed when the test ends in whatever way.
struct Mounted {
    folder: tempfile::TempDir,
    points: Vec<PathBuf>,
    device: Option<String>,
}

fn system(program: &str, arguments: &[&OsStr]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Mounted {
    /// A file system of `size` in memory; `None`, and says so, where it cannot be made.
    fn tmpfs(size: &str) -> Option<Self> {
        let folder = directory_in(MEMORY);
        let mut it = Self { folder, points: Vec::new(), device: None };
        let point = it.folder.path().join("full");
        fs::create_dir(&point).unwrap();
        let options = format!("size={size}");
        let arguments = ["-t", "tmpfs", "-o", &options, "plimsoll-test"].map(OsStr::new);
        if system("mount", &[&arguments[..], &[point.as_os_str()]].concat()).is_none() {
            println!("SKIPPED: needs root to mount");
            return None;
        }
        it.points.push(point);
        Some(it)
    }

    /// A disk of 64 MiB whose own storage has room for 8 MiB.
    fn failing_disk() -> Option<Self> {
        let mut it = Self::tmpfs("8m")?;
        let image = it.points[0].join("image");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let find = ["--find", "--show"].map(OsStr::new);
        it.device = system("losetup", &[&find[..], &[image.as_os_str()]].concat());
        let point = it.folder.path().join("disk");
        fs::create_dir(&point).unwrap();
        let device = it.device.clone().unwrap_or_default();
        let made = system("mkfs.ext4", &[OsStr::new("-q"), OsStr::new(&device)])
            .and_then(|_| system("mount", &[OsStr::new(&device), point.as_os_str()]));
        if made.is_none() {
            println!("SKIPPED: needs loop devices and mkfs.ext4");
            return None;
        }
        it.points.push(point);
        Some(it)
    }

    fn point(&self) -> &Path {
        self.points.last().unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let mut points = self.points.drain(..).rev();
        if let Some(device) = &self.device {
            if let Some(disk) = points.next() {
                unmount(&disk);
            }
            let _ = system("losetup", &[OsStr::new("-d"), OsStr::new(device)]);
        }
        points.for_each(|point| unmount(&point));
    }
}

/// Also what is held for a moment more.
fn unmount(point: &Path) {
    if system("umount", &[point.as_os_str()]).is_none() {
        let _ = system("umount", &[OsStr::new("-l"), point.as_os_str()]);
    }
}

#[test]
fn a_full_file_system() {
    let Some(small) = Mounted::tmpfs("1m") else { return };
    // Too large by half a transfer: the kernel takes a part, the rest is tried and refused.
    let path = small.point().join("file");
    let large = Burst {
        bytes: Bytes::new(2 << 20),
        transfer: Bytes::new(768 << 10),
        ..burst(std::slice::from_ref(&path))
    };
    for burst in [large.clone(), queued(&large, 1), queued(&large, 8)] {
        if burst.depth > 1 && !has_uring(Path::new(MEMORY)) {
            continue;
        }
        let (said, hint) = failure(&burst);
        assert!(said.contains(&format!(" of {} failed: No space left", path.display())), "{said}");
        if burst.depth == 1 {
            assert!(said.starts_with("write of 524288 bytes at byte 1048576 of "), "{said}");
        }
        assert!(hint.contains("free some space"), "{hint}");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_file_system_can_be_unmounted_as_soon_as_a_burst_is_over() {
    const ATTEMPTS: usize = 20;
    let mut at_once = 0;
    for _ in 0..ATTEMPTS {
        let Some(mut small) = Mounted::tmpfs("4m") else { return };
        let plain = burst(&[small.point().join("file")]);
        if !has_uring(small.point()) {
            return;
        }
        run(&queued(&plain, 16)).unwrap();
        run(&queued(&Burst { bytes: Bytes::new(8 << 20), ..plain }, 16)).unwrap_err();
        let unmount = || system("umount", &[small.point().as_os_str()]).is_some();
        let mut tries = 1;
        while !unmount() {
            tries += 1;
            assert!(tries < 1000, "busy for long");
        }
        at_once += usize::from(tries == 1);
        small.points.pop();
    }
    // A process that another thread is just starting, or a worker of the kernel that is a moment
    // behind, may have held a file. A queue that keeps its files is never let go at once.
    assert!(at_once > ATTEMPTS / 2, "{at_once} of {ATTEMPTS} at once");
}

#[test]
fn a_file_system_that_cannot_be_written() {
    let Some(small) = Mounted::tmpfs("4m") else { return };
    let written = burst(&[small.point().join("file")]);
    run(&written).unwrap();
    let options = ["-o", "remount,ro"].map(OsStr::new);
    system("mount", &[&options[..], &[small.point().as_os_str()]].concat()).unwrap();
    let (said, hint) = failure(&written);
    assert!(said.contains("cannot open for writing") && said.contains("Read-only"), "{said}");
    assert!(hint.contains("can be written"), "{hint}");
    run(&reading(&written)).unwrap();
}

#[test]
fn storage_that_fails() {
    let Some(disk) = Mounted::failing_disk() else { return };
    let large = Burst { bytes: Bytes::new(24 << 20), ..burst(&[disk.point().join("file")]) };
    let (said, hint) = failure(&large);
    assert!(said.starts_with("cannot fsync /dev/shm/"), "{said}");
    // Kernels differ in how much of the disk's own reason they pass on.
    let expected = [("Input/output error", "dmesg"), ("No space left", "free some space")];
    let matches = |(cause, remedy): &(&str, &str)| said.contains(cause) && hint.contains(remedy);
    assert!(expected.iter().any(matches), "{said}; {hint}");
}

#[test]
fn what_is_no_file_or_not_there() {
    let folder = directory_in(DISK);
    let (said, _) = failure(&burst(&[folder.path().to_path_buf()]));
    assert!(said.ends_with("is not a regular file"), "{said}");
    let pipe = folder.path().join("pipe");
    system("mkfifo", &[pipe.as_os_str()]).unwrap();
    for burst in [burst(std::slice::from_ref(&pipe)), reading(&burst(&[pipe]))] {
        // Opening a pipe would wait for ever.
        assert!(failure(&burst).0.ends_with("is not a regular file"));
    }
    assert!(failure(&burst(&["/dev/null".into()])).0.ends_with("is not a regular file"));
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    fs::hard_link(&file, folder.path().join("link")).unwrap();
    let (said, _) = failure(&burst(&[file, folder.path().join("link")]));
    assert!(said.ends_with("/link twice"), "{said}");
    let nowhere = burst(&[folder.path().join("no/file")]);
    let (said, hint) = failure(&nowhere);
    assert!(said.ends_with("no/file: No such file or directory (os error 2)"), "{said}");
    assert!(hint.contains("make the directory"), "{hint}");
    assert!(failure(&reading(&nowhere)).0.starts_with("cannot open for reading"));
}

#[test]
fn a_file_that_ends_too_early() {
    let folder = directory_in(DISK);
    let written = burst(&[folder.path().join("file")]);
    run(&written).unwrap();
    let longer = Burst { bytes: Bytes::new(1 << 21), ..reading(&written) };
    let (said, hint) = failure(&longer);
    assert!(said.ends_with("up to byte 2097152: it ends at byte 1048576"), "{said}");
    assert!(hint.contains("write the file first"), "{hint}");
    // And one that gets shorter when it was looked at already.
    let plain = reading(&written);
    let direct = Burst { caching: Caching::Direct, ..plain.clone() };
    for burst in [plain.clone(), queued(&plain, 1), direct.clone(), queued(&direct, 1)] {
        run(&written).unwrap();
        let Ok(mut prepared) = Prepared::open(&burst, Source::Paths) else { continue };
        let file = fs::File::options().write(true).open(&burst.paths[0]).unwrap();
        file.set_len(500_000).unwrap();
        let error = prepared.transfer().unwrap_err().to_string();
        assert!(error.ends_with("up to byte 507904: it ends at byte 500000"), "{error}");
    }
}

#[test]
fn direct_transfers_that_are_not_whole_blocks() {
    let folder = directory_in(DISK);
    let direct = Burst { caching: Caching::Direct, ..burst(&[folder.path().join("file")]) };
    for (burst, what) in [
        (Burst { transfer: Bytes::new(1000), ..direct.clone() }, "the transfer size is 1kB"),
        (Burst { offset: Bytes::new(100), ..direct.clone() }, "the offset is 100B"),
        (Burst { bytes: Bytes::new((1 << 20) + 5), ..direct.clone() }, "the burst is 1048581B"),
    ] {
        let (said, hint) = failure(&burst);
        assert!(said.starts_with("O_DIRECT on ") && said.ends_with(what), "{said}");
        assert!(hint.contains("synced"), "{hint}");
    }
}

#[test]
fn buffers_that_do_not_fit_into_memory() {
    let folder = directory_in(DISK);
    let path = folder.path().join("file");
    fs::File::create(&path).unwrap().set_len(8 << 40).unwrap();
    let large = Burst {
        bytes: Bytes::new(8 << 40),
        transfer: Bytes::new(1 << 30),
        ..queued(&reading(&burst(&[path])), 4096)
    };
    let (said, hint) = failure(&large);
    assert!(said.starts_with("buffers of 4TiB (4096 of 1GiB) do not fit into memory"), "{said}");
    assert!(hint.contains("smaller queue depth"), "{hint}");
}

#[test]
fn stripes_where_there_is_no_lustre() {
    let folder = directory_in(DISK);
    let stripe = Some(Stripe { first: 0, count: 1, size: Bytes::new(1 << 20) });
    let path = folder.path().join("file");
    let (said, hint) = failure(&Burst { stripe, ..burst(std::slice::from_ref(&path)) });
    assert!(said.ends_with("it is not on Lustre"), "{said}");
    assert!(hint.contains("leave out the stripes"), "{hint}");
    assert!(!path.exists(), "nothing was made");
}

#[test]
fn a_container_that_forbids_io_uring() {
    let folder = directory_in(DISK);
    if !has_uring(folder.path()) {
        return;
    }
    forbid_uring_in_this_thread();
    let plain = burst(&[folder.path().join("file")]);
    let (said, hint) = failure(&queued(&plain, 4));
    assert_eq!(said, "cannot set up io_uring with 4 entries: Operation not permitted (os error 1)");
    assert!(hint.contains("engine = \"synchronous\""), "{hint}");
    run(&plain).unwrap();
}

/// What Docker's seccomp profile does. A test runs in a thread of its own, which ends with it.
fn forbid_uring_in_this_thread() {
    let step =
        |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        // The number of the system call: the first word of struct seccomp_data.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter and its program live during the call, which copies them.
    let status = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter)
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}
