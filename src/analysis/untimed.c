/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/untimed.h"

#include "profile/file.h"
#include "analysis/ebpf_launches.h"

#include <errno.h>
#include <string.h>

struct adding {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_attribution *a;
	size_t cap;
	bool *have_times;        /* processes that executed something */
	bool *lack_times;        /* processes whose driver gave none for some launches */
	struct aif_map executed; /* launches of those that are both */
	struct aif_map
		by_stack; /* stack, kernel, process and others (hashed) -> index of a->rows */
};

static int exec_add(struct adding *s, const struct aif_exec_row *row)
{
	if (row->process == AIF_NONE)
		return 0;
	s->have_times[row->process] = true;
	return s->lack_times[row->process] ? aif_map_put(&s->executed, row->launch, 1) : 0;
}

static int execs_add(void *arg, const struct aif_exec_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = exec_add(arg, &rows[i]);
	return r;
}

/* Returns true if the driver gave no time for the launch. Other launches without times were in
 * flight, or are lost. */
static bool is_untimed(const struct adding *s, const struct aif_launch_row *row, uint32_t process)
{
	if (aif_is_ebpf_launch(s->p, row))
		return true;
	if (process == AIF_NONE || row->time < s->p->kept_ns)
		return false;
	if (!s->have_times[process])
		return true;
	return s->lack_times[process] && !aif_map_get(&s->executed, row->launch, NULL);
}

static uint32_t device_of(const struct adding *s, const struct aif_launch_row *row)
{
	return row->device != AIF_NONE   ? row->device
	       : row->stream != AIF_NONE ? s->p->streams[row->stream].device
					 : AIF_NONE;
}

static bool is_asked(const struct adding *s, const struct aif_launch_row *row, uint32_t process)
{
	const struct aif_selection *w = s->sel;
	uint64_t at = row->time > s->p->start_ns ? row->time - s->p->start_ns : 0;
	uint32_t device = device_of(s, row);

	if (!w)
		return true;
	return at >= w->from_ns && (!w->to_ns || at < w->to_ns) &&
	       (!w->devices || (device != AIF_NONE && w->devices[device])) &&
	       aif_selection_keeps_work(w, row->thread, (int64_t)at) &&
	       (!w->processes || (process != AIF_NONE && w->processes[process]));
}

static int row_add(struct adding *s, const struct aif_launch_row *row, uint32_t process)
{
	uint64_t at = row->time > s->p->start_ns ? row->time - s->p->start_ns : 0;
	uint32_t range = s->sel ? aif_selection_work_range(s->sel, row->thread, (int64_t)at) : 0,
		 device = device_of(s, row), words[] = {row->stack,  row->kernel, process, device,
							row->stream, row->kind,   range};
	uint64_t key = aif_hash_bytes(words, sizeof(words)), i;

	for (; aif_map_get(&s->by_stack, key, &i); key++) {
		struct aif_attribution_row *known = &s->a->rows[i];

		if (known->stack == row->stack && known->kernel == row->kernel &&
		    known->process == process && known->device == device &&
		    known->stream == row->stream && known->kind == row->kind &&
		    known->range == range) {
			known->launches++;
			known->bytes += row->bytes;
			return 0;
		}
	}
	if (aif_grow(&s->a->rows, &s->cap, s->a->rows_len + 1, sizeof(*s->a->rows)) < 0 ||
	    aif_map_put(&s->by_stack, key, s->a->rows_len) < 0)
		return -ENOMEM;
	s->a->rows[s->a->rows_len++] = (struct aif_attribution_row){
		.process = process,
		.device = device,
		.stream = row->stream,
		.kind = row->kind,
		.kernel = row->kernel,
		.stack = row->stack,
		.capture = AIF_NONE,
		.range = range,
		.frame = AIF_NONE,
		.reason = AIF_NONE,
		.launches = 1,
		.bytes = row->bytes,
	};
	return 0;
}

static int rows_add(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct adding *s = arg;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		uint32_t process = rows[i].thread == AIF_NONE
					   ? AIF_NONE
					   : s->p->threads[rows[i].thread].process;

		if (is_untimed(s, &rows[i], process) && is_asked(s, &rows[i], process))
			r = row_add(s, &rows[i], process);
	}
	return r;
}

static void finish(struct adding *s)
{
	aif_map_finish(&s->by_stack);
	aif_map_finish(&s->executed);
	free(s->have_times);
	free(s->lack_times);
}

int aif_untimed_add(const struct aif_profile *p, const struct aif_selection *sel,
		    struct aif_attribution *a, struct aif_err *err)
{
	/* Spare room behind computed rows is not known: the first row added moves them. */
	struct adding s = {.p = p,
			   .sel = sel,
			   .a = a,
			   .cap = a->rows_len,
			   .have_times = calloc(p->processes_len + 1, sizeof(bool)),
			   .lack_times = calloc(p->processes_len + 1, sizeof(bool))};
	int r = s.have_times && s.lack_times ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < p->losses_len; i++)
		if (p->losses[i].reason == AIF_REASON_NO_TIMES && p->losses[i].process != AIF_NONE)
			s.lack_times[p->losses[i].process] = true;
	if (!r)
		r = aif_profile_execs(p, execs_add, &s, NULL);
	if (!r)
		r = aif_profile_launches(p, rows_add, &s, NULL);
	finish(&s);
	return r < 0 ? aif_err_set(err, r, "reading launches: %s", strerror(-r)) : 0;
}

uint64_t aif_untimed_count(const struct aif_profile *p)
{
	struct aif_attribution a = {0};
	uint64_t n = 0;

	if (aif_untimed_add(p, NULL, &a, NULL) == 0)
		for (size_t i = 0; i < a.rows_len; i++)
			n += a.rows[i].launches;
	aif_attribution_finish(&a);
	return n;
}
