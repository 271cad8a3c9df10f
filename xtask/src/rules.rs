//! Rules about the tree that the compiler does not know.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

use crate::tree::Source;

/// Who may use whom: arrows point down only. ARCHITECTURE.md shows the same list.
const MAY_USE: &[(&str, &[&str])] = &[
    ("domain", &["guarded"]),
    ("guarded", &[]),
    ("stats", &[]),
    ("report", &[]),
    ("trace", &[]),
    ("route", &["domain"]),
    ("wire", &[]),
    ("preload", &["trace"]),
    ("explain", &["report", "stats", "trace"]),
    ("table", &["guarded"]),
    ("export", &["explain", "table", "trace"]),
    ("theory", &["stats"]),
    ("machine", &["domain"]),
    ("testbed", &["domain", "guarded", "machine"]),
    ("record", &["guarded", "machine", "trace"]),
    ("engine", &["domain", "guarded"]),
    ("measures", &["domain", "guarded", "table"]),
    ("score", &["domain", "measures", "stats"]),
    ("figures", &["domain", "measures", "report", "score", "stats"]),
    ("simulate", &["domain", "route", "stats", "theory"]),
    ("bench", &["domain", "engine", "guarded", "machine", "measures", "stats", "wire"]),
    ("race", &["domain", "engine", "guarded", "route", "stats", "testbed", "theory", "wire"]),
    ("calibrate", &["domain", "engine", "guarded", "machine", "stats"]),
    (
        "cli",
        &[
            "bench",
            "calibrate",
            "domain",
            "engine",
            "explain",
            "export",
            "figures",
            "guarded",
            "machine",
            "measures",
            "race",
            "record",
            "report",
            "route",
            "score",
            "simulate",
            "stats",
            "testbed",
            "theory",
            "trace",
        ],
    ),
];

/// Complains about a crate that uses one that it may not, or that the list does not know.
pub fn dependency_direction(root: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for entry in fs::read_dir(root.join("crates")).context("cannot list crates/")? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let Some((_, allowed)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            complaints.push(format!("crates/{name}: not in xtask's list of who may use whom"));
            continue;
        };
        for used in used_crates(&text)? {
            if !allowed.contains(&used.as_str()) {
                complaints.push(format!("crates/{name}: must not depend on {used}"));
            }
        }
    }
    Ok(complaints)
}

/// Complains about a crate whose line in ARCHITECTURE.md tells another list.
pub fn architecture_is_true(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("no ARCHITECTURE.md")?;
    let differs = |name: &str, allowed: &[&str]| {
        let expected = if allowed.is_empty() { "nothing".to_string() } else { allowed.join(", ") };
        let mut lines = text.lines().filter(|line| line.starts_with(&format!("  {name}/")));
        !lines.any(|line| line.rsplit("-> ").next().is_some_and(|list| list.trim() == expected))
    };
    let wrong = MAY_USE.iter().filter(|(name, allowed)| differs(name, allowed));
    Ok(wrong.map(|(name, _)| format!("ARCHITECTURE.md: what {name} may use is not so")).collect())
}

fn used_crates(manifest: &str) -> Result<Vec<String>> {
    let document: DocumentMut = manifest.parse()?;
    let dependencies = document.get("dependencies").and_then(Item::as_table);
    let names = dependencies.into_iter().flat_map(|table| table.iter().map(|(name, _)| name));
    Ok(names.filter_map(|name| name.strip_prefix("plimsoll-")).map(str::to_owned).collect())
}

/// A file longer than this is split by concept, but never through a type: a type stays in one file
/// with its impl, its fields closed. Such a file gets an entry in the ratchet, with its reason.
const LINES_MAX: usize = 400;
const RATCHET: &str = "xtask/size-ratchet.txt";

/// Complains about files that are too long, and about ratchet entries that could be lower.
pub fn file_sizes(root: &Path, sources: &[Source]) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(RATCHET)).context("cannot read the size ratchet")?;
    let mut allowed: BTreeMap<PathBuf, usize> = parse_ratchet(&text)?;
    let mut complaints = Vec::new();
    for source in sources {
        let lines = source.text.lines().count();
        let path = source.path.display();
        match allowed.remove(&source.path) {
            Some(most) if lines > most => {
                complaints.push(format!("{path}: {lines} lines, the ratchet allows {most}"));
            }
            Some(most) if lines < most => {
                complaints.push(format!("{path}: now {lines} lines; lower {RATCHET} from {most}"));
            }
            None if lines > LINES_MAX => {
                complaints.push(format!("{path}: {lines} lines, more than {LINES_MAX}; split it by concept, or list it in {RATCHET} if it is one type"));
            }
            _ => {}
        }
    }
    complaints.extend(allowed.keys().map(|path| format!("{RATCHET}: {} is gone", path.display())));
    Ok(complaints)
}

fn parse_ratchet(text: &str) -> Result<BTreeMap<PathBuf, usize>> {
    let entries = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    entries
        .map(|line| {
            let (lines, path) = line.split_once(' ').context("ratchet lines are: LINES PATH")?;
            Ok((PathBuf::from(path.trim()), lines.parse()?))
        })
        .collect()
}

/// Complains about `unsafe` whose reason is not within five lines above.
pub fn unsafe_without_reason(source: &Source) -> Vec<String> {
    const LINES_ABOVE: usize = 5;
    let lines: Vec<&str> = source.text.lines().collect();
    let mut complaints = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        // An unsafe function tells its conditions in its documentation, not above its name.
        let is_unsafe =
            UNSAFE_FORMS.iter().any(|form| code.contains(form)) && !code.contains(" fn");
        let above = &lines[index.saturating_sub(LINES_ABOVE)..=index];
        if is_unsafe && !above.iter().any(|line| line.contains("SAFETY")) {
            let path = source.path.display();
            complaints.push(format!("{path}:{}: unsafe without a SAFETY comment", index + 1));
        }
    }
    complaints
}

/// Split so that this file does not complain about itself.
const UNSAFE_FORMS: [&str; 4] = [
    concat!("unsafe", " {"),
    concat!("unsafe", "{"),
    concat!("unsafe", " impl"),
    concat!("unsafe", " extern"),
];

const LEFTOVERS: [&str; 4] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("db", "g!("),
    concat!("FIX", "ME"),
];

/// Complains about unfinished work and debugging that stayed behind.
pub fn leftovers(source: &Source) -> Vec<String> {
    let numbered = source.text.lines().zip(1..);
    numbered
        .filter(|(line, _)| LEFTOVERS.iter().any(|leftover| line.contains(leftover)))
        .map(|(line, number)| {
            format!("{}:{number}: left over: {}", source.path.display(), line.trim())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "a.rs".into(), text: text.into() }
    }

    #[test]
    fn every_rule_can_fail() {
        let bare = format!("fn f() {{\n    {}\n}}", concat!("unsafe", " { g() }"));
        assert_eq!(unsafe_without_reason(&source(&bare)).len(), 1);
        let reasoned = format!("// SAFETY: always\n{bare}");
        assert!(unsafe_without_reason(&source(&reasoned)).is_empty());
        assert_eq!(leftovers(&source(concat!("to", "do!()"))).len(), 1);
        let used = used_crates("[dependencies]\nplimsoll-cli = \"1\"\nserde = \"1\"").unwrap();
        assert_eq!(used, ["cli"]);
        assert!(parse_ratchet("450 a.rs\n# why\n").is_ok() && parse_ratchet("x").is_err());
    }
}
