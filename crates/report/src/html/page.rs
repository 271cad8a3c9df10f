//! The page: head, sections, definitions, and the style and script inside it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::Number;

use super::escape::escape;
use super::section::Section;

/// Which colours a page starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// What the reader's system prefers.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A report in one file that needs nothing else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    title: String,
    subtitle: String,
    sections: Vec<Section>,
    footer: String,
    theme: Theme,
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("charts.js"));

/// Nothing may be loaded from anywhere and only this style and script count, whatever a name in the report
/// says.
fn policy() -> String {
    // A browser hashes what is between the tags.
    let hash = |text: &str| STANDARD.encode(Sha256::digest(format!("\n{text}")));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; img-src data:"
    )
}

impl Page {
    /// A page without sections.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Page { title: title.into(), subtitle: subtitle.into(), ..Page::default() }
    }

    /// Adds a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// A line at the end: what made the page, from what, and when.
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// Starts with these colours; the reader can still change them.
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Returns the file.
    pub fn to_html(&self) -> String {
        let theme = match self.theme {
            Theme::System => "",
            Theme::Light => " data-theme=\"light\"",
            Theme::Dark => " data-theme=\"dark\"",
        };
        let title = escape(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\"{theme}>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             {header}<main>\n{sections}{definitions}</main>\n{footer}\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            policy = policy(),
            header = self.header(&title),
            sections = self.sections_html(),
            definitions = self.definitions(),
            footer = self.footer_html(),
        )
    }

    fn header(&self, title: &str) -> String {
        let subtitle = match self.subtitle.as_str() {
            "" => String::new(),
            subtitle => format!("<p class=\"subtitle\">{}</p>\n", escape(subtitle)),
        };
        format!(
            "<header class=\"page\"><div><h1>{title}</h1>\n{subtitle}</div>\
             <button type=\"button\" id=\"theme\" aria-pressed=\"false\">Dark</button></header>\n{}",
            self.contents()
        )
    }

    /// Links to the sections, where there are enough of them to look for one.
    fn contents(&self) -> String {
        if self.sections.len() < 3 {
            return String::new();
        }
        let link = |(index, section): (usize, &Section)| {
            format!("<a href=\"#s{index}\">{}</a>", escape(&section.title))
        };
        let links: String = self.sections.iter().enumerate().map(link).collect();
        format!("<nav aria-label=\"Sections\">{links}</nav>\n")
    }

    fn sections_html(&self) -> String {
        let section = |(index, section): (usize, &Section)| {
            format!("<section id=\"s{index}\">\n{}</section>\n", section.to_html(2))
        };
        self.sections.iter().enumerate().map(section).collect()
    }

    /// Each number on the page once, so that its meaning is also on paper and on a phone.
    fn definitions(&self) -> String {
        let mut seen: Vec<&'static Number> = Vec::new();
        for number in self.sections.iter().flat_map(Section::numbers) {
            if !number.meaning.is_empty() && !seen.contains(&number) {
                seen.push(number);
            }
        }
        if seen.is_empty() {
            return String::new();
        }
        let definition = |number: &&Number| {
            let source = match number.source {
                "" => String::new(),
                source => format!(" <span class=\"source\">{}</span>", escape(source)),
            };
            let (label, meaning) = (escape(number.label), escape(number.meaning));
            format!("<dt>{label}</dt><dd>{meaning}{source}</dd>\n")
        };
        let list: String = seen.iter().map(definition).collect();
        format!(
            "<section><details class=\"definitions\"><summary>Definitions of the numbers on this \
             page</summary>\n<dl>{list}</dl></details></section>\n"
        )
    }

    fn footer_html(&self) -> String {
        match self.footer.as_str() {
            "" => String::new(),
            footer => format!("<footer>{}</footer>\n", escape(footer)),
        }
    }
}
