//! What makes sense about noise.

use plimsoll_domain::Bytes;

use super::within;
use crate::queue::HORIZON_NS;
use crate::scenario::Discipline;
use crate::scenario::{
    Distribution, Durations, Noise, Scenario, ScenarioError, Sharing, sixteen_mib,
};

/// Streams of all `[[noise]]` together.
const STREAMS_MAX: u64 = 100_000_000;

/// Phases of all targets in one run: more take minutes.
const CHANGES_MAX: f64 = 2e8;

/// Without a choice of their own, streams of noise count as these.
const OWN_STREAMS: u32 = 1;

/// How a target serves streams of noise beside ours. There is one answer for each target.
#[derive(Clone, Copy, PartialEq)]
struct Manner {
    sharing: Sharing,
    own_streams: u32,
    block: Bytes,
}

impl Scenario {
    pub(super) fn check_noise(&self) -> Result<(), ScenarioError> {
        let (mut all_streams, mut manner) = (0, None);
        for noise in &self.noise {
            let (Noise::Streams { targets, .. } | Noise::OnOff { targets, .. }) = noise;
            if let Some(targets) = targets {
                within("noise.targets", *targets, self.storage.targets)?;
            }
            match noise {
                Noise::Streams { streams, sharing, own_streams, block, .. } => {
                    all_streams += u64::from(*streams);
                    let own =
                        Manner { sharing: *sharing, own_streams: *own_streams, block: *block };
                    self.check_manner(own)?;
                    // Any two may meet: the first targets always have the very first in common, and
                    // targets that are drawn may be any.
                    if *manner.get_or_insert(own) != own {
                        return Err(ScenarioError::value(
                            "noise",
                            "has streams with different sharing, own_streams or block, which may \
                             meet on a target",
                            "the same values for all streams",
                        ));
                    }
                }
                Noise::OnOff { slowdown, slow, normal, .. } => {
                    if !(1.0..=1e6).contains(slowdown) {
                        let problem = format!("is {slowdown}");
                        let hint = "1 to 1000000";
                        return Err(ScenarioError::value("noise.slowdown", &problem, hint));
                    }
                    check_durations("noise.slow", slow)?;
                    check_durations("noise.normal", normal)?;
                    let targets = f64::from(targets.unwrap_or(self.storage.targets));
                    let phase_s = (slow.mean_ns() + normal.mean_ns()) / 2e9;
                    let changes = targets * self.shortest_s()? / phase_s;
                    if changes > CHANGES_MAX {
                        let problem = format!("would change {changes:.0} times, at most 200000000");
                        let hint = "longer phases, fewer targets or less data";
                        return Err(ScenarioError::value("noise", &problem, hint));
                    }
                }
            }
        }
        if all_streams > STREAMS_MAX {
            let problem = format!("is {all_streams} in all");
            return Err(ScenarioError::value("noise.streams", &problem, "at most 1e8"));
        }
        Ok(())
    }

    /// A time in which no run ends, in seconds.
    fn shortest_s(&self) -> Result<f64, ScenarioError> {
        let application = &self.application;
        let best_rate = self.storage.total_rate() * self.curve()?.best_share();
        let compute_s = application.compute.as_seconds() * f64::from(application.bursts);
        Ok(compute_s + application.total_bytes() as f64 / best_rate)
    }

    /// Refuses zeros, and what would have no effect with the targets' service.
    fn check_manner(&self, manner: Manner) -> Result<(), ScenarioError> {
        within("noise.own_streams", manner.own_streams, 1_000_000)?;
        if manner.block.get() == 0 {
            return Err(ScenarioError::value("noise.block", "is zero", "block = \"16MiB\""));
        }
        let refuse = |key: &str, with: &str| {
            let problem = format!("means nothing with {with}");
            Err(ScenarioError::value(key, &problem, "leave it out"))
        };
        let (fifo, shared) = ("service = \"fifo\"", "service = \"processor-sharing\"");
        match self.storage.service {
            Discipline::Fifo if manner.sharing != Sharing::Job => refuse("noise.sharing", fifo),
            Discipline::Fifo if manner.own_streams != OWN_STREAMS => {
                refuse("noise.own_streams", fifo)
            }
            Discipline::ProcessorSharing if manner.block != sixteen_mib() => {
                refuse("noise.block", shared)
            }
            _ if manner.sharing == Sharing::Stream && manner.own_streams != OWN_STREAMS => {
                refuse("noise.own_streams", "sharing = \"stream\"")
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn check_durations(key: &str, durations: &Durations) -> Result<(), ScenarioError> {
    // Phases of less than this are vibration: a run would do nothing but change phases.
    const LEAST_NS: u64 = 1_000;
    if !(LEAST_NS..=HORIZON_NS / 4).contains(&durations.mean.get()) {
        let problem = format!("has a mean of {}", durations.mean);
        return Err(ScenarioError::value(key, &problem, "a microsecond to half a year"));
    }
    match durations.distribution {
        Distribution::Lognormal if !(0.0..=4.0).contains(&durations.spread) => {
            Err(ScenarioError::value(key, "has a spread out of range", "0 to 4"))
        }
        Distribution::Fixed | Distribution::Exponential if durations.spread != 1.0 => {
            let hint = "distribution = \"lognormal\", or leave it out";
            Err(ScenarioError::value(key, "has a spread that means nothing", hint))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(storage: &str, noise: &[&str]) -> String {
        let streams = |keys: &&str| format!("[[noise]]\nkind = \"streams\"\nstreams = 4\n{keys}\n");
        refusal_with(storage, &noise.iter().map(streams).collect::<String>())
    }

    fn refusal_with(storage: &str, rest: &str) -> String {
        let text = format!(
            "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 4\n\
             rate = \"1MB/s\"\n{storage}\n[application]\nprocesses = 4\nblock = \"1MB\"\n{rest}"
        );
        Scenario::parse("test", &text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    /// The last one's values counted for both, silently.
    #[test]
    fn streams_that_may_meet_are_alike() {
        let meets = "which may meet on a target; hint: the same values for all streams";
        for other in ["own_streams = 2", "sharing = \"stream\"", "own_streams = 2\non = \"random\""]
        {
            assert!(refusal("", &["", other]).contains(meets), "{other}");
            assert!(refusal("", &[other, ""]).contains(meets), "{other}");
            assert_eq!(refusal("", &[other, other]), "");
        }
        let fifo = "service = \"fifo\"";
        assert!(refusal(fifo, &["block = \"1MB\"", "block = \"2MB\""]).contains(meets));
    }

    /// A run would do nothing else.
    #[test]
    fn phases_are_not_too_many() {
        let on_off = |mean: &str| {
            format!(
                "targets = 1\n[[noise]]\nkind = \"on-off\"\nslowdown = 2\nslow = {{ mean = {mean:?} }}\nnormal = {{ mean = {mean:?} }}"
            )
        };
        assert_eq!(refusal("", &[&on_off("10us")]), "");
        let long = refusal(
            "network_limit = \"1MB/s\"\nrates = [\"1kB/s\", \"1kB/s\", \"1kB/s\", \"1kB/s\"]",
            &[&on_off("10us")],
        );
        assert!(long.contains("noise would change 400000000 times"), "{long}");
        // Three computes of 1000 s, then 12 MB at twice 4 MB/s; four targets.
        let bursts = format!(
            "compute = \"1000s\"\nbursts = 3\n{}",
            on_off("10us").replacen("targets = 1\n", "", 1)
        );
        let curve = refusal_with("curve = [1.0, 2.0]", &bursts);
        assert!(curve.contains("noise would change 1200600000 times"), "{curve}");
        // As many as may be: 498 s of computing and 2 s of writing, four targets.
        let bursts = format!(
            "compute = \"249s\"\nbursts = 2\n{}",
            on_off("10us").replacen("targets = 1\n", "", 1)
        );
        assert_eq!(refusal_with("", &bursts), "", "200 million changes");
        let bursts = format!(
            "compute = \"249001ms\"\nbursts = 2\n{}",
            on_off("10us").replacen("targets = 1\n", "", 1)
        );
        assert!(refusal_with("", &bursts).contains("noise would change 200000800 times"));
    }

    #[test]
    fn durations_last_a_microsecond_to_half_a_year_and_only_some_are_spread() {
        let with = |mean: &str, rest: &str| {
            let lasts = format!("{{ mean = {mean:?}{rest} }}");
            refusal_with(
                "",
                &format!(
                    "[[noise]]\nkind = \"on-off\"\nslowdown = 2\nslow = {lasts}\nnormal = {lasts}"
                ),
            )
        };
        assert_eq!((with("1us", ""), with("18014398509481984ns", "")), Default::default());
        let mean = "noise.slow has a mean of";
        assert!(with("999ns", "").starts_with(mean));
        assert!(with("18014398509481985ns", "").starts_with(mean));
        let nothing = "noise.slow has a spread that means nothing";
        for distribution in ["fixed", "exponential"] {
            let spread = |it| format!(", distribution = {distribution:?}, spread = {it}");
            assert!(with("1s", &spread("0.5")).starts_with(nothing), "{distribution}");
            assert_eq!(with("1s", &spread("1.0")), "", "as if it was not there");
        }
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        let fifo = "service = \"fifo\"";
        for (storage, noise, problem) in [
            (fifo, "own_streams = 2", "noise.own_streams means nothing with service = \"fifo\""),
            (fifo, "sharing = \"stream\"", "noise.sharing means nothing with service = \"fifo\""),
            ("", "block = \"1MB\"", "noise.block means nothing with service = \"processor"),
            (
                "",
                "sharing = \"stream\"\nown_streams = 2",
                "noise.own_streams means nothing with sharing",
            ),
            (
                "service = \"fifo\"\ncurve = [0.5, 1.0]",
                "",
                "storage.curve means nothing with service",
            ),
        ] {
            let refusal = refusal(storage, &[noise]);
            assert!(refusal.starts_with(problem), "{storage} {noise}: {refusal}");
        }
        assert_eq!(refusal(fifo, &["block = \"1MB\""]), "");
    }
}
