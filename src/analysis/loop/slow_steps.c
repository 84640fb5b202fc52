/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/loop/slow_steps.h"

#include "analysis/step_names.h"
#include "base/sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Steps after which the quantiles of their kind are computed anew. */
#define RENEWED_AFTER 16

struct aif_slow_kind {
	uint32_t process, name; /* name: of aif_slow_steps.names */
	uint64_t count, usual_ns, p99_ns, p99_most_ns;
	struct aif_sketch times;
};

static size_t without_number(const char *name)
{
	size_t len = strlen(name);

	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return len;
}

/* Sets *ret to which of .names a row's name is; AIF_NONE: it is no step. 0 or -ENOMEM. */
static int name_of(struct aif_slow_steps *s, const struct aif_op_row *row, uint32_t *ret)
{
	const char *name = aif_profile_str(s->p, row->name);
	size_t len = without_number(name);
	uint64_t known;

	if (aif_map_get(&s->known, row->name, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	*ret = AIF_NONE;
	if (s->is_asked ? s->is_asked(s->arg, name)
			: row->kind == AIF_OP_STEP || aif_step_names_match(name)) {
		*ret = aif_strset_put(&s->names, name, len);
		if (*ret == AIF_STR_NONE)
			return -ENOMEM;
	}
	/* Names with numbers may be as many as steps: not kept. */
	return name[len] ? 0 : aif_map_put(&s->known, row->name, *ret);
}

/* Returns the kind, which is added if it is new; NULL: there are too many, or no memory. */
static struct aif_slow_kind *kind_of(struct aif_slow_steps *s, uint32_t process, uint32_t name)
{
	for (size_t i = 0; i < s->kinds_len; i++)
		if (s->kinds[i].process == process && s->kinds[i].name == name)
			return &s->kinds[i];
	if (!s->kinds)
		s->kinds = calloc(AIF_SLOW_KINDS, sizeof(*s->kinds));
	if (!s->kinds || s->kinds_len == AIF_SLOW_KINDS)
		return NULL;
	s->kinds[s->kinds_len].process = process;
	s->kinds[s->kinds_len].name = name;
	return &s->kinds[s->kinds_len++];
}

static bool is_slow(const struct aif_slow_limit *limit, const struct aif_slow_kind *k, uint64_t ns)
{
	switch (limit->by) {
	case AIF_SLOW_P99:
		return k->count >= AIF_SLOW_P99_AFTER && ns > k->p99_most_ns &&
		       (double)ns > AIF_SLOW_LEAST * (double)k->usual_ns;
	case AIF_SLOW_FACTOR:
		return k->count >= AIF_SLOW_FACTOR_AFTER &&
		       (double)ns > limit->factor * (double)k->usual_ns;
	case AIF_SLOW_TIME:
		return ns > limit->ns;
	default:
		return false;
	}
}

static void add(struct aif_slow_kind *k, uint64_t ns)
{
	aif_sketch_add(&k->times, ns);
	if (++k->count > RENEWED_AFTER && k->count % RENEWED_AFTER)
		return;
	k->usual_ns = aif_sketch_quantile(&k->times, 0.5, NULL);
	k->p99_ns = aif_sketch_quantile(&k->times, 0.99, &k->p99_most_ns);
}

static uint64_t number_of(const struct aif_profile *p, const struct aif_op_row *row, uint64_t count)
{
	const char *name = aif_profile_str(p, row->name);
	size_t at = without_number(name);

	return name[at] ? strtoull(name + at, NULL, 10) : count;
}

static void judge(struct aif_slow_steps *s, struct aif_slow_kind *k, const struct aif_op_row *row)
{
	uint64_t ns = row->end - row->start, since = s->p->start_ns;
	struct aif_slow_step x = {.name = row->name,
				  .process = k->process,
				  .number = number_of(s->p, row, k->count),
				  .from_ns = row->start > since ? row->start - since : 0,
				  .to_ns = row->end > since ? row->end - since : 0,
				  .before = k->count,
				  .usual_ns = k->usual_ns,
				  .p99_ns = k->p99_ns};
	bool is = is_slow(&s->limit, k, ns);

	add(k, ns);
	s->steps++;
	s->slow += is;
	if (!is || x.to_ns <= x.from_ns)
		return;
	if (s->has_found || s->snapshots == AIF_SLOW_SNAPSHOTS ||
	    (s->snapshots && x.from_ns < s->last.to_ns + AIF_SLOW_APART_NS)) {
		s->left_out++;
		return;
	}
	s->found = x;
	s->has_found = true;
}

int aif_slow_steps_take(void *slow_steps, const struct aif_op_row *rows, size_t n)
{
	struct aif_slow_steps *s = slow_steps;
	struct aif_slow_kind *k;
	uint32_t name;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];

		if ((row->kind != AIF_OP_STEP && row->kind != AIF_OP_RANGE) ||
		    row->clock != AIF_CLOCK_MONOTONIC || row->thread == AIF_NONE ||
		    row->name == AIF_NONE || row->end <= row->start)
			continue;
		if (!s->is_asked && row->kind == AIF_OP_STEP && !s->has_marks) {
			s->has_marks = true;
			s->kinds_len = 0; /* ranges, which are no steps now */
			if (s->kinds)
				memset(s->kinds, 0, AIF_SLOW_KINDS * sizeof(*s->kinds));
		}
		if (!s->is_asked && row->kind == AIF_OP_RANGE && s->has_marks)
			continue;
		if (name_of(s, row, &name) < 0)
			return -ENOMEM;
		if (name == AIF_NONE)
			continue;
		k = kind_of(s, s->p->threads[row->thread].process, name);
		if (!k && !s->kinds)
			return -ENOMEM;
		if (k)
			judge(s, k, row);
		else
			s->others++;
	}
	return 0;
}

void aif_slow_steps_next(struct aif_slow_steps *s)
{
	s->last = s->found;
	s->has_found = false;
	s->snapshots++;
}

void aif_slow_steps_finish(struct aif_slow_steps *s)
{
	free(s->kinds);
	aif_strset_finish(&s->names);
	aif_map_finish(&s->known);
	*s = (struct aif_slow_steps){.kinds = NULL};
}
