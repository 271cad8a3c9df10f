//! Reading without waiting, and looking for news without asking the kernel.

mod support;

use plimsoll_stow::{News, Placement, Reader, Writer};
use support::container;

const RECORD: usize = 4096;

#[test]
fn what_is_read_at_once_is_what_is_there() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let it = container(folder.path(), 3);
    let mut writer = Writer::open(it.clone(), Placement::Striped).unwrap();
    for index in 0..200_u8 {
        writer.write_at(&[index; RECORD], u64::from(index) * RECORD as u64).unwrap();
    }
    for is_closed in [false, true] {
        if is_closed {
            // It writes the index, of which blocks are read by the other way only.
            drop(std::mem::replace(
                &mut writer,
                Writer::open(it.clone(), Placement::Striped).unwrap(),
            ));
        }
        let reader = Reader::open(it.clone()).unwrap();
        let mut at_once = 0;
        for (offset, length) in
            (0..400).map(|step| (step * 2048 + step % 7, if step % 3 == 0 { 4096 } else { 500 }))
        {
            let (mut bytes, mut known) = (vec![1; length], vec![2; length]);
            let got = reader.read_at(&mut known, offset).unwrap();
            if reader.read_at_once(&mut bytes, offset) {
                at_once += 1;
                assert_eq!((got, &bytes), (length, &known), "{offset}");
            }
        }
        assert!(at_once > 200, "{at_once}");
        let end = reader.size();
        assert!(!reader.read_at_once(&mut [0; 2], end - 1), "the file ends there");
        assert!(!reader.read_at_once(&mut [0; 2], u64::MAX) && !reader.read_at_once(&mut [], 0));
        assert!(!reader.read_at_once(&mut [0; 2], RECORD as u64 - 1), "it is in two places");
    }
}

#[test]
fn nothing_new_is_certain_until_something_is() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let it = container(folder.path(), 2);
    let mut writer = Writer::open(it.clone(), Placement::Striped).unwrap();
    writer.write_at(b"first", 0).unwrap();
    let mut news = News::of(&it).unwrap();
    assert!(!news.are_none(), "nobody has looked");
    news.are_there();
    if news.look_by_memory().is_none() {
        println!(
            "SKIPPED: /var/tmp is on a file system where others do not see at once what is stored into a mapping"
        );
        return;
    }
    assert!(news.are_none() && news.are_none());
    // To the same log, and to one that there was not.
    for offset in [5, 64 << 20] {
        writer.write_at(b"more", offset).unwrap();
        assert!(!news.are_none() && !news.are_none());
        assert!(news.are_there() && news.are_none());
    }
    let mut other = Writer::open(it, Placement::Striped).unwrap();
    other.truncate(3).unwrap();
    assert!(!news.are_none());
    assert!(news.are_there() && !news.are_there() && news.are_none());
}
