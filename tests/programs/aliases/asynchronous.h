/* Part of aliases.c: asynchronous transfers, and system calls by number. */

static struct aiocb *block(int fd)
{
    static struct aiocb block;
    memset(&block, 0, sizeof block);
    block.aio_fildes = fd;
    block.aio_buf = buffer;
    block.aio_nbytes = size;
    return &block;
}

static ssize_t result_of(struct aiocb *begun)
{
    while (aio_error(begun) == EINPROGRESS)
        usleep(100);
    return aio_return(begun);
}

/* Each transfer is begun by one call. */
#define BEGINS(family, operation, bytes, call_it)                            \
    static void family(void)                                                 \
    {                                                                        \
        int fd = file();                                                     \
        EACH {                                                               \
            struct aiocb *begun = block(fd);                                 \
            CHECK((call_it) == 0);                                           \
            CHECK(result_of(begun) == (ssize_t)(bytes));                     \
        }                                                                    \
        expect(operation, count, count * (bytes));                           \
        expect_in("-", "aio_submit", count, 0);                              \
    }
BEGINS(begins_read, "aio_read", size, AS(aio_read)(begun))
BEGINS(begins_write, "aio_write", size, AS(aio_write)(begun))
BEGINS(begins_sync, "aio_fsync", 0, AS(aio_fsync)(O_SYNC, begun))
BEGINS(looks, "aio_read", size, (aio_read(begun), AS(aio_error)(begun) == EINPROGRESS ? 0 : 0))
BEGINS(asks, "aio_read", size, ({
           CHECK(aio_read(begun) == 0);
           while (aio_error(begun) == EINPROGRESS)
               usleep(100);
           AS(aio_return)(begun) != (ssize_t)size;
       }))

static void waits(void)
{
    int fd = file();
    EACH {
        struct aiocb *begun = block(fd);
        CHECK(aio_read(begun) == 0);
        CHECK(AS(aio_suspend)((const struct aiocb *const[]) { begun }, 1, NULL) == 0);
        CHECK(result_of(begun) == (ssize_t)size);
    }
    expect("aio_read", count, count * size);
    expect_in("-", "aio_submit", count, 0);
    expect_in("-", "aio_wait", count, 0);
}

/* One of them does nothing. Nobody asks how they ended. */
static void lists(void)
{
    int fd = file();
    struct aiocb nothing_to_do = { .aio_lio_opcode = LIO_NOP };
    EACH {
        struct aiocb *begun = block(fd);
        begun->aio_lio_opcode = LIO_WRITE;
        CHECK(AS(lio_listio)(LIO_WAIT, (struct aiocb *[]) { &nothing_to_do, begun }, 2, NULL) == 0);
    }
    expect("aio_write", count, count * size);
    expect_in("-", "aio_wait", count, 0);
}

/* By number, with as many arguments as there can be. */
static void calls_by_number(void)
{
    int from = file(), to = another();
    EACH {
        CHECK(AS(syscall)(SYS_pwrite64, from, buffer, size, 0) == (long)size);
        CHECK(AS(syscall)(SYS_copy_file_range, from, NULL, to, NULL, size, 0) == (long)size);
        errno = 0;
        CHECK(AS(syscall)(SYS_read, -1, buffer, size) == -1 && errno == EBADF);
        CHECK(AS(syscall)(SYS_getpid) == getpid());
        void *mapped = (void *)AS(syscall)(SYS_mmap, NULL, size, PROT_READ, MAP_SHARED, from, 0);
        CHECK(mapped != MAP_FAILED && *(char *)mapped == *buffer);
        CHECK(AS(syscall)(SYS_munmap, mapped, size) == 0);
        CHECK(AS(syscall)(SYS_lseek, from, 0, SEEK_SET) == 0);
    }
    expect("pwrite", count, count * size);
    expect("copy_file_range", count, count * size);
    expect("copy_file_range_read", count, count * size);
    expect_in("-", "read", count, 0);
    expect("mmap", count, 0);
    expect("munmap", count, 0);
    expect("lseek", count, 0);
}

/* In libraries of their own, with tests of their own. */
static void elsewhere(void)
{
    CHECK(!"not in the C library");
}

#define ASYNCHRONOUS_ROWS                                                                       \
    { "aio_read", begins_read }, { "aio_read64", begins_read }, { "aio_write", begins_write },  \
    { "aio_write64", begins_write }, { "aio_fsync", begins_sync },                              \
    { "aio_fsync64", begins_sync }, { "aio_error", looks }, { "aio_error64", looks },           \
    { "aio_return", asks }, { "aio_return64", asks }, { "aio_suspend", waits },                 \
    { "aio_suspend64", waits }, { "lio_listio", lists }, { "lio_listio64", lists },             \
    { "syscall", calls_by_number }, { "io_submit", elsewhere }, { "io_getevents", elsewhere },  \
    { "io_pgetevents", elsewhere }, { "io_uring_setup", elsewhere },                            \
    { "io_uring_queue_init", elsewhere }, { "io_uring_queue_init_params", elsewhere },          \
    { "io_uring_queue_init_mem", elsewhere },
