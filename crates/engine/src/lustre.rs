//! Lustre layouts without Lustre's own library: an attribute of a file that has been opened but
//! not laid out yet.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use plimsoll_domain::Bytes;
use plimsoll_lustre::{
    DELAY_CREATE, LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, SUPER_MAGIC, StripedLayout, layout_request,
};
use rustix::fs::{OFlags, XattrFlags};
use rustix::io::Errno;

use crate::error::file_error;
use crate::file_layout::FileLayout;
use crate::{EngineError, Stripe};

/// What to open a file with, so that its layout can still be chosen. Refuses where there are no
/// layouts, before a file is made there.
pub(crate) fn delay_layout(directory: impl AsFd, path: &Path) -> Result<OFlags, EngineError> {
    let facts = rustix::fs::fstatfs(directory)
        .map_err(file_error("find the file system of", path.to_path_buf()))?;
    if facts.f_type as u64 == SUPER_MAGIC {
        Ok(OFlags::from_bits_retain(DELAY_CREATE))
    } else {
        Err(EngineError::NotLustre { path: path.to_path_buf() })
    }
}

/// Gives a file that was opened with [`delay_layout`] its layout, and reads back whether it did.
pub(crate) fn set_layout(file: &File, path: &Path, wanted: Stripe) -> Result<(), EngineError> {
    // Sizes are checked by Lustre: multiples of 64 KiB below 4 GiB.
    let size = u32::try_from(wanted.size.get()).unwrap_or(u32::MAX);
    let request = layout_request(wanted.first, wanted.count, size);
    match rustix::fs::fsetxattr(file, LAYOUT_ATTRIBUTE, &request, XattrFlags::empty()) {
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
    let mut attribute = vec![0u8; LAYOUT_BYTES_MAX];
    let length = rustix::fs::fgetxattr(file, LAYOUT_ATTRIBUTE, &mut attribute[..]).ok()?;
    parse_file_layout(attribute.get(..length)?)
}

/// Reads the attribute "lustre.lov". `None` for composite layouts, and for what is no layout.
pub fn parse_file_layout(attribute: &[u8]) -> Option<FileLayout> {
    let StripedLayout { targets, stripe_size } = StripedLayout::parse(attribute)?;
    Some(FileLayout { targets, stripe_size: Bytes::new(u64::from(stripe_size)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_layout_is_noticed() {
        let wanted = Stripe { first: 7, count: 2, size: Bytes::new(1 << 20) };
        let got = |targets: &[u32]| {
            let mut attribute = layout_request(0, targets.len() as u16, 1 << 20).to_vec();
            for target in targets {
                attribute.extend([0xee; 20]);
                attribute.extend(target.to_le_bytes());
            }
            parse_file_layout(&attribute).unwrap()
        };
        assert!(got(&[7, 9]).is(wanted));
        assert_eq!(got(&[7, 9]).to_string(), "2 stripes of 1MiB on targets 7,9");
        assert!(!got(&[8, 9]).is(wanted), "begins elsewhere");
        assert!(!got(&[7]).is(wanted), "fewer targets");
        assert!(!got(&[]).is(wanted));
        let other_size = Stripe { size: Bytes::new(1 << 16), ..wanted };
        assert!(!got(&[7, 9]).is(other_size));
    }
}
