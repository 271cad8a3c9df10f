//! An axis: its title, unit and scale, and the range that the data gives it.

use serde_json::{Value as Json, json};

use crate::Unit;

use super::escape::spelled;
use super::scale::Scale;
use super::svg::text_width;
use super::ticks::{self, Tick};

/// What an axis shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is measured, without the unit: the ticks carry it.
    pub title: String,
    /// Base unit of the values.
    pub unit: Unit,
    /// Linear unless said otherwise.
    pub scale: Scale,
    /// Ends that the axis must reach even where the data does not.
    pub range: Option<(f64, f64)>,
    /// What the values 0, 1, 2, … stand for, where they are not quantities.
    pub names: Vec<String>,
}

impl Axis {
    /// A linear axis.
    pub fn new(title: impl Into<String>, unit: Unit) -> Self {
        Axis { title: title.into(), unit, scale: Scale::Linear, range: None, names: Vec::new() }
    }

    /// An axis of things, such as targets: value n is the one with this name.
    pub fn named(title: impl Into<String>, names: Vec<String>) -> Self {
        let range = Some((-0.5, names.len() as f64 - 0.5));
        Axis { title: title.into(), unit: Unit::Count, scale: Scale::Linear, range, names }
    }

    /// Returns the same axis with another scale.
    pub fn scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Returns the same axis, reaching at least from `low` to `high`.
    pub fn reaching(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Whether the value has a place on this axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        value.abs() < GREATEST && (self.scale == Scale::Linear || value > LEAST)
    }

    /// Returns the axis with its ends, from the values that it holds; none without such values.
    pub(crate) fn fit(&self, values: impl Iterator<Item = f64>) -> Option<Fitted> {
        let asked = self.range.into_iter().flat_map(|(low, high)| [low, high]);
        let mut all = values.filter(|value| self.holds(*value)).peekable();
        all.peek()?;
        let all = all.chain(asked.filter(|value| self.holds(*value)));
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = spread(low, high, self.scale);
        Some(Fitted { low, high, axis: self.clone() })
    }
}

/// Beyond this, differences overflow; no quantity that we measure comes near.
const GREATEST: f64 = 1e300;
const LEAST: f64 = 1e-300;

/// Ends that differ: one value alone gets room around it.
fn spread(low: f64, high: f64, scale: Scale) -> (f64, f64) {
    if scale != Scale::Linear {
        return if high > low * (1.0 + 1e-9) { (low, high) } else { (low / 2.0, high * 2.0) };
    }
    let size = low.abs().max(high.abs());
    if high - low > size * 1e-12 && high - low > LEAST {
        return (low, high);
    }
    match size {
        0.0..=LEAST => (0.0, 1.0),
        _ if low > 0.0 => (0.0, high * 2.0),
        _ => (low - size, high + size),
    }
}

/// An axis with its ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fitted {
    pub low: f64,
    pub high: f64,
    pub axis: Axis,
}

impl Fitted {
    /// Where the value is between the ends, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let place = |value: f64| if self.axis.scale == Scale::Linear { value } else { value.ln() };
        let (low, high) = (place(self.low), place(self.high));
        let share = (place(value) - low) / (high - low);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Reaching zero, where the scale has one.
    pub fn reaching_zero(mut self) -> Self {
        if self.axis.scale == Scale::Linear {
            (self.low, self.high) = (self.low.min(0.0), self.high.max(0.0));
        }
        self
    }

    /// Reaching zero and whole steps, so that bars start at nothing and the top has a label.
    pub fn rounded(mut self, from_zero: bool, most: usize) -> Self {
        if self.axis.scale != Scale::Linear {
            return self;
        }
        if from_zero {
            self = self.reaching_zero();
        }
        let step = ticks::step(self.high - self.low, self.axis.unit, most);
        let (low, high) = ((self.low / step).floor() * step, (self.high / step).ceil() * step);
        if low.is_finite() && high.is_finite() && high > low {
            (self.low, self.high) = (low, high);
        }
        self
    }

    /// About `most` ticks, whatever their width.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        ticks::ticks(self.low, self.high, self.axis.scale, self.axis.unit, most)
    }

    /// As many ticks as fit side by side on `width`.
    pub fn ticks_across(&self, width: f64) -> Vec<Tick> {
        if !self.axis.names.is_empty() {
            return ticks::named(&self.axis.names, width);
        }
        let fits = |ticks: &Vec<Tick>| {
            ticks.windows(2).all(|pair| {
                let apart = (self.share(pair[1].value) - self.share(pair[0].value)) * width;
                let half = |tick: &Tick| text_width(&tick.label) / 2.0;
                apart >= half(&pair[0]) + half(&pair[1]) + 16.0
            })
        };
        let tried = [8, 6, 5, 4, 3, 2, 1].map(|most| self.ticks(most));
        tried.into_iter().find(fits).unwrap_or_default()
    }

    /// A value as it reads on this axis.
    pub fn show(&self, value: f64) -> String {
        let last = self.axis.names.len().saturating_sub(1);
        match self.axis.names.get((value.round().max(0.0) as usize).min(last)) {
            Some(name) => spelled(name),
            None => self.axis.unit.show(value),
        }
    }

    /// What the script needs to draw the axis again and to name its values.
    pub fn json(&self) -> Json {
        let scale = match self.axis.scale {
            Scale::Linear => "linear",
            Scale::Log2 | Scale::Log10 => "log",
        };
        let names: Vec<String> = self.axis.names.iter().map(|name| spelled(name)).collect();
        json!({ "title": spelled(&self.axis.title), "unit": self.axis.unit.base(),
                "scale": scale, "low": self.low, "high": self.high, "names": names })
    }

    /// From where to where, in words.
    pub fn words(&self) -> String {
        let (low, high) = (self.show(self.low), self.show(self.high));
        format!("{} from {low} to {high}", self.axis.title)
    }
}

/// Returns the value as it reads, and exactly: for tooltips.
pub(crate) fn exact(value: f64, unit: Unit) -> String {
    let symbol = match unit {
        Unit::Count | Unit::Ratio | Unit::Probability | Unit::Share => "",
        Unit::Bytes | Unit::ExactBytes => " B",
        Unit::BytesPerSec => " B/s",
        Unit::Seconds => " s",
        Unit::SecondsPerByte => " s/B",
        Unit::Percent => " %",
    };
    let raw = match value.abs() {
        0.0 => "0".to_string(),
        size if (1e-6..1e16).contains(&size) => value.to_string(),
        _ => format!("{value:e}"),
    };
    let shown = unit.show(value);
    if shown.replace(',', "") == format!("{raw}{symbol}") || !value.is_finite() {
        return shown;
    }
    format!("{shown} (exactly {raw}{symbol})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_gets_room() {
        let axis = Axis::new("time", Unit::Seconds);
        let fitted = axis.fit([5.0].into_iter()).unwrap();
        assert!(fitted.low < 5.0 && fitted.high > 5.0);
        assert!(axis.fit([f64::NAN].into_iter()).is_none());
        assert!(axis.clone().scale(Scale::Log2).fit([0.0, -1.0].into_iter()).is_none());
        let ends = |scale: Scale, values: &[f64]| {
            let fitted = axis.clone().scale(scale).fit(values.iter().copied()).unwrap();
            (fitted.low, fitted.high)
        };
        assert_eq!(ends(Scale::Linear, &[3.0, -1.0, 2.0]), (-1.0, 3.0));
        assert_eq!(ends(Scale::Linear, &[-4.0]), (-8.0, 0.0));
        assert_eq!(ends(Scale::Linear, &[0.0]), (0.0, 1.0));
        assert_eq!(ends(Scale::Log2, &[1.0, 8.0]), (1.0, 8.0));
        assert_eq!(ends(Scale::Log10, &[10.0]), (5.0, 20.0));
        let holds = |scale: Scale, value: f64| axis.clone().scale(scale).holds(value);
        assert!(holds(Scale::Linear, 0.0) && holds(Scale::Log2, 0.1));
        assert!(!holds(Scale::Log2, 0.0) && !holds(Scale::Log10, -1.0), "they have no logarithm");
    }

    /// As many as there is room for, and never so many that labels touch.
    #[test]
    fn labels_along_an_axis_do_not_touch() {
        for (unit, low, high) in [
            (Unit::Seconds, 1000.001, 1000.009),
            (Unit::Bytes, 0.0, 9e12),
            (Unit::Count, 1_234_000.0, 1_234_900.0),
        ] {
            let axis = Axis::new("x", unit).fit([low, high].into_iter()).unwrap();
            let mut most = 0;
            for width in (40..1200).step_by(20).map(f64::from) {
                let ticks = axis.ticks_across(width);
                for pair in ticks.windows(2) {
                    let apart = (axis.share(pair[1].value) - axis.share(pair[0].value)) * width;
                    let wide = |tick: &Tick| text_width(&tick.label) / 2.0;
                    let gap = apart - wide(&pair[0]) - wide(&pair[1]);
                    assert!(gap >= 16.0, "{gap} between {pair:?} on {width}");
                }
                assert!(ticks.len() + 1 >= most, "fewer on more: {} on {width}", ticks.len());
                most = most.max(ticks.len());
            }
            assert!(most >= 4, "{most}");
        }
    }

    #[test]
    fn tooltips_are_exact() {
        assert_eq!(exact(1536.0, Unit::Bytes), "1.500 KiB (exactly 1536 B)");
        assert_eq!(exact(12.0, Unit::Seconds), "12 s");
        assert_eq!(exact(0.0, Unit::Seconds), "0 s");
        assert_eq!(exact(2.5e-9, Unit::Seconds), "2.500 ns (exactly 2.5e-9 s)");
        assert_eq!(exact(1048576.0, Unit::Count), "1,048,576");
        assert_eq!(exact(f64::NAN, Unit::Count), "-");
    }
}
