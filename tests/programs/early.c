/* A library that uses a file before main, and before the recorder's own start: libraries are
 * started in the reverse order of their loading. */
#include <stdio.h>

__attribute__((constructor)) static void early(void) {
    FILE *file = fopen("/etc/hostname", "r");
    if (file != NULL) fclose(file);
}
