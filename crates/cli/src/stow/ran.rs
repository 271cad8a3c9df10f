//! What `stow run` says after the run.

use std::path::Path;

use plimsoll_pilot::RunTotals;
use plimsoll_report::words;

/// A run that wrote less says nothing about how fast targets are.
const MUCH_BYTES: u64 = 16 << 20;

/// A target that got less than this part of an equal share got little. Why is not known: it may be slow or full, or the run was over before it was its turn.
const LITTLE: f64 = 0.5;

/// So many targets are told one by one.
const NAMED_MAX: usize = 8;

/// What is known of a run beside what was counted.
pub struct Ran<'a> {
    pub mount: &'a Path,
    /// Names of the targets.
    pub targets: &'a [&'a str],
    /// Segments went where the storage was fast.
    pub is_routed: bool,
    /// What the targets take together, in bytes per second, if that is known.
    pub rate: Option<f64>,
}

impl Ran<'_> {
    /// Returns what the run did, in one line.
    pub fn line(&self, totals: &RunTotals) -> String {
        let all: u64 = totals.targets.iter().sum();
        let mut parts = Vec::new();
        if all > 0 {
            let used = totals.targets.iter().filter(|it| **it > 0).count();
            parts.push(format!(
                "wrote {} to {}{}",
                words::bytes(all),
                words::count(used as u64, "target"),
                self.speed(all, totals.time.as_secs_f64())
            ));
            parts.extend(self.balance(&totals.targets, all));
            parts.extend(self.with_little(&totals.targets, all));
        }
        if totals.elsewhere > 0 {
            let bytes = words::bytes(totals.elsewhere);
            parts.push(format!("wrote {bytes} to targets that are none of this run's"));
        }
        if totals.small > 0 {
            let (bytes, mount) = (words::bytes(totals.small), self.mount.display());
            parts.push(format!("wrote {bytes} to small files, which are in {mount} itself"));
        }
        if parts.is_empty() {
            let mount = self.mount.display();
            parts.push(format!("wrote nothing to containers below {mount} on this node"));
        }
        format!("plimsoll: {}", parts.join("; "))
    }

    /// " in 2 s, 38 MiB/s, 0.95 of what they take together".
    fn speed(&self, all: u64, seconds: f64) -> String {
        if seconds <= 0.0 {
            // Less than a tick of the clock.
            return String::new();
        }
        let rate = all as f64 / seconds;
        let told = format!(" in {}, {}/s", words::time(seconds), words::bytes(rate as u64));
        match self.rate {
            None => told,
            Some(sum) if rate > sum => {
                format!("{told}, more than they take: some of it may not be on them yet")
            }
            Some(sum) => format!("{told}, {} of what they take together", words::short(rate / sum)),
        }
    }

    /// "t0 49 %, t1 51 %, the largest 1.02 times the mean".
    fn balance(&self, targets: &[u64], all: u64) -> Option<String> {
        if targets.len() < 2 {
            return None;
        }
        let most = targets.iter().max().copied().unwrap_or(0);
        let times = most as f64 * targets.len() as f64 / all as f64;
        let times = format!("the largest share {} times the mean", words::short(times));
        let share = |(name, bytes): (&&str, &u64)| {
            format!("{name} {}", words::percent(*bytes as f64 / all as f64))
        };
        if targets.len() > NAMED_MAX {
            return Some(times);
        }
        let shares: Vec<String> = self.targets.iter().zip(targets).map(share).collect();
        Some(format!("{}, {times}", shares.join(", ")))
    }

    fn with_little(&self, targets: &[u64], all: u64) -> Option<String> {
        let fair = all as f64 / targets.len() as f64;
        let names = self.targets.iter().zip(targets);
        let little = names.filter(|(_, bytes)| (**bytes as f64) < LITTLE * fair);
        let little: Vec<String> = little.map(|(name, _)| name.to_string()).collect();
        let is_told = self.is_routed && all >= MUCH_BYTES && !little.is_empty();
        let names = words::some_of(&little, NAMED_MAX);
        let each = if little.len() > 1 { "each of " } else { "" };
        is_told.then(|| format!("less than half of an equal share went to {each}{names}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn line(targets: &[u64], elsewhere: u64, ms: u64, rate: Option<f64>) -> String {
        line_with_small(targets, elsewhere, 0, ms, rate)
    }

    fn line_with_small(
        targets: &[u64],
        elsewhere: u64,
        small: u64,
        ms: u64,
        rate: Option<f64>,
    ) -> String {
        let names: Vec<String> = (0..targets.len()).map(|it| format!("t{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ran = Ran { mount: Path::new("/m"), targets: &names, is_routed: true, rate };
        let time = Duration::from_millis(ms);
        ran.line(&RunTotals { targets: targets.to_vec(), elsewhere, small, time })
    }

    #[test]
    fn nothing_is_said_that_is_not_known() {
        let nothing = "plimsoll: wrote nothing to containers below /m on this node";
        assert_eq!(line(&[0, 0], 0, 900, Some(1.0)), nothing);
        assert_eq!(line(&[5], 0, 0, None), "plimsoll: wrote 5 B to 1 target");
        assert_eq!(
            line(&[0, 0], MIB, 10, None),
            "plimsoll: wrote 1 MiB to targets that are none of this run's"
        );
        assert_eq!(
            line_with_small(&[0, 0], 0, 7, 10, None),
            "plimsoll: wrote 7 B to small files, which are in /m itself"
        );
    }

    #[test]
    fn shares_speed_and_what_got_little() {
        assert_eq!(
            line(&[60 * MIB, 58 * MIB, 2 * MIB], 0, 2000, Some(80.0 * MIB as f64)),
            "plimsoll: wrote 120 MiB to 3 targets in 2 s, 60 MiB/s, 0.75 of what they take together; \
             t0 50 %, t1 48.3 %, t2 1.67 %, the largest share 1.5 times the mean; less than half of an equal share went to t2"
        );
        let first = line(&[48 * MIB, MIB, 2 * MIB], 0, 2000, None);
        assert!(
            first.ends_with("; less than half of an equal share went to each of t1, t2"),
            "{first}"
        );
        let fast = line(&[MIB, 0], 7, 1000, Some(1.0));
        let told = "wrote 1 MiB to 1 target in 1 s, 1 MiB/s, more than they take: some of it may not be on them yet; \
             t0 100 %, t1 0 %, the largest share 2 times the mean; wrote 7 B to targets";
        assert!(fast.contains(told), "{fast}");
        let many = line(&[MIB; 9], 0, 1000, None);
        assert!(
            many.ends_with("9 targets in 1 s, 9 MiB/s; the largest share 1 times the mean"),
            "{many}"
        );
    }
}
