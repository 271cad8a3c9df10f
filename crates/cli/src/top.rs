//! `plimsoll top`: how busy the storage is now, in the terminal.

mod followed;
mod screen;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use plimsoll_domain::Nanos;
use plimsoll_figures::latest;

use crate::interruption::Interruption;
use crate::monitor::wait_until;
use crate::output::Output;
use crate::value;
use followed::FollowedSource;

pub use plimsoll_figures::latest::NUMBERS;

/// Show live how busy the storage is: targets, servers, file systems, jobs and metadata
///
/// Of this machine, or of a store that `plimsoll monitor` writes. FSU (file system utilization) is the time that the operations of
/// the last 5 s take their target, in percent: small ones keep a target as busy as large ones at a fraction of the bandwidth. Costs come from the
/// site file, where `plimsoll calibrate` writes them; without, they are assumed, and it is said so.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  plimsoll top\n  plimsoll top --store /var/lib/plimsoll\n  \
        plimsoll top --once\n  plimsoll top --once --json",
    after_help = "Keys: q leaves, tab and 1 to 5 choose a list, s sorts, r reverses, / filters, space freezes, \
        enter shows history and operations of one row by size or name, ? helps.\n\
        A number that is not known is -, never 0."
)]
pub struct Arguments {
    /// A history to follow, a directory that `plimsoll monitor` writes; without, this machine
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,

    /// Time from one look to the next
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    /// Print one table and end; of this machine after 5 s, the time that FSU is of
    #[arg(long)]
    once: bool,

    /// Look at a captured tree of /proc and /sys instead of this machine
    #[arg(long, value_name = "DIR", conflicts_with = "store")]
    root: Option<PathBuf>,

    /// The site file, which has the costs of targets [default: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Jobs of a target that are read at most, where Lustre tells what jobs do
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = value::count)]
    jobs: u64,
}

/// What FSU is of: less is not known of this machine at first.
const FIRST_LOOK: Duration = Duration::from_secs(5);

pub fn run(arguments: &Arguments, output: Output) -> Result<ExitCode> {
    let interval = Duration::from_nanos(arguments.interval.get());
    ensure!(
        interval >= Duration::from_millis(10),
        "--interval {} is too short; hint: the shortest is 10ms",
        arguments.interval
    );
    if !arguments.once {
        check_terminal(output)?;
    }
    let mut source = FollowedSource::open(arguments)?;
    source.look()?;
    if arguments.once {
        return print_once(&mut source, interval, output);
    }
    screen::show(source, interval, output.has_colours())
}

fn check_terminal(output: Output) -> Result<()> {
    if output.json {
        bail!("a live view has no JSON; hint: plimsoll top --once --json gives one look of it");
    }
    if !std::io::stdout().is_terminal() {
        bail!(
            "a live view needs a terminal, and this is none; hint: plimsoll top --once prints one table, \
             plimsoll top --once --json is for programs, plimsoll monitor --listen for Prometheus"
        );
    }
    Ok(())
}

fn print_once(source: &mut FollowedSource, interval: Duration, output: Output) -> Result<ExitCode> {
    let interruption = Interruption::watch()?;
    if source.needs_time() {
        let begun = Instant::now();
        let mut next = begun;
        while next < begun + FIRST_LOOK {
            next += interval;
            wait_until(next, &|| interruption.is_asked());
            if interruption.is_asked() {
                return Ok(interruption.exit_code());
            }
            source.look()?;
        }
    }
    let (latest, notes) = (source.latest(), source.notes());
    let record = match output.json {
        true => latest::record(&latest, &notes),
        false => latest::table(&latest, &notes),
    };
    output.print("top", &format!("{} at {}", source.name(), source.moment()), &record)?;
    Ok(ExitCode::SUCCESS)
}
