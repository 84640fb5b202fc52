/* SPDX-License-Identifier: Apache-2.0 */
#include "report/op_calls.h"

#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>

/* Operators that are nested deeper are not counted. */
enum { NESTED_MAX = 64 };

/* A call that the thread is in: of an operator, under a stack. */
struct open_call {
	uint32_t under, name;
};

struct counting {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	const uint32_t *of_frame;
	struct aif_op_calls *ret;
	uint32_t *by_thread;        /* launches by thread, then time */
	const uint32_t *first_exec; /* by launch: AIF_NONE, none; NULL: nobody needs them */
	struct aif_map last;        /* stack -> the outermost call that has it, by number */
	struct open_call open[NESTED_MAX], now[NESTED_MAX];
	size_t open_len;
	uint64_t outermost; /* number of the outermost call */
};

/* Finds the operators on a stack, the outermost first. An operator that calls itself again for another backend is one. */
static size_t operators_on(struct counting *c, uint32_t stack)
{
	size_t n = 0;

	for (uint32_t s = stack; s != AIF_NONE; s = c->p->stacks[s].parent) {
		uint32_t frame = c->p->stacks[s].frame,
			 name = frame == AIF_NONE ? AIF_NONE : c->of_frame[frame];

		if (name == AIF_NONE)
			continue;
		if (n && c->now[n - 1].name == name)
			n--;
		if (n == NESTED_MAX) { /* the outermost ones count */
			for (size_t i = 1; i < n; i++)
				c->now[i - 1] = c->now[i];
			n--;
		}
		c->now[n++] = (struct open_call){c->p->stacks[s].parent, name};
	}
	for (size_t i = 0; i < n / 2; i++) {
		struct open_call x = c->now[i];

		c->now[i] = c->now[n - 1 - i];
		c->now[n - 1 - i] = x;
	}
	return n;
}

static int add_call(struct counting *c, uint32_t launch, uint32_t name)
{
	uint32_t thread = aif_timeline_thread_of(c->t, launch),
		 process = thread == AIF_NONE ? AIF_NONE : c->p->threads[thread].process;
	const struct aif_timeline_exec *x = !c->first_exec || c->first_exec[launch] == AIF_NONE
						    ? NULL
						    : &c->t->execs[c->first_exec[launch]];
	struct aif_op_calls *to = c->ret;
	uint64_t key = (uint64_t)process << 32 | name, row;

	if (!aif_map_get(&to->of, key, &row)) {
		row = to->rows_len;
		if (aif_grow(&to->rows, &to->rows_cap, row + 1, sizeof(*to->rows)) < 0 ||
		    aif_map_put(&to->of, key, row) < 0)
			return -ENOMEM;
		to->rows[to->rows_len++] =
			(struct aif_op_calls_row){.process = process, .name = name};
	}
	return aif_estimate_add(&to->rows[row].calls, c->t->weights,
				x ? aif_timeline_cycle_of(c->t, x) : AIF_NONE, 1);
}

static int add_launch(struct counting *c, uint32_t launch)
{
	uint32_t stack = c->t->launches[launch].stack;
	size_t n = operators_on(c, stack), same = 0;
	uint64_t last;

	while (same < n && same < c->open_len && c->open[same].under == c->now[same].under &&
	       c->open[same].name == c->now[same].name)
		same++;
	if (n && aif_map_get(&c->last, stack, &last) && last == c->outermost)
		same = 0;
	c->outermost += !same;
	for (size_t i = same; i < n; i++) {
		c->open[i] = c->now[i];
		if (add_call(c, launch, c->now[i].name) < 0)
			return -ENOMEM;
	}
	c->open_len = n;
	return n ? aif_map_put(&c->last, stack, c->outermost) : 0;
}

int aif_op_calls_count(const struct aif_profile *p, const struct aif_exec_timeline *t,
		       const uint32_t *of_frame,
		       bool (*keep)(const void *arg, const struct aif_timeline_launch *l,
				    uint32_t *ret_work),
		       const void *arg, struct aif_op_calls *ret)
{
	struct counting c = {.p = p, .t = t, .of_frame = of_frame, .ret = ret};
	/* Executions tell of a launch which cycle it stands for: of none, where nothing was left out. */
	uint32_t *work, *first = t->weights ? malloc((t->launches_len + 1) * sizeof(*first)) : NULL;
	size_t n = 0;
	int e = 0;

	*ret = (struct aif_op_calls){0};
	c.by_thread = malloc((t->launches_len + 1) * sizeof(*c.by_thread));
	work = malloc((t->launches_len + 1) * sizeof(*work));
	if ((t->weights && !first) || !c.by_thread || !work)
		e = -ENOMEM;
	for (size_t i = 0; i < t->launches_len && !e; i++) {
		if (first)
			first[i] = AIF_NONE;
		if (keep(arg, &t->launches[i], &work[i]))
			c.by_thread[n++] = (uint32_t)i;
	}
	for (size_t i = t->execs_len; i-- && first && !e;)
		if (t->execs[i].launch != AIF_NONE)
			first[t->execs[i].launch] = (uint32_t)i;
	c.first_exec = first;
	if (!e && n)
		aif_sort_r(c.by_thread, n, sizeof(*c.by_thread), aif_timeline_by_thread, (void *)t);
	for (size_t i = 0; i < n && !e; i++) {
		if (i && aif_timeline_thread_of(t, c.by_thread[i]) !=
				 aif_timeline_thread_of(t, c.by_thread[i - 1]))
			c.open_len = 0;
		e = add_launch(&c, c.by_thread[i]);
		if (!e)
			e = add_call(&c, c.by_thread[i], work[c.by_thread[i]]);
	}
	free(first);
	free(work);
	free(c.by_thread);
	aif_map_finish(&c.last);
	return e;
}

void aif_op_calls_finish(struct aif_op_calls *c)
{
	for (size_t i = 0; i < c->rows_len; i++)
		aif_estimate_finish(&c->rows[i].calls);
	free(c->rows);
	aif_map_finish(&c->of);
}

struct aif_op_calls_row *aif_op_calls_of(const struct aif_op_calls *c, uint32_t process,
					 uint32_t name)
{
	uint64_t row;

	return aif_map_get(&c->of, (uint64_t)process << 32 | name, &row) ? &c->rows[row] : NULL;
}
