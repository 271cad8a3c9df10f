//! Sizes, rates, durations and limits as anyone may type them: what is accepted must print
//! and read back as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_domain::{Bytes, BytesPerSec, Limit, Nanos, OpsPerSec};

fn reads_back<T: std::str::FromStr + ToString + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let printed = value.to_string();
        assert!(printed.parse::<T>().is_ok_and(|again| again == value), "{text:?}, {printed:?}");
    }
}

fuzz_target!(|text: &str| {
    reads_back::<Bytes>(text);
    reads_back::<BytesPerSec>(text);
    reads_back::<OpsPerSec>(text);
    reads_back::<Nanos>(text);
    reads_back::<Limit>(text);
});
