//! The processes of a race: started for it, gone after it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_bench::{receive, send};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::RaceError;
use crate::order::{Answer, Order};

/// The program that serves as a writer, and the arguments that make it one.
#[derive(Debug, Clone)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its hidden command.
    pub arguments: Vec<String>,
}

/// Connected processes.
pub(crate) struct Team {
    members: Vec<Member>,
}

struct Member {
    process: Child,
    stream: UnixStream,
    is_gone: bool,
}

/// What a member says, or that it is gone.
pub(crate) enum Word {
    Said(Answer),
    Gone(String),
}

impl Team {
    pub fn start(program: &Program, count: usize) -> Result<Self, RaceError> {
        let mut team = Team { members: Vec::with_capacity(count) };
        for _ in 0..count {
            let member = Member::start(&program.path, &program.arguments);
            team.members.push(member.map_err(RaceError::Start)?);
        }
        Ok(team)
    }

    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Tells a member. One that is gone is noticed when it is listened to.
    pub fn tell(&mut self, member: usize, order: &Order) {
        let _ = send(&mut self.members[member].stream, order);
    }

    /// Waits for words, at most so long. A member speaks at most once in the result.
    pub fn listen(&mut self, most: Duration) -> Result<Vec<(usize, Word)>, RaceError> {
        let there: Vec<usize> =
            (0..self.members.len()).filter(|at| !self.members[*at].is_gone).collect();
        let timeout =
            Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut polled: Vec<PollFd<'_>> =
            there.iter().map(|at| PollFd::new(&self.members[*at].stream, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(RaceError::Listen(error.into())),
        }
        let ready: Vec<usize> = there
            .iter()
            .zip(&polled)
            .filter(|(_, polled)| !polled.revents().is_empty())
            .map(|(at, _)| *at)
            .collect();
        Ok(ready.into_iter().map(|at| (at, self.members[at].word())).collect())
    }
}

impl Member {
    fn start(program: &Path, arguments: &[String]) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Member { process, stream, is_gone: false })
    }

    fn word(&mut self) -> Word {
        let how = match receive::<Answer>(&mut self.stream) {
            Ok(Some(answer)) => return Word::Said(answer),
            Ok(None) => "it closed its connection".to_string(),
            Err(error) => error.to_string(),
        };
        self.is_gone = true;
        // A process that was killed has closed its connection a moment before it can be asked.
        let status = self.process.wait().ok();
        Word::Gone(status.filter(|it| !it.success()).map_or(how, |it| it.to_string()))
    }
}

impl Drop for Team {
    /// A write that is under way is waited for by the kernel, so that the next race finds
    /// targets at rest.
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = send(&mut member.stream, &Order::Leave);
            let _ = member.process.kill();
        }
        for member in &mut self.members {
            let _ = member.process.wait();
        }
    }
}
