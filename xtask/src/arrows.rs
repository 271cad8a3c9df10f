//! Rules about the crates: who may use whom, told in one table, and whether everybody uses what they may.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

use crate::tree::Source;

/// A crate and the crates that it uses.
type Arrows = (&'static str, &'static [&'static str]);

/// Who may use whom: arrows point down only. ARCHITECTURE.md shows the same list.
const MAY_USE: &[Arrows] = &[
    ("domain", &["guarded"]),
    ("guarded", &["trace"]),
    ("stats", &[]),
    ("stored", &[]),
    ("process", &[]),
    ("report", &["stats"]),
    ("trace", &[]),
    ("route", &["domain", "stats"]),
    ("node", &["guarded", "route"]),
    ("wire", &[]),
    ("preload", &["domain", "guarded", "pilot", "stow", "trace"]),
    ("explain", &["guarded", "report", "stats", "stored", "theory", "trace"]),
    ("stow", &["guarded", "lustre", "stats"]),
    ("mount", &["guarded", "stow"]),
    ("stow-c", &["report", "stow"]),
    ("pilot", &["guarded", "node", "route", "stats", "stow"]),
    ("table", &["guarded"]),
    ("export", &["explain", "table", "trace"]),
    ("lustre", &[]),
    ("theory", &["stats"]),
    ("machine", &["domain", "guarded", "lustre"]),
    ("monitor", &["guarded", "history", "lustre", "machine"]),
    ("testbed", &["domain", "guarded", "machine", "process"]),
    ("record", &["guarded", "machine", "trace"]),
    ("engine", &["domain", "guarded", "lustre", "stats"]),
    ("measures", &["domain", "guarded", "table"]),
    ("history", &["domain", "guarded", "stored", "table"]),
    ("analyze", &["history", "stats", "stored", "utilization"]),
    ("import", &["domain", "guarded", "history", "table"]),
    ("synth", &["history", "stats"]),
    ("utilization", &["history", "stored", "theory"]),
    ("live", &["history", "report", "utilization"]),
    ("score", &["domain", "measures", "stats"]),
    ("simulate", &["domain", "route", "stats", "theory"]),
    ("bench", &["domain", "engine", "guarded", "machine", "measures", "stats", "wire"]),
    (
        "race",
        &[
            "domain", "engine", "guarded", "machine", "node", "route", "stats", "testbed",
            "theory", "wire",
        ],
    ),
    ("calibrate", &["domain", "engine", "guarded", "machine", "stats"]),
    (
        "figures",
        &[
            "analyze",
            "bench",
            "calibrate",
            "domain",
            "explain",
            "machine",
            "measures",
            "race",
            "report",
            "route",
            "score",
            "simulate",
            "stats",
            "theory",
            "trace",
            "utilization",
        ],
    ),
    (
        "cli",
        &[
            "analyze",
            "bench",
            "calibrate",
            "domain",
            "explain",
            "export",
            "figures",
            "guarded",
            "history",
            "import",
            "live",
            "machine",
            "measures",
            "monitor",
            "mount",
            "pilot",
            "process",
            "race",
            "record",
            "report",
            "route",
            "score",
            "simulate",
            "stats",
            "stow",
            "synth",
            "testbed",
            "theory",
            "utilization",
        ],
    ),
];

/// The manifest of a crate.
pub struct Manifest {
    /// The crate's folder in crates/.
    name: String,
    text: String,
}

/// Reads the manifests of all crates.
pub fn manifests(root: &Path) -> Result<Vec<Manifest>> {
    let folders = fs::read_dir(root.join("crates")).context("cannot list crates/")?;
    let read = |folder: &Path| {
        let path = folder.join("Cargo.toml");
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path);
        Ok(Manifest {
            name,
            text: text.with_context(|| format!("cannot read {}", path.display()))?,
        })
    };
    folders.map(|entry| read(&entry?.path())).collect()
}

/// Complains about crates that use others than the table says.
pub fn direction(manifests: &[Manifest]) -> Result<Vec<String>> {
    differences(MAY_USE, manifests)
}

fn differences(table: &[Arrows], manifests: &[Manifest]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for Manifest { name, text } in manifests {
        let Some((_, allowed)) = table.iter().find(|(it, _)| it == name) else {
            complaints.push(format!("crates/{name}: not in xtask's list of who may use whom"));
            continue;
        };
        let dependencies = dependencies(text)?;
        let used: Vec<&str> =
            dependencies.iter().filter_map(|it| it.strip_prefix("plimsoll-")).collect();
        for it in used.iter().filter(|it| !allowed.contains(it)) {
            complaints.push(format!("crates/{name}: must not depend on {it}"));
        }
        for it in allowed.iter().filter(|it| !used.contains(it)) {
            complaints
                .push(format!("crates/{name}: may use {it} and does not; take it off the list"));
        }
    }
    let is_gone = |name: &str| !manifests.iter().any(|it| it.name == name);
    for (name, _) in table.iter().filter(|(name, _)| is_gone(name)) {
        complaints
            .push(format!("crates/{name}: is gone; take it off the list of who may use whom"));
    }
    Ok(complaints)
}

/// Complains about dependencies in a manifest that no source file of the crate names.
pub fn unused_dependencies(manifests: &[Manifest], sources: &[Source]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for Manifest { name, text } in manifests {
        let folder = Path::new("crates").join(name).join("src");
        let own: Vec<&str> = sources
            .iter()
            .filter(|source| source.path.starts_with(&folder))
            .map(|source| source.text.as_str())
            .collect();
        for dependency in dependencies(text)? {
            let word = dependency.replace('-', "_");
            if !own.iter().any(|text| names(text, &word)) {
                complaints.push(format!(
                    "crates/{name}: has {dependency} in its manifest and does not use it"
                ));
            }
        }
    }
    Ok(complaints)
}

/// Returns whether a text has a word, outside of line comments.
fn names(text: &str, word: &str) -> bool {
    let is_part_of_word = |it: char| it.is_alphanumeric() || it == '_';
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .any(|line| line.split(|it| !is_part_of_word(it)).any(|it| it == word))
}

/// Complains about crates for which ARCHITECTURE.md tells another list.
pub fn architecture(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("no ARCHITECTURE.md")?;
    Ok(untrue_lines(MAY_USE, &text))
}

fn untrue_lines(table: &[Arrows], architecture: &str) -> Vec<String> {
    let differs = |name: &str, allowed: &[&str]| {
        let expected = if allowed.is_empty() { "nothing".to_string() } else { allowed.join(", ") };
        let mut lines = architecture.lines().filter(|line| line.starts_with(&format!("  {name}/")));
        !lines.any(|line| line.rsplit("-> ").next().is_some_and(|list| list.trim() == expected))
    };
    let wrong = table.iter().filter(|(name, allowed)| differs(name, allowed));
    wrong.map(|(name, _)| format!("ARCHITECTURE.md: what {name} may use is not so")).collect()
}

fn dependencies(manifest: &str) -> Result<Vec<String>> {
    let document: DocumentMut = manifest.parse()?;
    let table = document.get("dependencies").and_then(Item::as_table);
    let names = table.into_iter().flat_map(|table| table.iter().map(|(name, _)| name));
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Arrows] = &[("top", &["middle", "bottom"]), ("bottom", &[])];

    fn manifest(name: &str, uses: &[&str]) -> Manifest {
        let lines: String = uses.iter().map(|it| format!("{it} = \"1\"\n")).collect();
        Manifest { name: name.into(), text: format!("[dependencies]\n{lines}") }
    }

    #[test]
    fn every_difference_from_the_table_is_told() {
        let bottom = || manifest("bottom", &["serde"]);
        let top = manifest("top", &["plimsoll-bottom", "plimsoll-middle"]);
        assert_eq!(differences(TABLE, &[top, bottom()]).unwrap(), [""; 0]);

        let upwards = manifest("bottom", &["plimsoll-top"]);
        let top = manifest("top", &["plimsoll-bottom"]);
        let strange = manifest("new", &[]);
        assert_eq!(
            differences(TABLE, &[top, upwards, strange]).unwrap(),
            [
                "crates/top: may use middle and does not; take it off the list",
                "crates/bottom: must not depend on top",
                "crates/new: not in xtask's list of who may use whom",
            ]
        );
        assert_eq!(
            differences(TABLE, &[bottom()]).unwrap(),
            ["crates/top: is gone; take it off the list of who may use whom"]
        );
    }

    #[test]
    fn a_dependency_that_no_source_names_is_told() {
        let manifests = [manifest("top", &["plimsoll-bottom", "serde"])];
        let source =
            |text: &str| [Source { path: "crates/top/src/a.rs".into(), text: text.into() }];
        let unused = |text| unused_dependencies(&manifests, &source(text)).unwrap();
        assert_eq!(unused("use plimsoll_bottom::A;\nuse serde::B;"), [""; 0]);
        assert_eq!(
            unused("use plimsoll_bottom::A;\nuse serde_json::B; // serde"),
            ["crates/top: has serde in its manifest and does not use it"]
        );
    }

    #[test]
    fn the_code_map_has_to_tell_the_same() {
        let page = "  top/    the top    -> middle, bottom\n  bottom/ the bottom -> nothing\n";
        assert_eq!(untrue_lines(TABLE, page), [""; 0]);
        let wrong = page.replace("nothing", "top");
        assert_eq!(untrue_lines(TABLE, &wrong), ["ARCHITECTURE.md: what bottom may use is not so"]);
    }
}
