//! A name and its value that are each the value of something, in whatever order: `<add key="password" value="SECRET"/>`,
//! `{"value": "SECRET", "name": "password"}`, `<name>password</name><value>SECRET</value>`.

use super::looks::{Looks, OF_A_NAME};
use super::telling::is_telling;

/// What names are called there.
const NAMES: [&[u8]; 4] = [b"name", b"key", b"id", b"parameterkey"];

/// What values are called.
const VALUES: [&[u8]; 3] = [b"value", b"string", b"parametervalue"];

/// Returns whether a word that begins there is called `value`, and what is called `name` or `key` in the same element or object is telling.
pub(super) fn is_value_of_telling(
    argument: &[u8],
    begins: usize,
    word: &[u8],
    looks: &Looks,
) -> bool {
    // In a string of a script, one stands before the quotation mark.
    let word = word.strip_suffix(b"\\").unwrap_or(word);
    if !is_one_of(&VALUES, word) {
        return false;
    }
    let quote = begins.checked_sub(1).and_then(|it| argument.get(it)).copied();
    let quote = quote.filter(|byte| matches!(byte, b'"' | b'\''));
    let (before, is_found) = start_of_element(argument.get(..begins).unwrap_or(&[]), quote);
    looks.take(before.len() * OF_A_NAME);
    // Without brackets, what comes behind may be the next one's.
    if !is_found && let Some(told) = names(before).last() {
        return told;
    }
    let rest = argument.get(begins + word.len()..).unwrap_or(&[]);
    // Behind its own quotation mark.
    let behind = rest.iter().take(2).position(|byte| Some(*byte) == quote);
    let rest = rest.get(behind.map_or(0, |it| it + 1)..).unwrap_or(&[]);
    let rest = rest_of_element(rest);
    looks.take(rest.len() * OF_A_NAME);
    let is_tag = is_found && is_of_tag(argument, begins, before);
    is_tag || names(before).chain(names(rest)).any(|told| told)
}

/// Returns whether it is an attribute of an element with a telling name: `<password value="SECRET"/>`.
fn is_of_tag(argument: &[u8], begins: usize, before: &[u8]) -> bool {
    let bracket = begins.checked_sub(before.len() + 1).and_then(|it| argument.get(it));
    let tag = before.split(u8::is_ascii_whitespace).next().unwrap_or(&[]);
    bracket == Some(&b'<') && is_telling(tag)
}

/// Returns whether the text behind a tag that ends there is that of a value, and an element beside it has a telling name.
pub(super) fn is_text_of_telling(argument: &[u8], end: usize, tag: &[u8], looks: &Looks) -> bool {
    if !is_one_of(&VALUES, tag) {
        return false;
    }
    let (before, behind) = argument.split_at_checked(end).unwrap_or((argument, &[]));
    let begin = before.iter().rposition(|byte| *byte == b'<').unwrap_or(0);
    let mut depth = 0usize;
    for piece in before.get(..begin).unwrap_or(&[]).rsplit(|byte| *byte == b'<') {
        looks.take(piece.len() + 1);
        if piece.starts_with(b"/") {
            depth += 1;
        } else if is_begin(piece) {
            // What both are in begins.
            let Some(less) = depth.checked_sub(1) else { break };
            depth = less;
            looks.take(piece.len() * OF_A_NAME);
            if depth == 0 && is_telling_element(piece) {
                return true;
            }
        }
    }
    // Its own end is the first.
    let mut depth = 1usize;
    for piece in behind.split(|byte| *byte == b'<').skip(1) {
        looks.take(piece.len() + 1);
        if piece.starts_with(b"/") {
            let Some(less) = depth.checked_sub(1) else { break };
            depth = less;
        } else if is_begin(piece) {
            looks.take(piece.len() * OF_A_NAME);
            if depth == 0 && is_telling_element(piece) {
                return true;
            }
            depth += 1;
        }
    }
    false
}

/// Returns whether an attribute of a tag calls what is within by a telling name: `<entry key="password">SECRET</entry>`.
pub(super) fn is_attribute_telling(attributes: &[u8], looks: &Looks) -> bool {
    looks.take(attributes.len() * OF_A_NAME);
    names(attributes).any(|told| told)
}

/// Returns true for what follows `<` where an element begins that has an end of its own.
fn is_begin(piece: &[u8]) -> bool {
    let tag = piece.split(|byte| *byte == b'>').next().unwrap_or(&[]);
    piece.first().is_some_and(|byte| !b"!?".contains(byte)) && !tag.ends_with(b"/")
}

/// Returns true for `name>password`.
fn is_telling_element(piece: &[u8]) -> bool {
    let mut parts = piece.splitn(2, |byte| *byte == b'>');
    let tag = parts.next().and_then(|it| it.split(u8::is_ascii_whitespace).next());
    tag.is_some_and(|it| is_one_of(&NAMES, it)) && parts.next().is_some_and(is_telling)
}

fn is_one_of(names: &[&[u8]], word: &[u8]) -> bool {
    names.iter().any(|it| word.eq_ignore_ascii_case(it))
}

/// Returns what stands before a word in its element or object, and whether that begins somewhere. Quoted parts and what is bracketed within are passed over.
fn start_of_element(before: &[u8], quote: Option<u8>) -> (&[u8], bool) {
    let (mut at, mut depth) = (before.len() - usize::from(quote.is_some()), 0usize);
    while let Some(last) = at.checked_sub(1) {
        match before.get(last) {
            Some(mark @ (b'"' | b'\'')) => at = opening_quote(before, last, *mark).unwrap_or(last),
            Some(b'}' | b']' | b')') => (at, depth) = (last, depth + 1),
            Some(b'{' | b'[' | b'(') if depth > 0 => (at, depth) = (last, depth - 1),
            Some(b'{' | b'[' | b'(' | b'<' | b'>') if depth == 0 => {
                return (before.get(at..).unwrap_or(&[]), true);
            }
            Some(b'-') if is_item(before, last) => {
                return (before.get(at..).unwrap_or(&[]), true);
            }
            _ => at = last,
        }
    }
    (before, false)
}

/// Returns what follows in the same element or object.
fn rest_of_element(rest: &[u8]) -> &[u8] {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' | b'\'' => at = closing_quote(rest, at, *byte).unwrap_or(at),
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' if depth > 0 => depth -= 1,
            b'}' | b']' | b')' | b'<' | b'>' | b';' if depth == 0 => break,
            b'-' if depth == 0 && is_item(rest, at) => break,
            _ => {}
        }
        at += 1;
    }
    rest.get(..at).unwrap_or(rest)
}

/// Returns true for the dash that an item of a list in YAML begins with.
fn is_item(text: &[u8], dash: usize) -> bool {
    let is_blank =
        |at: Option<usize>| at.and_then(|it| text.get(it)).is_none_or(u8::is_ascii_whitespace);
    is_blank(dash.checked_sub(1)) && is_blank(Some(dash + 1))
}

fn is_escaped(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|it| text.get(it)) == Some(&b'\\')
}

/// Returns where the text began that ends with this mark: both are behind a backslash, or neither is.
fn opening_quote(text: &[u8], end: usize, mark: u8) -> Option<usize> {
    let is_of_script = is_escaped(text, end);
    let before = text.get(..end)?;
    (0..before.len())
        .rev()
        .find(|at| before.get(*at) == Some(&mark) && is_escaped(before, *at) == is_of_script)
}

/// Returns where the text ends that begins with this mark.
fn closing_quote(text: &[u8], begin: usize, mark: u8) -> Option<usize> {
    let is_of_script = is_escaped(text, begin);
    (begin + 1..text.len())
        .find(|at| text.get(*at) == Some(&mark) && is_escaped(text, *at) == is_of_script)
}

/// Returns of each name in a text whether it is telling.
fn names(text: &[u8]) -> impl Iterator<Item = bool> {
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"=:\"'\\,{}[]()".contains(byte);
    // A dash before a word is an option's, or an item's.
    let without_dashes = |word| {
        let begin = <[u8]>::iter(word).position(|byte| *byte != b'-');
        begin.and_then(|begin| word.get(begin..))
    };
    let mut words = text.split(is_edge).filter_map(without_dashes);
    std::iter::from_fn(move || {
        words.by_ref().find(|word| is_one_of(&NAMES, word))?;
        Some(words.next().is_some_and(is_telling))
    })
}
