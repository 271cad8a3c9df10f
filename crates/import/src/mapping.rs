//! What columns of a table mean: by their names, or by a text that says so (TOML).

use std::collections::BTreeMap;

use plimsoll_domain::Nanos;
use plimsoll_history::Measure;
use serde::Deserialize;

/// What columns of tables mean.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Names of columns: of what a sample is of (`time`, `target`, …), or of a measure.
    #[serde(default)]
    pub(crate) columns: BTreeMap<String, String>,
    /// What holds for all rows, where no column says it.
    #[serde(default)]
    pub(crate) values: BTreeMap<String, String>,
    /// What values of a measure are to be multiplied by: 1024 for KiB.
    #[serde(default)]
    pub(crate) factors: BTreeMap<String, f64>,
    /// How long the time of each sample is, where no column says it.
    interval: Option<String>,
    /// What counters are, if it is not what those of such a file usually are.
    pub(crate) counters: Option<Counters>,
}

/// What counters of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Counters {
    /// What was counted during the time of the row.
    Increments,
    /// The same per second.
    Rates,
    /// What was counted since some moment: rows are compared.
    Totals,
}

/// What a sample is of, and where else a column may say it.
pub(crate) const KEYS: [(&str, &[&str]); 11] = [
    ("time", &["timestamp", "date", "datetime"]),
    ("target", &["ost", "device", "name"]),
    ("kind", &[]),
    ("server", &["host", "hostname"]),
    ("cluster", &[]),
    ("file_system", &["filesystem"]),
    ("job", &[]),
    ("measure", &["metric"]),
    ("value", &[]),
    ("bin", &[]),
    ("length_ms", &[]),
];

impl Mapping {
    /// Reads the text of a mapping.
    ///
    /// # Errors
    /// If it cannot be understood, or names what nobody knows.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mapping: Mapping = toml::from_str(text).map_err(|error| {
            let message = error.message().replace('\n', " ");
            let before = |start: usize| text.bytes().take(start).filter(|it| *it == b'\n').count();
            match error.span().map(|span| before(span.start) + 1) {
                Some(line) => format!("line {line}: {message}"),
                None => message,
            }
        })?;
        let is_key = |name: &str| KEYS.iter().any(|it| it.0 == name);
        let named = mapping.columns.keys().filter(|it| !is_key(it) && Measure::named(it).is_none());
        let unknown = named.chain(mapping.values.keys().filter(|it| !is_key(it) || *it == "time"));
        let factors = mapping.factors.keys().filter(|it| Measure::named(it).is_none());
        if let Some(unknown) = unknown.chain(factors).next() {
            return Err(format!(
                "nothing is called {unknown:?}; hint: docs/import.md lists all names"
            ));
        }
        mapping.interval_millis()?;
        Ok(mapping)
    }

    /// Returns how long the time of each sample is, if it says so.
    pub(crate) fn interval_millis(&self) -> Result<Option<u32>, String> {
        let Some(text) = &self.interval else { return Ok(None) };
        let wrong = || format!("interval {text:?} is no time; hint: write it like 5s or 1min");
        let nanos: Nanos = text.parse().map_err(|_| wrong())?;
        let millis = u32::try_from(nanos.get() / 1_000_000).ok().filter(|it| *it > 0);
        millis.map(Some).ok_or_else(wrong)
    }

    /// Returns what measures are called: names of columns, or queries of Prometheus.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (Measure, &str)> {
        self.columns.iter().filter_map(|(key, text)| Some((Measure::named(key)?, text.as_str())))
    }

    /// Returns which column has something, of columns with these names.
    pub(crate) fn find(&self, key: &str, others: &[&str], names: &[String]) -> Option<usize> {
        let place = |name: &str| names.iter().position(|it| it.trim().eq_ignore_ascii_case(name));
        match self.columns.get(key) {
            Some(name) => names.iter().position(|it| it.trim() == name.as_str()),
            None => place(key).or_else(|| others.iter().find_map(|it| place(it))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_columns_mean() {
        let text = "interval = '5s'\ncounters = 'rates'\n[columns]\ntime = 'ts'\nread_bytes = 'rd'\n[factors]\nread_bytes = 1024\n";
        let mapping = Mapping::parse(text).unwrap();
        assert_eq!(mapping.interval_millis(), Ok(Some(5000)));
        assert_eq!(mapping.counters, Some(Counters::Rates));
        let names = ["Target", "ts", "rd"].map(String::from);
        assert_eq!(mapping.find("time", &[], &names), Some(1));
        assert_eq!(mapping.find("target", &[], &names), Some(0));
        assert_eq!(mapping.find("server", &["host"], &names), None);
        for (wrong, expected) in [
            ("interval = 'soon'", "is no time"),
            ("[columns]\nbytes = 'x'", "nothing is called \"bytes\""),
            ("[values]\ntime = '1'", "nothing is called \"time\""),
            ("a = 1", "line 1: unknown field"),
            ("[columns", "line 1: "),
        ] {
            let error = Mapping::parse(wrong).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
