//! Values of any origin and any number, compared in memory that does not grow with them.
//!
//! A year of samples of a few hundred servers is more than fits in memory, and more than any test needs: what is slow
//! shows in some thousand comparisons. So sets come one after the other, in order of time, and of each stretch of
//! time one set is kept, drawn at random (by a hash of its number, so that equal values give equal verdicts). When
//! there are too many, neighbouring stretches become one. What is kept is whole comparisons that were really
//! measured: a low measure is as low, and low measures are as frequent, as in all of them; nothing is averaged.
//! What is slow for much less than a stretch is left to chance: look at its time alone.

use plimsoll_stats::Random;

use super::component::{Component, Measure, against_others};

/// A value of a component, of any origin: a bandwidth, or whatever is larger when it is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Number of the component, from 0.
    pub component: u32,
    /// When it was taken, nanoseconds since 1970.
    pub start: u64,
    /// Values of one set are compared with each other.
    pub set: u32,
    /// Number of what else may differ between sets.
    pub setting: u32,
    /// More than 0.
    pub value: f64,
}

/// Takes values set by set, sets in order of time, and compares each with the others of its set.
///
/// Holds no more than [`new`](Self::new) says: 16 bytes for each value of a set that is kept, and the values of one
/// more set. [`finish`](Self::finish) makes measures of 32 bytes of those.
#[derive(Debug, Clone)]
pub struct Comparing {
    sets_max: usize,
    /// Sets of one stretch, of which one is kept.
    sets_per_stretch: u64,
    sets_seen: u64,
    kept: Vec<KeptSet>,
    /// The set that is coming in.
    current: Vec<Value>,
    /// By component, the fewest others that it was compared with in any set.
    others: Vec<Option<usize>>,
}

impl Component {
    /// Compares values, all of which are there already, with the others of their set.
    pub fn compared(values: &[Value]) -> Vec<Component> {
        let mut comparing = Comparing::new(usize::MAX);
        values.iter().for_each(|value| comparing.add(*value));
        comparing.finish()
    }
}

/// A set that stands for its stretch of time.
#[derive(Debug, Clone)]
struct KeptSet {
    stretch: u64,
    /// The set with the least of its stretch is kept.
    lot: u64,
    start: u64,
    set: u32,
    setting: u32,
    /// Components with their logarithms against the others.
    entries: Vec<(u32, f64)>,
}

impl Comparing {
    /// Keeps at most this many sets, at least two, and at least half as many where there are enough.
    pub fn new(sets_max: usize) -> Self {
        Comparing {
            sets_max: sets_max.max(2),
            sets_per_stretch: 1,
            sets_seen: 0,
            kept: Vec::new(),
            current: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Takes the next value. A value that is not more than 0 or not finite is left out; a set in which a component
    /// comes twice compares nothing.
    pub fn add(&mut self, value: Value) {
        if self.current.first().is_some_and(|it| it.set != value.set) {
            self.end_set();
        }
        self.current.push(value);
    }

    /// Returns how many values are held.
    pub fn held(&self) -> usize {
        self.current.len() + self.kept.iter().map(|it| it.entries.len()).sum::<usize>()
    }

    /// Returns the measures of each component, in order of time.
    pub fn finish(mut self) -> Vec<Component> {
        self.end_set();
        let others = std::mem::take(&mut self.others);
        let component = |others: &Option<usize>| Component {
            others: others.unwrap_or(0),
            ..Component::default()
        };
        let mut components: Vec<Component> = others.iter().map(component).collect();
        for KeptSet { start, set, setting, entries, .. } in self.kept {
            for (component, log_ratio) in entries {
                let measure = Measure { start, set, setting, log_ratio };
                components[component as usize].measures.push(measure);
            }
        }
        components.iter_mut().for_each(Component::finish);
        components
    }

    /// Compares the set that has come in, if it stands for its stretch.
    fn end_set(&mut self) {
        let Some(first) = self.current.first().copied() else { return };
        let most = self.current.iter().map(|it| it.component as usize + 1).max().unwrap_or(0);
        self.others.resize(self.others.len().max(most), None);
        self.current.retain(|it| it.value.is_finite() && it.value > 0.0);
        self.current.sort_unstable_by_key(|it| it.component);
        let is_twice = self.current.windows(2).any(|pair| pair[0].component == pair[1].component);
        if !is_twice && self.current.len() > 1 {
            self.keep(first);
        }
        self.current.clear();
    }

    fn keep(&mut self, first: Value) {
        let others = self.current.len() - 1;
        for it in &self.current {
            let known = &mut self.others[it.component as usize];
            *known = Some(known.map_or(others, |known| known.min(others)));
        }
        let stretch = self.sets_seen / self.sets_per_stretch;
        let lot = Random::new(self.sets_seen).bits();
        self.sets_seen += 1;
        let last = self.kept.last().filter(|it| it.stretch == stretch);
        if last.is_some_and(|it| it.lot <= lot) {
            return;
        }
        if last.is_some() {
            self.kept.pop();
        }
        let logs: Vec<f64> = self.current.iter().map(|it| it.value.ln()).collect();
        let components = self.current.iter().map(|it| it.component);
        let entries = components.zip(against_others(&logs)).collect();
        let Value { start, set, setting, .. } = first;
        self.kept.push(KeptSet { stretch, lot, start, set, setting, entries });
        if self.kept.len() > self.sets_max {
            self.join_stretches();
        }
    }

    /// Makes one stretch of each two.
    fn join_stretches(&mut self) {
        self.sets_per_stretch *= 2;
        let mut joined: Vec<KeptSet> = Vec::with_capacity(self.kept.len());
        for mut set in self.kept.drain(..) {
            set.stretch /= 2;
            match joined.last_mut().filter(|it| it.stretch == set.stretch) {
                Some(before) if before.lot <= set.lot => {}
                Some(before) => *before = set,
                None => joined.push(set),
            }
        }
        self.kept = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(set: u32, component: u32, value: f64) -> Value {
        Value { component, start: u64::from(set), set, setting: 7, value }
    }

    fn compared(sets_max: usize, sets: u32) -> Vec<Component> {
        let mut comparing = Comparing::new(sets_max);
        for set in 0..sets {
            (0..3).for_each(|it| comparing.add(value(set, it, f64::from(1 + (set + it) % 5))));
            assert!(comparing.held() <= sets_max.max(2).saturating_add(1).saturating_mul(3));
        }
        comparing.finish()
    }

    #[test]
    fn values_of_any_origin_are_compared() {
        let value =
            |set, component, it| Value { start: u64::from(100 - set), ..value(set, component, it) };
        let found = Component::compared(&[
            value(1, 0, 50.0),
            value(1, 2, 100.0),
            value(2, 0, 100.0),
            value(3, 0, 10.0),
            value(3, 0, 10.0),
            value(3, 2, 10.0),
            value(4, 0, 0.0),
            value(4, 2, 10.0),
            value(5, 0, 30.0),
            value(5, 2, 30.0),
        ]);
        assert_eq!((found.len(), found[1].measures.len()), (3, 0));
        // In order of time; one alone, one that comes twice and one without a logarithm are left out.
        let sets: Vec<u32> = found[0].measures.iter().map(|it| it.set).collect();
        assert_eq!((sets, found[0].others), (vec![5, 1], 1));
        assert!((found[0].measures[1].log_ratio - 0.5f64.ln()).abs() < 1e-12);
        assert!(Component::compared(&[]).is_empty());
    }

    #[test]
    fn what_is_held_is_what_is_kept_and_what_is_coming_in() {
        let mut comparing = Comparing::new(2);
        assert_eq!(comparing.held(), 0);
        let held = (0..5).flat_map(|set| [(set, 0), (set, 1), (set, 2)]).map(|(set, component)| {
            comparing.add(value(set, component, 1.0));
            comparing.held()
        });
        let held: Vec<usize> = held.collect();
        assert_eq!(held[..6], [1, 2, 3, 4, 5, 6]);
        assert!(held[6..].iter().all(|it| (4..=9).contains(it)), "{held:?}");
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let all = compared(usize::MAX, 100);
        assert_eq!(all[0].measures.len(), 100);
        assert_eq!(compared(100, 100), all);
    }

    #[test]
    fn of_what_does_not_fit_each_stretch_of_time_keeps_one_true_comparison() {
        let (all, some) = (compared(usize::MAX, 1000), compared(100, 1000));
        // 1000 sets in stretches of 16.
        assert_eq!(some[0].measures.len(), 63);
        for (stretch, measure) in (0..).zip(&some[0].measures) {
            assert_eq!(measure.set / 16, stretch);
            assert_eq!(*measure, all[0].measures[measure.set as usize]);
        }
        let sets = |it: &Component| it.measures.iter().map(|it| it.set).collect::<Vec<u32>>();
        assert_eq!(sets(&some[0]), sets(&some[2]), "whole sets");
        // Which one is settled by lot, whatever was kept before stretches were joined.
        let lot = |set: &u32| Random::new(u64::from(*set)).bits();
        for (stretch, measure) in (0..).zip(&some[0].measures) {
            let all = stretch * 16..(stretch * 16 + 16).min(1000);
            assert_eq!(Some(measure.set), all.min_by_key(lot));
        }
        let odd = some[0].measures.iter().filter(|it| it.set % 2 == 1).count();
        assert!((16..48).contains(&odd), "{odd}: no place in a stretch is preferred");
        assert_eq!(compared(0, 9)[0].measures.len(), 2);
    }

    #[test]
    fn the_fewest_others_are_those_of_all_sets() {
        let mut comparing = Comparing::new(2);
        for set in 0..64 {
            let count = if set == 5 { 2 } else { 4 };
            (0..count).for_each(|it| comparing.add(value(set, it, 1.0)));
        }
        let found = comparing.finish();
        assert_eq!(found.iter().map(|it| it.others).collect::<Vec<_>>(), [1, 1, 3, 3]);
    }
}
