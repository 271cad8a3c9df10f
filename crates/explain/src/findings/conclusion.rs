//! What a report concludes, in a sentence or two.

use super::{COST_SECONDS_MIN, Finding, mpi::worst_file, too_short_to_tell};
use crate::activity::Activity;
use crate::analysis::Analysis;
use crate::process::ProcessState;
use crate::unseen::Missing;
use plimsoll_report::words::{count, grouped, percent, time};

/// Up to this share of its run time, I/O costs a program little: a finding costs as much.
pub const SMALL_SHARE: f64 = super::COST_SHARE_OF_RUN;

/// Kinds of calls with less than this share of the I/O time are not named.
const NAMED_SHARE: f64 = 0.05;

/// What I/O costs the program, whether the findings explain it, and what could not be recorded.
/// Says that nothing costs much only where I/O takes little of the run time.
pub fn conclusion(analysis: &Analysis, findings: &[Finding]) -> String {
    [
        recorded(analysis, findings),
        waited_elsewhere(analysis),
        cut_short(analysis),
        lost(analysis),
        not_recorded(&analysis.missing),
    ]
    .concat()
}

/// The conclusion from the calls that were recorded.
fn recorded(analysis: &Analysis, findings: &[Finding]) -> String {
    let io = &analysis.io_share;
    let Some(share) = io.share().filter(|_| io.busy_seconds > 0.0) else {
        return "No I/O call on a file of the program itself was recorded.".to_string();
    };
    let took = format!(
        "I/O took {} of the run time of {}: {}.",
        percent(share),
        count(io.processes as u64, "process"),
        by_activity(analysis)
    );
    let rest = match findings.first() {
        Some(worst) => {
            let cost = time(worst.cost_seconds);
            let told = match findings.len() {
                1 => format!("One finding, {}, costs about {cost}", worst.id),
                n => format!("{n} findings; the worst, {}, costs about {cost}", worst.id),
            };
            told + &unexplained(analysis, findings)
        }
        None if share <= SMALL_SHARE => {
            if is_whole(analysis) {
                "Nothing costs this program much.".to_string()
            } else {
                "Nothing of it costs much.".to_string()
            }
        }
        None => without_finding(analysis),
    };
    format!("{took} {rest}")
}

/// What is said of much I/O without a finding. Of times that are too short, only what they look
/// like.
fn without_finding(analysis: &Analysis) -> String {
    match too_short_to_tell(analysis) {
        Some((id, cost_seconds)) => format!(
            "It looks like {id} (about {}), but less than {} may be noise: record a longer run to \
             be sure.",
            time(cost_seconds),
            time(COST_SECONDS_MIN)
        ),
        None => format!(
            "No known fault explains it: this is what the calls themselves take{}.",
            most_of_it(analysis)
        ),
    }
}

/// Returns whether all is known of what the program's I/O costs.
fn is_whole(analysis: &Analysis) -> bool {
    analysis.missing.programs.is_empty()
        && processes_cut_short(analysis).next().is_none()
        && analysis.lost_events == 0
        && !is_damaged(analysis)
        && nonblocking_calls(analysis) == 0
        && !analysis.processes.iter().any(|it| it.state == ProcessState::Stopped)
}

fn is_damaged(analysis: &Analysis) -> bool {
    analysis.processes.iter().any(|it| it.is_damaged)
}

/// " 40 calls of MPI-IO may return before the data is moved: what the program waits in MPI_Wait for MPI alone is in no figure."
fn waited_elsewhere(analysis: &Analysis) -> String {
    match nonblocking_calls(analysis) {
        0 => String::new(),
        all => format!(
            " {} of MPI-IO may return before the data is moved: what the program waits in MPI_Wait \
             for MPI alone is in no figure.",
            count(all, "call")
        ),
    }
}

fn nonblocking_calls(analysis: &Analysis) -> u64 {
    let begin = analysis.totals.iter().filter(|it| it.op.is_nonblocking());
    begin.map(|it| it.totals.calls).sum()
}

/// " 7,987,553 of 8,000,000 calls are missing (99.8 %): all of this is about the rest."
fn lost(analysis: &Analysis) -> String {
    let lost = analysis.lost_events;
    let all = analysis.events.saturating_add(lost);
    match lost {
        0 if is_damaged(analysis) => {
            " Not all of the recording can be read: see the notes.".to_string()
        }
        0 => String::new(),
        _ => format!(
            " {} of {} {} missing ({}): all of this is about the rest.",
            grouped(lost),
            count(all, "call"),
            if lost == 1 { "is" } else { "are" },
            percent(lost as f64 / all as f64)
        ),
    }
}

/// " 1 process was killed: what it did after its last recorded call is not known; it may have waited in another one."
fn cut_short(analysis: &Analysis) -> String {
    let all = processes_cut_short(analysis).count();
    if all == 0 {
        return String::new();
    }
    let is_killed = processes_cut_short(analysis).all(|it| it == ProcessState::Killed);
    let ended = match (is_killed, all) {
        (true, 1) => "was killed",
        (true, _) => "were killed",
        (false, 1) => "runs or was killed",
        (false, _) => "run or were killed",
    };
    let (it, its) = if all == 1 { ("it", "its") } else { ("they", "their") };
    format!(
        " {} {ended}: what {it} did after {its} last recorded call is not known; {it} may have \
         waited in another one.",
        count(all as u64, "process")
    )
}

/// The states of processes that were killed, or may have been. Of those that run still, a note says so.
fn processes_cut_short(analysis: &Analysis) -> impl Iterator<Item = ProcessState> {
    let states = analysis.processes.iter().map(|it| it.state);
    states.filter(|it| matches!(it, ProcessState::Killed | ProcessState::Unfinished))
}

/// " 3 of 8 processes could not be recorded: /opt/tool (statically linked)."
fn not_recorded(missing: &Missing) -> String {
    let sentence = |it: &String| format!(" {}{}.", it[..1].to_uppercase(), &it[1..]);
    missing.warnings().iter().map(sentence).collect()
}

/// Says so when the findings cost less than half of the time that I/O takes, and that is much.
fn unexplained(analysis: &Analysis, findings: &[Finding]) -> String {
    let io = &analysis.io_share;
    let io_seconds = io.busy_seconds / io.processes.max(1) as f64;
    let explained: f64 = findings.iter().map(|finding| finding.cost_seconds).sum();
    let is_much = io.share().is_some_and(|share| share > SMALL_SHARE);
    if is_much && explained < io_seconds / 2.0 {
        format!("; most of the I/O time is what the calls themselves take{}.", most_of_it(analysis))
    } else {
        ".".to_string()
    }
}

/// ", mostly on FILE (80 %)".
fn most_of_it(analysis: &Analysis) -> String {
    let place = worst_file(analysis, |file| file.own.total_nanos());
    place.map_or(String::new(), |place| format!(", {place}"))
}

/// "write 40 %, sync 20 %".
fn by_activity(analysis: &Analysis) -> String {
    let io = &analysis.io_share;
    let mut parts: Vec<(Activity, f64)> = Activity::ALL
        .into_iter()
        .map(|activity| (activity, io.by_activity[activity as usize]))
        .filter(|(_, seconds)| *seconds >= NAMED_SHARE * io.busy_seconds)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let named = parts.iter().map(|(activity, seconds)| {
        let share = percent(seconds / io.wall_seconds);
        match activity {
            Activity::Other => format!("{} {share}", other_calls(analysis)),
            _ => format!("{} {share}", activity.name()),
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// "other calls, mostly MPI_File_set_view,".
fn other_calls(analysis: &Analysis) -> String {
    let others = analysis.totals.iter().filter(|it| Activity::of(it.op.class()) == Activity::Other);
    match others.max_by_key(|it| (it.totals.nanos, std::cmp::Reverse(it.op))) {
        Some(most) => format!("other calls (mostly {})", most.op.name()),
        None => Activity::Other.name().to_string(),
    }
}
