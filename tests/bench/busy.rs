//! A benchmark beside programs that want all processors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use plimsoll_measures::Results;
use serde_json::Value;

use crate::support::command::plimsoll;
use crate::support::storage::Storage;

/// Threads that do nothing but take processors, until they are dropped.
struct Busy {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn on_all_processors() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let count = 2 * std::thread::available_parallelism().unwrap().get();
        let thread = |_| {
            let is_over = is_over.clone();
            std::thread::spawn(move || while !is_over.load(Ordering::Relaxed) {})
        };
        let threads = (0..count).map(thread).collect();
        Busy { is_over, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_busy_machine_is_noted_with_the_results_and_with_the_verdict() {
    let storage = Storage::with_targets(2);
    let busy = Busy::on_all_processors();
    let outcome = storage.bench("many-pairs --burst 16MiB --rounds 10 --rounds-max 10");
    drop(busy);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let note = |text: &str| {
        let line = text.lines().find(|it| it.contains("this machine was busy: in "));
        line.unwrap_or_else(|| panic!("{text}")).trim().to_string()
    };
    let said = note(&outcome.stderr);
    assert!(said.starts_with("note: this machine was busy: in "), "{said}");
    let results = Results::open(&storage.results()).unwrap();
    let count = |key: &str| results.summary["load"][key].as_u64().unwrap();
    assert!(count("busy") > 0 && count("busy") <= count("instances"), "{}", results.summary);
    assert_eq!(results.summary["result"]["busy_instances"], count("busy"));
    let kept = said.strip_prefix("note: ").unwrap();
    assert_eq!(results.summary["notes"], Value::from(vec![kept]));
    let scores = plimsoll(&format!("score {}", storage.results().display()));
    assert!(note(&scores.stdout).ends_with(kept), "{}", scores.stdout);
}
