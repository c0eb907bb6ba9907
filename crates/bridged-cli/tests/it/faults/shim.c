/* Makes the n-th call of a kind fail, in a program that is started with LD_PRELOAD.
 *
 *   FAULT_KIND   write, short (half of it is written), sync, rename, open or alloc
 *   FAULT_AT     which call fails, counted from 1 over all threads
 *   FAULT_MARK   a file that is made when it does
 *   FAULT_COUNT  a file that the number of calls is written to when the program ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, WRITE, SHORT, SYNC, RENAME, OPEN, ALLOC };

static enum kind failing = NONE;
static long at;
static atomic_long calls;
static char mark[4096], count[4096];

__attribute__((constructor)) static void start(void) {
    static const char *names[] = {"none", "write", "short", "sync", "rename", "open", "alloc"};
    const char *kind = getenv("FAULT_KIND"), *text = getenv("FAULT_AT");
    if (getenv("FAULT_MARK")) strncpy(mark, getenv("FAULT_MARK"), sizeof mark - 1);
    if (getenv("FAULT_COUNT")) strncpy(count, getenv("FAULT_COUNT"), sizeof count - 1);
    at = text ? atol(text) : 0;
    for (int i = 0; kind && i < 7; i++)
        if (!strcmp(kind, names[i])) failing = i;
}

__attribute__((destructor)) static void end(void) {
    if (!count[0]) return;
    char text[32];
    int length = snprintf(text, sizeof text, "%ld", atomic_load(&calls));
    int file = syscall(SYS_openat, AT_FDCWD, count, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    syscall(SYS_write, file, text, length);
    syscall(SYS_close, file);
}

/* Whether this call is the one that fails. */
static int fails(enum kind kind, int error) {
    if (kind != failing || atomic_fetch_add(&calls, 1) + 1 != at) return 0;
    int file = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600);
    syscall(SYS_close, file);
    errno = error;
    return 1;
}

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

ssize_t write(int file, const void *bytes, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = next("write");
    if (fails(WRITE, ENOSPC)) return -1;
    if (length > 1 && fails(SHORT, 0)) length /= 2;
    return real(file, bytes, length);
}

ssize_t writev(int file, const struct iovec *parts, int n) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = next("writev");
    if (fails(WRITE, ENOSPC)) return -1;
    return real(file, parts, n);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t place) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = next("pwrite64");
    if (fails(WRITE, ENOSPC)) return -1;
    return real(file, bytes, length, place);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = next("fsync");
    return fails(SYNC, EIO) ? -1 : real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = next("fdatasync");
    return fails(SYNC, EIO) ? -1 : real(file);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = next("rename");
    return fails(RENAME, EIO) ? -1 : real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    static int (*real)(int, const char *, int, const char *);
    if (!real) real = next("renameat");
    return fails(RENAME, EIO) ? -1 : real(a, from, b, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    static int (*real)(int, const char *, int, const char *, unsigned);
    if (!real) real = next("renameat2");
    return fails(RENAME, EIO) ? -1 : real(a, from, b, to, flags);
}

#define MODE(flags)                                         \
    mode_t mode = 0;                                        \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                  \
        va_list rest;                                       \
        va_start(rest, flags);                              \
        mode = va_arg(rest, mode_t);                        \
        va_end(rest);                                       \
    }

#define OPEN_BY(name)                                       \
    int name(const char *path, int flags, ...) {            \
        static int (*real)(const char *, int, ...);         \
        if (!real) real = next(#name);                      \
        MODE(flags)                                         \
        return fails(OPEN, EIO) ? -1 : real(path, flags, mode); \
    }
OPEN_BY(open)
OPEN_BY(open64)

#define OPENAT_BY(name)                                     \
    int name(int folder, const char *path, int flags, ...) {\
        static int (*real)(int, const char *, int, ...);    \
        if (!real) real = next(#name);                      \
        MODE(flags)                                         \
        return fails(OPEN, EIO) ? -1 : real(folder, path, flags, mode); \
    }
OPENAT_BY(openat)
OPENAT_BY(openat64)

/* dlsym itself allocates, so these go to the C library by its other names. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
    if (fails(ALLOC, ENOMEM)) return ENOMEM;
    *out = __libc_memalign(align, size);
    return *out ? 0 : ENOMEM;
}
