//! `plimsoll stow mount`: bytes that are read are those that are there by now, and compared with their checksums, whoever has read them before.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use plimsoll_stow::{Container, Placement, Writer};

use super::Place;
use super::mount::shell;
use crate::support::view::View;

/// Flips a bit of these bytes in the only log of a container.
fn damage(place: &Place, name: &str, bytes: &[u8]) {
    let id = place.json(&format!("info {name}"))["id"].as_str().unwrap().to_string();
    let log = place.storage.targets[0].join(format!("plimsoll-stow-{id}/log-0000"));
    let mut content = fs::read(&log).unwrap();
    let at = content.windows(bytes.len()).position(|it| it == bytes).unwrap();
    content[at] ^= 1;
    fs::write(&log, content).unwrap();
}

/// Requests of programs and of the kernel's reading ahead lie in two windows, and all windows may be in use: what is read in order is compared all the same.
#[test]
fn what_is_read_in_order_is_compared_by_whatever_pieces() {
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    let bytes = place.plain("file", 8_600_000);
    for name in ["damaged", "whole"] {
        let copied = place.run(&format!("cp file data/{name} --targets ost0"));
        assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    }
    damage(&place, "data/damaged", &bytes[8_500_000..8_500_064]);
    for direct in [&[][..], &["--direct"]] {
        for block in [4096, 65_536, 131_072, 700_001, 1_000_000] {
            let Some(view) = View::of(place.path(), "data", direct) else { return };
            let taken: Vec<File> = (0..40)
                .map(|_| {
                    let mut file = File::open(view.at("whole")).unwrap();
                    file.read_exact(&mut vec![0; 5 << 20]).unwrap();
                    file
                })
                .collect();
            for _ in 0..2 {
                let line = format!("dd if=view/damaged of=/dev/null bs={block}");
                let outcome = shell(place.path(), &line);
                assert_ne!(outcome.status, Some(0), "{block} {direct:?}");
                assert!(outcome.stderr.contains("Input/output error"), "{}", outcome.stderr);
            }
            drop(taken);
        }
    }
}

/// The attack: a program that has a container open since before it was overwritten reads it again, while the server has looked at so many others that it
/// would know the container no more by that name alone.
#[test]
fn who_has_a_file_open_for_long_puts_no_old_bytes_before_those_who_come_later() {
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    place.plain("small", 10);
    fs::write(place.path().join("old"), [b'A'; 1_000_000]).unwrap();
    assert_eq!(place.run("cp old data/box --targets ost0").status, Some(0));
    for number in 0..20 {
        assert_eq!(place.run(&format!("cp small data/{number} --targets ost0")).status, Some(0));
    }
    let Some(view) = View::of(place.path(), "data", &["--cached"]) else { return };
    let held = File::open(view.at("box")).unwrap();
    let read_again = || {
        rustix::fs::fadvise(&held, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let mut bytes = vec![0; 1_000_000];
        held.read_exact_at(&mut bytes, 0).unwrap();
    };
    read_again();
    for round in b'B'..b'F' {
        for number in 0..20 {
            fs::metadata(view.at(&number.to_string())).unwrap();
        }
        let container = Container::open(&place.path().join("data/box"), &[]).unwrap();
        let mut writer = Writer::open(Arc::new(container), Placement::Striped).unwrap();
        writer.write_at(&[round; 1_000_000], 0).unwrap();
        writer.close().unwrap();
        for _ in 0..3 {
            let read = fs::read(view.at("box")).unwrap();
            assert!(read.iter().all(|it| *it == round), "old bytes after round {round}");
            read_again();
        }
    }
}

/// The attack: what a program reads here and there, and is not compared, would be found in the kernel's cache by one that reads in order.
#[test]
fn what_goes_through_the_cache_is_compared_whoever_read_it_first() {
    let place = Place::new(1);
    fs::create_dir(place.path().join("data")).unwrap();
    let bytes = place.plain("file", 6_000_000);
    assert_eq!(place.run("cp file data/box --targets ost0").status, Some(0));
    damage(&place, "data/box", &bytes[3_000_000..3_000_064]);
    for arguments in [&["--cached"][..], &[]] {
        let Some(view) = View::of(place.path(), "data", arguments) else { return };
        let backwards = |file: &File| {
            rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random).unwrap();
            for page in (0..6_000_000 / 4096).rev() {
                let _ = file.read_at(&mut [0; 4096], page * 4096);
            }
        };
        let early = File::open(view.at("box")).unwrap();
        backwards(&early);
        // The second time goes through the cache in any case, and what is mapped by the first one goes there, too.
        let late = File::open(view.at("box")).unwrap();
        backwards(&late);
        let line = "/usr/bin/python3 -c 'import mmap, os\n\
                    f = os.open(\"view/box\", os.O_RDONLY)\n\
                    m = mmap.mmap(f, 0, prot=mmap.PROT_READ)\n\
                    m.madvise(mmap.MADV_RANDOM); m[3500000]; m[2000000]; m[3000000]'";
        shell(place.path(), line);
        for _ in 0..2 {
            let outcome = shell(place.path(), "cat view/box > copy");
            assert!(
                outcome.stderr.contains("Input/output error"),
                "{arguments:?}: {}",
                outcome.stderr
            );
        }
        drop((early, late));
    }
}
