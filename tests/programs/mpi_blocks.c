/* Writes blocks of 4 KiB as fast as it can, as IOR does, and prints the bandwidth in MiB/s.
 *
 * usage: mpi_blocks mpi|posix FILE BLOCKS_PER_RANK
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096 };

int main(int argc, char **argv)
{
    int rank, ranks;
    char block[BLOCK];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int by_mpi = strcmp(argv[1], "mpi") == 0;
    long blocks = atol(argv[3]);
    memset(block, 'a' + rank, BLOCK);
    MPI_File file;
    int fd = -1;
    if (by_mpi)
        MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    else
        fd = open(argv[2], O_WRONLY | O_CREAT, 0644);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long index = 0; index < blocks; index++) {
        /* The same megabytes again and again: memory is not what is measured. */
        MPI_Offset offset = ((MPI_Offset)rank * 4096 + index % 4096) * BLOCK;
        if (by_mpi)
            MPI_File_write_at(file, offset, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (pwrite(fd, block, BLOCK, offset) != BLOCK)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double seconds = MPI_Wtime() - start, slowest;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (by_mpi)
        MPI_File_close(&file);
    else
        close(fd);
    if (rank == 0)
        printf("%.3f\n", (double)ranks * blocks * BLOCK / (1 << 20) / slowest);
    MPI_Finalize();
    return 0;
}
