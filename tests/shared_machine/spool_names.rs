//! Spools are found by a name that everybody can know: it says nothing where others may give names.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::record::Node;
use crate::support::attacker::Attacker;
use crate::support::command::{Outcome, binary};
use crate::support::recording::processes;

/// The attack: where others may rename what is there, another recording's files are given the name of a spool.
#[test]
fn a_directory_that_was_given_the_name_of_a_spool_is_not_collected_from() {
    let Some(node) = Node::new() else { return };
    let (spool, kept) = node.left_behind();
    let before = processes(&node.recording()).len();
    let shared = node.folder.path().join("shared");
    fs::create_dir_all(shared.join("other")).unwrap();
    fs::set_permissions(shared.join("other"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    fs::copy(&kept, shared.join("other/other.rec")).unwrap();
    let planted = spool.file_name().unwrap().to_str().unwrap();
    Attacker::does(&shared, &format!("mv other {planted}"));
    let outcome = node.run(&["--collect", "rec", "--spool", "shared"]);
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("everyone can write to"), "{}", outcome.stderr);
    let mut by_default = binary();
    by_default.args(["record", "--collect", "rec"]).current_dir(node.folder.path());
    let outcome: Outcome = by_default.env("TMPDIR", &shared).output().unwrap().into();
    assert!(shared.join(planted).join("other.rec").exists(), "{}", outcome.stderr);
    assert_eq!(processes(&node.recording()).len(), before);
}
