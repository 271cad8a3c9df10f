/* A program with a defect that many have: it writes its checkpoint in small pieces and makes
 * each of them durable before it goes on. Four processes write one file.
 *
 * usage: checkpoint FILE BYTES_PER_PROCESS BYTES_PER_WRITE WRITES_PER_FSYNC
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4 };

static int write_part(const char *path, int process, long bytes, long piece, long per_fsync)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    char *data = malloc(piece);
    if (fd < 0 || !data) {
        perror(path);
        return 1;
    }
    memset(data, 'a' + process, piece);
    for (long done = 0, writes = 1; done < bytes; done += piece, writes++) {
        /* Pieces of the processes lie side by side in the file. */
        off_t offset = (done / piece * PROCESSES + process) * piece;
        if (pwrite(fd, data, piece, offset) != piece) {
            perror("pwrite");
            return 1;
        }
        if (writes % per_fsync == 0 && fsync(fd) != 0) {
            perror("fsync");
            return 1;
        }
    }
    free(data);
    return fsync(fd) != 0 || close(fd) != 0;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: checkpoint FILE BYTES_PER_PROCESS BYTES_PER_WRITE WRITES_PER_FSYNC\n");
        return 2;
    }
    for (int process = 0; process < PROCESSES; process++)
        if (fork() == 0)
            return write_part(argv[1], process, atol(argv[2]), atol(argv[3]), atol(argv[4]));
    int failed = 0, status;
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
