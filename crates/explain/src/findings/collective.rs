//! How ranks wait for each other inside MPI-IO.

use plimsoll_trace::{Layer, Op};

use super::Candidate;
use super::mpi::{COLLECTED_BYTES, large_request_rate};
use crate::analysis::{Analysis, FileAnalysis};
use crate::histogram::Volume;
use crate::nesting::MpiTime;
use crate::totals::{Direction, seconds};
use plimsoll_report::words::{bytes, count, percent, time};

/// Fewer collective calls of each rank are not worth joining.
const COLLECTIVE_CALLS_MIN: u64 = 100;
/// With less of the time inside MPI-IO, calls below it explain most of it.
const UNEXPLAINED_SHARE_MIN: f64 = 0.5;
/// With all ranks inside for less than this share of that time, they wait for ranks that come
/// late.
const ALL_INSIDE_SHARE_MIN: f64 = 0.5;

/// Files and directions that are listed. The cost is that of all of them.
const CASES_LISTED: usize = 4;

/// Collective calls of one file and direction in which all ranks together move less than a
/// block that is worth collecting.
struct Small<'a> {
    file: &'a FileAnalysis,
    direction: Direction,
    calls: &'a Volume,
    /// Bytes of all ranks in one call.
    bytes_together: u64,
    cost_seconds: f64,
}

fn small(analysis: &Analysis) -> Vec<Small<'_>> {
    let mut cases = Vec::new();
    for file in &analysis.files {
        for direction in Direction::ALL {
            let calls = &file.collective[direction as usize];
            let ranks = u64::from(file.users.max(1));
            if calls.calls < COLLECTIVE_CALLS_MIN.saturating_mul(ranks) {
                continue;
            }
            let bytes_together = calls.bytes / (calls.calls / ranks);
            if bytes_together >= COLLECTED_BYTES {
                continue;
            }
            let rate = large_request_rate(analysis, Layer::Mpi, direction);
            let sieving = match direction {
                Direction::Read => 0.0,
                Direction::Write => seconds(file.sieving.overhead_nanos),
            };
            let excess = calls.seconds() - sieving - calls.bytes as f64 / rate;
            let cost_seconds = excess.max(0.0) / ranks as f64;
            cases.push(Small { file, direction, calls, bytes_together, cost_seconds });
        }
    }
    cases
}

/// Cost, for each file with many collective calls in which all ranks together move less than
/// 1 MiB: their time, without that of data sieving, less what their bytes would take at the rate
/// of large requests, for each rank.
pub(super) fn small_collective_requests(analysis: &Analysis) -> Option<Candidate> {
    let mut cases = small(analysis);
    cases.sort_by(|a, b| b.cost_seconds.total_cmp(&a.cost_seconds));
    let evidence = cases.iter().map(|case| {
        format!(
            "{} of {} moved {} for each rank and {} for all {} together, and took {} each",
            count(case.calls.calls, &format!("collective {}", case.direction.name())),
            case.file.path,
            bytes(case.calls.bytes / case.calls.calls),
            bytes(case.bytes_together),
            case.file.users,
            time(case.calls.seconds() / case.calls.calls as f64)
        )
    });
    let mut evidence: Vec<String> = evidence.take(CASES_LISTED).collect();
    evidence.extend(oversubscription(analysis));
    (!cases.is_empty()).then(|| Candidate {
        cost_seconds: cases.iter().map(|case| case.cost_seconds).sum(),
        evidence,
        advice: vec![
            "move more with each call: give one collective call the whole array by a file view or \
             a derived datatype (MPI_File_set_view with MPI_Type_create_subarray; in HDF5 one \
             hyperslab instead of many) instead of a call for each piece"
                .to_string(),
        ],
    })
}

/// Cost: the wall time in which processes are inside MPI-IO calls and none of them is inside a
/// call that MPI-IO makes, where that is half of the time inside MPI-IO or more.
pub(super) fn waiting_in_mpi_io(analysis: &Analysis) -> Option<Candidate> {
    let waiting = &analysis.mpi_waiting;
    let share = waiting.unexplained_seconds / waiting.inside_seconds.max(f64::MIN_POSITIVE);
    let ranks = waiting.processes;
    if ranks < 2 || share < UNEXPLAINED_SHARE_MIN {
        return None;
    }
    let all_inside = waiting.all_inside_seconds / waiting.unexplained_seconds;
    let are_all_there = all_inside >= ALL_INSIDE_SHARE_MIN;
    let moves_data = waits_to_move_data(analysis);
    let oversubscription = oversubscription(analysis);
    let mut evidence = vec![
        format!(
            "processes were inside MPI-IO calls for {}; in {} of it ({}) none of them was inside \
             a POSIX call, so no storage was at work",
            time(waiting.inside_seconds),
            time(waiting.unexplained_seconds),
            percent(share)
        ),
        format!(
            "{} were inside in {} of that time: {}",
            match ranks {
                2 => "both ranks".to_string(),
                _ => format!("all {ranks} ranks"),
            },
            percent(all_inside),
            match (are_all_there, moves_data) {
                (true, true) => "they wait for the exchange itself, not for late ranks",
                (true, false) => "the calls themselves take that long, and no rank is late",
                (false, _) => "mostly they wait for late ranks",
            }
        ),
    ];
    evidence.extend(where_they_wait(analysis));
    let mut advice = Vec::new();
    if oversubscription.is_some() {
        advice.push(
            "start no more ranks on a node than it has processors; where that cannot be, let \
             waiting ranks give their processor up (Open MPI: --mca mpi_yield_when_idle 1)"
                .to_string(),
        );
    }
    advice.push(if !are_all_there {
        "even out the work between the calls, or let ranks continue in the meantime: \
             MPI_File_iwrite_all, MPI_File_iread_all, or the split calls that end in _begin and \
             _end"
            .to_string()
    } else if !moves_data {
        "the time goes into opening, closing and describing files, not into moving data: open each \
         file once and keep it open, set a view once for many calls, and let one file hold what \
         several held"
            .to_string()
    } else {
        "let fewer ranks take part in the exchange: hints cb_nodes=<number of nodes> and \
             romio_cb_write=enable, or independent calls where each rank's part is contiguous and \
             large; and make fewer, larger calls"
            .to_string()
    });
    evidence.extend(oversubscription);
    Some(Candidate { cost_seconds: waiting.unexplained_seconds, evidence, advice })
}

/// Returns whether ranks wait in calls that move data for half of their waiting time or more.
fn waits_to_move_data(analysis: &Analysis) -> bool {
    let data = analysis.mpi_time_by_op.iter().filter(|(op, _)| op.class().is_data());
    let waiting: u64 = data.map(|(_, time)| time.waiting_nanos()).sum();
    waiting >= analysis.mpi_time.waiting_nanos() / 2
}

/// Names the operation in which ranks wait most.
fn where_they_wait(analysis: &Analysis) -> Option<String> {
    let waits = |(_, time): &&(Op, MpiTime)| time.waiting_nanos();
    let (op, time) = analysis.mpi_time_by_op.iter().max_by_key(waits)?;
    let share = time.waiting_nanos() as f64 / analysis.mpi_time.waiting_nanos().max(1) as f64;
    Some(format!(
        "they wait longest in {}: {} of all waiting time, in {}",
        op.name(),
        percent(share),
        count(time.calls, "call")
    ))
}

/// Says so when a node has more ranks than processors for them, the worst node first.
fn oversubscription(analysis: &Analysis) -> Option<String> {
    let crowd = |node: &&crate::NodeAnalysis| node.ranks as f64 / f64::from(node.processors);
    let crowded = || {
        let is_crowded = |node: &&crate::NodeAnalysis| {
            node.processors > 0 && node.ranks > node.processors as usize
        };
        analysis.nodes.iter().filter(is_crowded)
    };
    let worst = crowded().max_by(|a, b| crowd(a).total_cmp(&crowd(b)))?;
    let others = match crowded().count() - 1 {
        0 => String::new(),
        more => format!(", and so on {}", count(more as u64, "other node")),
    };
    Some(format!(
        "a possible cause: {} share {} on {}{others}, and a rank that waits keeps its processor \
         busy",
        count(worst.ranks as u64, "rank"),
        count(u64::from(worst.processors), "processor"),
        worst.host
    ))
}
