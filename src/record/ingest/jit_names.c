/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/jit_names.h"

#include "base/open_regular.h"
#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interval at which a map is looked for that was not there. */
#define SEEK_NS AIF_NS_PER_S

#define NAME_MAX_BYTES 1024

/* The process's number in its own PID namespace, which is how it calls its map. 0: it has ended. */
static int own_number(int pid)
{
	static const char name[] = "\nNSpid:";
	char path[64], status[4096], *end;
	const char *at;
	int number = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (aif_proc_read(path, status, sizeof(status)) < 0)
		return 0;
	at = strstr(status, name);
	/* The last of its numbers, one for each namespace. */
	for (at = at ? at + sizeof(name) - 1 : ""; *at == '\t'; at = end)
		number = (int)strtol(at, &end, 10);
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

static void seek(struct aif_jit_names *j, struct aif_process_files *of)
{
	int number = own_number(of->pid);
	char path[96];

	if (number)
		j->number = number;
	/* In our /tmp, once the process has ended: of another process if the number is of another namespace. */
	if (!number && j->number && j->number != of->pid)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", j->number ? j->number : of->pid);
	j->map = open_map(aif_process_open(of, path, O_NOFOLLOW), of->rights.uid);
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

void aif_jit_names_seen(struct aif_jit_names *j, struct aif_process_files *of, uint64_t now)
{
	if (j->map >= 0 || (j->sought_ns && now - j->sought_ns < SEEK_NS))
		return;
	j->sought_ns = now;
	seek(j, of);
}

void aif_jit_names_last(struct aif_jit_names *j, struct aif_process_files *of,
			struct aif_modfiles *files)
{
	if (j->modules[0] == AIF_NONE)
		return;
	if (j->map < 0)
		seek(j, of);
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
