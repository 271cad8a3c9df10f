//! Scenarios of any content: no crash, and what is accepted passes its own check again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_simulate::Scenario;

fuzz_target!(|text: &str| {
    if let Ok(scenario) = Scenario::parse("fuzzed", text) {
        scenario.check().expect("a scenario that was read is valid");
        if let Some(sweep) = &scenario.sweep {
            assert!(!sweep.points(&scenario).is_empty());
        }
    }
});
