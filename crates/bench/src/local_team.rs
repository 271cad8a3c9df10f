//! A team on this machine: worker processes that are started here.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_engine::Burst;
use plimsoll_guarded::Claim;
use plimsoll_wire::{receive, send};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::message::{Answer, Order};
use crate::release::Release;
use crate::team::{Member, NotDone, Part, Team, TeamError};
use crate::workplace::Workplace;

/// How often a wait looks whether the user asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Worker processes on this machine, in groups that stand for clients.
pub struct LocalTeam {
    members: Vec<Member>,
    workers: Vec<Worker>,
    workplace: Workplace,
    release: Release,
    generation: u32,
}

struct Worker {
    process: Child,
    stream: UnixStream,
}

impl LocalTeam {
    /// Starts `processes` workers for each client by running `program` with `arguments`.
    ///
    /// # Errors
    /// If a process cannot be started or the shared memory cannot be made.
    pub fn start(
        clients: &[String],
        processes: u32,
        program: &Path,
        arguments: &[&str],
    ) -> Result<Self, TeamError> {
        check_limit(clients.len() as u64 * u64::from(processes))?;
        let (release, memory) = Release::create().map_err(TeamError::Start)?;
        let (members, workers, workplace) = (Vec::new(), Vec::new(), Workplace::default());
        let mut team = Self { members, workers, workplace, release, generation: 0 };
        for client in clients {
            for _ in 0..processes {
                let worker = Worker::start(program, arguments, &memory);
                team.workers.push(worker.map_err(TeamError::Start)?);
                team.members.push(Member { client: client.clone() });
            }
        }
        Ok(team)
    }

    fn order(&mut self, member: usize, order: &Order) -> Result<(), TeamError> {
        let sent = send(&mut self.workers[member].stream, order);
        sent.map_err(|error| self.gone(member, &error.to_string()))
    }

    /// Returns the next answer of every one of these members.
    fn answers(
        &mut self,
        of: &[usize],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Answer>, TeamError> {
        let mut answers = Vec::with_capacity(of.len());
        for &member in of {
            self.wait_readable(member, interrupted)?;
            match receive(&mut self.workers[member].stream) {
                Ok(Some(answer)) => answers.push(answer),
                Ok(None) => return Err(self.gone(member, "it closed its connection")),
                Err(error) => return Err(self.gone(member, &error.to_string())),
            }
        }
        Ok(answers)
    }

    fn wait_readable(
        &self,
        member: usize,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), TeamError> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as i64 };
        loop {
            let mut waiting = [PollFd::new(&self.workers[member].stream, PollFlags::IN)];
            match poll(&mut waiting, Some(&timeout)) {
                Ok(ready) if ready > 0 => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::INTR) if interrupted() => {
                    return Err(TeamError::Interrupted);
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.system("wait for a worker", error.into())),
            }
        }
    }

    fn gone(&mut self, member: usize, how: &str) -> TeamError {
        let status = self.workers[member].process.try_wait().ok().flatten();
        let how = status.map_or_else(|| how.to_string(), |status| status.to_string());
        TeamError::Gone { member, client: self.members[member].client.clone(), how }
    }

    fn system(&self, what: &str, error: io::Error) -> TeamError {
        TeamError::System { what: what.to_string(), error }
    }
}

/// Fails if too few files may be open: every worker takes a descriptor here, and another one while it is started.
fn check_limit(wanted: u64) -> Result<(), TeamError> {
    const OTHERS: u64 = 32;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let most = limit.map_or(u64::MAX, |limit| limit.saturating_sub(OTHERS));
    if wanted > most { Err(TeamError::TooMany { wanted, most }) } else { Ok(()) }
}

impl Worker {
    fn start(program: &Path, arguments: &[&str], memory: &OwnedFd) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(memory.try_clone()?))
            .spawn()?;
        Ok(Self { process, stream })
    }
}

impl Team for LocalTeam {
    fn members(&self) -> &[Member] {
        &self.members
    }

    fn burst(
        &mut self,
        bursts: Vec<(usize, Burst)>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Part>, TeamError> {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let busy: Vec<usize> = bursts.iter().map(|(member, _)| *member).collect();
        for (member, burst) in bursts {
            self.order(member, &Order::Burst { burst: Box::new(burst), generation })?;
        }
        let readiness = self.answers(&busy, interrupted)?;
        let ready: Vec<usize> = busy
            .iter()
            .zip(&readiness)
            .filter(|(_, answer)| **answer == Answer::Ready)
            .map(|(member, _)| *member)
            .collect();
        if ready.len() < busy.len() {
            self.release.call_off(generation);
            self.answers(&ready, interrupted)?;
            return Ok(readiness.into_iter().map(part).collect());
        }
        self.release.release(generation);
        Ok(self.answers(&busy, interrupted)?.into_iter().map(part).collect())
    }

    fn enter(&mut self, working: &[Claim]) -> Result<(), TeamError> {
        self.workplace = Workplace::join(working)?;
        for member in 0..self.workers.len() {
            self.order(member, &Order::Hello { working: working.to_vec() })?;
        }
        Ok(())
    }

    fn remove_files(&mut self, paths: &[PathBuf]) -> Result<(), TeamError> {
        self.workplace.remove_files(paths)
    }

    fn leave(&mut self) -> Result<(), TeamError> {
        self.workplace.remove()
    }
}

/// One worker's last word as its part.
pub(crate) fn part(answer: Answer) -> Part {
    match answer {
        Answer::Done(done) => Ok(done),
        Answer::Failed(why) => Err(NotDone::Failed(why)),
        Answer::Ready | Answer::CalledOff => Err(NotDone::CalledOff),
    }
}

impl Drop for LocalTeam {
    /// Ends the workers. One that is inside a burst is killed: its measure is no longer of use.
    fn drop(&mut self) {
        self.release.call_off(self.generation.wrapping_add(1));
        for worker in &mut self.workers {
            let _ = worker.stream.shutdown(std::net::Shutdown::Both);
            let _ = worker.process.kill();
        }
        for worker in &mut self.workers {
            let _ = worker.process.wait();
        }
    }
}
