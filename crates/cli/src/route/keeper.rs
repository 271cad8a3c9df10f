//! A small process that gives targets their limits back when `route bench` is killed.
//!
//! A limit that `--drop` lowered lies in the kernel and outlives whoever set it. The keeper waits at a pipe; when
//! that ends without a word, the race was killed. It needs nothing on disk, and acts at once.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use plimsoll_domain::Limit;
use plimsoll_testbed::{Limits, TargetName, Testbed};
use plimsoll_wire::{receive, send};
use serde::{Deserialize, Serialize};

use super::drop::Drop;
use crate::output;

/// The hidden command of the keeper.
const KEEPER_COMMAND: &str = "route-keeper";

/// The keeper, seen from the race. Sent home at the end of its life.
pub struct Keeper(Option<Child>);

/// What one target has to get back.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    bed_directory: PathBuf,
    target: u32,
    read: Option<String>,
    write: Option<String>,
}

/// Said when there is nothing left to give back.
#[derive(Serialize, Deserialize)]
struct Done;

impl Keeper {
    /// Starts one if any limit will be lowered.
    pub fn start(program: &Path, drops: &[Drop]) -> Result<Self> {
        if drops.is_empty() {
            return Ok(Keeper(None));
        }
        let kept: Vec<Kept> = drops.iter().map(|drop| Kept::of(drop.kept())).collect();
        let process = Command::new(program)
            .arg(KEEPER_COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Whoever kills the race's process group must not kill this as well.
            .process_group(0)
            .spawn();
        let mut process = process.context("cannot start the process that restores limits")?;
        let told = process.stdin.as_mut().map_or(Ok(()), |pipe| send(pipe, &kept));
        told.context("cannot tell the process that restores limits what they are")?;
        Ok(Keeper(Some(process)))
    }
}

impl std::ops::Drop for Keeper {
    fn drop(&mut self) {
        let Some(process) = &mut self.0 else { return };
        let _ = process.stdin.take().map(|mut pipe| send(&mut pipe, &Done));
        let _ = process.wait();
    }
}

impl Kept {
    fn of((bed, target, limits): (&Testbed, TargetName, Limits)) -> Self {
        let text = |limit: Limit| (!limit.is_none()).then(|| limit.to_string());
        Kept {
            bed_directory: bed.directory(),
            target: target.index(),
            read: text(limits.read),
            write: text(limits.write),
        }
    }

    fn limits(&self) -> Result<Limits> {
        let limit = |text: &Option<String>| match text {
            Some(text) => text.parse::<Limit>(),
            None => Ok(Limit::NONE),
        };
        Ok(Limits { read: limit(&self.read)?, write: limit(&self.write)? })
    }

    fn give_back(&self) -> Result<()> {
        let directory = &self.bed_directory;
        let (base, name) = directory.parent().zip(directory.file_name()).context("no test bed")?;
        let bed = Testbed::in_base(base, &name.to_string_lossy())?;
        let target = TargetName::new(self.target).context("no such target")?;
        bed.restore(target, self.limits()?)?;
        Ok(())
    }
}

/// Serves as the keeper.
pub fn keep() -> Result<ExitCode> {
    super::leave_the_end_to_the_coordinator();
    let mut pipe = io::stdin().lock();
    let kept: Option<Vec<Kept>> = receive(&mut pipe)
        .context("cannot serve; hint: plimsoll route bench starts its keeper itself")?;
    if let Ok(Some(Done)) = receive(&mut pipe) {
        return Ok(ExitCode::SUCCESS);
    }
    for kept in kept.unwrap_or_default() {
        let target = format!("t{}", kept.target);
        output::message(&match kept.give_back() {
            Ok(()) => format!("note: route bench was killed; {target} has its limit again"),
            Err(error) => format!("error: {target} keeps its lower limit: {error:#}"),
        });
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_way_to_the_keeper() {
        let bed = Testbed::in_base(Path::new("/var/tmp/beds"), "race").unwrap();
        for write in ["20MiB/s", "1B/s,7op/s", "200op/s"] {
            let limits = Limits { read: Limit::NONE, write: write.parse().unwrap() };
            let kept = Kept::of((&bed, TargetName::new(3).unwrap(), limits));
            let mut pipe = Vec::new();
            send(&mut pipe, &kept).unwrap();
            let there: Kept = receive(&mut pipe.as_slice()).unwrap().unwrap();
            assert_eq!((there.limits().unwrap(), there), (limits, kept));
        }
    }
}
