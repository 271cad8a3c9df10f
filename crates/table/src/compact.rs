//! Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift), as far as headers of pages and the schema of a
//! Parquet file have to be looked at before they are believed.

use std::io::{Error, ErrorKind, Read, Take};

/// Structs and lists within each other, at most; what is looked at has three.
const DEPTH_MAX: u32 = 8;

/// A struct that is read field by field, from at most so many bytes.
pub(crate) struct Compact<R> {
    rest: Take<R>,
}

impl<R: Read> Compact<R> {
    pub fn new(from: R, bytes_max: u64) -> Self {
        Compact { rest: from.take(bytes_max) }
    }

    /// Returns how much the number of the next field is greater, and its kind; nothing at the end. The form of a head that tells the
    /// number itself could tell one for the second time, and no writer needs it here.
    pub fn field(&mut self) -> Result<Option<(u64, FieldKind)>, Error> {
        match self.byte()? {
            0 => Ok(None),
            head if head >> 4 == 0 => Err(damaged()),
            head => Ok(Some((u64::from(head >> 4), FieldKind::of(head & 0xf)?))),
        }
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, kind: FieldKind) -> Result<(), Error> {
        self.skip_within(kind, DEPTH_MAX)
    }

    fn skip_within(&mut self, kind: FieldKind, depth: u32) -> Result<(), Error> {
        match kind {
            FieldKind::Bool => Ok(()),
            FieldKind::Byte => self.byte().map(drop),
            FieldKind::Integer => self.varint().map(drop),
            FieldKind::Double => self.skip_bytes(8),
            FieldKind::Binary => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            FieldKind::Struct if depth > 0 => {
                while let Some((_, kind)) = self.field()? {
                    self.skip_within(kind, depth - 1)?;
                }
                Ok(())
            }
            FieldKind::List if depth > 0 => {
                let (length, kind) = self.list()?;
                for _ in 0..length {
                    match kind {
                        // In a list, it takes a byte.
                        FieldKind::Bool => self.byte().map(drop)?,
                        kind => self.skip_within(kind, depth - 1)?,
                    }
                }
                Ok(())
            }
            FieldKind::Struct | FieldKind::List => Err(damaged()),
        }
    }

    /// Returns how many elements a list has, and their kind.
    pub fn list(&mut self) -> Result<(u64, FieldKind), Error> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        Ok((length, FieldKind::of(head & 0xf)?))
    }

    fn skip_bytes(&mut self, length: u64) -> Result<(), Error> {
        let mut skipped = 0;
        while skipped < length {
            self.byte()?;
            skipped += 1;
        }
        Ok(())
    }

    /// Returns a number of 32 bits that is not negative.
    pub fn size(&mut self) -> Result<u64, Error> {
        let zigzag = self.varint()?;
        let is_negative = zigzag & 1 == 1;
        let is_fine = !is_negative && zigzag >> 1 <= i32::MAX as u64;
        if is_fine { Ok(zigzag >> 1) } else { Err(damaged()) }
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        // Ten bytes are a negative number of 64 bits.
        if self.byte()? <= 1 { Ok(value | 1 << 63) } else { Err(damaged()) }
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let mut byte = [0];
        self.rest.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}

/// The kinds of values that there are.
#[derive(Clone, Copy)]
pub(crate) enum FieldKind {
    Bool,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Struct,
}

impl FieldKind {
    fn of(code: u8) -> Result<Self, Error> {
        Ok(match code {
            1 | 2 => FieldKind::Bool,
            3 => FieldKind::Byte,
            4..=6 => FieldKind::Integer,
            7 => FieldKind::Double,
            8 => FieldKind::Binary,
            9 | 10 => FieldKind::List,
            12 => FieldKind::Struct,
            _ => return Err(damaged()),
        })
    }
}

/// What no writer makes.
pub(crate) fn damaged() -> Error {
    ErrorKind::InvalidData.into()
}
