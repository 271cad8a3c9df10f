//! Logs that look as if they were left behind, because another user hides their container.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::containers::{Node, stow};
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::Outcome;

/// The attack: who may write to a target, or to a directory above a container, gives what is there another name, so that its logs look
/// left behind, or those of a copy.
#[test]
fn renamed_directories_cost_no_logs() {
    let Some(node) = Node::new() else { return };
    let open = |name: &str| {
        fs::create_dir(node.at(name)).unwrap();
        fs::set_permissions(node.at(name), fs::Permissions::from_mode(0o777)).unwrap();
    };
    open("target");
    open("above");
    fs::create_dir(node.at("above/project")).unwrap();
    node.succeeds("cp private/file above/project/big --targets target,inner=private/target");
    node.succeeds("cp private/file private/big --targets target");
    let copied =
        Command::new("cp").arg("-r").args([node.at("above/project/big"), node.at("copy")]).status();
    assert!(copied.unwrap().success());
    let logs = || ["target", "private/target"].map(|it| fs::read_dir(node.at(it)).unwrap().count());
    let before = logs();
    assert_eq!(before.iter().sum::<usize>(), 3, "one for each container");
    age_logs(&[&node.at("target"), &node.at("private/target")]);
    for entry in fs::read_dir(node.at("target")).unwrap().map(|it| it.unwrap().path()) {
        let digit = entry.to_str().unwrap().chars().last().unwrap();
        let other = if digit == 'f' { "0" } else { "f" };
        let mut name = entry.to_str().unwrap().to_string();
        name.replace_range(name.len() - 1.., other);
        fs::rename(&entry, name).unwrap();
    }
    fs::rename(node.at("above/project"), node.at("above/elsewhere")).unwrap();
    fs::create_dir(node.at("above/project")).unwrap();
    chown(node.at("above/project"), Some(ATTACKER), None).unwrap();
    node.run("check --targets target,inner=private/target --below private --repair --yes");
    node.run("rm copy");
    fs::remove_dir(node.at("above/project")).unwrap();
    fs::rename(node.at("above/elsewhere"), node.at("above/project")).unwrap();
    for entry in fs::read_dir(node.at("target")).unwrap().map(|it| it.unwrap().path()) {
        let log = fs::read_dir(&entry).unwrap().map(|it| it.unwrap().path());
        assert!(log.count() >= 2, "{}: a log and its note", entry.display());
    }
    assert_eq!(logs(), before);
}

/// The attack: a container of the victim's was moved to where the attacker may rename what is above it, who hides it while it is looked for.
#[test]
fn a_container_that_is_hidden_for_a_moment_keeps_its_logs() {
    let Some(node) = Node::new() else { return };
    Attacker::does(&node.at("."), "mkdir -m 777 world world/theirs world/theirs/sub world/away");
    node.close();
    node.succeeds("cp private/file private/moved --targets inner=private/target");
    fs::rename(node.at("private/moved"), node.at("world/theirs/sub/moved")).unwrap();
    age_logs(&[&node.at("private/target")]);
    let logs = || fs::read_dir(node.at("private/target")).unwrap().count();
    assert_eq!(logs(), 2);
    let check = "check --targets inner=private/target --repair --yes --below";
    assert_eq!(node.run(&format!("{check} world/theirs")).status, Some(0), "it is found");
    Attacker::does(&node.at("world"), "mv theirs/sub away/sub");
    let checked = node.run(&format!("{check} world/theirs"));
    assert_eq!((logs(), checked.status), (2, Some(1)), "{}", checked.stdout);
    assert!(checked.stdout.contains("could exchange what is in it"), "{}", checked.stdout);
    // The attack: a link where nothing is, in the place of the directory.
    Attacker::does(&node.at("world"), "mkdir empty; mv theirs was; ln -s empty theirs");
    let checked = node.run(&format!("{check} world/theirs"));
    assert_eq!((logs(), checked.status), (2, Some(2)), "{}", checked.stdout);
    assert!(checked.stderr.contains("symlink of user"), "{}", checked.stderr);
    Attacker::does(&node.at("world"), "rm theirs; mv was theirs; mv away/sub theirs/sub");
    node.succeeds("cp world/theirs/sub/moved private/back --force");
    assert!(fs::read(node.at("private/back")).unwrap() == vec![7; 300_000]);
}

/// No attack: a container that its owner closed, or whose marker, is not gone.
#[test]
fn a_container_that_cannot_be_looked_into_keeps_its_logs() {
    let Some(node) = Node::new() else { return };
    Attacker::does(&node.at("."), "mkdir -m 700 own own/target own/box; echo words > own/file");
    node.close();
    let run = |arguments: &str| -> Outcome {
        let mut command = stow(&node, arguments);
        command.current_dir(node.at("own")).env("HOME", node.at("own"));
        command.uid(ATTACKER).gid(ATTACKER).output().unwrap().into()
    };
    let made = run("cp file box/big --targets target");
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    age_logs(&[&node.at("own/target")]);
    let logs = || fs::read_dir(node.at("own/target")).unwrap().count();
    let close = |name: &str, mode| {
        fs::set_permissions(node.at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let check = "check --targets target --repair --yes";
    for (name, open) in
        [("own/box/big", 0o700), ("own/box/big/plimsoll-container", 0o600), ("own/box", 0o700)]
    {
        close(name, 0o000);
        for arguments in [check.to_string(), format!("{check} --below box")] {
            let checked = run(&arguments);
            assert_eq!(logs(), 1, "{name}: {}", checked.stdout);
            assert_ne!(checked.status, Some(0), "{name}: {}", checked.stdout);
            let said = [checked.stdout, checked.stderr].concat();
            assert!(said.contains("Permission denied"), "{name}: {said}");
        }
        close(name, open);
    }
    assert_eq!(run(check).status, Some(0));
    fs::remove_dir_all(node.at("own/box/big")).unwrap();
    assert_eq!((run(check).status, logs()), (Some(0), 0), "it is gone");
}

/// No attack: a container that was given to another user is still there.
#[test]
fn a_container_that_was_given_away_keeps_its_logs() {
    let Some(node) = Node::new() else { return };
    node.close();
    node.succeeds("cp private/file private/given --targets inner=private/target");
    age_logs(&[&node.at("private/target")]);
    let logs = || fs::read_dir(node.at("private/target")).unwrap().count();
    let before = logs();
    let give = Command::new("chown")
        .args(["-R", &ATTACKER.to_string()])
        .arg(node.at("private/given"))
        .status();
    assert!(give.unwrap().success());
    let checked = node.run("check --targets inner=private/target --repair --yes");
    assert_eq!((logs(), checked.status), (before, Some(1)), "{}", checked.stdout);
    assert!(checked.stdout.contains("belongs to user 65533"), "{}", checked.stdout);
}

/// The attack: in a directory that everybody may write to, somebody plants what tells a container, so that nobody looks into it.
#[test]
fn a_planted_marker_hides_no_container() {
    let Some(node) = Node::new() else { return };
    fs::create_dir_all(node.at("scratch/job")).unwrap();
    fs::set_permissions(node.at("scratch"), fs::Permissions::from_mode(0o1777)).unwrap();
    node.succeeds("cp private/file private/moved --targets inner=private/target");
    fs::rename(node.at("private/moved"), node.at("scratch/job/moved")).unwrap();
    age_logs(&[&node.at("private/target")]);
    let logs = || fs::read_dir(node.at("private/target")).unwrap().count();
    let before = logs();
    let words = format!("plimsoll container 1\\nid {}\\n", "01".repeat(16));
    Attacker::does(&node.at("scratch"), &format!("printf '{words}' > plimsoll-container"));
    node.run("check --targets inner=private/target --repair --yes --below scratch");
    assert_eq!(logs(), before);
    let listed = node.run("ls scratch");
    assert!(listed.stdout.contains("job"), "{}{}", listed.stdout, listed.stderr);
    node.succeeds("cp scratch/job/moved private/back --force");
    assert!(fs::read(node.at("private/back")).unwrap() == vec![7; 300_000]);
}

/// Makes logs look as if nobody had written to them for days.
fn age_logs(targets: &[&Path]) {
    let old = SystemTime::now() - Duration::from_secs(3 * 86_400);
    for target in targets {
        for place in fs::read_dir(target).unwrap().map(|it| it.unwrap().path()) {
            for file in fs::read_dir(place).unwrap().map(|it| it.unwrap().path()) {
                fs::File::open(file).unwrap().set_modified(old).unwrap();
            }
        }
    }
}
