/* SPDX-License-Identifier: Apache-2.0 */
/* --processes: what the threads of each process did with their time, and which processes it has started. cpu_all is what the OS says
 * of all its threads, the whole run. */
#include "report/thread_times.h"

#include "analysis/cpu_totals.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

static const struct aif_table_column columns[] = {
	{"cpu", AIF_TABLE_NS},        {"cpu_all", AIF_TABLE_NS},     {"waiting", AIF_TABLE_NS},
	{"calls", AIF_TABLE_NS},      {"off_cpu", AIF_TABLE_NS},     {"launches", AIF_TABLE_COUNT},
	{"threads", AIF_TABLE_COUNT}, {"children", AIF_TABLE_COUNT}, {"process", AIF_TABLE_ID},
	{"parent", AIF_TABLE_ID},     {"program", AIF_TABLE_TEXT},
};

/* Returns a number of a process that no other host's has. */
static uint64_t pid_of(const struct aif_process *p, uint32_t pid)
{
	return (uint64_t)p->host << 32 | pid;
}

/* Counts the processes that each has started. Two that have had one number in turn are told apart by nobody. */
static int count_children(const struct aif_profile *p, struct aif_thread_times *of)
{
	struct aif_map by_pid = {0};
	uint64_t parent;
	int e = 0;

	for (size_t i = 0; i < p->processes_len && !e; i++)
		e = aif_map_put(&by_pid, pid_of(&p->processes[i], p->processes[i].pid), i);
	for (size_t i = 0; i < p->processes_len && !e; i++)
		if (aif_map_get(&by_pid, pid_of(&p->processes[i], p->processes[i].ppid), &parent) &&
		    parent != i)
			of[parent].children++;
	aif_map_finish(&by_pid);
	return e;
}

static void put_process(struct aif_report *r, uint32_t process, const struct aif_thread_times *d)
{
	const struct aif_process *p = &r->p->processes[process];

	aif_table_number(&r->t, d->cpu);
	aif_table_number(&r->t, p->cpu_ns);
	aif_table_number(&r->t, d->waiting);
	aif_table_number(&r->t, d->calls);
	aif_table_number(&r->t, d->off_cpu);
	aif_table_number(&r->t, d->launches);
	aif_table_number(&r->t, d->threads);
	aif_table_number(&r->t, d->children);
	aif_report_process_cell(r, process);
	aif_table_id(&r->t, p->ppid, NULL);
	aif_table_text(&r->t, p->exe == AIF_NONE ? "" : aif_profile_str(r->p, p->exe));
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_profile *p = r->p;
	const bool *kept = r->o->sel ? r->o->sel->processes : NULL;
	struct aif_thread_times *of = calloc(p->threads_len + 1, sizeof(*of));
	struct aif_thread_times *sums = calloc(p->processes_len + 1, sizeof(*sums));
	int e = of && sums ? aif_thread_times_add(r, of, err) : -ENOMEM;

	aif_report_note_captured(r, ":");
	for (size_t i = 0; i < p->threads_len && !e; i++) {
		struct aif_thread_times *to =
			p->threads[i].process == AIF_NONE ? NULL : &sums[p->threads[i].process];

		if (!to || !aif_thread_times_seen(&of[i]))
			continue;
		to->cpu += of[i].cpu;
		to->waiting += of[i].waiting;
		to->calls += of[i].calls;
		to->off_cpu += of[i].off_cpu;
		to->launches += of[i].launches;
		to->threads += aif_cpu_is_thread(p, (uint32_t)i);
	}
	if (!e)
		e = count_children(p, sums);
	for (uint32_t i = 0; i < p->processes_len && !e; i++)
		if (aif_selection_keeps(kept, i) &&
		    (aif_thread_times_seen(&sums[i]) || sums[i].children || p->processes[i].cpu_ns))
			put_process(r, i, &sums[i]);
	free(of);
	free(sums);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_processes = {
	.lacks = AIF_LACK_CPU | AIF_LACK_OFF_CPU | AIF_LACK_RECORDS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "processes that were sampled, waited or launched",
	.no_kernel = "a process's time is of no kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
