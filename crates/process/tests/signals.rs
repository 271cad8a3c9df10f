//! Signals that a process leaves to its coordinator, and that of a file that is too large.

use std::process::Command;

/// In this file there is nothing else: handlers belong to the whole process.
#[test]
fn a_worker_survives_what_asks_to_end_and_what_it_starts_does_not() {
    plimsoll_process::leave_end_to_coordinator();
    plimsoll_process::outlive_limit_of_file_size();
    for signal in plimsoll_process::ASK_TO_END.into_iter().chain([libc::SIGXFSZ]) {
        // SAFETY: raise(3) takes any number, and the handler was installed above.
        assert_eq!(unsafe { libc::raise(signal) }, 0, "signal {signal}");
        let ended = Command::new("sh").args(["-c", &format!("kill -{signal} $$; exit 7")]).status();
        assert_eq!(ended.unwrap().code(), None, "signal {signal}");
    }
}
