//! What the program prints: data on stdout, messages on stderr.

use std::io::{self, IsTerminal, Stdout, Write};

use anyhow::Result;
use plimsoll_report::{Record, envelope, visible_json, visible_lines};

/// Whether people or programs read the result.
#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
}

impl Output {
    /// Prints a result: a title and a table for people, one JSON document for programs.
    /// `command` names the schema, with dots between the words of a subcommand.
    pub fn print(self, command: &str, title: &str, result: &Record) -> Result<()> {
        self.print_version(command, 1, title, result)
    }

    /// The same for a command that had to change its keys, and so the version of its schema.
    pub fn print_version(
        self,
        command: &str,
        version: u32,
        title: &str,
        result: &Record,
    ) -> Result<()> {
        if self.json {
            let json = format!("{:#}\n", envelope(command, version, result));
            return print(&visible_json(&json));
        }
        data(&format!("{title}\n\n{}", result.to_text()))
    }
}

/// Writes lines to stdout, without what would steer a terminal. Fails when nobody reads any more.
pub fn data(text: &str) -> Result<()> {
    print(&visible_lines(text))
}

fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// A message to the person at the terminal, without what would steer it.
pub fn message(text: &str) {
    // A closed stderr must not stop the work.
    let _ = writeln!(std::io::stderr(), "{}", visible_lines(text));
}

/// A long JSON document for stdout: byte for byte, but without what would steer a terminal if it is one.
pub struct JsonToStdout {
    stdout: Stdout,
    is_terminal: bool,
    /// The beginning of a character whose rest is to come.
    cut: Vec<u8>,
}

impl JsonToStdout {
    pub fn new() -> Self {
        let stdout = io::stdout();
        JsonToStdout { is_terminal: stdout.is_terminal(), stdout, cut: Vec::new() }
    }
}

impl Write for JsonToStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.stdout.write(bytes);
        }
        self.cut.extend_from_slice(bytes);
        self.stdout.write_all(visible_part(&mut self.cut).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Takes all whole characters away and spells out those that steer a terminal.
fn visible_part(bytes: &mut Vec<u8>) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let rest = bytes.split_off(whole);
    let text = visible_json(&String::from_utf8_lossy(bytes));
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_come_in_parts_are_spelled_out_as_well() {
        let (mut kept, mut shown) = (Vec::new(), String::new());
        for byte in "a\u{9b}2J\u{202e}é\n".bytes() {
            kept.push(byte);
            shown += &visible_part(&mut kept);
        }
        assert_eq!((shown.as_str(), kept.len()), ("a\\u009b2J\\u202eé\n", 0));
        kept.extend_from_slice(b"a\xffb");
        assert_eq!(visible_part(&mut kept), "a\u{fffd}b");
    }
}
