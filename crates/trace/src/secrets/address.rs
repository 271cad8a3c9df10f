//! Passwords in addresses.

use super::MASK;
use super::token::is_token;
use super::value::quote_before;

/// The least of a user's name that looks random.
const RANDOM_BYTES_MIN: usize = 20;
const RANDOM_DIGITS_MIN: usize = 3;

/// `scheme://user:PASSWORD@host` and `scheme://TOKEN@host`. A password may have anything in it but blanks: it ends at
/// the last `@` of the word.
pub(super) fn password_of_address(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    (from..argument.len()).filter(|at| argument.get(*at) == Some(&b':')).find_map(|colon| {
        let start = colon + slashes(argument, colon)?;
        let address = argument.get(start..start + length_of_address(argument, colon, start))?;
        let is_slash = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let authority = address.split(is_slash).next()?;
        let colon = authority.iter().position(|byte| *byte == b':');
        // A port, or no colon at all: what comes behind is a path.
        let port = colon.and_then(|it| authority.get(it + 1..));
        let is_port = port.is_some_and(|it| it.iter().all(u8::is_ascii_digit));
        let has_path = authority.len() < address.len();
        let searched = if has_path && is_port || colon.is_none() { authority } else { address };
        let end = searched.iter().rposition(|byte| *byte == b'@')?;
        let user = searched.get(..end)?;
        if looks_random(user) || is_token(user.split(|byte| *byte == b':').next()?) {
            return Some((start, start + end));
        }
        let colon = user.iter().position(|byte| *byte == b':')?;
        Some((start + colon + 1, start + end))
            .filter(|(from, to)| from < to && user.get(colon + 1..) != Some(MASK))
    })
}

/// Returns whether a user without a password is a token of a service that we do not know: long, of letters and digits that nobody would be called.
fn looks_random(user: &[u8]) -> bool {
    let digits = user.iter().filter(|it| it.is_ascii_digit()).count();
    let is_plain = |it: &u8| it.is_ascii_alphanumeric() || b"_-".contains(it);
    user.len() >= RANDOM_BYTES_MIN && digits >= RANDOM_DIGITS_MIN && user.iter().all(is_plain)
}

/// Returns the bytes of `://`, also as JSON may write it, if they are there.
fn slashes(argument: &[u8], colon: usize) -> Option<usize> {
    let rest = argument.get(colon..)?;
    [&b"://"[..], b":\\/\\/"].into_iter().find(|it| rest.starts_with(it)).map(<[u8]>::len)
}

/// Returns the bytes of the address that begins at `start`, behind `://`: to a blank, the quotation mark that it began
/// with, or the next one.
fn length_of_address(argument: &[u8], colon: usize, start: usize) -> usize {
    let address = argument.get(start..).unwrap_or(&[]);
    let before = argument.get(..colon).unwrap_or(&[]);
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let begin = before.iter().rposition(|byte| !is_of_scheme(byte)).map_or(0, |it| it + 1);
    let quote = quote_before(argument, begin);
    let is_over = |byte: u8| byte.is_ascii_whitespace() || byte == b'"' || Some(byte) == quote;
    for (at, byte) in address.iter().enumerate() {
        if is_over(*byte) {
            return at;
        }
        if *byte == b':' && slashes(address, at).is_some() {
            let address = address.get(..at).unwrap_or(&[]);
            return address.iter().rposition(|byte| !is_of_scheme(byte)).unwrap_or(0);
        }
    }
    address.len()
}
