//! Chores of the project: `cargo xtask generate` writes what is derived from the code,
//! `cargo xtask tidy` checks the tree itself.

mod arrows;
mod circles;
mod coverage;
mod generate;
mod names;
mod rules;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["generate"] => generate::write_all(&tree::root()),
        ["tidy"] => tidy(&tree::root()),
        _ => Err(anyhow::anyhow!("usage: cargo xtask generate | tidy")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// All rules at once, so that one run shows everything there is to mend.
fn tidy(root: &Path) -> Result<()> {
    let sources = tree::rust_sources(root)?;
    let manifests = arrows::manifests(root)?;
    let mut complaints = arrows::direction(&manifests)?;
    complaints.extend(arrows::unused_dependencies(&manifests, &sources)?);
    complaints.extend(arrows::architecture(root)?);
    complaints.extend(rules::file_sizes(root, &sources)?);
    complaints.extend(circles::without_reason(&sources));
    complaints.extend(names::used_twice(&sources));
    complaints.extend(sources.iter().flat_map(rules::unsafe_without_reason));
    complaints.extend(sources.iter().flat_map(rules::leftovers));
    complaints.extend(generate::drift(root)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => {
            println!("tidy: {} source files, no complaints", sources.len());
            Ok(())
        }
        count => anyhow::bail!("{count} complaints"),
    }
}
