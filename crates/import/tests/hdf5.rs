//! HDF5 files as TOKIO and pyLMT write them, made by h5py, and what others may have put in their place.

mod support;

use std::fs;
use std::path::Path;

use plimsoll_import::{NoteKind, import};
use support::*;

/// Two targets, six steps of 5 s over midnight (UTC) after 2020-01-01. One step is missing, one value is impossible, and the last times are not there.
const TOKIO: &str = r#"
import sys, h5py, numpy
start = 1577923185
with h5py.File(sys.argv[1], 'w') as f:
    f.attrs['version'] = '1'
    targets = f.create_group('datatargets'); targets.attrs['source'] = 'lmt'
    targets['timestamps'] = numpy.arange(start, start + 30, 5)
    values = numpy.arange(16.0).reshape(8, 2)
    values[1, 0] = -0.0; values[2, 1] = -7
    names = numpy.array([b'scratch-OST0001', b'scratch-OST0000'])
    for name, factor in (('readbytes', 1.0), ('writebytes', 100.0)):
        made = targets.create_dataset(name, data=values * factor, chunks=(3, 2), compression='gzip', shuffle=True)
        made.attrs['columns'] = names; made.attrs['units'] = 'bytes/sec'
    made = targets.create_dataset('readrates', data=values); made.attrs['columns'] = names
    full = f.create_group('fullness'); full.attrs['source'] = 'lmt'
    full['timestamps'] = numpy.arange(start, start + 30, 5)
    for name, value in (('bytes', 3.0), ('bytestotal', 10.0)):
        made = full.create_dataset(name, data=numpy.full((6, 2), value)); made.attrs['columns'] = names; made.attrs['units'] = 'bytes'
    servers = f.create_group('mdservers'); servers['timestamps'] = numpy.arange(start, start + 30, 5)
    made = servers.create_dataset('cpuload', data=numpy.full((6, 1), 12.5)); made.attrs['columns'] = numpy.array([b'mds1'])
    ops = f.create_group('mdtargets'); ops['timestamps'] = numpy.arange(start, start + 30, 5)
    made = ops.create_dataset('opens', data=numpy.arange(6.0).reshape(6, 1)); made.attrs['columns'] = numpy.array([b'mds1'])
"#;

const START: u64 = 1_577_923_185_000;

#[test]
fn what_is_wrong_in_tokio_files_is_repaired_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("any.name"), folder.path().join("store"));
    if !python(TOKIO, &[&path]) {
        return;
    }
    let told = take(&path, &store);
    let has = read(&store);
    let bytes = |target: &str, measure, step: u64| {
        has.get(&("ost", format!("scratch-OST000{target}"), measure, START + step * 5000)).copied()
    };
    // Counts of a step end with it. Columns are found by name.
    assert_eq!(bytes("1", "read_bytes", 1), Some((5000, 0)));
    assert_eq!(bytes("0", "read_bytes", 1), Some((5000, 1)));
    assert_eq!(bytes("1", "read_bytes", 2), None, "nobody filled it");
    assert_eq!(bytes("0", "read_bytes", 3), None, "it was negative");
    assert_eq!(bytes("1", "written_bytes", 6), Some((5000, 1000)));
    assert_eq!(bytes("0", "capacity_bytes", 0), Some((0, 10 * 1024)));
    assert_eq!(bytes("0", "free_bytes", 0), Some((0, 7 * 1024)));
    let opens = ("mdt", "scratch-MDT0000".to_string(), "opens", START + 2 * 5000);
    assert_eq!(has[&opens], (5000, 1));
    assert_eq!(has[&("server", "mds1".into(), "cpu_load", START)], (0, 125_000));
    assert_eq!(has.len() as u64, told.imported.samples);
    assert_eq!(told.imported.days, 2, "the 1st and the 2nd of January");
    assert_eq!(noted(&told, NoteKind::Repaired, "counts per step"), 2);
    assert_eq!(noted(&told, NoteKind::Repaired, "these are KiB"), 1);
    assert_eq!(noted(&told, NoteKind::LeftOut, "-0.0"), 2);
    assert_eq!(noted(&told, NoteKind::LeftOut, "negative"), 2);
    assert_eq!(noted(&told, NoteKind::LeftOut, "without a time"), 4);
    assert_eq!(noted(&told, NoteKind::LeftOut, "as counts"), 1);
    let again = take(&path, &store).imported;
    assert_eq!((again.samples, again.already_there), (0, told.imported.samples));
}

#[test]
fn pylmt_tells_missing_samples_and_not_its_tail() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("day.h5lmt"), folder.path().join("store"));
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    f['FSStepsGroup/FSStepsDataSet'] = numpy.arange(1577923185, 1577923185 + 50, 5, dtype='i4')
    missing = numpy.zeros((2, 10), dtype='i4'); missing[1, 3] = 1
    f['FSMissingGroup/FSMissingDataSet'] = missing
    rates = numpy.zeros((2, 10)); rates[:, 1:7] = 2.2
    for name in ('OSTReadGroup/OSTBulkReadDataSet', 'OSTWriteGroup/OSTBulkWriteDataSet'):
        f[name] = rates; f[name].attrs['OSTNames'] = numpy.array([b'a-OST0000', b'a-OST0001'])
    load = numpy.zeros((1, 10)); load[:, :8] = 50
    f['OSSCPUGroup/OSSCPUDataSet'] = load; f['OSSCPUGroup/OSSCPUDataSet'].attrs['OSSNames'] = numpy.array([b'oss1'])
"#;
    if !python(program, &[&path]) {
        return;
    }
    let told = take(&path, &store);
    let has = read(&store);
    let count = |measure: &str| has.keys().filter(|it| it.2 == measure).count();
    // Steps 1 to 7: somebody was there, and nothing was read in the last one. One is flagged.
    assert_eq!((count("read_bytes"), count("cpu_load")), (2 * 7 - 1, 8));
    let at = |step: u64| ("ost", "a-OST0000".to_string(), "read_bytes", START + step * 5000);
    assert_eq!((has[&at(1)], has[&at(7)], has.get(&at(8))), ((5000, 11), (5000, 0), None));
    assert_eq!(noted(&told, NoteKind::LeftOut, "FSMissing"), 2);
    assert_eq!(noted(&told, NoteKind::LeftOut, "at the end"), 2);
}

/// Every file that was cut off somewhere, and files with bytes exchanged, are an error of one line or a history; the store is there as it was.
#[test]
fn damaged_files_leave_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("whole"), folder.path().join("store"));
    if !python(TOKIO, &[&path]) {
        return;
    }
    take(&path, &store);
    let (bytes, before) = (fs::read(&path).unwrap(), read(&store));
    let other = folder.path().join("other");
    for cut in (0..bytes.len()).step_by(bytes.len() / 60) {
        fs::write(&other, &bytes[..cut]).unwrap();
        expect_one_line(&other, &store);
    }
    let mut random = 1u64;
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        for _ in 0..4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (random >> 33) as usize % damaged.len();
            damaged[place] = random as u8;
        }
        fs::write(&other, damaged).unwrap();
        let fresh = folder.path().join("fresh");
        match import(&other, &fresh, &options()) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(_) => drop(read(&fresh)),
        }
        fs::remove_dir_all(&fresh).unwrap();
    }
    assert_eq!(read(&store), before);
}

fn expect_one_line(path: &Path, store: &Path) {
    let error = import(path, store, &options()).expect_err("it is cut off").to_string();
    assert!(!error.contains('\n') && error.contains("cannot import"), "{error}");
}

#[test]
fn a_small_file_that_claims_much_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("bomb"), folder.path().join("store"));
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    g = f.create_group('datatargets'); g['timestamps'] = numpy.arange(1, 50, 5)
    made = g.create_dataset('readbytes', shape=(1 << 40, 1 << 10), chunks=(1 << 10, 1 << 10), dtype='f8', compression='gzip')
    made.attrs['columns'] = numpy.array([b'a-OST0000'])
"#;
    if !python(program, &[&path]) {
        return;
    }
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("claims"), "{error}");
    assert_eq!(read(&store).len(), 0);
}

/// A file of some KB had a step on each of many days, of which nothing was stored: a store of many GB was written.
#[test]
fn a_small_file_that_claims_many_days_of_many_series_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("bomb"), folder.path().join("store"));
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w', libver='latest') as f:
    g = f.create_group('datatargets'); g['timestamps'] = numpy.arange(86400, 86400 * 1201, 86400)
    for name in ['readbytes', 'writebytes']:
        made = g.create_dataset(name, shape=(1200, 500), chunks=(64, 500), dtype='f8', compression='gzip', fillvalue=1.0)
        made.attrs['columns'] = numpy.array([b'%x' % i for i in range(500)])
"#;
    if !python(program, &[&path]) {
        return;
    }
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("claims 1200000 series, each counted once"), "{error}");
    assert_eq!(read(&store).len(), 0);
}

/// Each link to a group cost as much as a group.
#[test]
fn further_names_of_groups_and_datasets_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("links"), folder.path().join("store"));
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    g = f.create_group('datatargets'); g['timestamps'] = numpy.arange(1577923185, 1577923185 + 30, 5)
    made = g.create_dataset('readbytes', data=numpy.ones((6, 1))); made.attrs['columns'] = numpy.array([b'a-OST0000'])
    g['writebytes'] = made
    for i in range(20): f['more%02d' % i] = g
"#;
    if !python(program, &[&path]) {
        return;
    }
    let told = take(&path, &store);
    assert_eq!(noted(&told, NoteKind::LeftOut, "further names"), 21);
    assert_eq!(noted(&told, NoteKind::LeftOut, "nothing in a store"), 0);
    assert_eq!((told.imported.samples, read(&store).len()), (6, 6));
}

/// Each dataset may be what a file can have, and all together are not.
#[test]
fn a_small_file_that_claims_much_in_many_datasets_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("bomb"), folder.path().join("store"));
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    g = f.create_group('mdtargets'); g['timestamps'] = numpy.arange(1577923185, 1577923185 + 30, 5)
    for name in 'opens closes mknods links unlinks mkdirs rmdirs renames getattrs'.split():
        made = g.create_dataset(name, shape=(1 << 17, 1 << 10), chunks=(1 << 10, 1 << 10), dtype='f8', compression='gzip')
        made.attrs['columns'] = numpy.array([b'mds1'])
"#;
    if !python(program, &[&path]) {
        return;
    }
    let error = import(&path, &store, &options()).unwrap_err().to_string();
    assert!(error.contains("its datasets claim more values"), "{error}");
    assert_eq!(read(&store).len(), 0);
}

/// Gigabytes of times that are none, or of which nothing was sampled, were read.
#[test]
fn times_are_read_up_to_the_first_that_is_none_or_that_no_dataset_has() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("times"), folder.path().join("store"));
    // What must not be read is damaged.
    let program = r#"
import sys, h5py, numpy
with h5py.File(sys.argv[1], 'w') as f:
    for name, times, rows in (('datatargets', 6, 1 << 18), ('mdtargets', 1 << 17, 6)):
        g = f.create_group(name)
        made = g.create_dataset('timestamps', shape=(1 << 18,), chunks=(1 << 16,), dtype='i8', compression='gzip')
        made[:times] = numpy.arange(1577923185, 1577923185 + times)
        made.id.write_direct_chunk((3 << 16,), b'damaged')
        dataset = 'opens' if name == 'mdtargets' else 'readbytes'
        made = g.create_dataset(dataset, shape=(rows, 1), chunks=(6, 1), dtype='f8')
        made[:6] = 1; made.attrs['columns'] = numpy.array([b'a-OST0000'])
"#;
    if !python(program, &[&path]) {
        return;
    }
    let told = take(&path, &store);
    assert_eq!(told.imported.samples, 12);
    assert_eq!(noted(&told, NoteKind::LeftOut, "of which no dataset has steps"), (1 << 18) - 6);
    assert_eq!(noted(&told, NoteKind::LeftOut, "not later than the one before"), (1 << 18) - 6);
}
