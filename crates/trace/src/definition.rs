//! What numbers in events mean: files, hints, moments. Rare, so plain.
//!
//! ```text
//! kind, 1 byte | zero, 1 byte | length of the text, 2 bytes | number, 4 bytes | value, 8 bytes | text
//! ```

/// Bytes of a definition before its text.
pub const DEFINITION_HEADER_BYTES: usize = 16;

/// Longest text; longer ones are cut off.
pub const TEXT_BYTES_MAX: usize = 4096;

/// What is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DefinitionKind {
    /// A file: its number and path. The value is 0.
    File = 1,
    /// An MPI hint of a file: "key=value".
    Hint = 2,
    /// The exit of a synchronising barrier: its place in the run (0 start, 1 end) in the
    /// number, the ticks in the value.
    Barrier = 3,
    /// Something that the reader of a report should know.
    Note = 4,
    /// The MPI library that the program uses.
    MpiLibrary = 5,
    /// A program that was started: its path. The number is the new process's, or 0 when this
    /// process is about to become the program. The value says why it cannot be recorded, see
    /// [`Unseen`](crate::Unseen); 0 when it can, or when it was not started after all.
    Program = 6,
    /// Something that this process does and that is not recorded: the value is an
    /// [`Unseen`](crate::Unseen).
    Gap = 7,
}

impl DefinitionKind {
    /// Returns the kind of a number in a file.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::File),
            2 => Some(Self::Hint),
            3 => Some(Self::Barrier),
            4 => Some(Self::Note),
            5 => Some(Self::MpiLibrary),
            6 => Some(Self::Program),
            7 => Some(Self::Gap),
            _ => None,
        }
    }
}

/// Room that a definition with this text needs.
pub const fn definition_bytes(text: &[u8]) -> usize {
    let length = if text.len() < TEXT_BYTES_MAX { text.len() } else { TEXT_BYTES_MAX };
    DEFINITION_HEADER_BYTES + length
}

/// Packs a definition at the start of `room` and gives its length; 0 when it does not fit.
pub fn encode_definition(
    kind: DefinitionKind,
    number: u32,
    value: u64,
    text: &[u8],
    room: &mut [u8],
) -> usize {
    let length = definition_bytes(text);
    let Some(room) = room.get_mut(..length) else { return 0 };
    let text = &text[..length - DEFINITION_HEADER_BYTES];
    room[0] = kind as u8;
    room[1] = 0;
    room[2..4].copy_from_slice(&(text.len() as u16).to_le_bytes());
    room[4..8].copy_from_slice(&number.to_le_bytes());
    room[8..16].copy_from_slice(&value.to_le_bytes());
    room[16..].copy_from_slice(text);
    length
}

/// A definition as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition<'a> {
    /// What is defined; `None` for kinds of newer versions.
    pub kind: Option<DefinitionKind>,
    /// Its number.
    pub number: u32,
    /// Its value.
    pub value: u64,
    /// Its text.
    pub text: &'a [u8],
}

/// Takes the first definition off `bytes`. `None` at the end, or where the bytes are cut off.
pub fn decode_definition<'a>(bytes: &mut &'a [u8]) -> Option<Definition<'a>> {
    let header: &[u8; DEFINITION_HEADER_BYTES] = bytes.first_chunk()?;
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    let text = bytes.get(DEFINITION_HEADER_BYTES..DEFINITION_HEADER_BYTES + length)?;
    // No longer one is ever written: whoever made this file wants it to be told with each call.
    let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
    let definition = Definition {
        kind: DefinitionKind::from_number(header[0]),
        number: u32::from_le_bytes([header[4], header[5], header[6], header[7]]),
        value: u64::from_le_bytes([
            header[8], header[9], header[10], header[11], header[12], header[13], header[14],
            header[15],
        ]),
        text,
    };
    *bytes = &bytes[DEFINITION_HEADER_BYTES + length..];
    Some(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_that_files_have() {
        use DefinitionKind::*;
        let kinds = [File, Hint, Barrier, Note, MpiLibrary, Program, Gap];
        assert_eq!((1..8).map(DefinitionKind::from_number).collect::<Vec<_>>(), kinds.map(Some));
        assert_eq!([0, 8, 255].map(DefinitionKind::from_number), [None; 3], "of newer versions");
    }

    #[test]
    fn a_text_that_is_longer_than_any_is_cut_when_it_is_read() {
        let mut forged = vec![0; DEFINITION_HEADER_BYTES];
        forged[2..4].copy_from_slice(&60_000u16.to_le_bytes());
        forged.resize(DEFINITION_HEADER_BYTES + 60_000, b'x');
        let mut room = [0; 64];
        let next = encode_definition(DefinitionKind::Note, 0, 9, b"next", &mut room);
        forged.extend(&room[..next]);
        let mut bytes = &forged[..];
        assert_eq!(decode_definition(&mut bytes).unwrap().text.len(), TEXT_BYTES_MAX);
        assert_eq!(decode_definition(&mut bytes).unwrap().text, b"next");
    }

    #[test]
    fn definitions_read_back_and_long_texts_are_cut() {
        let mut room = [0u8; 8192];
        let first = encode_definition(DefinitionKind::File, 7, 0, b"/data/out", &mut room);
        let long = [b'x'; 5000];
        let second = encode_definition(DefinitionKind::Note, 0, 9, &long, &mut room[first..]);
        let mut bytes = &room[..first + second];
        let file = decode_definition(&mut bytes).unwrap();
        assert_eq!(
            (file.kind, file.number, file.text),
            (Some(DefinitionKind::File), 7, &b"/data/out"[..])
        );
        let note = decode_definition(&mut bytes).unwrap();
        assert_eq!((note.value, note.text.len()), (9, TEXT_BYTES_MAX));
        assert_eq!(decode_definition(&mut bytes), None);
        assert_eq!(encode_definition(DefinitionKind::Note, 0, 0, &long, &mut room[..100]), 0);
    }
}
