//! Whoever forges a container, or moves and hides logs on a target, gets nothing of another container written to, removed or shown.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use plimsoll_stow::{
    Below, Container, Home, Placement, Problem, Reader, Standing, StowError, Target, Writer, check,
    standing_of,
};
use rustix::fs::OFlags;
use support::copies::{assert_precious, copied, logs, open};
use support::targets;
use tempfile::TempDir;

/// Makes the copy list these logs of `theirs`, which has copies of all logs and no note, and all others where they are.
fn forge(folder: &TempDir, numbers: &[u32]) -> PathBuf {
    let (forged, theirs) = (folder.path().join("copy"), folder.path().join("theirs"));
    let there = theirs.join(logs(folder, "t0").file_name().unwrap());
    fs::create_dir_all(&there).unwrap();
    let mut lines = String::new();
    for mut log in open(&forged).logs().unwrap() {
        let name = format!("log-{:04}", log.number);
        let from = log.path.join(there.file_name().unwrap()).join(&name);
        if numbers.contains(&log.number) {
            fs::copy(from, there.join(name)).unwrap();
            (log.target, log.path) = ("zzz".into(), theirs.clone());
        }
        lines += &log.line().unwrap();
    }
    fs::write(forged.join("manifest"), lines).unwrap();
    there
}

/// Somebody else can lay a log and a note of his own beside a forged container, which lists the logs of another one as well.
#[test]
fn a_note_that_came_with_a_forged_container_does_not_count_alone() {
    let folder = copied();
    let forged = folder.path().join("copy");
    let id = open(&forged).id();
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    let logs = format!("plimsoll-stow-{id}");
    let mut command = Command::new("cp");
    command.arg("-rp").arg(folder.path().join("t0").join(&logs)).arg(&theirs);
    assert!(command.status().unwrap().success());
    let inode = std::os::unix::fs::MetadataExt::ino(
        &fs::metadata(forged.join("plimsoll-container")).unwrap(),
    );
    let home = plimsoll_stow::Home { path: Some(forged.clone()), inode, born: None, above: None };
    fs::write(theirs.join(&logs).join("container"), home.text()).unwrap();
    let targets = [plimsoll_stow::Target { name: "t0".into(), path: theirs }];
    let container = Container::open(&forged, &targets).unwrap();
    assert_ne!(standing_of(&container).unwrap(), Standing::Original);
    container.remove().unwrap();
    assert_precious(&folder.path().join("it"));
}

/// The logs of a forged container are found elsewhere by those who read than by those who change: there, others may write to them.
#[test]
fn whose_logs_are_is_asked_where_they_are_changed() {
    let folder = copied();
    let there = forge(&folder, &[0, 1]);
    fs::set_permissions(&there, fs::Permissions::from_mode(0o777)).unwrap();
    let named = targets(folder.path(), 2);
    let forged = || Container::open(&folder.path().join("copy"), &named).unwrap();
    assert_ne!(standing_of(&forged()).unwrap(), Standing::Original);
    let written = Writer::open(Arc::new(forged()), Placement::Striped).map(drop);
    assert!(matches!(written, Err(StowError::Copy { .. })), "{written:?}");
    forged().remove().unwrap();
    assert_precious(&folder.path().join("it"));
}

#[test]
fn a_log_of_another_container_is_not_opened_to_be_written() {
    let folder = copied();
    for (name, is_its_own) in [("it", true), ("copy", false)] {
        let container = open(&folder.path().join(name));
        for listed in container.logs().unwrap() {
            assert_eq!(container.open_log(&listed, OFlags::RDWR).is_ok(), is_its_own, "{name}");
            assert!(container.open_log(&listed, OFlags::RDONLY).is_ok());
        }
    }
}

/// Whoever may write to a target can take the logs away and bring them back at any moment.
#[test]
fn logs_that_come_and_go_stay_those_of_their_container() {
    for _ in 0..20 {
        let folder = copied();
        let flipped = ["t0", "t1"].map(|it| logs(&folder, it));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for (from, to) in [("", "hidden"), ("hidden", "")] {
                        for logs in &flipped {
                            let at = |it: &str| logs.with_extension(it);
                            let _ = fs::rename(at(from), at(to));
                        }
                    }
                }
            });
            let removed = open(&folder.path().join("copy")).remove();
            is_over.store(true, Ordering::Relaxed);
            removed.unwrap();
        });
        assert_precious(&folder.path().join("it"));
    }
}

/// Programs that came before the notes wrote none, and a power failure can take one that was never durable.
#[test]
fn logs_without_a_note_are_nobodys_until_that_is_asked_for() {
    let folder = copied();
    for target in ["t0", "t1"] {
        fs::remove_file(logs(&folder, target).join("container")).unwrap();
    }
    let it = folder.path().join("it");
    open(&folder.path().join("copy")).remove().unwrap();
    assert_precious(&it);
    assert_eq!(standing_of(&open(&it)).unwrap(), Standing::Unnoted);
    let reader = Reader::open(Arc::new(open(&it))).unwrap();
    assert_eq!(check(&reader, &mut |_| {}).unwrap(), [Problem::Unnoted]);
    let written = Writer::open(Arc::new(open(&it)), Placement::Striped).map(drop);
    assert!(matches!(written, Err(StowError::Unnoted { .. })), "{written:?}");
    assert_eq!(plimsoll_stow::repair(&open(&it), &[]).unwrap(), 1);
    assert_eq!(check(&reader, &mut |_| {}).unwrap(), []);
    let mut writer = Writer::open(Arc::new(open(&it)), Placement::Striped).unwrap();
    writer.write_at(b"!", 8).unwrap();
    writer.close().unwrap();
    assert_eq!(open(&it).remove().unwrap(), []);
    assert!(!folder.path().join("t0").read_dir().unwrap().any(|_| true));
}

/// A forged container comes with a log whose container is nowhere, and lists those of another one besides.
#[test]
fn a_repair_takes_no_logs_whose_container_is_there() {
    let folder = copied();
    let there = forge(&folder, &[0]);
    let nowhere =
        Home { path: Some(folder.path().join("nowhere/it")), inode: 1, born: None, above: None };
    fs::write(there.join("container"), nowhere.text()).unwrap();
    let forged = open(&folder.path().join("copy"));
    assert!(matches!(standing_of(&forged).unwrap(), Standing::Copy(_)));
    let repaired = plimsoll_stow::repair(&forged, &[]);
    assert!(matches!(repaired, Err(StowError::Copy { .. })), "{repaired:?}");
    assert_eq!(standing_of(&open(&folder.path().join("it"))).unwrap(), Standing::Original);
}

#[test]
fn only_its_own_notes_are_renewed_and_those_of_the_one_whose_place_it_takes() {
    let folder = copied();
    let [it, copy] = ["it", "copy"].map(|name| open(&folder.path().join(name)));
    // Whoever forged both made one without logs, which is nobody's copy.
    let forged = Container::create(&folder.path().join("forged"), &[]).unwrap();
    plimsoll_stow::renew(&copy).unwrap();
    plimsoll_stow::inherit(&copy, &forged).unwrap();
    assert_eq!(standing_of(&it).unwrap(), Standing::Original);
    plimsoll_stow::inherit(&copy, &it).unwrap();
    assert_eq!(standing_of(&copy).unwrap(), Standing::Original);
    assert!(matches!(standing_of(&it).unwrap(), Standing::Copy(_)));
}

/// It lists none of the other's logs, and its own would lie among them.
#[test]
fn no_log_is_made_beside_those_of_another_container() {
    let folder = copied();
    fs::write(folder.path().join("copy/manifest"), "").unwrap();
    let names = |target| fs::read_dir(logs(&folder, target)).unwrap().count();
    let before = (names("t0"), names("t1"));
    fs::rename(logs(&folder, "t0").join("log-0000"), logs(&folder, "t0").join("log-0007")).unwrap();
    let named: Vec<Target> = targets(folder.path(), 2);
    let copy = Arc::new(Container::open(&folder.path().join("copy"), &named).unwrap());
    let written = Writer::open(copy, Placement::Striped).and_then(|mut it| it.write_at(b"!", 0));
    assert!(written.unwrap_err().to_string().contains("another container's"));
    fs::rename(logs(&folder, "t0").join("log-0007"), logs(&folder, "t0").join("log-0000")).unwrap();
    assert_eq!((names("t0"), names("t1")), before);
    assert_precious(&folder.path().join("it"));
}

/// Whoever may write to a target hides the logs while somebody asks whose they are.
#[test]
fn a_plain_file_is_private_while_it_cannot_be_told_whose_the_logs_were() {
    let folder = copied();
    let path = folder.path().join("copy");
    fs::set_permissions(path.join("anchor"), fs::Permissions::from_mode(0o644)).unwrap();
    for target in ["t0", "t1"] {
        let logs = logs(&folder, target);
        fs::rename(&logs, logs.with_extension("hidden")).unwrap();
    }
    let file = fs::File::create(folder.path().join("flat")).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    open(&path).give_rights_to(&file).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// Others may exchange the original, and yet it is there.
#[test]
fn a_copy_of_one_among_others_files_is_a_copy() {
    let folder = copied();
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::rename(folder.path().join("it"), shared.join("it")).unwrap();
    plimsoll_stow::renew(&open(&shared.join("it"))).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let copy = open(&folder.path().join("copy"));
    assert_eq!(standing_of(&copy).unwrap(), Standing::Copy(shared.join("it")));
    assert!(matches!(plimsoll_stow::repair(&copy, &[]), Err(StowError::Copy { .. })));
    fs::rename(shared.join("it"), shared.join("away")).unwrap();
    assert_eq!(standing_of(&copy).unwrap(), Standing::Unknown(shared.join("it")));
}

/// The directory is there when the file system of its containers is not mounted, and it is another one.
#[test]
fn logs_are_left_behind_only_where_their_container_was() {
    let folder = copied();
    let home = folder.path().join("home");
    for name in ["home", "other"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::rename(folder.path().join("it"), home.join("it")).unwrap();
    plimsoll_stow::renew(&open(&home.join("it"))).unwrap();
    let soon = SystemTime::now() + Duration::from_secs(48 * 3600);
    let stray = || {
        let target = folder.path().join("t0");
        plimsoll_stow::stray_logs(&target, &Below::default(), soon).unwrap()
    };
    assert_eq!(stray().len(), 0);
    fs::rename(&home, folder.path().join("unmounted")).unwrap();
    fs::rename(folder.path().join("other"), &home).unwrap();
    let kept = stray().remove(0).kept.unwrap();
    assert!(kept.contains("not mounted"), "{kept}");
    let refused = plimsoll_stow::remove_stray(&stray()[0], &Below::default(), soon);
    assert!(refused.unwrap_err().to_string().contains("not mounted"));
    fs::rename(&home, folder.path().join("other")).unwrap();
    fs::rename(folder.path().join("unmounted"), &home).unwrap();
    fs::remove_dir_all(home.join("it")).unwrap();
    assert_eq!(stray()[0].kept, None);
}

/// What cannot be read at this moment is there all the same.
#[test]
fn logs_are_kept_while_what_is_in_the_place_of_their_container_cannot_be_read() {
    let folder = copied();
    fs::remove_dir_all(folder.path().join("copy")).ok();
    let marker = folder.path().join("it").join(plimsoll_stow::MARKER);
    let soon = SystemTime::now() + Duration::from_secs(48 * 3600);
    let stray =
        || plimsoll_stow::stray_logs(&folder.path().join("t0"), &Below::default(), soon).unwrap();
    let said = fs::read_to_string(&marker).unwrap();
    let closed = |mode| {
        let path = folder.path().join("it");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for other in ["", "plimsoll container 9\n", &"x".repeat(1 << 17)] {
        fs::write(&marker, other).unwrap();
        let kept = stray().remove(0).kept.expect("they can be removed");
        assert!(kept.contains("nobody can look") && kept.contains("/it: "), "{kept}");
        let refused = plimsoll_stow::remove_stray(&stray()[0], &Below::default(), soon);
        assert!(refused.unwrap_err().to_string().contains("nobody can look"));
    }
    fs::write(&marker, said).unwrap();
    if !rustix::process::geteuid().is_root() {
        closed(0o000);
        let kept = stray().remove(0).kept.expect("they can be removed");
        assert!(kept.contains("Permission denied"), "{kept}");
        closed(0o700);
    }
    assert_eq!(stray().len(), 0);
}

/// The attack: notes that lead into a large directory, which was listed for each log of another user's container.
#[test]
fn what_others_noted_leads_nowhere() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give files to another user");
        return;
    }
    let folder = copied();
    let stranger = folder.path().join("copy");
    assert!(matches!(standing_of(&open(&stranger)).unwrap(), Standing::Copy(_)));
    let mut command = Command::new("chown");
    command.args(["-R", "12345"]).args([&stranger, &logs(&folder, "t0"), &logs(&folder, "t1")]);
    assert!(command.status().unwrap().success());
    // To tell whose logs they are, the other one would have to be looked for.
    let standing = standing_of(&open(&stranger)).unwrap();
    assert!(matches!(standing, Standing::Unknown(_)), "{standing:?}");
    assert!(!plimsoll_stow::is_surely_original(&open(&stranger)).unwrap());
}
