/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exec_timeline.h"

#include "base/map.h"
#include "profile/file.h"
#include "analysis/facts.h"
#include "analysis/time.h"

#include <errno.h>
#include <string.h>

/* Launches and executions are of fewer things in turn, mostly. */
#define LATEST 256

/* The different ones of calls or works: all by their bytes; by a few bits of each, the one met last. */
struct kinds {
	struct aif_strset all;
	uint32_t latest[LATEST];
};

struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	struct aif_exec_timeline *t;
	int64_t kept;
	size_t numbers_cap;
	struct kinds calls, works;
	size_t next; /* the launch after the one that was last asked for: they come in one order */
};

/* Returns the index of a call or a work among the `len` of `size` bytes at `list`, which is `len` if it is new; AIF_NONE: there is no
 * memory for it. `hint` differs between those that come in turns. */
static uint32_t find_kind(struct kinds *k, const void *list, size_t len, const void *what,
			  size_t size, uint32_t hint)
{
	uint32_t *latest = &k->latest[hint % LATEST];

	if (*latest >= len || memcmp((const char *)list + *latest * size, what, size) != 0) {
		uint32_t id = aif_strset_put(&k->all, what, size);

		if (id >= AIF_NONE / 2)
			return AIF_NONE;
		*latest = id;
	}
	return *latest;
}

static uint32_t find_call(struct reading *r, const struct aif_timeline_call *call)
{
	struct aif_exec_timeline *t = r->t;
	uint32_t i = find_kind(&r->calls, t->calls, t->calls_len, call, sizeof(*call),
			       call->kernel + call->thread * 31 + call->kind * 7);

	if (i != t->calls_len)
		return i;
	if (aif_grow(&t->calls, &t->calls_cap, t->calls_len + 1, sizeof(*t->calls)) < 0)
		return AIF_NONE;
	t->calls[t->calls_len++] = *call;
	return i;
}

static uint32_t find_work(struct reading *r, const struct aif_timeline_work *work)
{
	struct aif_exec_timeline *t = r->t;
	uint32_t i = find_kind(&r->works, t->works, t->works_len, work, sizeof(*work),
			       work->kernel + work->stream * 31 + work->kind * 7);

	if (i != t->works_len)
		return i;
	if (aif_grow(&t->works, &t->works_cap, t->works_len + 1, sizeof(*t->works)) < 0)
		return AIF_NONE;
	t->works[t->works_len++] = *work;
	return i;
}

/* Returns true if a launch is asked for, by the moment of its call. */
static bool is_asked(const struct reading *r, int64_t at, uint32_t thread, uint32_t process)
{
	const struct aif_selection *w = r->sel;

	if (r->kept && at < r->kept)
		return false;
	return !w || (aif_selection_keeps(w->processes, process) &&
		      aif_selection_keeps_work(w, thread, at) && aif_timed_in_span(w, at));
}

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct reading *r = arg;
	struct aif_exec_timeline *t = r->t;

	if (t->launches_len + n >= AIF_NONE ||
	    aif_grow(&t->launches, &t->launches_cap, t->launches_len + n, sizeof(*t->launches)) <
		    0 ||
	    aif_grow(&t->numbers, &r->numbers_cap, t->launches_len + n, sizeof(*t->numbers)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t thread = rows[i].thread;
		uint32_t process = thread == AIF_NONE ? AIF_NONE : r->p->threads[thread].process;
		int64_t at = aif_timeline_map(r->timeline, AIF_CLOCK_MONOTONIC, process,
					      rows[i].time, NULL);
		uint32_t call = find_call(r, &(struct aif_timeline_call){.thread = thread,
									 .kernel = rows[i].kernel,
									 .kind = rows[i].kind});

		if (call == AIF_NONE)
			return -ENOMEM;
		t->numbers[t->launches_len] = rows[i].launch;
		t->launches[t->launches_len++] =
			(struct aif_timeline_launch){.at = at,
						     .stack = rows[i].stack,
						     .call = call & (AIF_NONE / 2),
						     .is_asked = is_asked(r, at, thread, process)};
		t->captured += t->launches[t->launches_len - 1].is_asked;
	}
	return 0;
}

static int by_number(const void *a, const void *b, void *arg)
{
	const uint64_t *numbers = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	return AIF_ORDER(numbers[i], numbers[j]) ?: AIF_ORDER(i, j);
}

/* Puts the launches in that order. 0 or -ENOMEM. */
static int order_launches(struct reading *r, const uint32_t *order)
{
	struct aif_exec_timeline *t = r->t;
	size_t n = t->launches_len;
	struct aif_timeline_launch *launches = malloc(n * sizeof(*launches));
	uint64_t *numbers = malloc(n * sizeof(*numbers));

	if (!launches || !numbers) {
		free(launches);
		free(numbers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		launches[i] = t->launches[order[i]];
		numbers[i] = t->numbers[order[i]];
	}
	free(t->launches);
	free(t->numbers);
	t->launches = launches;
	t->numbers = numbers;
	t->launches_cap = r->numbers_cap = n;
	return 0;
}

static int sort_launches(struct reading *r)
{
	size_t n = r->t->launches_len, i = 1;
	uint32_t *order;
	int e;

	while (i < n && r->t->numbers[i - 1] <= r->t->numbers[i])
		i++;
	if (i >= n)
		return 0;
	order = malloc(n * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t k = 0; k < n; k++)
		order[k] = k;
	qsort_r(order, n, sizeof(*order), by_number, r->t->numbers);
	e = order_launches(r, order);
	free(order);
	return e;
}

/* Drops the numbers if nobody needs them: where one program launched, they go up one by one. */
static void drop_numbers(struct aif_exec_timeline *t)
{
	size_t i = 1;

	while (i < t->launches_len && t->numbers[i] == t->numbers[0] + i)
		i++;
	if (i < t->launches_len)
		return;
	t->first_number = t->launches_len ? t->numbers[0] : 0;
	free(t->numbers);
	t->numbers = NULL;
}

/* Returns the launch's index or AIF_NONE. Executions come in the order of their launches, but for
 * jumps. */
static uint32_t find_launch(struct reading *r, uint64_t launch)
{
	const uint64_t *numbers = r->t->numbers;
	size_t n = r->t->launches_len, lo;

	for (size_t i = r->next ? r->next - 1 : 0; i < n && i < r->next + 2; i++)
		if (numbers[i] == launch) {
			r->next = i + 1;
			return (uint32_t)i;
		}
	lo = AIF_BISECT(mid, 0, n, numbers[mid] < launch);
	if (lo == n || numbers[lo] != launch)
		return AIF_NONE;
	r->next = lo + 1;
	return (uint32_t)lo;
}

static bool has_more(const struct aif_exec_row *x)
{
	return x->bytes || x->graph || x->node || x->collective || x->sequence;
}

/* Keeps what few executions have of the one that comes next. 0 or -ENOMEM. */
static int add_more(struct aif_exec_timeline *t, const struct aif_exec_row *x)
{
	if (!has_more(x))
		return 0;
	if (aif_grow(&t->more, &t->more_cap, t->more_len + 1, sizeof(*t->more)) < 0)
		return -ENOMEM;
	t->more[t->more_len++] = (struct aif_timeline_more){.bytes = x->bytes,
							    .exec = (uint32_t)t->execs_len,
							    .graph = x->graph,
							    .node = x->node,
							    .collective = x->collective,
							    .sequence = x->sequence};
	return 0;
}

/* Keeps the cycle of the execution that comes next, where launches were left out. */
static void add_cycle(struct aif_exec_timeline *t, const struct aif_weights_cycle *c)
{
	size_t len;

	if (t->weights)
		t->cycles[t->execs_len] =
			c ? (uint32_t)(c - aif_weights_cycles(t->weights, &len)) : AIF_NONE;
}

static int take_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct reading *r = arg;
	const struct aif_selection *w = r->sel;
	struct aif_exec_timeline *t = r->t;

	if (t->execs_len + n >= AIF_NONE ||
	    aif_grow(&t->execs, &t->execs_cap, t->execs_len + n, sizeof(*t->execs)) < 0 ||
	    (t->weights &&
	     aif_grow(&t->cycles, &t->cycles_cap, t->execs_len + n, sizeof(*t->cycles)) < 0))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_exec_row *x = &rows[i];
		uint32_t at = find_launch(r, x->launch);
		const struct aif_timeline_launch *l = at == AIF_NONE ? NULL : &t->launches[at];
		uint32_t thread = l ? aif_timeline_thread_of(t, at) : AIF_NONE;
		const struct aif_weights_cycle *c =
			l ? aif_weights_at(t->weights, thread, r->p->start_ns + (uint64_t)l->at)
			  : NULL;
		uint32_t work;
		int64_t start = aif_time_clamp(aif_timeline_map_after(
			r->timeline, x->clock, x->process, x->start, l ? l->at : 0, NULL));
		int64_t end = aif_time_clamp(aif_timeline_map_after(
			r->timeline, x->clock, x->process, x->end, start, NULL));

		if (w && (!aif_selection_keeps(w->processes, x->process) ||
			  !aif_selection_keeps(w->devices, x->device) ||
			  !aif_selection_keeps_exec(w, thread, l ? l->at : 0, x->process, x->graph,
						    x->node) ||
			  !aif_timed_in_span(w, start)))
			continue;
		if (r->kept && end <= r->kept)
			continue;
		start = r->kept ? AIF_MAX(start, r->kept) : start;
		work = find_work(r, &(struct aif_timeline_work){.process = x->process,
								.device = x->device,
								.stream = x->stream,
								.kernel = x->kernel,
								.kind = x->kind});
		if (work == AIF_NONE || add_more(t, x) < 0)
			return -ENOMEM;
		add_cycle(t, c);
		t->execs[t->execs_len++] = (struct aif_timeline_exec){
			.start = start,
			.end = AIF_MAX(start, end),
			.launch = at,
			.work = work & (AIF_NONE / 2),
			.has_more = has_more(x),
		};
		if (w && l && aif_selection_is_for_other(w, thread, l->at))
			t->for_others_ns += aif_exec_timeline_whole(
				t, &t->execs[t->execs_len - 1], (uint64_t)end - (uint64_t)start);
	}
	return 0;
}

/* Estimates how many of the launches asked for were left out. */
static void count_left_out(struct reading *r)
{
	const struct aif_selection *w = r->sel;
	struct aif_exec_timeline *t = r->t;
	struct aif_weights_blank blank;

	if (aif_weights_blank(t->weights, t->span.from, t->span.to, w ? w->processes : NULL,
			      w ? w->threads : NULL, &blank))
		t->left_out = aif_timed_rounded(blank.launches);
}

static struct aif_weights_span span_of(const struct aif_profile *p, const struct aif_selection *sel)
{
	return (struct aif_weights_span){
		.from = AIF_MAX(p->start_ns + (sel ? sel->from_ns : 0), p->kept_ns),
		.to = sel && sel->to_ns ? p->start_ns + sel->to_ns : p->end_ns};
}

int aif_exec_timeline_weights(const struct aif_profile *p, const struct aif_selection *sel,
			      struct aif_weights **ret)
{
	return aif_weights_new_selected(p, sel, span_of(p, sel), ret);
}

/* Variants of the fact: executions that stand for those left out, too, and executions that stand for themselves. */
enum { WEIGHED, UNWEIGHED };

/* Each execution stands for itself from here on. */
static void unweigh(struct aif_exec_timeline *t)
{
	free(t->cycles);
	t->cycles = NULL;
	t->cycles_cap = 0;
}

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	const struct aif_selection *sel = of->sel;
	struct aif_exec_timeline *ret = value;
	struct reading r = {.p = p, .sel = sel, .t = ret, .kept = aif_timed_kept(p)};
	uint64_t bad[2] = {0};
	int e;

	(void)err;
	ret->span = span_of(p, sel);
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_exec_timeline_weights(p, sel, &ret->weights);
	if (!e)
		e = aif_profile_launches(p, take_launches, &r, &bad[0]);
	aif_fit(&ret->launches, &ret->launches_cap, ret->launches_len, sizeof(*ret->launches));
	if (!e)
		e = sort_launches(&r);
	if (!e)
		e = aif_profile_execs(p, take_execs, &r, &bad[1]);
	aif_fit(&ret->execs, &ret->execs_cap, ret->execs_len, sizeof(*ret->execs));
	aif_strset_finish(&r.calls.all);
	aif_strset_finish(&r.works.all);
	drop_numbers(ret);
	count_left_out(&r);
	ret->damaged = bad[0] + bad[1];
	if (of->variant == UNWEIGHED)
		unweigh(ret);
	aif_facts_put(r.timeline);
	return e;
}

static void finish(void *value)
{
	struct aif_exec_timeline *t = value;

	free(t->launches);
	free(t->numbers);
	free(t->execs);
	free(t->calls);
	free(t->works);
	free(t->more);
	free(t->cycles);
	aif_weights_free(t->weights);
}

static size_t bytes_of(const void *value)
{
	const struct aif_exec_timeline *t = value;

	return t->launches_cap * sizeof(*t->launches) +
	       (t->numbers ? t->launches_len * sizeof(*t->numbers) : 0) +
	       t->execs_cap * sizeof(*t->execs) + t->calls_cap * sizeof(*t->calls) +
	       t->works_cap * sizeof(*t->works) + t->more_cap * sizeof(*t->more) +
	       t->cycles_cap * sizeof(*t->cycles);
}

static int get(const struct aif_profile *p, const struct aif_selection *sel, unsigned variant,
	       const struct aif_exec_timeline **ret)
{
	static const struct aif_fact_kind kind = {.name = "time line of executions",
						  .size = sizeof(struct aif_exec_timeline),
						  .make = make,
						  .finish = finish,
						  .bytes = bytes_of};
	struct aif_selection of = sel ? *sel : (struct aif_selection){0};
	const void *fact;
	int e;

	/* Clears what says how the selection is shown, not what is in it. */
	of.loop = 0;
	of.whole = of.by_range = false;
	e = aif_facts_get(p, &kind, (struct aif_fact_of){.sel = &of, .variant = variant}, &fact,
			  NULL);
	*ret = fact;
	return e;
}

int aif_exec_timeline_get(const struct aif_profile *p, const struct aif_selection *sel,
			  const struct aif_exec_timeline **ret)
{
	return get(p, sel, WEIGHED, ret);
}

int aif_exec_timeline_get_unweighed(const struct aif_profile *p, const struct aif_selection *sel,
				    const struct aif_exec_timeline **ret)
{
	const struct aif_exec_timeline *t;
	int e = get(p, sel, WEIGHED, &t);

	if (!e && t->weights) {
		aif_facts_put(t);
		return get(p, sel, UNWEIGHED, ret);
	}
	*ret = t;
	return e;
}

int aif_timeline_by_thread(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	const struct aif_timeline_launch *x = &t->launches[*(const uint32_t *)a],
					 *y = &t->launches[*(const uint32_t *)b];
	uint32_t thread = aif_timeline_call_of(t, x)->thread,
		 other = aif_timeline_call_of(t, y)->thread;

	return AIF_ORDER(thread, other) ?: AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x, y);
}
