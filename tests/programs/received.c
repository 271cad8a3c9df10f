// Writes to a file that comes by a message, under a number that the C library has closed by itself just before.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    int pair[2];
    char letter = 'x', room[64], text[16] = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;
    int file = open("sent", O_CREAT | O_RDWR, 0644);
    struct iovec data = {&letter, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(sizeof file)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file)};
    memcpy(CMSG_DATA(header), &file, sizeof file);
    if (sendmsg(pair[0], &message, 0) != 1) return 2;
    FILE *stream = popen("echo told", "r");
    int number = fileno(stream);
    ssize_t length = read(number, text, sizeof text);
    pclose(stream);
    message.msg_controllen = sizeof room;
    if (recvmsg(pair[1], &message, 0) != 1) return 3;
    int received;
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    printf("%zd %d %zd\n", length, received == number, write(received, "content\n", 8));
    memset(text, 0, sizeof text);
    printf("%zd %s", pread(file, text, sizeof text, 0), text);
    return 0;
}
