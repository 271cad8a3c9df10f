/* Writes without a library that could see it, or as somebody who may not record.
 *
 * usage: unseen NAME FILE [PROGRAM ARGUMENTS...]; writes 1000 bytes to FILE
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char *path)
{
    char bytes[1000] = { 0 };
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, bytes, sizeof bytes) != sizeof bytes || close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

/* Becomes another user, who writes, and whose child writes. */
static void drops(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || setgid(65534) != 0 || setuid(65534) != 0)
        exit(3);
    for (int i = 0; i < 5000; i++)
        if (write(fd, "x", 1) != 1)
            exit(1);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0)
            _exit(write(fd, "child", 5) != 5);
        int status;
        if (wait(&status) < 0 || status != 0)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "drops") == 0)
        drops(argv[2]);
    else
        write_file(argv[2]);
    if (argc > 3) {
        execv(argv[3], argv + 3);
        perror(argv[3]);
        return 1;
    }
    return 0;
}
