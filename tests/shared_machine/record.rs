//! Recordings beside another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, processes};

/// A directory of everybody's, as /var/tmp is, and recordings elsewhere.
pub(super) struct Node {
    pub(super) folder: tempfile::TempDir,
}

impl Node {
    /// `None`, and says so, where nobody else can be played.
    pub(super) fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        let node = Node { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        fs::create_dir(node.tmp()).unwrap();
        for (path, mode) in [(node.folder.path().to_path_buf(), 0o755), (node.tmp(), 0o1777)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        Some(node)
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    pub(super) fn recording(&self) -> PathBuf {
        self.folder.path().join("rec")
    }

    /// Runs the program; whatever takes that long hangs.
    pub(super) fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary().get_program()).arg("record");
        command.args((!arguments.contains(&"--collect")).then_some("--quiet")).args(arguments);
        command.env("PLIMSOLL_LIBRARY", library()).current_dir(self.folder.path());
        let outcome: Outcome = command.output().unwrap().into();
        assert_ne!(outcome.status, Some(124), "it hangs: {arguments:?}");
        outcome
    }

    /// Where this recording's spool is in everybody's directory, and a file of it that was left there.
    pub(super) fn left_behind(&self) -> (PathBuf, PathBuf) {
        let script = "for d in tmp/plimsoll-spool-*; do echo $d; cp $d/*.rec kept; done; true";
        let outcome = self.run(&["-o", "rec", "--spool", "tmp", "--", "sh", "-c", script]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let spool = self.folder.path().join(outcome.stdout.trim());
        assert!(!spool.exists(), "it goes with the last of its files");
        let files = processes(&self.recording()).len();
        assert!(files > 0);
        (spool, self.folder.path().join("kept"))
    }
}

fn is_mine(path: &Path) -> bool {
    let facts = fs::symlink_metadata(path).unwrap();
    facts.is_dir() && facts.uid() == 0 && facts.mode() & 0o777 == 0o700
}

#[test]
fn a_spool_among_others_is_a_directory_of_ones_own() {
    let Some(node) = Node::new() else { return };
    let script = "for d in tmp/*; do stat -c '%a %u' $d; done; ls tmp";
    let outcome = node.run(&["-o", "rec", "--spool", "tmp", "--", "sh", "-c", script]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("700 0\nplimsoll-spool-0-"), "{}", outcome.stdout);
    assert_eq!(fs::read_dir(node.tmp()).unwrap().count(), 0);
}

#[test]
fn a_spool_that_somebody_else_made_is_neither_used_nor_collected_from() {
    let Some(node) = Node::new() else { return };
    let (spool, kept) = node.left_behind();
    let before = processes(&node.recording()).len();
    let planted = spool.file_name().unwrap().to_str().unwrap();
    Attacker::does(&node.tmp(), &format!("mkdir -m 777 {planted}"));
    // A recording that was forged, as far as anybody can see.
    fs::copy(&kept, spool.join("forged.rec")).unwrap();
    Attacker::does(&spool, "mkfifo -m 666 pipe.rec; ln -s /etc/passwd link.rec");
    for arguments in [&["--collect", "rec"][..], &["--collect", "rec", "--spool", "tmp"]] {
        let outcome = node.run(arguments);
        assert!(matches!(outcome.status, Some(0 | 2)), "{}", outcome.stderr);
        assert_eq!(processes(&node.recording()).len(), before);
        assert!(spool.join("forged.rec").exists());
    }
    // In theirs, even a directory of our own could be exchanged.
    let outcome = node.run(&["-o", "rec2", "--spool", spool.to_str().unwrap(), "--", "true"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("belongs to user 65533"), "{}", outcome.stderr);
}

/// The attack: the name of the spool is taken before the victim records. The program runs all the same, and what it
/// leaves when all is killed is found.
#[test]
fn a_name_that_somebody_else_took_keeps_nobody_from_recording() {
    let Some(node) = Node::new() else { return };
    let (spool, _) = node.left_behind();
    let planted = spool.file_name().unwrap().to_str().unwrap();
    for plant in ["mkdir -m 777", "touch", "mkfifo", "ln -s /etc"] {
        Attacker::does(&node.tmp(), &format!("{plant} {planted}"));
        fs::remove_dir_all(node.recording()).unwrap();
        let script = "ls -d tmp/plimsoll-spool-0-*-*; exit 7";
        let outcome = node.run(&["-o", "rec", "--spool", "tmp", "--", "sh", "-c", script]);
        assert_eq!(outcome.status, Some(7), "{plant}: {}", outcome.stderr);
        assert_eq!(outcome.stderr, "", "{plant}");
        let other = node.folder.path().join(outcome.stdout.trim());
        assert!(!other.exists() && processes(&node.recording()).len() >= 2, "{plant}");
        // One that is killed with the program leaves files, which are found by the same words.
        let before = processes(&node.recording()).len();
        fs::create_dir(&other).unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
        let mut own = fs::read_dir(node.recording()).unwrap().map(|it| it.unwrap().path());
        let own = own.find(|it| it.extension().is_some_and(|it| it == "rec")).unwrap();
        fs::copy(own, other.join("left.rec")).unwrap();
        let outcome = node.run(&["--collect", "rec", "--spool", "tmp"]);
        assert_eq!(outcome.status, Some(0), "{plant}: {}", outcome.stderr);
        assert_eq!(processes(&node.recording()).len(), before + 1, "{plant}");
        assert!(!other.exists());
        Attacker::does(&node.tmp(), &format!("rm -r {planted}"));
    }
}

/// The attack: the name that the recording of a batch job will have is taken before the job begins.
#[test]
fn a_recording_has_another_name_if_somebody_else_took_its_own() {
    let Some(node) = Node::new() else { return };
    fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let record_rank = |rank: &str, plant: &str| {
        let mut command = binary();
        command.args(["record", "true"]).env("SLURM_JOB_ID", "4711").env("SLURM_PROCID", rank);
        command.current_dir(node.folder.path()).env("PLIMSOLL_LIBRARY", library());
        let Outcome { status, stderr, .. } = command.output().unwrap().into();
        assert_eq!(status, Some(0), "{plant}: {stderr}");
        stderr
    };
    for plant in ["mkdir -m 777", "touch", "mkfifo", "ln -s /etc"] {
        Attacker::does(node.folder.path(), &format!("{plant} plimsoll-true-4711"));
        assert!(record_rank("0", plant).contains("into plimsoll-true-4711-2;"));
        Attacker::does(node.folder.path(), "rm -r plimsoll-true-4711");
        // It is given back before the next rank comes.
        record_rank("1", plant);
        let at = |name: &str| node.folder.path().join(name);
        assert!(!at("plimsoll-true-4711").exists());
        assert_eq!(processes(&at("plimsoll-true-4711-2")).len(), 2);
        // What has these names and is another recording, or none, is passed over.
        fs::rename(at("plimsoll-true-4711-2"), at("plimsoll-true-4711")).unwrap();
        fs::create_dir(at("plimsoll-true-4711-3")).unwrap();
        fs::write(at("plimsoll-true-4711-3/thesis"), "").unwrap();
        assert!(record_rank("0", plant).contains("into plimsoll-true-4711-2;"));
        assert_eq!(fs::read_dir(at("plimsoll-true-4711-3")).unwrap().count(), 1);
        let left = ["", "-2", "-3"].map(|it| at(&format!("plimsoll-true-4711{it}")));
        left.iter().for_each(|it| fs::remove_dir_all(it).unwrap());
    }
}

/// The attack: on the way to the spool is a link of the attacker's.
#[test]
fn no_spool_is_made_behind_links_of_others() {
    let Some(node) = Node::new() else { return };
    let (theirs, ours) = (node.folder.path().join("theirs"), node.folder.path().join("ours"));
    fs::create_dir(&ours).unwrap();
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(ATTACKER), None).unwrap();
    Attacker::does(&theirs, "ln -s ../ours scratch");
    let outcome = node.run(&["-o", "rec", "--spool", "theirs/scratch/job/spool", "--", "true"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("symlink of user 65533"), "{}", outcome.stderr);
    assert_eq!(fs::read_dir(&ours).unwrap().count(), 0);
}

#[test]
fn only_files_of_recordings_are_collected_and_pipes_are_not_waited_for() {
    let Some(node) = Node::new() else { return };
    let (spool, kept) = node.left_behind();
    fs::create_dir(&spool).unwrap();
    fs::set_permissions(&spool, fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(&kept, spool.join("left.rec")).unwrap();
    Command::new("mkfifo").arg(spool.join("pipe.rec")).status().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", spool.join("link.rec")).unwrap();
    let huge = fs::File::create(spool.join("huge.rec")).unwrap();
    huge.set_len(1 << 40).unwrap();
    // What a file claims to be beyond what it has is not made up.
    let larger = fs::OpenOptions::new().write(true).open(spool.join("left.rec")).unwrap();
    larger.set_len(1 << 36).unwrap();
    // Of a process that was ended while it began.
    let begun = fs::File::create(spool.join("node-4194305-1.rec.new")).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
    begun.set_modified(long_ago).unwrap();
    // Of one on another node that may just begin.
    fs::write(spool.join("node-4194305-2.rec.new"), "").unwrap();
    fs::write(node.recording().join("left.rec.part"), "of a killed one").unwrap();
    let outcome = node.run(&["--collect", "rec", "--spool", "tmp"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(is_mine(&spool), "what is no recording stays");
    let home = node.recording();
    assert!(fs::metadata(home.join("left.rec")).unwrap().len() < 1 << 20);
    for name in ["pipe.rec", "link.rec", "huge.rec", "left.rec.part"] {
        assert!(!home.join(name).exists(), "{name}");
    }
    assert!(!spool.join("node-4194305-1.rec.new").exists(), "nothing is in it");
    assert!(spool.join("node-4194305-2.rec.new").exists(), "its process may just begin");
    for name in ["pipe.rec", "link.rec", "huge.rec"] {
        assert!(spool.join(name).symlink_metadata().is_ok(), "{name}");
    }
}

/// What the link leads to is this user's own: only the link itself gives it away.
#[test]
fn a_link_with_the_name_of_a_spool_leads_to_no_other_recording() {
    let Some(node) = Node::new() else { return };
    let (spool, kept) = node.left_behind();
    let before = processes(&node.recording()).len();
    let other = node.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::copy(&kept, other.join("other.rec")).unwrap();
    let planted = spool.file_name().unwrap().to_str().unwrap();
    Attacker::does(&node.tmp(), &format!("ln -s ../other {planted}"));
    let outcome = node.run(&["--collect", "rec", "--spool", "tmp"]);
    assert!(matches!(outcome.status, Some(0 | 2)), "{}", outcome.stderr);
    assert_eq!(processes(&node.recording()).len(), before);
    assert!(other.join("other.rec").exists());
}

#[test]
fn nobody_records_into_another_users_directory() {
    let Some(node) = Node::new() else { return };
    fs::create_dir(node.recording()).unwrap();
    chown(node.recording(), Some(ATTACKER), None).unwrap();
    let outcome = node.run(&["-o", "rec", "--", "true"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("belongs to user 65533"), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

/// Whoever may write beside the recording moves it away and puts another in its place.
#[test]
fn an_exchanged_recording_costs_the_program_nothing() {
    let Some(node) = Node::new() else { return };
    fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let precious = node.folder.path().join("precious");
    fs::write(&precious, "thesis").unwrap();
    let script = format!(
        "[ -d rec ] && mv rec gone.$$.$n && mkdir -m 777 rec && for f in gone.$$.$n/*; do \
         ln -s {} rec/${{f##*/}}; done; n=$((n+1))",
        precious.display()
    );
    let attacker = Attacker::repeats(node.folder.path(), &script);
    let work = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/dev/null bs=1 count=20000; done 2>&1 | grep -c in";
    let outcome = node.run(&["-o", "rec", "--", "sh", "-c", work]);
    drop(attacker);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
    // Either it was noticed before the program began, or the program ran as it should.
    match outcome.status {
        Some(2) => assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr),
        status => {
            assert_eq!((status, outcome.stdout.as_str()), (Some(0), "8\n"), "{}", outcome.stderr)
        }
    }
}

/// The attack: the recording is moved away, and a link to another directory of ours, or another recording of ours,
/// is put in its place. What processes write that begin after that must not go there.
#[test]
fn an_exchanged_recording_leads_no_process_to_another_directory_of_ours() {
    let Some(node) = Node::new() else { return };
    fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let ours = node.folder.path().join("ours");
    fs::create_dir(&ours).unwrap();
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o700)).unwrap();
    let earlier = node.run(&["-o", "earlier", "--", "true"]);
    assert_eq!(earlier.status, Some(0), "{}", earlier.stderr);
    let count = |directory: &Path| fs::read_dir(directory).unwrap().count();
    let in_earlier = count(&node.folder.path().join("earlier"));
    let exchanges = [format!("ln -s {} rec", ours.display()), "mv earlier rec".to_string()];
    for exchange in exchanges {
        // The program itself has the other user do it, so that it is done when processes begin.
        let attack = format!("mv rec gone && {exchange}");
        let attack = format!("setpriv --reuid={ATTACKER} --clear-groups sh -c '{attack}'");
        let script =
            format!("exec 3>&1; {attack}; for i in 1 2 3; do cat /dev/null; done; echo done");
        let outcome = node.run(&["-o", "rec", "--", "sh", "-c", &script]);
        assert_eq!(
            (outcome.status, outcome.stdout.as_str()),
            (Some(0), "done\n"),
            "{}",
            outcome.stderr
        );
        let gone = node.folder.path().join("gone");
        assert!(!processes(&gone).is_empty(), "what began before was recorded");
        assert_eq!(count(&ours), 0, "{exchange}");
        if exchange.starts_with("mv") {
            assert_eq!(count(&node.recording()), in_earlier);
        } else {
            fs::remove_file(node.recording()).unwrap();
        }
        fs::remove_dir_all(gone).unwrap();
    }
}

/// The attack: a program that becomes the attacker's knows the id of the recording, and puts one with that id in its place.
#[test]
fn a_recording_that_somebody_else_forged_gets_no_file() {
    let Some(node) = Node::new() else { return };
    fs::set_permissions(node.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let forge = "mv rec gone && mkdir -m 777 rec && printf \"plimsoll recording 1\\nid ${PLIMSOLL_RECORDING_ID%%.*}\\nrun 7\\n\" > rec/recording.txt";
    let attack = format!("setpriv --reuid={ATTACKER} --clear-groups sh -c '{forge}'");
    let script = format!("{attack}; for i in 1 2 3; do cat /dev/null; done; echo done");
    let outcome = node.run(&["-o", "rec", "--", "sh", "-c", &script]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "done\n"),
        "{}",
        outcome.stderr
    );
    let forged = fs::read_to_string(node.recording().join("recording.txt")).unwrap();
    assert!(forged.lines().nth(1).is_some_and(|id| id.len() > 10), "{forged}");
    assert_eq!(fs::read_dir(node.recording()).unwrap().count(), 1, "the forged file alone");
}

/// The attack: what the victim takes for a spool is a link to another recording of the victim's.
#[test]
fn no_file_is_taken_out_of_another_recording() {
    let Some(node) = Node::new() else { return };
    for name in ["rec", "other"] {
        let outcome = node.run(&["-o", name, "--", "true"]);
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
    // Kernels may refuse such links in sticky directories by themselves (proc_sys_fs(5)).
    let theirs = node.folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(ATTACKER), None).unwrap();
    Attacker::does(&theirs, "ln -s ../other spool; ln -s .. up");
    let link = "theirs belongs to user 65533";
    let count = |name: &str| fs::read_dir(node.folder.path().join(name)).unwrap().count();
    let before = (count("rec"), count("other"));
    for (spool, why) in [
        ("theirs/spool", link),
        ("theirs/up/other", link),
        ("other", "other is a recording, not a spool"),
        ("rec", "rec is a recording, not a spool"),
    ] {
        let outcome = node.run(&["--collect", "rec", "--spool", spool]);
        assert_eq!((count("rec"), count("other")), before, "{spool}");
        assert_eq!(outcome.status, Some(2), "{spool}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    let outcome = node.run(&["-o", "new", "--spool", "other", "--", "true"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("other is a recording, not a spool"), "{}", outcome.stderr);
    // Within another `record`, whose files stay in its own.
    let inner = format!("{} record -o inner -- true", binary().get_program().display());
    let outcome = node.run(&["-o", "outer", "--", "sh", "-c", &format!("cat /dev/null; {inner}")]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let programs = |name: &str| processes(&node.folder.path().join(name)).len();
    assert_eq!(programs("inner"), 1);
    assert!(programs("outer") >= 2, "sh and cat");
}

/// The attack: another user fills the disk while the program runs.
#[test]
fn a_full_disk_does_not_change_the_status_of_the_program() {
    let Some(node) = Node::new() else { return };
    fs::create_dir(node.folder.path().join("disk")).unwrap();
    let fill = format!("setpriv --reuid={ATTACKER} --clear-groups dd if=/dev/zero of=disk/fill");
    let plimsoll = binary().get_program().to_str().unwrap().to_string();
    let script = format!(
        "mount -t tmpfs -o size=256k,mode=1777 none disk || exit 99
         {plimsoll} record -o disk/rec --spool spool -- sh -c '{fill} 2>&-; exit 7'
         echo status $?
         ls disk/rec
         rm disk/fill
         {plimsoll} record --collect disk/rec --spool spool >&2
         ls disk/rec | grep -c rec$"
    );
    let mut command = Command::new("timeout");
    command.args(["60", "unshare", "--mount", "--propagation", "private", "sh", "-c", &script]);
    command.env("PLIMSOLL_LIBRARY", library()).current_dir(node.folder.path());
    let outcome: Outcome = command.output().unwrap().into();
    if outcome.status == Some(99) {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.first(), Some(&"status 7"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("warning: cannot bring "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("; hint: plimsoll record --collect "), "{}", outcome.stderr);
    assert!(!lines.iter().any(|name| name.ends_with(".part")), "{}", outcome.stdout);
    let brought: u32 = lines.last().unwrap().parse().unwrap();
    assert!(brought >= 2, "{} {}", outcome.stdout, outcome.stderr);
}
