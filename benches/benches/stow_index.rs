//! How large is the merged index of a container, and how long does opening take with it and without? A million records of 256
//! bytes, written by four writers: in strides (the N-1 pattern of checkpoints), and at random places.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use plimsoll_benches::{PAIRS, interleaved, report, seconds};
use plimsoll_stats::Sample;
use plimsoll_stow::{Container, Placement, Reader, Target, Writer, write_index};
use rustix::time::{ClockId, clock_gettime};

const RECORDS: u64 = 1_000_000;
const RECORD_BYTES: u64 = 256;
const WRITERS: usize = 4;

fn main() -> Result<()> {
    let folder = tempfile::tempdir_in("/var/tmp")?;
    println!(
        "{RECORDS} records of {RECORD_BYTES} bytes by {WRITERS} writers on 4 targets, on ext4 or what /var/tmp is"
    );
    case(folder.path(), "strided", |index| index)?;
    // In a file of a terabyte, most of which are holes.
    case(folder.path(), "random", |index| {
        let mixed = (index ^ index >> 9).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed >> 32
    })
}

fn case(folder: &Path, what: &str, place: impl Fn(u64) -> u64) -> Result<()> {
    let targets: Vec<Target> = (0..4)
        .map(|index| {
            let name = format!("t{index}");
            Target { path: folder.join(&name), name }
        })
        .collect();
    targets.iter().try_for_each(|it| std::fs::create_dir_all(&it.path))?;
    let container = Arc::new(Container::create(&folder.join(what), &targets)?);
    write(&container, place)?;
    let rebuild = seconds(|| {
        let _ = write_index(&container);
    });
    let reader = Reader::open(container.clone())?;
    let bytes = reader.index().map_err(|why| anyhow::anyhow!("no index: {why}"))?;
    println!(
        "{what}: merged index {bytes} bytes, {:.2} a record; scanned and written in {rebuild:.3} s",
        bytes as f64 / RECORDS as f64
    );
    let with = || cpu_seconds(|| drop(Reader::open(container.clone())));
    let without = || cpu_seconds(|| drop(Reader::open_scanned(container.clone())));
    show("open with the index", with)?;
    show("open without", without)?;
    report("  open with the index, over without", interleaved(PAIRS, with, without));
    let mut block = vec![0; 1 << 20];
    show("first read of 1 MiB with the index", || {
        let fresh = Reader::open(container.clone());
        cpu_seconds(|| {
            let _ = fresh.map(|it| it.read_at(&mut block, 100 << 20));
        })
    })?;
    drop(reader);
    Arc::into_inner(container).context("somebody has it")?.remove()?;
    Ok(())
}

fn write(container: &Arc<Container>, place: impl Fn(u64) -> u64) -> Result<()> {
    let open = |_| Writer::open(container.clone(), Placement::Striped);
    let mut writers = (0..WRITERS).map(open).collect::<Result<Vec<_>, _>>()?;
    let bytes = [7; RECORD_BYTES as usize];
    for index in 0..RECORDS {
        let writer = &mut writers[index as usize % WRITERS];
        writer.write_at(&bytes, place(index) * RECORD_BYTES)?;
    }
    writers.into_iter().try_for_each(|it| it.close())?;
    Ok(())
}

/// Seconds of the processor: all files are in memory, so that only others on the machine would be waited for.
fn cpu_seconds(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
    };
    let start = now();
    work();
    now() - start
}

fn show(what: &str, mut work: impl FnMut() -> f64) -> Result<()> {
    let sample = Sample::new((0..PAIRS).map(|_| 1e3 * work()).collect())?;
    println!("  {what:40} median {:.3} ms of CPU, least {:.3} ms", sample.median(), sample.min());
    Ok(())
}
