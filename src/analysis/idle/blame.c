/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/blame.h"

#include "analysis/cpu_totals.h"
#include "analysis/ebpf_launches.h"
#include "analysis/idle/between.h"
#include "analysis/idle/blaming.h"
#include "analysis/idle/calibrate.h"
#include "analysis/idle/course.h"
#include "analysis/idle/looks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------- */

static struct aif_idle_row row_of(const struct aif_idle_blaming *b, uint32_t device,
				  enum aif_idle_cause cause, uint32_t stack, uint32_t thread,
				  const struct aif_idle_bracket *from)
{
	return (struct aif_idle_row){.cause = cause,
				     .process = b->to->devices[device].process,
				     .device = device,
				     .stack = stack,
				     .thread = thread,
				     .drain = from ? from->drain : AIF_NONE,
				     .seen = AIF_NONE};
}

/* A place that is blamed; as in struct aif_idle_row. */
struct place {
	uint32_t stack, seen;
	bool is_before, is_other;
	const struct aif_idle_share *share; /* whose time it is; NULL: none's */
};

/* Adds a part of a bracket's idle time. */
static int row_add(struct aif_idle_blaming *b, enum aif_idle_cause cause, struct place at,
		   double ns, const struct aif_idle_bracket *of)
{
	struct aif_idle_row row = row_of(b, of->device, cause, at.stack, of->thread, of);
	int r;

	row.is_before = at.is_before;
	row.is_other = at.is_other;
	row.seen = at.seen;
	r = aif_idle_sums_add(&b->sums, &row, ns, of->idle > 0 ? of->squares / of->idle : 0);
	if (r == 0 && at.share && at.share->ns > 0 && ns > 0)
		r = aif_idle_wakers_to_row(&b->wakers, (uint64_t)(at.share - b->shares),
					   aif_idle_row_key(&row), ns / at.share->ns, b->to);
	return r ? r
		 : aif_idle_course_part(b->course, aif_idle_row_key(&row),
					(uint64_t)(of - b->brackets), ns);
}

/* Adds a time that has a cause of its own, on the device at hand. `behind` may be NULL. */
static int time_add(struct aif_idle_blaming *b, enum aif_idle_cause cause, uint32_t stack,
		    uint32_t thread, int64_t from, int64_t to, double weight,
		    const struct aif_idle_bracket *behind)
{
	struct aif_idle_row row = row_of(b, b->device, cause, stack, thread, behind);
	int r = aif_idle_sums_add(&b->sums, &row, weight * (double)(to - from),
				  (double)(to - from));

	return r ? r : aif_idle_course_own(b->course, aif_idle_row_key(&row), from, to, weight);
}

/* ---- gaps ------------------------------------------------------------------------------------- */

static int bracket_get(struct aif_idle_blaming *b, uint32_t before, uint32_t after, uint32_t thread,
		       bool is_drained, uint32_t *ret)
{
	struct aif_map *map = is_drained ? &b->drained_of : &b->bracket_of;
	uint64_t key = (uint64_t)before << 32 | after, i;

	if (!aif_map_get(map, key, &i)) {
		i = b->brackets_len;
		if (aif_grow(&b->brackets, &b->brackets_cap, i + 1, sizeof(*b->brackets)) < 0 ||
		    aif_map_put(map, key, i) < 0)
			return -ENOMEM;
		b->brackets[b->brackets_len++] =
			(struct aif_idle_bracket){.device = b->device,
						  .is_between_calls = b->has_calls,
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
static int segment_add(struct aif_idle_blaming *b, const struct aif_idle_segment *s)
{
	struct aif_idle_bracket *of = &b->brackets[s->bracket];
	double weight = aif_idle_weight_of(b, s), ns = (double)(s->to - s->from);

	if (s->from >= s->to)
		return 0;
	if (aif_grow(&b->segments, &b->segments_cap, b->segments_len + 1, sizeof(*b->segments)) < 0)
		return -ENOMEM;
	b->segments[b->segments_len++] = *s;
	of->idle += weight * ns;
	of->squares += weight * ns * ns;
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
	case AIF_HOST_CALL_PREPARE:
		return AIF_IDLE_CAUSE_PREPARE;
	case AIF_HOST_CALL_COMMUNICATE:
		return AIF_IDLE_CAUSE_RANKS;
	default:
		return AIF_IDLE_CAUSE_WAIT;
	}
}

/* Divides a part of a gap among the calls that the thread was in, and segments between them. */
static int divide_among_calls(struct aif_idle_blaming *b, struct aif_idle_segment s)
{
	const struct aif_host_calls *calls = &b->calls;
	uint32_t thread = aif_idle_thread_of(b, &s);
	double weight = aif_idle_weight_of(b, &s);
	int64_t to = s.to;
	int r = 0;

	for (size_t i = aif_host_calls_first(calls, thread, s.from);
	     r == 0 && i < calls->len && calls->at[i].thread == thread && calls->at[i].start < to;
	     i++) {
		const struct aif_host_call *c = &calls->at[i];
		int64_t begin = AIF_MAX(s.from, c->start);

		s.to = begin;
		r = segment_add(b, &s);
		s.from = AIF_MIN(c->end, to);
		if (r == 0)
			r = time_add(b, cause_of_call(c->kind), c->stack, thread, begin, s.from,
				     weight, &b->brackets[s.bracket]);
	}
	s.to = to;
	return r == 0 ? segment_add(b, &s) : r;
}

/* Takes the part of a gap that lies before the launch call. */
static int before_call_add(struct aif_idle_blaming *b, const struct aif_timeline_exec *x,
			   int64_t from, int64_t to)
{
	const struct aif_timeline_launch *l = &b->t->launches[x->launch];
	uint32_t before = b->before[x->launch], thread = aif_timeline_call_of(b->t, l)->thread;
	struct aif_idle_segment s = {.from = from, .to = to, .exec = (uint32_t)(x - b->t->execs)};
	const struct aif_host_call *wait;
	struct aif_idle_bracket *of;
	int64_t waited = 0;
	int r;

	wait = b->has_calls
		       ? aif_host_calls_longest_wait(&b->calls, thread,
						     aif_idle_launched_before(b, &s), to, &waited)
		       : NULL;
	r = bracket_get(b,
			before == AIF_NONE ? AIF_NONE
					   : aif_stack_of_call(b->p, b->t->launches[before].stack),
			aif_stack_of_call(b->p, l->stack), thread, wait, &s.bracket);
	if (r < 0)
		return r;
	of = &b->brackets[s.bracket];
	if (wait && (double)waited > of->drain_ns) {
		of->drain_ns = (double)waited;
		of->drain = wait->stack;
	}
	return b->has_calls ? divide_among_calls(b, s) : segment_add(b, &s);
}

/* Returns when a launch call ended, in imported traces that say so; else when it began. A call that loads code lasts for
 * milliseconds. */
static int64_t call_end(const struct aif_idle_blaming *b, uint32_t launch)
{
	uint32_t call = b->p->traits.is_imported && b->ops.calls ? b->ops.calls[launch] : AIF_NONE;

	return call == AIF_NONE ? b->t->launches[launch].at : b->ops.ops[call].end;
}

static int gap_add(struct aif_idle_blaming *b, const struct aif_device_utilization *d, int64_t from,
		   const struct aif_timeline_exec *x)
{
	struct aif_utilization_gap gap = aif_utilization_gap(b->t, d, from, x);
	const struct aif_timeline_launch *l =
		x->launch == AIF_NONE ? NULL : &b->t->launches[x->launch];
	uint32_t thread = l ? aif_timeline_call_of(b->t, l)->thread : AIF_NONE;
	double weight = (double)aif_timeline_weight_of(b->t, x) / AIF_WEIGHT_ONE;
	enum aif_idle_cause cause = AIF_IDLE_CAUSE_LAUNCH;
	int64_t call, done, end = AIF_MIN(x->start, b->window_to);
	int r = 0;

	if (!gap.ns || gap.is_cut)
		return 0;
	/* A pause in the gap is taken from its beginning. */
	from = x->start - (int64_t)gap.ns;
	done = l ? AIF_MIN(call_end(b, x->launch), x->start) : x->start;
	if (l && (l->at < from ? x->start - AIF_MAX(from, done) > AIF_IDLE_KERNEL_NS
			       : x->start - done > AIF_IDLE_LAUNCH_NS))
		cause = AIF_IDLE_CAUSE_LATE;
	from = AIF_MAX(from, b->window_from);
	if (from >= end)
		return 0;
	b->to->gaps++;
	b->to->captured_ns += (uint64_t)(end - from);
	if (!l || thread == AIF_NONE)
		return time_add(b, AIF_IDLE_CAUSE_UNKNOWN, l ? l->stack : AIF_NONE, AIF_NONE, from,
				end, weight, NULL);
	call = AIF_MAX(from, AIF_MIN(l->at, end));
	if (call > from)
		r = before_call_add(b, x, from, call);
	done = AIF_CLAMP(done, call, end);
	if (r == 0)
		r = time_add(b, AIF_IDLE_CAUSE_LAUNCH, l->stack, thread, call, done, weight, NULL);
	if (r == 0)
		r = time_add(b, cause, l->stack, thread, done, end, weight, NULL);
	return r;
}

static int find_gaps(struct aif_idle_blaming *b, const struct aif_utilization *u)
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

/* ---- brackets to rows -------------------------------------------------------------------------- */

/* Returns the part of what samples, sums and estimates say that the bracket has room for beside exact times. */
static double fits_of(const struct aif_idle_bracket *of)
{
	double room = AIF_MAX(of->idle - of->whole, 0), seen = of->seen - of->whole;

	return seen > room ? room / seen : 1;
}

/* Returns how much of the waits for a CPU that were counted the bracket has room for. */
static double delayed_of(const struct aif_idle_bracket *of)
{
	return AIF_MIN(of->delayed, AIF_MAX(of->idle - of->seen, 0));
}

/* Returns those of a share: of the gaps in which it was sampled, and its part of those of gaps without samples. */
static double delayed_in(const struct aif_idle_bracket *of, const struct aif_idle_share *s)
{
	double part = of->unseen > 0   ? s->unseen / of->unseen
		      : of->on_cpu > 0 ? s->on_cpu / of->on_cpu
				       : 0;
	double others = part * (of->delayed - of->placed);

	return of->delayed > 0 ? delayed_of(of) / of->delayed * (s->delayed + others) : 0;
}

/* Returns the part of a wait for work from outside that stands: while nothing that was sampled computed. Of a thread that waits to
 * be handed something, or for what comes over a connection, only in a server whose CPU samples are known. */
static double demand_of(struct aif_idle_blaming *b, const struct aif_idle_bracket *of,
			const struct aif_idle_share *s)
{
	enum aif_idle_sleep sleep = aif_idle_demand_sleep(&b->demand, s->stack);
	uint32_t process = b->to->devices[of->device].process;

	if (b->demand.askers_len > AIF_IDLE_ASKERS || process == AIF_NONE ||
	    ((sleep == AIF_IDLE_SLEEP_HANDED || sleep == AIF_IDLE_SLEEP_PEER) &&
	     (!b->demand.is_server[process] || !b->is_sampled[process])))
		return 0;
	return of->demand > of->others ? (of->demand - of->others) / of->demand : 0;
}

/* Adds a wait until another thread lets this one go on: it is owned by what other threads computed meanwhile, as far as they did, and
 * wholly if they did for most of it: they sleep or lack a CPU in the rest. That for the interpreter lock is theirs in any case, as
 * somebody has it. */
static int wait_add(struct aif_idle_blaming *b, const struct aif_idle_share *s,
		    enum aif_idle_cause cause, struct place at, double ns,
		    const struct aif_idle_bracket *of)
{
	size_t n;
	double held = 0, part = 0;
	const struct aif_idle_holder *by = aif_idle_holders_of(&b->holders, s->bracket, &n, &held);
	int r = 0;

	if (held > 0 && cause == AIF_IDLE_CAUSE_GIL)
		part = 1;
	else if (held > 0 && aif_idle_demand_sleep(&b->demand, s->stack) == AIF_IDLE_SLEEP_HANDED)
		part = 2 * held > of->demand ? 1 : held / AIF_MAX(of->demand, 1);
	for (size_t i = 0; i < n && part > 0 && r == 0; i++) {
		struct place there = {
			.stack = by[i].stack, .seen = at.seen, .is_other = true, .share = at.share};

		r = row_add(b, cause, there, ns * part * by[i].ns / held, of);
	}
	return r ? r : row_add(b, cause, at, ns * (1 - part), of);
}

/* Returns the part of a share in which its thread was seen from outside to sleep, for no work from outside. */
static double asleep_of(struct aif_idle_blaming *b, const struct aif_idle_share *s)
{
	const struct aif_idle_bracket *of = &b->brackets[s->bracket];

	if (!aif_cpu_seen(b->p, s->stack))
		return 0;
	if (s->cause == AIF_IDLE_CAUSE_DEMAND)
		return s->ns * (1 - demand_of(b, of, s));
	return s->cause == AIF_IDLE_CAUSE_OFF_CPU || s->cause == AIF_IDLE_CAUSE_GIL ? s->ns : 0;
}

static void sum_looks(struct aif_idle_blaming *b)
{
	for (size_t i = 0; i < b->shares_len; i++) {
		const struct aif_idle_share *s = &b->shares[i];
		struct aif_idle_bracket *of = &b->brackets[s->bracket];

		of->looks += aif_cpu_seen(b->p, s->stack) ? s->ns : 0;
		of->asleep += asleep_of(b, s);
	}
}

/* Returns how much of the time without samples in a bracket is by chance: n samples are seldom exactly as many as their time. All of it
 * up to a standard error, less and less up to two, none from there on: then the thread was on no CPU. */
static double by_chance(double rest, double on_cpu, double period)
{
	double error = sqrt(on_cpu * period);

	return rest <= error ? rest : AIF_MAX(2 * error - rest, 0);
}

/* Returns what a thread computed in the bracket without a sample, before its first one or by chance: as of the time in which it was
 * sampled. */
static double unsampled_of(const struct aif_idle_blaming *b, const struct aif_idle_bracket *of)
{
	double rest = AIF_MAX(AIF_MAX(of->idle - of->seen, 0) - delayed_of(of), 0);

	if (!(of->on_cpu > 0))
		return 0;
	return AIF_MAX(by_chance(rest, of->on_cpu, b->period_ns), AIF_MIN(of->unsampled, rest)) *
	       of->on_cpu / (of->on_cpu + of->looks);
}

/* Returns what nothing was seen of, and true if the thread was on no CPU in it: samples are missing. Those that were refused are none
 * that are missing, nor are those of a time before there were any. */
static double rest_of(const struct aif_idle_blaming *b, const struct aif_idle_bracket *of,
		      bool *ret_is_off)
{
	uint32_t process = b->to->devices[of->device].process;
	double rest = AIF_MAX(of->idle - of->seen, 0) - delayed_of(of) - unsampled_of(b, of);
	/* Unless it was divided already. */
	double expected =
		rest - (of->looks > 0 || of->on_cpu > 0 ? 0 : AIF_MIN(of->unsampled, rest));

	*ret_is_off = b->period_ns > 0 && process != AIF_NONE && b->is_sampled[process] &&
		      expected / b->period_ns >= AIF_IDLE_OFF_CPU_SAMPLES &&
		      (of->thread == AIF_NONE || !b->is_followed[of->thread]);
	return rest;
}

/* Returns the part of that which belongs to sleeps that were seen: looks come late, or not at all, where the recorder has no CPU. */
static double unseen_sleep_of(const struct aif_idle_blaming *b, const struct aif_idle_bracket *of)
{
	bool is_off;
	double rest = rest_of(b, of, &is_off);

	return is_off && of->asleep > 0 ? rest * of->asleep / of->looks : 0;
}

static int shares_to_rows(struct aif_idle_blaming *b)
{
	int r = 0;

	for (size_t i = 0; i < b->shares_len && r == 0; i++) {
		const struct aif_idle_share *s = &b->shares[i];
		const struct aif_idle_bracket *of = &b->brackets[s->bracket];
		/* Exact times of a damaged file may overlap. */
		double most = of->whole > of->idle ? of->idle / of->whole : 1;
		double ns = most * s->whole + fits_of(of) * (s->ns - s->whole);
		double part = s->cause == AIF_IDLE_CAUSE_DEMAND ? demand_of(b, of, s) : 1;
		struct place at = {.seen = aif_cpu_seen(b->p, s->stack) ? s->stack : AIF_NONE,
				   .share = s};
		double unseen =
			of->asleep > 0 ? unseen_sleep_of(b, of) * asleep_of(b, s) / of->asleep : 0;

		at.stack = aif_idle_place(b->p, s->stack, of->before, of->after, &at.is_before);
		if (s->cause == AIF_IDLE_CAUSE_GIL) {
			ns += unseen;
			unseen = 0;
		}
		r = s->cause == AIF_IDLE_CAUSE_GIL       ? wait_add(b, s, s->cause, at, ns, of)
		    : s->cause == AIF_IDLE_CAUSE_OFF_CPU ? row_add(b, s->cause, at, ns + unseen, of)
							 : row_add(b, s->cause, at, ns * part, of);
		if (r == 0 && s->cause != AIF_IDLE_CAUSE_OFF_CPU)
			r = wait_add(b, s, AIF_IDLE_CAUSE_OFF_CPU, at, ns * (1 - part) + unseen,
				     of);
		at.share = NULL;
		if (r == 0 && s->on_cpu > 0)
			r = row_add(b, s->cause, at, unsampled_of(b, of) * s->on_cpu / of->on_cpu,
				    of);
		if (r == 0)
			r = row_add(b, AIF_IDLE_CAUSE_NO_CPU, at, delayed_in(of, s), of);
	}
	return r;
}

static int rest_to_rows(struct aif_idle_blaming *b)
{
	int r = 0;

	for (size_t i = 0; i < b->brackets_len && r == 0; i++) {
		const struct aif_idle_bracket *of = &b->brackets[i];
		bool is_off;
		double delayed = delayed_of(of),
		       rest = rest_of(b, of, &is_off) - unseen_sleep_of(b, of);
		bool is_on = of->thread != AIF_NONE && b->is_followed[of->thread];
		struct place at = {.seen = AIF_NONE};

		at.stack = aif_idle_place(b->p, AIF_NONE, of->before, of->after, &at.is_before);

		if (!(of->on_cpu > 0) && of->delayed > 0)
			r = row_add(b, AIF_IDLE_CAUSE_NO_CPU, at,
				    delayed * (1 - of->placed / of->delayed), of);
		if (r < 0)
			break;
		r = row_add(b,
			    is_on    ? AIF_IDLE_CAUSE_CPU
			    : is_off ? AIF_IDLE_CAUSE_OFF_CPU
				     : AIF_IDLE_CAUSE_HOST,
			    at, rest, of);
	}
	return r;
}

static int brackets_to_course(struct aif_idle_blaming *b)
{
	int r = 0;

	for (size_t i = 0; b->course && i < b->segments_len && r == 0; i++)
		r = aif_idle_course_time(b->course, b->segments[i].bracket, b->segments[i].from,
					 b->segments[i].to, aif_idle_weight_of(b, &b->segments[i]));
	return r;
}

/* Makes the tree of operators, for the ends of launch calls in imported traces and for names that have a rule. */
static int make_ops(struct aif_idle_blaming *b)
{
	uint64_t damaged = 0;
	bool any = false;
	int r = aif_idle_rules_any(&b->rules, &any, &damaged);

	b->to->damaged += damaged;
	return r == 0 && (any || b->p->traits.is_imported)
		       ? aif_op_tree_make(b->p, NULL, b->t, AIF_OWNERS_ALL, &b->ops)
		       : r;
}

/* Puts the calls of imported traces on their own stacks: rows of `ops` have those of their callers. 0 or -ENOMEM. */
static int find_call_stacks(struct aif_idle_blaming *b)
{
	const struct aif_profile *p = b->p;
	struct aif_map stacks = {0};
	uint64_t own;
	int r = 0;

	for (uint32_t i = 0; i < p->stacks_len && r == 0; i++) {
		uint32_t frame = p->stacks[i].frame;

		if (frame != AIF_NONE && p->frames[frame].kind == AIF_FRAME_CALL)
			r = aif_map_put(&stacks,
					(uint64_t)p->stacks[i].parent << 32 |
						(uint32_t)p->frames[frame].address,
					i);
	}
	for (size_t i = 0; i < b->calls.len && r == 0; i++) {
		struct aif_host_call *c = &b->calls.at[i];

		if (aif_map_get(&stacks, (uint64_t)c->stack << 32 | c->name, &own))
			c->stack = (uint32_t)own;
	}
	aif_map_finish(&stacks);
	return r < 0 ? -ENOMEM : 0;
}

static int blame(struct aif_idle_blaming *b, const struct aif_utilization *u)
{
	int r = aif_idle_launches_before(b->t, &b->before);

	aif_idle_trust_samplers(b->p, b->is_sampled);
	if (r == 0 && *aif_profile_meta(b->p, "calls"))
		r = aif_host_calls_read(b->p, NULL, &b->calls);
	if (r == 0 && b->p->traits.is_imported && b->calls.len)
		r = find_call_stacks(b);
	b->to->damaged += b->calls.damaged;
	if (r == 0)
		r = make_ops(b);
	if (r == 0)
		r = find_gaps(b, u);
	if (r < 0)
		return r;
	r = aif_idle_take_activity(b);
	aif_idle_distrust_samplers(b->p, b->is_sampled);
	if (r == 0)
		r = aif_idle_calibrate(b, u);
	aif_idle_holders_sort(&b->holders);
	if (r == 0)
		r = aif_idle_looks_merge(b);
	if (r == 0) {
		sum_looks(b);
		r = shares_to_rows(b);
	}
	if (r == 0)
		r = rest_to_rows(b);
	if (r == 0)
		r = brackets_to_course(b);
	if (r < 0)
		return r;
	r = aif_idle_sums_round(&b->sums);
	aif_idle_sums_sort(b->to);
	aif_idle_wakers_sort(b->to);
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
	struct aif_idle_blaming b = {.p = p,
				     .t = t,
				     .to = ret,
				     .course = course,
				     .sums = {.to = ret},
				     .from = from,
				     .end = to,
				     .period_ns = aif_idle_sampling_period(p)};
	int r;

	*ret = (struct aif_idle_blame){0};
	b.cause_of_stack = calloc(p->stacks_len + 1, 1);
	b.is_sampled = calloc(p->processes_len + 1, sizeof(*b.is_sampled));
	b.is_followed = calloc(p->threads_len + 1, sizeof(*b.is_followed));
	b.sampled_from = malloc((p->threads_len + 1) * sizeof(*b.sampled_from));
	for (size_t i = 0; b.sampled_from && i < p->threads_len; i++)
		b.sampled_from[i] = INT64_MAX;
	r = b.cause_of_stack && b.is_sampled && b.is_followed && b.sampled_from
		    ? aif_idle_demand_init(&b.demand, p)
		    : -ENOMEM;
	if (r == 0)
		r = aif_idle_holders_init(&b.holders, p);
	if (r == 0)
		r = aif_idle_rules_init(&b.rules, p);
	if (r == 0)
		r = blame(&b, u);
	aif_idle_demand_finish(&b.demand);
	aif_idle_wakers_finish(&b.wakers);
	aif_idle_holders_finish(&b.holders);
	aif_idle_rules_finish(&b.rules);
	free(b.cause_of_stack);
	free(b.is_sampled);
	free(b.is_followed);
	free(b.sampled_from);
	free(b.before);
	aif_op_tree_finish(&b.ops);
	free(b.segments);
	free(b.brackets);
	free(b.shares);
	aif_idle_sums_finish(&b.sums);
	aif_idle_delays_finish(&b.delays);
	aif_map_finish(&b.bracket_of);
	aif_map_finish(&b.drained_of);
	aif_host_calls_finish(&b.calls);
	aif_map_finish(&b.share_of);
	return r;
}
