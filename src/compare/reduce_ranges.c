/* SPDX-License-Identifier: Apache-2.0 */
/* Counts how often a run went through each of the ranges that the program marked: units, as tokens are. */
#include "compare/reduce_by.h"

#include "analysis/facts.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* Names that are counted while reading; a program that has more gives each range another name. */
#define MOST_NAMES 65536

struct counting {
	const struct aif_profile *p;
	const struct aif_timeline *t;
	struct aif_run *run;
	int64_t from, to;
	uint32_t *of_name; /* by string of the profile: 1 + the name's number; 0: not looked up */
};

/* Returns the number of a name in the run's, AIF_STR_NONE: none. */
static uint32_t number_of(struct counting *c, uint32_t name)
{
	struct aif_run *run = c->run;
	const char *text = aif_profile_str(c->p, name);

	if (!c->of_name[name]) {
		size_t len = aif_run_range_stem(text);
		uint32_t number = run->range_names.len < MOST_NAMES
					  ? aif_run_add_ranges(run, text, len, 0)
					  : aif_strset_find(&run->range_names, text, len);

		if (number == AIF_STR_NONE)
			return AIF_STR_NONE;
		c->of_name[name] = 1 + number;
	}
	return c->of_name[name] - 1;
}

static int count(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct counting *c = arg;
	struct aif_run *run = c->run;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *o = &rows[i];
		uint32_t number, process;
		int64_t at;

		if ((o->kind != AIF_OP_RANGE && o->kind != AIF_OP_STEP) ||
		    o->name >= c->p->strings.len)
			continue;
		process =
			o->thread < c->p->threads_len ? c->p->threads[o->thread].process : AIF_NONE;
		at = aif_timeline_map(c->t, o->clock, process, o->start, NULL);
		if (at < c->from || at >= c->to)
			continue;
		number = number_of(c, o->name);
		if (number == AIF_STR_NONE) {
			if (run->range_names.len < MOST_NAMES)
				return -ENOMEM;
			continue;
		}
		run->ranges[number]++;
	}
	return 0;
}

int aif_run_count_ranges(const struct aif_profile *p, int64_t from, int64_t to, struct aif_run *ret)
{
	struct counting c = {.p = p, .run = ret, .from = from, .to = to};
	int e = aif_timeline_get(p, &c.t);

	if (e)
		return e;
	c.of_name = calloc(p->strings.len + 1, sizeof(*c.of_name));
	e = c.of_name ? aif_profile_ops(p, count, &c, NULL) : -ENOMEM;
	aif_facts_put(c.t);
	free(c.of_name);
	return e;
}
