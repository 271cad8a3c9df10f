//! Directories that another user may write to: nothing of ours is lost, nothing hangs, one line tells.

mod beds;
mod changed_user;
mod containers;
mod hidden;
mod left_logs;
mod mount_points;
mod namespaces;
mod outputs;
mod pipes;
mod record;
mod served;
mod shown;
mod sparse;
mod spool_names;
mod targets;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::storage::Storage;

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
    let is_told = ["replaced it", "it is a symlink", "No such file", "not empty"];
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
    let arguments = "bench target --burst 1MiB --transfer 64KiB --rounds 12 --rounds-max 12 --pause 100ms -o out";
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

/// The attack: links to a file of the victim's, under the names that results have until they are whole.
#[test]
fn results_are_not_kept_where_somebody_else_plants_links() {
    let Some(shared) = Shared::new() else { return };
    let precious = shared.precious();
    let bench = "bench target --burst 1MiB --transfer 64KiB --rounds 1 --rounds-max 1";
    let bench = format!("{bench} --targets {}", shared.target().display());
    let folder = shared.storage.folder.path();
    let links = ["summary.json", "pairs.parquet", "instances.parquet"]
        .map(|name| format!("ln -s {} theirs/.{name}.tmp; ", precious.display()));
    Attacker::does(folder, &format!("mkdir -m 777 theirs; {}", links.concat()));
    assert_refused(&shared.run(&format!("{bench} -o theirs")), "it belongs to user 65533");
    shared.assert_unharmed();
    let journal = format!("ln -s {} theirs/journal.ndjson", precious.display());
    Attacker::does(folder, &journal);
    assert_refused(&shared.run("bench --resume theirs"), "it belongs to user 65533");
    shared.assert_unharmed();
    let outcome = shared.run(&format!("{bench} -o ours"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    fs::set_permissions(folder.join("ours"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_refused(&shared.run("bench --resume ours"), "others can write to it (mode 777)");
    shared.storage.assert_nothing_left();
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
        let bench = "bench target --burst 1MiB --transfer 64KiB --rounds 1 --rounds-max 1 -o out";
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

/// A base directory for test beds that root uses, and what it is made of.
struct Base {
    folder: tempfile::TempDir,
}

impl Base {
    /// `None`, and says so, where nobody else can be played.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Some(Base { folder })
    }

    /// A directory in it.
    fn directory(&self, name: &str, owner: u32, mode: u32) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Runs `testbed` in that base; whatever takes that long hangs.
    fn testbed(&self, base: &Path, arguments: &str) -> Outcome {
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary().get_program()).env("NO_COLOR", "1");
        command.args(["testbed", "--base"]).arg(base).args(arguments.split_whitespace());
        let outcome: Outcome = command.output().unwrap().into();
        assert_ne!(outcome.status, Some(124), "it hangs: {arguments}");
        outcome
    }

    fn up(&self, base: &Path) -> Outcome {
        self.testbed(base, "up --targets 1 --size 16MiB")
    }

    /// What is mounted below the folder: where, and how.
    fn mounts(&self) -> Vec<String> {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = self.folder.path().to_str().unwrap().to_owned();
        text.lines().filter(|line| line.contains(&folder)).map(str::to_owned).collect()
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        for mount in self.mounts() {
            let point = mount.split(' ').nth(4).unwrap();
            let _ = Command::new("umount").args(["-l", point]).status();
        }
        let devices = Command::new("losetup").args(["-n", "-l", "-O", "NAME,BACK-FILE"]).output();
        let text = devices.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let folder = self.folder.path().to_str().unwrap();
        for line in text.unwrap_or_default().lines().filter(|line| line.contains(folder)) {
            let _ = Command::new("losetup").arg("-d").args(line.split(' ').next()).status();
        }
    }
}

#[track_caller]
fn assert_refused(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.status, Some(2), "{} {}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
}

/// The attack: while root makes the bed, its directory is exchanged for one with a link to where
/// root's file system shall be mounted.
#[test]
fn root_makes_no_bed_where_another_user_could_exchange_it() {
    let Some(base) = Base::new() else { return };
    let victim = base.directory("victim", 0, 0o755);
    fs::write(victim.join("passwd"), "root").unwrap();
    let theirs = base.directory("theirs", ATTACKER, 0o755);
    let script = format!(
        "[ -e default/t0.img ] && grep -q {0} /sys/block/loop*/loop/backing_file && sleep 0.03 \
         && mv default gone && mkdir default && ln -s {1} default/t0",
        theirs.display(),
        victim.display()
    );
    let attacker = Attacker::repeats(&theirs, &script);
    let outcome = base.up(&theirs);
    drop(attacker);
    assert_refused(&outcome, &format!("{} belongs to user {ATTACKER}", theirs.display()));
    assert_eq!(base.mounts(), Vec::<String>::new());
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0, "nothing was made");
    assert!(victim.join("passwd").exists());

    let below = theirs.join("of-root");
    fs::create_dir(&below).unwrap();
    let open = base.directory("open", 0, 0o777);
    let grouped = base.directory("grouped", 0, 0o775);
    let link = base.folder.path().join("link");
    symlink(&victim, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(ATTACKER), None).unwrap();
    for (path, words) in [
        (below, "belongs to user"),
        (theirs.join("not/yet"), "belongs to user"),
        (open.join("beds"), "everyone can write to"),
        (grouped, "group 0 can write to"),
        (link, "is a symlink of user"),
    ] {
        assert_refused(&base.up(&path), words);
        let made = path.join("default").exists() || path.join(".default.lock").exists();
        assert!(!made, "{}", path.display());
    }
    assert_eq!(base.mounts(), Vec::<String>::new());
}

#[test]
fn in_a_sticky_directory_nobody_holds_the_lock_or_has_a_file_overwritten() {
    let Some(base) = Base::new() else { return };
    let sticky = base.directory("tmp", 0, 0o1777);
    let lock = sticky.join(".default.lock");
    // Locked by another user, for ever.
    Attacker::does(&sticky, "umask 0; echo theirs > .default.lock");
    let holder = Attacker::repeats(&sticky, "flock .default.lock sleep 1000");
    for command in ["up --targets 1 --size 16MiB", "down", "slow t0 1MiB/s"] {
        let outcome = base.testbed(&sticky, command);
        let is_told =
            outcome.stderr.contains("belongs to user 65533") || command.starts_with("slow");
        assert!(is_told && outcome.stderr.lines().count() == 1, "{command}: {}", outcome.stderr);
        assert_eq!(outcome.status, Some(2), "{command}: {}", outcome.stderr);
    }
    drop(holder);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "theirs\n");
    fs::remove_file(&lock).unwrap();
    // Another name of a file of ours, where the kernel lets others give it one.
    let precious = base.folder.path().join("precious");
    fs::write(&precious, "thesis").unwrap();
    fs::hard_link(&precious, &lock).unwrap();
    assert_refused(&base.up(&sticky), "2 names");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
    fs::remove_file(&lock).unwrap();
    for plant in ["ln -s ../precious .default.lock", "mkfifo -m 666 .default.lock"] {
        Attacker::does(&sticky, plant);
        let outcome = base.up(&sticky);
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        fs::remove_file(&lock).unwrap();
    }
    Attacker::does(&sticky, "mkdir -m 777 default");
    assert_refused(&base.up(&sticky), "belongs to user 65533");
    fs::remove_dir(sticky.join("default")).unwrap();
    assert_eq!(fs::read_dir(&sticky).unwrap().count(), 0);
}

/// What is on a target gives no rights elsewhere.
#[test]
fn targets_are_mounted_without_set_user_bits_and_devices() {
    let Some(base) = Base::new() else { return };
    let sticky = base.directory("tmp", 0, 0o1777);
    let outcome = base.up(&sticky);
    if outcome.stdout.contains("directory bed") || base.mounts().is_empty() {
        eprintln!("SKIPPED: needs loop devices");
        base.testbed(&sticky, "down");
        return;
    }
    let [mount] = &base.mounts()[..] else { panic!("{:?}", base.mounts()) };
    assert!(mount.contains("nosuid") && mount.contains("nodev"), "{mount}");
    assert_eq!(base.testbed(&sticky, "down").status, Some(0));
    assert_eq!(fs::read_dir(&sticky).unwrap().count(), 0);
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
        fs::write(directory.join("0.0.0"), "precious").unwrap();
        for path in [directory.clone(), directory.join("owner")] {
            chown(path, Some(owner), None).unwrap();
        }
        directory
    };
    let (theirs, ours) = (plant("theirs", ATTACKER), plant("ours", 0));
    // One that was swapped for a directory that this user put something else into.
    let swapped = plant("swapped", 0);
    fs::create_dir(swapped.join("sub")).unwrap();
    for name in ["thesis", "sub/more"] {
        fs::write(swapped.join(name), "precious").unwrap();
    }
    symlink(shared.storage.folder.path(), shared.target().join(".plimsoll-work-link")).unwrap();
    let arguments =
        "bench target --burst 1MiB --transfer 64KiB --rounds 1 --rounds-max 1 -o out --targets";
    let outcome = shared.run(&format!("{arguments} {}", shared.target().display()));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("removed what 1 killed run"), "{}", outcome.stderr);
    assert!(theirs.join("0.0.0").exists() && !ours.exists());
    assert!(swapped.join("thesis").exists() && swapped.join("sub/more").exists());
    shared.assert_unharmed();
}
