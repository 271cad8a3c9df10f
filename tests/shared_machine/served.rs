//! File systems of another user (FUSE), who says of them what they like and may never answer: nobody asks them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::record::Node;
use super::{Base, assert_refused};
use crate::support::attacker::Attacker;
use crate::support::command::binary;
use crate::support::recording::{library, processes};
use crate::support::served::Served;

fn testbed(base: &Path, arguments: &str) -> Command {
    let mut command = binary();
    command.args(["testbed", "--base"]).arg(base).args(arguments.split_whitespace());
    command
}

fn record(node: &Node, arguments: &[&str]) -> Command {
    let mut command = binary();
    command.arg("record").args(arguments).env("PLIMSOLL_LIBRARY", library());
    command.current_dir(node.folder.path()).env("TMPDIR", node.tmp());
    command
}

/// The attack: the base directory of root's beds is mounted before root makes it, and claims to be root's.
#[test]
fn no_bed_is_made_on_storage_of_another_user_nor_looked_for_there() {
    let Some(base) = Base::new() else { return };
    base.directory("tmp", 0, 0o1777);
    let planted = base.folder.path().join("tmp/plimsoll-testbed-0");
    let Some(served) = Served::on_new(&planted) else { return };
    for below in [planted.clone(), planted.join("deep/base")] {
        for arguments in
            ["up --kind directory --targets 1 --size 16MiB", "list", "down", "run -- true"]
        {
            let outcome = served.run_unasked(&mut testbed(&below, arguments));
            assert_refused(&outcome, "is a file system of user 65533");
        }
    }
    let site = base.folder.path().join("site.toml");
    let mut init = binary();
    init.args(["site", "init", "--base"]).arg(&planted).arg("-o").arg(&site);
    let outcome = served.run_unasked(&mut init);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(site.exists());
    // Nor behind a link of theirs.
    Attacker::does(&base.folder.path().join("tmp"), "ln -s plimsoll-testbed-0/deep link");
    let link = base.folder.path().join("tmp/link");
    let outcome = served.run_unasked(&mut testbed(&link, "list"));
    assert_refused(&outcome, "is a symlink of user 65533");
    let mut init = binary();
    init.args(["site", "init", "-o", "-", "--base"]).arg(&link);
    let outcome = served.run_unasked(&mut init);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
}

/// The attack: the same, below a directory of the attacker's that has the name of the base.
#[test]
fn a_bed_of_another_user_is_listed_without_asking_who_serves_it() {
    let Some(base) = Base::new() else { return };
    let theirs = base.directory("theirs", crate::support::attacker::ATTACKER, 0o755);
    let Some(served) = Served::on_new(&theirs.join("default")) else { return };
    for arguments in ["list", "down"] {
        let outcome = served.run_unasked(&mut testbed(&theirs, arguments));
        assert_refused(&outcome, "is a file system of user 65533");
    }
}

/// The attack: what is mounted under the name of a spool claims to be the victim's, and full of recordings.
#[test]
fn what_another_user_serves_is_no_spool() {
    let Some(node) = Node::new() else { return };
    let (spool, _) = node.left_behind();
    let before = processes(&node.recording()).len();
    let Some(served) = Served::on_new(&spool) else { return };
    for arguments in [&["--collect", "rec"][..], &["--collect", "rec", "--spool", "tmp"]] {
        let outcome = served.run_unasked(&mut record(&node, arguments));
        assert!(matches!(outcome.status, Some(0 | 2)), "{}", outcome.stderr);
        assert_eq!(processes(&node.recording()).len(), before);
    }
    fs::remove_dir_all(node.recording()).unwrap();
    let recorded = ["-o", "rec", "--spool", "tmp", "--", "sh", "-c", "exit 7"];
    let outcome = served.run_unasked(&mut record(&node, &recorded));
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    assert!(!processes(&node.recording()).is_empty());
    // Nor is anything made there that is named outright.
    for arguments in [["-o", "rec2", "--spool"], ["--spool", "tmp", "-o"]] {
        let mut command = record(&node, &arguments);
        let outcome = served.run_unasked(command.arg(spool.join("below")).args(["--", "true"]));
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("file system of user 65533"), "{}", outcome.stderr);
    }
}

/// The attack: the directory above a recording is exchanged for one in which the recording, or what it is in, is served by the
/// attacker. The program goes on, and so do those that it starts.
#[test]
fn a_recorded_program_does_not_wait_for_a_file_system_of_another_user() {
    for (recording, served) in [("run", "run"), ("deep/run", "deep")] {
        let Some(node) = Node::new() else { return };
        let at = |path: &str| node.folder.path().join(path);
        let theirs =
            "mkdir -m 777 theirs theirs/sub theirs/evil && seq 20000 > big && chmod 644 big";
        fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Attacker::does(node.folder.path(), theirs);
        let Some(served) = Served::on_new(&at("theirs/evil").join(served)) else { return };
        let script = "touch ready; until [ -e go ]; do sleep 0.01; done; \
             while read x; do :; done < big; sleep 0; echo $x done; exit 7";
        let recording = format!("theirs/sub/{recording}");
        let arguments = ["-o", &recording, "--", "bash", "-c", script];
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !at("ready").exists() {
                    std::thread::yield_now();
                }
                let (sub, evil) = (at("theirs/sub"), at("theirs/evil"));
                renameat_with(CWD, sub, CWD, evil, RenameFlags::EXCHANGE).unwrap();
                fs::write(at("go"), "").unwrap();
            });
            served.run_unasked(&mut record(&node, &arguments))
        });
        assert_eq!(
            (outcome.status, outcome.stdout.trim()),
            (Some(7), "done"),
            "{}",
            outcome.stderr
        );
    }
}

/// The attack: what the variables of a recording name is mounted before the program starts, or what is above it.
#[test]
fn a_program_with_variables_by_hand_does_not_wait_for_one_either() {
    for below in ["", "deep/rec"] {
        let Some(node) = Node::new() else { return };
        let planted = node.folder.path().join("run1");
        let Some(served) = Served::on_new(&planted) else { return };
        let mut command = Command::new("cat");
        command.arg("/etc/hostname").env("LD_PRELOAD", library());
        let outcome = served.run_unasked(command.env("PLIMSOLL_RECORD_DIR", planted.join(below)));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let told = outcome.stderr.strip_prefix("plimsoll: nothing is recorded: cannot write to ");
        assert!(told.is_some_and(|it| it.lines().count() == 1), "{}", outcome.stderr);
    }
}

/// The attack: a site file that is nobody's until it is mounted, and then claims to be root's.
#[test]
fn a_site_file_of_a_file_system_of_another_user_is_not_found() {
    let Some(node) = Node::new() else { return };
    let planted = node.folder.path().join("site.toml");
    let Some(served) = Served::on_new_file(&planted) else { return };
    let mut show = binary();
    show.args(["site", "show"]).current_dir(node.folder.path()).env("HOME", "/nowhere");
    let outcome = served.run_unasked(&mut show);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("there is no site.toml"), "{}", outcome.stderr);
}

/// The attack: files that a recording names are on a file system of the attacker's by the time that it is looked at. A site file calls it Lustre.
#[test]
fn files_that_a_recording_names_are_not_asked_for_where_another_user_serves_them() {
    let Some(node) = Node::new() else { return };
    let at = |path: &str| node.folder.path().join(path);
    fs::create_dir_all(at("data/set")).unwrap();
    let script = "seq 1000 > data/set/x; cat data/set/x > data/y";
    for name in ["one", "two"] {
        let outcome = record(&node, &["-o", name, "--", "sh", "-c", script]).output().unwrap();
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    }
    fs::rename(at("data"), at("before")).unwrap();
    let site = format!(
        "version = 1\n[[file_system]]\nname = \"l\"\nkind = \"lustre\"\nmount = \"{}\"\n\
         [[target]]\nname = \"t\"\nfile_system = \"l\"\nlustre_index = 0\n",
        at("data").display()
    );
    fs::write(at("site.toml"), site).unwrap();
    let Some(served) = Served::on_new(&at("data")) else { return };
    for arguments in ["report one", "report one --html page.html", "compare one two"] {
        let mut command = binary();
        command.args(arguments.split(' ')).current_dir(node.folder.path());
        let outcome = served.run_unasked(command.env("PLIMSOLL_SITE", at("site.toml")));
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        assert!(
            outcome.stdout.contains("data") || arguments.contains("html"),
            "{}",
            outcome.stdout
        );
    }
}

/// What root or the user themselves mounted stays in use.
#[test]
fn a_mount_of_ones_own_is_used() {
    if !Attacker::can_be_had() {
        return;
    }
    let Some(base) = Base::new() else { return };
    let own = base.directory("own", 0, 0o755);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&own).status().unwrap();
    assert!(mounted.success());
    fs::create_dir(own.join("base")).unwrap();
    for arguments in ["up --kind directory --targets 1 --size 16MiB", "list", "down"] {
        let outcome = testbed(&own.join("base"), arguments).output().unwrap();
        assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    }
}
