//! Tables of runs with any content, packed or not: every row is a run or is counted, and none is made up.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_measures::runs::{Layout, LeftOut, RunsFile};

const TOKIO_ABC: &str = "_datetime_start,_file_system,darshan_app,darshan_nprocs,\
    darshan_biggest_read_api,darshan_biggest_read_api_bytes,darshan_biggest_write_api,\
    darshan_biggest_write_api_bytes,darshan_agg_perf_by_slowest_posix\n";
const COLUMNS: &str = "machine,rate,when\n";

// The first byte chooses the layout, whether its columns are there, and whether the table is packed.
fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, content)) = bytes.split_first() else { return };
    let (layout, headings) = if choice & 1 == 0 {
        (Layout::tokio_abc(), TOKIO_ABC)
    } else {
        let by = ["machine", "file"].map(str::to_string);
        (Layout::new(&by, "rate".to_string(), Some("when".to_string())), COLUMNS)
    };
    let headings = if choice & 2 == 0 { headings.as_bytes() } else { &[] };
    let name = if choice & 4 == 0 { "runs.csv" } else { "runs.csv.gz" };
    // Packed bytes are given as they are: most are damaged, which is to be found out.
    let table = if choice & 4 == 0 { [headings, content].concat() } else { content.to_vec() };
    let lines = table.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    let Ok(mut file) = RunsFile::read(Cursor::new(table), Path::new(name), &layout) else { return };
    let (mut runs, mut left_out) = (0, LeftOut::default());
    while let Ok(Some(run)) = file.next(&mut left_out) {
        assert!(run.value.is_finite(), "{run:?}");
        assert_eq!(run.key.len(), layout.keys().count());
        runs += 1;
    }
    // The line of the headings stands for the last one, which need not end. What is packed has more lines.
    assert!(choice & 4 != 0 || runs + left_out.total() <= lines);
});
