//! Answers of Prometheus, of any content: no crash, and the same count whether it comes at once or byte by byte.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::counts_the_same_slowly;
use plimsoll_import::count_answer_values;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("answer");
    counts_the_same_slowly(bytes, |it| count_answer_values(path, it), |it| count_answer_values(path, it));
});
