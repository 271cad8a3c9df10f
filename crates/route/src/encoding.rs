//! A message as 32 bytes, little-endian. The table is in docs/routing.md.
//!
//! ```text
//! 0 version  1 kind  2 target u16  4 request u32  8 writer u32  12 sequence u32
//! 16 part u32  20 bytes u64  28 CRC-32C of the 28 bytes before
//! ```
//! A field that a kind does not have is zero, and must be.

use crate::{Message, TargetId, WriteId};

/// Bytes of an encoded message.
pub const ENCODED_BYTES: usize = 32;
/// The version that is written and understood.
pub const VERSION: u8 = 1;

const CHECKED: usize = 28;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Too few or too many bytes.
    #[error("cannot read a routing message of {0} bytes: it has 32; hint: was it cut off?")]
    Length(usize),
    /// Another version.
    #[error(
        "cannot read a routing message of version {0}: only 1 is known; hint: use the same plimsoll on all nodes"
    )]
    Version(u8),
    /// Damage.
    #[error(
        "cannot read a routing message: its checksum does not fit; hint: it was damaged on its way"
    )]
    Checksum,
    /// A kind that this version does not have.
    #[error(
        "cannot read a routing message of kind {0}: version 1 has 1 to 22; hint: use the same plimsoll on all nodes"
    )]
    Kind(u8),
    /// Something in a field that the kind does not have.
    #[error(
        "cannot read a routing message of kind {0}: a field that it does not have is not zero; hint: use the same plimsoll on all nodes"
    )]
    Stray(u8),
}

/// All fields that any kind has; the common form between a message and its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Fields {
    kind: u8,
    target: u16,
    request: u32,
    writer: u32,
    sequence: u32,
    part: u32,
    bytes: u64,
}

impl Message {
    /// As bytes.
    pub fn encode(&self) -> [u8; ENCODED_BYTES] {
        let fields = Fields::from(*self);
        let mut bytes = [0; ENCODED_BYTES];
        bytes[0] = VERSION;
        bytes[1] = fields.kind;
        bytes[2..4].copy_from_slice(&fields.target.to_le_bytes());
        bytes[4..8].copy_from_slice(&fields.request.to_le_bytes());
        bytes[8..12].copy_from_slice(&fields.writer.to_le_bytes());
        bytes[12..16].copy_from_slice(&fields.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&fields.part.to_le_bytes());
        bytes[20..28].copy_from_slice(&fields.bytes.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// From bytes; everything is checked.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let bytes: &[u8; ENCODED_BYTES] =
            bytes.try_into().map_err(|_| DecodeError::Length(bytes.len()))?;
        if bytes[0] != VERSION {
            return Err(DecodeError::Version(bytes[0]));
        }
        if crc32c::crc32c(&bytes[..CHECKED]) != word(bytes, CHECKED) {
            return Err(DecodeError::Checksum);
        }
        let fields = Fields {
            kind: bytes[1],
            target: u16::from_le_bytes([bytes[2], bytes[3]]),
            request: word(bytes, 4),
            writer: word(bytes, 8),
            sequence: word(bytes, 12),
            part: word(bytes, 16),
            bytes: u64::from(word(bytes, 20)) | u64::from(word(bytes, 24)) << 32,
        };
        let message = fields.message().ok_or(DecodeError::Kind(fields.kind))?;
        if Fields::from(message) != fields {
            return Err(DecodeError::Stray(fields.kind));
        }
        Ok(message)
    }
}

fn word(bytes: &[u8; ENCODED_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Fields {
    fn of(kind: u8) -> Self {
        Fields { kind, ..Fields::default() }
    }

    fn at(self, target: TargetId) -> Self {
        Fields { target: target.0, ..self }
    }

    fn asks(self, request: u32) -> Self {
        Fields { request, ..self }
    }

    fn writes(self, write: WriteId, bytes: u64) -> Self {
        let WriteId { writer, sequence, part } = write;
        Fields { writer, sequence, part, bytes, ..self }
    }

    /// The message; fields that the kind does not have are not looked at.
    fn message(self) -> Option<Message> {
        let Fields { kind, target, request, writer, sequence, part, bytes: length_bytes } = self;
        let (target, write) = (TargetId(target), WriteId { writer, sequence, part });
        Some(match kind {
            1 => Message::WriteSubmission { write, length_bytes },
            2 => Message::WriterClose { writer, count: sequence },
            3 => Message::SubmissionAck { writer, next: sequence },
            4 => Message::DoWrite { write, target, request, length_bytes },
            5 => Message::WriteComplete { write, target, request, length_bytes },
            6 => Message::WriteFailed { write, target, request, length_bytes },
            7 => Message::WriteCommitted { write, target, request, length_bytes },
            8 => Message::CommitAck { write },
            9 => Message::WriteIdle { target, request, allowance_bytes: length_bytes },
            10 => Message::WriteBusy { target, request },
            11 => Message::RerouteReq { taker: target, request },
            12 => Message::RerouteAck { taker: target, request, write, length_bytes },
            13 => Message::RerouteReject { taker: target, request },
            14 => Message::WriteMore { source: target, request, write, length_bytes },
            15 => Message::WriteAdopt { source: target, request, write, length_bytes },
            16 => Message::TargetLost { target, request },
            17 => Message::StatusInq { request },
            18 => Message::StatusReply { target, request, queued_bytes: length_bytes },
            19 => Message::GroupClose { target },
            20 => Message::GroupCloseAck,
            21 => Message::GiveUp { writer },
            22 => Message::TargetBack { target, request },
            _ => return None,
        })
    }
}

impl From<Message> for Fields {
    fn from(message: Message) -> Self {
        let of = Fields::of;
        let bytes = |fields: Fields, bytes: u64| Fields { bytes, ..fields };
        let counts = |kind, writer, sequence| Fields { writer, sequence, ..of(kind) };
        match message {
            Message::WriteSubmission { write, length_bytes } => of(1).writes(write, length_bytes),
            Message::WriterClose { writer, count } => counts(2, writer, count),
            Message::SubmissionAck { writer, next } => counts(3, writer, next),
            Message::DoWrite { write, target, request, length_bytes } => {
                of(4).at(target).asks(request).writes(write, length_bytes)
            }
            Message::WriteComplete { write, target, request, length_bytes } => {
                of(5).at(target).asks(request).writes(write, length_bytes)
            }
            Message::WriteFailed { write, target, request, length_bytes } => {
                of(6).at(target).asks(request).writes(write, length_bytes)
            }
            Message::WriteCommitted { write, target, request, length_bytes } => {
                of(7).at(target).asks(request).writes(write, length_bytes)
            }
            Message::CommitAck { write } => of(8).writes(write, 0),
            Message::WriteIdle { target, request, allowance_bytes } => {
                bytes(of(9).at(target).asks(request), allowance_bytes)
            }
            Message::WriteBusy { target, request } => of(10).at(target).asks(request),
            Message::RerouteReq { taker, request } => of(11).at(taker).asks(request),
            Message::RerouteAck { taker, request, write, length_bytes } => {
                of(12).at(taker).asks(request).writes(write, length_bytes)
            }
            Message::RerouteReject { taker, request } => of(13).at(taker).asks(request),
            Message::WriteMore { source, request, write, length_bytes } => {
                of(14).at(source).asks(request).writes(write, length_bytes)
            }
            Message::WriteAdopt { source, request, write, length_bytes } => {
                of(15).at(source).asks(request).writes(write, length_bytes)
            }
            Message::TargetLost { target, request } => of(16).at(target).asks(request),
            Message::StatusInq { request } => of(17).asks(request),
            Message::StatusReply { target, request, queued_bytes } => {
                bytes(of(18).at(target).asks(request), queued_bytes)
            }
            Message::GroupClose { target } => of(19).at(target),
            Message::GroupCloseAck => of(20),
            Message::GiveUp { writer } => counts(21, writer, 0),
            Message::TargetBack { target, request } => of(22).at(target).asks(request),
        }
    }
}
