//! How fast is a container read through a mount, beside a plain file with the same bytes on the same disk?
//!
//! In order, by calls of 1 MiB, 256 MiB each time: from the disk (both are dropped from the cache before), for the first time while
//! the logs are in memory, where the mount has to copy bytes three times and a plain file once, and again, while the kernel has the
//! container's bytes in its cache. Then by smaller calls, of records of 47 KiB. Needs root and /dev/fuse; arguments choose lines by a part of their name.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use plimsoll_benches::{PAIRS, interleaved, report};
use plimsoll_mount::{Caching, mount};
use plimsoll_stow::{Container, Placement, Target, Writer};
use rustix::fs::{Advice, fadvise};

const MIB: usize = 1 << 20;
const BYTES: usize = 256 * MIB;

/// Where the bytes are that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    OnDisk,
    LogsInMemory,
    InMemory,
}

fn main() -> Result<()> {
    println!("load {}", load());
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        println!("SKIPPED: a mount needs /dev/fuse and root");
        return Ok(());
    }
    let folder = tempfile::tempdir_in("/var/tmp")?;
    let [data, target, point] = ["data", "target", "view"].map(|it| folder.path().join(it));
    for directory in [&data, &target, &point] {
        fs::create_dir(directory)?;
    }
    let plain = folder.path().join("plain");
    fs::write(&plain, bytes_of_file())?;
    File::open(&plain)?.sync_all()?;
    for record in [4 << 10, 47 << 10, MIB] {
        write_container(&data.join(format!("records-{record}")), &target, record)?;
    }
    for (name, caching) in
        [("past the kernel's cache", Caching::Never), ("through it", Caching::Always)]
    {
        println!("{name}");
        let mounted = mount(&data, &point, Vec::new(), caching, None)?;
        let large = [4 << 10, 47 << 10, MIB].map(|record| (record, MIB));
        let small = [4 << 10, 32 << 10, 128 << 10].map(|call| (47 << 10, call));
        let measured = large.into_iter().chain(small).try_for_each(|(record, call)| {
            measure(record, call, &point, &logs_below(&target)?, &plain)
        });
        mounted.end(Duration::from_secs(5))?;
        measured?;
    }
    Ok(())
}

fn measure(record: usize, call: usize, point: &Path, logs: &[PathBuf], plain: &Path) -> Result<()> {
    let file = point.join(format!("records-{record}"));
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    for state in [State::OnDisk, State::LogsInMemory, State::InMemory] {
        let place = match state {
            State::OnDisk => "from the disk",
            State::LogsInMemory => "logs in memory",
            State::InMemory => "in memory",
        };
        let by = if call == MIB { String::new() } else { format!(", by {} KiB", call >> 10) };
        let what = format!("mount, {place}, records of {record} B{by}: bandwidth over plain's");
        if !wanted.is_empty() && !wanted.iter().any(|it| what.contains(it.as_str())) {
            continue;
        }
        let read = |path: &Path| {
            if state != State::InMemory {
                drop_from_cache([&file]);
            }
            if state == State::OnDisk {
                drop_from_cache(logs);
                drop_from_cache([plain]);
            }
            bandwidth(path, call).unwrap_or(f64::NAN)
        };
        let ratios = interleaved(PAIRS, || read(&file), || read(plain));
        report(&what, ratios);
    }
    Ok(())
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_string()
}

fn bytes_of_file() -> Vec<u8> {
    (0..BYTES as u64).map(|it| (it * 31 + it / 4093) as u8).collect()
}

fn write_container(path: &Path, target: &Path, record: usize) -> Result<()> {
    let target = Target { name: "target".into(), path: target.into() };
    let container = Container::create(path, &[target])?;
    let mut writer = Writer::open(Arc::new(container), Placement::Striped)?;
    for (number, bytes) in bytes_of_file().chunks(record).enumerate() {
        writer.write_at(bytes, (number * record) as u64)?;
    }
    writer.sync()?;
    Ok(writer.close()?)
}

fn logs_below(target: &Path) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for folder in fs::read_dir(target)? {
        for log in fs::read_dir(folder?.path())? {
            logs.push(log?.path());
        }
    }
    Ok(logs)
}

fn drop_from_cache(files: impl IntoIterator<Item = impl AsRef<Path>>) {
    for path in files {
        if let Ok(file) = File::open(path) {
            let _ = fadvise(&file, 0, None, Advice::DontNeed);
        }
    }
}

/// Reads all of a file, so much with each call; returns bytes per second.
fn bandwidth(path: &Path, call: usize) -> Result<f64> {
    let mut buffer = vec![0; call];
    let begin = Instant::now();
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let mut total = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => total += count,
        }
    }
    anyhow::ensure!(total == BYTES, "{} has {total} bytes", path.display());
    Ok(total as f64 / begin.elapsed().as_secs_f64())
}
