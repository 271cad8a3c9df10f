//! How busy the processors are, from `/proc/stat`.

use std::path::PathBuf;

use plimsoll_domain::Counter;

use crate::{Machine, MachineError};

const STAT: &str = "/proc/stat";

/// Time of all processors together since the machine started, in ticks of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Not idle: at work, or taken by another guest of the same host.
    pub busy: u64,
    /// Idle, or waiting for storage.
    pub idle: u64,
    /// The part of that in which a processor waited for storage.
    pub waiting: u64,
}

impl ProcessorTime {
    /// The share of the time since an earlier moment in which they were busy; `None` if no tick has passed.
    pub fn busy_since(&self, earlier: &ProcessorTime) -> Option<f64> {
        let since = |before, after| Counter::WIDE.change(Some(before), Some(after)).grown();
        let busy = since(earlier.busy, self.busy)?;
        // Time that waits for storage may go back (Documentation/filesystems/proc.rst).
        let idle = since(earlier.idle, self.idle).unwrap_or(0);
        (busy + idle > 0).then(|| busy as f64 / (busy + idle) as f64)
    }
}

impl Machine {
    /// What the processors did so far.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn processor_time(&self) -> Result<ProcessorTime, MachineError> {
        let text = self.read("the time of processors", STAT)?;
        parse_processor_time(&text).ok_or_else(|| MachineError::Understand {
            what: "the time of processors",
            path: PathBuf::from(STAT),
            reason: "no line \"cpu\" with at least five numbers".to_owned(),
        })
    }
}

/// Reads the text of `/proc/stat`: the line of all processors has the ticks of user, nice, system, idle, iowait, irq, softirq,
/// steal, and guests, which are counted as user as well.
pub fn parse_processor_time(text: &str) -> Option<ProcessorTime> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = line.split_whitespace().take(8).map(|it| it.parse::<u64>().ok());
    let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
    let waiting = *ticks.get(4)?;
    let idle = ticks.get(3)?.checked_add(waiting)?;
    let all = ticks.iter().try_fold(0u64, |sum, it| sum.checked_add(*it))?;
    Some(ProcessorTime { busy: all - idle, idle, waiting })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_all_processors() {
        let text = "cpu  100 5 20 800 60 1 2 12 30 0\ncpu0 50 5 10 400 30 1 2 6 15 0\nintr 1\n";
        assert_eq!(
            parse_processor_time(text),
            Some(ProcessorTime { busy: 140, idle: 860, waiting: 60 })
        );
        for broken in ["", "cpu0 1 2 3 4 5\n", "cpu  1 2 3 4\n", "cpu  1 2 x 4 5\n"] {
            assert_eq!(parse_processor_time(broken), None, "{broken:?}");
        }
        assert_eq!(parse_processor_time("cpu  1 1 1 18446744073709551615 1\n"), None);
    }

    #[test]
    fn shares_of_the_time_between_two_moments() {
        let at = |busy, idle| ProcessorTime { busy, idle, waiting: 0 };
        assert_eq!(at(190, 910).busy_since(&at(100, 900)), Some(0.9));
        assert_eq!(at(100, 900).busy_since(&at(100, 900)), None, "no tick has passed");
        assert_eq!(at(110, 899).busy_since(&at(100, 900)), Some(1.0));
        assert_eq!(at(90, 1000).busy_since(&at(100, 900)), None, "another machine");
    }

    #[test]
    fn this_machine_has_been_busy_and_idle() {
        let now = Machine::host().processor_time().unwrap();
        assert!(now.busy > 0 && now.busy + now.idle > now.busy, "{now:?}");
    }
}
