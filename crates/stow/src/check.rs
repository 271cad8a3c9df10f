//! Looks at all of a container, and takes back what was never durable.

use std::ops::Range;
use std::path::PathBuf;

use rustix::fs::OFlags;

use crate::container::ANCHOR;
use crate::error::Attempt;
use crate::findings::Trouble;
use crate::header::{SEQUENCE_MAX, SegmentHeader};
use crate::index_check::index_differs;
use crate::marker::MARKER;
use crate::noted::Standing;
use crate::small;
use crate::standing::{claim, standing_of, standing_to_change};
use crate::word::{Entry, PAGE_BYTES};
use crate::{Container, Id, Reader, StowError};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A log that the manifest lists cannot be read.
    MissingLog {
        /// Its number.
        log: u32,
        /// Why not.
        why: String,
    },
    /// It cannot be told what a segment says from here on.
    DamagedSegment {
        /// The number of its log.
        log: u32,
        /// Where in the log.
        position: u64,
    },
    /// The bytes are not those that were written.
    DamagedRecord {
        /// The number of its log.
        log: u32,
        /// Which bytes of the file it holds.
        range: Range<u64>,
        /// Whether any of them are still seen.
        is_seen: bool,
    },
    /// It was written and not made durable before its node went down: it counts as never written.
    Dropped {
        /// The number of its log.
        log: u32,
        /// Which bytes of the file it held, if that is known.
        range: Option<Range<u64>>,
    },
    /// Its logs are those of another container: it can be read, and not written.
    Copy {
        /// That one.
        original: PathBuf,
    },
    /// Its logs may be those of another container, where nobody can look.
    Displaced {
        /// Where that was.
        home: PathBuf,
    },
    /// Nothing beside its logs says whose they are: it can be read, and not written.
    Unnoted,
    /// The merged index says something else than the logs: whoever compares no checksums reads other bytes.
    Index,
    /// It can be read, and not written: there is no stamp that is later than all.
    UsedUp,
    /// A program wrote past the container.
    StrayBytes {
        /// How many bytes are in the anchor.
        bytes: u64,
    },
}

/// Compares every record with its checksum; `checked` is told the bytes of each.
///
/// # Errors
/// If the container itself cannot be read. What is wrong with its logs is told.
pub fn check(reader: &Reader, checked: &mut dyn FnMut(u64)) -> Result<Vec<Problem>, StowError> {
    // An index has no checksums of records.
    let reader = reader.scanned()?;
    let mut problems = Vec::new();
    for log in reader.logs() {
        if let Some(why) = log.missing {
            let why = match reader.container().is_unsynced() {
                true => format!("{why}; nothing in it was ever made durable"),
                false => why.into(),
            };
            problems.push(Problem::MissingLog { log: log.listed.number, why });
        }
    }
    problems.extend(reader.troubles().iter().map(problem_of));
    for record in reader.records() {
        if !reader.is_true(record) {
            let is_seen = reader.shows(record);
            problems.push(Problem::DamagedRecord {
                log: record.log,
                range: record.range(),
                is_seen,
            });
        }
        checked(u64::from(record.length));
    }
    let container = reader.container();
    match standing_of(container)? {
        Standing::Original => {}
        Standing::Copy(original) => problems.push(Problem::Copy { original }),
        Standing::Unknown(home) => problems.push(Problem::Displaced { home }),
        Standing::Unnoted => problems.push(Problem::Unnoted),
    }
    if index_differs(container)? {
        problems.push(Problem::Index);
    }
    if container.states().are_used_up() || reader.latest().sequence >= SEQUENCE_MAX {
        problems.push(Problem::UsedUp);
    }
    let anchor = container.directory().facts_of(ANCHOR);
    let bytes = anchor.attempt("look at", container.path().join(ANCHOR))?.st_size;
    if bytes != 0 {
        problems.push(Problem::StrayBytes { bytes: bytes.cast_unsigned() });
    }
    Ok(problems)
}

/// Takes back what was never durable, so that nobody has to look at it again, and makes the logs this container's if nobody can
/// look at the other one that they may belong to, or nothing says whose they are. Returns how many places were changed.
///
/// # Errors
/// If somebody writes to the container, if it is a copy, or if a log cannot be written to.
pub fn repair(container: &Container, troubles: &[Trouble]) -> Result<usize, StowError> {
    let alone = container.hold_alone()?;
    if let Some(marker) = alone.marker() {
        let path = || container.path().join(MARKER);
        let dropped = troubles.iter().filter_map(|it| match it {
            Trouble::Dropped { word_at, .. } => Some(*word_at),
            _ => None,
        });
        let voided = dropped.map(|at| small::void(marker, at).attempt("repair", path()));
        return voided.collect::<Result<Vec<()>, _>>().map(|it| it.len());
    }
    let listed = container.logs()?;
    let mut changed = match standing_to_change(container)? {
        Standing::Original => 0,
        Standing::Copy(original) => {
            return Err(StowError::Copy { path: container.path().into(), original });
        }
        Standing::Unknown(_) | Standing::Unnoted => claim(container).map(|()| 1)?,
    };
    for trouble in troubles {
        let (number, position, bytes) = match trouble {
            Trouble::Dropped { log, range: Some(_), word_at } => {
                (*log, *word_at, word(Entry::Void))
            }
            Trouble::Dropped { log, range: None, word_at } => (*log, *word_at, word(Entry::End)),
            Trouble::Headless { log, position, length } => {
                (*log, *position, empty_segment(container, *log, *position, *length))
            }
            Trouble::Damaged { .. } => continue,
        };
        let Some(listed) = listed.get(number as usize) else { continue };
        let name = format!("log {number} on target {}", listed.target);
        let log = container.open_log(listed, OFlags::RDWR).attempt("open", &name)?;
        log.write_all(&bytes, position).and_then(|()| log.sync()).attempt("repair", &name)?;
        changed += 1;
    }
    Ok(changed)
}

fn problem_of(trouble: &Trouble) -> Problem {
    match trouble {
        Trouble::Dropped { log, range, .. } => Problem::Dropped { log: *log, range: range.clone() },
        Trouble::Headless { log, .. } => Problem::Dropped { log: *log, range: None },
        Trouble::Damaged { log, position } => {
            Problem::DamagedSegment { log: *log, position: *position }
        }
    }
}

fn word(entry: Entry) -> Vec<u8> {
    entry.encode().0[0].to_le_bytes().to_vec()
}

/// A segment that says that it holds nothing.
fn empty_segment(container: &Container, log: u32, position: u64, length: u64) -> Vec<u8> {
    let header = SegmentHeader {
        container: container.id(),
        log,
        position,
        length: u32::try_from(length).unwrap_or(PAGE_BYTES as u32),
        seat: 1,
        stamp: 0,
        node: Id::from_bytes([0; 16]),
    };
    let mut bytes = header.encode().to_vec();
    bytes.extend(word(Entry::End));
    bytes
}
