//! Aligned columns for a terminal.

use crate::visible;
use unicode_width::UnicodeWidthStr;

/// Which edge of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a heading for each column.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table without rows.
    pub fn new(columns: Vec<(String, Align)>) -> Self {
        TextTable { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus cells are not shown.
    pub fn push(&mut self, row: Vec<String>) {
        let mut row: Vec<String> = row.iter().map(|cell| visible(cell)).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Returns the table, indented by two, headings first, no line longer than it must be.
    pub fn to_text(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.width(index)).collect();
        let headings: Vec<String> =
            self.columns.iter().map(|(heading, _)| heading.clone()).collect();
        let mut out = self.line(&headings, &widths);
        for row in &self.rows {
            out.push_str(&self.line(row, &widths));
        }
        out
    }

    fn width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[index].width());
        cells.chain([self.columns[index].0.width()]).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            // Padding by hand: format! counts characters, a terminal counts columns.
            let padding = " ".repeat(width - cell.width());
            line.push_str("  ");
            match align {
                Align::Left => line.extend([cell.as_str(), &padding]),
                Align::Right => line.extend([padding.as_str(), cell]),
            }
        }
        format!("{}\n", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_steers_the_terminal() {
        let mut table = TextTable::new(vec![("name".into(), Align::Left)]);
        table.push(vec!["a\u{1b}[2J\n\u{202e}b".into()]);
        assert_eq!(table.to_text(), "  name\n  a\\u{1b}[2J\\u{a}\\u{202e}b\n");
    }

    #[test]
    fn columns_align_also_with_wide_characters() {
        let mut table =
            TextTable::new(vec![("name".into(), Align::Left), ("rate".into(), Align::Right)]);
        table.push(vec!["t0".into(), "551 MiB/s".into()]);
        table.push(vec!["\u{76ee}\u{6807}".into(), "5 B/s".into()]);
        table.push(vec!["short row".into()]);
        assert_eq!(
            table.to_text(),
            "  name            rate\n  t0         551 MiB/s\n  \u{76ee}\u{6807}           5 B/s\n  short row\n"
        );
    }
}
