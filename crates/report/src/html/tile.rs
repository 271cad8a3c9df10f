//! A number that matters, large, with its definition one click away.

use crate::{Number, Value};

use super::escape::escape;
use super::table::readings;

/// A number that matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    pub(crate) number: &'static Number,
    value: Value,
    note: String,
}

impl Tile {
    /// Returns the number and its value.
    pub fn new(number: &'static Number, value: impl Into<Value>) -> Self {
        Tile { number, value: value.into(), note: String::new() }
    }

    /// A few words under the value, such as what it compares to.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn to_html(&self) -> String {
        let (_, shown, tip) = readings(self.value, self.number.unit);
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!("<p class=\"tile-note\">{}</p>", escape(note)),
        };
        format!(
            "<div class=\"tile\"><p class=\"tile-label\">{}</p>\
             <p class=\"tile-value\" data-tip=\"{}\">{}</p>{note}{}</div>\n",
            escape(self.number.label),
            escape(&tip),
            value_and_unit(&shown),
            meaning(self.number)
        )
    }
}

/// Returns the figure in large type and its unit in smaller type.
fn value_and_unit(shown: &str) -> String {
    match shown.split_once(' ') {
        Some((figure, unit)) => format!("{} <small>{}</small>", escape(figure), escape(unit)),
        None => escape(shown),
    }
}

fn meaning(number: &Number) -> String {
    if number.meaning.is_empty() {
        return String::new();
    }
    let source = match number.source {
        "" => String::new(),
        source => format!("<br><span class=\"source\">{}</span>", escape(source)),
    };
    let meaning = escape(number.meaning);
    format!("<details><summary>Definition</summary><p>{meaning}{source}</p></details>")
}
