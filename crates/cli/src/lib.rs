//! The command line: the only crate that parses arguments, prints and exits.
//!
//! A module for each command, and what they share: `output` (tables, JSON, messages), `new_file` (what is written for the
//! user), `targets` (how targets are named), `value` (arguments), `progress` and `interruption`.
//!
//! Deliberately not here: anything that a test or another program would need without a command line. What to do is
//! decided in the crate of the command's noun, what results look like in `figures`.
//!
//! It is a library as well as a binary, so that man pages, completions and docs/numbers.md are
//! generated from the definitions that the program itself uses.

mod analyze;
mod argument;
mod bench;
mod calibrate;
mod compare;
mod completions;
mod doctor;
mod export;
mod failure;
mod found_site;
mod harmless;
mod import;
mod interruption;
mod known_costs;
mod known_placement;
mod memory;
mod model;
mod monitor;
mod new_file;
mod newest;
mod now;
mod open_input;
mod output;
mod part;
mod parts_directory;
mod progress;
mod record;
mod report;
mod route;
mod score;
mod settings;
mod shown;
mod simulate;
mod site;
mod stow;
mod synth;
mod targets;
mod testbed;
mod top;
mod utilization;
mod value;
mod watched;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use plimsoll_report::Number;

use output::Output;
use settings::WithSettings;

/// Shows why a program's I/O is slow, which storage targets are slow, and what would help.
#[derive(Parser)]
#[command(
    name = "plimsoll",
    version,
    before_help = "Examples:\n  \
        plimsoll doctor\n  \
        plimsoll record mpirun -n 4 ./app\n  \
        plimsoll report\n  \
        plimsoll testbed up --targets 4 --size 256MiB\n  \
        plimsoll model contention --targets 480 --per-job 160 --jobs 4\n  \
        plimsoll simulate heavy-noise",
    after_help = "Every command prints a table, or JSON in base units with --json; docs/numbers.md defines each number.\n\
        Exit status: 0 success, 1 a negative finding or a failed check, 2 wrong use or environment, \
        130 after Ctrl-C, 143 after SIGTERM.\n\
        Long operations show a progress bar on a terminal, and elsewhere a line on stderr every 30 s \
        (PLIMSOLL_PROGRESS_SECONDS; 0 for none).",
    subcommand_required = true
)]
struct Arguments {
    #[command(flatten)]
    output: Output,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Analyze(Box<analyze::Arguments>),
    Bench(Box<bench::Arguments>),
    #[command(hide = true, before_help = "Example:\n  plimsoll bench starts its workers itself")]
    BenchWorker,
    Calibrate(calibrate::Arguments),
    Compare(compare::Arguments),
    Doctor(doctor::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Model(model::Arguments),
    Monitor(monitor::Arguments),
    Record(record::Arguments),
    Report(report::Arguments),
    Score(score::Arguments),
    Simulate(simulate::Arguments),
    Route(Box<route::Arguments>),
    #[command(
        hide = true,
        before_help = "Example:\n  plimsoll route bench --drop starts its keeper itself"
    )]
    RouteKeeper,
    #[command(
        hide = true,
        before_help = "Example:\n  plimsoll route bench starts its writers itself"
    )]
    RouteWriter,
    Site(site::Arguments),
    Stow(Box<stow::Arguments>),
    Synth(synth::Arguments),
    Testbed(testbed::Arguments),
    Top(top::Arguments),
    Utilization(utilization::Arguments),
    Completions(completions::Arguments),
}

/// Runs the program with these arguments, the program's name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    plimsoll_process::outlive_limit_of_file_size();
    if let Err(failure) = memory::limit() {
        return failure;
    }
    let arguments = match parse(arguments.into_iter().collect()) {
        Ok(arguments) => arguments,
        Err(failure) => return failure,
    };
    let output = arguments.output;
    output.choose_colour();
    let result = match arguments.command {
        Command::Analyze(arguments) => analyze::run(&arguments, output),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::BenchWorker => bench::serve(),
        Command::Calibrate(arguments) => calibrate::run(&arguments, output),
        Command::Compare(arguments) => compare::run(&arguments, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Export(arguments) => export::run(&arguments, output),
        Command::Import(arguments) => import::run(&arguments, output),
        Command::Model(arguments) => model::run(arguments, output),
        Command::Monitor(arguments) => monitor::run(&arguments),
        Command::Record(arguments) => record::run(&arguments, output),
        Command::Report(arguments) => report::run(&arguments, output),
        Command::Score(arguments) => score::run(&arguments, output),
        Command::Simulate(arguments) => simulate::run(&arguments, output),
        Command::Route(arguments) => route::run(&arguments, output),
        Command::RouteKeeper => route::keep(),
        Command::RouteWriter => route::serve(),
        Command::Site(arguments) => site::run(arguments, output),
        Command::Stow(arguments) => stow::run(&arguments, output),
        Command::Synth(arguments) => synth::run(&arguments, output),
        Command::Testbed(arguments) => testbed::run(arguments, output),
        Command::Top(arguments) => top::run(&arguments, output),
        Command::Utilization(arguments) => utilization::run(&arguments, output),
        Command::Completions(arguments) => completions::run(&arguments, &mut command()),
    };
    result.unwrap_or_else(|error| failure::of_command(&error))
}

/// Reads the arguments, and what settings add to them.
fn parse(given: Vec<OsString>) -> Result<Arguments, ExitCode> {
    let failed = |error: clap::Error| failure::of_arguments(&error);
    let matches = command().try_get_matches_from(&given).map_err(failed)?;
    let added = settings::added_to(&given, &matches);
    match added.map_err(|error| failure::of_command(&error))? {
        None => Arguments::from_arg_matches(&matches).map_err(failed),
        Some(WithSettings { arguments, files }) => match Arguments::try_parse_from(arguments) {
            Err(error) if settings::are_optional(&matches) => {
                let problem = failure::problem_of_settings(&error, &files);
                output::message(&format!("warning: {problem}"));
                Arguments::from_arg_matches(&matches).map_err(failed)
            }
            parsed => parsed.map_err(|error| failure::of_settings(&error, &files)),
        },
    }
}

/// Returns the whole command tree, for man pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Returns every number that each command prints, for docs/numbers.md.
pub fn numbers() -> Vec<(&'static str, &'static [&'static Number])> {
    vec![
        ("model contention", model::contention::NUMBERS),
        ("model throttle", model::throttle::NUMBERS),
        ("model absorb", model::absorb::NUMBERS),
        ("model utilization", model::utilization::NUMBERS),
        ("simulate", simulate::NUMBERS),
        ("site show", site::NUMBERS),
        ("stow", stow::NUMBERS),
        ("testbed list", testbed::NUMBERS),
        ("doctor", doctor::NUMBERS),
        ("bench", bench::NUMBERS),
        ("route bench", route::NUMBERS),
        ("record --collect", record::NUMBERS),
        ("report", report::NUMBERS),
        ("report, of results", report::results::NUMBERS),
        ("score", score::NUMBERS),
        ("compare", compare::NUMBERS),
        ("export", export::NUMBERS),
        ("import", import::NUMBERS),
        ("calibrate", calibrate::NUMBERS),
        ("utilization", utilization::NUMBERS),
        ("analyze", analyze::NUMBERS),
        ("synth", synth::NUMBERS),
        ("top", top::NUMBERS),
    ]
}
