//! What is to be a container, from the environment.

use core::ffi::CStr;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use plimsoll_domain::Bytes;
use plimsoll_guarded::{Directory, mount_of};
use plimsoll_stow::Target;
use plimsoll_trace::variables;
use rustix::fd::{AsFd, AsRawFd};

use super::scope::Scope;
use crate::files::any_glob;
use crate::message::Message;
use crate::text::{PATH_BYTES, Text};
use crate::{descriptors, sys};

/// What does not change while the program runs.
pub struct Settings {
    /// What is served.
    pub scope: Scope,
    /// The mount: as it was named, and where that leads without links.
    mounts: [Text<PATH_BYTES>; 2],
    /// The number of the file system's mount that it is on.
    pub mount_number: Option<u64>,
    /// Where new containers have their logs. Without any, nothing becomes a container.
    pub targets: Vec<Target>,
    /// How a new writer spreads its segments.
    pub policy: Policy,
    /// How much a writer may write beyond what the targets take now.
    pub buffer_bytes: u64,
    /// How many bytes a new file has at most that is kept in its marker.
    pub small_bytes: u64,
    only: Text<PATH_BYTES>,
    except: Text<PATH_BYTES>,
}

/// How segments are spread over targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Where the storage is fast now.
    Window,
    /// Round the targets.
    Striped,
    /// Each writer keeps to one.
    Static,
}

// SAFETY: bytes that are not changed once they are there.
unsafe impl Sync for Settings {}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Reads the environment; returns whether there is anything to do. Not in programs with rights that whoever made the environment may not have, and not in
/// the program whose library this is, which knows containers itself.
pub fn read() -> bool {
    let Some(mount) = sys::variable(variables::STOW_MOUNT) else { return false };
    let scope = if is_plimsoll() { Scope::StandardStreams } else { Scope::All };
    if mount.is_empty() || sys::is_secure() {
        return false;
    }
    let text = |name| {
        let mut text = Text::new();
        text.set(sys::variable(name).unwrap_or(b""));
        text
    };
    let mut named = Text::new();
    named.set_absolute(mount);
    let mut targets = sys::variable(variables::STOW_TARGETS).unwrap_or(b"");
    let (real, mount_number) = without_links(&named).unwrap_or_else(|_| {
        refuse_mount(&named);
        // What was inherited may be a container all the same.
        targets = b"";
        let mut same = Text::new();
        same.set(named.as_bytes());
        (same, None)
    });
    let settings = Settings {
        scope,
        mount_number,
        mounts: [named, real],
        targets: targets.split(|byte| *byte == b',').filter_map(target).collect(),
        policy: POLICY.read(policy).unwrap_or(Policy::Window),
        buffer_bytes: BUFFER.read(buffer_bytes).unwrap_or(variables::STOW_BUFFER_BYTES),
        small_bytes: SMALL.read(small_bytes).unwrap_or(variables::STOW_SMALL_BYTES),
        only: text(variables::STOW_ONLY),
        except: text(variables::STOW_EXCEPT),
    };
    SETTINGS.set(settings).is_ok()
}

fn refuse_mount(named: &Text<PATH_BYTES>) {
    let mut message = Message::new(variables::STOW_MOUNT.as_bytes());
    message.push(b" does not count, nothing becomes a container: ");
    message.quote(named.as_bytes());
    message.push(b" is no directory, or is behind a link of another user");
    message.say();
}

/// Returns the settings, once they were read.
pub fn get() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// What a marker has beside the bytes of a small file, if that was written at once.
const SMALL_BESIDES: u64 = 256;

impl Settings {
    /// Returns how many bytes a marker has at most; 0 if nothing stays small.
    pub fn small_room(&self) -> u64 {
        if self.small_bytes == 0 { 0 } else { self.small_bytes + SMALL_BESIDES }
    }

    /// Returns whether a whole path is the mount or below it.
    pub fn is_below(&self, path: &[u8]) -> bool {
        self.mounts.iter().any(|mount| is_below(path, mount.as_bytes()))
    }

    /// Returns the mount, without links, and the rest of a path that is below it.
    pub fn split<'a>(&self, path: &'a [u8]) -> Option<(&CStr, &'a [u8])> {
        let mount = &self.mounts[1];
        let rest = path.strip_prefix(mount.as_bytes())?.strip_prefix(b"/")?;
        (!rest.is_empty()).then_some((mount.as_c_str(), rest))
    }

    /// Returns whether the mount is below a directory, or the other way round.
    pub fn is_near(&self, directory: &[u8]) -> bool {
        let mut mounts = self.mounts.iter().map(Text::as_bytes);
        mounts.any(|mount| is_below(directory, mount) || is_below(mount, directory))
    }

    /// Returns whether a new file of this path is to be a container.
    pub fn takes(&self, path: &[u8]) -> bool {
        let (only, except) = (self.only.as_bytes(), self.except.as_bytes());
        !self.targets.is_empty()
            && is_below(path, self.mounts[1].as_bytes())
            && (only.is_empty() || any_glob(only, path))
            && !any_glob(except, path)
    }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/") || directory == b"/",
        None => false,
    }
}

/// Returns a target: NAME=DIR, or a directory whose last part is its name.
fn target(text: &[u8]) -> Option<Target> {
    let (name, path) = match text.iter().position(|byte| *byte == b'=') {
        Some(at) if !text.starts_with(b"/") => (text.get(..at)?, text.get(at + 1..)?),
        _ => (Path::new(OsStr::from_bytes(text)).file_name()?.as_bytes(), text),
    };
    let mut whole = Text::<PATH_BYTES>::new();
    whole.set_absolute(path);
    let name = String::from_utf8_lossy(name).into_owned();
    (!path.is_empty()).then(|| Target { name, path: OsStr::from_bytes(whole.as_bytes()).into() })
}

/// A variable that says one thing.
struct Variable {
    name: &'static str,
    /// Its entry in the environment when it says nothing.
    empty: &'static CStr,
    /// What it can be.
    hint: &'static [u8],
}

const POLICY: Variable = Variable {
    name: variables::STOW_POLICY,
    empty: c"PLIMSOLL_STOW_POLICY=",
    hint: b"window, striped or static",
};

const BUFFER: Variable = Variable {
    name: variables::STOW_BUFFER,
    empty: c"PLIMSOLL_STOW_BUFFER=",
    hint: b"a size, such as 16MiB",
};

const SMALL: Variable = Variable {
    name: variables::STOW_SMALL,
    empty: c"PLIMSOLL_STOW_SMALL=",
    hint: b"a size of 32KiB or less",
};

impl Variable {
    /// Returns what it says. If that makes no sense, tells so once, and not again in programs that this one executes.
    fn read<T>(&self, meaning: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let text = sys::variable(self.name).map(<[u8]>::trim_ascii).filter(|it| !it.is_empty())?;
        let read = meaning(text);
        if read.is_none() {
            let mut message = Message::new(self.name.as_bytes());
            message.push(b" does not count: it is ");
            message.quote(text);
            message.push(b"; hint: ");
            message.push(self.hint);
            message.say();
            // SAFETY: the program is only being loaded, and the entry is a constant.
            unsafe { sys::replace_variable(self.name, self.empty) };
        }
        read
    }
}

fn policy(text: &[u8]) -> Option<Policy> {
    match text {
        b"window" => Some(Policy::Window),
        b"striped" => Some(Policy::Striped),
        b"static" => Some(Policy::Static),
        _ => None,
    }
}

fn buffer_bytes(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| text.parse().ok().map(Bytes::get))
}

fn small_bytes(text: &[u8]) -> Option<u64> {
    buffer_bytes(text).filter(|it| *it <= variables::STOW_SMALL_BYTES_MAX)
}

/// Returns where a path leads without links, over those of this user and root, and the number of the file system's mount there. What is not there yet leads to
/// itself: a script may make it.
fn without_links(path: &Text<PATH_BYTES>) -> io::Result<(Text<PATH_BYTES>, Option<u64>)> {
    let mut real = Text::new();
    // Closed again at once, as nothing is decided yet that a stand-in could do.
    let mount = Directory::open_by_own_links(Path::new(OsStr::from_bytes(path.as_bytes())));
    if mount.as_ref().is_err_and(|it| it.kind() == io::ErrorKind::NotFound) {
        real.set(path.as_bytes());
        return Ok((real, None));
    }
    let mount = mount?;
    descriptors::push_link(mount.as_fd().as_raw_fd(), &mut real);
    if !real.as_bytes().starts_with(b"/") {
        // Without /proc, or if it is too long, it is not told, and everything would be below nothing. Descriptors are still known.
        real.set(path.as_bytes());
    }
    Ok((real, mount_of(&mount)))
}

/// Returns whether this is a program of ours, to which containers are what they are.
fn is_plimsoll() -> bool {
    let mut path = Text::<PATH_BYTES>::new();
    path.push_link(c"/proc/self/exe");
    path.as_bytes().ends_with(b"/plimsoll")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_above_its_own_only() {
        assert!(is_below(b"/a/b", b"/a") && is_below(b"/a", b"/a") && is_below(b"/a", b"/"));
        assert!(!is_below(b"/ab", b"/a") && !is_below(b"/", b"/a"));
    }

    #[test]
    fn a_buffer_is_a_size() {
        let sizes = ["0", "65536", "4MiB", "much"].map(|it| buffer_bytes(it.as_bytes()));
        assert_eq!(sizes, [Some(0), Some(65536), Some(4 << 20), None]);
    }

    #[test]
    fn variables_that_say_nothing_are_their_own() {
        for variable in [POLICY, BUFFER] {
            assert_eq!(variable.empty.to_bytes(), format!("{}=", variable.name).as_bytes());
        }
    }

    #[test]
    fn targets_have_a_name_or_that_of_their_directory() {
        let read = |text: &str| target(text.as_bytes()).map(|it| (it.name, it.path));
        assert_eq!(read("fast=/mnt/o"), Some(("fast".into(), "/mnt/o".into())));
        assert_eq!(read("/mnt/a=b"), Some(("a=b".into(), "/mnt/a=b".into())));
        assert_eq!(read("/mnt/o/"), Some(("o".into(), "/mnt/o".into())));
        assert_eq!((read(""), read("a=")), (None, None));
    }
}
