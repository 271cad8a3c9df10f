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

#[cfg(test)]
mod tests {
    use super::*;

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
