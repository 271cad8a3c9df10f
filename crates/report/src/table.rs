//! Aligned columns for a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::number::MISSING;
use crate::{Emphasis, StyledText, visible};

/// Which edge of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with a heading for each column. Columns come in the order of their importance.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<(String, Emphasis)>>,
}

/// Names are shortened to this many columns before other columns are left out.
const NAME_WIDTH_MIN: usize = 24;

impl TextTable {
    /// A table without rows.
    pub fn new(columns: Vec<(String, Align)>) -> Self {
        TextTable { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, surplus cells are not shown.
    pub fn push(&mut self, row: Vec<String>) {
        self.push_styled(row.into_iter().map(|cell| (cell, Emphasis::None)).collect());
    }

    /// Adds a row whose cells may stand out.
    pub fn push_styled(&mut self, row: Vec<(String, Emphasis)>) {
        let cell = |(cell, emphasis): &(String, Emphasis)| (visible(cell), *emphasis);
        let mut row: Vec<_> = row.iter().map(cell).collect();
        row.resize(self.columns.len(), (String::new(), Emphasis::None));
        self.rows.push(row);
    }

    /// Returns the table, indented by two, headings first, no line longer than it must be.
    pub fn to_text(&self) -> String {
        self.laid_out(None).to_plain()
    }

    /// Returns the table so that it fits into the width, if one is given. First columns without a value are left out,
    /// then headings take several lines, then sentences do and names are shortened, and then the last columns are left out; the last
    /// line names the columns that have values and are not shown.
    pub fn laid_out(&self, width: Option<usize>) -> StyledText {
        let fitted = FittedTable::new(self, width.unwrap_or(usize::MAX));
        let mut out = StyledText::default();
        let shown = || fitted.columns.iter();
        let headings = shown().map(|column| column.heading.len()).max().unwrap_or(0);
        for line in 0..headings {
            // Headings of one line stand on the last.
            let part = |column: &FittedColumn| {
                let at = (line + column.heading.len()).checked_sub(headings);
                at.map_or(String::new(), |at| column.heading[at].clone())
            };
            let cells = shown().map(|column| (part(column), Emphasis::Faint)).collect();
            fitted.line(cells, &mut out);
        }
        for row in &self.rows {
            let lines: Vec<Vec<String>> =
                shown().map(|column| folded(&row[column.index].0, column.width)).collect();
            for line in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
                let cell = |(column, lines): (&FittedColumn, &Vec<String>)| {
                    let text = lines.get(line).cloned().unwrap_or_default();
                    (text, row[column.index].1)
                };
                fitted.line(shown().zip(&lines).map(cell).collect(), &mut out);
            }
        }
        if !fitted.left_out.is_empty() {
            let names = fitted.left_out.join(", ");
            let line = format!("not shown, for lack of room: {names} (--wide shows all)");
            let options = textwrap::Options::new(width.unwrap_or(usize::MAX).max(40));
            let options = options.initial_indent("  ").subsequent_indent("  ").break_words(false);
            out.push(Emphasis::Faint, &format!("{}\n", textwrap::fill(&line, options)));
        }
        out
    }

    fn cells_width(&self, index: usize) -> usize {
        self.rows.iter().map(|row| row[index].0.width()).max().unwrap_or(0)
    }

    fn is_empty(&self, index: usize) -> bool {
        self.rows.iter().all(|row| matches!(row[index].0.as_str(), "" | MISSING))
    }
}

/// The columns that are shown, and how.
struct FittedTable {
    columns: Vec<FittedColumn>,
    /// Headings of those that are not shown although they have values.
    left_out: Vec<String>,
}

struct FittedColumn {
    index: usize,
    align: Align,
    width: usize,
    /// Lines of the heading.
    heading: Vec<String>,
}

impl FittedTable {
    fn new(table: &TextTable, room: usize) -> Self {
        let column = |(index, (heading, align)): (usize, &(String, Align))| FittedColumn {
            index,
            align: *align,
            width: table.cells_width(index).max(heading.width()),
            heading: vec![heading.clone()],
        };
        let columns = table.columns.iter().enumerate().map(column).collect();
        let mut fitted = FittedTable { columns, left_out: Vec::new() };
        // A table without any value stays what it is.
        let has_value = (1..table.columns.len()).any(|index| !table.is_empty(index));
        if fitted.width() > room && has_value {
            let mut is_first = true;
            fitted.columns.retain(|it| std::mem::take(&mut is_first) || !table.is_empty(it.index));
        }
        if fitted.width() > room {
            fitted.fold_headings(table);
        }
        if fitted.width() > room {
            fitted.shorten_names(room);
        }
        while fitted.width() > room && fitted.columns.len() > 1 {
            let last = fitted.columns.pop().map(|column| table.columns[column.index].0.clone());
            fitted.left_out.splice(0..0, last);
        }
        if !fitted.left_out.is_empty() {
            fitted.lengthen_names(table, room);
        }
        fitted
    }

    /// Columns of the terminal that it takes.
    fn width(&self) -> usize {
        self.columns.iter().map(|column| column.width + 2).sum()
    }

    /// Headings that are wider than what is below them take two lines.
    fn fold_headings(&mut self, table: &TextTable) {
        for column in &mut self.columns {
            let heading = &table.columns[column.index].0;
            let least = table.cells_width(column.index).max(1);
            let folded = (least..column.width).find_map(|width| {
                let lines =
                    textwrap::wrap(heading, textwrap::Options::new(width).break_words(false));
                let fits = lines.len() <= 2 && lines.iter().all(|line| line.width() <= width);
                fits.then(|| (width, lines.iter().map(|line| line.to_string()).collect()))
            });
            if let Some((width, heading)) = folded {
                (column.width, column.heading) = (width, heading);
            }
        }
    }

    /// Makes names shorter, the widest first, until the table fits or none is left that may become shorter.
    fn shorten_names(&mut self, room: usize) {
        while self.width() > room {
            let names = self.columns.iter_mut().filter(|column| column.is_name());
            let Some(widest) = names.max_by_key(|column| column.width) else { return };
            if widest.width <= NAME_WIDTH_MIN {
                return;
            }
            widest.width -= 1;
        }
    }

    /// Gives room that is left to names that were shortened, to the first ones first.
    fn lengthen_names(&mut self, table: &TextTable, room: usize) {
        let mut left = room.saturating_sub(self.width());
        for column in self.columns.iter_mut().filter(|column| column.is_name()) {
            let wanted = table.cells_width(column.index).saturating_sub(column.width).min(left);
            column.width += wanted;
            left -= wanted;
        }
    }

    fn line(&self, cells: Vec<(String, Emphasis)>, out: &mut StyledText) {
        let last = cells.iter().rposition(|(cell, _)| !cell.is_empty());
        let places = self.columns.iter().zip(&cells).take(last.map_or(0, |last| last + 1));
        for (index, (column, (cell, emphasis))) in places.enumerate() {
            // Padding by hand: format! counts characters, a terminal counts columns.
            let padding = " ".repeat(column.width.saturating_sub(cell.width()));
            let (before, after) = match column.align {
                Align::Left => ("", padding.as_str()),
                Align::Right => (padding.as_str(), ""),
            };
            out.push(Emphasis::None, &format!("  {before}"));
            out.push(*emphasis, cell);
            out.push(Emphasis::None, if Some(index) == last { "" } else { after });
        }
        out.push(Emphasis::None, "\n");
    }
}

impl FittedColumn {
    fn is_name(&self) -> bool {
        self.align == Align::Left
    }
}

/// Returns the text in lines of at most that width: sentences take several, names are shortened.
fn folded(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width || !text.contains(' ') {
        return vec![shortened(text, width)];
    }
    let lines = textwrap::wrap(text, textwrap::Options::new(width).break_words(false));
    lines.iter().map(|line| shortened(line, width)).collect()
}

/// Returns the text without its middle, if it is too wide: paths differ at their ends.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let room = width.saturating_sub(1);
    let head = taken(text.chars(), room / 3);
    let tail: Vec<char> = taken(text.chars().rev(), room - room / 3);
    head.iter().chain(&['…']).chain(tail.iter().rev()).collect()
}

/// Returns as many characters as fit.
fn taken(characters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut left = room;
    let fits = |character: &char| {
        let width = character.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    characters.take_while(fits).collect()
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

    fn measured() -> TextTable {
        let left = |name: &str| (name.to_string(), Align::Left);
        let right = |name: &str| (name.to_string(), Align::Right);
        let mut table = TextTable::new(vec![
            left("file"),
            right("share of run time"),
            right("never known"),
            right("bytes"),
            left("use"),
        ]);
        let cells = |cells: [&str; 5]| cells.map(String::from).to_vec();
        let path = "/scratch/project/run-1/checkpoint.0001.h5";
        table.push(cells([path, "12 %", "-", "1 GiB", "shared"]));
        table.push(cells(["b", "3 %", "-", "1 MiB", "private"]));
        table
    }

    #[test]
    fn a_table_gives_up_what_says_least_first() {
        let table = measured();
        let width = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap();
        let fitted = |width| table.laid_out(Some(width)).to_plain();
        assert_eq!(fitted(91), table.to_text(), "it fits");
        assert_eq!(width(&table.to_text()), 91);
        let without_empty = fitted(84);
        assert!(!without_empty.contains("never"), "{without_empty}");
        assert!(without_empty.contains("share of run time  bytes  use"), "{without_empty}");
        assert_eq!(
            fitted(72),
            "                                             share of\n  \
             file                                       run time  bytes  use\n  \
             /scratch/project/run-1/checkpoint.0001.h5      12 %  1 GiB  shared\n  \
             b                                               3 %  1 MiB  private\n"
        );
        let shortened = fitted(60);
        assert!(shortened.contains("/scratch/p…-1/checkpoint.0001.h5"), "{shortened}");
        assert_eq!(width(&shortened), 60);
        let fewer = fitted(45);
        assert!(
            fewer.ends_with("not shown, for lack of room: use (--wide\n  shows all)\n"),
            "{fewer}"
        );
        assert!(fewer.contains("1 GiB"), "{fewer}");
        let mut nothing = TextTable { rows: Vec::new(), ..table.clone() };
        nothing.push(vec!["a".into(), "-".into(), "-".into()]);
        assert!(
            nothing.laid_out(Some(60)).to_plain().contains("bytes"),
            "which columns have no value"
        );
        let fewest = fitted(1);
        let words: Vec<&str> = fewest.split_whitespace().collect();
        assert!(words.join(" ").contains("share of run time, bytes, use"), "{fewest}");
    }

    #[test]
    fn sentences_are_folded_and_not_cut() {
        let left = |name: &str| (name.to_string(), Align::Left);
        let mut table = TextTable::new(vec![left("for"), left("do this")]);
        let advice = "nothing, if this machine does not use it: directories work too";
        table.push(vec!["Lustre".into(), advice.into()]);
        table.push(vec!["x".into(), "y".into()]);
        assert_eq!(
            table.laid_out(Some(40)).to_plain(),
            "  for     do this\n  \
             Lustre  nothing, if this machine does\n          \
             not use it: directories work\n          too\n  \
             x       y\n"
        );
    }

    #[test]
    fn emphasis_is_on_cells_and_not_on_the_space_between_them() {
        let mut table = TextTable::new(vec![("a".into(), Align::Left), ("b".into(), Align::Left)]);
        table.push_styled(vec![("x".into(), Emphasis::Bad), ("y".into(), Emphasis::None)]);
        let shown = table.laid_out(None).to_ansi();
        assert!(shown.ends_with("\n  \x1b[1m\x1b[31mx\x1b[0m  y\n"), "{shown:?}");
    }
}
