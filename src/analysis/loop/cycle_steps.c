/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/loop/cycle_steps.h"

#include "analysis/loop/phases.h"
#include "base/clock.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Turns are found by what recurs ten times (analysis/loop/loop.h), and a loop is seldom regular from its first turn on. */
#define TURNS_KEPT 24
#define KEPT_NS    (60 * AIF_NS_PER_S)

/* ---- marks ----------------------------------------------------------------------------------- */

struct marks {
	const struct aif_profile *p;
	uint64_t first, last; /* numbers of the steps that are looked for */
	uint64_t from, to;    /* begin and end of the steps that were found, CLOCK_MONOTONIC */
	uint64_t highest;     /* number of the last step that was found */
	uint64_t before;      /* end of the steps before */
	uint64_t next; /* the first step behind those looked for; UINT64_MAX: none was found */
	bool found, any;
	bool *begun, *ended; /* by thread: a step of the cycle, the last one */
};

static int take_marks(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct marks *m = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *r = &rows[i];
		uint64_t step;

		if (r->kind != AIF_OP_STEP || r->thread == AIF_NONE || r->name == AIF_NONE ||
		    sscanf(aif_profile_str(m->p, r->name), "step#%" SCNu64, &step) != 1)
			continue;
		m->any = true;
		if (step > m->last)
			m->next = AIF_MIN(m->next, step);
		else if (step < m->first)
			m->before = AIF_MAX(m->before, r->end);
		if (step > m->last || step < m->first)
			continue;
		m->from = m->found ? AIF_MIN(m->from, r->start) : r->start;
		m->to = AIF_MAX(m->to, r->end);
		m->highest = AIF_MAX(m->highest, step);
		m->found = m->begun[r->thread] = true;
		m->ended[r->thread] |= step == m->last;
	}
	return 0;
}

static uint64_t since_start(const struct aif_profile *p, uint64_t at)
{
	return at > p->start_ns ? at - p->start_ns : 0;
}

static int read_marks(const struct aif_profile *p, struct marks *m, bool *ret_all_ended)
{
	int r;

	m->begun = calloc(p->threads_len + 1, sizeof(*m->begun));
	m->ended = calloc(p->threads_len + 1, sizeof(*m->ended));
	r = m->begun && m->ended ? aif_profile_ops(p, take_marks, m, NULL) : -ENOMEM;
	*ret_all_ended = true;
	for (size_t i = 0; !r && i < p->threads_len; i++)
		*ret_all_ended &= m->ended[i] || !m->begun[i];
	free(m->begun);
	free(m->ended);
	return r;
}

static int find_marked(struct aif_cycle_steps *c, const struct aif_profile *p, bool is_over,
		       struct aif_cycle *ret)
{
	while (!c->schedule->repeat || c->cycles < c->schedule->repeat) {
		uint64_t first = aif_schedule_first(c->schedule, c->cycles);
		struct marks m = {.p = p,
				  .first = first,
				  .last = first + c->schedule->active - 1,
				  .next = UINT64_MAX};
		bool all_ended;
		int r = read_marks(p, &m, &all_ended);

		if (r)
			return r;
		c->has_marks |= m.any;
		if (m.before)
			c->keep_from = AIF_MAX(c->keep_from, since_start(p, m.before));
		if (!m.found && m.next != UINT64_MAX) {
			/* A pause has swallowed it. */
			c->cycles = AIF_MAX(c->cycles + 1, aif_schedule_cycle(c->schedule, m.next));
			continue;
		}
		if (!m.found || (m.highest != m.last && m.next == UINT64_MAX && !is_over))
			return 0;
		*ret = (struct aif_cycle){.first = m.first,
					  .last = m.highest,
					  .from_ns = since_start(p, m.from),
					  .to_ns = since_start(p, m.to)};
		return all_ended || is_over ? 1 : 2;
	}
	return 0;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Keeps what turns are found in. */
static void keep_turns(struct aif_cycle_steps *c, const struct aif_profile *p,
		       const struct aif_phases *f)
{
	uint64_t now = p->end_ns - p->start_ns, kept = AIF_MAX(KEPT_NS, TURNS_KEPT * f->median_ns);

	if (now > kept)
		c->keep_from = AIF_MAX(c->keep_from, now - kept);
}

static int find_turns(struct aif_cycle_steps *c, const struct aif_profile *p, bool is_over,
		      struct aif_cycle *ret)
{
	uint64_t first = aif_schedule_first(c->schedule, c->cycles),
		 last = first + c->schedule->active - 1;
	const struct aif_exec_timeline *t;
	struct aif_phases f = {0};
	size_t i = 0, len;
	int r = aif_exec_timeline_get(p, NULL, &t);

	if (!r)
		r = aif_phases_find(p, NULL, t, &f);
	c->is_sparse |= !r && f.from == AIF_PHASES_TURNS && f.is_sparse;
	if (r || f.from != AIF_PHASES_TURNS || f.is_sparse)
		goto out;
	/* The last turn may go on. */
	len = f.len - !is_over;
	while (c->turns && i < len && f.steps[i].start < c->turns_at - (int64_t)(f.median_ns / 2))
		i++;
	if (c->turns > first || i + (first - c->turns) >= len)
		goto out;
	first = i + (first - c->turns);
	last = i + (last - c->turns);
	if (last >= len && !is_over)
		goto out;
	last = AIF_MIN(last, len - 1);
	*ret = (struct aif_cycle){.first = c->turns + first - i,
				  .last = c->turns + last - i,
				  .from_ns = (uint64_t)AIF_MAX(f.steps[first].start, 0),
				  .to_ns = (uint64_t)AIF_MAX(f.steps[last].end, 0)};
	r = ret->to_ns > ret->from_ns;
out:
	keep_turns(c, p, &f);
	aif_phases_finish(&f);
	aif_facts_put(t);
	return r;
}

/* ---------------------------------------------------------------------------------------------- */

int aif_cycle_steps_find(struct aif_cycle_steps *c, const struct aif_profile *p, bool is_over,
			 struct aif_cycle *ret)
{
	int r;

	r = find_marked(c, p, is_over, ret);
	if (r || c->has_marks || (c->schedule->repeat && c->cycles >= c->schedule->repeat))
		return r;
	return find_turns(c, p, is_over, ret);
}

void aif_cycle_steps_next(struct aif_cycle_steps *c, const struct aif_cycle *cycle)
{
	c->cycles++;
	c->turns = cycle->last + 1;
	c->turns_at = (int64_t)cycle->to_ns;
	if (c->has_marks)
		c->keep_from = AIF_MAX(c->keep_from, cycle->to_ns);
}
