//! How busy processors of servers are (Patel, section 7).

use std::collections::BTreeMap;

use plimsoll_history::Day;

use crate::by_days::{ByDays, Estimate, LEAST_DAYS};
use crate::component_sums::ServerSums;
use crate::{Frame, Whole};

/// A machine whose processors are known.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Mean share of its processors' time that it works.
    pub mean: Estimate,
    /// What it is worked out from, in millionths.
    pub sums: ServerSums,
}

impl Server {
    /// Returns the share of processors' time of its busiest minute.
    pub fn most(&self) -> f64 {
        share(self.sums.most as f64)
    }
}

/// Works it out for all servers of which anything is known.
pub(crate) fn servers(frame: &Frame, whole: &Whole, drawn: &ByDays) -> Vec<Server> {
    let places: BTreeMap<Day, usize> = whole.days.iter().map(|it| it.day).zip(0..).collect();
    let of = |(component, sums): (&plimsoll_history::Component, &ServerSums)| {
        // All have the same days, so that these are drawn once: of some nothing is known.
        let mut days = vec![[0.0; 2]; whole.days.len()];
        for it in &sums.days {
            if let Some(place) = places.get(&it.day) {
                days[*place] = [it.sum as f64, it.known as f64];
            }
        }
        let mut mean = drawn.of_sums(&days, |[sum, n]| (*n > 0.0).then(|| share(sum / n)))?;
        mean.interval = mean.interval.filter(|_| sums.days.len() >= LEAST_DAYS);
        mean.value = share(sums.sum as f64 / sums.known as f64);
        Some(Server { name: component.name.clone(), mean, sums: sums.clone() })
    };
    frame.servers.iter().zip(&whole.servers).filter_map(of).collect()
}

/// Returns a share that is given in millionths.
fn share(millionths: f64) -> f64 {
    millionths / 1e6
}
