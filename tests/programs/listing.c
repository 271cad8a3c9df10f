// Lists the working directory by functions that read it inside of the C library.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_dots(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void tell(const char *by, struct dirent **list, int count) {
    printf("%s %d\n", by, count);
    for (int i = 0; i < count; i++) {
        printf("  %s %d\n", list[i]->d_name, list[i]->d_type);
        free(list[i]);
    }
    if (count >= 0) free(list);
}

static void by_glob(const char *pattern, int flags) {
    glob_t found = {0};
    int result = glob(pattern, flags, NULL, &found);
    printf("glob %s %d\n", pattern, result);
    for (size_t i = 0; i < found.gl_pathc; i++) printf("  %s\n", found.gl_pathv[i]);
    globfree(&found);
}

static int by_name(const void *one, const void *other) { return strcmp(*(char *const *)one, *(char *const *)other); }

int main(void) {
    struct dirent **list = NULL;
    int count = scandir(".", &list, no_dots, alphasort);
    tell("scandir", list, count);
    count = scandirat(AT_FDCWD, "d", &list, NULL, versionsort);
    tell("scandirat", list, count);
    errno = 0;
    count = scandir("nothing", &list, NULL, NULL);
    printf("scandir %d %s\n", count, strerror(errno));
    count = scandir("f1", &list, NULL, NULL);
    printf("scandir %d %s\n", count, strerror(errno));
    by_glob("*", GLOB_MARK);
    by_glob("*/*", 0);
    by_glob("d*", GLOB_ONLYDIR);
    by_glob("nothing*", 0);
    DIR *directory = opendir(".");
    char *names[64];
    struct dirent room, *entry;
    for (count = 0; readdir_r(directory, &room, &entry) == 0 && entry;)
        if (asprintf(&names[count], "%s %d", entry->d_name, entry->d_type) > 0) count++;
    closedir(directory);
    qsort(names, count, sizeof *names, by_name);
    for (int i = 0; i < count; i++) puts(names[i]);
    return 0;
}
