//! A part of an analysis as one process hands it to another.

use plimsoll_history::Store;
use plimsoll_stored::{Malformed, NotSealed, Reader, Stored, open, seal};

use crate::agreed::{Agreed, Asked};
use crate::error::AnalyzeError;
use crate::{BesidePart, Frame, Partial, Wanted, summarize};

/// A part of an analysis, with what all parts agree on. Equal content is equal bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialFile {
    /// What the store is called.
    pub store: String,
    /// Which part it is, from 0 on,
    pub number: usize,
    /// and of how many.
    pub parts: usize,
    pub(crate) agreed: Agreed,
    pub(crate) partial: Partial,
    pub(crate) beside: BesidePart,
}

/// How a part begins.
const MAGIC: &[u8] = b"plimsoll analysis part\n";

/// The only version that is written and read: parts are made and joined by the same program. To be raised whenever what is in a part changes, or what it means.
pub const VERSION: u32 = 2;

/// What a part's bytes may be at most.
pub const PART_BYTES_MAX: u64 = 1 << 30;

/// Memory for a part that is read.
const MEMORY_MAX: usize = 4 << 30;

/// Days at the end that may become other files while they are read: today, and yesterday until it is put in order.
const LATEST_DAYS: usize = 2;

impl PartialFile {
    /// Reads one of several parts of a store, with so many threads.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read.
    pub fn read(
        store: &Store,
        name: &str,
        frame: &Frame,
        (number, parts): (usize, usize),
        wanted: &Wanted<'_>,
        threads: usize,
    ) -> Result<Self, AnalyzeError> {
        let settled = &frame.days[..frame.days.len().saturating_sub(LATEST_DAYS)];
        let fingerprint = store.fingerprint(settled)?;
        let days = frame.part(number, parts);
        let partial = summarize(store, frame, days, threads)?;
        let beside = BesidePart::read(store, frame, days, wanted, threads)?;
        let agreed = Agreed { asked: Asked::of(&frame.options), fingerprint, frame: frame.clone() };
        Ok(PartialFile { store: name.to_string(), number, parts, agreed, partial, beside })
    }

    /// Returns it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let PartialFile { store, number, parts, agreed, partial, beside } = self;
        let mut content = Vec::new();
        store.put(&mut content);
        (*number, *parts).put(&mut content);
        agreed.put(&mut content);
        partial.put(&mut content);
        beside.put(&mut content);
        seal(MAGIC, VERSION, &content)
    }

    /// Reads what [`PartialFile::to_bytes`] wrote.
    ///
    /// # Errors
    /// If it is something else, of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AnalyzeError> {
        let (_, content) = open(MAGIC, VERSION..=VERSION, bytes).map_err(|error| match error {
            NotSealed::Other => AnalyzeError::NoPart,
            NotSealed::Version(version) => AnalyzeError::OtherVersion { version, known: VERSION },
            NotSealed::Damaged => AnalyzeError::Damaged,
        })?;
        let mut reader = Reader::new(content, MEMORY_MAX);
        PartialFile::decode(&mut reader).map_err(|Malformed| {
            if reader.is_too_much() { AnalyzeError::TooMuch } else { AnalyzeError::Damaged }
        })
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let store = String::get(from)?;
        let (number, parts) = <(usize, usize)>::get(from)?;
        let agreed = Agreed::get(from)?;
        let partial = Partial::get(from)?;
        let beside = BesidePart::get(from)?;
        let is_one = number < parts && parts <= PARTS_MAX;
        let is_whole = is_one && from.left() == 0;
        if !is_whole || !partial.is_of(agreed.frame.part(number, parts), &agreed.frame) {
            return Err(Malformed);
        }
        Ok(PartialFile { store, number, parts, agreed, partial, beside })
    }
}

/// Parts that days are divided into at most.
pub const PARTS_MAX: usize = 1 << 20;
