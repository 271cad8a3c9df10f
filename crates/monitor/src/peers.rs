//! Those who are being answered: a bounded number, of whom the oldest gives way.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Peers that are answered at once, each through one descriptor.
pub const PEERS_MAX: usize = 64;

/// What each has at least before it gives way: whoever asks at once has long got its answer.
const PATIENCE: Duration = Duration::from_millis(200);

/// Those who are being answered.
#[derive(Debug, Default)]
pub struct Peers {
    present: Mutex<Present>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Present {
    next: u64,
    peers: VecDeque<Peer>,
    /// With those who gave way and have not noticed yet.
    served: usize,
}

#[derive(Debug)]
struct Peer {
    number: u64,
    since: Instant,
    stream: Arc<TcpStream>,
}

/// A place among them, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place<'a> {
    peers: &'a Peers,
    number: u64,
}

impl Peers {
    /// Takes a place for a connection. Where there is none, waits until one is free, or until the oldest peer had its time and gives way:
    /// one for one, so that a newcomer costs nobody else an answer.
    pub fn admit(&self, stream: Arc<TcpStream>) -> Place<'_> {
        let mut present = self.lock();
        while present.served >= PEERS_MAX {
            let wait = match present.peers.front() {
                Some(oldest) if !present.has_leaving() => {
                    PATIENCE.saturating_sub(oldest.since.elapsed())
                }
                // Its place is free in a moment.
                _ => PATIENCE,
            };
            if wait.is_zero()
                && let Some(oldest) = present.peers.pop_front()
            {
                // Whoever answers it finds out, and gives its place back.
                let _ = oldest.stream.shutdown(Shutdown::Both);
                continue;
            }
            let waited = self.changed.wait_timeout(present, wait);
            present = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let number = present.next;
        present.next += 1;
        present.served += 1;
        present.peers.push_back(Peer { number, since: Instant::now(), stream });
        Place { peers: self, number }
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Present {
    /// Returns whether somebody gave way, and has not noticed yet.
    fn has_leaving(&self) -> bool {
        self.served > self.peers.len()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut present = self.peers.lock();
        present.peers.retain(|it| it.number != self.number);
        present.served -= 1;
        drop(present);
        self.peers.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};
    use std::net::TcpListener;

    /// Returns how many of the connections were ended by the other side.
    fn ended(streams: &mut [TcpStream]) -> usize {
        let mut is_ended = |stream: &mut TcpStream| match stream.read(&mut [0]) {
            Ok(0) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            other => panic!("{other:?}"),
        };
        streams.iter_mut().map(&mut is_ended).filter(|it| *it).count()
    }

    #[test]
    fn one_gives_way_for_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            (client, Arc::new(listener.accept().unwrap().0))
        };
        let peers = Peers::default();
        let (mut clients, mut places) = (Vec::new(), Vec::new());
        for _ in 0..PEERS_MAX {
            let (client, stream) = connect();
            clients.push(client);
            places.push(peers.admit(stream));
        }
        std::thread::sleep(2 * PATIENCE);
        let (_new, stream) = connect();
        std::thread::scope(|scope| {
            let newcomer = scope.spawn(|| peers.admit(stream));
            // Whoever answers the oldest takes its time to notice.
            let begun = Instant::now();
            while ended(&mut clients) == 0 && begun.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(2 * PATIENCE);
            let (gone, is_in) = (ended(&mut clients), newcomer.is_finished());
            drop(places.remove(0));
            let _place = newcomer.join().unwrap();
            assert_eq!((gone, is_in), (1, false));
            assert_eq!(ended(&mut clients), 1);
        });
    }
}
