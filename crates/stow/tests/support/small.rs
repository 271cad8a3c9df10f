//! Small containers.

use std::path::Path;
use std::sync::Arc;

use plimsoll_guarded::Directory;
use plimsoll_stow::{Container, Placement, Reader, SmallWriter, Stored, Target, Writer};
use rustix::fs::OFlags;

use super::content;

/// Bytes that a marker may have here.
pub const ROOM: u64 = 4 << 10;

/// Makes one.
pub fn make(path: &Path, targets: &[Target]) -> (Arc<Container>, SmallWriter) {
    let parent = Directory::open(path.parent().unwrap()).unwrap();
    let mut anchor = |it: &Directory| it.create("anchor", OFlags::WRONLY, 0o600).map(drop);
    let name = path.file_name().unwrap();
    let made = Container::create_small(parent, name, targets, ROOM, &mut anchor).unwrap();
    let (container, writer) = made.unwrap();
    (Arc::new(container), writer)
}

/// Opens one.
pub fn open(path: &Path, targets: &[Target]) -> Arc<Container> {
    Arc::new(Container::open(path, targets).unwrap())
}

/// Returns all that one holds.
pub fn read(container: &Arc<Container>) -> Vec<u8> {
    content(&Reader::open(container.clone()).unwrap())
}

/// A process that has a small file open, or a large one.
pub struct Process {
    pub container: Arc<Container>,
    pub small: Option<SmallWriter>,
    pub large: Option<Writer>,
    pub reader: Reader,
}

impl Process {
    pub fn new(path: &Path, targets: &[Target]) -> Self {
        let container = open(path, targets);
        let small = SmallWriter::open(&container, ROOM).unwrap();
        let reader = Reader::open(container.clone()).unwrap();
        Process { container, small, large: None, reader }
    }

    /// Does something as long as the file is small; returns the writer otherwise.
    fn writer(
        &mut self,
        work: impl FnOnce(&mut SmallWriter, &Container) -> Stored,
    ) -> Option<&mut Writer> {
        if let Some(small) = &mut self.small
            && let Stored::At(_) = work(small, &self.container)
        {
            return None;
        }
        self.small = None;
        let container = self.container.clone();
        Some(self.large.get_or_insert_with(|| Writer::open(container, Placement::Striped).unwrap()))
    }

    pub fn write(&mut self, bytes: &[u8], offset: u64) {
        if let Some(writer) = self.writer(|it, of| it.write_at(of, bytes, offset).unwrap()) {
            writer.write_at(bytes, offset).unwrap();
        }
    }

    pub fn append(&mut self, bytes: &[u8]) {
        if let Some(writer) = self.writer(|it, of| it.append(of, bytes).unwrap()) {
            writer.append(bytes).unwrap();
        }
    }

    pub fn truncate(&mut self, size: u64) {
        if let Some(writer) = self.writer(|it, of| it.truncate(of, size).unwrap()) {
            writer.truncate(size).unwrap();
        }
    }

    pub fn sync(&mut self) {
        if let Some(writer) = self.writer(|it, of| it.sync(of).unwrap()) {
            writer.sync().unwrap();
        }
    }
}
