//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

mod address;
mod looks;
mod named;
mod pair;
mod tag;
mod telling;
mod token;
mod user;
mod value;

use address::password_of_address;
use looks::{Looks, OF_A_NAME, OF_AN_ARGUMENT, OF_WHAT_WAS_SEEN};
use named::named;
use telling::{is_key_of_a_setting, is_telling};
use token::token;
use user::{has_user, is_curl, is_user_option, password_in};

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// How many times what is kept of a command is masked.
const MASKED_FOR_KEPT: usize = 16;

/// How a key in a text begins (RFC 7468), and what its first line says somewhere.
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const PRIVATE_KEY: &[u8] = b"PRIVATE KEY";

/// Masks what looks like a secret in arguments that each end with a zero, in place. What comes after
/// the last one is zeros.
///
/// Takes time in proportion to the bytes: of a text that is made so that it takes more, the rest is masked.
pub fn mask(arguments: &mut [u8]) {
    mask_within(arguments, &Looks::for_bytes(arguments.len()));
}

fn mask_within(arguments: &mut [u8], looks: &Looks) {
    // Where the next argument is, and where it goes: those before it may have become shorter.
    let (mut at, mut to) = (0, 0);
    let (mut before, mut after_curl) = (Before::Other, false);
    while at < arguments.len() {
        let whole = length_at(arguments, at);
        let argument = arguments.get_mut(at..at + whole).unwrap_or(&mut []);
        looks.take(whole * OF_A_NAME);
        let next = match before {
            // `--password = VALUE`.
            Before::SecretOption if *argument == *b"=" => before,
            _ => Before::of(argument, after_curl),
        };
        let is_user = before == Before::UserOption || has_user(argument, after_curl);
        after_curl |= is_curl(argument);
        let length = mask_one(argument, before, is_user, looks);
        before = next;
        // With the zero behind it, if one is there.
        let behind = (at + whole + 1).min(arguments.len());
        arguments.copy_within(at..at + length, to);
        let end = to + length;
        to = end + (behind - at - whole);
        if let Some(end) = arguments.get_mut(end..to) {
            end.fill(0);
        }
        at = behind;
    }
    if let Some(freed) = arguments.get_mut(to..) {
        freed.fill(0);
    }
}

/// Masks the secrets of an argument and returns how long it is then. It may have several: a script, an address with
/// many parts.
fn mask_one(argument: &mut [u8], before: Before, is_user: bool, looks: &Looks) -> usize {
    let (mut length, mut from) = (argument.len(), 0);
    loop {
        looks.take(length * OF_WHAT_WAS_SEEN + (length - from) * OF_AN_ARGUMENT);
        let rest = argument.get(..length).unwrap_or(&[]);
        let found = secret(rest, from, before, is_user, looks);
        let found =
            if looks.are_spent() { (from < length).then_some((from, length)) } else { found };
        let Some((start, end)) = found else { return length };
        let kept = MASK.len().min(end - start);
        argument.copy_within(end..length, start + kept);
        if let Some((place, mask)) = argument.get_mut(start..start + kept).zip(MASK.get(..kept)) {
            place.copy_from_slice(mask);
        }
        (length, from) = (length - (end - start - kept), start + kept);
    }
}

/// Masks as much of the arguments as is needed where no more than some bytes of them are kept, and leaves out the others;
/// returns whether there were others.
pub fn mask_kept(arguments: &mut Vec<u8>, kept: usize) -> bool {
    // Those in front become shorter.
    let masked = kept.saturating_mul(MASKED_FOR_KEPT);
    let is_more = arguments.len() > masked;
    if is_more {
        arguments.truncate(masked);
        mask_cut(arguments);
    } else {
        mask(arguments);
    }
    is_more
}

/// Masks arguments of which the last may be cut off. The word that is cut off is left out: it may be a secret that is
/// not known as one, and comes to the front where others get shorter.
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
fn secret(
    argument: &[u8],
    from: usize,
    before: Before,
    is_user: bool,
    looks: &Looks,
) -> Option<(usize, usize)> {
    let whole = argument.len();
    if from >= whole {
        return None;
    }
    if before == Before::SecretOption && from == 0 && !is_option(argument) && argument != b"=" {
        return Some((0, whole));
    }
    if is_user
        && from == 0
        && let Some(begin) = password_in(argument)
        && begin < whole
    {
        return Some((begin, whole));
    }
    let found = [
        private_key(argument, from),
        named(argument, from, looks),
        password_of_address(argument, from),
        token(argument, from, looks),
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

#[cfg(test)]
mod tests;
