/* SPDX-License-Identifier: Apache-2.0 */
#include "page/whole_steps.h"

#include <errno.h>
#include <stdlib.h>

struct step {
	int64_t start, end;
	size_t execs;
	bool is_chosen;
};

static int by_length(const void *pa, const void *pb)
{
	const struct step *a = *(struct step *const *)pa, *b = *(struct step *const *)pb;
	int64_t la = a->end - a->start, lb = b->end - b->start;

	return la != lb ? (la < lb ? -1 : 1) : a->start < b->start ? -1 : 1;
}

static int by_start(const void *pa, const void *pb)
{
	const struct aif_page_span *a = pa, *b = pb;

	return AIF_ORDER(a->from, b->from);
}

static void execs_count(struct step *steps, size_t n, const struct aif_exec_timeline *t)
{
	for (size_t i = 0; i < t->execs_len; i++) {
		size_t lo = AIF_BISECT(mid, 0, n, !(steps[mid].end > t->execs[i].start));

		if (lo < n && steps[lo].start < t->execs[i].end)
			steps[lo].execs++;
	}
}

static void choose(struct step *s, size_t *room)
{
	if (s->is_chosen || s->execs > *room || s->end <= s->start)
		return;
	s->is_chosen = true;
	*room -= s->execs;
}

static void steps_choose(struct step *steps, struct step **sorted, size_t n, size_t max)
{
	for (size_t i = 0; i < n && max; i++) {
		choose(sorted[n - 1 - i], &max);
		choose(sorted[(n / 2 + i) % n], &max);
		choose(&steps[i], &max);
		choose(&steps[n - 1 - i], &max);
	}
}

/* Steps may overlap: what touches becomes one span. */
static size_t spans_join(struct aif_page_span *s, size_t n)
{
	size_t len = 0;

	if (n)
		qsort(s, n, sizeof(*s), by_start);
	for (size_t i = 0; i < n; i++)
		if (len && s[i].from <= s[len - 1].to)
			s[len - 1].to = AIF_MAX(s[len - 1].to, s[i].to);
		else
			s[len++] = s[i];
	return len;
}

int aif_page_whole_steps(const struct aif_phases *f, const struct aif_exec_timeline *t, size_t max,
			 struct aif_page_span **ret, size_t *ret_len)
{
	size_t n = f->len, len = 0;
	struct step *steps = calloc(n + 1, sizeof(*steps)),
		    **sorted = malloc((n + 1) * sizeof(*sorted));

	*ret = malloc((n + 1) * sizeof(**ret));
	*ret_len = 0;
	if (!steps || !sorted || !*ret) {
		free(steps);
		free(sorted);
		free(*ret);
		*ret = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		steps[i] = (struct step){.start = f->steps[i].start, .end = f->steps[i].end};
		sorted[i] = &steps[i];
	}
	execs_count(steps, n, t);
	if (n) {
		qsort(sorted, n, sizeof(*sorted), by_length);
		steps_choose(steps, sorted, n, max);
	}
	for (size_t i = 0; i < n; i++)
		if (steps[i].is_chosen)
			(*ret)[len++] = (struct aif_page_span){steps[i].start, steps[i].end};
	*ret_len = spans_join(*ret, len);
	free(steps);
	free(sorted);
	return 0;
}
