//! Site files of any content: no crash, and what is accepted can be written and read again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll_domain::site::{Site, SiteFile};

fuzz_target!(|text: &str| {
    let path = Path::new("site.toml");
    if let Ok(mut file) = SiteFile::parse(path, text) {
        let again = SiteFile::create(path, file.site()).expect("what was read can be written");
        assert_eq!(again.site(), file.site());
        let added = file.add_new(&Site::empty()).expect("nothing new is no problem");
        assert_eq!(added, 0);
    }
});
