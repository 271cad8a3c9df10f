//! Names that say that their value must not be known.

/// Parts of the names of what must not be known, in small letters and without dashes and underscores.
const NAMES: [&[u8]; 41] = [
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
    b"hmackey",
    b"subscriptionkey",
    b"wandbkey",
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

/// Returns true if a name says that its value must not be known. Of a path, the last part is its name.
pub(super) fn is_telling(name: &[u8]) -> bool {
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
pub(super) fn is_key_of_a_setting(argument: &[u8]) -> bool {
    let is_joined = |it: &u8| it.is_ascii_alphanumeric() || *it == b'_';
    let ends_with = |wanted: &&[u8]| {
        let letters = argument.iter().rev().filter(|it| **it != b'_');
        letters.map(u8::to_ascii_lowercase).take(wanted.len()).eq(wanted.iter().rev().copied())
    };
    argument.contains(&b'_') && argument.iter().all(is_joined) && NAMES.iter().any(ends_with)
}

/// Returns true for a variable such as `OPENAI_KEY` or `GH_PAT`. In small letters, keys are too often of something else.
fn is_key_of_environment(name: &[u8]) -> bool {
    let is_of_variable = |it: &u8| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == b'_';
    let begin = name.iter().rposition(|it| !is_of_variable(it)).map_or(0, |it| it + 1);
    let variable = name.get(begin..).unwrap_or(&[]);
    variable.ends_with(b"_PAT") || variable.ends_with(b"_KEY") && !variable.ends_with(b"PUBLIC_KEY")
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
