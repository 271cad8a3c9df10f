//! What `lctl get_param` prints: parameters, each with its text behind "=".

use memchr::memchr_iter;

/// A parameter's name and text; a text of several lines begins in the line after the name.
pub type ParameterText<'a> = (&'a str, &'a [u8]);

/// Parts what `lctl get_param` prints into parameters. What comes before the first one has an empty name.
pub fn parameter_text(text: &[u8]) -> impl Iterator<Item = ParameterText<'_>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let start = position;
        if start >= text.len() {
            return None;
        }
        let name = name(&text[start..]);
        let mut value = start + name.map_or(0, |name| name.len() + 1);
        position = end(text, value);
        // "name=" and the text from the next line on.
        if name.is_some() && text.get(value) == Some(&b'\n') {
            value += 1;
        }
        Some((name.unwrap_or_default(), &text[value.min(position)..position]))
    })
}

/// Where the parameter's text ends: at the first line behind its own that begins another one.
fn end(text: &[u8], value: usize) -> usize {
    let line_ends = memchr_iter(b'\n', &text[value..]).map(|place| value + place + 1);
    let mut starts = line_ends.filter(|start| name(&text[*start..]).is_some());
    starts.next().unwrap_or(text.len())
}

/// The name at the beginning of a line: "osd-ldiskfs.fs-OST0000.brw_stats=".
fn name(line: &[u8]) -> Option<&str> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-@:+*".contains(byte);
    let length = line.iter().position(|byte| !is_of_name(byte))?;
    let is_name = length > 0 && line[length] == b'=' && line[0].is_ascii_alphabetic();
    is_name.then(|| std::str::from_utf8(&line[..length]).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Vec<(&str, &str)> {
        let parts = parameter_text(text.as_bytes());
        parts.map(|(name, value)| (name, std::str::from_utf8(value).unwrap())).collect()
    }

    #[test]
    fn short_and_long_forms() {
        let text = "memused=59\nhealth_check=device a reported unhealthy\nNOT HEALTHY\n\
                    mdt.fs-MDT0000.recovery_status=status: WAITING_FOR_CLIENTS\n\
                    obdfilter.fs-OST0000.job_stats=\njob_stats:\n- job_id:          a=b\n\
                    osd-zfs.fs-OST0000.brw_stats=\n\n1:  2\nlast.one=7";
        assert_eq!(
            parts(text),
            [
                ("memused", "59\n"),
                ("health_check", "device a reported unhealthy\nNOT HEALTHY\n"),
                ("mdt.fs-MDT0000.recovery_status", "status: WAITING_FOR_CLIENTS\n"),
                ("obdfilter.fs-OST0000.job_stats", "job_stats:\n- job_id:          a=b\n"),
                ("osd-zfs.fs-OST0000.brw_stats", "\n1:  2\n"),
                ("last.one", "7"),
            ]
        );
        assert_eq!(parts("noise\na=1"), [("", "noise\n"), ("a", "1")]);
        assert_eq!(parts("a=\nb=\n"), [("a", ""), ("b", "")]);
        assert_eq!(parts(""), []);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "([a-c.=\n ]|=\n){0,60}") {
            let kept: usize = parts(&text).iter().map(|(name, value)| {
                let own_line = text.contains(&format!("{name}=\n{value}"));
                let name = if name.is_empty() { 0 } else { name.len() + 1 };
                name + value.len() + usize::from(own_line && name > 0)
            }).sum();
            // The line end behind a name is the only byte that belongs to neither; it is not told apart
            // from the same text elsewhere.
            prop_assert!(kept >= text.len() && kept <= text.len() + text.matches('=').count(), "{kept} of {}", text.len());
        }
    }
}
