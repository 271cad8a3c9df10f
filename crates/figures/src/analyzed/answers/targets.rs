//! Answers about targets and servers.

use plimsoll_analyze::{Analysis, DailyJob, Server, Span};
use plimsoll_report::words;

use super::figure;
use super::likeness::Likeness;

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
    let (reads, writes) = (read.persistence?, written.persistence?);
    let verdict = lasting(Likeness::of_both(&reads, &writes));
    let hot = match analysis.persistence_without_hot {
        [Some(reads), Some(writes)] => format!(
            ". Without the targets that stand out (above), it {}: {} and {}",
            lasting(Likeness::of_both(&reads, &writes)),
            figure(&reads, words::short),
            figure(&writes, words::short)
        ),
        _ => String::new(),
    };
    Some(format!(
        "Taken together, the order of targets {verdict} from one day to the next: its rank correlation is {} for reads and {} for writes{hot}.",
        figure(&reads, words::short),
        figure(&writes, words::short)
    ))
}

fn lasting(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Opposite => "turns round",
        Likeness::Not => "does not visibly last",
        Likeness::Hardly => "hardly lasts",
        Likeness::ALittle => "lasts a little",
        Likeness::Somewhat => "lasts somewhat",
        Likeness::Much => "mostly lasts",
    }
}

/// Targets below which it says nothing that groups have fewer than 10.
const MANY_TARGETS: usize = 20;

/// Targets of a group up to which they are said to work on their own mostly: more are alone than are not.
const ALONE: f64 = 1.5;

fn together(mean: f64) -> &'static str {
    if mean < ALONE { "Targets mostly work on their own" } else { "Targets often work together" }
}

/// How many targets do about as much as each other.
pub fn parallel(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.space.parallelism;
    let mut text = format!(
        "{}: sorted into groups that move as much as each other within 5 % in a minute, a group has {} targets on average for reads and {} for writes",
        together(read.mean?.value.max(written.mean?.value)),
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
    text += ".";
    let some = match [read, written].map(|it| it.degrees[0].outstanding()) {
        [read, written] if read == written => vec![(read, "read or written")],
        [read, written] => vec![(read, "read"), (written, "written")],
    };
    let some = some.into_iter().filter(|it| !it.0.is_empty());
    for (number, (sizes, verb)) in some.enumerate() {
        let of_all = sizes.contains(&analysis.space.targets.len());
        let is_job = |it: &DailyJob| verb.contains(["read", "written"][it.direction]);
        let is_daily = of_all && analysis.daily_jobs.iter().any(is_job);
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        if number > 0 {
            text += &format!(" The same goes for {} that are {verb} alike.", sizes.join(" or "));
            continue;
        }
        text += &format!(
            " Some programs may be striped over just {} targets: groups of so many that are {verb} alike are more frequent than those of one target fewer{}.",
            sizes.join(" or "),
            if is_daily { " (those of all targets may be the daily job)" } else { "" }
        );
    }
    Some(text)
}

/// How busy processors of servers are.
pub fn servers(analysis: &Analysis) -> Option<String> {
    let mut servers: Vec<&Server> = analysis.servers.iter().collect();
    servers.sort_by(|one, other| one.mean.value.total_cmp(&other.mean.value));
    let (least, busiest) = (servers.first()?, servers.last()?);
    let count = words::count(servers.len() as u64, "server");
    let shown = |it: &Server| words::percent(it.mean.value);
    let means = match shown(least) == shown(busiest) {
        true => format!("Processors of {count} work {} of the time on average", shown(busiest)),
        false => format!(
            "Processors of {count} work between {} and {} of the time on average, by server",
            shown(least),
            shown(busiest)
        ),
    };
    let second = servers.iter().rev().nth(1).and_then(|it| it.mean.interval);
    let is_apart = second.zip(busiest.mean.interval).is_some_and(|(it, most)| most.low > it.high);
    let most = match is_apart {
        true => format!(", those of {} most", busiest.name),
        false => String::new(),
    };
    let highest = servers.iter().map(|it| it.most()).fold(0.0, f64::max);
    Some(format!("{means}{most}; the busiest minute of any is {}.", words::percent(highest)))
}
