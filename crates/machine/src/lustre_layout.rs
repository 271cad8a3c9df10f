//! How a file lies on the targets of Lustre.

use std::path::Path;

use plimsoll_lustre::{LAYOUT_ATTRIBUTE, LAYOUT_BYTES_MAX, LayoutHead, StripedLayout};

/// Returns the layout of a file; `None` if there is none: not Lustre, no such file, not
/// ours to read.
pub fn lustre_layout(path: &Path) -> Option<LayoutHead> {
    LayoutHead::parse(&attribute(path)?)
}

/// Returns the targets of a file, in the order of its stripes; `None` as above, and if the layout is not the same all over the file.
pub fn lustre_stripes(path: &Path) -> Option<StripedLayout> {
    StripedLayout::parse(&attribute(path)?)
}

fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut attribute = vec![0u8; LAYOUT_BYTES_MAX];
    let length = rustix::fs::getxattr(path, LAYOUT_ATTRIBUTE, &mut attribute[..]).ok()?;
    attribute.truncate(length);
    Some(attribute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elsewhere_files_have_none() {
        assert_eq!(lustre_layout(Path::new("/")), None);
        assert_eq!(lustre_layout(Path::new("/nowhere")), None);
        assert_eq!(lustre_stripes(Path::new("/")), None);
    }
}
