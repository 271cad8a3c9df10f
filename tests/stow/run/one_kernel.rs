//! Systems on one kernel that each tell a boot id of their own, as those of LXC and systemd-nspawn do.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Stowed;
use crate::support::recording::{has, python};

/// Writes and reads at the beginning of `f`, as it is told.
const PROGRAM: &str = "
import os, sys
f = os.open('f', os.O_CREAT | os.O_RDWR)
for line in sys.stdin:
    if line != '\\n': os.pwrite(f, line[:5].encode(), 0)
    print(os.pread(f, 5, 0).decode(), os.fstat(f).st_size, flush=True)
";

/// A program in one of these systems.
struct System {
    process: Child,
    asked: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl System {
    fn new(stowed: &Stowed, options: &[&str], boot: Option<&Path>) -> Self {
        let mut inner = stowed.command(options);
        inner.args([python(), "-c", PROGRAM]);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c"]);
        match boot {
            Some(boot) => command
                .arg("mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"")
                .arg(boot),
            None => command.args(["exec \"$@\"", "sh"]),
        };
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(stowed.at(""));
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let asked = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        System { process, asked, answers }
    }

    /// Writes a word of five letters, or nothing; returns what is there then.
    fn asks(&mut self, word: &str) -> String {
        writeln!(self.asked.as_mut().unwrap(), "{word}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_string()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        drop(self.asked.take());
        let _ = self.process.wait();
    }
}

#[test]
fn systems_with_boot_ids_of_their_own_see_what_the_others_write() {
    if !has(&["unshare"])
        || !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|it| it.success())
    {
        eprintln!("SKIPPED: needs unshare --mount");
        return;
    }
    for options in [&["--small", "0B"][..], &[]] {
        let stowed = Stowed::new();
        let boot = stowed.storage.folder.path().join("boot");
        fs::write(&boot, "0b1e2d3c-0000-4000-8000-00000000aa01\n").unwrap();
        let mut one = System::new(&stowed, options, None);
        let mut other = System::new(&stowed, options, Some(&boot));
        for round in 0..20 {
            for (writes, reads) in [(true, false), (false, true)] {
                let word = format!("{round:02}{}", if writes { "one" } else { "two" });
                let by = |is_one: bool| if is_one { 0 } else { 1 };
                let systems = [&mut one, &mut other];
                assert_eq!(systems[by(writes)].asks(&word), format!("{word} 5"), "{options:?}");
                assert_eq!(systems[by(reads)].asks(""), format!("{word} 5"), "{options:?}");
            }
        }
        drop((one, other));
        // Later systems go on, one after the other.
        for (boot, word) in [(Some(boot.as_path()), "later"), (None, "again")] {
            let mut next = System::new(&stowed, options, boot);
            assert_eq!(next.asks(word), format!("{word} 5"));
        }
        assert_eq!(stowed.cat("f"), b"again");
        assert!(!stowed.at("f/state-2").exists());
    }
}
