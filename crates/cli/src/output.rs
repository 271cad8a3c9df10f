//! What the program prints: data on stdout, messages on stderr.

use std::io::{BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use plimsoll_report::{Emphasis, Envelope, Layout, Record, StyledText, visible, visible_lines};
use rustix::termios::tcgetwinsize;

use crate::harmless::Harmless;

/// How results are printed.
#[derive(Clone, Copy, clap::Args)]
pub struct Output {
    /// Print JSON in base units (bytes, seconds) instead of tables
    #[arg(long, global = true)]
    pub json: bool,

    /// Show all columns of tables, and do not wrap text, however wide the terminal is
    #[arg(long, global = true)]
    wide: bool,

    /// Colour for headings, severities and verdicts: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_possible_values = true
    )]
    color: Colour,
}

/// When the output has colours.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Colour {
    /// On a terminal
    Auto,
    Always,
    Never,
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
            return print_json(&Envelope::new(command, version, result));
        }
        let mut text = heading(title);
        text.append(result.laid_out(self.layout()));
        print(&text.to_ansi())
    }

    /// Prints the answer to what a command was run for, after all else. Programs have the numbers.
    pub fn conclude(self, answer: &str) -> Result<()> {
        if self.json {
            return Ok(());
        }
        let record = Record::new().sentence("conclusion", answer);
        print(&format!("\n{}", record.laid_out(self.layout()).to_ansi()))
    }

    /// Chooses whether there are colours in what is printed from now on.
    pub fn choose_colour(self) {
        let choice = match self.color {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }

    /// Returns whether what goes to the terminal has colours.
    pub fn has_colours(self) -> bool {
        anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
    }

    fn layout(self) -> Layout {
        Layout { width: if self.wide { None } else { columns() } }
    }
}

/// A title is one line, whatever is in the path that it names.
fn heading(title: &str) -> StyledText {
    let mut text = StyledText::default();
    text.push(Emphasis::Strong, &visible(title));
    text.push(Emphasis::None, "\n\n");
    text
}

/// Returns the width of the terminal; elsewhere what the user says it is, and nothing if they do not say.
fn columns() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = if stdout.is_terminal() { tcgetwinsize(&stdout).ok() } else { None };
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).or_else(said)
}

/// Writes lines to stdout, without what would steer a terminal. Fails when nobody reads any more.
pub fn data(text: &str) -> Result<()> {
    print(&visible_lines(text))
}

/// The user has named stdout as the file to write, so that results would be in the midst of it.
static STDOUT_IS_A_FILE: AtomicBool = AtomicBool::new(false);

/// Has results go to stderr from now on: stdout has what the user asked for as a file.
pub fn leave_stdout_to_a_file() {
    STDOUT_IS_A_FILE.store(true, Ordering::Relaxed);
}

fn print_json(document: &Envelope<'_>) -> Result<()> {
    match STDOUT_IS_A_FILE.load(Ordering::Relaxed) {
        true => write_json(Harmless::always_json(std::io::stderr().lock()), document),
        false => write_json(Harmless::always_json(std::io::stdout().lock()), document),
    }
}

fn write_json(to: impl Write, document: &Envelope<'_>) -> Result<()> {
    let mut to = BufWriter::new(to);
    serde_json::to_writer_pretty(&mut to, document).map_err(std::io::Error::from)?;
    to.write_all(b"\n")?;
    to.flush()?;
    Ok(())
}

fn print(text: &str) -> Result<()> {
    if STDOUT_IS_A_FILE.load(Ordering::Relaxed) {
        // As with messages: a closed stderr must not stop the work.
        let _ = anstream::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// A message to the person at the terminal: one line, whatever names are in it, and without what would steer the terminal.
pub fn message(text: &str) {
    // A closed stderr must not stop the work.
    let _ = writeln!(std::io::stderr(), "{}", visible(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line break in a container's path could look like a result of its own.
    #[test]
    fn a_title_stays_one_line() {
        assert_eq!(heading("a\nb").to_plain(), "a\\u{a}b\n\n");
    }
}
