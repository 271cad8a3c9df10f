/* The first thread ends, and another goes on: the kernel then calls the process a zombie (Z) although it runs.
   first_ends: writes "first", makes "ready", waits for a line from the pipe "go", and writes "second". */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void put(const char *name, const char *text, size_t length)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length || close(fd) != 0)
        exit(1);
}

static void *go_on(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    put("first", "1\n", 2);
    put("ready", "", 0);
    char line[8];
    int go = open("go", O_RDONLY);
    if (go < 0 || read(go, line, sizeof line) <= 0)
        exit(1);
    put("second", "22\n", 3);
    exit(0);
}

int main(void)
{
    static pthread_t first, other;
    first = pthread_self();
    if (pthread_create(&other, NULL, go_on, &first) != 0)
        return 1;
    pthread_exit(NULL);
}
