//! What is said of made-up programs, word by word and figure by figure, as a person has judged it right.
//!
//! `tests/findings.rs` says what must be found; this says that nothing else that is said has changed unnoticed. Each program
//! is told with what its figures must be. After a change that is meant, `PLIMSOLL_WRITE_GOLDEN=1 cargo test -p plimsoll-explain --test judged`
//! writes `tests/golden/judged.txt` again: read the difference before you commit it.

mod common;
#[path = "judged/programs.rs"]
mod programs;

use std::fmt::Write as _;
use std::path::Path;

use plimsoll_explain::{
    Analysis, Comparison, Direction, Finding, Frame, Gathered, MpiCall, Options, call_on_each_rank,
    compare, conclusion, findings,
};

#[test]
fn what_is_said_of_programs_is_what_was_judged_right() {
    let mut said = String::new();
    let mut before: Option<Analysis> = None;
    for (number, (name, bed)) in programs::all().into_iter().enumerate() {
        let analysis = bed.analyze();
        let _ = write!(said, "# {name}\n{}", told(&analysis));
        if let Some(call) = analysis.slow_calls.first() {
            for call in call_on_each_rank(&bed.open(), call, 2) {
                let MpiCall { process, nanos, number, ref time, .. } = call;
                let _ = writeln!(said, "call {number} of {process}: {nanos} ns, {time:?}");
            }
        }
        // Some are compared with another one.
        if number % 5 == 0 {
            let before = before.replace(analysis.clone());
            let changed = before.map(|before| changed(&compare(&before, &analysis)));
            said.push_str(&changed.unwrap_or_default());
        }
        said.push('\n');
        // What is kept as a summary says the same.
        let kept = Frame::new(bed.open(), &Options::default()).gather_all().to_bytes();
        let again = Gathered::from_bytes(&kept).unwrap().finish().unwrap();
        assert_eq!(told(&again), told(&analysis), "{name}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/judged.txt");
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &said).unwrap();
    }
    let judged = std::fs::read_to_string(&path).unwrap();
    let differs = judged.lines().zip(said.lines()).enumerate().find(|(_, (a, b))| a != b);
    if let Some((line, (judged, said))) = differs {
        panic!("line {}:\n  was {judged}\n  now {said}", line + 1);
    }
    assert_eq!(judged.len(), said.len(), "something was added or is missing at the end");
}

/// What changed from another program, though the two have nothing to do with each other.
fn changed(comparison: &Comparison) -> String {
    let mut out = format!("{}\n", comparison.statement);
    for it in &comparison.ops {
        let _ = writeln!(out, "  {}: {:?}, then {:?}", it.op.name(), it.before, it.after);
    }
    comparison.bandwidths.iter().for_each(|it| out.push_str(&format!("  {it:?}\n")));
    if let Some(it) = &comparison.durations {
        let estimate = it.comparison.ratio.as_ref().map(|ratio| ratio.estimate);
        let _ = writeln!(out, "  durations of {}: {estimate:.4?}", it.op.name());
    }
    let ids = |list: &[Finding]| list.iter().map(|it| it.id).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        out,
        "  gone: {}; new: {}; kept: {}",
        ids(&comparison.findings_gone),
        ids(&comparison.findings_new),
        comparison.findings_kept.iter().map(|it| it.0.id).collect::<Vec<_>>().join(", ")
    );
    out
}

/// Findings with their evidence, and the measures that they rest on.
fn told(analysis: &Analysis) -> String {
    let mut out = String::new();
    let found = findings(analysis);
    for finding in &found {
        let severity = finding.severity.name();
        let _ = writeln!(out, "{} ({severity}): {:.6} s", finding.id, finding.cost_seconds);
        finding.evidence.iter().for_each(|it| out.push_str(&format!("  - {it}\n")));
        for advice in &finding.advice {
            let _ = writeln!(out, "  > {}", advice.chars().take(60).collect::<String>());
        }
    }
    let _ = writeln!(out, "{}", conclusion(analysis, &found));
    for direction in Direction::ALL {
        let headline = analysis.headline(direction);
        let _ = writeln!(out, "{}: {headline:?}", direction.name());
        let _ = writeln!(out, "  {:?}", analysis.access[direction as usize]);
    }
    let _ = writeln!(out, "{:?}", analysis.io_share);
    let _ = writeln!(out, "{:?}\n{:?}", analysis.mpi_time, analysis.mpi_waiting);
    let _ = writeln!(out, "{:?}\n{:?}", analysis.sieving, analysis.stragglers);
    let _ = writeln!(out, "{:?}", analysis.metadata);
    for phase in analysis.phases.iter().take(4) {
        let _ = writeln!(out, "{phase:?}");
    }
    for file in &analysis.files {
        let serialisation = file.detail.as_ref().and_then(|it| it.serialisation);
        let repeated = file.detail.as_ref().map(|it| it.repeated);
        let _ = writeln!(
            out,
            "{}: {} processes, {} readers, {} writers, {:?}, {:?}, {repeated:?}, {serialisation:?}",
            file.path,
            file.processes,
            file.readers,
            file.writers,
            file.independent_writes,
            file.collective,
        );
    }
    for process in &analysis.processes {
        let _ = writeln!(
            out,
            "{}: {} events, {} files, {:.6} of {:.6} s, takes part {}, locks {:.6} s",
            process.label(),
            process.events,
            process.files,
            process.busy_seconds,
            process.wall_seconds,
            process.takes_part,
            process.lock_seconds
        );
    }
    over_time(analysis, &mut out);
    for call in analysis.slow_calls.iter().take(2) {
        let _ = writeln!(out, "{call:?}");
    }
    analysis.warnings.iter().for_each(|it| out.push_str(&format!("! {it}\n")));
    out
}

/// Sums and peaks of what is drawn over time.
fn over_time(analysis: &Analysis, out: &mut String) {
    for sizes in &analysis.request_sizes {
        let classes: Vec<_> =
            sizes.histogram.non_empty().map(|(start, it)| (start, it.calls, it.bytes)).collect();
        let _ =
            writeln!(out, "{:?} {:?} {classes:?} {:?}", sizes.layer, sizes.direction, sizes.common);
    }
    for it in &analysis.in_flight {
        let (mean, most) =
            (it.mean.iter().sum::<f64>(), it.max.iter().copied().fold(0.0, f64::max));
        let _ = writeln!(
            out,
            "{:?} {:?}: {:.6} s inside, {most:.3} at most",
            it.layer,
            it.kind,
            mean * it.bin_seconds
        );
    }
    let rates = &analysis.rates;
    let told = |values: &[u64]| {
        let first = values.iter().position(|it| *it > 0);
        (values.iter().sum::<u64>(), values.iter().copied().max(), first)
    };
    for values in [&rates.read_bytes, &rates.written_bytes, &rates.metadata_calls, &rates.syncs] {
        let _ = write!(out, "{:?} ", told(values));
    }
    let _ = writeln!(out, "in {} bins of {:.6} s", rates.syncs.len(), rates.bin_seconds);
    for row in &analysis.timeline.rows {
        let mut seconds = [0.0; 7];
        for shares in &row.shares {
            seconds
                .iter_mut()
                .zip(shares)
                .for_each(|(sum, it)| *sum += it * analysis.timeline.bin_seconds);
        }
        let _ = writeln!(out, "row of {}: {seconds:.4?}", row.first_process);
    }
}
