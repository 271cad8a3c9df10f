//! What is known to be missing: programs that could not be recorded, and what recorded programs
//! did without the recorder seeing it.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_trace::definition::Definition;
use plimsoll_trace::{Extent, Unseen, WritingProcess};

use crate::process::{Process, ProcessState};
use crate::room::Room;
use crate::system_error;
use plimsoll_stored::{Malformed, Reader, Stored, stored};

/// A program that was started, as the process says that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    /// The new process; `None` when the process itself became the program.
    pid: Option<u32>,
    program: String,
    reason: Option<Unseen>,
    detail: String,
}

/// What a process says about what is not in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Programs that it started.
    pub started: Vec<Started>,
    /// The program that it became last.
    pub became: Option<Started>,
    /// What it does and is not recorded.
    pub gaps: BTreeSet<(Unseen, String)>,
    /// Children that could not create a file.
    pub children: u32,
    /// System error number of the last of them.
    pub children_errno: u32,
}

/// Programs of one process that are remembered.
const STARTED_MAX: usize = 1 << 16;

/// Gaps of one process that are remembered; there are few reasons.
const GAPS_MAX: usize = 16;

impl Told {
    /// Remembers a definition of a program.
    pub fn program(&mut self, definition: &Definition<'_>, room: &mut Room) {
        let mut parts = definition.text.splitn(2, |byte| *byte == 0);
        let mut part = || String::from_utf8_lossy(parts.next().unwrap_or(&[])).into_owned();
        let (program, detail) = (part(), part());
        let reason = Unseen::from_number(definition.value);
        let pid = (definition.number > 0).then_some(definition.number);
        if pid.is_none() {
            // An attempt before this one failed.
            self.became = None;
        }
        let is_kept = pid.is_none() || self.started.len() < STARTED_MAX;
        if is_kept && room.take_text(definition.text.len()) {
            let started = Started { pid, program, reason, detail };
            match pid {
                Some(_) => self.started.push(started),
                None => self.became = Some(started),
            }
        }
    }

    /// Remembers a definition of a gap.
    pub fn gap(&mut self, definition: &Definition<'_>, room: &mut Room) {
        if let Some(reason) = Unseen::from_number(definition.value)
            && self.gaps.len() < GAPS_MAX
            && room.take_text(definition.text.len())
        {
            self.gaps.insert((reason, String::from_utf8_lossy(definition.text).into_owned()));
        }
    }
}

/// A program of which something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenProgram {
    /// Its path.
    pub program: String,
    /// Why.
    pub reason: Unseen,
    /// What completes the reason; may be empty.
    pub detail: String,
    /// Processes that ran it.
    pub processes: u64,
}

impl UnseenProgram {
    /// Returns the reason in a few words.
    pub fn why(&self) -> String {
        if self.detail.is_empty() {
            self.reason.text().to_string()
        } else {
            format!("{} {}", self.reason.text(), self.detail)
        }
    }

    /// What of it is missing.
    pub const fn missing(&self) -> &'static str {
        match self.reason.extent() {
            Extent::Whole => "all of it",
            Extent::WholeAndChildren => "all of it and of what it starts",
            Extent::Part => "a part",
        }
    }
}

/// What is known to be missing in a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Processes that are known to have run, recorded or not.
    pub known_processes: u64,
    /// Those of them that could not be recorded, for a part of their life at least.
    pub unseen_processes: u64,
    /// What is missing, by program and reason; what most processes ran comes first.
    pub programs: Vec<UnseenProgram>,
}

/// A reason as summaries have it: by its number in recordings.
struct StoredReason(Unseen);

impl From<Unseen> for StoredReason {
    fn from(reason: Unseen) -> Self {
        StoredReason(reason)
    }
}

impl From<StoredReason> for Unseen {
    fn from(stored: StoredReason) -> Self {
        stored.0
    }
}

impl Stored for StoredReason {
    fn put(&self, out: &mut Vec<u8>) {
        (self.0 as u64).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Unseen::from_number(u64::get(from)?).map(StoredReason).ok_or(Malformed)
    }
}

stored! {
    UnseenProgram { program, reason as StoredReason, detail, processes }
    Missing { known_processes, unseen_processes, programs }
}

impl Missing {
    /// `empty_files` are those of processes that could not even begin theirs; `is_all` is false if there were more processes than are read.
    pub(crate) fn find(processes: &[Process], empty_files: u64, is_all: bool) -> Self {
        let mut sums = ProgramCounts::default();
        let lives = lives(processes);
        let recorded: BTreeSet<(&str, u32)> =
            processes.iter().map(|process| (process.host.as_str(), process.pid)).collect();
        let mut missing = Missing {
            known_processes: lives.len() as u64 + empty_files,
            unseen_processes: empty_files,
            programs: Vec::new(),
        };
        if empty_files > 0 {
            sums.add_many("(unknown)", Unseen::NoSpace, String::new(), empty_files);
        }
        let ranks = if is_all { missing_ranks(processes) } else { Vec::new() };
        for (program, ranks) in ranks {
            missing.known_processes = missing.known_processes.saturating_add(ranks);
            missing.unseen_processes = missing.unseen_processes.saturating_add(ranks);
            sums.add_many(program, Unseen::NoRank, String::new(), ranks);
        }
        for life in &lives {
            missing.unseen_processes += u64::from(sums.add_life(life));
        }
        for process in processes {
            for started in &process.told.started {
                let Some(pid) = started.pid else { continue };
                let is_new = !recorded.contains(&(process.host.as_str(), pid));
                missing.known_processes += u64::from(is_new);
                missing.unseen_processes += u64::from(sums.add(started));
            }
            let children = u64::from(process.told.children);
            missing.known_processes += children;
            missing.unseen_processes += children;
            if children > 0 {
                let reason = Unseen::NoFileOfChild;
                let error = system_error::describe(process.told.children_errno);
                let detail = format!("because of an error: {error}");
                sums.add_many(&process.program, reason, detail, children);
            }
            for (reason, detail) in &process.told.gaps {
                sums.add_many(&process.program, *reason, detail.clone(), 1);
            }
        }
        missing.programs = sums.finish();
        missing
    }

    /// Returns the same as sentences, for readers who read nothing else.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let is_part = |program: &&UnseenProgram| program.reason.extent() == Extent::Part;
        let whole: Vec<&UnseenProgram> = self.programs.iter().filter(|it| !is_part(it)).collect();
        if !whole.is_empty() {
            let (unseen, known) = (self.unseen_processes, self.known_processes);
            let s = if known == 1 { "process" } else { "processes" };
            let list = listed(&whole, |it| format!("{} ({})", it.program, it.why()));
            warnings.push(format!("{unseen} of {known} {s} could not be recorded: {list}"));
        }
        let parts: Vec<&UnseenProgram> = self.programs.iter().filter(is_part).collect();
        if !parts.is_empty() {
            let list = listed(&parts, |it| format!("{} {}", it.program, it.why()));
            warnings.push(format!("a part is missing: {list}"));
        }
        warnings
    }
}

/// Programs that a sentence names.
const NAMED_MAX: usize = 4;

fn listed(programs: &[&UnseenProgram], text: impl Fn(&UnseenProgram) -> String) -> String {
    let mut parts: Vec<String> = programs.iter().take(NAMED_MAX).map(|it| text(it)).collect();
    if let Some(more) = programs.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

/// Processes by program, reason and detail.
#[derive(Default)]
struct ProgramCounts(BTreeMap<(String, Unseen, String), u64>);

impl ProgramCounts {
    /// Adds the programs that one process became. Returns true when one of them is missing entirely.
    fn add_life(&mut self, life: &[&Process]) -> bool {
        let mut is_unseen = false;
        for (index, process) in life.iter().enumerate() {
            if process.state != ProcessState::Executed {
                continue;
            }
            let Some(became) = &process.told.became else { continue };
            is_unseen |= self.add(became);
            let is_last = index + 1 == life.len();
            if is_last && became.reason.is_none() && is_over(process) {
                self.add_many(&became.program, Unseen::NoFile, String::new(), 1);
                is_unseen = true;
            }
        }
        is_unseen
    }

    /// Adds a program that was started. Returns true when it is missing entirely.
    fn add(&mut self, started: &Started) -> bool {
        let Some(reason) = started.reason else { return false };
        self.add_many(&started.program, reason, started.detail.clone(), 1);
        reason.extent() != Extent::Part
    }

    fn add_many(&mut self, program: &str, reason: Unseen, detail: String, processes: u64) {
        *self.0.entry((program.to_string(), reason, detail)).or_default() += processes;
    }

    fn finish(self) -> Vec<UnseenProgram> {
        let programs = self.0.into_iter().map(|((program, reason, detail), processes)| {
            UnseenProgram { program, reason, detail, processes }
        });
        let mut programs: Vec<UnseenProgram> = programs.collect();
        programs.sort_by_key(|it| {
            (it.reason.extent() == Extent::Part, std::cmp::Reverse(it.processes))
        });
        programs
    }
}

/// Returns how many ranks of MPI_COMM_WORLD are missing, and the program of one that is there: each says how many they are, and in each run there is one of each number.
fn missing_ranks(processes: &[Process]) -> Vec<(&str, u64)> {
    let mut worlds: BTreeMap<u32, BTreeMap<u32, Vec<&Process>>> = BTreeMap::new();
    for process in processes {
        if let Some(rank) = process.rank.filter(|rank| *rank < process.ranks) {
            let world = worlds.entry(process.ranks).or_default();
            world.entry(rank).or_default().push(process);
        }
    }
    let missing = worlds.iter().filter_map(|(size, ranks)| {
        let runs = ranks.values().map(Vec::len).max()? as u64;
        let there = ranks.values().map(Vec::len).sum::<usize>() as u64;
        let program = ranks.values().flatten().next()?.program.as_str();
        Some((program, runs.saturating_mul(u64::from(*size)) - there))
    });
    missing.filter(|(_, missing)| *missing > 0).collect()
}

/// True when the process does not run any more: it keeps its number and its start time when it
/// becomes another program, which may not have made a call yet.
fn is_over(process: &Process) -> bool {
    process.open().is_ok_and(|file| file.writing_process() != WritingProcess::Running)
}

/// Start times of one process that were found out at different times are not farther apart.
const SAME_START_NS: u64 = 1_000_000_000;

/// Returns the files of each process: those of the programs that it became, one after the other.
/// Numbers of processes are used again, hence the start time.
fn lives(processes: &[Process]) -> Vec<Vec<&Process>> {
    let mut sorted: Vec<&Process> = processes.iter().collect();
    let began = |process: &Process| process.circumstances.began_ns;
    sorted.sort_by_key(|process| (&process.host, process.pid, began(process)));
    // What a process without /proc does not know, as in another root directory, may be anything.
    let is_same = |a: &Process, b: &Process| {
        let near = |a: u64, b: u64| a.abs_diff(b) <= SAME_START_NS;
        let boots = [a.clock.boot_id, b.clock.boot_id];
        (&a.host, a.pid) == (&b.host, b.pid)
            && began(a).zip(began(b)).is_none_or(|(a, b)| near(a, b))
            && (boots[0] == boots[1] || boots.contains(&[0; 16]))
    };
    let mut lives: Vec<Vec<&Process>> = Vec::new();
    for process in sorted {
        match lives.last_mut().filter(|life| is_same(life[life.len() - 1], process)) {
            Some(life) => life.push(process),
            None => lives.push(vec![process]),
        }
    }
    for life in &mut lives {
        life.sort_by_key(|process| process.clock.latest.monotonic_ns);
    }
    lives
}
