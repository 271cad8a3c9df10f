//! What a text is, and what it adds to a reading.

use plimsoll_history::Measure;
use plimsoll_lustre::Parameter;
use plimsoll_machine::{parse_block_stat, parse_meminfo, parse_pressure, parse_processor_time};

use crate::draft::Draft;
use crate::lustre_input;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A parameter of Lustre's.
    Lustre(&'static Parameter),
    /// `/proc/stat`, with the milliseconds of a tick.
    Processors(u64),
    /// `/proc/meminfo`.
    Memory,
    /// `/proc/pressure/io`.
    IoPressure,
    /// `/proc/pressure/cpu`.
    ProcessorPressure,
    /// `/proc/pressure/memory`.
    MemoryPressure,
    /// `/sys/block/NAME/stat`.
    BlockDevice,
}

impl Input {
    /// Adds what the text says to a reading.
    pub fn take(self, bytes: &[u8], draft: &mut Draft<'_>) {
        if let Input::Lustre(parameter) = self {
            return lustre_input::take(parameter, bytes, draft);
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return draft.unknown(self.name(), bytes) };
        let understood = match self {
            Input::Lustre(_) => Some(()),
            Input::Processors(tick) => take_processors(text, tick, draft),
            Input::Memory => take_memory(text, draft),
            Input::BlockDevice => take_block_device(text, draft),
            Input::IoPressure | Input::ProcessorPressure | Input::MemoryPressure => {
                self.take_pressure(text, draft);
                Some(())
            }
        };
        if understood.is_none() {
            draft.unknown(self.name(), bytes);
        }
    }

    fn take_pressure(self, text: &str, draft: &mut Draft<'_>) {
        let pressure = parse_pressure(text);
        let (some, full) = match self {
            Input::IoPressure => (Measure::IoPressureSome, Some(Measure::IoPressureFull)),
            Input::MemoryPressure => {
                (Measure::MemoryPressureSome, Some(Measure::MemoryPressureFull))
            }
            // That all programs wait for a processor cannot be (Documentation/accounting/psi.rst).
            _ => (Measure::CpuPressureSome, None),
        };
        draft.put_known(some, pressure.some_microseconds);
        if let Some(full) = full {
            draft.put_known(full, pressure.full_microseconds);
        }
    }

    fn name(self) -> &'static str {
        match self {
            Input::Lustre(parameter) => parameter.leaf,
            Input::Processors(_) => "/proc/stat",
            Input::Memory => "/proc/meminfo",
            Input::IoPressure => "/proc/pressure/io",
            Input::ProcessorPressure => "/proc/pressure/cpu",
            Input::MemoryPressure => "/proc/pressure/memory",
            Input::BlockDevice => "/sys/block/*/stat",
        }
    }
}

fn take_processors(text: &str, tick: u64, draft: &mut Draft<'_>) -> Option<()> {
    let time = parse_processor_time(text)?;
    draft.put(Measure::CpuBusyTime, time.busy.saturating_mul(tick));
    draft.put(Measure::CpuTime, time.busy.saturating_add(time.idle).saturating_mul(tick));
    draft.put(Measure::CpuWaitTime, time.waiting.saturating_mul(tick));
    Some(())
}

fn take_memory(text: &str, draft: &mut Draft<'_>) -> Option<()> {
    let memory = parse_meminfo(text)?;
    draft.put(Measure::MemoryBytes, memory.total.get());
    draft.put(Measure::MemoryAvailableBytes, memory.available.get());
    draft.put_known(Measure::DirtyBytes, memory.dirty.map(|it| it.get()));
    draft.put_known(Measure::WritebackBytes, memory.under_write.map(|it| it.get()));
    Some(())
}

fn take_block_device(text: &str, draft: &mut Draft<'_>) -> Option<()> {
    let done = parse_block_stat(text)?;
    for (measure, value) in [
        (Measure::ReadBytes, Some(done.bytes_read().get())),
        (Measure::WrittenBytes, Some(done.bytes_written().get())),
        (Measure::ReadOperations, Some(done.reads)),
        (Measure::WriteOperations, Some(done.writes)),
        (Measure::ReadMerges, Some(done.read_merges)),
        (Measure::WriteMerges, Some(done.write_merges)),
        (Measure::ReadTime, Some(done.read_milliseconds)),
        (Measure::WriteTime, Some(done.write_milliseconds)),
        (Measure::InFlight, Some(done.in_flight)),
        (Measure::BusyTime, Some(done.busy_milliseconds)),
        (Measure::QueueTime, done.queue_milliseconds),
        (Measure::DiscardOperations, done.discards),
        (Measure::DiscardedBytes, done.bytes_discarded().map(|it| it.get())),
        (Measure::FlushOperations, done.flushes),
        (Measure::FlushTime, done.flush_milliseconds),
    ] {
        draft.put_known(measure, value);
    }
    Some(())
}
