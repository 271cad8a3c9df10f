//! pandas, pyarrow and DuckDB read the files, and what they write is read.

mod common;

use std::path::Path;
use std::process::Command;

use plimsoll_measures::{Instance, Journal, Results};
use serde_json::json;

/// Runs a script with the directory as its argument; nothing where the modules are missing.
fn python(modules: &str, script: &str, directory: &Path) -> Option<String> {
    let python = std::env::var_os("PLIMSOLL_PYTHON").unwrap_or_else(|| "python3".into());
    let run = |script: &str| Command::new(&python).arg("-c").arg(script).arg(directory).output();
    if !run(&format!("import {modules}")).is_ok_and(|it| it.status.success()) {
        println!("SKIPPED: no Python with {modules}; PLIMSOLL_PYTHON may name one");
        return None;
    }
    let output = run(script).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn finished(directory: &Path) -> Vec<Instance> {
    let mut journal = Journal::create(directory, "burst", "", &json!({})).unwrap();
    let instances: Vec<Instance> = (0..40).map(|number| common::instance(number, 3)).collect();
    for instance in &instances {
        journal.append(instance).unwrap();
    }
    journal.finish(true, json!({})).unwrap();
    instances
}

fn read(directory: &Path) -> Vec<Instance> {
    let results = Results::open(directory).unwrap();
    results.instances().unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn pyarrow_finds_types_and_metadata() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    finished(&directory);
    let script = r#"
import sys, pyarrow.parquet as parquet
for name in ("pairs", "instances"):
    table = parquet.read_table(f"{sys.argv[1]}/{name}.parquet")
    print(table.num_rows, table.schema.metadata[b"plimsoll.schema"].decode(),
          *(table.schema.field(it).type for it in ("run", "burst", "start", "varied")))
"#;
    let Some(output) = python("pyarrow.parquet", script, &directory) else { return };
    let types = "uint32 uint64 timestamp[ns, tz=UTC] string";
    assert_eq!(output, format!("120 plimsoll.pairs/1 {types}\n40 plimsoll.instances/1 {types}\n"));
}

#[test]
fn what_pandas_filtered_is_read() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    let all = finished(&directory);
    let script = r#"
import sys, pandas
for name in ("pairs", "instances"):
    frame = pandas.read_parquet(f"{sys.argv[1]}/{name}.parquet")
    frame["mine"] = 1.5
    frame = frame[frame["run"] == 1][sorted(frame.columns)]
    frame.to_parquet(f"{sys.argv[1]}/{name}.parquet")
"#;
    let Some(_) = python("pandas, pyarrow", script, &directory) else { return };
    let expected: Vec<Instance> = all.into_iter().filter(|it| it.run == 1).collect();
    assert_eq!(read(&directory), expected);
    let warnings = Results::open(&directory).unwrap().warnings;
    assert!(warnings.len() == 2 && warnings[0].contains("was changed"), "{warnings:?}");
}

#[test]
fn pairs_that_duckdb_wrote_elsewhere_are_read() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    let all = finished(&directory);
    let script = r#"
import sys, duckdb, os
here = sys.argv[1]
os.mkdir(f"{here}/slow")
duckdb.sql(f"""COPY (SELECT 7 AS mine, * FROM '{here}/pairs.parquet' WHERE target = 'ost0002'
    ORDER BY instance) TO '{here}/slow/pairs.parquet'""")
"#;
    let Some(_) = python("duckdb", script, &directory) else { return };
    let slow = directory.join("slow");
    assert!(Results::is_results(&slow));
    let results = Results::open(&slow).unwrap();
    assert_eq!(results.experiment, "burst");
    assert!(results.warnings.iter().any(|it| it.contains("no instances.parquet")));
    // Before version 2, DuckDB's times with a zone had microseconds.
    let whole_micros = |instance: &mut Instance| {
        for pair in &mut instance.pairs {
            (pair.start, pair.end) = (pair.start / 1000, pair.end / 1000);
        }
    };
    let (mut expected, mut found) = (all, read(&slow));
    expected.iter_mut().for_each(|it| it.pairs.retain(|pair| pair.target == "ost0002"));
    expected.iter_mut().for_each(whole_micros);
    found.iter_mut().for_each(whole_micros);
    assert!(found == expected);
}

#[test]
fn missing_and_mistyped_columns_are_named() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("results");
    finished(&directory);
    // With it, what is wrong with the other files is only warned of.
    std::fs::remove_file(directory.join("journal.ndjson")).unwrap();
    let cases = [
        (r#"frame.drop(columns="target")"#, r#"has no column "target""#),
        (r#"frame.assign(bytes="many")"#, r#"column "bytes" of "#),
        (r#"frame.assign(start=-1)"#, r#"column "start": is out of range"#),
        (r#"frame.assign(client=None, server=None)"#, r#"column "client""#),
        (r#"frame.iloc[::-1]"#, "ORDER BY instance"),
    ];
    for (change, complaint) in cases {
        let script = format!(
            r#"
import sys, pandas
path = f"{{sys.argv[1]}}/pairs.parquet"
frame = pandas.read_parquet(path)
{change}.to_parquet(path)
frame.to_parquet(path + ".before")
"#
        );
        let Some(_) = python("pandas, pyarrow", &script, &directory) else { return };
        let results = Results::open(&directory);
        let error = results
            .and_then(|results| results.instances()?.collect::<Result<Vec<_>, _>>())
            .expect_err(change);
        assert!(error.to_string().contains(complaint), "{change}: {error}");
        let path = directory.join("pairs.parquet");
        std::fs::rename(directory.join("pairs.parquet.before"), path).unwrap();
    }
}
