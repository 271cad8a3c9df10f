//! The central point of Uselton and Wright on a real device: it is calibrated, then kept fully busy by sizes and mixes that were not in the fit.
//! Utilization (FSU) must say so, between 70 and 130, while bandwidth is under 10 % of its peak. Needs root, loop devices and cgroup v1.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use plimsoll_benches::pattern::Pattern;
use plimsoll_calibrate::{
    Calibration, CalibrationPlan, CalibrationTarget, DirectionFit, calibrate,
};
use plimsoll_domain::Bytes;
use plimsoll_domain::burst::Operation;
use plimsoll_history::Component;
use plimsoll_machine::Machine;
use plimsoll_monitor::{Monitor, Settings};
use plimsoll_stats::{Random, Sample};
use plimsoll_testbed::{Direction, DownOptions, Testbed, UpOptions, enter_limits};
use plimsoll_utilization::{By, CLASSES, FixedCost, Lately, Options, Recent, Scope, TargetCosts};

/// Sizes of the fit, in KiB.
const FITTED: [u64; 6] = [4, 16, 64, 256, 1024, 4096];
/// Transfers in flight, in the fit and afterwards.
const DEPTH: u32 = 8;
const SPAN: u64 = 256 << 20;
const ROUNDS: usize = 5;

/// What the device may do, of reads and of writes each. Without a limit, a loop device is about as fast as memory, and
/// costs depend on who else uses the processors.
const LIMIT: &str = "1000op/s";

/// Small transfers of sizes and mixes that are not in the fit.
const SMALL: [Pattern; 6] = [
    Pattern { name: "reads of 8 KiB", reads: &[8], writes: &[] },
    Pattern { name: "writes of 8 KiB", reads: &[], writes: &[8] },
    Pattern { name: "reads of 4 and 12 KiB", reads: &[4, 12], writes: &[] },
    Pattern { name: "writes of 4, 8 and 12 KiB", reads: &[], writes: &[4, 8, 12] },
    Pattern { name: "reads of 8, 20 and 32 KiB", reads: &[8, 20, 32], writes: &[] },
    Pattern { name: "writes of 24 KiB", reads: &[], writes: &[24] },
];
/// For comparison: what bandwidth sees, too; and both directions at once, which the kernel limits apart, so that the device can be busy twice.
const COMPARED: [Pattern; 2] = [
    Pattern { name: "reads of 2 MiB", reads: &[2048], writes: &[] },
    Pattern { name: "reads and writes of 8 KiB", reads: &[8], writes: &[8] },
];

fn main() -> Result<()> {
    let base = tempfile::tempdir_in("/var/tmp")?;
    let bed = Testbed::in_base(base.path(), "bench")?;
    let made = bed.up(&UpOptions::new(1, Bytes::new(1 << 30)), &mut |_| {})?;
    let result = if made.lacking.is_empty() { measure(&bed) } else { skip() };
    bed.down(DownOptions::default())?;
    result
}

fn skip() -> Result<()> {
    println!("SKIPPED: a device of the test bed needs root and loop devices");
    Ok(())
}

fn measure(bed: &Testbed) -> Result<()> {
    let target = bed.list()?.targets.into_iter().next().context("no target")?;
    let device = target.device.context("no device")?;
    let device = device.path.file_name().context("no name")?.to_string_lossy().into_owned();
    bed.slow(target.name, LIMIT.parse()?, Direction::Both)?;
    let _limits = enter_limits([&target.path])?;
    println!("others' load on {} processors: {}", processors(), load());
    let fitted = fit(&target.path)?;
    let costs = costs(&fitted)?;
    let peak = peak(&fitted)?;
    println!(
        "limited to {LIMIT}, fitted at {FITTED:?} KiB, {DEPTH} in flight; peak {:.0} MB/s",
        peak / 1e6
    );
    let file = filled(&target.path)?;
    let patterns: Vec<Pattern> = SMALL.into_iter().chain(COMPARED).collect();
    let mut measured = vec![Vec::new(); patterns.len()];
    // In another order each round, so that changes over time affect all alike.
    let mut order: Vec<usize> = (0..patterns.len()).collect();
    let mut random = Random::new(1);
    for _ in 0..ROUNDS {
        random.shuffle(&mut order);
        for place in &order {
            let lately =
                patterns[*place].during(&file, SPAN, DEPTH.into(), || watch(&device, &costs))??;
            measured[*place].push(lately);
        }
    }
    println!("others' load: {}", load());
    println!("{:30} {:>20} {:>26}  class", "pattern", "FSU", "bandwidth of peak, %");
    let rows: Result<Vec<bool>> =
        patterns.iter().zip(&measured).map(|(pattern, all)| row(pattern, all, peak)).collect();
    let held = rows?.iter().take(SMALL.len()).filter(|held| **held).count();
    println!(
        "small transfers: FSU from 70 to 130, busy, and bandwidth under 10 % of the peak in {held} of {} patterns \
         (medians of {ROUNDS} rounds of 5 s)",
        SMALL.len()
    );
    Ok(())
}

/// What the costs are fitted from.
fn fit(directory: &Path) -> Result<Calibration> {
    let machine = Machine::host();
    let place = CalibrationTarget::at(&machine, directory, None)?;
    let plan = CalibrationPlan {
        sizes: FITTED.iter().map(|kib| Bytes::new(kib << 10)).collect(),
        operations: vec![Operation::Read, Operation::Write],
        depth: DEPTH,
        span: Bytes::new(SPAN),
        seconds: 0.75,
        repetitions: 6,
        seed: 1,
    };
    let fitted = calibrate(&machine, &place, &plan.checked()?, &mut |_| {}, &|| false)?;
    for direction in &fitted.directions {
        let found = direction.fit.coefficients;
        println!(
            "{:?}: {:.1} µs an operation, {:.0} ps a byte",
            direction.operation,
            found.seconds_per_operation * 1e6,
            found.seconds_per_byte * 1e12
        );
    }
    println!("two costs explain the measures of the fit: {}", fitted.is_usable());
    Ok(fitted)
}

fn costs(fitted: &Calibration) -> Result<TargetCosts> {
    let of = |operation: Operation| -> Result<FixedCost> {
        let direction = fitted.directions.iter().find(|it| it.operation == operation);
        let found = direction.context("not fitted")?.fit.coefficients;
        Ok(FixedCost::new(found.seconds_per_operation, found.seconds_per_byte)?)
    };
    Ok(TargetCosts { read: of(Operation::Read)?, write: of(Operation::Write)? })
}

/// The greatest median bandwidth of a size.
fn peak(fitted: &Calibration) -> Result<f64> {
    let rows = |direction: &DirectionFit| direction.fit.rows.clone();
    let rates = fitted.directions.iter().flat_map(rows).map(|row| row.requested);
    rates.max_by(f64::total_cmp).context("no rates")
}

fn filled(directory: &Path) -> Result<File> {
    let path = directory.join("load");
    let mut file = File::create(&path)?;
    let block = vec![1; 1 << 20];
    for _ in 0..SPAN >> 20 {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    Ok(OpenOptions::new().read(true).write(true).custom_flags(direct).open(path)?)
}

/// Looks at the device for a window, as `plimsoll top` does.
fn watch(device: &str, costs: &TargetCosts) -> Result<Lately> {
    let machine = Machine::host();
    let settings = Settings {
        machine,
        server: "here".into(),
        cluster: String::new(),
        names: Default::default(),
        jobs_most: 0,
        lctl: None,
    };
    let mut monitor = Monitor::open(settings);
    let mut recent = Recent::new(Scope { windows: 0, jobs: false });
    // The first second is left to the load to get going.
    let begun = Instant::now() + Duration::from_secs(1);
    for second in 0..=5 {
        let next = begun + Duration::from_secs(second);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = UNIX_EPOCH.elapsed()?.as_nanos() as u64;
        let of = |_: &Component| *costs;
        recent.take(monitor.scrape(now), now / 1_000_000, &of);
    }
    let targets = recent.groups(By::Target);
    let lately = targets.into_iter().find(|it| it.name == device).context("no such device")?;
    ensure!(lately.fsu.is_some(), "the utilization is not known");
    Ok(lately)
}

/// Prints medians and spreads; returns whether they are as the paper says.
fn row(pattern: &Pattern, all: &[Lately], peak: f64) -> Result<bool> {
    let sample = |of: &dyn Fn(&Lately) -> Option<f64>| -> Result<Sample> {
        let values: Option<Vec<f64>> = all.iter().map(of).collect();
        Ok(Sample::new(values.context("not known")?)?)
    };
    let fsu = sample(&|it| it.fsu)?;
    let share = sample(&|it| it.bytes().map(|bytes| 100.0 * bytes / peak))?;
    let shown = |it: &Sample| -> Result<String> {
        Ok(format!("{:.1} ({:.1} to {:.1})", it.median(), it.quantile(0.0)?, it.quantile(1.0)?))
    };
    let class = CLASSES[Options::default().class(fsu.median())];
    println!("{:30} {:>20} {:>26}  {class}", pattern.name, shown(&fsu)?, shown(&share)?);
    let is_seen = (70.0..=130.0).contains(&fsu.median()) && class == "busy";
    Ok(is_seen && share.median() < 10.0)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |it| it.get())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
