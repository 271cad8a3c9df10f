//! Options that a person always wants the same way, from a file that is found as the site file is.
//!
//! Only options that change what is shown or recorded can be set. None that names a file or lets one be replaced: whoever
//! tries out somebody else's project must find their own files as they were.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use plimsoll_domain::site::{Origin, SearchPath};
use plimsoll_guarded::{open_input, read_at_most};
use toml::{Table, Value};

use crate::output;

/// What a file of settings is called, beside programs and in the directories of the user and the system.
pub const FILE_NAME: &str = "plimsoll.toml";

/// Names the file, in place of those that would be found; nothing: none.
const VARIABLE: &str = "PLIMSOLL_SETTINGS";

/// More than this is something else.
const FILE_BYTES_MAX: u64 = 1 << 16;

/// The options of each command that a file may set; those of every command first.
const MAY_BE_SET: &[(&str, &[&str])] = &[
    (EVERY, &["color", "wide"]),
    ("record", &["quiet", "layers", "include", "exclude"]),
    ("report", &["top", "include-runtime"]),
    ("compare", &["top", "include-runtime"]),
    ("score", &["top", "utc-offset"]),
];

/// The table of options that every command has.
const EVERY: &str = "all";

/// One option, as a file sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The command, or "all".
    pub command: String,
    /// Its option, without dashes in front.
    pub option: String,
    /// As arguments of the option; `None` if it is a flag.
    pub values: Vec<Option<String>>,
    /// The file.
    pub path: PathBuf,
    /// Whose file that is, if it was found.
    pub origin: Option<Origin>,
}

/// Returns the settings that apply here, the nearest first: of options that several files set, the first one counts.
pub fn read() -> Result<Vec<Setting>> {
    let files = match std::env::var_os(VARIABLE) {
        Some(named) if named.is_empty() => Vec::new(),
        Some(named) => vec![(PathBuf::from(named), None)],
        None => {
            let found = SearchPath::of_process().find_each(FILE_NAME);
            found.into_iter().map(|it| (it.path, Some(it.origin))).collect()
        }
    };
    let mut settings: Vec<Setting> = Vec::new();
    for (path, origin) in files {
        let read = of_file(&path, origin)
            .with_context(|| format!("cannot use the settings {}", path.display()))?;
        for setting in read {
            let is_same =
                |it: &Setting| (&it.command, &it.option) == (&setting.command, &setting.option);
            if !settings.iter().any(is_same) {
                settings.push(setting);
            }
        }
    }
    Ok(settings)
}

/// A command line with what settings add.
pub struct WithSettings {
    /// All arguments.
    pub arguments: Vec<OsString>,
    /// The files that add something.
    pub files: Vec<PathBuf>,
}

/// Returns the command line with what the settings add: options that it does not give itself, behind the name of the command.
pub fn added_to(arguments: &[OsString], matches: &ArgMatches) -> Result<Option<WithSettings>> {
    let Some((command, given)) = matches.subcommand() else { return Ok(None) };
    if !is_for_people(command) {
        return Ok(None);
    }
    let is_given = |option: &str| {
        given.value_source(&option.replace('-', "_")) == Some(ValueSource::CommandLine)
    };
    let (mut added, mut files) = (Vec::<OsString>::new(), Vec::new());
    let settings = match read() {
        Err(error) if are_optional(matches) => {
            output::message(&format!("warning: {error:#}"));
            Vec::new()
        }
        settings => settings?,
    };
    for setting in settings {
        if [EVERY, command].contains(&setting.command.as_str()) && !is_given(&setting.option) {
            let argument = |value: &Option<String>| match value {
                Some(value) => format!("--{}={value}", setting.option).into(),
                None => format!("--{}", setting.option).into(),
            };
            added.extend(setting.values.iter().map(argument));
            if !files.contains(&setting.path) {
                files.push(setting.path.clone());
            }
        }
    }
    // Behind the program's own name.
    let place = arguments.iter().skip(1).position(|it| it == command).map(|place| place + 2);
    Ok(place.filter(|_| !added.is_empty()).map(|place| {
        let mut all = arguments.to_vec();
        all.splice(place..place, added);
        WithSettings { arguments: all, files }
    }))
}

/// Returns true where settings that are of no use are not to be a failure: a job must not fail because of a file that somebody left
/// above its directory.
pub fn are_optional(matches: &ArgMatches) -> bool {
    matches.subcommand_name() == Some("record") && std::env::var_os(VARIABLE).is_none()
}

/// Workers, which other commands start, print nothing for people.
fn is_for_people(command: &str) -> bool {
    let commands = crate::command();
    commands.find_subcommand(command).is_some_and(|it| !it.is_hide_set())
}

fn of_file(path: &Path, origin: Option<Origin>) -> Result<Vec<Setting>> {
    let bytes = read_at_most(FILE_BYTES_MAX, open_input(path)?)?;
    let bytes = bytes.with_context(|| format!("it is larger than {FILE_BYTES_MAX} bytes"))?;
    let text = String::from_utf8(bytes).context("it is not text")?;
    parse(&text)?
        .into_iter()
        .map(|(command, option, values)| {
            Ok(Setting { command, option, values, path: path.to_path_buf(), origin })
        })
        .collect()
}

type Parsed = (String, String, Vec<Option<String>>);

fn parse(text: &str) -> Result<Vec<Parsed>> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        anyhow::anyhow!("line {line}: {}", error.message().lines().next().unwrap_or_default())
    })?;
    let mut parsed = Vec::new();
    for (command, options) in &table {
        let Some((_, may_be_set)) = MAY_BE_SET.iter().find(|(it, _)| it == command) else {
            let known: Vec<&str> = MAY_BE_SET.iter().map(|(it, _)| *it).collect();
            bail!("[{command}] has no options that can be set; hint: {}", known.join(", "));
        };
        let options = options.as_table().with_context(|| {
            format!("{command} is not a table; hint: write [{command}] above its options")
        })?;
        for (option, value) in options {
            let option = option.replace('_', "-");
            if !may_be_set.contains(&option.as_str()) {
                bail!("[{command}] {option} cannot be set; hint: {}", may_be_set.join(", "));
            }
            let values = values_of(value).with_context(|| {
                format!("[{command}] {option} is neither text, number nor list")
            })?;
            parsed.push((command.clone(), option, values));
        }
    }
    Ok(parsed)
}

fn values_of(value: &Value) -> Option<Vec<Option<String>>> {
    match value {
        Value::Boolean(true) => Some(vec![None]),
        Value::Boolean(false) => Some(Vec::new()),
        Value::String(text) => Some(vec![Some(argument(text)?)]),
        Value::Integer(number) => Some(vec![Some(number.to_string())]),
        Value::Array(list) => {
            let text = |it: &Value| Some(Some(argument(it.as_str()?)?));
            list.iter().map(text).collect()
        }
        _ => None,
    }
}

/// Returns a text that can be an argument of a program: it has no zero.
fn argument(text: &str) -> Option<String> {
    (!text.contains('\0')).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_options_can_be_set() {
        let said = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            parse("[report]\ntop = 40\ninclude_runtime = true\n[all]\ncolor = \"never\"\n")
                .unwrap(),
            [
                ("all".into(), "color".into(), vec![Some("never".into())]),
                ("report".into(), "include-runtime".into(), vec![None]),
                ("report".into(), "top".into(), vec![Some("40".into())]),
            ]
        );
        assert!(said("[report]\nhtml = \"/home/me/.profile\"").contains("html cannot be set"));
        assert!(said("[report]\nforce = true").contains("hint: top, include-runtime"));
        assert!(said("[bench]\ntargets = \"a\"").contains("[bench] has no options"));
        assert!(said("report = 1").contains("hint: write [report]"));
        assert!(said("[report]\ntop = 1.5").contains("neither text, number nor list"));
        assert!(said("[record]\nexclude = \"a\\u0000b\"").contains("neither text, number"));
        assert!(said("[report\n").starts_with("line 1: "));
    }

    /// Every option that a file may set is one of the command.
    #[test]
    fn what_can_be_set_is_an_option() {
        let commands = crate::command();
        for (command, options) in MAY_BE_SET {
            let found = commands.find_subcommand(command).unwrap_or(&commands);
            for option in *options {
                let is_it = |it: &&clap::Arg| it.get_long() == Some(option);
                let argument = found.get_arguments().find(is_it);
                let id = argument.map(|it| it.get_id().as_str().to_string());
                assert_eq!(id, Some(option.replace('-', "_")), "{command} --{option}");
            }
        }
    }
}
