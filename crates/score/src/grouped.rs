//! Runs of any table, summarised by group.

use std::collections::BTreeMap;

use crate::distribution::{Distribution, median_of};
use plimsoll_domain::moment::{hour, weekday};

/// Values by group. Memory is 8 bytes a value, 24 with times.
#[derive(Debug, Clone, Default)]
pub struct Grouped {
    groups: BTreeMap<Vec<String>, (u32, Vec<f64>)>,
    /// When, whose, and which value.
    times: Vec<(u64, u32, f64)>,
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
        let number = match self.groups.get_mut(key) {
            Some((number, values)) => {
                values.push(value);
                *number
            }
            None => {
                let number = self.groups.len() as u32;
                self.groups.insert(key.to_vec(), (number, vec![value]));
                number
            }
        };
        self.times.extend(nanos.map(|nanos| (nanos, number, value)));
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether a group has that key.
    pub fn has(&self, key: &[String]) -> bool {
        self.groups.contains_key(key)
    }

    /// All groups in order of their keys.
    pub fn groups(&self) -> Vec<Group> {
        let group = |(key, (_, values)): (&Vec<String>, &(u32, Vec<f64>))| {
            let distribution = Distribution::new(values.clone())?;
            Some(Group { key: key.clone(), distribution })
        };
        self.groups.iter().filter_map(group).collect()
    }

    /// Values by hour and weekday, this many seconds east of UTC; `None` without times.
    pub fn periods(&self, utc_offset: i32) -> Option<Periods> {
        if self.times.is_empty() {
            return None;
        }
        // Programs differ by orders of magnitude: each value counts relative to its group.
        let mut usual = vec![0.0; self.groups.len()];
        for (number, values) in self.groups.values() {
            usual[*number as usize] = median_of(&mut values.clone()).unwrap_or(0.0);
        }
        let mut hours = vec![Vec::new(); 24];
        let mut weekdays = vec![Vec::new(); 7];
        for (nanos, number, value) in &self.times {
            let usual = usual[*number as usize];
            if usual > 0.0 {
                hours[hour(*nanos, utc_offset)].push(value / usual);
                weekdays[weekday(*nanos, utc_offset)].push(value / usual);
            }
        }
        Some(Periods {
            hours: hours.into_iter().map(Distribution::new).collect(),
            weekdays: weekdays.into_iter().map(Distribution::new).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_relative_to_their_group() {
        let mut grouped = Grouped::default();
        assert!(grouped.is_empty() && grouped.periods(0).is_none());
        let key = |name: &str| vec![name.to_string()];
        // 1970-01-01 was a Thursday.
        let hour = |it: u64| Some(it * 3_600_000_000_000);
        for (name, value, nanos) in [
            ("large", 1000.0, hour(1)),
            ("large", 3000.0, hour(2)),
            ("small", 2.0, hour(2)),
            ("zero", 0.0, hour(2)),
            ("timeless", 7.0, None),
        ] {
            grouped.add(&key(name), value, nanos);
        }
        assert!(!grouped.is_empty() && grouped.has(&key("small")) && !grouped.has(&key("none")));
        assert_eq!(grouped.len(), 4);
        let periods = grouped.periods(0).unwrap();
        let median = |it: &Option<Distribution>| it.as_ref().map(|it| it.median);
        assert_eq!(median(&periods.hours[1]), Some(0.5), "of a median of 2000");
        assert_eq!(median(&periods.hours[2]), Some(1.25), "1.5 and 1; nothing has no share");
        assert_eq!(periods.hours.iter().flatten().count(), 2);
        assert_eq!(periods.weekdays[3].as_ref().map(|it| (it.n, it.median)), Some((3, 1.0)));
        let groups = grouped.groups();
        let medians: Vec<(&str, f64)> =
            groups.iter().map(|it| (it.key[0].as_str(), it.distribution.median)).collect();
        assert_eq!(
            medians,
            [("large", 2000.0), ("small", 2.0), ("timeless", 7.0), ("zero", 0.0)],
            "in order of their keys"
        );
    }
}
