//! What a program is started with is what its wrapper was started with.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, python};

/// Starts what its arguments say with signals that are ignored and blocked.
const STARTS: &str = "
import os, signal, sys
for ignored in [signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1, signal.SIGHUP]: signal.signal(ignored, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGALRM])
os.execv(sys.argv[1], sys.argv[1:])";

/// Tells what its signals do.
const TELLS: [&str; 4] = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];

#[test]
fn signals_that_are_ignored_or_blocked_are_so_for_the_program() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mount", "target"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let at = |name: &str| folder.path().join(name).display().to_string();
    let plimsoll = binary().get_program().to_str().unwrap().to_string();
    let (rec, both) = (at("rec"), at("both"));
    let (mount, target) = (at("mount"), at("target"));
    let record = |rec| vec![plimsoll.as_str(), "record", "--quiet", "-o", rec, "--"];
    let stow = vec![
        plimsoll.as_str(),
        "stow",
        "run",
        "--quiet",
        "--mount",
        &mount,
        "--targets",
        &target,
        "--",
    ];
    // Of a rank, the wrapper becomes the program.
    let told = |wrapper: &[&str], rank: Option<&str>| -> Outcome {
        let mut command = Command::new(python());
        command.args(["-c", STARTS]).args(wrapper).args(["/usr/bin/env"]).args(TELLS);
        command.env("PLIMSOLL_LIBRARY", library()).stdin(Stdio::null());
        command.envs(rank.map(|rank| ("PMI_RANK", rank)));
        command.output().unwrap().into()
    };
    let plain = told(&[], None);
    assert_eq!((plain.status, plain.stdout.lines().count()), (Some(0), 2));
    for rank in [None, Some("0")] {
        for wrapper in [record(&rec), stow.clone(), [record(&both), stow.clone()].concat()] {
            let wrapped = told(&wrapper, rank);
            assert_eq!((wrapped.stdout, wrapped.stderr.as_str()), (plain.stdout.clone(), ""));
            assert_eq!(wrapped.status, Some(0), "{wrapper:?}");
        }
        for recording in [&rec, &both] {
            fs::remove_dir_all(recording).unwrap();
        }
    }
}
