//! docs/simulation.md has every key of a scenario and every name that can be its value, and no other.
//! What there is, the reader says itself: it names what it expects when it finds something else.

use std::collections::BTreeSet;

use plimsoll_simulate::Scenario;

const PAGE: &str = include_str!("../../../docs/simulation.md");

const STORAGE: &str = "[storage]\ntargets = 4\nrate = \"1MB/s\"\n";
const APPLICATION: &str = "[application]\nprocesses = 4\nblock = \"1MB\"\n";
const STREAMS: &str = "[[noise]]\nkind = \"streams\"\nstreams = 4\n";
const ON_OFF: &str = "[[noise]]\nkind = \"on-off\"\nslowdown = 2.0\nnormal = { mean = \"1s\" }\n";
const SLOW: &str = "slow = { mean = \"1s\" }\n";
const FAULT: &str = "[[fault]]\nat = \"1s\"\nwhich = 0\n";
const BUFFER: &str = "[buffer]\nnodes = 2\ncapacity = \"1GB\"\nrate = \"1GB/s\"\n";
const SWEEP: &str = "[sweep]\nvalues = [1]\n";

/// What the reader expects instead of `wrong`, at the end of a scenario that makes sense.
fn expected(last: &str) -> BTreeSet<String> {
    let text = format!("version = 1\ntitle = \"\"\npolicies = [\"static\"]\n{last}");
    let error = Scenario::parse("test", &text).unwrap_err().to_string();
    let (_, names) = error.split_once("expected ").unwrap_or_else(|| panic!("{last}: {error}"));
    names.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// A row of a table: what is in code in its columns, and the text of the default.
struct Row {
    keys: Vec<String>,
    values: Vec<String>,
    default: String,
}

/// The rows of the table under a line of the page.
fn rows(under: &str) -> Vec<Row> {
    let (_, rest) = PAGE.split_once(&format!("\n{under}\n")).unwrap_or_else(|| panic!("{under}"));
    let table = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let code = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        Row { keys: code(cells[1]), values: code(cells[2]), default: cells[3].trim().into() }
    })
    .collect()
}

#[test]
fn every_key_is_described() {
    let both = format!("{STORAGE}{APPLICATION}");
    let wrong = "wrong = 1\n";
    for (under, last) in [
        ("### At the top", format!("{wrong}{both}")),
        ("### `[storage]`", format!("{APPLICATION}{STORAGE}{wrong}")),
        ("### `[application]`", format!("{both}{wrong}")),
        ("### `[buffer]`", format!("{both}{BUFFER}{wrong}")),
        ("### `[network]`", format!("{both}[network]\n{wrong}")),
        ("### Durations", format!("{both}{ON_OFF}slow = {{ mean = \"1s\", wrong = 1 }}\n")),
        ("### `[[fault]]`", format!("{both}{FAULT}what = \"target-back\"\n{wrong}")),
        ("### `[sweep]`", format!("{both}{SWEEP}parameter = \"cache\"\n{wrong}")),
        (
            "A mark is `{ at = 60, name = \"...\" }`:",
            format!("{both}{SWEEP}parameter = \"cache\"\nmarks = [{{ wrong = 1 }}]\n"),
        ),
        ("### `[[noise]]` with `kind = \"streams\"`", format!("{both}{STREAMS}{wrong}")),
        ("### `[[noise]]` with `kind = \"on-off\"`", format!("{both}{ON_OFF}{SLOW}{wrong}")),
    ] {
        let mut known = expected(&last);
        if under.contains("kind") {
            // It says which of the two it is, and is therefore not one of the keys of either.
            known.insert("kind".into());
        }
        let described: BTreeSet<String> =
            rows(under).into_iter().flat_map(|row| row.keys).collect();
        assert_eq!(described, known, "{under}");
    }
}

#[test]
fn every_name_that_is_a_value_is_described() {
    let both = format!("{STORAGE}{APPLICATION}");
    let swept = format!("{both}{SWEEP}");
    for (under, key, before) in [
        ("### `[storage]`", "service", format!("{APPLICATION}{STORAGE}")),
        ("### `[application]`", "placement", both.clone()),
        ("### `[application]`", "submit", both.clone()),
        ("### `[buffer]`", "choice", format!("{both}{BUFFER}")),
        ("### `[buffer]`", "drain", format!("{both}{BUFFER}")),
        ("### `[[noise]]` with `kind = \"streams\"`", "on", format!("{both}{STREAMS}")),
        ("### `[[noise]]` with `kind = \"streams\"`", "sharing", format!("{both}{STREAMS}")),
        ("### `[[noise]]` with `kind = \"on-off\"`", "on", format!("{both}{ON_OFF}{SLOW}")),
        ("### `[[noise]]` with `kind = \"on-off\"`", "start", format!("{both}{ON_OFF}{SLOW}")),
        ("### Durations", "distribution", format!("{both}{ON_OFF}slow.mean = \"1s\"\nslow.")),
        ("### `[[fault]]`", "what", format!("{both}{FAULT}")),
        ("### `[sweep]`", "parameter", swept),
    ] {
        let known = expected(&format!("{before}{key} = \"wrong\"\n"));
        let row = rows(under).into_iter().find(|row| row.keys[0] == key).unwrap();
        let described: BTreeSet<String> =
            row.values.iter().map(|value| value.trim_matches('"').into()).collect();
        assert_eq!(described, known, "{under}, {key}");
    }
}

/// A scenario with only what must be there is the same with the defaults written out, and is none
/// without what has no default.
#[test]
fn defaults_are_as_described() {
    let both = format!("{STORAGE}{APPLICATION}");
    let top = "version = 1\ntitle = \"\"\npolicies = [\"static\"]\n";
    for (under, before, own, after) in [
        ("### At the top", "", top, both.as_str()),
        ("### `[storage]`", top, STORAGE, APPLICATION),
        ("### `[application]`", &format!("{top}{STORAGE}"), APPLICATION, ""),
        ("### `[buffer]`", &format!("{top}{both}"), BUFFER, ""),
        ("### `[network]`", &format!("{top}{both}"), "[network]\n", ""),
        ("### `[[noise]]` with `kind = \"streams\"`", &format!("{top}{both}"), STREAMS, ""),
        (
            "### `[[noise]]` with `kind = \"on-off\"`",
            &format!("{top}{both}"),
            &format!("{ON_OFF}{SLOW}"),
            "",
        ),
        ("### Durations", &format!("{top}{both}{ON_OFF}[noise.slow]\n"), "mean = \"1s\"\n", ""),
        (
            "### `[[fault]]`",
            &format!("{top}{both}"),
            &format!("{FAULT}what = \"target-back\"\n"),
            "",
        ),
        ("### `[sweep]`", &format!("{top}{both}"), &format!("{SWEEP}parameter = \"cache\"\n"), ""),
    ] {
        let parse = |own: &str| Scenario::parse("test", &format!("{before}{own}{after}"));
        let plain = parse(own).unwrap();
        for row in rows(under).iter().filter(|row| row.keys.len() == 1) {
            let key = &row.keys[0];
            let without: String = own
                .split_inclusive('\n')
                .filter(|line| !line.starts_with(&format!("{key} =")))
                .collect();
            if row.default.is_empty() {
                assert!(without != own && parse(&without).is_err(), "{under}, {key} must be there");
            } else {
                assert_eq!(
                    parse(&without).as_ref(),
                    Ok(&plain),
                    "{under}, {key} need not be there"
                );
            }
            if let Some(default) =
                row.default.strip_prefix('`').and_then(|code| code.strip_suffix('`'))
            {
                let with = parse(&format!("{own}{key} = {default}\n"));
                assert_eq!(with.as_ref(), Ok(&plain), "{under}, {key}");
            }
        }
    }
}
