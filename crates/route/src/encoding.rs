//! A message as 32 bytes, little-endian. The table is in docs/routing.md.
//!
//! ```text
//! 0 version  1 kind  2 target u16  4 request u32  8 writer u32  12 sequence u32
//! 16 part u32  20 length u64  28 CRC-32C of the 28 bytes before
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
        "cannot read a routing message of kind {0}: version 1 has 1 to {most}; hint: use the same plimsoll on all nodes",
        most = Message::NAMES.len()
    )]
    Kind(u8),
    /// Something in a field that the kind does not have.
    #[error(
        "cannot read a routing message of kind {0}: a field that it does not have is not zero; hint: use the same plimsoll on all nodes"
    )]
    Stray(u8),
}

impl Message {
    /// Returns the message as bytes.
    pub fn encode(&self) -> [u8; ENCODED_BYTES] {
        let fields = Fields::from(*self);
        let mut bytes = [0; ENCODED_BYTES];
        bytes[0] = VERSION;
        bytes[1] = fields.number;
        bytes[2..4].copy_from_slice(&fields.target.to_le_bytes());
        bytes[4..8].copy_from_slice(&fields.request.to_le_bytes());
        bytes[8..12].copy_from_slice(&fields.writer.to_le_bytes());
        bytes[12..16].copy_from_slice(&fields.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&fields.part.to_le_bytes());
        bytes[20..28].copy_from_slice(&fields.length.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a message from bytes; everything is checked.
    ///
    /// # Errors
    /// Fails if the bytes are not exactly what [`encode`](Message::encode) gives for a message.
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
            number: bytes[1],
            target: u16::from_le_bytes([bytes[2], bytes[3]]),
            request: word(bytes, 4),
            writer: word(bytes, 8),
            sequence: word(bytes, 12),
            part: word(bytes, 16),
            length: u64::from(word(bytes, 20)) | u64::from(word(bytes, 24)) << 32,
        };
        let message = fields.message().ok_or(DecodeError::Kind(fields.number))?;
        if Fields::from(message) != fields {
            return Err(DecodeError::Stray(fields.number));
        }
        Ok(message)
    }
}

fn word(bytes: &[u8; ENCODED_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// All fields that any kind has; the common form between a message and its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub number: u8,
    target: u16,
    request: u32,
    writer: u32,
    sequence: u32,
    part: u32,
    length: u64,
}

impl Fields {
    pub fn of(number: u8) -> Self {
        Fields { number, ..Fields::default() }
    }
}

/// Where a field of a message lies in the encoding.
pub(crate) trait Slot<V> {
    fn get(fields: &Fields) -> V;
    fn put(fields: &mut Fields, value: V);
}

/// A slot that is one number of [`Fields`].
macro_rules! slot {
    ($slot:ident: $type:ty = $field:ident) => {
        pub(crate) struct $slot;

        impl Slot<$type> for $slot {
            fn get(fields: &Fields) -> $type {
                fields.$field
            }

            fn put(fields: &mut Fields, value: $type) {
                fields.$field = value;
            }
        }
    };
}

slot!(Request: u32 = request);
slot!(Writer: u32 = writer);
slot!(Sequence: u32 = sequence);
slot!(Length: u64 = length);

pub(crate) struct Target;

impl Slot<TargetId> for Target {
    fn get(fields: &Fields) -> TargetId {
        TargetId(fields.target)
    }

    fn put(fields: &mut Fields, target: TargetId) {
        fields.target = target.0;
    }
}

/// A write takes three places: its writer, its sequence and its part.
pub(crate) struct Write;

impl Slot<WriteId> for Write {
    fn get(fields: &Fields) -> WriteId {
        WriteId { writer: fields.writer, sequence: fields.sequence, part: fields.part }
    }

    fn put(fields: &mut Fields, write: WriteId) {
        (fields.writer, fields.sequence, fields.part) = (write.writer, write.sequence, write.part);
    }
}

/// Makes [`Message`], its numbers and names, and both directions of its encoding from one table of
///
/// ```text
/// /// What it says.
/// NUMBER Variant "NAME" { field: Type = Slot, … }
/// ```
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $number:literal $variant:ident $name:literal
        $({ $($(#[$field_doc:meta])* $field:ident: $type:ty = $slot:ident,)* })?
    )*) => {
        /// A message. Small, `Copy`, and every reply echoes the request that it answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Message {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $type,)* })?,)*
        }

        impl Message {
            /// The names of all kinds: the paper's and, where it has none, our own. A message's is
            /// at [`kind`](Self::kind).
            pub const NAMES: &[&str] = &[$($name),*];

            /// Returns the message's place in [`NAMES`](Self::NAMES).
            pub fn kind(&self) -> usize {
                usize::from(self.number()) - 1
            }

            /// Returns the name of its kind.
            pub fn name(&self) -> &'static str {
                Self::NAMES[self.kind()]
            }

            /// Its number on the wire: kinds count from 1.
            fn number(&self) -> u8 {
                match self {
                    $(Message::$variant { .. } => $number,)*
                }
            }
        }

        impl $crate::encoding::Fields {
            /// The message; fields that the kind does not have are not looked at.
            pub(crate) fn message(self) -> Option<Message> {
                use $crate::encoding::{self, Slot};
                match self.number {
                    $($number => Some(Message::$variant {
                        $($($field: encoding::$slot::get(&self),)*)?
                    }),)*
                    _ => None,
                }
            }
        }

        impl From<Message> for $crate::encoding::Fields {
            fn from(message: Message) -> Self {
                use $crate::encoding::{self, Slot};
                let mut fields = Self::of(message.number());
                match message {
                    $(Message::$variant { $($($field,)*)? } => {
                        $($(encoding::$slot::put(&mut fields, $field);)*)?
                    })*
                }
                fields
            }
        }
    };
}

pub(crate) use messages;
