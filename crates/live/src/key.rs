//! Keys that a person presses, and what they lead to.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Character(char),
    /// The key that accepts.
    Enter,
    /// The key that goes back.
    Escape,
    /// Takes the last character back.
    Backspace,
    /// The next list.
    Tab,
    /// The list before.
    BackTab,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// Many rows up.
    PageUp,
    /// Many rows down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
}

/// What follows of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// The view goes on.
    GoOn,
    /// The person wants to leave.
    Quit,
}
