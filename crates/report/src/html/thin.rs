//! Fewer points that look the same: chosen without chance, extremes kept.

use plimsoll_stats::random::finish;

use super::frame::SIZES;

/// A point.
pub(crate) type Point = (f64, f64);

/// Returns how many points a drawing of this width may have, if an ordinary one may have `most`: a narrow one cannot
/// show as many.
pub(crate) fn points_max(most: usize, width: f64) -> usize {
    (most as f64 * (width / SIZES[0].0).min(1.0)) as usize
}

/// At most about `most` points of a line: of each stretch the first, the least, the
/// greatest and the last, in order, so that no peak and no gap is lost.
pub(crate) fn thin_line(points: &[Point], most: usize) -> Vec<Point> {
    let most = most.max(4);
    if points.len() <= most {
        return points.to_vec();
    }
    points.chunks((points.len() * 4).div_ceil(most)).flat_map(corners).collect()
}

fn corners(stretch: &[Point]) -> Vec<Point> {
    let height = |index: &usize| stretch[*index].1;
    let compare = |a: &usize, b: &usize| height(a).total_cmp(&height(b));
    let least = (0..stretch.len()).min_by(compare).unwrap_or(0);
    let greatest = (0..stretch.len()).max_by(compare).unwrap_or(0);
    let mut kept = vec![0, least, greatest, stretch.len().saturating_sub(1)];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().filter_map(|index| stretch.get(index)).copied().collect()
}

/// At most about `most` points of a cloud: one of each run of neighbours, and those at the
/// edges of the cloud.
pub(crate) fn thin_cloud(points: &[Point], most: usize) -> Vec<Point> {
    if points.len() <= most {
        return points.to_vec();
    }
    let run = points.len().div_ceil(most.saturating_sub(4).max(1));
    let starts = (0..points.len()).step_by(run);
    let mut kept: Vec<usize> = starts
        // Every n-th point would follow the rhythm of what is drawn, such as a header before each block, and
        // show only one of them.
        .map(|start| start + (finish(start as u64) % run as u64) as usize)
        .filter(|index| *index < points.len())
        .chain(edges(points))
        .collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|index| points[index]).collect()
}

fn edges(points: &[Point]) -> Vec<usize> {
    let by = |key: fn(&Point) -> f64| {
        let compare = |a: &usize, b: &usize| key(&points[*a]).total_cmp(&key(&points[*b]));
        let indices = || 0..points.len();
        [indices().min_by(compare), indices().max_by(compare)]
    };
    [by(|point| point.0), by(|point| point.1)].into_iter().flatten().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(points: &[Point]) -> (f64, f64) {
        points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, y)| {
            (low.min(*y), high.max(*y))
        })
    }

    #[test]
    fn one_spike_in_a_million_survives() {
        let mut points: Vec<Point> = (0..1_000_000).map(|x| (f64::from(x), 1.0)).collect();
        points[654_321].1 = 9.0;
        for thinned in [thin_line(&points, 4000), thin_cloud(&points, 4000)] {
            assert!(thinned.len() <= 4004, "{}", thinned.len());
            assert_eq!(ends(&thinned), (1.0, 9.0));
        }
        assert_eq!(thin_cloud(&points, 4000), thin_cloud(&points, 4000));
    }

    /// One of each run, and not always at the same place in it.
    #[test]
    fn each_part_of_a_cloud_is_kept_without_a_rhythm() {
        let points: Vec<Point> = (0..10_000).map(|x| (f64::from(x), 1.0)).collect();
        let kept = thin_cloud(&points, 1004);
        let place = |it: &Point| it.0 as usize;
        let inner: Vec<usize> =
            kept.iter().map(place).filter(|it| (10..9990).contains(it)).collect();
        let runs: Vec<usize> = inner.iter().map(|it| it / 10).collect();
        assert_eq!(runs, (1..999).collect::<Vec<usize>>());
        for within in 0..10 {
            let count = inner.iter().filter(|it| *it % 10 == within).count();
            assert!((60..140).contains(&count), "{count} at {within}");
        }
    }

    #[test]
    fn few_points_of_a_line_are_all_kept() {
        let points: Vec<Point> = (0..40).map(|x| (f64::from(x), f64::from(x * 7 % 5))).collect();
        assert_eq!(thin_line(&points, 40), points);
        assert_eq!(thin_line(&points[..4], 1), points[..4]);
        assert!(thin_line(&points, 39).len() < 40 && thin_line(&points, 1).len() <= 4);
    }

    proptest! {
        #[test]
        fn least_and_greatest_are_kept(
            points in proptest::collection::vec((-1e9..1e9f64, -1e9..1e9f64), 1..300),
            most in 0usize..200,
        ) {
            prop_assert_eq!(ends(&thin_line(&points, most)), ends(&points));
            prop_assert_eq!(ends(&thin_cloud(&points, most)), ends(&points));
        }
    }
}
