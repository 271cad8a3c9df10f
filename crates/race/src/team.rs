//! The processes of a race: started for it, gone after it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_wire::{framed, receive};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;

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
    /// What the connection has not taken yet. Waiting for it could be for ever: the member may be waiting
    /// until its own words are heard.
    unsent: VecDeque<u8>,
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
    pub fn tell(&mut self, member: usize, order: &Order) -> Result<(), RaceError> {
        self.members[member].tell(order).map_err(RaceError::Order)
    }

    /// Waits for words, at most so long. A member speaks at most once in the result.
    pub fn listen(&mut self, most: Duration) -> Result<Vec<(usize, Word)>, RaceError> {
        let there: Vec<usize> =
            (0..self.members.len()).filter(|at| !self.members[*at].is_gone).collect();
        let timeout =
            Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut polled: Vec<PollFd<'_>> =
            there.iter().map(|at| self.members[*at].to_be_polled()).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(RaceError::Listen(error.into())),
        }
        let ready: Vec<(usize, PollFlags)> =
            there.iter().copied().zip(polled.iter().map(PollFd::revents)).collect();
        let mut words = Vec::new();
        for (at, flags) in ready {
            let member = &mut self.members[at];
            if flags.contains(PollFlags::OUT) {
                member.send_unsent();
            }
            // Also one that has hung up.
            if !flags.difference(PollFlags::OUT).is_empty() {
                words.push((at, member.word()));
            }
        }
        Ok(words)
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
        Ok(Member { process, stream, unsent: VecDeque::new(), is_gone: false })
    }

    fn tell(&mut self, order: &Order) -> io::Result<()> {
        self.unsent.extend(framed(order)?);
        self.send_unsent();
        Ok(())
    }

    /// As much as the connection takes now.
    fn send_unsent(&mut self) {
        while !self.unsent.is_empty() {
            let next = self.unsent.as_slices().0;
            match rustix::net::send(&self.stream, next, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Nobody is there any more.
                Err(_) => self.unsent.clear(),
            }
        }
    }

    fn to_be_polled(&self) -> PollFd<'_> {
        let has_unsent = !self.unsent.is_empty();
        let wanted = if has_unsent { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        PollFd::new(&self.stream, wanted)
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
            let _ = member.tell(&Order::Leave);
            let _ = member.process.kill();
        }
        for member in &mut self.members {
            let _ = member.process.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It hears nothing before there is a file `go`, and keeps everything in a file `heard`.
    const HARD_OF_HEARING: &str =
        "until [ -e \"$0/go\" ]; do sleep 0.02; done; exec cat > \"$0/heard\"";

    #[test]
    fn a_member_that_does_not_listen_is_not_waited_for_and_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_str().unwrap().to_string();
        let arguments = vec!["-c".to_string(), HARD_OF_HEARING.to_string(), at];
        let program = Program { path: PathBuf::from("/bin/sh"), arguments };
        let mut team = Team::start(&program, 1).unwrap();
        let mut said = Vec::new();
        for target in 0..20_000 {
            let order = Order::Finish { targets: vec![target, target, target] };
            said.extend(framed(&order).unwrap());
            team.tell(0, &order).unwrap();
        }
        assert!(!team.members[0].unsent.is_empty(), "no connection holds all that");
        std::fs::write(folder.path().join("go"), "").unwrap();
        while !team.members[0].unsent.is_empty() {
            assert!(team.listen(Duration::from_secs(1)).unwrap().is_empty());
        }
        team.members[0].stream.shutdown(std::net::Shutdown::Write).unwrap();
        team.members[0].process.wait().unwrap();
        assert!(std::fs::read(folder.path().join("heard")).unwrap() == said);
    }

    #[test]
    fn what_cannot_be_said_is_an_error() {
        use crate::order::{Flood, Way};
        use plimsoll_guarded::WorkingDirectory;
        use std::os::unix::ffi::OsStringExt;
        let program = Program { path: PathBuf::from("/bin/cat"), arguments: Vec::new() };
        let mut team = Team::start(&program, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let not_text = folder.path().join(std::ffi::OsString::from_vec(vec![0xff]));
        std::fs::create_dir(&not_text).unwrap();
        let order = Order::Flood(Flood {
            working: WorkingDirectory::make(&not_text).unwrap().claim(),
            file: "noise".to_string(),
            write_bytes: 1,
            file_bytes: 1,
            way: Way::Direct,
        });
        assert!(matches!(team.tell(0, &order), Err(RaceError::Order(_))));
    }
}
