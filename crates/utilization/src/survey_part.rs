//! What was surveyed of some days, and how such parts become one.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_history::Component;
use plimsoll_stored::stored;

use crate::group::Group;
use crate::{Options, Survey, TargetCosts};

/// What was surveyed of some days that follow each other.
///
/// Joining is associative and exact: sums are whole numbers, and windows into which samples of the next day may reach stay open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurveyPart {
    /// By name.
    pub(crate) groups: BTreeMap<String, Group>,
    pub(crate) without_operations: BTreeSet<String>,
    pub(crate) unplaced_bytes: u128,
    /// Of targets whose operations are known.
    pub(crate) costs: BTreeMap<Component, TargetCosts>,
}

stored! { SurveyPart { groups, without_operations, unplaced_bytes, costs } }

/// Two parts were worked out with other costs of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherCosts {
    /// Its name.
    pub target: String,
}

impl SurveyPart {
    /// Returns these days and those of a later part.
    ///
    /// # Errors
    /// If the parts took other costs for the same target.
    pub fn join(mut self, next: SurveyPart, options: &Options) -> Result<Self, OtherCosts> {
        for (component, costs) in next.costs {
            let own = *self.costs.entry(component.clone()).or_insert(costs);
            if own != costs {
                return Err(OtherCosts { target: component.name });
            }
        }
        for (name, group) in next.groups {
            let own = self.groups.entry(name).or_insert_with_key(|name| Group::new(name));
            own.join(group, options);
        }
        self.without_operations.extend(next.without_operations);
        self.unplaced_bytes = self.unplaced_bytes.saturating_add(next.unplaced_bytes);
        Ok(self)
    }

    /// Returns the targets whose operations are known.
    pub fn costed(&self) -> impl Iterator<Item = &Component> {
        self.costs.keys()
    }

    /// Closes what is open at the ends.
    pub fn whole(mut self, options: &Options) -> Survey {
        self.groups.values_mut().for_each(|it| it.close(options));
        Survey {
            groups: self.groups.into_values().map(|it| it.summary).collect(),
            without_operations: self.without_operations.into_iter().collect(),
            unplaced_bytes: self.unplaced_bytes,
        }
    }
}
