//! Bytes of records that no target keeps: they lie in a hole of a log, as where a restore left out zeros. Some kilobytes can claim any
//! number of them, so that they are neither copied nor read where that is not needed.

use std::ops::Range;

use super::Reader;
use crate::findings::Record;
use crate::index_entry::Extent;
use crate::pieces::Source;

impl Reader {
    /// Returns whether all bytes of this range of the file are zeros that no target keeps. What was written as zeros is kept.
    pub fn is_unstored(&self, range: Range<u64>) -> bool {
        self.pieces.of(range).all(|(range, piece)| match piece.map(|it| it.source) {
            Some(Source::Record(number)) => {
                self.is_hole(&self.records[number as usize].cut(&range))
            }
            Some(Source::Hole) => true,
            None => self.index.is_err(),
        })
    }

    /// Returns whether a record can be read and is what was written.
    pub(crate) fn is_true(&self, record: &Record) -> bool {
        let scan = self.logs.get(record.log as usize).map(|it| &it.scan);
        matches!(scan, Some(Ok(scan)) if scan.log().holds(record).unwrap_or(false))
    }

    /// Returns whether a log has only a hole there, and does not end before.
    fn is_hole(&self, extent: &Extent) -> bool {
        let scan = self.logs.get(extent.log as usize).map(|it| &it.scan);
        let Some(Ok(scan)) = scan else { return false };
        let end = extent.position + extent.length;
        let is_unstored = |data: Option<u64>| data.is_none_or(|it| it >= end);
        scan.log().data_from(extent.position).is_ok_and(is_unstored)
            && scan.log().size().is_ok_and(|size| size >= end)
    }
}
