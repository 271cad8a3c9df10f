/* Calls every function that the recorder stands in for, by its name: the first one once, the
 * second twice and so on, each on a file of its own that has the function's name.
 *
 * usage: aliases FOLDER; says on stderr what was called and what a recording must have:
 *   call NAME | skip NAME            skipped: this C library has no such function
 *   expect FILE OPERATION CALLS BYTES
 *
 * Everything around the call itself is done by system calls, which no library sees, or is
 * expected too.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static const char *name, *folder, *self; /* the function that is called now, and where */
static char path[4096], other[4128];     /* its file, and one that it may need beside it */
static void *address;
static long count;   /* how often it is called */
static size_t size;  /* with how many bytes */
static char buffer[8192];

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            dprintf(2, "%s, line %d: %s: %s\n", name, __LINE__, #condition,  \
                    strerror(errno));                                        \
            _exit(1);                                                        \
        }                                                                    \
    } while (0)
#define EACH for (long call = 0; call < count; call++)
/* The function that is called now, with the type of another one. */
#define AS(function) ((__typeof__(&function))address)

static void expect_in(const char *file, const char *operation, long calls, long bytes)
{
    dprintf(2, "expect %s %s %ld %ld\n", file, operation, calls, bytes);
}

static void expect(const char *operation, long calls, long bytes)
{
    expect_in(name, operation, calls, bytes);
}

/* A system call by the instruction itself; the C library's `syscall` is one of its functions. */
#define RAW_ARGUMENTS(number, a, b, c, d, ...) number, (long)(a), (long)(b), (long)(c), (long)(d)
#define RAW(...) raw(RAW_ARGUMENTS(__VA_ARGS__, 0, 0, 0, 0, 0))

static long raw(long number, long a, long b, long c, long d)
{
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    if (result < 0) {
        errno = -result;
        return -1;
    }
    return result;
}

static int raw_open(const char *which, int flags)
{
    int fd = RAW(SYS_openat, AT_FDCWD, which, flags | O_CREAT, 0644);
    CHECK(fd >= 0);
    return fd;
}

/* The file with as many lines as there will be calls. Descriptors stay open: a number that was
 * closed behind the recorder's back would mean the wrong file when it is used again. */
static int file(void)
{
    int fd = raw_open(path, O_RDWR | O_TRUNC);
    memset(buffer, 'x', size);
    buffer[size - 1] = '\n';
    EACH CHECK(RAW(SYS_write, fd, buffer, size) == (long)size);
    CHECK(RAW(SYS_lseek, fd, 0, SEEK_SET) == 0);
    return fd;
}

static void present(void)
{
    RAW(SYS_mknodat, AT_FDCWD, path, S_IFREG | 0644, 0);
}

static void absent(const char *which)
{
    RAW(SYS_unlinkat, AT_FDCWD, which, 0);
    RAW(SYS_unlinkat, AT_FDCWD, which, AT_REMOVEDIR);
}

static void directory(void)
{
    absent(path);
    CHECK(RAW(SYS_mkdirat, AT_FDCWD, path, 0755) == 0);
}

static FILE *stream(const char *mode)
{
    file();
    FILE *opened = fopen(path, mode);
    CHECK(opened);
    expect("fopen", 1, 0);
    return opened;
}

static void done(FILE *opened, const char *operation, long bytes)
{
    CHECK(fclose(opened) == 0);
    expect("fclose", 1, 0);
    expect(operation, count, bytes);
}

/* Makes the file standard input or output. */
static void redirect(int to)
{
    CHECK(dup2(file(), to) == to);
    expect("dup", 1, 0);
}

/* Families: functions that are called in the same way. All but a few of them are one of: */
#define ZERO(family, operation, call_it)                                     \
    static void family(void)                                                 \
    {                                                                        \
        int fd = file();                                                     \
        (void)fd;                                                            \
        EACH CHECK((call_it) == 0);                                          \
        expect(operation, count, 0);                                         \
    }
#define DATA(family, operation, call_it)                                     \
    static void family(void)                                                 \
    {                                                                        \
        int fd = file();                                                     \
        EACH CHECK((call_it) == (ssize_t)size);                              \
        expect(operation, count, count * size);                              \
    }
#define STREAM(family, mode, operation, bytes, call_it)                      \
    static void family(void)                                                 \
    {                                                                        \
        FILE *open_stream = stream(mode);                                    \
        EACH CHECK(call_it);                                                 \
        done(open_stream, operation, bytes);                                 \
    }
#define STANDARD(family, descriptor, operation, bytes, call_it)              \
    static void family(void)                                                 \
    {                                                                        \
        redirect(descriptor);                                                \
        EACH CHECK(call_it);                                                 \
        expect(operation, count, bytes);                                     \
    }
#define OPENS(family, call_it)                                               \
    static void family(void)                                                 \
    {                                                                        \
        file();                                                              \
        EACH {                                                               \
            snprintf(other, sizeof other, "%s.XXXXXX.s", path);              \
            CHECK(close(call_it) == 0);                                      \
        }                                                                    \
        expect("open", count, 0);                                            \
        expect("close", count, 0);                                           \
    }
/* Names: `before` puts things in place behind the recorder's back. */
#define NAMES(family, operation, before, call_it)                            \
    static void family(void)                                                 \
    {                                                                        \
        snprintf(other, sizeof other, "%s.other", path);                     \
        EACH {                                                               \
            before;                                                          \
            CHECK(call_it);                                                  \
        }                                                                    \
        expect(operation, count, 0);                                         \
    }

#include "aliases/posix.h"
#include "aliases/stdio.h"
#include "aliases/process.h"
#include "aliases/asynchronous.h"

/* These are slow or keep a descriptor with every call: called the fewest times. */
#define FIRST_ROWS                                                           \
    { "sync", syncs_all }, { "syncfs", syncs_system }, { "fsync", syncs_file }, \
    { "fdatasync", syncs_data }, { "tmpfile", opens_temporary_stream },      \
    { "tmpfile64", opens_temporary_stream }, { "dup", duplicates },

static const struct row {
    const char *name;
    void (*run)(void);
} rows[] = { FIRST_ROWS ASYNCHRONOUS_ROWS POSIX_ROWS STDIO_ROWS PROCESS_ROWS };

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "child") == 0) {
        write_lines(raw_open(argv[2], O_RDWR), atol(argv[3]), atol(argv[4]));
        return 0;
    }
    if (argc != 2)
        return 2;
    self = argv[0], folder = argv[1];
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    CHECK(libc);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        name = rows[i].name;
        /* By default the recorder's stand-in, which is there also where the C library's is not. */
        address = dlsym(RTLD_DEFAULT, name);
        if (!dlsym(libc, name)) {
            dprintf(2, "skip %s\n", name);
            continue;
        }
        dprintf(2, "call %s\n", name);
        count = i + 1, size = 100 + i;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        rows[i].run();
    }
    return 0;
}
