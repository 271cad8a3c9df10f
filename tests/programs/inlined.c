/* Reads and writes bytes as the C library's headers do without a call, mixed with calls.
 *
 * usage: inlined INPUT OUTPUT    (a file of 1,000,000 bytes)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

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
    return 0;
}
