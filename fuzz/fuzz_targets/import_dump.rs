//! Dumps of databases, of any content: no crash, and the same count whether it comes at once or byte by byte.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::counts_the_same_slowly;
use plimsoll_import::count_dump_rows;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("dump");
    counts_the_same_slowly(bytes, |it| count_dump_rows(path, it), |it| count_dump_rows(path, it));
});
