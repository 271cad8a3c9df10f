//! What is written for the user beside another user: nobody else reads it, and it goes nowhere else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, record};

/// A recording of ours, a directory of ours that is private, and one of everybody's.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// `None`, and says so, where nobody else can be played.
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() {
            return None;
        }
        let desk = Desk { folder: tempfile::tempdir_in("/var/tmp").unwrap() };
        for (name, mode) in [("", 0o755), ("private", 0o700), ("tmp", 0o1777)] {
            let path = desk.path(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let outcome: Outcome =
            record(&desk.path("rec")).args(["--", "true"]).output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        Some(desk)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program; whatever takes that long hangs.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = Command::new("timeout");
        command.arg("60").arg(binary().get_program()).args(arguments);
        command.env("PLIMSOLL_LIBRARY", library());
        let outcome: Outcome = command.current_dir(self.folder.path()).output().unwrap().into();
        assert_ne!(outcome.status, Some(124), "it hangs: {arguments:?}");
        outcome
    }

    /// Fails in one line that says this.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], why: &str) {
        let outcome = self.run(arguments);
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        let errors: Vec<&str> =
            outcome.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert_eq!(errors.len(), 1, "{}", outcome.stderr);
        assert!(errors[0].contains(why), "{}", outcome.stderr);
    }
}

#[test]
fn a_pipe_of_somebody_else_gets_nothing() {
    let Some(desk) = Desk::new() else { return };
    Attacker::does(&desk.path("tmp"), "mkfifo -m 622 page.html");
    let reader = Attacker::repeats(&desk.path("tmp"), "cat page.html >> stolen");
    std::thread::sleep(std::time::Duration::from_millis(200));
    desk.refuses(&["report", "rec", "--html", "tmp/page.html"], "belongs to user 65533");
    drop(reader);
    assert_eq!(fs::read(desk.path("tmp/stolen")).unwrap_or_default(), b"");
}

#[test]
fn links_of_somebody_else_lead_no_output_elsewhere() {
    let Some(desk) = Desk::new() else { return };
    fs::write(desk.path("private/page.html"), "thesis").unwrap();
    Attacker::does(&desk.path("tmp"), "ln -s ../private results");
    let why = "symlink of user 65533";
    desk.refuses(&["report", "rec", "--html", "tmp/results/page.html", "--force"], why);
    desk.refuses(&["record", "-o", "tmp/results/sub/rec", "--", "true"], why);
    assert_eq!(fs::read(desk.path("private/page.html")).unwrap(), b"thesis");
    assert_eq!(fs::read_dir(desk.path("private")).unwrap().count(), 1);
    // A link of one's own is a way like any other.
    std::os::unix::fs::symlink("private", desk.path("own")).unwrap();
    let outcome = desk.run(&["report", "rec", "--html", "own/page.html", "--force"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(fs::read(desk.path("private/page.html")).unwrap().len() > 1000);
}

/// Root's recording of a program that becomes somebody else: others may pass through, and not look.
#[test]
fn what_is_made_of_a_recording_that_others_cannot_list_is_not_theirs_to_read() {
    let Some(desk) = Desk::new() else { return };
    fs::set_permissions(desk.path("rec"), fs::Permissions::from_mode(0o711)).unwrap();
    let outcome = desk.run(&["report", "rec", "--html", "page.html"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&desk.path("page.html")), 0o600);
}

/// The attack: somebody of the victim's first group, or of the group of the directory that is written to, reads what
/// is made of a recording that was shared with another group.
#[test]
fn a_recording_for_one_group_is_shown_to_no_other_group() {
    let Some(desk) = Desk::new() else { return };
    let group = |name: &str, group: u32, mode: u32| {
        chown(desk.path(name), None, Some(group)).unwrap();
        fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let share = |name: &str, with: u32| {
        group(name, with, 0o750);
        for file in fs::read_dir(desk.path(name)).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            group(&format!("{name}/{file}"), with, 0o640);
        }
    };
    share("rec", FRIENDS);
    fs::create_dir(desk.path("by-group")).unwrap();
    group("by-group", ATTACKER, 0o2755);
    let commands = [
        "report rec --html @.html --save-summary @.summary",
        "export rec --to parquet -o @.parquet",
        "export rec --to perfetto -o @.json",
    ];
    let make = |first_group: u32, place: &str| {
        for command in commands.map(|it| it.replace('@', place)) {
            let script = format!("umask 022; {} {command}", binary().get_program().display());
            let mut shell = Command::new("setpriv");
            shell.args([&format!("--regid={first_group}"), "--clear-groups", "sh", "-c", &script]);
            let outcome: Outcome = shell.current_dir(desk.folder.path()).output().unwrap().into();
            assert_eq!(outcome.status, Some(0), "{command}: {}", outcome.stderr);
        }
        ["html", "summary", "parquet", "json"].map(|kind| format!("{place}.{kind}"))
    };
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    for made in [make(ATTACKER, "first"), make(FRIENDS, "by-group/set")].concat() {
        Attacker::does(desk.folder.path(), &format!("test -f {made} && ! cat {made}"));
        assert_eq!(mode(&made), 0o600, "{made}");
    }
    // Those with whom it was shared.
    for made in make(FRIENDS, "friends") {
        assert_eq!(mode(&made), 0o640, "{made}");
    }
    // One file of it is for another group.
    share("rec", ATTACKER);
    let mut file = fs::read_dir(desk.path("rec")).unwrap().map(|it| it.unwrap().path());
    let file = file.find(|it| it.extension().is_some_and(|it| it == "rec")).unwrap();
    chown(file, None, Some(FRIENDS)).unwrap();
    for made in make(ATTACKER, "mixed") {
        Attacker::does(desk.folder.path(), &format!("test -f {made} && ! cat {made}"));
    }
}

/// A group of which the attacker is no member.
const FRIENDS: u32 = 3000;

/// The attack: the victim reads what the attacker shows, which is a recording of the victim's by then.
#[test]
fn a_recording_that_is_exchanged_while_it_is_read_does_not_leak_into_a_page() {
    let Some(desk) = Desk::new() else { return };
    let outcome: Outcome =
        record(&desk.path("secret")).args(["--", "echo", "thesis"]).output().unwrap().into();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let tmp = desk.path("tmp");
    fs::set_permissions(desk.path("rec"), fs::Permissions::from_mode(0o755)).unwrap();
    for file in fs::read_dir(desk.path("rec")).unwrap() {
        fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o644)).unwrap();
    }
    // Files that lead to those of the victim.
    Attacker::does(&tmp, "cp -r ../rec theirs");
    for file in fs::read_dir(desk.path("secret")).unwrap() {
        let (from, name) = (file.as_ref().unwrap().path(), file.unwrap().file_name());
        let link = format!("ln -s {} theirs/{}", from.display(), name.display());
        if from.extension().is_some_and(|it| it == "rec") {
            Attacker::does(&tmp, &link);
        }
    }
    let outcome = desk.run(&["report", "tmp/theirs", "--html", "page.html"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("it is a symlink"), "{}", outcome.stdout);
    assert!(!is_leaked(&desk.path("page.html")));
    // The whole directory, again and again.
    let script = "ln -sfn ../rec new && mv -T new shown; ln -sfn ../secret new && mv -T new shown";
    let attacker = Attacker::repeats(&tmp, script);
    for turn in 0..200 {
        let (page, table) = (format!("{turn}.html"), format!("{turn}.json"));
        let summary = format!("{turn}.summary");
        desk.run(&["report", "tmp/shown", "--html", &page, "--save-summary", &summary]);
        desk.run(&["export", "tmp/shown", "--to", "perfetto", "-o", &table]);
        for made in [page, table, summary] {
            assert!(!is_leaked(&desk.path(&made)), "{made} of turn {turn}");
        }
    }
    drop(attacker);
}

/// True for a file that everyone can read and that has what only the victim may read.
fn is_leaked(path: &Path) -> bool {
    let Ok(facts) = fs::metadata(path) else { return false };
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    facts.permissions().mode() & 0o044 != 0 && text.contains("thesis")
}

/// A file of ours takes the place of the site file after it was read, or is where a link leads.
#[test]
fn a_site_file_of_somebody_else_leads_to_no_file_of_ours() {
    let Some(desk) = Desk::new() else { return };
    let precious = desk.path("private/precious");
    fs::write(&precious, "version = 1\n").unwrap();
    Attacker::does(&desk.path("tmp"), "ln -s ../private/precious site.toml");
    desk.refuses(&["site", "init", "--update", "-o", "tmp/site.toml"], "symlink of user 65533");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "version = 1\n");
}
