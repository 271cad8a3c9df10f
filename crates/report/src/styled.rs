//! Text for a terminal, with an emphasis here and there.

use anstyle::{AnsiColor, Style};

use crate::visible_lines;

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Emphasis {
    /// Not at all.
    #[default]
    None,
    /// A title, the heading of a table, or the conclusion.
    Strong,
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Not as it should be.
    Bad,
    /// Beside the point.
    Faint,
}

impl Emphasis {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Emphasis::None => Style::new(),
            Emphasis::Strong => Style::new().bold(),
            Emphasis::Good => colour(AnsiColor::Green),
            Emphasis::Warning => colour(AnsiColor::Yellow),
            Emphasis::Bad => colour(AnsiColor::Red).bold(),
            Emphasis::Faint => Style::new().dimmed(),
        }
    }
}

/// Pieces of text, each with its emphasis. Nothing in them steers a terminal but the emphasis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StyledText {
    pieces: Vec<(Emphasis, String)>,
}

impl StyledText {
    /// Returns text without emphasis.
    pub fn plain(text: &str) -> Self {
        let mut styled = StyledText::default();
        styled.push(Emphasis::None, text);
        styled
    }

    /// Adds a piece; line ends and tabs stay, and other characters that steer a terminal are spelled out.
    pub fn push(&mut self, emphasis: Emphasis, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = visible_lines(text);
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == emphasis => piece.push_str(&text),
            _ => self.pieces.push((emphasis, text)),
        }
    }

    /// Adds all pieces of another text.
    pub fn append(&mut self, other: StyledText) {
        for (emphasis, piece) in other.pieces {
            match self.pieces.last_mut() {
                Some((last, text)) if *last == emphasis => text.push_str(&piece),
                _ => self.pieces.push((emphasis, piece)),
            }
        }
    }

    /// Returns the text alone.
    pub fn to_plain(&self) -> String {
        self.pieces.iter().map(|(_, piece)| piece.as_str()).collect()
    }

    /// Returns the text with the escape sequences that show the emphasis.
    pub fn to_ansi(&self) -> String {
        let shown = |(emphasis, piece): &(Emphasis, String)| match emphasis {
            Emphasis::None => piece.clone(),
            emphasis => {
                let style = emphasis.style();
                format!("{style}{piece}{style:#}")
            }
        };
        self.pieces.iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_emphasis_steers() {
        let mut text = StyledText::plain("a\x1b[2J\n");
        text.push(Emphasis::Bad, "b\u{9b}");
        text.push(Emphasis::Bad, "c");
        text.append(StyledText::plain("d"));
        assert_eq!(text.to_plain(), "a\\u{1b}[2J\nb\\u{9b}cd");
        assert_eq!(text.to_ansi(), "a\\u{1b}[2J\n\x1b[1m\x1b[31mb\\u{9b}c\x1b[0md");
    }
}
