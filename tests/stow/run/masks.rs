//! A umask that takes the owner's own rights, as `umask 177` before a secret is written and `perl -i` do. Root would not notice.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::Stowed;
use crate::support::attacker::{ATTACKER, Attacker};
use crate::support::command::{Outcome, binary};
use crate::support::recording::library;

/// Runs a shell script as somebody who is not root, to whom all of the storage belongs.
fn script(stowed: &Stowed, text: &str) -> Outcome {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60", "sh", "-c", text]).current_dir(stowed.at(""));
    command.uid(ATTACKER).gid(ATTACKER).env("PLIMSOLL_LIBRARY", library());
    command.output().unwrap().into()
}

#[test]
fn no_umask_keeps_the_owner_out() {
    if !Attacker::can_be_had() {
        return;
    }
    let stowed = Stowed::new();
    let folder = stowed.storage.folder.path();
    for path in stowed.storage.targets.iter().chain([&stowed.at(""), &folder.to_path_buf()]) {
        chown(path, Some(ATTACKER), Some(ATTACKER)).unwrap();
    }
    let plimsoll = binary().get_program().to_str().unwrap().to_string();
    if script(&stowed, &format!("'{plimsoll}' --version")).status != Some(0) {
        eprintln!("SKIPPED: another user cannot run {plimsoll}");
        return;
    }
    let targets: Vec<String> =
        stowed.storage.targets.iter().map(|it| it.display().to_string()).collect();
    let targets = targets.join(",");
    for mask in ["0177", "0277", "0777"] {
        let run = format!(
            "'{plimsoll}' stow run --quiet --mount . --targets {targets} -- sh -c \
             'umask {mask}; echo secret > made-{mask} && umask 022 && ls -l made-{mask}' && \
             chmod u+r made-{mask}/anchor && '{plimsoll}' stow cat made-{mask}"
        );
        let outcome = script(&stowed, &run);
        assert_eq!(outcome.status, Some(0), "{mask}: {}", outcome.stderr);
        assert!(outcome.stdout.ends_with("secret\n"), "{mask}: {}", outcome.stdout);
        let mode = match mask {
            "0177" => "-rw-------",
            "0277" => "-r--------",
            _ => "----------",
        };
        assert!(outcome.stdout.starts_with(mode), "{mask}: {}", outcome.stdout);
        let keep = format!(
            "umask {mask}; echo | '{plimsoll}' record -o ../rec-{mask} -- true && \
             '{plimsoll}' stow cp /etc/passwd ../copied-{mask} --targets {targets}"
        );
        let outcome = script(&stowed, &keep);
        assert_eq!(outcome.status, Some(0), "{mask}: {}", outcome.stderr);
        for (name, mode) in [("rec", 0o700), ("copied", 0o700)] {
            let facts = fs::metadata(folder.join(format!("{name}-{mask}"))).unwrap();
            assert_eq!(facts.mode() & 0o777, mode, "{mask} {name}");
        }
    }
}
