//! Text that cannot steer a terminal or hide something: names come from files and programs that we do not control.

/// Returns the text with characters that steer a terminal, turn the direction of writing or cannot be seen, spelled
/// out.
pub fn visible(text: &str) -> String {
    spelled(text, |_| false, |character| character.escape_unicode().to_string())
}

/// Returns the same for text of several lines, which stay so.
pub fn visible_lines(text: &str) -> String {
    spelled(
        text,
        |it| matches!(it, '\n' | '\t'),
        |character| character.escape_unicode().to_string(),
    )
}

/// Returns the same for JSON, whose meaning stays: outside of strings it has no such characters but
/// for blanks and line ends.
pub fn visible_json(text: &str) -> String {
    let code = |character: char| {
        let mut units = [0; 2];
        let units = character.encode_utf16(&mut units);
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    spelled(text, |it| matches!(it, '\n' | '\t' | '\r'), code)
}

fn spelled(text: &str, is_kept: impl Fn(char) -> bool, spell: impl Fn(char) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) && !is_kept(character) {
            shown.push_str(&spell(character))
        } else {
            shown.push(character)
        }
    }
    shown
}

/// Returns true for control characters, line and paragraph separators, and for what Unicode calls format characters:
/// marks of direction, joiners, tags and others without a shape of their own, which make two names look the same.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;x\u{7}\u{9b}2J\r\u{202e}b\u{200b}\u{2028}\u{feff}\u{e0041}";

    #[test]
    fn nothing_steers_and_lines_stay() {
        let shown =
            "a\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{d}\\u{202e}b\\u{200b}\\u{2028}\\u{feff}\\u{e0041}";
        assert_eq!(visible(HOSTILE), shown);
        assert_eq!(visible("a\n\tb"), "a\\u{a}\\u{9}b");
        assert_eq!(visible_lines(&format!("one\n\t{HOSTILE}\n")), format!("one\n\t{shown}\n"));
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a\u{9b}": [HOSTILE, "\u{7f}\n"] });
        let shown = visible_json(&format!("{value:#}\n"));
        assert!(!shown.chars().any(|it| steers(it) && it != '\n'), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
