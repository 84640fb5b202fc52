/* SPDX-License-Identifier: Apache-2.0 */
#include "record/family.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"
#include "record/attach/attach_dir.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A look reads a file for each process of the machine, some 10 us: at most 1 % of a core. */
#define PERIOD_NS     (AIF_NS_PER_S / 5)
#define COST_SHARE    100
#define MAX_PERIOD_NS (5 * AIF_NS_PER_S)
/* A process's start is known in ticks: one that began so long before the recording is older. */
#define START_ERROR_NS (AIF_NS_PER_S / 50)
/* Flag in `once`: the process is not tried again. Ticks since boot never grow that far. */
#define GIVEN_UP (UINT64_C(1) << 63)
#define PID_BITS 22 /* the kernel's PID_MAX_LIMIT */

/* Content of /proc/PID/stat. */
struct seen {
	uint32_t pid, parent;
	uint64_t start, cpu_ns;
};

void aif_family_finish(struct aif_family *f)
{
	free(f->members);
	aif_map_finish(&f->once);
	aif_map_finish(&f->before);
	aif_map_finish(&f->last);
	f->members = NULL;
	f->len = f->cap = 0;
}

static uint64_t number(const char *stat, int field)
{
	const char *at = aif_proc_stat_field(stat, field);

	return at ? strtoull(at, NULL, 10) : 0;
}

static bool see(uint32_t pid, struct seen *ret)
{
	const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	*ret = (struct seen){.pid = pid,
			     .parent = (uint32_t)number(text, 4),
			     .start = number(text, 22),
			     .cpu_ns = (number(text, 14) + number(text, 15)) *
				       (AIF_NS_PER_S / AIF_MAX(ticks, 1))};
	return true;
}

/* The listed process that has this number, or AIF_NONE. Needs the store's lock. */
static uint32_t listed(const struct aif_family *f, uint32_t pid)
{
	uint64_t id;

	if (!aif_map_get(&f->listener->by_pid, pid, &id) || id == AIF_NONE ||
	    f->listener->store->p.processes[id].end_ns)
		return AIF_NONE;
	return (uint32_t)id;
}

void aif_family_init(struct aif_family *f, struct aif_listener *listener)
{
	*f = (struct aif_family){.listener = listener,
				 .members_max = AIF_FAMILY_MEMBERS,
				 .begin_ns = aif_clock_ns(CLOCK_BOOTTIME)};
}

/* True if a process is under a filter of system calls that we are not under. One that has not joined was left alone by its
 * agent then. */
static bool is_filtered(uint32_t pid)
{
	char path[64], status[4096], own[4096];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	aif_proc_read(path, status, sizeof(status));
	aif_proc_read("/proc/self/status", own, sizeof(own));
	return aif_proc_filters(status).len > aif_proc_filters(own).len;
}

/* Lists one more. False: there are too many, which was counted. */
static bool add_member(struct aif_family *f, uint32_t pid)
{
	struct aif_store *s = f->listener->store;
	bool filtered;
	uint32_t id;

	if (f->len >= f->members_max ||
	    aif_grow(&f->members, &f->cap, f->len + 1, sizeof(*f->members)) < 0) {
		pthread_mutex_lock(&s->lock);
		aif_store_loss(s, AIF_REASON_PROCESSES_UNLISTED, AIF_NONE, AIF_NONE, 1);
		pthread_mutex_unlock(&s->lock);
		return false;
	}
	if (!aif_listener_add_process(f->listener, (int)pid))
		return true;
	filtered = is_filtered(pid);
	pthread_mutex_lock(&s->lock);
	id = listed(f, pid);
	if (id != AIF_NONE && filtered)
		aif_store_loss(s, AIF_REASON_SECCOMP, id, AIF_NONE, 1);
	pthread_mutex_unlock(&s->lock);
	if (id != AIF_NONE)
		f->members[f->len++] =
			(struct aif_family_member){.pid = pid, .process = id, .lives = true};
	return id != AIF_NONE;
}

/* Seen twice, and not given up: who is about to call exec says hello by itself, and is another program then. */
static bool is_old_enough(struct aif_family *f, const struct seen *p)
{
	uint64_t start;
	bool again = aif_map_get(&f->once, p->pid, &start) && (start & ~GIVEN_UP) == p->start;

	if (again)
		return !(start & GIVEN_UP);
	aif_map_put(&f->once, p->pid, p->start);
	return false;
}

static bool carries_agent(uint32_t pid)
{
	struct aif_standby_maps maps;

	return aif_standby_maps((int)pid, 0, &maps) == 0 && maps.has_agent;
}

/* Sets the CPU time of a listed process, which may have been another one, with the same number and start, before it called exec. Needs the
 * store's lock. */
static void note_cpu(struct aif_family *f, const struct seen *p, uint32_t id)
{
	const uint64_t tick_ns = AIF_NS_PER_S / (uint64_t)AIF_MAX(sysconf(_SC_CLK_TCK), 1);
	const uint64_t key = p->start << PID_BITS | p->pid;
	uint64_t before = 0, *cpu_ns = &f->listener->store->p.processes[id].cpu_ns;

	if (!aif_map_get(&f->before, id, &before)) {
		if (!aif_map_get(&f->last, key, &before))
			before = p->start * tick_ns + START_ERROR_NS < f->begin_ns ? p->cpu_ns : 0;
		aif_map_put(&f->before, id, before);
	}
	aif_map_put(&f->last, key, p->cpu_ns);
	*cpu_ns = AIF_MAX(*cpu_ns, p->cpu_ns - AIF_MIN(before, p->cpu_ns));
}

static void look_at(struct aif_family *f, uint32_t pid)
{
	struct aif_store *s = f->listener->store;
	uint32_t id, parent;
	struct seen p;

	if (!see(pid, &p))
		return;
	pthread_mutex_lock(&s->lock);
	id = listed(f, pid);
	parent = id == AIF_NONE ? listed(f, p.parent) : AIF_NONE;
	if (id != AIF_NONE)
		note_cpu(f, &p, id);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < f->len && id != AIF_NONE; i++)
		if (f->members[i].process == id)
			f->members[i].lives = true;
	if (parent != AIF_NONE && is_old_enough(f, &p) && carries_agent(pid) && !add_member(f, pid))
		aif_map_put(&f->once, pid, p.start | GIVEN_UP);
}

/* Notes the ends of members; those of processes that use a device are noted by the drain thread. */
static void note_ends(struct aif_family *f, uint64_t now)
{
	struct aif_store *s = f->listener->store;
	size_t left = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < f->len; i++) {
		struct aif_process *p = &s->p.processes[f->members[i].process];

		if (f->members[i].lives)
			f->members[left++] = f->members[i];
		else if (!p->end_ns && !(p->flags & AIF_PROCESS_JOINED))
			p->end_ns = now;
	}
	f->len = left;
	pthread_mutex_unlock(&s->lock);
}

void aif_family_look(struct aif_family *f, uint64_t now)
{
	uint64_t cost = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct dirent *e;
	uint32_t pid;
	DIR *proc;

	if (now < f->next_ns)
		return;
	for (size_t i = 0; i < f->len; i++)
		f->members[i].lives = false;
	proc = opendir("/proc");
	if (!proc)
		return;
	/* In the order of their numbers: mostly parents come first. */
	while ((e = readdir(proc)) != NULL)
		if (sscanf(e->d_name, "%" SCNu32, &pid) == 1)
			look_at(f, pid);
	closedir(proc);
	note_ends(f, now);
	cost = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost;
	f->next_ns = now + AIF_MIN(AIF_MAX(PERIOD_NS, cost * COST_SHARE), MAX_PERIOD_NS);
}
