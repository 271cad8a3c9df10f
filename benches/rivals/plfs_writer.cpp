// A writer of one logical file by PLFS, for the benchmark stow_rivals: says "ready", waits for a byte, writes strided records, makes
// them durable and says "done".
//
// PLFS chooses a backend by the name of the host alone, so that all processes of a node write to one. To be fair to it, each writer
// is a host of its own, with a name that leads to a backend of its own. One that is to write nothing makes the file.

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vector>

#include "plfs.h"

static size_t hash_of(const char *name) {
    size_t sum = 0;
    for (; *name; name++) sum = *name + 65599 * sum;
    return sum;
}

// Takes a name of a host that leads to this backend.
static bool become_host_of(size_t backend, size_t backends) {
    if (unshare(CLONE_NEWUTS) != 0) return false;
    char name[32];
    for (size_t number = 0; number < 4096; number++) {
        snprintf(name, sizeof name, "node%zu", number);
        if (hash_of(name) % backends == backend) return sethostname(name, strlen(name)) == 0;
    }
    return false;
}

static void require(plfs_error_t error, const char *what) {
    if (error == PLFS_SUCCESS) return;
    fprintf(stderr, "PLFS cannot %s: %s\n", what, strplfserr(error));
    exit(1);
}

int main(int, char **words) {
    const size_t rank = atol(words[1]), of = atol(words[2]);
    const char *path = words[3];
    const size_t record = atol(words[4]), count = atol(words[5]);
    if (!become_host_of(rank, of)) {
        perror("a host name for this process");
        return 1;
    }
    if (count == 0) {
        // Only makes the file. Whoever does keeps to the backend of the file, so that is none of the writers.
        if (sethostname("maker", 5) != 0) return 1;
        require(plfs_create(path, 0600, 0, getpid()), "create");
        return 0;
    }
    std::vector<char> bytes(record, (char)(rank + 1));
    const pid_t pid = getpid();
    Plfs_fd *file = NULL;
    require(plfs_open(&file, path, O_CREAT | O_WRONLY, pid, 0600, NULL), "open");
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF) return 1;
    for (size_t index = 0; index < count; index++) {
        ssize_t wrote = 0;
        const off_t offset = (off_t)((index * of + rank) * record);
        require(plfs_write(file, bytes.data(), record, offset, pid, &wrote), "write");
        if (wrote != (ssize_t)record) {
            fprintf(stderr, "PLFS wrote %zd of %zu bytes\n", wrote, record);
            return 1;
        }
    }
    require(plfs_sync(file), "sync");
    int left = 0;
    require(plfs_close(file, pid, getuid(), O_WRONLY, NULL, &left), "close");
    puts("done 0");
    return 0;
}
