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

/* The likeliest first: where there are more than are asked for, those are left out that come last. */
static const struct {
	const char *name; /* as /proc/PID/comm has it: 15 bytes */
	const char *what;
} known[] = {
	{"nv-hostengine", "dcgmi profile --pause while recording"},
	{"dcgm-exporter", "dcgmi profile --pause while recording, or leave out its DCP metrics"},
	{"ncu", "let it end first"},
	{"nsys", "let it end first"},
	{"nvidia-cuda-mps", "under MPS, instructions cannot be sampled"},
	{"aiflame", "one recording at a time samples a GPU"},
};

/* The place of a program among the known ones by the name of its process, or their number. */
static size_t find_known(const char *root, uint32_t pid)
{
	char path[512], name[64];
	size_t i = 0;

	snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/comm", root, pid);
	aif_proc_read(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	while (i < AIF_ARRAY_LEN(known) && strcmp(name, known[i].name))
		i++;
	return i;
}

/* Keeps the max users that come first among the known programs, of one program those that were found first. */
static size_t keep_user(struct aif_gpu_user *users, size_t *places, size_t n, size_t max,
			uint32_t pid, size_t place)
{
	size_t at = n;

	while (at && places[at - 1] > place)
		at--;
	if (at == max)
		return n;
	n = AIF_MIN(n + 1, max);
	for (size_t i = n - 1; i > at; i--) {
		users[i] = users[i - 1];
		places[i] = places[i - 1];
	}
	users[at] = (struct aif_gpu_user){pid, known[place].name, known[place].what};
	places[at] = place;
	return n;
}

size_t aif_gpu_users(const char *root, struct aif_gpu_user *ret, size_t max)
{
	size_t places[AIF_GPU_USERS_MAX];
	char path[512];
	struct dirent *e;
	size_t n = 0;
	DIR *proc;

	max = AIF_MIN(max, AIF_GPU_USERS_MAX);
	snprintf(path, sizeof(path), "%s/proc", root);
	proc = opendir(path);
	while (proc && (e = readdir(proc)) != NULL) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
		size_t place;

		if (!isdigit((unsigned char)*e->d_name) || (!*root && pid == (uint32_t)getpid()))
			continue;
		place = find_known(root, pid);
		if (place < AIF_ARRAY_LEN(known))
			n = keep_user(ret, places, n, max, pid, place);
	}
	if (proc)
		closedir(proc);
	return n;
}
