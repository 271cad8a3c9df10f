//! A mount to which another user may write: what he forges there is no file of the program's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use plimsoll_stow::{gone_name, mark_gone};

use super::Stowed;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{has, library, python};
use crate::support::served::Served;

/// Something private, beside a mount that is everybody's.
fn shared() -> Option<Stowed> {
    if !Attacker::can_be_had() {
        return None;
    }
    let stowed = Stowed::new();
    let open = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(stowed.storage.folder.path().to_path_buf(), 0o755);
    open(stowed.at(""), 0o777);
    fs::write(stowed.at("../private"), "secret").unwrap();
    open(stowed.at("../private"), 0o600);
    Some(stowed)
}

#[track_caller]
fn assert_private(stowed: &Stowed) {
    let path = stowed.at("../private");
    assert_eq!(fs::read_to_string(&path).unwrap(), "secret");
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_forged_container_is_a_directory() {
    let Some(stowed) = shared() else { return };
    for (name, anchor) in [("file", "touch"), ("link", "ln -s ../../private"), ("pipe", "mkfifo")] {
        Attacker::does(
            &stowed.at(""),
            &format!("mkdir {name}; touch {name}/plimsoll-container; {anchor} {name}/anchor"),
        );
        let outcome = stowed.run(&["sh", "-c", &format!("echo x >> {name}")]);
        assert!(outcome.stderr.contains("Is a directory"), "{name}: {}", outcome.stderr);
        let outcome = stowed.run(&["cat", name]);
        assert!(outcome.stderr.contains("Is a directory"), "{name}: {}", outcome.stderr);
        stowed.run(&["sh", "-c", &format!("chmod 666 {name}; touch {name}; ls -l {name}")]);
        assert_private(&stowed);
    }
}

/// One of ours that others may write to, or that has a link for a file, is none either.
#[test]
fn a_container_that_others_can_change_is_a_directory() {
    let Some(stowed) = shared() else { return };
    stowed.shell("echo mine > mine; echo linked > linked");
    fs::set_permissions(stowed.at("mine"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::remove_file(stowed.at("linked/anchor")).unwrap();
    symlink("../../private", stowed.at("linked/anchor")).unwrap();
    for name in ["mine", "linked"] {
        let outcome = stowed.run(&["cat", name]);
        assert!(outcome.stderr.contains("Is a directory"), "{name}: {}", outcome.stderr);
    }
    assert_private(&stowed);
}

/// In a directory of ours that was open to everybody once, somebody left what makes a container.
#[test]
fn a_directory_with_a_marker_of_somebody_else_is_a_directory() {
    let Some(stowed) = shared() else { return };
    fs::create_dir(stowed.at("incoming")).unwrap();
    let mode = |mode| {
        fs::set_permissions(stowed.at("incoming"), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o1777);
    let words = format!("plimsoll container 2\\nid {}\\n", "01".repeat(16));
    let planted = format!("printf '{words}' > plimsoll-container; touch anchor");
    Attacker::does(&stowed.at("incoming"), &planted);
    mode(0o755);
    let outcome = stowed.run(&["sh", "-c", "echo mine > incoming/results; cat incoming/results"]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "mine\n"),
        "{}",
        outcome.stderr
    );
    let outcome = stowed.run(&["sh", "-c", "rm -f incoming; ls incoming"]);
    assert!(outcome.stdout.contains("results"), "{}{}", outcome.stdout, outcome.stderr);
}

/// Whoever may write to the directory can exchange what was just made there.
#[test]
fn what_is_exchanged_while_it_is_made_harms_nobody() {
    let Some(stowed) = shared() else { return };
    fs::create_dir(stowed.at("evil")).unwrap();
    fs::write(stowed.at("evil/plimsoll-container"), "").unwrap();
    symlink("../../private", stowed.at("evil/anchor")).unwrap();
    std::os::unix::fs::chown(stowed.at("evil"), Some(ATTACKER), None).unwrap();
    let script = "while [ ! -d out ]; do :; done; mv out taken.$$.$RANDOM; mv evil out";
    let attacker = Attacker::repeats(&stowed.at(""), &script.replace("$RANDOM", "$(date +%N)"));
    let made = stowed.run(&[
        crate::support::recording::python(),
        "-c",
        "import os\nfor i in range(60):\n    try:\n        fd = os.open('out', os.O_CREAT | os.O_WRONLY, 0o666)\n        os.write(fd, b'x'); os.close(fd)\n    except OSError: pass\n    try: os.rename('out', 'evil')\n    except OSError: pass\nprint('done')",
    ]);
    drop(attacker);
    assert_eq!(made.stdout, "done\n", "{}", made.stderr);
    assert_private(&stowed);
}

/// A link that another user laid leads to a container of ours elsewhere.
#[test]
fn links_of_others_lead_to_no_container() {
    let Some(stowed) = shared() else { return };
    let elsewhere = stowed.storage.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    stowed.shell("echo precious > mine; ln -s mine own");
    fs::rename(stowed.at("mine"), elsewhere.join("results")).unwrap();
    Attacker::does(&stowed.at(""), "ln -s ../elsewhere/results out");
    let outcome = stowed.run(&["sh", "-c", "echo junk > out"]);
    assert!(outcome.stderr.contains("Is a directory"), "{}", outcome.stderr);
    stowed.run(&["sh", "-c", "truncate -s 1 out; touch -d 2001-01-01 out"]);
    fs::rename(elsewhere.join("results"), stowed.at("mine")).unwrap();
    assert_eq!(stowed.output(&["cat", "own"]), "precious\n", "ours are followed");
}

/// What another user serves may never answer.
#[test]
fn what_another_user_serves_is_listed_and_not_asked() {
    let Some(stowed) = shared() else { return };
    let Some(server) = Served::on_new(&stowed.at("served")) else { return };
    let mut command = stowed.command(&[]);
    let outcome = server.run_unasked(command.arg("ls"));
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "served\n"));
}

/// The attack: a directory above an open file is mounted over. The file stays what it is to who uses it already, and who comes to it by its descriptor is told an
/// error, instead of waiting for the attacker.
#[test]
fn what_another_user_mounts_above_an_open_file_is_not_asked() {
    mounted_over("team");
}

/// The attack: the very directory that the file is in. Its name is made durable, and noted beside new logs.
#[test]
fn what_another_user_mounts_over_the_directory_of_an_open_file_is_not_asked() {
    mounted_over("team/deep");
}

fn mounted_over(directory: &str) {
    let Some(stowed) = shared() else { return };
    stowed.shell("mkdir team team/deep");
    let script = "
import os, sys
fd = os.open('team/deep/x', os.O_CREAT | os.O_RDWR)
os.write(fd, b'before ')
print('ready', flush=True)
sys.stdin.readline()
os.write(fd, b'after')
os.fsync(fd)
os.pwrite(fd, b'large', 200000)
os.fsync(fd)
if os.fork() == 0:
    try: print('written', os.write(fd, b'astray'), flush=True)
    except OSError as error: print(os.strerror(error.errno), flush=True)
    os._exit(0)
os.wait()";
    let mut command = stowed.command(&[]);
    command.args([python(), "-c", script]).process_group(0);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let mut line = || {
        let mut told = String::new();
        output.read_line(&mut told).unwrap();
        told
    };
    assert_eq!(line(), "ready\n");
    let served = Served::on(&stowed.at(directory));
    drop(process.stdin.take());
    let (told, asked) = (line(), served.map(|it| it.asked_by(process.id().cast_signed())));
    assert!(process.wait().unwrap().success());
    if let Some(asked) = asked {
        assert_eq!((told.as_str(), asked), ("Input/output error\n", vec![]));
        let mut expected = b"before after".to_vec();
        expected.resize(200_000, 0);
        expected.extend(b"large");
        assert_eq!(stowed.cat("team/deep/x"), expected);
        assert_eq!(fs::metadata(stowed.at("team/deep/x/anchor")).unwrap().len(), 0);
    }
}

/// Where another user makes directories as fast as they are walked, a run would never end.
#[test]
fn directories_of_others_are_not_walked_at_the_end() {
    let Some(stowed) = shared() else { return };
    Attacker::does(&stowed.at(""), "mkdir theirs && mkdir theirs/deep");
    stowed.shell("mkdir mine && echo precious > mine/x && echo precious > y");
    // As a kill leaves them, and then moved.
    let left = [("mine/x", "mine"), ("y", "theirs")].map(|(name, above)| {
        let container = fs::File::open(stowed.at(name)).unwrap();
        mark_gone(&container, true).unwrap();
        let to = stowed.at(above).join(gone_name(&container).unwrap());
        fs::rename(stowed.at(name), &to).unwrap();
        to
    });
    stowed.output(&["true"]);
    assert_eq!(left.map(|it| it.exists()), [false, true]);
}

/// It tells programs that they are root, and that files are root's; the kernel says who they are.
#[test]
fn a_program_that_believes_to_be_root_uses_its_files() {
    let Some(stowed) = shared() else { return };
    if !has(&["fakeroot", "setpriv"]) {
        eprintln!("SKIPPED: needs fakeroot and setpriv");
        return;
    }
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    stowed.storage.targets.iter().for_each(|target| open(Path::new(target)));
    // Where the other user can read it.
    let copy = stowed.at("../libplimsoll.so");
    fs::copy(library(), &copy).unwrap();
    let user = format!("--reuid={ATTACKER}");
    let script = "echo hi > x; cat x; stat -c '%s %F' x; cp x y; cat y; rm x; ls; id -u";
    let program = ["setpriv", &user, "--clear-groups", "fakeroot", "sh", "-c", script];
    let mut command = stowed.command(&[]);
    let outcome: Outcome =
        command.args(program).env("PLIMSOLL_LIBRARY", copy).output().unwrap().into();
    let told = (outcome.stdout.as_str(), outcome.stderr.as_str());
    assert_eq!(told, ("hi\n3 regular file\nhi\ny\n0\n", ""));
    assert!(stowed.at("y/anchor").exists(), "it is a container");
}

/// Has a link and an empty directory change places again and again, below names that a program gives to its files.
const CHANGES_PLACES: &str = "exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
os.mkdir(\"b\"); os.chmod(\"b\", 0o777); os.symlink(\"../../private\", \"d\")
while True: libc.renameat2(-100, b\"b\", -100, b\"d\", 2)'";

#[test]
fn what_others_put_where_a_file_goes_does_not_come_where_it_was() {
    let Some(stowed) = shared() else { return };
    for name in ["own", "pub"] {
        fs::create_dir(stowed.at(name)).unwrap();
    }
    fs::set_permissions(stowed.at("own"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(stowed.at("pub"), fs::Permissions::from_mode(0o777)).unwrap();
    let _changing = Attacker::repeats(&stowed.at("pub"), CHANGES_PLACES);
    let script = "
import os, time
begin = time.time()
while not os.path.lexists('pub/d') and time.time() < begin + 20: time.sleep(0.01)
refused = 0
for round in range(4000):
    with open('own/a', 'w') as f: f.write('mine')
    assert not os.path.islink('own/a') and os.path.isfile('own/a'), round
    try: os.rename('own/a', 'pub/b')
    except OSError:
        refused += 1
        assert os.path.isfile('own/a') and not os.path.islink('own/a'), round
assert set(os.listdir('own')) <= {'a'}, os.listdir('own')
assert 0 < refused < 4000, refused";
    stowed.python(script);
    assert_private(&stowed);
}

/// Whoever may write beside a directory can give it the name of an unfinished container.
#[test]
fn a_directory_with_the_name_of_an_unfinished_container_stays() {
    let Some(stowed) = shared() else { return };
    let kept = [("state", 5000), ("lock", 0), ("manifest", 0), ("anchor", 0)];
    for (name, bytes) in kept {
        let directory = stowed.at(&format!("of-{name}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(name), vec![b'x'; bytes]).unwrap();
        let old = SystemTime::now() - Duration::from_secs(120);
        fs::File::open(&directory).unwrap().set_modified(old).unwrap();
    }
    Attacker::does(&stowed.at(""), "for it in of-*; do mv $it .plimsoll-stow-new-$it; done");
    stowed.output(&["true"]);
    for (name, bytes) in kept {
        let file = stowed.at(&format!(".plimsoll-stow-new-of-{name}")).join(name);
        assert_eq!(fs::read(&file).unwrap_or_default().len(), bytes, "{name}");
        assert!(file.exists(), "{name}");
    }
}

/// Whoever may write to a target can give a directory of the victim's the name of that with a container's logs.
#[test]
fn no_logs_go_to_a_directory_that_is_none_of_the_containers() {
    let Some(stowed) = shared() else { return };
    let [first, second] = &stowed.storage.targets[..] else { panic!() };
    let run = |targets: &[&PathBuf], script: &str| {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60"]).arg(binary().get_program());
        command.args(["stow", "run", "--mount"]).arg(stowed.at("")).arg("--targets").args(targets);
        command.args(["--policy", "striped", "--small", "0B", "--quiet", "--", "sh", "-c", script]);
        command.env("PLIMSOLL_LIBRARY", library()).current_dir(stowed.at(""));
        let outcome: Outcome = command.output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{script}");
    };
    run(&[first], "head -c 100000 /dev/zero > big");
    fs::set_permissions(second, fs::Permissions::from_mode(0o777)).unwrap();
    let project = second.join("project");
    fs::create_dir(&project).unwrap();
    for name in ["container", "log-0001", "more"] {
        fs::write(project.join(name), if name == "log-0001" { "" } else { "precious" }).unwrap();
    }
    let logs = fs::read_dir(first).unwrap().next().unwrap().unwrap().file_name();
    Attacker::does(second, &format!("mv project {}", logs.display()));
    let taken = second.join(&logs);
    let left = || {
        let names = fs::read_dir(&taken).unwrap().map(|it| it.unwrap().file_name());
        let mut names: Vec<String> = names.map(|it| it.into_string().unwrap()).collect();
        names.sort();
        let lengths = names.iter().map(|it| fs::metadata(taken.join(it)).unwrap().len());
        (names.clone(), lengths.collect::<Vec<u64>>())
    };
    let before = left();
    run(&[first, second], "head -c 30000000 /dev/zero >> big; test $(wc -c < big) = 30100000");
    assert_eq!(left(), before);
    run(&[first, second], "rm big");
    assert_eq!(left(), before);
}
