//! Files of the runtime, added up.

use std::cmp::Reverse;

use crate::agreed::Agreed;
use crate::analysis::{RuntimeFile, RuntimeSummary};
use crate::file_table::FileId;
use crate::file_totals::FileTotals;
use crate::runtime::RuntimeKind;
use crate::sums::Sums;

/// Takes the files of the runtime out of the sums, those with most time first.
pub(crate) fn runtime_files(agreed: &Agreed, sums: &mut Sums) -> Vec<RuntimeFile> {
    let totals = sums.runtime.iter_mut().map(Option::take).enumerate();
    let describe = |id: FileId, mut totals: Box<FileTotals>| {
        totals.ops.sort();
        // Files that no line of the table fits are a launcher's.
        let kind = agreed.runtime_rule(id).map_or(RuntimeKind::Mpi, |rule| rule.kind);
        let (path, processes) = (agreed.path(id).to_string(), totals.processes);
        let is_known = id > FileId::FOLDED;
        RuntimeFile { path, is_known, kind, processes, ops: totals.ops }
    };
    let mut files: Vec<RuntimeFile> =
        totals.filter_map(|(id, totals)| Some(describe(FileId(id as u32), totals?))).collect();
    // Of equal ones in the order of the table.
    files.sort_by_key(|file| Reverse(file.ops.all().nanos));
    files
}

/// Adds files of the runtime up by what they are for; kinds without files are left out.
pub(crate) fn runtime_summaries(files: &[RuntimeFile]) -> Vec<RuntimeSummary> {
    let of = |kind: RuntimeKind| {
        let mut sum = RuntimeSummary { kind, files: 0, ops: Default::default() };
        for file in files.iter().filter(|file| file.kind == kind) {
            sum.files += u64::from(file.is_known);
            sum.ops.merge(&file.ops);
        }
        sum.ops.sort();
        sum
    };
    RuntimeKind::ALL.map(of).into_iter().filter(|sum| sum.ops.all().calls > 0).collect()
}
