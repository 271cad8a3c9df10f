//! Circles of imports within a crate: files that use each other say why, or are untangled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

use crate::tree::Source;

/// What one of the files of a circle has to say in its first comment, where it names the others: a name of a file, or
/// of a folder for all that is in it.
const REASON: &str = "use each other";

/// Complains about files of a crate that use each other, directly or through others, without saying why.
pub fn without_reason(sources: &[Source]) -> Vec<String> {
    let mut crates: BTreeMap<String, Vec<(String, &Source)>> = BTreeMap::new();
    for source in sources {
        if let Some((name, module)) = place(&source.path) {
            crates.entry(name).or_default().push((module, source));
        }
    }
    crates.iter().flat_map(|(name, modules)| complaints(name, modules)).collect()
}

/// Returns the crate of a file and its path of modules. Roots of crates use everything.
fn place(path: &Path) -> Option<(String, String)> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", name, "src", modules @ ..] = parts.as_slice() else { return None };
    let module = modules.join("::").replace("::mod.rs", "").replace(".rs", "");
    (!matches!(module.as_str(), "lib" | "main")).then(|| ((*name).to_string(), module))
}

fn complaints(name: &str, modules: &[(String, &Source)]) -> Vec<String> {
    let known: BTreeSet<&str> = modules.iter().map(|(module, _)| module.as_str()).collect();
    let uses: BTreeMap<&str, BTreeSet<&str>> = modules
        .iter()
        .map(|(module, source)| (module.as_str(), used(module, source, &known)))
        .collect();
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|module| (*module, reachable(module, &uses))).collect();
    let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
    for (module, reached) in reach.iter().filter(|(module, reached)| reached.contains(**module)) {
        circles.insert(reached.iter().filter(|it| reach[*it].contains(module)).copied().collect());
    }
    let reason = |module: &str| {
        let source = modules.iter().find(|it| it.0 == module).map(|it| it.1);
        source.map(|it| first_comment(&it.text)).filter(|it| it.contains(REASON))
    };
    let unsaid = |circle: &Vec<&str>| -> Vec<String> {
        let reasons: Vec<(&str, String)> =
            circle.iter().filter_map(|module| Some((*module, reason(module)?))).collect();
        let is_said = |module: &&&str| {
            reasons.iter().any(|(sayer, text)| sayer == *module || names(text, module))
        };
        let unsaid = circle.iter().filter(|module| !is_said(module));
        unsaid.map(ToString::to_string).collect()
    };
    let complaint = |circle: &Vec<&str>| {
        let unsaid = unsaid(circle);
        (!unsaid.is_empty()).then(|| {
            let (files, unsaid) = (circle.join(", "), unsaid.join(", "));
            format!(
                "crates/{name}: {files} use each other; untangle them, or say why in the first comment of one, with \
                 the names of all; not named: {unsaid}"
            )
        })
    };
    circles.iter().filter_map(complaint).collect()
}

/// Returns whether a comment names a module, or a folder that it is in.
fn names(comment: &str, module: &str) -> bool {
    let words: BTreeSet<&str> =
        comment.split(|it: char| !it.is_alphanumeric() && it != '_').collect();
    module.split("::").any(|part| words.contains(part))
}

fn first_comment(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the other modules of the crate that a file uses outside of tests.
fn used<'a>(module: &str, source: &Source, known: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let Ok(file) = syn::parse_file(&source.text) else { return BTreeSet::new() };
    let mut paths = Paths { module: module.split("::").collect(), found: BTreeSet::new() };
    paths.visit_file(&file);
    // A path names an item of the longest module that it begins with.
    let longest = |path: &String| {
        let mut path = path.as_str();
        loop {
            match known.get(path) {
                Some(found) => return Some(*found),
                None => path = path.rsplit_once("::")?.0,
            }
        }
    };
    paths.found.iter().filter_map(longest).filter(|it| *it != module).collect()
}

fn reachable<'a>(from: &'a str, uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        next.extend(uses[module].iter().filter(|it| found.insert(**it)));
    }
    found
}

/// The paths of a file that begin with `crate` or `super`, from the crate's root on.
struct Paths<'a> {
    module: Vec<&'a str>,
    found: BTreeSet<String>,
}

impl Paths<'_> {
    fn add(&mut self, parts: &[String]) {
        let supers = parts.iter().take_while(|part| *part == "super").count();
        let base = match parts.first().map(String::as_str) {
            Some("crate") => &[],
            Some("super") => &self.module[..self.module.len().saturating_sub(supers)],
            _ => return,
        };
        let rest = parts.iter().skip(supers.max(1)).map(String::as_str);
        self.found.insert(base.iter().copied().chain(rest).collect::<Vec<_>>().join("::"));
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.add(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.add(&with(name.ident.to_string())),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(before, tree));
            }
        }
    }
}

pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        it.path().is_ident("cfg")
            && it.parse_args::<syn::Path>().is_ok_and(|it| it.is_ident("test"))
    })
}

impl<'a> Visit<'a> for Paths<'_> {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_test(&item.attrs) {
            self.add_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        self.add(&parts);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.to_string() }
    }

    #[test]
    fn circles_are_found_unless_they_have_a_reason() {
        let tree = |reason: &str| {
            without_reason(&[
                source("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
                source(
                    "crates/x/src/a.rs",
                    &format!("//! {reason}\nuse crate::{{b::{{B, C}}, d::D}};"),
                ),
                source("crates/x/src/b.rs", "fn f() { crate::c::g() }"),
                source("crates/x/src/c.rs", "use super::a::A;"),
                source("crates/x/src/d.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
                source("crates/x/src/d/e.rs", "use super::D; use crate::d::e::Own;"),
            ])
        };
        let found = tree("Nothing.");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/x: a, b, c use each other"), "{found:?}");
        assert_eq!(tree("It, `b` and [`c`] use each\n//! other."), [""; 0]);
        let found = tree("It and `b` use each other.");
        assert!(found[0].ends_with("not named: c"), "{found:?}");
    }
}
