//! The central point of Uselton and Wright on a disk of one spindle, by the program itself: `plimsoll calibrate` measures what it costs, sizes and mixes
//! of both directions that were not in the fit keep it fully busy, and `plimsoll top` must say so: an FSU from 70 to 130, while bandwidth is under 10 % of its peak.
//! Needs root, FUSE, loop devices and target/release/plimsoll.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_benches::pattern::Pattern;
use plimsoll_benches::spindle::{FILE, Spindle};
use plimsoll_report::Unit;
use plimsoll_report::html::{Axis, Bars, Page, Section};
use plimsoll_stats::{Random, Sample};
use serde_json::Value;

/// Sizes of the fit. None is more than the kernel hands to the disk at once: of 1 MiB, the second half follows the first and costs its bytes only, so that
/// two costs do not explain what such transfers take.
const FITTED: &str = "4KiB,16KiB,64KiB,256KiB,512KiB";
/// Transfers in flight, in the fit and afterwards.
const DEPTH: u64 = 8;
const DISK: usize = 640 << 20;
/// Where transfers go, in the fit and afterwards: the way of the arm depends on it.
const SPAN: u64 = 256 << 20;
const ROUNDS: usize = 5;

/// Small transfers of sizes and mixes that are not in the fit.
const SMALL: [Pattern; 8] = [
    Pattern { name: "reads of 8 KiB", reads: &[8], writes: &[] },
    Pattern { name: "writes of 8 KiB", reads: &[], writes: &[8] },
    Pattern { name: "reads and writes of 8 KiB", reads: &[8], writes: &[8] },
    Pattern { name: "three reads of 8 KiB for each write", reads: &[8, 8, 8], writes: &[8] },
    Pattern { name: "reads of 4 and 12, writes of 24 KiB", reads: &[4, 12], writes: &[24, 24] },
    Pattern { name: "reads of 8, 20 and 32 KiB", reads: &[8, 20, 32], writes: &[] },
    Pattern { name: "writes of 4, 8 and 12 KiB", reads: &[], writes: &[4, 8, 12] },
    Pattern { name: "reads of 12, writes of 28 KiB", reads: &[12], writes: &[28] },
];
/// For comparison: what bandwidth sees, too.
const LARGE: [Pattern; 2] = [
    Pattern { name: "reads of 384 KiB", reads: &[384], writes: &[] },
    Pattern { name: "reads and writes of 320 KiB", reads: &[320], writes: &[320] },
];

/// Set where this program has a part to play: it is the disk, or it measures one. Each is in a name space of its own, with which its mounts and loop
/// devices go, whatever ends it. The disk must not be in the one that has a file system on it: as its last process it would wait for itself.
const PART: &str = "PLIMSOLL_BUSY_DISK";
const BE_DISK: &str = "disk";
const MEASURE: &str = "measure";
/// Where both work.
const FOLDER: &str = "PLIMSOLL_BUSY_DISK_FOLDER";

fn main() -> Result<()> {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from).unwrap_or_default();
    match std::env::var(PART).as_deref() {
        Ok(BE_DISK) => {
            fs::create_dir(folder.join("disks"))?;
            let _spindle = Spindle::serve(DISK, &folder.join("disks"))?;
            play(MEASURE, &folder)
        }
        Ok(_) => measure(&folder),
        Err(_) => begin(),
    }
}

fn begin() -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    let is_there = |path: &&str| Path::new(path).exists();
    if !is_root || !["/dev/fuse", "/dev/loop-control"].iter().all(is_there) {
        println!("SKIPPED: a disk of one spindle needs root, FUSE and loop devices");
        return Ok(());
    }
    ensure!(program().exists(), "no {}; hint: make build", program().display());
    play(BE_DISK, tempfile::tempdir_in("/var/tmp")?.path())
}

fn play(part: &str, folder: &Path) -> Result<()> {
    let mut within = Command::new("unshare");
    within.args(["--mount", "--propagation", "private", "--"]).arg(std::env::current_exe()?);
    within.env(PART, part).env(FOLDER, folder);
    ensure!(within.status()?.success(), "it failed");
    Ok(())
}

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/plimsoll")
}

/// What is measured, and what it is compared with.
struct Disk {
    site: PathBuf,
    /// The greatest median bandwidth of a size of the fit.
    peak: f64,
}

fn measure(folder: &Path) -> Result<()> {
    let (disks, target) = (folder.join("disks"), folder.join("target"));
    fs::create_dir(&target)?;
    prepare(&disks.join(FILE), &target)?;
    println!("others' load on {} processors: {}", processors(), load());
    let disk = calibrate(&target, folder.join("site.toml"))?;
    println!("fitted at {FITTED}, {DEPTH} in flight; peak {:.1} MB/s", disk.peak / 1e6);
    let file = filled(&target)?;
    let patterns: Vec<Pattern> = SMALL.into_iter().chain(LARGE).collect();
    let mut seen = vec![Vec::new(); patterns.len()];
    // In another order each round, so that changes over time affect all alike.
    let mut order: Vec<usize> = (0..patterns.len()).collect();
    let mut random = Random::new(1);
    for _ in 0..ROUNDS {
        random.shuffle(&mut order);
        for place in &order {
            let look = || -> Result<Look> {
                std::thread::sleep(Duration::from_secs(1));
                disk.look()
            };
            seen[*place].push(patterns[*place].during(&file, SPAN, DEPTH, look)??);
        }
    }
    println!("others' load: {}", load());
    println!(
        "{:36} {:>21} {:>22}  {:>22}  class",
        "pattern", "FSU", "bandwidth of peak, %", "FSU by bandwidth"
    );
    let rows: Vec<Shown> = patterns
        .iter()
        .zip(&seen)
        .map(|(pattern, looks)| Shown::of(pattern, looks))
        .collect::<Result<_>>()?;
    rows.iter().for_each(|row| println!("{}", row.line));
    let held = rows.iter().take(SMALL.len()).filter(|row| row.holds).count();
    println!(
        "small transfers: FSU from 70 to 130, busy, and bandwidth under 10 % of the peak in {held} of {} patterns (medians of {ROUNDS} looks of 5 s)",
        SMALL.len()
    );
    draw(&patterns, &rows)
}

/// Puts a file system on the disk, past all caches of the machine, and transactions of at most what FUSE takes at once.
fn prepare(image: &Path, target: &Path) -> Result<()> {
    let features = [
        "-q",
        "-F",
        "-b",
        "4096",
        "-J",
        "size=8",
        "-N",
        "64",
        "-E",
        "nodiscard,lazy_itable_init=0",
    ];
    tool(Command::new("mkfs.ext4").args(features).arg(image))?;
    tool(Command::new("mount").args(["-t", "ext4", "-o", "loop,noatime"]).arg(image).arg(target))?;
    let source = Command::new("findmnt").args(["-no", "SOURCE"]).arg(target).output()?;
    let device = String::from_utf8(source.stdout)?.trim().to_owned();
    tool(Command::new("losetup").args(["--direct-io=on", &device]))?;
    let name = device.strip_prefix("/dev/").context("no device")?;
    fs::write(format!("/sys/block/{name}/queue/max_sectors_kb"), "1024")?;
    Ok(())
}

fn tool(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Runs the program. Fails if it does, as with a fit that does not explain its measures.
fn result(command: &mut Command) -> Result<Value> {
    let output = command.output()?;
    let text = || String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value = serde_json::from_slice(&output.stdout).with_context(text)?;
    ensure!(output.status.success(), "{command:?}: {found:#}");
    Ok(found["result"].clone())
}

fn calibrate(target: &Path, site: PathBuf) -> Result<Disk> {
    let place = target.display();
    fs::write(
        &site,
        format!(
            "version = 1\nname = \"bench\"\n\n[[target]]\nname = \"disk\"\npath = \"{place}\"\n"
        ),
    )?;
    let mut command = Command::new(program());
    command.args(["calibrate", "--json", "--seed", "1", "--seconds", "1.5", "--sizes", FITTED]);
    command.args([
        "--depth",
        &DEPTH.to_string(),
        "--span",
        &format!("{SPAN}B"),
        "--target",
        "disk",
    ]);
    command.arg("--site").arg(&site);
    let found = result(&mut command)?;
    let mut peak: f64 = 0.0;
    for direction in ["read", "write"] {
        let found = &found[direction];
        let number =
            |key: &str| found[key].as_f64().with_context(|| format!("no {key} in {found:#}"));
        println!(
            "{direction}: {:.3} ms an operation, {:.2} ns a byte; the largest residual is {:.1} %",
            1e3 * number("seconds_per_operation")?,
            1e9 * number("seconds_per_byte")?,
            number("max_residual")?
        );
        let rungs = found["rungs"].as_array().context("no sizes")?;
        peak = rungs.iter().filter_map(|it| it["bandwidth"].as_f64()).fold(peak, f64::max);
    }
    Ok(Disk { site, peak })
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

/// What `plimsoll top` says of the disk.
#[derive(Clone)]
struct Look {
    fsu: f64,
    by_bandwidth: f64,
    /// Of the peak, in percent.
    bandwidth: f64,
    class: String,
}

impl Disk {
    fn look(&self) -> Result<Look> {
        let mut command = Command::new(program());
        command.args(["top", "--once", "--json", "--site"]).arg(&self.site);
        let found = result(&mut command)?;
        let targets = found["targets"].as_array().context("no targets")?;
        let disk = targets.iter().find(|it| it["name"] == "disk").context("no disk")?;
        let number =
            |key: &str| disk[key].as_f64().with_context(|| format!("no {key} in {disk:#}"));
        Ok(Look {
            fsu: number("fsu")?,
            by_bandwidth: number("fsu_by_bandwidth")?,
            bandwidth: 100.0 * (number("read_rate")? + number("write_rate")?) / self.peak,
            class: disk["class"].as_str().unwrap_or("-").to_owned(),
        })
    }
}

/// Medians and spreads.
struct Shown {
    fsu: f64,
    bandwidth: f64,
    line: String,
    /// Whether they are as the paper says.
    holds: bool,
}

impl Shown {
    fn of(pattern: &Pattern, looks: &[Look]) -> Result<Self> {
        let sample = |of: fn(&Look) -> f64| Sample::new(looks.iter().map(of).collect());
        let (fsu, bandwidth) = (sample(|it| it.fsu)?, sample(|it| it.bandwidth)?);
        let words = |it: &Sample| -> Result<String> {
            Ok(format!("{:.1} ({:.1} to {:.1})", it.median(), it.quantile(0.0)?, it.quantile(1.0)?))
        };
        let alone = words(&sample(|it| it.by_bandwidth)?)?;
        let is_busy = looks.iter().all(|it| it.class == "busy");
        let class = if is_busy { "busy" } else { "not always busy" };
        let line = format!(
            "{:36} {:>21} {:>22}  {alone:>22}  {class}",
            pattern.name,
            words(&fsu)?,
            words(&bandwidth)?
        );
        let is_seen = is_busy && (70.0..=130.0).contains(&fsu.median());
        let (fsu, bandwidth) = (fsu.median(), bandwidth.median());
        Ok(Shown { fsu, bandwidth, line, holds: is_seen && bandwidth < 10.0 })
    }
}

/// Draws the figure of the documentation.
fn draw(patterns: &[Pattern], rows: &[Shown]) -> Result<()> {
    let names = patterns.iter().map(|it| it.name.to_owned()).collect();
    let axis = Axis::new("FSU, and bandwidth of its peak", Unit::Percent);
    let bars = Bars::rows("A disk that is fully busy", "pattern", axis, names)
        .series("FSU", rows.iter().map(|it| it.fsu).collect())
        .series("bandwidth", rows.iter().map(|it| it.bandwidth).collect());
    let subtitle = "sizes and mixes that were not in the fit; medians";
    let page = Page::new("A busy disk that bandwidth calls idle", subtitle);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/demo");
    fs::create_dir_all(&folder)?;
    let path = folder.join("busy-disk.html");
    fs::write(&path, page.section(Section::new("").chart(bars)).to_html())?;
    println!("drawn: {}", path.display());
    Ok(())
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |it| it.get())
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
