//! What is wrong, what it costs, how we know, and what to change.

use crate::{Emphasis, Unit};

use super::axis::exact;
use super::escape::escape;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth changing.
    Medium,
    /// The first thing to change.
    High,
}

impl Severity {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }

    /// Returns how it stands out on a terminal.
    pub const fn emphasis(self) -> Emphasis {
        match self {
            Severity::Low => Emphasis::None,
            Severity::Medium => Emphasis::Warning,
            Severity::High => Emphasis::Bad,
        }
    }

    /// A shape for each, so that colour is not the only sign.
    fn sign(self) -> &'static str {
        match self {
            Severity::Low => "\u{25cb}",
            Severity::Medium => "\u{25d0}",
            Severity::High => "\u{25cf}",
        }
    }
}

/// A finding, shown as a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Its name in JSON, such as `data-sieving`.
    pub id: String,
    /// One line.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// Estimated cost in seconds, where it can be estimated.
    pub cost_seconds: Option<f64>,
    /// What was seen, a sentence each.
    pub evidence: Vec<String>,
    /// What to do, one or more ways.
    pub advice: Vec<String>,
    /// The exact change to copy: a hint and its value, a flag, a call. May be empty.
    pub change: String,
}

impl Finding {
    pub(crate) fn to_html(&self) -> String {
        let evidence = list("Evidence", &self.evidence);
        format!(
            "<article class=\"finding {word}\"><header><span class=\"severity\">{sign} {word}\
             </span><h4>{title}</h4>{cost}</header>{evidence}{advice}\
             <p class=\"finding-id\">{id}</p></article>\n",
            word = self.severity.name(),
            sign = self.severity.sign(),
            title = escape(&self.title),
            cost = self.cost(),
            advice = self.advice(),
            id = escape(&self.id),
        )
    }

    fn cost(&self) -> String {
        let Some(seconds) = self.cost_seconds.filter(|seconds| seconds.is_finite()) else {
            return "<span class=\"cost\">cost not known</span>".to_string();
        };
        let (shown, tip) = (Unit::Seconds.show(seconds), exact(seconds, Unit::Seconds));
        format!(
            "<span class=\"cost\" data-tip=\"estimated cost: {}\">costs about <b>{}</b></span>",
            escape(&tip),
            escape(&shown)
        )
    }

    fn advice(&self) -> String {
        list("What to change", &self.advice) + &preformatted(&self.change)
    }
}

/// Sentences under a heading; nothing without any.
fn list(heading: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|it| format!("<li>{}</li>", escape(it))).collect();
    format!("<h5>{heading}</h5><ul>{items}</ul>")
}

/// Text that keeps its lines and spaces.
pub(crate) fn preformatted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = text.lines().map(escape).collect();
    format!("<pre tabindex=\"0\">{}</pre>\n", lines.join("\n"))
}
