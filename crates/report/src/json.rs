//! What programs read: a schema with its version, then the result.

use serde_json::{Value as Json, json};

use crate::Record;

/// Returns the JSON document of a command: `{"schema":"plimsoll.<command>/1","result":{…}}`. Dots
/// separate the words of a subcommand.
pub fn envelope(command: &str, version: u32, result: &Record) -> Json {
    json!({ "schema": format!("plimsoll.{command}/{version}"), "result": result.to_json() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_schema_and_version() {
        assert_eq!(
            envelope("model.contention", 1, &Record::new()).to_string(),
            r#"{"schema":"plimsoll.model.contention/1","result":{}}"#
        );
    }
}
