/* Reads and writes bytes as the C library's headers do without a call, mixed with calls.
 *
 * usage: inlined INPUT OUTPUT < SMALL    (files of 1,000,000 and of 30,000 bytes)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void put(FILE *file, long count)
{
    while (count--)
        putc_unlocked('p', file);
}

/* Calls empty the buffer themselves, so that it is never found full. */
static void mix_with_calls(void)
{
    char bytes[16] = "fifteen letters";
    FILE *file = fopen("mixed", "w");
    CHECK(fputs("ten bytes\n", file) >= 0);
    put(file, 1000);
    for (int turn = 0; turn < 100; turn++) {
        CHECK(fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes);
        put(file, 4080);
    }
    CHECK(fclose(file) == 0);
    CHECK((file = fopen("mixed", "a+")) != NULL);
    put(file, 100);
    CHECK(fclose(file) == 0);
}

/* Another process goes on in the same file. */
static void share(void)
{
    FILE *file = fopen("shared", "w");
    put(file, 5000);
    CHECK(fflush(file) == 0);
    pid_t child = fork();
    if (child == 0) {
        char bytes[50000] = { 0 };
        _exit(write(fileno(file), bytes, sizeof bytes) != sizeof bytes);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    put(file, 5000);
    CHECK(fclose(file) == 0);
}

static FILE *of_all;

static void *put_by_turns(void *nothing)
{
    for (int turn = 0; turn < 1000; turn++) {
        flockfile(of_all);
        put(of_all, 99);
        CHECK(fputs("\n", of_all) >= 0);
        funlockfile(of_all);
    }
    return nothing;
}

/* The first thread has the stream while the second uses it for it. */
static void *put_for_the_first(void *file)
{
    put(file, 5000);
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[4];
    of_all = fopen("threads", "w");
    for (int at = 0; at < 4; at++)
        CHECK(pthread_create(&threads[at], NULL, put_by_turns, NULL) == 0);
    for (int at = 0; at < 4; at++)
        CHECK(pthread_join(threads[at], NULL) == 0);
    flockfile(of_all);
    CHECK(pthread_create(&threads[0], NULL, put_for_the_first, of_all) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0);
    funlockfile(of_all);
    CHECK(fclose(of_all) == 0);
}

/* Calls that empty buffers, or give streams others, and are not recorded for themselves. */
static void with_other_calls(void)
{
    FILE *file = fopen("flushed", "w");
    put(file, 100);
    CHECK(fflush(NULL) == 0);
    put(file, 100);
    CHECK(setvbuf(file, NULL, _IONBF, 0) == 0);
    put(file, 100);
    CHECK(fclose(file) == 0);

    CHECK((file = fopen("back", "w+")) != NULL);
    put(file, 10000);
    rewind(file);
    long read = 0;
    while (getc_unlocked(file) != EOF)
        if (++read % 50 == 0)
            CHECK(ungetc('!', file) == '!' && getc_unlocked(file) == '!');
    CHECK(read == 10000 && fclose(file) == 0);

    /* No files: nothing of these is recorded. */
    char *text;
    size_t length;
    CHECK((file = open_memstream(&text, &length)) != NULL);
    put(file, 5000);
    CHECK(fwrite(text, 1, 0, file) == 0 && fprintf(file, "%d", 12345) == 5);
    CHECK(fclose(file) == 0 && length == 5005);
}

static void *wait_for_end(void *pipe)
{
    char byte;
    CHECK(read(*(int *)pipe, &byte, 1) == 0);
    return NULL;
}

/* Another thread does something else. */
static void beside_another(void)
{
    int ends[2];
    pthread_t other;
    CHECK(pipe(ends) == 0 && pthread_create(&other, NULL, wait_for_end, &ends[0]) == 0);
    FILE *file = fopen("beside", "w");
    for (int turn = 0; turn < 5; turn++) {
        put(file, 1000);
        CHECK(fflush(file) == 0);
    }
    CHECK(fclose(file) == 0 && close(ends[1]) == 0 && pthread_join(other, NULL) == 0);
}

int main(int count, char **names)
{
    CHECK(count == 3);
    FILE *in = fopen(names[1], "r"), *out = fopen(names[2], "w");
    CHECK(in != NULL && out != NULL);
    char line[100];
    int byte;
    long read = 0;
    while ((byte = getc_unlocked(in)) != EOF) {
        read++;
        if (read == 5000)
            CHECK(fread(line, 1, sizeof line, in) == sizeof line);
    }
    CHECK(read == 999900 && fseek(in, -1234, SEEK_END) == 0);
    for (int left = 1000; left; left--)
        CHECK(getc_unlocked(in) != EOF);
    for (int turn = 0; turn < 50000; turn++) {
        putc_unlocked('x', out);
        if (turn % 10 == 0)
            CHECK(fputs("12345", out) >= 0);
        putc_unlocked('\n', out);
    }
    CHECK(fclose(in) == 0 && fclose(out) == 0);
    /* 1,000 bytes behind the 125,000. */
    CHECK((out = fopen(names[2], "a")) != NULL);
    for (int left = 1000; left; left--)
        putc_unlocked('y', out);
    CHECK(fclose(out) == 0);
    /* Standard input, which was open before. */
    CHECK(fgets(line, 11, stdin) == line && getchar_unlocked() != EOF);
    for (read = 0; getchar_unlocked() != EOF;)
        read++;
    CHECK(read == 29989 && fclose(stdin) == 0);
    mix_with_calls();
    share();
    with_other_calls();
    in_threads();
    beside_another();
    /* The end closes it. */
    put(fopen("left", "w"), 3000);
    return 0;
}
