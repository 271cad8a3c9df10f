//! Scenarios that make no sense are refused by the key that is wrong, and those at the edges are not.

use plimsoll_simulate::Scenario;
use plimsoll_simulate::scenario::Breakage;

/// Four targets and eight processes, with more keys in both tables, and more tables.
fn refusal(storage: &str, application: &str, rest: &str) -> Option<String> {
    let text = format!(
        "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n[storage]\ntargets = 4\n\
         rate = \"100MB/s\"\n{storage}\n[application]\nprocesses = 8\n{application}\n{rest}"
    );
    let scenario = Scenario::parse("test", &text).and_then(|it| it.check().map(|()| it));
    scenario.err().map(|error| error.to_string())
}

#[track_caller]
fn refused(found: Option<String>, key: &str) {
    assert!(found.as_ref().is_some_and(|it| it.starts_with(key)), "{key}: {found:?}");
}

const BLOCK: &str = "block = \"1MB\"";

fn fault(what: &str, which: u32, at: &str) -> Option<String> {
    let fault = format!("[[fault]]\nat = \"{at}\"\nwhat = \"{what}\"\nwhich = {which}\n");
    refusal("", BLOCK, &fault)
}

#[test]
fn faults_happen_to_what_there_is_and_in_time() {
    for what in [Breakage::TargetStops, Breakage::TargetFills, Breakage::TargetBack] {
        assert_eq!(fault(what.name(), 3, "1s"), None);
        refused(fault(what.name(), 4, "1s"), "fault.which names target 4 of 4");
    }
    assert_eq!(fault(Breakage::ProcessDies.name(), 7, "1s"), None);
    refused(fault(Breakage::ProcessDies.name(), 8, "1s"), "fault.which names process 8 of 8");
    refused(fault(Breakage::TargetReadOnly.name(), 0, "100000h"), "fault.at is too late");
}

#[test]
fn pinned_writers_are_on_targets_that_there_are() {
    let pinned = |list: &str| {
        let keys = format!("{BLOCK}\nplacement = \"pinned\"\npinned = {list}");
        refusal("", &keys, "")
    };
    assert_eq!(pinned("[0, 3]"), None);
    refused(pinned("[0, 4]"), "application.pinned names target 4 of 4");
    refused(pinned("[]"), "application.pinned needs its placement");
}

#[test]
fn what_would_not_end_is_refused() {
    refused(refusal("", "block = \"0B\"", ""), "application.block is zero");
    refused(refusal("", "block = \"9000TB\"\nblocks = 1000", ""), "application.block is too large");
    let bursts = |compute: &str, bursts: u32| {
        let keys = format!("{BLOCK}\ncompute = \"{compute}\"\nbursts = {bursts}");
        refusal("", &keys, "")
    };
    assert_eq!(bursts("1h", 1000), None);
    refused(bursts("100h", 1000), "application.compute is too long");
}

#[test]
fn servers_have_all_targets_and_each_has_some() {
    let servers = |list: &str| {
        let keys = format!("server_limit = \"1GB/s\"\nserver_targets = {list}");
        refusal(&keys, BLOCK, "")
    };
    assert_eq!(servers("[1, 3]"), None);
    for wrong in ["[1, 2]", "[4, 0]", "[5]"] {
        refused(servers(wrong), "storage.server_targets has");
    }
}

#[test]
fn noise_is_bounded_and_has_durations_that_can_be() {
    let streams = |first: u64, second: u64| {
        let noise = |streams| format!("[[noise]]\nkind = \"streams\"\nstreams = {streams}\n");
        refusal("", BLOCK, &(noise(first) + &noise(second)))
    };
    assert_eq!(streams(50_000_000, 50_000_000), None);
    refused(streams(60_000_000, 60_000_000), "noise.streams is 120000000 in all");
    let spread = |spread: &str| {
        let lognormal = format!("distribution = \"lognormal\", spread = {spread}");
        let noise = format!(
            "[[noise]]\nkind = \"on-off\"\nslowdown = 2.0\nslow = {{ mean = \"1s\", {lognormal} }}\n\
             normal = {{ mean = \"1s\" }}\n"
        );
        refusal("", BLOCK, &noise)
    };
    assert_eq!((spread("0.0"), spread("4.0")), (None, None));
    refused(spread("4.1"), "noise.slow has a spread out of range");
    refused(spread("-0.1"), "noise.slow has a spread out of range");
}

#[test]
fn sweeps_have_values_that_can_be() {
    let sweep = |values: &str| {
        refusal("", BLOCK, &format!("[sweep]\nparameter = \"processes\"\nvalues = {values}\n"))
    };
    assert_eq!(sweep("[1, 2]"), None);
    for wrong in ["[1.0, -2.0]", "[1.0, inf]", "[nan]"] {
        refused(sweep(wrong), "sweep has a value that is negative or not finite");
    }
}
