//! How many files does a container of many nodes have, and how many of them are on one target? Beside it, PLFS's formula for 16 processes
//! on each node, with two files for each of them (Wright 6.5 and 6.6).
//!
//! Together: real containers of as many nodes as are said, all of which have the file open before the first of them writes, as those of a
//! parallel program. In turn: what the same rule gives if each node has written to all its targets before the next one comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use plimsoll_stow::{Container, Id, Placement, Reach, Target, Writer};
use plimsoll_theory::{Contention, Requests};
use rustix::process::{Resource, getrlimit, setrlimit};

const TARGETS: usize = 480;
const PROCESSES_PER_NODE: u64 = 16;
/// PLFS has a file of data and one of its index for each process.
const FILES_PER_PROCESS: u64 = 2;

fn main() -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    println!("{TARGETS} targets; D_load is files for each target in use");
    println!("nodes  come      logs  D_load  on a target   PLFS: files  D_load");
    for nodes in [1, 4, 16, 30, 64, 128, 256] {
        for together in [true, false] {
            row(nodes, together)?;
        }
    }
    Ok(())
}

fn row(nodes: usize, together: bool) -> Result<()> {
    let names: Vec<String> = (0..TARGETS).map(|it| format!("ost{it}")).collect();
    let logs = match together {
        true => logs_of(&names, nodes)?,
        false => logs_in_turn(&names, nodes),
    };
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    logs.iter().for_each(|it| *users.entry(it).or_default() += 1);
    let (least, most) = (users.values().min().unwrap_or(&0), users.values().max().unwrap_or(&0));
    let processes = nodes as u64 * PROCESSES_PER_NODE;
    let plfs = Contention::new(TARGETS as u64, Requests::equal(FILES_PER_PROCESS, processes)?)?;
    println!(
        "{nodes:5}  {}  {:6}  {:6.2}  {least:4} to {most:<4} {:12}  {:6.2}",
        if together { "together" } else { "in turn " },
        logs.len(),
        logs.len() as f64 / users.len() as f64,
        processes * FILES_PER_PROCESS,
        plfs.load().unwrap_or(f64::NAN),
    );
    Ok(())
}

/// Returns the targets of all logs of a container that so many nodes have written.
fn logs_of(names: &[String], nodes: usize) -> Result<Vec<String>> {
    let folder = tempfile::tempdir_in("/dev/shm")?;
    let target = |name: &String| Target { name: name.clone(), path: folder.path().join(name) };
    let targets: Vec<Target> = names.iter().map(target).collect();
    targets.iter().try_for_each(|it| std::fs::create_dir(&it.path))?;
    let path = folder.path().join("it");
    Container::create(&path, &targets)?;
    let mut writers: Vec<Writer> = Vec::new();
    for node in 0..nodes {
        let id = Id::from_bytes((node as u128 + 1).to_be_bytes());
        let container = Arc::new(Container::open(&path, &targets)?.seen_from(id));
        // Each begins with another target.
        for _ in 0..=Reach::width(TARGETS, nodes) {
            writers.push(Writer::open(container.clone(), Placement::Striped)?);
        }
    }
    for (number, writer) in writers.iter_mut().enumerate() {
        writer.write_at(b"few bytes", 10 * number as u64)?;
    }
    let logs = Container::open(&path, &targets)?.logs()?;
    Ok(logs.into_iter().map(|it| it.target).collect())
}

/// Returns the targets of all logs of nodes that write one after the other.
fn logs_in_turn(names: &[String], nodes: usize) -> Vec<String> {
    let container = Id::from_bytes([7; 16]);
    let mut logs = Vec::new();
    for seat in 1..=nodes {
        let reach = Reach::new(container, names.iter().map(String::as_str), seat as u32);
        let width = Reach::width(TARGETS, seat);
        logs.extend(reach.order()[..width].iter().map(|it| names[*it].clone()));
    }
    logs
}
