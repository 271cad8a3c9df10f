//! What the view shows after snapshots and keys, in frames of many sizes.

use std::collections::BTreeMap;

use plimsoll_history::{Component, ComponentKind, Measure, Reading, Value};
use plimsoll_live::{Key, Pressed, Snapshot, View};
use plimsoll_utilization::{Lately, Latest, Recent, Scope, TargetCosts};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const START: u64 = 1_767_229_200_000;

/// So many writes of 4 KiB and reads of 1 MiB a second.
fn reading(name: &str, second: u64, writes: u64, reads: u64) -> Reading {
    Reading {
        component: Component::new(ComponentKind::Ost, name).of_file_system("scratch"),
        server: format!("oss-of-{name}"),
        time: (START + second * 1000) * 1_000_000,
        epoch: 0,
        values: vec![
            Value::new(Measure::ReadBytes, (second * reads) << 20),
            Value::new(Measure::ReadOperations, second * reads),
            Value::new(Measure::WrittenBytes, second * writes * 4096),
            Value::new(Measure::WriteOperations, second * writes),
            Value::of_bin(Measure::WriteSizes, 4096, second * writes),
            Value::of_bin(Measure::ReadSizes, 1 << 20, second * reads),
        ],
    }
}

/// 700 opens and 50 renames a second, all within a directory.
fn metadata(second: u64) -> Reading {
    Reading {
        component: Component::new(ComponentKind::Mdt, "MDT0000").of_file_system("scratch"),
        values: vec![
            Value::new(Measure::Opens, second * 700),
            Value::new(Measure::Renames, second * 50),
            Value::new(Measure::RenamesSameDirectory, second * 50),
        ],
        ..reading("MDT0000", second, 0, 0)
    }
}

/// Three targets: one with small writes, one with large reads, one that is silent.
fn snapshot() -> Snapshot {
    let mut recent = Recent::new(Scope { windows: 60, jobs: true });
    for second in 0..=20 {
        let mut readings =
            vec![reading("OST0001", second, 4000, 0), reading("OST0002", second, 0, 100)];
        readings.push(metadata(second));
        let job = reading("OST0001", second, 3000, 0);
        readings.push(Reading { component: job.component.clone().of_job("cook.7"), ..job });
        if second == 0 {
            readings.push(reading("OST0003", 0, 0, 0));
        }
        recent.take(&readings, START + second * 1000, &|_| TargetCosts::ASSUMED);
    }
    Snapshot {
        source: "this machine".into(),
        moment: "01:00:20".into(),
        trouble: None,
        notes: vec!["costs are assumed".into()],
        latest: recent.latest(),
    }
}

fn view() -> View {
    let mut view = View::new(false);
    view.take(snapshot());
    view
}

fn drawn(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(line).map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn line<'a>(frame: &'a str, words: &str) -> &'a str {
    let found = frame.lines().find(|line| line.contains(words));
    found.unwrap_or_else(|| panic!("no {words} in\n{frame}"))
}

/// Names of the rows in their order.
fn order(view: &View) -> Vec<String> {
    let frame = drawn(view, 80, 24);
    let names = frame.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| name.starts_with("OST")).map(str::to_owned).collect()
}

fn press(view: &mut View, keys: &str) {
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\t' => Key::Tab,
            '\u{1b}' => Key::Escape,
            '\u{8}' => Key::Backspace,
            'v' => Key::Down,
            other => Key::Character(other),
        };
        assert_eq!(view.press(key), Pressed::GoOn);
    }
}

#[test]
fn a_list_fits_into_80_columns_and_uses_200() {
    let view = view();
    let narrow = drawn(&view, 80, 24);
    let busy = line(&narrow, "OST0001");
    // 4000 writes of 4 KiB in a second: 0.1 ms and 2.048 µs each.
    for words in ["40.8 %", "▄▄▄", "15.62 MiB/s", "0 B/s", "4 KiB"] {
        assert!(busy.contains(words), "{words}: {busy}");
    }
    let silent = line(&narrow, "OST0003");
    assert!(!silent.replace("OST0003", "").contains('0'), "missing is not 0: {silent}");
    assert!(silent.contains('-'), "{silent}");
    assert!(line(&narrow, "name").contains("FSU▼"));
    assert!(line(&narrow, "plimsoll top").contains("01:00:20  this machine"));
    assert!(narrow.contains("costs are assumed"));
    assert!(
        narrow.contains(
            "1 targets (3)  2 servers (3)  3 file systems (1)  4 jobs (1)  5 metadata (1)"
        )
    );
    let wide = drawn(&view, 200, 50);
    let headings: Vec<&str> = line(&wide, "name").split_whitespace().collect();
    let shown = "name kind FSU▼ class FSU so far read written op size ops/s read size write size by bandwidth file system server";
    assert_eq!(headings.join(" "), shown);
    for words in ["busy", "ost", "scratch", "…-of-OST0001", "4,000", "by bandwidth"] {
        assert!(wide.contains(words), "{words}\n{wide}");
    }
    assert!(line(&wide, "cook.7").contains("11.72 MiB/s"), "busiest jobs\n{wide}");
}

/// A client on a server, or two servers that tell about one target.
#[test]
fn what_is_there_twice_says_in_80_columns_which_is_which() {
    let mut twice = snapshot();
    let seen = Lately { kind: Some(ComponentKind::SeenTarget), ..twice.latest.targets[0].clone() };
    twice.latest.targets.push(seen);
    let mut view = View::new(false);
    view.take(twice);
    let narrow = drawn(&view, 80, 24);
    let kinds: Vec<&str> = (narrow.lines())
        .filter(|line| line.starts_with(&snapshot().latest.targets[0].name))
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(kinds, ["ost", "seen"], "{narrow}");
    assert!(line(&narrow, "name").contains("op size"), "{narrow}");
}

#[test]
fn no_size_of_a_terminal_is_too_small() {
    let mut view = view();
    for keys in ["", "?", "?/x", "\u{8}\n\n"] {
        press(&mut view, keys);
        for (width, height) in [(1, 1), (2, 3), (10, 4), (17, 7), (40, 10), (500, 200)] {
            drawn(&view, width, height);
        }
    }
    drawn(&View::new(true), 80, 24);
}

#[test]
fn keys_sort_and_reverse_and_what_is_missing_stays_last() {
    let mut view = view();
    assert_eq!(order(&view), ["OST0001", "OST0002", "OST0003"], "by FSU");
    press(&mut view, "r");
    assert_eq!(order(&view), ["OST0002", "OST0001", "OST0003"]);
    press(&mut view, "rs");
    assert_eq!(order(&view), ["OST0002", "OST0001", "OST0003"], "by bytes read");
    press(&mut view, "s");
    assert_eq!(order(&view), ["OST0001", "OST0002", "OST0003"], "by bytes written");
    press(&mut view, "sssr");
    assert_eq!(order(&view), ["OST0003", "OST0002", "OST0001"], "by name, reversed");
}

#[test]
fn a_filter_is_typed_kept_and_taken_away() {
    let mut view = view();
    press(&mut view, "/ost0002q");
    assert!(drawn(&view, 80, 24).contains("filter: ost0002q_"));
    press(&mut view, "\u{8}\n");
    assert_eq!(order(&view), ["OST0002"]);
    press(&mut view, "\u{1b}");
    assert_eq!(order(&view).len(), 3);
    press(&mut view, "/OSS-OF-OST0003\n");
    assert_eq!(order(&view), ["OST0003"], "also by server");
}

#[test]
fn a_frozen_view_stays_and_goes_on_with_the_latest() {
    let mut view = view();
    press(&mut view, " ");
    view.take(Snapshot { moment: "later".into(), ..Snapshot::default() });
    let frozen = drawn(&view, 80, 24);
    assert!(frozen.contains("frozen") && frozen.contains("OST0001") && !frozen.contains("later"));
    press(&mut view, " ");
    let thawed = drawn(&view, 80, 24);
    assert!(thawed.contains("later") && !thawed.contains("OST0001") && !thawed.contains("frozen"));
}

#[test]
fn a_target_is_looked_at_closely() {
    let mut view = view();
    press(&mut view, "v\n");
    let close = drawn(&view, 80, 24);
    assert!(close.contains("OST0002, ost of scratch on oss-of-OST0002"), "{close}");
    assert!(close.contains("read    100 MiB/s, 100/s of 1 MiB"), "{close}");
    assert!(line(&close, "1 MiB  reads").contains("2,000"), "{close}");
    assert!(close.contains("by bandwidth alone"));
    // It stays with its target when the order changes, and goes back.
    press(&mut view, "r");
    assert!(drawn(&view, 80, 24).contains("OST0002, ost"));
    press(&mut view, "\u{1b}");
    assert_eq!(order(&view).len(), 3);
    press(&mut view, "3\n");
    assert!(drawn(&view, 80, 24).contains("scratch, 3 targets"));
}

#[test]
fn groups_say_how_many_targets_they_know_and_jobs_are_lists_too() {
    let mut view = view();
    press(&mut view, "\t\t");
    assert!(line(&drawn(&view, 80, 24), "scratch").contains("2/3"));
    press(&mut view, "\t");
    assert!(line(&drawn(&view, 80, 24), "cook.7").contains("11.72 MiB/s"));
    view.take(Snapshot { latest: Latest { jobs: None, ..snapshot().latest }, ..snapshot() });
    assert!(drawn(&view, 80, 24).contains("Jobs are not known"));
    assert_eq!(view.press(Key::Character('q')), Pressed::Quit);
}

#[test]
fn targets_of_metadata_are_a_list_and_their_operations_have_names() {
    let mut view = view();
    assert!(!drawn(&view, 200, 50).contains("MDT0000"), "they are no targets of data");
    press(&mut view, "5");
    let listed = drawn(&view, 80, 24);
    let row: Vec<&str> = line(&listed, "MDT0000").split_whitespace().collect();
    // What is renamed within a directory is counted among the renames.
    assert_eq!((row[0], row[1]), ("MDT0000", "750"), "{listed}");
    assert!(row.contains(&"700") && row.contains(&"-"), "{listed}");
    assert!(line(&listed, "name").contains("opens"), "{listed}");
    let wide = drawn(&view, 200, 50);
    assert!(line(&wide, "name").contains("renames") && line(&wide, "MDT0000").contains(" 50 "));
    press(&mut view, "\n");
    let close = drawn(&view, 80, 24);
    assert!(close.contains("MDT0000, mdt of scratch"), "{close}");
    assert!(close.contains("750 operations a second"), "{close}");
    assert!(close.contains("from 0 to 750"), "{close}");
    let place = |words: &str| close.find(words).unwrap_or_else(|| panic!("{words}\n{close}"));
    assert!(place("opens        700 █") < place("renames         50 █"), "{close}");
    view.take(Snapshot {
        latest: Latest { metadata: Vec::new(), ..snapshot().latest },
        ..snapshot()
    });
    assert!(drawn(&view, 80, 24).contains("No target of metadata"));
}

#[test]
fn names_of_others_steer_nothing() {
    let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}b";
    let named = |mut it: Lately| {
        (it.name, it.server, it.file_system) = (hostile.into(), hostile.into(), hostile.into());
        it
    };
    let rows = |all: Vec<Lately>| all.into_iter().map(named).collect::<Vec<_>>();
    let Latest { targets, servers, file_systems, jobs, metadata } = snapshot().latest;
    let mut view = View::new(true);
    view.take(Snapshot {
        source: hostile.into(),
        moment: String::new(),
        trouble: Some(hostile.into()),
        notes: vec![hostile.into()],
        latest: Latest {
            targets: rows(targets),
            servers: rows(servers),
            file_systems: rows(file_systems),
            jobs: jobs.map(rows),
            metadata: rows(metadata),
        },
    });
    for keys in ["", "\n", "2", "\n", "4", "\n", "5", "\n", "1/\u{202e}\u{9b}"] {
        press(&mut view, keys);
        let frame = drawn(&view, 200, 50);
        let steers = |it: char| it.is_control() && it != '\n' || it == '\u{202e}';
        assert!(!frame.chars().any(steers), "{frame:?}");
        assert!(frame.contains("\\u{9b}31m"));
    }
}

#[test]
fn a_long_list_scrolls_to_its_end() {
    let row = snapshot().latest.targets.remove(0);
    let many = |n: u32| Lately { name: format!("OST{n:04}"), ..row.clone() };
    let mut view = View::new(false);
    let of = |targets| Snapshot {
        latest: Latest { targets, ..Latest::default() },
        ..Snapshot::default()
    };
    view.take(of((0..1000).map(many).collect()));
    assert!(!drawn(&view, 80, 24).contains("OST0999"));
    view.press(Key::End);
    assert!(drawn(&view, 80, 24).contains("OST0999"));
    view.press(Key::PageUp);
    view.press(Key::Enter);
    assert!(drawn(&view, 80, 24).contains("OST0989, ost"));
    let sizes: BTreeMap<u64, (u64, u64)> = (0..64).map(|bit| (1 << bit, (u64::MAX, 1))).collect();
    view.take(of(vec![Lately { name: "OST0989".into(), sizes: Some(sizes), ..row }]));
    assert!(drawn(&view, 80, 24).contains("reads"));
}
