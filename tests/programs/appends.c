/* Opens a file to append to it, in all ways of stdio, and prints where it is then and later: the same wherever the file lies. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static const char *modes[] = { "a", "a+", "r+", "w", "w+", "ae", "a+x" };
static const int flags[] = { O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_APPEND };

static void tell(const char *when, FILE *file)
{
    long told = ftell(file);
    printf("%s %ld, the descriptor %ld\n", when, told, (long)lseek(fileno(file), 0, SEEK_CUR));
}

static void use(FILE *file, const char *way, const char *mode)
{
    if (file == NULL) {
        printf("%s %s: %s\n", way, mode, strerror(errno));
        return;
    }
    printf("%s %s\n", way, mode);
    tell("at first", file);
    if (strchr(mode, '+'))
        printf("byte %d\n", fgetc(file));
    printf("seek %d\n", fseek(file, 2, SEEK_SET));
    printf("told %ld\n", ftell(file));
    printf("write %d\n", fputs("more", file));
    printf("told %ld\n", ftell(file));
    printf("flush %d\n", fflush(file));
    tell("flushed", file);
    printf("close %d\n", fclose(file));
}

static void make(size_t size)
{
    FILE *file = fopen("it", "w");
    for (size_t at = 0; at < size; at++)
        fputc('a' + at % 26, file);
    CHECK(fclose(file) == 0);
}

static void sum(void)
{
    FILE *file = fopen("it", "r");
    unsigned sum = 0;
    for (int byte; (byte = fgetc(file)) != EOF;)
        sum = sum * 31 + byte;
    printf("sum %u\n", sum);
    fclose(file);
}

int main(void)
{
    static const size_t sizes[] = { 0, 5, 100000 };
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
        for (size_t at = 0; at < sizeof modes / sizeof *modes; at++) {
            make(sizes[index]);
            use(fopen("it", modes[at]), "fopen", modes[at]);
            sum();
            for (size_t how = 0; how < sizeof flags / sizeof *flags; how++) {
                make(sizes[index]);
                int fd = open("it", flags[how]);
                FILE *file = fdopen(fd, modes[at]);
                printf("%d ", (fcntl(fd, F_GETFL) & O_APPEND) != 0);
                use(file, "fdopen", modes[at]);
                if (file == NULL)
                    close(fd);
                sum();
            }
            make(sizes[index]);
            use(freopen("it", modes[at], fopen("other", "w")), "freopen", modes[at]);
            sum();
        }
    return 0;
}
