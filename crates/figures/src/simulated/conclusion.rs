//! What a simulation shows, in a few sentences.

use plimsoll_report::words;
use plimsoll_route::PolicyKind;
use plimsoll_simulate::scenario::{Parameter, Sweep};
use plimsoll_simulate::{Point, PolicyOutcomes, Scenario};

use super::buffer::Buffered;
use super::sweep::gain;
use super::swept::{place, plural, swept_name, with};
use crate::contest::{self, Entrant, Finish, listed};

/// Returns what the scenario shows: who was done first, and how that changes along a sweep.
pub fn conclusion(scenario: &Scenario, points: &[Point]) -> String {
    let of_buffers = scenario.sweep.as_ref().and_then(|sweep| Buffered::of(sweep, points));
    if let Some(buffered) = of_buffers {
        return buffered.conclusion();
    }
    match &scenario.sweep {
        Some(sweep) if sweep.across.is_some() => of_two_parameters(sweep, points),
        Some(sweep) => of_one_parameter(sweep, points),
        None => contest::conclusion(&entrants(&points[0]), "seed"),
    }
}

fn entrants(point: &Point) -> Vec<Entrant> {
    let entrant = |policy: &PolicyOutcomes| {
        let round = |(nth, outcome): (usize, &plimsoll_simulate::Outcome)| {
            let bound = point.bounds.get(nth);
            let time = |seconds| Finish { seconds, over_bound: bound.map(|it| seconds / it) };
            (outcome.seed, outcome.makespan.map(time))
        };
        Entrant {
            name: policy.policy.to_string(),
            is_static: policy.policy.kind == PolicyKind::Static,
            rounds: policy.outcomes.iter().enumerate().map(round).collect(),
        }
    };
    point.policies.iter().map(entrant).collect()
}

/// Times that differ by less count as equal.
const EQUAL: f64 = 1.01;
/// And by less than this as about the same.
const ABOUT: f64 = 1.05;

/// Makespans of one policy along a sweep, with the value of each.
struct Course {
    name: String,
    times: Vec<(f64, f64)>,
}

fn of_one_parameter(sweep: &Sweep, points: &[Point]) -> String {
    let courses: Vec<Course> = (0..points[0].policies.len())
        .map(|nth| Course {
            name: swept_name(sweep, &points[0].policies[nth].policy),
            times: points.iter().filter_map(|point| makespan(point, nth)).collect(),
        })
        .filter(|it| !it.times.is_empty())
        .collect();
    let mut sentences: Vec<String> = who_leads(sweep, points, &courses).into_iter().collect();
    // Those of which the same is to be said are named together.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for course in &courses {
        let Some(said) = along(sweep.parameter, course) else { continue };
        match groups.iter_mut().find(|group| group.0 == said) {
            Some((_, names)) => names.push(&course.name),
            None => groups.push((said, vec![&course.name])),
        }
    }
    sentences.extend(groups.iter().take(STATED).map(|(said, names)| match names.as_slice() {
        [name] => format!("{name} takes {said}."),
        names => format!("{} take {said}.", listed(names)),
    }));
    if courses.is_empty() {
        sentences.push("No policy got all data to the targets.".into());
    }
    sentences.join(" ")
}

/// Courses that are described; charts and tables have all.
const STATED: usize = 3;

fn makespan(point: &Point, nth: usize) -> Option<(f64, f64)> {
    let median = super::single::over(&point.policies[nth], |outcome| outcome.makespan)?;
    Some((point.value?, median))
}

/// Says who is done first, and at how many of the values.
fn who_leads(sweep: &Sweep, points: &[Point], courses: &[Course]) -> Option<String> {
    if courses.len() < 2 {
        return None;
    }
    let at = |course: &Course, value: f64| {
        course.times.iter().find(|time| time.0 == value).map(|time| time.1)
    };
    let values: Vec<f64> = points.iter().filter_map(|point| point.value).collect();
    let leads = |course: &Course, value: f64| {
        let least = courses.iter().filter_map(|it| at(it, value)).fold(f64::INFINITY, f64::min);
        at(course, value).is_some_and(|time| time <= least * EQUAL)
    };
    let wins = |course: &Course| values.iter().filter(|value| leads(course, **value)).count();
    let most = courses.iter().map(wins).max()?;
    let first: Vec<&str> =
        courses.iter().filter(|it| wins(it) == most).map(|it| it.name.as_str()).collect();
    let what = plural(sweep.parameter);
    if first.len() == courses.len() && most == values.len() {
        return Some(format!(
            "The policies take the same time (within 1 %) at all values of {what}."
        ));
    }
    let verb = if first.len() == 1 { "is" } else { "are" };
    let values = match most {
        most if most == values.len() => format!("all {most}"),
        most => format!("{most} of {}", values.len()),
    };
    Some(format!(
        "{} {verb} done first, or within 1 % of it, at {values} values of {what}.",
        listed(&first)
    ))
}

/// Returns how the makespan of a policy changes; none if it has none.
fn along(parameter: Parameter, course: &Course) -> Option<String> {
    let order = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let least = course.times.iter().min_by(order)?;
    let most = course.times.iter().max_by(order)?;
    let (slowest, fastest) = (words::time(most.1), words::time(least.1));
    if most.1 <= least.1 * ABOUT {
        return Some(format!("{fastest}, within 5 % at every value"));
    }
    let is_near = |nth: &usize| course.times[*nth].1 <= least.1 * ABOUT;
    let near: Vec<usize> = (0..course.times.len()).filter(is_near).collect();
    let (first, last) = (*near.first()?, *near.last()?);
    let at = |nth: usize| with(parameter, course.times[nth].0);
    let is_run = last - first + 1 == near.len() && first < last;
    let place = match (first, last) {
        (first, last) if is_run && last + 1 == course.times.len() => {
            format!("from {} on", at(first))
        }
        (0, last) if is_run => format!("up to {}", at(last)),
        _ => format!("with {}", with(parameter, least.0)),
    };
    Some(format!("{slowest} with {}, and {fastest} {place}", with(parameter, most.0)))
}

/// Says where routing pays, for each policy that routes.
fn of_two_parameters(sweep: &Sweep, points: &[Point]) -> String {
    let routes = |nth: &usize| points[0].policies[*nth].policy.kind != PolicyKind::Static;
    let sentence = |nth: usize| {
        let name = swept_name(sweep, &points[0].policies[nth].policy);
        let gains: Vec<(f64, &Point)> = points
            .iter()
            .map(|point| (gain(point, nth), point))
            .filter(|(gain, _)| gain.is_finite())
            .collect();
        let order = |a: &&(f64, &Point), b: &&(f64, &Point)| a.0.total_cmp(&b.0);
        let (least, most) = (gains.iter().min_by(order)?, gains.iter().max_by(order)?);
        let twice = gains.iter().filter(|(gain, _)| *gain >= 2.0).count();
        let nothing = gains.iter().filter(|(gain, _)| *gain < ABOUT).count();
        Some(format!(
            "Static placement takes {} to {} times as long as {name}: twice as long or more at {twice} of {} points, about \
             the same or less at {nothing}. Most with {}, least with {}.",
            words::short(least.0),
            words::short(most.0),
            gains.len(),
            place(sweep, most.1),
            place(sweep, least.1)
        ))
    };
    let sentences: Vec<String> =
        (0..points[0].policies.len()).filter(routes).filter_map(sentence).collect();
    match sentences.as_slice() {
        [] => "No policy that routes can be compared with static placement.".into(),
        some => some.join(" "),
    }
}
