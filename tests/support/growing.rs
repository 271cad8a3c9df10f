//! A captured server whose counters grow, as if it worked.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// A Lustre target of a captured tree that takes 1000 writes of 100 kB a second by its own clock.
pub struct CapturedTarget {
    stats: File,
}

impl CapturedTarget {
    pub fn new(root: &Path, name: &str) -> Self {
        let folder = root.join("proc/fs/lustre/obdfilter").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stats"), stats(1.5e9)).unwrap();
        CapturedTarget { stats: OpenOptions::new().write(true).open(folder.join("stats")).unwrap() }
    }

    /// Counts up to now, in place, as whoever reads keeps the file open.
    pub fn grow(&self) {
        let seconds = UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        self.stats.write_all_at(stats(seconds).as_bytes(), 0).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Always of one length.
fn stats(seconds: f64) -> String {
    format!(
        "snapshot_time             {seconds:.6} secs.usecs\n\
         read_bytes                7 samples [bytes] 1 1048576 7000\n\
         write_bytes               {:015.0} samples [bytes] 1 1048576 {:020.0}\n",
        seconds * 1000.0,
        seconds * 1000.0 * 100_000.0
    )
}

/// Repeats a step in another thread until the end of what is asked.
pub fn while_working<T>(mut step: impl FnMut() + Send, asked: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                step();
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(asked));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
