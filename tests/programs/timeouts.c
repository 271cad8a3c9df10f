/* Threads whose I/O is ended by a signal, out of which they jump, as old programs do it for a time limit. `open` and `close` may be left so. Another thread goes on.
 *
 * usage: timeouts DIRECTORY COUNT; prints whether the other thread went on to the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static __thread sigjmp_buf limit;
static __thread volatile sig_atomic_t is_limited;
static atomic_int is_working, is_over;
static atomic_ulong opened;

static void end(int signal)
{
    (void)signal;
    if (is_limited) {
        is_limited = 0;
        siglongjmp(limit, 1);
    }
}

static void *work(void *number)
{
    char name[] = "missing-00000000";
    if (sigsetjmp(limit, 1) == 0) {
        is_limited = 1;
        is_working = 1;
        for (unsigned long turn = (unsigned long)number * 100000;; turn++) {
            /* A new name each time: it is put into the recording. */
            for (unsigned long at = 0, rest = turn; at < 8; at++, rest /= 10)
                name[15 - at] = (char)('0' + rest % 10);
            int fd = open(name, O_RDONLY);
            if (fd >= 0)
                close(fd);
        }
    }
    return NULL;
}

static void *go_on(void *unused)
{
    (void)unused;
    while (!is_over) {
        int fd = open("./there", O_RDONLY);
        CHECK(fd >= 0 && close(fd) == 0);
        opened++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3 && chdir(argv[1]) == 0);
    int fd = open("there", O_CREAT | O_RDWR, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    struct sigaction action = {.sa_handler = end};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t other;
    CHECK(pthread_create(&other, NULL, go_on, NULL) == 0);
    for (long turn = 0; turn < atol(argv[2]); turn++) {
        pthread_t worker;
        is_working = 0;
        CHECK(pthread_create(&worker, NULL, work, (void *)turn) == 0);
        while (!is_working)
            usleep(10);
        usleep((useconds_t)(turn * 37 % 500));
        CHECK(pthread_kill(worker, SIGUSR1) == 0 && pthread_join(worker, NULL) == 0);
    }
    unsigned long before = opened;
    for (int tries = 0; tries < 500 && opened == before; tries++)
        usleep(10000);
    puts(opened == before ? "the other thread stands still" : "the other thread goes on");
    fflush(stdout);
    if (opened == before)
        _exit(1);
    is_over = 1;
    CHECK(pthread_join(other, NULL) == 0);
    return 0;
}
