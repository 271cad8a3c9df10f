//! How busy the targets are that a monitor reads, with the costs of the site file.

use plimsoll_domain::site::Site;
use plimsoll_history::Reading;
use plimsoll_monitor::TargetUtilization;
use plimsoll_utilization::{Recent, Scope};

use crate::known_costs::KnownCosts;
use crate::output::message;

/// Only what is done now is asked for.
const SCOPE: Scope = Scope { windows: 0, jobs: false };

/// Utilization of the targets of a monitor.
pub struct Busy {
    recent: Recent,
    costs: KnownCosts,
    /// Whether it was told which costs are assumed.
    is_told: bool,
}

impl Busy {
    /// With these costs; those that are not there are assumed.
    pub fn new(site: Option<Site>) -> Self {
        Busy { recent: Recent::new(SCOPE), costs: KnownCosts::new(site), is_told: false }
    }

    /// Takes the readings of a scrape, and says after the first what was assumed.
    pub fn take(&mut self, readings: &[Reading], nanoseconds: u64) {
        let costs = &self.costs;
        self.recent.take(readings, nanoseconds / 1_000_000, &|component| costs.of(component));
        if !std::mem::replace(&mut self.is_told, true) {
            self.costs.notes().iter().for_each(|note| message(&format!("monitor: {note}")));
        }
    }

    /// Says that the clock was set: nothing is compared over that.
    pub fn begin_anew(&mut self) {
        self.recent.begin_anew();
    }

    /// Returns how busy targets are, those of which it is known.
    pub fn utilization(&self) -> Vec<TargetUtilization> {
        let mut all = Vec::new();
        self.recent.each_utilization(|component, fsu| {
            let is_measured = self.costs.are_measured(component);
            let (component, ratio) = (component.clone(), fsu / 100.0);
            all.push(TargetUtilization { component, ratio, is_measured });
        });
        all
    }
}
