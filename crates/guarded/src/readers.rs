//! Who may read something, so that what is made of it is shown to nobody else.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, Mode, Stat, fchmod, fstat};

use crate::access_list::has_list;

/// Who may read a file, or a directory with what is in it, besides its owner. Bits of permission say little without
/// the group that they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Every user.
    Everyone,
    /// Members of the group of that number.
    Group(u32),
    /// Nobody else, or a set of users that bits of permission cannot express.
    OwnerAlone,
}

impl Readers {
    /// Returns who may read an open file or directory; the owner alone if it has an access control list, or where it
    /// cannot be told.
    pub fn of(opened: impl AsFd) -> Self {
        match fstat(&opened) {
            Ok(facts) if !has_list(&opened) => Readers::by_bits(&facts),
            _ => Readers::OwnerAlone,
        }
    }

    fn by_bits(facts: &Stat) -> Self {
        // Who may list a directory and not enter it reads nothing in it.
        let is_directory = FileType::from_raw_mode(facts.st_mode) == FileType::Directory;
        let needed = if is_directory { 0o5 } else { 0o4 };
        let may_read = |class: u32| facts.st_mode >> class & needed == needed;
        match (may_read(3), may_read(0)) {
            (true, true) => Readers::Everyone,
            (true, false) => Readers::Group(facts.st_gid),
            // All but the members of a group is nothing that another file could be given.
            (false, _) => Readers::OwnerAlone,
        }
    }

    /// Returns those who may read both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Readers::Everyone, readers) | (readers, Readers::Everyone) => readers,
            (one, two) if one == two => one,
            _ => Readers::OwnerAlone,
        }
    }

    /// Lets these users read a file of this user's, as far as the umask allows; who may read may then also write.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn let_in(self, file: &File) -> io::Result<()> {
        let allowed = match self {
            Readers::Everyone => 0o666,
            // Directories may give their group to what is made in them, and a list under which bits mean others.
            Readers::Group(group) if fstat(file)?.st_gid == group && !has_list(file) => 0o660,
            _ => 0o600,
        };
        Ok(fchmod(file, Mode::from_raw_mode(allowed) - mask())?)
    }
}

/// Returns those whom the umask keeps out: all others where it is not known. It is read where that does not change
/// it, not even for a moment (proc(5), /proc/self/status).
fn mask() -> Mode {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = mask.and_then(|it| u32::from_str_radix(it.trim(), 8).ok()).unwrap_or(0o077);
    Mode::from_raw_mode(mask) - Mode::RWXU
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::path::Path;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn directories_are_read_by_those_who_list_and_enter_them() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path().metadata().unwrap().gid();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let cases = [
            (0o755, 0o644, Readers::Everyone),
            (0o750, 0o640, Readers::Group(group)),
            (0o700, 0o600, Readers::OwnerAlone),
            (0o705, 0o604, Readers::OwnerAlone),
            (0o711, 0o622, Readers::OwnerAlone),
        ];
        for (of_directory, of_file, expected) in cases {
            set_mode(folder.path(), of_directory);
            set_mode(&file, of_file);
            let directory = Directory::open(folder.path()).unwrap();
            assert_eq!(Readers::of(&directory), expected, "{of_directory:o}");
            assert_eq!(Readers::of(File::open(&file).unwrap()), expected, "{of_file:o}");
        }
        set_mode(folder.path(), 0o744);
        assert_eq!(Readers::of(Directory::open(folder.path()).unwrap()), Readers::OwnerAlone);
    }

    #[test]
    fn two_groups_have_no_member_in_common_as_far_as_anybody_knows() {
        use Readers::{Everyone, Group, OwnerAlone};
        assert_eq!(Everyone.and(Everyone), Everyone);
        assert_eq!((Everyone.and(Group(7)), Group(7).and(Everyone)), (Group(7), Group(7)));
        assert_eq!((Group(7).and(Group(7)), Group(7).and(Group(8))), (Group(7), OwnerAlone));
        assert_eq!((OwnerAlone.and(Everyone), Group(7).and(OwnerAlone)), (OwnerAlone, OwnerAlone));
    }

    #[test]
    fn a_group_is_let_in_only_where_the_file_has_that_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let group = file.metadata().unwrap().gid();
        let mode = |readers: Readers| {
            readers.let_in(&file).unwrap();
            file.metadata().unwrap().mode() & 0o777
        };
        let of_mask = |all: u32| (Mode::from_raw_mode(all) - mask()).bits();
        assert_eq!(mode(Readers::Everyone), of_mask(0o666));
        assert_eq!(mode(Readers::Group(group)), of_mask(0o660));
        assert_eq!(mode(Readers::Group(group + 1)), 0o600);
        assert_eq!(mode(Readers::OwnerAlone), 0o600);
        if rustix::process::geteuid().is_root() {
            chown(&path, None, Some(group + 1)).unwrap();
            assert_eq!(mode(Readers::Group(group)), 0o600);
            assert_eq!(mode(Readers::Group(group + 1)), of_mask(0o660));
        }
    }

    #[test]
    fn a_list_of_users_is_nobodys_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let group = file.metadata().unwrap().gid();
        if !give_list(&path) {
            eprintln!("SKIPPED: no access control lists in {}", folder.path().display());
            return;
        }
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640, "bits alone tell otherwise");
        assert_eq!(Readers::of(&file), Readers::OwnerAlone);
        Readers::Group(group).let_in(&file).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    /// The owner reads and writes, user 65533 reads, and neither the group nor others do anything.
    fn give_list(path: &Path) -> bool {
        let entries = [(1u16, 6u16, u32::MAX), (2, 4, 65_533), (4, 0, u32::MAX)];
        let rest = [(0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, number) in entries.into_iter().chain(rest) {
            list.extend(tag.to_le_bytes().into_iter().chain(rights.to_le_bytes()));
            list.extend(number.to_le_bytes());
        }
        rustix::fs::setxattr(path, crate::ACCESS_LIST, &list, rustix::fs::XattrFlags::empty())
            .is_ok()
    }
}
