//! Small files, which stay in the mount: three inodes, and all that holds for large ones.

use std::fs;

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::python;

fn parts(stowed: &Stowed, name: &str) -> Vec<String> {
    let entries = fs::read_dir(stowed.at(name)).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn on_targets(stowed: &Stowed) -> usize {
    stowed.storage.targets.iter().map(|it| fs::read_dir(it).unwrap().count()).sum()
}

#[test]
fn a_small_file_is_three_inodes_until_it_grows() {
    let stowed = Stowed::new();
    stowed.shell("head -c 16000 /dev/zero > f; printf 1234 > g; chmod 640 g; > empty");
    for name in ["f", "g", "empty"] {
        assert_eq!(parts(&stowed, name), ["anchor", "plimsoll-container"], "{name}");
    }
    assert_eq!(on_targets(&stowed), 0);
    assert_eq!(
        stowed.shell("stat -c '%n %s %a %F' *"),
        "\
        empty 0 644 regular empty file\nf 16000 644 regular file\ng 4 640 regular file\n"
    );
    assert_eq!(stowed.shell("printf 56 >> g; truncate -s 3 g; printf 7 >> g; cat g"), "1237");
    assert_eq!(stowed.cat("g"), b"1237");
    for command in ["info", "check", "du", "compact"] {
        let outcome: Outcome =
            binary().args(["stow", command]).arg(stowed.at("g")).output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{command}");
    }
    stowed.shell("head -c 1000 /dev/zero >> f; rm g empty");
    assert_eq!(stowed.names(), ["f"]);
    assert!(parts(&stowed, "f").contains(&"manifest".to_string()));
    assert_eq!(stowed.cat("f"), [0; 17_000]);
    let large = stowed.shell_on_targets("printf x > h; wc -c < f; rm f; ls");
    assert_eq!((large.as_str(), on_targets(&stowed)), ("17000\nh\n", 1));
    assert!(parts(&stowed, "h").contains(&"manifest".to_string()));
}

#[test]
fn a_size_that_is_too_large_is_refused() {
    let stowed = Stowed::new();
    let mut command = stowed.command(&["--small", "1MiB"]);
    let outcome: Outcome = command.arg("true").output().unwrap().into();
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("it is more than 32KiB"), "{}", outcome.stderr);
}

/// Killed behind the last write that returned.
#[test]
fn what_was_written_is_there_after_a_kill() {
    let stowed = Stowed::new();
    // 64 bytes each, and as many that say where they are in a small file: it grows out of its marker meanwhile.
    for writes in [3, 60, 150, 170, 400] {
        let script = format!(
            "import os, signal
f = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
for i in range({writes}): os.write(f, b'%063d\\n' % i)
os.kill(os.getpid(), signal.SIGKILL)"
        );
        let outcome = stowed.run(&[python(), "-c", &script]);
        // It is nothing where `timeout` was killed in the same way.
        assert_eq!(outcome.status.unwrap_or(137), 137, "{}", outcome.stderr);
        let lines = (0..writes).map(|it| format!("{it:063}\n"));
        assert_eq!(String::from_utf8(stowed.cat("f")).unwrap(), lines.collect::<String>());
    }
    assert_eq!(stowed.shell("rm f; ls -A"), "");
    assert_eq!((stowed.names(), on_targets(&stowed)), (vec![], 0));
}

/// What is written is some mixture of old and new, as in a plain file, and nothing of it is lost.
#[test]
fn memory_that_changes_while_it_is_written_is_written() {
    let stowed = Stowed::new();
    let script = "import mmap, os, signal
for size in 8192, 300000:
    m = mmap.mmap(-1, size)
    child = os.fork()
    if child == 0:
        i = 0
        while True:
            i += 1
            m[:] = bytes([i % 256]) * size
    for n in range(100):
        f = os.open(f'f{size}', os.O_CREAT | os.O_TRUNC | os.O_RDWR)
        assert os.pwrite(f, m, 0) == size
        assert len(os.pread(f, 1 << 20, 0)) == size, n
        if n % 10 == 9: os.fsync(f)
        os.close(f)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print('done')";
    assert_eq!(stowed.python(script), "done\n");
    for name in ["f8192", "f300000"] {
        let outcome: Outcome =
            binary().args(["stow", "check"]).arg(stowed.at(name)).output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    }
}

/// A marker without its head took what was written to it, and nobody could read that.
#[test]
fn a_small_file_without_a_head_takes_nothing_and_is_told() {
    let stowed = Stowed::new();
    stowed.shell("printf hello > f; printf other > g; head -c 20000 /dev/zero >> g");
    let marker = stowed.at("f").join("plimsoll-container");
    let mut bytes = fs::read(&marker).unwrap();
    bytes[70] ^= 1;
    fs::write(&marker, bytes).unwrap();
    for part in ["state", "lock", "manifest"] {
        fs::copy(stowed.at("g").join(part), stowed.at("f").join(part)).unwrap();
    }
    for script in ["cat f", "printf more >> f", "head -c 50000 /dev/zero >> f"] {
        let outcome = stowed.run(&["bash", "-c", script]);
        assert_eq!(outcome.status, Some(1), "{script}");
        assert!(outcome.stderr.contains("Input/output error"), "{script}: {}", outcome.stderr);
    }
    let outcome: Outcome =
        binary().args(["stow", "check"]).arg(stowed.at("f")).output().unwrap().into();
    assert_eq!(outcome.status, Some(1), "{}", outcome.stdout);
    stowed.shell("rm f g");
    assert_eq!((stowed.names(), on_targets(&stowed)), (vec![], 0));
}
