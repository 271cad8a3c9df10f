"""A day in TOKIO's HDF5, and how long h5py takes to read it.

usage: import.py make FILE
       import.py read

`make` writes a day of 248 targets at 5 s, read and written, as pytokio packs it: chunks that h5py chooses, gzip, bursts of whole MiB between stretches of next to nothing. `read` reads
the file of each line of its input into memory, and says how many seconds on the wall and of the processor that took, and how many numbers there were.
"""

import sys
import time

import h5py
import numpy

STEPS, TARGETS = 17280, 248
DATASETS = ("readbytes", "writebytes")


def make(path):
    random = numpy.random.default_rng(1)
    names = numpy.array([("scratch-OST%04x" % number).encode() for number in range(TARGETS)])
    with h5py.File(path, "w") as file:
        file.attrs["version"] = "1"
        group = file.create_group("datatargets")
        group["timestamps"] = numpy.arange(1577836800, 1577836800 + 5 * STEPS, 5)
        for name in DATASETS:
            busy = numpy.repeat(random.random((STEPS // 12, TARGETS)) < 0.3, 12, axis=0)
            bursts = random.integers(0, 2000, (STEPS, TARGETS)) * 1048576.0
            rest = random.integers(0, 3, (STEPS, TARGETS)) * 4096.0
            made = group.create_dataset(name, data=numpy.where(busy, bursts, rest), chunks=True, compression="gzip")
            made.attrs["columns"] = names
            made.attrs["units"] = "bytes"


def read(path):
    count, begun, before = 0, time.perf_counter(), time.process_time()
    with h5py.File(path, "r") as file:
        for name in ("timestamps",) + DATASETS:
            count += file["datatargets"][name][...].size
    return time.perf_counter() - begun, time.process_time() - before, count


def main():
    if sys.argv[1] == "make":
        make(sys.argv[2])
        return
    for line in sys.stdin:
        print(*read(line.rstrip("\n")), flush=True)


main()
