//! Paths in commands that are shown to be copied.

use std::path::Path;

/// Returns a path as a shell takes it for one argument, whatever is in its name, and a program for no option.
pub fn argument(path: &Path) -> String {
    let shown = path.to_string_lossy();
    let shown = if shown.starts_with('-') { format!("./{shown}") } else { shown.into_owned() };
    // What has a zero in it is no path.
    shlex::try_quote(&shown).map_or_else(|_| shown.clone(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_it_for_one_word() {
        let shown = |path: &str| argument(Path::new(path));
        assert_eq!(shown("runs/many-pairs"), "runs/many-pairs");
        assert_eq!(shown("a; touch pwned; :"), "'a; touch pwned; :'");
        assert_eq!(shown("-o"), "./-o");
        assert_eq!(shown("~"), "'~'");
        assert_eq!(shlex::split(&shown("it's")).unwrap(), ["it's"]);
    }
}
