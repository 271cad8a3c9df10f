/* Programs that recorders stumble over, each with a known number of calls.
 *
 * usage: traps NAME FILE [COUNT]; prints nothing, exits with 0 when all went as it should.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char *path;
static long count;

static int open_file(void)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0);
    return fd;
}

static void write_records(int fd, long first, long records)
{
    char record[16] = "fifteen letters";
    for (long index = first; index < first + records; index++)
        CHECK(pwrite(fd, record, sizeof record, index * 64) == sizeof record);
}

/* COUNT strided writes, one fsync. */
static void plain(void)
{
    int fd = open_file();
    write_records(fd, 0, count);
    CHECK(fsync(fd) == 0);
    CHECK(close(fd) == 0);
}

static void *thread_body(void *argument)
{
    long number = (long)argument;
    int fd = open_file();
    write_records(fd, number * 10, 10);
    CHECK(close(fd) == 0);
    return NULL;
}

/* COUNT threads, one after the other in groups of 50, ten writes each. */
static void threads(void)
{
    pthread_t running[50];
    for (long first = 0; first < count; first += 50) {
        for (long i = 0; i < 50; i++)
            CHECK(pthread_create(&running[i], NULL, thread_body, (void *)(first + i)) == 0);
        for (long i = 0; i < 50; i++)
            CHECK(pthread_join(running[i], NULL) == 0);
    }
}

static pthread_barrier_t together;

static void *waiting_body(void *argument)
{
    thread_body(argument);
    pthread_barrier_wait(&together);
    thread_body(argument);
    return NULL;
}

/* COUNT threads alive at once, twenty writes each. */
static void crowd(void)
{
    pthread_t *running = calloc(count, sizeof *running);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&together, NULL, count);
    for (long i = 0; i < count; i++)
        CHECK(pthread_create(&running[i], &small, waiting_body, (void *)i) == 0);
    for (long i = 0; i < count; i++)
        CHECK(pthread_join(running[i], NULL) == 0);
    free(running);
}

/* The parent writes COUNT, each of three children COUNT; half before the fork. */
static void forks(void)
{
    int fd = open_file();
    write_records(fd, 0, count / 2);
    for (int child = 0; child < 3; child++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            write_records(fd, 1000 * (child + 1), count);
            _exit(0);
        }
    }
    write_records(fd, count / 2, count - count / 2);
    int status;
    while (wait(&status) > 0)
        CHECK(status == 0);
    CHECK(close(fd) == 0);
}

/* A vforked child closes and opens descriptors of its own, then runs true(1). */
static void vforks(void)
{
    int fd = open_file();
    for (long i = 0; i < count; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            close(fd);
            execlp("true", "true", (char *)NULL);
            _exit(127);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        write_records(fd, i, 1);
    }
    CHECK(close(fd) == 0);
}

static void *spawning_body(void *argument)
{
    extern char **environ;
    char *const arguments[] = { "true", NULL };
    pid_t pid;
    int status;
    thread_body(argument);
    CHECK(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return NULL;
}

/* COUNT threads with the least stack that a thread may have: ten writes each, then true(1) is started. */
static void small_stacks(void)
{
    pthread_attr_t least;
    pthread_attr_init(&least);
    CHECK(pthread_attr_setstacksize(&least, sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (long i = 0; i < count; i++) {
        pthread_t running;
        CHECK(pthread_create(&running, &least, spawning_body, (void *)i) == 0);
        CHECK(pthread_join(running, NULL) == 0);
    }
}

/* COUNT writes, then another program takes over that writes COUNT more. */
static void exec_self(void)
{
    char number[32];
    plain();
    snprintf(number, sizeof number, "%ld", count);
    execl("/proc/self/exe", "traps", "plain", path, number, (char *)NULL);
    CHECK(!"exec");
}

static int handler_fd;
static volatile long handled;

static void handler(int signal)
{
    (void)signal;
    int saved = errno;
    char byte = 'h';
    if (pwrite(handler_fd, &byte, 1, 0) == 1)
        handled++;
    errno = saved;
}

/* A signal handler writes while the program writes COUNT records; both must add up. */
static void signals(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
    handler_fd = open_file();
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    write_records(handler_fd, 1, count);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(close(handler_fd) == 0);
    printf("%ld\n", handled);
}

static void *cancelled_body(void *argument)
{
    int *ends = argument;
    char byte;
    read(ends[0], &byte, 1); /* never comes */
    return NULL;
}

/* COUNT threads are cancelled inside a read; then the program writes COUNT records. */
static void cancels(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, cancelled_body, ends) == 0);
        usleep(500);
        CHECK(pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    plain();
}

/* Everything above stderr is closed, as daemons do; then COUNT records. */
static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    plain();
    CHECK(close_range(3, ~0U, 0) == 0);
    plain();
}

/* COUNT records, then killed. */
static void killed(void)
{
    int fd = open_file();
    write_records(fd, 0, count);
    kill(getpid(), SIGKILL);
}

/* COUNT records, then an exit that runs no handlers. */
static void quick(void)
{
    int fd = open_file();
    write_records(fd, 0, count);
    _exit(0);
}

/* As `quick`, by the system call itself: nothing in the process can notice. */
static void silent(void)
{
    int fd = open_file();
    write_records(fd, 0, count);
    syscall(SYS_exit_group, 0);
}

/* Files may not grow beyond 1 MiB: nothing here does, so nothing may fail. */
static void file_size(void)
{
    struct rlimit limit = { 1 << 20, 1 << 20 };
    signal(SIGXFSZ, SIG_DFL);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    int fd = open_file();
    for (long i = 0; i < count; i++)
        write_records(fd, i % 500, 1);
    CHECK(close(fd) == 0);
}

/* A daemon: two forks, a session of its own, no descriptors, COUNT records, _exit. */
static void daemon_writes(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            close_range(0, ~0U, 0);
            int fd = open(path, O_RDWR | O_CREAT, 0644);
            write_records(fd, 0, count);
            char done[4096];
            snprintf(done, sizeof done, "%s.done", path);
            close(open(done, O_WRONLY | O_CREAT, 0644));
            _exit(0);
        }
        _exit(0);
    }
    CHECK(wait(NULL) > 0);
}

/* Errors and errno come through: COUNT failing calls of each kind. */
static void errors(void)
{
    char byte = 'x';
    for (long i = 0; i < count; i++) {
        errno = 0;
        CHECK(open("/nonexistent/file", O_RDONLY) == -1 && errno == ENOENT);
        CHECK(pwrite(-1, &byte, 1, 0) == -1 && errno == EBADF);
        CHECK(close(-1) == -1 && errno == EBADF);
        errno = 77;
        int fd = open_file();
        CHECK(pwrite(fd, &byte, 1, 0) == 1 && close(fd) == 0);
        CHECK(errno == 77);
    }
}

/* A sandbox that refuses to open, allocate and map files; then COUNT records. */
static void sandbox(void)
{
    int fd = open_file();
    write_records(fd, 0, 10);
#define REFUSE(call)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1),                       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_openat),
        REFUSE(SYS_fallocate),
        REFUSE(SYS_mmap),
        REFUSE(SYS_rename),
        REFUSE(SYS_getrlimit),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    write_records(fd, 10, count);
    CHECK(close(fd) == 0);
}

static void fault_handler(int signal)
{
    (void)signal;
    plain();
    _exit(0);
}

/* COUNT records and an fsync by the handler of a fault, on a small stack of its own. */
static void faults(void)
{
    size_t size = sysconf(_SC_MINSIGSTKSZ) + 8192;
    stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
    struct sigaction action = { .sa_handler = fault_handler, .sa_flags = SA_ONSTACK };
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    *(volatile char *)8 = 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } traps[] = {
        { "plain", plain },       { "threads", threads },     { "crowd", crowd },
        { "forks", forks },       { "vforks", vforks },       { "exec", exec_self },
        { "signals", signals },   { "cancels", cancels },     { "close_all", close_all },
        { "killed", killed },     { "quick", quick },         { "silent", silent },
        { "file_size", file_size }, { "daemon", daemon_writes }, { "errors", errors },
        { "sandbox", sandbox },   { "small_stacks", small_stacks },
        { "faults", faults },
    };
    if (argc < 3)
        return 2;
    path = argv[2];
    count = argc > 3 ? atol(argv[3]) : 100;
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++)
        if (strcmp(argv[1], traps[i].name) == 0) {
            traps[i].run();
            return 0;
        }
    return 2;
}
