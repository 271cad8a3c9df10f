/* Calls that a backend serves, or that are refused where it owns the file. Each group does the same with and
 * without a backend, unless it is one of refusals.
 *
 * usage: served GROUP, in a directory of its own
 */
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wchar.h>

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        errno = 0;                                                                          \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno));    \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#define FAILS(error, call) CHECK((call) && errno == (error))

static void streams(void)
{
    char line[64], *large = malloc(1 << 20), *again = malloc(1 << 20);
    for (int i = 0; i < 1 << 20; i++)
        large[i] = (char)(i * 7 + i / 256);
    FILE *file;
    CHECK((file = fopen("text", "w")) != NULL);
    CHECK(fprintf(file, "%d %s\n", 42, "words") == 9);
    CHECK(fputs("a line\n", file) >= 0 && putc_unlocked('!', file) == '!');
    CHECK(fileno(file) > 2 && fflush(file) == 0 && fsync(fileno(file)) == 0);
    struct stat status;
    CHECK(fstat(fileno(file), &status) == 0 && status.st_size == 17);
    CHECK(fwrite(large, 1, 1 << 20, file) == 1 << 20 && ftell(file) == 17 + (1 << 20));
    CHECK(fclose(file) == 0);
    FAILS(EEXIST, fopen("text", "wx") == NULL);
    FAILS(ENOENT, fopen("none", "r") == NULL);
    FAILS(EINVAL, fopen("none", "?") == NULL);

    int number;
    CHECK((file = fopen("text", "r+e")) != NULL);
    CHECK(fcntl(fileno(file), F_GETFD) == FD_CLOEXEC);
    CHECK(fscanf(file, "%d %63s", &number, line) == 2 && number == 42 && strcmp(line, "words") == 0);
    CHECK(fgetc(file) == '\n' && fgets(line, sizeof line, file) != NULL && strcmp(line, "a line\n") == 0);
    CHECK(ungetc('?', file) == '?' && getc_unlocked(file) == '?' && getc_unlocked(file) == '!');
    CHECK(fread(again, 1, 1 << 20, file) == 1 << 20 && memcmp(large, again, 1 << 20) == 0);
    CHECK(fgetc(file) == EOF && feof(file) && !ferror(file));
    CHECK(fseek(file, 3, SEEK_SET) == 0 && fputs("WORD", file) >= 0);
    rewind(file);
    CHECK(fgets(line, sizeof line, file) != NULL && strcmp(line, "42 WORDs\n") == 0);
    CHECK(fseeko(file, -1, SEEK_END) == 0 && fgetc(file) == (unsigned char)large[(1 << 20) - 1]);
    CHECK(fclose(file) == 0);

    CHECK((file = fopen("text", "a")) != NULL && fputs("end", file) >= 0 && fclose(file) == 0);
    int fd = open("text", O_RDONLY);
    CHECK(pread(fd, line, 3, 17 + (1 << 20)) == 3 && memcmp(line, "end", 3) == 0);
    FAILS(EINVAL, fdopen(fd, "w") == NULL);
    CHECK(lseek(fd, -3, SEEK_END) > 0 && (file = fdopen(fd, "r")) != NULL && fileno(file) == fd);
    CHECK(fgets(line, sizeof line, file) != NULL && strcmp(line, "end") == 0 && fclose(file) == 0);
    FAILS(EBADF, close(fd) < 0);

    /* To a descriptor, more than any buffer. */
    fd = open("printed", O_CREAT | O_RDWR | O_APPEND, 0600);
    CHECK(dprintf(fd, "%d %s %.2f\n", 42, "words", 1.5) == 14);
    CHECK(dprintf(fd, "%*s", 1 << 20, "end") == 1 << 20 && dprintf(fd, "%s", "") == 0);
    CHECK(fstat(fd, &status) == 0 && status.st_size == 14 + (1 << 20));
    CHECK(pread(fd, line, 14, 0) == 14 && memcmp(line, "42 words 1.50\n", 14) == 0);
    CHECK(pread(fd, line, 4, 10 + (1 << 20)) == 4 && memcmp(line, " end", 4) == 0 && close(fd) == 0);
    FAILS(EBADF, dprintf(fd, "x") < 0);

    /* By another name. */
    char name[64];
    fd = open("text", O_RDONLY);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    CHECK((file = fopen(name, "r")) != NULL && fgets(line, sizeof line, file) != NULL);
    CHECK(strcmp(line, "42 WORDs\n") == 0 && fclose(file) == 0 && close(fd) == 0);

    /* To another file, by one that is a backend's. */
    CHECK((file = fopen("second", "w")) != NULL && fputs("first", file) >= 0);
    CHECK((file = freopen("/dev/null", "w", file)) != NULL && fputs("nothing", file) >= 0);
    CHECK(fclose(file) == 0);
    CHECK(stat("second", &status) == 0 && status.st_size == 5);
    CHECK((file = fopen("/dev/full", "w")) != NULL && fputs("x", file) >= 0);
    FAILS(ENOSPC, fflush(file) == EOF);
    fclose(file);
}

static void refused_streams(void)
{
    char byte;
    CHECK(close(open("old", O_CREAT | O_WRONLY, 0600)) == 0);
    FILE *file = fopen("/dev/null", "w");
    FAILS(ENOTSUP, freopen("old", "w", file) == NULL);
    file = fopen("/dev/null", "w");
    FAILS(ENOTSUP, freopen("new", "w", file) == NULL);
    FAILS(ENOENT, access("new", F_OK) < 0);
    file = fopen("old", "w");
    CHECK(fputs("written", file) >= 0);
    FAILS(ENOTSUP, freopen(NULL, "r", file) == NULL);
    file = fopen("/dev/null", "w");
    char name[64];
    int fd = open("old", O_RDWR);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    FAILS(ENOTSUP, freopen(name, "r+", file) == NULL);
    CHECK(read(fd, &byte, 1) == 1 && byte == 'w');

    /* Wide characters: the stream is one of bytes, and stays it. */
    wchar_t wide[8];
    CHECK((file = fopen("old", "r+")) != NULL && fwide(file, 1) < 0);
    CHECK(fgetwc(file) == WEOF && fgetws(wide, 8, file) == NULL && fwscanf(file, L"%7ls", wide) == EOF);
    CHECK(fputwc(L'x', file) == WEOF && fputws(L"x", file) < 0 && fwprintf(file, L"x") < 0);
    CHECK(fgetc(file) == 'w' && fclose(file) == 0);
}

/* Standard streams that become a backend's while the program has something in their buffers. */
static void standard(void)
{
    char line[64];
    setvbuf(stdin, NULL, _IOFBF, 4096);
    CHECK(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "one\n") == 0);
    CHECK(printf("before ") == 7);
    int in = open("in", O_RDWR | O_CREAT, 0600), out = open("out", O_RDWR | O_CREAT, 0600);
    int error = open("error", O_RDWR | O_CREAT, 0600);
    CHECK(write(in, "three\nfour\n", 11) == 11 && lseek(in, 0, SEEK_SET) == 0);
    CHECK(dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(error, 2) == 2);
    CHECK(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "two\n") == 0);
    CHECK(fgets(line, sizeof line, stdin) != NULL && strcmp(line, "three\n") == 0);
    CHECK(getchar_unlocked() == 'f' && putchar_unlocked('&') == '&' && puts(" after") >= 0);
    fputs("error: ", stderr);
    errno = ENOENT;
    perror("file");
    CHECK(dup2(open("/dev/null", O_WRONLY), 2) == 2 && fputs("nothing", stderr) >= 0);
}

static volatile sig_atomic_t signalled;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (info->si_code == SI_ASYNCIO)
        signalled = info->si_value.sival_int;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int notified;

static void on_thread(union sigval value)
{
    pthread_mutex_lock(&mutex);
    notified += value.sival_int;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_thread(int number)
{
    pthread_mutex_lock(&mutex);
    while (notified < number)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static ssize_t wait_for(struct aiocb *block)
{
    const struct aiocb *list[] = { block };
    while (aio_error(block) == EINPROGRESS)
        CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
    int error = aio_error(block);
    ssize_t result = aio_return(block);
    errno = error;
    return result;
}

static void transfers(void)
{
    char text[] = "0123456789", read_back[16] = "";
    int fd = open("aio", O_CREAT | O_RDWR, 0600), plain = fileno(tmpfile());
    struct aiocb block = { .aio_fildes = fd, .aio_buf = text, .aio_nbytes = 10, .aio_offset = 4 };
    block.aio_sigevent.sigev_notify = SIGEV_NONE;
    CHECK(aio_write(&block) == 0 && wait_for(&block) == 10);
    CHECK(aio_cancel(fd, &block) == AIO_ALLDONE);
    block.aio_buf = read_back;
    block.aio_offset = 6;
    block.aio_nbytes = 16;
    CHECK(aio_read(&block) == 0 && wait_for(&block) == 8 && memcmp(read_back, "23456789", 8) == 0);
    block.aio_offset = -1;
    CHECK((aio_read(&block) < 0 || wait_for(&block) < 0) && errno == EINVAL);
    CHECK(aio_fsync(O_SYNC, &block) == 0 && wait_for(&block) == 0);

    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    CHECK(sigaction(SIGRTMIN, &action, NULL) == 0);
    block.aio_sigevent.sigev_notify = SIGEV_SIGNAL;
    block.aio_sigevent.sigev_signo = SIGRTMIN;
    block.aio_sigevent.sigev_value.sival_int = 77;
    block.aio_offset = 0;
    CHECK(aio_read(&block) == 0 && wait_for(&block) == 14);
    while (signalled != 77)
        usleep(1000);
    block.aio_sigevent.sigev_notify = SIGEV_THREAD;
    block.aio_sigevent.sigev_notify_function = on_thread;
    block.aio_sigevent.sigev_value.sival_int = 1;
    CHECK(aio_read(&block) == 0);
    wait_for_thread(1);
    CHECK(wait_for(&block) == 14);

    /* Of two files, with a place that is empty. */
    struct aiocb one = { .aio_fildes = fd, .aio_buf = "one", .aio_nbytes = 3, .aio_lio_opcode = LIO_WRITE };
    struct aiocb other = { .aio_fildes = plain, .aio_buf = "other", .aio_nbytes = 5, .aio_lio_opcode = LIO_WRITE };
    struct aiocb nothing = { .aio_fildes = fd, .aio_buf = "bad", .aio_nbytes = 3, .aio_lio_opcode = LIO_NOP };
    one.aio_sigevent.sigev_notify = other.aio_sigevent.sigev_notify = SIGEV_NONE;
    struct aiocb *list[] = { &one, NULL, &nothing, &other };
    CHECK(lio_listio(LIO_WAIT, list, 4, NULL) == 0);
    CHECK(aio_return(&one) == 3 && aio_return(&other) == 5);
    CHECK(pread(plain, read_back, 16, 0) == 5 && memcmp(read_back, "other", 5) == 0);
    struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_thread };
    event.sigev_value.sival_int = 10;
    one.aio_offset = 3;
    CHECK(lio_listio(LIO_NOWAIT, list, 1, &event) == 0);
    wait_for_thread(11);
    CHECK(wait_for(&one) == 3);
    one.aio_offset = -5;
    FAILS(EIO, lio_listio(LIO_WAIT, list, 4, NULL) < 0);
    CHECK(pread(fd, read_back, 16, 0) == 14 && memcmp(read_back, "oneone23456789", 14) == 0);
}

/* The kernel would find something else wrong with each of them. */
static void refused_blocks(void)
{
    int fd = open("file", O_CREAT | O_RDWR, 0600), plain = open("/proc/self/exe", O_RDONLY);
    struct file_clone_range range = { .src_fd = fd };
    FAILS(EOPNOTSUPP, ioctl(fd, FICLONE, -1) < 0);
    FAILS(EOPNOTSUPP, ioctl(plain, FICLONE, fd) < 0);
    FAILS(EOPNOTSUPP, ioctl(plain, FICLONERANGE, &range) < 0);
    FAILS(EOPNOTSUPP, syscall(SYS_ioctl, fd, FICLONE, -1) < 0);
    FAILS(EBADF, ioctl(plain, FICLONE, -1) < 0);
}

static void refused_transfers(void)
{
    char bytes[512] = "bytes";
    int fd = open("aio", O_CREAT | O_RDWR, 0600), plain = fileno(tmpfile());
    aio_context_t context = 0;
    CHECK(syscall(SYS_io_setup, 8, &context) == 0);
    struct iocb owned = { .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd, .aio_buf = (uintptr_t)bytes, .aio_nbytes = 512 };
    struct iocb other = owned;
    other.aio_fildes = plain;
    struct iocb *list[] = { &other, &owned, &other };
    CHECK(syscall(SYS_io_submit, context, 3L, list) == 1);
    FAILS(EINVAL, syscall(SYS_io_submit, context, 2L, list + 1) < 0);
    struct io_event events[4];
    CHECK(syscall(SYS_io_getevents, context, 1L, 4L, events, NULL) == 1 && events[0].res == 512);
    struct stat status;
    CHECK(fstat(fd, &status) == 0 && status.st_size == 0);
    CHECK(fstat(plain, &status) == 0 && status.st_size == 512);
    char parameters[256] = "";
    FAILS(ENOSYS, syscall(SYS_io_uring_setup, 8, parameters) < 0);
}

/* Names in a directory, sorted, in one line. */
static const char *entries(DIR *directory)
{
    static char line[1024];
    char names[16][64];
    int count = 0;
    for (struct dirent *entry; count < 16 && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            snprintf(names[count++], 64, "%.60s", entry->d_name);
    qsort(names, (size_t)count, 64, (int (*)(const void *, const void *))strcmp);
    line[0] = 0;
    for (int i = 0; i < count; i++)
        strcat(strcat(line, i ? " " : ""), names[i]);
    return line;
}

static void directories(void)
{
    struct stat status;
    CHECK(mkdir("d", 0700) == 0 && stat("d", &status) == 0 && S_ISDIR(status.st_mode));
    FAILS(EEXIST, mkdir("d", 0700) < 0);
    CHECK(mkdir("d/e", 0700) == 0);
    int at = open("d", O_RDONLY | O_DIRECTORY);
    CHECK(at >= 0 && mkdirat(at, "f", 0700) == 0 && syscall(SYS_mkdirat, at, "g", 0700) == 0);
    CHECK(close(openat(at, "file", O_CREAT | O_WRONLY, 0600)) == 0);
    DIR *directory = opendir("d");
    CHECK(directory != NULL && strcmp(entries(directory), "e f file g") == 0);
    rewinddir(directory);
    CHECK(strcmp(entries(directory), "e f file g") == 0 && closedir(directory) == 0);
    FAILS(ENOENT, opendir("none") == NULL);
    FAILS(ENOTDIR, opendir("d/file") == NULL);
    CHECK((directory = fdopendir(dup(at))) != NULL && strcmp(entries(directory), "e f file g") == 0);
    CHECK(closedir(directory) == 0 && lseek(at, 0, SEEK_SET) == 0);
    char buffer[4096];
    int seen = 0;
    for (long bytes; (bytes = syscall(SYS_getdents64, at, buffer, sizeof buffer)) > 0;)
        for (long i = 0; i < bytes; i += ((struct dirent64 *)(buffer + i))->d_reclen) {
            const char *name = ((struct dirent64 *)(buffer + i))->d_name;
            CHECK(name[0] == '.' || strlen(name) == 1 || strcmp(name, "file") == 0);
            seen++;
        }
    CHECK(seen == 6);
    FAILS(ENOTEMPTY, rmdir("d") < 0);
    CHECK(rmdir("d/e") == 0 && unlinkat(at, "f", AT_REMOVEDIR) == 0 && remove("d/g") == 0);
    CHECK(chdir("d") == 0 && access("file", F_OK) == 0 && remove("file") == 0 && chdir("..") == 0);
    CHECK(close(at) == 0 && rmdir("d") == 0);
    FAILS(ENOENT, stat("d", &status) < 0);

    char folder[] = "./folderXXXXXX", file[] = "fileXXXXXX", named[] = "fileXXXXXX.c", bad[] = "fileXXXXX";
    CHECK(mkdtemp(folder) == folder && stat(folder, &status) == 0 && (status.st_mode & 0777) == 0700);
    int fd = mkstemp(file), other = mkstemps(named, 2);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && stat(file, &status) == 0 && status.st_size == 1);
    CHECK((status.st_mode & 0777) == 0600 && strcmp(strchr(named, '.'), ".c") == 0);
    CHECK(other >= 0 && access(named, R_OK | W_OK) == 0 && strstr(named, "XXX") == NULL);
    CHECK(fcntl(mkostemp(strcpy(file, "fileXXXXXX"), O_CLOEXEC), F_GETFD) == FD_CLOEXEC);
    CHECK(fcntl(mkostemps(strcpy(named, "fileXXXXXX.c"), 2, O_CLOEXEC), F_GETFD) == FD_CLOEXEC);
    CHECK(unlink(named) == 0);
    FAILS(EINVAL, mkstemp(bad) < 0);
    CHECK(strcmp(bad, "fileXXXXX") == 0);
}

static void names(void)
{
    char text[16];
    struct stat status;
    int fd = open("file", O_CREAT | O_RDWR, 0600);
    CHECK(symlink("file", "link") == 0 && readlink("link", text, 16) == 4 && memcmp(text, "file", 4) == 0);
    CHECK(readlink("link", text, 2) == 2 && lstat("link", &status) == 0 && S_ISLNK(status.st_mode));
    FAILS(EINVAL, readlink("file", text, 16) < 0);
    FAILS(ENOENT, readlink("none", text, 16) < 0);
    CHECK(symlinkat("file", AT_FDCWD, "second") == 0 && readlinkat(AT_FDCWD, "second", text, 16) == 4);
    CHECK(link("file", "third") == 0 && fstat(fd, &status) == 0 && status.st_nlink == 2);
    CHECK(linkat(AT_FDCWD, "link", AT_FDCWD, "fourth", AT_SYMLINK_FOLLOW) == 0);
    CHECK(fstat(fd, &status) == 0 && status.st_nlink == 3);
    FAILS(EXDEV, link("/proc/self/status", "fifth") < 0);
    CHECK(fchmod(fd, 0640) == 0 && stat("third", &status) == 0 && (status.st_mode & 0777) == 0640);
    CHECK(fchmodat(AT_FDCWD, "link", 0604, 0) == 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0604);
    CHECK(euidaccess("file", R_OK) == 0 && faccessat(AT_FDCWD, "file", R_OK, AT_EACCESS) == 0);
    CHECK(fstatat(fd, "", &status, AT_EMPTY_PATH) == 0 && status.st_nlink == 3);
    FAILS(ENOENT, fstatat(fd, "", &status, 0) < 0);
    CHECK(syncfs(fd) == 0);
}

static void attributes(void)
{
    char value[16] = "", list[64];
    int fd = open("file", O_CREAT | O_RDWR, 0600);
    CHECK(symlink("file", "link") == 0);
    CHECK(fsetxattr(fd, "user.one", "first", 5, XATTR_CREATE) == 0);
    FAILS(EEXIST, setxattr("file", "user.one", "again", 5, XATTR_CREATE) < 0);
    CHECK(setxattr("link", "user.two", "other", 5, 0) == 0);
    CHECK(getxattr("link", "user.one", value, 16) == 5 && memcmp(value, "first", 5) == 0);
    CHECK(lgetxattr("file", "user.two", value, 16) == 5 && memcmp(value, "other", 5) == 0);
    FAILS(ENODATA, lgetxattr("link", "user.one", value, 16) < 0 && (errno = errno == EPERM ? ENODATA : errno));
    CHECK(fgetxattr(fd, "user.two", value, 16) == 5 && memcmp(value, "other", 5) == 0);
    CHECK(fgetxattr(fd, "user.one", NULL, 0) == 5 && lsetxattr("file", "user.three", "", 0, 0) == 0);
    FAILS(ERANGE, getxattr("file", "user.one", value, 2) < 0);
    ssize_t length = listxattr("file", list, 64);
    CHECK(length >= 29 && flistxattr(fd, list, 64) == length && llistxattr("file", NULL, 0) == length);
    CHECK(removexattr("file", "user.three") == 0 && lremovexattr("file", "user.two") == 0);
    FAILS(ENODATA, getxattr("link", "user.two", value, 16) < 0);
    CHECK(fremovexattr(fd, "user.none") < 0 && errno == ENODATA);
}

/* What the backend for tests says of its file system. */
static void file_systems(void)
{
    struct statfs plain;
    struct statvfs other;
    int fd = open("file", O_CREAT | O_RDWR, 0600);
    CHECK(statfs("file", &plain) == 0 && plain.f_type == 0x12345678);
    memset(&plain, 0, sizeof plain);
    CHECK(fstatfs(fd, &plain) == 0 && plain.f_type == 0x12345678);
    CHECK(statvfs("file", &other) == 0 && other.f_fsid == 0x12345678);
    memset(&other, 0, sizeof other);
    CHECK(fstatvfs(fd, &other) == 0 && other.f_fsid == 0x12345678);
    CHECK(statfs("/proc", &plain) == 0 && plain.f_type == 0x9fa0);
}

/* Ways to close: each is told to the backend. */
static void closes(void)
{
    int one = open("file", O_CREAT | O_RDWR, 0600), two = dup(one), three = dup(one), four = dup(one);
    CHECK(one >= 0 && two >= 0 && three >= 0 && four >= 0);
    CHECK(close(one) == 0 && dup2(open("/dev/null", O_RDONLY), two) == two);
    CHECK(close_range((unsigned)three, (unsigned)four, 0) == 0);
    CHECK(fclose(fopen("file", "r")) == 0 && syscall(SYS_close, open("file", O_RDONLY)) == 0);
    FAILS(EBADF, dup2(-1, open("file", O_RDONLY)) < 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {
        { "streams", streams },           { "refused_streams", refused_streams },
        { "standard", standard },         { "transfers", transfers },
        { "refused_transfers", refused_transfers }, { "refused_blocks", refused_blocks },
        { "directories", directories },   { "names", names },
        { "attributes", attributes },     { "file_systems", file_systems },
        { "closes", closes },
    };
    for (unsigned i = 0; argc == 2 && i < sizeof groups / sizeof *groups; i++)
        if (strcmp(argv[1], groups[i].name) == 0) {
            groups[i].run();
            return 0;
        }
    return 2;
}
