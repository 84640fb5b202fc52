/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spill.h"

#include "base/base.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Names file systems in memory, as linux/magic.h does. */
#define TMPFS 0x01021994
#define RAMFS 0x858458f6
/* Between two looks at what is mapped, in which some MB are read or written. */
#define LOOK_NS 4000000
/* More blocks than this at once are in memory: a view has a few dozen. */
#define BLOCKS 128

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
size_t __real_malloc_usable_size(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
size_t __wrap_malloc_usable_size(void *p);

struct block {
	char *at;
	size_t len; /* whole pages */
	int file;
};

static struct {
	_Atomic bool is_on;
	size_t room;
	atomic_long held; /* bytes of big blocks in memory */
	pthread_mutex_t lock;
	/* Below: with the lock. */
	struct block blocks[BLOCKS];
	size_t len, bytes;
	bool has_thread;
} spill = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- files ------------------------------------------------------------------------------------ */

static bool is_on_disk(int file)
{
	struct statfs fs;

	return fstatfs(file, &fs) == 0 && fs.f_type != TMPFS && (unsigned long)fs.f_type != RAMFS;
}

/* True if a file may become so much longer: as much again stays free for others. */
static bool has_space(int file, size_t more)
{
	struct statfs fs;

	return fstatfs(file, &fs) == 0 && more <= fs.f_bavail / 2 * (uint64_t)fs.f_bsize;
}

/* Returns an empty file without a name on a disk, or -1. */
static int open_file(void)
{
	const char *dirs[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(dirs); i++) {
		int file = dirs[i] && *dirs[i] == '/'
				   ? open(dirs[i], O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600)
				   : -1;

		if (file >= 0 && is_on_disk(file))
			return file;
		if (file >= 0)
			close(file);
	}
	return -1;
}

/* Rounds up to whole pages; 0: that is too much. */
static size_t pages_of(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), sum;

	return __builtin_add_overflow(n, page - 1, &sum) ? 0 : sum / page * page;
}

/* True if files may take so many bytes more. */
static bool has_room(size_t more)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_DATA, &limit) == 0 && spill.bytes + more >= more &&
	       spill.bytes + more <= limit.rlim_cur;
}

/* Returns the block that begins at p, NULL: none does. */
static struct block *block_at(const void *p)
{
	for (size_t i = 0; i < spill.len; i++)
		if (spill.blocks[i].at == p)
			return &spill.blocks[i];
	return NULL;
}

/* Returns the bytes that this process has mapped of files. */
static size_t mapped(int statm)
{
	char text[128], *at;
	ssize_t n = pread(statm, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	strtoull(text, &at, 10); /* all */
	strtoull(at, &at, 10);   /* resident */
	return (size_t)strtoull(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Unmaps pages, which stay in the kernel's cache or in their file. */
static void *keep_small(void *arg)
{
	int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	(void)arg;
	while (statm >= 0) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (!aif_spill_bytes() || mapped(statm) <= AIF_SPILL_MAPPED)
			continue;
		pthread_mutex_lock(&spill.lock);
		for (size_t i = 0; i < spill.len; i++)
			madvise(spill.blocks[i].at, spill.blocks[i].len, MADV_DONTNEED);
		pthread_mutex_unlock(&spill.lock);
	}
	return NULL;
}

static void lock(void)
{
	pthread_mutex_lock(&spill.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&spill.lock);
}

/* Starts the thread, which takes no signals. Without it pages stay mapped until the kernel needs their memory. */
static void start_thread(void)
{
	pthread_t thread;
	sigset_t all, old;

	spill.has_thread = true;
	/* A child has no such thread, which could have the lock. */
	pthread_atfork(lock, unlock, unlock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, keep_small, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Makes a block of zeros; NULL: memory is to be taken. */
static void *block_new(size_t n)
{
	size_t len = pages_of(n);
	char *at = MAP_FAILED;
	int file = -1;

	pthread_mutex_lock(&spill.lock);
	if (len && spill.len < BLOCKS && has_room(len))
		file = open_file();
	if (file >= 0 && has_space(file, len) && fallocate(file, 0, 0, (off_t)len) == 0)
		at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at != MAP_FAILED) {
		spill.blocks[spill.len++] = (struct block){.at = at, .len = len, .file = file};
		spill.bytes += len;
		if (!spill.has_thread)
			start_thread();
	} else if (file >= 0) {
		close(file);
	}
	pthread_mutex_unlock(&spill.lock);
	return at == MAP_FAILED ? NULL : at;
}

static void block_free(struct block *b)
{
	munmap(b->at, b->len);
	close(b->file);
	spill.bytes -= b->len;
	*b = spill.blocks[--spill.len];
}

/* Makes it longer; NULL: it stays as it is. */
static void *block_grow(struct block *b, size_t n)
{
	size_t len = pages_of(n), more = len - b->len;
	void *at;

	if (len <= b->len)
		return len ? b->at : NULL;
	if (!has_room(more) || !has_space(b->file, more) ||
	    fallocate(b->file, 0, (off_t)b->len, (off_t)more) < 0)
		return NULL;
	at = mremap(b->at, b->len, len, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return NULL;
	spill.bytes += more;
	b->at = at;
	b->len = len;
	return at;
}

/* ---- memory ----------------------------------------------------------------------------------- */

/* True of pointers to blocks, and of few others: those that malloc() maps lie 16 bytes behind the beginning of a page. */
static bool may_be_block(const void *p)
{
	return p && !((uintptr_t)p & 4095) && spill.is_on;
}

/* Covers what malloc() may add to a block: less than a page and a header. */
#define ROUNDED 8192

/* Returns the bytes that count as held, which are those of blocks that malloc() maps. */
static size_t held_by(void *p)
{
	size_t n = ((uintptr_t)p & 4095) == 16 ? __real_malloc_usable_size(p) : 0;

	return n >= AIF_SPILL_BIG ? n : 0;
}

static bool is_too_much(size_t n, size_t less)
{
	return n >= AIF_SPILL_BIG && spill.is_on &&
	       (n > spill.room || spill.held - (long)less > (long)(spill.room - n));
}

/* Counts a big block that is in memory, and asks for large pages: most of what small ones cost is to clear each by itself. */
static void *hold(void *p)
{
	size_t n = p && spill.is_on ? held_by(p) : 0, page = (size_t)sysconf(_SC_PAGESIZE);

	if (!n)
		return p;
	spill.held += (long)n;
	madvise((char *)((uintptr_t)p / page * page), n, MADV_HUGEPAGE);
	return p;
}

void *__wrap_malloc(size_t n)
{
	void *p = is_too_much(n, 0) ? block_new(n) : NULL;

	p = p ? p : __real_malloc(n);
	return n >= AIF_SPILL_BIG - ROUNDED ? hold(p) : p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	size_t bytes;
	bool is_big = !__builtin_mul_overflow(n, size, &bytes) && bytes >= AIF_SPILL_BIG - ROUNDED;
	void *p = is_big && is_too_much(bytes, 0) ? block_new(bytes) : NULL;

	p = p ? p : __real_calloc(n, size);
	return is_big ? hold(p) : p;
}

void __wrap_free(void *p)
{
	struct block *b = NULL;

	if (may_be_block(p)) {
		pthread_mutex_lock(&spill.lock);
		b = block_at(p);
		if (b)
			block_free(b);
		pthread_mutex_unlock(&spill.lock);
	}
	if (b)
		return;
	if (spill.is_on)
		spill.held -= (long)held_by(p);
	__real_free(p);
}

/* Puts what p has into a new block, by writes: pages that the copy would touch first are cleared before, one by one. NULL: memory is
 * to be taken. */
static void *move_to_block(void *p, size_t len, size_t n)
{
	char *to = block_new(n);
	size_t done = 0;
	ssize_t more = 1;
	int file;

	if (!to)
		return NULL;
	pthread_mutex_lock(&spill.lock);
	file = block_at(to)->file;
	pthread_mutex_unlock(&spill.lock);
	for (len = AIF_MIN(len, n); done < len && more > 0; done += more > 0 ? (size_t)more : 0)
		more = pwrite(file, (const char *)p + done, len - done, (off_t)done);
	if (done < len)
		memcpy(to + done, (const char *)p + done, len - done);
	__wrap_free(p);
	return to;
}

/* Puts what p has into another place, which may be NULL. */
static void *move(void *to, void *p, size_t len, size_t n)
{
	if (!to)
		return NULL;
	if (p)
		memcpy(to, p, AIF_MIN(len, n));
	__wrap_free(p);
	return to;
}

void *__wrap_realloc(void *p, size_t n)
{
	struct block *b;
	size_t len = 0, held;
	void *to = NULL;

	if (may_be_block(p)) {
		pthread_mutex_lock(&spill.lock);
		b = block_at(p);
		len = b ? b->len : 0;
		to = b ? block_grow(b, n) : NULL;
		pthread_mutex_unlock(&spill.lock);
		if (to)
			return to;
		if (len)
			return move(hold(__real_malloc(n)), p, len, n);
	}
	held = spill.is_on && p ? held_by(p) : 0;
	if (is_too_much(n, held)) {
		to = move_to_block(p, p ? __real_malloc_usable_size(p) : 0, n);
		if (to)
			return to;
	}
	to = __real_realloc(p, n);
	if (to || !n)
		spill.held -= (long)held;
	return n >= AIF_SPILL_BIG - ROUNDED ? hold(to) : to;
}

size_t __wrap_malloc_usable_size(void *p)
{
	size_t len = 0;

	if (may_be_block(p)) {
		const struct block *b;

		pthread_mutex_lock(&spill.lock);
		b = block_at(p);
		len = b ? b->len : 0;
		pthread_mutex_unlock(&spill.lock);
	}
	return len ? len : __real_malloc_usable_size(p);
}

void aif_spill_begin(size_t room)
{
	spill.room = room;
	spill.is_on = true;
}

size_t aif_spill_bytes(void)
{
	size_t bytes;

	pthread_mutex_lock(&spill.lock);
	bytes = spill.bytes;
	pthread_mutex_unlock(&spill.lock);
	return bytes;
}
