//! Scores by hour of day and by weekday (Xie 5.6).

use plimsoll_domain::moment::{hour, weekday};

use crate::Columns;
use crate::columns::InstanceRow;
use crate::distribution::Distribution;
use crate::relative::Fastest;

/// PEB of all pairs, by when their instance began. A missing hour has no distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    /// By hour, 24 of them.
    pub hours: Vec<Option<Distribution>>,
    /// By weekday, Monday first.
    pub weekdays: Vec<Option<Distribution>>,
    /// Of all pairs.
    pub all: Option<Distribution>,
}

/// The calendar of the instances that `included` lets through.
pub fn calendar(
    columns: &Columns,
    fastest: &Fastest,
    utc_offset: i32,
    included: impl Fn(&InstanceRow) -> bool,
) -> Calendar {
    let mut hours = vec![Vec::new(); 24];
    let mut weekdays = vec![Vec::new(); 7];
    let mut all = Vec::new();
    for instance in columns.instances().iter().filter(|it| included(it)) {
        if !columns.has_scores(instance) {
            continue;
        }
        let pebs = columns.pairs(instance).iter().filter_map(|pair| fastest.peb(instance, pair));
        for peb in pebs {
            hours[hour(instance.start, utc_offset)].push(peb);
            weekdays[weekday(instance.start, utc_offset)].push(peb);
            all.push(peb);
        }
    }
    Calendar {
        hours: hours.into_iter().map(Distribution::new).collect(),
        weekdays: weekdays.into_iter().map(Distribution::new).collect(),
        all: Distribution::new(all),
    }
}
