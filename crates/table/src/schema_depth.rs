//! The schema of a file, looked at before it is built: the reader builds it by calling itself for groups within groups, and
//! keeps the whole path of every column.

use std::io::{BufReader, Error, Read};

use parquet::errors::ParquetError;

use crate::compact::{Compact, FieldKind, damaged};

/// Groups within groups, at most: our tables are flat, and others' lists of structs have a few.
const DEPTH_MAX: usize = 16;

/// The field of a file's metadata that is its schema, and that of an element which tells how many of the next ones are in it.
const SCHEMA: u64 = 2;
const CHILDREN: u64 = 5;

/// Fails if columns are in more groups than any table of ours or of others has. `metadata` is what the end of a file has.
pub(crate) fn check_schema_depth(metadata: impl Read) -> Result<(), ParquetError> {
    let depth = depth(BufReader::new(metadata))
        .map_err(|_| ParquetError::General("it has a schema that no known writer makes".into()))?;
    if depth > DEPTH_MAX {
        let problem = format!("its columns are in more than {DEPTH_MAX} groups within each other");
        return Err(ParquetError::General(problem));
    }
    Ok(())
}

/// Returns how many groups are within each other, or one more than there may be.
fn depth(metadata: impl Read) -> Result<usize, Error> {
    let mut metadata = Compact::new(metadata, u64::MAX);
    let mut number = 0;
    while let Some((difference, kind)) = metadata.field()? {
        number += difference;
        if number < SCHEMA {
            metadata.skip(kind)?;
            continue;
        }
        let (SCHEMA, FieldKind::List) = (number, kind) else { return Err(damaged()) };
        let (elements, FieldKind::Struct) = metadata.list()? else { return Err(damaged()) };
        return depth_of(&mut metadata, elements);
    }
    Err(damaged())
}

/// Elements come in the order in which they are written down, each group before what is in it.
fn depth_of(metadata: &mut Compact<impl Read>, elements: u64) -> Result<usize, Error> {
    // For each group that is open, how many of its elements are to come.
    let (mut open, mut deepest) = (Vec::<u64>::new(), 0);
    for _ in 0..elements {
        if let Some(left) = open.last_mut() {
            *left = left.saturating_sub(1);
        }
        let children = children(metadata)?;
        if children > 0 {
            open.push(children);
            deepest = deepest.max(open.len());
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if deepest > DEPTH_MAX {
            break;
        }
    }
    Ok(deepest)
}

/// Reads an element of a schema, and returns how many of the next ones are in it.
fn children(metadata: &mut Compact<impl Read>) -> Result<u64, Error> {
    let (mut number, mut children) = (0, 0);
    while let Some((difference, kind)) = metadata.field()? {
        number += difference;
        match (number, kind) {
            (CHILDREN, FieldKind::Integer) => children = metadata.size()?,
            (_, kind) => metadata.skip(kind)?,
        }
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version, and a schema of elements that have a name and so many others in them.
    fn metadata(elements: &[u8]) -> Vec<u8> {
        let mut all = vec![0x15, 4, 0x19, 0xfc, elements.len() as u8];
        for children in elements {
            all.extend([0x48, 1, b'x']);
            if *children > 0 {
                all.extend([0x15, children << 1]);
            }
            all.push(0);
        }
        all.push(0);
        all
    }

    #[test]
    fn groups_within_groups_are_counted() {
        let depth_of = |elements: &[u8]| depth(&metadata(elements)[..]).unwrap();
        assert_eq!(depth_of(&[2, 0, 0]), 1, "a flat table");
        assert_eq!(depth_of(&[2, 1, 0, 1, 0]), 2, "two groups beside each other");
        assert_eq!(depth_of(&[1, 1, 1, 0]), 3);
        let deep = |groups: usize| [vec![1; groups], vec![0]].concat();
        assert!(check_schema_depth(&metadata(&deep(16))[..]).is_ok());
        assert!(check_schema_depth(&metadata(&deep(17))[..]).is_err());
        assert!(check_schema_depth(&metadata(&deep(100))[..]).is_err());
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let usual = metadata(&[2, 0, 0]);
        for length in 0..usual.len() - 1 {
            assert!(check_schema_depth(&usual[..length]).is_err(), "{length} bytes");
        }
        assert!(check_schema_depth(&[0_u8][..]).is_err(), "no schema");
        assert!(check_schema_depth(&[0x25, 0, 0][..]).is_err(), "a schema that is a number");
    }
}
