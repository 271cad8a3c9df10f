//! Answers about targets and servers.

use plimsoll_analyze::{Analysis, DailyJob, Estimate, Parallelism, Server, Span};
use plimsoll_report::words;

use super::figure;
use super::likeness::Likeness;

/// How unevenly targets are used.
pub fn balance(analysis: &Analysis) -> Option<String> {
    let space = &analysis.space;
    let [read, written] = space.most_over_least;
    let mut text = format!(
        "Over all of the time, the target that is read most{} is read {} times as much as the one that is read least; for writes{} it is {} times.",
        named(analysis, 0),
        words::short(read?),
        named(analysis, 1),
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

/// Returns which target moves most, if it is one that stands out.
fn named(analysis: &Analysis, direction: usize) -> String {
    let most = analysis.space.targets.iter().max_by_key(|it| it.bytes[direction]);
    let is_hot =
        |name: &str| analysis.hot.iter().any(|it| it.direction == direction && it.name == name);
    most.filter(|it| is_hot(&it.name)).map_or_else(String::new, |it| format!(" ({})", it.name))
}

/// Whether the same targets stay ahead.
pub fn persistence(analysis: &Analysis) -> Option<String> {
    let (_, [read, written]) = analysis.space.imbalance.iter().find(|it| it.0 == Span::Day)?;
    let (reads, writes) = (read.persistence?, written.persistence?);
    let both =
        |reads: &Estimate, writes: &Estimate| [reads, writes].map(|it| figure(it, words::short));
    let [of_all, all_writes] = both(&reads, &writes);
    let told = |reads: &Estimate, writes: &Estimate| {
        let [shown, of_writes] = both(reads, writes);
        format!(
            "the order of targets {} from one day to the next: its rank correlation is {shown} for reads and {of_writes} for writes",
            lasting(Likeness::of_both(reads, writes))
        )
    };
    Some(match &analysis.persistence_without_hot {
        [Some(others), Some(other_writes)] => format!(
            "Apart from targets that stand out (above), {}; with them it is {of_all} and {all_writes}.",
            told(others, other_writes)
        ),
        _ => format!("Taken together, {}.", told(&reads, &writes)),
    })
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

/// Targets of a group up to which they are said to work on their own mostly: more are alone than are not.
const ALONE: f64 = 1.5;

fn together(mean: f64) -> &'static str {
    match mean < ALONE {
        true => "In most minutes each target moves another amount",
        false => "Targets often move as much as others",
    }
}

/// How many targets do about as much as each other.
pub fn parallel(analysis: &Analysis) -> Option<String> {
    let [read, written] = &analysis.space.parallelism;
    let when_high = |of: &Parallelism| {
        let mean = of.mean_when_high.map(|it| words::short(it.value));
        mean.map_or_else(String::new, |it| format!(" ({it} when activity is high)"))
    };
    let mut text = format!(
        "{}. Put together those that are within 5 % of each other: such a group has {} targets on average for reads{} and {} for writes{}.",
        together(read.mean?.value.max(written.mean?.value)),
        figure(&read.mean?, words::short),
        when_high(read),
        figure(&written.mean?, words::short),
        when_high(written)
    );
    let some = match [read, written].map(|it| it.degrees[0].outstanding()) {
        [read, written] if read == written => vec![(read, "read or written")],
        [read, written] => vec![(read, "read"), (written, "written")],
    };
    let some = some.into_iter().filter(|it| !it.0.is_empty());
    let mut daily = String::new();
    for (number, (mut sizes, verb)) in some.enumerate() {
        let all = analysis.space.targets.len();
        let is_job = |it: &DailyJob| verb.contains(["read", "written"][it.direction]);
        let is_daily = sizes.contains(&all) && analysis.daily_jobs.iter().any(is_job);
        sizes.retain(|it| *it < all || !is_daily);
        let degrees = &[read, written][usize::from(verb == "written")].degrees[0];
        let with_count =
            |size: &usize| format!("{size} ({} times)", words::short(degrees.counts[*size] as f64));
        let shown = sizes.iter().map(with_count).collect::<Vec<_>>().join(" or ");
        if !sizes.is_empty() && number > 0 {
            text += &format!(" The same goes for {shown} that are {verb} alike.");
        } else if !sizes.is_empty() {
            text += &format!(
                " Groups of just {shown} that are {verb} alike are more frequent than those of one target fewer: some programs may be striped over so many targets."
            );
        }
        if is_daily {
            daily = format!(
                " At times all {all} targets are {verb} alike, which may be the daily job."
            );
        }
    }
    Some(text + &daily)
}

/// Shares of the time, on average and in any minute, below which processors are said to be no bottleneck.
const IDLE_MEAN: f64 = 0.5;
const IDLE_MOST: f64 = 0.9;

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
    let is_idle = busiest.mean.value < IDLE_MEAN && highest < IDLE_MOST;
    let verdict = match is_idle {
        true => " As far as means of a minute show, they are no bottleneck.",
        false => "",
    };
    let highest = words::percent(highest);
    Some(format!("{means}{most}; the busiest minute of any is {highest}.{verdict}"))
}
