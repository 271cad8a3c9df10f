//! Names below a mount are taken away, given and told as in a plain directory, also by several processes at once.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use super::Stowed;
use crate::support::command::Outcome;
use crate::support::recording::{has, python};

/// By this programs learn that a file which they have locked is no longer the one of its name.
#[test]
fn an_open_file_tells_that_it_was_removed_or_replaced() {
    let script = "
import os
def links(fd): return [os.fstat(fd).st_nlink, os.stat(f'/proc/self/fd/{fd}').st_nlink]
for size in [0, 100, 3000000]:
    for ends in ['unlink', 'rename', 'fork']:
        f = os.open('f', os.O_CREAT | os.O_RDWR)
        os.write(f, b'x' * size)
        assert links(f) == [1, 1]
        if ends == 'unlink': os.unlink('f')
        elif ends == 'rename':
            open('other', 'w').close()
            os.rename('other', 'f')
        elif os.fork() == 0:
            os.unlink('f')
            os._exit(0)
        else: os.wait()
        assert links(f) == [0, 0], (size, ends, links(f))
        assert os.fstat(f).st_size == size and len(os.pread(f, 4000000, 0)) == size
        os.close(f)
        if ends == 'rename': assert os.stat('f').st_nlink == 1
print('done')";
    let stowed = Stowed::new();
    assert_eq!(stowed.python(script), "done\n");
    assert!(stowed.shell("rm -f f; ls -A").is_empty());
}

/// Programs that take turns by a file that each of them removes when it is done.
#[test]
fn a_lock_that_is_removed_lets_one_in_at_a_time() {
    let script = "
import fcntl, os
open('count', 'w').write('0')
for child in range(3):
    if os.fork(): continue
    for turn in range(60):
        while True:
            lock = os.open('lock', os.O_CREAT | os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink: break
            os.close(lock)
        count = int(open('count').read())
        open('count', 'w').write(str(count + 1))
        os.unlink('lock')
        os.close(lock)
    os._exit(0)
for child in range(3): assert os.wait()[1] == 0
print(open('count').read())";
    assert_eq!(Stowed::new().python(script), "180\n");
}

/// What is removed while it is open keeps no directory from being removed or replaced.
#[test]
fn directories_of_removed_files_that_are_open_can_be_removed_and_replaced() {
    let script = "
import os, shutil
def opened(name, size):
    f = os.open(name, os.O_CREAT | os.O_RDWR)
    os.write(f, b'x' * size)
    return f
for size in [100, 3000000]:
    os.mkdir('d'); f = opened('d/f', size); os.unlink('d/f')
    os.rmdir('d')
    os.makedirs('tree/deep'); g = opened('tree/deep/g', size)
    shutil.rmtree('tree')
    os.mkdir('old'); h = opened('old/h', size); os.unlink('old/h')
    os.mkdir('new'); open('new/here', 'w').close()
    os.rename('new', 'old')
    assert os.listdir('old') == ['here'] and os.listdir('.') == ['old'], os.listdir('.')
    for file in [f, g, h]:
        assert os.pwrite(file, b'later', size) == 5
        assert os.pread(file, 5000000, 0) == b'x' * size + b'later'
        os.close(file)
    shutil.rmtree('old')
os.mkdir('full'); open('full/f', 'w').close()
os.mkdir('other')
for attempt in [lambda: os.rmdir('full'), lambda: os.rename('other', 'full')]:
    try: attempt(); print('removed')
    except OSError as error: print(error.strerror)
shutil.rmtree('full'); os.rmdir('other')";
    let stowed = Stowed::new();
    assert_eq!(stowed.python(script), "Directory not empty\nDirectory not empty\n");
    assert_eq!(stowed.names(), Vec::<String>::new());
}

#[test]
fn files_do_not_get_names_of_directories() {
    let script = "
import os
open('a', 'w').write('here'); open('b', 'w').close(); os.mkdir('d')
for names in [('a', 'c/'), ('a/', 'c'), ('a', 'b/'), ('a', 'd/')]:
    try: os.rename(*names); print('renamed')
    except OSError as error: print(error.strerror)
print(open('a').read(), os.listdir('d'))";
    assert_eq!(Stowed::new().python(script), "Not a directory\n".repeat(4) + "here []\n");
}

#[test]
fn links_of_descriptors_tell_the_names_of_files() {
    let script = "
import os
open('f', 'w').write('x' * 100000)
f = os.open('f', os.O_RDONLY)
link = f'/proc/self/fd/{f}'
print(os.readlink(link) == os.path.realpath('f'), os.path.realpath(link) == os.path.realpath('f'))
print(os.readlink(f'/dev/fd/{f}') == os.path.realpath('f'), os.path.samefile(os.readlink(link), 'f'))
os.unlink('f')
print(os.readlink(link).endswith(' (deleted)'))";
    assert_eq!(Stowed::new().python(script), "True True\nTrue True\nTrue\n");
}

#[test]
fn further_names_and_unknown_ways_to_rename_are_refused() {
    let script = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tells(result): print(os.strerror(ctypes.get_errno()) if result < 0 else 'done')
for size in [10, 100000]:
    f = os.open('f', os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    os.write(f, b'x' * size)
    tells(libc.linkat(f, b'', -100, b'g', 0x1000))
    open('h', 'w').write('precious')
    tells(libc.renameat2(-100, b'f', -100, b'h', 64))
    tells(libc.renameat2(-100, b'f', -100, b'h', 3))
    tells(libc.renameat2(-100, b'f', -100, b'h', 1))
    tells(libc.renameat2(-100, b'f', -100, b'f', 1))
    tells(libc.rename(b'f', b''))
    print(os.stat('f').st_size == size, open('h').read(), os.path.exists('g'))";
    let told = "Operation not permitted\nInvalid argument\nInvalid argument\nFile exists\nFile exists\nNo such file or directory\nTrue precious False\n";
    assert_eq!(Stowed::new().python(script), told.repeat(2));
}

/// Whoever renames over a file is done, or nothing has happened, however many do so at once.
#[test]
fn renaming_over_a_file_that_others_rename_over_is_done_at_once() {
    for size in [10, 20000] {
        let script = format!(
            "
import os
open('x', 'w').write('start')
for process in range(4):
    if os.fork(): continue
    own = f't{{process}}'
    for turn in range(400):
        with open(own, 'w') as f: f.write(f'{{process}}-{{turn}}'.ljust({size}))
        os.rename(own, 'x')
        assert not os.path.lexists(own), (own, turn)
        assert len(open('x').read()) == {size}
    os._exit(0)
print([os.wait()[1] for process in range(4)], os.listdir('.'))"
        );
        let stowed = Stowed::new();
        assert_eq!(stowed.python(&script), "[0, 0, 0, 0] ['x']\n");
        assert_eq!(stowed.names(), ["x"]);
        let logs = |target: &PathBuf| fs::read_dir(target).unwrap().count();
        assert!(stowed.storage.targets.iter().map(logs).max() <= Some(1), "{size}");
    }
}

/// Has three processes do the same at once, which one of them can.
const ONE_OF_THREE: &str = "
import os
def one_of_three(act):
    children = []
    for process in range(3):
        child = os.fork()
        if child:
            children.append(child)
            continue
        try: act()
        except FileNotFoundError: os._exit(1)
        os._exit(0)
    ended = sorted(os.waitpid(child, 0)[1] >> 8 for child in children)
    assert ended == [0, 1, 1], ended
";

/// Somebody who may write to a file may give it the name of a container's marker, in a directory that is open to them.
#[test]
fn a_marker_that_has_another_name_is_none() {
    let stowed = Stowed::new();
    fs::create_dir(stowed.at("d")).unwrap();
    fs::write(stowed.at("../log"), "shared").unwrap();
    fs::set_permissions(stowed.at("../log"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::hard_link(stowed.at("../log"), stowed.at("d/plimsoll-container")).unwrap();
    fs::write(stowed.at("d/anchor"), "").unwrap();
    assert_eq!(
        stowed.shell("ls -F; ls d; cat d/plimsoll-container"),
        "d/\nanchor\nplimsoll-container\nshared"
    );
    assert_eq!(fs::metadata(stowed.at("../log")).unwrap().mode() & 0o777, 0o666);
}

/// As when all processes of a program publish the same file.
#[test]
fn of_several_who_rename_one_file_one_does() {
    for size in [10, 20000] {
        let script = format!(
            "{ONE_OF_THREE}
done = 0
for turn in range(150):
    open('t', 'w').write('old')
    open('x', 'w').write('new'.ljust({size}))
    one_of_three(lambda: os.rename('x', 't'))
    assert open('t').read(3) == 'new' and os.listdir('.') == ['t'], turn
    done += 1
os.unlink('t')
print(done)"
        );
        let stowed = Stowed::new();
        assert_eq!(stowed.python(&script), "150\n");
        assert_eq!(stowed.names(), Vec::<String>::new());
    }
}

/// As when all processes of a program remove the same file.
#[test]
fn of_several_who_remove_one_file_one_does_and_nothing_is_left() {
    for size in [10, 20000] {
        let script = format!(
            "{ONE_OF_THREE}
for turn in range(150):
    open('t', 'w').write('x' * {size})
    one_of_three(lambda: os.unlink('t'))
print('done')"
        );
        let stowed = Stowed::new();
        assert_eq!(stowed.python(&script), "done\n");
        assert_eq!(stowed.names(), Vec::<String>::new());
        let logs = |target: &PathBuf| fs::read_dir(target).unwrap().count();
        assert_eq!(stowed.storage.targets.iter().map(logs).sum::<usize>(), 0, "{size}");
    }
}

/// Logs that are rotated, files that are moved on: others see a file from the moment at which it has its name.
#[test]
fn a_file_may_be_written_to_and_renamed_before_its_maker_knows_of_it() {
    if !has(&["strace"]) {
        return;
    }
    let stowed = Stowed::new();
    let script =
        "strace -f -qq -o /dev/null --inject=renameat2:delay_exit=2000000 sh -c 'echo one >> log' &
        until test -e log; do sleep 0.01; done; echo two >> log; mv log log.1; cat log.1
        wait $!; echo $?; ls; cat log.1";
    assert_eq!(stowed.shell(script), "two\n0\nlog.1\ntwo\none\n");
}

/// Whoever makes a file has it open before others see it.
#[test]
fn a_file_stays_when_others_take_the_rights_to_it_before_its_maker_knows_of_it() {
    if !has(&["strace", "setpriv"]) {
        return;
    }
    for small in ["0B", "16KiB"] {
        let stowed = Stowed::new();
        let script = "strace -f -qq -o /dev/null --inject=fstatfs:delay_enter=2000000:when=2 sh -c 'echo one >> log' &
            until test -e log; do sleep 0.01; done; echo two >> log; chmod 400 log
            wait $!; echo $?; stat -c %a log; sort log";
        let told = as_user(&stowed, &["--small", small], &["bash", "-c", script]);
        assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("0\n400\none\ntwo\n", ""));
    }
}

/// Who is told that a file has a name finds it there: what another rename brought out of its way comes back over nothing.
#[test]
fn a_rename_takes_no_name_away_that_others_were_told_they_have() {
    if !has(&["strace"]) {
        return;
    }
    let script = "mkdir work; echo O > queue; echo A > a.tmp; echo C > c.tmp; echo D > d.tmp
        strace -f -qq -o /dev/null --inject=renameat2:delay_enter=1500000:delay_exit=1500000:when=1 mv a.tmp queue &
        sleep 0.8; mv -T queue work/o; mv -T c.tmp queue; cat queue
        until grep -q A queue; do sleep 0.01; done
        mv -T queue work/a; mv -T d.tmp queue; wait $!; echo $?; cat queue; test -e a.tmp || echo gone; ls";
    for mode in [0o755, 0o777] {
        let stowed = Stowed::new();
        fs::set_permissions(stowed.at(""), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(stowed.shell(script), "C\n0\nD\ngone\nqueue\nwork\n", "{mode:o}");
    }
}

/// Whoever may not read a file has it open all the same, and is the one who discards it.
#[test]
fn a_file_without_rights_that_was_removed_is_discarded() {
    if !has(&["setpriv"]) {
        return;
    }
    let script = "
import os
for mode in (0o200, 0):
    for size in (10, 50000):
        f = os.open('f', os.O_CREAT | os.O_RDWR)
        os.write(f, b'x' * size); os.fchmod(f, mode); os.unlink('f')
        assert os.fstat(f).st_mode & 0o777 == mode and len(os.pread(f, size + 1, 0)) == size
        if mode: os.close(f)
print('done', flush=True)
os._exit(0)";
    let stowed = Stowed::new();
    let told = as_user(&stowed, &[], &[python(), "-c", script]);
    assert_eq!((told.status, told.stdout.as_str(), told.stderr.as_str()), (Some(0), "done\n", ""));
    assert_eq!(stowed.names(), Vec::<String>::new());
    let logs = |target: &PathBuf| fs::read_dir(target).unwrap().count();
    assert_eq!(stowed.storage.targets.iter().map(logs).sum::<usize>(), 0);
}

/// Runs a command by a run of its own, without the rights of root to read anything.
fn as_user(stowed: &Stowed, options: &[&str], command: &[&str]) -> Outcome {
    let mut inner = stowed.command(options);
    inner.args(command);
    if !rustix::process::geteuid().is_root() {
        return inner.output().unwrap().into();
    }
    let mut outer = Command::new("setpriv");
    outer.arg("--bounding-set=-dac_override,-dac_read_search").arg(inner.get_program());
    outer.args(inner.get_args()).current_dir(stowed.at(""));
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.output().unwrap().into()
}
