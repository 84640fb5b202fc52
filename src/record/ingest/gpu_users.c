/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/gpu_users.h"

#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name; /* as /proc/PID/comm has it: 15 bytes */
	const char *what;
} known[] = {
	{"nv-hostengine", "dcgmi profile --pause while recording"},
	{"dcgm-exporter", "dcgmi profile --pause while recording, or leave out its DCP metrics"},
	{"ncu", "let it end first"},
	{"nsys", "let it end first"},
	{"aiflame", "one recording at a time samples a GPU"},
	{"nvidia-cuda-mps", "under MPS, instructions cannot be sampled"},
};

size_t aif_gpu_users(const char *root, struct aif_gpu_user *ret, size_t max)
{
	char path[512], name[64];
	struct dirent *e;
	size_t n = 0;
	DIR *proc;

	snprintf(path, sizeof(path), "%s/proc", root);
	proc = opendir(path);
	while (proc && n < max && (e = readdir(proc)) != NULL) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (!isdigit((unsigned char)*e->d_name) || (!*root && pid == (uint32_t)getpid()))
			continue;
		snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/comm", root, pid);
		aif_proc_read(path, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++)
			if (!strcmp(name, known[i].name))
				ret[n++] = (struct aif_gpu_user){pid, known[i].name, known[i].what};
	}
	if (proc)
		closedir(proc);
	return n;
}
