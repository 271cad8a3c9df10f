//! Files in directories that somebody else may write to.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};

use common::{DISK, burst, directory_in, reading};
use plimsoll_engine::{Burst, EngineError, Finished, Prepared, Source};
use plimsoll_guarded::Directory;

fn run(burst: &Burst, source: Source<'_>) -> Result<Finished, EngineError> {
    let mut prepared = Prepared::open(burst, source)?;
    prepared.transfer()?;
    prepared.finish()
}

#[test]
fn a_link_is_not_written_through() {
    let folder = directory_in(DISK);
    let (precious, planted) = (folder.path().join("precious"), folder.path().join("planted"));
    fs::write(&precious, "thesis").unwrap();
    symlink(&precious, &planted).unwrap();
    let directory = Directory::open(folder.path()).unwrap();
    let written = burst(std::slice::from_ref(&planted));
    for burst in [written.clone(), reading(&written)] {
        for source in [Source::Paths, Source::Directories(&[&directory])] {
            let error = run(&burst, source).unwrap_err().to_string();
            assert!(error.ends_with("planted: it is a symlink"), "{error}");
        }
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "thesis");
}

#[test]
fn files_are_made_where_the_directory_is_and_not_where_its_path_leads() {
    let folder = directory_in(DISK);
    let (ours, moved) = (folder.path().join("ours"), folder.path().join("moved"));
    fs::create_dir(&ours).unwrap();
    let directory = Directory::open(&ours).unwrap();
    let written = Burst { verify: true, ..burst(&[ours.join("file")]) };
    // Before the files are opened, the directory is exchanged.
    fs::rename(&ours, &moved).unwrap();
    fs::create_dir(&ours).unwrap();
    fs::write(ours.join("file"), "thesis").unwrap();
    let finished = run(&written, Source::Directories(&[&directory])).unwrap();
    assert_eq!(finished.verified, finished.bytes, "read back from where it was written");
    assert_eq!(fs::read_to_string(ours.join("file")).unwrap(), "thesis");
    assert_eq!(moved.join("file").metadata().unwrap().len(), finished.bytes.get());
}

#[test]
fn a_file_outside_of_the_directories_is_refused() {
    let folder = directory_in(DISK);
    let directory = Directory::open(folder.path()).unwrap();
    for path in [folder.path().join("deep/file"), "/var/tmp/plimsoll-file".into(), "file".into()] {
        let error = run(&burst(std::slice::from_ref(&path)), Source::Directories(&[&directory]));
        assert!(error.unwrap_err().to_string().contains("in none of the directories"));
        assert!(!path.exists());
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    let folder = directory_in(DISK);
    let directory = Directory::open(folder.path()).unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "theirs").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    std::os::unix::fs::chown(&path, Some(65533), None).unwrap();
    let error = run(&burst(std::slice::from_ref(&path)), Source::Directories(&[&directory]));
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("it belongs to user 65533, not to user 0"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}

#[test]
fn an_open_file_needs_no_name() {
    let folder = directory_in(DISK);
    let path = folder.path().join("file");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let written = Burst { verify: true, ..burst(&[path]) };
    let files = [file];
    let finished = run(&written, Source::Open(&files)).unwrap();
    assert_eq!(finished.verified, finished.bytes);
    assert_eq!(files[0].metadata().unwrap().len(), finished.bytes.get());
    run(&reading(&written), Source::Open(&files)).unwrap();
    assert!(run(&written, Source::Open(&[])).is_err());
}
