/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/blame.h"

#include "analysis/calls/host_calls.h"
#include "analysis/op_tree.h"

#include "analysis/cpu_totals.h"
#include "analysis/idle/between.h"
#include "analysis/idle/course.h"
#include "analysis/idle/demand.h"
#include "analysis/idle/rules.h"
#include "analysis/idle/sums.h"
#include "analysis/time.h"
#include "base/reasons.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* The part of a gap before the launch call of what ended it. */
struct segment {
	uint32_t thread, bracket;
	int64_t prev, from, to; /* the thread's launch before; the part */
	double weight;          /* how many such parts it stands for */
	bool is_between_calls;  /* calls that wait are known, and it lies in none */
};
/* Gaps between launches of the same two stacks. */
struct bracket {
	uint32_t device;        /* of the blame's */
	uint32_t before, after; /* stacks; before AIF_NONE: the thread's first launch */
	uint32_t thread;        /* AIF_NONE: several */
	double idle, seen;      /* ns; of this what samples, waits and times off CPU explain */
	double whole;           /* exact times off CPU, a part of .seen */
	uint32_t drain;         /* stack of the longest wait */
	double drain_ns;
	/* Parts of .seen: waits for work from outside; and what threads other than .thread computed meanwhile. */
	double demand, others;
};
/* Activity of threads in a bracket's gaps, by stack. */
struct share {
	uint32_t bracket, stack;
	enum aif_idle_cause cause;
	double ns, whole; /* all; exact times off CPU, a part of .ns */
};

struct blame {
	const struct aif_profile *p;
	const struct aif_exec_timeline *t;
	struct aif_idle_blame *to;
	struct aif_idle_course *course; /* NULL: nobody asks */
	uint32_t *before; /* by launch: the same thread's launch before it, AIF_NONE: none */
	struct segment *segments;
	size_t segments_len, segments_cap;
	struct bracket *brackets;
	size_t brackets_len, brackets_cap;
	struct share *shares;
	size_t shares_len, shares_cap;
	uint32_t device; /* whose gaps are looked at */
	/* Looked at, and of the device at hand: INT64_MIN for all between its executions. */
	int64_t from, end, window_from, window_to;
	struct aif_map bracket_of; /* of this device: stack before << 32 | stack after -> bracket */
	struct aif_map drained_of; /* the same of gaps behind a recorded call that waits */
	struct aif_host_calls calls;
	bool has_calls;          /* those of the device at hand are recorded */
	struct aif_map share_of; /* bracket << 36 | cause << 32 | stack -> share */
	uint8_t *cause_of_stack; /* 0: not looked at, else 1 + cause */
	struct aif_idle_rules rules;
	unsigned sums_left; /* segments that sums of times off CPU may still be laid over */
	struct aif_idle_demand demand;
	struct aif_idle_sums sums;
	double period_ns;  /* between two samples of a thread on a CPU; 0: not known */
	bool *is_sampled;  /* by process: it has CPU samples */
	bool *is_followed; /* by thread: all its times off CPU are known */
};

/* ---- rows ------------------------------------------------------------------------------------- */

static struct aif_idle_row row_of(const struct blame *b, uint32_t device, enum aif_idle_cause cause,
				  uint32_t stack, uint32_t thread, const struct bracket *from)
{
	return (struct aif_idle_row){.cause = cause,
				     .process = b->to->devices[device].process,
				     .device = device,
				     .stack = stack,
				     .thread = thread,
				     .drain = from ? from->drain : AIF_NONE};
}

/* Adds a part of a bracket's idle time. */
static int row_add(struct blame *b, enum aif_idle_cause cause, uint32_t stack, bool is_before,
		   double ns, const struct bracket *of)
{
	struct aif_idle_row row = row_of(b, of->device, cause, stack, of->thread, of);
	int r;

	row.is_before = is_before;
	r = aif_idle_sums_add(&b->sums, &row, ns);
	return r ? r
		 : aif_idle_course_part(b->course, aif_idle_row_key(&row),
					(uint64_t)(of - b->brackets), ns);
}

/* Adds a time that has a cause of its own, on the device at hand. `behind` may be NULL. */
static int time_add(struct blame *b, enum aif_idle_cause cause, uint32_t stack, uint32_t thread,
		    int64_t from, int64_t to, double weight, const struct bracket *behind)
{
	struct aif_idle_row row = row_of(b, b->device, cause, stack, thread, behind);
	int r = aif_idle_sums_add(&b->sums, &row, weight * (double)(to - from));

	return r ? r : aif_idle_course_own(b->course, aif_idle_row_key(&row), from, to, weight);
}

/* ---- gaps ------------------------------------------------------------------------------------- */

static int bracket_get(struct blame *b, uint32_t before, uint32_t after, uint32_t thread,
		       bool is_drained, uint32_t *ret)
{
	struct aif_map *map = is_drained ? &b->drained_of : &b->bracket_of;
	uint64_t key = (uint64_t)before << 32 | after, i;

	if (!aif_map_get(map, key, &i)) {
		i = b->brackets_len;
		if (aif_grow(&b->brackets, &b->brackets_cap, i + 1, sizeof(*b->brackets)) < 0 ||
		    aif_map_put(map, key, i) < 0)
			return -ENOMEM;
		b->brackets[b->brackets_len++] = (struct bracket){.device = b->device,
								  .before = before,
								  .after = after,
								  .thread = thread,
								  .drain = AIF_NONE};
	}
	if (b->brackets[i].thread != thread)
		b->brackets[i].thread = AIF_NONE;
	*ret = (uint32_t)i;
	return 0;
}

/* Adds a part of a gap that samples are to explain. */
static int segment_add(struct blame *b, const struct segment *s)
{
	if (s->from >= s->to)
		return 0;
	if (aif_grow(&b->segments, &b->segments_cap, b->segments_len + 1, sizeof(*b->segments)) < 0)
		return -ENOMEM;
	b->segments[b->segments_len++] = *s;
	b->brackets[s->bracket].idle += s->weight * (double)(s->to - s->from);
	return 0;
}

static enum aif_idle_cause cause_of_call(enum aif_host_call_kind kind)
{
	switch (kind) {
	case AIF_HOST_CALL_ALLOCATE:
	case AIF_HOST_CALL_FREE:
		return AIF_IDLE_CAUSE_ALLOCATE;
	case AIF_HOST_CALL_COMPILE:
	case AIF_HOST_CALL_LOAD:
		return AIF_IDLE_CAUSE_COMPILE;
	default:
		return AIF_IDLE_CAUSE_WAIT;
	}
}

/* Divides a part of a gap among the calls that the thread was in, and segments between them. */
static int divide_among_calls(struct blame *b, struct segment s)
{
	const struct aif_host_calls *calls = &b->calls;
	int64_t to = s.to;
	int r = 0;

	for (size_t i = aif_host_calls_first(calls, s.thread, s.from);
	     r == 0 && i < calls->len && calls->at[i].thread == s.thread && calls->at[i].start < to;
	     i++) {
		const struct aif_host_call *c = &calls->at[i];
		int64_t begin = AIF_MAX(s.from, c->start);

		s.to = begin;
		r = segment_add(b, &s);
		s.from = AIF_MIN(c->end, to);
		if (r == 0)
			r = time_add(b, cause_of_call(c->kind), c->stack, s.thread, begin, s.from,
				     s.weight, &b->brackets[s.bracket]);
	}
	s.to = to;
	return r == 0 ? segment_add(b, &s) : r;
}

/* Takes the part of a gap that lies before the launch call. */
static int before_call_add(struct blame *b, uint32_t launch, int64_t from, int64_t to,
			   double weight)
{
	const struct aif_timeline_launch *l = &b->t->launches[launch];
	uint32_t before = b->before[launch];
	struct segment s = {.thread = l->thread,
			    .prev = before == AIF_NONE ? from : b->t->launches[before].at,
			    .from = from,
			    .to = to,
			    .weight = weight,
			    .is_between_calls = b->has_calls};
	const struct aif_host_call *wait;
	struct bracket *of;
	int64_t waited = 0;
	int r;

	wait = b->has_calls ? aif_host_calls_longest_wait(&b->calls, l->thread, s.prev, to, &waited)
			    : NULL;
	r = bracket_get(b, before == AIF_NONE ? AIF_NONE : b->t->launches[before].stack, l->stack,
			l->thread, wait, &s.bracket);
	if (r < 0)
		return r;
	of = &b->brackets[s.bracket];
	if (wait && (double)waited > of->drain_ns) {
		of->drain_ns = (double)waited;
		of->drain = wait->stack;
	}
	return b->has_calls ? divide_among_calls(b, s) : segment_add(b, &s);
}

static int gap_add(struct blame *b, const struct aif_device_utilization *d, int64_t from,
		   const struct aif_timeline_exec *x)
{
	struct aif_utilization_gap gap = aif_utilization_gap(b->t, d, from, x);
	const struct aif_timeline_launch *l =
		x->launch == AIF_NONE ? NULL : &b->t->launches[x->launch];
	double weight = (double)x->weight / AIF_WEIGHT_ONE;
	enum aif_idle_cause cause = AIF_IDLE_CAUSE_LAUNCH;
	int64_t call, end = AIF_MIN(x->start, b->window_to);
	int r = 0;

	if (!gap.ns || gap.is_cut)
		return 0;
	/* A pause in the gap is taken from its beginning. */
	from = x->start - (int64_t)gap.ns;
	if (l && (l->at < from ? x->start - from > AIF_IDLE_KERNEL_NS
			       : x->start - l->at > AIF_IDLE_LAUNCH_NS))
		cause = AIF_IDLE_CAUSE_LATE;
	from = AIF_MAX(from, b->window_from);
	if (from >= end)
		return 0;
	b->to->gaps++;
	b->to->captured_ns += (uint64_t)(end - from);
	if (!l || l->thread == AIF_NONE)
		return time_add(b, AIF_IDLE_CAUSE_UNKNOWN, l ? l->stack : AIF_NONE, AIF_NONE, from,
				end, weight, NULL);
	call = AIF_MAX(from, AIF_MIN(l->at, end));
	if (call > from)
		r = before_call_add(b, x->launch, from, call, weight);
	if (r == 0)
		r = time_add(b, cause, l->stack, l->thread, call, end, weight, NULL);
	return r;
}

static int find_gaps(struct blame *b, const struct aif_utilization *u)
{
	int r = 0;

	for (size_t k = 0; k < u->len; k++) {
		const struct aif_device_utilization *d = &u->devices[k];
		struct aif_idle_window w = aif_idle_window(b->t, u, d, b->from, b->end);
		int64_t end = b->from == INT64_MIN ? b->t->execs[u->order[d->first]].end : w.from;

		b->window_from = w.from;
		b->window_to = w.to;

		if (aif_grow(&b->to->devices, &b->to->devices_cap, k + 1, sizeof(*b->to->devices)) <
		    0)
			return -ENOMEM;
		b->to->devices[k] = (struct aif_idle_device){
			.process = d->process,
			.device = d->device,
			.idle_ns = b->from == INT64_MIN
					   ? d->whole.parts.idle
					   : aif_utilization_parts(d, w.from, w.to).idle};
		b->to->idle_ns += b->to->devices[k].idle_ns;
		b->to->devices_len++;
		aif_map_clear(&b->bracket_of);
		aif_map_clear(&b->drained_of);
		b->device = (uint32_t)k;
		b->has_calls = b->calls.len && aif_host_calls_recorded(b->p, d->device);
		for (size_t i = d->first; i < d->end && r == 0; i++) {
			const struct aif_timeline_exec *x = &b->t->execs[u->order[i]];

			if (x->start > end)
				r = gap_add(b, d, end, x);
			end = AIF_MAX(end, x->end);
		}
	}
	return r;
}

/* ---- what threads did -------------------------------------------------------------------------- */

static int by_thread_end(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* The first segment of the thread that ends behind `at`, or a later one's. */
static size_t first_segment(const struct blame *b, uint32_t thread, int64_t at)
{
	size_t lo = 0, hi = b->segments_len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct segment *s = &b->segments[mid];

		if (s->thread < thread || (s->thread == thread && s->to <= at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The cause of a stack of a thread on a CPU: that of its innermost function which has one. Looked up once a stack. */
static enum aif_idle_cause cause_of(struct blame *b, uint32_t stack)
{
	const struct aif_profile *p = b->p;
	enum aif_idle_cause found = AIF_IDLE_CAUSE_CPU;
	uint32_t s = stack;

	for (bool is_found = false; s != AIF_NONE && !is_found; s = p->stacks[s].parent) {
		if (b->cause_of_stack[s]) {
			found = (enum aif_idle_cause)(b->cause_of_stack[s] - 1);
			break;
		}
		is_found = p->stacks[s].frame != AIF_NONE &&
			   aif_idle_rules_of_frame(&b->rules, p->stacks[s].frame, &found);
	}
	for (uint32_t k = stack; k != AIF_NONE && k != s; k = p->stacks[k].parent)
		b->cause_of_stack[k] = (uint8_t)(1 + found);
	return found;
}

static int share_add(struct blame *b, const struct segment *s, enum aif_idle_cause cause,
		     uint32_t stack, double ns, bool is_whole)
{
	uint64_t key = (uint64_t)s->bracket << 36 | (uint64_t)cause << 32 | stack, i;

	if (!aif_map_get(&b->share_of, key, &i)) {
		i = b->shares_len;
		if (aif_grow(&b->shares, &b->shares_cap, i + 1, sizeof(*b->shares)) < 0 ||
		    aif_map_put(&b->share_of, key, i) < 0)
			return -ENOMEM;
		b->shares[b->shares_len++] =
			(struct share){.bracket = s->bracket, .stack = stack, .cause = cause};
	}
	b->shares[i].ns += ns;
	b->shares[i].whole += is_whole ? ns : 0;
	b->brackets[s->bracket].seen += ns;
	b->brackets[s->bracket].whole += is_whole ? ns : 0;
	if (cause != AIF_IDLE_CAUSE_DEMAND)
		return 0;
	b->brackets[s->bracket].demand += ns;
	return aif_idle_demand_asked(&b->demand, s->thread);
}

/* The cause of a stack of a thread that sleeps: what it does there by rules.def, else what it waits for. */
static enum aif_idle_cause cause_of_sleep(struct blame *b, uint32_t thread, uint32_t stack)
{
	enum aif_idle_cause cause = stack == AIF_NONE ? AIF_IDLE_CAUSE_CPU : cause_of(b, stack);

	if (cause != AIF_IDLE_CAUSE_CPU)
		return cause;
	return aif_idle_demand_is_for(&b->demand, thread, stack) ? AIF_IDLE_CAUSE_DEMAND
								 : AIF_IDLE_CAUSE_OFF_CPU;
}

/* A thread that waits launches nothing, so only a damaged file has spans over more launches than this. */
#define SEGMENTS_OF_SPAN 64
/* Times off CPU are sums over a second: so many more in all. */
#define SEGMENTS_OF_SUMS (1u << 24)

/* Waits and times off CPU have a beginning and a length; several short waits may be one row (agent/wait.h), whose length then
 * reaches beyond what it is of: its segment's end bounds it. */
static int span_add(struct blame *b, int64_t at, const struct aif_cpu_row *row)
{
	bool off_cpu = aif_cpu_is_off_cpu(b->p, row->stack);
	enum aif_idle_cause cause =
		off_cpu ? cause_of_sleep(b, row->thread, row->stack) : AIF_IDLE_CAUSE_WAIT;
	int64_t end = at + (int64_t)AIF_MIN(row->waiting, (uint64_t)AIF_TIME_MAX);
	size_t i = first_segment(b, row->thread, at);
	int r = 0;

	b->is_followed[row->thread] |= off_cpu && row->is_whole;
	for (unsigned n = 0;
	     r == 0 && (n < SEGMENTS_OF_SPAN || (off_cpu && b->sums_left && b->sums_left--)) &&
	     i < b->segments_len && b->segments[i].thread == row->thread &&
	     b->segments[i].prev < end;
	     i++, n++) {
		const struct segment *s = &b->segments[i];
		struct bracket *to = &b->brackets[s->bracket];
		int64_t from = AIF_MAX(at, s->from), until = AIF_MIN(end, s->to);
		double waited = (double)(AIF_MIN(end, s->to) - AIF_MAX(at, s->prev));

		/* Rows that were estimated, of calls whose times are known. */
		if (!off_cpu && s->is_between_calls)
			continue;
		if (!off_cpu && waited > to->drain_ns) {
			to->drain_ns = waited;
			to->drain = row->stack;
		}
		if (until > from)
			r = share_add(b, s, cause, row->stack, s->weight * (double)(until - from),
				      off_cpu && row->is_whole);
	}
	return r;
}

/* Adds a span of a thread's activity to the segments that it overlaps. */
static int activity_add(struct blame *b, const struct aif_op *o, enum aif_idle_cause cause)
{
	size_t i = first_segment(b, o->thread, o->start);
	int r = 0;

	for (unsigned n = 0; r == 0 && n < SEGMENTS_OF_SPAN && i < b->segments_len &&
			     b->segments[i].thread == o->thread && b->segments[i].from < o->end;
	     i++, n++) {
		const struct segment *s = &b->segments[i];
		int64_t from = AIF_MAX(o->start, s->from), until = AIF_MIN(o->end, s->to);

		if (until > from)
			r = share_add(b, s, cause,
				      o->stack == AIF_NONE ? b->brackets[s->bracket].after
							   : o->stack,
				      s->weight * (double)(until - from), false);
	}
	return r;
}

/* Takes operators and ranges by their names, the outermost that has a rule: imported traces have no samples. */
static int take_ops(struct blame *b)
{
	struct aif_op_tree ops = {0};
	bool *has_rule = NULL;
	bool any = false;
	uint64_t damaged;
	int r = aif_idle_rules_any(&b->rules, &any, &damaged);

	if (r == 0 && any)
		r = aif_op_tree_make(b->p, NULL, b->t, AIF_OWNERS_ALL, &ops);
	if (r == 0) {
		has_rule = calloc(ops.len + 1, sizeof(*has_rule));
		r = has_rule ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < ops.len && r == 0; i++) {
		const struct aif_op *o = &ops.ops[i];
		bool is_inside = o->parent != AIF_NONE && has_rule[o->parent];
		enum aif_idle_cause cause;

		has_rule[i] = is_inside;
		if (is_inside || o->thread == AIF_NONE || o->name == AIF_NONE ||
		    !aif_idle_rules_of_name(&b->rules, o->name, &cause))
			continue;
		has_rule[i] = true;
		r = activity_add(b, o, cause);
	}
	b->to->damaged += damaged;
	free(has_rule);
	aif_op_tree_finish(&ops);
	return r;
}

/* The cause of a sample: of --wall it may be of a thread that sleeps. */
static enum aif_idle_cause cause_of_sample(struct blame *b, const struct aif_cpu_row *row)
{
	if (row->stack == AIF_NONE)
		return AIF_IDLE_CAUSE_CPU;
	return b->demand.is_wall && aif_idle_demand_sleep(&b->demand, row->stack)
		       ? cause_of_sleep(b, row->thread, row->stack)
		       : cause_of(b, row->stack);
}

static int take_cpu(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct blame *b = arg;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct aif_cpu_row *row = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(row->time - b->p->start_ns));
		size_t k;

		if (row->thread == AIF_NONE)
			continue;
		if (row->waiting) {
			r = span_add(b, at, row);
			continue;
		}
		if (b->p->threads[row->thread].process != AIF_NONE)
			b->is_sampled[b->p->threads[row->thread].process] = true;
		k = first_segment(b, row->thread, at);
		if (k < b->segments_len && b->segments[k].thread == row->thread &&
		    b->segments[k].from <= at)
			r = share_add(b, &b->segments[k], cause_of_sample(b, row), row->stack,
				      b->segments[k].weight * (double)row->weight, false);
		else if (b->demand.is_wall && aif_idle_demand_sleep(&b->demand, row->stack))
			(void)cause_of_sleep(b, row->thread, row->stack);
	}
	return r;
}

/* Adds what other threads computed while one waited for work from outside: then the wait was for them, or could be. */
static int take_others(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct blame *b = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *row = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(row->time - b->p->start_ns));

		if (row->thread == AIF_NONE || row->waiting ||
		    (b->demand.is_wall && aif_idle_demand_sleep(&b->demand, row->stack)))
			continue;
		for (size_t t = 0; t < b->demand.askers_len; t++) {
			uint32_t asker = b->demand.askers[t];
			size_t k = asker == row->thread ? b->segments_len
							: first_segment(b, asker, at);

			if (k < b->segments_len && b->segments[k].thread == asker &&
			    b->segments[k].from <= at)
				b->brackets[b->segments[k].bracket].others +=
					b->segments[k].weight * (double)row->weight;
		}
	}
	return 0;
}

static int find_others(struct blame *b)
{
	uint64_t damaged = 0; /* counted already */

	if (!b->demand.askers_len || b->demand.askers_len > AIF_IDLE_ASKERS)
		return 0;
	return aif_profile_cpu(b->p, take_others, b, &damaged);
}

/* ---- brackets to rows -------------------------------------------------------------------------- */

/* Returns the part of what samples, sums and estimates say that the bracket has room for beside exact times. */
static double fits_of(const struct bracket *of)
{
	double room = of->idle - of->whole, seen = of->seen - of->whole;

	return seen > room ? AIF_MAX(room, 0) / seen : 1;
}

/* Returns the part of a wait for work from outside that stands: while nothing that was sampled computed. Of a thread that waits to
 * be handed something, only in a server whose CPU samples are known. */
static double demand_of(struct blame *b, const struct bracket *of, const struct share *s)
{
	uint32_t process = b->to->devices[of->device].process;

	if (b->demand.askers_len > AIF_IDLE_ASKERS || process == AIF_NONE ||
	    (aif_idle_demand_sleep(&b->demand, s->stack) == AIF_IDLE_SLEEP_HANDED &&
	     (!b->demand.is_server[process] || !b->is_sampled[process])))
		return 0;
	return of->demand > of->others ? (of->demand - of->others) / of->demand : 0;
}

static int shares_to_rows(struct blame *b)
{
	int r = 0;

	for (size_t i = 0; i < b->shares_len && r == 0; i++) {
		const struct share *s = &b->shares[i];
		const struct bracket *of = &b->brackets[s->bracket];
		/* Exact times of a damaged file may overlap. */
		double most = of->whole > of->idle ? of->idle / of->whole : 1;
		double ns = most * s->whole + fits_of(of) * (s->ns - s->whole);
		double part = s->cause == AIF_IDLE_CAUSE_DEMAND ? demand_of(b, of, s) : 1;
		bool is_before;
		uint32_t stack = aif_idle_place(b->p, s->stack, of->before, of->after, &is_before);

		r = row_add(b, s->cause, stack, is_before, ns * part, of);
		if (r == 0)
			r = row_add(b, AIF_IDLE_CAUSE_OFF_CPU, stack, is_before, ns * (1 - part),
				    of);
	}
	return r;
}

static int rest_to_rows(struct blame *b)
{
	int r = 0;

	for (size_t i = 0; i < b->brackets_len && r == 0; i++) {
		const struct bracket *of = &b->brackets[i];
		double rest = of->idle - of->seen;
		/* Samples that were refused are none that are missing. */
		uint32_t process = b->to->devices[of->device].process;
		bool is_off = b->period_ns > 0 && process != AIF_NONE && b->is_sampled[process] &&
			      rest / b->period_ns >= AIF_IDLE_OFF_CPU_SAMPLES;
		bool is_on = of->thread != AIF_NONE && b->is_followed[of->thread], is_before;
		uint32_t stack = aif_idle_place(b->p, AIF_NONE, of->before, of->after, &is_before);

		r = row_add(b,
			    is_on    ? AIF_IDLE_CAUSE_CPU
			    : is_off ? AIF_IDLE_CAUSE_OFF_CPU
				     : AIF_IDLE_CAUSE_HOST,
			    stack, is_before, rest, of);
	}
	return r;
}

static int brackets_to_course(struct blame *b)
{
	int r = 0;

	for (size_t i = 0; b->course && i < b->segments_len && r == 0; i++)
		r = aif_idle_course_time(b->course, b->segments[i].bracket, b->segments[i].from,
					 b->segments[i].to, b->segments[i].weight);
	return r;
}

static int blame(struct blame *b, const struct aif_utilization *u)
{
	int r = aif_idle_launches_before(b->t, &b->before);

	aif_idle_trust_samplers(b->p, b->is_sampled);
	if (r == 0 && *aif_profile_meta(b->p, "calls"))
		r = aif_host_calls_read(b->p, NULL, &b->calls);
	b->to->damaged += b->calls.damaged;
	if (r == 0)
		r = find_gaps(b, u);
	if (r < 0)
		return r;
	if (b->segments_len)
		qsort(b->segments, b->segments_len, sizeof(*b->segments), by_thread_end);
	r = aif_profile_cpu(b->p, take_cpu, b, &b->to->damaged);
	if (r == 0)
		r = find_others(b);
	if (r == 0)
		r = take_ops(b);
	if (r == 0)
		r = shares_to_rows(b);
	if (r == 0)
		r = rest_to_rows(b);
	if (r == 0)
		r = brackets_to_course(b);
	if (r < 0)
		return r;
	r = aif_idle_sums_round(&b->sums);
	aif_idle_sums_sort(b->to);
	return r;
}

int aif_idle_blame(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_idle_blame *ret)
{
	return aif_idle_blame_within(p, t, u, INT64_MIN, INT64_MAX, NULL, ret);
}

int aif_idle_blame_within(const struct aif_profile *p, const struct aif_exec_timeline *t,
			  const struct aif_utilization *u, int64_t from, int64_t to,
			  struct aif_idle_course *course, struct aif_idle_blame *ret)
{
	struct blame b = {.p = p,
			  .t = t,
			  .to = ret,
			  .course = course,
			  .sums = {.to = ret},
			  .sums_left = SEGMENTS_OF_SUMS,
			  .from = from,
			  .end = to,
			  .period_ns = aif_idle_sampling_period(p)};
	int r;

	*ret = (struct aif_idle_blame){0};
	b.cause_of_stack = calloc(p->stacks_len + 1, 1);
	b.is_sampled = calloc(p->processes_len + 1, sizeof(*b.is_sampled));
	b.is_followed = calloc(p->threads_len + 1, sizeof(*b.is_followed));
	r = b.cause_of_stack && b.is_sampled && b.is_followed ? aif_idle_demand_init(&b.demand, p)
							      : -ENOMEM;
	if (r == 0)
		r = aif_idle_rules_init(&b.rules, p);
	if (r == 0)
		r = blame(&b, u);
	aif_idle_demand_finish(&b.demand);
	aif_idle_rules_finish(&b.rules);
	free(b.cause_of_stack);
	free(b.is_sampled);
	free(b.is_followed);
	free(b.before);
	free(b.segments);
	free(b.brackets);
	free(b.shares);
	aif_idle_sums_finish(&b.sums);
	aif_map_finish(&b.bracket_of);
	aif_map_finish(&b.drained_of);
	aif_host_calls_finish(&b.calls);
	aif_map_finish(&b.share_of);
	return r;
}
