//! What is known of a group of targets in some days that follow each other.

use std::collections::BTreeMap;

use plimsoll_history::{Component, Day, GAP_MILLIS};
use plimsoll_stored::{Malformed, Reader, Stored, stored};

use crate::day_windows::DayWindows;
use crate::window::{WINDOW_MILLIS, Window};
use crate::{Options, Summary};

/// Windows of a day.
pub(crate) const DAY_WINDOWS: usize = (Day::MILLIS / WINDOW_MILLIS) as usize;
/// Windows of the day before that samples of a day may reach back to.
pub(crate) const BACK_WINDOWS: usize = (GAP_MILLIS / WINDOW_MILLIS) as usize;

/// A group of targets in some days.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub summary: Summary,
    pub members: BTreeMap<Component, Member>,
    /// Its first day, and the last windows of the day before it, as far as its samples reach back: days before may have more of them.
    front: Option<(Day, Vec<Window>)>,
    /// The last windows of its last day, which samples of the next day may reach.
    open: Option<(Day, Vec<Window>)>,
}

/// A target of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// The window that it was counted in first,
    first: Option<u64>,
    /// and last.
    last: Option<u64>,
}

impl Member {
    /// Notes that something is known of a window. Returns whether it was not counted in it before.
    pub fn count(&mut self, window: u64) -> bool {
        let is_other = self.last != Some(window);
        self.first = self.first.or(Some(window));
        self.last = Some(window);
        is_other
    }
}

impl Group {
    pub fn new(name: &str) -> Self {
        Group { summary: Summary::new(name), members: BTreeMap::new(), front: None, open: None }
    }

    /// Returns windows for a day, from the last ones of the day before on.
    pub fn begin(&mut self) -> DayWindows {
        let open = self.open.take().map_or_else(Vec::new, |(_, open)| open);
        DayWindows::new(BACK_WINDOWS + DAY_WINDOWS, &open)
    }

    /// Takes back the windows of a day.
    pub fn end(&mut self, day: Day, windows: &DayWindows, options: &Options) {
        let back = windows.copied(0..BACK_WINDOWS);
        if self.front.is_none() {
            self.front = Some((day, back));
        } else {
            self.add_back(day, &back, options);
        }
        let own = windows.made(BACK_WINDOWS..DAY_WINDOWS);
        let before = first_window(day);
        let numbered = own.map(|(place, it)| (before + (place - BACK_WINDOWS) as u64, it));
        self.summary.add_all(numbered, options);
        self.open = Some((day, windows.copied(DAY_WINDOWS..DAY_WINDOWS + BACK_WINDOWS)));
    }

    /// Adds windows of the day before a day.
    fn add_back(&mut self, day: Day, back: &[Window], options: &Options) {
        let first = first_window(day);
        // Before the first day that there is, there are none.
        let missing = (BACK_WINDOWS as u64).saturating_sub(first) as usize;
        let first = first.saturating_sub(BACK_WINDOWS as u64);
        self.summary.add_all((first..).zip(&back[missing..]), options);
    }

    /// Closes the last day, unless samples of this one may reach it.
    pub fn close_before(&mut self, day: Day, options: &Options) {
        if self.open.as_ref().is_some_and(|(of, _)| of.end() != day.start()) {
            self.close_last(options);
        }
    }

    fn close_last(&mut self, options: &Options) {
        let Some((day, open)) = self.open.take() else { return };
        let first = first_window(day) + (DAY_WINDOWS - BACK_WINDOWS) as u64;
        self.summary.add_all((first..).zip(&open), options);
    }

    /// Does the same, and returns whether samples of this day may reach the last one.
    pub fn is_open_before(&mut self, day: Day, options: &Options) -> bool {
        self.close_before(day, options);
        self.open.is_some()
    }

    /// Closes what is open at both ends.
    pub fn close(&mut self, options: &Options) {
        self.close_last(options);
        if let Some((day, front)) = self.front.take() {
            self.add_back(day, &front, options);
        }
    }

    /// Adds later days.
    pub fn join(&mut self, mut next: Group, options: &Options) {
        if let Some((day, mut front)) = next.front.take() {
            self.close_before(day, options);
            self.leave_out_twice(day, &next, &mut front);
            if let Some((_, open)) = self.open.take() {
                for (later, earlier) in front.iter_mut().zip(&open) {
                    later.plus_earlier(earlier);
                }
            }
            match self.front {
                Some(_) => self.add_back(day, &front, options),
                None => self.front = Some((day, front)),
            }
            self.open = next.open;
        }
        self.summary.plus(&next.summary);
        for (component, later) in next.members {
            let own = self.members.entry(component).or_default();
            own.first = own.first.or(later.first);
            own.last = later.last.or(own.last);
        }
        self.summary.targets = self.members.len();
    }

    /// Takes targets out that are counted in the same window at both sides of a midnight.
    fn leave_out_twice(&self, day: Day, next: &Group, front: &mut [Window]) {
        for (component, later) in &next.members {
            let own = self.members.get(component).and_then(|it| it.last);
            let Some(window) = later.first.filter(|it| own == Some(*it)) else { continue };
            let place = (window + BACK_WINDOWS as u64).checked_sub(first_window(day));
            let place = place.and_then(|it| usize::try_from(it).ok());
            if let Some(window) = place.and_then(|place| front.get_mut(place)) {
                window.targets = window.targets.saturating_sub(1);
            }
        }
    }
}

pub(crate) fn first_window(day: Day) -> u64 {
    day.start() / WINDOW_MILLIS
}

stored! { Member { first, last } }

impl Stored for Group {
    fn put(&self, out: &mut Vec<u8>) {
        let Group { summary, members, front, open } = self;
        summary.put(out);
        members.put(out);
        (front.clone(), open.clone()).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let summary = Summary::get(from)?;
        let members: BTreeMap<Component, Member> = Stored::get(from)?;
        type Edge = Option<(Day, Vec<Window>)>;
        let (front, open) = <(Edge, Edge)>::get(from)?;
        let ends = [&front, &open].map(|it| it.as_ref().map(|it| (it.0, it.1.len())));
        let are_whole = ends.iter().flatten().all(|it| it.1 == BACK_WINDOWS);
        let windows = members.values().flat_map(|it| [it.first, it.last]).flatten();
        let are_possible = windows.max().is_none_or(|it| it <= u64::MAX / WINDOW_MILLIS);
        if !are_whole || !are_possible || summary.targets != members.len() || !summary.is_possible()
        {
            return Err(Malformed);
        }
        Ok(Group { summary, members, front, open })
    }
}
