//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

mod address;
mod looks;
mod pair;
mod token;
mod user;
mod value;

use address::password_of_address;
use looks::{Looks, OF_A_NAME, OF_AN_ARGUMENT, OF_WHAT_WAS_SEEN};
use pair::{is_attribute_telling, is_text_of_telling, is_value_of_telling};
use token::token;
use user::{has_user, is_curl, is_of_curl, is_user_option};
use value::length_of_value;

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 38] = [
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
    b"clientkey",
    b"sshkey",
    b"signingkey",
    b"masterkey",
    b"sharedkey",
    b"storagekey",
    b"apikeys",
    b"accesskeys",
    b"privatekeys",
    b"accesstokens",
    b"authtokens",
    b"bindpw",
    b"rootpw",
    b"userpw",
    b"adminpw",
    b"dbpw",
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

/// What joins the words of a name.
const JOINS: &[u8] = b"-_.";

/// How many times what is kept of a command is masked.
const MASKED_FOR_KEPT: usize = 16;

/// What stands before the secret in a header of HTTP (RFC 9110, section 11.4).
const SCHEMES: [&[u8]; 6] = [b"basic", b"bearer", b"digest", b"negotiate", b"token", b"apikey"];

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
        && let Some(colon) = argument.iter().position(|byte| *byte == b':')
        && colon + 1 < whole
    {
        return Some((colon + 1, whole));
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

/// Returns the value behind a telling name: `NAME=VALUE`, `name = VALUE`, `name <- VALUE`, `--name=VALUE`, `Name: VALUE`,
/// `{"name": "VALUE"}`, `{name} = VALUE`, `<name>VALUE<`, `Bearer VALUE`; in a script also `--name VALUE`,
/// `"--name", "VALUE"`, `secret_name VALUE`, `-u user:VALUE` and `--user=user:VALUE`.
fn named(argument: &[u8], from: usize, looks: &Looks) -> Option<(usize, usize)> {
    // Where the word before this one begins, if only blanks are between.
    let (mut word, mut earlier) = (0, None);
    for (at, byte) in argument.iter().enumerate() {
        let arrow = length_of_arrow(argument, at);
        let begins = match earlier {
            Some(earlier) if word == at && (arrow > 0 || matches!(byte, b'=' | b':')) => earlier,
            _ => word,
        };
        let is_blank = byte.is_ascii_whitespace();
        let name = match byte {
            b'>' => tag(argument, at).0,
            _ => argument.get(begins..at).unwrap_or(&[]).trim_ascii_end(),
        };
        let name = match byte {
            b'=' if name.is_empty() => key_before(argument, at, looks),
            _ => name,
        };
        let is_separator = arrow > 0
            || matches!(byte, b'=' | b':' | b'>')
            || is_blank && name.eq_ignore_ascii_case(b"bearer")
            || matches!(byte, b'"' | b'\'') && is_key(argument, at);
        let is_told_by_next = || match byte {
            b'"' | b'\'' => is_quoted_option(argument, begins, at),
            // Behind a line, the next thing begins.
            b'\n' => name.starts_with(b"-"),
            _ => is_blank && (name.starts_with(b"-") || is_key_of_a_setting(name)),
        };
        if at >= from && !looks.are_spent() && (is_separator || is_told_by_next()) {
            let name = name.strip_suffix(b"\\").unwrap_or(name);
            let place = Place { at, begins, name, arrow };
            if let Some(found) = value_at(argument, &place, looks).filter(|it| it.0 >= from) {
                return Some(found);
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

/// Where a name ends in an argument, and where it begins.
struct Place<'a> {
    at: usize,
    begins: usize,
    name: &'a [u8],
    /// The bytes of `<-` or `<<-`.
    arrow: usize,
}

/// Returns the bytes of `<-` or `<<-`, by which R sets a variable, if one begins there.
fn length_of_arrow(argument: &[u8], at: usize) -> usize {
    let rest = argument.get(at..).unwrap_or(&[]);
    [&b"<-"[..], b"<<-"].into_iter().find(|it| rest.starts_with(it)).map_or(0, <[u8]>::len)
}

/// Returns the key of `{KEY} =` before this place, as Perl has it, or of `KEY ?=`, as make does; nothing if there is none.
fn key_before<'a>(argument: &'a [u8], at: usize, looks: &Looks) -> &'a [u8] {
    let before = argument.get(..at).unwrap_or(&[]).trim_ascii_end();
    let (text, is_of_make) = match (before.strip_suffix(b"}"), before.strip_suffix(b"?")) {
        (Some(inside), _) => (inside, false),
        (_, Some(before)) => (before.trim_ascii_end(), true),
        _ => return &[],
    };
    let key = text.iter().rposition(|byte| !is_of_word(*byte)).map_or(0, |it| it + 1);
    looks.take(text.len() - key);
    match key.checked_sub(1).and_then(|it| text.get(it)) {
        Some(b'{') => text.get(key..).unwrap_or(&[]),
        _ if is_of_make => text.get(key..).unwrap_or(&[]),
        _ => &[],
    }
}

/// Returns true for the quotation mark that ends an option and nothing else: `["--password", "VALUE"]`.
fn is_quoted_option(argument: &[u8], begins: usize, quote: usize) -> bool {
    let word = argument.get(begins..quote).unwrap_or(&[]);
    let begin = begins.checked_sub(1).and_then(|it| argument.get(it));
    word.starts_with(b"-") && begin == argument.get(quote)
}

/// Returns the value behind a name if it must not be known.
fn value_at(argument: &[u8], place: &Place, looks: &Looks) -> Option<(usize, usize)> {
    let Place { at, begins, name, arrow } = *place;
    let byte = *argument.get(at)?;
    let is_quote = matches!(byte, b'"' | b'\'');
    let is_key = is_quote && is_key(argument, at);
    let is_option = is_quote && !is_key || byte.is_ascii_whitespace();
    let is_curl = name.starts_with(b"-") && is_of_curl(argument, begins, looks);
    let is_user = (is_option || byte == b'=') && is_user_option(name, is_curl);
    looks.take(name.len() * OF_A_NAME);
    let is_telling = is_user
        || byte == b':' && has_user(name, is_curl)
        || is_telling(name)
        || match byte {
            b'>' => {
                is_text_of_telling(argument, at, name, looks)
                    || is_attribute_telling(tag(argument, at).1, looks)
            }
            _ => is_value_of_telling(argument, begins, name, looks),
        };
    if !is_telling {
        return None;
    }
    let besides: &[u8] = match byte {
        _ if is_key => b"}",
        _ if is_quote => b",",
        _ if is_option => b"?",
        _ => b"",
    };
    let start = start_of_value(argument, at + arrow, besides);
    let value = argument.get(start..).unwrap_or(&[]);
    // What a shell takes for an end of the command.
    if is_option && value.first().is_some_and(|it| b"|&;<)".contains(it)) {
        return None;
    }
    // A header, or all that an option is set to, goes on to the end; a part of more does not.
    let is_all = begins == 0 && matches!(byte, b'=' | b':') && name.len() == at;
    let end = if is_all || is_block(argument, at + 1, start) {
        argument.len()
    } else {
        let place = if byte == b'>' { at } else { begins };
        looks.take(value.len());
        start + length_of_value(argument, start, place, is_key)
    };
    let value = argument.get(start..end).unwrap_or(&[]);
    // The user's name stays.
    let colon = || value.iter().position(|byte| *byte == b':').map(|it| it + 1);
    let before = if is_user { colon().unwrap_or(value.len()) } else { 0 };
    let is_next_option = is_option && self::is_option(value);
    Some((start + before, end)).filter(|(start, end)| start < end && !is_next_option)
}

/// Returns where a value begins behind what ends its name; some bytes besides may be between.
fn start_of_value(argument: &[u8], from: usize, besides: &[u8]) -> usize {
    let rest = argument.get(from..).unwrap_or(&[]);
    let is_between = |byte: &u8| {
        byte.is_ascii_whitespace() || b"=:\"'`\\>]".contains(byte) || besides.contains(byte)
    };
    let start = |text: &[u8]| text.iter().position(|it| !is_between(it)).unwrap_or(text.len());
    let first = start(rest);
    let (between, rest) = rest.split_at_checked(first).unwrap_or((rest, &[]));
    // A block of lines in YAML.
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let header = match between.ends_with(b">") {
        true => Some(line),
        false => line.strip_prefix(b"|"),
    };
    let is_of_header = |it: &u8| it.is_ascii_whitespace() || b"+-0123456789".contains(it);
    let is_block = between.contains(&b':') && header.is_some_and(|it| it.iter().all(is_of_header));
    let block = if is_block { line.len() } else { 0 };
    from + first + block + start(rest.get(block..).unwrap_or(&[]))
}

/// Returns true if a value is a block of lines: it goes on to the end, for all that we know.
fn is_block(argument: &[u8], from: usize, start: usize) -> bool {
    let between = argument.get(from..start).unwrap_or(&[]);
    let first_line = between.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    between.contains(&b'\n') && first_line.iter().any(|byte| b"|>".contains(byte))
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the name of the element that begins with the tag which ends there, and what else the tag says; nothing if
/// none does.
fn tag(argument: &[u8], end: usize) -> (&[u8], &[u8]) {
    let before = argument.get(..end).unwrap_or(&[]);
    let begin = before.iter().rposition(|byte| matches!(byte, b'<' | b'>'));
    let begin = begin.filter(|begin| before.get(*begin) == Some(&b'<'));
    let inside = begin.and_then(|begin| before.get(begin + 1..)).unwrap_or(&[]);
    let begins = !inside.starts_with(b"/") && !inside.ends_with(b"/");
    let inside = if begins { inside } else { &[] };
    let name = inside.iter().position(u8::is_ascii_whitespace).unwrap_or(inside.len());
    inside.split_at_checked(name).unwrap_or((inside, &[]))
}

/// Returns true if a quotation mark ends a key: a colon follows, or it is set to something.
fn is_key(argument: &[u8], quote: usize) -> bool {
    let rest = argument.get(quote + 1..).unwrap_or(&[]);
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace() && !b"]}".contains(byte));
    matches!(next, Some(b':' | b'='))
}

/// Returns true if a name says that its value must not be known. Of a path, the last part is its name.
fn is_telling(name: &[u8]) -> bool {
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    (0..name.len()).any(|start| {
        let rest = name.get(start..).unwrap_or(&[]);
        // What joins words is passed over behind the first letter only.
        if rest.first().is_none_or(|it| JOINS.contains(it)) {
            return false;
        }
        NAMES.iter().any(|wanted| is_at(rest, wanted))
            || is_begin_of_word(name, start) && SHORT_NAMES.iter().any(|wanted| is_at(rest, wanted))
    }) || ends_with_short(name)
        || is_key_of_environment(name)
}

/// Returns true where a word of a name begins, also as in `dbPwd`.
fn is_begin_of_word(name: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(1).and_then(|it| name.get(it)) else { return true };
    let is_capital = name.get(start).is_some_and(u8::is_ascii_uppercase);
    !before.is_ascii_alphabetic() || before.is_ascii_lowercase() && is_capital
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

/// Returns true for a variable such as `OPENAI_KEY`. In small letters, keys are too often of something else.
fn is_key_of_environment(name: &[u8]) -> bool {
    let is_of_variable = |it: &u8| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == b'_';
    let begin = name.iter().rposition(|it| !is_of_variable(it)).map_or(0, |it| it + 1);
    let variable = name.get(begin..).unwrap_or(&[]);
    variable.ends_with(b"_KEY") && !variable.ends_with(b"PUBLIC_KEY")
}

/// Returns true for a name such as `SSHPASS` or `DBPWD`.
fn ends_with_short(name: &[u8]) -> bool {
    let ends_with = |end: &[u8]| {
        let from = name.len().checked_sub(end.len());
        from.and_then(|from| name.get(from..)).is_some_and(|it| it.eq_ignore_ascii_case(end))
    };
    ends_with(b"pwd") || ends_with(b"pass") && !NO_PASS.iter().any(|it| ends_with(it))
}

/// Returns true if the text begins with these letters, whatever their case and what joins them, and with no
/// further one: a tokenizer is no token, and neither is the size of one.
fn is_at(text: &[u8], wanted: &[u8]) -> bool {
    let mut rest = text.iter();
    let is_there = wanted.iter().all(|letter| {
        let next = rest.by_ref().find(|byte| !JOINS.contains(byte));
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

#[cfg(test)]
mod tests;
