/* Changes each record of a file where it is, as programs do by stdio: read it, go back, write it, go on from there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES = 30000 };

static void go_back(FILE *file, int way, long size)
{
    fpos_t place;
    long at = ftell(file);
    switch (way) {
    case 0:
        CHECK(fseek(file, -size, SEEK_CUR) == 0);
        break;
    case 1:
        CHECK(fseek(file, at - size, SEEK_SET) == 0);
        break;
    case 2:
        CHECK(fseek(file, at - size - BYTES, SEEK_END) == 0);
        break;
    default:
        CHECK(fseek(file, -size, SEEK_CUR) == 0 && fgetpos(file, &place) == 0);
        CHECK(fsetpos(file, &place) == 0);
    }
}

static void go_on(FILE *file, int way)
{
    switch (way) {
    case 0:
        CHECK(fseek(file, 0, SEEK_CUR) == 0);
        break;
    case 1:
        CHECK(fseek(file, ftell(file), SEEK_SET) == 0);
        break;
    default:
        CHECK(fflush(file) == 0);
    }
}

static void update(int back, int on, long size)
{
    char *record = malloc(BYTES);
    memset(record, 'A', BYTES);
    FILE *file = fopen("it", "w");
    CHECK(fwrite(record, 1, BYTES, file) == BYTES && fclose(file) == 0);
    CHECK((file = fopen("it", "r+")) != NULL);
    int changed = 0;
    while (fread(record, 1, size, file) == (size_t)size && changed < 10000) {
        go_back(file, back, size);
        record[0] = '0' + changed++ % 10;
        CHECK(fwrite(record, 1, size, file) == (size_t)size);
        go_on(file, on);
        if (changed == 7)
            printf("at %ld\n", ftell(file));
    }
    CHECK(fclose(file) == 0 && (file = fopen("it", "r")) != NULL);
    unsigned sum = 0;
    size_t got = fread(record, 1, BYTES, file);
    for (size_t at = 0; at < got; at++)
        sum = sum * 31 + record[at];
    fclose(file);
    free(record);
    printf("back %d, on %d, %ld: %d of %zu, %u\n", back, on, size, changed, got, sum);
}

int main(void)
{
    static const long sizes[] = { 60, 100, 999, 5000 };
    for (int back = 0; back < 4; back++)
        for (int on = 0; on < 3; on++)
            for (size_t at = 0; at < sizeof sizes / sizeof *sizes; at++)
                update(back, on, sizes[at]);
    return 0;
}
