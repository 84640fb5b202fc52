/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/process_read.h"
#include "remote/stop.h"
#include "stacks/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processes from which one is taken in turn to its parent: no tree is deeper. */
#define DEPTH 4096

/* A process of this machine, and the job that its environment names. */
struct process {
	int pid, parent;
	uint64_t job; /* 0: none */
	struct aif_job_rank rank;
	bool is_asked; /* it, or what has started it, was named */
};

struct processes {
	struct process *at;
	size_t len, cap;
};

static int compare_pids(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return AIF_ORDER(x->pid, y->pid);
}

static struct process *find(const struct processes *p, int pid)
{
	const struct process key = {.pid = pid};

	return p->len ? bsearch(&key, p->at, p->len, sizeof(key), compare_pids) : NULL;
}

/* Returns what tells jobs with the same variables apart: the user, and where the address is the host's own ("localhost")
 * the network that it is in. */
static uint64_t place_of(int pid, bool is_local)
{
	uint64_t place = 0;
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) == 0)
		place = aif_mix64(st.st_uid + 1);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (is_local && stat(path, &st) == 0)
		place = aif_mix64(place ^ st.st_ino);
	return place;
}

static void read_rank(struct process *p)
{
	struct aif_buf b = {0};

	if (!aif_process_text(p->pid, "environ", AIF_PROCESS_ENVIRON_MAX, &b)) {
		p->rank = aif_job_rank_find((const char *)b.data, b.len);
		if (p->rank.is_known)
			p->job = aif_job_number((const char *)b.data, b.len);
		if (p->job)
			p->job = aif_mix64(p->job ^
					   place_of(p->pid, aif_job_is_local((const char *)b.data,
									     b.len))) |
				 1;
	}
	aif_buf_finish(&b);
}

static int list(struct processes *p)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		struct process one = {.pid = atoi(entry->d_name)};
		uint64_t start;

		if (one.pid <= 0 || !aif_proc_stat(one.pid, &one.parent, &start))
			continue;
		if (aif_grow(&p->at, &p->cap, p->len + 1, sizeof(*p->at))) {
			closedir(dir);
			return -ENOMEM;
		}
		p->at[p->len++] = one;
	}
	closedir(dir);
	if (p->len)
		qsort(p->at, p->len, sizeof(*p->at), compare_pids);
	for (size_t i = 0; i < p->len; i++)
		read_rank(&p->at[i]);
	/* Takes out this process and what has started it: they may have been started within a job, and are no ranks of it. */
	for (int pid = getpid(), n = 0; n < DEPTH; n++) {
		struct process *own = find(p, pid);

		if (!own)
			break;
		own->job = 0;
		pid = own->parent;
	}
	return 0;
}

static void mark_asked(struct processes *p, const int *pids, size_t len)
{
	for (size_t i = 0; i < p->len; i++) {
		const struct process *at = &p->at[i];

		for (unsigned n = 0; at && n < DEPTH && !p->at[i].is_asked; n++) {
			for (size_t k = 0; k < len; k++)
				p->at[i].is_asked |= pids[k] == at->pid;
			at = find(p, at->parent);
		}
	}
}

static bool is_same_rank(const struct process *a, const struct process *b)
{
	return a && b && a->job == b->job && a->rank.rank == b->rank.rank;
}

/* True if the process does nothing but wait for one that it has started. */
static bool waits_for_child(int pid)
{
	struct aif_remote_call call;

	return aif_remote_call_read(pid, pid, &call) == 1 &&
	       (call.number == SYS_wait4 || call.number == SYS_waitid);
}

/* True for programs that run another one and look at it, without waiting for its end in a call of their own. */
static bool is_watcher(int pid)
{
	static const char *const names[] = {"aiflame", "gdb", "ncu", "nsys", "perf", "strace"};
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (aif_proc_read(path, name, sizeof(name)) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Returns the process that is the rank, of those that have its environment: the one that the launcher has started; but of a shell or
 * another program that waits for what it has started in turn, that one. */
static const struct process *chief(const struct processes *p, const struct process *top)
{
	for (unsigned n = 0; n < DEPTH && (waits_for_child(top->pid) || is_watcher(top->pid));
	     n++) {
		const struct process *child = NULL;

		for (size_t i = 0; i < p->len && !child; i++)
			if (p->at[i].parent == top->pid && is_same_rank(&p->at[i], top))
				child = &p->at[i];
		if (!child)
			break;
		top = child;
	}
	return top;
}

static struct aif_stacks_job *job_of(struct aif_stacks_job **jobs, size_t *len, uint64_t number)
{
	struct aif_stacks_job *more;

	for (size_t i = 0; i < *len; i++)
		if ((*jobs)[i].number == number)
			return &(*jobs)[i];
	more = realloc(*jobs, (*len + 1) * sizeof(*more));
	if (!more)
		return NULL;
	*jobs = more;
	more[*len] = (struct aif_stacks_job){.number = number};
	return &more[(*len)++];
}

static int add_rank(struct aif_stacks_job *j, const struct process *p)
{
	for (size_t i = 0; p->job && i < j->len; i++)
		if (j->ranks[i].job.rank == p->rank.rank) {
			j->doubles++;
			return 0;
		}
	if (aif_grow(&j->ranks, &j->cap, j->len + 1, sizeof(*j->ranks)))
		return -ENOMEM;
	j->ranks[j->len++] =
		(struct aif_stacks_rank){.pid = p->pid, .job = p->rank, .job_number = p->job};
	j->world = AIF_MAX(j->world, p->rank.world);
	j->here = AIF_MAX(j->here, p->rank.local_world);
	return 0;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct aif_stacks_rank *x = a, *y = b;

	return AIF_ORDER(x->job.rank, y->job.rank) ?: AIF_ORDER(x->pid, y->pid);
}

static int gather(const struct processes *p, bool asked, struct aif_stacks_job **jobs, size_t *len)
{
	int r = 0;

	for (size_t i = 0; i < p->len && !r; i++)
		if (p->at[i].job && (!asked || p->at[i].is_asked) &&
		    !job_of(jobs, len, p->at[i].job))
			r = -ENOMEM;
	for (size_t k = 0; k < *len && !r; k++) {
		struct aif_stacks_job *j = &(*jobs)[k];

		for (size_t i = 0; i < p->len && !r; i++)
			if (p->at[i].job == j->number &&
			    !is_same_rank(find(p, p->at[i].parent), &p->at[i]))
				r = add_rank(j, chief(p, &p->at[i]));
		if (j->len)
			qsort(j->ranks, j->len, sizeof(*j->ranks), compare_ranks);
	}
	return r;
}

int aif_stacks_jobs_find(const int *pids, size_t len, struct aif_stacks_job **ret_jobs,
			 size_t *ret_len)
{
	struct aif_stacks_job *jobs = NULL, *j;
	struct processes p = {0};
	size_t n = 0;
	int r = list(&p);

	mark_asked(&p, pids, len);
	if (!r)
		r = gather(&p, len > 0, &jobs, &n);
	for (size_t i = 0; !r && (!n || !jobs[0].number) && i < len; i++) {
		const struct process one = {.pid = pids[i], .rank = {.rank = (uint32_t)i}};

		j = job_of(&jobs, &n, 0);
		r = j ? add_rank(j, &one) : -ENOMEM;
	}
	free(p.at);
	if (r < 0) {
		aif_stacks_jobs_free(jobs, n);
		return r;
	}
	*ret_jobs = jobs;
	*ret_len = n;
	return 0;
}

static void free_traces(struct aif_stacks_rank *r)
{
	for (size_t i = 0; i < r->traces_len; i++)
		free(r->traces[i].words);
	free(r->traces);
}

void aif_stacks_jobs_free(struct aif_stacks_job *jobs, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		for (size_t k = 0; k < jobs[i].len; k++) {
			aif_stacks_finish(&jobs[i].ranks[k].s);
			free(jobs[i].ranks[k].counts);
			free_traces(&jobs[i].ranks[k]);
		}
		free(jobs[i].ranks);
	}
	free(jobs);
}
