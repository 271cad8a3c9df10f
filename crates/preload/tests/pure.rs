//! The parts of the library that call nothing: text in a fixed place, and tables that threads share. They are
//! taken in by their files, as the library itself stands in for functions of whoever links it; `make miri` looks
//! for undefined behaviour in them.

#![allow(dead_code, reason = "the library uses the rest")]

#[path = "../src/mappings.rs"]
mod mappings;
#[path = "../src/text.rs"]
mod text;
#[path = "../src/transfers.rs"]
mod transfers;

use core::mem::MaybeUninit;

use mappings::Mappings;
use plimsoll_trace::Op;
use text::Text;
use transfers::{Transfer, Transfers};

/// A table as the kernel gives it: all zeros.
fn zeroed<T>() -> Box<T> {
    let mut table = Box::new(MaybeUninit::<T>::uninit());
    // SAFETY: all of it is written, and zeros are an empty table, say both.
    unsafe {
        table.as_mut_ptr().write_bytes(0, 1);
        table.assume_init()
    }
}

#[test]
fn text_is_cut_off_where_its_room_ends_and_always_has_its_zero() {
    let mut text = Text::<8>::new();
    assert_eq!((text.as_bytes(), text.as_c_str()), (&b""[..], c""));
    text.push(b"");
    assert_eq!(text.as_c_str(), c"");
    text.push(b"abc");
    assert_eq!(text.as_c_str(), c"abc");
    text.push(b"defghi");
    assert_eq!((text.as_bytes(), text.as_c_str()), (&b"abcdefg"[..], c"abcdefg"));
    text.push(b"more");
    assert_eq!(text.as_c_str(), c"abcdefg");
    text.truncate(2);
    assert_eq!(text.as_c_str(), c"ab");
    text.truncate(5);
    assert_eq!(text.as_c_str(), c"ab");
    text.set(b"x\0y");
    assert_eq!((text.as_bytes(), text.as_c_str()), (&b"x\0y"[..], c"x"));
    text.truncate(0);
    assert_eq!(text.as_c_str(), c"");
    let mut none = Text::<0>::new();
    none.push(b"x");
    assert_eq!((none.as_bytes(), none.as_c_str()), (&b""[..], c""));
}

#[test]
fn numbers_and_paths_are_spelled() {
    let mut text = Text::<64>::new();
    text.push_number(0, 10);
    text.push(b" ");
    text.push_number(u64::MAX, 10);
    text.push(b" ");
    text.push_number(0xdead_beef, 16);
    assert_eq!(text.as_bytes(), b"0 18446744073709551615 deadbeef");
    text.set_absolute(b"//a/./b//c/");
    assert_eq!(text.as_bytes(), b"/a/b/c");
}

#[test]
fn threads_find_what_they_put_into_tables() {
    let mappings = zeroed::<Mappings>();
    let transfers = zeroed::<Transfers>();
    std::thread::scope(|scope| {
        for thread in 1..4usize {
            let (mappings, transfers) = (&mappings, &transfers);
            scope.spawn(move || {
                for number in 0..4u32 {
                    let key = thread << 20 | (number as usize) << 12;
                    mappings.add(key, 4096, number);
                    assert_eq!(mappings.find(key), Some(number));
                    let transfer = Transfer {
                        op: Op::Read,
                        file: number,
                        offset: 7,
                        length: 8,
                        start: 1,
                        end: 0,
                    };
                    assert!(transfers.add(key, &transfer));
                    transfers.complete(key, 9);
                    let taken = transfers.take(key).unwrap();
                    assert_eq!((taken.file, taken.offset, taken.end), (number, 7, 9));
                    assert!(transfers.take(key).is_none());
                    mappings.remove(key);
                    assert_eq!(mappings.find(key), None);
                }
            });
        }
    });
    assert_eq!(transfers.take_all(), 0);
}
