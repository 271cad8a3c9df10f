//! A [`Record`] as HTML: the same entries that make the table and the JSON.
//!
//! A record becomes sections, and a section can hold records: the two files use each other.

use crate::number::MISSING;
use crate::record::{Entry, with_names};
use crate::{Number, Record, Value};

use super::axis::Axis;
use super::bars::Bars;
use super::escape::escape;
use super::figure::figure;
use super::section::Section;
use super::table::{Cell, Column, Table, definition, readings};

/// Adds everything in the record to the section.
pub(crate) fn add(section: &mut Section, record: &Record) {
    let mut facts = String::new();
    for entry in &record.entries {
        match entry {
            Entry::Number { number, value } => {
                section.define(number);
                facts.push_str(&number_fact(number, *value));
            }
            Entry::Text { label, text, .. } => facts.push_str(&text_fact(label, text.as_deref())),
            Entry::Texts { label, texts, .. } => facts.push_str(&texts_fact(label, texts)),
            _ => {
                flush(section, &mut facts);
                add_block(section, entry);
            }
        }
    }
    flush(section, &mut facts);
}

/// Numbers and names that follow each other form one list.
fn flush(section: &mut Section, facts: &mut String) {
    if !facts.is_empty() {
        section.push(format!("<dl class=\"facts\">{facts}</dl>\n"));
        facts.clear();
    }
}

fn add_block(section: &mut Section, entry: &Entry) {
    match entry {
        Entry::Section { title, record, .. } => {
            let mut part = Section::new(title.as_str());
            add(&mut part, record);
            section.push_section(part);
        }
        Entry::Cards { title, cards, .. } => {
            let mut part = Section::new(title.as_str());
            cards.iter().for_each(|card| add(&mut part, card));
            section.push_section(part);
        }
        Entry::Rows { title, rows, .. } => add_rows(section, title, rows),
        Entry::Named { title, label, rows, .. } => {
            add_rows(section, title, &with_names(label, rows));
        }
        Entry::Spectrum { number, title, points } => {
            section.define(number);
            section.push(figure(&spectrum(number, title, points).into()));
        }
        Entry::Sentence { text, .. } => section.push(format!("<p>{}</p>\n", escape(text))),
        Entry::Note(note) => section.push(format!("<p class=\"note\">{}</p>\n", escape(note))),
        // A page has charts instead.
        Entry::Picture(_) => {}
        Entry::Number { .. } | Entry::Text { .. } | Entry::Texts { .. } => {}
    }
}

fn add_rows(section: &mut Section, title: &str, rows: &[Record]) {
    let table = rows_table(rows).caption(title);
    table.numbers().for_each(|number| section.define(number));
    section.push(table.to_html());
}

fn number_fact(number: &Number, value: Value) -> String {
    let (_, shown, tip) = readings(value, number.unit);
    let meaning = match definition(number).as_str() {
        "" => String::new(),
        meaning => format!(" class=\"defined\" tabindex=\"0\" title=\"{}\"", escape(meaning)),
    };
    format!(
        "<div><dt{meaning}>{}</dt><dd data-tip=\"{}\">{}</dd></div>",
        escape(number.label),
        escape(&tip),
        escape(&shown)
    )
}

/// Longer texts are sentences, which read from the left and over the whole width.
const SHORT: usize = 60;

fn text_fact(label: &str, text: Option<&str>) -> String {
    let text = text.unwrap_or(MISSING);
    let class = if text.chars().count() > SHORT { " class=\"long\"" } else { "" };
    format!("<div{class}><dt>{}</dt><dd>{}</dd></div>", escape(label), escape(text))
}

/// One line below the other.
fn texts_fact(label: &str, texts: &[String]) -> String {
    match texts {
        [] => text_fact(label, None),
        [one] => text_fact(label, Some(one)),
        _ => {
            let items: String = texts.iter().map(|it| format!("<li>{}</li>", escape(it))).collect();
            format!("<div class=\"long\"><dt>{}</dt><dd><ul>{items}</ul></dd></div>", escape(label))
        }
    }
}

fn rows_table(rows: &[Record]) -> Table {
    let columns = rows.first().into_iter().flat_map(|row| &row.entries).filter_map(column);
    let mut table = Table::new(columns.collect());
    for row in rows {
        table.push(row.entries.iter().filter_map(cell).collect());
    }
    table
}

fn column(entry: &Entry) -> Option<Column> {
    match entry {
        Entry::Number { number, .. } => Some(Column::number(number)),
        Entry::Text { label, .. } => Some(Column::text(*label)),
        _ => None,
    }
}

fn cell(entry: &Entry) -> Option<Cell> {
    match entry {
        Entry::Number { number, value } => Some(Cell::Value(*value, number.unit)),
        Entry::Text { text, .. } => Some(text.clone().map_or(Cell::Missing, Cell::Text)),
        _ => None,
    }
}

/// A column for each k, or for ranges of k when there would be too many to look at.
fn spectrum(number: &Number, title: &str, points: &[(u64, f64)]) -> Bars {
    const COLUMNS_MAX: usize = 60;
    let chunk = points.len().div_ceil(COLUMNS_MAX).max(1);
    let label = |range: &[(u64, f64)]| match (range.first(), range.last()) {
        (Some((first, _)), Some((last, _))) if first != last => format!("{first}-{last}"),
        (Some((first, _)), _) => first.to_string(),
        _ => String::new(),
    };
    let chunks = || points.chunks(chunk);
    let values = chunks().map(|range| range.iter().map(|(_, value)| value).sum()).collect();
    Bars::columns(title, "", Axis::new(number.label, number.unit), chunks().map(label).collect())
        .series(number.label, values)
}
