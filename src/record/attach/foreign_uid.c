/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/foreign_uid.h"

#include "base/clock.h"
#include "base/process.h"
#include "record/attach/attach_dir.h"
#include "wire/handshake.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A look costs some us for each process of the machine, and 50 us for a new one. */
#define PERIOD_NS (100 * 1000 * 1000)
/* Looking may cost 1 % of a core: where there are thousands of processes it is done less often, within limits. */
#define COST_SHARE    100
#define MAX_PERIOD_NS (2 * AIF_NS_PER_S)

#define PID_BITS 22 /* the kernel's PID_MAX_LIMIT */

/* Flags beside the time in `judged`. */
#define OURS UINT64_C(1)
#define TOLD UINT64_C(2)

void aif_foreign_uid_finish(struct aif_foreign_uid *s)
{
	aif_map_finish(&s->judged);
	aif_map_finish(&s->told);
}

static bool carries_agent(pid_t pid)
{
	struct aif_standby_maps maps;

	return aif_standby_maps(pid, 0, &maps) == 0 && maps.has_agent;
}

/* Is a process of this recording? -1: cannot be told now. */
static int judge(const struct aif_foreign_uid *s, pid_t pid)
{
	uint64_t start, known;
	char socket[256];
	int r, parent;

	if (pid == s->command)
		return true;
	r = aif_standby_environment(pid, AIF_ENV_SOCKET, socket, sizeof(socket));
	if (r == -EAGAIN)
		return -1;
	if (r == 0 && !strcmp(socket, s->socket))
		return true;
	return aif_proc_stat(pid, &parent, &start) &&
	       aif_map_get(&s->judged, (uint64_t)parent, &known) && (known & OURS) &&
	       carries_agent(pid);
}

static void look_at(struct aif_foreign_uid *s, pid_t pid, aif_foreign_uid_fn found, void *arg)
{
	uint64_t known, key, start;
	struct stat st;
	char path[64];
	int parent;
	uid_t uid;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0)
		return;
	/* The kernel makes it anew for another process of that number, and now and then for the same. */
	key = ((uint64_t)st.st_mtim.tv_sec * AIF_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec) << 2;
	if (!aif_map_get(&s->judged, (uint64_t)pid, &known) || (known & ~(OURS | TOLD)) != key) {
		int ours = judge(s, pid);

		if (ours < 0)
			return;
		known = key | (ours ? OURS : 0);
		aif_map_put(&s->judged, (uint64_t)pid, known);
	}
	/* A process that was seen between fork() and exec() has another name by now. */
	if (known & TOLD)
		found(arg, pid, 0, true);
	if (!(known & OURS) || (known & TOLD))
		return;
	if (!aif_proc_user(pid, &uid) || uid == geteuid() || !carries_agent(pid) ||
	    !aif_proc_stat(pid, &parent, &start))
		return;
	aif_map_put(&s->judged, (uint64_t)pid, known | TOLD);
	key = start << PID_BITS | (uint64_t)pid;
	if (!aif_map_get(&s->told, key, &known) && aif_map_put(&s->told, key, 1) == 0)
		found(arg, pid, uid, false);
}

void aif_foreign_uid_poll(struct aif_foreign_uid *s, uint64_t now, aif_foreign_uid_fn found,
			  void *arg)
{
	uint64_t cost = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_first = !s->next_ns;
	struct dirent *e;
	DIR *proc;
	int pid;

	if (now < s->next_ns)
		return;
	proc = opendir("/proc");
	/* In the order of their numbers: mostly parents come first. */
	while (proc && (e = readdir(proc)) != NULL)
		if (sscanf(e->d_name, "%d", &pid) == 1)
			look_at(s, pid, found, arg);
	if (proc)
		closedir(proc);
	cost = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost;
	/* The first look judges everybody. */
	s->next_ns =
		now + (is_first ? PERIOD_NS
				: AIF_MIN(AIF_MAX(PERIOD_NS, cost * COST_SHARE), MAX_PERIOD_NS));
}

/* A process that has ended and was not waited for has no environment, nor has one that writes a title over it: neither
 * is found. */
pid_t aif_foreign_uid_count(const char *socket)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char named[256];
	pid_t found = 0;
	int pid;

	while (proc && !found && (e = readdir(proc)) != NULL)
		if (sscanf(e->d_name, "%d", &pid) == 1 &&
		    aif_standby_environment(pid, AIF_ENV_SOCKET, named, sizeof(named)) == 0 &&
		    !strcmp(named, socket))
			found = pid;
	if (proc)
		closedir(proc);
	return found;
}
