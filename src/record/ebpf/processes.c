/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/processes.h"

#include "base/proc.h"
#include "base/process.h"
#include "base/process_read.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct aif_ebpf_process *aif_ebpf_process(struct aif_ebpf_processes *ps, uint32_t pid, bool make)
{
	struct aif_ebpf_process *p;
	uint64_t i;

	if (aif_map_get(&ps->by_pid, pid, &i) && i < ps->len)
		return ps->at[i];
	if (!make || ps->len - ps->free_len >= AIF_EBPF_PROCESSES)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	i = ps->free_len ? ps->free[ps->free_len - 1] : ps->len;
	if ((i == ps->len && aif_grow(&ps->at, &ps->cap, ps->len + 1, sizeof(*ps->at)) < 0) ||
	    aif_map_put(&ps->by_pid, pid, i) < 0) {
		free(p);
		return NULL;
	}
	ps->len += i == ps->len;
	ps->free_len -= ps->free_len > 0;
	ps->at[i] = p;
	p->pid = pid;
	p->wanted = ps->all;
	return p;
}

static void forget_code(struct aif_ebpf_process *p)
{
	if (p->t) {
		p->t->ranges.len = 0;
		p->t->maps_read_ns = 0;
	}
	p->maps_len = 0;
}

static void target_drop(struct aif_drainer *d, struct aif_ebpf_process *p, uint64_t end_ns)
{
	struct aif_process *row;

	if (!p->t)
		return;
	row = &d->store->p.processes[p->t->process];
	if (!row->end_ns && !row->flags)
		row->end_ns = end_ns;
	aif_target_free(d, p->t);
	p->t = NULL;
}

static void process_drop(struct aif_drainer *d, struct aif_ebpf_processes *ps, size_t i)
{
	struct aif_ebpf_process *p = ps->at[i];

	if (aif_grow(&ps->free, &ps->free_cap, ps->free_len + 1, sizeof(*ps->free)) == 0)
		ps->free[ps->free_len++] = (uint32_t)i;
	aif_map_put(&ps->by_pid, p->pid, AIF_NONE);
	target_drop(d, p, p->exit_ns);
	free(p->maps);
	free(p);
	ps->at[i] = NULL;
}

void aif_ebpf_processes_want(struct aif_ebpf_processes *ps, uint32_t pid)
{
	struct aif_ebpf_process *p = aif_ebpf_process(ps, pid, true);
	bool more = true;

	if (p)
		p->wanted = true;
	/* Children are mostly found after their parents; where numbers have wrapped around, in
	 * another round. */
	for (int round = 0; more && round < 64; round++) {
		DIR *proc = opendir("/proc");
		struct dirent *e;

		more = false;
		while (proc && (e = readdir(proc)) != NULL) {
			struct aif_ebpf_process *child, *parent;
			int number = atoi(e->d_name), up;
			uint64_t start;

			if (number <= 0 || !aif_proc_stat(number, &up, &start))
				continue;
			parent = aif_ebpf_process(ps, (uint32_t)up, false);
			child = parent && parent->wanted
					? aif_ebpf_process(ps, (uint32_t)number, true)
					: NULL;
			if (!child || child->wanted)
				continue;
			child->wanted = more = true;
		}
		if (proc)
			closedir(proc);
	}
}

/* ---- what the side-band tells
 * -------------------------------------------------------------------- */

static void on_fork(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		    const struct aif_sideband *s)
{
	struct aif_ebpf_process *parent = aif_ebpf_process(ps, s->parent, false), *p;
	uint64_t i;

	/* A process of that number has ended, even if no exit was seen. */
	if (aif_map_get(&ps->by_pid, s->pid, &i) && i < ps->len && ps->at[i])
		process_drop(d, ps, i);
	if (!ps->all && s->parent != ps->own_pid && !(parent && parent->wanted))
		return;
	p = aif_ebpf_process(ps, s->pid, true);
	if (!p)
		return;
	p->parent = s->parent;
	p->wanted = true;
	p->seen_ns = s->time;
	if (!parent || !parent->maps_len ||
	    aif_grow(&p->maps, &p->maps_cap, parent->maps_len, sizeof(*p->maps)) < 0)
		return;
	memcpy(p->maps, parent->maps, parent->maps_len * sizeof(*p->maps));
	p->maps_len = parent->maps_len;
}

static void on_exec(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		    const struct aif_sideband *s)
{
	struct aif_ebpf_process *p = aif_ebpf_process(ps, s->pid, ps->all);

	if (!p)
		return;
	forget_code(p);
	p->has_execed = true;
	p->seen_ns = s->time;
	/* Another program is another process in the profile. */
	target_drop(d, p, s->time);
}

static void on_map(struct aif_ebpf_processes *ps, const struct aif_sideband *s)
{
	struct aif_ebpf_process *p = aif_ebpf_process(ps, s->pid, ps->all);
	struct aif_ebpf_mapping m = {
		.lo = s->lo, .hi = s->hi, .offset = s->offset, .inode = s->inode};

	if (!p)
		return;
	if (p->t)
		aif_address_map_remove(&p->t->ranges, s->lo, s->hi);
	m.path = p->maps_len < AIF_EBPF_MAPS && ps->paths.bytes_len < AIF_EBPF_PATHS
			 ? aif_strset_puts(&ps->paths, s->path)
			 : AIF_STR_NONE;
	/* Without it its maps are read. */
	if (m.path != AIF_STR_NONE &&
	    aif_grow(&p->maps, &p->maps_cap, p->maps_len + 1, sizeof(m)) == 0)
		p->maps[p->maps_len++] = m;
}

void aif_ebpf_processes_report(struct aif_drainer *d, struct aif_ebpf_processes *ps,
			       const struct aif_sideband *s)
{
	struct aif_ebpf_process *p;

	switch (s->kind) {
	case AIF_SIDEBAND_FORK:
		on_fork(d, ps, s);
		break;
	case AIF_SIDEBAND_EXEC:
		on_exec(d, ps, s);
		break;
	case AIF_SIDEBAND_MAP:
		on_map(ps, s);
		break;
	case AIF_SIDEBAND_EXIT:
		p = aif_ebpf_process(ps, s->pid, false);
		if (p)
			p->exit_ns = s->time;
		break;
	case AIF_SIDEBAND_LOST:
		for (size_t i = 0; i < ps->len; i++)
			if (ps->at[i])
				forget_code(ps->at[i]);
		break;
	case AIF_SIDEBAND_NONE:
		break;
	}
}

/* ---- what samples ask
 * ---------------------------------------------------------------------------- */

static uint32_t row_of(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		       const struct aif_ebpf_process *p, const char *comm, uint64_t time)
{
	struct aif_process row = {
		.pid = p->pid, .ppid = p->parent, .start_ns = time, .exit_status = -1};
	uint32_t known = aif_store_process_alive(d->store, p->pid);
	struct aif_buf arguments = {0};
	char path[64], text[4096];
	int parent;
	uint64_t start;
	ssize_t n;

	if (known != AIF_NONE)
		return known;
	if (ps->rows >= AIF_EBPF_ROWS)
		return AIF_NONE;
	snprintf(path, sizeof(path), "/proc/%u/exe", p->pid);
	n = readlink(path, text, sizeof(text));
	/* A thread of the kernel has no file; of a process that has ended the name is left. */
	row.exe = n > 0 ? aif_store_str(d->store, text, (size_t)n) : aif_store_puts(d->store, comm);
	(void)aif_process_text((int)p->pid, "cmdline", sizeof(text) - 1, &arguments);
	n = (ssize_t)AIF_MIN(arguments.len, sizeof(text));
	memcpy(text, aif_buf_str(&arguments), (size_t)n);
	aif_buf_finish(&arguments);
	while (n > 0 && !text[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	row.cmdline =
		n > 0 ? aif_store_str(d->store, text, (size_t)n) : aif_store_puts(d->store, comm);
	if (aif_proc_stat((int)p->pid, &parent, &start))
		row.ppid = (uint32_t)parent;
	row.host = aif_store_puts(d->store, ps->host);
	ps->rows++;
	return aif_store_process(d->store, &row);
}

/* A child that only lives for a moment has the code of its parent. */
static void inherit(struct aif_ebpf_processes *ps, struct aif_ebpf_process *p)
{
	struct aif_ebpf_process *parent =
		p->has_execed ? NULL : aif_ebpf_process(ps, p->parent, false);
	const struct aif_address_map *from = parent && parent->t ? &parent->t->ranges : NULL;

	if (!from || !from->len ||
	    aif_grow(&p->t->ranges.at, &p->t->ranges.cap, from->len, sizeof(*from->at)) < 0)
		return;
	memcpy(p->t->ranges.at, from->at, from->len * sizeof(*from->at));
	p->t->ranges.len = from->len;
}

struct aif_target *aif_ebpf_process_target(struct aif_drainer *d, struct aif_ebpf_processes *ps,
					   struct aif_ebpf_process *p, const char *comm,
					   uint64_t time)
{
	uint32_t row;

	for (struct aif_target *t = d->targets; t; t = t->next)
		if (t->pid == (int)p->pid && !t->ended)
			return t;
	p->seen_ns = time;
	if (p->t || p->refused)
		return p->t;
	row = row_of(d, ps, p, comm, time);
	if (row != AIF_NONE)
		p->t = aif_target_new(d, (int)p->pid, row, NULL, 0, 0);
	if (p->t) {
		inherit(ps, p);
	} else {
		p->refused = true;
		aif_store_loss(d->store, AIF_REASON_TOO_MANY_PROCESSES, AIF_NONE, AIF_NONE, 1);
	}
	return p->t;
}

/* The path of a process that has ended is taken for one of ours, if it leads to the same file.
 * While it lives its own view leads there (modfiles.h), where inodes may look different:
 * overlayfs. */
static bool is_there(const struct aif_target *t, const char *path, uint64_t inode)
{
	struct stat st;
	char proc[32];

	snprintf(proc, sizeof(proc), "/proc/%d/root", t->pid);
	return access(proc, F_OK) == 0 || (stat(path, &st) == 0 && st.st_ino == inode);
}

/* A mapping that the side-band has told of, put among the target's ranges. */
static bool mapping_use(struct aif_drainer *d, struct aif_ebpf_processes *ps, struct aif_target *t,
			const struct aif_ebpf_mapping *m)
{
	const char *path = aif_strset_get(&ps->paths, m->path, NULL);
	struct aif_address_range range = {.lo = m->lo, .hi = m->hi, .module = AIF_NONE};

	if (!strcmp(path, "[vdso]")) {
		range.base = range.lo;
		range.module =
			aif_store_module(d->store, AIF_MODULE_VDSO, path, strlen(path), NULL, 0);
	} else if (path[0] != '/' || !strncmp(path, "//", 2) || !strncmp(path, "/memfd:", 7)) {
		range.module = aif_target_jit(d, t, 0);
	} else if (!is_there(t, path, m->inode)) {
		range.module =
			aif_store_module(d->store, AIF_MODULE_ANON, path, strlen(path), NULL, 0);
	} else if (!aif_target_range_of_file(d, t, &range, m->offset, path)) {
		return false;
	}
	aif_address_map_add(&t->ranges, &range);
	return true;
}

const struct aif_address_range *
aif_ebpf_process_range(struct aif_drainer *d, struct aif_ebpf_processes *ps,
		       struct aif_ebpf_process *p, struct aif_target *t, uint64_t pc, uint64_t now)
{
	const struct aif_address_range *range = aif_address_map_find(&t->ranges, pc);

	if (range)
		return range;
	/* The latest that was mapped there. */
	for (size_t i = p->maps_len; t == p->t && i-- > 0;) {
		struct aif_ebpf_mapping m = p->maps[i];

		if (pc < m.lo || pc >= m.hi)
			continue;
		return mapping_use(d, ps, t, &m) ? aif_address_map_find(&t->ranges, pc) : NULL;
	}
	/* Mappings from before the side-band began are read once; later ones are in it. More
	 * reading would not explain where a frame pointer that was none has led, and took a fifth
	 * of the recorder's time. */
	if (t == p->t && (p->has_execed || t->maps_read_ns))
		return NULL;
	return aif_target_range(d, t, pc, now);
}

void aif_ebpf_processes_tidy(struct aif_drainer *d, struct aif_ebpf_processes *ps, uint64_t before)
{
	for (size_t i = 0; i < ps->len; i++) {
		struct aif_ebpf_process *p = ps->at[i];

		/* A process whose main thread has ended may have other threads that live on. */
		if (p && p->exit_ns && p->exit_ns < before && p->seen_ns < before)
			process_drop(d, ps, i);
	}
}

void aif_ebpf_processes_finish(struct aif_drainer *d, struct aif_ebpf_processes *ps)
{
	for (size_t i = 0; i < ps->len; i++)
		if (ps->at[i])
			process_drop(d, ps, i);
	aif_map_finish(&ps->by_pid);
	aif_strset_finish(&ps->paths);
	free(ps->at);
	free(ps->free);
	*ps = (struct aif_ebpf_processes){0};
}
