/* Each rank maps a file of its own ten times, writes through the mapping, syncs and unmaps it.
 *
 * usage: mpi_maps FILE; the file of a rank is FILE.RANK
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define CHECK(condition) ((condition) ? (void)0 : (perror(#condition), MPI_Abort(MPI_COMM_WORLD, 1), (void)0))

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    char path[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
    for (int round = 0; round < 10; round++) {
        char *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(mapped != MAP_FAILED);
        memset(mapped, 'a' + round, BYTES);
        CHECK(msync(mapped, BYTES, MS_SYNC) == 0);
        CHECK(munmap(mapped, BYTES) == 0);
    }
    CHECK(close(fd) == 0);
    MPI_Finalize();
    return 0;
}
