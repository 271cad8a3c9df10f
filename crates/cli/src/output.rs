//! What the program prints: data on stdout, messages on stderr.

use std::io::Write;

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
