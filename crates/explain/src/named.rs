//! Paths that the command line of a process names.

use crate::process::Process;

/// What the command line of a process names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    paths: Vec<String>,
}

impl Named {
    /// Every argument that can be a path, and what is behind the `=` of an option.
    pub fn by(process: &Process) -> Self {
        let arguments = process.arguments.iter().skip(1).filter(|argument| !argument.is_empty());
        let values = arguments.clone().filter_map(|argument| Some(argument.split_once('=')?.1));
        let paths = arguments.map(String::as_str).chain(values).filter(|it| !it.is_empty());
        let absolute = |path: &str| {
            if path.starts_with('/') {
                normal(path)
            } else {
                normal(&format!("{}/{path}", process.directory))
            }
        };
        Named { paths: paths.map(absolute).collect() }
    }

    /// True for a path that is named, or that is below one.
    pub fn names(&self, path: &str) -> bool {
        let path = normal(path);
        self.paths.iter().any(|named| is_below(&path, named))
    }
}

/// True for the directory itself and what is below it.
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the path without `.`, `..` and empty parts, by its letters alone.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_names_is_the_programs() {
        let named = |paths: &[&str]| Named { paths: paths.iter().map(|it| normal(it)).collect() };
        assert!(named(&["/etc"]).names("/etc/hosts") && named(&["/etc/"]).names("/etc"));
        assert!(named(&["/"]).names("/usr/share/x"));
        assert!(!named(&["/etc/ssh"]).names("/etc/hosts"));
        assert!(!named(&["/et"]).names("/etc/hosts") && !named(&[]).names("/etc/hosts"));
        assert!(named(&["/usr/lib/../share"]).names("/usr/share/x"));
    }
}
