//! How a file lies on the targets of Lustre, without Lustre's own library: the attribute
//! "lustre.lov" holds the layout (struct lov_user_md, lustre/include/uapi/linux/lustre/lustre_user.h).

use std::path::Path;

use plimsoll_domain::Bytes;

/// LOV_USER_MAGIC_V1, V3 and COMP_V1.
const MAGIC_V1: u32 = 0x0BD1_0BD0;
const MAGIC_V3: u32 = 0x0BD3_0BD0;
const MAGIC_COMPOSITE: u32 = 0x0BD6_0BD0;

/// Enough for the fixed part and the list of a file on two thousand targets.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LustreLayout {
    /// Stripes of one size over some targets.
    Striped {
        /// Targets that the file is on.
        stripe_count: u16,
        /// Bytes before the next target follows.
        stripe_size: Bytes,
    },
    /// Several components, each with a layout of its own (progressive file layout).
    Composite,
}

/// Returns the layout of a file; `None` if there is none: not Lustre, no such file, not
/// ours to read.
pub fn lustre_layout(path: &Path) -> Option<LustreLayout> {
    let mut attribute = vec![0u8; ATTRIBUTE_BYTES_MAX];
    let length = rustix::fs::getxattr(path, "lustre.lov", &mut attribute[..]).ok()?;
    parse_layout(attribute.get(..length)?)
}

/// Reads the attribute's bytes.
pub fn parse_layout(attribute: &[u8]) -> Option<LustreLayout> {
    let word = |at: usize| {
        let bytes: [u8; 4] = attribute.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    match word(0)? {
        MAGIC_COMPOSITE => Some(LustreLayout::Composite),
        // Magic, pattern, 16 bytes of object id, stripe size, then count and offset of 16 bits.
        MAGIC_V1 | MAGIC_V3 => Some(LustreLayout::Striped {
            stripe_size: Bytes::new(u64::from(word(24)?)),
            stripe_count: u16::from_le_bytes(attribute.get(28..30)?.try_into().ok()?),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(magic: u32, stripe_size: u32, stripe_count: u16) -> Vec<u8> {
        let mut bytes = vec![0u8; 32];
        bytes[0..4].copy_from_slice(&magic.to_le_bytes());
        bytes[4..8].copy_from_slice(&1u32.to_le_bytes());
        bytes[24..28].copy_from_slice(&stripe_size.to_le_bytes());
        bytes[28..30].copy_from_slice(&stripe_count.to_le_bytes());
        bytes
    }

    #[test]
    fn layouts_of_all_versions_are_read_and_damage_is_none() {
        let striped = LustreLayout::Striped { stripe_count: 4, stripe_size: Bytes::new(1 << 20) };
        for magic in [MAGIC_V1, MAGIC_V3] {
            let bytes = attribute(magic, 1 << 20, 4);
            assert_eq!(parse_layout(&bytes), Some(striped));
            assert_eq!(parse_layout(&bytes[..29]), None);
        }
        assert_eq!(parse_layout(&attribute(MAGIC_COMPOSITE, 0, 0)), Some(LustreLayout::Composite));
        assert_eq!(parse_layout(&attribute(7, 0, 0)), None);
        assert_eq!(parse_layout(&[]), None);
        assert_eq!(lustre_layout(Path::new("/")), None);
    }
}
