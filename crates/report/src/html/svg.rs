//! The few SVG elements that the charts are made of.

use unicode_width::UnicodeWidthStr;

use super::escape::{self, escape};

/// Mean width of a character at the font size of charts (style.css), in SVG units.
const CHARACTER: f64 = 6.4;

/// A coordinate with at most one decimal: a tenth of a pixel is enough, and short.
pub(crate) fn px(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// A coordinate along x that stays true when the reader zooms by ten thousand.
pub(crate) fn px_fine(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// About how wide the text will be.
pub(crate) fn text_width(text: &str) -> f64 {
    text.width() as f64 * CHARACTER
}

/// Returns the text, its middle replaced by an ellipsis where it is wider than `most`: the end of a
/// path says more than its middle.
pub(crate) fn shorten(text: &str, most: f64) -> String {
    if text_width(text) <= most {
        return text.to_string();
    }
    let characters: Vec<char> = text.chars().collect();
    let mut kept = ((most / CHARACTER) as usize).saturating_sub(1).min(characters.len());
    loop {
        let head: String = characters[..kept / 3].iter().collect();
        let tail: String = characters[characters.len() - (kept - kept / 3)..].iter().collect();
        let short = format!("{head}\u{2026}{tail}");
        if kept <= 1 || text_width(&short) <= most {
            return short;
        }
        kept -= 1;
    }
}

/// Where a text hangs on its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One line of text; the class is one of style.css.
pub(crate) fn text(x: f64, y: f64, anchor: Anchor, class: &str, text: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text x=\"{}\" y=\"{}\"{anchor}{class}>{}</text>", px(x), px(y), escape(text))
}

/// A rectangle with a tooltip.
pub(crate) fn rect(x: f64, y: f64, width: f64, height: f64, class: &str, tip: &str) -> String {
    format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\" data-tip=\"{}\"/>",
        px_fine(x),
        px(y),
        px_fine(width.max(0.0)),
        px(height.max(0.0)),
        escape::tip(tip)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_finite() {
        for (value, text) in
            [(1.0, "1"), (1.26, "1.3"), (-0.01, "0"), (f64::NAN, "0"), (1e300, "1000000")]
        {
            assert_eq!(px(value), text);
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        let short = shorten("/scratch/project/run-17/checkpoint.000042.h5", 120.0);
        assert!(short.starts_with("/scra") && short.ends_with("0042.h5"), "{short}");
        assert!(text_width(&short) <= 120.0);
        assert_eq!(shorten("t0", 120.0), "t0");
        assert_eq!(shorten("\u{76ee}\u{6807}\u{76ee}\u{6807}", 1.0), "\u{2026}");
    }
}
