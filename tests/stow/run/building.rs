//! Programs, libraries and scripts that were made below a mount, and run there.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use super::Stowed;

/// A program that says how it was called, and by which name it knows itself.
const SAYS: &str = r##"
#include <stdio.h>
#include <unistd.h>
int answer(void) { return 42; }
int main(int count, char **arguments) {
    char self[4096] = "";
    readlink("/proc/self/exe", self, sizeof self - 1);
    printf("%s %d %s\n", arguments[0], count, self);
}
"##;

#[test]
fn a_program_that_was_built_is_executed_by_every_call() {
    let stowed = Stowed::new();
    fs::write(stowed.storage.folder.path().join("says.c"), SAYS).unwrap();
    assert_eq!(stowed.shell("cp ../says.c . && cc -o says says.c && cc -c says.c"), "");
    assert!(stowed.at("says").is_file(), "the kernel reads programs itself");
    assert!(stowed.at("says.o").is_dir() && stowed.at("says.c").is_dir());
    assert_eq!(stowed.names(), ["says", "says.c", "says.o"]);
    let script = "
import os, shutil
here = os.getcwd()
def child(call):
    r, w = os.pipe()
    if (pid := os.fork()) == 0:
        try: os.dup2(w, 1); call()
        finally: os._exit(99)
    os.close(w); said = os.read(r, 9000).decode(); os.close(r)
    assert os.waitpid(pid, 0)[1] == 0; return said
def spawned(spawn, name):
    return child(lambda: os._exit(os.waitpid(spawn(name, ['me', 'x'], dict(os.environ, PATH='.')), 0)[1]))
wanted = f'me 2 {here}/says\\n'
os.environ['PATH'] += ':none:' + here
assert child(lambda: os.execv('./says', ['me', 'x'])) == wanted
assert child(lambda: os.execve(here + '/says', ['me', 'x'], {})) == wanted
assert child(lambda: os.execvp('says', ['me', 'x'])) == wanted
assert spawned(os.posix_spawn, './says') == wanted and spawned(os.posix_spawnp, 'says') == wanted
assert child(lambda: os.execve(os.open('says', os.O_RDONLY), ['me', 'x'], {})) == wanted
# Scripts stay containers until they are executed; whoever reads one goes on doing so.
def script(name, text='#!/bin/sh\\necho $0 $1\\n', mode=0o755):
    with open(name, 'w') as f: f.write(text)
    os.chmod(name, mode); os.utime(name, (1, 2)); return name
reader = open(script('a'))
assert child(lambda: os.execv('./a', ['me', 'x'])) == './a x\\n' and reader.read() == '#!/bin/sh\\necho $0 $1\\n'
assert child(lambda: os.execvp(script('b'), ['me', 'x'])) == here + '/b x\\n'
assert spawned(os.posix_spawnp, script('c')) == here + '/c x\\n'
assert spawned(os.posix_spawn, './' + script('d')) == './d x\\n'
fd = os.open(script('e'), os.O_RDONLY); os.set_inheritable(fd, True)
assert child(lambda: os.execve(fd, ['me', 'x'], os.environ)).endswith(' x\\n')
script('f', 'echo without $1\\n')
assert child(lambda: os.execv('/usr/bin/env', ['env', 'f', 'x'])) == 'without x\\n'
os.symlink(script('g'), 'h')
assert child(lambda: os.execv('./h', ['me', 'x'])) == './h x\\n'
assert os.system('./' + script('i') + ' > /dev/null') == 0
def fails(error, call):
    try: call()
    except error as e: return e.strerror
    assert False
fails(PermissionError, lambda: os.execv('./' + script('k', mode=0o644), ['me']))
held = open(script('l'), 'a')
assert fails(OSError, lambda: os.execv('./l', ['me'])) == 'Text file busy' == fails(OSError, lambda: os.posix_spawn('./l', ['me'], {}))
held.close(); assert child(lambda: os.execv('./l', ['me', 'x'])) == './l x\\n'
assert os.stat('a').st_mtime == 2 and os.stat('a').st_mode == 0o100755
shutil.copy('says', 'copy'); assert child(lambda: os.execv('./copy', ['me', 'x'])) == wanted.replace('says', 'copy')
print(sorted(os.listdir('.')))";
    let all = "['a', 'b', 'c', 'copy', 'd', 'e', 'f', 'g', 'h', 'i', 'k', 'l', 'says', 'says.c', 'says.o']\n";
    assert_eq!(stowed.python(script), all);
    for (name, is_plain) in [("a", true), ("l", true), ("k", false), ("copy", true)] {
        assert_eq!(stowed.at(name).is_file(), is_plain, "{name}");
    }
    let facts = stowed.at("a").metadata().unwrap();
    assert_eq!((facts.permissions().mode() & 0o7777, facts.mtime()), (0o755, 2));
    let hidden = stowed.names().into_iter().find(|it| it.starts_with(".plimsoll"));
    assert_eq!(hidden, None);
    assert_eq!(stowed.shell("rm -r *; ls -A"), "");
    stowed.storage.assert_nothing_left();
}

#[test]
fn a_project_is_configured_made_and_tested() {
    let stowed = Stowed::new();
    let configure = "#!/bin/sh
set -e
trap 'rm -f conftest*' 0
echo 'int main(void) { return 0; }' > conftest.c
cc -o conftest conftest.c && ./conftest && echo '#define WORKS 1' > config.h
sed s/@CC@/cc/g Makefile.in > config.tmp && mv config.tmp Makefile
";
    let makefile = "all: main
lib.o: lib.c config.h; @CC@ -fPIC -c lib.c
libit.so: lib.o; @CC@ -shared -o libit.so.1 lib.o && ln -sf libit.so.1 libit.so
libit.a: lib.o; ar rc libit.a lib.o
main: main.c libit.so libit.a; @CC@ -o main main.c -L. -lit && @CC@ -o main-static main.c libit.a
check: all; LD_LIBRARY_PATH=. ./main && ./main-static
install: all; install -m 755 main-static $(D)/it && cp libit.so.1 $(D)/libit.so && chmod 644 $(D)/libit.so
";
    let folder = stowed.storage.folder.path().join("source");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("configure"), configure).unwrap();
    fs::write(folder.join("Makefile.in"), makefile).unwrap();
    fs::write(folder.join("lib.c"), "#include \"config.h\"\nint it(void) { return WORKS; }\n")
        .unwrap();
    let main = "#include <stdio.h>\nint it(void);\nint main(void) { printf(\"%d\\n\", it()); }\n";
    fs::write(folder.join("main.c"), main).unwrap();
    fs::set_permissions(folder.join("configure"), fs::Permissions::from_mode(0o755)).unwrap();
    let script = "cp -r ../source it; cd it; ./configure; make -s -j2; make -s check; make -s; mkdir ../d; make -s install D=../d; \
        ../d/it; python3 -c 'import ctypes; print(ctypes.CDLL(\"../d/libit.so\").it())'";
    assert_eq!(stowed.shell(script), "1\n1\n1\n1\n");
    assert!(stowed.at("it/lib.o").is_dir() && stowed.at("it/libit.so.1").is_file());
    let plain = "cd source; ./configure; make -s; cd ..; cmp source/lib.o mount/it/lib.o; cmp source/main mount/it/main";
    let mut command = stowed.command(&[]);
    let outcome = command.args(["bash", "-c", &format!("cd ..; {plain}")]).output().unwrap();
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome:?}");
}

/// A kill may leave the plain file beside the container that it was to replace.
#[test]
fn what_a_kill_leaves_of_a_plain_file_goes_with_the_next_run() {
    let stowed = Stowed::new();
    let hidden = stowed.at(".plimsoll-stow-gone-0123456789abcdef");
    fs::write(&hidden, "half").unwrap();
    assert_eq!(stowed.shell("ls -A"), "");
    assert!(!hidden.exists());
}

/// What whoever made the copy allowed to others counts for nobody; that its owner may execute it stays.
#[test]
fn a_script_that_is_a_copy_is_executed_and_private() {
    let stowed = Stowed::new();
    stowed.shell_on_targets("printf '#!/bin/sh\\necho ran\\n' > script; chmod 755 script");
    let mut copy = Command::new("cp");
    copy.arg("-rp").arg(stowed.at("script")).arg(stowed.at("copy"));
    assert!(copy.status().unwrap().success());
    assert_eq!(stowed.shell("./copy; ./script; stat -c %a copy script"), "ran\nran\n700\n755\n");
}
