//! How many files does a container of many nodes have, and how many of them are on one target? Beside it, PLFS's formula for 16 processes
//! on each node, with two files for each of them (Wright 6.5 and 6.6).
//!
//! Real containers. Together: all nodes have the file open before the first of them writes, as those of a parallel program. In turn: each
//! node has written to all its targets before the next one comes, and all go on writing when the last one is there.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use plimsoll_stow::{Berth, Container, Id, Placement, Router, Target, Writer};
use plimsoll_theory::{Contention, Requests};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

const TARGETS: usize = 480;
const PROCESSES_PER_NODE: u64 = 16;
/// PLFS has a file of data and one of its index for each process.
const FILES_PER_PROCESS: u64 = 2;
/// Segments in which a node comes to all its targets, and looks whether there are more nodes.
const SEGMENTS: usize = 48;

fn main() -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    println!(
        "{TARGETS} targets; D_load is logs for each target that has any, when all nodes are there"
    );
    println!("nodes  come      logs  written to  D_load  on a target   PLFS: files  D_load");
    for nodes in [1, 4, 16, 30, 64, 128, 256] {
        for together in [true, false] {
            row(nodes, together)?;
        }
    }
    Ok(())
}

fn row(nodes: usize, together: bool) -> Result<()> {
    let run = Run::new()?;
    let (logs, written) = run.logs(nodes, together)?;
    let mut users: BTreeMap<&Path, usize> = BTreeMap::new();
    logs.iter().filter_map(|it| it.parent()).for_each(|it| *users.entry(it).or_default() += 1);
    let (least, most) = (users.values().min().unwrap_or(&0), users.values().max().unwrap_or(&0));
    let processes = nodes as u64 * PROCESSES_PER_NODE;
    let plfs = Contention::new(TARGETS as u64, Requests::equal(FILES_PER_PROCESS, processes)?)?;
    println!(
        "{nodes:5}  {}  {:6}  {written:10}  {:6.2}  {least:4} to {most:<4} {:12}  {:6.2}",
        if together { "together" } else { "in turn " },
        logs.len(),
        logs.len() as f64 / users.len() as f64,
        processes * FILES_PER_PROCESS,
        plfs.load().unwrap_or(f64::NAN),
    );
    Ok(())
}

/// A container, and its targets.
struct Run {
    folder: tempfile::TempDir,
    targets: Vec<Target>,
}

impl Run {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir_in("/dev/shm")?;
        let target = |at: usize| {
            let name = format!("ost{at}");
            Target { path: folder.path().join(&name), name }
        };
        let targets: Vec<Target> = (0..TARGETS).map(target).collect();
        targets.iter().try_for_each(|it| std::fs::create_dir(&it.path))?;
        Container::create(&folder.path().join("it"), &targets)?;
        Ok(Run { folder, targets })
    }

    /// Returns the logs that so many nodes have made, and how many of them they still write to when all are there.
    fn logs(&self, nodes: usize, together: bool) -> Result<(BTreeSet<PathBuf>, usize)> {
        let mut writers: Vec<Writer> = Vec::new();
        for node in 0..nodes {
            let mut writer = self.node(node)?;
            if !together {
                write(&mut writer, node)?;
            }
            writers.push(writer);
        }
        let mut write_all =
            || writers.iter_mut().enumerate().try_for_each(|(node, it)| write(it, node));
        write_all()?;
        let before = self.sizes()?;
        write_all()?;
        let after = self.sizes()?;
        let is_written = |(path, size): &(&PathBuf, &u64)| before.get(*path) != Some(*size);
        let written = after.iter().filter(is_written).count();
        Ok((after.into_keys().collect(), written))
    }

    fn node(&self, node: usize) -> Result<Writer> {
        let id = Id::from_bytes((node as u128 + 1).to_be_bytes());
        let container = Container::open(&self.folder.path().join("it"), &self.targets)?;
        let placement = Placement::Routed(Box::new(RoundAbout::default()));
        Ok(Writer::open(Arc::new(container.seen_from(id)), placement)?)
    }

    /// The bytes of all logs.
    fn sizes(&self) -> Result<BTreeMap<PathBuf, u64>> {
        let mut sizes = BTreeMap::new();
        for target in &self.targets {
            for place in std::fs::read_dir(&target.path)? {
                for file in std::fs::read_dir(place?.path())? {
                    let path = file?.path();
                    let is_log = path
                        .file_name()
                        .is_some_and(|it| it.as_encoded_bytes().starts_with(b"log-"));
                    if is_log {
                        sizes.insert(path.clone(), path.metadata()?.len());
                    }
                }
            }
        }
        Ok(sizes)
    }
}

fn write(writer: &mut Writer, node: usize) -> Result<()> {
    Ok((0..SEGMENTS).try_for_each(|_| writer.write_at(b"few bytes", 10 * node as u64))?)
}

/// Goes round the targets of the node, with a segment for each write.
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
