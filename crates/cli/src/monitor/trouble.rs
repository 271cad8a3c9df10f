//! Trouble that comes and goes, in words.

use crate::output::message;

/// What goes wrong just now with one kind of work, so that it is told when it begins and when it is over, and not every second.
pub struct Trouble {
    now: Option<String>,
    /// What is said when it is over.
    over: &'static str,
}

impl Trouble {
    /// Trouble with the store.
    pub fn with_store() -> Self {
        Self { now: None, over: "the store works again" }
    }

    /// Trouble with looking for what there is.
    pub fn with_looking() -> Self {
        Self { now: None, over: "everything can be looked into again" }
    }

    /// Tells what went wrong with a piece of work that is done now, if anything did and was not told yet.
    pub fn tell(&mut self, trouble: Option<impl std::fmt::Display>) {
        let trouble = trouble.map(|it| it.to_string());
        match (&self.now, &trouble) {
            (before, Some(trouble)) if before.as_ref() != Some(trouble) => {
                message(&format!("warning: {trouble}"));
            }
            (Some(_), None) => message(&format!("monitor: {}", self.over)),
            _ => {}
        }
        self.now = trouble;
    }
}
