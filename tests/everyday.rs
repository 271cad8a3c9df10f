//! `plimsoll record` on programs of everyday life: they work as without it, and the recording
//! has what they did.

mod cat;
mod inlined;
pub mod strace;

use std::fs;
use std::process::{Command, Stdio};

use plimsoll_trace::{Class, Layer, Op};
use strace::{assert_same_as_strace, has_strace};

use crate::support::command::Outcome;
use crate::support::recording::{
    Process, all_finished, assert_nothing_lost, calls, has, processes, program, python, record,
    run_recorded,
};

#[test]
fn a_database_keeps_its_rows_and_every_sync() {
    if !has(&["sqlite3"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, db) = (folder.path().join("rec"), folder.path().join("rows.db"));
    let db = db.to_str().unwrap();
    let insert = |from: u32| {
        format!(
            "with recursive n(i) as (select {from} union all select i + 1 from n where i < {})
             insert into t select i, hex(randomblob(20)) from n;",
            from + 999
        )
    };
    let sql = format!("create table t(a, b); {} {} {}", insert(0), insert(1000), insert(2000));
    let outcome = run_recorded(&rec, &["sqlite3", db, &sql]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let recorded = processes(&rec);
    // Each of the four transactions is synced to the database.
    let syncs =
        calls(&recorded, Op::Fdatasync, "/rows.db").0 + calls(&recorded, Op::Fsync, "/rows.db").0;
    assert_eq!(syncs, 4);
    let size = fs::metadata(db).unwrap().len();
    let (_, bytes) = calls(&recorded, Op::Pwrite, "/rows.db");
    assert!(bytes >= size, "{bytes} of {size} bytes");
    let ask = "select count(*), min(a), max(a) from t; pragma integrity_check;";
    let rows = Command::new("sqlite3").args([db, ask]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&rows.stdout), "3000|0|2999\nok\n");
    if has_strace() {
        let journal = format!("{db}-journal");
        let more = format!("{} {}", insert(3000), insert(4000));
        assert_same_as_strace(folder.path(), &["sqlite3", db, &more], &[db, &journal]);
    }
}

#[test]
fn fio_writes_every_block_once() {
    if !has(&["fio"]) {
        return;
    }
    for how in ["--thread=0", "--thread=1"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (rec, out) = (folder.path().join("rec"), folder.path().join("out"));
        let job = "--name=job --ioengine=psync --rw=randwrite --bs=4k --size=1M --fallocate=none";
        let filename = format!("--filename={}", out.display());
        let mut command = vec!["fio", how, &filename];
        command.extend(job.split_whitespace());
        let outcome: Outcome = record(&rec)
            .arg("--")
            .args(&command)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into();
        assert_eq!(outcome.status, Some(0), "{how}: {}", outcome.stderr);
        let recorded = processes(&rec);
        assert_eq!(calls(&recorded, Op::Pwrite, "/out"), (256, 1 << 20), "{how}");
        let mut offsets: Vec<u64> = Vec::new();
        for process in &recorded {
            let writes = process.events.iter().filter(|it| it.op == Op::Pwrite);
            offsets.extend(writes.filter_map(|it| it.offset));
        }
        offsets.sort_unstable();
        assert_eq!(offsets, (0..256).map(|block| block * 4096).collect::<Vec<_>>(), "{how}");
        assert!(all_finished(&recorded), "{how}");
    }
}

#[test]
fn git_makes_a_sound_repository() {
    if !has(&["git"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let work = folder.path().join("tree");
    fs::create_dir(&work).unwrap();
    for index in 0..50 {
        fs::write(work.join(format!("file{index}")), format!("{index}\n").repeat(500)).unwrap();
    }
    let script = "git init -q . && git add . && \
        git -c user.name=a -c user.email=a@b commit -q -m first && git gc -q && git log --oneline | wc -l";
    let rec = folder.path().join("rec");
    let outcome: Outcome = record(&rec)
        .args(["--", "sh", "-c", script])
        .current_dir(&work)
        .envs([("HOME", folder.path().to_str().unwrap()), ("GIT_CONFIG_NOSYSTEM", "1")])
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), "1"), "{}", outcome.stderr);
    let check =
        Command::new("git").args(["fsck", "--full", "--strict"]).current_dir(&work).output();
    assert!(check.unwrap().status.success());
    let recorded = processes(&rec);
    assert!(all_finished(&recorded));
    for index in [0, 49] {
        let (reads, _) = calls(&recorded, Op::Read, &format!("/tree/file{index}"));
        let (maps, _) = calls(&recorded, Op::Mmap, &format!("/tree/file{index}"));
        assert!(reads + maps > 0, "file{index} was not read");
    }
}

#[test]
fn the_compiler_makes_the_same_object() {
    if !has(&["gcc"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let source = "#include <stdio.h>\nint main(void) { puts(\"fine\"); return 0; }\n";
    fs::write(folder.path().join("a.c"), source).unwrap();
    let object = || fs::read(folder.path().join("a.o")).unwrap();
    let compile = ["gcc", "-O2", "-g", "-c", "a.c", "-o", "a.o"];
    let plain = Command::new(compile[0]).args(&compile[1..]).current_dir(folder.path()).status();
    assert!(plain.unwrap().success());
    let expected = object();
    fs::remove_file(folder.path().join("a.o")).unwrap();

    let recorded = |name: &str, command: &[&str]| {
        let rec = folder.path().join(name);
        let mut whole = record(&rec);
        whole.arg("--").args(command).current_dir(folder.path());
        let outcome: Outcome = whole.output().unwrap().into();
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
        processes(&rec)
    };
    let processes = recorded("compile", &compile);
    assert!(object() == expected, "the object differs");
    assert!(all_finished(&processes));
    let written: u64 = processes.iter().map(|process| written_to(process, "/a.o")).sum();
    // The assembler seeks over gaps between sections.
    let size = expected.len() as u64;
    assert!(written > size / 2, "{written} of {size}");
    recorded("link", &["gcc", "a.o", "-o", "a"]);
    let run = Command::new(folder.path().join("a")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "fine\n");
}

/// Bytes that a process wrote to a file through system calls or streams.
fn written_to(process: &Process, path: &str) -> u64 {
    let is_it = |file: u32| process.files.get(&file).is_some_and(|name| name.ends_with(path));
    let events = process.events.iter().filter(|it| it.op.class() == Class::Write && it.depth == 0);
    let events = events.filter(|it| it.op.layer() != Layer::Mpi && is_it(it.file));
    events.map(|it| it.bytes()).sum()
}

#[test]
fn archives_and_copies_are_equal() {
    if !has(&["tar", "cp", "gzip"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for index in 0..20u32 {
        let bytes: Vec<u8> = (0..index * 5000).map(|byte| (byte * 7 + index) as u8).collect();
        fs::write(tree.join(index.to_string()), bytes).unwrap();
    }
    let script = "cp -a tree copy && tar czf t.tgz tree && mkdir back && tar xzf t.tgz -C back && \
        diff -r tree copy && diff -r tree back/tree && echo equal";
    let rec = folder.path().join("rec");
    let outcome: Outcome = record(&rec)
        .args(["--", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .unwrap()
        .into();
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "equal\n"),
        "{}",
        outcome.stderr
    );
    let recorded = processes(&rec);
    assert!(all_finished(&recorded));
    assert_eq!(calls(&recorded, Op::Write, "/back/tree/19").1, 19 * 5000);
}

#[test]
fn children_of_python_are_recorded_however_they_are_made() {
    let script = "
import multiprocessing, subprocess, sys, os
def work(index):
    with open('%s.%d' % (sys.argv[1], index), 'wb', 0) as file:
        for i in range(50):
            file.write(b'x' * 100)
    return os.getpid()
if __name__ == '__main__':
    for method, start in [('fork', 0), ('spawn', 10), ('forkserver', 20)]:
        with multiprocessing.get_context(method).Pool(3) as pool:
            assert os.getpid() not in pool.map(work, range(start, start + 6))
            pool.close()
            pool.join()
    for name in ['sub', 'popen']:
        subprocess.run(['dd', 'if=/dev/zero', 'of=' + sys.argv[1] + '.' + name, 'bs=1000', 'count=7', 'status=none'], check=True)
    print('done')
";
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (rec, file) = (folder.path().join("rec"), folder.path().join("script.py"));
    fs::write(&file, script).unwrap();
    let out = folder.path().join("out");
    let command = [python(), file.to_str().unwrap(), out.to_str().unwrap()];
    let outcome = run_recorded(&rec, &command);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(0), "done\n"),
        "{}",
        outcome.stderr
    );
    let recorded = processes(&rec);
    for start in [0, 10, 20] {
        for index in start..start + 6 {
            assert_eq!(
                calls(&recorded, Op::Write, &format!("/out.{index}")),
                (50, 5000),
                "{index}"
            );
        }
    }
    for name in ["sub", "popen"] {
        assert_eq!(calls(&recorded, Op::Write, &format!("/out.{name}")), (7, 7000), "{name}");
    }
    assert_nothing_lost(&recorded);
}

/// A library that opens a file before the recorder starts: the first call of the file began
/// before the file, and its time was 0 in reports.
#[test]
fn calls_before_main_lie_within_the_recording() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    let early = program("early.c", "cc", &["-shared", "-fPIC"]);
    assert!(record(&rec).args(["--", "true"]).env("LD_PRELOAD", early).status().unwrap().success());
    let recorded = processes(&rec);
    assert_eq!(calls(&recorded, Op::Fopen, "/etc/hostname").0, 1);
    for process in recorded {
        let (start, end) = process.span;
        assert!(process.events.iter().all(|it| start <= it.start && it.end <= end));
    }
}
