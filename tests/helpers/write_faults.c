/* Makes the N-th step that changes a file below FAULT_FOLDER fail, in the process that loads this (LD_PRELOAD) first.

   A step: opening for writing, write, sync, rename, truncation, link, unlink, a new folder. FAULT_AT: the N, from 1; 0
   counts only. FAULT: an errno, which stays from then on if FAULT_STAYS is set, or `kill`. FAULT_COUNT: the file that
   gets the number of steps at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;
static long at;
static int code, stays, owner;
static atomic_long steps;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULT_FOLDER");
  const char *first = getenv("FAULT_OWNER");
  char own[32];
  snprintf(own, sizeof own, "%d", getpid());
  if (!first) setenv("FAULT_OWNER", first = own, 1);
  owner = folder && !strcmp(first, own);
  at = getenv("FAULT_AT") ? atol(getenv("FAULT_AT")) : 0;
  code = getenv("FAULT") ? (strcmp(getenv("FAULT"), "kill") ? atoi(getenv("FAULT")) : -1) : 0;
  stays = getenv("FAULT_STAYS") != NULL;
}

__attribute__((destructor)) static void end(void) {
  const char *name = getenv("FAULT_COUNT");
  if (!owner || !name) return;
  FILE *file = fopen(name, "w");
  if (file) fprintf(file, "%ld", (long)steps), fclose(file);
}

static int due(const char *path) {
  if (!owner || !path || strncmp(path, folder, strlen(folder))) return 0;
  long step = ++steps;
  if (!at || step < at || (step > at && !stays)) return 0;
  if (code < 0) kill(getpid(), SIGKILL);
  errno = code;
  return 1;
}

static int due_at(int place, const char *path) {
  char base[PATH_MAX], whole[2 * PATH_MAX];
  if (!owner || !path) return 0;
  if (path[0] == '/') return due(path);
  if (place == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) return 0;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
  }
  snprintf(whole, sizeof whole, "%s/%s", base, path);
  return due(whole);
}

static int due_on(int file) {
  char link[64], path[PATH_MAX];
  if (!owner) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return due(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define CHANGES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE(flags, mode) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) {
  MODE(flags, mode)
  return CHANGES(flags) && due_at(AT_FDCWD, path) ? -1 : NEXT(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags, mode)
  return CHANGES(flags) && due_at(AT_FDCWD, path) ? -1 : NEXT(open64)(path, flags, mode);
}
int openat(int place, const char *path, int flags, ...) {
  MODE(flags, mode)
  return CHANGES(flags) && due_at(place, path) ? -1 : NEXT(openat)(place, path, flags, mode);
}
int openat64(int place, const char *path, int flags, ...) {
  MODE(flags, mode)
  return CHANGES(flags) && due_at(place, path) ? -1 : NEXT(openat64)(place, path, flags, mode);
}
ssize_t write(int file, const void *bytes, size_t size) { return due_on(file) ? -1 : NEXT(write)(file, bytes, size); }
ssize_t pwrite(int file, const void *bytes, size_t size, off_t from) {
  return due_on(file) ? -1 : NEXT(pwrite)(file, bytes, size, from);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t from) {
  return due_on(file) ? -1 : NEXT(pwrite64)(file, bytes, size, from);
}
int fsync(int file) { return due_on(file) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return due_on(file) ? -1 : NEXT(fdatasync)(file); }
int ftruncate(int file, off_t size) { return due_on(file) ? -1 : NEXT(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return due_on(file) ? -1 : NEXT(ftruncate64)(file, size); }
int rename(const char *from, const char *to) { return due_at(AT_FDCWD, to) ? -1 : NEXT(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
  return due_at(b, to) ? -1 : NEXT(renameat)(a, from, b, to);
}
int link(const char *from, const char *to) { return due_at(AT_FDCWD, to) ? -1 : NEXT(link)(from, to); }
int unlink(const char *path) { return due_at(AT_FDCWD, path) ? -1 : NEXT(unlink)(path); }
int unlinkat(int place, const char *path, int flags) { return due_at(place, path) ? -1 : NEXT(unlinkat)(place, path, flags); }
int rmdir(const char *path) { return due_at(AT_FDCWD, path) ? -1 : NEXT(rmdir)(path); }
int mkdir(const char *path, mode_t mode) { return due_at(AT_FDCWD, path) ? -1 : NEXT(mkdir)(path, mode); }
