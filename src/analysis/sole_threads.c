/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sole_threads.h"

#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>

int aif_sole_threads_add(struct aif_sole_threads *s, uint32_t process, uint32_t thread,
			 int64_t start, int64_t end)
{
	struct aif_sole_moment *last = s->moments_len ? &s->moments[s->moments_len - 1] : NULL;

	if (end <= start)
		return 0;
	if (last && last->thread == thread && start <= last->at) {
		last->at = AIF_MAX(last->at, end);
		return 0;
	}
	if (aif_grow(&s->moments, &s->moments_cap, s->moments_len + 2, sizeof(*s->moments)) < 0)
		return -ENOMEM;
	s->moments[s->moments_len++] = (struct aif_sole_moment){start, process, thread, true};
	s->moments[s->moments_len++] = (struct aif_sole_moment){end, process, thread, false};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_sole_moment *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->at, y->at)
	       ?: x->enters - y->enters;
}

void aif_sole_threads_ready(struct aif_sole_threads *s)
{
	uint64_t inside = 0, sum = 0; /* threads, their numbers */

	if (s->moments_len)
		qsort(s->moments, s->moments_len, sizeof(*s->moments), by_time);
	for (size_t i = 0; i < s->moments_len; i++) {
		struct aif_sole_moment *m = &s->moments[i];

		if (i && m->process != m[-1].process)
			inside = sum = 0;
		inside += m->enters ? 1 : (uint64_t)-1;
		sum += m->enters ? m->thread : -(uint64_t)m->thread;
		m->thread = inside == 1 ? (uint32_t)sum : AIF_NONE;
	}
}

void aif_sole_threads_finish(struct aif_sole_threads *s)
{
	free(s->moments);
	*s = (struct aif_sole_threads){0};
}

uint32_t aif_sole_threads_at(const struct aif_sole_threads *s, uint32_t process, int64_t at)
{
	/* The first one that is later, or of a later process. */
	size_t lo = AIF_BISECT(
		mid, 0, s->moments_len,
		s->moments[mid].process < process ||
			(s->moments[mid].process == process && s->moments[mid].at <= at));

	return lo && s->moments[lo - 1].process == process ? s->moments[lo - 1].thread : AIF_NONE;
}
