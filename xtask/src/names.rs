//! Names of types: within a crate, one name means one thing.

use std::collections::BTreeMap;

use syn::Item;

use crate::circles::is_test;
use crate::tree::Source;

/// Names that every command of `cli` has for the same part of itself, told apart by its module.
const OF_EVERY_COMMAND: [&str; 2] = ["Arguments", "Action"];

/// Complains about types of one crate that have the same name.
pub fn used_twice(sources: &[Source]) -> Vec<String> {
    let mut files: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for source in sources {
        let parts: Vec<&str> = source.path.iter().filter_map(|part| part.to_str()).collect();
        let ["crates", folder, "src", ..] = parts.as_slice() else { continue };
        let Ok(file) = syn::parse_file(&source.text) else { continue };
        for name in types(&file.items) {
            let path = source.path.display().to_string();
            files.entry(((*folder).to_string(), name)).or_default().push(path);
        }
    }
    files
        .into_iter()
        .filter(|((folder, name), files)| {
            let is_expected = folder == "cli" && OF_EVERY_COMMAND.contains(&name.as_str());
            files.len() > 1 && !is_expected
        })
        .map(|((_, name), files)| {
            format!("{}: one name for several types: {name}", files.join(", "))
        })
        .collect()
}

/// Returns the names of the types and traits that a file declares outside of functions and tests.
fn types(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        match item {
            Item::Struct(it) => names.push(it.ident.to_string()),
            Item::Enum(it) => names.push(it.ident.to_string()),
            Item::Union(it) => names.push(it.ident.to_string()),
            Item::Trait(it) => names.push(it.ident.to_string()),
            Item::Type(it) => names.push(it.ident.to_string()),
            Item::Mod(it) if !is_test(&it.attrs) => {
                names.extend(it.content.iter().flat_map(|(_, items)| types(items)));
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source { path: path.into(), text: (*text).to_string() };
        used_twice(&files.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_of_two_types_is_told() {
        let a = ("crates/x/src/a.rs", "struct Place; enum Other {}");
        assert_eq!(
            complaints(&[a, ("crates/x/src/b.rs", "mod inner { type Place = u8; }")]),
            ["crates/x/src/a.rs, crates/x/src/b.rs: one name for several types: Place"]
        );
        let elsewhere = [
            ("crates/y/src/b.rs", "struct Place;"),
            ("crates/x/src/b.rs", "#[cfg(test)] mod tests { struct Place; }"),
            ("crates/x/src/b.rs", "fn f() { struct Place; }"),
            ("crates/x/src/b.rs", "impl T for U { type Place = u8; }"),
        ];
        for file in elsewhere {
            assert_eq!(complaints(&[a, file]), [""; 0], "{file:?}");
        }
    }

    #[test]
    fn commands_have_parts_of_the_same_name() {
        let text = "pub struct Arguments;";
        let of = |folder: &str| {
            let paths = ["a", "b"].map(|file| format!("crates/{folder}/src/{file}.rs"));
            complaints(&[(&paths[0], text), (&paths[1], text)]).len()
        };
        assert_eq!((of("cli"), of("record")), (0, 1));
    }
}
