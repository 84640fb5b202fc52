/* SPDX-License-Identifier: Apache-2.0 */
#include "base/program_held.h"

#include "base/bounded.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int aif_program_hold(int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct hold {
	int pid, fd;
};

static void hold_run(void *arg, const atomic_bool *is_abandoned)
{
	struct hold *h = arg;

	(void)is_abandoned;
	h->fd = aif_program_hold(h->pid);
}

static void hold_release(void *arg)
{
	struct hold *h = arg;

	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

int aif_program_hold_in_time(int pid)
{
	static const struct aif_bounded call = {hold_run, hold_release};
	struct hold *h = calloc(1, sizeof(*h));
	int fd;

	if (!h)
		return -1;
	*h = (struct hold){pid, -1};
	if (aif_bounded_call(&call, h, pid, false) < 0)
		return -1;
	fd = h->fd;
	free(h);
	return fd;
}

bool aif_program_is_held(int fd)
{
	char half[4];

	/* The file is the memory's that the process had when it was opened: it ends at once where nobody has that memory any more.
	 * Where somebody has, it gives entries of eight bytes only (EINVAL), which it says before it asks for the memory's lock. */
	return fd < 0 || read(fd, half, sizeof(half)) != 0;
}
