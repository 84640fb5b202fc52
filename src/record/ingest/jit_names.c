/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/jit_names.h"

#include "base/clock.h"
#include "base/open_regular.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interval at which a map is looked for that was not there. */
#define SEEK_NS AIF_NS_PER_S

#define NAME_MAX_BYTES 1024

/* The process's number in its own PID namespace, which is how it calls its map; and its user. */
static int own_number(int pid, uid_t *ret_uid)
{
	char path[64], line[512];
	struct stat st;
	int number = pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	*ret_uid = fstat(fileno(f), &st) < 0 ? (uid_t)-1 : st.st_uid;
	while (fgets(line, sizeof(line), f)) {
		char *last;

		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t'); /* one for each namespace, ours first */
		number = last ? atoi(last + 1) : number;
	}
	fclose(f);
	return number;
}

/* Opens a file of that user or root's: everybody can write to /tmp. */
static int open_map(int fd, uid_t uid)
{
	struct stat st;

	fd = aif_open_spare(fd);
	if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_uid != uid && st.st_uid != 0))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void seek(struct aif_jit_names *j, int pid)
{
	char path[96];
	uid_t uid = getuid();
	int number = own_number(pid, &uid);

	if (number > 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", number);
		j->map = open_map(aif_open_regular_of(pid, path, O_NOFOLLOW), uid);
	}
	/* The process has ended, or its root is not readable. The map in our /tmp is of another process if the number
	 * is of another namespace. */
	if (j->map < 0 && (number < 0 || number == pid)) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
		j->map = open_map(aif_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW), uid);
	}
}

void aif_jit_names_init(struct aif_jit_names *j)
{
	*j = (struct aif_jit_names){.map = -1};
	for (unsigned i = 0; i < AIF_JIT_LAYERS; i++)
		j->modules[i] = AIF_NONE;
}

void aif_jit_names_finish(struct aif_jit_names *j)
{
	if (j->map >= 0)
		close(j->map);
	j->map = -1;
	aif_map_finish(&j->named);
}

void aif_jit_names_seen(struct aif_jit_names *j, int pid, uint64_t now)
{
	if (j->map >= 0 || (j->sought_ns && now - j->sought_ns < SEEK_NS))
		return;
	j->sought_ns = now;
	seek(j, pid);
}

void aif_jit_names_last(struct aif_jit_names *j, int pid, struct aif_modfiles *files)
{
	if (j->modules[0] == AIF_NONE)
		return;
	if (j->map < 0)
		seek(j, pid);
	if (j->map >= 0)
		aif_modfiles_add_perf_map(files, j->modules[0], j->map);
	j->map = -1;
}

uint32_t aif_jit_names_put(struct aif_store *s, const char *name, size_t len)
{
	static const char prefix[] = "[jit] ";
	char text[sizeof(prefix) + NAME_MAX_BYTES];

	len = AIF_MIN(len, NAME_MAX_BYTES);
	memcpy(text, prefix, sizeof(prefix) - 1);
	memcpy(text + sizeof(prefix) - 1, name, len);
	return aif_store_str(s, text, sizeof(prefix) - 1 + len);
}
