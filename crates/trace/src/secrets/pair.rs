//! A name and its value that are each the value of something: `<add key="password" value="SECRET"/>`, `{"name": "password", "value": "SECRET"}`.

use super::is_telling;

/// What names are called there.
const NAMES: [&[u8]; 3] = [b"name", b"key", b"id"];

/// Returns whether a word that begins there is called `value`, and what is called `name` or `key` before it, in the same element or object, is telling.
pub fn is_value_of_telling(argument: &[u8], begins: usize, name: &[u8]) -> bool {
    if !name.eq_ignore_ascii_case(b"value") {
        return false;
    }
    let before = argument.get(..begins).unwrap_or(&[]);
    let inside = before.rsplit(|byte| b"<>{}".contains(byte)).next().unwrap_or(&[]);
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"=:\"'\\,-".contains(byte);
    let mut words = inside.split(is_edge).filter(|word| !word.is_empty());
    let mut told = false;
    while let Some(word) = words.next() {
        if NAMES.iter().any(|it| word.eq_ignore_ascii_case(it)) {
            told = words.next().is_some_and(is_telling);
        }
    }
    told
}
