/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto_ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Less than this apart is as good as the same: hosts with NTP or of one clock; what a collective's ends differ by. */
#define SAME_NS INT64_C(100000)
/* So many collectives make it sure. */
#define LEAST 3

struct rows {
	size_t launches, execs, waits, ops;
};

struct end {
	uint32_t name; /* of the kernel: string of the profile */
	uint32_t nth;  /* of that name, in order of time */
	uint64_t start, end;
};

struct rank {
	struct rows from, to;
	struct end *ends;
	size_t len;
	char file[256];
};

struct ranks {
	struct rank *ranks;
	size_t len, cap;
	struct kineto_group aiu[AIF_AIU_GROUP_COUNT]; /* of all files */
	uint64_t events, flows, not_kept, overhead_ns;
	struct kineto_left_out left_out[KINETO_LEFT_OUT_MAX];
};

static struct rows rows_of(const struct aif_builder *b)
{
	return (struct rows){b->launches_len, b->execs_len, b->waits_len, b->ops_len};
}

int kineto_ranks_begin(struct kineto *k, void **state)
{
	struct ranks *s = *state;

	if (!s)
		*state = s = calloc(1, sizeof(*s));
	if (!s || aif_grow(&s->ranks, &s->cap, s->len + 1, sizeof(*s->ranks)) < 0)
		return -ENOMEM;
	s->ranks[s->len] = (struct rank){.from = rows_of(k->b)};
	snprintf(s->ranks[s->len].file, sizeof(s->ranks[s->len].file), "%s", k->file);
	s->len++;
	return 0;
}

static int by_name_and_time(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_collective(const char *kernel)
{
	static const char *const names[] = {"nccl", "rccl", "oneccl", "hccl"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (strcasestr(kernel, names[i]))
			return true;
	return false;
}

int kineto_ranks_end(struct kineto *k, void **state)
{
	struct ranks *s = *state;
	struct rank *r = &s->ranks[s->len - 1];
	const struct aif_profile *p = &k->b->p;
	size_t cap = 0;
	/* By kernel: 0 not looked at, 1 no, 2 yes. There are far fewer kernels than executions. */
	uint8_t *is = calloc(p->kernels_len + 1, 1);
	int e = is ? 0 : -ENOMEM;

	r->to = rows_of(k->b);
	s->events += k->events;
	s->flows += k->not_kept_flows;
	s->not_kept += k->not_kept;
	for (size_t i = 0; i < KINETO_LEFT_OUT_MAX && k->left_out[i].count; i++)
		kineto_leave_out(s->left_out, k->left_out[i].what, strlen(k->left_out[i].what),
				 k->left_out[i].count);
	s->overhead_ns += (uint64_t)k->overhead_ns;
	for (unsigned g = 0; g < AIF_AIU_GROUP_COUNT; g++) {
		s->aiu[g].calls += k->aiu[g].calls;
		s->aiu[g].ns += k->aiu[g].ns;
	}
	for (size_t i = r->from.execs; i < r->to.execs && !e; i++) {
		const struct aif_exec_row *x = &k->b->execs[i];
		uint32_t name;

		if (x->kernel == AIF_NONE)
			continue;
		name = p->kernels[x->kernel].name;
		if (!is[x->kernel])
			is[x->kernel] = 1 + is_collective(aif_profile_str(p, name));
		if (is[x->kernel] == 1)
			continue;
		e = aif_grow(&r->ends, &cap, r->len + 1, sizeof(*r->ends));
		if (e)
			break;
		r->ends[r->len++] = (struct end){.name = name, .start = x->start, .end = x->end};
	}
	free(is);
	if (e)
		return -ENOMEM;
	if (r->len)
		qsort(r->ends, r->len, sizeof(*r->ends), by_name_and_time);
	for (size_t i = 1; i < r->len; i++)
		if (r->ends[i].name == r->ends[i - 1].name)
			r->ends[i].nth = r->ends[i - 1].nth + 1;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* How much later r's collectives end than those of `to`, those of one name only if both have as many. False: it cannot
 * be told, or is nothing. */
static bool difference(const struct rank *r, const struct rank *to, int64_t *ret, size_t *ret_n)
{
	int64_t *d = malloc((r->len + 1) * sizeof(*d)), median;
	size_t n = 0, i = 0, j = 0;
	bool found = false;

	while (d && i < r->len && j < to->len) {
		size_t a = i, b = j;

		while (a < r->len && r->ends[a].name == r->ends[i].name)
			a++;
		while (b < to->len && to->ends[b].name == to->ends[j].name)
			b++;
		if (r->ends[i].name < to->ends[j].name) {
			i = a;
		} else if (r->ends[i].name > to->ends[j].name) {
			j = b;
		} else {
			for (; a - i == b - j && i < a; i++, j++)
				d[n++] = (int64_t)(r->ends[i].end - to->ends[j].end);
			i = a;
			j = b;
		}
	}
	if (n >= LEAST) {
		qsort(d, n, sizeof(*d), by_value);
		median = d[n / 2];
		for (i = 0; i < n; i++)
			d[i] = llabs(d[i] - median);
		qsort(d, n, sizeof(*d), by_value);
		/* Half of them agree much better than they differ. */
		found = llabs(median) > SAME_NS && d[n / 2] < llabs(median) / 4;
		*ret = median;
		*ret_n = n;
	}
	free(d);
	return found;
}

static void move(struct aif_builder *b, const struct rank *r, int64_t by)
{
	for (size_t i = r->from.launches; i < r->to.launches; i++)
		b->launches[i].time -= (uint64_t)by;
	for (size_t i = r->from.execs; i < r->to.execs; i++) {
		b->execs[i].start -= (uint64_t)by;
		b->execs[i].end -= (uint64_t)by;
	}
	for (size_t i = r->from.waits; i < r->to.waits; i++)
		b->waits[i].time -= (uint64_t)by;
	for (size_t i = r->from.ops; i < r->to.ops; i++) {
		b->ops[i].start -= (uint64_t)by;
		b->ops[i].end -= (uint64_t)by;
	}
}

/* What the files had, and which parts of AIU's runtime took how long: for `info` and the summary. */
static void tell(struct aif_builder *b, const struct ranks *s)
{
	const struct kineto_group *groups = s->aiu;
	struct aif_buf kinds = {0};

	for (size_t i = 0; i < KINETO_LEFT_OUT_MAX && s->left_out[i].count; i++)
		aif_buf_printf(&kinds, "%s%" PRIu64 " %s", i ? ", " : " (", s->left_out[i].count,
			       s->left_out[i].what);
	aif_builder_meta(b, "imported.events",
			 "%" PRIu64 "; not kept: %" PRIu64 " flows, %" PRIu64 " of other kinds%s%s",
			 s->events, s->flows, s->not_kept, aif_buf_str(&kinds),
			 kinds.len ? ")" : "");
	aif_buf_finish(&kinds);
	if (s->overhead_ns)
		aif_builder_meta(b, "imported.profiler_ns", "%" PRIu64, s->overhead_ns);
	for (unsigned g = AIF_AIU_NONE + 1; g < AIF_AIU_GROUP_COUNT; g++) {
		char key[64];

		if (!groups[g].calls)
			continue;
		snprintf(key, sizeof(key), "aiu.%s", aif_aiu_group_name(g));
		aif_builder_meta(b, key, "%" PRIu64 " calls, %" PRIu64 ".%03u us", groups[g].calls,
				 groups[g].ns / 1000, (unsigned)(groups[g].ns % 1000));
	}
}

void kineto_ranks_add(void *state, const struct aif_builder *b, uint64_t not_kept)
{
	struct ranks *s = state;

	s->ranks[s->len - 1].to = rows_of(b);
	s->not_kept += not_kept;
}

int kineto_ranks_finish(struct aif_builder *b, void *state, int result, struct aif_err *err)
{
	struct ranks *s = state;

	(void)err;
	for (size_t i = 1; s && !result && i < s->len; i++) {
		char text[640];
		int64_t by;
		size_t n;

		if (!difference(&s->ranks[i], &s->ranks[0], &by, &n))
			continue;
		move(b, &s->ranks[i], by);
		snprintf(text, sizeof(text), "%s: moved by %" PRId64 " ns, as %zu collectives say",
			 s->ranks[i].file, -by, n);
		aif_builder_loss(b, AIF_REASON_IMPORT_RANK_CLOCK, AIF_NONE,
				 aif_builder_puts(b, text), 1);
	}
	if (s && !result)
		tell(b, s);
	for (size_t i = 0; s && i < s->len; i++)
		free(s->ranks[i].ends);
	if (s)
		free(s->ranks);
	free(s);
	return b->failed ? -ENOMEM : 0;
}
