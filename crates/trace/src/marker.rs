//! The file that makes a directory a recording. Processes that write there know the recording by its id: a path
//! may lead elsewhere by the time that they begin.

use core::ffi::CStr;

/// Its name for system calls.
pub const NAME_FOR_CALLS: &CStr = c"recording.txt";

/// Its name.
pub const NAME: &str = match NAME_FOR_CALLS.to_str() {
    Ok(name) => name,
    Err(_) => "",
};

/// Its first line.
pub const FIRST_LINE: &str = "plimsoll recording 1";

/// What its second line begins with; the id is behind it. Recordings of before have none.
pub const ID: &str = "id ";

/// How many bytes of it hold the id.
pub const ID_WITHIN_BYTES: usize = 128;

/// Returns true if the text is that of the recording with this id.
pub fn has_id(text: &[u8], id: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    let is_marker = lines.next() == Some(FIRST_LINE.as_bytes());
    // The last part of the text may be cut off.
    let line = lines.next().filter(|_| lines.next().is_some());
    is_marker && line.and_then(|line| line.strip_prefix(ID.as_bytes())) == Some(id)
}

/// Returns the id and the number of the user whose file it is in, as programs of the recording get them in a variable: others may
/// know the id, and could not make such a file.
pub fn split_variable(value: &[u8]) -> (&[u8], Option<u32>) {
    let dot = value.iter().position(|byte| *byte == b'.').unwrap_or(value.len());
    let (id, owner) = (value.get(..dot).unwrap_or(&[]), value.get(dot + 1..).unwrap_or(&[]));
    let add = |sum: u32, digit: &u8| {
        sum.checked_mul(10)?.checked_add(u32::from(digit.checked_sub(b'0').filter(|it| *it < 10)?))
    };
    let owner = if owner.is_empty() { None } else { owner.iter().try_fold(0, add) };
    (id, owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_the_id_and_perhaps_the_owner() {
        assert_eq!(split_variable(b"abc.1234"), (&b"abc"[..], Some(1234)));
        assert_eq!(split_variable(b"abc.4294967295"), (&b"abc"[..], Some(u32::MAX)));
        for odd in [&b"abc"[..], b"abc.", b"abc.4294967296", b"abc.1x"] {
            assert_eq!(split_variable(odd), (&b"abc"[..], None));
        }
    }

    #[test]
    fn an_id_is_a_whole_line_behind_the_first() {
        assert!(has_id(b"plimsoll recording 1\nid abc\nrun 7\n", b"abc"));
        for text in [
            &b"plimsoll recording 1\nid abcd\n"[..],
            b"plimsoll recording 1\nid abc",
            b"plimsoll recording 1\nrun 7\nid abc\n",
            b"another\nid abc\n",
            b"",
        ] {
            assert!(!has_id(text, b"abc"), "{}", text.escape_ascii());
        }
    }
}
