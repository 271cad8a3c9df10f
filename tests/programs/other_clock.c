/* A clock of the wall that is ahead by as many milliseconds as a file says (OTHER_CLOCK). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long ahead(void)
{
    const char *path = getenv("OTHER_CLOCK");
    FILE *file = path ? fopen(path, "r") : NULL;
    long milliseconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &milliseconds) != 1)
            milliseconds = 0;
        fclose(file);
    }
    return milliseconds;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME)
        time->tv_sec += ahead() / 1000;
    return result;
}
