//! Recordings of any size, for examples that measure how fast they are read.

use std::error::Error;
use std::path::Path;

use plimsoll_trace::definition::DefinitionKind;
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Anchor;
use plimsoll_trace::{Op, ProcessWriter, Program};

/// Writes what one rank of `ranks` recorded: about this many events, of a pattern: `strided`, `random`,
/// `mpi` or `files`.
pub fn write(
    directory: &Path,
    rank: u32,
    ranks: u32,
    events: u64,
    pattern: &str,
) -> Result<(), Box<dyn Error>> {
    let program = Program {
        pid: 1000 + rank,
        rank: Some(rank),
        ranks,
        host: "node1".into(),
        boot_id: [1; 16],
        program: "throughput".into(),
        ..Program::default()
    };
    let start = Anchor { ticks: 1000, monotonic_ns: 1000, realtime_ns: 1_000_000_000 };
    let path = directory.join(format!("{rank}.rec"));
    let mut writer = ProcessWriter::create(&path, &program, start)?;
    writer.define(DefinitionKind::File, 1, 0, b"/data/shared")?;
    let files = if pattern == "files" { 20_000 } else { 1 };
    for file in 2..=files {
        let name = format!("/data/private.{rank}.{file}");
        writer.define(DefinitionKind::File, file, 0, name.as_bytes())?;
    }
    let (mut clock, mut random, mut written) = (2000, u64::from(rank) + 1, 0);
    while written < events {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        clock += 300 + random % 500;
        let offset = match pattern {
            "random" => random % (1 << 38),
            _ => written * 65536 + u64::from(rank) * 4096,
        };
        let file = if pattern == "files" { (random % u64::from(files)) as u32 + 1 } else { 1 };
        let mut put = |op, offset, length, start, end| {
            let outcome = Outcome::Value(length);
            let call = Call { op, file, offset, length, outcome, argument: 0, start, end };
            writer.call(0, &call)
        };
        // Durations vary as those of real calls do.
        let lasts = 600 + (random >> 20) % 300;
        if pattern == "mpi" {
            let begin = clock;
            put(Op::Enter, UNKNOWN_OFFSET, 0, begin, begin)?;
            put(Op::Lock, UNKNOWN_OFFSET, 0, begin + 50, begin + 200)?;
            put(Op::Pread, offset, 4096, begin + 250, begin + 600)?;
            put(Op::Pwrite, offset, 4096, begin + 650, begin + 650 + lasts)?;
            put(Op::Unlock, UNKNOWN_OFFSET, 0, begin + 700 + lasts, begin + 750 + lasts)?;
            put(Op::MpiWriteAt, offset, 4096, begin, begin + 800 + lasts)?;
            clock += 800 + lasts;
            written += 5;
        } else {
            put(Op::Pwrite, offset, 4096, clock, clock + lasts)?;
            clock += lasts;
            written += 1;
        }
    }
    writer.finish()?;
    Ok(())
}
