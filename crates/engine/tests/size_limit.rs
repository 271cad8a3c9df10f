//! A limit on the size of files. Alone in its file: the limit holds for the whole process.

mod common;

use common::{DISK, burst, directory_in, failure, has_uring, queued};
use plimsoll_engine::{Prepared, Source};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn is_found_before_its_signal_ends_the_process() {
    let folder = directory_in(DISK);
    let large = burst(&[folder.path().join("file")]);
    let uring = has_uring(folder.path());
    let bursts = if uring { vec![large.clone(), queued(&large, 8)] } else { vec![large] };
    let mut ready: Vec<_> =
        bursts.iter().map(|it| Prepared::open(it, Source::Paths).unwrap()).collect();
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(100_000), maximum }).unwrap();
    for burst in &bursts {
        let (said, hint) = failure(burst);
        assert!(said.ends_with("up to byte 1048576: files are limited to 100kB"), "{said}");
        assert!(hint.contains("ulimit -f"), "{hint}");
    }
    // One that comes later is an error of the call, if the process ignores the signal.
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    for prepared in &mut ready {
        let error = prepared.transfer().unwrap_err();
        assert!(error.to_string().contains("File too large"), "{error}");
        assert!(error.hint().unwrap().contains("ulimit -f"));
    }
}
