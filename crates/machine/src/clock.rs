//! The kernel's clock source, and whether it trusts the processor's cycle counter.

use crate::{Machine, MachineError};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// What the kernel tells the time with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockSource {
    /// The one in use, e.g. "tsc".
    pub current: String,
    /// Those it could use.
    pub available: Vec<String>,
}

/// The kernel's view of the processor's time stamp counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TscTrust {
    /// It tells the time with it.
    InUse,
    /// It would, but uses another source, as many virtual machines do.
    Available,
    /// It does not offer it: not such a processor, or the kernel found the counter
    /// unstable (an unstable source loses CLOCK_SOURCE_VALID_FOR_HRES and is no
    /// longer listed, kernel/time/clocksource.c).
    NotTrusted,
}

impl ClockSource {
    /// Returns what the kernel makes of the processor's time stamp counter.
    pub fn tsc(&self) -> TscTrust {
        if self.current == "tsc" {
            TscTrust::InUse
        } else if self.available.iter().any(|source| source == "tsc") {
            TscTrust::Available
        } else {
            TscTrust::NotTrusted
        }
    }
}

impl Machine {
    /// Returns the kernel's clock source.
    pub fn clock_source(&self) -> Result<ClockSource, MachineError> {
        let current = self.read("the clock source", CURRENT)?.trim().to_owned();
        let available = self.read("the clock sources", AVAILABLE)?;
        let available = available.split_whitespace().map(str::to_owned).collect();
        Ok(ClockSource { current, available })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(current: &str, available: &str) -> ClockSource {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path(), "");
        let directory = machine.locate(CURRENT);
        std::fs::create_dir_all(directory.parent().unwrap()).unwrap();
        std::fs::write(machine.locate(CURRENT), current).unwrap();
        std::fs::write(machine.locate(AVAILABLE), available).unwrap();
        machine.clock_source().unwrap()
    }

    #[test]
    fn tells_a_trusted_counter_from_an_untrusted_one() {
        assert_eq!(source("tsc\n", "tsc hpet acpi_pm \n").tsc(), TscTrust::InUse);
        assert_eq!(source("kvm-clock\n", "kvm-clock tsc \n").tsc(), TscTrust::Available);
        assert_eq!(source("hpet\n", "hpet acpi_pm \n").tsc(), TscTrust::NotTrusted);
    }

    #[test]
    fn a_machine_without_sysfs_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let error = Machine::at(root.path(), "").clock_source().unwrap_err();
        assert!(error.to_string().starts_with("cannot read the clock source"), "{error}");
    }
}
