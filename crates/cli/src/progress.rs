//! Signs of life of long work: a bar on a terminal, and now and then a line where a log is kept.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// Shorter work needs no bar.
const QUIET: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(100);

/// Time between two lines where stderr is no terminal. A batch job's log shows that the work goes on, and a
/// day of it is not more than 2,880 lines.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Names another time between lines, in whole seconds; 0 for no lines.
const VARIABLE: &str = "PLIMSOLL_PROGRESS_SECONDS";

/// Watches a counter until dropped. The work only counts; drawing happens elsewhere.
pub struct Progress {
    /// What has been done so far.
    pub done: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    teller: Option<JoinHandle<()>>,
}

impl Progress {
    /// Watches work of `total` steps (or bytes).
    pub fn new(what: &'static str, total: u64) -> Self {
        let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let work = Work { what, total, done: done.clone(), stop: stop.clone() };
        let teller = if std::io::stderr().is_terminal() {
            Some(std::thread::spawn(move || work.draw()))
        } else {
            between_lines().map(|pause| std::thread::spawn(move || work.tell_every(pause)))
        };
        Progress { done, stop, teller }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(teller) = self.teller.take() {
            teller.thread().unpark();
            // A panic while drawing is not worth another one.
            let _ = teller.join();
        }
    }
}

fn between_lines() -> Option<Duration> {
    let named = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    let pause = named.map_or(BETWEEN_LINES, Duration::from_secs);
    (!pause.is_zero()).then_some(pause)
}

struct Work {
    what: &'static str,
    total: u64,
    done: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn draw(&self) {
        let bar = ProgressBar::new(self.total);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}%, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(self.what);
        let start = Instant::now();
        while !self.is_over() {
            std::thread::park_timeout(REFRESH);
            if start.elapsed() > QUIET {
                bar.set_position(self.done.load(Ordering::Relaxed));
            }
        }
        bar.finish_and_clear();
    }

    fn tell_every(&self, pause: Duration) {
        let start = Instant::now();
        let mut next = pause;
        while !self.is_over() {
            match next.checked_sub(start.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::park_timeout(left),
                _ => {
                    let done = self.done.load(Ordering::Relaxed);
                    output::message(&line(self.what, done, self.total, start.elapsed()));
                    next += pause;
                }
            }
        }
    }
}

/// Returns how far the work is, for a log.
fn line(what: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let share = if total == 0 { 1.0 } else { done as f64 / total as f64 };
    let percent = 100.0 * share.min(1.0);
    format!("progress: {what}, {percent:.1} % after {} s", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_how_far_and_since_when() {
        let told = |done, total| line("measuring", done, total, Duration::from_millis(90_700));
        assert_eq!(told(1, 8), "progress: measuring, 12.5 % after 90 s");
        assert_eq!(told(9, 8), "progress: measuring, 100.0 % after 90 s");
        assert_eq!(told(0, 0), "progress: measuring, 100.0 % after 90 s");
    }
}
