//! Lists of users and groups who may do what with a file (acl(5)), as Linux keeps them in an extended attribute (linux/posix_acl_xattr.h).

use std::path::Path;

use rustix::fs::lgetxattr;
use rustix::io::Errno;

/// Where Linux keeps a list.
pub const ACCESS_LIST: &str = "system.posix_acl_access";

/// Longest value of an attribute (linux/limits.h).
const BYTES_MAX: usize = 64 << 10;

const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;
const READ: u16 = 4;

const USER: u16 = 0x02;
const OWN_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;

/// Who can read a file besides its owner and all others: its own group, and users and groups that a list names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessList {
    own_group_reads: bool,
    /// Kind and number, and whether they can read.
    named: Vec<(u16, u32, bool)>,
}

impl AccessList {
    /// Returns the list of a file, itself and not what a link leads to; `None` if it has none. Of one that cannot be read, nobody can read the file.
    pub fn of(path: &Path) -> Option<Self> {
        let mut value = vec![0; BYTES_MAX];
        match lgetxattr(path, ACCESS_LIST, &mut value[..]) {
            Ok(length) => Some(Self::decode(value.get(..length)?).unwrap_or_default()),
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOENT) => None,
            Err(_) => Some(AccessList::default()),
        }
    }

    fn decode(value: &[u8]) -> Option<Self> {
        let (version, entries) = value.split_first_chunk()?;
        let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
        if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
            return None;
        }
        let entries = entries.iter().map(|&[kind, kind2, rights, rights2, number @ ..]| {
            let rights = u16::from_le_bytes([rights, rights2]);
            (u16::from_le_bytes([kind, kind2]), u32::from_le_bytes(number), rights & READ != 0)
        });
        let entries: Vec<_> = entries.collect();
        let is_masked = entries.iter().any(|&(kind, _, reads)| kind == MASK && !reads);
        let reading = |it: &(u16, u32, bool)| (it.0, it.1, it.2 && !is_masked);
        let own_group = entries.iter().find(|it| it.0 == OWN_GROUP).map(reading);
        let named = entries.iter().filter(|it| matches!(it.0, USER | GROUP)).map(reading);
        Some(AccessList {
            own_group_reads: own_group.is_some_and(|it| it.2),
            named: named.collect(),
        })
    }

    /// Returns that of a file without one, of which the group can read or not.
    pub fn without(own_group_reads: bool) -> Self {
        AccessList { own_group_reads, named: Vec::new() }
    }

    /// Returns whether all that it names can read.
    pub fn are_all(&self) -> bool {
        self.own_group_reads && self.named.iter().all(|it| it.2)
    }

    /// Returns whether all who can read by this list can by that of another file of the same group, which keeps nobody from it who is not in both.
    pub fn is_within(&self, other: &AccessList) -> bool {
        let is_in = |it: &(u16, u32, bool)| !it.2 || other.named.contains(it);
        let keeps_none = other.named.iter().all(|it| it.2 || self.named.contains(it));
        (!self.own_group_reads || other.own_group_reads)
            && self.named.iter().all(is_in)
            && keeps_none
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: u32 = u32::MAX;

    fn list(entries: &[(u16, u16, u32)]) -> AccessList {
        let mut value = VERSION.to_le_bytes().to_vec();
        for (kind, rights, number) in entries {
            value.extend(kind.to_le_bytes().into_iter().chain(rights.to_le_bytes()));
            value.extend(number.to_le_bytes());
        }
        assert!(AccessList::decode(&value[..value.len() - 1]).is_none());
        AccessList::decode(&value).unwrap()
    }

    #[test]
    fn the_mask_counts_for_all_that_a_list_names() {
        let of = |mask| list(&[(1, 6, NOBODY), (2, 4, 7), (4, 4, NOBODY), (16, mask, NOBODY)]);
        assert!(of(4).are_all() && !of(0).are_all());
        assert_eq!(of(0).named, [(USER, 7, false)]);
        assert!(AccessList::decode(&[]).is_none() && AccessList::decode(&[1, 0, 0, 0]).is_none());
    }

    #[test]
    fn who_can_read_by_one_list_can_by_another_one() {
        let (seven, eight) = ((2, 4, 7), (8, 4, 8));
        let group = |rights| (4, rights, NOBODY);
        let both = list(&[seven, eight, group(4)]);
        let is_within = |entries: &[_]| list(entries).is_within(&both);
        assert!(is_within(&[seven, group(4)]) && is_within(&[group(0)]) && is_within(&[]));
        assert!(!is_within(&[(2, 4, 9)]), "9 is not in the other one");
        // Somebody is kept from the file who is in its group, or among all others.
        let keeps_seven = list(&[(2, 0, 7), group(4)]);
        assert!(!AccessList::without(true).is_within(&keeps_seven));
        assert!(list(&[(2, 0, 7), group(4)]).is_within(&keeps_seven));
        assert!(!AccessList::without(true).is_within(&AccessList::without(false)));
    }
}
