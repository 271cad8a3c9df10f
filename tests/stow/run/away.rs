//! Targets that are away for a while: what goes by a size that may be wrong fails, and everything is there when they are back.

use std::fs;
use std::process::{Command, Stdio};

use super::Stowed;
use crate::support::command::{Outcome, binary};
use crate::support::recording::{library, python};

impl Stowed {
    /// Runs a program that writes to one of the targets.
    fn on(&self, target: usize, command: &[&str]) -> Outcome {
        let mut run = Command::new("timeout");
        run.args(["--kill-after=5", "60"]).arg(binary().get_program());
        run.args(["stow", "run", "--quiet", "--small", "0B", "--mount"]).arg(self.at(""));
        run.arg("--targets");
        run.arg(&self.storage.targets[target]).arg("--").args(command);
        run.current_dir(self.at("")).env("PLIMSOLL_LIBRARY", library()).stdin(Stdio::null());
        run.output().unwrap().into()
    }

    /// Makes files of which the first four bytes are on the first target, and the next four on the second.
    #[track_caller]
    fn on_both(&self, names: &str) {
        for (target, line) in ["printf aaaa > $f", "printf bbbb >> $f"].into_iter().enumerate() {
            let script = format!("for f in {names}; do {line}; sync $f; done");
            let outcome = self.on(target, &["sh", "-c", &script]);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
        }
    }

    /// Does something while a target cannot be reached.
    fn without(&self, target: usize, work: impl FnOnce()) {
        let (target, away) = (&self.storage.targets[target], self.at("../away"));
        fs::rename(target, &away).unwrap();
        work();
        fs::rename(&away, target).unwrap();
    }
}

/// All that asks for the size in some way, and what it is told.
const SIZES: &str = "
import os, errno, mmap
def told(call, *arguments):
    try: return call(*arguments)
    except OSError as error: return errno.errorcode[error.errno]
f, a = os.open('f', os.O_RDWR), os.open('f', os.O_WRONLY | os.O_APPEND)
print(told(os.fstat, f), told(os.stat, 'f'), told(os.lstat, 'f'),
    told(os.lseek, f, 0, os.SEEK_END), told(os.lseek, f, 0, os.SEEK_HOLE), told(os.lseek, f, 4, os.SEEK_DATA),
    told(os.write, a, b'cccc'), told(os.posix_fallocate, f, 0, 100), told(mmap.mmap, f, 4, mmap.MAP_PRIVATE),
    told(os.pread, f, 100, 0), told(os.pread, f, 100, 4), told(os.pread, f, 100, 1 << 40))";

#[test]
fn what_goes_by_the_size_is_told_that_it_is_not_known() {
    let stowed = Stowed::new();
    stowed.on_both("f log");
    stowed.without(1, || {
        let outcome = stowed.on(0, &[python(), "-c", SIZES]);
        assert_eq!(outcome.stdout, format!("{}\n", ["EIO"; 12].join(" ")), "{}", outcome.stderr);
        for line in ["echo IV >> log", "tar cf ../tar f", "cp f ../copy", "wc -c f", "cat f"] {
            let outcome = stowed.on(0, &["bash", "-c", line]);
            assert_ne!(outcome.status, Some(0), "{line}: {}", outcome.stdout);
            assert!(outcome.stderr.contains("Input/output error"), "{line}: {}", outcome.stderr);
        }
    });
    assert_eq!((stowed.cat("f"), stowed.cat("log")), (b"aaaabbbb".into(), b"aaaabbbb".into()));
}

/// What is written over all of it, listed, named otherwise or removed need not be read.
#[test]
fn what_does_not_go_by_the_size_is_done() {
    let stowed = Stowed::new();
    stowed.on_both("cut anew part old doomed");
    stowed.without(1, || {
        let script = "set -e; ls; : > cut; echo new > anew; cat anew; echo more >> anew; wc -c < anew; \
            printf X 1<> part; head -c 1 part; echo; mv old other; rm doomed; ls";
        let outcome = stowed.on(0, &["bash", "-c", script]);
        let told = "anew\ncut\ndoomed\nold\npart\nnew\n9\nX\nanew\ncut\nother\npart\n";
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (told, ""));
        assert_eq!((stowed.cat("cut"), stowed.cat("anew")), (b"".into(), b"new\nmore\n".into()));
    });
    assert_eq!((stowed.cat("cut"), stowed.cat("anew")), (b"".into(), b"new\nmore\n".into()));
    assert_eq!((stowed.cat("part"), stowed.cat("other")), (b"Xaaabbbb".into(), b"aaaabbbb".into()));
}

/// The file was rewritten elsewhere since, so that its end is known.
#[test]
fn a_file_that_was_rewritten_ends_where_it_ends() {
    let stowed = Stowed::new();
    for (target, line) in ["echo old old old > f", "echo new > f"].into_iter().enumerate() {
        assert_eq!(stowed.on(target, &["sh", "-c", &format!("{line}; sync f")]).status, Some(0));
    }
    stowed.without(0, || {
        let script = "import os; f = os.open('f', os.O_RDONLY); \
            print(os.read(f, 100), os.read(f, 100), os.pread(f, 100, 1 << 40), os.fstat(f).st_size)";
        let outcome = stowed.on(1, &[python(), "-c", script]);
        assert_eq!(outcome.stdout, "b'new\\n' b'' b'' 4\n", "{}", outcome.stderr);
        let copied = binary().args(["stow", "cp"]).args([stowed.at("f"), stowed.at("../copy")]).status();
        assert!(copied.unwrap().success());
        assert_eq!(fs::read(stowed.at("../copy")).unwrap(), b"new\n");
    });
}
