//! A group as the coordinator sees it.

use crate::{Message, TargetId};

/// What the coordinator knows of a group. Giver and taker are apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub is_source: bool,
    pub has_failed: bool,
    /// How often its target failed or came back, as far as is known.
    pub turns: u32,
    pub has_answered: bool,
    pub queued_bytes: u64,
    /// The newest offer and the newest that was taken up.
    pub offer: u32,
    pub taken_up: u32,
    pub allowance_bytes: u64,
    /// It offered, but has writes of its own again.
    pub is_paused: bool,
    pub asking: Option<Ask>,
    /// Who rejected its newest offer, where a rejection tells nothing about later ones.
    pub refusals: Refusals,
    /// What was given last, where messages get lost.
    pub given: Option<Message>,
    pub is_closed: bool,
}

/// A request on behalf of a taker that was not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ask {
    pub source: TargetId,
    pub request: u32,
}

impl Group {
    /// A group of which nothing was heard: so long it may have something to give.
    pub fn new() -> Self {
        Group {
            is_source: true,
            has_failed: false,
            turns: 0,
            has_answered: false,
            queued_bytes: 0,
            offer: 0,
            taken_up: 0,
            allowance_bytes: 0,
            is_paused: false,
            asking: None,
            refusals: Refusals::default(),
            given: None,
            is_closed: false,
        }
    }

    /// True if something is to be asked for on its behalf.
    pub fn is_open_taker(&self) -> bool {
        let is_open = self.offer > self.taken_up && !self.is_paused && !self.has_failed;
        is_open && self.asking.is_none()
    }
}

/// A set of groups. Empty where nobody refused, so that equal sets are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Refusals {
    words: Vec<u64>,
}

impl Refusals {
    pub fn insert(&mut self, group: u16) {
        let (word, bit) = place(group);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    pub fn remove(&mut self, group: u16) {
        let (word, bit) = place(group);
        if let Some(known) = self.words.get_mut(word) {
            *known &= !bit;
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }

    pub fn contains(&self, group: u16) -> bool {
        let (word, bit) = place(group);
        self.words.get(word).is_some_and(|known| known & bit != 0)
    }
}

fn place(group: u16) -> (usize, u64) {
    (usize::from(group / 64), 1 << (group % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_leaves_no_trace() {
        let mut refusals = Refusals::default();
        for group in [0, 63, 64, 700] {
            refusals.insert(group);
        }
        assert!(refusals.contains(63) && refusals.contains(700) && !refusals.contains(701));
        assert!(![1, 65, 127, 128, 636, 764].iter().any(|group| refusals.contains(*group)));
        for group in [700, 64, 63, 0, 5000] {
            refusals.remove(group);
        }
        assert_eq!(refusals, Refusals::default());
    }
}
