//! What the live view follows: this machine, or a store.

use std::path::PathBuf;

use anyhow::{Result, bail};
use plimsoll_domain::moment::rfc3339;
use plimsoll_history::Store;
use plimsoll_live::Snapshot;
use plimsoll_monitor::{Clock, Monitor};
use plimsoll_report::words;
use plimsoll_utilization::{Latest, Recent, Scope};

use super::Arguments;
use crate::argument::argument;
use crate::known_costs::KnownCosts;
use crate::now;
use crate::watched::{self, Watched};

/// Five minutes of history.
const SCOPE: Scope = Scope { windows: 60, jobs: true };

/// A store whose last sample is older than this is not being written any more, or slowly.
const OLD_MILLIS: u64 = 15_000;

enum From {
    Machine(Box<Monitor>),
    Store(PathBuf),
}

/// What is followed, and what is known of it.
pub struct FollowedSource {
    from: From,
    name: String,
    clock: Clock,
    recent: Recent,
    costs: KnownCosts,
    /// Why the last look failed.
    trouble: Option<String>,
}

impl FollowedSource {
    /// Finds out what is there.
    pub fn open(arguments: &Arguments) -> Result<Self> {
        let site = watched::site(arguments.site.as_deref())?;
        let (from, name) = match (&arguments.store, &arguments.root) {
            (Some(path), _) => {
                Store::open(path)?;
                (From::Store(path.clone()), path.display().to_string())
            }
            (None, root) => {
                let watched = Watched { root: root.as_deref(), cluster: "", jobs: arguments.jobs };
                let monitor = Monitor::open(watched.settings(site.as_ref())?);
                let name = root.as_ref().map(|root| root.display().to_string());
                (From::Machine(Box::new(monitor)), name.unwrap_or("this machine".to_owned()))
            }
        };
        let (recent, costs) = (Recent::new(SCOPE), KnownCosts::new(site));
        let clock = Clock::default();
        Ok(FollowedSource { from, name, clock, recent, costs, trouble: None })
    }

    /// Looks once.
    ///
    /// Fails if a store cannot be read, or has nothing to show.
    pub fn look(&mut self) -> Result<()> {
        let (costs, recent) = (&self.costs, &mut self.recent);
        let now = self.clock.look();
        let nanoseconds = now.nanoseconds;
        if now.step_millis != 0 {
            recent.begin_anew();
        }
        match &mut self.from {
            From::Machine(monitor) => {
                let readings = monitor.scrape(nanoseconds);
                recent.take(readings, nanoseconds / 1_000_000, &|component| costs.of(component));
            }
            From::Store(path) => {
                let store = Store::open(path)?;
                recent.take_store(&store, nanoseconds / 1_000_000, &|it| costs.of(it))?;
                if recent.now() == 0 {
                    let shown = argument(path);
                    bail!(
                        "{shown} has no samples of targets; hint: plimsoll monitor --store {shown} takes some"
                    );
                }
            }
        }
        Ok(())
    }

    /// Looks once, and remembers why if that fails.
    pub fn look_again(&mut self) {
        self.trouble = self.look().err().map(|error| format!("{error:#}"));
    }

    /// Returns whether it takes time until something is known.
    pub fn needs_time(&self) -> bool {
        matches!(self.from, From::Machine(_))
    }

    /// Returns what is followed, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the moment of what is known.
    pub fn moment(&self) -> String {
        rfc3339(self.recent.now() * 1_000_000)
    }

    /// Returns what everything does.
    pub fn latest(&self) -> Latest {
        self.recent.latest()
    }

    /// Returns what the reader needs to know.
    pub fn notes(&self) -> Vec<String> {
        let age = self.age();
        age.into_iter().chain(self.costs.notes()).collect()
    }

    fn age(&self) -> Option<String> {
        let now = now::nanoseconds() / 1_000_000;
        let age = now.saturating_sub(self.recent.now());
        let is_old = matches!(self.from, From::Store(_)) && age > OLD_MILLIS;
        is_old.then(|| format!("the last sample is {} old", in_words(age / 1000)))
    }

    /// Returns what the view shows.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            source: self.name.clone(),
            moment: self.moment(),
            trouble: self.trouble.clone().or_else(|| self.age()),
            notes: self.costs.notes(),
            latest: self.latest(),
        }
    }
}

/// "40 seconds", "3 days".
fn in_words(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2 * length);
    let (length, noun) = unit.unwrap_or((1, "second"));
    words::count(seconds / length, noun)
}
