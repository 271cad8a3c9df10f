// Copies lines of its input to its output and to a file, by streams.
#include <stdio.h>

int main(void) {
    char line[100];
    int lines = 0;
    FILE *copy = fopen("copy", "w");
    if (!copy) return 1;
    for (; fgets(line, sizeof line, stdin); lines++) {
        fputs(line, stdout);
        fputs(line, copy);
    }
    fprintf(copy, "%d lines\n", lines);
    printf("%d lines\n", lines);
    return fclose(copy);
}
