/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/blaming.h"

#include "base/sort.h"
#include "analysis/cpu_totals.h"
#include "analysis/time.h"
#include "base/reasons.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_thread_end(const void *a, const void *b, void *arg)
{
	const struct aif_idle_segment *x = a, *y = b;
	uint32_t thread = aif_idle_thread_of(arg, x), other = aif_idle_thread_of(arg, y);

	return AIF_ORDER(thread, other) ?: AIF_ORDER(x->to, y->to) ?: AIF_ORDER(x->from, y->from);
}

/* True of a segment of an earlier thread, or one that ends until `at`. */
static bool is_before(const struct aif_idle_blaming *b, const struct aif_idle_segment *s,
		      uint32_t thread, int64_t at)
{
	uint32_t of = aif_idle_thread_of(b, s);

	return of < thread || (of == thread && s->to <= at);
}

size_t aif_idle_first_segment(struct aif_idle_blaming *b, uint32_t thread, int64_t at)
{
	b->asked = AIF_BISECT_NEAR(i, b->segments_len, b->asked,
				   is_before(b, &b->segments[i], thread, at));
	return b->asked;
}

/* The cause of a stack of a thread on a CPU: that of its innermost function which has one. Looked up once a stack. */
static enum aif_idle_cause cause_of(struct aif_idle_blaming *b, uint32_t stack)
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

static uint64_t share_key(const struct aif_idle_segment *s, enum aif_idle_cause cause,
			  uint32_t stack)
{
	return (uint64_t)s->bracket << 36 | (uint64_t)cause << 32 | stack;
}

/* Sources of a share's time. */
enum how { SPAN, WHOLE, ON_CPU, LOOK };

static int share_add(struct aif_idle_blaming *b, const struct aif_idle_segment *s,
		     enum aif_idle_cause cause, uint32_t stack, double ns, enum how how)
{
	uint64_t key = share_key(s, cause, stack), i;

	if (!aif_map_get(&b->share_of, key, &i)) {
		i = b->shares_len;
		if (aif_grow(&b->shares, &b->shares_cap, i + 1, sizeof(*b->shares)) < 0 ||
		    aif_map_put(&b->share_of, key, i) < 0)
			return -ENOMEM;
		b->shares[b->shares_len++] = (struct aif_idle_share){
			.bracket = s->bracket, .stack = stack, .cause = cause};
	}
	b->shares[i].ns += ns;
	b->shares[i].whole += how == WHOLE ? ns : 0;
	b->shares[i].on_cpu += how == ON_CPU ? ns : 0;
	b->brackets[s->bracket].seen += ns;
	b->brackets[s->bracket].whole += how == WHOLE ? ns : 0;
	b->brackets[s->bracket].on_cpu += how == ON_CPU ? ns : 0;
	if ((how == ON_CPU || how == LOOK) &&
	    aif_idle_delays_seen(&b->delays, (size_t)(s - b->segments), i, ns, how == LOOK) < 0)
		return -ENOMEM;
	if (cause != AIF_IDLE_CAUSE_DEMAND && cause != AIF_IDLE_CAUSE_GIL)
		return 0;
	b->brackets[s->bracket].demand += cause == AIF_IDLE_CAUSE_DEMAND ? ns : 0;
	return aif_idle_demand_asked(&b->demand, aif_idle_thread_of(b, s));
}

/* The cause of a stack of a thread that sleeps: what it does there by rules.def, else what it waits for. */
static enum aif_idle_cause cause_of_sleep(struct aif_idle_blaming *b, uint32_t thread,
					  uint32_t stack)
{
	enum aif_idle_cause cause = stack == AIF_NONE ? AIF_IDLE_CAUSE_CPU : cause_of(b, stack);

	if (aif_idle_demand_sleep(&b->demand, stack) == AIF_IDLE_SLEEP_READY)
		return AIF_IDLE_CAUSE_NO_CPU;
	if (cause != AIF_IDLE_CAUSE_CPU)
		return cause;
	if (aif_idle_demand_sleep(&b->demand, stack) == AIF_IDLE_SLEEP_GIL)
		return AIF_IDLE_CAUSE_GIL;
	return aif_idle_demand_is_for(&b->demand, thread, stack) ? AIF_IDLE_CAUSE_DEMAND
								 : AIF_IDLE_CAUSE_OFF_CPU;
}

/* A thread that waits launches nothing, so only a damaged file has spans over more launches than this. */
#define SEGMENTS_OF_SPAN 64
/* Times off CPU are sums over a second: so many more in all. */
#define SEGMENTS_OF_SUMS (1u << 24)

/* Adds who ended a part of a sleep. */
static int wake_add(struct aif_idle_blaming *b, uint64_t share, const struct aif_cpu_row *row,
		    int64_t at, int64_t end, double ns)
{
	uint64_t i;

	return aif_map_get(&b->share_of, share, &i)
		       ? aif_idle_wakers_add(&b->wakers, i, row->thread, at, end, ns)
		       : 0;
}

static int delay_add(struct aif_idle_blaming *b, size_t segment, double ns)
{
	b->brackets[b->segments[segment].bracket].delayed += ns;
	return aif_idle_delays_wait(&b->delays, segment, ns);
}

/* Waits and times off CPU have a beginning and a length; several short waits may be one row (agent/wait.h), whose length then
 * reaches beyond what it is of: its segment's end bounds it. */
static int span_add(struct aif_idle_blaming *b, int64_t at, const struct aif_cpu_row *row)
{
	bool off_cpu = aif_cpu_is_off_cpu(b->p, row->stack);
	enum aif_idle_cause cause =
		off_cpu ? cause_of_sleep(b, row->thread, row->stack) : AIF_IDLE_CAUSE_WAIT;
	int64_t end = at + (int64_t)AIF_MIN(row->waiting, (uint64_t)AIF_TIME_MAX);
	size_t i = aif_idle_first_segment(b, row->thread, at);
	bool is_delay = cause == AIF_IDLE_CAUSE_NO_CPU && aif_cpu_seen(b->p, row->stack);
	int r = 0;

	b->is_followed[row->thread] |= off_cpu && row->is_whole && !aif_cpu_seen(b->p, row->stack);
	for (unsigned n = 0;
	     r == 0 && (n < SEGMENTS_OF_SPAN || (off_cpu && b->sums_left && b->sums_left--)) &&
	     i < b->segments_len && aif_idle_thread_of(b, &b->segments[i]) == row->thread &&
	     aif_idle_launched_before(b, &b->segments[i]) < end;
	     i++, n++) {
		const struct aif_idle_segment *s = &b->segments[i];
		struct aif_idle_bracket *to = &b->brackets[s->bracket];
		int64_t from = AIF_MAX(at, s->from), until = AIF_MIN(end, s->to);
		double waited =
			(double)(AIF_MIN(end, s->to) - AIF_MAX(at, aif_idle_launched_before(b, s)));

		/* Rows that were estimated, of calls whose times are known. */
		if (!off_cpu && to->is_between_calls)
			continue;
		if (!off_cpu && waited > to->drain_ns) {
			to->drain_ns = waited;
			to->drain = row->stack;
		}
		if (until > from && is_delay)
			r = delay_add(b, i, aif_idle_weight_of(b, s) * (double)(until - from));
		else if (until > from)
			r = share_add(b, s, cause, row->stack,
				      aif_idle_weight_of(b, s) * (double)(until - from),
				      off_cpu && row->is_whole ? WHOLE : SPAN);
		if (r == 0 && until > from && row->waker && !is_delay)
			r = wake_add(b, share_key(s, cause, row->stack), row, at, end,
				     aif_idle_weight_of(b, s) * (double)(until - from));
	}
	return r;
}

/* True if a row is the recorder's look at a thread that slept: neither a sum of times nor one time. */
static bool is_look(const struct aif_idle_blaming *b, const struct aif_cpu_row *row)
{
	return !row->is_whole && aif_cpu_seen(b->p, row->stack) &&
	       !aif_cpu_is_runnable(b->p, row->stack);
}

/* Adds a row of is_look() to the segment that it falls into. The row stands, as a CPU sample does, for the time since the look
 * before. A look outside of gaps adds no time, and may mark its process as a server. */
static int look_add(struct aif_idle_blaming *b, int64_t at, const struct aif_cpu_row *row)
{
	size_t i = aif_idle_first_segment(b, row->thread, at);
	enum aif_idle_cause cause = cause_of_sleep(b, row->thread, row->stack);

	if (i == b->segments_len || aif_idle_thread_of(b, &b->segments[i]) != row->thread ||
	    b->segments[i].from > at)
		return 0;
	return share_add(b, &b->segments[i], cause, row->stack,
			 aif_idle_weight_of(b, &b->segments[i]) * (double)row->waiting, LOOK);
}

/* Adds a span of a thread's activity, in a stack, to the segments that it overlaps. */
static int activity_add(struct aif_idle_blaming *b, const struct aif_op *o, uint32_t stack,
			enum aif_idle_cause cause)
{
	size_t i = aif_idle_first_segment(b, o->thread, o->start);
	int r = 0;

	for (unsigned n = 0;
	     r == 0 && n < SEGMENTS_OF_SPAN && i < b->segments_len &&
	     aif_idle_thread_of(b, &b->segments[i]) == o->thread && b->segments[i].from < o->end;
	     i++, n++) {
		const struct aif_idle_segment *s = &b->segments[i];
		int64_t from = AIF_MAX(o->start, s->from), until = AIF_MIN(o->end, s->to);

		if (until > from)
			r = share_add(b, s, cause,
				      stack == AIF_NONE ? b->brackets[s->bracket].after : stack,
				      aif_idle_weight_of(b, s) * (double)(until - from), SPAN);
	}
	return r;
}

/* Puts the stacks that end in an operator or a range, by those around them. 0 or -ENOMEM. */
static int find_op_stacks(const struct aif_profile *p, struct aif_map *ret)
{
	for (uint32_t i = 0; i < p->stacks_len; i++) {
		uint32_t frame = p->stacks[i].frame, name = AIF_NONE;
		const struct aif_frame_name *n;

		if (frame == AIF_NONE)
			continue;
		n = aif_profile_frame_name(p, frame);
		if (p->frames[frame].kind == AIF_FRAME_OP && n)
			name = n->name;
		else if (p->frames[frame].kind == AIF_FRAME_RANGE)
			name = (uint32_t)p->frames[frame].address;
		if (name != AIF_NONE &&
		    aif_map_put(ret, (uint64_t)p->stacks[i].parent << 32 | name, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Takes operators and ranges by their names, the outermost that has a rule: imported traces have no samples. */
static int take_ops(struct aif_idle_blaming *b)
{
	bool *has_rule = calloc(b->ops.len + 1, sizeof(*has_rule));
	struct aif_map stacks = {0};
	int r = has_rule ? 0 : -ENOMEM;

	if (r == 0 && b->ops.len)
		r = find_op_stacks(b->p, &stacks);

	for (size_t i = 0; i < b->ops.len && r == 0; i++) {
		const struct aif_op *o = &b->ops.ops[i];
		bool is_inside = o->parent != AIF_NONE && has_rule[o->parent];
		enum aif_idle_cause cause;
		uint64_t own = AIF_NONE;

		has_rule[i] = is_inside;
		if (is_inside || o->thread == AIF_NONE || o->name == AIF_NONE ||
		    !aif_idle_rules_of_name(&b->rules, o->name, &cause))
			continue;
		has_rule[i] = true;
		(void)aif_map_get(&stacks, (uint64_t)o->stack << 32 | o->name, &own);
		r = activity_add(b, o, own == AIF_NONE ? o->stack : (uint32_t)own, cause);
	}
	aif_map_finish(&stacks);
	free(has_rule);
	return r;
}

/* True if a sample is of --wall, and of a thread that sleeps. */
static bool is_asleep(struct aif_idle_blaming *b, const struct aif_cpu_row *row)
{
	return b->demand.is_wall && aif_idle_demand_sleep(&b->demand, row->stack);
}

static enum aif_idle_cause cause_of_sample(struct aif_idle_blaming *b,
					   const struct aif_cpu_row *row)
{
	if (row->stack == AIF_NONE)
		return AIF_IDLE_CAUSE_CPU;
	return is_asleep(b, row) ? cause_of_sleep(b, row->thread, row->stack)
				 : cause_of(b, row->stack);
}

enum aif_idle_cause aif_idle_cause_of_row(struct aif_idle_blaming *b, const struct aif_cpu_row *row)
{
	return row->waiting ? cause_of_sleep(b, row->thread, row->stack) : cause_of_sample(b, row);
}

/* Takes a thread to be sampled since the time that a sample of it stands for. */
static void sampled_at(struct aif_idle_blaming *b, const struct aif_cpu_row *row, int64_t at)
{
	int64_t from = at - (int64_t)AIF_MIN(row->weight, (uint64_t)AIF_TIME_MAX);

	b->sampled_from[row->thread] = AIF_MIN(b->sampled_from[row->thread], from);
}

/* The sampler looks for new threads four times a second, at the first one's launches at once: behind that a thread without samples
 * does not compute. */
#define FOUND_NS 500000000

/* Adds up what lies before the first samples: the recorder finds a program's threads when they compute already. */
static void find_unsampled(struct aif_idle_blaming *b)
{
	for (size_t i = 0; i < b->t->launches_len; i++) {
		uint32_t thread =
			b->before[i] == AIF_NONE ? aif_timeline_thread_of(b->t, i) : AIF_NONE;

		if (thread != AIF_NONE && b->sampled_from[thread] < INT64_MAX)
			b->sampled_from[thread] =
				AIF_MIN(b->sampled_from[thread], b->t->launches[i].at + FOUND_NS);
	}
	for (size_t i = 0; i < b->segments_len; i++) {
		const struct aif_idle_segment *s = &b->segments[i];
		uint32_t thread = aif_idle_thread_of(b, s);
		int64_t from = thread == AIF_NONE ? INT64_MAX : b->sampled_from[thread];

		if (from < INT64_MAX && from > s->from)
			b->brackets[s->bracket].unsampled +=
				aif_idle_weight_of(b, s) * (double)(AIF_MIN(from, s->to) - s->from);
	}
}

static int take_cpu(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct aif_idle_blaming *b = arg;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct aif_cpu_row *row = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(row->time - b->p->start_ns));
		size_t k;

		if (row->thread == AIF_NONE)
			continue;
		if (row->waiting) {
			r = is_look(b, row) ? look_add(b, at, row) : span_add(b, at, row);
			continue;
		}
		/* A sum, of no moment. */
		if (row->stack != AIF_NONE && aif_cpu_is_unsampled(b->p, row->stack))
			continue;
		sampled_at(b, row, at);
		if (b->p->threads[row->thread].process != AIF_NONE)
			b->is_sampled[b->p->threads[row->thread].process] = true;
		k = aif_idle_first_segment(b, row->thread, at);
		if (k < b->segments_len && aif_idle_thread_of(b, &b->segments[k]) == row->thread &&
		    b->segments[k].from <= at)
			r = share_add(b, &b->segments[k], cause_of_sample(b, row), row->stack,
				      aif_idle_weight_of(b, &b->segments[k]) * (double)row->weight,
				      is_asleep(b, row) ? SPAN : ON_CPU);
		else if (is_asleep(b, row))
			(void)cause_of_sleep(b, row->thread, row->stack);
	}
	return r;
}

/* Adds what other threads computed while one waited for work from outside: then the wait was for them, or could be. */
static int take_others(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct aif_idle_blaming *b = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *row = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(row->time - b->p->start_ns));

		if (row->thread == AIF_NONE || row->waiting || is_asleep(b, row))
			continue;
		for (size_t t = 0; t < b->demand.askers_len; t++) {
			uint32_t asker = b->demand.askers[t];
			size_t k = asker == row->thread ? b->segments_len
							: aif_idle_first_segment(b, asker, at);

			double ns;

			if (k == b->segments_len ||
			    aif_idle_thread_of(b, &b->segments[k]) != asker ||
			    b->segments[k].from > at)
				continue;
			ns = aif_idle_weight_of(b, &b->segments[k]) * (double)row->weight;
			b->brackets[b->segments[k].bracket].others += ns;
			if (aif_idle_holders_add(&b->holders, asker,
						 b->brackets[b->segments[k].bracket].after,
						 b->segments[k].bracket, row, ns) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int find_others(struct aif_idle_blaming *b)
{
	uint64_t damaged = 0; /* counted already */

	if (!b->demand.askers_len || b->demand.askers_len > AIF_IDLE_ASKERS)
		return 0;
	return aif_profile_cpu(b->p, take_others, b, &damaged);
}

/* Lost times off CPU would be taken for time on a CPU. */
static bool lacks_off_cpu(const struct aif_profile *p)
{
	return aif_profile_loss(p, AIF_REASON_EBPF_OFF_CPU) ||
	       aif_profile_loss(p, AIF_REASON_WRITER_BEHIND);
}

int aif_idle_take_activity(struct aif_idle_blaming *b)
{
	uint64_t damaged = 0; /* counted below */
	int r;

	b->sums_left = SEGMENTS_OF_SUMS;
	if (b->segments_len)
		aif_sort_r(b->segments, b->segments_len, sizeof(*b->segments), by_thread_end, b);
	r = aif_idle_wakers_read(b->p, &b->wakers, &damaged);
	if (r == 0)
		r = aif_profile_cpu(b->p, take_cpu, b, &b->to->damaged);
	aif_idle_delays_place(b);
	find_unsampled(b);
	if (lacks_off_cpu(b->p))
		memset(b->is_followed, 0, b->p->threads_len * sizeof(*b->is_followed));
	if (r == 0)
		r = find_others(b);
	return r == 0 ? take_ops(b) : r;
}
