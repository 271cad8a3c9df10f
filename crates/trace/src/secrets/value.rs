//! Where a value ends: with what it began with, or with what it stands in.

use super::is_end;
use super::tag::tag;

/// What stands before the secret in a header of HTTP (RFC 9110, section 11.4).
const SCHEMES: [&[u8]; 6] = [b"basic", b"bearer", b"digest", b"negotiate", b"token", b"apikey"];

/// The header in which a scheme stands before the secret.
const AUTHORIZATION: &[u8] = b"authorization:";

/// Returns how long the value is that begins at `start`, of the name that begins at `name`: to the quotation mark that
/// it, or what it is in, began with; to the bracket that closes what it began with; or else to the end of the word, or
/// of the next one, in which headers without quotation marks have the secret.
pub(super) fn length_of_value(argument: &[u8], start: usize, name: usize, is_key: bool) -> usize {
    let value = argument.get(start..).unwrap_or(&[]);
    let tag = if argument.get(name) == Some(&b'>') { tag(argument, name).0 } else { b"" };
    if let Some(length) = length_of_text(value, tag) {
        return length;
    }
    let before = name.checked_sub(1).and_then(|it| argument.get(it)).copied().unwrap_or(0);
    let ends: &[u8] = match (before, argument.get(name)) {
        _ if is_key => b",}])",
        (_, Some(b'>')) => b"<",
        (b'?' | b'&', _) => b"&#",
        (b';', _) => b";",
        (b'(' | b',' | b'{' | b'[', _) => b",)}]",
        _ => b"",
    };
    let is_backtick = start > 0 && argument.get(start - 1) == Some(&b'`');
    if let Some(quote) = quote_before(argument, start).or(is_backtick.then_some(b'`')) {
        let is_escaped = start > 1 && argument.get(start - 2) == Some(&b'\\');
        let closing = closing_quote(value, quote, is_escaped);
        let Some(length) = closing else { return value.len() };
        return length + adjacent(value, length, ends);
    }
    if value.first().is_some_and(|byte| is_bracket(*byte)) {
        return to_closing_bracket(value);
    }
    let of_name = quote_before(argument, name).filter(|_| !is_key);
    if let Some(length) = of_name.and_then(|quote| closing_quote(value, quote, false)) {
        return length;
    }
    if let Some(length) = to_end_with_blanks(value, ends) {
        return length;
    }
    let first = word_length(value, 0, ends);
    let is_scheme =
        |it: &&[u8]| value.get(..first).is_some_and(|word| word.eq_ignore_ascii_case(it));
    // Of this header, whatever scheme stands before it.
    let header = argument.get(name..start).unwrap_or(&[]);
    let is_authorization =
        header.windows(AUTHORIZATION.len()).any(|it| it.eq_ignore_ascii_case(AUTHORIZATION));
    let is_followed = value.get(first).is_some_and(u8::is_ascii_whitespace);
    if (is_authorization || SCHEMES.iter().any(is_scheme)) && is_followed {
        word_length(value, first + 1, ends)
    } else {
        first
    }
}

/// Returns where the text of an element ends: where the element does, whatever is within. Nothing if it has no end.
fn length_of_text(value: &[u8], tag: &[u8]) -> Option<usize> {
    if tag.is_empty() {
        return None;
    }
    let is_end = |it: &[u8]| it.strip_prefix(b"</").is_some_and(|it| it.eq_ignore_ascii_case(tag));
    let end = value.windows(tag.len() + 2).position(is_end);
    end.or_else(|| {
        let text = value.strip_prefix(b"<![CDATA[")?;
        Some(text.windows(3).position(|it| it == b"]]>").map_or(value.len(), |it| it + 9))
    })
}

/// Returns where the text of an element without an end, or a value within a connection string, ends: blanks are part of it.
fn to_end_with_blanks(value: &[u8], ends: &[u8]) -> Option<usize> {
    let has_blanks = matches!(ends, b"<" | b";");
    value.iter().position(|byte| ends.contains(byte)).filter(|_| has_blanks)
}

/// Returns the quotation mark before this place.
pub(super) fn quote_before(argument: &[u8], place: usize) -> Option<u8> {
    let before = place.checked_sub(1).and_then(|before| argument.get(before));
    before.copied().filter(|byte| matches!(byte, b'"' | b'\''))
}

/// Returns where the quotation mark is that ends a text. One behind a backslash is part of the text, unless the text
/// began with such a one.
fn closing_quote(text: &[u8], quote: u8, is_escaped: bool) -> Option<usize> {
    let mut is_behind_backslash = false;
    text.iter().position(|byte| {
        let ends = *byte == quote && (is_escaped || !is_behind_backslash);
        is_behind_backslash = *byte == b'\\' && !is_behind_backslash;
        ends
    })
}

/// Returns how much of a word follows directly behind a quotation mark, as shells join them.
fn adjacent(value: &[u8], quote: usize, ends: &[u8]) -> usize {
    let next = value.get(quote + 1).copied().unwrap_or(b' ');
    // Behind the other one, in JSON within a script, a backslash belongs to what comes next.
    let is_joined = next == b'\\' && value.get(quote) == Some(&b'\'');
    let is_over = b",;&)}]>:#\\<".contains(&next) && !is_joined;
    if next.is_ascii_whitespace() || is_over || ends.contains(&next) {
        return 0;
    }
    word_length(value, quote + 1, ends) - quote
}

/// Returns where the word ends that goes on at `from`: at a blank, at one of `ends`, or at a quotation mark that
/// closes what the word is in. Quoted and bracketed parts and what is behind a backslash belong to it.
fn word_length(value: &[u8], from: usize, ends: &[u8]) -> usize {
    let mut at = from;
    while let Some(byte) = value.get(at) {
        let rest = value.get(at + 1..).unwrap_or(&[]);
        match byte {
            _ if byte.is_ascii_whitespace() || ends.contains(byte) => break,
            b'\\' => at += 2,
            _ if is_bracket(*byte) => at += to_closing_bracket(value.get(at..).unwrap_or(&[])),
            b'"' | b'\'' | b'`' => {
                let is_over = rest.first().is_none_or(|it| is_end(*it) && !b"\"'".contains(it));
                match closing_quote(rest, *byte, false).filter(|_| !is_over) {
                    Some(length) => at += length + 2,
                    None => break,
                }
            }
            _ => at += 1,
        }
    }
    at.min(value.len())
}

fn is_bracket(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'(')
}

/// Returns where the bracket is closed that a value begins with, and all within it; its end if it is not. What is quoted closes nothing.
fn to_closing_bracket(value: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = value.get(at) {
        match byte {
            _ if is_bracket(*byte) => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b'"' | b'\'' | b'`' => {
                let is_escaped = at > 0 && value.get(at - 1) == Some(&b'\\');
                let rest = value.get(at + 1..).unwrap_or(&[]);
                at += closing_quote(rest, *byte, is_escaped).map_or(0, |it| it + 1);
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at.min(value.len());
        }
    }
    value.len()
}
