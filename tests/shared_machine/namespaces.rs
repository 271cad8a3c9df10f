//! User namespaces that do not know this user: there, the kernel gives everybody's files the same owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::Shared;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::library;

/// The program in such a namespace.
fn unknown(shared: &Shared, arguments: &[&str]) -> Outcome {
    let mut command = Command::new("unshare");
    command.args(["--user", "timeout", "60"]).arg(binary().get_program()).args(arguments);
    command.current_dir(shared.storage.folder.path()).env("NO_COLOR", "1");
    command.env("PLIMSOLL_LIBRARY", library()).output().unwrap().into()
}

fn can_unshare() -> bool {
    let can = Command::new("unshare").args(["--user", "true"]).status();
    let can = can.is_ok_and(|it| it.success());
    if !can {
        eprintln!("SKIPPED: needs the right to make user namespaces");
    }
    can
}

fn directory(shared: &Shared, name: &str) {
    let path = shared.storage.folder.path().join(name);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
}

fn entries(path: &Path) -> usize {
    fs::read_dir(path).unwrap().count()
}

/// The attack: a link to a private directory of the victim's, which looks like the victim's own.
#[test]
fn nothing_is_made_over_links_of_others() {
    let Some(shared) = Shared::new() else { return };
    if !can_unshare() {
        return;
    }
    directory(&shared, "private");
    directory(&shared, "logs");
    Attacker::does(shared.target(), "ln -s ../private link");
    let link = shared.target().join("link/new");
    let outcome =
        unknown(&shared, &["stow", "cp", "precious", link.to_str().unwrap(), "--targets", "logs"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let folder = shared.storage.folder.path();
    assert_eq!((entries(&folder.join("private")), entries(&folder.join("logs"))), (0, 0));
}

/// The attack: a container of the attacker's, which looks like the program's own.
#[test]
fn containers_of_others_are_directories() {
    let Some(shared) = Shared::new() else { return };
    if !can_unshare() {
        return;
    }
    directory(&shared, "logs");
    assert_eq!(shared.run("stow cp precious forged --targets logs").status, Some(0));
    let folder = shared.storage.folder.path();
    for arguments in [&["chown", "-R"][..], &["chmod", "-R"]] {
        let what = if arguments[0] == "chown" { ATTACKER.to_string() } else { "a+rX".into() };
        let mut command = Command::new(arguments[0]);
        command.arg(arguments[1]).arg(what).args(["forged", "logs"]).current_dir(folder);
        assert!(command.status().unwrap().success());
    }
    fs::create_dir(folder.join("own")).unwrap();
    let run = ["stow", "run", "--quiet", "--mount", ".", "--targets", "own", "--", "cat", "forged"];
    let outcome = unknown(&shared, &run);
    assert_ne!((outcome.status, outcome.stdout.as_str()), (Some(0), "thesis"));
    assert_eq!(outcome.stdout, "", "{}", outcome.stderr);
}
