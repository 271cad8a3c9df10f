//! Writers of containers, taken to their targets by pilots.

use std::path::Path;
use std::sync::Arc;

use plimsoll_pilot::{Crew, KeptMemory, Pilot};
use plimsoll_route::Factor;
use plimsoll_stow::{Container, Placement, Reader, Target, Writer, check};

const KIB: usize = 1 << 10;

fn targets(folder: &Path, count: usize) -> Vec<Target> {
    let target = |index| {
        let name = format!("t{index}");
        let path = folder.join(&name);
        std::fs::create_dir_all(&path).unwrap();
        Target { name, path }
    };
    (0..count).map(target).collect()
}

fn writer(container: &Arc<Container>, throttle: Factor) -> Writer {
    let pilot = Pilot::new(container, throttle).unwrap();
    Writer::open(container.clone(), Placement::Routed(Box::new(pilot))).unwrap()
}

/// Strided records of several writers; returns what the file must hold.
fn write_strided(writers: &mut [Writer], length: usize, count: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    for index in 0..count {
        let bytes: Vec<u8> = (0..length).map(|at| (index * 7 + at * 13) as u8).collect();
        let which = index % writers.len();
        writers[which].write_at(&bytes, whole.len() as u64).unwrap();
        whole.extend(bytes);
    }
    whole
}

fn read_all(container: Arc<Container>) -> Vec<u8> {
    let reader = Reader::open(container).unwrap();
    let mut bytes = vec![0; reader.size() as usize];
    assert_eq!(reader.read_verified_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn memory_files() -> Vec<std::ffi::OsString> {
    let folder = format!("/dev/shm/plimsoll-{}", rustix::process::geteuid().as_raw());
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|it| it.unwrap().file_name()).collect()
}

#[test]
fn several_writers_share_targets_and_the_file_is_whole() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = targets(folder.path(), 3);
    for length in [300, 47 * KIB, 1024 * KIB + 1] {
        let path = folder.path().join(format!("big{length}"));
        let container = Arc::new(Container::create(&path, &targets).unwrap());
        let mut writers = [0, 1].map(|_| writer(&container, Factor::NONE));
        let whole = write_strided(&mut writers, length, 8 << 20 >> length.ilog2());
        writers[0].sync().unwrap();
        writers.into_iter().for_each(|it| it.close().unwrap());
        assert!(read_all(container.clone()) == whole, "records of {length}");
        let problems = check(&Reader::open(container).unwrap(), &mut |_| ()).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
    }
}

#[test]
fn a_target_that_cannot_be_written_is_left_for_the_others() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut targets = targets(folder.path(), 2);
    targets.push(Target { name: "gone".into(), path: folder.path().join("nowhere") });
    let container = Arc::new(Container::create(&folder.path().join("big"), &targets).unwrap());
    let mut writers = [writer(&container, Factor::NONE)];
    let whole = write_strided(&mut writers, 100 * KIB, 200);
    let refusals: Vec<String> = writers[0].refusals().map(|(name, _)| name.into()).collect();
    assert_eq!(refusals, ["gone"]);
    drop(writers);
    assert!(read_all(container) == whole);
}

#[test]
fn a_throttle_keeps_the_targets_balanced() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = targets(folder.path(), 4);
    let container = Arc::new(Container::create(&folder.path().join("big"), &targets).unwrap());
    let mut writers = [writer(&container, Factor::from_millionths(100_000))];
    let whole = write_strided(&mut writers, 64 * KIB, 1024);
    drop(writers);
    let reader = Reader::open(container.clone()).unwrap();
    let mut held = std::collections::BTreeMap::new();
    for log in reader.logs() {
        *held.entry(log.listed.target.clone()).or_insert(0) += log.live;
    }
    let fair = whole.len() as f64 / targets.len() as f64;
    // A lease more than allowed may be given, of 4 MiB at most.
    let most = fair * 1.1 + f64::from(4 << 20);
    assert!(held.values().all(|bytes| *bytes as f64 <= most), "{held:?}, fair is {fair}");
}

#[test]
fn of_many_targets_a_node_uses_sixteen_and_others_of_its_containers_other_ones() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = targets(folder.path(), 40);
    let crew = Crew::new(0);
    let mut used = Vec::new();
    for name in ["one", "two", "three"] {
        let container = Arc::new(Container::create(&folder.path().join(name), &targets).unwrap());
        let of_crew = Placement::Routed(Box::new(crew.pilot(&container).unwrap()));
        let of_crew = Writer::open(container.clone(), of_crew).unwrap();
        let mut writers = [writer(&container, Factor::NONE), of_crew];
        let whole = write_strided(&mut writers, 256 * KIB, 100);
        drop(writers);
        let logs = container.logs().unwrap();
        let names: std::collections::BTreeSet<String> =
            logs.iter().map(|it| it.target.clone()).collect();
        assert!(logs.len() <= 16 && names.len() == logs.len(), "{logs:?}");
        assert!(names.len() > 4, "{names:?}");
        used.push(names);
        assert!(read_all(container) == whole);
    }
    assert!(used[0] != used[1] || used[1] != used[2], "{used:?}");
}

#[test]
fn the_last_one_removes_the_memory() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = targets(folder.path(), 2);
    let container = Arc::new(Container::create(&folder.path().join("big"), &targets).unwrap());
    // With a throttle, the memory is this container's alone.
    let throttle = Factor::from_millionths(1_234_567);
    let before = memory_files();
    let first = Pilot::new(&container, throttle).unwrap();
    let names: Vec<_> = memory_files().into_iter().filter(|it| !before.contains(it)).collect();
    let second = Pilot::new(&container, throttle).unwrap();
    drop(first);
    let is_there = || memory_files().iter().any(|it| names.contains(it));
    assert!(is_there(), "the second one uses it");
    drop(second);
    // Other tests make and remove memory of theirs at the same time.
    assert!(names.iter().any(|name| !memory_files().contains(name)), "{names:?}");
}

#[test]
fn memory_of_the_killed_is_removed_by_the_next_one() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let targets = targets(folder.path(), 2);
    let container = Arc::new(Container::create(&folder.path().join("big"), &targets).unwrap());
    // Makes the directory.
    let _used = Pilot::new(&container, Factor::NONE).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let memory = Path::new("/dev/shm").join(format!("plimsoll-{user}"));
    let left = memory.join(format!("stow-left-{}", std::process::id()));
    let draft = memory.join(format!(".stow-draft-{}", std::process::id()));
    let young = memory.join(format!("stow-young-{}", std::process::id()));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for (path, is_old) in [(&left, true), (&draft, true), (&young, false)] {
        let file = std::fs::File::create(path).unwrap();
        if is_old {
            file.set_modified(old).unwrap();
        }
    }
    drop(Pilot::new(&container, Factor::NONE).unwrap());
    assert!(!left.exists() && !draft.exists(), "nobody uses it");
    assert!(young.exists(), "its maker may not have joined yet");
    std::fs::remove_file(young).unwrap();
}

/// A container of its own targets, whose memory nobody else uses.
fn own_container(folder: &Path, name: &str) -> Arc<Container> {
    Arc::new(Container::create(&folder.join(name), &targets(folder, 3)).unwrap())
}

fn crew_writer(crew: &Arc<Crew>, container: &Arc<Container>) -> Writer {
    let pilot = crew.pilot(container).unwrap();
    Writer::open(container.clone(), Placement::Routed(Box::new(pilot))).unwrap()
}

#[test]
fn a_crew_writes_files_of_all_sizes_with_and_without_a_buffer() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    for buffer_bytes in [0, 100_000, 16 << 20] {
        let crew = Crew::new(buffer_bytes);
        for (length, count) in [(300, 10), (47 * KIB, 400), (3 << 20, 9)] {
            let container = own_container(folder.path(), &format!("{buffer_bytes}-{length}"));
            let mut writers = [0, 1].map(|_| crew_writer(&crew, &container));
            let whole = write_strided(&mut writers, length, count);
            writers[0].sync().unwrap();
            writers.into_iter().for_each(|it| it.close().unwrap());
            assert!(read_all(container) == whole, "{buffer_bytes}, records of {length}");
        }
    }
}

/// Small files go to all targets, and only what needs it takes a place in memory, which one writer hands on to the next.
#[test]
fn a_crew_takes_one_place_for_large_files_and_none_for_small_ones() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut logs = [0; 3];
    let crew = Crew::new(0);
    let write = |name: &str, length: usize| {
        let container = own_container(folder.path(), name);
        let mut writer = crew_writer(&crew, &container);
        writer.write_at(&vec![7; length], 0).unwrap();
        writer.close().unwrap();
        container
    };
    for index in 0..48 {
        let container = write(&format!("small{index}"), 1000);
        for log in Reader::open(container).unwrap().logs() {
            let target = log.listed.target.trim_start_matches('t').parse::<usize>().unwrap();
            logs[target] += 1;
        }
    }
    assert_eq!(logs.iter().sum::<i32>(), 48);
    assert!(logs.iter().all(|it| *it > 4), "{logs:?}");
    let memory = KeptMemory::of(&targets(folder.path(), 3)).unwrap().path().unwrap();
    assert!(!memory.exists(), "the crew has a place in it, for small files");
    for name in ["large0", "large1"] {
        write(name, 4 << 20);
    }
    assert!(memory.exists(), "the crew has no place in it, for large files");
    drop(crew);
    assert!(!memory.exists());
}
