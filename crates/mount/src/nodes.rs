//! The numbers that the kernel knows files by.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::place::{Identity, Place};
use crate::rights::Rights;

/// The number of the directory that is mounted.
pub const ROOT: u64 = 1;

/// All files that the kernel knows. One that took another's place gets another number, so that the kernel never takes bytes of
/// one for bytes of the other.
#[derive(Debug)]
pub struct Nodes {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    by_number: HashMap<u64, Node>,
    by_name: HashMap<(u64, OsString), u64>,
    next: u64,
}

#[derive(Debug)]
struct Node {
    place: Arc<Place>,
    /// Where it is in the other table.
    key: Option<(u64, OsString)>,
    /// What the kernel was told last of who may read it: it lets in or refuses by that.
    rights: Rights,
    /// How often the kernel was told of it.
    told: u64,
}

impl Nodes {
    /// Begins with the directory that is mounted.
    pub fn new(identity: Identity, rights: Rights) -> Self {
        let root = Node { place: Arc::new(Place::root(identity)), key: None, rights, told: 1 };
        let by_number = HashMap::from([(ROOT, root)]);
        Nodes { table: Mutex::new(Table { by_number, by_name: HashMap::new(), next: ROOT + 1 }) }
    }

    /// Returns where a file is; `None` if the kernel should not know it.
    pub fn place(&self, number: u64) -> Option<Arc<Place>> {
        self.table().by_number.get(&number).map(|it| it.place.clone())
    }

    /// Returns what the kernel was told last of who may read a file.
    pub fn rights(&self, number: u64) -> Option<Rights> {
        self.table().by_number.get(&number).map(|it| it.rights)
    }

    /// The kernel is told who may read a file by now.
    pub fn tell_rights(&self, number: u64, rights: Rights) {
        if let Some(node) = self.table().by_number.get_mut(&number) {
            node.rights = rights;
        }
    }

    /// Returns the number of what was found at a name in a directory, and counts that the kernel is told of it.
    pub fn tell(&self, above: u64, place: Place, rights: Rights) -> u64 {
        let mut table = self.table();
        let name = place.step().map(|(_, name)| name.to_os_string()).unwrap_or_default();
        let key = (above, name);
        if let Some(&number) = table.by_name.get(&key)
            && let Some(node) = table.by_number.get_mut(&number)
            && node.place.identity() == place.identity()
        {
            node.told += 1;
            node.rights = rights;
            return number;
        }
        let number = table.next;
        table.next += 1;
        table.by_name.insert(key.clone(), number);
        let node = Node { place: Arc::new(place), key: Some(key), rights, told: 1 };
        table.by_number.insert(number, node);
        number
    }

    /// The kernel forgets what it was told so many times.
    pub fn forget(&self, number: u64, times: u64) {
        let mut table = self.table();
        let Some(node) = table.by_number.get_mut(&number) else { return };
        node.told = node.told.saturating_sub(times);
        if number == ROOT || node.told > 0 {
            return;
        }
        let key = table.by_number.remove(&number).and_then(|it| it.key);
        if let Some(key) = key
            && table.by_name.get(&key) == Some(&number)
        {
            table.by_name.remove(&key);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuser::FileType;
    use std::ffi::OsStr;

    const RIGHTS: Rights = Rights { kind: FileType::RegularFile, bits: 0o644, owner: 7, group: 8 };

    fn new() -> Nodes {
        Nodes::new((1, 1), RIGHTS)
    }

    fn told(nodes: &Nodes, above: u64, name: &str, identity: Identity) -> u64 {
        let place = nodes.place(above).unwrap().below(OsStr::new(name), identity).unwrap();
        nodes.tell(above, place, RIGHTS)
    }

    fn path(nodes: &Nodes, number: u64) -> Option<Vec<String>> {
        let place = nodes.place(number)?;
        let mut names = Vec::new();
        let mut at: &Place = &place;
        while let Some((above, name)) = at.step() {
            names.insert(0, name.to_string_lossy().into_owned());
            at = above;
        }
        Some(names)
    }

    #[test]
    fn a_file_keeps_its_number_and_one_in_its_place_gets_another() {
        let nodes = new();
        let folder = told(&nodes, ROOT, "folder", (1, 2));
        let file = told(&nodes, folder, "file", (1, 3));
        assert_eq!(told(&nodes, folder, "file", (1, 3)), file);
        assert_eq!(path(&nodes, file).unwrap(), ["folder", "file"]);
        let other = told(&nodes, folder, "file", (1, 4));
        assert_ne!(other, file);
        // The old one is still open somewhere, and the directory was forgotten first.
        nodes.forget(folder, 1);
        assert_eq!(path(&nodes, file).unwrap(), ["folder", "file"]);
        nodes.forget(file, 1);
        assert!(nodes.place(file).is_some(), "it was told twice");
        nodes.forget(file, 1);
        assert_eq!(path(&nodes, file), None);
        assert_eq!(path(&nodes, other).unwrap(), ["folder", "file"]);
    }

    #[test]
    fn nothing_is_kept_that_was_forgotten() {
        let nodes = new();
        for round in 0..1000 {
            let number = told(&nodes, ROOT, &format!("file-{round}"), (1, round + 2));
            nodes.forget(number, 1);
        }
        nodes.forget(ROOT, 1000);
        let table = nodes.table();
        assert_eq!((table.by_number.len(), table.by_name.len()), (1, 0));
    }

    #[test]
    fn the_rights_are_those_that_were_told_last() {
        let nodes = new();
        let file = told(&nodes, ROOT, "file", (1, 2));
        assert_eq!(nodes.rights(file), Some(RIGHTS));
        let tighter = Rights { bits: 0o600, ..RIGHTS };
        nodes.tell_rights(file, tighter);
        assert_eq!(nodes.rights(file), Some(tighter));
        assert_eq!(told(&nodes, ROOT, "file", (1, 2)), file);
        assert_eq!(nodes.rights(file), Some(RIGHTS));
        // Nobody knows it any more.
        nodes.forget(file, 2);
        nodes.tell_rights(file, tighter);
        assert_eq!(nodes.rights(file), None);
    }
}
