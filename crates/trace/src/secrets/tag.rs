//! Tags of elements, as XML has them.

/// Returns the name of the element that begins with the tag which ends there, and what else the tag says; nothing if
/// none does.
pub(super) fn tag(argument: &[u8], end: usize) -> (&[u8], &[u8]) {
    let before = argument.get(..end).unwrap_or(&[]);
    let begin = before.iter().rposition(|byte| matches!(byte, b'<' | b'>'));
    let begin = begin.filter(|begin| before.get(*begin) == Some(&b'<'));
    let inside = begin.and_then(|begin| before.get(begin + 1..)).unwrap_or(&[]);
    let begins = !inside.starts_with(b"/") && !inside.ends_with(b"/");
    let inside = if begins { inside } else { &[] };
    let name = inside.iter().position(u8::is_ascii_whitespace).unwrap_or(inside.len());
    inside.split_at_checked(name).unwrap_or((inside, &[]))
}
