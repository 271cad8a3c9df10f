// Cancels threads that do nothing but use a file.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file;
static volatile int is_going;

static void *work(void *what) {
    char text[100] = {0};
    for (;; is_going = 1) {
        switch (*(const char *)what) {
        case 'w': if (pwrite(file, text, sizeof text, 0) < 0) return what; break;
        case 'r': if (pread(file, text, sizeof text, 0) < 0) return what; break;
        case 's': if (fdatasync(file)) return what; break;
        case 'o': if (open("f", O_RDONLY | O_EXCL | O_CREAT, 0600) >= 0) return what; break;
        }
    }
}

int main(void) {
    file = open("f", O_CREAT | O_RDWR, 0644);
    for (const char *what = "wrso"; *what; what++) {
        pthread_t thread;
        void *result;
        is_going = 0;
        pthread_create(&thread, NULL, work, (void *)what);
        while (!is_going) usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        printf("%c %s\n", *what, result == PTHREAD_CANCELED ? "cancelled" : "ended");
        fflush(stdout);
        // What is left works.
        if (pwrite(file, "after", 5, 0) != 5) return 1;
    }
    return 0;
}
