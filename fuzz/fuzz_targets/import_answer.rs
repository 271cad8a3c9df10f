//! Answers of Prometheus, of any content: no crash, and the same count whether it comes at once or byte by byte.
#![no_main]

use std::io::Read;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_import::count_answer_values;

/// Hands over one byte at a time.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.0.len().min(buffer.len()).min(1);
        self.0.read(&mut buffer[..length])
    }
}

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("answer");
    let told = |result: Result<u64, _>| result.map_err(|error| error.to_string());
    let at_once = told(count_answer_values(path, bytes));
    if let Err(error) = &at_once {
        assert!(!error.contains('\n'), "{error}");
    }
    assert_eq!(at_once, told(count_answer_values(path, Slowly(bytes))));
});
