/* Defines getenv itself, as bash does: a recorder that asks it would learn nothing.
 *
 * usage: own_getenv FILE
 */
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

char *getenv(const char *name)
{
    (void)name;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
    for (int index = 0; index < 40; index++)
        if (pwrite(fd, "0123456789abcdef", 16, index * 64) != 16)
            return 1;
    return close(fd);
}
