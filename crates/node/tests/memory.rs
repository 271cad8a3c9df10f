//! The file: whose it must be, and what must be in it; and members that join, fork, die and are full.

use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use plimsoll_node::{MemberError, NodePlan, SharedNode, is_unused};
use plimsoll_route::lease::{Place, Seen};

const NAME: &str = "node";

fn open(directory: &Path, plan: NodePlan) -> Result<SharedNode, String> {
    SharedNode::open(directory, NAME, plan).map_err(|error| error.to_string())
}

fn plan() -> NodePlan {
    NodePlan { members: 4, leases: 8, ..NodePlan::new(2, 7) }
}

#[test]
fn the_file_is_private_and_everybody_finds_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let one = open(folder.path(), plan()).unwrap();
    let other = open(folder.path(), plan()).unwrap();
    assert_eq!(one.id(), other.id());
    assert_ne!(one.id(), 0);
    let file = folder.path().join(NAME);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no other name is left");
    std::fs::remove_file(&file).unwrap();
    assert_ne!(open(folder.path(), plan()).unwrap().id(), one.id(), "another node");
}

#[test]
fn memory_is_used_as_long_as_anybody_takes_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut members: Vec<_> =
        (0..4).map(|_| open(folder.path(), plan()).unwrap().join().unwrap()).collect();
    let file = std::fs::File::open(folder.path().join(NAME)).unwrap();
    while !members.is_empty() {
        assert!(!is_unused(file.as_fd()), "{} take part", members.len());
        members.remove(0);
    }
    assert!(is_unused(file.as_fd()));
}

#[test]
fn what_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = || open(folder.path(), plan()).unwrap_err();
    symlink(at("elsewhere"), at(NAME)).unwrap();
    assert!(refused().contains("cannot use the node's shared memory"), "{}", refused());
    assert!(!at("elsewhere").exists());
    std::fs::remove_file(at(NAME)).unwrap();
    std::fs::create_dir(at(NAME)).unwrap();
    assert!(refused().contains("cannot use the node's shared memory"), "{}", refused());
    std::fs::remove_dir(at(NAME)).unwrap();
    std::fs::write(at(NAME), vec![0; 1 << 16]).unwrap();
    std::fs::set_permissions(at(NAME), PermissionsExt::from_mode(0o600)).unwrap();
    assert!(refused().contains("is something else"), "{}", refused());
    std::fs::write(at(NAME), "short").unwrap();
    assert!(refused().contains("is too short"), "{}", refused());
    std::fs::remove_file(at(NAME)).unwrap();
    open(folder.path(), plan()).unwrap();
    std::fs::hard_link(at(NAME), at("further")).unwrap();
    assert!(refused().contains("cannot use the node's shared memory"), "{}", refused());
    std::fs::remove_file(at("further")).unwrap();
    std::fs::set_permissions(at(NAME), PermissionsExt::from_mode(0o620)).unwrap();
    assert!(refused().contains("can be used by others"), "{}", refused());
    std::fs::set_permissions(at(NAME), PermissionsExt::from_mode(0o600)).unwrap();
    open(folder.path(), plan()).unwrap();
}

#[test]
fn another_version_plan_or_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path(), plan()).unwrap();
    for other in [
        NodePlan { fingerprint: 8, ..plan() },
        NodePlan { targets: 3, ..plan() },
        NodePlan { leases: 9, ..plan() },
    ] {
        let said = open(folder.path(), other).unwrap_err();
        assert!(said.contains("was made for other targets or settings"), "{said}");
        assert!(said.ends_with("hint: remove it when no program uses it"), "{said}");
    }
    let said = open(folder.path(), NodePlan { targets: 0, ..plan() }).unwrap_err();
    assert!(said.starts_with("a table for 0 targets"), "{said}");
    let file = std::fs::File::options().write(true).open(folder.path().join(NAME)).unwrap();
    file.write_all_at(&2u64.to_le_bytes(), 8).unwrap();
    let said = open(folder.path(), plan()).unwrap_err();
    assert!(said.contains("was made by another version"), "{said}");
    file.write_all_at(&1u64.to_le_bytes(), 8).unwrap();
    file.set_len(file.metadata().unwrap().len() - 8).unwrap();
    assert!(open(folder.path(), plan()).is_err(), "cut off");
}

#[test]
fn anybody_sees_the_end_of_anybodys_lease() {
    let folder = tempfile::tempdir().unwrap();
    let join = || open(folder.path(), plan()).unwrap().join().unwrap();
    let (mut writer, mut reader) = (join(), join());
    let lease = writer.lease(u64::MAX, 4096, |_| None).unwrap();
    let place = Place { log: 3, offset_bytes: 4096 };
    assert!(writer.set_place(lease.id, place));
    assert!(writer.begin_fill(lease.id) && writer.publish(lease.id, 4096));
    assert!(writer.seal(lease.id).unwrap().is_some());
    assert!(!writer.is_flushed().unwrap());
    assert!(reader.look(|_| Some(Seen::Pending)).unwrap().is_empty());
    let ended = reader.look(|lease| (lease.place == place).then_some(Seen::Durable)).unwrap();
    assert_eq!(ended.iter().map(|end| end.id).collect::<Vec<_>>(), [lease.id]);
    assert!(writer.is_flushed().unwrap());
}

#[test]
fn a_member_that_leaves_makes_room_and_what_it_left_open_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let join = || open(folder.path(), plan()).unwrap().join();
    let mut members: Vec<_> = (0..4).map(|_| join().unwrap()).collect();
    assert!(matches!(join(), Err(MemberError::Full { members: 4 })));
    let mut leaves = members.remove(2);
    let lease = leaves.lease(u64::MAX, 1, |_| None).unwrap();
    assert!(leaves.begin_fill(lease.id) && leaves.publish(lease.id, 100));
    drop(leaves);
    let mut next = join().unwrap();
    let mut lengths = Vec::new();
    let ended = next.look(|lease| {
        lengths.push(lease.length_bytes);
        Some(Seen::Durable)
    });
    assert_eq!(ended.unwrap().len(), 1);
    assert_eq!(lengths, [100]);
}

#[test]
fn no_target_is_an_error_and_not_a_wait() {
    let folder = tempfile::tempdir().unwrap();
    let mut member = open(folder.path(), plan()).unwrap().join().unwrap();
    for lane in 0..2 {
        member.set_failure(lane, Some(plimsoll_route::Failure::Full)).unwrap();
    }
    let refused = member.lease(u64::MAX, 1, |_| None).unwrap_err();
    assert_eq!(refused.to_string(), "no target takes data");
    member.set_failure(1, None).unwrap();
    assert_eq!(member.lease(u64::MAX, 1, |_| None).unwrap().lane, 1);
}

#[test]
fn a_forked_child_is_no_member_and_its_end_is_not_its_parents() {
    let folder = tempfile::tempdir().unwrap();
    let mut member = open(folder.path(), plan()).unwrap().join().unwrap();
    // SAFETY: the child calls what needs no lock of this process, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_refused = matches!(member.is_flushed(), Err(MemberError::Forked));
        drop(member);
        // SAFETY: it ends the child without running anything of the test's.
        unsafe { libc::_exit(i32::from(!is_refused)) };
    }
    let mut status = -1;
    // SAFETY: the child is this process's own, and the number outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child was refused");
    let mut other = open(folder.path(), plan()).unwrap().join().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    other.look(|_| None).unwrap();
    assert!(member.is_flushed().unwrap(), "the parent is still a member");
}
