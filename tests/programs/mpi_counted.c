/* Each rank writes strided records to one file until it is killed, and counts those whose write has
 * returned, where the count stays whatever happens to it.
 *
 *   mpi_counted FILE COUNTS RECORD RECORDS [-m]
 *
 * COUNTS is a file of words of 64 bits: how many records of each rank returned, and from word 32 on
 * the numbers of the processes. Each word of a record is its rank and its own number. -m writes by
 * MPI-IO. After RECORDS records a rank waits for its end.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PROCESSES_FROM = 32, COUNTS_BYTES = 4096 };

int main(int argc, char **argv) {
    int rank, ranks;
    if (argc < 5) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t words = strtoul(argv[3], NULL, 10) / sizeof(uint64_t);
    long records = atol(argv[4]);
    int by_mpi = argc > 5;

    int counts_file = open(argv[2], O_RDWR);
    if (counts_file < 0) return 1;
    volatile uint64_t *counts = mmap(NULL, COUNTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, counts_file, 0);
    uint64_t *record = malloc(words * sizeof *record);
    if (counts == MAP_FAILED || record == NULL) return 1;

    MPI_File file;
    int fd = -1;
    if (by_mpi) {
        int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
        if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) return 1;
    } else if ((fd = open(argv[1], O_WRONLY | O_CREAT, 0644)) < 0) {
        return 1;
    }
    counts[PROCESSES_FROM + rank] = (uint64_t)getpid();
    MPI_Barrier(MPI_COMM_WORLD);
    for (long index = 0; index < records; index++) {
        size_t bytes = words * sizeof *record;
        MPI_Offset at = (MPI_Offset)bytes * (index * ranks + rank);
        for (size_t i = 0; i < words; i++) record[i] = (uint64_t)(rank + 1) << 32 | (uint64_t)(index + 1);
        if (by_mpi) {
            if (MPI_File_write_at(file, at, record, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 1;
        } else if (pwrite(fd, record, bytes, at) != (ssize_t)bytes) {
            return 1;
        }
        counts[rank] = (uint64_t)index + 1;
    }
    for (;;) pause();
}
