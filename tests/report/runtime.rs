//! Files of the runtime are set apart from those of real programs.

use std::fs;

use serde_json::Value;

use super::json;
use crate::support::recording::{has, python, run_recorded};

fn paths(report: &Value) -> Vec<&str> {
    report["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect()
}

fn runtime<'a>(report: &'a Value, kind: &str) -> Option<&'a Value> {
    report["runtime"].as_array()?.iter().find(|it| it["kind"] == kind)
}

#[test]
fn modules_of_python_are_the_runtimes_and_its_data_is_not() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, table) = (folder.path().join("rec"), folder.path().join("table.csv"));
    fs::write(folder.path().join("mymodule.py"), "def rows():\n    return [[1, 2]] * 1000\n")
        .unwrap();
    let script = format!(
        "import sys; sys.path.insert(0, {:?})\n\
         import csv, json, email.parser, mymodule\n\
         with open({table:?}, 'w') as out: csv.writer(out).writerows(mymodule.rows())\n\
         print(len(open({table:?}).read()))",
        folder.path()
    );
    let main = folder.path().join("main.py");
    fs::write(&main, script).unwrap();
    for run in 0..2 {
        let rec = rec.with_extension(run.to_string());
        let outcome = run_recorded(&rec, &[python(), main.to_str().unwrap()]);
        assert_eq!(
            (outcome.status, outcome.stdout.as_str()),
            (Some(0), "4000\n"),
            "{}",
            outcome.stderr
        );
        let report = json(&["report", rec.to_str().unwrap()]);
        let paths = paths(&report);
        assert!(paths.contains(&table.to_str().unwrap()), "{paths:?}");
        let is_code = |path: &str| path.ends_with(".pyc") || path.contains("/lib/python3");
        assert!(!paths.iter().any(|path| is_code(path)), "{paths:?}");
        let modules = runtime(&report, "interpreter's modules").unwrap();
        assert!(modules["files"].as_u64().unwrap() > 10, "{modules}");
        let all = json(&["report", rec.to_str().unwrap(), "--include-runtime"]);
        assert!(self::paths(&all).iter().any(|path| is_code(path)));
        assert!(all.get("runtime").is_none());
    }
}

#[test]
fn a_library_that_a_compiler_writes_is_its_data() {
    if !has(&["cc"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, source) = (folder.path().join("rec"), folder.path().join("solve.c"));
    let library = folder.path().join("libsolve.so");
    fs::write(&source, "#include <stdio.h>\nint solve(void) { return puts(\"x\"); }\n").unwrap();
    let [from, to] = [&source, &library].map(|path| path.to_str().unwrap());
    let outcome = run_recorded(&rec, &["cc", "-shared", "-fPIC", "-o", to, from]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let report = json(&["report", rec.to_str().unwrap()]);
    let files = report["files"].as_array().unwrap();
    let of = |path: &str| files.iter().find(|it| it["path"] == path);
    let bytes = of(to).unwrap()["written_bytes"].as_u64().unwrap();
    // The linker leaves holes.
    assert!(bytes > 1000 && bytes <= fs::metadata(&library).unwrap().len(), "{bytes}");
    assert!(of(from).unwrap()["read_bytes"].as_u64().unwrap() > 0, "what it compiles");
    let is_header = |path: &&str| path.ends_with("/stdio.h");
    assert!(paths(&report).iter().any(is_header), "what it includes is its input");
}

#[test]
fn what_tar_is_told_to_pack_is_its_data() {
    if !has(&["tar"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let archive = folder.path().join("x.tar");
    let named = folder.path().join("named");
    let command = ["tar", "cf", archive.to_str().unwrap(), "/etc/hosts", "/etc/passwd"];
    assert_eq!(run_recorded(&named, &command).status, Some(0));
    let report = json(&["report", named.to_str().unwrap()]);
    let paths = paths(&report);
    for path in ["/etc/hosts", "/etc/passwd", archive.to_str().unwrap()] {
        assert!(paths.contains(&path), "{path}: {paths:?}");
    }
}
