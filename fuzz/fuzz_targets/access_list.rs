//! Lists of users as a file system tells them, which may be another user's: no crash, and what is made of them agrees with itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_guarded::AccessList;

fuzz_target!(|bytes: &[u8]| {
    let Some(list) = AccessList::decode(bytes) else { return };
    let nobody = list.clone().with_mask(0);
    assert!(nobody.is_within(&list), "nobody may do anything");
    assert!(!nobody.are_all());
    let open = AccessList::without(7);
    if list.are_all() {
        assert!(open.is_within(&list), "nobody is kept from it");
    }
    let _ = list.is_within(&open);
});
