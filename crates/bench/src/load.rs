//! How busy this machine is while it measures.
//!
//! A burst that waits for a processor is slow, whatever its target does. The average load that the kernel tells counts processes that wait
//! for storage as well, which those of a benchmark do all the time; so the time of the processors is looked at.

use plimsoll_machine::ProcessorTime;
use serde_json::{Value, json};

/// Busy for more than this share of an instance, processors have hardly a moment for one more.
const BUSY: f64 = 0.9;

/// Fewer busy instances than this share of all are not worth a note.
const WORTH_A_NOTE: f64 = 0.2;

/// Instances by what the processors of this machine did meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Instances of which that is known.
    pub instances: u64,
    /// Those during which nearly all of the processors' time was taken.
    pub busy: u64,
}

impl Load {
    /// Counts an instance by what the processors had done before it and after it.
    pub fn count(&mut self, before: Option<ProcessorTime>, after: Option<ProcessorTime>) {
        let share = before.zip(after).and_then(|(before, after)| after.busy_since(&before));
        if let Some(share) = share {
            self.instances += 1;
            self.busy += u64::from(share > BUSY);
        }
    }

    /// Counts another session too.
    pub fn add(&mut self, other: Self) {
        self.instances = self.instances.saturating_add(other.instances);
        self.busy = self.busy.saturating_add(other.busy);
    }

    /// Returns it as results keep it.
    pub fn to_json(&self) -> Value {
        json!({ "instances": self.instances, "busy": self.busy })
    }

    /// Reads what results kept. What is not there counts nothing.
    pub fn from_json(kept: &Value) -> Self {
        let count = |key: &str| kept[key].as_u64().unwrap_or(0);
        let instances = count("instances");
        Load { instances, busy: count("busy").min(instances) }
    }

    /// What to say of it, if there is something to say.
    pub fn note(&self) -> Option<String> {
        let is_worth = self.busy > 0 && self.busy as f64 >= WORTH_A_NOTE * self.instances as f64;
        is_worth.then(|| {
            format!(
                "this machine was busy: in {} of {} instances more than {:.0} % of its processors' time was taken, \
                 so that bursts waited for a processor, and what is slow may be the client",
                self.busy,
                self.instances,
                BUSY * 100.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_results_keep_is_read_back_and_nothing_else_is_believed() {
        let load = Load { instances: 7, busy: 3 };
        assert_eq!(Load::from_json(&load.to_json()), load);
        assert_eq!(Load::from_json(&json!({ "instances": 2, "busy": 9 })).busy, 2);
        assert_eq!(Load::from_json(&Value::Null), Load::default());
    }

    #[test]
    fn an_instance_is_busy_beyond_nine_tenths() {
        let at = |busy, idle| Some(ProcessorTime { busy, idle, waiting: 0 });
        let mut load = Load::default();
        load.count(at(0, 0), at(90, 10));
        assert_eq!(load, Load { instances: 1, busy: 0 });
        load.count(at(0, 0), at(91, 9));
        assert_eq!(load, Load { instances: 2, busy: 1 });
        load.count(None, at(91, 9));
        load.count(at(91, 9), at(91, 9));
        assert_eq!(load, Load { instances: 2, busy: 1 }, "nothing is known of these");
    }

    #[test]
    fn one_of_five_is_worth_a_note() {
        let note = |busy| Load { instances: 20, busy }.note();
        assert_eq!([note(0), note(3)], [None, None]);
        assert!(note(4).unwrap().starts_with("this machine was busy: in 4 of 20 instances"));
        assert_eq!(Load::default().note(), None);
    }

    #[test]
    fn sessions_add_up() {
        let mut load = Load { instances: 3, busy: 1 };
        load.add(Load { instances: 4, busy: 2 });
        assert_eq!(load, Load { instances: 7, busy: 3 });
    }
}
