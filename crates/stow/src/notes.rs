//! What is noted beside the logs of a container, all of them together.
//!
//! Whoever forged a container decides how many logs and how many different notes there are. So each place is looked at once, and for others' containers as little as will do.

use crate::error::Attempt;
use crate::home::{Home, Looks};
use crate::listed::Freshness;
use crate::log_places::{HeldPlace, LogPlaces, Use, sort_by_place};
use crate::noted::{Nears, Standing, standing};
use crate::rights::OTHERS_WRITE;
use crate::{Container, ListedLog, StowError};

/// Most different notes that are kept. Those of a container are the same but where some of its targets could not be reached.
const NOTES_MAX: usize = 64;

/// What is noted beside the logs of a container.
pub(crate) struct Notes {
    /// What each note says; `None` where there are logs without a note that its owner wrote.
    told: Vec<Option<Home>>,
    /// Logs that could be reached.
    reached: usize,
    /// Whether all could be.
    are_all: bool,
}

/// One look at the notes.
struct Look<'a> {
    container: &'a Container,
    changed: LogPlaces<'a>,
    read: LogPlaces<'a>,
    looks: Looks,
}

impl Notes {
    /// Has one note only, or that there is none.
    pub(crate) fn of_one(told: Option<Home>) -> Self {
        Notes { told: vec![told], reached: 1, are_all: true }
    }

    /// Looks where the logs are changed; where they cannot be, where they are read.
    pub(crate) fn where_changed(container: &Container) -> Result<Self, StowError> {
        Self::of(container, |look, listed, notes| match look.where_changed(listed) {
            Some(told) => notes.add(Some(told)),
            None => notes.add(look.where_read(listed)),
        })
    }

    /// Looks where they are read.
    pub(crate) fn where_read(container: &Container) -> Result<Self, StowError> {
        Self::of(container, |look, listed, notes| notes.add(look.where_read(listed)))
    }

    /// Looks also where they are read if they can be changed.
    pub(crate) fn everywhere(container: &Container) -> Result<Self, StowError> {
        Self::of(container, |look, listed, notes| {
            if let Some(told) = look.where_changed(listed) {
                notes.add(Some(told));
            }
            notes.add(look.where_read(listed));
        })
    }

    fn of(
        container: &Container,
        mut ask: impl FnMut(&mut Look, &ListedLog, &mut Notes),
    ) -> Result<Self, StowError> {
        let mut notes = Notes { told: Vec::new(), reached: 0, are_all: true };
        let mut listed = container.logs()?;
        sort_by_place(&mut listed, |it| it);
        let (changed, read) =
            (LogPlaces::of(container, Use::Change), LogPlaces::of(container, Use::Read));
        let mut look = Look { container, changed, read, looks: Looks::of(container) };
        let mut patience = container.patience();
        for listed in listed {
            patience.require().attempt("look for all logs of", container.path())?;
            let before = notes.reached;
            ask(&mut look, &listed, &mut notes);
            if notes.reached > before {
                patience.allow_for_log();
            }
        }
        Ok(notes)
    }

    /// Adds what is beside a log; nothing if that cannot be reached.
    fn add(&mut self, told: Option<Option<Home>>) {
        let Some(told) = told else {
            self.are_all = false;
            return;
        };
        self.reached += 1;
        // Too many cannot tell whose all logs are.
        let told = told.filter(|_| self.told.len() < NOTES_MAX);
        if !self.told.contains(&told) {
            self.told.push(told);
        }
    }

    /// Returns whether all logs could be reached.
    pub(crate) fn are_all(&self) -> bool {
        self.are_all
    }

    /// Returns whether all notes say this.
    pub(crate) fn are_all_like(&self, home: &Home) -> bool {
        self.told.iter().all(|it| it.as_ref() == Some(home))
    }

    /// Returns what all notes together say: whoever forged a container can have laid a log and a note of his own beside those of another.
    pub(crate) fn standing(&self, container: &Container) -> Result<Standing, StowError> {
        self.standing_by(container, Nears::that_were(Freshness::Lately))
    }

    /// Does the same for whoever makes logs his: by what is there at this moment.
    pub(crate) fn standing_now(&self, container: &Container) -> Result<Standing, StowError> {
        self.standing_by(container, Nears::that_were(Freshness::Now))
    }

    fn standing_by(&self, container: &Container, mut nears: Nears) -> Result<Standing, StowError> {
        let mut together = Standing::Original;
        for noted in &self.told {
            let told = match noted {
                Some(noted) => standing(container, noted, &mut nears)?,
                None => Standing::Unnoted,
            };
            match told {
                // Nobody can make these his.
                Standing::Copy(_) => return Ok(told),
                Standing::Original => {}
                told if together == Standing::Original => together = told,
                _ => {}
            }
        }
        Ok(together)
    }
}

impl Look<'_> {
    /// Returns what is noted where a log is changed; `None` if it cannot be, as all logs of others.
    fn where_changed(&mut self, listed: &ListedLog) -> Option<Option<Home>> {
        if !self.container.is_own() {
            return None;
        }
        let (held, _) = self.changed.log(listed).ok()?;
        Some(held.note(&mut self.looks).cloned())
    }

    /// Returns what the owner noted where a log is read, or that this is nothing; `None` if it cannot be read.
    fn where_read(&mut self, listed: &ListedLog) -> Option<Option<Home>> {
        let (held, _) = self.read.log(listed).ok()?;
        let is_of_owner = is_of_owner(&held, self.container)?;
        Some(if is_of_owner { held.note(&mut self.looks).cloned() } else { None })
    }
}

/// Returns whether only the container's owner may have written what is noted in a place.
fn is_of_owner(held: &HeldPlace, container: &Container) -> Option<bool> {
    let facts = held.place.directory().facts().ok()?;
    Some(facts.st_uid == container.owner() && facts.st_mode & OTHERS_WRITE == 0)
}
