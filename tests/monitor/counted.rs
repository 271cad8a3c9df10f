//! Counters that grow in a captured tree, what they were when, and samples that are compared to that.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How often the counters grow, about.
const TICK: Duration = Duration::from_millis(20);

/// How far the time of a reading is from what was read, on a busy machine.
pub const LATE_MILLIS: u64 = 3000;

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// What the counters were from a moment on: their number in the list is the one, milliseconds since the beginning are the other. No two stretches of a busy
/// machine's ticks are alike, so that both together tell which ticks a sample is of.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    pub moment: u64,
    pub millis: u64,
}

/// A captured tree in which counters grow.
pub struct Counted {
    pub root: PathBuf,
    truth: Arc<Mutex<Vec<Tick>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Counted {
    pub fn begin(root: PathBuf) -> Self {
        let device = root.join("sys/block/sda");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("size"), "8\n").unwrap();
        // So many that a sample does not fit into a page that the store has already.
        for other in 0..60 {
            let other = device.with_file_name(format!("sd-{other}"));
            std::os::unix::fs::symlink("sda", other).unwrap();
        }
        let (truth, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (noted, asked, begun) = (truth.clone(), is_over.clone(), Instant::now());
        let tick = move || {
            let millis = u64::try_from(begun.elapsed().as_millis()).unwrap();
            let mut noted = noted.lock().unwrap();
            let (count, new) = (noted.len(), device.join("new"));
            fs::write(&new, format!("{count} 0 {millis} 2 3 0 16 4 5 6 7\n")).unwrap();
            noted.push(Tick { moment: now(), millis });
            fs::rename(new, device.join("stat")).unwrap();
        };
        tick();
        let thread = std::thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                tick();
            }
        });
        Counted { root, truth, is_over, thread: Some(thread) }
    }

    pub fn truth(&self) -> Vec<Tick> {
        self.truth.lock().unwrap().clone()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Some time during which a monitor ran and nobody set its clock, in milliseconds since 1970.
#[derive(Debug)]
pub struct Era {
    pub begun: u64,
    pub ended: u64,
    /// How far its clock was ahead.
    pub ahead: i64,
    /// When it had no space.
    pub full: Option<Range<u64>>,
}

impl Era {
    /// Returns the time that its clock shows at a moment.
    pub fn shown(&self, moment: u64) -> u64 {
        moment.checked_add_signed(self.ahead).unwrap()
    }
}

/// What the counters grew by.
#[derive(Debug, Clone, Copy)]
pub struct CountedSample {
    pub end: u64,
    pub length: u64,
    pub ticks: usize,
    pub millis: u64,
}

/// Samples without a gap between them.
#[derive(Debug)]
pub struct Chain {
    pub start: u64,
    pub end: u64,
    pub samples: usize,
    ticks: usize,
    millis: u64,
    /// Eras, and first ticks, that it may be of.
    begins: Vec<(usize, usize)>,
}

impl Chain {
    /// Returns the one that begins with a sample; fails if the counters never grew so in its time.
    #[track_caller]
    fn begin(sample: &CountedSample, eras: &[Era], truth: &[Tick]) -> Self {
        let start = sample.end - sample.length;
        let mut begins = Vec::new();
        for (number, era) in eras.iter().enumerate() {
            let moment = start.saturating_add_signed(-era.ahead);
            if (era.begun.saturating_sub(LATE_MILLIS)..=era.ended + LATE_MILLIS).contains(&moment) {
                let first = truth.partition_point(|it| it.moment + LATE_MILLIS < moment);
                let last = truth.partition_point(|it| it.moment <= moment + LATE_MILLIS);
                begins.extend((first..last).map(|tick| (number, tick)));
            }
        }
        let mut chain = Chain { start, end: start, samples: 0, ticks: 0, millis: 0, begins };
        assert!(chain.extend(sample, truth), "never counted: {sample:?}");
        chain
    }

    /// Adds the next sample, if the counters grew so at one of the times that the chain may be of.
    fn extend(&mut self, sample: &CountedSample, truth: &[Tick]) -> bool {
        let (ticks, millis) = (self.ticks + sample.ticks, self.millis + sample.millis);
        let fits = |begin: &(usize, usize)| {
            let last = truth.get(begin.1 + ticks);
            last.is_some_and(|last| last.millis == truth[begin.1].millis + millis)
        };
        let begins: Vec<_> = self.begins.iter().copied().filter(fits).collect();
        if begins.is_empty() {
            return false;
        }
        (self.begins, self.ticks, self.millis) = (begins, ticks, millis);
        (self.end, self.samples) = (sample.end, self.samples + 1);
        true
    }

    /// Returns the number of the era that it is of; of several that it may be of, the one that it shares most time with.
    pub fn era(&self, eras: &[Era]) -> usize {
        let shared = |number: &usize| {
            let era = &eras[*number];
            let end = self.end.min(era.shown(era.ended));
            end.saturating_sub(self.start.max(era.shown(era.begun)))
        };
        self.begins.iter().map(|it| it.0).max_by_key(shared).unwrap()
    }
}

/// Puts samples together, which are in the order of their time. Fails if one is not what was counted.
#[track_caller]
pub fn chains(samples: &[CountedSample], eras: &[Era], truth: &[Tick]) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    for sample in samples {
        let start = sample.end - sample.length;
        let last = chains.last_mut();
        assert!(last.as_ref().is_none_or(|last| last.end <= start), "counted twice: {sample:?}");
        let is_next = last.is_some_and(|last| last.end == start && last.extend(sample, truth));
        if !is_next {
            chains.push(Chain::begin(sample, eras, truth));
        }
    }
    chains
}
