/* Damages its own recording, on purpose or not, and goes on writing.
   vandal HOW OUT: cut, restored, own, older, rubbish, handler, fault, raise, once, ask, told, strict, no-clock. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void handled(int signal) {
    (void)signal;
    write(1, "handled\n", 8);
    _exit(3);
}

static void noticed(int signal) {
    (void)signal;
    write(1, "noticed\n", 8);
}

static void handled_with_facts(int signal, siginfo_t *facts, void *context) {
    (void)facts, (void)context;
    handled(signal);
}

/* Every mapping of a recording: its first and one past its last byte. */
static int mappings(char *starts[], char *ends[], char paths[][512], int room) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    int count = 0;
    while (maps && count < room && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char path[512] = "";
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %511[^\n]", &start, &end, path) == 3 && strstr(path, ".rec")) {
            starts[count] = (char *)start;
            ends[count] = (char *)end;
            strcpy(paths[count++], path);
        }
    }
    if (maps)
        fclose(maps);
    return count;
}

static void work(const char *out, int calls) {
    int file = open(out, O_CREAT | O_WRONLY, 0600);
    for (int call = 0; call < calls; call++)
        pwrite(file, "x", 1, (off_t)call * 7919 % 100003);
    close(file);
}

int main(int count, char **arguments) {
    if (count < 3)
        return 2;
    const char *how = arguments[1], *out = arguments[2];
    work(out, 2000);
    static char *starts[64], *ends[64];
    static char paths[64][512];
    int found = mappings(starts, ends, paths, 64);
    if (found == 0)
        return 4;
    if (!strcmp(how, "restored")) {
        /* What was there before is put back: that is no handler, as far as the program knows. */
        static char small[2048];
        stack_t stack = {.ss_sp = small, .ss_size = sizeof small};
        sigaltstack(&stack, NULL);
        signal(SIGBUS, signal(SIGBUS, handled));
    }
    if (!strcmp(how, "own")) {
        struct sigaction own = {.sa_sigaction = handled_with_facts, .sa_flags = SA_SIGINFO};
        sigaction(SIGBUS, &own, NULL);
    }
    if (!strcmp(how, "older"))
        signal(SIGBUS, handled);
    if (!strcmp(how, "cut") || !strcmp(how, "restored") || !strcmp(how, "own") || !strcmp(how, "older")) {
        for (int at = 0; at < found; at++)
            if (truncate(paths[at], 0))
                return 5;
    } else if (!strcmp(how, "rubbish")) {
        for (int at = 0; at < found; at++)
            memset(starts[at], 0xff, ends[at] - starts[at]);
    } else if (!strcmp(how, "handler")) {
        /* Its own file is cut under its own mapping: its own handler is called. */
        signal(SIGBUS, handled);
        int file = open(out, O_RDWR);
        volatile char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ftruncate(file, 0);
        page[0] = 1;
    } else if (!strcmp(how, "fault")) {
        int file = open(out, O_RDWR);
        volatile char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ftruncate(file, 0);
        page[0] = 1;
    } else if (!strcmp(how, "strict")) {
        int file = open(out, O_WRONLY);
        prctl(PR_SET_SECCOMP, 1);
        write(file, "x", 1);
        write(1, "done\n", 5);
        syscall(SYS_exit, 0);
    } else if (!strcmp(how, "no-clock")) {
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    } else if (!strcmp(how, "raise")) {
        raise(SIGBUS);
    } else if (!strcmp(how, "once")) {
        struct sigaction once = {.sa_handler = noticed, .sa_flags = SA_RESETHAND};
        sigaction(SIGBUS, &once, NULL);
        raise(SIGBUS);
        raise(SIGBUS);
    } else if (!strcmp(how, "told")) {
        struct sigaction own = {.sa_handler = noticed, .sa_flags = SA_RESETHAND | SA_NODEFER}, old;
        sigaddset(&own.sa_mask, SIGUSR1);
        sigaction(SIGBUS, &own, NULL);
        sigaction(SIGBUS, NULL, &old);
        int is_own = old.sa_handler == noticed && (old.sa_flags & 0xffffffff & ~0x04000000) == (SA_RESETHAND | SA_NODEFER);
        is_own &= sigismember(&old.sa_mask, SIGUSR1) && !sigismember(&old.sa_mask, SIGUSR2);
        is_own &= signal(SIGBUS, handled) == noticed && signal(SIGBUS, SIG_IGN) == handled;
        raise(SIGBUS);
        is_own &= signal(SIGBUS, SIG_DFL) == SIG_IGN && signal(SIGBUS, SIG_DFL) == SIG_DFL;
        printf("%s\n", is_own ? "own" : "another");
    } else if (!strcmp(how, "ask")) {
        struct sigaction old;
        sigaction(SIGBUS, NULL, &old);
        int is_default = old.sa_handler == SIG_DFL;
        is_default &= signal(SIGBUS, SIG_DFL) == SIG_DFL;
        printf("%s\n", is_default ? "default" : "another");
    }
    work(out, 200000);
    printf("done\n");
    return 0;
}
