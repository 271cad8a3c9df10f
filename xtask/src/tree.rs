//! The files of the project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A source file.
pub struct Source {
    /// Path from the root of the project.
    pub path: PathBuf,
    pub text: String,
}

/// The project's root: the folder above this crate.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Every Rust file of the project, build output left out.
pub fn rust_sources(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in ["crates", "tests", "benches", "fuzz", "xtask"] {
        collect(root, &root.join(folder), &mut sources)?;
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(root, &path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            sources.push(Source { path: path.strip_prefix(root)?.to_path_buf(), text });
        }
    }
    Ok(())
}
