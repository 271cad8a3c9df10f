use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

fn acquire(place: &Place) -> Lock {
    Lock::acquire(place, Patience::default()).unwrap()
}

#[test]
fn only_one_holds_the_lock_although_it_is_removed_in_between() {
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(&base.path().join("made/on/demand"), "bed").unwrap();
    let holders = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for round in 0..8 {
            let (place, holders) = (&place, &holders);
            scope.spawn(move || {
                for _ in 0..50 {
                    let lock = acquire(place);
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                    holders.fetch_sub(1, Ordering::SeqCst);
                    if round % 2 == 0 { lock.remove().unwrap() } else { lock.keep() }
                }
            });
        }
    });
}

#[test]
fn a_program_that_is_left_behind_keeps_the_lock() {
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(base.path(), "bed").unwrap();
    let lock = acquire(&place);
    let mut left_behind =
        std::process::Command::new("sleep").arg("1000").stdin(lock.as_stdin()).spawn().unwrap();
    lock.keep();
    let opened = Directory::open(base.path()).unwrap();
    let is_locked = || open(&opened, &place).unwrap().0.try_lock().is_err();
    let was_locked = is_locked();
    left_behind.kill().unwrap();
    left_behind.wait().unwrap();
    assert!(was_locked && !is_locked());
}

#[test]
fn one_locked_file_after_the_other_is_not_waited_for_without_end() {
    use std::sync::atomic::AtomicBool;
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(base.path(), "bed").unwrap();
    acquire(&place).keep();
    let (path, next) = (place.lock_file(), base.path().join("next"));
    let mut held = File::options().write(true).open(&path).unwrap();
    held.lock().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(POLL / 2);
                let successor = File::create(&next).unwrap();
                successor.lock().unwrap();
                fs::rename(&next, &path).unwrap();
                held = successor;
            }
        });
        let patience = Patience { told: None, at_most: Some(10 * POLL) };
        let outcome = Lock::acquire(&place, patience);
        is_over.store(true, Ordering::SeqCst);
        assert!(matches!(outcome, Err(TestbedError::Locked { .. })), "{outcome:?}");
    });
}

#[test]
fn whoever_waits_long_is_told_for_whom() {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(base.path(), "bed").unwrap();
    let lock = acquire(&place);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let tell = |waiting: Waiting| TOLD.store(waiting.pid.unwrap(), Ordering::SeqCst);
            let patience = Patience { told: Some(tell), at_most: None };
            drop(Lock::acquire(&place, patience).unwrap());
        });
        // A thread that failed has told nothing and never will.
        while TOLD.load(Ordering::SeqCst) == 0 && !waiting.is_finished() {
            std::thread::sleep(POLL);
        }
        drop(lock);
    });
    assert_eq!(TOLD.load(Ordering::SeqCst), std::process::id());
}

#[test]
fn a_file_and_directories_that_were_made_go_unless_kept() {
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(&base.path().join("made"), "bed").unwrap();
    drop(acquire(&place));
    assert!(!place.base().exists());
    let lock = acquire(&place);
    lock.note_unmarked(true).unwrap();
    lock.keep();
    let again = acquire(&place);
    assert!(again.is_unmarked(), "remembered");
    drop(again);
    assert!(place.lock_file().exists(), "it was there before");
    acquire(&place).remove().unwrap();
    assert!(!place.base().exists());
}

#[test]
fn a_symlink_or_a_fifo_is_not_used() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(base.path(), "bed").unwrap();
    let refused = || Lock::acquire(&place, Patience::default()).unwrap_err().to_string();
    std::os::unix::fs::symlink("/nonexistent/victim", place.lock_file()).unwrap();
    assert!(refused().contains(".bed.lock"), "{}", refused());
    fs::remove_file(place.lock_file()).unwrap();
    mknodat(CWD, place.lock_file(), FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert!(refused().contains("not a regular file"), "{}", refused());
    fs::remove_file(place.lock_file()).unwrap();
    let precious = base.path().join("precious");
    fs::write(&precious, "thesis").unwrap();
    fs::hard_link(&precious, place.lock_file()).unwrap();
    assert!(refused().contains("2 names"), "{}", refused());
    fs::remove_file(place.lock_file()).unwrap();
    // Given the name of the lock, by whoever may write to the directory.
    fs::rename(&precious, place.lock_file()).unwrap();
    assert!(refused().contains("something else"), "{}", refused());
    assert_eq!(fs::read_to_string(place.lock_file()).unwrap(), "thesis");
}

#[test]
fn whoever_waits_for_another_user_waits_for_a_while_only() {
    let base = tempfile::tempdir().unwrap();
    let place = Place::new(base.path(), "bed").unwrap();
    let _held = acquire(&place);
    let patience = Patience { told: None, at_most: Some(POLL) };
    let error = Lock::acquire_existing(&place, patience).unwrap_err();
    assert!(
        matches!(error, TestbedError::Locked { pid: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    assert!(error.hint().is_some_and(|it| it.contains("ps -p")), "{error}");
}
