/* Four processes write one container together, record by record in turn, and the bytes are read back.
 *
 *   cc -o strided strided.c -lplimsoll_stow
 *   ./strided big /mnt/ost0 /mnt/ost1
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <plimsoll_stow.h>

enum { PROCESSES = 4, RECORDS = 64, RECORD_BYTES = 47 * 1024 };

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s (%s)\n", what, plimsoll_stow_error(), strerror(errno));
    return 1;
}

/* Writes every fourth record, makes them durable and ends. */
static int write_own(const char *path, const char *const *targets, size_t count, int rank)
{
    static char record[RECORD_BYTES];
    plimsoll_stow *container =
        plimsoll_stow_open(path, PLIMSOLL_STOW_WRITE | PLIMSOLL_STOW_CREATE, targets, count);
    if (!container)
        return failed("open");
    for (int number = rank; number < PROCESSES * RECORDS; number += PROCESSES) {
        memset(record, 'a' + number % 26, sizeof record);
        uint64_t offset = (uint64_t)number * sizeof record;
        if (plimsoll_stow_write_at(container, record, sizeof record, offset) < 0)
            return failed("write");
    }
    if (plimsoll_stow_sync(container) < 0)
        return failed("sync");
    return plimsoll_stow_close(container) < 0 ? failed("close") : 0;
}

static int read_all(const char *path)
{
    static char record[RECORD_BYTES];
    plimsoll_stow *container = plimsoll_stow_open(path, PLIMSOLL_STOW_READ, NULL, 0);
    if (!container)
        return failed("open");
    for (int number = 0; number < PROCESSES * RECORDS; number++) {
        uint64_t offset = (uint64_t)number * sizeof record;
        ssize_t count = plimsoll_stow_read_at(container, record, sizeof record, offset);
        if (count < 0)
            return failed("read");
        for (ssize_t at = 0; at < count; at++)
            if (record[at] != 'a' + number % 26)
                return fprintf(stderr, "record %d differs\n", number), 1;
    }
    printf("%lld bytes by %d processes\n", (long long)plimsoll_stow_size(container), PROCESSES);
    return plimsoll_stow_close(container) < 0 ? failed("close") : 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: %s CONTAINER TARGET...\n", argv[0]), 2;
    const char *const *targets = (const char *const *)argv + 2;
    for (int rank = 0; rank < PROCESSES; rank++)
        if (fork() == 0)
            _exit(write_own(argv[1], targets, (size_t)argc - 2, rank));
    int status, failures = 0;
    while (wait(&status) > 0)
        failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failures ? 1 : read_all(argv[1]);
}
