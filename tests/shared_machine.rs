//! Directories that another user may write to: nothing of ours is lost, nothing hangs, one line tells.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::attacker::{ATTACKER, Attacker};
use crate::command::{Outcome, binary};
use crate::storage::Storage;

/// A directory of everybody's, as some scratch file systems are, and a file of ours elsewhere.
struct Shared {
    storage: Storage,
}

impl Shared {
    /// `None`, and says so, where nobody else can be played.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        let storage = Storage::with_targets(1);
        let shared = Shared { storage };
        for directory in [shared.storage.folder.path(), shared.target()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        }
        fs::write(shared.precious(), "thesis").unwrap();
        Some(shared)
    }

    fn target(&self) -> &Path {
        &self.storage.targets[0]
    }

    fn precious(&self) -> PathBuf {
        self.storage.folder.path().join("precious")
    }

    /// Runs the program; whatever takes that long hangs.
    fn run(&self, arguments: &str) -> Outcome {
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary().get_program()).env("NO_COLOR", "1");
        command.args(arguments.split_whitespace()).current_dir(self.storage.folder.path());
        let outcome: Outcome = command.output().unwrap().into();
        assert_ne!(outcome.status, Some(124), "it hangs: {arguments}");
        outcome
    }

    #[track_caller]
    fn assert_unharmed(&self) {
        assert_eq!(fs::read_to_string(self.precious()).unwrap(), "thesis");
    }

    /// Everything in the target, also what was moved, with its size.
    fn left_bytes(&self) -> u64 {
        let sizes = Command::new("find")
            .arg(self.target())
            .args(["-user", "0", "-type", "f", "-printf", "%s\\n"])
            .output()
            .unwrap();
        let sizes = String::from_utf8(sizes.stdout).unwrap();
        sizes.lines().map(|size| size.parse::<u64>().unwrap()).sum()
    }

    /// Puts a directory with links to the precious file in the place of every working directory.
    fn exchange_working_directories(&self, names: &[&str]) -> Attacker {
        let precious = self.precious();
        let links = names.iter().map(|name| format!("ln -s {} $d/{name};", precious.display()));
        let links: String = links.collect();
        let script = format!(
            "for d in .plimsoll-*; do [ -d $d ] && [ ! -e $d/mine ] || continue; \
             mv $d gone.$$.$n && mkdir -m 777 $d && {{ {links} touch $d/mine; }}; n=$((n+1)); done"
        );
        Attacker::repeats(self.target(), &script)
    }
}

/// One line that says what happened and where.
#[track_caller]
fn assert_told(outcome: &Outcome, target: &Path) {
    let errors: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let [error] = errors[..] else { panic!("{}", outcome.stderr) };
    assert!(error.contains(target.to_str().unwrap()), "{error}");
    let is_told = ["exchanged it", "it is a symlink", "No such file", "not empty"];
    assert!(is_told.iter().any(|words| error.contains(words)), "{error}");
    assert_ne!(outcome.status, Some(0), "{}", outcome.stderr);
}

#[test]
fn an_exchanged_working_directory_costs_bench_nothing_but_the_experiment() {
    let Some(shared) = Shared::new() else { return };
    let files: Vec<String> = (0..12)
        .flat_map(|instance| (0..3).map(move |process| format!("0.{instance}.{process}")))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let attacker = shared.exchange_working_directories(&files);
    let arguments = "bench target --burst 1MiB --rounds 12 --rounds-max 12 --pause 100ms -o out";
    let outcome = shared.run(&format!("{arguments} --targets {}", shared.target().display()));
    drop(attacker);
    shared.assert_unharmed();
    assert_told(&outcome, shared.target());
    assert_eq!(shared.left_bytes(), 0, "what was written is gone, wherever it was moved");
}

#[test]
fn an_exchanged_working_directory_costs_route_bench_nothing_but_the_races() {
    let Some(shared) = Shared::new() else { return };
    let attacker = shared.exchange_working_directories(&["writer0", "writer1", "noise0"]);
    let arguments =
        "route bench --policy static --writers 2 --blocks 2 --block-size 64KiB --rounds 40";
    let outcome = shared.run(&format!("{arguments} --targets {}", shared.target().display()));
    drop(attacker);
    shared.assert_unharmed();
    assert_told(&outcome, shared.target());
    assert_eq!(shared.left_bytes(), 0, "what was written is gone, wherever it was moved");
}

/// What is planted as a killed run's.
#[test]
fn a_pipe_or_an_endless_file_as_owner_is_neither_waited_for_nor_read() {
    let Some(shared) = Shared::new() else { return };
    let plants = [
        "mkfifo -m 666 $d/owner",
        "ln -s /dev/zero $d/owner",
        "truncate -s 1T $d/owner",
        "mkdir $d/owner",
    ];
    let target = shared.target().display();
    for plant in plants {
        for prefix in ["bench", "work"] {
            let planted = format!("d=.plimsoll-{prefix}-0; mkdir -m 777 $d && {plant}");
            Attacker::does(shared.target(), &planted);
        }
        let bench = "bench target --burst 1MiB --rounds 1 --rounds-max 1 -o out";
        let race =
            "route bench --policy static --writers 1 --blocks 1 --block-size 4KiB --rounds 1";
        let calibrate =
            "calibrate --span 4MiB --sizes 4KiB,64KiB,256KiB --seconds 0.05 --only write";
        for command in [
            format!("{bench} --targets {target}"),
            format!("{race} --targets {target}"),
            format!("{calibrate} --target {target}"),
        ] {
            let outcome = shared.run(&command);
            assert_ne!(outcome.status, Some(2), "{command}: {}", outcome.stderr);
            assert!(!outcome.stderr.contains("killed run"), "{command}: {}", outcome.stderr);
            let _ = fs::remove_dir_all(shared.storage.folder.path().join("out"));
        }
        Attacker::does(shared.target(), "rm -r .plimsoll-*");
    }
    shared.assert_unharmed();
    shared.storage.assert_nothing_left();
}

/// A directory of ours that another user gave the name of a working directory, or put into one.
#[test]
fn only_what_this_user_left_behind_is_removed() {
    let Some(shared) = Shared::new() else { return };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plant = |name: &str, owner: u32| {
        let directory = shared.target().join(format!(".plimsoll-work-{name}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("owner"), format!("{host}\nsecret\n")).unwrap();
        fs::write(directory.join("data"), "precious").unwrap();
        for path in [directory.clone(), directory.join("owner")] {
            chown(path, Some(owner), None).unwrap();
        }
        directory
    };
    let (theirs, ours) = (plant("theirs", ATTACKER), plant("ours", 0));
    symlink(shared.storage.folder.path(), shared.target().join(".plimsoll-work-link")).unwrap();
    let arguments = "bench target --burst 1MiB --rounds 1 --rounds-max 1 -o out --targets";
    let outcome = shared.run(&format!("{arguments} {}", shared.target().display()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("removed what 1 killed run"), "{}", outcome.stderr);
    assert!(theirs.join("data").exists() && !ours.exists());
    shared.assert_unharmed();
}
