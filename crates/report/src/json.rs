//! What programs read: a schema with its version, then the result.

use serde::Serialize;

use crate::Record;

/// The JSON document of a command: `{"schema":"plimsoll.<command>/1","result":{…}}`. Dots separate the words of
/// a subcommand.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    schema: String,
    result: &'a Record,
}

impl<'a> Envelope<'a> {
    /// Puts a result behind the name of its command and the version of its keys.
    pub fn new(command: &str, version: u32, result: &'a Record) -> Self {
        Envelope { schema: format!("plimsoll.{command}/{version}"), result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_schema_and_version() {
        assert_eq!(
            serde_json::to_string(&Envelope::new("model.contention", 1, &Record::new())).unwrap(),
            r#"{"schema":"plimsoll.model.contention/1","result":{}}"#
        );
    }
}
