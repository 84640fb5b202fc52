/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of all files: which are of one host, and how the others are related to the reference, directly or by way of another file. */
#include "merge/input.h"

#include "analysis/time.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Files of one host: its boot was at the same date, but for what its clock was set by meanwhile. */
#define SAME_BOOT_NS INT64_C(1000000000)
/* Related files that others are held against, the reference first: hosts of other stages of a pipeline share no operation with it. */
#define BRIDGES 8

static bool is_one_clock(const struct aif_merge_input *a, const struct aif_merge_input *b)
{
	int64_t boot_a = (int64_t)(a->date_ns - a->start_ns),
		boot_b = (int64_t)(b->date_ns - b->start_ns);

	return *a->host && !strcmp(a->host, b->host) && a->date_ns && b->date_ns &&
	       llabs(aif_time_clamp(boot_a) - aif_time_clamp(boot_b)) < SAME_BOOT_NS;
}

/* Puts a file on the reference's clock, by that of one that is on it. */
static void put(struct aif_merge_input *in, size_t of, size_t to)
{
	struct aif_merge_input *x = &in[of];
	const struct aif_merge_input *y = &in[to];
	int64_t there; /* the moment x->clock.from, ns since y's beginning */

	if (x->is == AIF_MERGE_CLOCK_SAME) {
		x->clock = (struct aif_merge_clock){.from = 0};
		there = aif_time_clamp((int64_t)(x->start_ns - y->start_ns));
	} else {
		x->clock = (struct aif_merge_clock){.from = x->relation.fit.from,
						    .drift = x->relation.fit.drift};
		there = aif_time_clamp(x->relation.fit.from - x->relation.fit.ns);
		x->error_ns = AIF_MAX(x->relation.fit.within, 1);
	}
	x->clock.to = y->clock.to + (there - y->clock.from) -
		      llround(y->clock.drift * (double)(there - y->clock.from));
	x->clock.drift += y->clock.drift;
	x->error_ns += y->error_ns;
	x->related_to = to;
}

/* Returns the file with the most ends of operations: the others are put on its clock. */
static size_t find_reference(const struct aif_merge_input *in, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (in[i].ends.len > in[best].ends.len)
			best = i;
	return best;
}

static int try_one(struct aif_merge_input *in, size_t of, size_t to)
{
	struct aif_merge_input *x = &in[of];
	int64_t by_dates = aif_time_clamp((int64_t)(in[to].date_ns - x->date_ns));
	struct aif_merge_relation relation;
	int r;

	if (is_one_clock(x, &in[to])) {
		x->is = AIF_MERGE_CLOCK_SAME;
		put(in, of, to);
		return 0;
	}
	r = aif_merge_relate(&x->ends, &in[to].ends,
			     x->date_ns && in[to].date_ns ? &by_dates : NULL, &relation);
	if (r)
		return r;
	if (relation.pairs > x->relation.pairs || relation.is > x->relation.is)
		x->relation = relation;
	if (relation.is >= AIF_MERGE_BY_NUMBER) {
		x->is = AIF_MERGE_CLOCK_RELATED;
		put(in, of, to);
	}
	return 0;
}

/* Places a file whose clock is not known: by its date, else beginning with the reference. */
static void place(struct aif_merge_input *x, const struct aif_merge_input *reference)
{
	x->clock = (struct aif_merge_clock){0};
	if (x->date_ns && reference->date_ns)
		x->clock.to = aif_time_clamp((int64_t)(x->date_ns - reference->date_ns));
}

int aif_merge_align(struct aif_merge_input *in, size_t n, size_t *ret_reference)
{
	size_t bridges[BRIDGES], len = 0, reference = find_reference(in, n);
	int r = 0;

	for (size_t i = 0; i < n; i++)
		in[i].is = AIF_MERGE_CLOCK_APART;
	in[reference].is = AIF_MERGE_CLOCK_REFERENCE;
	bridges[len++] = reference;
	/* Each bridge is held against all that are still apart. */
	for (size_t b = 0; b < len && !r; b++)
		for (size_t i = 0; i < n && !r; i++) {
			if (in[i].is != AIF_MERGE_CLOCK_APART)
				continue;
			r = try_one(in, i, bridges[b]);
			if (in[i].is != AIF_MERGE_CLOCK_APART && len < BRIDGES && in[i].ends.len)
				bridges[len++] = i;
		}
	for (size_t i = 0; i < n; i++)
		if (in[i].is == AIF_MERGE_CLOCK_APART)
			place(&in[i], &in[reference]);
	*ret_reference = reference;
	return r;
}

uint64_t aif_merge_time(const struct aif_merge_input *in, uint64_t base, uint64_t at)
{
	int64_t away =
		aif_time_clamp(aif_time_clamp((int64_t)(at - in->start_ns)) - in->clock.from);
	int64_t there =
		aif_time_clamp(in->clock.to + away - llround(in->clock.drift * (double)away));

	return there < 0 && base < (uint64_t)-there ? 0 : base + (uint64_t)there;
}
