//! The degree of parallelism: targets that do about as much as each other in one minute (Patel, section 6).

/// Degrees that table 1 counts.
pub const DEGREES: [usize; 5] = [10, 25, 50, 75, 100];

/// What [`Degrees::outstanding`] takes for no chance: clusters of at least so many targets, at least so many of them, so many times as many as those of one target fewer.
const OUTSTANDING_SIZE: usize = 4;
const OUTSTANDING_CLUSTERS: u64 = 100;
const OUTSTANDING_EXCESS: f64 = 1.5;

/// Calls with the size of each cluster of these activities, which are sorted and not zero. A cluster ends before the first target that does more than its
/// least active one by so many percent, or more.
pub fn clusters(sorted: &[u64], percent: u64, mut each: impl FnMut(usize)) {
    let mut start = 0;
    while start < sorted.len() {
        let bound = u128::from(sorted[start]) * u128::from(100 + percent);
        let is_inside = |it: &u64| u128::from(*it) * 100 < bound;
        // Clusters are small: most end after a few targets.
        let size = sorted[start..].iter().position(|it| !is_inside(it));
        let size = size.unwrap_or(sorted.len() - start).max(1);
        each(size);
        start += size;
    }
}

/// Clusters of one minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MinuteDegrees {
    /// Targets that did anything.
    pub active: u32,
    /// Clusters that they form.
    pub clusters: u32,
    /// Those of at least as many targets as [`DEGREES`] says.
    pub at_least: [u16; 5],
}

plimsoll_stored::stored! {
    MinuteDegrees { active, clusters, at_least }
    Degrees { counts }
}

impl MinuteDegrees {
    /// Adds a cluster.
    pub fn add(&mut self, size: usize) {
        self.active += size as u32;
        self.clusters += 1;
        for (count, degree) in self.at_least.iter_mut().zip(DEGREES) {
            *count = count.saturating_add(u16::from(size >= degree));
        }
    }
}

/// Clusters by their size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Degrees {
    /// How many clusters there are of each size.
    pub counts: Vec<u64>,
}

impl Degrees {
    /// Adds a cluster.
    pub fn add(&mut self, size: usize) {
        if self.counts.len() <= size {
            self.counts.resize(size + 1, 0);
        }
        self.counts[size] += 1;
    }

    /// Adds what another one has.
    pub fn plus(&mut self, other: &Degrees) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        let counts = self.counts.iter_mut().zip(&other.counts);
        counts.for_each(|(count, more)| *count = count.saturating_add(*more));
    }

    /// Returns the number of clusters.
    pub fn clusters(&self) -> u64 {
        self.counts.iter().fold(0, |sum, it| sum.saturating_add(*it))
    }

    /// Returns sizes of which there are far more clusters than of the next smaller one: by chance larger ones are ever rarer. Of sizes that follow each other only the largest: the others lack a
    /// target that does a little more or less.
    pub fn outstanding(&self) -> Vec<usize> {
        let sizes = self.counts.iter().enumerate().skip(OUTSTANDING_SIZE);
        let is_far_more = |(size, count): &(usize, &u64)| {
            let smaller = self.counts[size - 1] as f64;
            **count >= OUTSTANDING_CLUSTERS && **count as f64 >= smaller * OUTSTANDING_EXCESS
        };
        let all: Vec<usize> = sizes.filter(is_far_more).map(|it| it.0).collect();
        let largest = all.chunk_by(|one, next| one + 1 == *next).filter_map(|run| run.last());
        largest.copied().collect()
    }

    /// Returns the mean size of a cluster.
    pub fn mean(&self) -> Option<f64> {
        let of_size = |(size, count): (u128, &u64)| size * u128::from(*count);
        let targets: u128 = (0..).zip(&self.counts).map(of_size).sum();
        let clusters = self.clusters();
        (clusters > 0).then(|| targets as f64 / clusters as f64)
    }

    /// Returns the share of clusters of fewer targets.
    pub fn share_below(&self, size: usize) -> Option<f64> {
        let below = self.counts.iter().take(size).fold(0u64, |sum, it| sum.saturating_add(*it));
        let clusters = self.clusters();
        (clusters > 0).then(|| below as f64 / clusters as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_not_rarer_than_the_one_below_stands_out() {
        let of = |counts: &[u64]| Degrees { counts: counts.to_vec() }.outstanding();
        assert_eq!(of(&[0, 90_000, 9_000, 900, 90, 9]), [0; 0]);
        assert_eq!(of(&[0, 90_000, 9_000, 900, 90, 9, 3_000, 2_000, 5_000]), [6, 8]);
        assert_eq!(of(&[0, 90_000, 9_000, 900, 90, 9, 300, 3_000]), [7]);
        assert_eq!(of(&[0, 90_000, 9_000, 900, 90, 9, 99]), [0; 0], "too few");
        assert_eq!(of(&[]), [0; 0]);
    }

    fn sizes(sorted: &[u64], percent: u64) -> Vec<usize> {
        let mut all = Vec::new();
        clusters(sorted, percent, |size| all.push(size));
        all
    }

    #[test]
    fn a_cluster_ends_at_five_percent_over_its_least_active_target() {
        assert_eq!(
            sizes(&[100, 104, 105, 109, 110, 111], 5),
            [2, 3, 1],
            "105 is 5 % over 100, 110 is less over 105"
        );
        assert_eq!(sizes(&[100, 104, 105, 109, 110, 111], 10), [4, 2]);
        assert!(sizes(&[], 5).is_empty());
        assert_eq!(sizes(&[1, 1, 1], 5), [3]);
        assert_eq!(sizes(&[1, 2, u64::MAX], 5), [1, 1, 1]);
        assert_eq!(sizes(&[7; 250], 5), [250]);
    }

    #[test]
    fn table_1_counts_clusters() {
        let (mut minute, mut all) = (MinuteDegrees::default(), Degrees::default());
        for size in [1, 9, 10, 60] {
            minute.add(size);
            all.add(size);
        }
        assert_eq!((minute.active, minute.clusters, minute.at_least), (80, 4, [2, 1, 1, 0, 0]));
        assert_eq!((all.mean(), all.share_below(10)), (Some(20.0), Some(0.5)));
        assert_eq!(Degrees::default().mean(), None);
    }
}
