//! What the coordinator and a worker say to each other: a length, then JSON.

use std::io::{self, Read, Write};

use plimsoll_engine::{Burst, PageCache};
use plimsoll_guarded::Claim;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A message is a burst or its result. More than this is not a message of ours.
const MESSAGE_BYTES_MAX: u32 = 16 << 20;

/// From the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first one: where to work, and what to remove when the coordinator is gone without having
    /// cleaned up.
    Hello {
        /// Directories that the experiment made.
        working: Vec<Claim>,
    },
    /// Prepare this burst, say that you are ready, and wait for the release of the generation.
    Burst {
        /// What to do.
        burst: Box<Burst>,
        /// Which release to wait for.
        generation: u32,
    },
}

/// From a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Prepared; waits for the release.
    Ready,
    /// The burst is done.
    Done(Done),
    /// It was called off.
    CalledOff,
    /// It could not be done, and why.
    Failed(String),
}

/// What a process did in an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The release, nanoseconds since 1970 on the process's node.
    pub start: u64,
    /// Its own completion, on the same clock.
    pub end: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Whether the page cache was really kept out.
    pub page_cache: PageCache,
    /// Lustre's indexes of the targets that the first file lies on; empty elsewhere.
    pub lustre_targets: Vec<u32>,
}

/// Sends one message.
///
/// # Errors
/// When the other side is gone.
pub fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&framed(message)?)
}

/// One message as it is sent.
///
/// # Errors
/// When it cannot be put into text, such as a path that is not.
pub fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(message)?;
    let mut framed = Vec::with_capacity(text.len() + 4);
    framed.extend((text.len() as u32).to_le_bytes());
    framed.extend(text);
    Ok(framed)
}

/// Receives one message; `None` at the end of the stream.
///
/// # Errors
/// When the other side is gone, or says what is not a message.
pub fn receive<M: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_sent_and_an_absurd_length_is_refused() {
        let mut wire = Vec::new();
        send(&mut wire, &Answer::Failed("full".into())).unwrap();
        let mut reader = wire.as_slice();
        let received: Option<Answer> = receive(&mut reader).unwrap();
        assert_eq!(received, Some(Answer::Failed("full".into())));
        assert_eq!(receive::<Answer>(&mut reader).unwrap(), None);
        assert!(receive::<Answer>(&mut [255u8, 255, 255, 255].as_slice()).is_err());
    }
}
