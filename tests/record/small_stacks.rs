//! Programs do I/O where there is little room: in handlers of signals on stacks of their own, in coroutines, in children on a stack.

use std::path::Path;
use std::process::Command;

use plimsoll_trace::Op;

use crate::support::command::binary;
use crate::support::recording::{library, processes, program, record};

/// Bytes that the library may take beside what the program itself takes: the smallest stack for signals has 8 KiB, and the kernel puts
/// up to 3.5 KiB there.
const MOST: usize = 3 << 10;

/// What a call takes, and the execution of another program.
fn used(command: &mut Command) -> [usize; 2] {
    let output = command.env("LD_BIND_NOW", "1").output().unwrap();
    let (told, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {told}{error}", output.status);
    let numbers: Vec<usize> = told.split_whitespace().map(|it| it.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn assert_takes_little(taken: [usize; 2], folder: &Path) {
    let plain = used(Command::new(program("small_stacks.c", "cc", &[])).arg(folder));
    for (taken, plain) in taken.iter().zip(plain) {
        assert!(*taken <= plain + MOST, "{taken} bytes, {plain} without the library");
        assert!(*taken >= plain, "{taken} bytes, {plain} without the library");
    }
}

#[test]
fn recorded_programs_need_little_more_of_their_stacks() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let mut command = record(&rec);
    command.arg("--").arg(program("small_stacks.c", "cc", &[])).arg(folder.path());
    assert_takes_little(used(&mut command), folder.path());
    let events = processes(&rec).into_iter().flat_map(|it| it.events);
    assert_eq!(events.filter(|it| it.op == Op::Mkdir).count(), 2, "one in each of the two places");
}

#[test]
fn what_is_below_a_mount_needs_little_more_of_their_stacks() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let (mount, target, plain) = (at("mount"), at("target"), at("plain"));
    let command = |below: &Path, small: &str| {
        let mut command = binary();
        command.args(["stow", "run", "--small", small, "--mount"]).arg(&mount).arg("--targets");
        command.arg(&target).env("PLIMSOLL_LIBRARY", library()).args(["--quiet", "--"]);
        command.arg(program("small_stacks.c", "cc", &[])).arg(below);
        command
    };
    for (below, small) in [(&mount, "16K"), (&mount, "0B"), (&plain, "16K")] {
        assert_takes_little(used(&mut command(below, small)), &plain);
    }
}
