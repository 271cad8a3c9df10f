//! The state of the view: which list, in which order, what is looked at closely.

use plimsoll_history::ComponentKind;
use plimsoll_utilization::Lately;

use crate::listing::{Listing, SortBy, matches};
use crate::style::Palette;
use crate::{Key, Pressed, Snapshot};

/// Rows of a jump.
const PAGE: isize = 10;
/// Characters of a filter, at most.
const FILTER_MAX: usize = 60;

/// By which a row is known from one snapshot to the next.
type Id = (String, Option<ComponentKind>);

/// The view.
#[derive(Debug)]
pub struct View {
    pub(crate) palette: Palette,
    /// The newest snapshot, and the one that is held while the view is frozen.
    latest: Snapshot,
    held: Option<Snapshot>,
    pub(crate) listing: Listing,
    pub(crate) sort: SortBy,
    pub(crate) is_reversed: bool,
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    /// The row that the person chose; the first one if none.
    selected: Option<Id>,
    is_close: bool,
    pub(crate) has_help: bool,
}

impl View {
    /// Returns a view of nothing yet, with colours or without.
    pub fn new(has_colours: bool) -> Self {
        View {
            palette: Palette { has_colours },
            latest: Snapshot::default(),
            held: None,
            listing: Listing::Targets,
            sort: SortBy::Fsu,
            is_reversed: false,
            filter: String::new(),
            is_typing: false,
            selected: None,
            is_close: false,
            has_help: false,
        }
    }

    /// Takes what is known now. A frozen view shows it when it goes on.
    pub fn take(&mut self, snapshot: Snapshot) {
        self.latest = snapshot;
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        self.held.as_ref().unwrap_or(&self.latest)
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.held.is_some()
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key) -> Pressed {
        if self.is_typing {
            self.type_filter(key);
            return Pressed::GoOn;
        }
        if std::mem::take(&mut self.has_help) {
            return Pressed::GoOn;
        }
        match key {
            Key::Character('q') => return Pressed::Quit,
            Key::Character('?' | 'h') => self.has_help = true,
            Key::Character('s') => self.sort = self.sort.next(),
            Key::Character('r') => self.is_reversed = !self.is_reversed,
            Key::Character('/') => self.is_typing = true,
            Key::Character(' ') => self.freeze(),
            Key::Character(digit @ '1'..='5') => {
                self.show(Listing::ALL[digit as usize - '1' as usize]);
            }
            Key::Tab => self.show(self.listing.step(1)),
            Key::BackTab => self.show(self.listing.step(Listing::ALL.len() - 1)),
            Key::Enter => self.look_closely(),
            Key::Escape | Key::Backspace if self.is_close => self.is_close = false,
            Key::Escape => self.filter.clear(),
            Key::Up | Key::Character('k') => self.go(-1),
            Key::Down | Key::Character('j') => self.go(1),
            Key::PageUp => self.go(-PAGE),
            Key::PageDown => self.go(PAGE),
            Key::Home | Key::Character('g') => self.go(isize::MIN / 2),
            Key::End | Key::Character('G') => self.go(isize::MAX / 2),
            Key::Character(_) | Key::Backspace => {}
        }
        Pressed::GoOn
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Character(character) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(character);
            }
            Key::Backspace => drop(self.filter.pop()),
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            Key::Enter => self.is_typing = false,
            _ => {}
        }
    }

    fn freeze(&mut self) {
        self.held = match self.held.take() {
            Some(_) => None,
            None => Some(self.latest.clone()),
        };
    }

    fn show(&mut self, listing: Listing) {
        if listing != self.listing {
            (self.listing, self.selected, self.is_close) = (listing, None, false);
        }
    }

    fn look_closely(&mut self) {
        if let Some(row) = self.selected_row() {
            self.selected = Some(id(row));
            self.is_close = true;
        }
    }

    fn go(&mut self, by: isize) {
        let rows = self.rows();
        let Some(last) = rows.len().checked_sub(1) else { return };
        let place = self.place(&rows).saturating_add_signed(by).min(last);
        self.selected = Some(id(rows[place]));
    }

    /// Returns the rows of the list, filtered and sorted.
    pub(crate) fn rows(&self) -> Vec<&Lately> {
        let all = self.listing.of(&self.snapshot().latest).unwrap_or_default();
        let mut rows: Vec<&Lately> = all.iter().filter(|it| matches(&self.filter, it)).collect();
        // Jobs and targets of metadata have no utilization: those that do most come first.
        self.sort.sort(&mut rows, self.is_reversed);
        rows
    }

    /// Returns the place of the selected row; the first if it is not there any more.
    pub(crate) fn place(&self, rows: &[&Lately]) -> usize {
        let is_selected = |row: &&Lately| self.selected.as_ref() == Some(&id(row));
        rows.iter().position(is_selected).unwrap_or(0)
    }

    fn selected_row(&self) -> Option<&Lately> {
        let rows = self.rows();
        rows.get(self.place(&rows)).copied()
    }

    /// Returns what is looked at closely; nothing if a list is shown. What is gone is looked at no more.
    pub(crate) fn close(&self) -> Option<&Lately> {
        let all = self.listing.of(&self.snapshot().latest).unwrap_or_default();
        all.iter().find(|it| self.is_close && self.selected.as_ref() == Some(&id(it)))
    }
}

fn id(of: &Lately) -> Id {
    (of.name.clone(), of.kind)
}
