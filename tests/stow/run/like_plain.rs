//! What programs do to files by names of another kind is the same below a mount as in a plain directory.

use std::path::PathBuf;
use std::process::Command;

use super::Stowed;
use crate::support::command::Outcome;
use crate::support::recording::{program, python};

/// What a command in a plain directory gave, and in a mount.
fn both(command: &[&str]) -> [(String, String, Option<i32>); 2] {
    let stowed = Stowed::new();
    let plain = stowed.storage.folder.path().join("plain");
    std::fs::create_dir(&plain).unwrap();
    let mut ordinary = Command::new(command[0]);
    ordinary.args(&command[1..]).current_dir(&plain);
    let told = |outcome: Outcome| (outcome.stdout, outcome.stderr, outcome.status);
    [told(ordinary.output().unwrap().into()), told(stowed.run(command))]
}

fn compiled(source: &str) -> PathBuf {
    program(source, "cc", &[])
}

#[track_caller]
fn assert_same(command: &[&str]) -> String {
    let [plain, stowed] = both(command);
    let pairs = plain.0.lines().zip(stowed.0.lines()).filter(|(plain, stowed)| plain != stowed);
    assert_eq!(pairs.take(9).collect::<Vec<_>>(), [], "{}", stowed.1);
    assert!(plain == stowed, "{stowed:?}");
    // What fails alike compares nothing.
    assert_eq!(plain.2, Some(0), "{}", plain.1);
    plain.0
}

/// A file has no names in it: not those that a container has, and no new ones.
#[test]
fn nothing_is_found_made_or_removed_inside_of_a_file() {
    let script = "
import os
def tell(what, call):
    try: print(what, 'done', call() and '')
    except OSError as error: print(what, os.strerror(error.errno))
def make(path, **at): os.close(os.open(path, os.O_CREAT | os.O_WRONLY, **at))
open('big', 'w').write('precious')
open('other', 'w').write('other'); os.mkdir('d'); os.symlink('big', 'link'); os.symlink('d', 'way')
here = os.open('.', os.O_RDONLY)
for name in ['manifest', 'anchor', 'plimsoll-container', 'new', '.', '..', '']:
    for path in ['big/', os.getcwd() + '/big/', 'link/', 'd/../big/', 'way/../big/']:
        path += name; told = path.replace(os.getcwd(), '')
        tell('open ' + told, lambda: open(path).read())
        tell('stat ' + told, lambda: os.stat(path))
        tell('stat ' + told, lambda: os.stat(path, dir_fd=here))
        tell('statvfs ' + told, lambda: os.statvfs(path))
        tell('listdir ' + told, lambda: os.listdir(path))
        tell('chdir ' + told, lambda: os.chdir(path))
        tell('utime ' + told, lambda: os.utime(path))
        tell('chmod ' + told, lambda: os.chmod(path, 0o600))
        tell('access ' + told, lambda: os.access(path, os.R_OK))
        tell('truncate ' + told, lambda: os.truncate(path, 0))
        tell('readlink ' + told, lambda: os.readlink(path))
        tell('rmdir ' + told, lambda: os.rmdir(path))
        if name not in ['.', '..', '']:
            tell('make ' + told, lambda: make(path))
            tell('make ' + told, lambda: make(path, dir_fd=here))
            tell('unlink ' + told, lambda: os.unlink(path))
            tell('mkdir ' + told, lambda: os.mkdir(path))
            tell('mkdir ' + told, lambda: os.mkdir(path, dir_fd=here))
            tell('symlink ' + told, lambda: os.symlink('x', path))
            tell('rename ' + told, lambda: os.rename(path, 'taken'))
            tell('rename ' + told, lambda: os.rename('other', path))
            tell('rename ' + told, lambda: os.rename('d', path))
            tell('link ' + told, lambda: os.link('other', path))
            tell('link ' + told, lambda: os.link(path, 'further'))
print(sorted(os.listdir('.')), open('big').read(), open('other').read())
os.unlink('big'); print(sorted(os.listdir('.')))";
    let told = assert_same(&[python(), "-c", script]);
    assert!(told.ends_with("['d', 'link', 'other', 'way']\n"), "{told}");
}

/// Also where the program begins inside of a container.
#[test]
fn a_program_that_begins_in_a_container_finds_nothing_in_it() {
    let stowed = Stowed::new();
    stowed.shell("echo precious > big");
    let mut command = stowed.command(&[]);
    let script = "rm anchor; echo lost > part; cat anchor; mkdir d; cd ..; cat big";
    command.args(["bash", "-c", script]).current_dir(stowed.at("big"));
    let outcome: Outcome = command.output().unwrap().into();
    assert_eq!(outcome.stdout, "precious\n", "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("Not a directory").count(), 4, "{}", outcome.stderr);
    assert!(!stowed.at("big/part").exists() && stowed.at("big/anchor").exists());
}

/// Of somebody's directory, and of one's own with others' rights, names are what they are.
#[test]
fn a_directory_that_only_looks_like_a_container_has_names_in_it() {
    let script =
        "mkdir -m 777 d; cd d; > anchor; > plimsoll-container; chmod 777 .; echo x > y; cat y; ls";
    assert_same(&["bash", "-c", script]);
}

/// `/dev/stdout` and its like are the file that is open, whole.
#[test]
fn a_file_is_cut_off_asked_and_opened_by_the_name_of_its_descriptor() {
    let script = "
(echo long line one; echo short > /dev/stdout; echo three) > a
(echo long line one; echo more >> /dev/stderr; echo three) 2> b >&2
(echo one; echo two | tee /dev/stdout; echo three) >> c
echo 123456789 > d; exec 5<>d; echo AB > /proc/self/fd/5; stat -L -c %s /dev/fd/5; truncate -s 2 /dev/fd/5; wc -c < /dev/fd/5
exec 5>&-; exec 6< d; (cat < /dev/stdin; cat /dev/stdin) <&6; cat /proc/thread-self/fd/6
awk 'BEGIN { print \"x\" > \"/dev/stdout\"; print \"y\" > \"/dev/stderr\" }' > e 2> f
echo gone > g; exec 7<>g; rm g; cat /dev/fd/7; echo other > /dev/fd/7; cat /dev/fd/7; ls
for name in a b c d e f; do echo $name; cat $name; done";
    assert_same(&["bash", "-c", script]);
    let script = "
import os, stat
fd = os.open('g', os.O_CREAT | os.O_RDONLY, 0o644); open('g', 'w').write('hello')
for path in ['/proc/self/fd/%d', '/dev/fd/%d', '/proc/%d/fd/%%d' % os.getpid(), '/proc/thread-self/fd/%d', '//proc/self//fd/%d', '/dev/./fd/%d', '/proc/self/task/%d/fd/%%d' % os.getpid()]:
    path %= fd
    os.truncate(path, 3)
    with open(path, 'a') as file: file.write('XYZ')
    print(os.stat(path).st_size, os.access(path, os.W_OK), open(path).read(), stat.S_ISLNK(os.lstat(path).st_mode))
    for flags in [os.O_EXCL | os.O_CREAT, os.O_NOFOLLOW, os.O_DIRECTORY]:
        try: os.open(path, flags | os.O_WRONLY)
        except OSError as error: print(os.strerror(error.errno))
print(open('g').read())
os.chmod('g', 0o400); os.unlink('g')
w = os.open('/proc/self/fd/%d' % fd, os.O_RDWR); os.write(w, b'ZZ'); os.close(fd)
print(os.pread(w, 10, 0))";
    assert_same(&[python(), "-c", script]);
}

/// Programs close a number to have it for what they open next.
#[test]
fn what_is_opened_gets_the_lowest_number() {
    let script = "
import os, sys
out = os.dup(1)
tell = lambda text: os.write(out, text.encode() + b'\\n')
os.mkdir('d'); open('d/old', 'w').write('old'); held = os.open('d/held', os.O_RDWR | os.O_CREAT)
for turn in range(2):
    for name, flags in [('d/old', os.O_RDONLY), ('d/old', os.O_WRONLY | os.O_APPEND), ('d/old', os.O_RDWR | os.O_CREAT),
                        ('d/old', os.O_RDWR | os.O_TRUNC), ('d/new', os.O_RDWR | os.O_CREAT), ('d', os.O_RDONLY), ('/dev/null', os.O_RDWR),
                        ('/dev/fd/%d' % held, os.O_RDWR), ('/proc/self/fd/%d' % held, os.O_RDONLY)]:
        os.close(1)
        f = os.open(name, flags)
        tell('%s %d %s' % (name, f, os.get_inheritable(f)))
        if flags != os.O_RDONLY: tell(str(os.write(f, b'more')))
        if f != 1: os.dup2(out, 1)
    if os.fork() == 0: os._exit(0)
    os.wait()
tell(repr([open('d/' + name).read() for name in ['old', 'new', 'held']]))";
    assert_same(&[python(), "-c", script]);
}

/// To close any descriptor of a file gives up all locks of the process on it: the library must not close one that the program did not.
#[test]
fn locks_stay_when_the_file_is_opened_again() {
    let script = "
import fcntl, os
def tell(what):
    pid = os.fork()
    if pid == 0:
        try: fcntl.lockf(os.open('f', os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB); print(what, 'is free', flush=True)
        except OSError: print(what, 'is locked', flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
f = os.open('f', os.O_RDWR | os.O_CREAT); os.symlink('f', 'link')
os.write(f, b'content'); fcntl.lockf(f, fcntl.LOCK_EX)
tell('first')
for name in ['f', './f', 'link', '/dev/fd/%d' % f, '/proc/self/fd/%d' % f]:
    for flags in [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_TRUNC]:
        os.open(name, flags); tell('%s %o' % (name.replace(str(f), 'N'), flags))
    try: os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    except OSError as error: tell(os.strerror(error.errno))
    os.stat(name); os.access(name, os.R_OK); os.utime(name); os.chmod(name, 0o644); os.truncate(name, 9)
    tell('asked')
g = open('f'); tell('stream')
g.close(); tell('closed')";
    assert_same(&[python(), "-c", script]);
}

/// GNU tar, libacl and others name files like this where a call knows no directory by its descriptor.
#[test]
fn names_behind_a_link_of_the_process_are_those_of_its_directory() {
    let script = "
import os
os.mkdir('d'); here = os.open('d', os.O_RDONLY); os.chdir('d')
begins = ['/proc/self/fd/%d' % here, '/dev/fd/%d' % here, '/proc/self/cwd', '/proc/%d/fd/%d' % (os.getpid(), here),
          '/proc/thread-self/fd/%d' % here, '/proc/self/root' + os.getcwd()]
for number, begin in enumerate(begins):
    path = '%s/f%d' % (begin, number)
    with open(path, 'w') as file: file.write('content')
    print(number, os.stat(path).st_size, open(path).read(), os.listdir(begin))
    os.chmod(path, 0o640); os.truncate(path, 3); os.setxattr(path, 'user.a', b'1')
    print(oct(os.stat(path).st_mode), os.getxattr(path, 'user.a'), open('f%d' % number).read(), os.listxattr('f%d' % number))
    os.rename(path, path + 'b'); os.rename(path + 'b', 'c'); os.rename('c', begin + '/../e')
    print(os.listdir('..'), os.listdir('.'), os.path.isfile(begin + '/../e'), os.access(begin + '/../e', os.X_OK))
    for name in [path, begin + '/../e/x', begin + '/none/x']:
        try: print(os.stat(name))
        except OSError as error: print(os.strerror(error.errno))
    os.unlink(begin + '/../e')
print(os.listdir('.'), os.listdir('..'))";
    assert_same(&[python(), "-c", script]);
}

/// As much as there is, however much is asked for: what is copied may come behind what is there.
#[test]
fn a_copy_within_one_file_ends_with_it() {
    let script = "
import ctypes, errno, hashlib, os
f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, b'0123456789' * 30000)
def told(*how):
    try: return os.copy_file_range(f, f, *how)
    except OSError as error: return errno.errorcode[error.errno]
print(told(1 << 40, 0, 300000), os.fstat(f).st_size)
print(told(1 << 40, 550000, 0), told(1 << 40, 10, 5), told(5, 10, 0), told(100, 700000, 0))
print(os.fstat(f).st_size, hashlib.md5(os.pread(f, 10**6, 0)).hexdigest())
print(ctypes.CDLL(None).endmntent(None))";
    assert_same(&[python(), "-c", script]);
}

/// What was listed need not be there any more when it is told.
#[test]
fn no_file_is_listed_as_a_directory() {
    let script = "
import os
for name in 'abcde': open(name, 'w').write(name)
os.mkdir('sub')
entries = os.scandir('.'); first = next(entries).name
for name in 'abcde':
    if name != first: os.unlink(name)
print(any(entry.is_dir() for entry in entries if entry.name != 'sub'), os.path.isdir('sub'))
open('f', 'w').write('first')
if os.fork() == 0:
    for turn in range(300):
        open('new', 'w').write('next'); os.rename('new', 'f')
    os._exit(0)
wrong = 0
while os.waitpid(-1, os.WNOHANG) == (0, 0):
    wrong += sum(entry.is_dir() for entry in os.scandir('.') if entry.name != 'sub')
print(wrong)";
    assert_same(&[python(), "-c", script]);
}

#[test]
fn directories_that_the_c_library_reads_by_itself_list_files() {
    let made =
        "mkdir -p d/e; for name in f1 f2 d/g1 d/g10 d/g9; do echo $name > $name; done; exec \"$0\"";
    assert_same(&["sh", "-c", made, compiled("listing.c").to_str().unwrap()]);
}

#[test]
fn what_comes_under_a_number_that_was_closed_unseen_is_known() {
    assert_same(&[compiled("received.c").to_str().unwrap()]);
}

#[test]
fn threads_that_use_files_can_be_cancelled() {
    assert_same(&[compiled("cancelled.c").to_str().unwrap()]);
}

/// As daemons do that begin a new log: other threads write on.
#[test]
fn a_descriptor_that_is_replaced_loses_nothing_that_threads_write() {
    let script = "
import os, threading
log = os.open('log0', os.O_CREAT | os.O_WRONLY); is_over = False
line = b'x' * 49 + b'\\n'; written = [0] * 3
def write(place):
    while not is_over:
        assert os.write(log, line) == 50
        written[place] += 1
threads = [threading.Thread(target=write, args=(place,)) for place in range(3)]
for thread in threads: thread.start()
for turn in range(1, 100):
    new = os.open('log%d' % turn, os.O_CREAT | os.O_WRONLY); os.dup2(new, log); os.close(new)
is_over = True
for thread in threads: thread.join()
lines = [text for turn in range(100) for text in open('log%d' % turn, 'rb').read().split(b'\\n')[:-1]]
print(len(lines) - sum(written), set(lines))";
    assert_same(&[python(), "-c", script]);
}

/// Their buffers are exchanged for others that fit what is read.
#[test]
fn a_stream_reads_what_is_there_by_pieces_of_all_sizes() {
    let program = compiled("streams.c");
    for seed in ["1", "2", "3", "4"] {
        let told = assert_same(&[program.to_str().unwrap(), seed, "600"]);
        assert!(told.matches("read ").count() > 300, "{told}");
    }
}

/// Programs write a heading where they are at the beginning of what they append to.
#[test]
fn a_stream_that_appends_is_at_the_end() {
    let program = compiled("appends.c");
    let told = assert_same(&[program.to_str().unwrap()]);
    assert!(told.contains("fopen a\nat first 100000, the descriptor 100000\n"), "{told}");
}

/// The C library counts from where it takes the descriptor to be after a write.
#[test]
fn a_stream_goes_on_behind_what_was_written() {
    let told = assert_same(&[compiled("updates.c").to_str().unwrap()]);
    assert!(told.contains("back 1, on 0, 100: 300 of 30000, "), "{told}");
}

/// The sanitizers have their own functions for streams.
#[test]
fn a_program_with_a_sanitizer_prints_and_reads() {
    for flag in ["-fsanitize=address", "-fsanitize=thread"] {
        let program = program("printed.c", "cc", &[flag]);
        let program = program.to_str().unwrap();
        let script = "echo 'one\ntwo' > in; \"$0\" < in > out; echo $?; cat out copy";
        let told = assert_same(&["sh", "-c", script, program]);
        assert!(told.contains("2 lines"), "{told}");
    }
}

/// Whoever looks at a name sees the old file or the new one.
#[test]
fn a_file_that_is_replaced_is_never_seen_half() {
    let script = "
import os
open('f', 'w').write('x' * 2000)
pid = os.fork()
if pid == 0:
    for turn in range(300):
        open('new', 'w').write('x' * 2000); os.rename('new', 'f')
    os._exit(0)
looks, wrong = 0, []
while os.waitpid(pid, os.WNOHANG) == (0, 0):
    for look in (os.stat, os.lstat, lambda name: os.fstat(os.open(name, os.O_RDONLY))):
        try: seen = look('f').st_size
        except OSError as error: seen = os.strerror(error.errno)
        if seen != 2000: wrong.append(seen)
    os.closerange(3, 100)
print(wrong, os.stat('f').st_size)";
    assert_same(&[python(), "-c", script]);
}

/// What a program has mapped is the file's also after it was given back, and cannot become what it must not be.
#[test]
fn mappings_are_copies_that_last() {
    let script = "
import mmap
open('f', 'w').write('page' * 2048)
for access in (mmap.ACCESS_READ, mmap.ACCESS_COPY):
    for flags in ('rb', 'r+b'):
        file = open('f', flags)
        m = mmap.mmap(file.fileno(), 0, access=access)
        print(m[:8], m.madvise(mmap.MADV_DONTNEED), m[:8], m[4094:4102])
m = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE, offset=4096)
m[:4] = b'mine'; print(m[:8]); m.madvise(mmap.MADV_DONTNEED); print(m[:8], open('f').read(8))";
    let told = assert_same(&[python(), "-c", script]);
    assert_eq!(told.matches("b'pagepage' None b'pagepage'").count(), 4, "{told}");
}

#[test]
fn opening_to_read_cuts_off_too() {
    let script = "
import os
for size in [100, 3000000]:
    open('f', 'w').write('x' * size)
    f = os.open('f', os.O_RDONLY | os.O_TRUNC)
    assert os.fstat(f).st_size == 0 and os.read(f, 10) == b''
    os.close(f)
os.chmod('f', 0o444)
open('g', 'w').write('x')
print(os.stat('f').st_size)";
    assert_eq!(Stowed::new().python(script), "0\n");
}
