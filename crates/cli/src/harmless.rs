//! Long output that may go to a terminal, which it must not steer.

use std::io::{self, IsTerminal, Write};

use plimsoll_report::{visible_json, visible_lines};

/// Passes everything on byte for byte, but without what would steer a terminal if it goes to one.
pub struct Harmless<W> {
    to: W,
    is_terminal: bool,
    spell: fn(&str) -> String,
    /// The beginning of a character whose rest is to come.
    cut: Vec<u8>,
}

impl<W: Write + IsTerminal> Harmless<W> {
    /// For lines of text.
    pub fn text(to: W) -> Self {
        Self::new(to, visible_lines)
    }

    /// For a JSON document, which means the same when it is shown.
    pub fn json(to: W) -> Self {
        Self::new(to, visible_json)
    }

    /// For a JSON document that may be shown later, wherever it goes now.
    pub fn always_json(to: W) -> Self {
        Harmless { is_terminal: true, ..Self::json(to) }
    }

    fn new(to: W, spell: fn(&str) -> String) -> Self {
        Harmless { is_terminal: to.is_terminal(), to, spell, cut: Vec::new() }
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        self.cut.extend_from_slice(bytes);
        let whole = take_whole_characters(&mut self.cut);
        self.to.write_all((self.spell)(&whole).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Takes all characters but a last one whose rest is still to come.
fn take_whole_characters(bytes: &mut Vec<u8>) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let rest = bytes.split_off(whole);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spell: fn(&str) -> String, parts: &[&[u8]], is_terminal: bool) -> Vec<u8> {
        let mut to = Vec::new();
        let mut harmless = Harmless { to: &mut to, is_terminal, spell, cut: Vec::new() };
        for part in parts {
            harmless.write_all(part).unwrap();
        }
        to
    }

    #[test]
    fn characters_that_come_in_parts_are_spelled_out_as_well() {
        let hostile = "a\u{9b}2J\u{202e}é\n";
        let bytes: Vec<&[u8]> = hostile.as_bytes().chunks(1).collect();
        assert_eq!(shown(visible_json, &bytes, true), "a\\u009b2J\\u202eé\n".as_bytes());
        assert_eq!(shown(visible_lines, &bytes, true), "a\\u{9b}2J\\u{202e}é\n".as_bytes());
        assert_eq!(shown(visible_lines, &[b"a\xffb"], true), "a\u{fffd}b".as_bytes());
        assert_eq!(shown(visible_lines, &bytes, false), hostile.as_bytes());
        assert_eq!(shown(visible_lines, &[b"a\xff\x1bb"], false), b"a\xff\x1bb");
    }
}
