//! docs/coverage.md: every call that the preload library intercepts, read off its tables.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

const TABLE: &str = "crates/preload/src/table.rs";
const SERVED_TABLE: &str = "crates/preload/src/served_table.rs";
const LIBRARY_TABLE: &str = "crates/preload/src/library_table.rs";
const NUMBER_TABLE: &str = "crates/preload/src/hooks/raw.rs";
const MPI_TABLE: &str = "crates/preload/src/mpi/table.rs";

/// The page.
pub fn page(root: &Path) -> Result<String> {
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    let mut groups = groups(&read(TABLE)?);
    groups.extend(self::groups(&read(LIBRARY_TABLE)?));
    groups.extend(self::groups(&read(SERVED_TABLE)?));
    let numbers = numbers(&read(NUMBER_TABLE)?);
    let (mpi, counted) = mpi_names(&read(MPI_TABLE)?);
    let is_whole = groups.len() >= 5 && numbers.len() > 10 && mpi.len() > 10 && counted.len() > 10;
    ensure!(is_whole, "the interception tables look different now");
    let is_name = |name: &str| name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let strange = mpi.iter().chain(&counted).find(|name| !is_name(name));
    ensure!(strange.is_none(), "{MPI_TABLE} has {strange:?} where a name should be");
    let mut page = String::from(INTRODUCTION);
    for (name, rows) in &groups {
        page.push_str(&format!("\n## {name}\n\n"));
        if name == "served" {
            page.push_str(
                "Not recorded; `stow run` or the recording of streams needs to know of them.\n\n",
            );
        }
        for row in rows {
            page.push_str(&format!("- {row}\n"));
        }
    }
    page.push_str("\n## by number\n\nSystem calls that are made with `syscall`, on x86-64.\n\n");
    numbers.iter().for_each(|name| page.push_str(&format!("- `{name}`\n")));
    page.push_str("\n## mpi\n\nEach also as `PMPI_`.\n\n");
    mpi.iter().for_each(|name| page.push_str(&format!("- `MPI_{name}`\n")));
    counted.iter().for_each(|name| page.push_str(&format!("- `MPI_{name}`, `MPI_{name}_c`\n")));
    Ok(page)
}

const INTRODUCTION: &str = "\
# Every call that is recorded

Generated from the interception tables by `cargo xtask generate`; `cargo xtask tidy` fails when it differs.
Names in brackets are other names of the same call.
";

type Group = (String, Vec<String>);

/// Rows are `name [aliases] (arguments) -> result`, in groups `layer {`.
fn groups(table: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let rows = table.split("intercept! {").nth(1).unwrap_or("");
    let body = rows.split("\n}").next().unwrap_or("");
    for line in body.lines() {
        let row = line.trim();
        if let Some(layer) = line.strip_prefix("    ").and_then(|it| it.strip_suffix(" {")) {
            groups.push((layer.trim().to_string(), Vec::new()));
        } else if let Some((names, _)) = row.split_once("] (")
            && let Some((name, aliases)) = names.split_once(" [")
            && let Some((_, rows)) = groups.last_mut()
        {
            let aliases: Vec<String> =
                aliases.split(' ').filter(|it| !it.is_empty()).map(code).collect();
            rows.push(if aliases.is_empty() {
                code(name)
            } else {
                format!("{} [{}]", code(name), aliases.join(", "))
            });
        }
    }
    groups
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// Rows are `SYS_name (words) => …`.
fn numbers(table: &str) -> Vec<String> {
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("SYS_"));
    rows.filter_map(|row| Some(row.split_once(" (")?.0.to_string())).collect()
}

/// Names of functions with one kind of count, and of those with two. Other texts of the file are no names.
fn mpi_names(table: &str) -> (Vec<String>, Vec<String>) {
    let rows = table.split("\nfunctions! {").nth(1).unwrap_or("");
    let body = rows.split("\n}").next().unwrap_or("");
    let (one, two) = body.split_once("two counts: {").unwrap_or((body, ""));
    let names = |text: &str| -> Vec<String> {
        text.split('"').skip(1).step_by(2).map(str::to_string).collect()
    };
    (names(one), names(two))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_off_the_table() {
        let table = "intercept! {\n    posix {\n        open [open64] (a: b) -> c\n            => x;\n        \
                     close [] (a: b) -> c\n    }\n}\n\nfn other() {\n    loop {\n    }\n}\n";
        let expected = vec!["`open` [`open64`]".to_string(), "`close`".to_string()];
        assert_eq!(groups(table), [("posix".to_string(), expected)]);
        let mpi = "\nfunctions! {\n one: { \"Init\" Enter; } two counts: { \"File_read\" MpiRead; }\n}\n\n\
                   fn text() {\n    panic!(\"no name\")\n}\n";
        assert_eq!(mpi_names(mpi), (vec!["Init".to_string()], vec!["File_read".to_string()]));
    }
    /// A tree with the interception tables of this one, of which one is replaced.
    fn page_with(table: &str, text: &str) -> Result<String> {
        let root = tempfile::tempdir()?;
        for path in [TABLE, SERVED_TABLE, LIBRARY_TABLE, NUMBER_TABLE, MPI_TABLE] {
            fs::create_dir_all(root.path().join(path).parent().unwrap())?;
            fs::copy(crate::tree::root().join(path), root.path().join(path))?;
        }
        fs::write(root.path().join(table), text)?;
        page(root.path())
    }

    #[test]
    fn tables_that_cannot_be_read_as_such_are_refused() {
        let table = fs::read_to_string(crate::tree::root().join(MPI_TABLE)).unwrap();
        assert!(page_with(MPI_TABLE, &table).is_ok());
        for path in [TABLE, SERVED_TABLE, NUMBER_TABLE, MPI_TABLE] {
            let error = page_with(path, "fn nothing() {}").unwrap_err().to_string();
            assert_eq!(error, "the interception tables look different now", "{path}");
        }
        let strange = table.replacen("\"Init\"", "\"a name in words\"", 1);
        let error = page_with(MPI_TABLE, &strange).unwrap_err().to_string();
        assert!(error.contains("\"a name in words\") where a name should be"), "{error}");
    }
}
