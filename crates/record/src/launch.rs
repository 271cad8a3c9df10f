//! Getting ready to run a program that records itself.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_guarded::Directory;
use plimsoll_machine::{Machine, preload_library};
use plimsoll_trace::variables;

use crate::collect::{Collected, collect_soon};
use crate::unseen::UnseenProgram;
use crate::{RecordError, directory, key, marker, spool};

/// A program that is to be recorded, and how.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The program.
    pub program: &'a OsStr,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Directory of the recording; otherwise that of an enclosing `record`, or one named after the program and
    /// the job.
    pub directory: Option<&'a Path>,
    /// Where files grow while the program runs; otherwise a suitable place.
    pub spool: Option<&'a Path>,
    /// Names of the layers that are recorded.
    pub layers: &'a [String],
    /// Globs of the files that are recorded; none means all.
    pub include: &'a [String],
    /// Globs of the files that are not recorded.
    pub exclude: &'a [String],
    /// Whether others may read the recording, which an enclosing `record` may also say.
    pub is_shared: bool,
}

/// A recording that has begun, and the command that fills it.
#[derive(Debug)]
pub struct Prepared {
    /// The program with its arguments and environment.
    pub command: Command,
    directory: Directory,
    spool: PathBuf,
    /// The file that says that the program cannot be recorded.
    told: Option<String>,
}

/// Recordings of one second, each of a container of its own, whose processes have the same number.
const ALIKE_MAX: u32 = 1000;

/// The longest list of globs that the library can hold, in bytes.
pub(crate) const GLOBS_BYTES_MAX: usize = 4095;

impl Launch<'_> {
    /// Makes the recording, or joins it, and prepares the command.
    ///
    /// # Errors
    /// If there is no library, no directory or no spool that can be used, or if the directory holds another recording.
    pub fn prepare(&self) -> Result<Prepared, RecordError> {
        let library = library()?;
        let (directory, id) = self.begin()?;
        let spool = spool::choose(directory.path(), self.spool, &Machine::host())?;
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        self.set_environment(&mut command, &library, directory.path(), &spool)?;
        // By the path alone, processes could come to another directory that somebody put there.
        command.env(variables::RECORDING_ID, self::id(&directory, id));
        let unseen = UnseenProgram::find(self.program);
        if unseen.as_ref().is_some_and(UnseenProgram::must_not_be_preloaded) {
            keep_preload(&mut command);
        }
        let told = unseen.map(|it| it.tell(&directory, self.is_shared())).transpose()?;
        Ok(Prepared { command, directory, spool, told })
    }

    /// Begins the recording, or joins it. Returns its directory and its id.
    fn begin(&self) -> Result<(Directory, Option<String>), RecordError> {
        if let Some(path) = self.directory {
            return self.begin_in(path);
        }
        if let Some(around) = key::recording_around() {
            return self.begin_in(&around);
        }
        let name = Path::new(self.program).file_name().unwrap_or(self.program).to_string_lossy();
        let name = format!("plimsoll-{}", key::clean(&name));
        if let Some(run) = key::of_this_run() {
            return self.begin_in(&not_of_others(&format!("{name}-{run}")));
        }
        let name = format!("{name}-{}", key::of_this_process());
        let mut begun = self.begin_in(&not_of_others(&name));
        for number in 2..=ALIKE_MAX {
            if !matches!(begun, Err(RecordError::Another { .. } | RecordError::Moved { .. })) {
                break;
            }
            begun = self.begin_in(&not_of_others(&format!("{name}-{number}")));
        }
        begun
    }

    fn begin_in(&self, path: &Path) -> Result<(Directory, Option<String>), RecordError> {
        let directory = directory::make(path, self.is_shared())?;
        let id = marker::join(&directory, path, self.program, self.arguments, self.is_shared())?;
        Ok((directory, id))
    }

    fn is_shared(&self) -> bool {
        let around = std::env::var_os(variables::SHARE);
        self.is_shared || variables::is_on(around.as_deref().map(OsStr::as_bytes))
    }

    fn set_environment(
        &self,
        command: &mut Command,
        library: &Path,
        directory: &Path,
        spool: &Path,
    ) -> Result<(), RecordError> {
        preload(command, library);
        command.env(variables::RECORD_DIR, directory).env(variables::SPOOL, spool);
        command.env(variables::LAYERS, self.layers.join(","));
        if self.is_shared() {
            command.env(variables::SHARE, "1");
        }
        for (variable, globs) in
            [(variables::INCLUDE, self.include), (variables::EXCLUDE, self.exclude)]
        {
            let globs = list_of(globs)?;
            if !globs.is_empty() {
                command.env(variable, globs);
            }
        }
        // Ranks that a launcher started with this command all have the library: barriers are safe.
        if key::rank().is_some() && std::env::var_os(variables::MPI_BARRIER).is_none() {
            command.env(variables::MPI_BARRIER, "1");
        }
        Ok(())
    }
}

/// Returns globs as the library takes them.
pub(crate) fn list_of(globs: &[String]) -> Result<String, RecordError> {
    if let Some(glob) = globs.iter().find(|glob| glob.contains(':')) {
        return Err(RecordError::Colon { glob: glob.clone() });
    }
    let list = globs.join(":");
    match list.len() {
        bytes if bytes > GLOBS_BYTES_MAX => Err(RecordError::Globs { bytes }),
        _ => Ok(list),
    }
}

/// Has a command preload the library, which does what other variables of its environment say.
///
/// # Errors
/// If there is no library, or the dynamic linker cannot load it by its path.
pub(crate) fn preload_into(command: &mut Command) -> Result<(), RecordError> {
    preload(command, &library()?);
    Ok(())
}

fn preload(command: &mut Command, library: &Path) {
    command.env("LD_PRELOAD", preload_list(library, std::env::var_os("LD_PRELOAD")));
    // A program built with AddressSanitizer refuses to start behind another library unless told.
    let mut sanitizer = std::env::var_os("ASAN_OPTIONS").unwrap_or_default();
    if !sanitizer.is_empty() {
        sanitizer.push(":");
    }
    sanitizer.push("verify_asan_link_order=0");
    command.env("ASAN_OPTIONS", sanitizer);
}

/// Returns the id of a recording, with the number of its owner behind it.
fn id(directory: &Directory, id: Option<String>) -> String {
    match (id, directory.facts_of(marker::NAME)) {
        (Some(id), Ok(facts)) => format!("{id}.{}", facts.st_uid),
        (id, _) => id.unwrap_or_default(),
    }
}

/// Returns the name, or that with a number behind it, of which there is a directory of this user's, or else the first that nobody else has taken: names of jobs are known
/// to all. Ranks that start together see the same, also if others give back what they took.
fn not_of_others(name: &str) -> PathBuf {
    // Another user's file system says of files what it likes, or never answers.
    let Ok(here) = Directory::open_unserved(Path::new(".")) else { return name.into() };
    // In a directory of a group, its members give names to what is this user's.
    let is_own = |name: &str| {
        let is_it = |it: Directory| marker::may_begin_or_began_as(&it, Path::new(name));
        here.child(name).is_ok_and(|it| it.require_own().is_ok() && is_it(it))
    };
    if is_own(name) {
        return name.into();
    }
    let is_free =
        |name: &String| here.facts_of(name).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let numbered = |number: usize| format!("{name}-{number}");
    let number_of = |told: OsString| -> Option<usize> {
        let number = told.to_str()?.strip_prefix(name)?.strip_prefix('-')?.parse().ok()?;
        (2..=NAMES_MAX).contains(&number).then_some(number)
    };
    let there = here.names_that_begin(&format!("{name}-"), LISTED_MAX).unwrap_or_default();
    let own = there.into_iter().filter_map(number_of).filter(|it| is_own(&numbered(*it)));
    if let Some(number) = own.min() {
        return numbered(number).into();
    }
    let mut names = std::iter::once(name.to_string()).chain((2..=NAMES_MAX).map(numbered));
    names.find(is_free).unwrap_or_else(|| name.to_string()).into()
}

/// Whoever takes them all in advance has made as many directories.
const NAMES_MAX: usize = 9999;

/// In a directory of more names, recordings with a number are not looked for.
const LISTED_MAX: usize = 1_000_000;

impl Prepared {
    /// Returns the whole path of the recording.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns whether files grow in the recording itself, so that nothing is left to do after the program.
    pub fn is_direct(&self) -> bool {
        self.spool == self.directory.path()
    }

    /// Returns where files grow.
    pub fn spool(&self) -> &Path {
        &self.spool
    }

    /// Removes what was prepared for a program that did not start. Other ranks may have started theirs: then only the
    /// note goes that the program cannot be recorded.
    pub fn did_not_start(&self) {
        if let Some(name) = &self.told {
            // A file that stays says no more than that it should have started.
            let _ = self.directory.remove_file(name);
        }
        let is_empty = self.directory.names().is_ok_and(|names| names == [marker::NAME]);
        if is_empty && key::rank().is_none() {
            // An empty recording that stays is one that `report` says is empty.
            let _ = self.directory.remove_file(marker::NAME);
            let _ = fs::remove_dir(self.directory.path());
        }
    }

    /// Collects the files of the program, which has ended, and returns what was found.
    ///
    /// # Errors
    /// If a file cannot be copied; it stays in the spool.
    pub fn bring_home(&self) -> Result<Collected, RecordError> {
        if self.is_direct() {
            return Ok(Collected::default());
        }
        collect_soon(&self.directory, &self.spool)
    }
}

fn library() -> Result<PathBuf, RecordError> {
    let library = preload_library().map_err(|missing| RecordError::NoLibrary { missing })?;
    let library = fs::canonicalize(&library).map_err(RecordError::io("resolve", &library))?;
    if library.to_string_lossy().contains([' ', ':']) {
        return Err(RecordError::Unloadable { library });
    }
    Ok(library)
}

/// Lets the program preload what it would preload without the recorder.
fn keep_preload(command: &mut Command) {
    match std::env::var_os("LD_PRELOAD") {
        Some(others) => command.env("LD_PRELOAD", others),
        None => command.env_remove("LD_PRELOAD"),
    };
}

/// Returns the list of libraries to preload: ours first, then the others, each once.
fn preload_list(library: &Path, existing: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    let existing = existing.unwrap_or_default();
    let others = existing.to_string_lossy();
    for other in others.split([' ', ':']).filter(|it| !it.is_empty() && Path::new(it) != library) {
        list.push(":");
        list.push(other);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_library_comes_first_and_once() {
        let library = Path::new("/lib/libplimsoll.so");
        let list = |existing: &str| preload_list(library, Some(existing.into()));
        assert_eq!(preload_list(library, None), "/lib/libplimsoll.so");
        assert_eq!(list("/a.so /b.so"), "/lib/libplimsoll.so:/a.so:/b.so");
        assert_eq!(list("/a.so:/lib/libplimsoll.so"), "/lib/libplimsoll.so:/a.so");
    }
}
