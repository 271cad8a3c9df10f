//! Reading days of a store.

use std::collections::BTreeMap;

use plimsoll_history::{Component, Day, HistoryError, Selection, Store};

use crate::Frame;
use crate::day_shares::on_threads;
use crate::frame::MEASURES;
use crate::lane::Taken;
use crate::open_day::{BOTH, OpenDay};
use crate::partial::Partial;

/// Adds up days of a store that follow each other, with so many threads.
///
/// # Errors
/// If the store is damaged or cannot be read.
pub fn summarize(
    store: &Store,
    frame: &Frame,
    days: &[Day],
    threads: usize,
) -> Result<Partial, HistoryError> {
    let parts = on_threads(days, threads, |some| some_days(store, frame, some));
    let mut all = Partial::default();
    for part in parts {
        all = all.join(part?, frame);
    }
    Ok(all)
}

fn some_days(store: &Store, frame: &Frame, days: &[Day]) -> Result<Partial, HistoryError> {
    let mut all = Partial::default();
    for day in days {
        all = all.join(one_day(store, frame, *day)?, frame);
    }
    Ok(all)
}

fn one_day(store: &Store, frame: &Frame, day: Day) -> Result<Partial, HistoryError> {
    let mut open = OpenDay::new(day);
    let mut counted: BTreeMap<u32, [Taken; BOTH]> = BTreeMap::new();
    let is_wanted = |component: &Component| frame.place(component).is_some();
    let options = &frame.options;
    let selection = Selection {
        since: options.since,
        until: options.until,
        measures: &MEASURES,
        is_wanted: Some(&is_wanted),
    };
    store.read_day(day, &selection, |batch| -> Result<(), HistoryError> {
        if let Some((target, direction, taken)) = open.take(frame, &batch) {
            counted.entry(target).or_default()[direction].plus(&taken);
        }
        Ok(())
    })?;
    Ok(Partial::of_day(open, counted))
}
