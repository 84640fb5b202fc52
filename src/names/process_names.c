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

void aif_thread_note(const struct aif_profile *p, uint32_t thread, struct aif_buf *out)
{
	const struct aif_thread *th = thread == AIF_NONE ? NULL : &p->threads[thread];
	const char *process =
		th && th->process != AIF_NONE ? aif_process_name(p, th->process) : NULL;
	bool is_main = th && th->process != AIF_NONE && p->processes[th->process].pid == th->tid;

	const char *name = th && th->name != AIF_NONE ? aif_profile_str(p, th->name) : "";
	char tid[16];

	/* Drops the word with which torch.profiler begins: "thread 4711 (python)". */
	if (!strncmp(name, "thread ", 7))
		name += 7;
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
