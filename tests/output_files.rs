//! Files that commands write: never over others unless that is wanted, and never through a link.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::command::{Outcome, binary};
use crate::support::recording::run_recorded;

fn run(folder: &Path, arguments: &str) -> Outcome {
    binary().args(arguments.split_whitespace()).current_dir(folder).output().unwrap().into()
}

#[test]
fn every_output_refuses_what_exists_and_replaces_links_by_files() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    assert_eq!(run_recorded(&folder.path().join("rec"), &["true"]).status, Some(0));
    fs::write(folder.path().join("scenario.toml"), include_str!("../scenarios/quiet.toml"))
        .unwrap();
    let results = crate::support::measured::GOLDEN;
    let (page, precious) = (folder.path().join("out"), folder.path().join("precious"));
    for command in [
        "report rec --html out".to_string(),
        "export rec --to perfetto -o out".into(),
        "simulate scenario.toml --no-sweep --seeds 1 --html out".into(),
        format!("report {results} --html out"),
        format!("score {results} --html out"),
        format!("score {results} --csv out"),
    ] {
        let _ = fs::remove_file(&page);
        fs::write(&precious, "thesis").unwrap();
        symlink(&precious, &page).unwrap();
        let outcome = run(folder.path(), &command);
        assert_eq!(outcome.status, Some(2), "{command}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("out exists; hint: "), "{command}: {}", outcome.stderr);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        let outcome = run(folder.path(), &format!("{command} --force"));
        assert_eq!(outcome.status, Some(0), "{command}: {}", outcome.stderr);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
        assert!(fs::symlink_metadata(&page).unwrap().is_file(), "{command}");
        assert!(fs::metadata(&page).unwrap().len() > 100, "{command}");
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["out", "precious", "rec", "scenario.toml"], "{command}");
    }
}

#[test]
fn a_packed_row_without_end_is_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let pack =
        "(printf 'a,b\\n1,\"'; head -c 64M /dev/zero | tr '\\0' '\\n') | gzip -1 > table.csv.gz";
    assert!(
        Command::new("sh")
            .args(["-c", pack])
            .current_dir(folder.path())
            .status()
            .unwrap()
            .success()
    );
    let outcome = run(folder.path(), "score --from-csv table.csv.gz --value a");
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("a row has more than 1048576 bytes"), "{}", outcome.stderr);
}

#[test]
fn what_is_made_of_a_private_recording_is_private_too() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let rec = folder.path().join("rec");
    assert_eq!(run_recorded(&rec, &["true"]).status, Some(0));
    let results = folder.path().join("results");
    let copied =
        Command::new("cp").arg("-r").arg(crate::support::measured::GOLDEN).arg(&results).status();
    assert!(copied.unwrap().success());
    let commands = [
        "report rec --html out",
        "export rec --to perfetto -o out",
        "export rec --to parquet -o out",
        "report results --html out",
        "score results --html out",
        "score results --csv out",
    ];
    // Of a private one, whatever the mask; of others, what the mask lets.
    for (directory_mode, mask, file_mode) in
        [(0o700, 0o000, 0o600), (0o755, 0o022, 0o644), (0o755, 0o027, 0o640)]
    {
        for directory in [&rec, &results] {
            fs::set_permissions(directory, fs::Permissions::from_mode(directory_mode)).unwrap();
            // Those of the recording's files count as well.
            for file in fs::read_dir(directory).unwrap() {
                let mode = fs::Permissions::from_mode(directory_mode & 0o666);
                fs::set_permissions(file.unwrap().path(), mode).unwrap();
            }
        }
        for command in commands {
            let script =
                format!("umask {mask:03o}; {} {command} --force", binary().get_program().display());
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &script]).current_dir(folder.path());
            let outcome: Outcome = shell.output().unwrap().into();
            assert_eq!(outcome.status, Some(0), "{command}: {}", outcome.stderr);
            let mode = fs::metadata(folder.path().join("out")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, file_mode, "{command}, mask {mask:o}");
        }
    }
}

/// What others may not read stays theirs not to read, whatever the directory around it says.
#[test]
fn a_page_of_private_files_is_private() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let results = folder.path().join("results");
    let copied =
        Command::new("cp").arg("-r").arg(crate::support::measured::GOLDEN).arg(&results).status();
    assert!(copied.unwrap().success());
    fs::write(folder.path().join("scenario.toml"), include_str!("../scenarios/quiet.toml"))
        .unwrap();
    fs::write(folder.path().join("site.toml"), "version = 1\n").unwrap();
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&results, 0o755);
    let mode_of = |command: &str| {
        let script = format!("umask 022; {} {command} --force", binary().get_program().display());
        let mut shell = Command::new("sh");
        let outcome: Outcome =
            shell.args(["-c", &script]).current_dir(folder.path()).output().unwrap().into();
        assert_eq!(outcome.status, Some(0), "{command}: {}", outcome.stderr);
        let facts = fs::metadata(folder.path().join("out")).unwrap();
        facts.permissions().mode() & 0o777
    };
    let files: Vec<_> = fs::read_dir(&results).unwrap().map(|it| it.unwrap().path()).collect();
    for file in &files {
        set_mode(file, 0o644);
    }
    let of_results =
        ["report results --html out", "score results --html out", "score results --csv out"];
    for private in files {
        set_mode(&private, 0o600);
        for command in of_results {
            assert_eq!(mode_of(command), 0o600, "{command}, {}", private.display());
        }
        set_mode(&private, 0o644);
    }
    for (command, file) in [
        ("score results --site site.toml --html out", "site.toml"),
        ("score results --site site.toml --csv out", "site.toml"),
        ("simulate scenario.toml --no-sweep --seeds 1 --html out", "scenario.toml"),
    ] {
        for mode in [0o644, 0o600] {
            set_mode(&folder.path().join(file), mode);
            assert_eq!(mode_of(command), mode, "{command}");
        }
    }
}

/// The attack: results of somebody else have a link to a file of ours in place of one of theirs.
#[test]
fn links_of_others_in_results_are_not_followed() {
    if !crate::support::attacker::Attacker::can_be_had() {
        return;
    }
    let plant = |target: &Path, link: &Path| {
        symlink(target, link).unwrap();
        lchown(link, Some(65533), None).unwrap();
    };
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let results = folder.path().join("results");
    let copied =
        Command::new("cp").arg("-r").arg(crate::support::measured::GOLDEN).arg(&results).status();
    assert!(copied.unwrap().success());
    let private = folder.path().join("private.json");
    fs::write(&private, "{\"machine\": \"hunter2\"}").unwrap();
    let environment = results.join("environment.json");
    fs::remove_file(&environment).unwrap();
    plant(&private, &environment);
    for command in ["report results --html out", "score results --html out"] {
        let outcome = run(folder.path(), &format!("{command} --force"));
        let page = fs::read_to_string(folder.path().join("out")).unwrap_or_default();
        let all = [outcome.stdout, outcome.stderr, page].concat();
        assert!(!all.contains("hunter2"), "{command}");
        assert!(all.contains("symlink"), "{command} says why: {all}");
    }
    for name in ["pairs.parquet", "journal.ndjson"] {
        let (file, moved) = (results.join(name), folder.path().join(name));
        if fs::rename(&file, &moved).is_ok() {
            plant(&moved, &file);
        }
    }
    let outcome = run(folder.path(), "score results");
    assert!(outcome.status != Some(0) && outcome.stderr.contains("symlink"), "{}", outcome.stderr);
}
