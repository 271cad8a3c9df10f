//! What Lustre writes about itself, with any damage: no crash, and nothing that a line says gets lost on the way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_lustre::{
    Health, Import, JobLine, LnetCounters, Name, Recovery, StatsLine, TargetName, Unknowns,
    brw_stats, job_stats, lnet_table, lnetctl_interfaces, number, parameter_text, stats,
};

fuzz_target!(|bytes: &[u8]| {
    let mut unknowns = Unknowns::default();
    let full_lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    assert_eq!(stats(bytes).count(), full_lines.count());
    for line in stats(bytes) {
        if let StatsLine::Unknown(line) = line {
            unknowns.count("stats", line);
        }
    }
    for line in job_stats(bytes) {
        if let JobLine::Job(id) = line {
            assert!(id.name().len() <= id.written().len());
        }
    }
    brw_stats(bytes).count();
    lnet_table(bytes).filter(|row| row.is_up().is_some()).count();
    lnetctl_interfaces(bytes).count();
    let _ = (Health::of(bytes), LnetCounters::of(bytes), number(bytes));
    Recovery::of(bytes, |line| unknowns.count("recovery_status", line));
    Import::of(bytes, |line| unknowns.count("import", line));
    LnetCounters::of_lnetctl(bytes, |line| unknowns.count("lnet", line));
    let mut kept = 0;
    for (name, value) in parameter_text(bytes) {
        let name = Name::of(name);
        let _ = (name.parameter(), TargetName::of(name.instance));
        kept += value.len();
    }
    assert!(kept <= bytes.len());
    assert!(unknowns.patterns().count() as u64 <= unknowns.total());
});
