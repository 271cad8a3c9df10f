//! Trouble with a store, in words.

use crate::output::message;

/// What goes wrong just now with one kind of work, so that it is told when it begins and when it is over, and not every second.
#[derive(Default)]
pub struct Trouble {
    now: Option<String>,
}

impl Trouble {
    /// Tells what went wrong with a piece of work that is done now, if anything did and was not told yet.
    pub fn tell(&mut self, trouble: Option<impl std::fmt::Display>) {
        let trouble = trouble.map(|it| it.to_string());
        match (&self.now, &trouble) {
            (before, Some(trouble)) if before.as_ref() != Some(trouble) => {
                message(&format!("warning: {trouble}"));
            }
            (Some(_), None) => message("monitor: the store works again"),
            _ => {}
        }
        self.now = trouble;
    }
}
