//! Where the memory of a user is: one directory for all processes of the user, which nobody else can look into or keep from being there.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use plimsoll_guarded::{Directory, random_hex};
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, openat};

/// Where memory is kept: not on storage, and gone when the machine is started again.
pub(crate) const PLACE: &str = "/dev/shm";

/// Nobody else has to do with it.
pub(crate) const PRIVATE: u32 = 0o700;

/// A directory that is not agreed upon yet: not even its owner puts anything into it.
const DRAFT: u32 = 0o500;

/// Names in that place, and those that begin as the user's, of which all are looked at: others may make as many as they like, and each process would
/// look at all of them. Where there are more, a process works without this memory.
const NAMES_MAX: usize = 10_000;
const TAILS_MAX: usize = 64;

/// Returns the user's directory.
///
/// # Errors
/// Fails if there is none, and none can be made.
pub(crate) fn of_user() -> io::Result<Directory> {
    let name = format!("plimsoll-{}", rustix::process::geteuid().as_raw());
    let of_user = Directory::open(Path::new(PLACE)).and_then(|place| private_in(&place, &name));
    of_user.map_err(|cause| io::Error::new(cause.kind(), format!("{PLACE}/{name}: {cause}")))
}

/// Returns the user's private directory of that name. Anybody may take the name first, as the place is everybody's: then it is one with a random tail.
fn private_in(place: &Directory, name: &str) -> io::Result<Directory> {
    match place.child(name) {
        Ok(directory) if mode_of_own(&directory) == Some(PRIVATE) => return Ok(directory),
        // Somebody who had the name may have given it back.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            if let Some(known) = agreed(&with_tails(place, name)?) {
                return place.child(known);
            }
            match place.make(name, PRIVATE) {
                Ok(made) if mode_of_own(&made) == Some(PRIVATE) => return Ok(made),
                Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
                _ => {}
            }
            // Another process of the user may have made it just now.
            if let Ok(directory) = place.child(name)
                && mode_of_own(&directory) == Some(PRIVATE)
            {
                return Ok(directory);
            }
        }
        _ => {}
    }
    let known = with_tails(place, name)?;
    let agreed = match agreed(&known) {
        Some(known) => known.clone(),
        None => agree(place, name)?,
    };
    place.child(agreed)
}

/// Makes a directory with a tail the user's, and returns its name. Of processes that do so at once, each makes one, and then locks its own and all that were
/// there by then: of two, the later one has to do with the earlier one's, so one decides after the other, and sees what was decided.
fn agree(place: &Directory, name: &str) -> io::Result<OsString> {
    let own = OsString::from(format!("{name}-{}", random_hex(8)?));
    place.make(&own, DRAFT)?;
    let drafts = with_tails(place, name).inspect_err(|_| {
        let _ = place.remove_directory(&own);
    })?;
    let opened = drafts.iter().map(|(_, directory, _)| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(directory, c".", flags, Mode::empty())?;
        flock(&opened, FlockOperation::LockExclusive)?;
        Ok(opened)
    });
    let locked: Vec<OwnedFd> = opened.collect::<io::Result<_>>()?;
    if let Some(agreed) = agreed(&with_tails(place, name)?) {
        place.remove_directory(&own)?;
        return Ok(agreed.clone());
    }
    let first = drafts.first().zip(locked.first()).ok_or(io::ErrorKind::NotFound)?;
    let ((agreed, ..), directory) = first;
    fchmod(directory, Mode::from_raw_mode(PRIVATE))?;
    if *agreed != own {
        place.remove_directory(&own)?;
    }
    Ok(agreed.clone())
}

/// A directory by its name, and its mode.
type Tailed = (OsString, Directory, u32);

fn agreed(known: &[Tailed]) -> Option<&OsString> {
    known.iter().find(|(.., mode)| *mode == PRIVATE).map(|(name, ..)| name)
}

/// Returns the user's own directories with a tail, by name.
fn with_tails(place: &Directory, name: &str) -> io::Result<Vec<Tailed>> {
    let begin = format!("{name}-");
    let names = place.names_that_begin(&begin, NAMES_MAX)?;
    if names.len() > TAILS_MAX {
        let reason = format!("there are more than {TAILS_MAX} names that begin with {begin}");
        return Err(io::Error::other(reason));
    }
    let opened = |name: OsString| {
        let directory = place.child(&name).ok()?;
        let mode = mode_of_own(&directory)?;
        Some((name, directory, mode))
    };
    Ok(names.into_iter().filter_map(opened).collect())
}

/// Returns the mode of a directory that is this user's alone.
fn mode_of_own(directory: &Directory) -> Option<u32> {
    directory.require_own().ok()?;
    let mode = directory.facts().ok()?.st_mode & 0o777;
    (mode & 0o077 == 0).then_some(mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    const NAME: &str = "plimsoll-7";

    fn number(place: &Path) -> u64 {
        let directory = private_in(&Directory::open(place).unwrap(), NAME).unwrap();
        let facts = fs::metadata(directory.path()).unwrap();
        assert_eq!(facts.mode() & 0o777, PRIVATE);
        facts.ino()
    }

    fn count(place: &Path) -> usize {
        fs::read_dir(place).unwrap().count()
    }

    /// Another user had taken the name: processes of a node did not know of each other, and nothing was counted.
    #[test]
    fn a_name_that_somebody_else_has_is_not_the_end_of_it() {
        for round in 0..20 {
            let place = tempfile::tempdir().unwrap();
            let taken = place.path().join(NAME);
            match round % 3 {
                0 => fs::write(&taken, "").unwrap(),
                1 => symlink("/", &taken).unwrap(),
                _ => {
                    fs::create_dir(&taken).unwrap();
                    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
                    fs::set_permissions(&taken, everybody).unwrap();
                }
            }
            // What one that was killed left.
            fs::create_dir(place.path().join(format!("{NAME}-0"))).unwrap();
            fs::set_permissions(
                place.path().join(format!("{NAME}-0")),
                std::os::unix::fs::PermissionsExt::from_mode(DRAFT),
            )
            .unwrap();
            let found: BTreeSet<u64> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(|| number(place.path()))).collect();
                all.into_iter().map(|it| it.join().unwrap()).collect()
            });
            assert_eq!(found.len(), 1, "all have the same");
            assert_eq!(count(place.path()), 2, "and no other is left");
            assert!(found.contains(&number(place.path())));
            // Also when the name is given back.
            if round % 3 == 2 {
                fs::remove_dir(&taken).unwrap();
            } else {
                fs::remove_file(&taken).unwrap();
            }
            assert!(found.contains(&number(place.path())));
        }
    }

    /// The attack: hundreds of thousands of names that begin as the user's, each of which every process looked at.
    #[test]
    fn many_names_of_others_are_not_looked_at() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(NAME), "").unwrap();
        for number in 0..TAILS_MAX {
            fs::create_dir(place.path().join(format!("{NAME}-{number}"))).unwrap();
        }
        let directory = Directory::open(place.path()).unwrap();
        let error = private_in(&directory, NAME).unwrap_err().to_string();
        assert!(error.contains("names that begin"), "{error}");
        assert_eq!(count(place.path()), 1 + TAILS_MAX, "nothing was left behind");
        assert!(directory.names_that_begin("plimsoll", TAILS_MAX).is_err());
        let found = directory.names_that_begin(&format!("{NAME}-1"), 1000).unwrap();
        assert_eq!(found.first().unwrap(), "plimsoll-7-1");
        assert_eq!(found.len(), 11);
    }

    #[test]
    fn a_name_that_nobody_has_is_the_users() {
        let place = tempfile::tempdir().unwrap();
        let found: BTreeSet<u64> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| number(place.path()))).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert_eq!((found.len(), count(place.path())), (1, 1));
        assert!(place.path().join(NAME).is_dir());
    }
}
