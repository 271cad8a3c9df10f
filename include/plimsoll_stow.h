/* Plimsoll: containers, files that are kept as logs on many targets.
 *
 * A container is opened, written at offsets, made durable and closed; several processes of a node may write to one at the same
 * time, each with a handle of its own. docs/stow.md says what holds. Link with -lplimsoll_stow.
 *
 * Every function that fails sets errno and keeps one line of text for this thread (plimsoll_stow_error). The numbers are those
 * of the system call that failed, and:
 *
 *   EINVAL      an argument is impossible, or there is something else at the path
 *   EEXIST      PLIMSOLL_STOW_EXCLUSIVE, and there is something
 *   ENOENT      there is no container, and PLIMSOLL_STOW_CREATE was not given
 *   EBADF       the handle was not opened for this, or belongs to another process (fork)
 *   ENOSPC ...  what the last target said that could not take a write; others had refused before
 *   EIO         bytes cannot be read, or their record is lost: never zeros in their place
 *   EFBIG       a file cannot be that large
 *   EBUSY       somebody writes to the container, and this must be alone
 *   EUSERS      as many nodes as can (256) write to the container
 *
 * A handle may be used by several threads, whose calls then wait for each other; a handle for each is faster. It belongs to the
 * process that opened it: a child opens its own. As long as a child lives that was forked while it was open, the container counts as
 * being written, unless the child closes it, too.
 */
#ifndef PLIMSOLL_STOW_H
#define PLIMSOLL_STOW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program that was built before would not run any more. */
#define PLIMSOLL_STOW_API 1

#define PLIMSOLL_STOW_READ 1       /* bytes can be read */
#define PLIMSOLL_STOW_WRITE 2      /* bytes can be written */
#define PLIMSOLL_STOW_CREATE 4     /* a container is made if there is none */
#define PLIMSOLL_STOW_EXCLUSIVE 8  /* with CREATE: fails if there is one */
#define PLIMSOLL_STOW_TRUNCATE 16  /* with WRITE: the file is empty then */

/* An open container. */
typedef struct plimsoll_stow plimsoll_stow;

/* Returns PLIMSOLL_STOW_API of the library. */
int plimsoll_stow_api(void);

/* Opens a container. Targets are directories, as "DIR" or "NAME=DIR"; a name is what a target is known by wherever it is mounted,
 * and the last part of the path unless it is given. Without targets (NULL, 0) those of the container are used. Returns NULL if it
 * fails. */
plimsoll_stow *plimsoll_stow_open(const char *path, int flags, const char *const *targets, size_t count);

/* Writes all of these bytes at an offset. Returns their number, or -1: then some of them may have been written. What was written
 * is there when the call returns, even if the process is killed then. */
ssize_t plimsoll_stow_write_at(plimsoll_stow *container, const void *bytes, size_t count, uint64_t offset);

/* Writes all of these bytes at the end of the file, wherever that is by then. Returns where, or -1. */
int64_t plimsoll_stow_append(plimsoll_stow *container, const void *bytes, size_t count);

/* Reads from an offset on. Returns how many bytes there are, less than asked for only at the end of the file, or -1. It sees all that
 * this handle wrote, and what others had written when it was opened or refreshed. Bytes are not compared with their checksums, as
 * little as a plain file's: plimsoll stow check and cat do that. */
ssize_t plimsoll_stow_read_at(plimsoll_stow *container, void *bytes, size_t count, uint64_t offset);

/* Looks for what others wrote since. Returns 0 or -1. */
int plimsoll_stow_refresh(plimsoll_stow *container);

/* Returns the size of the file as read_at sees it, or -1. */
int64_t plimsoll_stow_size(plimsoll_stow *container);

/* Gives the file another size. Returns 0 or -1. */
int plimsoll_stow_truncate(plimsoll_stow *container, uint64_t size);

/* Makes all durable that any process of this node wrote. Returns 0 or -1. */
int plimsoll_stow_sync(plimsoll_stow *container);

/* Closes it, also if it fails; NULL is fine. It makes nothing durable. Returns 0 or -1. */
int plimsoll_stow_close(plimsoll_stow *container);

/* Returns why the last call of this thread failed, until its next call that fails; "" if none did. */
const char *plimsoll_stow_error(void);

#ifdef __cplusplus
}
#endif
#endif
