//! Several processes that do the same work at the same time: copies of the benchmark itself, which begin together.
//!
//! A benchmark calls [`work_if_asked`] first: a copy does its work there and ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::cpu_seconds;

/// What tells a copy that it is one; its work comes behind it.
const WORKER: &str = "--worker";

/// One of several processes, as it knows itself.
pub struct Worker {
    /// Its number among them.
    pub rank: usize,
    /// How many there are.
    pub of: usize,
    /// What it is asked to do.
    pub work: Vec<String>,
}

/// Does the work and returns true, if this process was started for that.
///
/// `prepare` is not measured; what it returns is.
///
/// # Errors
/// Fails if the work does.
pub fn work_if_asked<F: FnOnce() -> Result<()>>(
    prepare: impl FnOnce(Worker) -> Result<F>,
) -> Result<bool> {
    let mut arguments = std::env::args().skip_while(|it| it != WORKER).skip(1);
    let (Some(rank), Some(of)) = (arguments.next(), arguments.next()) else { return Ok(false) };
    let work = prepare(Worker { rank: rank.parse()?, of: of.parse()?, work: arguments.collect() })?;
    say("ready")?;
    std::io::stdin().read_exact(&mut [0])?;
    let start = cpu_seconds();
    work()?;
    say(&format!("done {}", cpu_seconds() - start))?;
    // Whatever its values do at their end is not measured: the parent has read "done" by then.
    Ok(true)
}

fn say(word: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{word}")?;
    Ok(out.flush()?)
}

/// Returns the seconds from the moment at which all may begin until the last one is done.
///
/// # Errors
/// Fails if one of them does.
pub fn seconds_of(processes: usize, work: &[&str]) -> Result<f64> {
    seconds_while(processes, work, || ())
}

/// Returns the seconds of processors that they take together, those of their first threads: others on the machine change these
/// less.
///
/// # Errors
/// Fails if one of them does.
pub fn cpu_seconds_of(processes: usize, work: &[&str]) -> Result<f64> {
    Ok(time_of(processes, work, || ())?.1)
}

/// As [`seconds_of`]; calls `meanwhile` when they have begun.
///
/// # Errors
/// Fails if one of them does.
pub fn seconds_while(processes: usize, work: &[&str], meanwhile: impl FnOnce()) -> Result<f64> {
    Ok(time_of(processes, work, meanwhile)?.0)
}

/// As [`seconds_of`] for other programs, which say and await the same words.
///
/// # Errors
/// Fails if one of them does.
pub fn seconds_of_programs(programs: impl Iterator<Item = Command>) -> Result<f64> {
    let crowd = programs.map(Member::start).collect::<Result<_>>()?;
    Ok(time_of_crowd(crowd, || ())?.0)
}

/// As [`cpu_seconds_of`], of copies that are started by a command which would start this benchmark.
///
/// # Errors
/// Fails if one of them does.
pub fn cpu_seconds_of_copies(
    processes: usize,
    work: &[&str],
    command: impl Fn() -> Result<Command>,
) -> Result<f64> {
    let copy = |rank: usize| Member::start(copy(command()?, rank, processes, work));
    Ok(time_of_crowd((0..processes).map(copy).collect::<Result<_>>()?, || ())?.1)
}

fn copy(mut command: Command, rank: usize, processes: usize, work: &[&str]) -> Command {
    command.args([WORKER, &rank.to_string(), &processes.to_string()]).args(work);
    command
}

/// Returns the seconds until the last one is done, and those of processors that all take together.
fn time_of(processes: usize, work: &[&str], meanwhile: impl FnOnce()) -> Result<(f64, f64)> {
    let copy = |rank: usize| {
        Member::start(copy(Command::new(std::env::current_exe()?), rank, processes, work))
    };
    time_of_crowd((0..processes).map(copy).collect::<Result<_>>()?, meanwhile)
}

fn time_of_crowd(mut crowd: Vec<Member>, meanwhile: impl FnOnce()) -> Result<(f64, f64)> {
    for member in &mut crowd {
        member.expect("ready")?;
    }
    let start = Instant::now();
    for member in &mut crowd {
        member.begin.write_all(b"!")?;
    }
    meanwhile();
    let mut cpu = 0.0;
    for member in &mut crowd {
        cpu += member.expect("done")?.parse::<f64>()?;
    }
    let took = start.elapsed().as_secs_f64();
    for mut member in crowd {
        ensure!(member.child.wait()?.success(), "a process failed at its end");
    }
    Ok((took, cpu))
}

struct Member {
    child: Child,
    begin: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Member {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let begin = child.stdin.take().context("no pipe")?;
        let says = BufReader::new(child.stdout.take().context("no pipe")?);
        Ok(Member { child, begin, says })
    }

    /// Returns what it says behind a word.
    fn expect(&mut self, word: &str) -> Result<String> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        let rest = line.strip_prefix(word);
        Ok(rest.with_context(|| format!("a process ended before it was {word}"))?.trim().into())
    }
}
