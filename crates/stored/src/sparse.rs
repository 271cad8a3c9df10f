//! Lists that are mostly zeros, or mostly the same.

use crate::{Malformed, Reader, Stored};

/// Writes a list that is mostly zeros, or mostly the same: the runs of values that are not zero,
/// each with the zeros before it, how often its value follows itself, and the value.
pub fn put_sparse<T: Stored + Default + PartialEq>(values: &[T], out: &mut Vec<u8>) {
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
pub fn get_sparse<T: Stored + Default + Clone>(
    from: &mut Reader<'_>,
    length: usize,
) -> Result<Vec<T>, Malformed> {
    from.take::<T>(length)?;
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
