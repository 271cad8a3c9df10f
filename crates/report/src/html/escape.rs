//! Text from anywhere made safe and visible in HTML, and JSON made safe inside a script.

use crate::visible;

/// For element content and quoted attributes. Characters that steer, hide or turn text are
/// spelled out: names of files come from sources that we do not control.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in visible(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            hidden if hides(hidden) => out.extend(hidden.escape_unicode()),
            plain => out.push(plain),
        }
    }
    out
}

/// Direction marks, invisible characters and line separators that `visible` lets pass, and
/// code points that are not characters.
fn hides(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{e0000}'..='\u{e007f}')
        || u32::from(character) & 0xfffe == 0xfffe
}

/// A tooltip as attribute content. Its line breaks are ours: names in it must have gone
/// through `spelled`, which leaves none.
pub(crate) fn tip(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escape).collect();
    lines.join("&#10;")
}

/// JSON in a form that cannot end the script element that holds it. Outside of strings
/// JSON has none of these characters, so replacing them everywhere keeps its meaning.
pub(crate) fn script_json(json: &serde_json::Value) -> String {
    let text = json.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A name for a tooltip: spelled out as `escape` does, but not yet encoded.
pub(crate) fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible(text).chars() {
        if hides(character) { out.extend(character.escape_unicode()) } else { out.push(character) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_gets_through() {
        for (text, safe) in [
            ("<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"),
            ("a\" onload=\"x", "a&quot; onload=&quot;x"),
            ("\u{1b}[2J\0", "\\u{1b}[2J\\u{0}"),
            ("abc\u{202e}fdp.exe\u{200f}", "abc\\u{202e}fdp.exe\\u{200f}"),
            ("a\u{200b}b\u{2028}", "a\\u{200b}b\\u{2028}"),
            ("R&D \u{76ee}", "R&amp;D \u{76ee}"),
        ] {
            assert_eq!(escape(text), safe);
        }
    }

    #[test]
    fn embedded_json_cannot_close_its_script() {
        let json = serde_json::json!({"name": "</script><!-- & -->"});
        let text = script_json(&json);
        assert!(!text.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), json);
    }
}
