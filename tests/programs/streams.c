/* Reads and writes a stream by pieces of all sizes, here and there, and prints what it saw: the same wherever its file lies.
 *
 * usage: streams SEED STEPS
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 3 << 20, MOST = 400 << 10 };

static uint64_t state;

static size_t below(size_t end)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % end;
}

static unsigned sum(const unsigned char *bytes, size_t count)
{
    unsigned sum = 2166136261u;
    for (size_t index = 0; index < count; index++)
        sum = (sum ^ bytes[index]) * 16777619u;
    return sum;
}

/* Small and large sizes come equally often. */
static size_t size(void)
{
    return 1 + below((size_t)1 << below(20)) % MOST;
}

int main(int count, char **words)
{
    (void)count;
    state = strtoull(words[1], NULL, 10);
    unsigned char *bytes = malloc(BYTES);
    for (size_t index = 0; index < BYTES; index++)
        bytes[index] = below(90) ? 32 + below(90) : '\n';
    FILE *file = fopen("it", "w+");
    printf("%zu\n", fwrite(bytes, 1, BYTES, file));
    /* Between writing and reading, one has to go somewhere. */
    int writes = 1;
    for (int left = atoi(words[2]); left; left--) {
        size_t length = size();
        size_t step = below(12);
        if (step < 3 || (writes && step < 9)) {
            long to = below(BYTES + 1000);
            int whence = below(3);
            int at = whence == SEEK_SET ? fseek(file, to, whence)
                : whence == SEEK_END    ? fseek(file, -(long)below(BYTES), whence)
                                        : fseek(file, (long)below(20000) - 10000, whence);
            printf("seek %d %ld\n", at, ftell(file));
            writes = 0;
        } else if (step < 7) {
            /* Again and again, as who reads all of it. */
            for (size_t times = 1 + below(6); times; times--) {
                size_t got = fread(bytes, 1, length, file);
                printf("read %zu %u %ld %d\n", got, sum(bytes, got), ftell(file), feof(file));
            }
        } else if (step == 7) {
            bytes[0] = 0;
            printf("line %s", fgets((char *)bytes, 200, file) ? (char *)bytes : "none\n");
        } else if (step == 8) {
            int byte = getc(file);
            printf("byte %d %d\n", byte, byte < 0 ? 0 : ungetc(byte == 65 ? 66 : byte, file));
            printf("and %zu %d %ld\n", fread(bytes, 3, 1 + length / 3, file), bytes[0], ftell(file));
        } else if (step == 9) {
            fflush(file);
            printf("at %ld\n", ftell(file));
        } else {
            fseek(file, 0, SEEK_CUR);
            memset(bytes, 33 + below(90), length);
            printf("write %zu %ld\n", fwrite(bytes, 1, length, file), ftell(file));
            writes = 1;
        }
        clearerr(file);
    }
    rewind(file);
    size_t all = 0, got;
    unsigned of_all = 0;
    while ((got = fread(bytes, 1, 32768, file)) > 0) {
        all += got;
        of_all = of_all * 31 + sum(bytes, got);
    }
    printf("all %zu %u %d\n", all, of_all, fclose(file));
    /* A buffer of the program's own, and none. */
    static char own[512];
    file = fopen("it", "r");
    setvbuf(file, own, _IOFBF, sizeof own);
    printf("own %zu %u\n", fread(bytes, 1, 100000, file), sum(bytes, 100000));
    fclose(file);
    file = fopen("it", "r");
    setvbuf(file, NULL, _IONBF, 0);
    printf("none %zu %u\n", fread(bytes, 1, 70000, file), sum(bytes, 70000));
    setvbuf(file, NULL, _IOFBF, 0);
    printf("then %zu %u\n", fread(bytes, 1, 70000, file), sum(bytes, 70000));
    fclose(file);
    free(bytes);
    return 0;
}
