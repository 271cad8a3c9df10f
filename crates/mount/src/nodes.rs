//! The numbers that the kernel knows files by.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of the directory that is mounted.
pub const ROOT: u64 = 1;

/// What a file is, whatever its name: device and number there.
pub type Identity = (u64, u64);

/// Where a file is: the names that lead to it from the directory that is mounted.
#[derive(Debug)]
pub struct Place {
    /// The directory above and the name in it; `None` for the directory that is mounted.
    step: Option<(Arc<Place>, OsString)>,
}

impl Place {
    /// Returns the directory above and the name in it; `None` for the directory that is mounted.
    pub fn step(&self) -> Option<(&Arc<Place>, &OsStr)> {
        self.step.as_ref().map(|(above, name)| (above, name.as_os_str()))
    }
}

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
    identity: Identity,
    /// How often the kernel was told of it.
    told: u64,
}

impl Nodes {
    /// Begins with the directory that is mounted.
    pub fn new(identity: Identity) -> Self {
        let root = Node { place: Arc::new(Place { step: None }), key: None, identity, told: 1 };
        let by_number = HashMap::from([(ROOT, root)]);
        Nodes { table: Mutex::new(Table { by_number, by_name: HashMap::new(), next: ROOT + 1 }) }
    }

    /// Returns where a file is; `None` if the kernel should not know it.
    pub fn place(&self, number: u64) -> Option<Arc<Place>> {
        self.table().by_number.get(&number).map(|it| it.place.clone())
    }

    /// Returns where a file of this name in a directory would be.
    pub fn below(&self, above: u64, name: &OsStr) -> Option<Place> {
        let above = self.place(above)?;
        Some(Place { step: Some((above, name.to_os_string())) })
    }

    /// Returns the number of what was found at a name, and counts that the kernel is told of it.
    pub fn tell(&self, above: u64, name: &OsStr, place: Place, identity: Identity) -> u64 {
        let mut table = self.table();
        let key = (above, name.to_os_string());
        if let Some(&number) = table.by_name.get(&key)
            && let Some(node) = table.by_number.get_mut(&number)
            && node.identity == identity
        {
            node.told += 1;
            return number;
        }
        let number = table.next;
        table.next += 1;
        table.by_name.insert(key.clone(), number);
        let node = Node { place: Arc::new(place), key: Some(key), identity, told: 1 };
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

    fn told(nodes: &Nodes, above: u64, name: &str, identity: Identity) -> u64 {
        let place = nodes.below(above, OsStr::new(name)).unwrap();
        nodes.tell(above, OsStr::new(name), place, identity)
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
        let nodes = Nodes::new((1, 1));
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
        let nodes = Nodes::new((1, 1));
        for round in 0..1000 {
            let number = told(&nodes, ROOT, &format!("file-{round}"), (1, round + 2));
            nodes.forget(number, 1);
        }
        nodes.forget(ROOT, 1000);
        let table = nodes.table();
        assert_eq!((table.by_number.len(), table.by_name.len()), (1, 0));
    }
}
