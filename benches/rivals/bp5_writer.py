"""A writer by ADIOS2's engine BP5, for the benchmark stow_rivals: says "ready", waits for a byte, writes blocks in steps of 16 MiB, makes
them durable and says "done".

Each process has an output of its own on a target of its own, which needs no MPI and is the best that BP5 can do there.
"""

import os
import sys

import adios2
import numpy

STEP_BYTES = 16 << 20


def make_durable(path):
    for folder, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                os.fsync(file.fileno())


def main():
    rank, of = int(sys.argv[1]), int(sys.argv[2])
    path, record, count = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    block = numpy.full(record, rank + 1, dtype=numpy.uint8)
    io = adios2.Adios().declare_io("writer")
    io.set_engine("BP5")
    variable = io.define_variable("bytes", block, [of * count * record], [0], [record])
    engine = io.open(path, adios2.bindings.Mode.Write)
    print("ready", flush=True)
    if not sys.stdin.read(1):
        sys.exit(1)
    per_step = max(STEP_BYTES // record, 1)
    for first in range(0, count, per_step):
        engine.begin_step()
        for index in range(first, min(first + per_step, count)):
            variable.set_selection([[(index * of + rank) * record], [record]])
            engine.put(variable, block, adios2.bindings.Mode.Deferred)
        engine.end_step()
    engine.close()
    make_durable(path)
    print("done 0", flush=True)


main()
