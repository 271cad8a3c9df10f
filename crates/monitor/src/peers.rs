//! Those who are being answered: a bounded number, of whom the oldest gives way.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Peers that are answered at once.
const PEERS_MAX: usize = 64;

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
    stream: TcpStream,
}

/// A place among them, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place<'a> {
    peers: &'a Peers,
    number: u64,
}

impl Peers {
    /// Takes a place for a connection. Where there is none, waits until one is free, or until the oldest peer had its time and gives way.
    pub fn admit(&self, stream: TcpStream) -> Place<'_> {
        let mut present = self.lock();
        while present.served >= PEERS_MAX {
            let oldest = present.peers.front();
            let left = oldest.map(|it| PATIENCE.saturating_sub(it.since.elapsed()));
            if left == Some(Duration::ZERO)
                && let Some(oldest) = present.peers.pop_front()
            {
                // Whoever answers it finds out, and gives its place back.
                let _ = oldest.stream.shutdown(Shutdown::Both);
                continue;
            }
            let waited = self.changed.wait_timeout(present, left.unwrap_or(PATIENCE));
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

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut present = self.peers.lock();
        present.peers.retain(|it| it.number != self.number);
        present.served -= 1;
        drop(present);
        self.peers.changed.notify_one();
    }
}
