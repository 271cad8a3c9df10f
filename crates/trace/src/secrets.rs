//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

mod address;
mod pair;
mod token;
mod user;
mod value;

use address::password_of_address;
use pair::{is_text_of_telling, is_value_of_telling};
use token::token;
use user::{has_user, is_curl, is_of_curl, is_user_option};
use value::length_of_value;

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 22] = [
    b"password",
    b"passwords",
    b"passwd",
    b"passphrase",
    b"secret",
    b"secrets",
    b"secretkey",
    b"token",
    b"passcode",
    b"encryptionkey",
    b"licensekey",
    b"sessionid",
    b"credential",
    b"credentials",
    b"apikey",
    b"accesskey",
    b"privatekey",
    b"authkey",
    b"accountkey",
    b"authorization",
    b"signature",
    b"cookie",
];

/// Short names that are also parts of other words: only where a word begins.
const SHORT_NAMES: [&[u8]; 11] =
    [b"pass", b"pwd", b"pw", b"bearer", b"auth", b"sig", b"cred", b"creds", b"otp", b"psk", b"jwt"];

/// Words that end with a short name and tell nothing.
const NO_PASS: [&[u8]; 12] = [
    b"bypass",
    b"compass",
    b"multipass",
    b"singlepass",
    b"onepass",
    b"twopass",
    b"firstpass",
    b"lowpass",
    b"highpass",
    b"bandpass",
    b"allpass",
    b"trespass",
];

/// What follows a telling name where the value is a measure of it.
const MEASURES: [&[u8]; 9] =
    [b"size", b"sizes", b"count", b"length", b"len", b"limit", b"budget", b"rate", b"type"];

/// What stands before the secret in a header of HTTP (RFC 9110, section 11.4).
const SCHEMES: [&[u8]; 6] = [b"basic", b"bearer", b"digest", b"negotiate", b"token", b"apikey"];

/// How a key in a text begins (RFC 7468), and what its first line says somewhere.
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY";

/// Masks what looks like a secret in arguments that each end with a zero, in place. What comes after
/// the last one is zeros.
pub fn mask(arguments: &mut [u8]) {
    let (mut at, mut before, mut after_curl) = (0, Before::Other, false);
    while at < arguments.len() {
        let mut length = length_at(arguments, at);
        let argument = arguments.get(at..at + length).unwrap_or(&[]);
        let next = Before::of(argument, after_curl);
        let is_user = before == Before::UserOption || has_user(argument, after_curl);
        let next_after_curl = after_curl || is_curl(argument);
        let mut from = 0;
        // An argument may have several: a script, an address with many parts.
        while let Some((start, end)) = arguments
            .get(at..at + length)
            .and_then(|argument| secret(argument, from, before, is_user))
        {
            from = start + replace(arguments, at + start, at + end);
            length = length_at(arguments, at);
        }
        (before, after_curl) = (next, next_after_curl);
        at += length + 1;
    }
}

/// Does the same where the bytes may end within an argument. The word that is cut off is left out: it may be a secret that is not known as one, and
/// comes to the front where others get shorter.
pub fn mask_cut(arguments: &mut [u8]) {
    if arguments.last().is_some_and(|byte| *byte != 0) {
        let is_edge = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        let cut = arguments.iter().rposition(is_edge).map_or(0, |edge| edge + 1);
        if let Some(cut) = arguments.get_mut(cut..) {
            cut.fill(0);
        }
    }
    mask(arguments);
}

/// Returns the bytes of the argument that begins there.
fn length_at(arguments: &[u8], at: usize) -> usize {
    let rest = arguments.get(at..).unwrap_or(&[]);
    rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len())
}

/// What an argument says of the one after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It is a secret, unless it is an option.
    SecretOption,
    /// It is a user, perhaps with a password.
    UserOption,
    Other,
}

impl Before {
    fn of(argument: &[u8], is_of_curl: bool) -> Self {
        // Some programs take `--password= VALUE`.
        let name = argument.strip_suffix(b"=").unwrap_or(argument);
        let is_option = name.starts_with(b"-") && !name.contains(&b'=');
        if is_user_option(argument, is_of_curl) {
            return Before::UserOption;
        }
        let is_secret = is_option && is_telling(name) || is_key_of_a_setting(argument);
        if is_secret { Before::SecretOption } else { Before::Other }
    }
}

/// Returns where in an argument the next secret is, from there on.
fn secret(argument: &[u8], from: usize, before: Before, is_user: bool) -> Option<(usize, usize)> {
    let whole = argument.len();
    if from >= whole {
        return None;
    }
    if before == Before::SecretOption && from == 0 && !is_option(argument) {
        return Some((0, whole));
    }
    if is_user
        && from == 0
        && let Some(colon) = argument.iter().position(|byte| *byte == b':')
        && colon + 1 < whole
    {
        return Some((colon + 1, whole));
    }
    let found = [
        private_key(argument, from),
        named(argument, from),
        password_of_address(argument, from),
        token(argument, from),
    ];
    // Of those that begin at one place, the longest: the others may end inside the secret.
    found.into_iter().flatten().min_by_key(|(start, end)| (*start, whole - end))
}

/// Returns true for `--option` and `-o`. A single dash may also begin a secret.
fn is_option(argument: &[u8]) -> bool {
    argument.starts_with(b"--") || argument.starts_with(b"-") && argument.len() <= 2
}

/// Returns a key in a text, to its end and beyond.
fn private_key(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = argument.get(from..)?;
    let start = from + rest.windows(KEY_BEGINS.len()).position(|it| it == KEY_BEGINS)?;
    let key = argument.get(start..)?;
    let is_private = key.windows(PRIVATE_KEY.len()).any(|it| it == PRIVATE_KEY);
    is_private.then_some((start, argument.len()))
}

/// Returns whether a byte ends a word of an argument.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"&;,?\"'(){}<>".contains(&byte)
}

/// Returns the value behind a telling name: `NAME=VALUE`, `name = VALUE`, `--name=VALUE`, `Name: VALUE`, `{"name": "VALUE"}`,
/// `<name>VALUE<`, `Bearer VALUE`; in a script also `--name VALUE`, `-u user:VALUE` and `--user=user:VALUE`.
fn named(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let whole = argument.len();
    // Where the word before this one begins, if only blanks are between.
    let (mut word, mut earlier) = (0, None);
    for (at, byte) in argument.iter().enumerate() {
        let begins = match earlier {
            Some(earlier) if word == at && matches!(byte, b'=' | b':') => earlier,
            _ => word,
        };
        let name = match byte {
            b'>' => tag(argument, at),
            _ => argument.get(begins..at).unwrap_or(&[]).trim_ascii_end(),
        };
        let is_blank = byte.is_ascii_whitespace();
        let is_option = is_blank && name.starts_with(b"-");
        let is_key = matches!(byte, b'"' | b'\'') && is_key(argument, at);
        let is_separator = matches!(byte, b'=' | b':' | b'>')
            || is_blank && name.eq_ignore_ascii_case(b"bearer")
            || is_key;
        let is_of_curl = || name.starts_with(b"-") && is_of_curl(argument, begins);
        let is_user = (is_option || *byte == b'=') && is_user_option(name, is_of_curl());
        let is_joined_user = *byte == b':' && has_user(name, is_of_curl());
        let is_telling = || {
            is_telling(name)
                || match byte {
                    b'>' => is_text_of_telling(argument, at, name),
                    _ => is_value_of_telling(argument, begins, name),
                }
        };
        if is_user || is_joined_user || (is_separator || is_option) && is_telling() {
            let rest = argument.get(at..).unwrap_or(&[]);
            let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"=:\"'`\\>]".contains(byte);
            let start = at + rest.iter().position(|byte| !is_between(byte)).unwrap_or(rest.len());
            let value = argument.get(start..).unwrap_or(&[]);
            // A header, or all that an option is set to, goes on to the end; a part of more does not.
            let is_all = begins == 0 && matches!(byte, b'=' | b':') && name.len() == at;
            let place = if *byte == b'>' { at } else { begins };
            let end = if is_all {
                whole
            } else {
                start + length_of_value(argument, start, place, is_key)
            };
            // The user's name stays.
            let colon = || Some(1 + value.iter().position(|byte| *byte == b':')?);
            let start = if is_user { colon().map_or(end, |it| start + it) } else { start };
            let value = argument.get(start..end).unwrap_or(&[]);
            let is_next_option = is_option && self::is_option(value);
            if start >= from && start < end && !value.starts_with(MASK) && !is_next_option {
                return Some((start, end));
            }
        }
        if is_end(*byte) || is_separator {
            // Of several blanks, those after the first change nothing.
            if !is_blank || word != at {
                earlier = is_blank.then_some(word);
            }
            word = at + 1;
        }
    }
    None
}

/// Returns the name of the element that begins with the tag which ends there; nothing if none does.
fn tag(argument: &[u8], end: usize) -> &[u8] {
    let before = argument.get(..end).unwrap_or(&[]);
    let begin = before.iter().rposition(|byte| matches!(byte, b'<' | b'>'));
    let begin = begin.filter(|begin| before.get(*begin) == Some(&b'<'));
    let inside = begin.and_then(|begin| before.get(begin + 1..)).unwrap_or(&[]);
    let begins = !inside.starts_with(b"/") && !inside.ends_with(b"/");
    inside.split(u8::is_ascii_whitespace).next().filter(|_| begins).unwrap_or(&[])
}

/// Returns true if a quotation mark ends a key: a colon follows, or it is set to something.
fn is_key(argument: &[u8], quote: usize) -> bool {
    let rest = argument.get(quote + 1..).unwrap_or(&[]);
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b']');
    matches!(next, Some(b':' | b'='))
}

/// Returns true if a name says that its value must not be known. Of a path, the last part is its name.
fn is_telling(name: &[u8]) -> bool {
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    (0..name.len()).any(|start| {
        let rest = name.get(start..).unwrap_or(&[]);
        let begins = start == 0 || name.get(start - 1).is_some_and(|it| !it.is_ascii_alphabetic());
        NAMES.iter().any(|wanted| is_at(rest, wanted))
            || begins && SHORT_NAMES.iter().any(|wanted| is_at(rest, wanted))
    }) || ends_with_pass(name)
}

/// Returns true for several words that are joined and end with a telling name, as those of settings do: `configure set aws_secret_access_key VALUE`. Other
/// words are too often names of programs and files.
fn is_key_of_a_setting(argument: &[u8]) -> bool {
    let is_joined = |it: &u8| it.is_ascii_alphanumeric() || *it == b'_';
    let ends_with = |wanted: &&[u8]| {
        let letters = argument.iter().rev().filter(|it| **it != b'_');
        letters.map(u8::to_ascii_lowercase).take(wanted.len()).eq(wanted.iter().rev().copied())
    };
    argument.contains(&b'_') && argument.iter().all(is_joined) && NAMES.iter().any(ends_with)
}

/// Returns true for a name such as `SSHPASS`.
fn ends_with_pass(name: &[u8]) -> bool {
    let ends_with = |end: &[u8]| {
        let from = name.len().checked_sub(end.len());
        from.and_then(|from| name.get(from..)).is_some_and(|it| it.eq_ignore_ascii_case(end))
    };
    ends_with(b"pass") && !NO_PASS.iter().any(|it| ends_with(it))
}

/// Returns true if the text begins with these letters, whatever their case and what joins them, and with no
/// further one: a tokenizer is no token, and neither is the size of one.
fn is_at(text: &[u8], wanted: &[u8]) -> bool {
    let mut rest = text.iter();
    let is_there = wanted.iter().all(|letter| {
        let next = rest.by_ref().find(|byte| !b"-_.".contains(byte));
        next.is_some_and(|it| it.to_ascii_lowercase() == *letter)
    });
    let behind = rest.as_slice();
    let last = text.len().checked_sub(behind.len() + 1).and_then(|last| text.get(last));
    // As in `tokenValue`.
    let goes_on = last.is_some_and(u8::is_ascii_lowercase)
        && behind.first().is_some_and(u8::is_ascii_uppercase);
    let joined = behind.strip_prefix(b"-").or(behind.strip_prefix(b"_"));
    let is_measure = joined
        .or(goes_on.then_some(behind))
        .is_some_and(|word| MEASURES.iter().any(|it| word.eq_ignore_ascii_case(it)));
    let ends = goes_on || behind.first().is_none_or(|it| !it.is_ascii_alphabetic());
    is_there && !is_measure && ends
}

/// Puts the mask in the place of some bytes and moves what follows; gives the mask's length, which is
/// never more than that of the secret.
fn replace(bytes: &mut [u8], start: usize, end: usize) -> usize {
    let kept = MASK.len().min(end - start);
    if let (Some(place), Some(mask)) = (bytes.get_mut(start..start + kept), MASK.get(..kept)) {
        place.copy_from_slice(mask);
    }
    let (to, length) = (start + kept, bytes.len());
    if to < end && end <= length {
        bytes.copy_within(end..length, to);
        let freed = length - (end - to);
        if let Some(freed) = bytes.get_mut(freed..) {
            freed.fill(0);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
