//! An experiment that goes on until it is killed: begins or continues the results in the directory
//! that is named, and prints the number of each instance once it is kept. tests/kill.rs kills it.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use plimsoll_measures::{Instance, Journal, Results};
use serde_json::json;

#[path = "../tests/common/mod.rs"]
mod common;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("needs a directory")?;
    let directory = Path::new(&directory);
    let (mut journal, first) = if Results::is_results(directory) {
        let (journal, resumed) = Journal::resume(directory)?;
        (journal, resumed.instances)
    } else {
        (Journal::create(directory, "endless", "", &json!({}))?, 0)
    };
    let mut output = std::io::stdout();
    for number in first.. {
        let instance: Instance = common::instance(number, number % 997);
        journal.append(&instance)?;
        output.write_all(&number.to_ne_bytes())?;
        output.flush()?;
    }
    Ok(())
}
