/* Ranks write netCDF files FILE.0 to FILE.2, one of each classic format, through PnetCDF: variables of fixed size and such that
 * grow, each rank for itself, together, and later; then each rank reads what another one wrote.
 *
 *   mpi_pnetcdf FILE
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

#define ROWS 40
#define COLUMNS 300

static void check(int result, int line) {
    if (result == NC_NOERR) return;
    fprintf(stderr, "line %d: %s\n", line, ncmpi_strerror(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check(call, __LINE__)

static int rank, ranks;
static double numbers[ROWS * COLUMNS];

static void fill(int of, int step) {
    for (int at = 0; at < ROWS * COLUMNS; at++) numbers[at] = of * 1e6 + step * 1e4 + at;
}

static void write_file(const char *path, int format) {
    int file, dims[3], fixed, grows, late;
    CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | format, MPI_INFO_NULL, &file));
    CHECK(ncmpi_def_dim(file, "step", NC_UNLIMITED, &dims[0]));
    CHECK(ncmpi_def_dim(file, "row", (MPI_Offset)ROWS * ranks, &dims[1]));
    CHECK(ncmpi_def_dim(file, "column", COLUMNS, &dims[2]));
    CHECK(ncmpi_def_var(file, "fixed", NC_DOUBLE, 2, dims + 1, &fixed));
    CHECK(ncmpi_def_var(file, "grows", NC_DOUBLE, 3, dims, &grows));
    CHECK(ncmpi_enddef(file));
    MPI_Offset start[3] = {0, (MPI_Offset)ROWS * rank, 0}, count[3] = {1, ROWS, COLUMNS};
    for (start[0] = 0; start[0] < 4; start[0]++) {
        fill(rank, (int)start[0]);
        CHECK(ncmpi_put_vara_double_all(file, grows, start, count, numbers));
    }
    CHECK(ncmpi_begin_indep_data(file));
    MPI_Offset every[2] = {rank, 0}, rows[2] = {ROWS, COLUMNS}, stride[2] = {ranks, 1};
    fill(rank, 9);
    CHECK(ncmpi_put_vars_double(file, fixed, every, rows, stride, numbers));
    CHECK(ncmpi_end_indep_data(file));
    CHECK(ncmpi_sync(file));
    /* What is there moves behind a longer header. */
    CHECK(ncmpi_redef(file));
    for (int number = 0; number < 50; number++) {
        char name[40];
        snprintf(name, sizeof name, "an_attribute_that_takes_room_%d", number);
        CHECK(ncmpi_put_att_text(file, NC_GLOBAL, name, 26, "abcdefghijklmnopqrstuvwxyz"));
    }
    CHECK(ncmpi_def_var(file, "late", NC_DOUBLE, 2, dims + 1, &late));
    CHECK(ncmpi_enddef(file));
    int requests[2], statuses[2];
    static double other[ROWS * COLUMNS];
    fill(rank, 7);
    for (int at = 0; at < ROWS * COLUMNS; at++) other[at] = -numbers[at];
    MPI_Offset first[3] = {4, (MPI_Offset)ROWS * rank, 0};
    CHECK(ncmpi_iput_vara_double(file, late, first + 1, count + 1, numbers, &requests[0]));
    CHECK(ncmpi_iput_vara_double(file, grows, first, count, other, &requests[1]));
    CHECK(ncmpi_wait_all(file, 2, requests, statuses));
    CHECK(ncmpi_close(file));
}

/* Each rank reads what its neighbour wrote. */
static void read_back(const char *path) {
    int file, fixed, grows;
    static double found[ROWS * COLUMNS];
    int of = (rank + 1) % ranks;
    CHECK(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
    CHECK(ncmpi_inq_varid(file, "fixed", &fixed));
    CHECK(ncmpi_inq_varid(file, "grows", &grows));
    MPI_Offset every[2] = {of, 0}, rows[2] = {ROWS, COLUMNS}, stride[2] = {ranks, 1};
    MPI_Offset start[3] = {2, (MPI_Offset)ROWS * of, 0}, count[3] = {1, ROWS, COLUMNS};
    CHECK(ncmpi_get_vars_double_all(file, fixed, every, rows, stride, found));
    fill(of, 9);
    if (memcmp(found, numbers, sizeof numbers)) MPI_Abort(MPI_COMM_WORLD, 3);
    CHECK(ncmpi_get_vara_double_all(file, grows, start, count, found));
    fill(of, 2);
    if (memcmp(found, numbers, sizeof numbers)) MPI_Abort(MPI_COMM_WORLD, 4);
    CHECK(ncmpi_close(file));
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
    for (int at = 0; at < 3; at++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%d", argv[1], at);
        write_file(path, formats[at]);
        read_back(path);
    }
    MPI_Finalize();
    return 0;
}
