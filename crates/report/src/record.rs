//! A result as an ordered list of named values, shown to people or to programs.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use crate::{Emphasis, Number, Value};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    Number {
        number: &'static Number,
        value: Value,
    },
    Text {
        key: &'static str,
        label: &'static str,
        text: Option<String>,
        emphasis: Emphasis,
    },
    Texts {
        key: &'static str,
        label: &'static str,
        texts: Vec<String>,
    },
    Section {
        key: &'static str,
        title: String,
        record: Record,
    },
    Cards {
        key: &'static str,
        title: String,
        cards: Vec<Record>,
    },
    Rows {
        key: &'static str,
        title: String,
        rows: Vec<Record>,
    },
    Named {
        key: &'static str,
        title: String,
        label: &'static str,
        rows: Vec<(&'static str, Record)>,
    },
    Spectrum {
        number: &'static Number,
        title: String,
        points: Vec<(u64, f64)>,
    },
    Sentence {
        key: &'static str,
        text: String,
    },
    Picture(String),
    Note(String),
}

/// A result. Entries keep their order in tables and in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    pub(crate) entries: Vec<Entry>,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A defined number.
    pub fn number(mut self, number: &'static Number, value: impl Into<Value>) -> Self {
        self.entries.push(Entry::Number { number, value: value.into() });
        self
    }

    /// A word or name.
    pub fn text(self, key: &'static str, label: &'static str, text: impl Into<String>) -> Self {
        self.optional_text(key, label, Some(text.into()))
    }

    /// A word or name that may not be known.
    pub fn optional_text(
        self,
        key: &'static str,
        label: &'static str,
        text: Option<String>,
    ) -> Self {
        self.push_text(key, label, text, Emphasis::None)
    }

    /// A word that says whether something is as it should be.
    pub fn judgement(
        self,
        key: &'static str,
        label: &'static str,
        text: impl Into<String>,
        emphasis: Emphasis,
    ) -> Self {
        self.push_text(key, label, Some(text.into()), emphasis)
    }

    fn push_text(
        mut self,
        key: &'static str,
        label: &'static str,
        text: Option<String>,
        emphasis: Emphasis,
    ) -> Self {
        self.entries.push(Entry::Text { key, label, text, emphasis });
        self
    }

    /// Several sentences; a list in JSON.
    pub fn texts(mut self, key: &'static str, label: &'static str, texts: Vec<String>) -> Self {
        self.entries.push(Entry::Texts { key, label, texts });
        self
    }

    /// Things of one kind that each need some lines: blocks for people, a list of objects in
    /// JSON.
    pub fn cards(
        mut self,
        key: &'static str,
        title: impl Into<String>,
        cards: Vec<Record>,
    ) -> Self {
        self.entries.push(Entry::Cards { key, title: title.into(), cards });
        self
    }

    /// A part of the result with a heading; an object in JSON.
    pub fn section(mut self, key: &'static str, title: impl Into<String>, record: Record) -> Self {
        self.entries.push(Entry::Section { key, title: title.into(), record });
        self
    }

    /// Things of one kind: a table for people, a list of objects in JSON.
    pub fn rows(mut self, key: &'static str, title: impl Into<String>, rows: Vec<Record>) -> Self {
        self.entries.push(Entry::Rows { key, title: title.into(), rows });
        self
    }

    /// Things of one kind that have names: a table for people, whose first column has the names
    /// under `label`; in JSON an object from name to object.
    pub fn named_rows(
        mut self,
        key: &'static str,
        title: impl Into<String>,
        label: &'static str,
        rows: Vec<(&'static str, Record)>,
    ) -> Self {
        self.entries.push(Entry::Named { key, title: title.into(), label, rows });
        self
    }

    /// One number for each whole k: bars for people, an object from k to value in JSON.
    pub fn spectrum(
        mut self,
        number: &'static Number,
        title: impl Into<String>,
        points: Vec<(u64, f64)>,
    ) -> Self {
        self.entries.push(Entry::Spectrum { number, title: title.into(), points });
        self
    }

    /// Adds the conclusion, in running text.
    pub fn sentence(mut self, key: &'static str, text: impl Into<String>) -> Self {
        self.entries.push(Entry::Sentence { key, text: text.into() });
        self
    }

    /// A drawing for terminals: programs get none, and pages have charts instead.
    pub fn picture(mut self, picture: impl Into<String>) -> Self {
        self.entries.push(Entry::Picture(picture.into()));
        self
    }

    /// A sentence that the reader needs in order not to be misled.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.entries.push(Entry::Note(note.into()));
        self
    }

    /// For programs: keys and base units.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// As [`Record::to_json`], entry by entry: a result may have millions of them.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let mut notes = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Number { number, value } => object.serialize_entry(number.key, value)?,
                Entry::Text { key, text, .. } => object.serialize_entry(key, text)?,
                Entry::Sentence { key, text } => object.serialize_entry(key, text)?,
                Entry::Texts { key, texts, .. } => object.serialize_entry(key, texts)?,
                Entry::Section { key, record, .. } => object.serialize_entry(key, record)?,
                Entry::Rows { key, rows, .. } | Entry::Cards { key, cards: rows, .. } => {
                    object.serialize_entry(key, rows)?;
                }
                Entry::Named { key, rows, .. } => object.serialize_entry(key, &Pairs(rows))?,
                Entry::Spectrum { number, points, .. } => {
                    object.serialize_entry(number.key, &Pairs(points))?;
                }
                Entry::Picture(_) => {}
                Entry::Note(note) => notes.push(note),
            }
        }
        if !notes.is_empty() {
            object.serialize_entry("notes", &notes)?;
        }
        object.end()
    }
}

/// Keys and values, as an object.
struct Pairs<'a, K, V>(&'a [(K, V)]);

impl<K: Serialize, V: Serialize> Serialize for Pairs<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Returns the rows with their names in front.
pub(crate) fn with_names(label: &'static str, rows: &[(&'static str, Record)]) -> Vec<Record> {
    let named = |(name, row): &(&'static str, Record)| {
        let mut named = Record::new().text("name", label, *name);
        named.entries.extend(row.entries.iter().cloned());
        named
    };
    rows.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    const LOAD: Number =
        Number { key: "load", label: "load", unit: Unit::Ratio, meaning: "", source: "" };
    const IN_USE: Number = Number {
        key: "in_use",
        label: "targets in use",
        unit: Unit::Count,
        meaning: "",
        source: "",
    };

    fn record() -> Record {
        Record::new()
            .number(&IN_USE, 385.185)
            .number(&LOAD, None::<f64>)
            .text("class", "class", "busy")
            .rows("runs", "runs", vec![Record::new().number(&IN_USE, 1u64)])
            .spectrum(&LOAD, "by k", vec![(1, 0.5)])
            .sentence("conclusion", "All is well.")
            .note("careful")
    }

    #[test]
    fn programs_get_keys_and_nulls() {
        let mut json = record().to_json();
        assert_eq!(json["load"].take(), serde_json::json!({"1": 0.5}));
        assert_eq!(
            json,
            serde_json::json!({
                "in_use": 385.185, "load": null, "class": "busy",
                "runs": [{"in_use": 1}], "conclusion": "All is well.", "notes": ["careful"]
            })
        );
        assert_eq!(Record::new().number(&LOAD, f64::NAN).to_json()["load"], Json::Null);
    }

    #[test]
    fn rows_with_names_are_a_table_and_an_object() {
        let rows = vec![
            ("read", Record::new().number(&IN_USE, 1u64)),
            ("write", Record::new().number(&IN_USE, None::<f64>)),
        ];
        let record = Record::new().named_rows("speed", "speed", "direction", rows);
        assert_eq!(
            record.to_json(),
            serde_json::json!({"speed": {"read": {"in_use": 1}, "write": {"in_use": null}}})
        );
        assert_eq!(
            record.to_text(),
            "speed\n  direction  targets in use\n  read                    1\n  \
             write                   -\n"
        );
    }

    #[test]
    fn people_get_aligned_labels() {
        let text = record().to_text();
        assert!(text.starts_with("  targets in use  385.185\n  load            -\n"), "{text}");
        assert!(text.contains("\n\nAll is well.\n\nnote: careful\n"), "{text}");
    }
}
