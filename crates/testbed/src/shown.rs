//! Names and sizes as messages show them.

use std::path::Path;

use plimsoll_domain::Bytes;

/// What is longer tells a reader no more.
const LONGEST_NAME: usize = 60;

/// Paths are longer, and their ends tell more than their beginnings.
const LONGEST_PATH: usize = 160;

/// Returns a name that somebody gave, in quotes, without control characters and cut if need be.
pub(crate) fn name(text: &str) -> String {
    match text.char_indices().nth(LONGEST_NAME) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
    }
}

/// Returns a path that somebody gave, without control characters and cut if need be.
pub(crate) fn path(path: &Path) -> String {
    let text: String = path.to_string_lossy().chars().flat_map(escaped).collect();
    match text.chars().count().checked_sub(LONGEST_PATH) {
        None | Some(0) => text,
        Some(cut) => ['…'].into_iter().chain(text.chars().skip(cut)).collect(),
    }
}

fn escaped(character: char) -> Vec<char> {
    if character.is_control() { character.escape_default().collect() } else { vec![character] }
}

/// Returns a size to be read, not to be computed with: "70.2 GiB".
pub(crate) fn size(bytes: Bytes) -> String {
    const STEP: f64 = 1024.0;
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes.get() as f64;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while let (true, Some(larger)) = (value >= STEP, units.next()) {
        value /= STEP;
        unit = larger;
    }
    if value.fract() == 0.0 { format!("{value} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (4096, "4 KiB"),
            (73_559_480 << 10, "70.2 GiB"),
            (512 << 20, "512 MiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(size(Bytes::new(bytes)), text);
        }
    }

    #[test]
    fn long_and_strange_names_are_cut_and_escaped() {
        assert_eq!(name("bed"), "\"bed\"");
        assert_eq!(name(&"ü".repeat(5000)), format!("\"{}\"…", "ü".repeat(60)));
        assert_eq!(path(Path::new("/a\n\u{1b}[31m")), "/a\\n\\u{1b}[31m");
        let long = path(Path::new(&format!("{}/bed", "/x".repeat(5000))));
        assert!(long.starts_with('…') && long.ends_with("/x/bed"), "{long}");
        assert_eq!(long.chars().count(), LONGEST_PATH + 1);
    }
}
