//! A series in one line of text.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character for each value, from the least to the greatest. A missing value is a
/// blank, not a zero; a series without spread is drawn at mid height.
pub fn sparkline(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let least = known().fold(f64::INFINITY, f64::min);
    let greatest = known().fold(f64::NEG_INFINITY, f64::max);
    sparkline_within(values, least, greatest)
}

/// The same on a scale that is given, so that lines can be compared. What lies beyond it is drawn at its end.
pub fn sparkline_within(values: &[Option<f64>], least: f64, greatest: f64) -> String {
    values.iter().map(|value| level(*value, least, greatest)).collect()
}

fn level(value: Option<f64>, least: f64, greatest: f64) -> char {
    let Some(value) = value.filter(|value| value.is_finite()) else { return ' ' };
    if greatest <= least {
        return LEVELS[LEVELS.len() / 2];
    }
    let share = ((value - least) / (greatest - least)).max(0.0);
    LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_the_range_and_keeps_gaps() {
        assert_eq!(sparkline(&[Some(0.0), None, Some(7.0), Some(3.5)]), "▁ █▅");
        assert_eq!(sparkline(&[Some(2.0), Some(2.0)]), "▅▅");
        assert_eq!(sparkline(&[Some(f64::NAN), Some(1.0)]), " ▅");
        assert_eq!(sparkline(&[Some(10.0), Some(13.5), Some(17.0)]), "▁▅█", "from the least on");
        assert_eq!(sparkline(&[]), "");
        let values = [Some(-1.0), Some(0.0), Some(50.0), None, Some(99.0), Some(250.0)];
        assert_eq!(sparkline_within(&values, 0.0, 100.0), "▁▁▅ ██");
    }
}
