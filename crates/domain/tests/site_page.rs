//! docs/site-file.md has every key of a site file, and no other. What there is, the reader says itself:
//! it names what it expects when it finds something else, and what it misses.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_domain::site::{Site, SiteFile};

const PAGE: &str = include_str!("../../../docs/site-file.md");

const TARGET: &str = "[[target]]\nname = \"t\"\npath = \"/t\"\n";

/// Each table of the page: where its own keys go in a file, and lines that make the rest of it right.
fn tables() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let rate = "rate = \"1MB/s\"";
    let cost = vec!["seconds_per_operation = 1.0", "seconds_per_byte = 1.0"];
    vec![
        ("### At the top", String::new(), vec!["version = 1"]),
        ("### `[limits]`", "version = 1\n[limits]\n".into(), vec![]),
        (
            "### `[[file_system]]`",
            "version = 1\n[[file_system]]\n".into(),
            vec!["name = \"a\"", "kind = \"ext4\"", "mount = \"/a\""],
        ),
        (
            "### `[[server]]`",
            "version = 1\n[[server]]\n".into(),
            vec!["name = \"s\"", "role = \"storage\""],
        ),
        (
            "### `[[target]]`",
            "version = 1\n[[target]]\npath = \"/t\"\n".into(),
            vec!["name = \"t\""],
        ),
        ("### `[target.peak]`", format!("version = 1\n{TARGET}[target.peak]\n"), vec![]),
        (
            "### `[target.peak.read_measured]`, `[target.peak.write_measured]`",
            format!("version = 1\n{TARGET}[target.peak]\n[target.peak.read_measured]\n"),
            vec![rate, "instances = 9"],
        ),
        ("### `[target.cost]`", format!("version = 1\n{TARGET}[target.cost]\n"), vec![]),
        (
            "### `[target.cost.read]`, `[target.cost.write]`",
            format!("version = 1\n{TARGET}[target.cost.write]\n"),
            cost,
        ),
        ("### `[[client]]`", "version = 1\n[[client]]\n".into(), vec!["name = \"c\""]),
        ("### `[topology]`", "version = 1\n[topology]\n".into(), vec![]),
        (
            "### `[[slowness]]`",
            "version = 1\n[[slowness]]\n".into(),
            vec![
                "quantile = 0.1",
                "low_median = \"1s\"",
                "normal_median = \"1s\"",
                "sequences = 1",
            ],
        ),
        (
            "### `[[straggler]]`",
            "version = 1\n[[straggler]]\n".into(),
            vec![
                "component = \"target\"",
                "name = \"t\"",
                "verdict = \"transient\"",
                "ratio = 1.0",
                "measures = 1",
            ],
        ),
    ]
}

/// Reads a file with this text.
fn read(text: &str) -> Result<Site, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(&path, text).unwrap();
    SiteFile::load(Path::new(&path)).map(|file| file.site().clone()).map_err(|it| it.to_string())
}

/// What the reader names between backticks after that word.
fn named(error: &str, after: &str) -> BTreeSet<String> {
    let (_, names) = error.split_once(after).unwrap_or_else(|| panic!("{error}"));
    names.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// A row of a table of the page: its key, the names that can be its value, and whether it is needed.
struct Row {
    key: String,
    values: BTreeSet<String>,
    needed: bool,
}

fn rows(under: &str) -> Vec<Row> {
    let (_, rest) = PAGE.split_once(&format!("\n{under}\n")).unwrap_or_else(|| panic!("{under}"));
    let table = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let key = cells[1].trim_matches('`').to_string();
        Row { key, values: code(cells[2]), needed: cells[3] == "yes" }
    })
    .collect()
}

#[test]
fn every_key_is_described_and_no_other() {
    for (under, before, lines) in tables() {
        let error = read(&format!("{before}{}\nwrong = 1\n", lines.join("\n"))).unwrap_err();
        let described: BTreeSet<String> = rows(under).into_iter().map(|row| row.key).collect();
        assert_eq!(described, named(&error, "expected "), "{under}: {error}");
    }
}

#[test]
fn every_table_has_a_section() {
    let sections: BTreeSet<&str> = PAGE.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!(sections, tables().into_iter().map(|(under, ..)| under).collect());
    for (under, ..) in tables() {
        // [target.peak] is a table of [[target]].
        let inside = under.trim_start_matches(|c| c != '[').trim_matches(['[', ']', '`', '#', ' ']);
        let inside = inside.split(']').next().unwrap_or_default();
        let kind = |row: &Row| {
            let (_, rest) = PAGE.split_once(&format!("\n{under}\n")).unwrap();
            let line = rest.lines().find(|line| line.starts_with(&format!("| `{}`", row.key)));
            line.unwrap().split('|').nth(2).unwrap().trim().to_string()
        };
        for row in rows(under) {
            let path = if inside.is_empty() || under == "### At the top" {
                row.key.clone()
            } else {
                format!("{inside}.{}", row.key)
            };
            let wanted = match kind(&row).as_str() {
                "table" => format!("`[{path}]`"),
                "tables" => format!("`[[{path}]]`"),
                _ => continue,
            };
            assert!(sections.iter().any(|it| it.contains(&wanted)), "no section {wanted}");
        }
    }
}

#[test]
fn what_is_needed_is_what_the_reader_misses() {
    for (under, before, lines) in tables() {
        let needed: BTreeSet<String> =
            rows(under).into_iter().filter(|row| row.needed).map(|row| row.key).collect();
        let given = lines.iter().map(|line| line.split(' ').next().unwrap().to_string());
        assert_eq!(needed, given.collect(), "{under}");
        read(&format!("{before}{}\n", lines.join("\n"))).unwrap();
        for missing in &lines {
            let others = lines.iter().filter(|line| *line != missing);
            let others: Vec<&str> = others.copied().collect();
            let error = read(&format!("{before}{}\n", others.join("\n"))).unwrap_err();
            let key = missing.split(' ').next().unwrap();
            let says = [format!("missing field `{key}`"), format!("no `{key} = 1` at the top")];
            assert!(says.iter().any(|it| error.contains(it)), "{under}: {error}");
        }
    }
}

#[test]
fn every_name_that_is_a_value_is_described() {
    for (under, before, lines) in tables() {
        for row in rows(under).into_iter().filter(|row| !row.values.is_empty()) {
            let key = format!("{} =", row.key);
            let others = lines.iter().filter(|line| !line.starts_with(&key));
            let others: Vec<&str> = others.copied().collect();
            let text = format!("{before}{}\n{key} \"wrong\"\n", others.join("\n"));
            let error = read(&text).unwrap_err();
            assert_eq!(row.values, named(&error, "expected "), "{under}: {error}");
        }
    }
    // Those that have names for values: not one of them is described as something else.
    let with_names = tables().into_iter().flat_map(|(under, ..)| rows(under));
    let with_names = with_names.filter(|row| !row.values.is_empty()).map(|row| row.key);
    assert_eq!(
        Vec::from_iter(with_names),
        ["role", "transactions", "component", "verdict"],
        "names of a new kind need a line here"
    );
}

#[test]
fn the_example_is_a_site_file() {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let site = read(rest.split("```").next().unwrap()).unwrap();
    assert_eq!(site.targets.len(), 2);
}
