//! The header of a page, looked at before the page is read: the reader makes room for as many bytes as a compressed page
//! claims to become.

use std::io::{Error, Read};

use parquet::errors::ParquetError;

use crate::compact::{Compact, FieldKind, damaged};

/// No header is longer: it may hold the least and the largest value of its page.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// No more than this comes out of a byte that was compressed with Snappy, the only compression that is read: the element that
/// gives most takes three bytes for 64.
const SNAPPY_RATIO_MAX: u64 = 22;

/// The numbers of the fields that tell the size of a page, and its size in the file.
const BYTES: u64 = 2;
const COMPRESSED: u64 = 3;

/// Fails if a page claims to become larger than what it was compressed to allows, or if it cannot be told, because fields are
/// missing, come twice or are not in their order.
pub(crate) fn check_page_header(header: impl Read) -> Result<(), ParquetError> {
    let refused = |problem: String| ParquetError::General(problem);
    let (bytes, compressed) = sizes(header)
        .map_err(|_| refused("a page has a header that no known writer makes".into()))?;
    if bytes > compressed * SNAPPY_RATIO_MAX {
        return Err(refused(format!("a page of {compressed} bytes claims to become {bytes}")));
    }
    Ok(())
}

/// Returns the size of the page, and that in the file.
fn sizes(header: impl Read) -> Result<(u64, u64), Error> {
    let mut header = Compact::new(header, HEADER_BYTES_MAX);
    let mut found = [None; 2];
    let mut number = 0;
    while let Some((difference, kind)) = header.field()? {
        number += difference;
        match (number, kind) {
            (BYTES | COMPRESSED, FieldKind::Integer) => {
                found[(number - BYTES) as usize] = Some(header.size()?);
            }
            (BYTES | COMPRESSED, _) => return Err(damaged()),
            _ => header.skip(kind)?,
        }
    }
    let [Some(bytes), Some(compressed)] = found else { return Err(damaged()) };
    Ok((bytes, compressed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT_I32: u8 = 0x15;

    fn number(value: u64) -> Vec<u8> {
        let (mut bytes, mut value) = (Vec::new(), value << 1);
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// FieldKind, both sizes, and the header of a data page with four numbers and a text in its statistics.
    fn header(bytes: u64, compressed: u64) -> Vec<u8> {
        let mut all = vec![NEXT_I32, 0];
        for size in [bytes, compressed] {
            all.push(NEXT_I32);
            all.extend(number(size));
        }
        all.extend([0x2c, NEXT_I32, 20, NEXT_I32, 0, NEXT_I32, 6, NEXT_I32, 6]);
        all.extend([0x1c, 0x18, 2, b'a', b'b', 0x11, 0, 0, 0]);
        all
    }

    fn is_read(header: &[u8]) -> bool {
        check_page_header(header).is_ok()
    }

    #[test]
    fn a_page_becomes_no_larger_than_its_bytes_allow() {
        for (bytes, compressed) in [(0, 0), (220, 10), (22 << 20, 1 << 20), (1 << 30, 1 << 30)] {
            assert!(is_read(&header(bytes, compressed)), "{compressed} -> {bytes}");
            assert!(!is_read(&header(22 * compressed + 1, compressed)), "{compressed}");
        }
        assert!(!is_read(&header(i32::MAX as u64, 2000)));
        assert!(!is_read(&header(100, (1 << 32) + 100)), "it is cut to 32 bits later");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let usual = header(100, 100);
        for length in 0..usual.len() {
            assert!(!is_read(&usual[..length]), "{length} bytes");
        }
        let without_end = &usual[..usual.len() - 1];
        let twice = [without_end, &[0x05, 4], &number(1 << 30), &[0]].concat();
        let negative = [NEXT_I32, 0, NEXT_I32, 1, NEXT_I32, 20, 0];
        let deep = [vec![0x1c; 100], vec![0; 101]].concat();
        let endless = [vec![NEXT_I32], vec![0xff; 100]].concat();
        let missing = [NEXT_I32, 0, NEXT_I32, 20, 0];
        for hostile in [&twice[..], &negative, &deep, &endless, &missing, &[0x19, 0xff]] {
            assert!(!is_read(hostile), "{hostile:?}");
        }
    }

    #[test]
    fn a_header_without_end_is_not_read_for_ever() {
        let prefix = [&header(100, 100)[..], &[]].concat();
        let text = [&prefix[..prefix.len() - 1], &[0x18, 0xff, 0xff, 0xff, 0x7f]].concat();
        let mut endless = text.chain(std::io::repeat(0));
        assert!(check_page_header(&mut endless).is_err());
    }
}
