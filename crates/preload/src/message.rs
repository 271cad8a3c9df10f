//! What is said to the person who started the program, on standard error.

use plimsoll_trace::variables;

use crate::sys;
use crate::text::{PATH_BYTES, Text};

/// One line.
pub struct Message(Text<{ PATH_BYTES + 256 }>);

impl Message {
    /// Begins one.
    pub fn new(words: &[u8]) -> Self {
        let mut message = Message(Text::new());
        message.push(b"plimsoll: ");
        message.push(words);
        message
    }

    /// Adds words of ours.
    pub fn push(&mut self, words: &[u8]) {
        self.0.push(words);
    }

    /// Adds words of others: nothing that could steer a terminal, in whatever encoding.
    pub fn quote(&mut self, words: &[u8]) {
        for byte in words {
            let is_plain = byte.is_ascii_graphic() || *byte == b' ';
            self.0.push(if is_plain { core::slice::from_ref(byte) } else { b"?" });
        }
    }

    /// Says it, unless another process of the same launcher does.
    #[cold]
    pub fn say(mut self) {
        if !is_first_rank() {
            return;
        }
        self.0.push(b"\n");
        if let Some(stderr) = sys::borrow(libc::STDERR_FILENO) {
            // Who does not listen is not told.
            let _ = rustix::io::write(stderr, self.0.as_bytes());
        }
    }
}

/// Returns true for a process that no launcher started, and for the first of those that one started.
fn is_first_rank() -> bool {
    variables::RANKS.into_iter().find_map(sys::variable).is_none_or(|rank| rank == b"0")
}
