//! `--noise TARGET:STREAMS`: others that write to a target, or to all, meanwhile.

use anyhow::{Context, Result, ensure};
use plimsoll_race::Targets;

use crate::value;

/// The most streams on one target: each is a process.
const STREAMS_MAX: u64 = 64;

/// And in all.
const ALL_STREAMS_MAX: u32 = 256;

/// In place of a target: every one of them.
const ALL: &str = "all";

/// Streams by target.
pub fn streams(texts: &[String], targets: &Targets) -> Result<Vec<u32>> {
    let mut streams = vec![0; targets.list.len()];
    for text in texts {
        let (target, count) =
            text.rsplit_once(':').with_context(|| format!("--noise {text:?}: hint: t0:4"))?;
        let count = value::count(count)
            .map_err(|why| anyhow::anyhow!("--noise {text:?}: the number of streams {why}"))?;
        ensure!(
            (1..=STREAMS_MAX).contains(&count),
            "--noise {text:?}: {count} streams; hint: 1 to {STREAMS_MAX}"
        );
        let is_named_so = || targets.list.iter().any(|it| it.name == ALL);
        if target == ALL && !is_named_so() {
            streams.iter_mut().for_each(|streams| *streams += count as u32);
        } else {
            streams[targets.position(target)?] += count as u32;
        }
    }
    let all: u32 = streams.iter().sum();
    ensure!(all <= ALL_STREAMS_MAX, "{all} streams of noise; hint: at most {ALL_STREAMS_MAX}");
    Ok(streams)
}
