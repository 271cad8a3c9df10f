//! Containers in directories and on targets that another user may write to.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_stow::ListedLog;

use super::Shared;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::served::Served;

/// A directory of everybody's with a target that is private, and a precious container beside it.
pub(super) struct Node {
    shared: Shared,
}

impl Node {
    pub(super) fn new() -> Option<Self> {
        let node = Node { shared: Shared::new()? };
        fs::create_dir(node.at("private")).unwrap();
        fs::set_permissions(node.at("private"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(node.at("private/target")).unwrap();
        fs::write(node.at("private/file"), vec![7; 300_000]).unwrap();
        node.succeeds("cp private/file private/container --targets private/target");
        Some(node)
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.shared.storage.folder.path().join(name)
    }

    pub(super) fn run(&self, arguments: &str) -> Outcome {
        self.shared.run(&format!("stow {arguments}"))
    }

    /// Lets nobody else write to the directory that all is in.
    pub(super) fn close(&self) {
        fs::set_permissions(self.at("."), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[track_caller]
    pub(super) fn succeeds(&self, arguments: &str) -> Outcome {
        let outcome = self.run(arguments);
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        outcome
    }

    #[track_caller]
    fn assert_unharmed(&self) {
        assert_eq!(self.run("check private/container").status, Some(0));
        self.succeeds("cp private/container private/back --force");
        assert!(fs::read(self.at("private/back")).unwrap() == vec![7; 300_000]);
    }
}

pub(super) fn stow(node: &Node, arguments: &str) -> Command {
    let mut command = binary();
    command.arg("stow").args(arguments.split_whitespace()).current_dir(node.at("."));
    command
}

#[track_caller]
fn assert_refused(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.status, Some(2), "{} {}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The attack: what is being copied, and what is being put in a container's place, is exchanged for a link to another container of the victim's.
#[test]
fn an_exchanged_container_costs_nothing_but_the_command() {
    let Some(node) = Node::new() else { return };
    let precious = node.at("private/container");
    let script = format!(
        "for d in .x.*.part .plimsoll-stow-new-*; do [ -d $d ] && [ ! -L $d ] || continue; \
         mv $d gone.$n && ln -s {} $d; n=$((n+1)); done",
        precious.display()
    );
    let attacker = Attacker::repeats(&node.at("."), &script);
    for _ in 0..6 {
        let made = node.run("cp private/file x --targets private/target").status;
        if made == Some(0) {
            let _ = node.run("flatten x");
        }
        let _ = node.run("rm x");
        let _ = fs::remove_file(node.at("x"));
    }
    drop(attacker);
    node.assert_unharmed();
}

/// The attack: links of the attacker's, on the way to what is made, written to or removed.
#[test]
fn links_of_somebody_else_lead_to_no_container() {
    let Some(node) = Node::new() else { return };
    fs::create_dir(node.at("theirs")).unwrap();
    chown(node.at("theirs"), Some(ATTACKER), None).unwrap();
    Attacker::does(&node.at("theirs"), "ln -s ../private way; ln -s ../private/container it");
    for arguments in [
        "cp private/file theirs/way/new --targets private/target",
        "cp private/file private/new --targets theirs/way/target",
        "cp private/container theirs/way/plain",
        "flatten theirs/it",
        "flatten theirs/way/container",
        "rm theirs/it",
        "rm theirs/way/container",
        "check theirs/it --repair",
    ] {
        let outcome = node.run(arguments);
        assert_refused(&outcome, "symlink of user 65533");
    }
    assert_eq!(fs::read_dir(node.at("private")).unwrap().count(), 3, "nothing was made there");
    // To be read, a container is found wherever links lead.
    node.succeeds("check theirs/it");
    node.assert_unharmed();
}

/// The attack: a file system of the attacker's that shows whatever it likes, as container, as target, and in the manifest of a container
/// that somebody lists.
#[test]
fn nothing_is_asked_of_a_file_system_of_another_user() {
    let Some(node) = Node::new() else { return };
    node.succeeds("cp private/file listed --targets private/target");
    let served = node.at("served");
    let planted = ListedLog { number: 0, target: "target".into(), path: served.clone(), seat: 1 };
    fs::write(node.at("listed/manifest"), planted.line().unwrap()).unwrap();
    let Some(server) = Served::on_new(&served) else { return };
    // Nobody knows how large it is.
    for (arguments, status) in
        [("ls .", 0), ("info listed", 0), ("du listed", 0), ("stat listed", 1)]
    {
        let outcome = server.run_unasked(&mut stow(&node, arguments));
        assert_eq!(outcome.status, Some(status), "{arguments}: {}", outcome.stderr);
    }
    for arguments in
        ["cat listed", "rm served", "rm served/deep", "flatten served", "check served --repair"]
    {
        let outcome = server.run_unasked(&mut stow(&node, arguments));
        assert_refused(&outcome, "is a file system of user 65533");
    }
    for arguments in [
        "cp private/file new --targets served",
        "cp private/file served/new --targets private/target",
        "cp private/container served/new",
    ] {
        let outcome = server.run_unasked(&mut stow(&node, arguments));
        assert_refused(&outcome, "is a file system of user 65533");
    }
    let outcome = server.run_unasked(&mut stow(&node, "rm listed"));
    assert_eq!(outcome.status, Some(1), "the log is left: {}", outcome.stderr);
    node.assert_unharmed();
}

/// The attack: a file of the victim's that others can read has the name that everybody can guess.
#[test]
fn what_is_flattened_is_written_where_nobody_else_comes() {
    let Some(node) = Node::new() else { return };
    node.succeeds("cp private/file x --targets private/target");
    let id = fs::read_to_string(node.at("x/plimsoll-container")).unwrap();
    let id = id.trim().rsplit(' ').next().unwrap();
    fs::write(node.at(&format!(".{id}.flat")), "notes").unwrap();
    Attacker::does(&node.at("."), &format!("mkdir -m 777 .{id}.flattened"));
    node.succeeds("flatten x");
    assert_eq!(fs::read_to_string(node.at(&format!(".{id}.flat"))).unwrap(), "notes");
    assert!(fs::read(node.at("x")).unwrap() == vec![7; 300_000]);
    assert_eq!(mode(&node.at("x")), 0o600);
}

/// A directory that was opened to others does not open what is in it.
#[test]
fn a_copy_is_for_those_who_may_read_all_that_it_is_made_of() {
    let Some(node) = Node::new() else { return };
    let at = |name: &str| node.at(&format!("private/container{name}"));
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let copied = || {
        node.succeeds("cp private/container private/copy --force");
        mode(&node.at("private/copy"))
    };
    set(&at(""), 0o755);
    assert_eq!(copied(), 0o600);
    ["/plimsoll-container", "/manifest"].iter().for_each(|it| set(&at(it), 0o644));
    assert_eq!(copied(), 0o600, "the log is private");
    let logs = fs::read_dir(node.at("private/target")).unwrap().next().unwrap().unwrap().path();
    set(&logs.join("log-0000"), 0o644);
    assert_eq!(copied(), 0o600, "and so is its directory");
    set(&logs, 0o755);
    fs::write(node.at("by-mask"), "").unwrap();
    assert_eq!(copied(), mode(&node.at("by-mask")));
    // A file in place of a container has the rights of its anchor, for the anchor's group.
    set(&at("/anchor"), 0o640);
    chown(at("/anchor"), None, Some(4321)).unwrap();
    fs::create_dir(node.at("grouped")).unwrap();
    chown(node.at("grouped"), None, Some(ATTACKER)).unwrap();
    set(&node.at("grouped"), 0o2770);
    fs::rename(at(""), node.at("grouped/container")).unwrap();
    node.succeeds("flatten grouped/container");
    let facts = fs::metadata(node.at("grouped/container")).unwrap();
    assert_eq!((facts.gid(), facts.mode() & 0o777), (4321, 0o640));
}

/// The attack: whoever may read a container holds all locks that reading allows.
#[test]
fn those_who_may_read_a_container_cannot_keep_its_owner_waiting() {
    let Some(node) = Node::new() else { return };
    for (arguments, is_gone) in [("check x --repair", false), ("flatten x", false), ("rm y", true)]
    {
        let name = arguments.split_whitespace().nth(1).unwrap();
        if !node.at(name).exists() {
            node.succeeds(&format!("cp private/file {name} --targets private/target"));
            let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(node.at(name)).status();
            assert!(opened.unwrap().success());
            // What was opened with all the rest is private again as soon as it is used.
            node.succeeds(&format!("check {name} --repair"));
        }
        let _ = fs::remove_file(node.at("held"));
        let script = format!(
            "flock -x {name}/state flock -x {name}/manifest flock -x {name}/plimsoll-container \
             sh -c 'touch held; sleep 50'"
        );
        let attacker = Attacker::repeats(&node.at("."), &script);
        let begin = Instant::now();
        while !node.at("held").exists() {
            assert!(begin.elapsed() < Duration::from_secs(50), "flock(1) is not there");
            std::thread::sleep(Duration::from_millis(5));
        }
        let outcome = node.run(arguments);
        drop(attacker);
        assert_eq!(outcome.status, Some(0), "{arguments}: {}", outcome.stderr);
        assert_eq!(!node.at(name).exists(), is_gone, "{arguments}");
    }
    node.assert_unharmed();
}

/// The attack: whoever may read a container holds its marker alone. Other users have to wait for that, but not root, through whose mount they may look.
#[test]
fn those_who_may_read_a_container_cannot_keep_root_waiting() {
    const OWNER: u32 = 65_532;
    let Some(node) = Node::new() else { return };
    node.succeeds("cp private/file x --targets private/target");
    node.succeeds("check x --repair");
    for path in ["x", "private/target"] {
        let given =
            Command::new("chown").args(["-R", &OWNER.to_string()]).arg(node.at(path)).status();
        assert!(given.unwrap().success());
    }
    for path in ["x", "x/plimsoll-container"] {
        let opened = Command::new("chmod").arg("a+rX").arg(node.at(path)).status();
        assert!(opened.unwrap().success());
    }
    let script = "flock -x x/plimsoll-container sh -c 'touch held; sleep 50'";
    let attacker = Attacker::repeats(&node.at("."), script);
    let begin = Instant::now();
    while !node.at("held").exists() {
        assert!(begin.elapsed() < Duration::from_secs(50), "flock(1) is not there");
        std::thread::sleep(Duration::from_millis(5));
    }
    let outcome = node.run("cp x private/copy");
    drop(attacker);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(fs::read(node.at("private/copy")).unwrap() == vec![7; 300_000]);
}

/// Whoever may write to a container's directory could put files of theirs into it.
#[test]
fn the_files_of_a_container_are_its_owners() {
    let Some(node) = Node::new() else { return };
    node.succeeds("cp private/file x --targets private/target");
    fs::set_permissions(node.at("x"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_refused(&node.run("rm x"), "others can write to it");
    for name in ["plimsoll-container", "manifest"] {
        chown(node.at("x").join(name), Some(ATTACKER), None).unwrap();
        assert_refused(&node.run("cat x"), "it belongs to user 65533");
        chown(node.at("x").join(name), Some(0), None).unwrap();
    }
    fs::set_permissions(node.at("x"), fs::Permissions::from_mode(0o700)).unwrap();
    node.succeeds("rm x");
    node.assert_unharmed();
}
