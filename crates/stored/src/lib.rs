//! How values are written to files that programs of ours hand each other: whole numbers in as few bytes as they need (LEB128), one
//! value after the other, nothing between them; around all of it how it begins, a version and a checksum ([`seal()`], [`open()`]).
//!
//! Reading trusts nothing: every list takes from one budget of memory before its values are read, those that
//! have a greatest length have it here, too, and what has a length of its own is read with the length that it
//! must have.
//!
//! Deliberately not here: what the values mean.

mod sealed;
mod sparse;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::size_of;
use std::path::PathBuf;
use std::sync::Arc;

pub use sealed::{NotSealed, open, seal};
pub use sparse::{get_sparse, put_sparse};

/// What a text takes beside its bytes.
pub const OF_TEXT: usize = 64;

/// The bytes do not hold what they should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// A value that can be written and read back.
pub trait Stored: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads a value.
    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// Bytes that are being read, and what is left of the memory that their values may take.
pub struct Reader<'a> {
    bytes: &'a [u8],
    memory: usize,
    is_too_much: bool,
}

impl<'a> Reader<'a> {
    /// Reads bytes whose values take so many bytes of memory at most.
    pub fn new(bytes: &'a [u8], memory: usize) -> Self {
        Reader { bytes, memory, is_too_much: false }
    }

    /// Returns how many bytes have not been read.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// True when reading failed because the bytes hold more than there is room for.
    pub fn is_too_much(&self) -> bool {
        self.is_too_much
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Returns the length of a list, each of whose values takes a byte at least.
    fn count(&mut self) -> Result<usize, Malformed> {
        let count = usize::get(self)?;
        if count <= self.left() { Ok(count) } else { Err(Malformed) }
    }

    /// Takes memory for this many values, what they point to not counted.
    fn take<T>(&mut self, count: usize) -> Result<(), Malformed> {
        self.take_bytes(count.saturating_mul(size_of::<T>()))
    }

    fn take_bytes(&mut self, bytes: usize) -> Result<(), Malformed> {
        match self.memory.checked_sub(bytes) {
            Some(rest) => self.memory = rest,
            None => return self.too_much(),
        }
        Ok(())
    }

    fn too_much<T>(&mut self) -> Result<T, Malformed> {
        self.is_too_much = true;
        Err(Malformed)
    }
}

/// Reads a list, a set or a map of this many values at most.
pub fn get_at_most<C: Stored>(from: &mut Reader<'_>, most: usize) -> Result<C, Malformed> {
    // All of them begin with their length.
    let count = Reader::new(from.bytes, 0).count()?;
    if count <= most { C::get(from) } else { from.too_much() }
}

/// Implements [`Stored`] for structs, field by field. A field that is forgotten does not compile. A number behind
/// a field is the most values that it may have; a type behind `as` is written in its place.
#[macro_export]
macro_rules! stored {
    (@put $field:ident, $out:ident) => { $crate::Stored::put($field, $out) };
    (@put $field:ident, $out:ident as $type:ty) => { $crate::Stored::put(&<$type>::from(*$field), $out) };
    (@get $from:ident) => { $crate::Stored::get($from)? };
    (@get $from:ident as $type:ty) => { <$type as $crate::Stored>::get($from)?.into() };
    (@get $from:ident : $most:expr) => { $crate::get_at_most($from, $most)? };
    ($($type:ident { $($field:ident $(as $as:ident)? $(: $most:expr)?),* $(,)? })*) => {$(
        impl $crate::Stored for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let $type { $($field),* } = self;
                $($crate::stored!(@put $field, out $(as $as)?);)*
            }

            fn get(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::Malformed> {
                Ok($type { $($field: $crate::stored!(@get from $(as $as)? $(: $most)?)),* })
            }
        }
    )*};
}

/// Seven bits a byte, the lowest first; all bytes but the last have the eighth bit set.
macro_rules! stored_in_few_bytes {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                // Written to memory of its own first: a list grows once for a value.
                let mut bytes = [0; <$type>::BITS.div_ceil(7) as usize];
                let (mut rest, mut last) = (*self, 0);
                while rest >= 0x80 {
                    bytes[last] = rest as u8 | 0x80;
                    rest >>= 7;
                    last += 1;
                }
                bytes[last] = rest as u8;
                out.extend_from_slice(&bytes[..=last]);
            }

            #[inline]
            fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let mut value = 0;
                let shifts = (0..<$type>::BITS).step_by(7);
                for (place, (byte, shift)) in from.bytes.iter().zip(shifts).enumerate() {
                    let part = <$type>::from(byte & 0x7f);
                    if part.leading_zeros() < shift {
                        return Err(Malformed);
                    }
                    value |= part << shift;
                    if *byte < 0x80 {
                        from.bytes = &from.bytes[place + 1..];
                        return Ok(value);
                    }
                }
                Err(Malformed)
            }
        }
    )*};
}
stored_in_few_bytes!(u64, u128);

macro_rules! stored_as_u64 {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            fn put(&self, out: &mut Vec<u8>) {
                (*self as u64).put(out);
            }

            fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                <$type>::try_from(u64::get(from)?).map_err(|_| Malformed)
            }
        }
    )*};
}
stored_as_u64!(u8, u16, u32, usize);

impl Stored for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.cast_unsigned().put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(u64::get(from)?.cast_signed())
    }
}

impl Stored for f64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_bits().put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(f64::from_bits(u64::get(from)?))
    }
}

impl Stored for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u8::get(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
}

impl Stored for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = from.count()?;
        from.take_bytes(count.saturating_add(OF_TEXT))?;
        let text = str::from_utf8(from.bytes(count)?).map_err(|_| Malformed)?;
        Ok(text.to_string())
    }
}

/// As text: a path is shown and not opened again.
impl Stored for PathBuf {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string_lossy().into_owned().put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(PathBuf::from(String::get(from)?))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        if bool::get(from)? { T::get(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Stored> Stored for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.take::<T>(1)?;
        T::get(from).map(Box::new)
    }
}

impl<T: Stored> Stored for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.take::<T>(1)?;
        T::get(from).map(Arc::new)
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut values = [const { None }; N];
        for value in &mut values {
            *value = Some(T::get(from)?);
        }
        Ok(values.map(|value| value.expect("every value was read")))
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::get(from)?, B::get(from)?, C::get(from)?))
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

/// Writes the length of a collection and its values.
fn put_all<'a, T: Stored + 'a>(values: impl ExactSizeIterator<Item = &'a T>, out: &mut Vec<u8>) {
    values.len().put(out);
    values.for_each(|value| value.put(out));
}

/// Reads as many values as it says, if there is memory for them.
fn get_all<T: Stored, C: FromIterator<T>>(from: &mut Reader<'_>) -> Result<C, Malformed> {
    let count = from.count()?;
    from.take::<T>(count)?;
    (0..count).map(|_| T::get(from)).collect()
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        get_all(from)
    }
}

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        get_all(from)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        get_all(from)
    }
}

#[cfg(test)]
mod tests;
