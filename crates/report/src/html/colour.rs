//! Colours: kinds of calls have the same one on every page, other series get theirs in order.

/// A kind of call, which has one colour on every page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hue {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Opening, closing, names, attributes and directories.
    Metadata,
    /// Making data durable.
    Sync,
    /// Taking or giving back a lock.
    Lock,
    /// Waiting for others, and exchanging data with them.
    Waiting,
    /// Anything else.
    Other,
}

/// How many colours style.css has.
pub(crate) const COLOURS: usize = 8;

/// Which colours the series or kinds of a chart have.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Palette(Vec<Hue>);

impl Palette {
    /// One hue for each series; those beyond have colours in order.
    pub fn new(hues: Vec<Hue>) -> Self {
        Palette(hues)
    }

    /// Returns the number of a series' colour in style.css. Colours repeat after eight; names, shapes and dashes tell
    /// apart what colour does not.
    pub fn number(&self, index: usize) -> usize {
        match self.0.get(index) {
            // In the order of the hues, of which there are fewer than colours.
            Some(hue) => *hue as usize,
            None => index % COLOURS,
        }
    }

    /// Returns the class that gives a mark the colour of its series.
    pub fn class(&self, index: usize) -> String {
        format!("k{}", self.number(index))
    }

    /// Returns which of several dashes or shapes a series has: where hues are given, it is the nth of its colour.
    pub fn variant(&self, index: usize, variants: usize) -> usize {
        let same = |before: &usize| self.number(*before) == self.number(index);
        let nth = if self.0.is_empty() { index } else { (0..index).filter(same).count() };
        nth % variants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_call_has_its_colour_wherever_it_stands() {
        let palette = Palette::new(vec![Hue::Write, Hue::Read, Hue::Write]);
        assert_eq!([0, 1, 2, 3].map(|it| palette.number(it)), [1, 0, 1, 3]);
        assert_eq!([0, 1, 2].map(|it| palette.variant(it, 4)), [0, 0, 1], "dashes tell them apart");
        let all = [Hue::Read, Hue::Write, Hue::Metadata, Hue::Sync, Hue::Lock, Hue::Waiting];
        assert_eq!(Palette::new(all.to_vec()).class(5), "k5");
        let plain = Palette::default();
        assert_eq!((plain.class(9), plain.variant(5, 4)), ("k1".to_string(), 1));
    }
}
