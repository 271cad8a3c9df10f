//! Rules about source files that the compiler does not know: their size, reasons for unsafe code, what was left over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::tree::Source;

/// A file longer than this is split by concept, but never through a type: a type stays in one file
/// with its impl, its fields closed. Such a file gets an entry in the ratchet, with its reason.
const LINES_MAX: usize = 400;
const RATCHET: &str = "xtask/size-ratchet.txt";

/// Complains about files that are too long, and about ratchet entries that could be lower.
pub fn file_sizes(root: &Path, sources: &[Source]) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(RATCHET)).context("cannot read the size ratchet")?;
    sizes_against(&text, sources)
}

fn sizes_against(ratchet: &str, sources: &[Source]) -> Result<Vec<String>> {
    let mut allowed: BTreeMap<PathBuf, usize> = parse_ratchet(ratchet)?;
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
    fn unsafe_code_needs_a_reason_nearby() {
        for form in UNSAFE_FORMS {
            let bare = format!("fn f() {{\n    {form} }}\n}}");
            assert_eq!(unsafe_without_reason(&source(&bare)).len(), 1, "{form}");
            let reasoned = format!("// SAFETY: always\n{bare}");
            assert_eq!(unsafe_without_reason(&source(&reasoned)), [""; 0]);
            let far = format!("// SAFETY: always\n\n\n\n\n{bare}");
            assert_eq!(unsafe_without_reason(&source(&far)).len(), 1, "{form}");
        }
    }

    #[test]
    fn unfinished_work_is_found() {
        for leftover in LEFTOVERS {
            assert_eq!(
                leftovers(&source(&format!("fn f() {{}}\n{leftover}"))).len(),
                1,
                "{leftover}"
            );
        }
        assert_eq!(leftovers(&source("fn f() {}")), [""; 0]);
    }

    #[test]
    fn long_files_need_a_true_entry_in_the_ratchet() {
        let long = |lines: usize| [source(&"\n".repeat(lines))];
        let sizes = |ratchet, lines| sizes_against(ratchet, &long(lines)).unwrap();
        assert_eq!(sizes("", LINES_MAX), [""; 0]);
        assert_eq!(sizes("", LINES_MAX + 1).len(), 1);
        let ratchet = "# why\n\n450 a.rs\n";
        assert_eq!(sizes(ratchet, 450), [""; 0]);
        assert_eq!(sizes(ratchet, 451), ["a.rs: 451 lines, the ratchet allows 450"]);
        assert_eq!(
            sizes(ratchet, 449),
            ["a.rs: now 449 lines; lower xtask/size-ratchet.txt from 450"]
        );
        assert_eq!(sizes("450 b.rs", 1), ["xtask/size-ratchet.txt: b.rs is gone"]);
        assert!(sizes_against("x", &long(1)).is_err());
    }
}
