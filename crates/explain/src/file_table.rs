//! One number for each path, common to all processes.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use plimsoll_report::words::grouped;
use plimsoll_stored::{Malformed, Reader, Stored, stored};

/// Files that a recording lists separately. The rest are added up as one file.
pub const FILES_MAX: usize = 1 << 16;

/// A file's number in a recording: an index into [`FileTable::path`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl FileId {
    /// Calls on no file, or on one whose name is not known.
    pub const UNKNOWN: FileId = FileId(0);
    /// All files beyond the limit of the table, added up.
    pub const FOLDED: FileId = FileId(1);
}

/// Paths by number. Equal paths on different nodes are taken for the same file.
#[derive(Debug, Clone)]
pub struct FileTable {
    paths: Vec<String>,
    folded: u64,
}

stored! { FileTable { paths: FILES_MAX + PLACEHOLDERS.len(), folded } }

impl Stored for FileId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        u32::get(from).map(FileId)
    }
}

impl FileTable {
    /// Returns the path of a file.
    pub fn path(&self, id: FileId) -> &str {
        self.paths.get(id.0 as usize).map_or("?", String::as_str)
    }

    /// Returns how many numbers are in use, those of [`FileId::UNKNOWN`] and [`FileId::FOLDED`]
    /// included.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// True when no file has a name.
    pub fn is_empty(&self) -> bool {
        self.names() == 0
    }

    /// Returns how many files found no room, at most a million.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    fn names(&self) -> u64 {
        self.paths.len().saturating_sub(PLACEHOLDERS.len()) as u64
    }

    /// Says that there are more files than are listed one by one.
    pub(crate) fn folded_warning(&self) -> Option<String> {
        let (folded, listed) = (self.folded, self.names());
        let at_least = if folded < FOLDED_MAX as u64 { "" } else { "at least " };
        (folded > 0).then(|| {
            format!(
                "{at_least}{} of {} files are added up as {:?}: only {} are listed separately; totals \
                 are complete",
                grouped(folded),
                grouped(folded + listed),
                self.path(FileId::FOLDED),
                grouped(listed)
            )
        })
    }
}

/// What stands for [`FileId::UNKNOWN`] and [`FileId::FOLDED`].
const PLACEHOLDERS: [&str; 2] = ["(no known file)", "(other files)"];

/// Paths beyond the limit that are counted: 8 MiB of hashes.
const FOLDED_MAX: usize = 1 << 20;

/// Of all paths together, each of which is kept twice: 2000 bytes for each of as many files as recordings list.
const PATH_BYTES_MAX: usize = 128 << 20;

/// Gives numbers to paths.
pub(crate) struct FileNumbers {
    paths: Vec<String>,
    numbers: HashMap<String, FileId>,
    files_max: usize,
    path_bytes: usize,
    /// Hashes of the paths that found no room, to count each once.
    folded: HashSet<u64>,
}

impl FileNumbers {
    /// No files yet, and room for this many.
    pub fn new(files_max: usize) -> Self {
        let paths = PLACEHOLDERS.map(str::to_string).to_vec();
        FileNumbers {
            paths,
            numbers: HashMap::new(),
            files_max,
            path_bytes: 0,
            folded: HashSet::new(),
        }
    }

    /// Returns the number of a path, a new one if there is room.
    pub fn intern(&mut self, path: &[u8]) -> FileId {
        let path = String::from_utf8_lossy(path);
        if let Some(id) = self.numbers.get(path.as_ref()) {
            return *id;
        }
        let is_full = self.numbers.len() >= self.files_max;
        if is_full || self.path_bytes.saturating_add(path.len()) > PATH_BYTES_MAX {
            if self.folded.len() < FOLDED_MAX {
                let mut hasher = DefaultHasher::new();
                path.hash(&mut hasher);
                self.folded.insert(hasher.finish());
            }
            return FileId::FOLDED;
        }
        self.path_bytes += path.len();
        let id = FileId(self.paths.len() as u32);
        self.paths.push(path.clone().into_owned());
        self.numbers.insert(path.into_owned(), id);
        id
    }

    /// Returns the table, when all paths have numbers.
    pub fn finish(self) -> FileTable {
        FileTable { paths: self.paths, folded: self.folded.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_share_a_number_and_the_rest_is_folded() {
        let mut numbers = FileNumbers::new(2);
        let a = numbers.intern(b"/a");
        assert_eq!(numbers.intern(b"/b"), FileId(3));
        assert_eq!(numbers.intern(b"/a"), a);
        // A process names a file again and again once its own table is full.
        for path in [b"/c", b"/d", b"/c", b"/c"] {
            assert_eq!(numbers.intern(path), FileId::FOLDED);
        }
        let table = numbers.finish();
        assert_eq!((table.folded(), table.len(), table.path(a)), (2, 4, "/a"));
        let warning = table.folded_warning().unwrap();
        assert!(warning.starts_with("2 of 4 files are added up as \"(other files)\""), "{warning}");
        assert_eq!(table.path(FileId(99)), "?");
        assert!(!table.is_empty());
    }

    #[test]
    fn paths_take_no_more_than_there_is_room_for() {
        let mut numbers = FileNumbers { path_bytes: PATH_BYTES_MAX - 5, ..FileNumbers::new(9) };
        assert_ne!(numbers.intern(b"/ab"), FileId::FOLDED);
        assert_eq!(numbers.intern(b"/cd"), FileId::FOLDED);
        assert_ne!(numbers.intern(b"/e"), FileId::FOLDED, "it just fits");
        assert_eq!(numbers.intern(b"/"), FileId::FOLDED);
    }

    #[test]
    fn beyond_a_million_files_that_found_no_room_it_is_at_least_a_million() {
        let folded = (0..FOLDED_MAX as u64 - 2).collect();
        let mut numbers = FileNumbers { folded, ..FileNumbers::new(0) };
        let mut said = |path: &[u8]| {
            numbers.intern(path);
            let folded = numbers.folded.len() as u64;
            FileTable { paths: numbers.paths.clone(), folded }.folded_warning().unwrap()
        };
        assert!(said(b"/a").starts_with("1,048,575 of 1,048,575 files are added up"));
        let many = "at least 1,048,576 of 1,048,576 files are added up";
        assert!(said(b"/b").starts_with(many));
        assert!(said(b"/c").starts_with(many), "no more are counted");
    }

    #[test]
    fn where_all_files_have_room_nothing_is_said() {
        let mut numbers = FileNumbers::new(1);
        numbers.intern(b"/a");
        assert_eq!(numbers.finish().folded_warning(), None);
        assert!(FileNumbers::new(1).finish().is_empty());
    }
}
