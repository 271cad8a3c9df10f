/* What a program's I/O takes of its stack where that is small: in a handler of signals on a stack of its own, and in a child on one.
 *
 * usage: small_stacks DIRECTORY; prints the largest number of bytes that a call took on each. Bind at once (LD_BIND_NOW), so that
 * the first calls are like the others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096, STACK = 64 * 1024, PAINT = 0xa5 };

static char *stack;
static char text[100];
static struct stat status;
static int fd = -1;

static void open_new(void) { CHECK((fd = open("new", O_CREAT | O_RDWR, 0600)) >= 0); }
static void write_all(void) { CHECK(write(fd, text, sizeof text) == sizeof text); }
static void read_some(void) { CHECK(pread(fd, text, sizeof text, 0) == sizeof text); }
static void look(void) { CHECK(fstat(fd, &status) == 0); }
static void look_by_name(void) { CHECK(stat("./new", &status) == 0); }
static void copy_number(void) { CHECK(close(dup(fd)) == 0); }
static void sync_all(void) { CHECK(fsync(fd) == 0); }
static void cut(void) { CHECK(ftruncate(fd, 10) == 0); }
static void close_it(void) { CHECK(close(fd) == 0); }
static void rename_it(void) { CHECK(rename("new", "./renamed") == 0); }
static void remove_it(void) { CHECK(unlink("renamed") == 0); }
static void make_directory(void) { CHECK(mkdir("directory", 0700) == 0 && rmdir("directory") == 0); }
static void write_elsewhere(void)
{
    int null = open("/dev/../dev/null", O_WRONLY);
    CHECK(null >= 0 && write(null, text, sizeof text) == sizeof text && close(null) == 0);
}

static void (*const calls[])(void) = {
    open_new, write_all, read_some, look,      look_by_name, copy_number,     sync_all, cut,
    close_it, rename_it, remove_it, make_directory, write_elsewhere,
};

static size_t used(void)
{
    size_t free = 0;
    while (free < STACK && stack[free] == (char)PAINT)
        free++;
    return STACK - free;
}

static ucontext_t here, there;

/* As a coroutine would. */
static size_t by_call(void)
{
    size_t most = 0;
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++) {
        memset(stack, PAINT, STACK);
        CHECK(getcontext(&there) == 0);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = STACK;
        there.uc_link = &here;
        makecontext(&there, calls[index], 0);
        CHECK(swapcontext(&here, &there) == 0);
        most = used() > most ? used() : most;
    }
    return most;
}

static int execute(void *unused)
{
    char *const arguments[] = {"true", NULL};
    (void)unused;
    execvp("true", arguments);
    return 1;
}

static size_t by_child(void)
{
    int ended;
    memset(stack, PAINT, STACK);
    pid_t child = clone(execute, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    CHECK(child > 0 && waitpid(child, &ended, 0) == child && ended == 0);
    return used();
}

static void handle(int signal)
{
    (void)signal;
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++)
        calls[index]();
}

/* On the smallest that programs make: whatever takes more ends here. */
static void on_smallest(void)
{
    size_t length = (size_t)SIGSTKSZ;
    size_t whole = (length + PAGE - 1) / PAGE * PAGE;
    char *place = mmap(NULL, PAGE + whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED && mprotect(place + PAGE, whole, PROT_READ | PROT_WRITE) == 0);
    stack_t smallest = {.ss_sp = place + PAGE + whole - length, .ss_size = length};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&smallest, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(raise(SIGUSR1) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && chdir(argv[1]) == 0);
    on_smallest();
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    size_t call = by_call();
    printf("%zu %zu\n", call, by_child());
    return 0;
}
