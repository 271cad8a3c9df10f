//! A thread that keeps the store: however long that takes, no sample waits for it.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use plimsoll_history::Keeper;

use super::trouble::Trouble;
use super::wait_until;
use crate::interruption::Interruption;
use crate::now;

/// How often it looks whether anything is due.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long it lets a store be that could not be kept: on a full disk all would be written again and again.
const AFTER_TROUBLE: Duration = Duration::from_secs(10);

/// The thread that keeps a store.
pub struct Upkeep {
    thread: JoinHandle<Keeper>,
}

impl Upkeep {
    /// Begins to keep a store, until somebody asks this program to end.
    pub fn begin(mut keeper: Keeper, interruption: Interruption) -> Result<Self> {
        let work = move || {
            let mut trouble = Trouble::with_store();
            let is_over = || interruption.is_asked();
            while !is_over() {
                let now_millis = now::nanoseconds() / 1_000_000;
                let failed = keeper.maintain(now_millis, &is_over).err();
                let wait = if failed.is_some() { AFTER_TROUBLE } else { INTERVAL };
                trouble.tell(failed);
                wait_until(Instant::now() + wait, &is_over);
            }
            keeper
        };
        Ok(Upkeep { thread: thread::Builder::new().name("upkeep".to_owned()).spawn(work)? })
    }

    /// Returns whether it has ended, whatever the reason.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until it has ended, which is soon, and returns who kept the store.
    pub fn end(self) -> Result<Keeper> {
        self.thread.join().map_err(|_| anyhow!("the thread that keeps the store failed"))
    }
}
