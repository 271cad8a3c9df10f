//! A part of a page with a heading, and its content.

use crate::{Number, Record};

use super::escape::escape;
use super::figure::{Chart, figure};
use super::finding::{Finding, preformatted};
use super::record;
use super::table::Table;
use super::tile::Tile;

/// A part of a page. What is added keeps its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    pub(crate) title: String,
    blocks: Vec<Block>,
    /// Defined numbers in it, for the list of definitions at the end of the page.
    numbers: Vec<&'static Number>,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Html(String),
    Section(Section),
    Folded(Section),
}

impl Section {
    /// Nothing under a heading yet.
    pub fn new(title: impl Into<String>) -> Self {
        Section { title: title.into(), ..Section::default() }
    }

    /// Running text; a line break starts a new paragraph.
    pub fn text(self, text: impl AsRef<str>) -> Self {
        let lines = text.as_ref().lines().filter(|line| !line.trim().is_empty());
        let paragraphs: String = lines.map(|line| format!("<p>{}</p>\n", escape(line))).collect();
        self.html(paragraphs)
    }

    /// A sentence that the reader needs in order not to be misled.
    pub fn note(self, note: impl AsRef<str>) -> Self {
        let note = escape(note.as_ref());
        self.html(format!("<p class=\"note\">{note}</p>\n"))
    }

    /// Text that keeps its lines and spaces, such as a command.
    pub fn code(self, code: impl AsRef<str>) -> Self {
        let code = preformatted(code.as_ref());
        self.html(code)
    }

    /// A result: its numbers with their definitions, its tables, its bars.
    pub fn record(mut self, result: &Record) -> Self {
        record::add(&mut self, result);
        self
    }

    /// A table.
    pub fn table(mut self, table: &Table) -> Self {
        self.numbers.extend(table.numbers());
        self.html(table.to_html())
    }

    /// A chart.
    pub fn chart(self, chart: impl Into<Chart>) -> Self {
        let drawn = figure(&chart.into());
        self.html(drawn)
    }

    /// Numbers that matter, side by side.
    pub fn tiles(mut self, tiles: &[Tile]) -> Self {
        if tiles.is_empty() {
            return self;
        }
        self.numbers.extend(tiles.iter().map(|tile| tile.number));
        let tiles: String = tiles.iter().map(Tile::to_html).collect();
        self.html(format!("<div class=\"tiles\">{tiles}</div>\n"))
    }

    /// Cards in the given order, or a sentence where there is nothing wrong.
    pub fn findings(self, findings: &[Finding]) -> Self {
        if findings.is_empty() {
            return self.html("<p class=\"empty\">No findings.</p>\n".to_string());
        }
        let cards: String = findings.iter().map(Finding::to_html).collect();
        self.html(format!("<div class=\"findings\">{cards}</div>\n"))
    }

    /// A part with a smaller heading.
    pub fn section(mut self, section: Section) -> Self {
        self.blocks.push(Block::Section(section));
        self
    }

    /// A part that opens on a click; its title is what the reader clicks.
    pub fn folded(mut self, section: Section) -> Self {
        self.blocks.push(Block::Folded(section));
        self
    }

    /// Markup that is safe already.
    pub(crate) fn html(mut self, html: String) -> Self {
        self.push(html);
        self
    }

    pub(crate) fn push(&mut self, html: String) {
        self.blocks.push(Block::Html(html));
    }

    pub(crate) fn define(&mut self, number: &'static Number) {
        self.numbers.push(number);
    }

    pub(crate) fn push_section(&mut self, section: Section) {
        self.blocks.push(Block::Section(section));
    }

    /// All defined numbers in it and below it, in order.
    pub(crate) fn numbers(&self) -> Vec<&'static Number> {
        let mut numbers = self.numbers.clone();
        for block in &self.blocks {
            if let Block::Section(section) | Block::Folded(section) = block {
                numbers.extend(section.numbers());
            }
        }
        numbers
    }

    /// Returns the section under a heading of this level.
    pub(crate) fn to_html(&self, level: usize) -> String {
        let level = level.min(6);
        let heading = match self.title.as_str() {
            "" => String::new(),
            title => format!("<h{level}>{}</h{level}>\n", escape(title)),
        };
        heading + &self.body(level)
    }

    pub(crate) fn body(&self, level: usize) -> String {
        let block = |block: &Block| match block {
            Block::Html(html) => html.clone(),
            Block::Section(section) => section.to_html(level + 1),
            Block::Folded(section) => format!(
                "<details class=\"fold\"><summary>{}</summary>\n{}</details>\n",
                escape(&section.title),
                section.body(level + 1)
            ),
        };
        self.blocks.iter().map(block).collect()
    }
}
