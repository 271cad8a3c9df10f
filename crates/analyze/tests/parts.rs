//! Parts that are written to files and merged: equal to the whole, refused where they do not belong together, and readable as long as their version is.

mod support;

use std::path::{Path, PathBuf};

use plimsoll_analyze::{
    Analysis, AnalyzeError, BesidePart, Frame, Merged, Merging, Options, PartialFile, Wanted, Zone,
};
use plimsoll_history::{Component, ComponentKind, Measure, Store};
use plimsoll_utilization::{FixedCost, TargetCosts};
use support::*;

/// Three targets, one of which comes later, metadata and a server, over five days with a gap; samples reach over midnight.
fn history(path: &Path) {
    let samples = |step: u64, from: u64, skipped: u64| -> Vec<Sampled> {
        let all = (1..5 * 86_400_000 / step).filter(|it| *it > from && it / 500 != skipped);
        all.map(|it| (it * step + 1_300, step as u32, it * it % 100_003)).collect()
    };
    let of = |kind: ComponentKind, name: &str| Component::new(kind, name).of_file_system("scratch");
    let ost = |name: &str| of(ComponentKind::Ost, name);
    store_of(
        path,
        &[
            (ost("a"), Measure::ReadBytes, samples(40_000, 0, 3)),
            (ost("a"), Measure::WrittenBytes, samples(60_000, 0, 3)),
            (ost("a"), Measure::ReadOperations, samples(40_000, 0, 3)),
            (ost("b"), Measure::WrittenBytes, samples(30_000, 0, 7)),
            (ost("b"), Measure::WriteOperations, samples(7_000, 0, 7)),
            (ost("late"), Measure::ReadBytes, samples(60_000, 4_000, 9)),
            (ost("a").of_job("one"), Measure::ReadBytes, samples(40_000, 0, 3)),
            (ost("a").of_job("two"), Measure::WrittenBytes, samples(60_000, 3_000, 3)),
            (ost("b").of_job("two"), Measure::WrittenBytes, samples(60_000, 0, 3)),
            (of(ComponentKind::Mdt, "m"), Measure::Opens, samples(60_000, 0, 3)),
            (of(ComponentKind::Server, "s"), Measure::CpuLoad, samples(30_000, 0, 5)),
        ],
    );
}

/// What operations cost, measured for one target only.
fn costs(component: &Component) -> (TargetCosts, bool) {
    let cost = FixedCost::new(1e-3, 1e-9).unwrap();
    (TargetCosts { read: cost, write: cost }, component.name == "a")
}

const WANTED: Wanted<'static> = Wanted { costs: Some(&costs), jobs: true };

fn parts(path: &Path, options: &Options, count: usize) -> Vec<PartialFile> {
    let store = Store::open(path).unwrap();
    let frame = Frame::of(&store, options).unwrap();
    let part =
        |number| PartialFile::read(&store, "made", &frame, (number, count), &WANTED, 1).unwrap();
    (0..count).map(part).collect()
}

fn merged(parts: Vec<PartialFile>) -> Result<Merged, AnalyzeError> {
    let mut merging = Merging::default();
    parts.into_iter().try_for_each(|part| merging.add(part))?;
    merging.finish(&Options { high_from: 0.9, ..Options::default() })
}

#[test]
fn parts_that_went_through_files_give_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    history(&path);
    let options = Options { zone: Zone::named("Asia/Kolkata").unwrap(), ..Options::default() };
    let (frame, expected) = whole(&path, &options, 1, 2);
    let store = Store::open(&path).unwrap();
    let beside = BesidePart::read(&store, &frame, &frame.days, &WANTED, 3).unwrap().whole(&frame);
    let group = &beside.utilization.as_ref().unwrap().groups[0];
    assert_eq!((group.name.as_str(), group.targets), ("scratch", 2), "those with operations");
    assert!(group.windows > 60_000 && group.fsu_mean().unwrap() > 1.0, "{group:?}");
    assert_eq!(beside.assumed, ["b"]);
    let jobs = beside.jobs.as_ref().unwrap();
    let names: Vec<&str> = jobs.jobs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["two", "one"], "those that moved most first");
    assert_eq!(expected.counted[0][0].samples as usize, 5 * 86_400 / 40 - 1 - 500);
    for count in [1, 2, 4, 7] {
        let written: Vec<Vec<u8>> =
            parts(&path, &options, count).iter().map(PartialFile::to_bytes).collect();
        let read = |bytes: &Vec<u8>| {
            let part = PartialFile::from_bytes(bytes).unwrap();
            assert_eq!(&part.to_bytes(), bytes, "equal content is equal bytes");
            part
        };
        let merged = merged(written.iter().map(read).collect()).unwrap();
        assert!(merged.whole == expected, "{count} parts");
        assert_eq!(merged.beside.utilization, beside.utilization, "{count} parts");
        assert_eq!(merged.beside.jobs, beside.jobs, "{count} parts");
        assert_eq!(merged.beside.assumed, beside.assumed);
        assert_eq!((merged.store.as_str(), merged.frame.options.high_from), ("made", 0.9));
        assert_eq!(merged.frame.targets, frame.targets);
        assert_eq!(merged.frame.options.zone, options.zone);
    }
}

#[test]
fn what_does_not_belong_together_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    history(&one);
    // The same days and targets, other samples.
    store(
        &other,
        &["a", "b", "late"].map(|name| {
            let reads = minutes(&[Some(9); 5 * 1440 - 1]);
            (ComponentKind::Ost, name, Measure::ReadBytes, reads)
        }),
    );
    let plain = Options::default();
    let mut good = parts(&one, &plain, 2);
    let second = good.pop().unwrap();
    let first = good.pop().unwrap();
    let said = |parts: Vec<PartialFile>| merged(parts).unwrap_err().to_string();
    let foreign = parts(&other, &plain, 2).pop().unwrap();
    assert!(said(vec![first.clone(), foreign]).contains("is of another history than part 0"));
    let limited = parts(&one, &Options { limit: Some(5), until: Some(9), ..plain.clone() }, 1);
    assert!(limited.iter().all(|it| it.parts == 1));
    let limited = parts(&one, &Options { limit: Some(5), ..plain }, 2).pop().unwrap();
    assert!(
        said(vec![first.clone(), limited]).contains("with other options than part 0: --limit;")
    );
    assert!(said(vec![first.clone()]).contains("part 1 of 2 is absent"));
    assert!(said(vec![second.clone()]).contains("part 0 of 2 is absent"));
    assert!(said(vec![first.clone(), first.clone()]).contains("part 1 of 2 is expected"));
    let dearer = |component: &Component| {
        let cost = FixedCost::new(2e-3, 1e-9).unwrap();
        (TargetCosts { read: cost, write: cost }, component.name == "a")
    };
    let store = Store::open(&one).unwrap();
    let frame = Frame::of(&store, &Options::default()).unwrap();
    let wanted = Wanted { costs: Some(&dearer), jobs: true };
    let dearer = PartialFile::read(&store, "made", &frame, (1, 2), &wanted, 1).unwrap();
    assert!(said(vec![first.clone(), dearer]).contains("with other costs of operations of a than"));
    let mut bytes = second.to_bytes();
    bytes[23] = 9;
    let later = PartialFile::from_bytes(&bytes).unwrap_err().to_string();
    assert!(later.contains("of version 9, this program joins parts of version 2"), "{later}");
    let mut bytes = second.to_bytes();
    let half = bytes.len() / 2;
    bytes[half] ^= 1;
    for damaged in [&bytes[..], &bytes[..half], &bytes[..30], &bytes[..28]] {
        assert!(matches!(PartialFile::from_bytes(damaged), Err(AnalyzeError::Damaged)));
    }
    assert!(matches!(PartialFile::from_bytes(b"something else"), Err(AnalyzeError::NoPart)));
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/part-v2")
}

/// Run once with PLIMSOLL_WRITE_GOLDEN=1 when a new version needs a new file.
#[test]
fn a_part_of_this_version_reads_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let sample = |minute: u64| (minute * 60_000 + 500, 60_000, 1000 + minute % 5);
    let some: Vec<Sampled> = (1..2000).filter(|it| it % 400 < 9).map(sample).collect();
    let of = |kind: ComponentKind, name: &str| Component::new(kind, name).of_file_system("scratch");
    let a = of(ComponentKind::Ost, "a");
    store_of(
        &path,
        &[
            (a.clone(), Measure::ReadBytes, some.clone()),
            (a.clone(), Measure::ReadOperations, some.clone()),
            (a.of_job("job"), Measure::ReadBytes, some.clone()),
            (of(ComponentKind::Ost, "b"), Measure::WrittenBytes, some.clone()),
            (of(ComponentKind::Mdt, "m"), Measure::Closes, some.clone()),
            (of(ComponentKind::Server, "s"), Measure::CpuLoad, some),
        ],
    );
    let written = parts(&path, &Options::default(), 1)[0].to_bytes();
    if std::env::var_os("PLIMSOLL_WRITE_GOLDEN").is_some() {
        std::fs::write(golden(), &written).unwrap();
    }
    let then = PartialFile::from_bytes(&std::fs::read(golden()).unwrap()).unwrap();
    let Merged { frame, whole, beside, .. } = merged(vec![then.clone()]).unwrap();
    let analysis = Analysis::of(&frame, &whole);
    assert_eq!((frame.targets.len(), frame.days.len()), (2, 2));
    assert_eq!(analysis.system.directions[0].bytes, analysis.system.directions[1].bytes);
    assert_eq!((analysis.cleaning.samples, analysis.cleaning.outage), (2 * 44, 4 * 391));
    let now = merged(parts(&path, &Options::default(), 1)).unwrap();
    assert!(whole == now.whole && beside.utilization == now.beside.utilization);
    assert!(beside.jobs == now.beside.jobs && beside.jobs.is_some_and(|it| it.jobs.len() == 1));
}
