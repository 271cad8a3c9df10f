/* Writes records until all of them are durable, as programs of many processes do: strided into one
 * file that they share, or in order into a file for each of them.
 *
 *   mpi_records [-m] [-e] [-n] [-c SECONDS] RECORD COUNT FILE...
 *
 * Each rank writes COUNT records of RECORD bytes, to the only FILE or to that of its number.
 * -m writes by MPI-IO instead of pwrite; -e makes each record durable (fsync, MPI_File_sync) before
 * the next; -n makes nothing durable at the end; -c computes for so long after each record.
 *
 * Says "begin" when all have opened their file, and at the end the seconds since then until the last
 * one has closed it, the largest sum of seconds that one spent in calls of its file before that, and the
 * longest time that a write took.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_mpi, fd = -1;
static MPI_File file;

static void fail(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int result, const char *what) {
    if (result == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(result, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_file(const char *path, MPI_Comm whose) {
    if (by_mpi)
        check(MPI_File_open(whose, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), path);
    else if ((fd = open(path, O_WRONLY | O_CREAT, 0644)) < 0)
        fail(path);
}

static void write_record(const char *bytes, size_t size, off_t offset) {
    if (by_mpi)
        check(MPI_File_write_at(file, offset, bytes, (int)size, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    else
        for (size_t done = 0; done < size;) {
            ssize_t count = pwrite(fd, bytes + done, size - done, offset + (off_t)done);
            if (count < 0) fail("pwrite");
            done += (size_t)count;
        }
}

static void make_durable(void) {
    if (by_mpi)
        check(MPI_File_sync(file), "sync");
    else if (fsync(fd) != 0)
        fail("fsync");
}

static void close_file(void) {
    if (by_mpi)
        check(MPI_File_close(&file), "close");
    else if (close(fd) != 0)
        fail("close");
}

static void compute(double seconds) {
    volatile double sum = 0;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        for (int i = 0; i < 10000; i++) sum = sum + i;
}

int main(int argc, char **argv) {
    int rank, ranks, each = 0, at_end = 1, option;
    double think = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while ((option = getopt(argc, argv, "+menc:")) != -1) {
        if (option == 'm') by_mpi = 1;
        if (option == 'e') each = 1;
        if (option == 'n') at_end = 0;
        if (option == 'c') think = atof(optarg);
        if (option == '?') MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int files = argc - optind - 2;
    if (files != 1 && files != ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    size_t record = strtoul(argv[optind], NULL, 10);
    long count = atol(argv[optind + 1]);
    int is_shared = files == 1 && ranks > 1;
    const char *path = argv[optind + 2 + (is_shared || files == 1 ? 0 : rank)];
    char *bytes = malloc(record);
    memset(bytes, rank + 1, record);

    open_file(path, is_shared ? MPI_COMM_WORLD : MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), took[3] = {0, 0, 0}, worst[3];
    if (rank == 0) {
        puts("begin");
        fflush(stdout);
    }
    for (long index = 0; index < count; index++) {
        double before = MPI_Wtime();
        write_record(bytes, record, (off_t)record * (is_shared ? index * ranks + rank : index));
        if (each) make_durable();
        double seconds = MPI_Wtime() - before;
        took[1] += seconds;
        if (seconds > took[2]) took[2] = seconds;
        if (think > 0) compute(think);
    }
    double before = MPI_Wtime();
    if (at_end && !each) make_durable();
    close_file();
    took[1] += MPI_Wtime() - before;
    took[0] = MPI_Wtime() - start;
    MPI_Reduce(took, worst, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.6f %.6f %.6f\n", worst[0], worst[1], worst[2]);
    free(bytes);
    MPI_Finalize();
    return 0;
}
