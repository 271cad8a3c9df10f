//! The windows of a day of a group of targets.

use std::ops::Range;

use crate::window::Window;

/// Windows that are made together: a day with a sample takes a few KB, and looking for it a look at each of 271 places.
const AT_A_TIME: usize = 64;

/// Windows of some time that follow each other. Those of times of which nothing is known are not there: a day may have one sample, and there may be many days.
#[derive(Debug, Default)]
pub(crate) struct DayWindows {
    count: usize,
    /// All of them, so many at a time.
    some: Vec<Option<Box<[Window; AT_A_TIME]>>>,
}

impl DayWindows {
    /// Returns so many windows of which nothing is known, but for the first ones.
    pub fn new(count: usize, first: &[Window]) -> Self {
        let some = (0..count.div_ceil(AT_A_TIME)).map(|_| None).collect();
        let mut windows = DayWindows { count, some };
        for (place, window) in first.iter().enumerate().filter(|it| *it.1 != Window::default()) {
            windows.get_mut(place).into_iter().for_each(|own| *own = *window);
        }
        windows
    }

    /// Returns a window, which is made if need be; nothing beyond the last one.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Window> {
        if place >= self.count {
            return None;
        }
        let some = self.some.get_mut(place / AT_A_TIME)?;
        let some = some.get_or_insert_with(|| Box::new([Window::default(); AT_A_TIME]));
        some.get_mut(place % AT_A_TIME)
    }

    /// Returns the windows of some places that there are, with these places: all of which anything is known.
    pub fn made(&self, places: Range<usize>) -> impl Iterator<Item = (usize, &Window)> {
        let range = places.start / AT_A_TIME..places.end.div_ceil(AT_A_TIME).min(self.some.len());
        let first = range.start * AT_A_TIME;
        let some = self.some[range].iter().zip((first..).step_by(AT_A_TIME));
        let made = some.filter_map(|(some, first)| Some((some.as_deref()?, first)));
        let all = made.flat_map(|(some, first)| (first..).zip(some));
        all.filter(move |(place, _)| places.contains(place))
    }

    /// Returns the windows of some places, also those of which nothing is known.
    pub fn copied(&self, places: Range<usize>) -> Vec<Window> {
        let mut all = vec![Window::default(); places.len()];
        self.made(places.clone()).for_each(|(place, it)| all[place - places.start] = *it);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(targets: u32) -> Window {
        Window { targets, ..Window::default() }
    }

    fn places(windows: &DayWindows, places: Range<usize>) -> Vec<usize> {
        let known = windows.made(places).filter(|it| it.1.targets > 0);
        known.map(|(place, _)| place).collect()
    }

    #[test]
    fn windows_come_back_in_their_order_and_none_lies_beyond_the_last() {
        let mut windows = DayWindows::new(1000, &[window(0), window(7)]);
        for place in [999, 63, 64, 500] {
            windows.get_mut(place).unwrap().targets = place as u32;
        }
        assert!(windows.get_mut(1000).is_none());
        assert_eq!(places(&windows, 0..1000), [1, 63, 64, 500, 999]);
        assert_eq!(places(&windows, 2..999), [63, 64, 500]);
        assert_eq!(places(&windows, 64..500), [64]);
        assert_eq!(places(&windows, 500..2000), [500, 999]);
        let targets =
            |range| -> Vec<u32> { windows.copied(range).iter().map(|it| it.targets).collect() };
        assert_eq!(targets(62..66), [0, 63, 64, 0]);
        assert_eq!(targets(200..202), [0, 0]);
    }

    /// The attack: a log of 0.8 MB with a sample of each of 300 targets on each of 1000 days. Each took all windows of a day, and a look at each.
    #[test]
    fn a_day_with_a_sample_has_no_more_windows_than_are_made_together() {
        let mut windows = DayWindows::new(17_292, &[Window::default(); 12]);
        assert_eq!(windows.made(0..17_292).count(), 0);
        windows.get_mut(9000).unwrap().targets = 1;
        assert_eq!(windows.made(0..17_292).count(), AT_A_TIME);
    }
}
