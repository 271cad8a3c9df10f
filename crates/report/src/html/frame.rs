//! The frame of a chart: margins, axes with their ticks, and the area where marks go.

use serde_json::{Value as Json, json};

use super::axis::Fitted;
use super::escape::{escape, spelled};
use super::svg::{Anchor, px, shorten, text, text_width};

/// Widths in SVG units that each chart is drawn in, and what style.css calls them: it shows the drawing that suits the
/// room that the chart has, so that letters are about as large everywhere.
pub(crate) const SIZES: [(f64, &str); 3] =
    [(760.0, "drawn"), (360.0, "drawn narrow"), (1240.0, "drawn broad")];

const RIGHT: f64 = 8.0;
/// Room below the area for ticks, and for a title where there is one.
const TICKS: f64 = 26.0;
const TITLE: f64 = 18.0;
const GUTTER_MAX: f64 = 190.0;
const GUTTER_SHARE: f64 = 0.3;

/// The area where marks go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    /// Whether something is written below the ticks.
    pub titled: bool,
    /// Width of the whole drawing, one of [`SIZES`].
    pub whole: f64,
}

impl Frame {
    /// For a chart with values up the left side.
    pub fn with_values(y: &Fitted, height: f64, whole: f64) -> Self {
        let labels = y.ticks(VALUE_TICKS).into_iter().map(|tick| text_width(&tick.label));
        let left = labels.fold(20.0, f64::max) + 14.0;
        Frame { left, top: 26.0, width: whole - left - RIGHT, height, titled: true, whole }
    }

    /// For a chart with a name at the left of each row.
    pub fn with_names<'a>(names: impl Iterator<Item = &'a str>, height: f64, whole: f64) -> Self {
        let widest = names.map(|name| text_width(&spelled(name))).fold(20.0, f64::max);
        let left = widest.min(GUTTER_MAX.max(whole * 0.2)).min(whole * GUTTER_SHARE) + 14.0;
        Frame { left, top: 8.0, width: whole - left - RIGHT, height, titled: true, whole }
    }

    /// Moves the area down by this much.
    pub fn below(mut self, top: f64) -> Self {
        self.top = top;
        self
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Horizontal lines with their values, and the title above them.
    pub fn value_axis(&self, y: &Fitted) -> String {
        let mut out = text(0.0, 11.0, Anchor::Start, "axis", &y.axis.title);
        for tick in y.ticks(VALUE_TICKS) {
            let at = self.bottom() - y.share(tick.value) * self.height;
            out.push_str(&format!(
                "<path class=\"grid\" d=\"M{} {}h{}\"/>",
                px(self.left),
                px(at),
                px(self.width)
            ));
            out.push_str(&text(self.left - 8.0, at + 4.0, Anchor::End, "tick", &tick.label));
        }
        out
    }

    /// Vertical lines with their values below, and the title. The script draws this group
    /// again after a zoom.
    pub fn x_axis(&self, x: &Fitted) -> String {
        let mut out = String::from("<g class=\"xaxis\">");
        for tick in x.ticks_across(self.width) {
            let at = self.left + x.share(tick.value) * self.width;
            out.push_str(&format!(
                "<path class=\"grid\" d=\"M{} {}v{}\"/>",
                px(at),
                px(self.top),
                px(self.height)
            ));
            // The last label stays inside the chart.
            let middle = at.min(self.whole - text_width(&tick.label) / 2.0 - 2.0);
            out.push_str(&text(middle, self.bottom() + 17.0, Anchor::Middle, "tick", &tick.label));
        }
        out.push_str("</g>");
        out + &self.title_below(&x.axis.title)
    }

    /// Returns the title of what runs along the bottom.
    pub fn title_below(&self, title: &str) -> String {
        let middle = self.left + self.width / 2.0;
        text(middle, self.bottom() + 37.0, Anchor::Middle, "axis", title)
    }

    /// Returns the name of a row, whole in its tooltip where it is too long.
    pub fn row_name(&self, name: &str, middle: f64) -> String {
        let name = spelled(name);
        let short = shorten(&name, self.left - 12.0);
        let label = text(self.left - 8.0, middle + 4.0, Anchor::End, "name", &short);
        if short == name { label } else { format!("<g data-tip=\"{}\">{label}</g>", escape(&name)) }
    }

    /// A line along the left or the bottom of the area.
    pub fn base_line(&self) -> String {
        let (left, bottom) = (px(self.left), px(self.bottom()));
        format!("<path class=\"base\" d=\"M{left} {bottom}h{}\"/>", px(self.width))
    }

    /// Marks in coordinates of the area, cut off at its edges. The script zooms it.
    pub fn area(&self, marks: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        format!(
            "<svg class=\"area\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\">{marks}</svg>",
            px(self.left),
            px(self.top)
        )
    }

    /// A sentence in the area that the script hides.
    pub fn without_script(&self, sentence: &str) -> String {
        let (x, y) = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        text(x, y, Anchor::Middle, "axis no-script", sentence)
    }

    /// Returns the whole chart; `words` say what it shows to those who cannot see it.
    pub fn chart(&self, words: &str, zoom: bool, inside: &str) -> String {
        let height = self.bottom() + TICKS + if self.titled { TITLE } else { 0.0 };
        let class = if zoom { " class=\"zooms\" tabindex=\"0\"" } else { "" };
        format!(
            "<svg{class} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{inside}</svg>",
            px(self.whole),
            px(height),
            escape(words)
        )
    }

    /// For the script: left, top, width and height as drawn.
    pub fn json(&self) -> Json {
        json!(
            [self.left, self.top, self.width, self.height].map(|side| (side * 10.0).round() / 10.0)
        )
    }
}

const VALUE_TICKS: usize = 5;

/// Ends of the value axis as the frame labels them.
pub(crate) fn value_ends(y: Fitted, from_zero: bool) -> Fitted {
    y.rounded(from_zero, VALUE_TICKS)
}
