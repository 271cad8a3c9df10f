//! What others do to the targets, as it unfolds in time.

use std::rc::Rc;

use plimsoll_stats::Random;

use crate::scenario::{Durations, Noise, Phase, Sharing};

/// What others do to one target at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interference {
    /// Streams of others.
    pub streams: u32,
    /// True: each stream of ours counts as much as each of theirs. False: our job counts as
    /// `own_streams` however many streams it has, which is Huang's model.
    pub by_stream: bool,
    /// Streams that our job counts as.
    pub own_streams: f64,
    /// Bytes that a stream of others has in a queue.
    pub block_bytes: f64,
    /// The target is slower for everybody, by this factor.
    pub slowdown: f64,
}

impl Interference {
    /// Nobody else.
    pub fn none() -> Self {
        Interference {
            streams: 0,
            by_stream: false,
            own_streams: 1.0,
            block_bytes: 0.0,
            slowdown: 1.0,
        }
    }

    /// What is left of the target for `streams` streams of ours.
    pub fn own_fraction(&self, streams: u32) -> f64 {
        let own = if self.by_stream { f64::from(streams) } else { self.own_streams };
        own / (own + f64::from(self.streams))
    }

    /// The most that can be left, for any number of streams of ours.
    pub fn best_fraction(&self) -> f64 {
        if self.by_stream { 1.0 } else { self.own_fraction(1) }
    }
}

/// The interference of one target over time. The same seed and target unfold the same way
/// wherever they are looked at: in the run and in the bound on it.
#[derive(Debug, Clone)]
pub struct Timeline {
    sources: Vec<Source>,
    constant: Interference,
}

#[derive(Debug, Clone)]
struct Source {
    kind: Rc<OnOff>,
    random: Random,
    is_slow: bool,
    changes_ns: u64,
}

#[derive(Debug)]
struct OnOff {
    slowdown: f64,
    slow: Durations,
    normal: Durations,
}

impl Timeline {
    /// What happens to the targets of a scenario in the run with this seed.
    pub fn of_all(noise: &[Noise], targets: usize, seed: u64) -> Vec<Timeline> {
        let quiet = Timeline { sources: Vec::new(), constant: Interference::none() };
        let mut timelines = vec![quiet; targets];
        for (index, noise) in noise.iter().enumerate() {
            let mut random = Random::for_stream(seed, NOISE_STREAMS + index as u64);
            let chosen = noise.chosen(targets, &mut random);
            add(noise, &chosen, &mut timelines, &mut random);
        }
        timelines
    }

    /// What others do now.
    pub fn now(&self) -> Interference {
        let slow = self.sources.iter().filter(|source| source.is_slow);
        let slowdown = slow.map(|source| source.kind.slowdown).fold(1.0, |a, b| a * b);
        Interference { slowdown, ..self.constant }
    }

    /// When that changes; `None` is never.
    pub fn next_change_ns(&self) -> Option<u64> {
        self.sources.iter().map(|source| source.changes_ns).min()
    }

    /// Goes past the changes up to and at `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        for source in &mut self.sources {
            while source.changes_ns <= now_ns {
                source.is_slow = !source.is_slow;
                let durations =
                    if source.is_slow { &source.kind.slow } else { &source.kind.normal };
                let lasts_ns = durations.draw_ns(&mut source.random).max(1);
                source.changes_ns = source.changes_ns.saturating_add(lasts_ns);
            }
        }
    }
}

/// Random streams of a seed: noise has its own, so that other draws do not move it.
const NOISE_STREAMS: u64 = 1 << 32;
const TARGET_STREAMS: u64 = 1 << 40;

fn add(noise: &Noise, chosen: &[usize], timelines: &mut [Timeline], random: &mut Random) {
    match noise {
        Noise::Streams { streams, sharing, own_streams, block, .. } => {
            // As many on each as divides evenly; the first ones take the rest.
            let (each, rest) = (streams / chosen.len() as u32, streams % chosen.len() as u32);
            for (place, target) in chosen.iter().enumerate() {
                let constant = &mut timelines[*target].constant;
                constant.streams += each + u32::from((place as u32) < rest);
                // The same for all streams: a check has seen to it.
                constant.by_stream = *sharing == Sharing::Stream;
                constant.own_streams = f64::from(*own_streams);
                constant.block_bytes = block.get() as f64;
            }
        }
        Noise::OnOff { slowdown, slow, normal, start, .. } => {
            let kind =
                Rc::new(OnOff { slowdown: *slowdown, slow: slow.clone(), normal: normal.clone() });
            let seed = random.bits();
            for target in chosen {
                let own = Random::for_stream(seed, TARGET_STREAMS + *target as u64);
                timelines[*target].sources.push(Source::new(kind.clone(), *start, own));
            }
        }
    }
}

impl Source {
    fn new(kind: Rc<OnOff>, start: Phase, mut random: Random) -> Self {
        let (slow, normal) = (kind.slow.mean_ns(), kind.normal.mean_ns());
        let is_slow = match start {
            Phase::Slow => true,
            Phase::Normal => false,
            Phase::Any => random.unit() * (slow + normal) < slow,
        };
        let durations = if is_slow { &kind.slow } else { &kind.normal };
        let changes_ns = match start {
            // A moment chosen at random falls into long phases more often, at any place of
            // them: the rest of such a phase is what is left.
            Phase::Any => durations.draw_rest_ns(&mut random),
            _ => durations.draw_ns(&mut random),
        };
        Source { kind, random, is_slow, changes_ns: changes_ns.max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Distribution, Where};
    use plimsoll_domain::{Bytes, Nanos};

    fn on_off(start: Phase, distribution: Distribution) -> Noise {
        let lasts = |seconds: u64| Durations {
            mean: Nanos::new(seconds * 1_000_000_000),
            distribution,
            spread: 1.0,
        };
        Noise::OnOff {
            slowdown: 10.0,
            slow: lasts(50),
            normal: lasts(150),
            targets: None,
            on: Where::First,
            start,
        }
    }

    #[test]
    fn streams_are_spread_evenly() {
        let noise = Noise::Streams {
            streams: 5,
            targets: Some(4),
            on: Where::First,
            sharing: Sharing::Job,
            own_streams: 1,
            block: Bytes::new(1),
        };
        let timelines = Timeline::of_all(&[noise], 6, 1);
        let streams: Vec<u32> = timelines.iter().map(|line| line.now().streams).collect();
        assert_eq!(streams, [2, 1, 1, 1, 0, 0]);
        assert_eq!(timelines[0].next_change_ns(), None);
    }

    #[test]
    fn a_quarter_of_the_time_is_slow_from_the_first_moment_on() {
        for distribution in
            [Distribution::Exponential, Distribution::Lognormal, Distribution::Fixed]
        {
            let lines = Timeline::of_all(&[on_off(Phase::Any, distribution)], 4000, 9);
            let slow = lines.iter().filter(|line| line.now().slowdown > 1.0).count();
            // Four standard deviations of a binomial around 1000.
            assert!((slow as i64 - 1000).abs() < 110, "{distribution:?} {slow}");
            let mut later = lines.clone();
            later.iter_mut().for_each(|line| line.advance(77_000_000_000));
            let slow = later.iter().filter(|line| line.now().slowdown > 1.0).count();
            assert!((slow as i64 - 1000).abs() < 110, "{distribution:?} later {slow}");
        }
    }

    #[test]
    fn slowness_of_two_kinds_multiplies() {
        let mut three = on_off(Phase::Slow, Distribution::Fixed);
        if let Noise::OnOff { slowdown, slow, .. } = &mut three {
            (*slowdown, slow.mean) = (3.0, Nanos::new(20_000_000_000));
        }
        let mut line = Timeline::of_all(&[on_off(Phase::Slow, Distribution::Fixed), three], 1, 1);
        let mut at = |seconds: u64| {
            line[0].advance(seconds * 1_000_000_000);
            (line[0].now().slowdown, line[0].next_change_ns().unwrap() / 1_000_000_000)
        };
        // Ten times for 50 s and 150 s not, three times for 20 s and 150 s not.
        assert_eq!([at(0), at(20), at(50)], [(30.0, 20), (10.0, 50), (1.0, 170)]);
        assert_eq!([at(170), at(199), at(200)], [(3.0, 190), (1.0, 200), (10.0, 250)]);
    }

    #[test]
    fn equal_seeds_unfold_equally() {
        let unfold = |seed| {
            let mut lines =
                Timeline::of_all(&[on_off(Phase::Slow, Distribution::Exponential)], 3, seed);
            lines.iter_mut().for_each(|line| line.advance(10_000_000_000_000));
            lines.iter().map(Timeline::next_change_ns).collect::<Vec<_>>()
        };
        assert_eq!(unfold(1), unfold(1));
        assert_ne!(unfold(1), unfold(2));
    }
}
