//! How a file lies on the targets of Lustre.

use std::path::Path;

use plimsoll_lustre::{LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, LayoutHead};

/// Returns the layout of a file; `None` if there is none: not Lustre, no such file, not
/// ours to read.
pub fn lustre_layout(path: &Path) -> Option<LayoutHead> {
    let mut attribute = vec![0u8; LAYOUT_BYTES_MAX];
    let length = rustix::fs::getxattr(path, LAYOUT_ATTRIBUTE, &mut attribute[..]).ok()?;
    LayoutHead::parse(attribute.get(..length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elsewhere_files_have_none() {
        assert_eq!(lustre_layout(Path::new("/")), None);
        assert_eq!(lustre_layout(Path::new("/nowhere")), None);
    }
}
