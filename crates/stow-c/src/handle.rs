//! An open container, as a program in C has it.

use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_stow::{Container, Reader, Writer};

use crate::failure::Failure;

/// An open container. Threads that use it wait for each other.
pub struct Handle {
    /// A child after fork(2) has the same memory and would write to the same place.
    process: u32,
    state: Mutex<State>,
}

struct State {
    container: Arc<Container>,
    writer: Option<Writer>,
    can_read: bool,
    reader: Option<Reader>,
    /// Whether this handle wrote something that the reader has not seen.
    is_behind: bool,
}

impl Handle {
    /// A handle for reading, writing or both.
    pub fn new(container: Arc<Container>, writer: Option<Writer>, can_read: bool) -> Self {
        let state = State { container, writer, can_read, reader: None, is_behind: false };
        Handle { process: std::process::id(), state: Mutex::new(state) }
    }

    /// Writes at an offset.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Failure> {
        let mut state = self.state()?;
        Ok(state.writer()?.write_at(bytes, offset)?)
    }

    /// Writes at the end; returns where that was.
    pub fn append(&self, bytes: &[u8]) -> Result<u64, Failure> {
        let mut state = self.state()?;
        Ok(state.writer()?.append(bytes)?)
    }

    /// Gives the file another size.
    pub fn truncate(&self, size: u64) -> Result<(), Failure> {
        let mut state = self.state()?;
        Ok(state.writer()?.truncate(size)?)
    }

    /// Makes durable what the node wrote.
    pub fn sync(&self) -> Result<(), Failure> {
        let mut state = self.state()?;
        let is_behind = state.is_behind;
        let synced = state.writer()?.sync();
        state.is_behind = is_behind;
        Ok(synced?)
    }

    /// Reads from an offset on.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, Failure> {
        Ok(self.state()?.reader()?.read_at(bytes, offset)?)
    }

    /// Returns the size of the file.
    pub fn size(&self) -> Result<u64, Failure> {
        Ok(self.state()?.reader()?.known_size()?)
    }

    /// Looks for what others wrote.
    pub fn refresh(&self) -> Result<(), Failure> {
        let mut state = self.state()?;
        state.is_behind = true;
        state.reader().map(drop)
    }

    /// Ends it. In a child after fork(2), what the parent has is left alone.
    pub fn close(self: Box<Self>) -> Result<(), Failure> {
        if self.process != std::process::id() {
            std::mem::forget(self);
            return Ok(());
        }
        // After a panic in another call, what it has open is given up as it is.
        let state = self.state.into_inner().map_err(|_| broken())?;
        Ok(state.writer.map_or(Ok(()), Writer::close)?)
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        if self.process != std::process::id() {
            return Err(Failure::handle("it was opened by another process: open it again here"));
        }
        self.state.lock().map_err(|_| broken())
    }
}

impl State {
    fn writer(&mut self) -> Result<&mut Writer, Failure> {
        let refused = || Failure::handle("it was not opened with PLIMSOLL_STOW_WRITE");
        let writer = self.writer.as_mut().ok_or_else(refused)?;
        self.is_behind = true;
        Ok(writer)
    }

    fn reader(&mut self) -> Result<&Reader, Failure> {
        if !self.can_read {
            return Err(Failure::handle("it was not opened with PLIMSOLL_STOW_READ"));
        }
        let reader = match self.reader.take() {
            Some(mut reader) => {
                if self.is_behind {
                    reader.refresh()?;
                }
                reader
            }
            None => Reader::open(self.container.clone())?,
        };
        self.is_behind = false;
        Ok(self.reader.insert(reader))
    }
}

fn broken() -> Failure {
    Failure::handle("an earlier call failed inside of the library")
}
