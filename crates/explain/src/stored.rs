//! How values are written to a summary: whole numbers in as few bytes as they need (LEB128), one
//! value after the other, nothing between them.
//!
//! Reading trusts nothing: a list takes no more memory than its bytes account for, and what has a
//! length of its own is read with the length that it must have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_trace::Op;

/// The bytes do not hold what they should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A value that can be written and read back.
pub(crate) trait Stored: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads a value.
    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// Bytes that are being read.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// True when everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Returns a reader of the next bytes, so many of them.
    pub fn part(&mut self, count: usize) -> Result<Reader<'a>, Malformed> {
        self.bytes(count).map(Reader)
    }

    /// Returns the length of a list, each of whose values takes a byte at least.
    fn count(&mut self) -> Result<usize, Malformed> {
        let count = usize::get(self)?;
        if count <= self.0.len() { Ok(count) } else { Err(Malformed) }
    }
}

/// Implements [`Stored`] for structs, field by field. A field that is forgotten does not compile.
macro_rules! stored {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl crate::stored::Stored for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let $type { $($field),* } = self;
                $(crate::stored::Stored::put($field, out);)*
            }

            fn get(
                from: &mut crate::stored::Reader<'_>,
            ) -> Result<Self, crate::stored::Malformed> {
                Ok($type { $($field: crate::stored::Stored::get(from)?),* })
            }
        }
    )*};
}
pub(crate) use stored;

/// Writes a list that is mostly zeros, or mostly the same: the runs of values that are not zero,
/// each with the zeros before it, how often its value follows itself, and the value.
pub(crate) fn put_sparse<T: Stored + Default + PartialEq>(values: &[T], out: &mut Vec<u8>) {
    let zero = T::default();
    let runs = || values.chunk_by(PartialEq::eq);
    runs().filter(|run| run[0] != zero).count().put(out);
    let mut zeros = 0usize;
    for run in runs() {
        if run[0] == zero {
            zeros = run.len();
            continue;
        }
        zeros.put(out);
        (run.len() - 1).put(out);
        run[0].put(out);
        zeros = 0;
    }
}

/// Reads such a list, of which the length is known.
pub(crate) fn get_sparse<T: Stored + Default + Clone>(
    from: &mut Reader<'_>,
    length: usize,
) -> Result<Vec<T>, Malformed> {
    let mut values = vec![T::default(); length];
    let mut rest = values.as_mut_slice();
    for _ in 0..from.count()? {
        let (zeros, repeats) = <(usize, usize)>::get(from)?;
        let run;
        rest = rest.split_at_mut_checked(zeros).ok_or(Malformed)?.1;
        (run, rest) = rest.split_at_mut_checked(repeats.saturating_add(1)).ok_or(Malformed)?;
        run.fill(T::get(from)?);
    }
    Ok(values)
}

impl Stored for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = from.byte()?;
            let part = u64::from(byte & 0x7f);
            if part.leading_zeros() < shift {
                return Err(Malformed);
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }
}

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
stored_as_u64!(u8, u32, usize);

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

impl Stored for Op {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Op::from_number(u8::get(from)?).ok_or(Malformed)
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
        T::get(from).map(Box::new)
    }
}

impl<T: Stored> Stored for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::get(from).map(Arc::new)
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let values: Result<Vec<T>, Malformed> = (0..N).map(|_| T::get(from)).collect();
        values?.try_into().map_err(|_| Malformed)
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

/// Reads as many values as it says. Room is made as they come.
fn get_all<T: Stored, C: FromIterator<T>>(from: &mut Reader<'_>) -> Result<C, Malformed> {
    let count = from.count()?;
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(value: &impl Stored) -> Vec<u8> {
        let mut out = Vec::new();
        value.put(&mut out);
        out
    }

    fn read<T: Stored>(bytes: &[u8]) -> Result<T, Malformed> {
        let mut reader = Reader::new(bytes);
        let value = T::get(&mut reader)?;
        if reader.is_empty() { Ok(value) } else { Err(Malformed) }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers: Vec<(u64, i64)>, share: Option<f64>, texts: BTreeSet<String>, truth: bool,
        ) {
            let value = ((numbers, texts), (share.map(f64::to_bits), truth));
            prop_assert_eq!(read(&bytes_of(&value)), Ok(value));
        }

        #[test]
        fn sparse_lists_are_read_with_their_length(values in proptest::collection::vec(0u64..3, 0..50)) {
            let mut out = Vec::new();
            put_sparse(&values, &mut out);
            prop_assert_eq!(get_sparse(&mut Reader::new(&out), values.len()), Ok(values.clone()));
            let last = values.iter().rposition(|value| *value > 0);
            if let Some(last) = last {
                let too_short: Result<Vec<u64>, _> = get_sparse(&mut Reader::new(&out), last);
                prop_assert_eq!(too_short, Err(Malformed));
            }
        }
    }

    #[test]
    fn numbers_take_few_bytes() {
        for (value, bytes) in [(0u64, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
            assert_eq!(bytes_of(&value).len(), bytes, "{value}");
            assert_eq!(read(&bytes_of(&value)), Ok(value));
        }
        let mut zeros = Vec::new();
        put_sparse(&[0u64; 100_000], &mut zeros);
        assert_eq!(zeros, [0]);
        let mut same = Vec::new();
        put_sparse(&[7u64; 100_000], &mut same);
        assert_eq!(same.len(), 6, "a call that fills many bins takes few bytes");
    }

    #[test]
    fn nonsense_is_refused_without_taking_memory() {
        assert_eq!(read::<u64>(&[0x80]), Err(Malformed), "cut off");
        assert_eq!(read::<u64>(&[0xff; 11]), Err(Malformed), "more than 64 bits");
        assert_eq!(
            read::<u64>(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
            Err(Malformed)
        );
        assert_eq!(read::<u8>(&bytes_of(&256u64)), Err(Malformed));
        assert_eq!(read::<bool>(&[2]), Err(Malformed));
        assert_eq!(read::<Op>(&[0]), Err(Malformed));
        assert_eq!(read::<String>(&[1, 0xff]), Err(Malformed), "not UTF-8");
        assert_eq!(
            read::<Vec<u64>>(&bytes_of(&u64::MAX)),
            Err(Malformed),
            "a list that is not there"
        );
    }
}
