//! Files of scientific formats that unmodified libraries write below a mount: the same bytes as in a plain directory.

use std::fs;
use std::process::Command;

use super::Stowed;
use crate::support::command::Outcome;
use crate::support::recording::{has_module, python};

/// Runs a script in a plain directory and below the mount, and compares what it printed and these files, byte by byte.
#[track_caller]
fn assert_same_as_plain(script: &str, files: &[&str]) {
    let stowed = Stowed::new();
    let plain = stowed.storage.folder.path().join("plain");
    fs::create_dir(&plain).unwrap();
    let mut command = Command::new(python());
    let ordinary: Outcome =
        command.args(["-c", script]).current_dir(&plain).output().unwrap().into();
    assert_eq!(ordinary.status, Some(0), "{}", ordinary.stderr);
    assert_eq!(stowed.python(script), ordinary.stdout);
    for name in files {
        assert!(stowed.at(name).join("plimsoll-container").is_file(), "{name}");
        assert!(stowed.cat(name) == fs::read(plain.join(name)).unwrap(), "{name}");
    }
}

/// Without times, which differ from run to run.
#[test]
fn hdf5_files_are_as_in_a_plain_directory() {
    if !has_module("h5py") {
        return;
    }
    let script = "
import numpy, h5py
numbers = numpy.random.default_rng(7).random((500, 500)).round(2)
def fill(f):
    made = lambda name, shape, **more: f.create_dataset(name, shape, track_times=False, **more)
    made('packed', (500, 500), chunks=(37, 91), compression='gzip', shuffle=True, fletcher32=True)[...] = numbers
    grows = made('grows', (0,), maxshape=(None,), chunks=(1000,), dtype='i4')
    for i in range(100):
        grows.resize((i + 1) * 100, 0); grows[i * 100:] = i
        if i % 25 == 0: f.flush()
    for i in range(100): made(f'many/{i}', (i,))[...] = i
    for i in range(0, 100, 3): del f[f'many/{i}']
    made('text', (10,), dtype=h5py.string_dtype())[:] = ['x' * i for i in range(10)]
    f['many'].attrs['a'] = numpy.arange(100)
# By system calls, streams, memory that is written at the end, and several files.
for name, driver in [('sec2.h5', {}), ('stdio.h5', {'driver': 'stdio'}), ('core.h5', {'driver': 'core'}),
                     ('family%d.h5', {'driver': 'family', 'memb_size': 100000})]:
    with h5py.File(name, 'w', **driver) as f: fill(f)
    with h5py.File(name, 'r+', **driver) as f:
        f['packed'][10:20] = 5; del f['many/1']; f.create_dataset('last', data=numpy.arange(5000), track_times=False)
    with h5py.File(name, 'r', **driver) as f: print(f['packed'][...].sum().round(), f['grows'][...].sum(), len(f['many']))";
    let files = ["sec2.h5", "stdio.h5", "core.h5", "family0.h5", "family3.h5"];
    assert_same_as_plain(script, &files);
}

/// HDF5 locks its files, and lets one process write while others read (SWMR).
#[test]
fn hdf5_files_are_locked_and_read_while_they_grow() {
    if !has_module("h5py") {
        return;
    }
    let script = "
import sys, numpy, h5py, subprocess
READER = '''
import sys, numpy, h5py
d = h5py.File('swmr.h5', 'r', swmr=True)['d']
for line in sys.stdin:
    d.refresh(); assert d.shape[0] == int(line) and (d[...] == numpy.arange(int(line))).all(), (d.shape, line)
    print('as wanted', flush=True)
'''
TAKER = '''
import h5py
try: h5py.File('swmr.h5', 'r+')
except OSError as error: print(error.errno)
'''
f = h5py.File('swmr.h5', 'w', libver='latest')
d = f.create_dataset('d', (0,), maxshape=(None,), chunks=(1000,), dtype='i8')
print(subprocess.run([sys.executable, '-c', TAKER], capture_output=True).stdout)
f.swmr_mode = True
reader = subprocess.Popen([sys.executable, '-c', READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for i in range(1, 30):
    d.resize(i * 777, 0); d[(i - 1) * 777:] = numpy.arange((i - 1) * 777, i * 777); d.flush()
    print(i * 777, file=reader.stdin, flush=True); assert reader.stdout.readline() == 'as wanted\\n', i
reader.stdin.close(); print(reader.wait())";
    assert_same_as_plain(script, &[]);
}

#[test]
fn netcdf_files_are_as_in_a_plain_directory() {
    if !has_module("netCDF4") {
        return;
    }
    let script = "
import numpy, netCDF4
for form in ['NETCDF4', 'NETCDF4_CLASSIC', 'NETCDF3_CLASSIC', 'NETCDF3_64BIT_OFFSET', 'NETCDF3_64BIT_DATA']:
    numbers = numpy.random.default_rng(7)
    with netCDF4.Dataset(form, 'w', format=form) as d:
        for name, size in [('t', None), ('x', 100), ('y', 200)]: d.createDimension(name, size)
        v = d.createVariable('v', 'f8', ('t', 'x', 'y'), zlib=form.startswith('NETCDF4')); v.units = 'm'
        w = d.createVariable('w', 'i4', ('t',))
        for t in range(10):
            v[t] = numbers.random((100, 200)).round(2); w[t] = t; d.sync()
    # What is there moves behind a longer header.
    with netCDF4.Dataset(form, 'a') as d: d['v'][3] = 1; d.title = 'later' * 2000; d['w'][12] = 7
    with netCDF4.Dataset(form) as d: print(form, d['v'][:].sum().round(), d['w'][:].sum(), len(d.title))";
    let files = [
        "NETCDF4",
        "NETCDF4_CLASSIC",
        "NETCDF3_CLASSIC",
        "NETCDF3_64BIT_OFFSET",
        "NETCDF3_64BIT_DATA",
    ];
    assert_same_as_plain(script, &files);
}
