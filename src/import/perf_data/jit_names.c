/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/jit_names.h"

#include "base/open_regular.h"
#include "symbolize/perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_MAX (UINT64_C(1) << 30) /* as recordings read */

static int by_pid_and_address(const void *a, const void *b)
{
	const struct aif_perf_jit *x = a, *y = b;

	return AIF_ORDER(x->pid, y->pid) ?: AIF_ORDER(x->address, y->address);
}

/* Opens the names that a process has left: a file of the user's own, or of root's. */
static int open_map(uint32_t pid)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = aif_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) < 0 || (geteuid() && st.st_uid && st.st_uid != geteuid()))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Names the frames of one process. */
static void name(struct aif_perf_samples *to, const struct aif_perf_jit *jits, size_t n)
{
	struct aif_perf_map_want *wants = calloc(n, sizeof(*wants));
	struct aif_perf_map *m = calloc(1, sizeof(*m));
	uint64_t left = MAP_MAX;
	char bytes[16384];
	ssize_t r;
	int fd = wants && m ? open_map(jits->pid) : -1;

	if (fd >= 0) {
		for (size_t i = 0; i < n; i++)
			wants[i].address = jits[i].address;
		aif_perf_map_init(m, wants, n);
		while (left && (r = read(fd, bytes, AIF_MIN(sizeof(bytes), left))) > 0 &&
		       aif_perf_map_feed(m, bytes, (size_t)r))
			left -= (uint64_t)r;
		aif_perf_map_end(m);
		for (size_t i = 0; i < n; i++)
			if (wants[i].name_len)
				aif_perf_samples_name(to, jits[i].frame,
						      (const char *)m->names.data + wants[i].name,
						      wants[i].name_len);
		aif_perf_map_finish(m);
		close(fd);
	}
	free(wants);
	free(m);
}

void aif_perf_jits_name(struct aif_perf_samples *to, struct aif_perf_jit *jits, size_t n)
{
	size_t end;

	if (n)
		qsort(jits, n, sizeof(*jits), by_pid_and_address);
	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && jits[end].pid == jits[i].pid;)
			end++;
		name(to, jits + i, end - i);
	}
}
