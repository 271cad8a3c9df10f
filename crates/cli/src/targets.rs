//! How a command is told its targets: the same words on every command that takes some.
//!
//! `--targets` has directories (DIR or NAME=DIR), or names of targets that a test bed or a site file
//! knows, separated by blanks or commas. `--testbed NAME` and `--base DIR` say which test bed.

mod bed;
mod named_directory;

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use plimsoll_guarded::{Directory, acting_user};
use plimsoll_machine::PreflightError;

pub use bed::{BedArguments, DefaultBed, naming};
pub use named_directory::{NamedDirectory, split};

/// `--targets` and the test bed that they are on.
#[derive(clap::Args)]
pub struct TargetArguments {
    /// Directories on the targets, as DIR or NAME=DIR, separated by blanks or commas; or names of targets
    /// of the test bed (--testbed) or the site file, such as t0,t2, to select only these
    #[arg(long, num_args = 1.., value_name = "[NAME=]DIR|NAME,...")]
    targets: Vec<String>,

    #[command(flatten)]
    pub bed: BedArguments,
}

/// Targets that are known by name, and where they are known from.
pub struct Known<T> {
    /// `test bed` or `site`.
    pub place: &'static str,
    /// The targets with their names.
    pub targets: Vec<(String, T)>,
}

/// A chosen target.
pub enum Choice<T> {
    Known(T),
    Directory(NamedDirectory),
}

impl TargetArguments {
    /// Returns whether any target is named.
    pub fn are_named(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Returns the named targets, or all known ones if none is named.
    pub fn choose<T: Clone>(&self, known: Option<Known<T>>) -> Result<Vec<Choice<T>>> {
        match known {
            None => self.parts().map(directory).collect(),
            Some(known) if self.targets.is_empty() => {
                Ok(known.targets.into_iter().map(|(_, target)| Choice::Known(target)).collect())
            }
            Some(known) => {
                let named = self.targets.iter().flat_map(|text| known.names_in(text));
                named.map(|text| known.choose(text)).collect()
            }
        }
    }

    /// Splits arguments that are lists with commas. A directory may have commas in its name.
    fn parts(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().flat_map(|text| {
            if is_one_directory(text) { vec![text.as_str()] } else { in_list(text) }
        })
    }
}

/// Returns whether what could be a list with commas is a directory. What has no comma is no list, and nothing is asked about it; and
/// a list of directories is one, whatever somebody made that has the whole list as its name.
fn is_one_directory(text: &str) -> bool {
    let is_there = |part: &&str| {
        let path = part.split_once('=').map_or(*part, |(_, path)| path);
        Directory::open_by_own_links(Path::new(path)).is_ok()
    };
    text.contains(',') && !in_list(text).iter().all(is_there) && is_own_directory(text)
}

/// Returns the parts of a list with commas.
fn in_list(text: &str) -> Vec<&str> {
    text.split(',').filter(|part| !part.is_empty()).collect()
}

impl<T: Clone> Known<T> {
    /// Returns the parts of a list of targets. What is known goes before a directory that has the whole list as its name: anybody
    /// may have made that here.
    fn names_in<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let parts = in_list(text);
        let is_known = |part: &&str| self.targets.iter().any(|(name, _)| name == part);
        if !parts.iter().all(is_known) && is_one_directory(text) { vec![text] } else { parts }
    }

    /// Returns the target that a person names, by its name or as a directory.
    pub fn choose(&self, text: &str) -> Result<Choice<T>> {
        if let Some((_, target)) = self.targets.iter().find(|(name, _)| name == text) {
            return Ok(Choice::Known(target.clone()));
        }
        if text.contains(['/', '=']) || is_own_directory(text) {
            return directory(text);
        }
        let names: Vec<&str> = self.targets.iter().map(|(name, _)| name.as_str()).collect();
        bail!(
            "the {} has no target {text:?} with a path, and there is no such directory; hint: {}",
            self.place,
            if names.is_empty() { "NAME=DIR".to_string() } else { names.join(", ") }
        )
    }
}

/// Adds what a command offers to somebody whose target does not take O_DIRECT (`cached`) or is too full (`less`).
pub fn with_hint(error: PreflightError, cached: &str, less: &str) -> anyhow::Error {
    let hint = match &error {
        PreflightError::NoDirectIo { .. } => cached,
        PreflightError::TooFull { .. } => less,
        _ => return error.into(),
    };
    anyhow!("{error}; hint: {hint}")
}

/// Returns whether there is such a directory of this user's or of root's: anybody may have made one whose name is what the user
/// typed.
pub fn is_own_directory(text: &str) -> bool {
    let facts = Directory::open_by_own_links(Path::new(text)).and_then(|it| it.facts());
    facts.is_ok_and(|it| [0, acting_user()].contains(&it.st_uid))
}

fn directory<T>(text: &str) -> Result<Choice<T>> {
    NamedDirectory::parse(text).map(Choice::Directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        targets: TargetArguments,
    }

    fn chosen(arguments: &[&str], known: Option<&[&str]>) -> Result<Vec<String>> {
        let command = Command::parse_from(["command"].iter().chain(arguments));
        let known = known.map(|names| Known {
            place: "test bed",
            targets: names.iter().map(|name| (name.to_string(), name.to_string())).collect(),
        });
        let name = |choice| match choice {
            Choice::Known(name) => name,
            Choice::Directory(directory) => format!("{}=", directory.name),
        };
        Ok(command.targets.choose(known)?.into_iter().map(name).collect())
    }

    #[test]
    fn blanks_and_commas_separate_and_names_are_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a=b,c");
        std::fs::create_dir(&odd).unwrap();
        let bed = Some(&["t0", "t1", "t2"][..]);
        assert_eq!(chosen(&[], bed).unwrap(), ["t0", "t1", "t2"]);
        assert_eq!(chosen(&["--targets", "t2,t0"], bed).unwrap(), ["t2", "t0"]);
        assert_eq!(chosen(&["--targets", "t2", "t0"], bed).unwrap(), ["t2", "t0"]);
        assert_eq!(chosen(&["--targets", "t1,fast=/mnt,"], bed).unwrap(), ["t1", "fast="]);
        assert_eq!(chosen(&["--targets", "t1", "/mnt/t1"], None).unwrap(), ["t1=", "t1="]);
        let odd = odd.to_str().unwrap();
        assert_eq!(chosen(&["--targets", odd], bed).unwrap(), ["a=b,c="]);
        let error = chosen(&["--targets", "t7"], bed).unwrap_err().to_string();
        assert!(error.contains("the test bed has no target \"t7\""), "{error}");
        assert!(error.ends_with("hint: t0, t1, t2"), "{error}");
    }
}
