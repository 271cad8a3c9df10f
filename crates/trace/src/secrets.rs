//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 18] = [
    b"password",
    b"passwords",
    b"passwd",
    b"passphrase",
    b"secret",
    b"secrets",
    b"secretkey",
    b"token",
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
const SHORT_NAMES: [&[u8]; 6] = [b"pass", b"pwd", b"pw", b"bearer", b"auth", b"sig"];

/// What stands before the secret in a header of HTTP (RFC 9110, section 11.4).
const SCHEMES: [&[u8]; 6] = [b"basic", b"bearer", b"digest", b"negotiate", b"token", b"apikey"];

/// Options whose value is a user's name, and after a colon the password (curl, wget, rsync).
const USER_OPTIONS: [&[u8]; 3] = [b"-u", b"--user", b"--proxy-user"];

/// How the tokens of GitHub, GitLab, Slack, Amazon, Hugging Face and others begin, and JSON Web Tokens.
const TOKENS: [&[u8]; 16] = [
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"github_pat_",
    b"glpat-",
    b"sk-",
    b"xoxb-",
    b"xoxp-",
    b"AKIA",
    b"ASIA",
    b"AIza",
    b"npm_",
    b"pypi-",
    b"dckr_pat_",
    b"hf_",
    b"eyJ",
];
const TOKEN_BYTES_MIN: usize = 16;

/// Masks what looks like a secret in arguments that each end with a zero, in place. What comes after
/// the last one is zeros.
pub fn mask(arguments: &mut [u8]) {
    let (mut at, mut before) = (0, Before::Other);
    while at < arguments.len() {
        let mut length = length_at(arguments, at);
        let argument = arguments.get(at..at + length).unwrap_or(&[]);
        let next = Before::of(argument);
        let mut from = 0;
        // An argument may have several: a script, an address with many parts.
        while let Some((start, end)) =
            arguments.get(at..at + length).and_then(|argument| secret(argument, from, before))
        {
            from = start + replace(arguments, at + start, at + end);
            length = length_at(arguments, at);
        }
        before = next;
        at += length + 1;
    }
}

/// Returns the bytes of the argument that begins there.
fn length_at(arguments: &[u8], at: usize) -> usize {
    let rest = arguments.get(at..).unwrap_or(&[]);
    rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len())
}

/// What an argument says of the one after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It is a secret.
    SecretOption,
    /// It is a user, perhaps with a password.
    UserOption,
    Other,
}

impl Before {
    fn of(argument: &[u8]) -> Self {
        let is_option = argument.starts_with(b"-") && !argument.contains(&b'=');
        if USER_OPTIONS.contains(&argument) {
            return Before::UserOption;
        }
        if is_option && is_telling(argument) { Before::SecretOption } else { Before::Other }
    }
}

/// Returns where in an argument the next secret is, from there on.
fn secret(argument: &[u8], from: usize, before: Before) -> Option<(usize, usize)> {
    let whole = argument.len();
    if from >= whole {
        return None;
    }
    if before == Before::SecretOption && from == 0 && !argument.starts_with(b"-") {
        return Some((0, whole));
    }
    let is_user =
        before == Before::UserOption || USER_OPTIONS.iter().any(|it| is_set(argument, it));
    if is_user
        && from == 0
        && let Some(colon) = argument.iter().position(|byte| *byte == b':')
        && colon + 1 < whole
    {
        return Some((colon + 1, whole));
    }
    let found = [named(argument, from), password_of_address(argument, from), token(argument, from)];
    // Of those that begin at one place, each is at least as long as the ones after it here.
    found.into_iter().flatten().min_by_key(|(start, _)| *start)
}

/// Returns true for `--option=value` and `-ovalue`.
fn is_set(argument: &[u8], option: &[u8]) -> bool {
    let Some(value) = argument.strip_prefix(option) else { return false };
    // A short one may go without.
    value.starts_with(b"=") || !option.starts_with(b"--") && !value.is_empty()
}

/// Returns whether a byte ends a word of an argument.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"&;,?\"'(){}<>".contains(&byte)
}

/// Returns the value behind a telling name: `NAME=VALUE`, `name = VALUE`, `--name=VALUE`, `Name: VALUE`, `{"name": "VALUE"}`,
/// `<name>VALUE<`, `Bearer VALUE`; in a script also `--name VALUE` and `-u user:VALUE`.
fn named(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let whole = argument.len();
    // Where the word before this one begins, if only blanks are between.
    let (mut word, mut earlier) = (0, None);
    for (at, byte) in argument.iter().enumerate() {
        let begins = match earlier {
            Some(earlier) if word == at && *byte == b'=' => earlier,
            _ => word,
        };
        let name = argument.get(begins..at).unwrap_or(&[]).trim_ascii_end();
        let is_option = *byte == b' ' && name.starts_with(b"-");
        let is_separator = matches!(byte, b'=' | b':')
            || *byte == b' ' && name.eq_ignore_ascii_case(b"bearer")
            || matches!(byte, b'"' | b'\'') && is_key(argument, at)
            || *byte == b'>' && word > 0 && argument.get(word - 1) == Some(&b'<');
        let is_user = is_option && USER_OPTIONS.contains(&name);
        if is_user || (is_separator || is_option) && is_telling(name) {
            let rest = argument.get(at..).unwrap_or(&[]);
            let blank =
                |byte: &u8| matches!(byte, b'=' | b':' | b' ' | b'"' | b'\'' | b'\\' | b'>');
            let start = at + rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
            let value = argument.get(start..).unwrap_or(&[]);
            // A header, or all that an option is set to, goes on to the end; a part of more does not.
            let is_all = begins == 0 && matches!(byte, b'=' | b':') && name.len() == at;
            let of_header = quote_before(argument, begins).filter(|_| *byte == b':');
            let end =
                if is_all { whole } else { start + length_of_value(argument, start, of_header) };
            // The user's name stays.
            let colon = || Some(1 + value.iter().position(|byte| *byte == b':')?);
            let start = if is_user { colon().map_or(end, |it| start + it) } else { start };
            let value = argument.get(start..).unwrap_or(&[]);
            let is_next_option = is_option && value.starts_with(b"-");
            if start >= from && start < end && !value.starts_with(MASK) && !is_next_option {
                return Some((start, end));
            }
        }
        if is_end(*byte) || is_separator {
            let is_blank = *byte == b' ';
            // Of several blanks, those after the first change nothing.
            if !is_blank || word != at {
                earlier = is_blank.then_some(word);
            }
            word = at + 1;
        }
    }
    None
}

/// Returns true if a quotation mark ends a key: a colon follows.
fn is_key(argument: &[u8], quote: usize) -> bool {
    let rest = argument.get(quote + 1..).unwrap_or(&[]);
    rest.iter().find(|byte| **byte != b' ') == Some(&b':')
}

/// Returns the quotation mark before this place.
fn quote_before(argument: &[u8], place: usize) -> Option<u8> {
    let before = place.checked_sub(1).and_then(|before| argument.get(before));
    before.copied().filter(|byte| matches!(byte, b'"' | b'\''))
}

/// Returns how long the value is that begins there: to the quotation mark that it, or the header that it is in, began
/// with; or to the end of the word, or of the next one, in which headers without quotation marks have the secret.
fn length_of_value(argument: &[u8], start: usize, of_header: Option<u8>) -> usize {
    let value = argument.get(start..).unwrap_or(&[]);
    let quote = quote_before(argument, start).or(of_header);
    if let Some(length) = quote.and_then(|quote| value.iter().position(|byte| *byte == quote)) {
        return length;
    }
    let word_from = |from: usize| {
        let rest = value.get(from..).unwrap_or(&[]);
        from + rest.iter().position(|byte| is_end(*byte)).unwrap_or(rest.len())
    };
    let first = word_from(0);
    let is_scheme =
        |it: &&[u8]| value.get(..first).is_some_and(|word| word.eq_ignore_ascii_case(it));
    if SCHEMES.iter().any(is_scheme) && value.get(first) == Some(&b' ') {
        word_from(first + 1)
    } else {
        first
    }
}

/// `scheme://user:PASSWORD@host` and `scheme://TOKEN@host`.
fn password_of_address(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = argument.get(from..)?;
    let addresses = rest.windows(3).enumerate().filter(|(_, it)| it == b"://");
    addresses.map(|(at, _)| from + at + 3).find_map(|start| {
        let authority = argument.get(start..)?;
        let authority = authority.split(|byte| *byte == b'/' || is_end(*byte)).next()?;
        let end = authority.iter().rposition(|byte| *byte == b'@')?;
        let user = authority.get(..end)?;
        if is_token(user.split(|byte| *byte == b':').next()?) {
            return Some((start, start + end));
        }
        let colon = user.iter().position(|byte| *byte == b':')?;
        Some((start + colon + 1, start + end)).filter(|(from, to)| from < to)
    })
}

/// Returns a word that begins as a token does.
fn token(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut start = from;
    let is_edge = |byte: &u8| is_end(*byte) || b"=:/@".contains(byte);
    for word in argument.get(from..)?.split(is_edge) {
        if is_token(word) {
            return Some((start, start + word.len()));
        }
        start += word.len() + 1;
    }
    None
}

fn is_token(word: &[u8]) -> bool {
    word.len() >= TOKEN_BYTES_MIN
        && TOKENS.iter().any(|it| word.starts_with(it))
        && word.iter().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(it))
}

/// Returns true if a name says that its value must not be known.
fn is_telling(name: &[u8]) -> bool {
    (0..name.len()).any(|start| {
        let rest = name.get(start..).unwrap_or(&[]);
        let begins = start == 0 || name.get(start - 1).is_some_and(|it| !it.is_ascii_alphabetic());
        NAMES.iter().any(|wanted| is_at(rest, wanted))
            || begins && SHORT_NAMES.iter().any(|wanted| is_at(rest, wanted))
    })
}

/// Returns true if the text begins with these letters, whatever their case and what joins them, and with no
/// further one: a tokenizer is no token.
fn is_at(text: &[u8], wanted: &[u8]) -> bool {
    let mut rest = text.iter();
    let is_there = wanted.iter().all(|letter| {
        let next = rest.by_ref().find(|byte| !b"-_".contains(byte));
        next.is_some_and(|it| it.to_ascii_lowercase() == *letter)
    });
    is_there && rest.next().is_none_or(|it| !it.is_ascii_alphabetic())
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
