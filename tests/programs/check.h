/* Ends the program with a line that says what does not hold, and with 1. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,           \
                    #condition, strerror(errno));                            \
            exit(1);                                                         \
        }                                                                    \
    } while (0)
