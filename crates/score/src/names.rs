//! Names as small numbers, so that a million measures do not carry a million strings.

use std::collections::HashMap;

/// Names in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
    bytes: usize,
}

impl Names {
    /// The number of the name, a new one if it is new.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        // Four thousand million names would not fit into memory.
        let number = self.list.len() as u32;
        self.bytes += name.len();
        self.list.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The number of the name if it was seen.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of a number; empty for a number that was not given here.
    pub fn name(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", String::as_str)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Bytes of all names together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All names in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::default();
        assert!(names.is_empty());
        assert_eq!((names.number("b"), names.number("a"), names.number("b")), (0, 1, 0));
        assert_eq!((names.name(1), names.name(9)), ("a", ""));
        assert!(!names.is_empty() && names.len() == 2);
        assert_eq!((names.find("a"), names.find("c")), (Some(1), None));
        assert_eq!((names.number("longer"), names.bytes()), (2, 8), "each counts once");
        assert_eq!(names.iter().collect::<Vec<_>>(), ["b", "a", "longer"]);
    }
}
