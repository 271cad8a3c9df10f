//! What is written from the code's own definitions: docs/numbers.md, docs/coverage.md and
//! man pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use plimsoll_report::Number;

use crate::coverage;

const MAN_FOLDER: &str = "man";
const NUMBERS_PAGE: &str = "docs/numbers.md";
const COVERAGE_PAGE: &str = "docs/coverage.md";

/// Writes every generated file and removes man pages of commands that are gone.
pub fn write_all(root: &Path) -> Result<()> {
    let generated = generated(root)?;
    for stale in stale_pages(root, &generated) {
        fs::remove_file(root.join(stale))?;
    }
    for (path, text) in generated {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Complains about generated files that differ from what the code says.
pub fn drift(root: &Path) -> Result<Vec<String>> {
    Ok(differences(root, &generated(root)?))
}

fn differences(root: &Path, generated: &BTreeMap<PathBuf, String>) -> Vec<String> {
    const ADVICE: &str = "run `cargo xtask generate`";
    let is_old =
        |path: &Path, text: &str| fs::read_to_string(root.join(path)).ok().as_deref() != Some(text);
    let old = generated
        .iter()
        .filter(|(path, text)| is_old(path, text))
        .map(|(path, _)| format!("{}: out of date; {ADVICE}", path.display()));
    let stale = stale_pages(root, generated)
        .into_iter()
        .map(|page| format!("{}: no such command any more; {ADVICE}", page.display()));
    old.chain(stale).collect()
}

/// Returns path from the root, and text, of every generated file.
fn generated(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::from([
        (PathBuf::from(NUMBERS_PAGE), numbers_page()),
        (PathBuf::from(COVERAGE_PAGE), coverage::page(root)?),
    ]);
    let mut command = plimsoll::command();
    command.build();
    add_man_pages(&command, "plimsoll", &mut files)?;
    Ok(files)
}

fn add_man_pages(
    command: &clap::Command,
    name: &str,
    files: &mut BTreeMap<PathBuf, String>,
) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(with_examples_last(command, name))
        .title(name)
        .source(format!("plimsoll {}", env!("CARGO_PKG_VERSION")))
        .manual("Plimsoll")
        .render(&mut page)?;
    files.insert(Path::new(MAN_FOLDER).join(format!("{name}.1")), String::from_utf8(page)?);
    // Commands that Plimsoll runs itself are nobody's to type, and `help` is --help.
    let is_for_people = |it: &&clap::Command| !it.is_hide_set() && it.get_name() != "help";
    for subcommand in command.get_subcommands().filter(is_for_people) {
        add_man_pages(subcommand, &format!("{name}-{}", subcommand.get_name()), files)?;
    }
    Ok(())
}

/// clap_mangen prints what stands after the options, not the examples before them.
fn with_examples_last(command: &clap::Command, name: &str) -> clap::Command {
    let examples = command.get_before_help().map(ToString::to_string).unwrap_or_default();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = [examples, after].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>();
    command
        .clone()
        .display_name(name.to_owned())
        .after_help(text.join("\n\n"))
        .version(None::<&str>)
}

fn stale_pages(root: &Path, generated: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(MAN_FOLDER)).into_iter().flatten().flatten();
    let pages = entries.map(|entry| Path::new(MAN_FOLDER).join(entry.file_name()));
    pages.filter(|page| !generated.contains_key(page)).collect()
}

fn numbers_page() -> String {
    let mut page = String::from(NUMBERS_INTRODUCTION);
    for (command, numbers) in plimsoll::numbers() {
        page.push_str(&format!("\n## `plimsoll {command}`\n\n"));
        page.push_str("| key | label | unit | meaning | from |\n|---|---|---|---|---|\n");
        for number in numbers {
            page.push_str(&number_row(number));
        }
    }
    page
}

fn number_row(number: &Number) -> String {
    let Number { key, label, unit, meaning, source } = number;
    format!("| `{key}` | {label} | {} | {meaning} | {source} |\n", unit.base())
}

const NUMBERS_INTRODUCTION: &str = "\
# Every number that Plimsoll prints

Generated from the code by `cargo xtask generate`; `cargo xtask tidy` fails when it differs.

Tables round and choose readable units; `--json` has the base unit given here, unrounded. A value
that is not known or not defined is `-` in a table and `null` in JSON: missing is not zero.
KiB, MiB, … are powers of 1024; kB, MB, … powers of 1000. Sizes, rates and durations that you type
are taken exactly or refused. A letter alone is a power of 1024, small or large: 16m and 16M are
16MiB, as in IOR, fio and lfs. What can be read in two ways (16mb, 16Mb, 16) is refused.

Papers: **Wright**: S. A. Wright, *Monitoring, analysis and optimisation of I/O in parallel applications*,
PhD thesis, University of Warwick. **Huang**: D. Huang et al., *Can I/O variability be reduced on QoS-less
HPC storage systems?* **Xie**: B. Xie et al., *Characterizing output bottlenecks of a production
supercomputer: analysis and implications*. **Uselton and Wright**: A. Uselton and N. Wright, *A file system
utilization metric for I/O characterization*.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_differ_and_pages_of_commands_that_are_gone_are_told() {
        let root = tempfile::tempdir().unwrap();
        let page = Path::new(MAN_FOLDER).join("plimsoll.1");
        let generated = BTreeMap::from([(page.clone(), "new".to_string())]);
        let differences = || differences(root.path(), &generated);
        let old = ["man/plimsoll.1: out of date; run `cargo xtask generate`"];
        assert_eq!(differences(), old);

        fs::create_dir(root.path().join(MAN_FOLDER)).unwrap();
        fs::write(root.path().join(&page), "old").unwrap();
        assert_eq!(differences(), old);

        fs::write(root.path().join(&page), "new").unwrap();
        assert_eq!(differences(), [""; 0]);

        fs::write(root.path().join("man/plimsoll-gone.1"), "new").unwrap();
        assert_eq!(
            differences(),
            ["man/plimsoll-gone.1: no such command any more; run `cargo xtask generate`"]
        );
    }
}
