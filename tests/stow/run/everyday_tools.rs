//! Tools that people use below a mount, each with what a plain run would say.

use super::Stowed;
use crate::support::recording::has;

#[test]
fn archives_and_copies_are_the_same_again() {
    let stowed = Stowed::new();
    let script = "mkdir -p d/e; seq 20000 > d/n; seq 9 > d/e/m; tar cf t.tar d; mkdir x; tar xf t.tar -C x; diff -r d x/d; \
        cp -r d y; diff -r d y; cp --sparse=always d/n z; cmp d/n z; md5sum < z; grep -c 99 z; sort -rn z | tail -1; \
        sed -i s/1/one/ y/e/m; head -1 y/e/m; dd if=d/n of=z bs=777 conv=notrunc status=none; cmp d/n z; \
        truncate -s 5 z; cat z; split -n 2 d/n part; cat partaa partab | cmp - d/n; gzip -k d/n; zcat d/n.gz | cmp - d/n";
    assert_eq!(
        stowed.shell(script),
        "29b36c80f5096ba85a8ef36bd1a4d6cd  -\n560\n1\none\n1\n2\n3"
            .replace("29b36c80f5096ba85a8ef36bd1a4d6cd", &md5_of_numbers(&stowed))
    );
}

/// What md5sum says of the same numbers from a pipe.
fn md5_of_numbers(stowed: &Stowed) -> String {
    stowed.shell("seq 20000 | md5sum | cut -d' ' -f1").trim().to_string()
}

#[test]
fn python_sees_sizes_positions_and_times_as_of_a_plain_file() {
    let stowed = Stowed::new();
    let script = "
import os, mmap, shutil, fcntl, time, tempfile
f = open('f', 'w+b'); f.write(b'0123456789'); f.seek(4); f.write(b'xy'); f.flush()
assert os.fstat(f.fileno()).st_size == 10 == os.stat('f').st_size and f.tell() == 6
assert abs(os.stat('f').st_mtime - time.time()) < 60
assert os.pread(f.fileno(), 100, 3) == b'3xy6789' and os.pwrite(f.fileno(), b'Z', 20) == 1
assert os.pread(f.fileno(), 100, 9) == b'9' + bytes(10) + b'Z' and f.seek(0, 2) == 21
assert os.lseek(f.fileno(), 0, os.SEEK_HOLE) == 10 and os.lseek(f.fileno(), 10, os.SEEK_DATA) == 20
os.ftruncate(f.fileno(), 6); assert os.stat('f').st_size == 6
assert os.writev(f.fileno(), [b'ab', b'', b'cd']) == 4 and os.stat('f').st_size == 24
os.posix_fallocate(f.fileno(), 0, 1000); assert os.stat('f').st_size == 1000
with open('f', 'rb') as g:
    m = mmap.mmap(g.fileno(), 0, prot=mmap.PROT_READ); assert m[:6] == b'0123xy' and len(m) == 1000
    p = mmap.mmap(g.fileno(), 6, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE); p[0:1] = b'!'
    assert g.read(6) == b'0123xy'
    assert os.copy_file_range(g.fileno(), f.fileno(), 3, 0, 100) == 3 and os.pread(f.fileno(), 3, 100) == b'012'
shutil.copy('f', 'g'); assert open('g', 'rb').read() == open('f', 'rb').read()
r, w = os.pipe(); assert os.sendfile(w, f.fileno(), 1, 5) == 5 and os.read(r, 9) == b'123xy'
a = os.open('f', os.O_WRONLY | os.O_APPEND); os.write(a, b'end'); assert os.lseek(a, 0, 1) == 1003
try: os.open('f', os.O_CREAT | os.O_EXCL)
except FileExistsError: pass
else: assert False
assert os.path.getsize('f') == 1003; open('f', 'w').close(); assert os.path.getsize('f') == 0
d = os.dup(a); os.close(a); os.write(d, b'more'); assert open('f').read() == 'more'
assert sorted((e.name, e.is_file(), e.stat().st_size) for e in os.scandir('.')) == [('f', True, 4), ('g', True, 1000)]
fcntl.lockf(f, fcntl.LOCK_EX)
if os.fork() == 0:
    try: fcntl.lockf(open('f', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: os._exit(7)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
with tempfile.TemporaryFile(dir='.') as t: t.write(b'x' * 5000); t.seek(0); assert len(t.read()) == 5000
os.fsync(f.fileno()); os.chmod('f', 0o600); os.utime('f', (1, 2)); s = os.stat('f'); print(oct(s.st_mode), s.st_mtime, s.st_nlink)";
    assert_eq!(stowed.python(script), "0o100600 2.0 1\n");
}

/// The kernel copies what lies in one place of a log; the rest is read and written.
#[test]
fn what_is_copied_out_of_the_mount_is_the_same() {
    let stowed = Stowed::new();
    let script = "
import os
f = os.open('f', os.O_CREAT | os.O_RDWR); expected = bytearray(3_000_000)
for at, size, byte in [(0, 1_000_000, 1), (300, 50, 2), (999_990, 700_000, 3), (2_000_000, 1_000_000, 4)]:
    os.pwrite(f, bytes([byte]) * size, at); expected[at:at + size] = bytes([byte]) * size
g = os.open('../out', os.O_CREAT | os.O_RDWR); os.write(g, b'before')
copy = lambda *ends: os.copy_file_range(f, g, *ends)
assert copy(5_000_000) == 3_000_000 and os.lseek(f, 0, 1) == 3_000_000 and os.lseek(g, 0, 1) == 3_000_006
assert os.pread(g, 4_000_000, 0) == b'before' + expected and copy(10) == 0
assert copy(1_500_000, 10, 20) == 1_500_000 and os.lseek(f, 0, 1) == 3_000_000 and os.lseek(g, 0, 1) == 3_000_006
assert os.pread(g, 1_500_000, 20) == expected[10:1_500_010]
assert os.fstat(g).st_size == 3_000_006
for wrong in [os.open('f', os.O_WRONLY), os.open('../out', os.O_RDONLY)]:
    try: os.copy_file_range(wrong, g, 100_000) if wrong == g + 1 else os.copy_file_range(f, wrong, 100_000, 0, 0)
    except OSError as e: assert e.errno == 9
    else: assert False
print(os.system('cp f ../copy && cmp f ../copy'))";
    assert_eq!(stowed.python(script), "0\n");
}

#[test]
fn threads_write_to_one_file_and_handlers_to_another() {
    let stowed = Stowed::new();
    let script = "
import os, threading, signal
f = os.open('f', os.O_CREAT | os.O_RDWR); s = os.open('s', os.O_CREAT | os.O_WRONLY)
count = 0
def handler(*_):
    global count
    count += 1; os.write(s, b'!')
signal.signal(signal.SIGALRM, handler); signal.setitimer(signal.ITIMER_REAL, .001, .001)
def write(number):
    for i in range(200): os.pwrite(f, bytes([number]) * 1000, (i * 4 + number) * 1000)
threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
data = os.pread(f, 10**7, 0)
assert data == b''.join(bytes([n]) * 1000 for n in range(4)) * 200 and os.stat('s').st_size == count";
    assert_eq!(stowed.python(script), "");
}

#[test]
fn databases_and_repositories_work() {
    if !has(&["sqlite3", "git"]) {
        return;
    }
    let stowed = Stowed::new();
    let script = "sqlite3 db 'create table t(a); insert into t values (1),(2)'; \
        sqlite3 db 'begin; insert into t select a+10 from t; commit; select count(*), sum(a) from t; pragma integrity_check'; \
        git init -q r; cd r; seq 1000 > file; git add file; git -c user.name=a -c user.email=b commit -qm x; \
        git status --short; rm file; git checkout -q file; wc -l < file; git fsck 2>&1; cd ..; rm -rf r; ls";
    assert_eq!(stowed.shell(script), "4|26\nok\n1000\ndb\n");
}
