//! The texts that say something of one component.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use plimsoll_history::Component;
use plimsoll_lustre::Content;

use crate::input::Input;
use crate::kept_file::KeptFile;

/// A text and where it comes from.
#[derive(Debug)]
pub struct Source {
    /// The file.
    pub file: KeptFile,
    /// What it is.
    pub input: Input,
}

/// A component and the files that say something of it.
#[derive(Debug)]
pub struct Group {
    /// The component.
    pub component: Component,
    /// The files; those that tell the time come first, and rows of others last.
    pub sources: Vec<Source>,
}

/// A file that was found.
pub struct FoundSource {
    /// Whom it says something of.
    pub component: Component,
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub input: Input,
}

/// Puts what was found together by component. Files that were open stay open.
pub fn groups(found: Vec<FoundSource>, before: Vec<Group>) -> Vec<Group> {
    let open = before.into_iter().flat_map(|group| group.sources);
    let mut open: HashMap<PathBuf, KeptFile> =
        open.map(|source| (source.file.path().to_owned(), source.file)).collect();
    let mut groups: BTreeMap<Component, Vec<Source>> = BTreeMap::new();
    for FoundSource { component, path, input } in found {
        let file = open.remove(&path).unwrap_or_else(|| KeptFile::new(path));
        groups.entry(component).or_default().push(Source { file, input });
    }
    let group = |(component, mut sources): (Component, Vec<Source>)| {
        sources.sort_by_key(|source| rank(source.input));
        Group { component, sources }
    };
    groups.into_iter().map(group).collect()
}

/// Returns the place of a text among those of its component: first the one that counts what the component does, whose time speaks for all.
pub fn rank(input: Input) -> u8 {
    match input {
        Input::Lustre(parameter) => match parameter.content {
            // Of a target, the cache.
            Content::Stats if parameter.component.starts_with("osd-") => 1,
            Content::Stats => 0,
            Content::Histograms => 3,
            Content::Jobs | Content::LnetTable => 4,
            _ => 2,
        },
        _ => 2,
    }
}
