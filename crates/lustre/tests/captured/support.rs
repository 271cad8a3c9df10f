//! Captured parameters of real servers and clients, unpacked.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A captured parameter: its name as `lctl` writes it, and its text.
pub struct Captured {
    pub origin: String,
    pub name: String,
    pub text: Vec<u8>,
}

/// Returns everything that was captured; `None`, with a word about it, where the samples are not there.
pub fn captured() -> Option<Vec<Captured>> {
    let folder = samples()?;
    let unpacked = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for archive in [
        "lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz",
        "lustre/iml_agent_2.9.58.tar.gz",
        "lustre/telegraf_lustre2_testcases.tar.gz",
        "lctl/whamcloud_collector_fixtures.tar.gz",
    ] {
        let place = unpacked.path().join(archive.replace('/', "-"));
        unpack(&folder.join(archive), &place);
        collect(&place, archive, &mut all);
    }
    for entry in std::fs::read_dir(folder.join("brw_stats")).unwrap() {
        let path = entry.unwrap().path();
        add_lctl("brw_stats", &std::fs::read(path).unwrap(), &mut all);
    }
    Some(all)
}

/// Unpacks an archive into a directory that it makes.
pub fn unpack(archive: &Path, place: &Path) {
    std::fs::create_dir(place).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(place).status();
    assert!(tar.is_ok_and(|status| status.success()), "cannot unpack {}", archive.display());
}

/// The folder of captured samples.
pub fn samples() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let folder = std::env::var_os("PLIMSOLL_SAMPLES").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: captured samples are not there (PLIMSOLL_SAMPLES names their folder)");
    None
}

fn collect(directory: &Path, archive: &str, all: &mut Vec<Captured>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, archive, all);
            continue;
        }
        let text = std::fs::read(&path).unwrap();
        let place = path.to_str().unwrap();
        if let Some(name) = name_of_file(place) {
            all.push(Captured { origin: archive.to_owned(), name, text });
        } else if archive.starts_with("lctl") && place.ends_with(".txt") {
            add_lctl(archive, &text, all);
        }
    }
}

/// The name of the parameter that a file of a captured tree is.
fn name_of_file(path: &str) -> Option<String> {
    if path.ends_with(".symlink") {
        return None;
    }
    for place in ["/fs/lustre/", "/debug/lustre/"] {
        if let Some((_, inside)) = path.split_once(place) {
            return Some(inside.replace('/', "."));
        }
    }
    if let Some((_, inside)) = path.split_once("/debug/lnet/") {
        return Some(format!("lnet.{inside}"));
    }
    // This capture has the whole name in the name of the file.
    path.split_once("/mds_mgs/")
        .filter(|(_, name)| !name.contains('/'))
        .map(|(_, name)| name.to_owned())
}

fn add_lctl(origin: &str, text: &[u8], all: &mut Vec<Captured>) {
    for (name, text) in plimsoll_lustre::parameter_text(text) {
        let (origin, name) = (origin.to_owned(), name.to_owned());
        all.push(Captured { origin, name, text: text.to_vec() });
    }
}
