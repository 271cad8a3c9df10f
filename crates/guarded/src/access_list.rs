//! Lists of users and groups who may do what with a file (acl(5)), as Linux keeps them in an extended attribute (linux/posix_acl_xattr.h).

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{fgetxattr, getxattr, lgetxattr};
use rustix::io::Errno;

/// Where Linux keeps a list.
pub const ACCESS_LIST: &str = "system.posix_acl_access";

/// Longest value of an attribute (linux/limits.h).
const BYTES_MAX: usize = 64 << 10;

const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;
const READ: u16 = 4;
const ALL: u16 = 7;

const USER: u16 = 0x02;
const OWN_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;

/// Returns true if a list decides who may use an open or held file, or might.
pub(crate) fn has_list(opened: &impl AsFd) -> bool {
    // A directory that is only held has no attributes but by its path (open(2), O_PATH).
    let path = format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd());
    !matches!(getxattr(path, ACCESS_LIST, &mut [0u8; 0][..]), Err(Errno::NODATA | Errno::NOTSUP))
}

/// A user or group that a list names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    /// Kind and number.
    who: (u16, u32),
    rights: u16,
}

/// What a file's own group may do, and the users and groups that a list names, besides its owner and all others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessList {
    own_group: u16,
    named: Vec<Named>,
    /// The most that any of them may do.
    mask: u16,
}

impl AccessList {
    /// Returns the list of a file, itself and not what a link leads to; `None` if it has none. By one that cannot be read, nobody may do anything.
    pub fn of(path: &Path) -> Option<Self> {
        Self::read(|value| lgetxattr(path, ACCESS_LIST, value))
    }

    /// Returns that of an open file.
    pub fn of_file(file: impl AsFd) -> Option<Self> {
        Self::read(|value| fgetxattr(file, ACCESS_LIST, value))
    }

    fn read(get: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Option<Self> {
        let mut value = vec![0; BYTES_MAX];
        match get(&mut value) {
            Ok(length) => Some(Self::decode(value.get(..length)?).unwrap_or_default()),
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOENT) => None,
            Err(_) => Some(AccessList::default()),
        }
    }

    /// Reads the value of such an attribute; `None` if it is none.
    pub fn decode(value: &[u8]) -> Option<Self> {
        let (version, entries) = value.split_first_chunk()?;
        let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
        if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
            return None;
        }
        let mut list = AccessList { own_group: 0, named: Vec::new(), mask: ALL };
        for &[kind, kind2, rights, rights2, number @ ..] in entries {
            let rights = u16::from_le_bytes([rights, rights2]) & ALL;
            match u16::from_le_bytes([kind, kind2]) {
                OWN_GROUP => list.own_group = rights,
                MASK => list.mask = rights,
                kind @ (USER | GROUP) => {
                    list.named.push(Named { who: (kind, u32::from_le_bytes(number)), rights });
                }
                _ => {}
            }
        }
        Some(list)
    }

    /// Returns that of a file without one, whose group may do this.
    pub fn without(own_group: u32) -> Self {
        AccessList { own_group: own_group as u16 & ALL, named: Vec::new(), mask: ALL }
    }

    /// Returns it after `chmod`, whose bits of the group are the most that it gives then.
    pub fn with_mask(self, mask: u32) -> Self {
        AccessList { mask: mask as u16 & ALL, ..self }
    }

    fn reads(&self, rights: u16) -> bool {
        rights & self.mask & READ != 0
    }

    /// Returns whether all that it names can read.
    pub fn are_all(&self) -> bool {
        self.reads(self.own_group) && self.named.iter().all(|it| self.reads(it.rights))
    }

    /// Returns whether all who may do anything by this list of a part can read by that of the file, which is of the same group, and nobody whom that one keeps from reading is
    /// in a group that may do something with the part.
    pub fn is_within(&self, file: &AccessList) -> bool {
        let may = |rights: u16| rights & self.mask != 0;
        let of =
            |list: &AccessList, who| list.named.iter().find(|it| it.who == who).map(|it| it.rights);
        let nobody = !may(self.own_group) && !self.named.iter().any(|it| may(it.rights));
        let can_read = |it: &Named| of(file, it.who).is_some_and(|rights| file.reads(rights));
        let is_kept_out = |it: &Named| of(self, it.who).is_some_and(|rights| !may(rights));
        nobody
            || (!may(self.own_group) || file.reads(file.own_group))
                && self.named.iter().all(|it| !may(it.rights) || can_read(it))
                && file.named.iter().all(|it| file.reads(it.rights) || is_kept_out(it))
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
        assert!(of(0).with_mask(0o4).are_all() && !of(4).with_mask(0).are_all());
        assert!(!AccessList::without(4).is_within(&of(4).with_mask(0)));
        assert!(AccessList::decode(&[]).is_none() && AccessList::decode(&[1, 0, 0, 0]).is_none());
    }

    #[test]
    fn who_may_do_something_with_a_part_can_read_the_file() {
        let (seven, eight) = ((2, 4, 7), (8, 4, 8));
        let group = |rights| (4, rights, NOBODY);
        let both = list(&[seven, eight, group(4)]);
        let is_within = |entries: &[_]| list(entries).is_within(&both);
        assert!(is_within(&[seven, group(4)]) && is_within(&[group(0)]) && is_within(&[]));
        assert!(!is_within(&[(2, 4, 9)]), "9 is not in the other one");
        // Somebody is kept from the file who is in its group, or among all others.
        let keeps_seven = list(&[(2, 0, 7), group(4)]);
        assert!(!AccessList::without(4).is_within(&keeps_seven));
        assert!(list(&[(2, 0, 7), group(4)]).is_within(&keeps_seven));
        // Who may go through a directory can reach what is in it.
        assert!(!AccessList::without(1).is_within(&AccessList::without(0)));
        assert!(AccessList::without(1).is_within(&AccessList::without(4)));
        assert!(!list(&[(2, 1, 7)]).is_within(&AccessList::without(4)));
    }
}
