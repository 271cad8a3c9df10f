//! A [`Record`] for people: labels, readable units, tables and bars.

use crate::number::MISSING;
use crate::record::{Entry, with_names};
use crate::table::{Align, TextTable};
use crate::{Bar, Emphasis, Number, Record, StyledText, bars, visible};

/// How much room there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the terminal; none: as many as are needed, and nothing is wrapped.
    pub width: Option<usize>,
}

/// Lines of running text that are longer are hard to read, however wide the terminal is.
const PROSE_WIDTH_MAX: usize = 100;

impl Layout {
    /// Returns running text in lines that fit, those after the first indented by so much.
    fn wrapped(self, text: &str, first_indent: usize, next_indent: usize) -> String {
        let text = visible(text);
        let Some(width) = self.width else { return text };
        let width = width.min(PROSE_WIDTH_MAX).max(next_indent + 20);
        let (first, next) = (" ".repeat(first_indent), " ".repeat(next_indent));
        let options = textwrap::Options::new(width)
            .initial_indent(&first)
            .subsequent_indent(&next)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let lines = textwrap::fill(&text, options);
        lines.strip_prefix(&first).unwrap_or(&lines).to_string()
    }
}

impl Record {
    /// Returns it as text without emphasis, as wide as it needs to be.
    pub fn to_text(&self) -> String {
        self.laid_out(Layout::default()).to_plain()
    }

    /// Returns it as text for a terminal.
    pub fn laid_out(&self, layout: Layout) -> StyledText {
        let mut out = StyledText::default();
        let label_width = self.entries.iter().map(label_width).max().unwrap_or(0);
        for (index, entry) in self.entries.iter().enumerate() {
            // Headings bring a blank line before them; the first one needs none.
            let place = Place { layout, label_width, is_first: index == 0 };
            place.add(entry, &mut out);
        }
        out
    }

    fn cells(&self) -> impl Iterator<Item = (&'static str, Align, String, Emphasis)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Number { number, value } => {
                Some((number.label, Align::Right, value.show(number), Emphasis::None))
            }
            Entry::Text { label, text, emphasis, .. } => {
                let text = text.clone().unwrap_or_else(|| MISSING.to_string());
                Some((*label, Align::Left, text, *emphasis))
            }
            _ => None,
        })
    }
}

fn label_width(entry: &Entry) -> usize {
    match entry {
        Entry::Number { number, .. } => number.label.len(),
        Entry::Text { label, .. } | Entry::Texts { label, .. } => label.len(),
        _ => 0,
    }
}

/// Where an entry goes.
#[derive(Clone, Copy)]
struct Place {
    layout: Layout,
    label_width: usize,
    is_first: bool,
}

impl Place {
    fn add(self, entry: &Entry, out: &mut StyledText) {
        match entry {
            Entry::Number { number, value } => {
                self.fact(number.label, &value.show(number), Emphasis::None, out);
            }
            Entry::Text { label, text, emphasis, .. } => {
                self.fact(label, text.as_deref().unwrap_or(MISSING), *emphasis, out);
            }
            Entry::Texts { label, texts, .. } => {
                let labels = std::iter::once(*label).chain(std::iter::repeat(""));
                for (label, text) in labels.zip(texts) {
                    self.fact(label, text, Emphasis::None, out);
                }
            }
            Entry::Section { title, record, .. } => {
                self.heading(title, out);
                out.append(record.laid_out(self.layout));
            }
            Entry::Cards { title, cards, .. } => {
                self.heading(title, out);
                self.cards(cards, out);
            }
            Entry::Rows { title, rows, .. } => {
                self.heading(title, out);
                self.rows(rows, out);
            }
            Entry::Named { title, label, rows, .. } => {
                self.heading(title, out);
                self.rows(&with_names(label, rows), out);
            }
            Entry::Spectrum { number, title, points } => {
                self.heading(title, out);
                out.push(Emphasis::None, &bars(&spectrum_bars(number, points)));
            }
            Entry::Sentence { text, .. } => {
                self.blank_line(out);
                out.push(Emphasis::Strong, &self.layout.wrapped(text, 0, 0));
                out.push(Emphasis::None, "\n");
            }
            Entry::Picture(picture) => {
                self.blank_line(out);
                out.push(Emphasis::None, picture);
            }
            Entry::Note(note) => {
                self.blank_line(out);
                let note = self.layout.wrapped(&format!("note: {note}"), 0, 6);
                out.push(Emphasis::None, &format!("{note}\n"));
            }
        }
    }

    /// A label and what belongs to it.
    fn fact(self, label: &str, text: &str, emphasis: Emphasis, out: &mut StyledText) {
        let width = self.label_width;
        out.push(Emphasis::None, &format!("  {label:width$}  "));
        let indent = width + 4;
        out.push(emphasis, &self.layout.wrapped(text, indent, indent));
        out.push(Emphasis::None, "\n");
    }

    /// A blank line, and the title where there is one.
    fn heading(self, title: &str, out: &mut StyledText) {
        self.blank_line(out);
        if !title.is_empty() {
            out.push(Emphasis::Strong, &visible(title));
            out.push(Emphasis::None, "\n");
        }
    }

    fn blank_line(self, out: &mut StyledText) {
        if !self.is_first {
            out.push(Emphasis::None, "\n");
        }
    }

    fn cards(self, cards: &[Record], out: &mut StyledText) {
        if cards.is_empty() {
            out.push(Emphasis::None, "  (none)\n");
        }
        for (index, card) in cards.iter().enumerate() {
            out.push(Emphasis::None, if index > 0 { "\n" } else { "" });
            out.append(card.laid_out(self.layout));
        }
    }

    fn rows(self, rows: &[Record], out: &mut StyledText) {
        let Some(first) = rows.first() else { return out.push(Emphasis::None, "  (none)\n") };
        let columns = first.cells().map(|(label, align, ..)| (label.to_string(), align));
        let mut table = TextTable::new(columns.collect());
        for row in rows {
            table.push_styled(row.cells().map(|(_, _, cell, emphasis)| (cell, emphasis)).collect());
        }
        out.append(table.laid_out(self.layout.width));
    }
}

/// A bar for each k, or for ranges of k when there would be too many to look at.
fn spectrum_bars(number: &Number, points: &[(u64, f64)]) -> Vec<Bar> {
    const BARS_MAX: usize = 40;
    let bar = |range: &[(u64, f64)]| {
        let (first, last) = (range[0].0, range[range.len() - 1].0);
        let label = if first == last { first.to_string() } else { format!("{first}-{last}") };
        let value = range.iter().map(|(_, value)| value).sum();
        Bar { label, value, shown: number.unit.show(value) }
    };
    points.chunks(points.len().div_ceil(BARS_MAX).max(1)).map(bar).collect()
}
