/* Small records of all ranks lie interleaved in one file: the access that makes ROMIO lock,
 * read, write and unlock large pieces (data sieving) unless it is told to gather first.
 *
 *   mpi_strided FILE [-c] [-u] [-n CALLS] [-k RECORDS] [-b BYTES] [KEY=VALUE ...]
 *
 * Each rank makes CALLS calls (4) of RECORDS records (64) of BYTES bytes (256); -c makes the
 * calls collective; -u updates a file that is there instead of emptying it first; KEY=VALUE are
 * hints, such as romio_ds_write=disable or romio_cb_write=enable.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int result, const char *what) {
    if (result == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(result, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, ranks, is_collective = 0, is_update = 0, calls = 4, records = 64, bytes = 256;
    if (argc < 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value != NULL) {
            *value = '\0';
            MPI_Info_set(info, argv[i], value + 1);
            *value = '=';
        } else if (strcmp(argv[i], "-c") == 0) {
            is_collective = 1;
        } else if (strcmp(argv[i], "-u") == 0) {
            is_update = 1;
        } else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
            calls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "-k") == 0 && i + 1 < argc) {
            records = atoi(argv[++i]);
        } else if (strcmp(argv[i], "-b") == 0 && i + 1 < argc) {
            bytes = atoi(argv[++i]);
        } else {
            fprintf(stderr, "mpi_strided: what is %s?\n", argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }

    MPI_File file;
    MPI_Datatype record, filetype;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    check(MPI_File_open(MPI_COMM_WORLD, argv[1], mode, info, &file), "open");
    if (!is_update) check(MPI_File_set_size(file, 0), "set_size");
    MPI_Type_contiguous(bytes, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)ranks * bytes, &filetype);
    MPI_Type_commit(&filetype);
    check(MPI_File_set_view(file, (MPI_Offset)rank * bytes, MPI_BYTE, filetype, "native", info),
          "set_view");

    char *data = malloc((size_t)records * bytes);
    memset(data, 'a' + rank % 26, (size_t)records * bytes);
    for (int i = 0; i < calls; i++) {
        if (is_collective)
            check(MPI_File_write_all(file, data, records * bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write_all");
        else
            check(MPI_File_write(file, data, records * bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    }
    check(MPI_File_close(&file), "close");

    /* Whatever way it took, the file must be right. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *stream = fopen(argv[1], "r");
        long long wrong = 0, total = 0;
        static char piece[65536];
        for (size_t got; stream && (got = fread(piece, 1, sizeof piece, stream)) > 0;)
            for (size_t i = 0; i < got;) {
                char right = 'a' + (int)(total / bytes % ranks) % 26;
                size_t end = i + bytes - total % bytes;
                for (; i < got && i < end; i++, total++) wrong += piece[i] != right;
            }
        if (stream) fclose(stream);
        printf("%lld bytes, %lld wrong\n", total, wrong);
        if (wrong || total != (long long)calls * records * bytes * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(data);
    MPI_Type_free(&filetype);
    MPI_Type_free(&record);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
