//! How the program fails: one line on stderr that says what to do, and exit status 2.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use clap::error::ErrorKind;
use plimsoll_bench::launcher::Launcher;

use crate::output;

/// Wrong use or environment.
const WRONG_USE: u8 = 2;

/// A launcher may end a job as soon as a process of it failed, and drop what the process has just said: on a
/// busy machine mpirun of MPICH 4.0 did in 4 of 60 jobs, and with this in none.
const TIME_TO_PASS_IT_ON: Duration = Duration::from_millis(200);

/// Returns the failure of a command that could not do its work.
pub fn of_command(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        // The reader has seen enough (`plimsoll … | head`).
        return ExitCode::SUCCESS;
    }
    let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
    say(&one_line(&chain.join(": ")));
    ExitCode::from(WRONG_USE)
}

/// Returns an error with the advice at its end, in one line.
pub fn with_advice(error: impl Display, advice: Option<String>) -> anyhow::Error {
    match advice {
        Some(advice) => anyhow!("{error}; hint: {advice}"),
        None => anyhow!("{error}"),
    }
}

/// Returns the failure of arguments that make no sense, or that ask for help or the version.
pub fn of_arguments(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing to be done when even the help text cannot be printed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(WRONG_USE);
    }
    // clap's text has the problem first, tips between, usage and a pointer to --help last.
    let text = error.to_string();
    let problem = text.split("\n\nUsage:").next().unwrap_or(&text);
    let problem = problem.split("\n\nFor more information").next().unwrap_or(problem);
    let problem = problem.strip_prefix("error: ").unwrap_or(problem);
    let (problem, tips) = problem.split_once("\n\n  tip: ").unwrap_or((problem, ""));
    let hint = match tips {
        "" => format!("see {} --help", command_of(&text)),
        tips => tips.replace("\n  tip: ", "; "),
    };
    say(&format!("{}; hint: {}", one_line(problem), one_line(&hint)));
    ExitCode::from(WRONG_USE)
}

/// Returns the failure of options that nobody typed: a file of settings gives them.
pub fn of_settings(error: &clap::Error, files: &[PathBuf]) -> ExitCode {
    say(&problem_of_settings(error, files));
    ExitCode::from(WRONG_USE)
}

/// Returns what is wrong with options that these files of settings give.
pub fn problem_of_settings(error: &clap::Error, files: &[PathBuf]) -> String {
    let text = error.to_string();
    let problem = text.split("\n\n").next().unwrap_or(&text);
    let problem = problem.strip_prefix("error: ").unwrap_or(problem);
    let files: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
    format!("{}; hint: {} says so", one_line(problem), files.join(" or "))
}

/// Returns the command whose usage a text of clap's shows: "plimsoll simulate".
fn command_of(text: &str) -> String {
    let usage = text.split_once("Usage: ").map_or("plimsoll", |(_, usage)| usage);
    let is_word = |word: &&str| word.chars().all(|it| it.is_ascii_lowercase() || it == '-');
    let words = usage.split_whitespace().take_while(is_word);
    words.take_while(|word| !word.starts_with('-')).collect::<Vec<_>>().join(" ")
}

fn say(problem: &str) {
    output::message(&format!("error: {problem}"));
    if Launcher::of_this_process().is_some() {
        std::thread::sleep(TIME_TO_PASS_IT_ON);
    }
}

/// One line that fits a screen. What a person typed may be long: the middle is left out,
/// so that the beginning and the reason at the end stay.
fn one_line(text: &str) -> String {
    const KEPT_AT_EACH_END: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = line.char_indices().nth(KEPT_AT_EACH_END);
    let resume = line.char_indices().rev().nth(KEPT_AT_EACH_END - 1);
    match (cut, resume) {
        (Some((cut, _)), Some((resume, _))) if cut < resume => {
            format!("{}...{}", &line[..cut], &line[resume..])
        }
        _ => line,
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
