//! What `lustre_collector` reads of the same text, wherever it can read it.

use std::collections::BTreeMap;
use std::path::Path;

use super::support::{samples, unpack};
use lustre_collector::{Record, TargetStats};
use plimsoll_lustre::{
    BrwLine, Content, Name, StatsLine, brw_stats, number, parameter_text, stats,
};

/// Everything that both read, as parameter, what of it, and two numbers.
type Facts = BTreeMap<(String, String), (u64, u64)>;

#[test]
fn both_readers_agree() {
    let Some(folder) = samples() else { return };
    let unpacked = tempfile::tempdir().unwrap();
    let place = unpacked.path().join("collector");
    unpack(&folder.join("lctl/whamcloud_collector_fixtures.tar.gz"), &place);
    let mut texts = Vec::new();
    add_texts(&place, &mut texts);
    let (mut compared, mut read) = (0, 0);
    for text in &texts {
        // It stops at the first line that it does not know.
        let Ok(records) = lustre_collector::parse_lctl_output(text) else { continue };
        let (ours, theirs) = (our_facts(text), their_facts(&records));
        read += 1;
        for (fact, value) in &theirs {
            assert_eq!(ours.get(fact), Some(value), "{fact:?}");
            compared += 1;
        }
    }
    assert!(read >= 8 && compared > 500, "{compared} facts of {read} of {} texts", texts.len());
}

fn add_texts(directory: &Path, texts: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_texts(&path, texts);
        } else if path.extension().is_some_and(|it| it == "txt") {
            texts.push(std::fs::read(path).unwrap());
        }
    }
}

fn our_facts(text: &[u8]) -> Facts {
    let mut facts = Facts::new();
    for (name, text) in parameter_text(text) {
        let name = Name::of(name);
        let Some(parameter) = name.parameter() else { continue };
        // It has no component in what it returns.
        let key = |what: &str| (format!("{} {}", name.instance, name.leaf), what.to_owned());
        match parameter.content {
            Content::Stats => facts.extend(stats(text).filter_map(|line| match line {
                StatsLine::Operation(operation, tally) => {
                    let sum = tally.amounts.map_or(0, |amounts| amounts.sum);
                    Some((key(operation), (tally.samples, sum)))
                }
                _ => None,
            })),
            Content::Histograms => {
                let mut heads = 0;
                facts.extend(brw_stats(text).filter_map(|line| match line {
                    BrwLine::Head(_) => {
                        heads += 1;
                        None
                    }
                    BrwLine::Bin(_, bin) => {
                        Some((key(&format!("{heads} {}", bin.upper)), (bin.reads, bin.writes)))
                    }
                    _ => None,
                }));
            }
            Content::Number => {
                facts.insert(key(""), (number(text).unwrap(), 0));
            }
            _ => {}
        }
    }
    facts
}

fn their_facts(records: &[Record]) -> Facts {
    let mut facts = Facts::new();
    for record in records {
        let Record::Target(stat) = record else { continue };
        // It calls the queue of the management service a target's operations.
        if matches!(stat, TargetStats::Stats(stat) if &*stat.target == "MGS") {
            continue;
        }
        match stat {
            TargetStats::Stats(stat) => facts.extend(stat.value.iter().map(|value| {
                let key = (format!("{} {}", &*stat.target, &*stat.param), value.name.clone());
                (key, (value.samples, value.sum.unwrap_or(0)))
            })),
            TargetStats::BrwStats(stat) => {
                for (place, histogram) in stat.value.iter().enumerate() {
                    facts.extend(histogram.buckets.iter().map(|bucket| {
                        let what = format!("{} {}", place + 1, bucket.name);
                        let key = (format!("{} {}", &*stat.target, &*stat.param), what);
                        (key, (bucket.read, bucket.write))
                    }));
                }
            }
            TargetStats::FilesFree(stat)
            | TargetStats::FilesTotal(stat)
            | TargetStats::KBytesAvail(stat)
            | TargetStats::KBytesFree(stat)
            | TargetStats::KBytesTotal(stat)
            | TargetStats::NumExports(stat)
            | TargetStats::TotDirty(stat) => {
                let key = (format!("{} {}", &*stat.target, &*stat.param), String::new());
                facts.insert(key, (stat.value, 0));
            }
            _ => {}
        }
    }
    facts
}
