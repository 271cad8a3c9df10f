//! A small process that gives targets their limits back when the race is killed.
//!
//! A limit that was lowered lies in the kernel and outlives whoever set it. The keeper waits at a
//! pipe; when that ends without a word, the race was killed. It needs nothing on disk, and acts at
//! once.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plimsoll_domain::Limit;
use plimsoll_testbed::{Limits, TargetName, Testbed};
use plimsoll_wire::{receive, send};
use serde::{Deserialize, Serialize};

use crate::{LimitDrop, Program, RaceError};

/// The keeper, seen from the race. Dismissed when it is dropped.
pub struct Keeper(Option<Child>);

/// A target that got its limit back after the race was killed, or did not.
#[derive(Debug)]
pub struct GivenBack {
    /// Its name in its test bed.
    pub target: String,
    /// Why it keeps its lower limit, if it does.
    pub problem: Option<String>,
}

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
struct AllGivenBack;

impl Keeper {
    /// Starts one if any limit will be lowered.
    ///
    /// # Errors
    /// Fails if the process cannot be started or told what to keep.
    pub fn start(program: &Program, drops: &[LimitDrop]) -> Result<Self, RaceError> {
        if drops.is_empty() {
            return Ok(Keeper(None));
        }
        let kept: Vec<Kept> = drops.iter().map(|drop| Kept::of(drop.kept())).collect();
        let mut process = Command::new(&program.path)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // Whoever kills the race's process group must not kill this as well.
            .process_group(0)
            .spawn()
            .map_err(RaceError::Keeper)?;
        let told = process.stdin.as_mut().map_or(Ok(()), |pipe| send(pipe, &kept));
        let keeper = Keeper(Some(process));
        told.map_err(RaceError::Keeper)?;
        Ok(keeper)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(process) = &mut self.0 else { return };
        let _ = process.stdin.take().map(|mut pipe| send(&mut pipe, &AllGivenBack));
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

    fn limits(&self) -> Result<Limits, RaceError> {
        let limit = |text: &Option<String>| match text {
            Some(text) => {
                text.parse::<Limit>().map_err(|error| io::Error::other(error.to_string()))
            }
            None => Ok(Limit::NONE),
        };
        let (read, write) = (limit(&self.read), limit(&self.write));
        Ok(Limits {
            read: read.map_err(RaceError::Keeper)?,
            write: write.map_err(RaceError::Keeper)?,
        })
    }

    fn give_back(&self) -> Result<(), RaceError> {
        let directory = &self.bed_directory;
        let (base, name) =
            directory.parent().zip(directory.file_name()).ok_or(RaceError::NoTestbed)?;
        let bed = Testbed::in_base(base, &name.to_string_lossy())?;
        let target = TargetName::new(self.target).ok_or(RaceError::NoTestbed)?;
        bed.restore(target, self.limits()?)?;
        Ok(())
    }
}

/// Serves as the keeper at standard input, until the race ends. Returns what was given back
/// because it was killed.
///
/// # Errors
/// Fails if this was not started by a race.
pub fn keep() -> io::Result<Vec<GivenBack>> {
    let mut pipe = io::stdin().lock();
    let kept: Option<Vec<Kept>> = receive(&mut pipe)?;
    if let Ok(Some(AllGivenBack)) = receive(&mut pipe) {
        return Ok(Vec::new());
    }
    let give_back = |kept: &Kept| GivenBack {
        target: format!("t{}", kept.target),
        problem: kept.give_back().err().map(|error| error.to_string()),
    };
    Ok(kept.unwrap_or_default().iter().map(give_back).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

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
