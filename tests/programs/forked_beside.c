/* Threads open, write, close and remove two files while another thread forks children that write to one of them.
 *
 * usage: forked_beside CHILDREN
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static atomic_int is_over;

static void *write_again_and_again(void *number)
{
    static const int HOW[] = { O_APPEND, O_TRUNC, O_APPEND };
    unsigned seed = (unsigned)(size_t)number;
    char bytes[2000];
    memset(bytes, 'x', sizeof bytes);
    while (!is_over) {
        const char *name = rand_r(&seed) % 2 ? "one" : "two";
        int fd = open(name, O_CREAT | O_WRONLY | HOW[rand_r(&seed) % 3], 0644);
        size_t length = 1 + rand_r(&seed) % sizeof bytes;
        CHECK(fd >= 0 && write(fd, bytes, length) == (ssize_t)length && close(fd) == 0);
        if (rand_r(&seed) % 4 == 0)
            unlink(name);
    }
    return number;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    pthread_t threads[3];
    /* A child that waits for a lock which nobody gives up ends all. */
    alarm(120);
    for (size_t at = 0; at < 3; at++)
        CHECK(pthread_create(&threads[at], NULL, write_again_and_again, (void *)(at + 1)) == 0);
    for (int left = atoi(words[1]); left; left--) {
        pid_t child = fork();
        if (child == 0) {
            int fd = open("one", O_CREAT | O_WRONLY | O_APPEND, 0644);
            _exit(fd < 0 || write(fd, "of a child\n", 11) != 11);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    is_over = 1;
    for (int at = 0; at < 3; at++)
        CHECK(pthread_join(threads[at], NULL) == 0);
    return 0;
}
