//! Lustre layouts without Lustre's own library: an attribute of a file that has been opened but
//! not laid out yet. Numbers and structs: lustre/include/uapi/linux/lustre/lustre_user.h.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use plimsoll_domain::Bytes;
use rustix::fs::{OFlags, XattrFlags};
use rustix::io::Errno;

use crate::error::file_error;
use crate::file_layout::FileLayout;
use crate::{EngineError, Stripe};

/// O_LOV_DELAY_CREATE, made of two flags that mean nothing for regular files: O_NOCTTY and FASYNC.
const DELAY_CREATE: OFlags = OFlags::from_bits_retain(0o20400);
const LL_SUPER_MAGIC: u64 = 0x0BD0_0BD0;
const MAGIC_V1: u32 = 0x0BD1_0BD0;
const MAGIC_V3: u32 = 0x0BD3_0BD0;
/// LOV_PATTERN_RAID0: plain stripes.
const PATTERN_STRIPED: u32 = 1;
const ATTRIBUTE: &str = "lustre.lov";

/// Enough for a file on 2,000 targets, which are more than Lustre allows.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;
const HEADER_V1: usize = 32;
/// With a pool's name at its end.
const HEADER_V3: usize = 48;
/// lov_user_ost_data_v1: 16 bytes of object id, generation, index of the target.
const OBJECT: usize = 24;

/// What to open a file with, so that its layout can still be chosen. Refuses where there are no
/// layouts, before a file is made there.
pub(crate) fn delay_layout(directory: impl AsFd, path: &Path) -> Result<OFlags, EngineError> {
    let facts = rustix::fs::fstatfs(directory)
        .map_err(file_error("find the file system of", path.to_path_buf()))?;
    if facts.f_type as u64 == LL_SUPER_MAGIC {
        Ok(DELAY_CREATE)
    } else {
        Err(EngineError::NotLustre { path: path.to_path_buf() })
    }
}

/// Gives a file that was opened with [`delay_layout`] its layout, and reads back whether it did.
pub(crate) fn set_layout(file: &File, path: &Path, wanted: Stripe) -> Result<(), EngineError> {
    let request = encode(wanted);
    match rustix::fs::fsetxattr(file, ATTRIBUTE, &request, XattrFlags::empty()) {
        // It has one already: another process of a shared file was faster. What counts is which.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(cause) => return Err(file_error("set the stripes of", path)(cause)),
    }
    let got = file_layout(file);
    if got.as_ref().is_some_and(|layout| layout.is(wanted)) {
        Ok(())
    } else {
        Err(EngineError::LayoutNotTaken { path: path.to_path_buf(), wanted, got })
    }
}

/// The layout that an open file has; `None` where there is none, or not of plain stripes.
pub(crate) fn file_layout(file: impl AsFd) -> Option<FileLayout> {
    let mut attribute = vec![0u8; ATTRIBUTE_BYTES_MAX];
    let length = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut attribute[..]).ok()?;
    parse_file_layout(attribute.get(..length)?)
}

/// struct lov_user_md_v1 without objects: what is asked for.
fn encode(wanted: Stripe) -> [u8; HEADER_V1] {
    let mut request = [0; HEADER_V1];
    request[..4].copy_from_slice(&MAGIC_V1.to_le_bytes());
    request[4..8].copy_from_slice(&PATTERN_STRIPED.to_le_bytes());
    // Sizes are checked by Lustre: multiples of 64 KiB below 4 GiB. Zero would be its default.
    let size = u32::try_from(wanted.size.get()).unwrap_or(u32::MAX);
    request[24..28].copy_from_slice(&size.to_le_bytes());
    request[28..30].copy_from_slice(&wanted.count.to_le_bytes());
    request[30..].copy_from_slice(&wanted.first.to_le_bytes());
    request
}

/// Reads the attribute "lustre.lov": version 1 or 3 with its objects. `None` for composite
/// layouts, whose stripes are not all over the file, and for what is no layout.
pub fn parse_file_layout(attribute: &[u8]) -> Option<FileLayout> {
    let word = |at: usize| {
        let bytes: [u8; 4] = attribute.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let header = match word(0)? {
        MAGIC_V1 => HEADER_V1,
        MAGIC_V3 => HEADER_V3,
        _ => return None,
    };
    let stripe_size = Bytes::new(u64::from(word(24)?));
    let count = u16::from_le_bytes(attribute.get(28..30)?.try_into().ok()?);
    let targets = (0..usize::from(count)).map(|it| word(header + it * OBJECT + OBJECT - 4));
    Some(FileLayout { targets: targets.collect::<Option<_>>()?, stripe_size })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Stripe = Stripe { first: 7, count: 2, size: Bytes::new(1 << 20) };

    /// What Lustre gives back: the request with a generation in place of the first target, and
    /// the objects.
    fn answer(magic: u32, targets: &[u32]) -> Vec<u8> {
        let mut bytes = encode(WANTED).to_vec();
        bytes[..4].copy_from_slice(&magic.to_le_bytes());
        bytes[28..30].copy_from_slice(&(targets.len() as u16).to_le_bytes());
        bytes[30..].copy_from_slice(&1u16.to_le_bytes());
        if magic == MAGIC_V3 {
            bytes.extend([0; 16]);
        }
        for target in targets {
            bytes.extend([0xee; 20]);
            bytes.extend(target.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn the_request_is_what_lustre_expects() {
        let mut expected = vec![0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0];
        expected.extend([0; 16]);
        expected.extend([0, 0, 0x10, 0, 2, 0, 7, 0]);
        assert_eq!(encode(WANTED).to_vec(), expected);
    }

    #[test]
    fn answers_of_both_versions_are_read() {
        for magic in [MAGIC_V1, MAGIC_V3] {
            let bytes = answer(magic, &[7, 9]);
            let layout = parse_file_layout(&bytes).unwrap();
            assert_eq!(layout.to_string(), "2 stripes of 1MiB on targets 7,9");
            assert!(layout.is(WANTED));
            for cut in 0..bytes.len() {
                assert_eq!(parse_file_layout(&bytes[..cut]), None, "cut at {cut}");
            }
        }
        assert_eq!(parse_file_layout(&answer(0x0BD6_0BD0, &[])), None, "composite");
    }

    #[test]
    fn another_layout_is_noticed() {
        let got = |targets: &[u32]| parse_file_layout(&answer(MAGIC_V1, targets)).unwrap();
        assert!(!got(&[8, 9]).is(WANTED), "begins elsewhere");
        assert!(!got(&[7]).is(WANTED), "fewer targets");
        assert!(!got(&[]).is(WANTED));
        let other_size = Stripe { size: Bytes::new(1 << 16), ..WANTED };
        assert!(!got(&[7, 9]).is(other_size));
    }
}
