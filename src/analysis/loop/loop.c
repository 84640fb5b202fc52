/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a thread whose launches recur, and statistics of its steps. */
#include "analysis/loop/source.h"

#include "base/sort.h"
#include "analysis/ebpf_launches.h"
#include "analysis/gaps.h"
#include "analysis/time.h"
#include "base/map.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* A thread's launches are looked at if they have a tenth of the device time of the one with the most; of a server with
 * many, a few. */
#define MOST_THREADS  8
#define LEAST_OF_MOST 10
/* A loop is as likely as another if it has this part of what that has of the run's time and work. */
#define AS_LIKELY 0.65

struct reading {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	struct aif_loop *ret;
	uint32_t *ns;            /* device time by index of t->launches, at most UINT32_MAX */
	uint32_t *same, *parent; /* by stack */
	struct aif_loop_stacks stacks;
	uint64_t weight;  /* of all launches */
	int64_t from, to; /* of all launches */
	uint32_t *kernel; /* by kernel: the first of its name, which other programs have, too */
	struct aif_gaps gaps;
	uint64_t place; /* where turns are to begin; 0: anywhere */
	bool has_times, is_sparse;
};

static bool is_in_span(const struct reading *r, int64_t at)
{
	const struct aif_weights_span *w = &r->t->span;
	uint64_t start = r->p->start_ns;

	return (w->from <= start || at >= (int64_t)(w->from - start)) &&
	       (w->to >= r->p->end_ns || at < (int64_t)(w->to - start));
}

/* Sets the statistics of the steps. */
static int sum_up(struct aif_loop *l)
{
	uint64_t *ns = malloc(AIF_MAX(l->len, 1) * sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < l->len; i++)
		ns[i] = (uint64_t)(l->steps[i].end - l->steps[i].start);
	l->median_ns = aif_loop_median(ns, l->len);
	l->p95_ns = aif_loop_p95(ns, l->len);
	l->start = l->steps[0].start;
	l->end = l->steps[l->len - 1].end;
	free(ns);
	return 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* A launch's kernel, with the merged stack. */
static struct aif_loop_site site_of(const struct reading *r, const struct aif_timeline_launch *l)
{
	const struct aif_timeline_call *call = aif_timeline_call_of(r->t, l);
	uint32_t no_kernel = (uint32_t)r->p->kernels_len;

	return (struct aif_loop_site){
		.stack = l->stack == AIF_NONE ? AIF_NONE
					      : r->same[aif_stack_of_call(r->p, l->stack)],
		.kernel = call->kernel != AIF_NONE
				  ? r->kernel[call->kernel]
				  : no_kernel + AIF_MIN(call->kind, AIF_LAUNCH_KIND_COUNT)};
}

static uint64_t time_off(const struct aif_gaps *g)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < g->len; i++)
		ns += g->at[i].end - g->at[i].start;
	return ns;
}

static int read_gaps(struct reading *r)
{
	struct aif_gaps pauses;
	int e = aif_gaps_init_with_off(&r->gaps, r->p);

	if (e)
		return e;
	e = aif_gaps_init(&pauses, r->p);
	r->is_sparse = r->t->weights || time_off(&r->gaps) != time_off(&pauses);
	aif_gaps_finish(&pauses);
	return e;
}

/* Numbers of so many digits, hexadecimal ones with a digit and a letter at least, tell one compilation from another, not one
 * kernel from another: k318273645_kernel, fused_add_9f3c2a17. Sizes and types are shorter: gemm_128x64, float32. */
#define DIGITS_OF_NUMBER 5
#define DIGITS_OF_HASH   8

/* Returns the length of such a number at `c`, 0: there is none. */
static size_t number_at(const char *c)
{
	size_t digits = strspn(c, "0123456789"), hash = strspn(c, "0123456789abcdef");

	if (hash >= DIGITS_OF_HASH && hash > digits && strcspn(c, "0123456789") < hash)
		return hash;
	return digits >= DIGITS_OF_NUMBER ? digits : 0;
}

/* Puts a kernel's name without numbers of compilations into the set. AIF_STR_NONE: no memory. */
static uint32_t compiled_name(struct aif_strset *names, struct aif_buf *b, const char *name)
{
	size_t number;

	aif_buf_clear(b);
	for (const char *c = name; *c; c += number ? number : 1) {
		/* "deadbeef" in the middle of a word is none. */
		number = c == name || !isalpha((unsigned char)c[-1]) || isdigit((unsigned char)*c)
				 ? number_at(c)
				 : 0;
		aif_buf_putc(b, number ? '#' : *c);
	}
	return aif_buf_failed(b) ? AIF_STR_NONE : aif_strset_put(names, b->data, b->len);
}

/* Sets *ret, by kernel: the first with its name. A program that is compiled anew in each turn has others each time. */
static int merge_kernels(const struct aif_profile *p, uint32_t **ret)
{
	struct aif_map first = {0};
	struct aif_strset names = {0};
	struct aif_buf b = {0};
	int e = 0;

	*ret = malloc((p->kernels_len + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < p->kernels_len && !e; i++) {
		uint64_t same = i;
		uint32_t name;

		(*ret)[i] = (uint32_t)i;
		if (p->kernels[i].name == AIF_NONE)
			continue;
		name = compiled_name(&names, &b, aif_profile_str(p, p->kernels[i].name));
		if (name == AIF_STR_NONE)
			e = -ENOMEM;
		else if (!aif_map_get(&first, name, &same))
			e = aif_map_put(&first, name, i);
		(*ret)[i] = (uint32_t)same;
	}
	aif_map_finish(&first);
	aif_strset_finish(&names);
	aif_buf_finish(&b);
	return e;
}

static int read_launches(struct reading *r)
{
	const struct aif_exec_timeline *t = r->t;
	size_t n = t->launches_len + 1;
	int e;

	r->ns = calloc(n, sizeof(*r->ns));
	r->same = malloc((r->p->stacks_len + 1) * sizeof(*r->same));
	r->parent = malloc((r->p->stacks_len + 1) * sizeof(*r->parent));
	if (!r->ns || !r->same || !r->parent)
		return -ENOMEM;
	e = aif_loop_merge_stacks(r->p, r->same, r->parent);
	if (!e)
		e = aif_loop_stacks_find(r->p, &r->stacks);
	if (!e)
		e = merge_kernels(r->p, &r->kernel);
	if (!e)
		e = read_gaps(r);
	for (size_t i = 0; i < t->execs_len; i++)
		if (t->execs[i].launch != AIF_NONE) {
			uint32_t *ns = &r->ns[t->execs[i].launch];

			*ns += (uint32_t)AIF_MIN(aif_timed_ns(&t->execs[i]),
						 (uint64_t)(UINT32_MAX - *ns));
			r->has_times |= *ns > 0;
		}
	return e;
}

static uint64_t weight_of(const struct reading *r, size_t launch)
{
	/* Sums of as many as there may be do not overflow. */
	return r->has_times ? r->ns[launch] : 1;
}

static uint32_t span_of(const struct reading *r, uint32_t process, int64_t at)
{
	struct aif_gaps_span s = aif_gaps_at(&r->gaps, process, at > 0 ? (uint64_t)at : 0);

	return (uint32_t)s.number * 2 + !s.is_gap;
}

static int by_call(const void *a, const void *b)
{
	const struct aif_loop_call *x = a, *y = b;

	return AIF_ORDER(x->at, y->at);
}

static int add_call(struct reading *r, struct aif_loop_calls *c, struct aif_map *sites, size_t i)
{
	const struct aif_timeline_launch *l = &r->t->launches[i];
	struct aif_loop_site site = site_of(r, l);
	uint64_t key = (uint64_t)site.stack << 32 | site.kernel, known;

	if (!aif_map_get(sites, key, &known)) {
		known = c->sites_len;
		if (aif_grow(&c->sites, &c->sites_cap, c->sites_len + 1, sizeof(*c->sites)) < 0 ||
		    aif_map_put(sites, key, known) < 0)
			return -ENOMEM;
		c->sites[c->sites_len++] = site;
	}
	c->at[c->len++] = (struct aif_loop_call){
		.at = aif_time_clamp(l->at),
		.weight = weight_of(r, i),
		.site = (uint32_t)known,
		.span = span_of(r, r->p->threads[aif_timeline_thread_of(r->t, i)].process, l->at),
	};
	return 0;
}

/* True if a launch may be part of a loop: it is in the span that is asked for, and no tuner made it. */
static bool is_looked_at(const struct reading *r, const struct aif_timeline_launch *l)
{
	return is_in_span(r, l->at) && (l->stack == AIF_NONE || !r->stacks.tuners[l->stack]);
}

/* Adds loops behind others. */
static void append(struct aif_loops *to, struct aif_loops *from)
{
	for (size_t i = 0; i < from->len; i++)
		if (to->len < AIF_LOOPS)
			to->at[to->len++] = from->at[i];
		else
			aif_loop_finish(&from->at[i]);
	from->len = 0;
}

/* Finds the loops of a thread's launches: those of the source; where these have few turns, or none, what recurs. */
static int find_in_calls(struct reading *r, const struct aif_loop_calls *c, struct aif_loops *ret)
{
	struct aif_loops recur = {.len = 0};
	int e = aif_loop_by_source(r->p, c, r->is_sparse, r->place, ret);

	for (size_t i = 0; i < ret->len && !e; i++)
		if (r->place || ret->at[i].len >= AIF_LOOP_SURE)
			return 0;
	if (!e)
		e = aif_loop_recurrence(r->p, c, r->is_sparse, r->place, &recur);
	append(ret, &recur);
	return e;
}

/* Returns when the last launch was made from within the loop's function: where launches were left out, its last turn that was seen whole
 * may be long before. */
static int64_t last_call(const struct reading *r, const struct aif_loop_calls *c,
			 const struct aif_loop *l)
{
	uint32_t of = l->level[l->chosen].stack;

	for (size_t i = c->len; r->is_sparse && of != AIF_NONE && i-- > 0;) {
		uint32_t stack = c->sites[c->at[i].site].stack;

		while (stack != AIF_NONE && stack != of)
			stack = r->parent[stack];
		if (stack == of)
			return AIF_MAX(l->end, c->at[i].at);
	}
	return l->end;
}

static int find_in_thread(struct reading *r, uint32_t thread, size_t launches,
			  struct aif_loops *ret)
{
	struct aif_loop_calls c = {.at = malloc((launches + 1) * sizeof(*c.at)),
				   .thread = thread,
				   .parent = r->parent,
				   .stacks = &r->stacks};
	struct aif_map sites = {0};
	bool is_sorted = true;
	int e = c.at ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->t->launches_len && !e; i++)
		if (aif_timeline_thread_of(r->t, i) == thread &&
		    is_looked_at(r, &r->t->launches[i])) {
			e = add_call(r, &c, &sites, i);
			is_sorted &= c.len < 2 || c.at[c.len - 2].at <= c.at[c.len - 1].at;
		}
	if (!e && !is_sorted)
		aif_sort(c.at, c.len, sizeof(*c.at), by_call);
	if (!e && c.len)
		e = find_in_calls(r, &c, ret);
	for (size_t i = 0; i < ret->len && !e; i++) {
		ret->at[i].thread = thread;
		if (ret->at[i].levels)
			e = sum_up(&ret->at[i]);
		if (ret->at[i].levels && !e)
			ret->at[i].last = last_call(r, &c, &ret->at[i]);
	}
	aif_map_finish(&sites);
	free(c.at);
	free(c.sites);
	return e;
}

static void loops_finish(struct aif_loops *l)
{
	for (size_t i = 0; i < l->len; i++)
		aif_loop_finish(&l->at[i]);
}

struct launcher {
	size_t launches;
	uint64_t weight;
	bool is_tried;
};

/* Returns which part of the run's time and work a loop has, 2 for all of both. */
static double likelihood(const struct reading *r, const struct aif_loop *l)
{
	const struct aif_loop_level *of = &l->level[l->chosen];
	double span = (double)AIF_MAX(r->to - r->from, 1);

	return (double)l->median_ns * (double)l->len / span +
	       (double)of->weight / (double)AIF_MAX(r->weight, UINT64_C(1));
}

/* Returns true if `a` is more likely the program's loop than `b`. Of loops of two threads that run beside each other it is the one
 * in Python's code, else the one with fewer turns: a thread that runs the backward knows layers, the one that calls
 * it steps. Of others it is the one with more of the run, or the later where both have about as much: a warm-up comes first. */
static bool is_more_likely(const struct reading *r, const struct aif_loop *a,
			   const struct aif_loop *b)
{
	int64_t both = AIF_MIN(a->last, b->last) - AIF_MAX(a->start, b->start);
	double x, y;

	if (!a->levels || !b->levels)
		return a->levels;
	if ((a->len >= AIF_LOOP_SURE) != (b->len >= AIF_LOOP_SURE))
		return a->len >= AIF_LOOP_SURE;
	if (a->thread != b->thread && both > (b->last - b->start) / 2) {
		if (a->is_python != b->is_python)
			return a->is_python;
		return a->len < b->len - b->len / 4;
	}
	x = likelihood(r, a);
	y = likelihood(r, b);
	return a->start >= b->end ? x > AS_LIKELY * y : y < AS_LIKELY * x;
}

static int add_candidate(const struct reading *r, const struct aif_loop *l,
			 struct aif_loop_candidate *to, size_t *n)
{
	const struct aif_loop_level *of = &l->level[l->chosen];
	struct aif_loop_candidate c = {.thread = l->thread,
				       .stack = of->stack,
				       .line = of->line,
				       .call_line = of->call_line,
				       .inlined = of->inlined,
				       .turns = l->len,
				       .median_ns = l->median_ns,
				       .weight = of->weight,
				       .start = l->start,
				       .end = l->end};
	size_t at = *n;
	int e = aif_loop_place_of_level(r->p, r->parent, of, &c.place);

	for (size_t i = 0; i < l->len; i++)
		c.ns += (uint64_t)(l->steps[i].end - l->steps[i].start);
	while (at && to[at - 1].median_ns * to[at - 1].turns < c.median_ns * c.turns)
		at--;
	if (e || at == AIF_LOOPS)
		return e;
	*n = AIF_MIN(*n + 1, (size_t)AIF_LOOPS);
	memmove(&to[at + 1], &to[at], (*n - 1 - at) * sizeof(*to));
	to[at] = c;
	return 0;
}

/* Takes the likeliest loop of a thread if it is more likely than that found so far. 0 or -errno. */
static int take_loops(struct reading *r, struct aif_loops *loops, struct aif_loop_candidate *all,
		      size_t *n)
{
	int e = 0;

	for (size_t i = 0; i < loops->len && !e; i++) {
		struct aif_loop *l = &loops->at[i];

		if (!l->levels)
			continue;
		e = add_candidate(r, l, all, n);
		if (e || !is_more_likely(r, l, r->ret))
			continue;
		aif_loop_finish(r->ret);
		*r->ret = *l;
		l->steps = NULL;
	}
	return e;
}

/* Adds up what threads launch. */
static void sum_launches(struct reading *r, struct launcher *by_thread)
{
	r->from = INT64_MAX;
	r->to = INT64_MIN;
	for (size_t i = 0; i < r->t->launches_len; i++) {
		const struct aif_timeline_launch *l = &r->t->launches[i];
		uint32_t thread = aif_timeline_call_of(r->t, l)->thread;

		if (thread == AIF_NONE || !is_looked_at(r, l))
			continue;
		by_thread[thread].launches++;
		by_thread[thread].weight += weight_of(r, i);
		r->weight += weight_of(r, i);
		r->from = AIF_MIN(r->from, l->at);
		r->to = AIF_MAX(r->to, l->at);
	}
}

/* Puts the loop that was taken first. */
static void list_loops(struct aif_loop *to, const struct aif_loop_candidate *all, size_t n)
{
	memcpy(to->loops, all, n * sizeof(*all));
	to->loops_len = n;
	for (size_t i = 1; i < n; i++)
		if (all[i].thread == to->thread && all[i].place == to->place &&
		    all[i].start == to->start) {
			memmove(&to->loops[1], &to->loops[0], i * sizeof(*all));
			to->loops[0] = all[i];
			break;
		}
}

/* Takes the loop of the threads, in the order of the device time of their launches. */
static int find_in_threads(struct reading *r, struct launcher *by_thread)
{
	struct aif_loop_candidate all[AIF_LOOPS];
	uint64_t most = 0;
	size_t loops = 0;
	int e = 0;

	sum_launches(r, by_thread);
	for (size_t n = 0; n < MOST_THREADS && !e; n++) {
		struct launcher *next = NULL;
		struct aif_loops found = {.len = 0};

		for (uint32_t i = 0; i < r->p->threads_len; i++)
			if (by_thread[i].launches && !by_thread[i].is_tried &&
			    (!next || by_thread[i].weight > next->weight))
				next = &by_thread[i];
		if (!next || next->weight < most / LEAST_OF_MOST)
			break;
		next->is_tried = true;
		most = AIF_MAX(most, next->weight);
		e = find_in_thread(r, (uint32_t)(next - by_thread), next->launches, &found);
		if (!e)
			e = take_loops(r, &found, all, &loops);
		loops_finish(&found);
	}
	if (!e && r->ret->levels)
		e = aif_loop_place_of_level(r->p, r->parent, &r->ret->level[r->ret->chosen],
					    &r->ret->place);
	if (!e)
		list_loops(r->ret, all, loops);
	return e;
}

int aif_loop_find(const struct aif_profile *p, const struct aif_exec_timeline *t, uint64_t place,
		  struct aif_loop *ret)
{
	struct reading r = {.p = p, .t = t, .ret = ret, .place = place};
	struct launcher *by_thread = calloc(p->threads_len + 1, sizeof(*by_thread));
	int e = by_thread ? 0 : -ENOMEM;

	*ret = (struct aif_loop){.thread = AIF_NONE};
	if (!e)
		e = read_launches(&r);
	if (!e)
		e = find_in_threads(&r, by_thread);
	ret->is_sparse = ret->levels && r.is_sparse;
	aif_gaps_finish(&r.gaps);
	free(r.ns);
	free(r.same);
	free(r.parent);
	free(r.kernel);
	aif_loop_stacks_finish(&r.stacks);
	free(by_thread);
	return e;
}

void aif_loop_finish(struct aif_loop *l)
{
	free(l->steps);
	*l = (struct aif_loop){.thread = AIF_NONE};
}
