//! Another user of the machine, who means no good.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// A number that no account has as a rule. Not that of nobody, which NFS gives to others.
pub const ATTACKER: u32 = 65_533;

/// A shell script that another user runs until it is dropped.
pub struct Attacker {
    process: Child,
}

impl Attacker {
    /// True when this is root, who can be somebody else; otherwise says so.
    pub fn can_be_had() -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            eprintln!("SKIPPED: playing another user needs root");
        }
        is_root
    }

    /// Does this again and again in that directory.
    pub fn repeats(directory: &Path, script: &str) -> Self {
        let script = format!("while :; do {script}\ndone");
        let process = as_attacker(directory, &script).spawn().unwrap();
        Attacker { process }
    }

    /// Does this once in that directory.
    #[track_caller]
    pub fn does(directory: &Path, script: &str) {
        assert!(as_attacker(directory, script).status().unwrap().success(), "{script}");
    }
}

fn as_attacker(directory: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory).uid(ATTACKER).gid(ATTACKER);
    // With all that it starts, so that all of that can be ended.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.process);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.process.wait();
    }
}
