//! What fuzz targets share.

use std::fmt::Display;
use std::io::Read;

/// Hands over one byte at a time.
pub struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.0.len().min(buffer.len()).min(1);
        self.0.read(&mut buffer[..length])
    }
}

/// Checks that what is counted, or said of it, is the same whether bytes come at once or one by one, and that errors have one line.
pub fn counts_the_same_slowly<E: Display>(
    bytes: &[u8],
    at_once: impl FnOnce(&[u8]) -> Result<u64, E>,
    slowly: impl FnOnce(Slowly<'_>) -> Result<u64, E>,
) {
    let told = |result: Result<u64, E>| result.map_err(|error| error.to_string());
    let at_once = told(at_once(bytes));
    if let Err(error) = &at_once {
        assert!(!error.contains('\n'), "{error}");
    }
    assert_eq!(at_once, told(slowly(Slowly(bytes))));
}
