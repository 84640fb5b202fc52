/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/verdict.h"

#include "analysis/facts.h"
#include "analysis/ranks/balance.h"
#include "analysis/ranks/messages.h"
#include "base/sort.h"

#include <errno.h>

#define DELAYED_PART 50 /* of a step */
#define SAME_RANK    0.7
#define SINCE_SHARE  0.7
#define FEW_SHARE    0.25
#define LEAST_STEPS  8
#define RARE_SHARE   0.02
/* Kernels that take this much longer are slower; so much of the computing time has to be theirs. */
#define SLOWER       1.02
#define SLOWER_SHARE 0.8
/* Share of the waits for a rank that has to be for kernels for its device to be what is slow. */
#define SLOW_SHARE 0.3

/* ---- delays by step ---------------------------------------------------------------------------- */

struct delays {
	uint64_t *lead, *net; /* by step and rank; net: less those of all others */
	uint64_t *host;       /* the part of .lead by the paces of hosts */
	uint64_t *length;
	bool *any;   /* by step: it has operations */
	bool *lacks; /* by step: a rank was not captured throughout */
	size_t steps, ranks;
	uint32_t *late; /* by step: the rank that delayed it, AIF_NONE: none */
};

/* Returns when the host called for a member's execution; INT64_MIN: not known. */
static int64_t called_at(const struct aif_exec_timeline *t, const struct aif_rank_member *m)
{
	uint32_t launch = m->exec == AIF_NONE ? AIF_NONE : t->execs[m->exec].launch;

	return launch == AIF_NONE ? INT64_MIN : t->launches[launch].at;
}

/* Returns by how much an operation delays the step. A late rank's device that started it once its host had called makes the other one wait
 * in each operation, which is the pace of its host: all together those delay the step by no more than its host is behind that of the
 * other. `host_ns`: what such operations delay it by so far. */
static uint64_t delay_of(const struct aif_rank_waits *w, const struct aif_exec_timeline *t,
			 const struct aif_rank_operation *o, uint64_t *host_ns)
{
	const struct aif_rank_member *late = &w->ranks.members[o->first + o->len - 1],
				     *other = late - 1;
	int64_t call = called_at(t, late), first = called_at(t, other);
	uint64_t behind, ns;

	if (call == INT64_MIN || first == INT64_MIN || late->start - call > AIF_IDLE_LAUNCH_NS)
		return o->lead_ns;
	behind = call > first ? (uint64_t)call - (uint64_t)first : 0;
	ns = AIF_MIN(o->lead_ns, behind - AIF_MIN(behind, *host_ns));
	*host_ns += ns;
	return ns;
}

static void add_leads(const struct aif_rank_waits *w, const struct aif_selection *sel,
		      const struct aif_exec_timeline *t, const struct aif_phases *f,
		      bool are_operations, struct delays *d)
{
	int64_t before = INT64_MIN;

	for (size_t i = 0; i < w->ranks.operations_len; i++) {
		const struct aif_rank_operation *o = &w->ranks.operations[i];
		size_t step = are_operations ? i : aif_phases_step_at(f, o->last_start);

		if (are_operations && before != INT64_MIN)
			d->length[i] = (uint64_t)o->last_start - (uint64_t)before;
		before = o->last_start;
		/* Since when the first one was waited for is not known. */
		if (step >= d->steps || !d->length[step] || d->lacks[step] ||
		    !aif_timed_in_span(sel, o->last_start))
			continue;
		d->any[step] = true;
		d->lead[step * d->ranks + o->late] +=
			delay_of(w, t, o, &d->host[step * d->ranks + o->late]);
	}
}

/* ---- delays where ranks wait in messages ------------------------------------------------------------ */

/* A time in which somebody waits for a rank alone, at the end of the chain. */
struct lead {
	uint32_t rank;
	int64_t from, to;
};
struct leads {
	struct lead *at;
	size_t len, cap;
	bool has_failed;
};

static void take_lead(void *arg, uint32_t rank, int64_t from, int64_t to)
{
	struct leads *l = arg;

	if (aif_grow(&l->at, &l->cap, l->len + 1, sizeof(*l->at)) < 0) {
		l->has_failed = true;
		return;
	}
	l->at[l->len++] = (struct lead){rank, from, to};
}

static int by_rank_from(const void *a, const void *b)
{
	const struct lead *x = a, *y = b;

	return AIF_ORDER(x->rank, y->rank) ?: AIF_ORDER(x->from, y->from)
	       ?: AIF_ORDER(x->to, y->to);
}

/* Finds the times in which somebody waits for each rank: those of several who wait count once. */
static int find_leads(const struct aif_ranks *r, const struct aif_selection *sel, struct leads *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < r->operations_len; i++) {
		const struct aif_rank_operation *o = &r->operations[i];

		if (aif_timed_in_span(sel, o->last_start))
			aif_rank_roots(r, o->late, o->last_start - (int64_t)o->lead_ns,
				       o->last_start, take_lead, ret);
	}
	for (size_t i = 0; i < r->waits_len; i++) {
		const struct aif_rank_wait *w = &r->waits[i];

		if (w->is_message && aif_timed_in_span(sel, w->to))
			aif_rank_roots(r, w->late, AIF_MAX(w->from, w->lead_from), w->to, take_lead,
				       ret);
	}
	if (ret->has_failed)
		return -ENOMEM;
	if (ret->len)
		aif_sort(ret->at, ret->len, sizeof(*ret->at), by_rank_from);
	for (size_t i = 0; i < ret->len; i++) {
		struct lead *last = n ? &ret->at[n - 1] : NULL;

		if (last && last->rank == ret->at[i].rank && last->to >= ret->at[i].from)
			last->to = AIF_MAX(last->to, ret->at[i].to);
		else
			ret->at[n++] = ret->at[i];
	}
	ret->len = n;
	return 0;
}

/* Adds the times to the steps, which begin and end at from[s] and to[s]. */
static void add_to_steps(const struct leads *l, const int64_t *from, const int64_t *to,
			 struct delays *d)
{
	for (size_t i = 0; i < l->len; i++) {
		const struct lead *x = &l->at[i];

		for (size_t s = AIF_BISECT(mid, 0, d->steps, to[mid] <= x->from);
		     s < d->steps && from[s] < x->to; s++)
			if (!d->lacks[s])
				d->lead[s * d->ranks + x->rank] +=
					(uint64_t)(AIF_MIN(to[s], x->to) -
						   AIF_MAX(from[s], x->from));
	}
}

/* Adds what ranks delay steps by, where they wait in messages. from, to: of the steps. */
static int add_message_leads(const struct aif_rank_waits *w, const struct aif_selection *sel,
			     const int64_t *from, const int64_t *to, struct delays *d)
{
	struct leads l = {0};
	int e = find_leads(&w->ranks, sel, &l);

	for (size_t s = 0; s < d->steps && !e; s++) {
		d->length[s] = (uint64_t)to[s] - (uint64_t)from[s];
		d->any[s] = d->length[s] && !d->lacks[s] && aif_timed_in_span(sel, from[s]);
	}
	if (!e)
		add_to_steps(&l, from, to, d);
	free(l.at);
	return e;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return AIF_ORDER(x, y);
}

/* Times of steps and ranks at most, where waits stand for steps: more of them are taken together. */
#define TIMES_MOST ((size_t)1 << 22)

/* Sets ends to those of operations and of waits in messages, which stand for steps where none are known. Returns their number. */
static size_t ends_of(const struct aif_ranks *r, int64_t *ends)
{
	size_t n = 0, kept = 0, each;

	for (size_t i = 0; i < r->operations_len; i++)
		ends[n++] = r->operations[i].last_start;
	for (size_t i = 0; i < r->waits_len; i++)
		if (r->waits[i].is_message)
			ends[n++] = r->waits[i].to;
	if (n)
		aif_sort(ends, n, sizeof(*ends), by_value);
	each = 1 + n * r->ranks_len / TIMES_MOST;
	for (size_t i = each - 1; i < n; i += each)
		ends[kept++] = ends[i];
	return kept;
}

static void judge_steps(const struct aif_rank_waits *w, struct delays *d)
{
	for (size_t s = 0; s < d->steps; s++) {
		uint64_t most = 0, all = 0;

		d->late[s] = AIF_NONE;
		for (uint32_t r = 0; r < d->ranks; r++)
			all += d->lead[s * d->ranks + r];
		for (uint32_t r = 0; r < d->ranks && d->any[s]; r++) {
			uint64_t lead = d->lead[s * d->ranks + r], others = all - lead;

			lead -= AIF_MIN(others, lead);
			d->net[s * d->ranks + r] = lead;
			if (lead <= most || lead < d->length[s] / DELAYED_PART ||
			    lead <= w->ranks.error_ns)
				continue;
			most = lead;
			d->late[s] = r;
		}
	}
}

/* Excludes steps in which some rank left launches out: those are not all of its operations. Of operations it is the time since the one
 * before that counts. */
static void exclude(const struct aif_rank_waits *w, const struct aif_utilization *u,
		    const struct aif_phases *f, bool are_operations, struct delays *d)
{
	for (size_t s = 0; s < d->steps; s++) {
		int64_t to = are_operations ? w->ranks.operations[s].last_start : f->steps[s].end,
			from = !are_operations ? f->steps[s].start
			       : s             ? w->ranks.operations[s - 1].last_start
					       : to;

		for (size_t r = 0; r < w->ranks.ranks_len && !d->lacks[s]; r++) {
			const struct aif_spans *off = aif_rank_not_collected(&w->ranks.ranks[r], u);

			d->lacks[s] = off && aif_spans_covered(off, from, to);
		}
	}
}

static int delays_make(const struct aif_rank_waits *w, const struct aif_selection *sel,
		       const struct aif_exec_timeline *t, const struct aif_utilization *u,
		       const struct aif_phases *f, bool are_operations, struct delays *ret)
{
	bool has_messages = w->ranks.messages > 0;
	size_t most = are_operations ? w->ranks.operations_len + w->ranks.waits_len : f->len;
	int64_t *from = malloc(2 * (most + 1) * sizeof(*from)), *to = from + most + 1;
	int e = from ? 0 : -ENOMEM;

	*ret = (struct delays){.steps = are_operations ? w->ranks.operations_len : f->len,
			       .ranks = w->ranks.ranks_len};
	if (!e && has_messages && are_operations)
		ret->steps = ends_of(&w->ranks, to);
	for (size_t i = 0; i < ret->steps && !e && has_messages; i++) {
		from[i] = !are_operations ? f->steps[i].start : to[i ? i - 1 : 0];
		if (!are_operations)
			to[i] = f->steps[i].end;
	}
	ret->lead = calloc(ret->steps * ret->ranks + 1, sizeof(*ret->lead));
	ret->net = calloc(ret->steps * ret->ranks + 1, sizeof(*ret->net));
	ret->host = calloc(ret->steps * ret->ranks + 1, sizeof(*ret->host));
	ret->length = calloc(ret->steps + 1, sizeof(*ret->length));
	ret->any = calloc(ret->steps + 1, sizeof(*ret->any));
	ret->lacks = calloc(ret->steps + 1, sizeof(*ret->lacks));
	ret->late = calloc(ret->steps + 1, sizeof(*ret->late));
	if (e || !ret->lead || !ret->host || !ret->net || !ret->length || !ret->any ||
	    !ret->lacks || !ret->late) {
		free(from);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ret->steps && !are_operations; i++)
		ret->length[i] = (uint64_t)f->steps[i].end - (uint64_t)f->steps[i].start;
	if (w->ranks.is_estimate && !(has_messages && are_operations))
		exclude(w, u, f, are_operations, ret);
	if (has_messages)
		e = add_message_leads(w, sel, from, to, ret);
	else
		add_leads(w, sel, t, f, are_operations, ret);
	free(from);
	judge_steps(w, ret);
	return e;
}

static void delays_finish(struct delays *d)
{
	free(d->lead);
	free(d->net);
	free(d->host);
	free(d->length);
	free(d->any);
	free(d->lacks);
	free(d->late);
}

/* ---- the verdict ------------------------------------------------------------------------------- */

/* Returns the step from which on a rank delays most steps, from 1: where the steps that it delays exceed a share of all that follow by
 * the most. Those that it delays now and then before are not enough for that. 0: most of those that it delays are not behind any. */
static size_t since_of(const struct delays *d, uint32_t rank)
{
	double sum = 0, most = 0;
	size_t since = 0, all = 0, of_since = 0;

	for (size_t s = d->steps; s-- > 0;) {
		if (!d->any[s])
			continue;
		all += d->late[s] == rank;
		sum += (d->late[s] == rank) - SINCE_SHARE;
		if (sum <= most)
			continue;
		most = sum;
		since = s + 1;
		of_since = all;
	}
	return (double)of_since >= SINCE_SHARE * (double)all ? since : 0;
}

static void count_changes(const struct delays *d, struct aif_rank_verdict *ret)
{
	uint32_t before = AIF_NONE;

	for (size_t s = 0; s < d->steps; s++) {
		if (d->late[s] == AIF_NONE || d->late[s] == before)
			continue;
		if (before == AIF_NONE)
			ret->first = d->late[s];
		ret->changes += before != AIF_NONE;
		before = ret->last = d->late[s];
		ret->since = s + 1;
	}
}

static void judge(const struct delays *d, struct aif_rank_verdict *ret)
{
	uint64_t all = 0, lead = 0, length = 0, own = 0, most = 0, longest = 0;
	size_t delayed = 0, steps_of = 0;
	bool is_most;

	for (size_t s = 0; s < d->steps; s++) {
		ret->steps += d->any[s];
		length += d->any[s] ? d->length[s] : 0;
		delayed += d->late[s] != AIF_NONE;
		lead += d->late[s] == AIF_NONE ? 0 : d->net[s * d->ranks + d->late[s]];
	}
	for (uint32_t r = 0; r < d->ranks; r++) {
		uint64_t of = 0, once = 0;
		size_t n = 0;

		for (size_t s = 0; s < d->steps; s++) {
			of += d->late[s] == r ? d->net[s * d->ranks + r] : 0;
			n += d->late[s] == r;
			if (d->late[s] == r)
				once = AIF_MAX(once, d->net[s * d->ranks + r]);
		}
		all += of;
		if (of <= most)
			continue;
		most = of;
		ret->late = r;
		steps_of = n;
		own = of;
		longest = once;
	}
	if (!ret->steps)
		return;
	ret->step_ns = length / ret->steps;
	ret->is = AIF_RANKS_EVEN;
	if (!delayed ||
	    ((double)delayed < FEW_SHARE * (double)ret->steps && all < length / DELAYED_PART))
		return;
	/* Steps may be parts of the program's, of which a rank is late in one only: then time tells, if it is no single time. */
	is_most = (double)own >= SAME_RANK * (double)all && 2 * steps_of < delayed &&
		  (double)steps_of >= RARE_SHARE * (double)ret->steps && longest <= own / 4;
	ret->is = (double)steps_of >= SAME_RANK * (double)delayed || is_most ? AIF_RANKS_ONE_LATE
									     : AIF_RANKS_WANDER;
	ret->delayed = ret->is == AIF_RANKS_ONE_LATE ? steps_of : delayed;
	if (ret->are_operations || is_most) {
		ret->are_means = true;
		ret->delay_ns = ret->is == AIF_RANKS_ONE_LATE ? own / steps_of : lead / delayed;
		ret->saved_ns = (ret->is == AIF_RANKS_ONE_LATE ? own : lead) / ret->steps;
	}
	if (ret->is == AIF_RANKS_ONE_LATE)
		ret->since = since_of(d, ret->late);
	else
		count_changes(d, ret);
}

/* Delayed steps between two changes, and in all, that chance makes of two ranks in one case of a thousand at most. */
#define TURN_STEPS  8
#define TURNS_STEPS 16

bool aif_rank_verdict_is_in_turns(const struct aif_rank_verdict *v)
{
	return v->is == AIF_RANKS_WANDER && v->delayed >= TURNS_STEPS &&
	       v->changes * TURN_STEPS <= v->delayed;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *at, size_t n)
{
	qsort(at, n, sizeof(*at), by_length);
	return n ? at[n / 2] : 0;
}

/* Sets the lengths of what steps have in the middle. */
static int take_medians(const struct delays *d, struct aif_rank_verdict *ret)
{
	uint64_t *with = malloc(3 * (d->steps + 1) * sizeof(*with));
	uint64_t *without = with + d->steps, *delay = without + d->steps, saved;
	size_t n = 0, delayed = 0;

	if (!with)
		return -ENOMEM;
	for (size_t s = 0; s < d->steps; s++) {
		uint32_t late = d->late[s];
		uint64_t lead = late == AIF_NONE ? 0 : d->net[s * d->ranks + late];

		if (!d->any[s])
			continue;
		with[n] = d->length[s];
		if (ret->is == AIF_RANKS_ONE_LATE && late != ret->late)
			lead = 0;
		without[n] = d->length[s] - AIF_MIN(lead, d->length[s]);
		n++;
		if (lead)
			delay[delayed++] = lead;
	}
	ret->step_ns = median(with, n);
	saved = median(without, n);
	if (ret->is == AIF_RANKS_ONE_LATE || ret->is == AIF_RANKS_WANDER) {
		ret->saved_ns = ret->step_ns - AIF_MIN(saved, ret->step_ns);
		ret->delay_ns = median(delay, delayed);
	}
	free(with);
	return 0;
}

/* ---- a slow device ------------------------------------------------------------------------------ */

struct duration {
	uint32_t name;
	bool is_late;
	uint64_t ns;
};

static int by_name_side_ns(const void *a, const void *b)
{
	const struct duration *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->is_late != y->is_late)
		return x->is_late ? 1 : -1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Compares the medians of each kernel that both have. */
static double compare_durations(const struct duration *at, size_t n)
{
	double slower = 0, all = 0, sum = 0;

	for (size_t from = 0; from < n;) {
		size_t mid = from, to;
		double ns = 0, ratio;

		while (mid < n && at[mid].name == at[from].name && !at[mid].is_late)
			mid++;
		for (to = mid; to < n && at[to].name == at[from].name; to++)
			ns += (double)at[to].ns;
		if (mid > from && to > mid && at[from + (mid - from) / 2].ns) {
			ratio = (double)at[mid + (to - mid) / 2].ns /
				(double)at[from + (mid - from) / 2].ns;
			all += ns;
			slower += ratio >= SLOWER ? ns : 0;
			sum += ratio * ns;
		}
		from = to;
	}
	return all > 0 && slower >= SLOWER_SHARE * all ? sum / all : 0;
}

/* True if enough of the waits for the late rank is for kernels. */
static bool is_by_kernels(const struct aif_rank_waits *w, uint32_t late)
{
	double kernels = 0;

	for (size_t i = 0; i < w->rows_len; i++)
		if (w->rows[i].late == late && w->rows[i].kind == AIF_WAIT_KERNEL)
			kernels += (double)w->rows[i].ns;
	return kernels >= SLOW_SHARE * (double)w->sums[late].given_ns;
}

static int find_slow(const struct aif_profile *p, const struct aif_rank_waits *w,
		     struct aif_rank_verdict *ret)
{
	static const struct aif_selection whole = {.whole = true};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	struct duration *at = NULL;
	size_t len = 0, cap = 0;
	int r = aif_exec_timeline_get(p, &whole, &t);

	if (!r)
		r = aif_utilization_get(p, t, &u);
	for (uint32_t k = 0; k < w->ranks.ranks_len && !r; k++) {
		size_t lane = w->ranks.ranks[k].lane;
		const struct aif_device_utilization *d =
			lane == AIF_RANK_NO_LANE ? NULL : &u->devices[lane];

		for (size_t i = d ? d->first : 0; d && i < d->end && !r; i++) {
			const struct aif_timeline_exec *x = &t->execs[u->order[i]];
			uint32_t kernel = aif_timeline_work_of(t, x)->kernel;

			if (u->classes[u->order[i]] != AIF_WORK_COMPUTE || kernel == AIF_NONE)
				continue;
			r = aif_grow(&at, &cap, len + 1, sizeof(*at));
			if (!r)
				at[len++] = (struct duration){p->kernels[kernel].name,
							      k == ret->late, aif_timed_ns(x)};
		}
	}
	if (!r && len) {
		qsort(at, len, sizeof(*at), by_name_side_ns);
		ret->slow = compare_durations(at, len);
	}
	free(at);
	aif_facts_put(u);
	aif_facts_put(t);
	return r;
}

static int verdict(const struct aif_rank_waits *w, const struct aif_selection *sel,
		   const struct aif_exec_timeline *t, const struct aif_utilization *u,
		   const struct aif_phases *f, struct aif_rank_verdict *ret)
{
	struct delays d;
	int r = delays_make(w, sel, t, u, f, ret->are_operations, &d);

	if (!r)
		judge(&d, ret);
	if (!r && !ret->are_operations && !ret->are_means && ret->steps)
		r = take_medians(&d, ret);
	delays_finish(&d);
	return r;
}

int aif_rank_verdict(const struct aif_profile *p, const struct aif_rank_waits *w,
		     const struct aif_selection *sel, const struct aif_phases *f,
		     struct aif_rank_verdict *ret)
{
	static const struct aif_selection whole = {.whole = true};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	int r;

	*ret = (struct aif_rank_verdict){.are_operations =
						 f->from == AIF_PHASES_UNKNOWN || !f->len};
	if (w->ranks.why || (!w->ranks.operations_len && !w->ranks.messages))
		return 0;
	r = aif_exec_timeline_get(p, &whole, &t);
	if (!r)
		r = aif_utilization_get(p, t, &u);
	if (!r)
		r = verdict(w, sel, t, u, f, ret);
	/* Few steps were captured whole on all ranks. */
	if (!r && !ret->are_operations && f->is_sparse && ret->steps < LEAST_STEPS) {
		*ret = (struct aif_rank_verdict){.are_operations = true};
		r = verdict(w, sel, t, u, f, ret);
	}
	if (!r && ret->is == AIF_RANKS_EVEN && !ret->are_operations && !w->ranks.is_estimate)
		r = aif_rank_balance(&w->ranks, sel, u, f, ret);
	aif_facts_put(u);
	aif_facts_put(t);
	return !r && ret->is == AIF_RANKS_ONE_LATE && is_by_kernels(w, ret->late)
		       ? find_slow(p, w, ret)
		       : r;
}
