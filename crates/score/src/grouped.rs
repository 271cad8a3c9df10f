//! Runs of any table, summarised by group.

use std::collections::BTreeMap;

use crate::calendar::{hour, weekday};
use crate::distribution::Distribution;

/// Values by group. Memory is 8 bytes a value, 24 with times.
#[derive(Debug, Clone, Default)]
pub struct Grouped {
    groups: BTreeMap<Vec<String>, Vec<f64>>,
    times: Vec<(u64, f64)>,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The values of the columns that define it.
    pub key: Vec<String>,
    /// Its values.
    pub distribution: Distribution,
}

/// Values over the median of their group, by when they were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Periods {
    /// By hour, 24 of them.
    pub hours: Vec<Option<Distribution>>,
    /// By weekday, Monday first.
    pub weekdays: Vec<Option<Distribution>>,
}

impl Grouped {
    /// Takes a value; those that are not finite numbers are for the caller to refuse. `nanos` is when
    /// it was measured, since 1970.
    pub fn add(&mut self, key: &[String], value: f64, nanos: Option<u64>) {
        match self.groups.get_mut(key) {
            Some(values) => values.push(value),
            None => {
                self.groups.insert(key.to_vec(), vec![value]);
            }
        }
        self.times.extend(nanos.map(|nanos| (nanos, value)));
    }

    /// All groups in order of their keys.
    pub fn groups(&self) -> Vec<Group> {
        let group = |(key, values): (&Vec<String>, &Vec<f64>)| {
            let distribution = Distribution::new(values.clone())?;
            Some(Group { key: key.clone(), distribution })
        };
        self.groups.iter().filter_map(group).collect()
    }

    /// Values by hour and weekday, so many seconds east of UTC; `None` without times.
    pub fn periods(&self, utc_offset: i32) -> Option<Periods> {
        if self.times.is_empty() {
            return None;
        }
        let mut hours = vec![Vec::new(); 24];
        let mut weekdays = vec![Vec::new(); 7];
        for (nanos, value) in &self.times {
            hours[hour(*nanos, utc_offset)].push(*value);
            weekdays[weekday(*nanos, utc_offset)].push(*value);
        }
        Some(Periods {
            hours: hours.into_iter().map(Distribution::new).collect(),
            weekdays: weekdays.into_iter().map(Distribution::new).collect(),
        })
    }
}
