//! Strided records of several processes in one file on limited devices, until everything is durable: a plain file, or a container that is
//! written by the library. A benchmark hands [`worker`] to `crowd::work_if_asked`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use plimsoll_pilot::Pilot;
use plimsoll_route::Factor;
use plimsoll_stow::{Container, Placement, Target, Writer};

use crate::course::Course;
use crate::crowd::{Worker, seconds_of, seconds_while};
use crate::devices::Devices;
use crate::older_kernel;

/// Processes that write.
pub const WRITERS: usize = 4;

/// Sizes of records, with their names.
pub const RECORDS: [(&str, usize); 3] =
    [("4 KiB", 4 << 10), ("47 KiB", 47 << 10), ("1 MiB", 1 << 20)];

/// What is written, and where.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// The devices,
    pub devices: &'a Devices,
    /// what they do,
    pub course: Course,
    /// during a run of so many seconds at full speed;
    pub seconds: f64,
    /// the bytes of a record,
    pub record: usize,
    /// and of all.
    pub bytes: f64,
}

impl Strided<'_> {
    /// How many records each process writes.
    pub fn count(&self) -> usize {
        (self.bytes / self.record as f64 / WRITERS as f64) as usize
    }

    /// Seconds until they are durable in a container, by this policy; `masked` is `window` as on an older kernel.
    pub fn stowed(&self, policy: &str) -> Result<f64> {
        self.course.begin(self.devices)?;
        let targets = self.devices.targets()?;
        let path = self.devices.base().join("stowed");
        let made = Container::create(&path, &targets)?;
        let paths: Vec<String> =
            targets.iter().map(|it| it.path.to_string_lossy().into_owned()).collect();
        let container = path.to_string_lossy();
        let (record, count) = (self.record.to_string(), self.count().to_string());
        let work = [policy, &container, &record, &count, &paths.join(",")];
        let took = seconds_while(WRITERS, &work, || self.course.take(self.devices, self.seconds));
        made.remove()?;
        took
    }

    /// Seconds until they are durable in a plain file on one of the devices.
    pub fn plain(&self) -> Result<f64> {
        self.course.begin(self.devices)?;
        let path = self.devices.targets()?[0].path.join("plain");
        File::create_new(&path)?;
        let (record, count) = (self.record.to_string(), self.count().to_string());
        let took = seconds_of(WRITERS, &["plain", &path.to_string_lossy(), &record, &count]);
        std::fs::remove_file(&path)?;
        took
    }
}

/// What a process does that takes part.
///
/// # Errors
/// Fails if it is not told what to do, or cannot open the file.
pub fn worker(worker: Worker) -> Result<Box<dyn FnOnce() -> Result<()>>> {
    let [kind, path, record, count, rest @ ..] = &worker.work[..] else { bail!("what to do?") };
    let (path, record, count) = (Path::new(path), record.parse::<usize>()?, count.parse()?);
    let (rank, of) = (worker.rank, worker.of);
    let offset = move |index: usize| ((index * of + rank) * record) as u64;
    let bytes = vec![rank as u8 + 1; record];
    if kind == "plain" {
        let file = File::options().write(true).open(path)?;
        return Ok(Box::new(move || {
            (0..count).try_for_each(|index| file.write_all_at(&bytes, offset(index)))?;
            Ok(file.sync_data()?)
        }));
    }
    let names = rest.first().context("which targets?")?.split(',').enumerate();
    let target =
        |(index, path): (usize, &str)| Target { name: format!("t{index}"), path: path.into() };
    let targets: Vec<Target> = names.map(target).collect();
    if kind == "masked" {
        older_kernel::pretend()?;
    }
    let container = Arc::new(Container::open(path, &targets)?);
    let placement = match kind.as_str() {
        "striped" => Placement::Striped,
        "static" => Placement::Static,
        _ => Placement::Routed(Box::new(Pilot::new(&container, Factor::NONE)?)),
    };
    let mut writer = Writer::open(container, placement)?;
    Ok(Box::new(move || {
        (0..count).try_for_each(|index| writer.write_at(&bytes, offset(index)))?;
        writer.sync()?;
        Ok(writer.close()?)
    }))
}
