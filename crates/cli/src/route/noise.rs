//! `--noise TARGET:STREAMS`: others that write to a target, or to all, meanwhile.

use anyhow::{Context, Result};
use plimsoll_race::{Counted, Targets};

use crate::value;

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
        let count = Counted::Streams.check(count).with_context(|| format!("--noise {text:?}"))?;
        let is_named_so = || targets.list.iter().any(|it| it.name == ALL);
        if target == ALL && !is_named_so() {
            streams.iter_mut().for_each(|streams| *streams += count);
        } else {
            streams[targets.position(target)?] += count;
        }
    }
    Ok(streams)
}
