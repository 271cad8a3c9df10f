/* Calls every MPI-IO function a known number of times, and prints what a recording must have:
 *   expect RANK NAME CALLS BYTES MOVED OFFSETS ERRORS
 * BYTES is what was asked for by calls that succeeded and MOVED what they moved; OFFSETS is the
 * sum of the byte offsets of the calls whose place in the file is known, else 0.
 *
 *   mpi_io FILE [ROUNDS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 100 /* items in a call */
#define NAMES 64

static struct {
    const char *name;
    long calls, errors;
    long long bytes, moved, offsets;
} expected[NAMES];

static void expect_moved(const char *name, long long bytes, long long moved, long long offset) {
    for (int i = 0; i < NAMES; i++) {
        if (expected[i].name == NULL) expected[i].name = name;
        if (strcmp(expected[i].name, name) != 0) continue;
        expected[i].calls++;
        expected[i].bytes += bytes;
        expected[i].moved += moved;
        expected[i].offsets += offset;
        return;
    }
    abort();
}

static void expect(const char *name, long long bytes, long long offset) {
    expect_moved(name, bytes, bytes, offset);
}

static void expect_error(const char *name) {
    expect(name, 0, 0);
    for (int i = 0; i < NAMES; i++)
        if (expected[i].name && strcmp(expected[i].name, name) == 0) { expected[i].errors++; return; }
}

static void check(int result, const char *what) {
    if (result == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(result, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define DO(call, name, bytes, offset) \
    do { check(call, name); expect(name, bytes, offset); } while (0)

/* A nonblocking call and its end. */
#define START(call, name, bytes, offset) \
    do { \
        MPI_Request request; \
        check(call, name); \
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait"); \
        expect(name, bytes, offset); \
    } while (0)

int main(int argc, char **argv) {
    int provided, rank, ranks;
    if (argc < 2) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rounds = argc > 2 ? atoi(argv[2]) : 1;

    static int data[COUNT];
    const long long bytes = sizeof data;
    for (int i = 0; i < COUNT; i++) data[i] = rank * COUNT + i;

    MPI_File file;
    MPI_Info info;
    MPI_Status status;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "plimsoll_test", "yes");
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    DO(MPI_File_open(MPI_COMM_WORLD, argv[1], mode, info, &file), "MPI_File_open", 0, 0);
    DO(MPI_File_set_size(file, 0), "MPI_File_set_size", 0, 0);
    DO(MPI_File_preallocate(file, ranks * bytes), "MPI_File_preallocate", 0, 0);
    DO(MPI_File_set_info(file, info), "MPI_File_set_info", 0, 0);

    for (int round = 0; round < rounds; round++) {
        /* Bytes from the beginning, then ints after 8 bytes: offset 1 is byte 12 then. */
        long long displacement = round % 2 ? 8 : 0;
        MPI_Datatype etype = round % 2 ? MPI_INT : MPI_BYTE;
        int step = round % 2 ? 4 : 1;
        DO(MPI_File_set_view(file, displacement, etype, etype, "native", MPI_INFO_NULL),
           "MPI_File_set_view", 0, 0);
        MPI_Offset at = rank * bytes / step;
        long long byte = displacement + rank * bytes;

        DO(MPI_File_write_at(file, at, data, COUNT, MPI_INT, &status), "MPI_File_write_at", bytes, byte);
        DO(PMPI_File_write_at(file, at, data, COUNT, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at", bytes, byte);
        DO(MPI_File_write_at_all(file, at, data, COUNT, MPI_INT, &status), "MPI_File_write_at_all", bytes, byte);
        START(MPI_File_iwrite_at(file, at, data, COUNT, MPI_INT, &request), "MPI_File_iwrite_at", bytes, byte);
        START(MPI_File_iwrite_at_all(file, at, data, COUNT, MPI_INT, &request), "MPI_File_iwrite_at_all", bytes, byte);
        DO(MPI_File_write_at_all_begin(file, at, data, COUNT, MPI_INT), "MPI_File_write_at_all_begin", bytes, byte);
        DO(MPI_File_write_at_all_end(file, data, &status), "MPI_File_write_at_all_end", 0, 0);

        DO(MPI_File_sync(file), "MPI_File_sync", 0, 0);
        DO(MPI_File_read_at(file, at, data, COUNT, MPI_INT, &status), "MPI_File_read_at", bytes, byte);
        DO(MPI_File_read_at_all(file, at, data, COUNT, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read_at_all", bytes, byte);
        START(MPI_File_iread_at(file, at, data, COUNT, MPI_INT, &request), "MPI_File_iread_at", bytes, byte);
        START(MPI_File_iread_at_all(file, at, data, COUNT, MPI_INT, &request), "MPI_File_iread_at_all", bytes, byte);
        DO(MPI_File_read_at_all_begin(file, at, data, COUNT, MPI_INT), "MPI_File_read_at_all_begin", bytes, byte);
        DO(MPI_File_read_at_all_end(file, data, &status), "MPI_File_read_at_all_end", 0, 0);

        /* The individual pointer moves on by what was written before. */
        DO(MPI_File_seek(file, at, MPI_SEEK_SET), "MPI_File_seek", 0, 0);
        DO(MPI_File_write(file, data, COUNT, MPI_INT, &status), "MPI_File_write", bytes, byte);
        DO(MPI_File_write_all(file, data, COUNT, MPI_INT, &status), "MPI_File_write_all", bytes, byte + bytes);
        START(MPI_File_iwrite(file, data, COUNT, MPI_INT, &request), "MPI_File_iwrite", bytes, byte + 2 * bytes);
        START(MPI_File_iwrite_all(file, data, COUNT, MPI_INT, &request), "MPI_File_iwrite_all", bytes, byte + 3 * bytes);
        DO(MPI_File_write_all_begin(file, data, COUNT, MPI_INT), "MPI_File_write_all_begin", bytes, byte + 4 * bytes);
        DO(MPI_File_write_all_end(file, data, &status), "MPI_File_write_all_end", 0, 0);
        DO(MPI_File_sync(file), "MPI_File_sync", 0, 0);
        DO(MPI_File_seek(file, at, MPI_SEEK_SET), "MPI_File_seek", 0, 0);
        DO(MPI_File_read(file, data, COUNT, MPI_INT, &status), "MPI_File_read", bytes, byte);
        DO(MPI_File_read_all(file, data, COUNT, MPI_INT, &status), "MPI_File_read_all", bytes, byte + bytes);
        START(MPI_File_iread(file, data, COUNT, MPI_INT, &request), "MPI_File_iread", bytes, byte + 2 * bytes);
        START(MPI_File_iread_all(file, data, COUNT, MPI_INT, &request), "MPI_File_iread_all", bytes, byte + 3 * bytes);
        DO(MPI_File_read_all_begin(file, data, COUNT, MPI_INT), "MPI_File_read_all_begin", bytes, byte + 4 * bytes);
        DO(MPI_File_read_all_end(file, data, &status), "MPI_File_read_all_end", 0, 0);

        /* The shared pointer: who comes first is not known, nor is the place. */
        DO(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "MPI_File_seek_shared", 0, 0);
        DO(MPI_File_write_shared(file, data, COUNT, MPI_INT, &status), "MPI_File_write_shared", bytes, 0);
        START(MPI_File_iwrite_shared(file, data, COUNT, MPI_INT, &request), "MPI_File_iwrite_shared", bytes, 0);
        DO(MPI_File_write_ordered(file, data, COUNT, MPI_INT, &status), "MPI_File_write_ordered", bytes, 0);
        DO(MPI_File_write_ordered_begin(file, data, COUNT, MPI_INT), "MPI_File_write_ordered_begin", bytes, 0);
        DO(MPI_File_write_ordered_end(file, data, &status), "MPI_File_write_ordered_end", 0, 0);
        DO(MPI_File_sync(file), "MPI_File_sync", 0, 0);
        DO(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), "MPI_File_seek_shared", 0, 0);
        DO(MPI_File_read_shared(file, data, COUNT, MPI_INT, &status), "MPI_File_read_shared", bytes, 0);
        START(MPI_File_iread_shared(file, data, COUNT, MPI_INT, &request), "MPI_File_iread_shared", bytes, 0);
        DO(MPI_File_read_ordered(file, data, COUNT, MPI_INT, &status), "MPI_File_read_ordered", bytes, 0);
        DO(MPI_File_read_ordered_begin(file, data, COUNT, MPI_INT), "MPI_File_read_ordered_begin", bytes, 0);
        DO(MPI_File_read_ordered_end(file, data, &status), "MPI_File_read_ordered_end", 0, 0);

#if MPI_VERSION >= 4
        /* Large counts have the same names in a recording. */
        DO(MPI_File_write_at_c(file, at, data, COUNT, MPI_INT, &status), "MPI_File_write_at", bytes, byte);
        DO(MPI_File_write_at_all_c(file, at, data, COUNT, MPI_INT, &status), "MPI_File_write_at_all", bytes, byte);
        START(MPI_File_iwrite_at_c(file, at, data, COUNT, MPI_INT, &request), "MPI_File_iwrite_at", bytes, byte);
        DO(MPI_File_read_at_c(file, at, data, COUNT, MPI_INT, &status), "MPI_File_read_at", bytes, byte);
        DO(MPI_File_read_at_all_begin_c(file, at, data, COUNT, MPI_INT), "MPI_File_read_at_all_begin", bytes, byte);
        DO(MPI_File_read_at_all_end(file, data, &status), "MPI_File_read_at_all_end", 0, 0);
        DO(MPI_File_write_ordered_c(file, data, COUNT, MPI_INT, &status), "MPI_File_write_ordered", bytes, 0);
#endif
    }

    /* Ten bytes before the end of the file only ten bytes can be read. */
    MPI_Offset size;
    MPI_Barrier(MPI_COMM_WORLD);
    DO(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "MPI_File_set_view", 0, 0);
    check(MPI_File_get_size(file, &size), "MPI_File_get_size");
    check(MPI_File_read_at(file, size - 10, data, COUNT, MPI_BYTE, &status), "MPI_File_read_at");
    expect_moved("MPI_File_read_at", COUNT, 10, size - 10);
    check(MPI_File_read_at(file, size - 10, data, COUNT, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at");
    expect_moved("MPI_File_read_at", COUNT, 10, size - 10);

    DO(MPI_File_close(&file), "MPI_File_close", 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Failures: no such file, no file at all, a file that is not there any more. */
    char missing[4096];
    snprintf(missing, sizeof missing, "%s.missing", argv[1]);
    if (MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) abort();
    expect_error("MPI_File_open");
#ifndef MPI_ABI_VERSION /* MPICH 5.0.2 dies of this through its libmpi_abi */
    file = MPI_FILE_NULL;
    if (MPI_File_write(file, data, COUNT, MPI_INT, &status) == MPI_SUCCESS) abort();
    expect_error("MPI_File_write");
#endif
    if (rank == 0) {
        DO(MPI_File_delete(argv[1], MPI_INFO_NULL), "MPI_File_delete", 0, 0);
        if (MPI_File_delete(argv[1], MPI_INFO_NULL) == MPI_SUCCESS) abort();
        expect_error("MPI_File_delete");
    }

    for (int i = 0; i < NAMES && expected[i].name; i++)
        printf("expect %d %s %ld %lld %lld %lld %ld\n", rank, expected[i].name, expected[i].calls,
               expected[i].bytes, expected[i].moved, expected[i].offsets, expected[i].errors);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
