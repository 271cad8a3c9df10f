//! How a file lies on targets: the attribute that holds it, and what is asked for when it is made, without Lustre's own library.
//! Numbers and structs: lustre/include/uapi/linux/lustre/lustre_user.h.

/// What statfs(2) says of Lustre (LL_SUPER_MAGIC).
pub const SUPER_MAGIC: u64 = 0x0BD0_0BD0;

/// What a file is opened with so that its layout can still be chosen (O_LOV_DELAY_CREATE): two flags that mean nothing for regular
/// files, O_NOCTTY and FASYNC.
pub const DELAY_CREATE: u32 = 0o20400;

/// The attribute that has the layout of a file, and that gives one to a file which was opened with [`DELAY_CREATE`].
pub const LAYOUT_ATTRIBUTE: &str = "lustre.lov";

/// Enough for a file on 2,000 targets, which are more than Lustre allows.
pub const LAYOUT_BYTES_MAX: usize = 64 << 10;

const MAGIC_V1: u32 = 0x0BD1_0BD0;
const MAGIC_V3: u32 = 0x0BD3_0BD0;
/// LOV_PATTERN_RAID0: plain stripes.
const PATTERN_STRIPED: u32 = 1;
const HEADER_V1: usize = 32;
/// With a pool's name at its end.
const HEADER_V3: usize = 48;
/// lov_user_ost_data_v1: 16 bytes of object id, generation, index of the target.
const OBJECT: usize = 24;

const MAGIC_COMPOSITE: u32 = 0x0BD6_0BD0;

/// What the head of the attribute says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutHead {
    /// Plain stripes.
    Striped {
        /// Targets that the file is on.
        stripe_count: u16,
        /// Bytes before the next target follows.
        stripe_size: u32,
    },
    /// Several components, each with a layout of its own (progressive file layout).
    Composite,
}

impl LayoutHead {
    /// Reads the attribute; `None` for what is no layout.
    pub fn parse(attribute: &[u8]) -> Option<Self> {
        match word(attribute, 0)? {
            MAGIC_COMPOSITE => Some(LayoutHead::Composite),
            // Magic, pattern, 16 bytes of object id, stripe size, then count and offset of 16 bits.
            MAGIC_V1 | MAGIC_V3 => Some(LayoutHead::Striped {
                stripe_size: word(attribute, 24)?,
                stripe_count: u16::from_le_bytes(*attribute.get(28..)?.first_chunk()?),
            }),
            _ => None,
        }
    }
}

fn word(attribute: &[u8], at: usize) -> Option<u32> {
    attribute.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A layout of plain stripes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripedLayout {
    /// Index of each target, in the order of the stripes.
    pub targets: Vec<u32>,
    /// Bytes before the next target follows.
    pub stripe_size: u32,
}

impl StripedLayout {
    /// Reads the attribute, of version 1 or 3, with its objects. `None` for composite layouts, whose stripes are not all over the
    /// file, and for what is no layout.
    pub fn parse(attribute: &[u8]) -> Option<Self> {
        let LayoutHead::Striped { stripe_count, stripe_size } = LayoutHead::parse(attribute)?
        else {
            return None;
        };
        let header = if word(attribute, 0)? == MAGIC_V3 { HEADER_V3 } else { HEADER_V1 };
        let target = |it| word(attribute, header + it * OBJECT + OBJECT - 4);
        let targets = (0..usize::from(stripe_count)).map(target).collect::<Option<_>>()?;
        Some(StripedLayout { stripe_size, targets })
    }
}

/// Returns what is asked for (struct lov_user_md_v1 without objects): so many stripes, of which the first is on this target.
///
/// Lustre checks sizes: multiples of 64 KiB, and zero is its default.
pub fn layout_request(first: u16, count: u16, stripe_size: u32) -> [u8; HEADER_V1] {
    let mut request = [0; HEADER_V1];
    request[..4].copy_from_slice(&MAGIC_V1.to_le_bytes());
    request[4..8].copy_from_slice(&PATTERN_STRIPED.to_le_bytes());
    request[24..28].copy_from_slice(&stripe_size.to_le_bytes());
    request[28..30].copy_from_slice(&count.to_le_bytes());
    request[30..].copy_from_slice(&first.to_le_bytes());
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Lustre gives back: the request with a generation in place of the first target, and the objects.
    fn answer(magic: u32, targets: &[u32]) -> Vec<u8> {
        let mut bytes = layout_request(1, targets.len() as u16, 1 << 20).to_vec();
        bytes[..4].copy_from_slice(&magic.to_le_bytes());
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
        assert_eq!(layout_request(7, 2, 1 << 20).to_vec(), expected);
    }

    #[test]
    fn answers_of_both_versions_are_read() {
        for magic in [MAGIC_V1, MAGIC_V3] {
            let bytes = answer(magic, &[7, 9]);
            let layout = StripedLayout { targets: vec![7, 9], stripe_size: 1 << 20 };
            assert_eq!(StripedLayout::parse(&bytes), Some(layout));
            for cut in 0..bytes.len() {
                assert_eq!(StripedLayout::parse(&bytes[..cut]), None, "cut at {cut}");
            }
        }
        assert_eq!(StripedLayout::parse(&answer(MAGIC_COMPOSITE, &[])), None, "composite");
    }

    #[test]
    fn heads_of_all_versions_are_read_and_damage_is_none() {
        let striped = LayoutHead::Striped { stripe_count: 4, stripe_size: 1 << 20 };
        for magic in [MAGIC_V1, MAGIC_V3] {
            let bytes = answer(magic, &[0; 4]);
            assert_eq!(LayoutHead::parse(&bytes), Some(striped));
            assert_eq!(LayoutHead::parse(&bytes[..29]), None);
        }
        let composite = answer(MAGIC_COMPOSITE, &[]);
        assert_eq!(LayoutHead::parse(&composite), Some(LayoutHead::Composite));
        assert_eq!((LayoutHead::parse(&answer(7, &[])), LayoutHead::parse(&[])), (None, None));
    }
}
