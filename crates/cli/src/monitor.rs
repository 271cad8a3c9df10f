//! `plimsoll monitor`: samples what this machine serves and uses, keeps history, and answers Prometheus.

mod busy;
mod listening;
mod trouble;
mod upkeep;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use plimsoll_domain::{Bytes, Nanos};
use plimsoll_history::{Appender, Writer};
use plimsoll_monitor::{Clock, ClockLook, Format, Found, Health, Monitor, Shown, metrics};

use crate::interruption::Interruption;
use crate::output::message;
use crate::watched::{self, Watched};
use crate::{now, value};
use busy::Busy;
use listening::{Otherwise, listen};
use trouble::Trouble;
use upkeep::Upkeep;

/// Sample what this machine serves and uses, again and again
///
/// Lustre's targets, block devices, processors, memory and file systems.
#[derive(clap::Args)]
#[command(
    before_help = "Examples:\n  plimsoll monitor --store /var/lib/plimsoll\n  \
        plimsoll monitor --listen 127.0.0.1:9169\n  plimsoll monitor --interval 5s --store history --jobs 200",
    after_help = "It finds out by itself what there is, and says so. Without --store and --listen it listens at 127.0.0.1:9169.\n\
        docs/monitoring.md lists what is read and what the metrics are called."
)]
pub struct Arguments {
    /// Time from one sample to the next
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    /// Directory that keeps the history; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,

    /// Address at which Prometheus finds the metrics (/metrics); a port alone is of this machine only
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    listen: Option<SocketAddr>,

    /// Look at a captured tree of /proc and /sys instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Name of the cluster or site that this machine belongs to
    #[arg(long, value_name = "NAME", default_value = "")]
    cluster: String,

    /// Read also what jobs do, of so many jobs of a target at most
    #[arg(long, value_name = "COUNT", default_value = "0", value_parser = value::count)]
    jobs: u64,

    /// The site file, which has the costs of targets [default: the one that `site show` finds]
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,

    /// Days with samples that the store keeps, beside the last one; older ones go
    #[arg(long, value_name = "DAYS", default_value = "366", requires = "store", value_parser = days)]
    keep_days: u32,

    /// Days with samples that stay at full resolution, beside the last one; older ones become coarser
    #[arg(long, value_name = "DAYS", default_value = "1", requires = "store", value_parser = days)]
    fine_days: u32,

    /// Room that the store may take; beyond, the oldest days go [default: no limit]
    #[arg(long, value_name = "SIZE", requires = "store")]
    budget: Option<Bytes>,

    /// Show jobs in the metrics, too: every job is a series of its own there
    #[arg(long, requires = "jobs")]
    job_metrics: bool,
}

/// The port of Lustre exporters (the list of ports of Prometheus' exporters).
const USUAL_PORT: u16 = 9169;

/// "9169", "127.0.0.1:9169", "[::]:9169".
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "is not an address; write it like 127.0.0.1:9169 or 9169".to_owned())
}

fn days(text: &str) -> Result<u32, String> {
    u32::try_from(value::count(text)?).map_err(|_| "is more days than there are".to_owned())
}

/// What the sampling and the answering thread share.
struct Shared {
    monitor: Monitor,
    health: Health,
    /// Only metrics show it; a store has what it is worked out from.
    busy: Option<Busy>,
    /// The latest page of each format, and the number of the scrape that it is of.
    pages: Vec<(Format, u64, Arc<str>)>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let interval = Duration::from_nanos(arguments.interval.get());
    ensure!(
        interval >= Duration::from_millis(10),
        "--interval {} is too short; hint: the shortest is 10ms",
        arguments.interval
    );
    let interruption = Interruption::watch()?;
    let (mut store, upkeep) = match &arguments.store {
        Some(path) => {
            let settings = plimsoll_history::Settings {
                keep_days: arguments.keep_days,
                fine_days: arguments.fine_days,
                bytes_max: arguments.budget.map(Bytes::get),
                ..plimsoll_history::Settings::default()
            };
            let (appender, keeper) = Writer::open_apart(path, settings)?;
            (Some(appender), Some(Upkeep::begin(keeper, interruption.clone())?))
        }
        None => (None, None),
    };
    let site = watched::site(arguments.site.as_deref())?;
    let (root, cluster) = (arguments.root.as_deref(), arguments.cluster.as_str());
    let watched = Watched { root, cluster, jobs: arguments.jobs };
    let monitor = Monitor::open(watched.settings(site.as_ref())?);
    tell(&monitor.found());
    let listens = arguments.listen.is_some() || arguments.store.is_none();
    let busy = listens.then(|| Busy::new(site));
    let (health, pages) = (Health::default(), Vec::new());
    let shared = Arc::new(Mutex::new(Shared { monitor, health, busy, pages }));
    if listens {
        let usual = SocketAddr::from(([127, 0, 0, 1], USUAL_PORT));
        let address = arguments.listen.unwrap_or(usual);
        let otherwise = match store {
            Some(_) => Otherwise::TryAgain,
            None => Otherwise::Fail,
        };
        let (shared, jobs) = (shared.clone(), arguments.job_metrics);
        listen(address, otherwise, move |format| page(&shared, jobs, format))?;
    }
    let is_over = || interruption.is_asked() || upkeep.as_ref().is_some_and(Upkeep::is_finished);
    sample(&shared, interval, store.as_mut(), &is_over);
    if let Some(store) = &mut store {
        store.close_log();
    }
    if let Some(upkeep) = upkeep {
        upkeep.end()?.seal()?;
    }
    Ok(interruption.exit_code())
}

/// Says what was found, so that nobody wonders why something is not there.
fn tell(found: &Found) {
    for (kind, names) in &found.components {
        let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        let kind = kind.name().replace('_', " ");
        message(&format!("monitor: {} {kind}: {}{more}", names.len(), shown.join(", ")));
    }
    if found.through_lctl {
        message(
            "monitor: Lustre is read through lctl, as its files are not there or may not be read",
        );
    }
    for place in &found.forbidden {
        message(&format!(
            "warning: {} may not be looked into; hint: run with CAP_DAC_READ_SEARCH (docs/monitoring.md)",
            place.display()
        ));
    }
}

/// Returns what the last scrape read. It is written once, however many ask.
fn page(shared: &Mutex<Shared>, jobs: bool, format: Format) -> Arc<str> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let scrape = shared.health.scrapes;
    let is_latest = |(known, of, _): &&(Format, u64, Arc<str>)| *known == format && *of == scrape;
    if let Some((_, _, page)) = shared.pages.iter().find(is_latest) {
        return page.clone();
    }
    let utilization = shared.busy.as_ref().map(Busy::utilization).unwrap_or_default();
    let shown = Shown { health: &shared.health, utilization: &utilization, jobs };
    let page: Arc<str> = metrics(&shared.monitor, &shown, format).into();
    shared.pages.retain(|(known, ..)| *known != format);
    shared.pages.push((format, scrape, page.clone()));
    page
}

/// Samples until it is over. A sample whose time has passed is left out, not made up for.
fn sample(
    shared: &Mutex<Shared>,
    interval: Duration,
    mut store: Option<&mut Appender>,
    is_over: &dyn Fn() -> bool,
) {
    let (mut appending, mut looking) = (Trouble::with_store(), Trouble::with_looking());
    let (mut clock, mut next) = (Clock::default(), Instant::now());
    while !is_over() {
        {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            scrape(&mut shared, &mut clock, store.as_deref_mut(), &mut appending);
            looking.tell(shared.monitor.unseen().first());
        }
        if let Some(store) = store.as_deref_mut() {
            store.tidy(now::nanoseconds() / 1_000_000);
        }
        next += interval;
        let late = Instant::now().saturating_duration_since(next);
        if late >= interval {
            let skipped = (late.as_nanos() / interval.as_nanos()) as u32;
            next += interval * skipped;
            shared.lock().unwrap_or_else(PoisonError::into_inner).health.skipped +=
                u64::from(skipped);
        }
        wait_until(next, is_over);
    }
}

fn scrape(
    shared: &mut Shared,
    clock: &mut Clock,
    mut store: Option<&mut Appender>,
    trouble: &mut Trouble,
) {
    let begun = Instant::now();
    let mut now = clock.look();
    begin_anew_after_step(now, shared, store.as_deref_mut());
    shared.monitor.scrape(now.nanoseconds);
    // Some texts tell their own time: none of before a step goes with one of after it.
    let after = clock.look();
    if begin_anew_after_step(after, shared, store.as_deref_mut()) {
        now = after;
        shared.monitor.scrape(now.nanoseconds);
    }
    let Shared { monitor, health, busy, .. } = shared;
    let readings = monitor.readings();
    if let Some(busy) = busy {
        busy.take(readings, now.nanoseconds);
    }
    health.scrapes += 1;
    health.scrape_seconds = begun.elapsed().as_secs_f64();
    let Some(store) = store else { return };
    match store.append(readings) {
        Ok(appended) => {
            health.stored += appended.samples;
            trouble.tell(None::<anyhow::Error>);
        }
        Err(error) => {
            health.not_stored += 1;
            trouble.tell(Some(error));
        }
    }
}

/// Makes sure that nothing is compared over a step of the clock. Returns whether there was one.
fn begin_anew_after_step(
    now: ClockLook,
    shared: &mut Shared,
    store: Option<&mut Appender>,
) -> bool {
    if now.step_millis == 0 {
        return false;
    }
    let direction = if now.step_millis > 0 { "forward" } else { "back" };
    let seconds = now.step_millis.unsigned_abs() as f64 / 1e3;
    message(&format!(
        "monitor: the clock was put {direction} by {seconds:.3} s; one sample is missing"
    ));
    shared.health.clock_steps += 1;
    shared.busy.iter_mut().for_each(Busy::begin_anew);
    store.into_iter().for_each(Appender::begin_anew);
    true
}

/// Sleeps in pieces that a signal does not have to wait for.
pub fn wait_until(moment: Instant, is_over: &dyn Fn() -> bool) {
    const PIECE: Duration = Duration::from_millis(100);
    while !is_over() {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(PIECE));
    }
}
