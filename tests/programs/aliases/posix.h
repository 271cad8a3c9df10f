/* Part of aliases.c: system calls through the C library. */

extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern int __open_2(const char *, int);
extern int __openat_2(int, const char *, int);
extern ssize_t __readlink_chk(const char *, char *, size_t, size_t);
extern ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
extern int __xstat(int, const char *, struct stat *);
extern int __fxstat(int, int, struct stat *);
extern int __fxstatat(int, int, const char *, struct stat *, int);

#define ROOM (sizeof buffer)
#define STATUS ((void *)buffer) /* larger than what any of the calls writes there */
#define HERE AT_FDCWD, path
#define VECTOR ((struct iovec[]) { { buffer, size - 1 }, { buffer + size, 1 } }), 2
#define SET_ATTRIBUTE "user.plimsoll", "value", 5, 0

/* Opening and closing. */
OPENS(opens, AS(open)(path, O_RDWR | O_CREAT, 0644))
OPENS(opens_at, AS(openat)(HERE, O_RDWR | O_CREAT, 0644))
OPENS(opens_2, AS(__open_2)(path, O_RDWR))
OPENS(opens_at_2, AS(__openat_2)(HERE, O_RDWR))
OPENS(creates, AS(creat)(path, 0644))
OPENS(makes_temporary, AS(mkstemp)((other[strlen(other) - 2] = 0, other)))
OPENS(makes_temporary_flags, AS(mkostemp)((other[strlen(other) - 2] = 0, other), O_APPEND))
OPENS(makes_temporary_suffix, AS(mkstemps)(other, 2))
OPENS(makes_temporary_both, AS(mkostemps)(other, 2, O_APPEND))

static void closes(void)
{
    EACH CHECK(AS(close)(open(path, O_RDWR | O_CREAT, 0644)) == 0);
    expect("open", count, 0);
    expect("close", count, 0);
}

/* A descriptor far above all others, not known to the recorder. */
static int high(void)
{
    int low = raw_open(path, O_RDWR), copy = RAW(SYS_fcntl, low, F_DUPFD, 900);
    CHECK(RAW(SYS_close, low) == 0);
    return copy;
}

static void closes_range(void)
{
    EACH CHECK(high() == 900 && AS(close_range)(900, 999, 0) == 0);
    expect_in("-", "close", count, 0);
}

static void closes_from(void)
{
    EACH {
        CHECK(high() == 900);
        AS(closefrom)(900);
    }
    expect_in("-", "close", count, 0);
}

ZERO(duplicates, "dup", AS(dup)(fd) < 0)
ZERO(duplicates_to, "dup", AS(dup2)(fd, 890) != 890)
ZERO(duplicates_flags, "dup", AS(dup3)(fd, 891, O_CLOEXEC) != 891)

/* Data. */
DATA(reads, "read", AS(read)(fd, buffer, size))
DATA(reads_chk, "read", AS(__read_chk)(fd, buffer, size, ROOM))
DATA(writes, "write", AS(write)(fd, buffer, size))
DATA(reads_at, "pread", AS(pread)(fd, buffer, size, 0))
DATA(reads_at_chk, "pread", AS(__pread_chk)(fd, buffer, size, 0, ROOM))
DATA(writes_at, "pwrite", AS(pwrite)(fd, buffer, size, call))
DATA(reads_vector, "readv", AS(readv)(fd, VECTOR))
DATA(writes_vector, "writev", AS(writev)(fd, VECTOR))
DATA(reads_vector_at, "preadv", AS(preadv)(fd, VECTOR, 0))
DATA(writes_vector_at, "pwritev", AS(pwritev)(fd, VECTOR, call))
DATA(reads_vector_flags, "preadv", AS(preadv2)(fd, VECTOR, 0, 0))
DATA(writes_vector_flags, "pwritev", AS(pwritev2)(fd, VECTOR, call, 0))

static int another(void)
{
    snprintf(other, sizeof other, "%s.other", path);
    return raw_open(other, O_RDWR);
}

static void copies(void)
{
    int from = file(), to = another();
    EACH CHECK(AS(copy_file_range)(from, NULL, to, NULL, size, 0) == (ssize_t)size);
    expect("copy_file_range", count, count * size);
    expect("copy_file_range_read", count, count * size);
}

static void sends(void)
{
    int from = file(), to = another();
    EACH CHECK(AS(sendfile)(to, from, NULL, size) == (ssize_t)size);
    expect("sendfile", count, count * size);
    expect("sendfile_write", count, count * size);
}

static void splices(void)
{
    int from = file(), ends[2];
    CHECK(RAW(SYS_pipe2, ends, 0) == 0);
    EACH {
        CHECK(AS(splice)(from, NULL, ends[1], NULL, size, 0) == (ssize_t)size);
        CHECK(RAW(SYS_read, ends[0], buffer, size) == (long)size);
    }
    expect("splice_read", count, count * size);
}

ZERO(seeks, "lseek", AS(lseek)(fd, size, SEEK_SET) != (off_t)size)

/* Durability, space and locks. */
ZERO(syncs_file, "fsync", AS(fsync)(fd))
ZERO(syncs_data, "fdatasync", AS(fdatasync)(fd))
ZERO(syncs_range, "sync_file_range", AS(sync_file_range)(fd, 0, size, SYNC_FILE_RANGE_WRITE))
ZERO(syncs_system, "sync", AS(syncfs)(fd))
ZERO(truncates_file, "ftruncate", AS(ftruncate)(fd, size))
ZERO(truncates, "truncate", AS(truncate)(path, size))
ZERO(allocates, "fallocate", AS(fallocate)(fd, 0, 0, size))
ZERO(allocates_posix, "fallocate", AS(posix_fallocate)(fd, 0, size))

static void syncs_all(void)
{
    EACH AS(sync)();
    expect_in("-", "sync", count, 0);
}

static void controls(void)
{
    int fd = file();
    EACH {
        struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
        CHECK(AS(fcntl)(fd, F_SETLK, &lock) == 0);
        lock.l_type = F_UNLCK;
        CHECK(AS(fcntl)(fd, F_SETLK, &lock) == 0);
    }
    expect("fcntl_lock", count, 0);
    expect("fcntl_unlock", count, 0);
}

static void locks(void)
{
    int fd = file();
    EACH CHECK(AS(flock)(fd, LOCK_EX) == 0 && AS(flock)(fd, LOCK_UN) == 0);
    expect("flock", count, 0);
    expect("flock_unlock", count, 0);
}

static void locks_section(void)
{
    int fd = file();
    EACH CHECK(AS(lockf)(fd, F_TLOCK, 1) == 0 && AS(lockf)(fd, F_ULOCK, 1) == 0);
    expect("fcntl_lock", count, 0);
    expect("fcntl_unlock", count, 0);
}

/* Attributes. Not every file system has extended ones; the calls are recorded all the same. */
ZERO(stats, "stat", AS(stat)(path, STATUS))
ZERO(stats_file, "stat", AS(fstat)(fd, STATUS))
ZERO(stats_at, "stat", AS(fstatat)(HERE, STATUS, 0))
ZERO(stats_extended, "stat", AS(statx)(HERE, 0, STATX_SIZE, STATUS))
ZERO(stats_version, "stat", AS(__xstat)(1, path, STATUS))
ZERO(stats_file_version, "stat", AS(__fxstat)(1, fd, STATUS))
ZERO(stats_at_version, "stat", AS(__fxstatat)(1, HERE, STATUS, 0))
ZERO(accesses, "access", AS(access)(path, R_OK))
ZERO(accesses_at, "access", AS(faccessat)(HERE, R_OK, 0))
ZERO(changes_mode, "chmod", AS(chmod)(path, 0600))
ZERO(changes_file_mode, "chmod", AS(fchmod)(fd, 0600))
ZERO(changes_mode_at, "chmod", AS(fchmodat)(HERE, 0600, 0))
ZERO(stats_system, "statfs", AS(statfs)(path, STATUS))
ZERO(stats_file_system, "statfs", AS(fstatfs)(fd, STATUS))
ZERO(gets_attribute, "xattr", AS(getxattr)(path, "user.none", buffer, ROOM) > 0)
ZERO(gets_file_attribute, "xattr", AS(fgetxattr)(fd, "user.none", buffer, ROOM) > 0)
ZERO(sets_attribute, "xattr", AS(setxattr)(path, SET_ATTRIBUTE) > 0)
ZERO(sets_file_attribute, "xattr", AS(fsetxattr)(fd, SET_ATTRIBUTE) > 0)
ZERO(lists_attributes, "xattr", AS(listxattr)(path, buffer, ROOM) > 4096)
ZERO(lists_file_attributes, "xattr", AS(flistxattr)(fd, buffer, ROOM) > 4096)
ZERO(removes_attribute, "xattr", AS(removexattr)(path, "user.none") > 0)
ZERO(removes_file_attribute, "xattr", AS(fremovexattr)(fd, "user.none") > 0)

/* Names. */
#define LINK RAW(SYS_symlinkat, "target", HERE)
NAMES(unlinks, "unlink", present(), AS(unlink)(path) == 0)
NAMES(unlinks_at, "unlink", present(), AS(unlinkat)(HERE, 0) == 0)
NAMES(renames, "rename", present(), AS(rename)(path, other) == 0)
NAMES(renames_at, "rename", present(), AS(renameat)(HERE, AT_FDCWD, other) == 0)
NAMES(renames_flags, "rename", present(), AS(renameat2)(HERE, AT_FDCWD, other, 0) == 0)
NAMES(links, "link", (present(), absent(other)), AS(link)(path, other) == 0)
NAMES(links_at, "link", (present(), absent(other)),
      AS(linkat)(HERE, AT_FDCWD, other, 0) == 0)
NAMES(links_name, "symlink", absent(path), AS(symlink)("target", path) == 0)
NAMES(links_name_at, "symlink", absent(path), AS(symlinkat)("target", HERE) == 0)
NAMES(reads_link, "readlink", LINK, AS(readlink)(path, buffer, ROOM) == 6)
NAMES(reads_link_chk, "readlink", LINK, AS(__readlink_chk)(path, buffer, ROOM, ROOM) == 6)
NAMES(reads_link_at, "readlink", LINK, AS(readlinkat)(HERE, buffer, ROOM) == 6)
NAMES(reads_link_at_chk, "readlink", LINK, AS(__readlinkat_chk)(HERE, buffer, ROOM, ROOM) == 6)
NAMES(makes_directory, "mkdir", absent(path), AS(mkdir)(path, 0755) == 0)
NAMES(makes_directory_at, "mkdir", absent(path), AS(mkdirat)(HERE, 0755) == 0)
NAMES(makes_temporary_directory, "mkdir", snprintf(other, sizeof other, "%s.XXXXXX", path),
      AS(mkdtemp)(other) == other)
NAMES(removes_directory, "rmdir", directory(), AS(rmdir)(path) == 0)

/* Directories and mappings. */
static void opens_directory(void)
{
    directory();
    EACH CHECK(closedir(AS(opendir)(path)) == 0);
    expect("opendir", count, 0);
    expect("closedir", count, 0);
}

static void opens_directory_descriptor(void)
{
    directory();
    EACH CHECK(closedir(AS(fdopendir)(open(path, O_DIRECTORY))) == 0);
    expect("open", count, 0);
    expect("opendir", count, 0);
    expect("closedir", count, 0);
}

static void reads_directory(void)
{
    directory();
    DIR *entries = opendir(path);
    EACH AS(readdir)(entries); /* after the last one: null, and so on */
    CHECK(closedir(entries) == 0);
    expect("opendir", 1, 0);
    expect("readdir", count, 0);
    expect("closedir", 1, 0);
}

static void reads_entries(void)
{
    directory();
    int fd = open(path, O_DIRECTORY);
    EACH CHECK(AS(read)(fd, buffer, sizeof buffer) >= 0);
    CHECK(close(fd) == 0);
    expect("open", 1, 0);
    expect("readdir", count, 0);
    expect("close", 1, 0);
}

static void closes_directory(void)
{
    directory();
    EACH CHECK(AS(closedir)(opendir(path)) == 0);
    expect("opendir", count, 0);
    expect("closedir", count, 0);
}

#define SHARED(fd) NULL, size, PROT_READ, MAP_SHARED, fd, 0

static void maps(void)
{
    int fd = file();
    EACH CHECK(munmap(AS(mmap)(SHARED(fd)), size) == 0);
    expect("mmap", count, 0);
    expect("munmap", count, 0);
}

static void unmaps(void)
{
    int fd = file();
    EACH CHECK(AS(munmap)(mmap(SHARED(fd)), size) == 0);
    expect("mmap", count, 0);
    expect("munmap", count, 0);
}

static void syncs_mapping(void)
{
    void *mapped = mmap(SHARED(file()));
    EACH CHECK(AS(msync)(mapped, size, MS_ASYNC) == 0);
    expect("mmap", 1, 0);
    expect("msync", count, 0);
}

#define POSIX_ROWS                                                                              \
    { "sync_file_range", syncs_range }, { "dup2", duplicates_to },                              \
    { "dup3", duplicates_flags }, { "close", closes }, { "close_range", closes_range },         \
    { "closefrom", closes_from }, { "open", opens }, { "open64", opens },                       \
    { "openat", opens_at }, { "openat64", opens_at }, { "__open_2", opens_2 },                  \
    { "__open64_2", opens_2 }, { "__openat_2", opens_at_2 }, { "__openat64_2", opens_at_2 },    \
    { "creat", creates }, { "creat64", creates }, { "mkstemp", makes_temporary },               \
    { "mkstemp64", makes_temporary }, { "mkostemp", makes_temporary_flags },                    \
    { "mkostemp64", makes_temporary_flags }, { "mkstemps", makes_temporary_suffix },            \
    { "mkstemps64", makes_temporary_suffix }, { "mkostemps", makes_temporary_both },            \
    { "mkostemps64", makes_temporary_both }, { "read", reads }, { "__read_chk", reads_chk },    \
    { "write", writes }, { "pread", reads_at }, { "pread64", reads_at },                        \
    { "__pread_chk", reads_at_chk }, { "__pread64_chk", reads_at_chk },                         \
    { "pwrite", writes_at }, { "pwrite64", writes_at }, { "readv", reads_vector },              \
    { "writev", writes_vector }, { "preadv", reads_vector_at },                                 \
    { "preadv64", reads_vector_at }, { "pwritev", writes_vector_at },                           \
    { "pwritev64", writes_vector_at }, { "preadv2", reads_vector_flags },                       \
    { "preadv64v2", reads_vector_flags }, { "pwritev2", writes_vector_flags },                  \
    { "pwritev64v2", writes_vector_flags }, { "copy_file_range", copies },                      \
    { "sendfile", sends }, { "sendfile64", sends }, { "splice", splices }, { "lseek", seeks },  \
    { "lseek64", seeks }, { "ftruncate", truncates_file }, { "ftruncate64", truncates_file },   \
    { "truncate", truncates }, { "truncate64", truncates }, { "fallocate", allocates },         \
    { "fallocate64", allocates }, { "posix_fallocate", allocates_posix },                       \
    { "posix_fallocate64", allocates_posix }, { "fcntl", controls }, { "fcntl64", controls },   \
    { "flock", locks }, { "lockf", locks_section }, { "lockf64", locks_section },               \
    { "stat", stats }, { "stat64", stats }, { "lstat", stats }, { "lstat64", stats },           \
    { "fstat", stats_file }, { "fstat64", stats_file }, { "fstatat", stats_at },                \
    { "fstatat64", stats_at }, { "statx", stats_extended }, { "__xstat", stats_version },       \
    { "__xstat64", stats_version }, { "__lxstat", stats_version },                              \
    { "__lxstat64", stats_version }, { "__fxstat", stats_file_version },                        \
    { "__fxstat64", stats_file_version }, { "__fxstatat", stats_at_version },                   \
    { "__fxstatat64", stats_at_version }, { "access", accesses }, { "euidaccess", accesses },   \
    { "eaccess", accesses }, { "faccessat", accesses_at }, { "chmod", changes_mode },           \
    { "fchmod", changes_file_mode }, { "fchmodat", changes_mode_at },                           \
    { "statfs", stats_system }, { "statfs64", stats_system }, { "statvfs", stats_system },      \
    { "statvfs64", stats_system }, { "fstatfs", stats_file_system },                            \
    { "fstatfs64", stats_file_system }, { "fstatvfs", stats_file_system },                      \
    { "fstatvfs64", stats_file_system }, { "getxattr", gets_attribute },                        \
    { "lgetxattr", gets_attribute }, { "fgetxattr", gets_file_attribute },                      \
    { "setxattr", sets_attribute }, { "lsetxattr", sets_attribute },                            \
    { "fsetxattr", sets_file_attribute }, { "listxattr", lists_attributes },                    \
    { "llistxattr", lists_attributes }, { "flistxattr", lists_file_attributes },                \
    { "removexattr", removes_attribute }, { "lremovexattr", removes_attribute },                \
    { "fremovexattr", removes_file_attribute }, { "unlink", unlinks }, { "remove", unlinks },   \
    { "unlinkat", unlinks_at }, { "rename", renames }, { "renameat", renames_at },              \
    { "renameat2", renames_flags }, { "link", links }, { "linkat", links_at },                  \
    { "symlink", links_name }, { "symlinkat", links_name_at }, { "readlink", reads_link },      \
    { "__readlink_chk", reads_link_chk }, { "readlinkat", reads_link_at },                      \
    { "__readlinkat_chk", reads_link_at_chk }, { "mkdir", makes_directory },                    \
    { "mkdirat", makes_directory_at }, { "mkdtemp", makes_temporary_directory },                \
    { "rmdir", removes_directory }, { "opendir", opens_directory },                             \
    { "fdopendir", opens_directory_descriptor }, { "readdir", reads_directory },                \
    { "readdir64", reads_directory }, { "closedir", closes_directory }, { "getdents64", reads_entries }, { "mmap", maps },       \
    { "mmap64", maps }, { "munmap", unmaps }, { "msync", syncs_mapping },
