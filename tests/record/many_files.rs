//! More files than a report tells apart.

use serde_json::Value;

use crate::support::command::{Outcome, binary};
use crate::support::recording::{python, record};

/// The limit of 65,536 was silent.
#[test]
fn files_beyond_the_limit_are_added_up_and_the_report_says_so() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    // Names are enough to be files; each of the last hundred is written to as well.
    let script = "
import os
for number in range(70000):
    path = 'file%d' % number
    if number < 69900:
        os.access(path, os.F_OK)
    else:
        one = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(one, b'x' * 100)
        os.close(one)
";
    let options = ["--layers", "posix", "--include", "*/file*", "--", python(), "-c", script];
    let outcome: Outcome = record(&rec).args(options).current_dir(&folder).output().unwrap().into();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let report = binary().args(["report", "--json"]).arg(&rec).output().unwrap();
    assert!(report.status.success());
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let result = &report["result"];
    let notes = result["notes"].to_string();
    let expected = "4,464 of 70,000 files are added up as";
    assert!(notes.contains(expected), "{notes}");
    assert_eq!(result["folded_files"], 4464);
    let total = |operation: &str, key: &str| {
        let rows = result["totals"].as_array().unwrap();
        rows.iter().find(|it| it["operation"] == operation).unwrap()[key].as_u64().unwrap()
    };
    assert_eq!((total("access", "calls"), total("write", "bytes")), (69_900, 10_000));
    let files = result["files"].as_array().unwrap();
    let sum = |key: &str| files.iter().map(|it| it[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("written_bytes"), 10_000, "what is added up is counted once");
    let others = files.iter().find(|it| it["path"] == "(other files)").unwrap();
    assert_eq!(others["written_bytes"], 10_000);
}
