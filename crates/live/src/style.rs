//! How things stand out.

use plimsoll_utilization::Options;
use ratatui::style::{Color, Modifier, Style};

/// Colours or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    pub has_colours: bool,
}

impl Palette {
    /// Of a utilization: yellow where it is moderate, red where it is busy.
    pub fn of_fsu(self, fsu: Option<f64>) -> Style {
        let class = fsu.map(|fsu| Options::default().class(fsu));
        match class {
            Some(2) => self.coloured(Color::Red).add_modifier(Modifier::BOLD),
            Some(1) => self.coloured(Color::Yellow),
            _ => Style::new(),
        }
    }

    /// Of what must not be missed.
    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }
}
