//! Ending in order when somebody asks to: Ctrl-C, or the end of a batch job.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What a coordinator answers by ending in order. Not SIGHUP, although it asks to end as well: it ends the program
/// at once, unless it is ignored, as under nohup(1), and a handler would undo that.
pub const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Which signal asked this process to end, if one did.
#[derive(Clone, Default)]
pub struct Interruption {
    /// Zero until then.
    signal: Arc<AtomicUsize>,
}

impl Interruption {
    /// Watches for signals from now on. A second one ends the program at once.
    pub fn watch() -> Result<Self> {
        let watched = Self::default();
        let asked_before = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            flag::register_conditional_default(signal, asked_before.clone())
                .and_then(|_| flag::register(signal, asked_before.clone()))
                .and_then(|_| flag::register_usize(signal, watched.signal.clone(), signal as usize))
                .context("cannot watch for Ctrl-C")?;
        }
        Ok(watched)
    }

    /// Watches for these signals, however often they come: for who must tidy up before it ends, and looks often.
    pub fn watch_for(signals: &[i32]) -> Result<Self> {
        let watched = Self::default();
        for signal in signals {
            flag::register_usize(*signal, watched.signal.clone(), *signal as usize)
                .context("cannot watch for signals")?;
        }
        Ok(watched)
    }

    /// Notes that a signal asked to end.
    pub fn note(&self, signal: i32) {
        self.signal.store(signal as usize, Ordering::Relaxed);
    }

    /// Returns whether a signal asked to end.
    pub fn is_asked(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Returns what a shell tells of a process that the signal ended: 130 after Ctrl-C, 143 after SIGTERM.
    pub fn status(&self) -> u8 {
        u8::try_from(128 + self.signal.load(Ordering::Relaxed)).unwrap_or(u8::MAX)
    }

    /// Returns the same status as an exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }
}
