//! Programs that root records and that become another user, whose code it is from then on.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use plimsoll_trace::Op;

use super::record::Node;
use crate::support::attacker::ATTACKER;
use crate::support::recording::{assert_nothing_lost, calls, processes};

/// The attack: root records a program that becomes another user, for whom the recording is opened a little. A link in
/// its place leads to a directory of root's.
#[test]
fn no_other_directory_of_roots_is_opened_for_a_user_that_a_program_becomes() {
    let Some(node) = Node::new() else { return };
    fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let ours = node.folder.path().join("ours");
    fs::create_dir(&ours).unwrap();
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o700)).unwrap();
    let attack = format!("mv rec gone && ln -s {} rec", ours.display());
    let attack = format!("setpriv --reuid={ATTACKER} --clear-groups sh -c '{attack}'");
    let program = format!(
        "import os\nassert os.system(\"{attack}\") == 0\nos.setuid({ATTACKER})\nprint('done')"
    );
    let outcome = node.run(&["-o", "rec", "--", "/usr/bin/python3", "-c", &program]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "done\n"),
        "{}",
        outcome.stderr
    );
    assert_eq!(fs::metadata(&ours).unwrap().mode() & 0o777, 0o700);
}

/// The attack: root records a program that becomes another user, into a private directory with more in it.
#[test]
fn a_private_directory_stays_private_when_a_program_becomes_another_user() {
    let Some(node) = Node::new() else { return };
    let private = node.folder.path().join("private");
    let facts = || fs::metadata(&private).unwrap().mode() & 0o777;
    // Enough calls that its file has to grow after that; a child is not allowed a file.
    let program = format!(
        "import os\nos.setgroups([])\nos.setresgid({ATTACKER}, {ATTACKER}, {ATTACKER})\n\
         os.setresuid({ATTACKER}, {ATTACKER}, {ATTACKER})\n\
         f = os.open('tmp/data', os.O_WRONLY | os.O_CREAT)\n\
         for i in range(20000): assert os.write(f, b'x' * (i % 7 + 1)) > 0"
    );
    for arguments in [
        &["-o", "private/rec"][..],
        &["-o", "private"],
        &["-o", "private2", "--spool", "private"],
        &["-o", "private3", "--spool", "tmp"],
    ] {
        fs::create_dir(&private).unwrap();
        fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).unwrap();
        let arguments = [arguments, &["--", "/usr/bin/python3", "-c", &program]].concat();
        let outcome = node.run(&arguments);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(facts(), 0o700, "{arguments:?}");
        let recording = node.folder.path().join(arguments[1]);
        let recorded = processes(&recording);
        assert_nothing_lost(&recorded);
        let (writes, _) = calls(&recorded, Op::Write, "/data");
        assert_eq!(writes, 20_000, "{arguments:?}");
        fs::remove_file(node.tmp().join("data")).unwrap();
        for file in fs::read_dir(&recording).unwrap().map(|file| file.unwrap().metadata().unwrap())
        {
            assert_eq!((file.uid(), file.mode() & 0o077), (0, 0), "{arguments:?}");
        }
        assert_eq!(fs::metadata(&recording).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(&private).unwrap();
    }
}

/// The attack: what root's program became makes its file huge by a hole.
#[test]
fn holes_that_a_program_makes_in_its_file_are_not_written_out() {
    let Some(node) = Node::new() else { return };
    let spool = node.folder.path().join("spool");
    fs::create_dir(&spool).unwrap();
    fs::set_permissions(&spool, fs::Permissions::from_mode(0o700)).unwrap();
    let size = 1_u64 << 30;
    // It says so in its first page too, which it can write to.
    let program = format!(
        "import os, struct, signal\nos.setresuid({ATTACKER}, {ATTACKER}, {ATTACKER})\n\
         fds = [int(n) for n in os.listdir('/proc/self/fd')]\n\
         def path(n):\n    try: return os.readlink('/proc/self/fd/%d' % n)\n    except OSError: return ''\n\
         f = [n for n in fds if path(n).endswith('.rec')][0]\nos.ftruncate(f, {size})\n\
         os.pwrite(f, struct.pack('<Q', {size} - 4096), {})\nos.kill(os.getpid(), 9)",
        std::mem::offset_of!(plimsoll_trace::layout::FileHeader, taken_bytes)
    );
    let outcome =
        node.run(&["-o", "rec", "--spool", "spool", "--", "/usr/bin/python3", "-c", &program]);
    assert_eq!(outcome.stderr, "");
    assert_eq!(fs::read_dir(&spool).unwrap().count(), 0, "all is brought home");
    let files =
        fs::read_dir(node.recording()).unwrap().map(|file| file.unwrap().metadata().unwrap());
    let (mut stored, mut claimed) = (0, 0);
    for file in files {
        (stored, claimed) = (stored + file.blocks() * 512, claimed + file.len());
    }
    assert!(claimed >= size, "the attack took place");
    assert!(stored < 16 << 20, "{stored}");
}

/// The attack: a program of root's that becomes another user keeps the right to come into every directory until it executes something, and leaves a file of
/// that user in the recording, who can write what they like to it later.
#[test]
fn no_file_of_a_recording_belongs_to_a_user_that_a_program_becomes() {
    let Some(node) = Node::new() else { return };
    let becomes = format!("--reuid={ATTACKER}");
    let command = ["--share", "--", "setpriv", &becomes, "--clear-groups", "/bin/true"];
    for place in [&["-o", "rec", "--spool", "tmp"][..], &["-o", "rec"]] {
        let outcome = node.run(&[place, &command].concat());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{place:?}");
        let files = fs::read_dir(node.recording()).unwrap().map(Result::unwrap);
        let owners: Vec<u32> = files.map(|file| file.metadata().unwrap().uid()).collect();
        assert_eq!(owners, [0, 0], "the marker and the file of setpriv, {place:?}");
        fs::remove_dir_all(node.recording()).unwrap();
    }
}
