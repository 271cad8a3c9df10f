//! `recovery_status`: whether clients of a target are coming back after it failed
//! (lprocfs_recovery_status_seq_show in obdclass).

use memchr::memchr;

use crate::text::{Lines, digits, key_and_value};

/// How far a target's recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecoveryState {
    /// It is done.
    Complete,
    /// There is nothing to recover.
    #[default]
    Inactive,
    /// Other metadata targets are not ready.
    Waiting,
    /// No client has come back yet.
    WaitingForClients,
    /// It is under way.
    Recovering,
}

/// What `recovery_status` says; `None` is what it does not say in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// How far it is.
    pub state: RecoveryState,
    /// When it began, in seconds since 1970.
    pub started: Option<u64>,
    /// How many seconds it took.
    pub seconds: Option<u64>,
    /// How many seconds are left at most.
    pub seconds_left: Option<u64>,
    /// Clients that are back.
    pub connected: Option<u64>,
    /// Clients that are done.
    pub completed: Option<u64>,
    /// Clients that were thrown out.
    pub evicted: Option<u64>,
    /// Clients that there were.
    pub clients: Option<u64>,
}

impl Recovery {
    /// Reads the text of `recovery_status`; lines that are not known go to `unknown`. `None` if it has no known state.
    pub fn of<'a>(text: &'a [u8], mut unknown: impl FnMut(&'a [u8])) -> Option<Self> {
        let mut recovery = Self::default();
        let mut state = None;
        for line in Lines::of(text).filter(|line| !line.trim_ascii().is_empty()) {
            let Some((key, value)) = key_and_value(line) else {
                unknown(line);
                continue;
            };
            let known = match key {
                b"status" => {
                    state = self::state(value);
                    state.is_some()
                }
                _ => recovery.take(key, value),
            };
            if !known {
                unknown(line);
            }
        }
        Some(Self { state: state?, ..recovery })
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> bool {
        let place = match key {
            b"recovery_start" => &mut self.started,
            b"recovery_duration" => &mut self.seconds,
            b"time_remaining" => &mut self.seconds_left,
            b"connected_clients" => {
                return Self::part(value, &mut self.connected, &mut self.clients);
            }
            b"completed_clients" => {
                return Self::part(value, &mut self.completed, &mut self.clients);
            }
            b"evicted_clients" => &mut self.evicted,
            b"req_replay_clients"
            | b"lock_repay_clients"
            | b"lock_replay_clients"
            | b"replayed_requests"
            | b"queued_requests"
            | b"last_transno"
            | b"next_transno"
            | b"time_waited"
            | b"non-ready MDTs"
            | b"VBR"
            | b"IR" => return true,
            _ => return false,
        };
        *place = digits(value);
        place.is_some()
    }

    /// "4/8", or "4" in a recovery that is under way.
    fn part(value: &[u8], part: &mut Option<u64>, whole: &mut Option<u64>) -> bool {
        let slash = memchr(b'/', value);
        *part = digits(&value[..slash.unwrap_or(value.len())]);
        if let Some(slash) = slash {
            *whole = digits(&value[slash + 1..]);
            return part.is_some() && whole.is_some();
        }
        part.is_some()
    }
}

fn state(word: &[u8]) -> Option<RecoveryState> {
    Some(match word {
        b"COMPLETE" => RecoveryState::Complete,
        b"INACTIVE" => RecoveryState::Inactive,
        b"WAITING" => RecoveryState::Waiting,
        b"WAITING_FOR_CLIENTS" => RecoveryState::WaitingForClients,
        b"RECOVERING" => RecoveryState::Recovering,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Recovery>, usize) {
        let mut unknown = 0;
        let recovery = Recovery::of(text.as_bytes(), |_| unknown += 1);
        (recovery, unknown)
    }

    #[test]
    fn every_state_is_read() {
        let (done, unknown) = read(
            "status: COMPLETE\nrecovery_start: 1620410016\nrecovery_duration: 150\ncompleted_clients: 4/8\n\
             replayed_requests: 0\nlast_transno: 4294967296\nVBR: ENABLED\nIR: ENABLED\n",
        );
        let done = done.unwrap();
        assert_eq!((done.state, unknown), (RecoveryState::Complete, 0));
        assert_eq!((done.completed, done.clients, done.seconds), (Some(4), Some(8), Some(150)));
        let (going, unknown) = read(
            "status: RECOVERING\nrecovery_start: 1620920843\ntime_remaining: 119\nconnected_clients: 3/7\n\
             req_replay_clients: 0\nlock_repay_clients: 0\ncompleted_clients: 3\nevicted_clients: 1",
        );
        let going = going.unwrap();
        assert_eq!((going.state, unknown), (RecoveryState::Recovering, 0));
        assert_eq!((going.connected, going.completed, going.clients), (Some(3), Some(3), Some(7)));
        assert_eq!((going.seconds_left, going.evicted), (Some(119), Some(1)));
        assert_eq!(read("status: INACTIVE").0, Some(Recovery::default()));
        assert_eq!(read("status: DREAMING\nmood: good\nx"), (None, 3));
        assert_eq!(read(""), (None, 0));
    }
}
