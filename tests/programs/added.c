/* Measures what a preloaded library adds to a pwrite of one byte: batches of calls through the
 * library and past it, in turn, in one process, by the thread's CPU time. Prints the median of
 * the differences over all pairs of batches, in nanoseconds for each call.
 *
 * usage: added strided|random FILE PAIRS THREADS
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 2000, THREADS_MAX = 16, PAIRS_MAX = 20000 };

typedef ssize_t (*pwrite_function)(int, const void *, size_t, off_t);

static const char *path;
static int is_random;
static long pairs;
static pwrite_function past;
static double differences[THREADS_MAX][PAIRS_MAX];

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static double batch(int fd, pwrite_function function, unsigned long *state)
{
    char byte = 'x';
    double start = cpu_ns();
    for (long index = 0; index < BATCH; index++) {
        *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
        long offset = is_random ? *state % (1 << 20) : index * 16;
        if (function(fd, &byte, 1, offset) != 1)
            exit(1);
    }
    return (cpu_ns() - start) / BATCH;
}

static void *body(void *argument)
{
    long thread = (long)argument;
    unsigned long state = 88172645463325252UL + thread;
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0)
        exit(1);
    for (long pair = 0; pair < pairs; pair++) {
        /* The order alternates, so that neither side always comes first. */
        double first = batch(fd, pair % 2 ? pwrite : past, &state);
        double second = batch(fd, pair % 2 ? past : pwrite, &state);
        differences[thread][pair] = pair % 2 ? first - second : second - first;
    }
    close(fd);
    return NULL;
}

static int compare(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    is_random = argv[1][0] == 'r', path = argv[2], pairs = atol(argv[3]);
    long threads = atol(argv[4]);
    if (threads < 1 || threads > THREADS_MAX || pairs < 1 || pairs > PAIRS_MAX)
        return 2;
    /* The C library's own function, whatever stands before it. */
    past = (pwrite_function)dlsym(dlopen("libc.so.6", RTLD_NOW), "pwrite");
    if (!past)
        return 1;
    pthread_t running[THREADS_MAX];
    for (long thread = 0; thread < threads; thread++)
        pthread_create(&running[thread], NULL, body, (void *)thread);
    double sum = 0;
    for (long thread = 0; thread < threads; thread++) {
        pthread_join(running[thread], NULL);
        qsort(differences[thread], pairs, sizeof(double), compare);
        sum += differences[thread][pairs / 2];
    }
    printf("%.2f\n", sum / threads);
    return 0;
}
