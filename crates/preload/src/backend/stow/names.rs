//! Which names and descriptors are containers'.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU8, Ordering};

use plimsoll_guarded::mount_of;
use plimsoll_stow::{ANCHOR, MARKER};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, CWD, FileType, Stat, fstat, statat};
use rustix::io::Errno;

use super::found::Found;
use super::settings::{self, Settings};
use super::{hold, magic_link};
use crate::backend::{self, Answer, Name};
use crate::path_room::{PathText, with_path};
use crate::text::{PATH_BYTES, Text};
use crate::{descriptors, sys};

/// What names of unfinished and of removed containers begin with: programs do not see them.
pub const HIDDEN_PREFIX: &[u8] = b".plimsoll-stow-";

/// A name, as system calls take it.
pub struct NamedAt<'a> {
    /// What it counts from.
    pub directory: BorrowedFd<'static>,
    /// The name.
    pub path: &'a CStr,
}

impl<'a> NamedAt<'a> {
    /// Returns the name that a program gave to a call; `None` where the kernel is to say what is wrong with it.
    pub fn of(name: &'a Name) -> Option<Self> {
        let path = name.path()?;
        let directory = match name.directory {
            libc::AT_FDCWD => CWD,
            fd => sys::borrow(fd)?,
        };
        (path.count_bytes() < PATH_BYTES).then_some(NamedAt { directory, path })
    }

    /// Returns the container that has this name, if it is one's.
    pub fn container(&self, follow: bool) -> Option<Found> {
        Found::at(self, follow)
    }

    /// Returns the container that has this name itself, also where others replace it again and again.
    pub fn container_now(&self) -> Option<Found> {
        for _ in 1..LOOKS {
            match self.container(false) {
                // One has taken its place while it was looked at.
                None if self.facts().is_ok_and(|it| is_directory(&it))
                    && !self.is_plain_directory() => {}
                found => return found,
            }
        }
        self.container(false)
    }

    /// Returns whether the name leads to a directory that is no container which counts: the one that was looked at still has it afterwards.
    pub fn is_plain_directory(&self) -> bool {
        let key = |it: Stat| (it.st_dev, it.st_ino);
        let looked_at = Found::other_directory(self).and_then(|it| fstat(it).ok()).map(key);
        looked_at.is_some() && looked_at == self.facts().ok().map(key)
    }

    /// Returns what the name itself is, a link too.
    pub fn facts(&self) -> Result<Stat, Errno> {
        statat(self.directory, self.path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the directory that the name is in, and the last part of the name; `None` if it has none.
    pub fn divided(&self) -> Option<(Text<PATH_BYTES>, &'a [u8])> {
        let path = self.path.to_bytes();
        let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
        let path = path.get(..end)?;
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let name = path.get(start..)?;
        let mut above = Text::new();
        above.push(if start == 0 { b"." } else { path.get(..start)? });
        (name != b"." && name != b"..").then_some((above, name))
    }

    /// Returns whether the name leads through a container that counts, or says that one is a directory: to the program that is a file, and there are no names in a file.
    /// Elsewhere it costs one look, and another of a name with a slash behind it.
    pub fn is_in_container(&self) -> bool {
        let path = self.path.to_bytes();
        let itself = path.ends_with(b"/").then_some(path);
        above(path).into_iter().chain(itself).any(|directory| self.leads_through(directory))
    }

    /// Returns whether a part of the name, up to a slash or nothing at all, is a container that counts.
    fn leads_through(&self, directory: &[u8]) -> bool {
        let mut path = Text::<PATH_BYTES>::new();
        path.push(directory);
        path.push(MARKER.as_bytes());
        let is_whole = path.as_bytes().len() == directory.len() + MARKER.len();
        let marker = || statat(self.directory, path.as_c_str(), AtFlags::SYMLINK_NOFOLLOW);
        if !is_whole || marker().is_err() {
            return false;
        }
        path.truncate(directory.len());
        path.push(b".");
        NamedAt { directory: self.directory, path: path.as_c_str() }.container(false).is_some()
    }

    /// Returns whether the name says that it is a directory's.
    pub fn ends_with_slash(&self) -> bool {
        self.path.to_bytes().ends_with(b"/")
    }
}

/// Returns the part of a path before its last one, with the slash, which is nothing if there is none; `None` of a path that has no last part, or is where it counts from.
fn above(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let path = path.get(..end)?;
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => path.get(..=slash),
        None if matches!(path, b"." | b"..") => None,
        None => Some(b""),
    }
}

/// Refuses names, if one is below the mount and leads through a container.
pub fn refused_in_container(names: &[&Name]) -> Answer {
    let is_in =
        |name: &&Name| is_below(name) && NamedAt::of(name).is_some_and(|it| it.is_in_container());
    names.iter().any(is_in).then_some(Err(libc::ENOTDIR))
}

/// Returns whether this is a directory.
pub fn is_directory(facts: &Stat) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::Directory
}

/// Returns whether this is a regular file.
pub fn is_regular(facts: &Stat) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
}

/// Returns whether a descriptor is an anchor's, or that of a directory from which names lead below the mount.
pub fn is_own_descriptor(fd: c_int) -> bool {
    let Some(file) = sys::borrow(fd) else { return false };
    match fstat(file) {
        // Where that cannot be told, the program is told so, when it uses it.
        Ok(facts) if is_regular(&facts) => !matches!(container_of(fd), Ok(None)),
        Ok(facts) if is_directory(&facts) => with_path(|path| {
            descriptors::push_link(fd, path);
            settings::get().is_some_and(|it| it.is_near(path.as_bytes()))
        }),
        _ => false,
    }
}

/// How often others may exchange the names that lead to an anchor meanwhile.
const LOOKS: usize = 64;

/// Returns the container whose anchor a descriptor is of; `None` if it is a plain file's.
///
/// # Errors
/// If that cannot be told just now: nobody may pass the directories above any more, or there are no descriptors left.
pub fn container_of(fd: c_int) -> Result<Option<Found>, c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    for _ in 0..LOOKS {
        match with_path(|path| container_told(fd, file, path)) {
            Err(None) => {}
            found => return found.map_err(|it| it.unwrap_or(libc::ESTALE)),
        }
    }
    Err(libc::ESTALE)
}

/// Looks once, with room for a path. `Err(None)` if it is to be looked at again.
fn container_told(
    fd: c_int,
    file: BorrowedFd<'_>,
    path: &mut PathText,
) -> Result<Option<Found>, Option<c_int>> {
    descriptors::push_link(fd, path);
    let above = match Told::of(path.as_bytes()) {
        Told::Anchor { above } => above,
        Told::Other => return Ok(None),
        Told::Unknown if hold::is_held_by(fd) == Some(true) => return Err(Some(libc::ESTALE)),
        Told::Unknown => return Ok(None),
    };
    // Asked only now: most descriptors are of other files.
    let facts = fstat(file).map_err(|it| Some(it.raw_os_error()))?;
    path.truncate(above);
    Found::of_anchor(fd, path.as_c_str(), &facts, mount_of(file))
}

/// What the kernel behind a descriptor tells as its file's path.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// That of an anchor, in the directory whose path is as long.
    Anchor { above: usize },
    /// That of another file.
    Other,
    /// It may be an anchor's: the path is too long, is not told here, or is gone.
    Unknown,
}

impl Told {
    fn of(path: &[u8]) -> Self {
        let above =
            |path: &[u8]| path.strip_suffix(ANCHOR.as_bytes())?.strip_suffix(b"/").map(<[u8]>::len);
        if !path.starts_with(b"/") || path.len() >= PATH_BYTES - 1 {
            return Told::Unknown;
        }
        if let Some(above) = above(path) {
            return Told::Anchor { above };
        }
        // Whoever may rename a file can give it such a name.
        match path.strip_suffix(b" (deleted)").and_then(above) {
            Some(_) => Told::Unknown,
            None => Told::Other,
        }
    }
}

/// Returns the container's name, out of that of its anchor; other names as they are.
pub fn without_anchor(path: &[u8]) -> &[u8] {
    match Told::of(path) {
        Told::Anchor { above } => path.get(..above).unwrap_or(path),
        Told::Other | Told::Unknown => path,
    }
}

/// What is known of the working directory: nothing.
const UNKNOWN: u8 = 0;
/// The mount is neither in it nor around it.
const FAR: u8 = 1;
/// The mount is in it or around it.
const NEAR: u8 = 2;

static WORKING_DIRECTORY: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Forgets what is known of the working directory, which changed.
pub fn forget_working_directory() {
    WORKING_DIRECTORY.store(UNKNOWN, Ordering::Relaxed);
}

/// Returns whether a name is that of the mount or of something below it, by its text. Links that lead there from elsewhere are not
/// followed.
pub fn is_below(name: &Name) -> bool {
    let (Some(settings), Some(path)) = (settings::get(), name.path()) else { return false };
    let path = path.to_bytes();
    if may_be_link(path)
        && let Some(is_below) = is_below_by_link(settings, path)
    {
        return is_below;
    }
    if path.starts_with(b"/") && is_plain(path) {
        return settings.is_below(path);
    }
    !path.is_empty() && is_below_resolved(settings, name.directory, path)
}

/// The same of a path that is relative, or not plain.
fn is_below_resolved(settings: &Settings, directory: c_int, path: &[u8]) -> bool {
    let is_relative = !path.starts_with(b"/");
    let leaves = path.starts_with(b"..") || !is_plain(path);
    if is_relative && !leaves {
        let is_far = match directory {
            libc::AT_FDCWD => WORKING_DIRECTORY.load(Ordering::Relaxed) == FAR,
            // Those above the mount are owned, too.
            _ => !backend::is_owned(directory),
        };
        if is_far {
            return false;
        }
    }
    with_path(|whole| {
        if is_relative && directory == libc::AT_FDCWD {
            whole.push_link(c"/proc/self/cwd");
            let near = settings.is_near(whole.as_bytes());
            WORKING_DIRECTORY.store(if near { NEAR } else { FAR }, Ordering::Relaxed);
        } else if is_relative {
            descriptors::push_link(directory, whole);
        }
        resolve(whole, path);
        settings.is_below(whole.as_bytes())
    })
}

/// The same of a path that may begin with a link of a process: `/proc/self/fd/7/file` stands for what calls do that know directories by descriptors.
/// `None` if it does not.
#[inline(never)]
fn is_below_by_link(settings: &Settings, path: &[u8]) -> Option<bool> {
    with_path(|whole| {
        let rest = magic_link::follow(path, whole)?;
        resolve(whole, rest);
        Some(settings.is_below(whole.as_bytes()))
    })
}

/// Returns whether a path may begin with such a link, by what it begins with: others cost nothing.
#[inline]
fn may_be_link(path: &[u8]) -> bool {
    let first = path.iter().position(|byte| !b"/.".contains(byte)).unwrap_or(path.len());
    let begin = path.get(first..).unwrap_or(&[]);
    path.starts_with(b"/") && (begin.starts_with(b"proc/") || begin.starts_with(b"dev/"))
}

/// Returns whether a path has no part that means nothing, or the directory above.
fn is_plain(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    if path.starts_with(b"/") {
        parts.next();
    }
    parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Goes on from a directory by a path, as far as that can be told by its text; no part of the result means nothing.
fn resolve(whole: &mut PathText, path: &[u8]) {
    if whole.as_bytes() == b"/" {
        whole.truncate(0);
    }
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let above = whole.as_bytes().iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                whole.truncate(above);
            }
            part => {
                whole.push(b"/");
                whole.push(part);
            }
        }
    }
    if whole.as_bytes().is_empty() {
        whole.push(b"/");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_mean_nothing_are_left_out() {
        let whole = |from: &[u8], path: &[u8]| {
            let mut whole = Text::new();
            whole.push(from);
            resolve(&mut whole, path);
            String::from_utf8(whole.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(whole(b"/a/b", b"../c//d/."), "/a/c/d");
        assert_eq!((whole(b"", b"/../.."), whole(b"/", b"x")), ("/".into(), "/x".into()));
        assert!(is_plain(b"/a/b") && is_plain(b"a.b/..c"));
        assert!(!is_plain(b"/a/") && !is_plain(b"//a") && !is_plain(b"a/../b"));
    }

    #[test]
    fn a_path_that_is_told_says_whether_it_may_be_an_anchor() {
        let long = [b"/".as_slice(), &[b'x'; PATH_BYTES]].concat();
        assert_eq!(Told::of(b"/m/out/anchor"), Told::Anchor { above: 6 });
        for path in [b"/m/out/anchor (deleted)".as_slice(), b"", b"(unreachable)/anchor", &long] {
            assert_eq!(Told::of(path), Told::Unknown);
        }
        for path in [b"/log (deleted)".as_slice(), b"/m/manchor", b"/anchor/log"] {
            assert_eq!(Told::of(path), Told::Other);
        }
    }

    #[test]
    fn what_a_name_is_in_is_the_part_before_its_last() {
        assert_eq!(above(b"m/big/part//"), Some(b"m/big/".as_slice()));
        assert_eq!(
            (above(b"/m"), above(b"m/big/.")),
            (Some(b"/".as_slice()), Some(b"m/big/".as_slice()))
        );
        assert_eq!((above(b"part"), above(b".."), above(b"/")), (Some(b"".as_slice()), None, None));
    }

    #[test]
    fn names_are_divided_before_their_last_part() {
        let divided = |path: &CStr| {
            let at = NamedAt { directory: CWD, path };
            at.divided().map(|(above, name)| (above.as_bytes().to_vec(), name.to_vec()))
        };
        assert_eq!(divided(c"/a/b"), Some((b"/a/".to_vec(), b"b".to_vec())));
        assert_eq!(divided(c"b//"), Some((b".".to_vec(), b"b".to_vec())));
        assert_eq!((divided(c"/"), divided(c"a/..")), (None, None));
    }
}
