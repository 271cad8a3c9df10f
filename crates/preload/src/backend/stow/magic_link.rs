//! Links by which a process comes to its open files and directories: `/proc/self/fd/7`, `/dev/stdout`, `/proc/self/cwd` (proc(5)).

use core::ffi::c_int;

use crate::path_room::PathText;
use crate::text::Text;

/// What the kernel makes of a process's open files and directories: links that lead there without a path (proc(5)).
pub struct MagicLink<'a> {
    /// The process, by its number if it has one there.
    pub process: Option<&'a [u8]>,
    /// `None` of a working directory, or a root.
    pub descriptor: Option<c_int>,
    /// Where its name ends in the path.
    pub end: usize,
}

impl<'a> MagicLink<'a> {
    /// Returns the one that a path begins with.
    pub fn of(path: &'a [u8]) -> Option<Self> {
        if !path.starts_with(b"/") {
            return None;
        }
        // Neither means anything: `/dev/./fd//1`.
        let is_step = |part: &&[u8]| !part.is_empty() && *part != b".";
        let mut parts = path.split(|byte| *byte == b'/').filter(is_step);
        let end = |last: &[u8]| last.as_ptr().addr() - path.as_ptr().addr() + last.len();
        let of =
            |process, name: &'a [u8], descriptor| MagicLink { process, descriptor, end: end(name) };
        match parts.next()? {
            b"dev" => match parts.next()? {
                name @ b"stdin" => Some(of(None, name, Some(libc::STDIN_FILENO))),
                name @ b"stdout" => Some(of(None, name, Some(libc::STDOUT_FILENO))),
                name @ b"stderr" => Some(of(None, name, Some(libc::STDERR_FILENO))),
                b"fd" => {
                    let name = parts.next()?;
                    Some(of(None, name, Some(digits(name)?)))
                }
                _ => None,
            },
            b"proc" => {
                let process = match parts.next()? {
                    b"self" | b"thread-self" => None,
                    process => Some(process).filter(|it| digits(it).is_some()).map(Some)?,
                };
                // All threads of a process have its descriptors.
                let mut next = parts.next()?;
                if next == b"task" {
                    digits(parts.next()?)?;
                    next = parts.next()?;
                }
                match next {
                    b"fd" => {
                        let name = parts.next()?;
                        Some(of(process, name, Some(digits(name)?)))
                    }
                    b"cwd" | b"root" => Some(of(process, next, None)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Adds where such a link at the beginning of a path leads, and returns the rest of the path. `None` if it has no such beginning, or nothing behind it.
pub fn follow<'a>(path: &'a [u8], whole: &mut PathText) -> Option<&'a [u8]> {
    let (link, rest) = path.split_at_checked(MagicLink::of(path)?.end)?;
    let mut name = Text::<LINK_BYTES>::new();
    name.push(link);
    if rest.is_empty() || name.as_bytes() != link {
        return None;
    }
    whole.push_link(name.as_c_str());
    (!whole.as_bytes().is_empty()).then_some(rest)
}

/// More than the name of such a link needs, unless somebody puts slashes into it.
const LINK_BYTES: usize = 128;

/// Returns a number as the kernel reads it in such names.
fn digits(text: &[u8]) -> Option<c_int> {
    let is_usual = text == b"0" || !text.starts_with(b"0");
    let is_number = is_usual && text.iter().all(u8::is_ascii_digit);
    str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_link_of_a_process_is_told_from_it() {
        let here = std::env::current_dir().unwrap();
        for begin in ["/proc/self/cwd", "//proc/thread-self/./cwd"] {
            let path = format!("{begin}/a//b");
            let mut whole = Text::new();
            assert_eq!(follow(path.as_bytes(), &mut whole), Some(b"/a//b".as_slice()));
            assert_eq!(whole.as_bytes(), here.as_os_str().as_encoded_bytes());
        }
        for other in [
            "/proc/self/cwd",
            "/proc/self/status/x",
            "/dev/null/x",
            "/proc/self/fd/9999/x",
            "/proc",
        ] {
            assert_eq!(follow(other.as_bytes(), &mut Text::new()), None, "{other}");
        }
    }
}
