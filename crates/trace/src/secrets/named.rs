//! Values behind telling names, in whatever form the two are put together.

use super::looks::{Looks, OF_A_NAME};
use super::pair::{is_attribute_telling, is_text_of_telling, is_value_of_telling};
use super::tag::tag;
use super::telling::{is_key_of_a_setting, is_telling};
use super::user::{has_user, is_of_curl, is_user_option, password_in};
use super::value::{length_of_value, quote_before};
use super::{is_end, is_option};

/// Returns the value behind a telling name: `NAME=VALUE`, `name = VALUE`, `name <- VALUE`, `--name=VALUE`, `Name: VALUE`,
/// `{"name": "VALUE"}`, `{name} = VALUE`, `<name>VALUE<`, `Bearer VALUE`; in a script also `--name VALUE`,
/// `"--name", "VALUE"`, `("name", "VALUE"`, `setenv NAME VALUE`, `secret_name VALUE`, `-u user:VALUE` and `--user=user:VALUE`.
pub(super) fn named(argument: &[u8], from: usize, looks: &Looks) -> Option<(usize, usize)> {
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
            b'"' | b'\'' => {
                is_quoted_option(argument, begins, at)
                    || text_of_call(argument, begins, at).is_some()
            }
            // Behind a line, the next thing begins.
            b'\n' => name.starts_with(b"-"),
            _ => {
                let is_set = || earlier.is_some_and(|it| is_setting(argument.get(it..begins)));
                is_blank && (name.starts_with(b"-") || is_key_of_a_setting(name) || is_set())
            }
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

/// Returns where the second of several texts begins that a function gets, with its quotation mark, if another mark ends the first: `setenv("NAME", "VALUE")`, also with
/// backslashes before the marks, or a letter as in `f'…'`.
fn text_of_call(argument: &[u8], begins: usize, quote: usize) -> Option<usize> {
    const BEFORE_MARK: usize = 4;
    let opening = begins.checked_sub(1)?;
    let before = argument.get(..opening)?;
    let letters = before.iter().rev().take_while(|it| !b"( \t\n".contains(it)).take(BEFORE_MARK);
    let call = before.get(..before.len() - letters.count())?.trim_ascii_end();
    if argument.get(opening) != argument.get(quote) || !call.ends_with(b"(") {
        return None;
    }
    let behind =
        argument.get(quote + 1..)?.trim_ascii_start().strip_prefix(b",")?.trim_ascii_start();
    let mark = behind.iter().take(BEFORE_MARK).position(|it| matches!(it, b'"' | b'\''))?;
    Some(argument.len() - behind.len() + mark)
}

/// Returns true for the word by which csh and fish set a variable: `setenv NAME VALUE`, `set -gx NAME VALUE`, `set --export NAME VALUE`.
fn is_setting(word: Option<&[u8]>) -> bool {
    let word = word.unwrap_or(&[]).trim_ascii();
    let flags = word.strip_prefix(b"-").unwrap_or(&[]);
    word == b"setenv"
        || word == b"--export"
        || flags.contains(&b'x') && flags.iter().all(u8::is_ascii_alphabetic) && flags.len() <= 3
}

/// Returns the value behind a name if it must not be known.
fn value_at(argument: &[u8], place: &Place, looks: &Looks) -> Option<(usize, usize)> {
    let Place { at, begins, name, arrow } = *place;
    let byte = *argument.get(at)?;
    let is_quote = matches!(byte, b'"' | b'\'');
    let is_key = is_quote && is_key(argument, at);
    let is_before_value = is_quote && !is_key || byte.is_ascii_whitespace();
    let is_curl = name.starts_with(b"-") && is_of_curl(argument, begins, looks);
    let is_user = (is_before_value || byte == b'=') && is_user_option(name, is_curl);
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
        _ if is_before_value => b"?",
        _ => b"",
    };
    let behind = if is_quote { text_of_call(argument, begins, at) } else { None };
    let start = start_of_value(argument, behind.unwrap_or(at + arrow), besides);
    let value = argument.get(start..).unwrap_or(&[]);
    // What a shell takes for an end of the command.
    let is_end_of_command = value.first().is_some_and(|it| b"|&;<)".contains(it));
    if is_before_value && is_end_of_command && quote_before(argument, start).is_none() {
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
    let before = if is_user { password_in(value).unwrap_or(value.len()) } else { 0 };
    let is_next_option = is_before_value && is_option(value);
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

/// Returns true if a quotation mark ends a key: a colon follows, or it is set to something.
fn is_key(argument: &[u8], quote: usize) -> bool {
    let rest = argument.get(quote + 1..).unwrap_or(&[]);
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace() && !b"]}".contains(byte));
    matches!(next, Some(b':' | b'='))
}
