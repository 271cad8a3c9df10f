//! Options whose value is a user's name or a file's, and after a colon the password; after `%` for smbclient and its like.

use super::looks::Looks;

/// Options of curl, wget, smbclient and others.
const OPTIONS: [&[u8]; 6] = [b"-u", b"-U", b"--user", b"--proxy-user", b"--cert", b"--proxy-cert"];

/// curl's short options without a value (curl(1)): another one may follow in the same word. Other programs mean something else by a `u` there, as `rsync -avu`.
const FLAGS_OF_CURL: &[u8] = b"#012346:aBfgGiIjJklLMnNOpqRsSvVZ";

/// Returns true for an option whose value is the next word.
pub(super) fn is_user_option(word: &[u8], is_of_curl: bool) -> bool {
    OPTIONS.contains(&word) || is_of_curl && value_in(word).is_some_and(<[u8]>::is_empty)
}

/// Returns true for `--user=value`, `-uvalue` and curl's `-suvalue`.
pub(super) fn has_user(word: &[u8], is_of_curl: bool) -> bool {
    let is_set = |option: &&[u8]| {
        let Some(value) = word.strip_prefix(*option) else { return false };
        // A short one may go without.
        value.starts_with(b"=") || !option.starts_with(b"--") && !value.is_empty()
    };
    OPTIONS.iter().any(is_set) || is_of_curl && value_in(word).is_some_and(|it| !it.is_empty())
}

/// Returns where the password begins in the value of such an option; `None` if there is none: it is an address, or says how a time is to be told.
pub(super) fn password_in(value: &[u8]) -> Option<usize> {
    let at = value.iter().position(|byte| matches!(byte, b':' | b'%'))?;
    let (before, behind) = value.split_at_checked(at + 1)?;
    let is_address = before.starts_with(b"git+") || before.starts_with(b"http");
    let is_other = is_address && behind.starts_with(b"//") || before == b"+%";
    (!is_other).then_some(at + 1)
}

/// Returns what follows `-u`, `-U` or `-E`, perhaps behind other letters.
fn value_in(word: &[u8]) -> Option<&[u8]> {
    let letters = word.strip_prefix(b"-")?;
    let at = letters.iter().position(|it| !FLAGS_OF_CURL.contains(it))?;
    letters.get(at).filter(|it| matches!(it, b'u' | b'U' | b'E'))?;
    letters.get(at + 1..)
}

/// Returns true for the program, by whatever path.
pub(super) fn is_curl(word: &[u8]) -> bool {
    word.rsplit(|byte| *byte == b'/').next() == Some(b"curl")
}

/// Returns whether the command of a script that a word at `begins` belongs to is curl.
pub(super) fn is_of_curl(script: &[u8], begins: usize, looks: &Looks) -> bool {
    let before = script.get(..begins).unwrap_or(&[]);
    let command = before.rsplit(|byte| b";&|\n(`".contains(byte)).next().unwrap_or(&[]);
    looks.take(command.len());
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"'".contains(byte);
    command.split(is_edge).any(is_curl)
}
