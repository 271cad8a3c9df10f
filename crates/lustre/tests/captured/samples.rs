//! Everything that was captured from Lustre 2.9 to 2.15, on ldiskfs and ZFS, is read whole, and as somebody else reads it.

use std::collections::BTreeMap;

use super::support::{Captured, captured, samples, unpack};
use plimsoll_lustre::{
    BrwLine, Content, Health, Histogram, Import, JobLine, LnetCounters, Name, Recovery, StatsLine,
    brw_stats, job_stats, lnet_table, lnetctl_interfaces, number, stats,
};

#[test]
fn no_line_of_a_listed_parameter_is_unknown() {
    let Some(all) = captured() else { return };
    let mut read: BTreeMap<Content, usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for captured in &all {
        let Some(parameter) = Name::of(&captured.name).parameter() else { continue };
        // Some captures have the names of all parameters, and text of some.
        if captured.text.is_empty() {
            continue;
        }
        *read.entry(parameter.content).or_default() += 1;
        let lines = unknown_lines(parameter.content, &captured.text);
        unknown.extend(
            lines.into_iter().map(|line| format!("{} {}: {line}", captured.origin, captured.name)),
        );
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let least = [
        (Content::Stats, 150),
        (Content::Histograms, 80),
        (Content::Jobs, 10),
        (Content::Recovery, 20),
        (Content::Health, 10),
        (Content::Import, 8),
        (Content::Number, 400),
        (Content::Lnet, 1),
    ];
    for (content, least) in least {
        assert!(read.get(&content).is_some_and(|count| *count >= least), "{content:?}: {read:?}");
    }
}

/// The lines of a text that its reader does not know.
fn unknown_lines(content: Content, text: &[u8]) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut add = |line: &[u8]| unknown.push(String::from_utf8_lossy(line).into_owned());
    match content {
        Content::Stats => stats(text).for_each(|line| {
            if let StatsLine::Unknown(line) = line {
                add(line);
            }
        }),
        Content::Histograms => brw_stats(text).for_each(|line| {
            if let BrwLine::Unknown(line) = line {
                add(line);
            }
        }),
        Content::Jobs => job_stats(text).for_each(|line| {
            if let JobLine::Unknown(line) = line {
                add(line);
            }
        }),
        Content::Recovery if Recovery::of(text, &mut add).is_none() => add(text),
        Content::Import if Import::of(text, &mut add).is_none() => add(text),
        Content::Health if Health::of(text).is_none() => add(text),
        Content::Number if number(text).is_none() => add(text),
        Content::Lnet if LnetCounters::of(text).is_none() => add(text),
        Content::LnetTable => drop(lnet_table(text).count()),
        _ => {}
    }
    unknown
}

/// The same sums by other means: words of lines, with nothing but the standard library.
#[test]
fn sums_are_those_of_an_independent_reading() {
    let Some(all) = captured() else { return };
    let mut compared = 0;
    for captured in &all {
        let Some(parameter) = Name::of(&captured.name).parameter() else { continue };
        let text = std::str::from_utf8(&captured.text).unwrap();
        match parameter.content {
            Content::Stats => {
                assert_eq!(our_stats(captured), their_stats(text), "{}", captured.name)
            }
            Content::Histograms => {
                assert_eq!(our_bins(captured), their_bins(text), "{}", captured.name);
            }
            Content::Jobs => assert_eq!(our_jobs(captured), their_jobs(text), "{}", captured.name),
            _ => continue,
        }
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}

/// Samples and sums by operation.
type Sums = BTreeMap<String, (u64, u64)>;

fn our_stats(captured: &Captured) -> Sums {
    let mut sums = Sums::new();
    for line in stats(&captured.text) {
        if let StatsLine::Operation(name, tally) = line {
            let sum = sums.entry(name.to_owned()).or_default();
            sum.0 += tally.samples;
            sum.1 = sum.1.wrapping_add(tally.amounts.map_or(0, |amounts| amounts.sum));
        }
    }
    sums
}

fn their_stats(text: &str) -> Sums {
    let mut sums = Sums::new();
    for line in text.lines().filter(|line| line.contains(" samples ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let sum = sums.entry(words[0].to_owned()).or_default();
        sum.0 += words[1].parse::<u64>().unwrap();
        sum.1 =
            sum.1.wrapping_add(words.get(6).map_or(0, |word| word.parse::<i128>().unwrap() as u64));
    }
    sums
}

/// Reads and writes by the histogram's place in the file and the bin.
type Bins = BTreeMap<(usize, u64), (u64, u64)>;

fn our_bins(captured: &Captured) -> Bins {
    let mut bins = Bins::new();
    let mut heads: Vec<Histogram> = Vec::new();
    for line in brw_stats(&captured.text) {
        match line {
            BrwLine::Head(histogram) => heads.push(histogram),
            BrwLine::Bin(histogram, bin) => {
                assert_eq!(heads.last(), Some(&histogram));
                bins.insert((heads.len(), bin.upper), (bin.reads, bin.writes));
            }
            _ => {}
        }
    }
    bins
}

fn their_bins(text: &str) -> Bins {
    let mut bins = Bins::new();
    let mut heads = 0;
    for line in text.lines() {
        heads += usize::from(line.contains("cum %"));
        let Some((label, counts)) = line.split_once(':').filter(|(_, counts)| counts.contains('|'))
        else {
            continue;
        };
        let upper = label.replace('K', "*1024").replace('M', "*1048576");
        let upper = upper.split('*').map(|factor| factor.parse::<u64>().unwrap()).product();
        let (reads, writes) = counts.split_once('|').unwrap();
        let first = |side: &str| side.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        bins.insert((heads, upper), (first(reads), first(writes)));
    }
    bins
}

/// Samples and sums by the job's place in the file and the operation.
type JobSums = BTreeMap<(usize, String), (u64, u64)>;

fn our_jobs(captured: &Captured) -> JobSums {
    let mut sums = JobSums::new();
    let mut jobs = 0;
    for line in job_stats(&captured.text) {
        match line {
            JobLine::Job(_) => jobs += 1,
            JobLine::Operation(name, tally) => {
                let sum = tally.amounts.map_or(0, |amounts| amounts.sum);
                sums.insert((jobs, name.to_owned()), (tally.samples, sum));
            }
            _ => {}
        }
    }
    sums
}

fn their_jobs(text: &str) -> JobSums {
    let mut sums = JobSums::new();
    let mut jobs = 0;
    for line in text.lines() {
        jobs += usize::from(line.starts_with("- job_id"));
        let Some((name, _)) = line.split_once(':').filter(|_| line.contains("samples:")) else {
            continue;
        };
        let behind = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split([',', '}']).next()?.trim().parse::<u64>().ok()
        };
        let counts = (behind("samples:").unwrap(), behind("sum:").unwrap_or(0));
        sums.insert((jobs, name.trim().to_owned()), counts);
    }
    sums
}

#[test]
fn what_lnetctl_prints_is_read() {
    let Some(folder) = samples() else { return };
    let unpacked = tempfile::tempdir().unwrap();
    let place = unpacked.path().join("exporter");
    unpack(&folder.join("lctl/whamcloud_exporter_fixtures.tar.gz"), &place);
    let read = |name: &str| std::fs::read(place.join("fixtures").join(name)).unwrap();
    let mut unknown = 0;
    let text = read("lnetctl_stats.txt");
    let counters = LnetCounters::of_lnetctl(&text, |_| unknown += 1).unwrap();
    assert_eq!((counters.sent, counters.received, counters.dropped), (1_110_532, 1_110_512, 11));
    assert_eq!((counters.sent_bytes, unknown), (261_865_376, 0));
    let text = read("lnetctl_net_show.txt");
    let interfaces: Vec<_> = lnetctl_interfaces(&text).collect();
    assert_eq!(interfaces[1].nid, "172.16.0.24@tcp");
    assert_eq!(interfaces.iter().map(|it| it.sent.unwrap()).sum::<u64>(), {
        let text = String::from_utf8(text.clone()).unwrap();
        let counts = text.lines().filter_map(|line| line.trim().strip_prefix("send_count: "));
        counts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>()
    });
}
