//! Files that commands write: never over others unless that is wanted, and never through a link.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
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
