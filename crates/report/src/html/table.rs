//! Tables that the reader can sort, with definitions and exact values in tooltips.

use crate::number::MISSING;
use crate::{Number, Unit, Value};

use super::axis::exact;
use super::escape::escape;

/// A column: its heading, and what the heading means.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    title: String,
    meaning: String,
    numeric: bool,
    number: Option<&'static Number>,
}

impl Column {
    /// A column of words or names.
    pub fn text(title: impl Into<String>) -> Self {
        Column { title: title.into(), meaning: String::new(), numeric: false, number: None }
    }

    /// A column of figures that need no definition.
    pub fn figures(title: impl Into<String>) -> Self {
        Column { numeric: true, ..Column::text(title) }
    }

    /// A column of a defined number; the page explains it.
    pub fn number(number: &'static Number) -> Self {
        let meaning = definition(number);
        Column { title: number.label.into(), meaning, numeric: true, number: Some(number) }
    }
}

/// What a number means and where that comes from, in one line.
pub(crate) fn definition(number: &Number) -> String {
    match (number.meaning, number.source) {
        (meaning, "") => meaning.to_string(),
        (meaning, source) => format!("{meaning} ({source})"),
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A word or name.
    Text(String),
    /// A value and its unit.
    Value(Value, Unit),
    /// Nothing known.
    Missing,
}

impl Cell {
    /// A value and its unit.
    pub fn value(value: impl Into<Value>, unit: Unit) -> Self {
        Cell::Value(value.into(), unit)
    }

    fn to_html(&self, numeric: bool, is_minor: bool) -> String {
        let class = class(numeric, is_minor);
        match self {
            Cell::Text(text) => format!("<td{class}>{}</td>", escape(text)),
            Cell::Missing | Cell::Value(Value::Missing, _) => {
                format!("<td{class}>{MISSING}</td>")
            }
            Cell::Value(value, unit) => {
                let (sort, shown, tip) = readings(*value, *unit);
                let tip = if tip == shown {
                    String::new()
                } else {
                    format!(" data-tip=\"{}\"", escape(&tip))
                };
                let class = self::class(true, is_minor);
                format!("<td{class} data-v=\"{sort}\"{tip}>{}</td>", escape(&shown))
            }
        }
    }
}

/// What to sort by, what to show, and the exact value for the tooltip.
pub(crate) fn readings(value: Value, unit: Unit) -> (String, String, String) {
    match value {
        Value::Integer(whole) => {
            let shown = unit.show(whole as f64);
            // Beyond 2^53 the nearest f64 is another whole number.
            let tip = if whole < 1 << 53 {
                exact(whole as f64, unit)
            } else {
                format!("{shown} (exactly {whole} {})", unit.base())
            };
            (whole.to_string(), shown, tip)
        }
        Value::Real(real) if real.is_finite() => {
            (real.to_string(), unit.show(real), exact(real, unit))
        }
        _ => (String::new(), MISSING.to_string(), MISSING.to_string()),
    }
}

/// A table with a heading for each column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    caption: String,
}

/// More rows than this make a page slow, and nobody reads them.
const ROWS_MAX: usize = 1000;

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Table { columns, rows: Vec::new(), caption: String::new() }
    }

    /// A heading above the table.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row; missing cells are shown as not known, surplus cells are not shown.
    pub fn row(mut self, cells: Vec<Cell>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row in place.
    pub fn push(&mut self, mut cells: Vec<Cell>) {
        cells.resize(self.columns.len(), Cell::Missing);
        self.rows.push(cells);
    }

    /// Returns the defined numbers in the headings.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &'static Number> {
        self.columns.iter().filter_map(|column| column.number)
    }

    /// Returns the table, or a sentence where it has no rows.
    pub(crate) fn to_html(&self) -> String {
        if self.rows.is_empty() || self.columns.is_empty() {
            let caption = if self.caption.is_empty() { "" } else { ": " };
            return format!("<p class=\"empty\">{}{caption}none.</p>\n", escape(&self.caption));
        }
        let caption = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("<caption>{}</caption>", escape(caption)),
        };
        let major = self.major_columns();
        let is_minor = |nth: usize| !major.contains(&nth);
        let headings = self.columns.iter().enumerate().map(|(nth, it)| heading(it, is_minor(nth)));
        let headings: String = headings.collect();
        let row_html = |row: &Vec<Cell>| {
            let cells = row.iter().zip(&self.columns).enumerate();
            let cells = cells.map(|(nth, (it, column))| it.to_html(column.numeric, is_minor(nth)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().take(ROWS_MAX).map(row_html).collect();
        let more = if major.len() < self.columns.len() { ALL_COLUMNS } else { "" };
        format!(
            "<div class=\"framed\">{more}<div class=\"wide\" tabindex=\"0\"><table class=\"sortable\">{caption}\
             <thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div></div>\n{}",
            self.left_out()
        )
    }

    /// Returns the columns that a phone shows at first: the first, the names, the first time (or rate) and the first share;
    /// and where that is little, those that stand first.
    fn major_columns(&self) -> Vec<usize> {
        let all = 0..self.columns.len();
        if self.columns.len() <= PHONE_COLUMNS {
            return all.collect();
        }
        let unit = |nth: usize| match self.columns[nth].number {
            Some(number) => Some(number.unit),
            None => self.rows.iter().find_map(|row| match row[nth] {
                Cell::Value(_, unit) => Some(unit),
                _ => None,
            }),
        };
        let different = |nth: &usize| {
            let names = self.rows.iter().map(|row| match &row[*nth] {
                Cell::Text(text) => text.as_str(),
                _ => "",
            });
            names.collect::<std::collections::BTreeSet<&str>>().len()
        };
        // Of equals the first.
        let names =
            all.clone().rev().filter(|nth| !self.columns[*nth].numeric).max_by_key(different);
        let time = all.clone().find(|nth| unit(*nth) == Some(Unit::Seconds));
        let share = all.clone().find(|nth| matches!(unit(*nth), Some(Unit::Share | Unit::Percent)));
        let rate = || all.clone().find(|nth| unit(*nth) == Some(Unit::BytesPerSec));
        let time = time.or_else(rate);
        // Before and after, from and to.
        let after = |time: usize| all.clone().find(|nth| *nth > time && unit(*nth) == unit(time));
        let second = time.filter(|_| share.is_none()).and_then(after);
        let mut major: Vec<usize> =
            [Some(0), names, time, second, share].into_iter().flatten().collect();
        major.sort_unstable();
        major.dedup();
        let others: Vec<usize> = all.filter(|nth| !major.contains(nth)).collect();
        let few = PHONE_COLUMNS.saturating_sub(major.len());
        major.extend(others.into_iter().take(few));
        major
    }

    fn left_out(&self) -> String {
        match self.rows.len().saturating_sub(ROWS_MAX) {
            0 => String::new(),
            more => format!(
                "<p class=\"note\">The first {ROWS_MAX} rows; {more} more are not shown.</p>\n"
            ),
        }
    }
}

/// Columns that a phone has room for.
const PHONE_COLUMNS: usize = 3;

/// Shows the columns that a phone has no room for; style.css shows it on phones.
const ALL_COLUMNS: &str = "<label class=\"more\"><input type=\"checkbox\"/> all columns</label>";

fn class(numeric: bool, is_minor: bool) -> &'static str {
    match (numeric, is_minor) {
        (true, false) => " class=\"n\"",
        (true, true) => " class=\"n minor\"",
        (false, false) => "",
        (false, true) => " class=\"minor\"",
    }
}

fn heading(column: &Column, is_minor: bool) -> String {
    let class = class(column.numeric, is_minor);
    let meaning = match column.meaning.as_str() {
        "" => String::new(),
        meaning => format!(" title=\"{}\"", escape(meaning)),
    };
    let title = escape(&column.title);
    format!("<th scope=\"col\"{class}><button type=\"button\"{meaning}>{title}</button></th>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_sort_by_their_exact_value() {
        let table = Table::new(vec![Column::text("file"), Column::figures("bytes")])
            .row(vec![Cell::Text("<a>".into()), Cell::value(1536u64, Unit::Bytes)])
            .row(vec![Cell::Text("b".into())]);
        let html = table.to_html();
        assert!(html.contains("<td>&lt;a&gt;</td>"), "{html}");
        assert!(html.contains("data-v=\"1536\" data-tip=\"1.500 KiB (exactly 1536 B)\""), "{html}");
        assert!(html.contains("<td>b</td><td class=\"n\">-</td>"), "{html}");
    }

    /// Whatever stands between them, a phone has the names, the time and the share.
    #[test]
    fn a_phone_has_names_times_and_shares() {
        let units = [Unit::Count, Unit::Bytes, Unit::Seconds, Unit::Seconds, Unit::Share];
        let titles = ["layer", "operation", "calls", "bytes", "time", "longest", "share"];
        let columns = titles.iter().enumerate();
        let columns = columns.map(|(nth, it)| match nth {
            0 | 1 => Column::text(*it),
            _ => Column::figures(*it),
        });
        let mut table = Table::new(columns.collect());
        for name in ["pwrite", "pread"] {
            let figures = units.iter().map(|unit| Cell::value(1.0, *unit));
            let names = [Cell::Text("posix".into()), Cell::Text(name.into())];
            table.push(names.into_iter().chain(figures).collect());
        }
        assert_eq!(table.major_columns(), [0, 1, 4, 6]);
        let html = table.to_html();
        assert!(html.contains("<td class=\"n minor\" data-v=\"1\"") && html.contains(ALL_COLUMNS));
        assert!(html.contains("<th scope=\"col\" class=\"n minor\"><button type=\"button\">calls"));
        let times = [Unit::Count, Unit::Count, Unit::Seconds, Unit::Seconds, Unit::Seconds];
        let cells = times.iter().map(|unit| Cell::value(1.0, *unit));
        let changes = ["calls before", "calls after", "before", "after", "more"];
        let changes = [Column::text("operation")].into_iter().chain(changes.map(Column::figures));
        let changes = Table::new(changes.collect());
        let changes = changes.row([Cell::Text("a".into())].into_iter().chain(cells).collect());
        assert_eq!(changes.major_columns(), [0, 3, 4], "before and after");
        let few = Table::new(["a", "b", "c"].map(Column::figures).to_vec());
        let few = few.row(vec![Cell::Missing; 3]).to_html();
        assert!(!few.contains("minor") && !few.contains("all columns"), "{few}");
        let many = Table::new(["a", "b", "c", "d"].map(Column::figures).to_vec());
        assert_eq!(many.row(vec![Cell::Missing; 4]).major_columns(), [0, 1, 2]);
    }

    #[test]
    fn whole_numbers_stay_exact() {
        let (sort, _, tip) = readings(Value::Integer(u64::MAX), Unit::Bytes);
        assert_eq!(sort, u64::MAX.to_string());
        assert!(tip.contains("18446744073709551615"), "{tip}");
        let tip = |whole: u64| readings(Value::Integer(whole), Unit::Count).2;
        assert!(tip(1 << 53).contains("(exactly 9007199254740992 "), "{}", tip(1 << 53));
        assert_eq!(tip(7), "7");
    }
}
