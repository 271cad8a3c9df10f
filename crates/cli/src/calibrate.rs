//! `plimsoll calibrate`: what an operation and a byte cost on a target.

mod target;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::Result;
use plimsoll_calibrate::{
    CalibrateError, Calibration, CalibrationPlan, CalibrationTarget, Step, calibrate,
};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{Costs, SiteFile};
use plimsoll_figures::calibrations;
use plimsoll_machine::Machine;
use plimsoll_testbed::enter_limits;

use crate::failure::with_advice;
use crate::interruption::Interruption;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::targets::BedArguments;
use crate::{bench, now, value};

pub use calibrations::NUMBERS;
use target::Chosen;

/// Measure what an operation and a byte cost on a target
///
/// Transfers of a ladder of sizes, each after a random seek and past the page cache, keep the
/// target busy; the kernel's counters (on Lustre servers: brw_stats) say how many transactions it
/// did. Least squares gives the cost of an operation and of a byte, separately for reads and writes
/// (Uselton and Wright, equation 4); `plimsoll model utilization` uses them to compute how busy a
/// target is. If these two costs do not explain the measures, or if there are fewer than three sizes
/// to test them with, the command says so and exits with status 1.
///
/// The file that is written has no name and disappears with the program, however it ends. The
/// target is written as fast as possible, at most 1 GiB in each measure; --dry-run shows how
/// much this can be. Use a target that nobody else uses: other I/O is noticed and reported.
#[derive(clap::Args)]
#[command(before_help = "Examples:\n  \
    plimsoll calibrate --target /scratch/me\n  \
    plimsoll calibrate --target /scratch/me --dry-run\n  \
    plimsoll calibrate --target OST0003 --site site.toml\n  \
    plimsoll calibrate --target fast=/nvme/tmp --site site.toml --sizes 4KiB,64KiB,1MiB --depth 32")]
pub struct Arguments {
    /// A directory, NAME=DIR to give it a name in the site file, or the name of a target that the test
    /// bed or the site file knows
    #[arg(long, value_name = "[NAME=]DIR|NAME")]
    target: String,

    #[command(flatten)]
    bed: BedArguments,

    /// Site file to find the target in and to write its costs to
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Transfer sizes
    #[arg(
        long,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "4KiB,8KiB,16KiB,32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB"
    )]
    sizes: Vec<Bytes>,

    /// Measure one direction only
    #[arg(long, value_enum)]
    only: Option<value::Direction>,

    /// Transfers in flight: enough to keep the target busy
    #[arg(long, value_name = "N", default_value = "8")]
    depth: u32,

    /// Size of the file in which transfers seek [default: 1GiB, or a tenth of what is free]
    #[arg(long, value_name = "SIZE")]
    span: Option<Bytes>,

    /// Seconds of one measure
    #[arg(long, value_name = "SECONDS", default_value = "0.75", value_parser = value::seconds,
        allow_negative_numbers = true)]
    seconds: f64,

    /// Measures of each size and direction; six give a median a 95 % interval
    #[arg(long, value_name = "N", default_value = "6")]
    repetitions: u32,

    /// Seed of the order of the measures and of the seeks [default: a new one each time]
    #[arg(long, value_name = "N", value_parser = value::count, allow_negative_numbers = true)]
    seed: Option<u64>,

    /// Write the costs to the site file even if they are not shown to explain the measures
    #[arg(long, requires = "site")]
    force: bool,

    /// Show what would be done, how long it would take and how much it would write, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let machine = Machine::host();
    let chosen = Chosen::find(&arguments.target, &arguments.bed, arguments.site.as_deref())?;
    let place =
        CalibrationTarget::at(&machine, &chosen.directory, chosen.ost).map_err(with_hint)?;
    let plan = plan(arguments, &place)?;
    place.check_space(&plan).map_err(with_hint)?;
    if arguments.dry_run {
        let record = calibrations::of_plan(chosen.name.as_deref(), &place, &plan);
        output.print("calibrate", &format!("would calibrate {}", chosen.title()), &record)?;
        return Ok(ExitCode::SUCCESS);
    }
    bench::remove_left_behind(std::slice::from_ref(&place.directory));
    let _limits = enter_limits([&chosen.directory]).map_err(crate::testbed::with_hint)?;
    let measured = now::timestamp();
    let interruption = Interruption::watch()?;
    let calibration = match measure(&machine, &place, &plan, &interruption) {
        Err(CalibrateError::Interrupted) => {
            output::message(
                "interrupted: nothing was written to the site file, and the file is gone",
            );
            return Ok(interruption.exit_code());
        }
        other => other.map_err(with_hint)?,
    };
    let name = chosen.name.as_deref();
    let record = calibrations::of_calibration(&calibration, name, &place, &plan, &measured);
    let fits = calibration.is_usable();
    let record = match not_saved(arguments, fits) {
        Some(note) => record.note(note),
        None => record,
    };
    output.print("calibrate", &format!("calibration of {}", chosen.title()), &record)?;
    if let Chosen { name: Some(name), site: Some(site), .. } = chosen
        && (fits || arguments.force)
    {
        save(site, &name, &calibration.costs(&plan, &place, &measured))?;
    }
    Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the error with its hint.
fn with_hint(error: CalibrateError) -> anyhow::Error {
    with_advice(&error, error.hint())
}

fn plan(arguments: &Arguments, place: &CalibrationTarget) -> Result<CalibrationPlan> {
    let mut plan = CalibrationPlan {
        sizes: arguments.sizes.clone(),
        operations: match arguments.only {
            None => vec![Operation::Read, Operation::Write],
            Some(value::Direction::Read) => vec![Operation::Read],
            Some(value::Direction::Write) => vec![Operation::Write],
        },
        depth: arguments.depth,
        span: Bytes::default(),
        seconds: arguments.seconds,
        repetitions: arguments.repetitions,
        seed: arguments.seed.unwrap_or_else(now::seed),
    };
    plan.span = arguments.span.unwrap_or_else(|| plan.default_span(place.space.available));
    plan.checked().map_err(with_hint)
}

fn measure(
    machine: &Machine,
    place: &CalibrationTarget,
    plan: &CalibrationPlan,
    interruption: &Interruption,
) -> Result<Calibration, CalibrateError> {
    let mut shown: Option<(&str, Progress)> = None;
    let mut tell = |step: Step| {
        let (what, done, total) = match step {
            Step::Filling { done, total } => ("writing the file", done, total),
            Step::Probing { done, total } => ("finding the number of transfers", done, total),
            Step::Measuring { done, total } => ("measuring", done, total),
        };
        if shown.as_ref().is_none_or(|(before, _)| *before != what) {
            // The old bar must be gone before the new one is drawn.
            shown = None;
            shown = Some((what, Progress::new(what, total)));
        }
        if let Some((_, progress)) = &shown {
            progress.done.store(done, Ordering::Relaxed);
        }
    };
    calibrate(machine, place, plan, &mut tell, &|| interruption.is_asked())
}

fn not_saved(arguments: &Arguments, fits: bool) -> Option<String> {
    let site = arguments.site.as_ref().filter(|_| !fits && !arguments.force)?;
    let site = site.display();
    Some(format!(
        "nothing was written to {site}: the costs are not shown to explain the measures; hint: --force"
    ))
}

fn save(mut site: SiteFile, name: &str, costs: &Costs) -> Result<()> {
    site.set_cost(name, costs)?;
    site.save()?;
    output::message(&format!("wrote the costs of {name} to {}", site.path().display()));
    Ok(())
}
