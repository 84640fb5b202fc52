/* SPDX-License-Identifier: Apache-2.0 */
#include "record/reduce/reduced_sums.h"

#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>

/* Launch numbers of one slot of a process agree above this bit (wire/wire.h). */
#define SLOT_SHIFT 40

void aif_reduced_sums_finish(struct aif_reduced_sums *s)
{
	for (size_t i = 0; i < s->processes_len; i++) {
		aif_step_sums_finish(&s->processes[i].sums);
		aif_map_finish(&s->processes[i].busy_to);
	}
	free(s->processes);
	free(s->launches);
	free(s->before);
	aif_map_finish(&s->older);
	free(s->execs);
	aif_map_finish(&s->computes);
	*s = (struct aif_reduced_sums){.launches = NULL};
}

/* Does without sums from now on: a recording is whole without them. */
static void give_up(struct aif_reduced_sums *s)
{
	aif_reduced_sums_finish(s);
	s->is_incomplete = true;
}

void aif_reduced_sums_launch(struct aif_reduced_sums *s, const struct aif_launch_row *row,
			     uint32_t process, size_t block)
{
	if (s->is_incomplete)
		return;
	if (s->launches_len == AIF_REDUCED_SUMS_MOST ||
	    aif_grow(&s->launches, &s->launches_cap, s->launches_len + 1, sizeof(*s->launches)) < 0)
		give_up(s);
	else
		s->launches[s->launches_len++] =
			(struct aif_reduced_sums_launch){.launch = row->launch,
							 .process = process,
							 .block = (uint32_t)block,
							 .stack = row->stack};
}

void aif_reduced_sums_exec(struct aif_reduced_sums *s, const struct aif_exec_row *row)
{
	if (s->is_incomplete)
		return;
	/* Stamps of a device's own clock are not yet times. */
	if (s->execs_len == AIF_REDUCED_SUMS_MOST || row->clock >= AIF_CLOCK_DEVICE ||
	    aif_grow(&s->execs, &s->execs_cap, s->execs_len + 1, sizeof(*s->execs)) < 0)
		give_up(s);
	else
		s->execs[s->execs_len++] =
			(struct aif_reduced_sums_exec){.launch = row->launch,
						       .start = row->start,
						       .end = AIF_MAX(row->start, row->end),
						       .process = row->process,
						       .device = row->device,
						       .kind = row->kind,
						       .kernel = row->kernel,
						       .communicates = row->collective != 0};
}

static int by_launch(const void *a, const void *b)
{
	const struct aif_reduced_sums_launch *x = a, *y = b;

	return x->launch < y->launch ? -1 : x->launch > y->launch;
}

static int by_device(const void *a, const void *b)
{
	const struct aif_reduced_sums_exec *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* An execution of a step of this round. */
struct item {
	uint32_t block;
	struct aif_step_exec x;
};

static int by_block(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->block < y->block ? -1 : x->block > y->block;
}

static const struct aif_reduced_sums_launch *find(const struct aif_reduced_sums_launch *at,
						  size_t len, uint64_t launch, uint32_t process)
{
	size_t i = AIF_BISECT(mid, 0, len, at[mid].launch < launch);

	return i < len && at[i].launch == launch && at[i].process == process ? &at[i] : NULL;
}

static const struct aif_reduced_sums_launch *launch_of(const struct aif_reduced_sums *s,
						       uint64_t launch, uint32_t process)
{
	return find(s->launches, s->launches_len, launch, process);
}

/* Returns the process's own, made if there is none; NULL: no memory. */
static struct aif_reduced_sums_process *find_process(struct aif_reduced_sums *s, uint32_t process)
{
	if (aif_grow(&s->processes, &s->processes_cap, (size_t)process + 1, sizeof(*s->processes)) <
	    0)
		return NULL;
	while (s->processes_len <= process)
		s->processes[s->processes_len++] = (struct aif_reduced_sums_process){0};
	return &s->processes[process];
}

/* Makes the items of an execution: itself, and the idle time up to it in the step of this round in which most of that lies, else in
 * its own. */
static void take(struct aif_reduced_sums *s, const struct aif_profile *p,
		 const struct aif_reduced_steps *steps, const struct aif_reduced_sums_exec *x,
		 const struct aif_reduced_sums_launch *l, uint64_t busy_to, struct item *items,
		 size_t *len)
{
	struct item i = {
		.block = l->block,
		.x = {.device = x->device,
		      .kind = x->kind,
		      .kernel = x->kernel,
		      .stack = l->stack,
		      .computes = !x->communicates &&
				  aif_step_sums_computes(p, &s->computes, x->kind, x->kernel),
		      .ns = x->end - x->start}};
	const struct aif_reduced_block *in;

	items[(*len)++] = i;
	if (!busy_to || x->start <= busy_to)
		return;
	in = aif_reduced_steps_at(steps, busy_to + (x->start - busy_to) / 2);
	if (in && in->is_step)
		i.block = (uint32_t)(in - steps->blocks);
	i.x.is_idle = true;
	i.x.ns = x->start - busy_to;
	items[(*len)++] = i;
}

/* Makes the items of a process. 0 or -ENOMEM. */
static int collect(struct aif_reduced_sums *s, const struct aif_profile *p, uint32_t process,
		   const struct aif_reduced_steps *steps, struct aif_reduced_sums_process *of,
		   struct item *items, size_t *ret_len)
{
	size_t from = AIF_BISECT(mid, 0, s->execs_len, s->execs[mid].process < process);
	uint64_t busy_to = 0; /* of the device; 0: it had no execution yet */
	int e = 0;

	*ret_len = 0;
	for (size_t i = from; i < s->execs_len && s->execs[i].process == process && !e; i++) {
		const struct aif_reduced_sums_exec *x = &s->execs[i];
		const struct aif_reduced_sums_launch *l = launch_of(s, x->launch, process);

		if (i == from || x->device != x[-1].device) {
			busy_to = 0;
			aif_map_get(&of->busy_to, x->device, &busy_to);
		}
		if (l)
			take(s, p, steps, x, l, busy_to, items, ret_len);
		busy_to = AIF_MAX(busy_to, x->end);
		if (i + 1 == s->execs_len || x[1].process != process || x[1].device != x->device)
			e = aif_map_put(&of->busy_to, x->device, busy_to);
	}
	return e;
}

/* Adds the steps of this round to a process's. 0 or -ENOMEM. */
static int add_steps(struct aif_reduced_sums *s, const struct aif_profile *p, uint32_t process,
		     const struct aif_reduced_steps *steps)
{
	struct aif_reduced_sums_process *of = find_process(s, process);
	struct item *items = malloc((2 * s->execs_len + 1) * sizeof(*items));
	size_t len, at = 0;
	int e;

	if (!of || !items) {
		free(items);
		return -ENOMEM;
	}
	aif_sort(s->launches, s->launches_len, sizeof(*s->launches), by_launch);
	aif_sort(s->execs, s->execs_len, sizeof(*s->execs), by_device);
	for (size_t i = 0; i < s->launches_len; i++)
		if (s->launches[i].process == process)
			s->launches[i].is_of_step = steps->blocks[s->launches[i].block].is_step;
	e = collect(s, p, process, steps, of, items, &len);
	aif_sort(items, len, sizeof(*items), by_block);
	of->sums.thread = steps->thread;
	for (size_t i = 0; i < steps->blocks_len && !e; i++) {
		bool is_step = steps->blocks[i].is_step;

		for (; at < len && items[at].block == i && !e; at++)
			e = is_step ? aif_step_sums_exec(&of->sums, &items[at].x) : 0;
		if (!e && is_step)
			e = aif_step_sums_step(&of->sums, steps->blocks[i].from,
					       steps->blocks[i].to);
	}
	free(items);
	return e;
}

void aif_reduced_sums_round(struct aif_reduced_sums *s, const struct aif_profile *p,
			    uint32_t process, const struct aif_reduced_steps *steps)
{
	if (!s->is_incomplete && steps->blocks_len && add_steps(s, p, process, steps) < 0)
		give_up(s);
}

/* True for an execution whose step was added before it came. Of what was launched two rounds ago and more nothing is held: all that has
 * a number up to that of a step's launch counts. */
static bool is_missed(const struct aif_reduced_sums *s, const struct aif_reduced_sums_exec *x)
{
	uint64_t most;

	if (launch_of(s, x->launch, x->process))
		return false;
	return find(s->before, s->before_len, x->launch, x->process) ||
	       (aif_map_get(&s->older, x->launch >> SLOT_SHIFT, &most) && x->launch <= most);
}

/* Takes the launches of steps for those of the round before. 0 or -ENOMEM. */
static int keep_launches(struct aif_reduced_sums *s)
{
	for (size_t i = 0; i < s->before_len; i++) {
		uint64_t launch = s->before[i].launch, most = 0;

		aif_map_get(&s->older, launch >> SLOT_SHIFT, &most);
		if (launch >= most && aif_map_put(&s->older, launch >> SLOT_SHIFT, launch) < 0)
			return -ENOMEM;
	}
	s->before_len = 0;
	if (s->launches_len &&
	    aif_grow(&s->before, &s->before_cap, s->launches_len, sizeof(*s->before)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->launches_len; i++)
		if (s->launches[i].is_of_step)
			s->before[s->before_len++] = s->launches[i];
	return 0;
}

void aif_reduced_sums_next(struct aif_reduced_sums *s)
{
	if (s->is_incomplete)
		return;
	aif_sort(s->launches, s->launches_len, sizeof(*s->launches), by_launch);
	for (size_t i = 0; i < s->execs_len; i++)
		s->missed += is_missed(s, &s->execs[i]);
	if (keep_launches(s) < 0)
		give_up(s);
	s->launches_len = s->execs_len = 0;
}

int aif_reduced_sums_write(struct aif_reduced_sums *s, struct aif_writer *w, struct aif_err *err)
{
	int e = 0;

	for (size_t i = 0; i < s->processes_len && !e; i++)
		e = aif_step_sums_end(&s->processes[i].sums);
	if (e) {
		give_up(s);
		return 0;
	}
	for (size_t i = 0; i < s->processes_len && !e; i++) {
		const struct aif_step_sums *sums = &s->processes[i].sums;

		if (sums->rows_len)
			e = aif_writer_step_sums(w, sums->rows, sums->rows_len, err);
	}
	return e;
}
