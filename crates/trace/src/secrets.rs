//! Secrets in command lines: they do not go into a recording.
//!
//! Nobody can know them all. What is known: values of options and variables with a telling name, what
//! follows such an option, passwords in addresses, and tokens that begin as those of well-known
//! services do.

/// What stands in a secret's place.
const MASK: &[u8] = b"***";

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 13] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"secret",
    b"secrets",
    b"token",
    b"credential",
    b"credentials",
    b"apikey",
    b"accesskey",
    b"privatekey",
    b"authkey",
    b"authorization",
];

/// Options whose value is a user's name, and after a colon the password (curl, wget, rsync).
const USER_OPTIONS: [&[u8]; 3] = [b"-u", b"--user", b"--proxy-user"];

/// How the tokens of GitHub, GitLab, Slack, Amazon, Hugging Face and others begin, and JSON Web Tokens.
const TOKENS: [&[u8]; 10] = [
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"github_pat_",
    b"glpat-",
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
        let rest = arguments.get(at..).unwrap_or(&[]);
        let length = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let argument = rest.get(..length).unwrap_or(&[]);
        let secret = secret(argument, before);
        before = Before::of(argument);
        let Some((start, end)) = secret else {
            at += length + 1;
            continue;
        };
        let kept = replace(arguments, at + start, at + end);
        // The rest of an argument behind a secret is looked at again: it is not one by itself.
        at += length - (end - start) + kept + 1;
    }
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
        match is_option && is_telling(argument) {
            true => Before::SecretOption,
            false => Before::Other,
        }
    }
}

/// Where in an argument the secret is.
fn secret(argument: &[u8], before: Before) -> Option<(usize, usize)> {
    let whole = argument.len();
    let find = |byte: u8| argument.iter().position(|it| *it == byte);
    if before == Before::SecretOption && !argument.starts_with(b"-") && whole > 0 {
        return Some((0, whole));
    }
    if before == Before::UserOption
        && let Some(colon) = find(b':')
    {
        return Some((colon + 1, whole));
    }
    // NAME=VALUE, --name=VALUE, "Name: VALUE".
    let separator = argument.iter().position(|it| matches!(it, b'=' | b':'));
    if let Some(separator) = separator
        && argument.get(..separator).is_some_and(is_telling)
        && separator + 1 < whole
    {
        return Some((separator + 1, whole));
    }
    password_of_address(argument).or_else(|| token(argument))
}

/// `scheme://user:PASSWORD@host`.
fn password_of_address(argument: &[u8]) -> Option<(usize, usize)> {
    let start = argument.windows(3).position(|it| it == b"://")? + 3;
    let authority = argument.get(start..)?;
    let authority = authority.split(|byte| *byte == b'/').next()?;
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority.get(..end)?.iter().position(|byte| *byte == b':')?;
    Some((start + colon + 1, start + end))
}

fn token(argument: &[u8]) -> Option<(usize, usize)> {
    let value = argument.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1);
    let token = argument.get(value..)?;
    let is_token = token.len() >= TOKEN_BYTES_MIN && TOKENS.iter().any(|it| token.starts_with(it));
    let is_one_word = token.iter().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(it));
    (is_token && is_one_word).then_some((value, argument.len()))
}

/// True when a name says that its value must not be known.
fn is_telling(name: &[u8]) -> bool {
    NAMES
        .iter()
        .any(|wanted| (0..name.len()).any(|start| is_at(name.get(start..).unwrap_or(&[]), wanted)))
}

/// True when the text begins with these letters, whatever their case and what joins them, and with no
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
        ] {
            assert_eq!(masked(given), kept);
        }
    }

    #[test]
    fn everything_else_stays() {
        for given in [
            "ior -a POSIX -t 1m -b 16m -o /scratch/f",
            "app --input=a.nml x=1 key=value 12:30",
            "app --password",
            "app --password --fast",
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
