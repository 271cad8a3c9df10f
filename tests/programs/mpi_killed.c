/* Rank 1 kills itself in the middle of its writes; the others go on until they are killed, too.
 * Each rank counts the writes that returned in FILE.counts, one long for each rank, which stays
 * whatever happens to it.
 *
 *   mpi_killed FILE CALLS
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    if (argc != 3) return 2;
    long calls = atol(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    char path[4096], data[100] = {0};
    snprintf(path, sizeof path, "%s.counts", argv[1]);
    int counts_file = open(path, O_CREAT | O_RDWR, 0644);
    if (counts_file < 0 || ftruncate(counts_file, 4096) != 0) return 1;
    volatile long *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counts_file, 0);
    if (counts == MAP_FAILED) return 1;

    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) return 1;
    for (long i = 1; i < 60000; i++) {
        MPI_Offset at = (rank * 60000L + i) * sizeof data;
        if (MPI_File_write_at(file, at, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return 1;
        counts[rank] = i;
        if (i == calls / 2) MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1 && i == calls) kill(getpid(), SIGKILL);
        if (i > calls / 2) usleep(1000);
    }
    return 1; /* nobody killed us in a minute */
}
