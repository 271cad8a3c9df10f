//! Of many targets, each node writes to few, so that a container has few logs, and all targets about as many.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{Berth, Container, Id, Placement, Reach, Reader, Router, Writer};
use rustix::io::Errno;
use support::{container, content, targets};

const TARGETS: usize = 40;

fn seen_from(folder: &Path, node: u8) -> Arc<Container> {
    let container = Container::open(&folder.join("it"), &targets(folder, TARGETS)).unwrap();
    Arc::new(container.seen_from(Id::from_bytes([node; 16])))
}

fn open(container: &Arc<Container>) -> Writer {
    Writer::open(container.clone(), Placement::Striped).unwrap()
}

/// Each of so many writers goes to another target first.
fn write_with(writers: usize, container: &Arc<Container>, first: u64) {
    for number in 0..writers as u64 {
        let mut writer = open(container);
        writer.write_at(&[first as u8 + 1], first + number).unwrap();
        writer.close().unwrap();
    }
}

#[test]
fn one_node_has_sixteen_logs_on_as_many_targets() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), TARGETS);
    write_with(64, &container, 0);
    let logs = container.logs().unwrap();
    let used: BTreeSet<&str> = logs.iter().map(|it| it.target.as_str()).collect();
    assert_eq!((logs.len(), used.len()), (16, 16));
    assert_eq!(content(&Reader::open(container).unwrap()), [1; 64]);
}

#[test]
fn nodes_that_write_at_once_have_few_logs_and_all_targets_about_as_many() {
    const NODES: u8 = 24;
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    container(folder.path(), TARGETS);
    let nodes: Vec<Arc<Container>> = (1..=NODES).map(|it| seen_from(folder.path(), it)).collect();
    let all_open: Vec<Writer> = nodes.iter().map(open).collect();
    let width = Reach::width(TARGETS, NODES.into());
    assert_eq!(width, 5);
    for (at, node) in nodes.iter().enumerate() {
        write_with(width + 3, node, 100 * at as u64);
    }
    let logs = nodes[0].logs().unwrap();
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    logs.iter().for_each(|it| *users.entry(it.target.as_str()).or_default() += 1);
    assert_eq!(logs.len(), width * usize::from(NODES), "{users:?}");
    assert_eq!(users.len(), TARGETS);
    assert!(users.values().all(|it| (2..=4).contains(it)), "{users:?}");
    drop(all_open);
    let found = content(&Reader::open(nodes[7].clone()).unwrap());
    for at in 0..usize::from(NODES) {
        let first = 100 * at;
        let expected = vec![first as u8 + 1; width + 3];
        assert_eq!(found[first..first + width + 3], expected, "of node {at}");
    }
}

/// A node that came first knew of no others. It leaves targets to them on which it has no log yet.
#[test]
fn a_node_reaches_less_far_as_others_come() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    container(folder.path(), TARGETS);
    let first = seen_from(folder.path(), 1);
    let mut early: Vec<Writer> = (0..16).map(|_| open(&first)).collect();
    early[0].write_at(b"a", 0).unwrap();
    assert_eq!(first.logs().unwrap().len(), 1);
    let others: Vec<Writer> = (2..=24).map(|it| open(&seen_from(folder.path(), it))).collect();
    for (at, writer) in early.iter_mut().enumerate().skip(1) {
        writer.write_at(b"a", at as u64).unwrap();
    }
    assert_eq!(first.logs().unwrap().len(), Reach::width(TARGETS, 24));
    drop(others);
    drop(early);
    assert_eq!(content(&Reader::open(first).unwrap()), [b'a'; 16]);
}

/// Goes round the targets that it is told of, with small segments.
#[derive(Default)]
struct RoundAbout {
    lanes: Vec<usize>,
    segments: usize,
}

impl Router for RoundAbout {
    fn keep_to(&mut self, lanes: &[usize]) {
        self.lanes = lanes.to_vec();
    }

    fn place(&mut self, _: u64) -> Option<Berth> {
        self.segments += 1;
        Some(Berth { lane: self.lanes[self.segments % self.lanes.len()], length: 4096 })
    }

    fn begin(&mut self, _: u32, _: u64) {}

    fn fill(&mut self, _: u32) -> bool {
        false
    }

    fn end(&mut self, _: BorrowedFd<'_>, _: u32) {}

    fn look(&mut self) {}

    fn refuse(&mut self, _: usize, _: Errno) {}

    fn retry(&mut self) {}
}

/// A node that came first has logs on more targets than its share, once others write: it writes no more to some of them.
#[test]
fn a_node_leaves_targets_that_it_has_logs_on_to_those_who_come_later() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    container(folder.path(), TARGETS);
    let first = seen_from(folder.path(), 1);
    let router = Placement::Routed(Box::new(RoundAbout::default()));
    let mut early = Writer::open(first.clone(), router).unwrap();
    let mut write = |from: u64, to: u64| {
        (from..to).for_each(|at| early.write_at(b"a", at).unwrap());
    };
    let grown = |before: &BTreeMap<String, u64>| -> usize {
        let now = log_sizes(&first, folder.path());
        now.iter().filter(|(log, size)| before.get(*log) != Some(size)).count()
    };
    write(0, 40);
    assert_eq!(first.logs().unwrap().len(), 16);
    let others: Vec<Writer> = (2..=24).map(|it| open(&seen_from(folder.path(), it))).collect();
    // Until it looks again.
    write(40, 60);
    let before = log_sizes(&first, folder.path());
    write(60, 100);
    assert_eq!(grown(&before), Reach::width(TARGETS, 24));
    assert_eq!(first.logs().unwrap().len(), 16, "they are still there");
    drop(others);
    assert_eq!(content(&Reader::open(first.clone()).unwrap()), [b'a'; 100]);
}

fn log_sizes(container: &Container, folder: &Path) -> BTreeMap<String, u64> {
    let logs = container.logs().unwrap();
    let size = |target: &str| {
        let place = folder.join(target).join(format!("plimsoll-stow-{}", container.id()));
        let files = std::fs::read_dir(place).unwrap().flatten();
        files.map(|it| it.metadata().unwrap().len()).sum()
    };
    logs.iter().map(|it| (it.target.clone(), size(&it.target))).collect()
}

#[test]
fn what_refuses_is_replaced_by_what_is_beyond_and_only_when_all_refuse_it_fails() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let container = container(folder.path(), TARGETS);
    let targets = targets(folder.path(), TARGETS);
    let names = targets.iter().map(|it| it.name.as_str());
    let reach = Reach::new(container.id(), names, 1);
    // All but the last one in the order of this node cannot be written to any more.
    let last = *reach.order().last().unwrap();
    for (at, target) in targets.iter().enumerate().filter(|(at, _)| *at != last) {
        std::fs::remove_dir(&target.path).unwrap();
        std::fs::write(&target.path, format!("no directory {at}")).unwrap();
    }
    let mut writer = open(&container);
    writer.write_at(b"words", 0).unwrap();
    assert_eq!(writer.refusals().count(), TARGETS - 1);
    let logs = container.logs().unwrap();
    assert_eq!(logs.iter().map(|it| it.target.as_str()).collect::<Vec<_>>(), [format!("t{last}")]);
    drop(writer);
    std::fs::remove_dir_all(&targets[last].path).unwrap();
    let error = open(&container).write_at(b"more", 5).unwrap_err();
    assert_eq!(error.errno(), rustix::io::Errno::IO, "{error}");
}
