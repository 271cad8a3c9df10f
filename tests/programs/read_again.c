/* Reads a file again and again while something happens to it, to its descriptor or to the reader.
 *
 * usage: read_again GROUP FILE; prints nothing, exits with 0 when all went as it should. FILE must not be there, and a plain file is made in /var/tmp.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { BYTES = 4096, RECORDS = 64 };

static const char *path;
static char other[4096];
static volatile sig_atomic_t caught;

/* Writes all records: one byte again and again, which is another one for each version. */
static void write_version(int fd, int version)
{
    char record[BYTES];
    memset(record, version, sizeof record);
    for (int index = 0; index < RECORDS; index++)
        CHECK(pwrite(fd, record, sizeof record, index * BYTES) == BYTES);
}

/* Returns what a record is of, all of which is one version. */
static int version_at(int fd, int index)
{
    char record[BYTES];
    CHECK(pread(fd, record, sizeof record, index * BYTES) == BYTES);
    CHECK(memcmp(record, record + 1, sizeof record - 1) == 0);
    return record[0];
}

static int made(int version)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    write_version(fd, version);
    return fd;
}

/* A descriptor that was read so often that everything is known of it. */
static int known(int version)
{
    int writer = made(version);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && close(writer) == 0);
    for (int index = 0; index < 10; index++)
        CHECK(version_at(fd, index) == version);
    return fd;
}

static int plain_file(void)
{
    char name[] = "/var/tmp/read_again.XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    write_version(fd, 'p');
    return fd;
}

static void wait_for(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A number that was the file's is another one's. */
static void numbers(void)
{
    int fd = known('a'), plain = plain_file();
    /* It stays open, so that what is known stays known. */
    CHECK(dup(fd) > fd);
    CHECK(dup2(plain, fd) == fd && version_at(fd, 3) == 'p');
    CHECK(close(fd) == 0);
    CHECK(open(path, O_RDONLY) == fd && version_at(fd, 3) == 'a' && version_at(fd, 3) == 'a');
    CHECK(syscall(SYS_dup2, plain, fd) == fd && version_at(fd, 3) == 'p');
    CHECK(close(fd) == 0);
    CHECK(open(path, O_RDONLY) == fd && version_at(fd, 3) == 'a' && version_at(fd, 3) == 'a');
    CHECK(syscall(SYS_close, fd) == 0 && dup(plain) == fd && version_at(fd, 3) == 'p');
    CHECK(close(fd) == 0);
    CHECK(open(path, O_RDONLY) == fd && version_at(fd, 3) == 'a' && version_at(fd, 3) == 'a');
    CHECK(close_range(fd, fd, 0) == 0);
    char byte;
    CHECK(pread(fd, &byte, 1, 0) == -1 && errno == EBADF);
    CHECK(open(path, O_WRONLY) == fd && pread(fd, &byte, 1, 0) == -1 && errno == EBADF);
    CHECK(close(fd) == 0 && open(path, O_RDONLY) == fd && version_at(fd, 3) == 'a');
    int copy = dup(fd);
    CHECK(version_at(copy, 5) == 'a' && version_at(copy, 5) == 'a');
    CHECK(close(fd) == 0 && version_at(copy, 5) == 'a');
    CHECK(pread(fd, &byte, 1, 0) == -1 && errno == EBADF);
    FILE *stream = fdopen(copy, "r");
    CHECK(stream && fclose(stream) == 0);
    CHECK(pread(copy, &byte, 1, 0) == -1 && errno == EBADF);
}

/* What another process has written is seen as soon as that is known. */
static void written(void)
{
    int fd = known('a');
    for (int version = 'b'; version < 'j'; version++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            int writer = open(path, O_WRONLY);
            CHECK(writer >= 0);
            write_version(writer, version);
            _exit(0);
        }
        wait_for(child);
        for (int index = 0; index < RECORDS; index++)
            CHECK(version_at(fd, index) == version);
    }
    char record[2 * BYTES];
    CHECK(truncate(path, 100) == 0 && pread(fd, record, BYTES, 0) == 100);
    CHECK(pread(fd, record, BYTES, BYTES) == 0);
    CHECK(truncate(path, 2 * BYTES) == 0 && pread(fd, record, BYTES, BYTES) == BYTES);
    CHECK(record[0] == 0 && record[BYTES - 1] == 0);
    int writer = open(path, O_RDWR);
    write_version(writer, 'k');
    CHECK(version_at(fd, 1) == 'k' && version_at(fd, 1) == 'k');
    CHECK(fallocate(writer, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BYTES, BYTES) == 0);
    CHECK(version_at(fd, 1) == 0 && version_at(fd, 2) == 'k' && version_at(fd, 1) == 0);
    /* The name is another file's; the descriptor is not. */
    strcat(strcpy(other, path), ".new");
    int new = open(other, O_RDWR | O_CREAT, 0644);
    write_version(new, 'n');
    CHECK(version_at(new, 2) == 'n' && rename(other, path) == 0);
    CHECK(version_at(fd, 2) == 'k' && version_at(new, 2) == 'n');
    CHECK(unlink(path) == 0 && version_at(new, 2) == 'n' && version_at(fd, 2) == 'k');
    CHECK(close(new) == 0 && version_at(fd, 2) == 'k');
}

static int read_by_handler, written_by_handler, begun;

static void every(int microseconds, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void reads_and_writes(int signal)
{
    (void)signal;
    caught++;
    int version = 'a' + caught / 8 % 8;
    if (caught % 8 == 0)
        write_version(written_by_handler, version);
    CHECK(version_at(read_by_handler, caught % RECORDS) == version);
    if (caught % 16 == 5) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            /* It goes on where the handler was called. */
            begun = 1;
            CHECK(version_at(read_by_handler, 7) == version);
            CHECK(close(open("/dev/null", O_RDONLY)) == 0);
            struct itimerval none = {{0, 0}, {0, 0}};
            setitimer(ITIMER_REAL, &none, NULL);
            return;
        }
        wait_for(child);
    }
}

/* A handler reads and writes the same file, and forks, while it is read. */
static void handlers(void)
{
    int fd = known('a');
    read_by_handler = fd;
    written_by_handler = open(path, O_WRONLY);
    every(700, reads_and_writes);
    while (caught < 400) {
        for (int index = 0; index < RECORDS; index++)
            version_at(fd, index);
        if (begun)
            _exit(0);
    }
}

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void jumps_out(int signal)
{
    (void)signal;
    caught++;
    if (may_jump)
        siglongjmp(back, 1);
}

/* A handler leaves reads for good. */
static void jumps(void)
{
    int fd = known('a');
    int writer = open(path, O_RDWR);
    every(300, jumps_out);
    int version = 'a';
    for (volatile int round = 0; round < 20; round++) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (;;)
                version_at(fd, 3);
        }
        may_jump = 0;
        CHECK(version_at(fd, 9) == version);
        version = 'a' + (round + 1) % 20;
        write_version(writer, version);
        CHECK(version_at(fd, 9) == version && version_at(fd, 10) == version);
    }
    CHECK(close(writer) == 0 && close(fd) == 0);
    fd = open(path, O_RDONLY);
    CHECK(version_at(fd, 1) == version);
}

static volatile int stop;

static void *reads_forwards(void *number)
{
    int fd = *(int *)number, last[RECORDS] = {0};
    for (int index = 0; !stop; index = (index + 1) % RECORDS) {
        int version = version_at(fd, index);
        CHECK(version >= last[index]);
        last[index] = version;
    }
    return NULL;
}

static void *reads_until_cancelled(void *number)
{
    for (;;)
        version_at(*(int *)number, 5);
    return NULL;
}

/* Threads read while others write, are cancelled, and close what is read. */
static void threads(void)
{
    int fd = known('a'), copy = dup(fd);
    pthread_t readers[4];
    for (int index = 0; index < 4; index++)
        CHECK(pthread_create(&readers[index], NULL, reads_forwards, index % 2 ? &fd : &copy) == 0);
    for (int version = 'b'; version < 'r'; version++) {
        int writer = open(path, O_WRONLY);
        write_version(writer, version);
        CHECK(close(writer) == 0 && version_at(fd, 11) == version);
        pthread_t cancelled;
        CHECK(pthread_create(&cancelled, NULL, reads_until_cancelled, &fd) == 0);
        usleep(2000);
        CHECK(pthread_cancel(cancelled) == 0 && pthread_join(cancelled, NULL) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(version_at(fd, 11) == version && version_at(copy, 12) == version);
            _exit(0);
        }
        wait_for(child);
    }
    stop = 1;
    for (int index = 0; index < 4; index++)
        CHECK(pthread_join(readers[index], NULL) == 0);
}

static void *reads_what_is_exchanged(void *number)
{
    char record[BYTES];
    while (!stop) {
        CHECK(pread(*(int *)number, record, sizeof record, 5 * BYTES) == BYTES);
        CHECK(record[0] == 'a' || record[0] == 'b');
        CHECK(memcmp(record, record + 1, sizeof record - 1) == 0);
    }
    return NULL;
}

/* A thread gives the number that another one reads to another file, and back. */
static void exchanged(void)
{
    int fd = known('a'), one = dup(fd), two;
    CHECK(rename(path, strcat(strcpy(other, path), ".a")) == 0);
    two = known('b');
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, reads_what_is_exchanged, &fd) == 0);
    for (int round = 0; round < 500; round++) {
        CHECK(dup2(two, fd) == fd && version_at(fd, 1) == 'b' && version_at(fd, 1) == 'b');
        CHECK(dup2(one, fd) == fd && version_at(fd, 1) == 'a' && version_at(fd, 1) == 'a');
    }
    stop = 1;
    CHECK(pthread_join(reader, NULL) == 0);
}

/* Reads at the position, of which each byte comes once, while a handler does so, too. */
static void reads_on(int signal)
{
    char byte;
    (void)signal;
    caught++;
    CHECK(read(read_by_handler, &byte, 1) >= 0);
}

static void positions(void)
{
    int fd = known('a');
    read_by_handler = fd;
    every(300, reads_on);
    char bytes[1000];
    for (int round = 0; round < 30; round++) {
        CHECK(lseek(fd, 0, SEEK_SET) == 0);
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        int before = caught, got, all = 0;
        while ((got = read(fd, bytes, sizeof bytes)) > 0)
            all += got;
        CHECK(got == 0);
        sigprocmask(SIG_BLOCK, &alarms, NULL);
        off_t at = lseek(fd, 0, SEEK_CUR);
        CHECK(at == RECORDS * BYTES && all <= at && all + (caught - before) + 1 >= at);
        sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    }
}

/* What is at an offset of a file that is read in small parts. */
static unsigned char byte_at(off_t offset, int version)
{
    return (unsigned char)((offset * 2654435761u >> 13) + version);
}

enum { LARGE = 512 * 1024 };

static int patterned(int version)
{
    static unsigned char bytes[LARGE];
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0);
    for (off_t at = 0; at < LARGE; at++)
        bytes[at] = byte_at(at, version);
    for (off_t at = 0; at < LARGE; at += 20000) {
        size_t length = LARGE - at < 20000 ? LARGE - at : 20000;
        CHECK(pwrite(fd, bytes + at, length, at) == (ssize_t)length);
    }
    return fd;
}

/* Reads the next bytes; returns how many there are. */
static int next_of(int fd, int length, int version)
{
    unsigned char bytes[5000];
    int got = read(fd, bytes, length);
    CHECK(got >= 0);
    off_t start = lseek(fd, 0, SEEK_CUR) - got;
    for (int index = 0; index < got; index++)
        CHECK(bytes[index] == byte_at(start + index, version));
    return got;
}

static int small_by_handler, small_reads, child_of_handler;

static void reads_small_parts(int signal)
{
    (void)signal;
    caught++;
    if (next_of(small_by_handler, 300, 1) == 0)
        CHECK(lseek(small_by_handler, 0, SEEK_SET) == 0);
    if (caught % 32 == 7) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            /* It shares the position, but ends the read that was interrupted for itself. */
            child_of_handler = 1;
            struct itimerval none = {{0, 0}, {0, 0}};
            setitimer(ITIMER_REAL, &none, NULL);
            return;
        }
        wait_for(child);
    }
}

/* Small reads in order: another process writes just behind them, handlers do the same, fork, or never come back. */
static void small_parts(void)
{
    int writer = patterned(0), fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    unsigned char bytes[100];
    for (off_t at = 0; at + 100 <= LARGE; at += 100) {
        CHECK(read(fd, bytes, 100) == 100);
        for (int index = 0; index < 100; index++)
            CHECK(bytes[index] == byte_at(at + index, at > 100 && index < 10 && at % 1700 == 100));
        if (at % 1700 == 0 && at + 200 <= LARGE) {
            pid_t child = fork();
            CHECK(child >= 0);
            if (child == 0) {
                unsigned char other_bytes[10];
                for (int index = 0; index < 10; index++)
                    other_bytes[index] = byte_at(at + 100 + index, at > 0);
                CHECK(pwrite(writer, other_bytes, 10, at + 100) == 10);
                _exit(0);
            }
            wait_for(child);
        }
    }
    CHECK(close(writer) == 0 && close(fd) == 0);
    CHECK(close(patterned(1)) == 0);

    fd = open(path, O_RDONLY);
    small_by_handler = open(path, O_RDONLY);
    every(400, reads_small_parts);
    while (caught < 300) {
        int length = 1 + small_reads++ % 4000, got = next_of(fd, length, 1);
        if (child_of_handler)
            _exit(0);
        if (got < length)
            CHECK(lseek(fd, 0, SEEK_SET) == 0);
    }

    caught = 0;
    every(300, jumps_out);
    for (volatile int round = 0; round < 200; round++) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (;;) {
                if (read(fd, bytes, 100) < 100)
                    lseek(fd, 0, SEEK_SET);
            }
        }
        may_jump = 0;
        for (int index = 0; index < 5; index++)
            next_of(fd, 77, 1);
    }
    struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    CHECK(close(fd) == 0);

    /* More descriptors than there is room for, and those that come after them. */
    int fds[50];
    for (int round = 0; round < 3; round++) {
        for (int index = 0; index < 50; index++)
            CHECK((fds[index] = open(path, O_RDONLY)) >= 0);
        for (int read = 0; read < 40; read++)
            for (int index = 0; index < 50; index++)
                CHECK(next_of(fds[index], 500 + index, 1) == 500 + index);
        for (int index = 0; index < 50; index++)
            CHECK(close(fds[index]) == 0);
    }
}

static long sum_of_parts[4];

static void *reads_parts(void *number)
{
    long index = (long)number;
    unsigned char bytes[64];
    int got;
    while ((got = read(read_by_handler, bytes, sizeof bytes)) > 0) {
        CHECK(got == sizeof bytes);
        sum_of_parts[index] += bytes[0] + 256 * bytes[17] + 65536 * bytes[41];
    }
    CHECK(got == 0);
    return NULL;
}

/* Threads share a position: each part comes once. */
static void shared_parts(void)
{
    CHECK(close(patterned(3)) == 0);
    for (int round = 0; round < 5; round++) {
        long sum = 0;
        for (off_t at = 0; at < LARGE; at += 64)
            sum += byte_at(at, 3) + 256 * byte_at(at + 17, 3) + 65536 * byte_at(at + 41, 3);
        CHECK((read_by_handler = open(path, O_RDONLY)) >= 0);
        pthread_t readers[4];
        memset(sum_of_parts, 0, sizeof sum_of_parts);
        for (long index = 0; index < 4; index++)
            CHECK(pthread_create(&readers[index], NULL, reads_parts, (void *)index) == 0);
        for (int index = 0; index < 4; index++)
            CHECK(pthread_join(readers[index], NULL) == 0);
        CHECK(sum_of_parts[0] + sum_of_parts[1] + sum_of_parts[2] + sum_of_parts[3] == sum);
        CHECK(lseek(read_by_handler, 0, SEEK_CUR) == LARGE && close(read_by_handler) == 0);
    }
}

/* Waits for a line on standard input when everything is known, and reads again. */
static void waits(void)
{
    int fd = known('a');
    char line[8];
    CHECK(write(1, "known\n", 6) == 6 && read(0, line, sizeof line) > 0);
    char record[BYTES];
    for (int round = 0; round < 3; round++) {
        ssize_t got = pread(fd, record, sizeof record, 0);
        CHECK(got == -1 || record[0] == 'a');
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    path = argv[2];
    const struct {
        const char *name;
        void (*does)(void);
    } groups[] = {
        {"numbers", numbers}, {"written", written}, {"handlers", handlers}, {"jumps", jumps},
        {"threads", threads}, {"exchanged", exchanged}, {"positions", positions}, {"waits", waits},
        {"small parts", small_parts}, {"shared parts", shared_parts},
    };
    for (size_t index = 0; index < sizeof groups / sizeof groups[0]; index++) {
        if (strcmp(groups[index].name, argv[1]) == 0) {
            groups[index].does();
            return 0;
        }
    }
    return 2;
}
