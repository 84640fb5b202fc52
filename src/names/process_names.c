/* SPDX-License-Identifier: Apache-2.0 */
#include "names/process_names.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Programs that a process was before it became the one that uses a device have its number, too. */
static bool is_counted(const struct aif_process *p)
{
	return p->flags & AIF_PROCESS_RUNTIME && p->cmdline != AIF_NONE;
}

static bool are_alike(const struct aif_process *a, const struct aif_process *b)
{
	return is_counted(a) && is_counted(b) && a->pid == b->pid && a->cmdline != b->cmdline;
}

/* Shows the names of processes of files that were imported together, where no other number has the
 * name. */
static int find_shown(struct aif_process_names *n)
{
	const struct aif_profile *p = n->p;
	struct aif_map first = {0}; /* by name: the first process that has it */
	uint64_t other;
	int r = 0;

	if (!*aif_profile_meta(p, "imported.files"))
		return 0;
	for (uint32_t i = 0; i < p->processes_len && !r; i++) {
		if (!is_counted(&p->processes[i]))
			continue;
		n->are_shown[i] = *aif_profile_str(p, p->processes[i].cmdline);
		if (!aif_map_get(&first, p->processes[i].cmdline, &other))
			r = aif_map_put(&first, p->processes[i].cmdline, i);
		else if (p->processes[i].pid != p->processes[other].pid)
			n->are_shown[other] = false;
	}
	/* All processes of a name are shown as the first one is. */
	for (uint32_t i = 0; i < p->processes_len && !r; i++) {
		if (n->are_shown[i] && aif_map_get(&first, p->processes[i].cmdline, &other))
			n->are_shown[i] = n->are_shown[other];
		n->any_shown |= n->are_shown[i];
	}
	aif_map_finish(&first);
	return r;
}

int aif_process_names_init(struct aif_process_names *n, const struct aif_profile *p)
{
	struct aif_map first = {0}; /* by number: the first process that has it */
	uint64_t other;
	int r = 0;

	*n = (struct aif_process_names){.p = p};
	n->are_alike = aif_memory_calloc(p->processes_len + 1, sizeof(*n->are_alike));
	n->are_shown = aif_memory_calloc(p->processes_len + 1, sizeof(*n->are_shown));
	if (!n->are_alike || !n->are_shown)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->processes_len && !r; i++) {
		if (!is_counted(&p->processes[i]))
			continue;
		if (!aif_map_get(&first, p->processes[i].pid, &other))
			r = aif_map_put(&first, p->processes[i].pid, i);
		else if (are_alike(&p->processes[i], &p->processes[other]))
			n->any = n->are_alike[other] = true;
	}
	/* All processes of a number are alike if the first one is. */
	for (uint32_t i = 0; i < p->processes_len && !r && n->any; i++)
		if (is_counted(&p->processes[i]) &&
		    aif_map_get(&first, p->processes[i].pid, &other))
			n->are_alike[i] = n->are_alike[other];
	aif_map_finish(&first);
	return r ? r : find_shown(n);
}

void aif_process_names_finish(struct aif_process_names *n)
{
	free(n->are_alike);
	free(n->are_shown);
	*n = (struct aif_process_names){0};
}

const char *aif_process_names_get(const struct aif_process_names *n, uint32_t process)
{
	return process != AIF_NONE && n->are_alike[process]
		       ? aif_profile_str(n->p, n->p->processes[process].cmdline)
		       : NULL;
}

const char *aif_process_names_show(const struct aif_process_names *n, uint32_t process)
{
	return process != AIF_NONE && n->are_shown[process]
		       ? aif_profile_str(n->p, n->p->processes[process].cmdline)
		       : aif_process_names_get(n, process);
}

const char *aif_process_name(const struct aif_profile *p, uint32_t process)
{
	for (size_t i = 0; process != AIF_NONE && i < p->processes_len; i++)
		if (are_alike(&p->processes[i], &p->processes[process]))
			return aif_profile_str(p, p->processes[process].cmdline);
	return NULL;
}

static bool is_main_thread(const struct aif_profile *p, const struct aif_thread *th)
{
	return th->process != AIF_NONE && p->processes[th->process].pid == th->tid;
}

static const char *thread_name(const struct aif_profile *p, const struct aif_thread *th)
{
	const char *name = th->name != AIF_NONE ? aif_profile_str(p, th->name) : "";

	/* Drops the word with which torch.profiler begins: "thread 4711 (python)". */
	return strncmp(name, "thread ", 7) ? name : name + 7;
}

void aif_thread_note(const struct aif_process_names *n, uint32_t thread, struct aif_buf *out)
{
	const struct aif_profile *p = n->p;
	const struct aif_thread *th = thread == AIF_NONE ? NULL : &p->threads[thread];
	const char *process = th ? aif_process_names_get(n, th->process) : NULL;
	bool is_main = th && is_main_thread(p, th);
	const char *name = th ? thread_name(p, th) : "";
	char tid[16];

	snprintf(tid, sizeof(tid), "%" PRIu32, th ? th->tid : 0);
	aif_buf_printf(out, "[%s%s%sthread", process ? process : "", process ? ", " : "",
		       is_main ? "main " : "");
	if (*name)
		aif_buf_printf(out, " %s", name);
	if (!th)
		aif_buf_puts(out, " unknown");
	else if (strncmp(name, tid, strlen(tid)) != 0 || isdigit((unsigned char)name[strlen(tid)]))
		aif_buf_printf(out, " %s", tid);
	aif_buf_putc(out, ']');
}

/* Returns what the threads of a group have in common. */
static uint64_t group_of(const struct aif_thread *th)
{
	return (uint64_t)th->process << 32 | th->name;
}

int aif_thread_groups_init(struct aif_thread_groups *g, const struct aif_profile *p,
			   const uint32_t *at, size_t len)
{
	struct aif_map sizes = {0};
	int r;

	g->threads = NULL;
	r = aif_process_names_init(&g->processes, p);
	if (r < 0 || len <= AIF_THREAD_TOWERS)
		return r;
	g->threads = aif_memory_calloc(p->threads_len + 1, sizeof(*g->threads));
	if (!g->threads)
		return -ENOMEM;
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < len && !r; i++) {
			const struct aif_thread *th = at[i] == AIF_NONE ? NULL : &p->threads[at[i]];
			uint64_t size = 0;

			if (!th || is_main_thread(p, th))
				continue;
			aif_map_get(&sizes, group_of(th), &size);
			if (pass)
				g->threads[at[i]] = size > 1 ? (uint32_t)size : 0;
			else
				r = aif_map_put(&sizes, group_of(th), size + 1);
		}
	aif_map_finish(&sizes);
	return r;
}

void aif_thread_groups_finish(struct aif_thread_groups *g)
{
	free(g->threads);
	aif_process_names_finish(&g->processes);
	*g = (struct aif_thread_groups){0};
}

void aif_thread_groups_note(const struct aif_thread_groups *g, uint32_t thread, struct aif_buf *out)
{
	const struct aif_profile *p = g->processes.p;
	const struct aif_thread *th = thread == AIF_NONE ? NULL : &p->threads[thread];
	const char *name, *process;

	if (!th || !g->threads || !g->threads[thread]) {
		aif_thread_note(&g->processes, thread, out);
		return;
	}
	name = thread_name(p, th);
	process = aif_process_names_get(&g->processes, th->process);
	aif_buf_putc(out, '[');
	if (process)
		aif_buf_printf(out, "%s, ", process);
	aif_buf_printf(out, "%" PRIu32 " threads", g->threads[thread]);
	if (*name)
		aif_buf_printf(out, " %s", name);
	/* Groups of two processes are no one tower, even where they are alike. */
	if (!process && th->process != AIF_NONE && p->processes_len > 1)
		aif_buf_printf(out, " of %" PRIu32, p->processes[th->process].pid);
	aif_buf_putc(out, ']');
}
