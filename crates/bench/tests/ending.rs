//! What is kept of an instance that fails, and of one that fails because the job is being ended.

use std::cell::Cell;
use std::path::PathBuf;

use plimsoll_bench::measuring::{Clients, Setup};
use plimsoll_bench::plan::Plan;
use plimsoll_bench::runner::{Ending, Runner};
use plimsoll_bench::{Member, NotDone, Part, Team, TeamError};
use plimsoll_engine::Burst;
use plimsoll_guarded::Claim;
use plimsoll_measures::{Journal, Results};

/// A team whose files vanish, and perhaps by a signal.
struct Vanishing<'a> {
    members: Vec<Member>,
    interrupted: &'a Cell<bool>,
    by_signal: bool,
}

impl Team for Vanishing<'_> {
    fn members(&self) -> &[Member] {
        &self.members
    }

    fn burst(
        &mut self,
        bursts: Vec<(usize, Burst)>,
        _interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Part>, TeamError> {
        self.interrupted.set(self.by_signal);
        Ok(bursts.iter().map(|_| Err(NotDone::Failed("no such file".to_string()))).collect())
    }

    fn enter(&mut self, _working: &[Claim]) -> Result<(), TeamError> {
        Ok(())
    }

    fn remove_files(&mut self, _paths: &[PathBuf]) -> Result<(), TeamError> {
        Ok(())
    }

    fn leave(&mut self) -> Result<(), TeamError> {
        Ok(())
    }
}

/// The ending, and the instances in the journal.
fn ended(by_signal: bool) -> (Ending, usize) {
    let text = "version = 1\nname = \"test\"\nseed = 7\n[[target]]\nname = \"a\"\npath = \"/a\"\n\
                [clients]\ncount = 1\n[burst]\nsizes = [\"4MiB\"]\n";
    let plan = Plan::parse(text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut journal =
        Journal::create(folder.path(), "test", text, &serde_json::Value::Null).unwrap();
    let interrupted = Cell::new(false);
    let members = vec![Member { client: "c".to_string() }];
    let mut team = Vanishing { members, interrupted: &interrupted, by_signal };
    let clients = Clients::of(team.members());
    let setup = Setup { plan: &plan, directories: &[PathBuf::from("/a")], clients: &clients };
    let mut progress = |_: &_| {};
    let runner = Runner::new(setup, &mut journal, &mut progress);
    let (ending, _) = runner.run(&mut team, std::iter::empty(), &|| interrupted.get()).unwrap();
    let kept = Results::open(folder.path()).unwrap().instances().unwrap().count();
    (ending, kept)
}

#[test]
fn a_failure_is_kept_and_ends_the_experiment() {
    let (ending, kept) = ended(false);
    assert!(matches!(ending, Ending::Failed(why) if why.contains("no such file")));
    assert_eq!(kept, 1);
}

#[test]
fn a_failure_while_the_job_is_being_ended_is_not_a_measure() {
    assert_eq!(ended(true), (Ending::Interrupted, 0));
}
