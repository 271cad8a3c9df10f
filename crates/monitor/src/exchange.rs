//! One peer's request and answer, which wait for nobody: each step does what can be done now.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a request has at most before its end. Prometheus sends some hundred bytes.
pub const REQUEST_BYTES_MAX: usize = 8 << 10;

/// The time in which a request must be there, and in which the answer must be taken.
const REQUEST_TIME: Duration = Duration::from_secs(2);
const ANSWER_TIME: Duration = Duration::from_secs(5);

const END: &[u8] = b"\r\n\r\n";

/// What is sent to a peer.
#[derive(Debug)]
pub struct Answer {
    pub head: String,
    /// One in memory for all who ask.
    pub body: Option<Arc<str>>,
}

/// How far a step got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// All is there.
    Done,
    /// The peer must do something first.
    Waits,
    /// Nothing more will come of it.
    Over,
}

/// A peer whose request is not whole.
#[derive(Debug)]
pub struct Asking {
    pub stream: TcpStream,
    pub deadline: Instant,
    pub head: Vec<u8>,
}

impl Asking {
    /// Begins with a connection, which shall not wait.
    pub fn new(stream: TcpStream) -> Self {
        Asking { stream, deadline: Instant::now() + REQUEST_TIME, head: Vec::new() }
    }

    /// Reads what has come of the request.
    pub fn read(&mut self) -> Step {
        let mut piece = [0; 1024];
        loop {
            let length = match (&self.stream).read(&mut piece) {
                Ok(0) => return Step::Over,
                Ok(length) => length,
                Err(error) => return step_after(&error),
            };
            // The end may be of several pieces; what was looked at before is not looked at again.
            let looked_at = self.head.len().saturating_sub(END.len() - 1);
            self.head.extend_from_slice(&piece[..length]);
            if self.head[looked_at..].windows(END.len()).any(|it| it == END) {
                return Step::Done;
            }
            if self.head.len() > REQUEST_BYTES_MAX {
                return Step::Over;
            }
        }
    }
}

/// A peer that has not taken all of its answer.
#[derive(Debug)]
pub struct Taking {
    pub stream: TcpStream,
    pub deadline: Instant,
    /// When it took something last.
    pub took: Instant,
    answer: Answer,
    sent: usize,
}

impl Taking {
    /// Begins to answer a connection, which shall not wait.
    pub fn new(stream: TcpStream, answer: Answer) -> Self {
        let now = Instant::now();
        Taking { stream, deadline: now + ANSWER_TIME, took: now, answer, sent: 0 }
    }

    /// Sends what is taken now.
    pub fn write(&mut self) -> Step {
        loop {
            let head = self.answer.head.as_bytes();
            let body = self.answer.body.as_deref().unwrap_or_default().as_bytes();
            let rest = match self.sent.checked_sub(head.len()) {
                None => &head[self.sent..],
                Some(sent) => &body[sent..],
            };
            if rest.is_empty() {
                return Step::Done;
            }
            match (&self.stream).write(rest) {
                Ok(0) => return Step::Over,
                Ok(length) => (self.sent, self.took) = (self.sent + length, Instant::now()),
                Err(error) => return step_after(&error),
            }
        }
    }
}

fn step_after(error: &std::io::Error) -> Step {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Step::Waits,
        _ => Step::Over,
    }
}
