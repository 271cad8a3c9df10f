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
    let late = |at: &str| fault(Breakage::TargetReadOnly.name(), 0, at);
    assert_eq!(late("36028797018963967ns"), None, "a year");
    refused(late("36028797018963968ns"), "fault.at is too late");
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
    assert_eq!(bursts("9007199254740992ns", 2), None, "half a year");
    refused(bursts("9007199254740993ns", 2), "application.compute is too long");
    refused(bursts("1s", 0), "application.bursts is zero");
}

/// On one target alone everything must be written in 2^22 seconds.
#[test]
fn all_data_is_written_in_time_at_the_slowest_rate_that_may_be() {
    let rpcs = "[network]\nrpcs_in_flight = 1\nrpc_size = \"1MB\"\nrpc_round_trip = \"1s\"\n";
    for (storage, rest, most_mb) in [
        ("", "", 52_428_800u64),
        ("curve = [1.0, 0.5]", "", 26_214_400),
        ("network_limit = \"10MB/s\"", "", 5_242_880),
        ("rates = [\"100MB/s\", \"20MB/s\", \"100MB/s\", \"100MB/s\"]", "", 10_485_760),
        // One megabyte a second and process; in a queue, of one process.
        ("", rpcs, 4_194_304),
        ("service = \"fifo\"", rpcs, 524_288),
    ] {
        let block = |mb: u64| refusal(storage, &format!("block = \"{mb}MB\""), rest);
        assert_eq!(block(most_mb), None, "{storage} {rest}");
        refused(block(most_mb + 1), "application.block is too large");
    }
    let fast = "rates = [\"1000000GB/s\", \"1000000GB/s\", \"1000000GB/s\", \"1000000GB/s\"]";
    let block = |bytes: u64| refusal(fast, &format!("block = \"{bytes}B\""), "");
    assert_eq!(block((1 << 57) - 1), None, "8 of them are less than 2^60 bytes");
    refused(block(1 << 57), "application.block is too large");
}

#[test]
fn keys_that_need_another_are_refused_without_it() {
    let keys = format!("{BLOCK}\noutstanding = \"1MB\"");
    refused(refusal("", &keys, ""), "application.outstanding needs submit");
    assert_eq!(refusal("", &format!("{keys}\nsubmit = \"paced\""), ""), None);
    let rates = |count: usize| {
        let rates = vec!["\"1MB/s\""; count].join(", ");
        refusal(&format!("rates = [{rates}]"), BLOCK, "")
    };
    assert_eq!((rates(0), rates(4)), (None, None));
    refused(rates(3), "storage.rates has 3 rates for 4 targets");
    refused(rates(5), "storage.rates has 5 rates for 4 targets");
}

#[test]
fn the_network_takes_at_most_a_minute() {
    for key in ["message_latency", "message_cost", "rpc_round_trip"] {
        let with = |time: &str| refusal("", BLOCK, &format!("[network]\n{key} = \"{time}\"\n"));
        assert_eq!(with("60s"), None, "{key}");
        refused(with("60000000001ns"), &format!("network.{key} is"));
    }
}

#[test]
fn a_request_costs_and_a_look_is_due_within_a_minute() {
    let cost = |time: &str| refusal(&format!("request_cost = \"{time}\""), BLOCK, "");
    let notice = |time: &str| refusal("", &format!("{BLOCK}\nnotice_every = \"{time}\""), "");
    assert_eq!((cost("60s"), notice("60s")), (None, None));
    refused(cost("60000000001ns"), "storage.request_cost is");
    refused(notice("60000000001ns"), "application.notice_every is");
    // Eight processes with 10,000 blocks: requests alone take 55 days on one target.
    let many = |cost: &str| {
        let keys = format!("{BLOCK}\nblocks = 10000");
        refusal(&format!("request_cost = \"{cost}\""), &keys, "")
    };
    assert_eq!(many("50s"), None);
    refused(many("59s"), "application.block is too large");
}

#[test]
fn what_lets_nothing_through_is_refused() {
    for limit in ["client_limit", "network_limit"] {
        let with = |rate: &str| refusal(&format!("{limit} = \"{rate}\""), BLOCK, "");
        assert_eq!(with("1MB/s"), None);
        refused(with("0B/s"), &format!("storage.{limit} is zero"));
    }
    let think = |mean: &str, blocks: u32| {
        refusal("", &format!("{BLOCK}\nblocks = {blocks}\nthink = {{ mean = \"{mean}\" }}"), "")
    };
    assert_eq!(think("1h", 100), None);
    refused(think("100h", 1_000_000), "application.think is too long");
    refused(think("100ns", 1), "application.think has a mean of");
    // Eight processes: 8 million blocks are not too many, and 16 processes have 16 million.
    assert_eq!(think("1ms", 1_000_000), None);
    let many = "[sweep]\nparameter = \"processes\"\nvalues = [16]\n";
    let keys = format!("{BLOCK}\nblocks = 1000000\nthink = {{ mean = \"1ms\" }}");
    refused(refusal("", &keys, many), "application.think would be before 16000000 blocks");
}

#[test]
fn what_is_no_scenario_is_told_by_its_line() {
    let line = |text: &str| Scenario::parse("x", text).unwrap_err().to_string();
    let head = "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n";
    assert!(line("version = \n").starts_with("scenario x, line 1: "));
    assert!(line(&format!("{head}[storage]\nrats = 4\n")).starts_with("scenario x, line 5: "));
    assert!(line(&format!("{head}nothing = 4\n")).starts_with("scenario x, line 4: "));
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
