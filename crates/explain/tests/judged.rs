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

use plimsoll_explain::{Analysis, Direction, conclusion, findings};

#[test]
fn what_is_said_of_programs_is_what_was_judged_right() {
    let mut said = String::new();
    for (name, bed) in programs::all() {
        let _ = write!(said, "# {name}\n{}\n", told(&bed.analyze()));
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
