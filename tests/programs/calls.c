/* Makes many cheap I/O calls and prints the CPU time of one, in nanoseconds.
 *
 * usage: calls KIND FILE COUNT THREADS; KIND: strided, random, open
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *kind, *path;
static long count;

static double cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

static void *body(void *argument)
{
    unsigned long state = 88172645463325252UL + (long)argument;
    char byte = 'x';
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0)
        exit(1);
    for (long i = 0; i < count; i++) {
        if (*kind == 'o') {
            int other = open(path, O_RDONLY);
            if (other < 0 || close(other) != 0)
                exit(1);
            continue;
        }
        long offset = i * 16 % (1 << 20);
        if (*kind == 'r') {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            offset = state % (1 << 20);
        }
        if (pwrite(fd, &byte, 1, offset) != 1)
            exit(1);
    }
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    kind = argv[1], path = argv[2], count = atol(argv[3]);
    long threads = atol(argv[4]);
    pthread_t running[64];
    double before = cpu_ns();
    for (long i = 0; i < threads && i < 64; i++)
        pthread_create(&running[i], NULL, body, (void *)i);
    for (long i = 0; i < threads && i < 64; i++)
        pthread_join(running[i], NULL);
    printf("%.2f\n", (cpu_ns() - before) / (count * threads));
    return 0;
}
