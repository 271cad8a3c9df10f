/* Part of aliases.c: processes that begin, change and end. Each is seen by what it writes. */

static void write_lines(int fd, long calls, size_t bytes)
{
    for (long call = 0; call < calls; call++)
        CHECK(pwrite(fd, buffer, bytes, call) == (ssize_t)bytes);
}

static void wait_for(pid_t pid)
{
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    expect("pwrite", count, count * size);
}

static void forks(void)
{
    int fd = raw_open(path, O_RDWR);
    pid_t pid = AS(vfork)();
    if (pid == 0) {
        write_lines(fd, count, size);
        _exit(0);
    }
    wait_for(pid);
}

static void ends(void)
{
    int fd = raw_open(path, O_RDWR);
    pid_t pid = fork();
    if (pid == 0) {
        write_lines(fd, count, size);
        AS(_exit)(0);
    }
    wait_for(pid);
}

static char counts[24], sizes[24];
static char *const nothing[] = { NULL };
#define WORDS "aliases", "child", path, counts, sizes
#define LIST ((char *[]) { WORDS, NULL })

/* The child becomes a program that writes, without any variable for it to be recorded. */
#define EXECUTES(family, call_it)                                            \
    static void family(void)                                                 \
    {                                                                        \
        snprintf(counts, sizeof counts, "%ld", count);                       \
        snprintf(sizes, sizeof sizes, "%zu", size);                          \
        int program = raw_open(self, O_RDONLY | O_CLOEXEC);                  \
        pid_t pid = fork();                                                  \
        if (pid == 0) {                                                      \
            clearenv();                                                      \
            CHECK((call_it) == 0);                                           \
        }                                                                    \
        (void)program;                                                       \
        wait_for(pid);                                                       \
    }
EXECUTES(executes, AS(execve)(self, LIST, nothing))
EXECUTES(executes_here, AS(execv)(self, LIST))
EXECUTES(executes_descriptor, AS(fexecve)(program, LIST, nothing))
EXECUTES(executes_at, AS(execveat)(AT_FDCWD, self, LIST, nothing, 0))
EXECUTES(executes_words, AS(execl)(self, WORDS, NULL))
EXECUTES(executes_words_with, AS(execle)(self, WORDS, NULL, nothing))

static void spawns(void)
{
    snprintf(counts, sizeof counts, "%ld", count);
    snprintf(sizes, sizeof sizes, "%zu", size);
    pid_t pid;
    CHECK(AS(posix_spawn)(&pid, self, NULL, NULL, LIST, nothing) == 0);
    wait_for(pid);
}

/* A relative name counts from the new directory. */
#define CHANGES_DIRECTORY(family, call_it)                                   \
    static void family(void)                                                 \
    {                                                                        \
        CHECK(chdir("/") == 0 && access("etc", F_OK) == 0);                  \
        int fd = RAW(SYS_openat, AT_FDCWD, folder, O_DIRECTORY);         \
        (void)fd;                                                            \
        CHECK((call_it) == 0);                                               \
        CHECK(close(open(name, O_RDWR | O_CREAT, 0644)) == 0);               \
        expect("open", 1, 0);                                                \
        expect("close", 1, 0);                                               \
    }
CHANGES_DIRECTORY(changes_directory, AS(chdir)(folder))
CHANGES_DIRECTORY(changes_directory_descriptor, AS(fchdir)(fd))

/* Calls that nothing is expected of here but to come through. */
static void changes_root(void)
{
    EACH CHECK(AS(chroot)("/") == 0 || errno == EPERM);
}

static void unshares(void)
{
    EACH CHECK(AS(unshare)(0) == 0);
}

static void enters_namespace(void)
{
    EACH CHECK(AS(setns)(-1, 0) == -1 && errno == EBADF);
}

static void controls_process(void)
{
    char own[16];
    EACH CHECK(AS(prctl)(PR_GET_NAME, own) == 0 && strcmp(own, "aliases.c-cc") == 0);
}

static void controls_device(void)
{
    int waiting = -1, ends[2];
    CHECK(RAW(SYS_pipe2, ends, 0) == 0 && RAW(SYS_write, ends[1], "four", 4) == 4);
    EACH CHECK(AS(ioctl)(ends[0], FIONREAD, &waiting) == 0 && waiting == 4);
}

/* Owners and times of the working directory; nothing is recorded. */
static void changes_owner(void)
{
    EACH CHECK(AS(chown)(".", -1, -1) == 0);
}

static void changes_owner_at(void)
{
    EACH CHECK(AS(fchownat)(AT_FDCWD, ".", -1, -1, 0) == 0);
}

static void changes_times(void)
{
    EACH CHECK(AS(utimes)(".", NULL) == 0);
}

static void changes_times_at(void)
{
    EACH CHECK(AS(futimesat)(AT_FDCWD, ".", NULL) == 0);
}

static void changes_exact_times_at(void)
{
    EACH CHECK(AS(utimensat)(AT_FDCWD, ".", NULL, 0) == 0);
}

static void changes_whole_times(void)
{
    EACH CHECK(AS(utime)(".", NULL) == 0);
}

/* To the user that it has. */
static void sets_user(void)
{
    EACH CHECK(AS(setuid)(geteuid()) == 0);
}

static void sets_two_users(void)
{
    EACH CHECK(AS(setreuid)(-1, geteuid()) == 0);
}

static void sets_three_users(void)
{
    EACH CHECK(AS(setresuid)(-1, geteuid(), -1) == 0);
}

/* The recorder's own handler is not to be seen. */
static void asks_for_action(void)
{
    struct sigaction action;
    EACH CHECK(AS(sigaction)(SIGBUS, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}

static void sets_handler(void)
{
    EACH CHECK(AS(signal)(SIGBUS, SIG_DFL) == SIG_DFL);
}

#define PROCESS_ROWS                                                                            \
    { "vfork", forks }, { "_exit", ends }, { "_Exit", ends }, { "quick_exit", ends },           \
    { "execve", executes }, { "execvpe", executes }, { "execv", executes_here },                \
    { "execvp", executes_here }, { "fexecve", executes_descriptor },                            \
    { "execveat", executes_at }, { "execl", executes_words }, { "execlp", executes_words },     \
    { "execle", executes_words_with }, { "posix_spawn", spawns }, { "posix_spawnp", spawns },   \
    { "chdir", changes_directory }, { "fchdir", changes_directory_descriptor },                 \
    { "chroot", changes_root }, { "unshare", unshares }, { "setns", enters_namespace }, \
    { "chown", changes_owner }, { "lchown", changes_owner }, { "fchownat", changes_owner_at }, \
    { "utimes", changes_times }, { "lutimes", changes_times }, { "futimesat", changes_times_at }, \
    { "utimensat", changes_exact_times_at }, { "utime", changes_whole_times }, \
    { "prctl", controls_process }, { "ioctl", controls_device }, { "setuid", sets_user }, { "seteuid", sets_user },           \
    { "setreuid", sets_two_users }, { "setresuid", sets_three_users },                          \
    { "sigaction", asks_for_action }, { "signal", sets_handler },
