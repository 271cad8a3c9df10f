//! A message between processes: four bytes of length, little-endian, then JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message. More than this is not a message of ours.
pub const MESSAGE_BYTES_MAX: u32 = 16 << 20;

/// Sends one message.
///
/// # Errors
/// Fails if the other side is gone, or as [`framed`] does.
pub fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&framed(message)?)
}

/// Returns one message as it is sent.
///
/// # Errors
/// Fails if it cannot be put into text, such as a path that is not UTF-8, or is longer than
/// [`MESSAGE_BYTES_MAX`].
pub fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok().filter(|length| *length <= MESSAGE_BYTES_MAX);
    let length = length.ok_or_else(|| too_long(text.len()))?;
    let mut framed = Vec::with_capacity(text.len() + 4);
    framed.extend(length.to_le_bytes());
    framed.extend(text);
    Ok(framed)
}

/// Receives one message; `None` at the end of the stream.
///
/// # Errors
/// Fails if the other side is gone in the middle of a message, or sends what is not one.
pub fn receive<M: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(too_long(length as usize));
    }
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

fn too_long(length: usize) -> io::Error {
    io::Error::other(format!("a message of {length} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_arrive_as_sent_and_the_end_is_none() {
        let mut wire = Vec::new();
        send(&mut wire, &("full", 7)).unwrap();
        send(&mut wire, &("", 0)).unwrap();
        let mut reader = wire.as_slice();
        let received = receive::<(String, u32)>(&mut reader).unwrap();
        assert_eq!(received, Some(("full".to_string(), 7)));
        assert_eq!(receive(&mut reader).unwrap(), Some((String::new(), 0)));
        assert_eq!(receive::<(String, u32)>(&mut reader).unwrap(), None);
    }

    #[test]
    fn an_absurd_length_is_refused_on_both_sides() {
        assert!(receive::<String>(&mut [255u8, 255, 255, 255].as_slice()).is_err());
        assert!(framed(&"x".repeat(MESSAGE_BYTES_MAX as usize)).is_err(), "two quotes too many");
        assert!(framed(&"x".repeat(MESSAGE_BYTES_MAX as usize - 2)).is_ok());
    }

    #[test]
    fn a_message_that_is_cut_off_is_an_error_and_not_the_end() {
        let whole = framed(&"some text").unwrap();
        for length in 4..whole.len() {
            assert!(receive::<String>(&mut &whole[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_message_or_an_error(bytes in any::<Vec<u8>>()) {
            let _ = receive::<serde_json::Value>(&mut bytes.as_slice());
        }
    }
}
