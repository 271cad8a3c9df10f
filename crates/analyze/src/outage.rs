//! Outages: times in which nothing is known of any target, or nothing at all happens.

/// An outage lasts at least so many minutes.
pub const LEAST_MINUTES: usize = 10;

/// Calls for each run of quiet minutes that is long enough.
pub fn outages(quiet: &[bool], mut each: impl FnMut(std::ops::Range<usize>)) {
    let mut start = 0;
    for run in quiet.chunk_by(|one, next| one == next) {
        if run[0] && run.len() >= LEAST_MINUTES {
            each(start..start + run.len());
        }
        start += run.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_quiet_minutes_are_an_outage() {
        let mut quiet = vec![false; 40];
        quiet[3..12].fill(true);
        quiet[20..30].fill(true);
        let mut found = Vec::new();
        outages(&quiet, |it| found.push(it));
        assert_eq!((found.len(), found[0].clone()), (1, 20..30));
    }
}
