//! Layouts that Lustre gives back, as attributes of files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|attribute: &[u8]| {
    if let Some(layout) = plimsoll_engine::parse_file_layout(attribute) {
        assert!(layout.targets.len() * 24 < attribute.len());
        assert!(!layout.to_string().is_empty());
    }
    let _ = plimsoll_lustre::LayoutHead::parse(attribute);
});
