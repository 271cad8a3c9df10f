//! Cells of a heat map as short text: run lengths where they help, then base64.

/// Bytes as text for the script: `r` and (value, run - 1) pairs, or `b` and the bytes.
pub(crate) fn pack(bytes: &[u8]) -> String {
    let runs = runs(bytes);
    let (kind, packed) = if runs.len() < bytes.len() { ('r', &runs[..]) } else { ('b', bytes) };
    format!("{kind}{}", base64(packed))
}

fn runs(bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for byte in bytes {
        match out.as_mut_slice() {
            [.., value, more] if value == byte && *more < u8::MAX => *more += 1,
            _ => out.extend([*byte, 0]),
        }
    }
    out
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4u32 {
            let digit = (bits >> (18 - 6 * index)) & 63;
            let padding = index as usize > group.len();
            out.push(if padding { '=' } else { char::from(DIGITS[digit as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_rfc_4648_has_it() {
        for (plain, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }

    #[test]
    fn runs_are_used_where_shorter() {
        assert_eq!(pack(&[0; 300]), format!("r{}", base64(&[0, 255, 0, 43])));
        assert_eq!(pack(&[1, 2, 3]), format!("b{}", base64(&[1, 2, 3])));
        assert_eq!(pack(&[7, 7]), format!("b{}", base64(&[7, 7])), "as long either way");
    }
}
