/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/mapper.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Unknown to the oldest headers. */
#define CLOEXEC       1U
#define ALLOW_SEALING 2U
#define NOEXEC_SEAL   8U /* Linux 6.3 */

#define PAGE AIF_PAYLOAD_PAGE
/* Looks at the memory map's lock until it is free. A read takes 1 us; mprotect() in the thread 0.05 ms, which it has to be woken for. */
#define LOOKS    20
#define LOOK_NS  1000000
#define READ_NS  50000
#define WRITE_NS 300000
/* A stack is copied in 0.05 ms. */
#define COPY_NS 5000000
/* Until a copy is given up that nobody waits for any more: of a page that does not come. */
#define STUCK_NS AIF_NS_PER_S

int aif_mapper_clone(struct aif_stopped *by, uint64_t syscall_at)
{
	/* Traced from its first instruction on. Its stack pointer is of no use to it: it pushes nothing. */
	const uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			       CLONE_SYSVSEM | CLONE_PTRACE;
	const long r = aif_stopped_call(by, syscall_at, SYS_clone, (const uint64_t[5]){flags});

	return r < 0 ? (int)r : 0;
}

bool aif_mapper_has_code(const struct aif_borrow *b)
{
	const size_t len = (size_t)(aif_payload_code_end - aif_payload_code);
	static uint8_t there[PAGE];

	return b->memory && aif_image_read(b->im, b->memory, there, len) &&
	       !memcmp(there, aif_payload_code, len);
}

struct mapper {
	struct aif_borrow *b;
	struct aif_stopped thread;
};

/* Makes a system call in the thread. Once the payload is there, by its instruction: should the injector be killed, the thread ends. */
static long call(struct mapper *m, long nr, const uint64_t args[5])
{
	const uint64_t own = (uint64_t)(aif_payload_call - aif_payload_code);

	return aif_stopped_call(
		&m->thread, m->b->is_executable ? m->b->memory + own : m->b->fn.syscall, nr, args);
}

static int unmap(struct mapper *m, long error)
{
	call(m, SYS_munmap, (const uint64_t[5]){m->b->memory, AIF_PAYLOAD_SIZE});
	m->b->memory = 0;
	m->b->is_executable = false;
	return error == -ESRCH ? -ESRCH : error == -ENOMEM ? -ENOMEM : -EACCES;
}

static int map_code(struct mapper *m)
{
	struct aif_borrow *b = m->b;
	long r;

	if (!aif_mapper_has_code(b)) {
		b->is_executable = false;
		r = call(m, SYS_mmap,
			 (const uint64_t[5]){0, AIF_PAYLOAD_SIZE, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1});
		if (r < 0 && r > -4096) {
			b->memory = 0;
			return r == -ESRCH ? -ESRCH : -ENOMEM;
		}
		b->memory = (uint64_t)r;
		if (!aif_image_write(b->im, b->memory, aif_payload_code,
				     (size_t)(aif_payload_code_end - aif_payload_code)))
			return unmap(m, -ENOMEM);
	}
	if (!b->is_executable) {
		r = call(m, SYS_mprotect,
			 (const uint64_t[5]){b->memory, PAGE, PROT_READ | PROT_EXEC});
		if (r < 0)
			return unmap(m, r);
		b->is_executable = true;
	}
	return 0;
}

/* Makes the file of the shared memory, by the descriptor that the thread has made: of one that cannot be cut off beneath the mapping, and
 * that nobody had before. */
static int share(struct aif_borrow *b, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, b->im->pid, 0), file = -1;
	struct stat st;
	void *page;

	if (pidfd >= 0) {
		file = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		close(pidfd);
	}
	if (file < 0)
		return -EAGAIN;
	page = MAP_FAILED;
	if (fstat(file, &st) == 0 && !st.st_nlink && !st.st_size &&
	    ftruncate(file, AIF_PAYLOAD_SHARED) == 0 &&
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 && fstat(file, &st) == 0 &&
	    st.st_size == AIF_PAYLOAD_SHARED)
		page = mmap(NULL, AIF_PAYLOAD_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (page == MAP_FAILED)
		return -EAGAIN;
	b->page = page;
	return 0;
}

void aif_mapper_forget(struct aif_borrow *b)
{
	if (b->page)
		munmap(b->page, AIF_PAYLOAD_SHARED);
	b->page = NULL;
}

/* True if what the thread has mapped is that file, and not another file, which had taken the descriptor's number. */
static bool is_shared(const struct aif_borrow *b)
{
	uint64_t there = 0;

	b->page->thread = aif_now_ns() | 1;
	return aif_image_read(b->im, b->memory + PAGE + AIF_PAYLOAD_AT_THREAD, &there,
			      sizeof(there)) &&
	       there == b->page->thread;
}

static int map_page(struct mapper *m)
{
	struct aif_borrow *b = m->b;
	/* Another name than the agent's, by which a process is known to have that: this memory may stay without it. */
	static const char called[] = "aiflame-payload";
	const uint64_t name = b->memory + PAGE + AIF_PAYLOAD_AT_NAME;
	long fd, r;
	int error;

	static_assert(sizeof(called) <= sizeof(b->payload->name), "it has its place");
	if (!aif_image_write(b->im, name, called, sizeof(called)))
		return -ESRCH;
	fd = call(m, SYS_memfd_create, (const uint64_t[5]){name, CLOEXEC | NOEXEC_SEAL});
	if (fd == -EINVAL)
		fd = call(m, SYS_memfd_create, (const uint64_t[5]){name, CLOEXEC | ALLOW_SEALING});
	if (fd < 0)
		return fd == -ENFILE ? -EMFILE : (int)fd;
	error = share(b, (int)fd);
	if (error < 0)
		goto out;
	r = aif_stopped_call(
		&m->thread, b->memory + (uint64_t)(aif_payload_call - aif_payload_code), SYS_mmap,
		(const uint64_t[5]){b->memory + PAGE, AIF_PAYLOAD_SHARED, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_FIXED, (uint64_t)fd});
	error = r == -ESRCH ? -ESRCH : r < 0 && r > -4096 ? -ENOMEM : is_shared(b) ? 0 : -EAGAIN;
	if (error < 0) {
		aif_mapper_forget(b);
	}
out:
	call(m, SYS_close, (const uint64_t[5]){(uint64_t)fd});
	/* Another file may lie there. */
	if (error < 0)
		unmap(m, error);
	return error;
}

static struct mapper mapper; /* 16 KB; the injector has one at a time */

bool aif_mapper_is_copying(const struct aif_borrow *b)
{
	return b->has_mapper && mapper.thread.copy_stops;
}

bool aif_mapper_end(struct aif_borrow *b)
{
	if (!b->has_mapper)
		return true;
	if (aif_stopped_finish_copy(&mapper.thread, aif_now_ns() + STUCK_NS) == -ETIMEDOUT)
		return false;
	aif_stopped_exit(&mapper.thread, b->fn.syscall);
	b->has_mapper = false;
	return true;
}

int aif_mapper_map(struct aif_borrow *b)
{
	int r;

	mapper.b = b;
	r = aif_stopped_adopt(&mapper.thread, b->im);
	b->has_mapper = r == 0;
	if (r < 0)
		return r;
	aif_stopped_hurry(&mapper.thread);
	r = map_code(&mapper);
	if (r == 0 && !b->page)
		r = map_page(&mapper);
	if (r < 0)
		(void)aif_mapper_end(b);
	return r;
}

/* Times what waits for readers and writers of the map. */
static bool writes_map(const struct aif_borrow *b)
{
	return call(&mapper, SYS_mprotect,
		    (const uint64_t[5]){b->memory + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE}) == 0;
}

/* Times what waits for writers of it: the loader's first page is there. */
static bool reads_map(const struct aif_borrow *b)
{
	uint64_t word;

	return aif_image_read(b->im, b->im->module->lo, &word, sizeof(word));
}

bool aif_mapper_finds_map_free(struct aif_borrow *b)
{
	for (unsigned i = 0; i < LOOKS; i++) {
		const uint64_t began = aif_now_ns();

		if (!(b->has_mapper ? writes_map(b) : reads_map(b)))
			return false;
		if (aif_now_ns() - began <= (b->has_mapper ? WRITE_NS : READ_NS))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	/* An ordinary user's thread has to wait for a processor each time, which says nothing. */
	return b->has_mapper;
}

void aif_mapper_copy_stack(struct aif_borrow *b, uint64_t at, size_t len)
{
	const uint64_t code = b->memory + (uint64_t)(aif_payload_copy - aif_payload_code);
	int r;

	if (!b->has_mapper || !len)
		return;
	r = aif_stopped_copy(&mapper.thread, code, b->memory + 2 * PAGE, at, len,
			     aif_now_ns() + COPY_NS);
	if (r == 0)
		b->im->stack = (struct aif_image_stack){at, len, (uint8_t *)(b->page + 1)};
}
