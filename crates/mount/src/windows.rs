//! Parts of a container that is read in order: each is read once as a whole and compared with its checksums, and then serves
//! the many requests that the kernel makes of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plimsoll_stow::Reader;

use crate::budget::{Budget, Buffer};
use crate::open_container::OpenContainer;

/// Bytes of a window: as many as the longest record that `plimsoll stow cp` writes, so that hardly any record is in two.
pub const WINDOW_BYTES: u64 = 4 << 20;

/// The one that is read, and the one that the kernel reads ahead.
const WINDOWS_PER_FILE: usize = 2;

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    /// Its bytes were handed over.
    Wholly,
    /// No window has all of them: they lie in two, the file ends there, all windows are in use, or something cannot be read or differs
    /// from its checksum. They have to be read, and compared, on their own.
    NotHere,
    /// The file is not read in order.
    OutOfOrder,
}

/// The windows of one open file.
#[derive(Debug)]
pub struct Windows {
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    windows: VecDeque<Arc<Window>>,
    /// Where the last request ended.
    last_end: u64,
}

#[derive(Debug)]
struct Window {
    start: u64,
    /// Of the reader whose bytes it has.
    changes: u64,
    /// Taken by the first that needs the window.
    empty: Mutex<Option<Buffer>>,
    /// Filled by that one while others wait, and how many bytes there are; `None` if not all of it can be read.
    filled: OnceLock<Option<(Buffer, usize)>>,
}

impl Windows {
    /// There are none yet.
    pub fn new(budget: Budget) -> Self {
        Windows { budget, state: Mutex::default() }
    }

    /// Hands over the bytes of a range if the file is read in order.
    pub fn serve(
        &self,
        from: &OpenContainer,
        offset: u64,
        length: usize,
        take: impl FnOnce(&[u8]),
    ) -> Served {
        // Held until the bytes are handed over: who looks for changes afterwards finds none of the old bytes in the kernel's cache.
        let reader = from.reader();
        let window = match self.window(offset, length as u64, reader.changes()) {
            Sought::Window(window) => window,
            Sought::None => return Served::NotHere,
            Sought::OutOfOrder => return Served::OutOfOrder,
        };
        let filled = window.filled.get_or_init(|| window.read(&reader));
        let bytes = filled.as_ref().map(|(buffer, count)| &buffer.bytes[..*count]);
        let begin = (offset - window.start) as usize;
        match bytes.and_then(|it| it.get(begin..begin + length)) {
            Some(bytes) => {
                take(bytes);
                Served::Wholly
            }
            None => Served::NotHere,
        }
    }

    /// Returns the window that has a range; a new one if the file is read in order.
    fn window(&self, offset: u64, length: u64, changes: u64) -> Sought {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(end) = offset.checked_add(length) else { return Sought::OutOfOrder };
        let last_end = std::mem::replace(&mut state.last_end, end);
        let start = offset - offset % WINDOW_BYTES;
        let known = state.windows.iter().position(|it| it.start == start);
        // The kernel's requests for what it reads ahead come in nearly the right order.
        let is_behind = state.windows.iter().any(|it| it.start + WINDOW_BYTES == start);
        if known.is_none() && !is_behind && offset != last_end {
            return Sought::OutOfOrder;
        }
        if end > start + WINDOW_BYTES {
            return Sought::None;
        }
        if let Some(at) = known {
            if state.windows[at].changes == changes {
                return Sought::Window(state.windows[at].clone());
            }
            state.windows.remove(at);
        }
        if state.windows.len() >= WINDOWS_PER_FILE {
            state.windows.pop_front();
        }
        let Some(buffer) = self.budget.take() else { return Sought::None };
        let empty = Mutex::new(Some(buffer));
        let window = Arc::new(Window { start, changes, empty, filled: OnceLock::new() });
        state.windows.push_back(window.clone());
        Sought::Window(window)
    }
}

/// What there is for a request.
enum Sought {
    Window(Arc<Window>),
    /// The file is read in order, but no window has the range.
    None,
    OutOfOrder,
}

impl Window {
    fn read(&self, reader: &Reader) -> Option<(Buffer, usize)> {
        let mut buffer = self.empty.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let length =
            reader.known_size().ok()?.saturating_sub(self.start).min(WINDOW_BYTES) as usize;
        if buffer.bytes.len() < length {
            buffer.bytes.resize(WINDOW_BYTES as usize, 0);
        }
        let count = reader.read_verified_at(&mut buffer.bytes[..length], self.start).ok()?;
        Some((buffer, count))
    }
}
