//! How fast the devices are in the course of a run.

use std::time::Duration;

use anyhow::Result;

use crate::devices::{Devices, LIMIT, SLOW, TARGETS};

/// Where the limit of a device that drops does so, as a part of the run.
const DROP_AT: f64 = 1.0 / 3.0;

/// What the last of the devices does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It is as fast as the others.
    Equal,
    /// It has a seventeenth of their speed.
    Slow,
    /// It drops to that during the run.
    Drop,
}

impl Course {
    /// Returns the bytes that all of them take in so many seconds: whoever writes these needs at least as long, which is the fluid bound.
    pub fn bytes_in(self, seconds: f64) -> f64 {
        let before = LIMIT * TARGETS as f64;
        let after = before - LIMIT + SLOW;
        match self {
            Course::Equal => seconds * before,
            Course::Slow => seconds * after,
            Course::Drop => seconds * (DROP_AT * before + (1.0 - DROP_AT) * after),
        }
    }

    /// Sets the limits at the beginning of a run.
    ///
    /// # Errors
    /// Fails if they cannot be set.
    pub fn begin(self, devices: &Devices) -> Result<()> {
        devices.limit(if self == Course::Slow { SLOW } else { LIMIT })
    }

    /// Changes them, if they change, in a run of so many seconds that begins now.
    pub fn take(self, devices: &Devices, seconds: f64) {
        if self == Course::Drop {
            std::thread::sleep(Duration::from_secs_f64(seconds * DROP_AT));
            if let Err(error) = devices.limit(SLOW) {
                eprintln!("{error:#}");
            }
        }
    }
}
