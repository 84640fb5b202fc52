/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shm.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* memfd_create came to glibc in 2.27; the agent may not need more than 2.17. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       1U
#define MFD_ALLOW_SEALING 2U
#endif

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

const char *aif_cupti_use_name(uint32_t use)
{
	static const char *const names[] = {[AIF_CUPTI_USE_AUTO] = "auto",
					    [AIF_CUPTI_USE_BLOCKS] = "blocks",
					    [AIF_CUPTI_USE_THROUGHOUT] = "throughout",
					    [AIF_CUPTI_USE_RECORDS] = "records",
					    [AIF_CUPTI_USE_LAUNCHES] = "launches"};

	static_assert(AIF_ARRAY_LEN(names) == AIF_CUPTI_USE_COUNT, "names");
	return use < AIF_CUPTI_USE_COUNT ? names[use] : NULL;
}

int aif_shm_create(uint32_t slots, uint64_t ring_size, struct aif_shm **ret, int *ret_fd)
{
	uint64_t size = aif_shm_size(slots, ring_size);
	struct aif_shm *shm;
	int fd, r;

	fd = (int)syscall(SYS_memfd_create, "aiflame", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		goto fail;
	shm = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		goto fail;
	shm->magic = AIF_WIRE_MAGIC;
	shm->version = AIF_SHM_VERSION;
	shm->slots = slots;
	shm->ring_size = ring_size;
	*ret = shm;
	*ret_fd = fd;
	return 0;
fail:
	r = -errno;
	close(fd);
	return r;
}

/* Is this what the wire version promises? */
static bool is_promised(const struct aif_shm *shm, uint64_t size)
{
	return shm->magic == AIF_WIRE_MAGIC && shm->version == AIF_SHM_VERSION && shm->slots &&
	       shm->slots <= AIF_SHM_SLOTS && shm->ring_size >= 2 * AIF_WIRE_MAX_RECORD &&
	       !(shm->ring_size & (shm->ring_size - 1)) && shm->ring_size <= (UINT64_C(1) << 32) &&
	       aif_shm_size(shm->slots, shm->ring_size) == size;
}

static uint64_t anchors_at(uint32_t slots, uint32_t i)
{
	return aif_shm_rings_at(slots) + (uint64_t)i * AIF_SHM_ALIGN;
}

/* Puts the tables and the anchors into one range of addresses, which a single munmap() takes away. */
static int map_parts(int fd, const struct aif_shm *like, struct aif_shm **ret, uint64_t *ret_size)
{
	uint32_t slots = like->slots;
	uint64_t size = anchors_at(slots, slots), rings_at = aif_shm_rings_at(slots);
	uint8_t *range =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	if (range == MAP_FAILED)
		return -errno;
	if (mmap(range, rings_at, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		goto fail;
	for (uint32_t i = 0; i < slots; i++)
		if (mmap(range + anchors_at(slots, i), AIF_SHM_ALIGN, PROT_NONE,
			 MAP_SHARED | MAP_FIXED, fd,
			 (off_t)(rings_at + i * like->ring_size)) == MAP_FAILED)
			goto fail;
	/* A child must not write into its parent's rings. What is made from an anchor is as the
	 * anchor is; and after mlockall(MCL_FUTURE) that would be locked. */
	if (madvise(range, size, MADV_DONTFORK) < 0)
		goto fail;
	munlock(range, size);
	/* Not before: what may be accessed and is locked would be taken into memory as a whole. */
	if (mprotect(range, rings_at, PROT_READ | PROT_WRITE) < 0)
		goto fail;
	*ret = (struct aif_shm *)range;
	*ret_size = size;
	return 0;
fail:
	r = -errno;
	munmap(range, size);
	return r;
}

int aif_shm_map(int fd, struct aif_shm **ret, uint64_t *ret_size)
{
	struct aif_shm head;
	struct stat st;
	int seals;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((seals & SEALS) != SEALS ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    !is_promised(&head, (uint64_t)st.st_size))
		return -EPROTO;
	return map_parts(fd, &head, ret, ret_size);
}

uint8_t *aif_shm_map_ring(struct aif_shm *shm, uint32_t slots, uint64_t ring_size, uint32_t i)
{
	uint8_t *anchor = (uint8_t *)shm + anchors_at(slots, i);
	/* An old size of 0: the anchor stays, and more of its file is mapped elsewhere. */
	void *ring = mremap(anchor, 0, ring_size, MREMAP_MAYMOVE);

	if (ring == MAP_FAILED && errno == EAGAIN && munlock(anchor, AIF_SHM_ALIGN) == 0)
		ring = mremap(anchor, 0, ring_size, MREMAP_MAYMOVE); /* was locked since */
	if (ring == MAP_FAILED)
		return NULL;
	/* Not before: what may be accessed and is locked would be taken into memory as a whole. */
	if (mprotect(ring, ring_size, PROT_READ | PROT_WRITE) == 0)
		return ring;
	munmap(ring, ring_size);
	return NULL;
}

/* Between processes: the kernel knows the word by the file that it is in. */
void aif_shm_order(struct aif_shm *shm, enum aif_shm_command command)
{
	if (atomic_exchange(&shm->command, command) != (uint32_t)command)
		syscall(SYS_futex, &shm->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits while the word is `seen`, or until the time is over. May return early. */
static void await(const _Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / AIF_NS_PER_S),
				.tv_nsec = (long)(ns % AIF_NS_PER_S)};

	if (syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0) < 0 && errno != EAGAIN &&
	    errno != ETIMEDOUT && errno != EINTR)
		nanosleep(&time, NULL); /* a sandbox that knows no futexes */
}

void aif_shm_await_order(struct aif_shm *shm, uint32_t seen, uint64_t ns)
{
	await(&shm->command, seen, ns);
}

uint32_t aif_shm_ask(struct aif_shm *shm)
{
	return atomic_fetch_add(&shm->asked, 1) + 1;
}

bool aif_shm_await_answer(struct aif_shm *shm, uint32_t asked, uint64_t ns)
{
	uint64_t now = aif_now_ns(), until = now + ns;
	uint32_t seen;

	/* Another thread may have asked since. */
	while ((int32_t)((seen = atomic_load(&shm->answered)) - asked) < 0 && now < until) {
		await(&shm->answered, seen, until - now);
		now = aif_now_ns();
	}
	return (int32_t)(seen - asked) >= 0;
}

bool aif_shm_is_asked(const struct aif_shm *shm)
{
	return atomic_load_explicit(&shm->asked, memory_order_relaxed) !=
	       atomic_load_explicit(&shm->answered, memory_order_relaxed);
}

void aif_shm_answer(struct aif_shm *shm, enum aif_shm_filter filter)
{
	uint32_t asked = atomic_load(&shm->asked);

	/* The agent's helper waits for a change of one of the two words, `command` or
	 * `answered`. */
	if (atomic_exchange(&shm->filter, filter) != (uint32_t)filter)
		syscall(SYS_futex, &shm->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (atomic_exchange(&shm->answered, asked) != asked)
		syscall(SYS_futex, &shm->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
