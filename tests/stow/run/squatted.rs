//! Names are given and taken where another user takes each that is free: no file loses its name, and nothing of his comes into another directory.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use super::Stowed;
use super::exchanged::Exchange;
use crate::support::attacker::Attacker;
use crate::support::command::Outcome;
use crate::support::recording::{has, library, python};

/// The user who works there; root may take names everywhere.
const VICTIM: u32 = 65_532;

/// A mount in which everybody may make names and only owners take them, as /tmp; programs there are another user's than root.
struct Sticky(Stowed);

impl Sticky {
    fn new() -> Option<Self> {
        if !Attacker::can_be_had() || !has(&["setpriv"]) {
            return None;
        }
        let stowed = Stowed::new();
        fs::copy(library(), stowed.at("../libplimsoll.so")).unwrap();
        let sticky = Sticky(stowed);
        sticky.open("..", 0o755);
        sticky.open("", 0o1777);
        Some(sticky)
    }

    fn open(&self, name: &str, mode: u32) {
        fs::set_permissions(self.0.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A directory of the victim's.
    fn directory(&self, name: &str, mode: u32) {
        fs::create_dir(self.0.at(name)).unwrap();
        chown(self.0.at(name), Some(VICTIM), Some(VICTIM)).unwrap();
        self.open(name, mode);
    }

    #[track_caller]
    fn python(&self, script: &str) -> String {
        let ids = [format!("--reuid={VICTIM}"), format!("--regid={VICTIM}")];
        let mut command = self.0.command(&[]);
        command.arg("setpriv").args(ids).args(["--clear-groups", python(), "-c", script]);
        command.env("PLIMSOLL_LIBRARY", self.0.at("../libplimsoll.so"));
        let outcome: Outcome = command.output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{script}");
        outcome.stdout
    }
}

/// Takes a name as soon as it is free.
fn squat(name: &str) -> String {
    format!(
        "exec python3 -c '
import os, time
open(\"squatting\", \"w\")
while True:
    try: os.write(os.open(\"{name}\", os.O_CREAT | os.O_EXCL | os.O_WRONLY), b\"theirs\"); break
    except FileExistsError: pass
    except FileNotFoundError: pass
time.sleep(100)'"
    )
}

/// Waits until somebody squats.
const WAIT: &str = "
import errno, os, time
end = time.time() + 20
while not os.path.exists('squatting') and time.time() < end: time.sleep(0.01)
def write(name, words):
    with open(name, 'w') as f: f.write(words)
";

/// The attack: `mv out.tmp out` where `out` is another user's. The victim's file lost its name before the rename was refused, and the attacker took that.
#[test]
fn a_rename_that_is_refused_frees_no_name() {
    let Some(sticky) = Sticky::new() else { return };
    Attacker::does(&sticky.0.at(""), "echo theirs > out");
    sticky.python("open('out.tmp', 'w').write('precious')");
    let _squatter = Attacker::repeats(&sticky.0.at(""), &squat("out.tmp"));
    let script = "
for turn in range(300):
    try: os.rename('out.tmp', 'out'); print('renamed')
    except OSError as error: assert error.errno == errno.EPERM, error
    assert open('out.tmp').read() == 'precious', turn
print(sorted(os.listdir('.')))";
    assert_eq!(sticky.python(&format!("{WAIT}{script}")), "['out', 'out.tmp', 'squatting']\n");
}

/// The attack: what is replaced made room for a file of another directory, and the attacker took its name. Then it was removed.
#[test]
fn what_a_file_of_another_directory_replaces_does_not_lose_its_name_before() {
    let Some(sticky) = Sticky::new() else { return };
    sticky.directory("shared", 0o777);
    sticky.directory("own", 0o700);
    sticky.python("open('result', 'w').write('old')");
    let _squatter = Attacker::repeats(&sticky.0.at(""), &squat("result"));
    let script = "
for turn in range(300):
    for new in ['shared/new', 'own/new', 'beside']:
        write(new, f'{turn}')
        os.rename(new, 'result')
        assert open('result').read() == f'{turn}', (new, turn)
print(sorted(os.listdir('.')), os.listdir('own'), os.listdir('shared'))";
    let left = "['own', 'result', 'shared', 'squatting'] [] []\n";
    assert_eq!(sticky.python(&format!("{WAIT}{script}")), left);
}

/// The attack: in a sticky directory of the victim's, what is to be replaced is the attacker's, who makes a directory of it in that moment and takes the other name.
#[test]
fn a_rename_over_what_others_exchange_keeps_the_file() {
    let Some(sticky) = Sticky::new() else { return };
    sticky.directory("d", 0o1777);
    let changes = "exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
os.mkdir(\"b\"); os.mkdir(\"e\"); open(\"c\", \"w\"); open(\"squatting\", \"w\")
while True:
    libc.renameat2(-100, b\"b\", -100, b\"c\", 2)
    try: os.close(os.open(\"t\", os.O_CREAT | os.O_EXCL)); break
    except OSError: pass'";
    sticky.python("open('d/t', 'w').write('precious')");
    let _changing = Attacker::repeats(&sticky.0.at("d"), changes);
    let script = "
os.chdir('d')
begin = time.time()
while not os.path.exists('squatting') and time.time() < begin + 20: time.sleep(0.01)
refused = 0
for turn in range(2000):
    try: os.rename('t', 'b')
    except OSError as error:
        refused += 1
        assert open('t').read() == 'precious', (turn, error)
    else: break
print(refused, open('t' if refused == 2000 else 'b').read())";
    let told = sticky.python(&format!("{}{script}", WAIT.replace("+ 20", "+ 0")));
    assert!(told.ends_with(" precious\n"), "{told}");
}

/// The attack: the name of what goes to a private directory is given to a directory of the attacker's in that moment.
#[test]
fn what_others_give_the_name_of_a_file_does_not_come_where_it_goes() {
    let Some(sticky) = Sticky::new() else { return };
    sticky.directory("shared", 0o777);
    sticky.directory("private", 0o700);
    let changes = "exec python3 -c '
import ctypes, os
libc = ctypes.CDLL(None)
os.mkdir(\"evil\", 0o777); os.chmod(\"evil\", 0o777); open(\"evil/f\", \"w\")
while True: libc.renameat2(-100, b\"y\", -100, b\"evil\", 2)'";
    let _changing = Attacker::repeats(&sticky.0.at("shared"), changes);
    let script = "
end = time.time() + 20
while not os.path.exists('shared/evil') and time.time() < end: time.sleep(0.01)
write('private/z', 'old')
done, end = 0, time.time() + 5
while time.time() < end:
    try:
        if not os.path.lexists('shared/y'): write('shared/y', 'new')
        os.rename('shared/y', 'private/z')
        done += 1
    except OSError: pass
    assert os.path.isfile('private/z'), os.listdir('private')
    assert os.lstat('private/z').st_uid == os.getuid()
assert done > 0
print(os.listdir('private'))";
    let told = sticky.python(&format!("{}{script}", WAIT.replace("+ 20", "+ 0")));
    assert_eq!(told, "['z']\n");
}

/// As in a directory of one's own; names are taken and given in another way.
#[test]
fn of_several_who_rename_one_file_one_does_also_where_others_make_names() {
    let Some(sticky) = Sticky::new() else { return };
    sticky.directory("other", 0o777);
    let script = "
import os
def all_of(acts, ends):
    children = []
    for act in acts:
        child = os.fork()
        if child:
            children.append(child)
            continue
        try: act()
        except FileNotFoundError: os._exit(1)
        os._exit(0)
    assert sorted(os.waitpid(child, 0)[1] >> 8 for child in children) == ends
for old in ['container', 'plain']:
    for source in ['x', 'other/x']:
        for turn in range(40):
            if old == 'plain': os.symlink('nowhere', 't')
            else: open('t', 'w').write('old')
            open(source, 'w').write('new')
            all_of([lambda: os.rename(source, 't')] * 3, [0, 1, 1])
            assert open('t').read() == 'new' and sorted(os.listdir('.')) == ['other', 't'], turn
            os.unlink('t')
        for turn in range(40):
            if old == 'plain': os.symlink('nowhere', 't')
            for number in range(4): open(f'{source}{number}', 'w').write('new')
            all_of([lambda number=number: os.rename(f'{source}{number}', 't') for number in range(4)], [0] * 4)
            assert open('t').read() == 'new' and sorted(os.listdir('.')) == ['other', 't'], turn
            os.unlink('t')
print(os.listdir('other'))";
    assert_eq!(sticky.python(script), "[]\n");
    assert_eq!(sticky.0.names(), ["other"]);
}

/// Where a file system does not exchange names, which strace has every one do: what made room is given back, or removed once the other one is there.
#[test]
fn where_names_are_not_exchanged_they_are_given_step_by_step() {
    if !has(&["strace"]) {
        return;
    }
    let script = "
import os
os.mkdir('d')
for turn in range(10):
    for names in [('x', 't'), ('d/x', 't'), ('x', 'd/t')]:
        open(names[0], 'w').write(f'{turn}'); open(names[1], 'w').write('old')
        os.rename(*names)
        assert open(names[1]).read() == f'{turn}' and not os.path.lexists(names[0])
print(sorted(os.listdir('.')), os.listdir('d'))";
    for mode in [0o755, 0o777] {
        let stowed = Stowed::new();
        fs::set_permissions(stowed.at(""), fs::Permissions::from_mode(mode)).unwrap();
        let inject = "--inject=renameat2:error=EINVAL";
        let strace = ["strace", "-f", "-qq", "-o", "/dev/null", inject, python(), "-c", script];
        assert_eq!(stowed.output(&strace), "['d', 't'] ['t']\n");
        assert_eq!(stowed.names(), ["d", "t"]);
    }
}

/// A program that was killed within `mv out.tmp out` has done that, or has not.
#[test]
fn a_kill_within_a_rename_leaves_the_one_or_the_other() {
    if !has(&["strace"]) {
        return;
    }
    let mut ends = Vec::new();
    for count in 1..=4 {
        let stowed = Stowed::new();
        stowed.shell("echo OLD > out; echo NEW > out.tmp; mkdir d; echo FAR > d/out");
        let inject = format!("--inject=renameat2:signal=KILL:when={count}");
        stowed.run(&["strace", "-qq", "-o", "/dev/null", &inject, "mv", "out.tmp", "out"]);
        // What the next run's program sees, and the one after that.
        let seen = || stowed.shell("cat out.tmp out 2>/dev/null; ls -A | wc -l");
        let first = seen();
        assert!(matches!(first.as_str(), "NEW\nOLD\n3\n" | "NEW\n2\n"), "{count}: {first}");
        assert_eq!(seen(), first, "{count}");
        assert_eq!(stowed.names().len().to_string(), first.lines().last().unwrap());
        ends.push(first);
    }
    assert!(ends.contains(&"NEW\nOLD\n3\n".to_string()) && ends.contains(&"NEW\n2\n".into()));
}

/// The attack: further names of a file that others may write to, of the kind that are removed at the end. Each was waited for.
#[test]
fn names_that_others_gave_to_a_file_are_not_waited_for() {
    let stowed = Stowed::new();
    fs::create_dir(stowed.at("d")).unwrap();
    fs::write(stowed.at("notes"), "precious").unwrap();
    for number in 0..600 {
        for above in [".", "d"] {
            let name = format!("{above}/.plimsoll-stow-gone-{number}");
            fs::hard_link(stowed.at("notes"), stowed.at(&name)).unwrap();
        }
    }
    // Ended after a minute.
    stowed
        .python("import os\ntry: os.rmdir('d')\nexcept OSError: pass\nprint(open('notes').read())");
    assert_eq!(fs::read_to_string(stowed.at("notes")).unwrap(), "precious");
}

/// The attack: a file of another user's that is not seen keeps a directory from being removed.
#[test]
fn files_of_others_are_seen_whatever_their_names() {
    let Some(sticky) = Sticky::new() else { return };
    for name in ["d", "e"] {
        sticky.directory(name, 0o777);
        let theirs = "touch .plimsoll-stow-x .plimsoll-stow-gone-1-2; mkdir .plimsoll-stow-moved-1";
        Attacker::does(&sticky.0.at(name), theirs);
    }
    let script = "
import os, shutil, subprocess
print(len(os.listdir('d')))
shutil.rmtree('d')
print(subprocess.run(['rm', '-r', 'e']).returncode)";
    assert_eq!(sticky.python(script), "3\n0\n");
    assert!(!sticky.0.at("d").exists() && !sticky.0.at("e").exists());
}

/// What was about to be removed and got another name in that moment is not marked as removed.
#[test]
fn what_is_exchanged_while_it_is_removed_keeps_no_mark() {
    let stowed = Stowed::new();
    stowed.shell("echo x > x; echo y > y");
    let exchange = Exchange::of(&stowed, ["x", "y"]);
    let script = "
import os, time
end, removed = time.time() + 3, 0
while time.time() < end:
    try: os.unlink('x'); removed += 1
    except OSError: pass
    for name in ['x', 'y']:
        try: os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except OSError: pass
print(removed > 0)";
    assert_eq!(stowed.python(script), "True\n");
    drop(exchange);
    for name in ["x", "y"] {
        let mode = fs::metadata(stowed.at(name)).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o700, "{name}");
    }
}
