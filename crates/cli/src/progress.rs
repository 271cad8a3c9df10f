//! A progress bar for work longer than two seconds, on a terminal only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const QUIET: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(100);

/// Watches a counter until dropped. The work only counts; drawing happens elsewhere.
pub struct Progress {
    /// What has been done so far.
    pub done: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Watches work of `total` steps (or bytes).
    pub fn new(what: &'static str, total: u64) -> Self {
        let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        // indicatif draws nothing when stderr is not a terminal; then no thread is needed.
        let bar = ProgressBar::new(total);
        let drawer = (!bar.is_hidden()).then(|| {
            let (done, stop) = (done.clone(), stop.clone());
            std::thread::spawn(move || draw(&bar, what, &done, &stop))
        });
        Progress { done, stop, drawer }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            // A panic while drawing is not worth another one.
            let _ = drawer.join();
        }
    }
}

fn draw(bar: &ProgressBar, what: &'static str, done: &AtomicU64, stop: &AtomicBool) {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}%, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what);
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(REFRESH);
        if start.elapsed() > QUIET {
            bar.set_position(done.load(Ordering::Relaxed));
        }
    }
    bar.finish_and_clear();
}
