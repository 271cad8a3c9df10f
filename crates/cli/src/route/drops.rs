//! `--drop TARGET=RATE@SECONDS`: a target of a test bed whose limit changes during each race.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_domain::BytesPerSec;
use plimsoll_race::{LimitDrop, Targets};

/// Reads all of them. Refuses what cannot be done before anything is written.
pub fn drops(texts: &[String], targets: &Targets) -> Result<Vec<LimitDrop>> {
    let mut drops: Vec<LimitDrop> = Vec::new();
    for text in texts {
        let drop = one(text, targets).with_context(|| format!("--drop {text:?}"))?;
        let is_second = drops.iter().any(|known| known.target == drop.target);
        ensure!(!is_second, "--drop {text:?}: hint: a target drops once during a race");
        drops.push(drop);
    }
    Ok(drops)
}

fn one(text: &str, targets: &Targets) -> Result<LimitDrop> {
    let shape = "hint: TARGET=RATE@SECONDS, as t3=2MiB/s@1.5";
    let (target, change) = text.split_once('=').context(shape)?;
    let (rate, seconds) = change.split_once('@').context(shape)?;
    let rate: BytesPerSec = rate.parse()?;
    ensure!(rate.get() > 0, "a rate of 0 would never end; hint: 1KiB/s");
    let seconds =
        seconds.strip_suffix('s').unwrap_or(seconds).parse::<f64>().ok().context(shape)?;
    ensure!((0.0..86_400.0).contains(&seconds), "hint: 0 to 86400 seconds");
    let after = Duration::from_secs_f64(seconds);
    Ok(LimitDrop::new(targets, targets.position(target)?, rate, after)?)
}
