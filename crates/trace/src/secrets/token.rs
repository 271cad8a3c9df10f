//! Tokens that begin as those of well-known services do.

use super::is_end;
use super::looks::Looks;

/// How the tokens of GitHub, GitLab, Slack, Amazon, Hugging Face and others begin, and JSON Web Tokens.
const BEGINS: [&[u8]; 71] = [
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
    b"ghu_",
    b"ghr_",
    b"glrt-",
    b"sk_live_",
    b"sk_test_",
    b"rk_live_",
    b"xapp-",
    b"xoxa-",
    b"xoxr-",
    b"xoxs-",
    b"hvs.",
    b"ya29.",
    b"SG.",
    b"shpat_",
    b"shpca_",
    b"shppa_",
    b"shpss_",
    b"gldt-",
    b"glcbt-",
    b"glptt-",
    b"glsoat-",
    b"gloas-",
    b"glft-",
    b"glimt-",
    b"glagent-",
    b"glffct-",
    b"xoxe-",
    b"xoxe.",
    b"rk_test_",
    b"whsec_",
    b"hvb.",
    b"hvr.",
    b"dckr_oat_",
    b"GOCSPX-",
    b"dapi",
    b"dop_v1_",
    b"gsk_",
    b"nvapi-",
    b"tskey-",
    b"ATATT",
    b"ATCTT",
    b"ATBB",
    b"lin_api_",
    b"PMAK-",
    b"AGE-SECRET-KEY-1",
    b"NRAK-",
    b"sntrys_",
    b"pscale_tkn_",
    b"sq0atp-",
    b"pplx-",
    b"figd_",
    b"rubygems_",
    b"dt0c01.",
    b"fio-u-",
    b"atlasv1.",
];
const BYTES_MIN: usize = 16;

/// Letters and digits in a row that no name of a file has, but a token that is joined to one.
const RANDOM_BYTES_MIN: usize = 16;

/// Returns the next token, from there on: it begins behind anything but a letter or a digit, and goes on as far as tokens do.
pub(super) fn token(argument: &[u8], from: usize, looks: &Looks) -> Option<(usize, usize)> {
    (from..argument.len())
        .take_while(|_| !looks.are_spent())
        .find_map(|start| Some((start, end_of_token(argument, start, looks)?)))
}

/// Returns true for a word that is a token.
pub(super) fn is_token(word: &[u8]) -> bool {
    end_of_token(word, 0, &Looks::for_bytes(word.len())) == Some(word.len())
}

fn end_of_token(argument: &[u8], start: usize, looks: &Looks) -> Option<usize> {
    let rest = argument.get(start..)?;
    let begin = BEGINS.iter().find(|it| rest.starts_with(it))?;
    let length = rest.iter().position(|it| !is_of_token(*it)).unwrap_or(rest.len());
    looks.take(length);
    let body = rest.get(begin.len()..length).filter(|_| length >= BYTES_MIN)?;
    if !is_mixed(body) || is_name_of_file(body) && !is_random(body) {
        return None;
    }
    let is_whole = rest.get(length).is_none_or(|it| is_edge(*it));
    let is_it = match (bytes_before(argument, start), is_whole) {
        ([], true) => true,
        ([.., edge], true) if is_edge(*edge) => true,
        ([.., b'_' | b'-' | b'.'], _) => is_random(body),
        (before @ [.., letter], _) if letter.is_ascii_alphanumeric() => {
            is_escape(before) && is_mixed(body)
        }
        // A part of something: `hf_transfer_models[0]` is a variable.
        _ => is_mixed(body),
    };
    is_it.then_some(start + length)
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

fn is_edge(byte: u8) -> bool {
    is_end(byte) || b"=:/@".contains(&byte)
}

fn bytes_before(argument: &[u8], start: usize) -> &[u8] {
    argument.get(start.saturating_sub(3)..start).unwrap_or(&[])
}

/// Returns true if a letter or digit is the last of a character that is written with several: `\n`, `%20`.
fn is_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [b'%', digits @ ..] => digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

/// Returns true for what ends as names of files do: `models_2024.bin`.
fn is_name_of_file(body: &[u8]) -> bool {
    const EXTENSION_BYTES: core::ops::RangeInclusive<usize> = 1..=4;
    let is_short = |it: &[u8]| EXTENSION_BYTES.contains(&it.len());
    let is_plain = |it: &[u8]| it.iter().all(u8::is_ascii_alphanumeric);
    let end = body.iter().rposition(|byte| *byte == b'.').and_then(|at| body.get(at + 1..));
    end.is_some_and(|it| is_short(it) && is_plain(it))
}

/// Returns true for what is more than words of small letters.
fn is_mixed(body: &[u8]) -> bool {
    body.iter().any(|it| it.is_ascii_digit() || it.is_ascii_uppercase())
}

fn is_random(body: &[u8]) -> bool {
    body.split(|it| !it.is_ascii_alphanumeric())
        .any(|part| part.len() >= RANDOM_BYTES_MIN && part.iter().any(u8::is_ascii_digit))
}
