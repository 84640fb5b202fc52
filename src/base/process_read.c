/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process_read.h"

#include "base/bounded.h"
#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PART (64u << 10)
#define PAGE UINT64_C(4096)

struct read {
	int pid;
	char name[16]; /* of a text */
	uint64_t at;   /* of memory */
	size_t max;
	struct aif_buf bytes;
	int result;
};

static void read_release(void *arg)
{
	struct read *r = arg;

	aif_buf_finish(&r->bytes);
	free(r);
}

static void read_text(void *arg, const atomic_bool *is_abandoned)
{
	struct read *r = arg;
	char path[64];
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", r->pid, r->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	r->result = fd < 0 ? -errno : 0;
	while (!r->result && n && !atomic_load(is_abandoned)) {
		void *room = aif_buf_reserve(&r->bytes, PART);

		n = room ? read(fd, room, AIF_MIN((size_t)PART, r->max + 1 - r->bytes.len)) : -1;
		if (n < 0)
			r->result = room ? -errno : -ENOMEM;
		else
			r->bytes.len += (size_t)n;
		if (r->bytes.len > r->max) {
			r->bytes.len = r->max;
			r->result = -EFBIG;
		}
	}
	if (fd >= 0)
		close(fd);
}

/* In pieces: the kernel copies the pieces before the first that cannot be read. */
static ssize_t copy(int pid, uint64_t at, void *to, size_t n, const atomic_bool *is_abandoned)
{
	enum { PIECES = 64 };
	struct iovec ours, theirs[PIECES];
	size_t done = 0;

	while (done < n && !atomic_load(is_abandoned)) {
		unsigned len = 0;
		size_t asked = done;
		ssize_t r;

		for (; len < PIECES && asked < n; len++) {
			size_t piece = AIF_MIN(PAGE - (at + asked) % PAGE, n - asked);

			theirs[len] = (struct iovec){(void *)(uintptr_t)(at + asked), /* NOLINT */
						     piece};
			asked += piece;
		}
		ours = (struct iovec){(char *)to + done, asked - done};
		r = process_vm_readv(pid, &ours, 1, theirs, len, 0);
		if (r < 0)
			return done ? (ssize_t)done : -errno;
		done += (size_t)r;
		if (done < asked)
			break;
	}
	return (ssize_t)done;
}

static void read_memory(void *arg, const atomic_bool *is_abandoned)
{
	struct read *r = arg;
	void *room = aif_buf_reserve(&r->bytes, r->max);
	size_t most = aif_mounts_readable(r->pid, r->at, r->max);
	ssize_t n = !room  ? -ENOMEM
		    : most ? copy(r->pid, r->at, room, most, is_abandoned)
			   : AIF_MOUNTS_REFUSED;

	if (n > 0)
		r->bytes.len += (size_t)n;
	r->result = n < 0 ? (int)n : 0;
}

static const struct aif_bounded text_call = {read_text, read_release},
				memory_call = {read_memory, read_release};

int aif_process_text(int pid, const char *name, size_t max, struct aif_buf *ret)
{
	struct read *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	*r = (struct read){.pid = pid, .max = max};
	snprintf(r->name, sizeof(r->name), "%s", name);
	result = aif_bounded_call(&text_call, r, pid, true);
	if (result < 0)
		return result;
	if (r->bytes.len)
		aif_buf_append(ret, r->bytes.data, r->bytes.len);
	result = aif_buf_failed(ret) ? -ENOMEM : r->result;
	read_release(r);
	return result;
}

ssize_t aif_process_memory(int pid, uint64_t at, void *to, size_t len)
{
	const atomic_bool never = false;
	struct read *r;
	ssize_t result;

	if (!aif_bounded_is_needed())
		return copy(pid, at, to, len, &never);
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct read){.pid = pid, .at = at, .max = len};
	result = aif_bounded_call(&memory_call, r, pid, false);
	if (result < 0)
		return result;
	if (r->bytes.len)
		memcpy(to, r->bytes.data, r->bytes.len);
	result = r->result < 0 ? r->result : (ssize_t)r->bytes.len;
	read_release(r);
	return result;
}
