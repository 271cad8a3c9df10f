//! What was gathered of a part of a recording, or of all of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ExplainError;
use crate::agreed::Agreed;
use crate::analysis::Analysis;
use crate::clock::Clock;
use crate::finish::finish;
use crate::process_pass::ProcessPass;
use crate::reader::{in_parallel, visit_events};
use crate::recording::Recording;
use crate::room::TotalsRoom;
use crate::sums::Sums;
use plimsoll_stored::{Malformed, NotSealed, Reader, Stored, open, seal};

/// Everything that a report needs of some processes of a recording: made by
/// [`Frame::gather`](crate::Frame::gather), merged in any order, written to a file and read back.
///
/// Merging is exact. Sums are whole numbers that stop at the largest one; of samples those with
/// the smallest hashes are kept, of slow calls the slowest; and lists that are cut short are cut
/// within one process, before anything is merged. So whatever the parts, and in whatever order
/// they are merged, [`Gathered::finish`] gives the same. The smallest part is a process: what it
/// touches twice, and which of its calls lie inside others, only those know who read all of it.
///
/// Its size does not depend on the number of events.
#[derive(Debug)]
pub struct Gathered {
    agreed: Arc<Agreed>,
    sums: Sums,
}

impl Gathered {
    /// Reads processes, the indices of which are in `order`.
    pub(crate) fn read(
        agreed: &Arc<Agreed>,
        clocks: &[Clock],
        order: &[usize],
        threads: usize,
        room: &TotalsRoom,
    ) -> Self {
        let processes = agreed.recording.processes();
        let states = in_parallel(
            threads,
            order.len(),
            || (Sums::new(agreed), Vec::new()),
            |(sums, buffer), turn| {
                if room.is_exceeded() {
                    sums.left_out += 1;
                    return;
                }
                let index = order[turn];
                let process = &processes[index];
                let mut pass = ProcessPass::new(agreed, sums, process, index, clocks[index]);
                match visit_events(process, buffer, &mut pass) {
                    Ok(undecodable) => pass.finish(undecodable),
                    Err(error) => {
                        pass.finish(0);
                        sums.warnings.push((index, error.to_string()));
                    }
                }
                sums.settle_last(room);
            },
        );
        let mut states = states.into_iter().map(|(sums, _)| sums);
        let mut sums = states.next().unwrap_or_else(|| Sums::new(agreed));
        states.for_each(|other| sums.merge(other));
        Gathered { agreed: Arc::clone(agreed), sums }
    }

    /// Adds what was gathered of other processes.
    ///
    /// # Errors
    /// If the other has another frame, or a process that is here already.
    pub fn merge(&mut self, other: Gathered) -> Result<(), ExplainError> {
        if !Arc::ptr_eq(&self.agreed, &other.agreed) && self.frame() != other.frame() {
            return Err(ExplainError::DifferentFrames {
                own: self.recording().directory().to_path_buf(),
                other: other.recording().directory().to_path_buf(),
            });
        }
        let own: BTreeSet<usize> = self.processes().collect();
        if let Some(twice) = other.processes().find(|process| own.contains(process)) {
            let process = self.recording().processes()[twice].label();
            return Err(ExplainError::GatheredTwice { process });
        }
        self.sums.merge(other.sums);
        Ok(())
    }

    /// Returns the recording that it is a part of.
    pub fn recording(&self) -> &Arc<Recording> {
        &self.agreed.recording
    }

    /// Returns how many processes were gathered.
    pub fn process_count(&self) -> usize {
        self.sums.processes.len()
    }

    /// Returns how many events were read.
    pub fn events(&self) -> u64 {
        self.sums.events
    }

    /// True when files of the runtime count as the program's own.
    pub fn includes_runtime(&self) -> bool {
        self.agreed.options.include_runtime
    }

    /// Makes sure that there was room for what all processes did that were to be gathered.
    ///
    /// # Errors
    /// If there was not. What was gathered can then neither be finished nor merged to a whole.
    pub fn require_room(&self) -> Result<(), ExplainError> {
        match self.sums.left_out {
            0 => Ok(()),
            left_out => Err(ExplainError::NoRoom { left_out }),
        }
    }

    /// Computes the report.
    ///
    /// # Errors
    /// If a process of the recording has not been gathered.
    pub fn finish(self) -> Result<Analysis, ExplainError> {
        self.require_room()?;
        let (gathered, processes) = (self.process_count(), self.agreed.processes());
        if gathered < processes {
            let own: BTreeSet<usize> = self.processes().collect();
            let first = (0..processes).find(|process| !own.contains(process)).unwrap_or(0);
            return Err(ExplainError::Incomplete {
                absent: processes - gathered,
                processes,
                first: self.recording().processes()[first].label(),
            });
        }
        Ok(finish(&self.agreed, self.sums))
    }

    /// Returns it as bytes: the same for the same processes, in whatever order they were gathered
    /// and merged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (frame, mut content) = (self.frame(), Vec::new());
        frame.len().put(&mut content);
        content.extend(frame);
        self.sums.put(&mut content);
        seal(MAGIC, VERSION, &content)
    }

    /// Reads what [`Gathered::to_bytes`] wrote.
    ///
    /// # Errors
    /// If it is something else, of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ExplainError> {
        let (version, content) = open(MAGIC, 1..=VERSION, bytes).map_err(|error| match error {
            NotSealed::Other => ExplainError::NotASummary,
            NotSealed::Version(version) => {
                ExplainError::SummaryVersion { version, readable: VERSION }
            }
            NotSealed::Damaged => ExplainError::DamagedSummary,
        })?;
        let mut reader = Reader::new(content, SUMMARY_MEMORY_MAX);
        Gathered::decode(&mut reader, version).map_err(|Malformed| {
            let is_too_much = reader.is_too_much();
            if is_too_much { ExplainError::TooMuch } else { ExplainError::DamagedSummary }
        })
    }

    /// True for bytes that begin as [`Gathered::to_bytes`] does.
    pub fn is_summary(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn decode(reader: &mut Reader<'_>, version: u32) -> Result<Self, Malformed> {
        let length = usize::get(reader)?;
        let behind = reader.left().checked_sub(length).ok_or(Malformed)?;
        let agreed = Agreed::get(reader)?;
        if reader.left() != behind {
            return Err(Malformed);
        }
        let sums = Sums::get(reader, &agreed, version)?;
        if reader.left() > 0 {
            return Err(Malformed);
        }
        Ok(Gathered { agreed: Arc::new(agreed), sums })
    }

    fn processes(&self) -> impl Iterator<Item = usize> {
        self.sums.processes.iter().map(|totals| totals.process)
    }

    fn frame(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.agreed.put(&mut out);
        out
    }
}

/// How a summary begins.
const MAGIC: &[u8] = b"plimsoll summary\n";

/// Memory for a summary that is read: as much as for what describes the processes of a recording. A process and what it
/// did take less than 2 KiB of it, and all that does not depend on their number takes less than 512 MiB.
pub(crate) const SUMMARY_MEMORY_MAX: usize = 2 << 30;

/// The version that is written; 2 added forced writes, 3 logs of containers. Older ones are read.
pub(crate) const VERSION: u32 = 3;
