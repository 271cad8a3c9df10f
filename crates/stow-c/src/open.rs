//! Opens a container for a program in C.

use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, StowError, Target, Writer};
use rustix::io::Errno;

use crate::Handle;
use crate::failure::Failure;

const READ: c_int = 1;
const WRITE: c_int = 2;
const CREATE: c_int = 4;
const EXCLUSIVE: c_int = 8;
const TRUNCATE: c_int = 16;

/// Opens a container.
pub fn open(path: &CStr, flags: c_int, targets: &[&CStr]) -> Result<Box<Handle>, Failure> {
    let has = |flag: c_int| flags & flag != 0;
    if flags & !(READ | WRITE | CREATE | EXCLUSIVE | TRUNCATE) != 0 {
        return Err(Failure::invalid("a flag is unknown"));
    }
    if !has(READ) && !has(WRITE) {
        return Err(Failure::invalid("neither PLIMSOLL_STOW_READ nor PLIMSOLL_STOW_WRITE"));
    }
    if (has(TRUNCATE) && !has(WRITE)) || (has(EXCLUSIVE) && !has(CREATE)) {
        return Err(Failure::invalid("TRUNCATE goes with WRITE, and EXCLUSIVE with CREATE"));
    }
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let targets: Vec<Target> = targets.iter().map(|it| target(it)).collect::<Result<_, _>>()?;
    let container = find(path, &targets, has(CREATE), has(EXCLUSIVE))?;
    let container = Arc::new(container.within_limits());
    let mut writer = None;
    if has(WRITE) {
        let mut opened = Writer::open(container.clone(), Placement::default())?;
        opened.copy_by(plimsoll_stow::copied);
        if has(TRUNCATE) {
            opened.truncate(0)?;
        }
        writer = Some(opened);
    }
    Ok(Box::new(Handle::new(container, writer, has(READ))))
}

/// Opens the container, or makes one: of several processes that do so at once, all get the same.
fn find(
    path: &Path,
    targets: &[Target],
    may_create: bool,
    must_create: bool,
) -> Result<Container, StowError> {
    if !must_create {
        match Container::open(path, targets) {
            Err(error) if may_create && error.errno() == Errno::NOENT => {}
            opened => return opened,
        }
    }
    match Container::create(path, targets) {
        Err(error) if !must_create && matches!(error.errno(), Errno::EXIST | Errno::NOTEMPTY) => {
            Container::open(path, targets)
        }
        made => made,
    }
}

/// Reads DIR or NAME=DIR.
fn target(text: &CStr) -> Result<Target, Failure> {
    let refused = || Failure::invalid("a target is not DIR or NAME=DIR, in UTF-8");
    let text = text.to_str().map_err(|_| refused())?;
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.contains('/') => (Some(name.to_string()), path),
        _ => (None, text),
    };
    let path = std::path::absolute(path).map_err(|_| refused())?;
    let last = || path.file_name().map(|it| it.to_string_lossy().into_owned());
    let name = name.or_else(last).filter(|it| !it.is_empty()).ok_or_else(refused)?;
    Ok(Target { name, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_names_of_their_own_or_those_of_their_paths() {
        let read = |text: &CStr| target(text).ok().map(|it| (it.name, it.path));
        assert_eq!(read(c"/mnt/ost0"), Some(("ost0".into(), "/mnt/ost0".into())));
        assert_eq!(read(c"fast=/mnt/ost0"), Some(("fast".into(), "/mnt/ost0".into())));
        assert_eq!(read(c"/mnt/a=b"), Some(("a=b".into(), "/mnt/a=b".into())));
        for wrong in [c"", c"=/mnt", c"/", c"x=", c"\xff"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
