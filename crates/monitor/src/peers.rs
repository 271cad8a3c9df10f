//! Those who ask and those who are answered: a bounded number of each, of whom the oldest gives way at once.
//!
//! All are served by one thread, which waits for none of them. So a place costs a descriptor and a few kilobytes, and many are slow before one has to give way;
//! whoever sends a whole request is answered before that.

use std::collections::VecDeque;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::exchange::{Answer, Asking, Step, Taking};

/// Peers at a time, where there are descriptors enough for them: else a quarter of these.
const PEERS_MAX: u64 = 1024;

/// One of so many peers may be one that takes its answer: those who take theirs slowly are no trouble to those who ask.
const PEERS_OF_TAKING: usize = 8;

/// Connections that are taken before those that are there are looked at again.
const ACCEPTED_MAX: usize = 256;

/// How long is waited where no descriptors are left, and nobody could give one back.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns how many peers there are at most, each with one descriptor.
pub fn peers_max() -> u64 {
    let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    (descriptors / 4).clamp(PEERS_OF_TAKING as u64, PEERS_MAX)
}

/// Those who ask, by age, and those who take an answer.
pub struct Peers<A> {
    answer: A,
    asking: VecDeque<Asking>,
    taking: Vec<Taking>,
    asking_max: usize,
    taking_max: usize,
}

impl<A: Fn(&[u8]) -> Answer> Peers<A> {
    /// Begins with nobody, and with what a request is answered.
    pub fn new(answer: A, most: u64) -> Self {
        let taking_max = most as usize / PEERS_OF_TAKING;
        let asking_max = most as usize - taking_max;
        Peers { answer, asking: VecDeque::new(), taking: Vec::new(), asking_max, taking_max }
    }

    /// Waits until something happens, and does what is to be done then.
    pub fn serve(&mut self, listener: &TcpListener) {
        match self.wait(listener) {
            Ok((is_asked, ready)) => {
                self.go_on(&ready);
                if is_asked {
                    self.accept(listener);
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }

    /// Waits for a new peer, or until something can be read or written, or until somebody's time is over. Returns whether somebody is new, and of those who are there
    /// who can go on.
    fn wait(&self, listener: &TcpListener) -> Result<(bool, Vec<bool>), Errno> {
        let asking = self.asking.iter().map(|it| (&it.stream, PollFlags::IN));
        let taking = self.taking.iter().map(|it| (&it.stream, PollFlags::OUT));
        let mut polled = vec![PollFd::new(listener, PollFlags::IN)];
        polled.extend(asking.chain(taking).map(|(stream, wanted)| PollFd::new(stream, wanted)));
        let deadlines = self.taking.iter().map(|it| it.deadline);
        let next = deadlines.chain(self.asking.front().map(|it| it.deadline)).min();
        let left = next.map(|it| it.saturating_duration_since(Instant::now()));
        // Up to the next tick, not again and again within one.
        let left = left.map(|it| it + Duration::from_millis(1));
        let left = left.and_then(|it| Timespec::try_from(it).ok());
        poll(&mut polled, left.as_ref())?;
        let mut ready = polled.iter().map(|it| !it.revents().is_empty());
        Ok((ready.next().unwrap_or(false), ready.collect()))
    }

    fn go_on(&mut self, ready: &[bool]) {
        let now = Instant::now();
        let (of_asking, of_taking) = ready.split_at(self.asking.len());
        // Who comes to take an answer now is not among those of whom is known whether they can go on.
        let taking = std::mem::take(&mut self.taking);
        for (mut peer, is_ready) in taking.into_iter().zip(of_taking) {
            let step = if *is_ready { peer.write() } else { Step::Waits };
            if step == Step::Waits && now < peer.deadline {
                self.taking.push(peer);
            }
        }
        for (mut peer, is_ready) in std::mem::take(&mut self.asking).into_iter().zip(of_asking) {
            match if *is_ready { peer.read() } else { Step::Waits } {
                Step::Done => self.answer(peer),
                Step::Waits if now < peer.deadline => self.asking.push_back(peer),
                _ => {}
            }
        }
    }

    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..ACCEPTED_MAX {
            match listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Whoever has given up, for instance.
                Err(error) if is_of_the_peer(&error) => {}
                // No descriptors are left, for instance.
                Err(_) if !self.asking.is_empty() => self.give_way(),
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    /// Takes somebody in. Whoever asked at once has the answer before anybody has to go.
    fn admit(&mut self, stream: TcpStream) {
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut peer = Asking::new(stream);
        match peer.read() {
            Step::Done => self.answer(peer),
            Step::Waits => {
                while self.asking.len() >= self.asking_max {
                    self.give_way();
                }
                self.asking.push_back(peer);
            }
            Step::Over => {}
        }
    }

    /// The oldest of those who ask goes, unless its request has come meanwhile.
    fn give_way(&mut self) {
        if let Some(mut peer) = self.asking.pop_front()
            && peer.read() == Step::Done
        {
            self.answer(peer);
        }
    }

    fn answer(&mut self, peer: Asking) {
        let mut peer = Taking::new(peer.stream, (self.answer)(&peer.head));
        if peer.write() != Step::Waits {
            return;
        }
        while self.taking.len() >= self.taking_max {
            let slowest = (0..self.taking.len()).min_by_key(|at| self.taking[*at].took);
            slowest.map(|at| self.taking.swap_remove(at));
        }
        self.taking.push(peer);
    }
}

/// Errors of one connection (accept(2)): the next one may be fine.
fn is_of_the_peer(error: &io::Error) -> bool {
    let own = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    error.raw_os_error().is_some_and(|it| own.iter().all(|own| own.raw_os_error() != it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::Arc;

    const MOST: u64 = 16;
    const LONG: usize = 64 << 20;

    /// Peers that nobody serves but the test, whose answers are more than a connection holds.
    struct Bed {
        listener: TcpListener,
        peers: Peers<fn(&[u8]) -> Answer>,
    }

    fn long(_: &[u8]) -> Answer {
        Answer { head: "long ".into(), body: Some(Arc::from("x".repeat(LONG))) }
    }

    fn short(_: &[u8]) -> Answer {
        Answer { head: "short".into(), body: None }
    }

    impl Bed {
        fn new(answer: fn(&[u8]) -> Answer) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            Bed { listener, peers: Peers::new(answer, MOST) }
        }

        /// Connects, says something, and has it taken in.
        fn connect(&mut self, said: &str) -> TcpStream {
            let mut client = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
            client.write_all(said.as_bytes()).unwrap();
            client.set_nonblocking(true).unwrap();
            self.peers.serve(&self.listener);
            client
        }

        fn counts(&self) -> (usize, usize) {
            (self.peers.asking.len(), self.peers.taking.len())
        }
    }

    fn is_ended(client: &mut TcpStream) -> bool {
        // In loopback what is closed can be seen at once; what was said and not read is a reset.
        !matches!(client.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    #[test]
    fn the_oldest_that_asks_for_nothing_gives_way_for_one_at_once() {
        let mut bed = Bed::new(short);
        let most = bed.peers.asking_max;
        let mut silent: Vec<_> = (0..most).map(|_| bed.connect("GET ")).collect();
        assert!(!silent.iter_mut().any(is_ended));
        let begun = Instant::now();
        let _newer: Vec<_> = (0..3).map(|_| bed.connect("GET ")).collect();
        assert!(silent[..3].iter_mut().all(is_ended) && !silent[3..].iter_mut().any(is_ended));
        assert_eq!(bed.counts(), (most, 0));
        assert!(begun.elapsed() < Duration::from_secs(2), "they were not waited for");
    }

    #[test]
    fn a_request_that_came_meanwhile_is_answered_before_it_gives_way() {
        let mut bed = Bed::new(short);
        let mut first = bed.connect("GET / HT");
        let _others: Vec<_> = (1..bed.peers.asking_max).map(|_| bed.connect("GET ")).collect();
        first.write_all(b"TP/1.1\r\n\r\n").unwrap();
        bed.peers.give_way();
        let mut said = String::new();
        first.set_nonblocking(false).unwrap();
        first.read_to_string(&mut said).unwrap();
        assert_eq!(said, "short");
    }

    #[test]
    fn who_does_not_take_answers_keeps_nobody_from_asking() {
        let mut bed = Bed::new(long);
        let (asking_max, taking_max) = (bed.peers.asking_max, bed.peers.taking_max);
        let mut slow: Vec<_> =
            (0..taking_max + 3).map(|_| bed.connect("GET / HTTP/1.1\r\n\r\n")).collect();
        assert_eq!(bed.counts(), (0, taking_max));
        let _silent: Vec<_> = (0..asking_max).map(|_| bed.connect("")).collect();
        assert_eq!(bed.counts(), (asking_max, taking_max));
        // The last one has its whole answer, as it takes it.
        let last = slow.last_mut().unwrap();
        let mut taken = 0;
        let mut piece = vec![0; 1 << 20];
        while taken < "long ".len() + LONG {
            match last.read(&mut piece) {
                Ok(0) => panic!("only {taken} bytes came"),
                Ok(length) => taken += length,
                Err(_) => bed.peers.serve(&bed.listener),
            }
        }
    }

    #[test]
    fn too_long_a_request_is_not_kept() {
        let mut bed = Bed::new(short);
        let mut client = bed.connect(&"x".repeat(2 * crate::exchange::REQUEST_BYTES_MAX));
        assert_eq!(bed.counts(), (0, 0));
        assert!(is_ended(&mut client));
    }
}
