/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>

/*
 * unitrace numbers kernels and copies, and says where they came from by arrows: one begins on the thread that launched,
 * at a time within the call. So the call that was running then gets the number, as other traces have it in the call
 * itself. A call may have launched several: these get the number of the first.
 */

/* An arrow begins in the innermost of the calls, of which no more than this are within one another. */
#define LOOK 64

struct launcher {
	int64_t start, end;
	uint32_t thread, call;
};

static int by_time(const void *a, const void *b)
{
	const struct launcher *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end != y->end ? (x->end > y->end ? -1 : 1) : x->call > y->call;
}

static const struct launcher *launcher_at(const struct launcher *l, size_t n,
					  const struct kineto_flow *f)
{
	size_t lo = AIF_BISECT(mid, 0, n,
			       l[mid].thread < f->thread ||
				       (l[mid].thread == f->thread && l[mid].start <= f->at));

	for (size_t i = lo; i-- > 0 && lo - i <= LOOK && l[i].thread == f->thread;)
		if (l[i].end >= f->at)
			return &l[i];
	/* Times are cut to us: the last one before it. */
	return lo && l[lo - 1].thread == f->thread ? &l[lo - 1] : NULL;
}

int kineto_flows(struct kineto *k)
{
	struct launcher *l = k->flows_len ? calloc(k->spans_len + 1, sizeof(*l)) : NULL;
	struct aif_map same = {0}; /* number -> that of the call's first */
	size_t n = 0;
	int r = 0;
	uint64_t known;

	if (!k->flows_len)
		return 0;
	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < k->spans_len; i++)
		if (k->spans[i].class == KINETO_CALL)
			l[n++] = (struct launcher){k->spans[i].start, k->spans[i].end,
						   k->spans[i].thread, k->spans[i].ref};
	if (n)
		qsort(l, n, sizeof(*l), by_time);
	for (size_t i = 0; !r && i < k->flows_len; i++) {
		const struct launcher *from = launcher_at(l, n, &k->flows[i]);
		struct kineto_call *call = from ? &k->calls[from->call] : NULL;

		if (!call || aif_map_get(&same, k->flows[i].id, &known))
			continue;
		if (!call->has_correlation)
			call->correlation = k->flows[i].id;
		call->has_correlation = true;
		r = aif_map_put(&same, k->flows[i].id, call->correlation);
	}
	for (size_t i = 0; !r && i < k->execs_len; i++)
		if (k->execs[i].has_correlation &&
		    aif_map_get(&same, k->execs[i].correlation, &known))
			k->execs[i].correlation = known;
	aif_map_finish(&same);
	free(l);
	return r;
}
