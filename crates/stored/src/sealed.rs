//! How a file begins and ends: what it is, its version, and a checksum over all before it.

/// Why bytes are not what was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSealed {
    /// They begin otherwise.
    Other,
    /// They are of this version, which cannot be read.
    Version(u32),
    /// They were cut off, or changed.
    Damaged,
}

/// Returns a version and content with how a file of this kind begins, and a checksum.
pub fn seal(magic: &[u8], version: u32, content: &[u8]) -> Vec<u8> {
    let mut out = [magic, &version.to_le_bytes(), content].concat();
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    out
}

/// Returns version and content of what [`seal`] made.
///
/// # Errors
/// If it is something else, of a version that is not among these, or damaged.
pub fn open<'a>(
    magic: &[u8],
    readable: std::ops::RangeInclusive<u32>,
    bytes: &'a [u8],
) -> Result<(u32, &'a [u8]), NotSealed> {
    let Some(version) = bytes.strip_prefix(magic).and_then(|rest| rest.first_chunk()) else {
        return Err(NotSealed::Other);
    };
    let version = u32::from_le_bytes(*version);
    if !readable.contains(&version) {
        return Err(NotSealed::Version(version));
    }
    let (body, sum) = bytes.split_last_chunk().ok_or(NotSealed::Damaged)?;
    if crc32c::crc32c(body) != u32::from_le_bytes(*sum) {
        return Err(NotSealed::Damaged);
    }
    body.get(magic.len() + 4..).map(|content| (version, content)).ok_or(NotSealed::Damaged)
}
