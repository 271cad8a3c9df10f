//! The line after the run: what was written, by all processes, however they ended.

use std::process::{Command, Stdio};

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, python};

impl Stowed {
    fn told(&self, options: &[&str], command: &[&str]) -> Outcome {
        let mut run = Command::new("timeout");
        run.args(["--kill-after=5", "60"]).arg(binary().get_program());
        run.args(["stow", "run", "--mount"]).arg(self.at("")).arg("--targets");
        run.args(&self.storage.targets).args(options).arg("--").args(command);
        run.current_dir(self.at("")).env("PLIMSOLL_LIBRARY", library()).stdin(Stdio::null());
        run.output().unwrap().into()
    }
}

#[test]
fn all_processes_count_however_they_end() {
    let stowed = Stowed::new();
    // 1 MiB by each of: one that ends, a fork, a program with nothing in its environment, one that is killed.
    let script = "
import os, signal, subprocess, time
def write(name):
    f = os.open(name, os.O_CREAT | os.O_WRONLY)
    for _ in range(16): os.write(f, b'x' * 65536)
write('a')
if os.fork() == 0: write('b'); os._exit(0)
if os.fork() == 0: write('c'); os.kill(os.getpid(), signal.SIGKILL)
os.wait(); os.wait()
subprocess.run(['dd', 'if=/dev/zero', 'of=d', 'bs=1M', 'count=1', 'status=none'], env={}, check=True)
open('/dev/null', 'w').write('not counted')
os.unlink('a')
f = os.open('b', os.O_RDWR); os.pwrite(f, b'y' * 1048576, 0)
print('done')";
    for policy in ["window", "striped", "static"] {
        let outcome = stowed.told(&["--policy", policy], &[python(), "-c", script]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "done\n"));
        let line = outcome.stderr.strip_suffix('\n').unwrap();
        assert!(line.starts_with("plimsoll: wrote 5 MiB to "), "{policy}: {line}");
        assert!(!line.contains('\n') && line.contains("times the mean"), "{policy}: {line}");
        stowed.shell("rm a b c d 2>/dev/null; true");
    }
}

#[test]
fn nothing_is_nothing_and_quiet_is_quiet() {
    let stowed = Stowed::new();
    let outcome =
        stowed.told(&["--except", "*.txt"], &["bash", "-c", "echo 1 > x.txt; ls; exit 3"]);
    let nothing = format!(
        "plimsoll: wrote nothing to containers below {} on this node\n",
        stowed.at("").display()
    );
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "x.txt\n"));
    assert_eq!(outcome.stderr, nothing);
    let outcome = stowed.told(&["--quiet"], &["bash", "-c", "echo 1 > x"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let outcome = stowed.told(&[], &["no-such-program"]);
    assert_eq!(outcome.status, Some(127));
    assert!(!outcome.stderr.contains("wrote"), "{}", outcome.stderr);
    // A container takes the targets of the run.
    let other = stowed.storage.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut command = binary();
    command.args(["stow", "run", "--mount"]).arg(stowed.at("")).arg("--targets").arg(&other);
    command.args([
        "--small",
        "0B",
        "--",
        "dd",
        "if=/dev/zero",
        "of=x",
        "bs=1000",
        "count=1",
        "status=none",
    ]);
    command.current_dir(stowed.at("")).env("PLIMSOLL_LIBRARY", library());
    let outcome: Outcome = command.output().unwrap().into();
    // With the two bytes that it had as a small file.
    let is_told = outcome.stderr.starts_with("plimsoll: wrote 1,002 B to 1 target");
    assert!(is_told, "{}", outcome.stderr);
}
