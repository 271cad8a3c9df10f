//! Answers about targets and servers.

use plimsoll_analyze::{Analysis, Server, Span};
use plimsoll_report::words;

use super::figure;

/// How unevenly targets are used.
pub fn balance(analysis: &Analysis) -> Option<String> {
    let space = &analysis.space;
    let [read, written] = space.most_over_least;
    let mut text = format!(
        "Over all of the time, the target that is read most is read {} times as much as the one that is read least; for writes it is {} times.",
        words::short(read?),
        words::short(written?)
    );
    let day = space.imbalance.iter().find(|it| it.0 == Span::Day);
    let both = day.and_then(|(_, [read, written])| read.most_over_mean.zip(written.most_over_mean));
    if let Some((read, written)) = both {
        text += &format!(
            " On a typical day the busiest target has {} times the mean of targets for reads, {} times for writes.",
            figure(&read, words::short),
            figure(&written, words::short)
        );
    }
    let known = || space.targets.iter().map(|it| it.known[0].max(it.known[1]));
    let (least, most) = (known().min()?, known().max()?);
    if least * 10 < most * 9 {
        text += " Targets are not known equally long, so part of the difference over all of the time is that of their age.";
    }
    Some(text)
}

/// Whether the same targets stay ahead.
pub fn persistence(analysis: &Analysis) -> Option<String> {
    let (_, [read, written]) = analysis.space.imbalance.iter().find(|it| it.0 == Span::Day)?;
    let verdict = |rho: f64| match rho {
        it if it > 0.6 => "mostly",
        it if it > 0.2 => "partly",
        _ => "hardly",
    };
    let (reads, writes) = (read.persistence?, written.persistence?);
    Some(format!(
        "Targets that are ahead on one day are {} ahead on the next for reads, and {} for writes: their rank correlation from day to day is {} and {}.",
        verdict(reads.value),
        verdict(writes.value),
        figure(&reads, words::short),
        figure(&writes, words::short)
    ))
}

/// Targets below which it says nothing that groups have fewer than 10.
const MANY_TARGETS: usize = 20;

/// How many targets do about as much as each other.
pub fn parallel(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.space.parallelism;
    let mut text = format!(
        "Targets that do as much as each other within 5 % in a minute are grouped: a group has {} targets on average when they read and {} when they write",
        figure(&read.mean?, words::short),
        figure(&written.mean?, words::short),
    );
    if let Some((read, written)) = read.mean_when_high.zip(written.mean_when_high) {
        text += &format!(
            ", {} and {} when activity is high",
            words::short(read.value),
            words::short(written.value)
        );
    }
    if analysis.space.targets.len() >= MANY_TARGETS {
        text += &format!(
            "; {} and {} of groups have fewer than 10",
            words::percent(read.below_10?.value),
            words::percent(written.below_10?.value)
        );
    }
    Some(text + ".")
}

/// How busy processors of servers are.
pub fn servers(analysis: &Analysis) -> Option<String> {
    let servers = &analysis.servers;
    let by_mean = |one: &&Server, other: &&Server| one.mean.value.total_cmp(&other.mean.value);
    let busiest = servers.iter().max_by(by_mean)?;
    let under = servers.iter().filter(|it| it.most() < 0.75).count();
    Some(format!(
        "Processors of the server that works most, {}, work {} of the time on average; {} of {} servers have no minute over 75 %.",
        busiest.name,
        figure(&busiest.mean, words::percent),
        under,
        servers.len()
    ))
}
