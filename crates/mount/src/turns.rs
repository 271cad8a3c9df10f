//! Who is answered when: nobody's requests take all threads, however long each takes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The requests of each user that are under way, and those that wait.
pub struct Turns {
    at_once: usize,
    users: Mutex<HashMap<u32, Requests>>,
}

#[derive(Default)]
struct Requests {
    under_way: usize,
    /// Not bounded here: behind each is a program of this user that waits for it, or something that is read ahead, which the
    /// kernel bounds.
    waiting: VecDeque<Request>,
}

type Request = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Turns {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.debug_struct("Turns").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

impl Turns {
    /// So many requests of each user are answered at once.
    pub fn new(at_once: usize) -> Self {
        Turns { at_once, users: Mutex::default() }
    }

    /// Answers a request of a user, and then those that wait for their turn; returns at once if too many of the same user are
    /// under way, and one of the threads that have these answers it.
    pub fn answer(&self, user: u32, request: impl FnOnce() + Send + 'static) {
        {
            let mut users = self.users();
            let requests = users.entry(user).or_default();
            if requests.under_way >= self.at_once {
                requests.waiting.push_back(Box::new(request));
                return;
            }
            requests.under_way += 1;
        }
        request();
        while let Some(next) = self.next(user) {
            next();
        }
    }

    /// One was answered; returns the next of the same user.
    fn next(&self, user: u32) -> Option<Request> {
        let mut users = self.users();
        let requests = users.get_mut(&user)?;
        let next = requests.waiting.pop_front();
        if next.is_none() {
            requests.under_way -= 1;
            if requests.under_way == 0 {
                users.remove(&user);
            }
        }
        next
    }

    fn users(&self) -> MutexGuard<'_, HashMap<u32, Requests>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn requests_that_never_end_take_a_users_own_turns_only() {
        let turns = Turns::new(2);
        let (answered, answers) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut ends = Vec::new();
            for _ in 0..2 {
                let (end, until) = mpsc::channel::<()>();
                let (began, has_begun) = mpsc::channel();
                let turns = &turns;
                scope.spawn(move || {
                    turns.answer(1, move || {
                        began.send(()).unwrap();
                        let _ = until.recv_timeout(LONG);
                    });
                });
                has_begun.recv_timeout(LONG).unwrap();
                ends.push(end);
            }
            // This thread is free at once, and answers others.
            for number in 0..3 {
                let answered = answered.clone();
                turns.answer(1, move || answered.send((1, number)).unwrap());
            }
            assert!(answers.try_recv().is_err());
            let own = answered.clone();
            turns.answer(2, move || own.send((2, 0)).unwrap());
            assert_eq!(answers.try_recv(), Ok((2, 0)));
            // Those that wait are answered in order by whoever has a turn.
            drop(ends.pop());
            for number in 0..3 {
                assert_eq!(answers.recv_timeout(LONG), Ok((1, number)));
            }
            drop(ends);
        });
        assert!(turns.users().is_empty(), "nothing is kept of users who ask nothing");
    }
}
