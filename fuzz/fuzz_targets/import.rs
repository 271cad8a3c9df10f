//! Files that are imported, and mappings of tables, of any content: no crash, and a store that can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_history::{HistoryError, Selection, Store};
use plimsoll_import::{Mapping, Options, Zone, import};

fuzz_target!(|bytes: &[u8]| {
    // A mapping, and behind the first zero the file.
    let mut parts = bytes.splitn(2, |it| *it == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let mapping = Mapping::parse(&text).unwrap_or_default();
    let zone = Zone::named("America/Los_Angeles").ok();
    let options = Options { mapping, zone, ..Options::default() };
    let Ok(folder) = tempfile::tempdir() else { return };
    let (path, store) = (folder.path().join("file"), folder.path().join("store"));
    for content in [bytes, parts.next().unwrap_or_default()] {
        if std::fs::write(&path, content).is_err() {
            return;
        }
        let Ok(outcome) = import(&path, &store, &options) else { continue };
        let mut samples = 0;
        let read: Result<(), HistoryError> =
            Store::open(&store).unwrap().read(&Selection::default(), |batch| {
                samples += batch.ends.len() as u64;
                Ok(())
            });
        read.unwrap();
        assert!(samples >= outcome.imported.samples);
        // The same again adds nothing.
        assert_eq!(import(&path, &store, &options).unwrap().imported.samples, 0);
    }
});
