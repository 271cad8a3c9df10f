//! A plan as text.

use std::fs::File;
use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_guarded::read_at_most;
use serde::{Deserialize, Serialize, Serializer};
use toml_edit::{Document, Item, Table, TableLike};

use super::{ClientsPlan, PLAN_VERSION, Plan, PlanError, keys};

/// A plan of five thousand targets is about half of this; more is something else.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

const HEADER: &str = "\
# A plan of an experiment: `plimsoll bench --help` tells how to run it. Every default is spelled
# out; leave a line out to have the default again.

";

impl Plan {
    /// Reads and checks an open file.
    ///
    /// # Errors
    /// What the system said about the file, or why the plan in it cannot be used.
    pub fn read(file: File) -> std::io::Result<Result<Plan, PlanError>> {
        Ok(match read_at_most(FILE_BYTES_MAX, file)? {
            Some(bytes) => Self::from_bytes(&bytes),
            None => Err(PlanError::TooLarge { limit: Bytes::new(FILE_BYTES_MAX) }),
        })
    }

    /// Reads and checks what may not even be text.
    ///
    /// # Errors
    /// Why it is not a plan that can be run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, PlanError> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(PlanError::TooLarge { limit: Bytes::new(FILE_BYTES_MAX) });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| PlanError::NotText { line: line_at(bytes, error.valid_up_to()) })?;
        Self::parse(text)
    }

    /// Reads and checks a text.
    ///
    /// # Errors
    /// Why it is not a plan that can be run.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(PlanError::TooLarge { limit: Bytes::new(FILE_BYTES_MAX) });
        }
        let line = |offset: Option<usize>| line_at(text.as_bytes(), offset.unwrap_or(0));
        let syntax = |span: Option<std::ops::Range<usize>>, message: &str| PlanError::Syntax {
            line: line(span.map(|span| span.start)),
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let document =
            Document::parse(text).map_err(|error| syntax(error.span(), error.message()))?;
        check_version(document.as_table())?;
        keys::check(document.as_table(), &line)?;
        let plan: Plan = toml_edit::de::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let key = key_at(document.as_table(), offset).map_or(String::new(), |key| key + ": ");
            let message = error.message().replace("expected a sequence", "expected a list [...]");
            // What the program says itself names the key already.
            let key = if message.starts_with(&key) { "" } else { &key };
            syntax(error.span(), &format!("{key}{message}"))
        })?;
        plan.check().map_err(|error| at_its_line(error, document.as_table(), &line))?;
        Ok(plan)
    }

    /// Returns the plan with every default spelled out. What [`check`](Plan::check) accepts reads back as
    /// the same plan.
    pub fn to_toml(&self) -> String {
        match toml_edit::ser::to_string_pretty(self) {
            Ok(text) => format!("{HEADER}{text}"),
            // Only a seed beyond TOML's integers cannot be written, which a check refuses.
            Err(error) => format!("# this plan cannot be written: {error}\n"),
        }
    }
}

fn check_version(root: &Table) -> Result<(), PlanError> {
    match root.get("version").and_then(Item::as_integer) {
        Some(version) if (1..=i64::from(PLAN_VERSION)).contains(&version) => Ok(()),
        Some(found) => Err(PlanError::Version { found, known: PLAN_VERSION }),
        None => Err(PlanError::Syntax {
            line: 1,
            message: if root.contains_key("version") {
                "the version is not a whole number".into()
            } else {
                format!("no `version = {PLAN_VERSION}` at the top; is it a plan?")
            },
        }),
    }
}

/// Adds the line of the key that the error names, or of the table that it is in.
fn at_its_line(error: PlanError, root: &Table, line: &dyn Fn(Option<usize>) -> usize) -> PlanError {
    let PlanError::Value { line: None, key, problem } = error else { return error };
    let mut found = None;
    let mut table: Option<&Table> = Some(root);
    for part in key.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse().unwrap_or(0)),
            None => (part, 0usize),
        };
        let Some((_, item)) = table.and_then(|table| table.get_key_value(name)) else { break };
        table = match item {
            Item::ArrayOfTables(array) => array.get(index),
            item => item.as_table(),
        };
        let span = table.map_or_else(|| item.span(), Table::span);
        found = span.map(|span| span.start).or(found);
    }
    PlanError::Value { line: found.map(|offset| line(Some(offset))), key, problem }
}

/// Returns the key with its table whose value is at this place of the text.
fn key_at(table: &dyn TableLike, offset: usize) -> Option<String> {
    table.iter().find_map(|(name, item)| {
        let inner = keys::tables(item).into_iter().find_map(|inner| key_at(inner, offset));
        let here = item.span().is_some_and(|span| span.contains(&offset));
        let in_array = item.as_array_of_tables().is_some_and(|array| {
            array.iter().filter_map(Table::span).any(|span| span.contains(&offset))
        });
        match inner {
            Some(inner) => Some(format!("{name}.{inner}")),
            None => (here || in_array).then(|| name.to_string()),
        }
    })
}

fn line_at(text: &[u8], offset: usize) -> usize {
    1 + text[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Paths are text in TOML; one that is not is refused by the check of a plan.
pub(super) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Clients as they are written: a number, names, or both.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of clients")]
pub(super) struct RawClients {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
}

impl TryFrom<RawClients> for ClientsPlan {
    type Error = String;

    fn try_from(raw: RawClients) -> Result<Self, String> {
        let named = raw.names.len() as u32;
        let count = match (raw.count, named) {
            (Some(count), 0) => count,
            (Some(count), named) if count != named => {
                return Err(format!("clients: count is {count}, but there are {named} names"));
            }
            (None, 0) => 1,
            (_, named) => named,
        };
        let (used, processes) = (raw.used.unwrap_or(count), raw.processes.unwrap_or(1));
        Ok(ClientsPlan { count, names: raw.names, used, processes })
    }
}

impl From<ClientsPlan> for RawClients {
    fn from(clients: ClientsPlan) -> Self {
        RawClients {
            count: Some(clients.count),
            names: clients.names,
            used: Some(clients.used),
            processes: Some(clients.processes),
        }
    }
}
