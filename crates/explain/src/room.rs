//! How much of a recording, or of its summary, is held in memory, whatever its files say and however
//! many there are.

use std::mem::{size_of, size_of_val};
use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_report::words::grouped;
use plimsoll_trace::Chunk;

use crate::process::Process;
use plimsoll_stored::OF_TEXT;

/// 512 MiB. Full chunks of as many are 1 TiB.
const CHUNKS_MAX: usize = 1 << 24;

/// Numbers of files that processes use, 128 MiB.
const NUMBERS_MAX: usize = 1 << 24;

/// Of hints, notes, libraries and programs that were started.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Of what describes processes, and of what they did but for the operations: about half a million of them.
const PROCESS_BYTES_MAX: usize = 2 << 30;

/// Processes that a recording may have: there is no room for what describes more of them.
pub(crate) const PROCESSES_MAX: usize = PROCESS_BYTES_MAX / size_of::<Process>();

/// Totals that processes have together, one for each operation that a process called: 1.25 GiB. Few programs call more
/// than 30 of them, so that this is a million processes.
pub(crate) const OP_TOTALS_MAX: usize = 1 << 25;

/// Bytes of a summary's file. A process takes about 500 of them, with its name, its arguments and what it did,
/// and all that does not depend on their number takes a few MiB: this is a million processes.
pub const SUMMARY_BYTES_MAX: u64 = 512 << 20;

/// What a process takes beside its texts: what describes it, what it did but for the operations, and both in a report.
const OF_PROCESS: usize = size_of::<Process>() + OF_DEEDS;

/// What it did but for the operations, while it is added up and in a report.
pub(crate) const OF_DEEDS: usize = 2048;

/// What is left of it.
#[derive(Debug)]
pub(crate) struct Room {
    chunks: usize,
    numbers: usize,
    text_bytes: usize,
    process_bytes: usize,
    lacked: Lacked,
}

/// What there was no room for.
#[derive(Debug, Default)]
struct Lacked {
    chunks: bool,
    numbers: bool,
    texts: bool,
    processes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Room {
            chunks: CHUNKS_MAX,
            numbers: NUMBERS_MAX,
            text_bytes: TEXT_BYTES_MAX,
            process_bytes: PROCESS_BYTES_MAX,
            lacked: Lacked::default(),
        }
    }
}

impl Room {
    /// Returns how many chunks there is room for.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Takes room for these chunks.
    pub fn take_chunks(&mut self, chunks: &mut Vec<Chunk>) {
        chunks.shrink_to_fit();
        self.chunks = self.chunks.saturating_sub(chunks.len());
        self.lacked.chunks |= self.chunks == 0;
    }

    /// Takes room for the number of a file, if there is some.
    pub fn take_number(&mut self) -> bool {
        let is_there = self.numbers > 0;
        self.numbers = self.numbers.saturating_sub(1);
        self.lacked.numbers |= !is_there;
        is_there
    }

    /// Takes room for a text, if there is some.
    pub fn take_text(&mut self, bytes: usize) -> bool {
        // With what a list needs for it.
        let cost = bytes.saturating_add(OF_TEXT);
        let is_there = self.text_bytes >= cost;
        self.text_bytes -= if is_there { cost } else { 0 };
        self.lacked.texts |= !is_there;
        is_there
    }

    /// Takes room for a process, if there is some.
    pub fn take_process(&mut self, process: &Process) -> bool {
        let texts = [&process.host, &process.job, &process.program, &process.directory];
        let texts = texts.into_iter().chain(&process.arguments);
        let bytes: usize = texts.map(|text| text.len() + OF_TEXT).sum();
        let barriers = size_of_val(process.clock.barriers.as_slice());
        let cost = bytes + barriers + OF_PROCESS + process.path.as_os_str().len();
        let is_there = self.process_bytes >= cost;
        self.process_bytes -= if is_there { cost } else { 0 };
        self.lacked.processes += u64::from(!is_there);
        is_there
    }

    /// Says what there was no room for.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let Lacked { chunks, numbers, texts, processes } = self.lacked;
        [
            chunks.then(|| {
                let most = grouped(CHUNKS_MAX as u64);
                format!("only {most} chunks of events are read: the rest counts as damaged")
            }),
            numbers.then(|| {
                let most = grouped(NUMBERS_MAX as u64);
                format!("processes use files under more than {most} numbers: the rest is added up as one file")
            }),
            texts.then(|| {
                "hints, notes and programs that were started take more than 64 MiB: the rest is left out"
                    .to_string()
            }),
            (processes > 0).then(|| {
                let left_out = grouped(processes);
                format!("{left_out} processes are left out: what describes processes takes more than 2 GiB")
            }),
        ]
        .into_iter()
        .flatten()
    }
}

/// What is left of the room for what processes did by operation, which is not known before their events are read.
/// Whether there is enough does not depend on the order in which they are.
#[derive(Debug)]
pub(crate) struct TotalsRoom {
    most: usize,
    taken: AtomicUsize,
}

impl TotalsRoom {
    /// Room for this many totals of operations.
    pub fn new(most: usize) -> Self {
        TotalsRoom { most, taken: AtomicUsize::new(0) }
    }

    /// Takes room for this many, if there is some.
    pub fn take(&self, totals: usize) -> bool {
        self.taken.fetch_add(totals, Ordering::Relaxed).saturating_add(totals) <= self.most
    }

    /// Returns true once there was too little.
    pub fn is_exceeded(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::recording;

    #[test]
    fn the_last_chunk_that_there_is_room_for_is_told() {
        let (_directory, recording) = recording(1);
        let mut chunks = recording.processes()[0].chunks().to_vec();
        assert_eq!(chunks.len(), 1);
        let mut room = Room { chunks: 2, ..Room::default() };
        room.take_chunks(&mut chunks);
        assert_eq!((room.chunks(), room.warnings().count()), (1, 0));
        room.take_chunks(&mut chunks);
        room.take_chunks(&mut Vec::new());
        assert_eq!((room.chunks(), room.warnings().count()), (0, 1));
    }

    /// Its own size and that of what it did, its path and its texts, each of which needs more than its bytes.
    #[test]
    fn a_process_takes_what_describes_it() {
        let (_directory, recording) = recording(1);
        let process = &recording.processes()[0];
        let texts = process.host.len()
            + process.job.len()
            + process.program.len()
            + process.directory.len();
        let arguments: usize = process.arguments.iter().map(|it| it.len() + OF_TEXT).sum();
        let path = process.path.as_os_str().len();
        let barriers = 16 * process.clock.barriers.len();
        assert!(texts > 0 && path > 0 && barriers > 0);
        let cost = texts + 4 * OF_TEXT + arguments + path + barriers + OF_PROCESS;
        let mut room = Room { process_bytes: 2 * cost + cost / 2, ..Room::default() };
        let taken: Vec<bool> = (0..4).map(|_| room.take_process(process)).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(room.process_bytes, cost / 2);
        let warnings: Vec<String> = room.warnings().collect();
        assert!(warnings.len() == 1 && warnings[0].starts_with("2 processes are left out"));
    }

    #[test]
    fn there_is_room_for_so_much_and_what_finds_none_is_told() {
        let mut room = Room { numbers: 2, text_bytes: 2 * OF_TEXT + 10, ..Room::default() };
        assert_eq!(room.warnings().count(), 0);
        assert_eq!(
            [room.take_number(), room.take_number(), room.take_number()],
            [true, true, false]
        );
        assert_eq!([room.take_text(10), room.take_text(1), room.take_text(0)], [true, false, true]);
        let warnings: Vec<String> = room.warnings().collect();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("16,777,216 numbers") && warnings[1].contains("64 MiB"));
    }
}
