//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 15] = [
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
    b"authorization",
];

/// Short names that are also parts of other words: only where a word begins.
const SHORT_NAMES: [&[u8]; 4] = [b"pass", b"pwd", b"pw", b"bearer"];

/// Options whose value is a user's name, and after a colon the password (curl, wget, rsync).
const USER_OPTIONS: [&[u8]; 3] = [b"-u", b"--user", b"--proxy-user"];

/// How the tokens of GitHub, GitLab, Slack, Amazon, Hugging Face and others begin, and JSON Web Tokens.
const TOKENS: [&[u8]; 11] = [
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"github_pat_",
    b"glpat-",
    b"sk-",
    b"xoxb-",
    b"xoxp-",
    b"AKIA",
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

/// Returns true for `--option=value`.
fn is_set(argument: &[u8], option: &[u8]) -> bool {
    option.starts_with(b"--")
        && argument.strip_prefix(option).is_some_and(|it| it.starts_with(b"="))
}

/// Returns whether a byte ends a word of an argument.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"&;,?\"'(){}".contains(&byte)
}

/// Returns the value behind a telling name: `NAME=VALUE`, `--name=VALUE`, `Name: VALUE`, `{"name": "VALUE"}`, `Bearer VALUE`;
/// in a script also `--name VALUE` and `-u user:VALUE`.
fn named(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let whole = argument.len();
    let mut word = 0;
    for (at, byte) in argument.iter().enumerate() {
        let name = argument.get(word..at).unwrap_or(&[]);
        let is_option = *byte == b' ' && name.starts_with(b"-");
        let is_separator = matches!(byte, b'=' | b':')
            || *byte == b' ' && name.eq_ignore_ascii_case(b"bearer")
            || *byte == b'"' && is_key(argument, at);
        let is_user = is_option && USER_OPTIONS.contains(&name);
        if is_user || (is_separator || is_option) && is_telling(name) {
            let rest = argument.get(at..).unwrap_or(&[]);
            let blank = |byte: &u8| matches!(byte, b'=' | b':' | b' ' | b'"' | b'\'' | b'\\');
            let start = at + rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
            let value = argument.get(start..).unwrap_or(&[]);
            // A header, or all that an option is set to, goes on to the end; a part of more does not.
            let is_all = word == 0 && !matches!(byte, b'"' | b' ');
            let end = if is_all { whole } else { start + length_of_value(argument, start) };
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

/// Returns how long the value is that begins there: to the quotation mark that it began with, or to the end of the
/// word.
fn length_of_value(argument: &[u8], start: usize) -> usize {
    let value = argument.get(start..).unwrap_or(&[]);
    let quote = start.checked_sub(1).and_then(|before| argument.get(before));
    let quote = quote.filter(|byte| matches!(byte, b'"' | b'\''));
    let in_quotes = quote.and_then(|quote| value.iter().position(|byte| byte == quote));
    let word = || value.iter().position(|byte| is_end(*byte)).unwrap_or(value.len());
    in_quotes.unwrap_or_else(word)
}

/// `scheme://user:PASSWORD@host` and `scheme://TOKEN@host`.
fn password_of_address(argument: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = argument.get(from..)?;
    let start = from + rest.windows(3).position(|it| it == b"://")? + 3;
    let authority = argument.get(start..)?;
    let authority = authority.split(|byte| *byte == b'/' || is_end(*byte)).next()?;
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let user = authority.get(..end)?;
    if is_token(user.split(|byte| *byte == b':').next()?) {
        return Some((start, start + end));
    }
    let colon = user.iter().position(|byte| *byte == b':')?;
    Some((start + colon + 1, start + end))
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
mod tests {
    use super::*;

    fn masked(arguments: &str) -> String {
        let mut bytes: Vec<u8> =
            arguments.split(' ').flat_map(|it| [it.as_bytes(), b"\0"].concat()).collect();
        bytes.extend([0; 7]);
        mask(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        text.trim_end_matches('\0').replace('\0', " ")
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for (given, kept) in [
            ("app --password=hunter2 in.nml", "app --password=*** in.nml"),
            ("app --password hunter2 in.nml", "app --password *** in.nml"),
            ("app --db-passwd hunter2 --fast", "app --db-passwd *** --fast"),
            ("app -token abcdefgh", "app -token ***"),
            ("env AWS_SECRET_ACCESS_KEY=abc/def run", "env AWS_SECRET_ACCESS_KEY=*** run"),
            ("env API_KEY=x run", "env API_KEY=* run"),
            ("env api-key=xyz run", "env api-key=*** run"),
            ("curl -H Authorization:Bearer-abc https://h/", "curl -H Authorization:*** https://h/"),
            ("curl -u me:pw https://h/", "curl -u me:** https://h/"),
            ("curl https://me:longpassword@h:80/p x", "curl https://me:***@h:80/p x"),
            ("git clone ghp_0123456789abcdef01 d", "git clone *** d"),
            ("x key=eyJhbGciOiJIUzI1NiJ9.e30.abc", "x key=***"),
            ("a --password one --secret two", "a --password *** --secret ***"),
            ("wget --header=Authorization:+Bearer-abcd u", "wget --header=Authorization:*** u"),
            ("docker run --env=DB_PASSWORD=abcd x", "docker run --env=DB_PASSWORD=*** x"),
            (
                "git clone https://ghp_0123456789abcdef@github.com/x",
                "git clone https://***@github.com/x",
            ),
            (
                "git clone https://ghp_0123456789abcdef:x@github.com/x",
                "git clone https://***@github.com/x",
            ),
            ("curl https://h/?token=abcd&n=1", "curl https://h/?token=***&n=1"),
            ("j jdbc:mysql://h/d?user=u&password=abcd", "j jdbc:mysql://h/d?user=u&password=***"),
            ("c Server=h;Password=abcd;Pooling=1", "c Server=h;Password=***;Pooling=1"),
            (
                "curl --user=me:abcd --pass abcd --pwd=abcd",
                "curl --user=me:*** --pass *** --pwd=***",
            ),
            (
                "x sk-0123456789abcdef https://a:abcd@h,https://b:abcd@g",
                "x *** https://a:***@h,https://b:***@g",
            ),
            // A service's token as the user, with no password.
            ("curl -u ghp_0123456789abcdef01: https://h/", "curl -u ***: https://h/"),
            (
                "app --db-pass=abcd MY_PWD=abcd my-pass=abcd",
                "app --db-pass=*** MY_PWD=*** my-pass=***",
            ),
            ("x {\"password\":\"abcd\",\"n\":1}", "x {\"password\":\"***\",\"n\":1}"),
            ("app db.pass=abcd db2pw=abcd", "app db.pass=*** db2pw=***"),
            // The password of an address is also behind a telling name, and may look like a token.
            ("x https://token:abcdef@h/p", "x https://token:***"),
            ("x https://me:ghp_0123456789abcdef:x@h/p", "x https://me:***@h/p"),
            ("x https://me:***@h/p https://me:@h/p", "x https://me:***@h/p https://me:@h/p"),
        ] {
            assert_eq!(masked(given), kept);
        }
    }

    #[test]
    fn scripts_are_looked_through() {
        let mut script = *b"sh\0-c\0x=1 PASSWORD=abcd app --token=efgh 'Bearer ijkl'\0";
        mask(&mut script);
        let text = String::from_utf8_lossy(&script);
        assert!(text.contains("x=1 PASSWORD=*** app --token=*** 'Bearer ***'"), "{text}");
        for (script, kept) in [
            ("app --token abcd --fast", "app --token *** --fast"),
            ("app --password 'one two' in", "app --password '***' in"),
            ("--password abcd run", "--password *** run"),
            ("curl -u me:abcd https://a:abcd@h/p", "curl -u me:*** https://a:***@h/p"),
            (
                "curl -d '{\"password\": \"one two\", \"n\": 1}' h",
                "curl -d '{\"password\": \"***\", \"n\": 1}' h",
            ),
            (
                "curl -d \"{\\\"token\\\" : \\\"abcd\\\"}\"",
                "curl -d \"{\\\"token\\\" : \\\"***\"}\"",
            ),
            ("app --password --fast; ls --token", "app --password --fast; ls --token"),
            ("app --max-tokens 4096 -u me && x", "app --max-tokens 4096 -u me && x"),
            ("echo the password is not told", "echo the password is not told"),
        ] {
            let mut bytes = format!("sh\0-c\0{script}\0").into_bytes();
            mask(&mut bytes);
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(text.split('\0').nth(2).unwrap(), kept);
        }
        let harmless = *b"sh\0-c\0ask \"password\" twice\0";
        let mut script = harmless;
        mask(&mut script);
        assert_eq!(script, harmless, "a word in quotes that nothing is set to");
    }

    #[test]
    fn everything_else_stays() {
        for given in [
            "ior -a POSIX -t 1m -b 16m -o /scratch/f",
            "app --input=a.nml x=1 key=value 12:30",
            "app --password",
            "app --password --fast",
            "app --compass=north --bypass=1 https://me@host/path",
            "curl -u me https://host:80/a@b",
            "app tokens.txt hf_short --max-tokens=4096 --tokenizer=bpe",
            "",
        ] {
            assert_eq!(masked(given), given);
        }
    }

    #[test]
    fn what_was_cut_off_is_no_trouble() {
        let mut bytes = *b"app\0--password=hunter";
        mask(&mut bytes);
        assert_eq!(&bytes[..], b"app\0--password=***\0\0\0");
        mask(&mut []);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_nothing_grows(mut bytes in proptest::collection::vec(
            proptest::sample::select(b"\0-=:/@_psword".to_vec()), 0..80)) {
            let arguments = bytes.iter().filter(|byte| **byte == 0).count();
            mask(&mut bytes);
            proptest::prop_assert!(bytes.iter().filter(|byte| **byte == 0).count() >= arguments);
        }
    }
}
