//! Which test bed: `--testbed NAME` and `--base DIR`, on every command that knows test beds.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use plimsoll_testbed::{DEFAULT_NAME, TargetInfo, Testbed, TestbedError};

/// A test bed that may be named.
#[derive(clap::Args)]
pub struct BedArguments {
    /// Targets of this test bed
    #[arg(long, value_name = "NAME")]
    testbed: Option<String>,

    /// Directory that holds test beds [default: /var/tmp/plimsoll-testbed-UID]
    #[arg(long, value_name = "DIR", alias = "testbed-base")]
    base: Option<PathBuf>,
}

impl BedArguments {
    /// Returns whether one is named.
    pub fn is_given(&self) -> bool {
        self.testbed.is_some()
    }

    /// Returns the test bed, if one is named, and its targets that can be used.
    pub fn find(&self) -> Result<Option<(Testbed, Vec<TargetInfo>)>> {
        let Some(name) = &self.testbed else {
            let is_alone = self.base.is_some();
            ensure!(!is_alone, "--base says where test beds are; hint: --testbed NAME as well");
            return Ok(None);
        };
        let bed = open(name, self.base.as_deref())?;
        let targets = usable_targets(&bed)?;
        Ok(Some((bed, targets)))
    }
}

/// The test bed that a command is about.
#[derive(clap::Args)]
pub struct DefaultBed {
    /// Name of the test bed
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, global = true, alias = "name")]
    testbed: String,

    /// Directory that holds test beds [default: /var/tmp/plimsoll-testbed-UID]
    #[arg(long, value_name = "DIR", global = true, alias = "testbed-base")]
    base: Option<PathBuf>,
}

impl DefaultBed {
    /// Returns the test bed, which need not be there.
    pub fn open(&self) -> Result<Testbed, TestbedError> {
        open(&self.testbed, self.base.as_deref())
    }
}

fn open(name: &str, base: Option<&Path>) -> Result<Testbed, TestbedError> {
    match base {
        Some(base) => Testbed::in_base(base, name),
        None => Testbed::new(name),
    }
}

/// Returns the targets of a test bed that can be used.
fn usable_targets(bed: &Testbed) -> Result<Vec<TargetInfo>> {
    let listing = bed.list_own().map_err(crate::testbed::with_hint)?;
    let directory = bed.directory();
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let hint = naming("plimsoll testbed up --targets 4 --size 256MiB", &directory);
    ensure!(listing.exists, "there is no test bed {name}; hint: {hint}");
    Ok(listing.usable().collect())
}

/// Returns a text in which commands about the default test bed are about the one in this directory.
pub fn naming(text: &str, directory: &Path) -> String {
    const COMMAND: &str = "plimsoll testbed ";
    let options = options_of(directory);
    let mut parts = text.split(COMMAND);
    let mut named = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let verb = part.find(|it: char| !it.is_ascii_lowercase()).unwrap_or(part.len());
        let (verb, rest) = part.split_at(verb);
        named.extend([COMMAND, verb, &options, rest]);
    }
    named
}

/// Returns the options that name the test bed in a directory; nothing for the default one.
fn options_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let name = if name == DEFAULT_NAME { String::new() } else { format!(" --testbed {name}") };
    match directory.parent() {
        Some(base) if base != Testbed::default_base() => {
            let base = base.display().to_string();
            let is_plain = |it: char| it.is_alphanumeric() || "/._-+".contains(it);
            // As a shell takes it for one word.
            let quoted = format!("'{}'", base.replace('\'', "'\\''"));
            format!("{name} --base {}", if base.chars().all(is_plain) { base } else { quoted })
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_about_the_bed_that_was_asked_for() {
        let base = Testbed::default_base();
        let told = |directory: &Path| {
            naming("end it, or plimsoll testbed down, then plimsoll testbed up --size 1", directory)
        };
        assert_eq!(
            told(&base.join("default")),
            "end it, or plimsoll testbed down, then plimsoll testbed up --size 1"
        );
        assert_eq!(
            told(&base.join("other")),
            "end it, or plimsoll testbed down --testbed other, then plimsoll testbed up --testbed other --size 1"
        );
        assert!(
            told(Path::new("/scratch/beds/default"))
                .starts_with("end it, or plimsoll testbed down --base /scratch/beds, then")
        );
    }
}
