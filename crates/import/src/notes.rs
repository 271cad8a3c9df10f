//! What an import has to say about a file.

/// What was done about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// It was understood as this.
    Recognised,
    /// It was wrong, and it is certain how it is right.
    Repaired,
    /// It was left out.
    LeftOut,
}

impl NoteKind {
    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            NoteKind::Recognised => "recognised",
            NoteKind::Repaired => "repaired",
            NoteKind::LeftOut => "left_out",
        }
    }
}

/// One thing that was found in a file, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What was done about it.
    pub kind: NoteKind,
    /// What it is, in words.
    pub what: String,
    /// How often; of `Recognised`, samples or series as the words say.
    pub count: u64,
}

/// Kinds of notes that a file may cause, more than anybody reads.
const NOTES_MAX: usize = 1000;

/// Notes in the order in which they came up; equal ones are added up.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    all: Vec<Note>,
}

impl Notes {
    pub fn recognised(&mut self, count: u64, what: impl Into<String>) {
        self.add(NoteKind::Recognised, count, what.into());
    }

    pub fn repaired(&mut self, count: u64, what: impl Into<String>) {
        self.add(NoteKind::Repaired, count, what.into());
    }

    pub fn left_out(&mut self, count: u64, what: impl Into<String>) {
        self.add(NoteKind::LeftOut, count, what.into());
    }

    fn add(&mut self, kind: NoteKind, count: u64, what: String) {
        if count == 0 {
            return;
        }
        match self.all.iter().position(|note| note.kind == kind && note.what == what) {
            Some(place) => self.all[place].count += count,
            None if self.all.len() < NOTES_MAX => self.all.push(Note { kind, what, count }),
            None => {}
        }
    }

    /// Returns them by kind, each in the order in which they came up.
    pub fn into_vec(mut self) -> Vec<Note> {
        self.all.sort_by_key(|note| note.kind);
        self.all
    }
}
