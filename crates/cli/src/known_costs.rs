//! What transactions cost targets: what `calibrate` wrote into the site file, or what is assumed, and said to be.

use std::cell::RefCell;
use std::collections::BTreeSet;

use plimsoll_domain::site::{Cost, Site, Target};
use plimsoll_figures::utilized::assumed_costs;
use plimsoll_history::Component;
use plimsoll_utilization::{FixedCost, TargetCosts};

/// Costs of targets, and which of them had to be assumed.
pub struct KnownCosts {
    site: Option<Site>,
    assumed: RefCell<BTreeSet<String>>,
}

impl KnownCosts {
    /// Costs as this site file has them.
    pub fn new(site: Option<Site>) -> Self {
        KnownCosts { site, assumed: RefCell::default() }
    }

    /// Returns what reading and writing cost a target.
    pub fn of(&self, component: &Component) -> TargetCosts {
        let target = self.site.as_ref().and_then(|site| find(site, component));
        let of = |cost: Option<&Cost>| {
            let cost = cost?;
            FixedCost::new(cost.seconds_per_operation, cost.seconds_per_byte).ok()
        };
        let read = target.and_then(|it| of(it.cost.read.as_ref()));
        let write = target.and_then(|it| of(it.cost.write.as_ref()));
        let is_target = component.kind.is_data_target() && component.job.is_empty();
        if is_target && (read.is_none() || write.is_none()) {
            self.assumed.borrow_mut().insert(component.name.clone());
        }
        let (read, write) =
            (read.unwrap_or(FixedCost::ASSUMED), write.unwrap_or(FixedCost::ASSUMED));
        TargetCosts { read, write }
    }

    /// Returns what reading and writing cost a target, and whether both were measured.
    pub fn with_source(&self, component: &Component) -> (TargetCosts, bool) {
        (self.of(component), self.are_measured(component))
    }

    /// Returns whether both costs of a target that was asked for were measured.
    pub fn are_measured(&self, component: &Component) -> bool {
        !self.assumed.borrow().contains(&component.name)
    }

    /// Returns what the reader must know: which costs were assumed.
    pub fn notes(&self) -> Vec<String> {
        let names: Vec<String> = self.assumed.borrow().iter().cloned().collect();
        assumed_costs(&names).into_iter().collect()
    }
}

/// Returns the target of the site file that a component is: by name, or by file system and index (`scratch-OST0003`).
fn find<'a>(site: &'a Site, component: &Component) -> Option<&'a Target> {
    let by_index = |target: &&Target| {
        let (Some(index), Some(file_system)) = (target.lustre_index, &target.file_system) else {
            return false;
        };
        component.name.eq_ignore_ascii_case(&format!("{file_system}-OST{index:04x}"))
    };
    site.target(&component.name).or_else(|| site.targets.iter().find(by_index))
}
