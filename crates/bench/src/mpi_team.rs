//! A team of the ranks of an MPI job. Rank 0 coordinates and takes part; the others serve it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_engine::{Burst, Prepared, Source};
use plimsoll_guarded::Claim;
use plimsoll_wire::clock::monotonic;
use serde::{Deserialize, Serialize};

use crate::launcher::Launcher;
use crate::local_team::part;
use crate::message::Answer;
use crate::mpi::Mpi;
use crate::team::{Member, NotDone, Part, Team, TeamError};
use crate::worker::measured;
use crate::workplace::Workplace;

/// What rank 0 tells all ranks.
#[derive(Debug, Serialize, Deserialize)]
enum Command {
    Bursts(Vec<(usize, Burst)>),
    Enter(Vec<Claim>),
    RemoveFiles(Vec<PathBuf>),
    Leave,
    End,
}

/// What a rank is to the experiment.
pub enum Role {
    /// Rank 0: it runs the experiment.
    Coordinator(MpiTeam),
    /// Another one, which has done its part when this is returned.
    Served,
}

/// The ranks of an MPI job.
pub struct MpiTeam {
    mpi: Mpi,
    /// The node of each rank.
    hosts: Vec<String>,
    members: Vec<Member>,
}

impl MpiTeam {
    /// Joins the job of the launcher. Ranks other than 0 come back when the experiment is over.
    ///
    /// # Errors
    /// When the job's MPI cannot be used.
    pub fn join(launcher: &Launcher) -> Result<Role, TeamError> {
        let mpi = Mpi::join(launcher)?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let hosts = mpi.gather(host.as_bytes());
        if mpi.rank > 0 {
            serve(&mpi);
            return Ok(Role::Served);
        }
        let hosts: Vec<String> =
            hosts.iter().map(|host| String::from_utf8_lossy(host).into_owned()).collect();
        let members = members(&hosts, Grouping::Processes(1));
        Ok(Role::Coordinator(Self { mpi, hosts, members }))
    }

    /// Makes clients of the ranks of one node. Where there are several nodes, each is a client.
    pub fn group(&mut self, grouping: Grouping) {
        self.members = members(&self.hosts, grouping);
    }

    /// Returns the number of ranks of the job.
    pub fn ranks(&self) -> usize {
        self.hosts.len()
    }

    /// Returns the number of nodes of the job.
    pub fn nodes(&self) -> usize {
        self.hosts.iter().collect::<BTreeSet<_>>().len()
    }

    fn tell(&self, command: &Command) {
        let mut text = serde_json::to_vec(command).expect("commands are plain data");
        self.mpi.broadcast(&mut text);
    }

    /// Has all ranks do something about files, and gives the first complaint.
    fn everywhere(&self, command: &Command) -> Result<(), TeamError> {
        self.tell(command);
        let complaints = self.mpi.gather(about_files(command).as_bytes());
        match complaints.into_iter().find(|complaint| !complaint.is_empty()) {
            Some(complaint) => Err(TeamError::Mpi(String::from_utf8_lossy(&complaint).into())),
            None => Ok(()),
        }
    }
}

/// What the clients are when all ranks share a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// The node is the only one, with all ranks.
    Node,
    /// So many ranks each. Ranks that are left over at the end have no part.
    Processes(u32),
}

fn members(hosts: &[String], grouping: Grouping) -> Vec<Member> {
    let several_nodes = hosts.iter().any(|host| *host != hosts[0]);
    let each = match grouping {
        Grouping::Processes(each) if !several_nodes => each.max(1) as usize,
        _ => return hosts.iter().map(|host| Member { client: host.clone() }).collect(),
    };
    let whole = hosts.len() / each * each;
    let named = hosts[..whole].iter().enumerate();
    named.map(|(rank, host)| Member { client: format!("{host}:{}", rank / each) }).collect()
}

impl Team for MpiTeam {
    fn members(&self) -> &[Member] {
        &self.members
    }

    fn burst(
        &mut self,
        bursts: Vec<(usize, Burst)>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Part>, TeamError> {
        if interrupted() {
            return Err(TeamError::Interrupted);
        }
        let busy: Vec<usize> = bursts.iter().map(|(rank, _)| *rank).collect();
        let command = Command::Bursts(bursts);
        self.tell(&command);
        let Command::Bursts(bursts) = command else { unreachable!("made above") };
        let answers = take_part(&self.mpi, &bursts);
        let mut parts: Vec<Option<Part>> = answers
            .iter()
            .map(|text| serde_json::from_slice::<Answer>(text).ok().map(part))
            .collect();
        let missing = || Err(NotDone::Failed("it gave no answer".to_string()));
        Ok(busy.iter().map(|rank| parts[*rank].take().unwrap_or_else(missing)).collect())
    }

    fn enter(&mut self, working: &[Claim]) -> Result<(), TeamError> {
        self.everywhere(&Command::Enter(working.to_vec()))
    }

    fn remove_files(&mut self, paths: &[PathBuf]) -> Result<(), TeamError> {
        self.everywhere(&Command::RemoveFiles(paths.to_vec()))
    }

    fn leave(&mut self) -> Result<(), TeamError> {
        self.everywhere(&Command::Leave)
    }
}

impl Drop for MpiTeam {
    fn drop(&mut self) {
        self.tell(&Command::End);
    }
}

/// What ranks other than 0 do.
fn serve(mpi: &Mpi) {
    loop {
        let mut text = Vec::new();
        mpi.broadcast(&mut text);
        match serde_json::from_slice(&text) {
            Ok(Command::Bursts(bursts)) => {
                take_part(mpi, &bursts);
            }
            Ok(Command::End) | Err(_) => return,
            Ok(command) => {
                mpi.gather(about_files(&command).as_bytes());
            }
        }
    }
}

/// Does this rank's part of an instance; gives all answers at rank 0.
fn take_part(mpi: &Mpi, bursts: &[(usize, Burst)]) -> Vec<Vec<u8>> {
    let mine = bursts.iter().find(|(rank, _)| *rank == mpi.rank).map(|(_, burst)| burst);
    let workplace = workplace();
    let directories = workplace.directories().map_err(|error| error.to_string());
    let open = |burst: &Burst| match &directories {
        Ok(it) => Prepared::open(burst, Source::Directories(it)).map_err(|error| error.to_string()),
        Err(error) => Err(error.clone()),
    };
    let prepared = mine.map(open);
    let complaint = matches!(prepared, Some(Err(_)));
    let complaints = mpi.gather(&[u8::from(complaint)]);
    let mut takes_place = vec![u8::from(complaints.iter().all(|complaint| complaint == &[0]))];
    mpi.broadcast(&mut takes_place);
    let takes_place = takes_place == [1];
    if takes_place {
        mpi.release();
    }
    let released_at = monotonic();
    let answer = prepared.map(|prepared| match prepared {
        Ok(prepared) if takes_place => measured(prepared, released_at),
        Ok(_) => Answer::CalledOff,
        Err(why) => Answer::Failed(why),
    });
    mpi.gather(&serde_json::to_vec(&answer).expect("answers are plain data"))
}

/// Where this rank works, and what it removes when a signal ends it.
static WORKPLACE: Mutex<Option<Workplace>> = Mutex::new(None);

/// Locked while a command about files is done.
fn locked() -> MutexGuard<'static, Option<Workplace>> {
    WORKPLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn workplace() -> Workplace {
    locked().clone().unwrap_or_default()
}

/// Removes the experiment's directories as far as this rank sees them, for a job that is being ended:
/// the others may still be writing in them. The caller ends the process.
pub fn remove_made() {
    const TRIES: u32 = 10;
    // Locked to the end of the process, so that nothing is made after this.
    let locked = std::mem::ManuallyDrop::new(locked());
    let Some(workplace) = &**locked else { return };
    for _ in 0..TRIES {
        if workplace.remove().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the reason why it failed, or nothing.
fn about_files(command: &Command) -> String {
    let mut here = locked();
    let result = match command {
        Command::Enter(claims) => Workplace::join_or_make(claims).map(|it| *here = Some(it)),
        Command::RemoveFiles(paths) => here.as_ref().map_or(Ok(()), |it| it.remove_files(paths)),
        Command::Leave => here.as_ref().map_or(Ok(()), Workplace::remove),
        Command::Bursts(_) | Command::End => Ok(()),
    };
    result.err().map_or_else(String::new, |error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_one_node_are_grouped_as_wanted_and_ranks_of_several_belong_to_theirs() {
        let names = |hosts: &[&str], grouping| {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            members(&hosts, grouping).into_iter().map(|member| member.client).collect::<Vec<_>>()
        };
        assert_eq!(names(&["a", "a"], Grouping::Processes(1)), ["a:0", "a:1"]);
        let five = ["a"; 5];
        assert_eq!(names(&five, Grouping::Processes(2)), ["a:0", "a:0", "a:1", "a:1"]);
        assert_eq!(names(&five, Grouping::Node), five);
        assert_eq!(names(&five, Grouping::Processes(6)), Vec::<String>::new());
        for grouping in [Grouping::Node, Grouping::Processes(1), Grouping::Processes(2)] {
            assert_eq!(names(&["a", "b", "a"], grouping), ["a", "b", "a"]);
        }
    }
}
