/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shm.h"

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

int aif_shm_map(int fd, struct aif_shm **ret, uint64_t *ret_size)
{
	struct aif_shm *shm;
	struct stat st;
	int seals;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((seals & SEALS) != SEALS || st.st_size < (off_t)sizeof(*shm))
		return -EPROTO;
	shm = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return -errno;
	if (shm->magic != AIF_WIRE_MAGIC || shm->version != AIF_SHM_VERSION || !shm->slots ||
	    shm->slots > 4096 || shm->ring_size < 2 * AIF_WIRE_MAX_RECORD ||
	    (shm->ring_size & (shm->ring_size - 1)) || shm->ring_size > (UINT64_C(1) << 32) ||
	    aif_shm_size(shm->slots, shm->ring_size) != (uint64_t)st.st_size) {
		munmap(shm, (size_t)st.st_size);
		return -EPROTO;
	}
	*ret = shm;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Between processes: the kernel knows the word by the file that it is in. */
void aif_shm_order(struct aif_shm *shm, enum aif_shm_command command)
{
	if (atomic_exchange(&shm->command, command) != (uint32_t)command)
		syscall(SYS_futex, &shm->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void aif_shm_await_order(struct aif_shm *shm, uint32_t seen, uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / AIF_NS_PER_S),
				.tv_nsec = (long)(ns % AIF_NS_PER_S)};

	if (syscall(SYS_futex, &shm->command, FUTEX_WAIT, seen, &time, NULL, 0) < 0 &&
	    errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
		nanosleep(&time, NULL); /* a sandbox that knows no futexes */
}
