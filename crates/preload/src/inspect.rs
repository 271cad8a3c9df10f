//! Programs that the process is about to execute: can they be recorded, and if not, why?

use core::ffi::{CStr, c_char, c_int};

use plimsoll_trace::Unseen;
use plimsoll_trace::executable::{Executable, INTERPRETER_BYTES_MAX, Rights, look};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;

use crate::open_file::{self, OwnFile};
use crate::path_room::PathText;
use crate::text::Text;
use crate::{descriptors, environment, sys};

/// How a program is named by who executes it.
#[derive(Clone, Copy)]
pub enum Target {
    /// By a path, which may count from a directory's descriptor.
    Path(c_int, *const c_char),
    /// By a name that is looked for in the directories of PATH, unless it has a slash.
    Name(*const c_char),
    /// By a descriptor.
    Descriptor(c_int),
}

impl Target {
    /// Returns what `execveat` is given: without a path, the descriptor itself.
    ///
    /// # Safety
    /// `path` is null or a C string.
    pub unsafe fn at(directory: c_int, path: *const c_char, flags: c_int) -> Target {
        // SAFETY: as the caller says.
        let is_empty =
            path.is_null() || unsafe { sys::string_at(path) }.is_some_and(CStr::is_empty);
        if is_empty && flags & libc::AT_EMPTY_PATH != 0 {
            Target::Descriptor(directory)
        } else {
            Target::Path(directory, path)
        }
    }
}

/// What was found out about a program.
pub struct Inspected<'a> {
    /// Its path and, behind a zero, what completes the reason.
    pub text: &'a mut PathText,
    /// Why it will not be recorded.
    pub reason: Option<Unseen>,
}

/// Interpreters of interpreters that are followed, as the kernel does (fs/exec.c).
const SCRIPTS_MAX: usize = 5;

impl<'a> Inspected<'a> {
    /// Returns what is known of a program before it was looked at, with room for its path.
    pub fn new(text: &'a mut PathText) -> Self {
        Inspected { text, reason: None }
    }

    /// Looks at a program. Returns false when there is none, so that executing it will fail.
    ///
    /// # Safety
    /// Names are null or C strings.
    #[inline(never)]
    pub unsafe fn look_at(&mut self, target: Target) -> bool {
        // SAFETY: as the caller says.
        let Some(file) = (unsafe { open(target, self.text) }) else { return false };
        if let Ok(file) = file {
            let name = name_in(self.text.as_bytes());
            let Some(program) = reason_in(file.as_fd(), name, SCRIPTS_MAX) else { return false };
            self.reason = program;
        } // Otherwise it may be executed and not read.
        if self.reason.is_none() {
            let length = self.text.as_bytes().len();
            self.text.push(b"\0");
            self.reason = environment::out_of_reach(self.text);
            if self.reason.is_none() {
                self.text.truncate(length);
            }
        }
        true
    }
}

/// Opens a program and leaves its path; `None` when it does not exist.
///
/// # Safety
/// As [`inspect`].
unsafe fn open(target: Target, path: &mut PathText) -> Option<Result<OwnFile, Errno>> {
    match target {
        Target::Descriptor(fd) => {
            descriptors::push_link(fd, path);
            let mut link = Text::<32>::new();
            link.push(b"/proc/self/fd/");
            link.push_number(u64::from(fd as u32), 10);
            open_at(CWD, link.as_c_str())
        }
        Target::Path(directory, given) => {
            // SAFETY: as the caller says.
            let given = unsafe { sys::string_at(given) }?;
            match sys::borrow(directory).filter(|_| !given.to_bytes().starts_with(b"/")) {
                Some(directory_fd) => {
                    descriptors::push_link(directory, path);
                    path.push_parts(given.to_bytes());
                    open_at(directory_fd, given)
                }
                None => {
                    path.set_absolute(given.to_bytes());
                    open_at(CWD, given)
                }
            }
        }
        Target::Name(given) => {
            // SAFETY: as the caller says.
            let name = unsafe { sys::string_at(given) }?.to_bytes();
            if name.contains(&b'/') {
                path.set_absolute(name);
                return open_at(CWD, path.as_c_str());
            }
            let directories = sys::variable("PATH").unwrap_or(b"/bin:/usr/bin");
            directories.split(|byte| *byte == b':').find_map(|directory| {
                path.set_absolute(directory);
                path.push(b"/");
                path.push(name);
                open_at(CWD, path.as_c_str())
            })
        }
    }
}

/// Opens a file without waiting, also where the name is that of a pipe.
fn open_at(directory: BorrowedFd<'_>, path: &CStr) -> Option<Result<OwnFile, Errno>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    match open_file::openat(directory, path, flags, Mode::empty()) {
        Err(Errno::ACCESS | Errno::PERM)
            if rustix::fs::statat(directory, path, AtFlags::empty()).is_ok() =>
        {
            Some(Err(Errno::ACCESS))
        }
        Err(_) => None,
        opened => Some(opened),
    }
}

/// Returns why a program will not be recorded, by its file. The outer `None`: it cannot be executed.
fn reason_in(file: BorrowedFd<'_>, name: &[u8], scripts_left: usize) -> Option<Option<Unseen>> {
    let status = rustix::fs::fstat(file).ok()?;
    let is_program = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile
        && status.st_mode & 0o111 != 0;
    if !is_program {
        return None;
    }
    let read = |at: u64, room: &mut [u8]| {
        let mut length = 0;
        while let Some(rest) = room.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(file, rest, at + length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        length
    };
    let mut interpreter = [0u8; INTERPRETER_BYTES_MAX];
    match look(read, name, &mut interpreter) {
        Executable::Unknown => Some(None),
        Executable::Script(length) if scripts_left > 0 => {
            let mut path = Text::<INTERPRETER_BYTES_MAX>::new();
            path.push(interpreter.get(..length).unwrap_or(&[]));
            let file = open_at(CWD, path.as_c_str())?.ok();
            file.map_or(Some(None), |file| {
                reason_in(file.as_fd(), name_in(path.as_bytes()), scripts_left - 1)
            })
        }
        Executable::Script(_) => None,
        Executable::Program(reason) => Some(rights(file, &status).or(reason)),
    }
}

/// Returns why the dynamic linker will not trust who executes the file.
fn rights(file: BorrowedFd<'_>, status: &rustix::fs::Stat) -> Option<Unseen> {
    let user = rustix::process::getuid().as_raw();
    let may_change = Rights::may_change(status.st_mode);
    let mut capabilities = [0u8; 64];
    let attribute = c"security.capability";
    let has_capabilities = user != 0
        && rustix::fs::fgetxattr(file, attribute, &mut capabilities).is_ok_and(|length| length > 0);
    if !may_change && !has_capabilities {
        return None;
    }
    let rights = Rights {
        mode: status.st_mode,
        owner: (status.st_uid, status.st_gid),
        process: (user, rustix::process::getgid().as_raw()),
        has_capabilities,
    };
    // Where the kernel gives no rights, it takes none away.
    let is_refused = rustix::thread::no_new_privs().unwrap_or(false)
        || rustix::fs::fstatvfs(file)
            .is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOSUID));
    rights.unseen().filter(|_| !is_refused)
}

fn name_in(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.get(start..).unwrap_or(path)
}
