//! The keys that a plan may have, to name the one that was meant.

use toml_edit::{Item, Key, TableLike};

use super::PlanError;

/// Each table's keys, in the order in which they are written.
pub(super) const TABLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "version",
            "name",
            "seed",
            "target",
            "clients",
            "placement",
            "burst",
            "vary",
            "groups",
            "repeat",
            "budget",
            "pause",
        ],
    ),
    ("target", &["name", "path", "server", "lustre_index"]),
    ("clients", &["count", "names", "used", "processes"]),
    ("placement", &["targets", "order"]),
    (
        "burst",
        &[
            "sizes",
            "of",
            "transfer",
            "operation",
            "pattern",
            "sharing",
            "caching",
            "engine",
            "depth",
            "striping",
            "stripe_count",
            "stripe_size",
            "verify",
        ],
    ),
    ("vary", &["parameter", "values"]),
    ("groups", &["parameter", "values"]),
    ("repeat", &["runs", "rounds", "rounds_max", "precision", "confidence"]),
    ("budget", &["bytes", "time"]),
    ("pause", &["instances", "rounds", "runs"]),
];

/// Complains about the first key that no plan has. `line` turns an offset into a line.
pub(super) fn check(
    root: &dyn TableLike,
    line: &dyn Fn(Option<usize>) -> usize,
) -> Result<(), PlanError> {
    check_table(root, "", line)?;
    for (name, _) in &TABLES[1..] {
        for table in root.get(name).into_iter().flat_map(tables) {
            check_table(table, name, line)?;
        }
    }
    Ok(())
}

/// Returns the table itself, or the tables of an array, in either way of writing them.
pub(super) fn tables(item: &Item) -> Vec<&dyn TableLike> {
    if let Some(table) = item.as_table_like() {
        return vec![table];
    }
    if let Some(array) = item.as_array_of_tables() {
        return array.iter().map(|table| table as &dyn TableLike).collect();
    }
    let inline = item.as_array().into_iter().flatten().filter_map(|value| value.as_inline_table());
    inline.map(|table| table as &dyn TableLike).collect()
}

fn check_table(
    table: &dyn TableLike,
    name: &'static str,
    line: &dyn Fn(Option<usize>) -> usize,
) -> Result<(), PlanError> {
    let known = TABLES.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, keys)| keys);
    for (key, _) in table.iter() {
        if !known.contains(&key) {
            let span = table.key(key).and_then(Key::span).map(|span| span.start);
            return Err(PlanError::UnknownKey {
                line: line(span),
                key: key.chars().take(60).collect(),
                place: if name.is_empty() { "a plan" } else { name },
                nearest: nearest(key, known),
                allowed: known.join(", "),
            });
        }
    }
    Ok(())
}

/// Returns the known word with the fewest changes, if few enough to be a slip.
pub(super) fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    const CHARS_MAX: usize = 40;
    if word.chars().count() > CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    let scored = known.iter().map(|candidate| (changes(&word, candidate), *candidate));
    let (fewest, candidate) = scored.min_by_key(|(changes, _)| *changes)?;
    (fewest <= 1 + candidate.chars().count() / 3).then_some(candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other
/// (Damerau's optimal string alignment).
fn changes(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=to.len()).collect();
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        let keys = TABLES[4].1;
        assert_eq!(nearest("tranfser", keys), Some("transfer"));
        assert_eq!(nearest("stripe-count", keys), Some("stripe_count"));
        assert_eq!(nearest("size", keys), Some("sizes"));
        assert_eq!(nearest("password", keys), None);
        assert_eq!(nearest(&"x".repeat(1000), keys), None);
        assert_eq!(changes("abcd", "acbd"), 1);
        assert_eq!(changes("", "abc"), 3);
    }

    #[test]
    fn every_key_is_written_and_read() {
        let mut plan = crate::plan::Plan::parse(include_str!("../../../../plans/many-pairs.toml"))
            .expect("the example is a plan");
        plan.clients.names = ["a", "b", "c", "d"].map(String::from).into();
        plan.targets[0].lustre_index = Some(0);
        plan.budget.time = Some(plimsoll_domain::Nanos::new(1));
        let text = plan.to_toml();
        let document: toml_edit::DocumentMut = text.parse().expect("it is TOML");
        for (name, known) in TABLES {
            let item = if name.is_empty() { document.as_item() } else { &document[*name] };
            let written: Vec<&str> = tables(item)[0].iter().map(|(key, _)| key).collect();
            let missing: Vec<_> = known.iter().filter(|key| !written.contains(key)).collect();
            assert!(missing.is_empty(), "{name}: {missing:?}");
        }
        assert_eq!(crate::plan::Plan::parse(&text), Ok(plan));
    }
}
