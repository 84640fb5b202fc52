/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/waits.h"

#include "analysis/estimate.h"
#include "analysis/facts.h"
#include "analysis/ranks/messages.h"
#include "analysis/ranks/owners.h"
#include "base/human.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Activity of a rank in a span, by owner. */
struct did {
	double *ns;      /* by owner */
	uint32_t *which; /* owners with an amount */
	size_t len;
};

/* A class of owners, of what the late rank and another one did. */
struct class_sum {
	double less; /* the one's time less the other's */
	double more; /* the same of its owners, of those of which it has more */
	double part; /* of the wait */
	bool is_listed;
};

struct blaming {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u;
	struct aif_estimate error; /* of the waits */
	struct aif_rank_owners owners;
	struct did late, other;
	struct class_sum *classes;
	uint32_t *listed; /* classes of which the late rank did more */
	double *sums;     /* by rank that was late and owner; one more owner: unknown */
	struct aif_rank_waits *to;
};

/* ---- spans ------------------------------------------------------------------------------------- */

static void take(void *arg, uint32_t owner, double ns)
{
	struct did *to = arg;

	if (to->ns[owner] == 0)
		to->which[to->len++] = owner;
	to->ns[owner] += ns;
}

static void measure(const struct aif_rank_owners *o, uint32_t rank, int64_t from, int64_t to,
		    struct did *ret)
{
	for (size_t i = 0; i < ret->len; i++)
		ret->ns[ret->which[i]] = 0;
	ret->len = 0;
	aif_rank_owners_in(o, rank, from, to, take, ret);
}

/* ---- blame ------------------------------------------------------------------------------------- */

static double *sum_of(struct blaming *b, uint32_t late, size_t owner)
{
	return &b->sums[late * (b->owners.owners_len + 1) + owner];
}

/* Returns what the late rank did more of an owner; 0: less. */
static double more_of(const struct blaming *b, uint32_t owner)
{
	return AIF_MAX(b->late.ns[owner] - b->other.ns[owner], 0);
}

/* Sums what the late rank did of each class, less what the other one did; and by how much it did more of its owners. */
static void compare_classes(struct blaming *b)
{
	for (int side = 0; side < 2; side++) {
		const struct did *d = side ? &b->other : &b->late;

		for (size_t i = 0; i < d->len; i++)
			b->classes[b->owners.class_of[d->which[i]]] = (struct class_sum){0};
	}
	for (size_t i = 0; i < b->late.len; i++) {
		struct class_sum *c = &b->classes[b->owners.class_of[b->late.which[i]]];

		c->less += b->late.ns[b->late.which[i]];
		c->more += more_of(b, b->late.which[i]);
	}
	for (size_t i = 0; i < b->other.len; i++)
		b->classes[b->owners.class_of[b->other.which[i]]].less -=
			b->other.ns[b->other.which[i]];
}

/* Lists classes of which the late rank did more. Returns their number, and by how much together. */
static size_t list_classes(struct blaming *b, double *ret_sum)
{
	size_t n = 0;

	*ret_sum = 0;
	for (size_t i = 0; i < b->late.len; i++) {
		uint32_t class = b->owners.class_of[b->late.which[i]];
		struct class_sum *c = &b->classes[class];

		if (c->is_listed || !(c->less > 0) || !(c->more > 0))
			continue;
		c->is_listed = true;
		b->listed[n++] = class;
		*ret_sum += c->less;
	}
	return n;
}

/* Sets the part of a wait that each class has: the nearest to what the late rank did more of it that are not negative and sum to the
 * wait (the projection on a simplex). All lose the same, so that what differs by chance is lost first. */
static bool divide(struct blaming *b, double wait)
{
	double sum, off, scale;
	size_t n = list_classes(b, &sum), left = 0;

	if (!n)
		return false;
	scale = sum < wait ? wait / sum : 1;
	for (size_t before = n + 1; left != before;) {
		before = left ? left : n;
		off = (sum * scale - wait) / (double)before;
		left = 0;
		sum = 0;
		for (size_t i = 0; i < before; i++) {
			struct class_sum *c = &b->classes[b->listed[i]];

			c->part = 0;
			if (c->less * scale <= off)
				continue;
			c->part = c->less * scale - off;
			sum += c->less;
			b->listed[left++] = b->listed[i];
		}
	}
	return true;
}

/* Shares a wait among what the late rank did more of: among classes first, then among the owners of each. Since when: both were at
 * the same place. */
static void share(struct blaming *b, const struct aif_rank_operation *o,
		  const struct aif_rank_member *m, uint64_t ns, int64_t since)
{
	measure(&b->owners, m->rank, since, m->start, &b->other);
	compare_classes(b);
	if (!divide(b, (double)m->wait_ns)) {
		*sum_of(b, o->late, b->owners.owners_len) += (double)ns;
		return;
	}
	for (size_t i = 0; i < b->late.len; i++) {
		uint32_t k = b->late.which[i];
		const struct class_sum *c = &b->classes[b->owners.class_of[k]];

		if (c->part > 0)
			*sum_of(b, o->late, k) +=
				c->part * more_of(b, k) / c->more * (double)ns / (double)m->wait_ns;
	}
}

static bool is_selected(const struct blaming *b, const struct aif_rank_operation *o)
{
	const struct aif_selection *sel = b->sel;

	return aif_timed_in_span(sel, o->last_start);
}

static bool is_kept(const struct blaming *b, uint32_t rank)
{
	const struct aif_rank *r = &b->to->ranks.ranks[rank];

	return aif_selection_keeps(b->sel->processes, r->process) &&
	       aif_selection_keeps(b->sel->devices, r->device);
}

/* Returns from when on the ranks of an operation were captured until it began: what was launched before is not known. */
static int64_t captured_since(const struct blaming *b, const struct aif_rank_operation *o)
{
	int64_t since = INT64_MIN;

	for (size_t i = o->first; i < o->first + o->len; i++) {
		const struct aif_rank_member *m = &b->to->ranks.members[i];
		const struct aif_spans *s =
			aif_rank_not_collected(&b->to->ranks.ranks[m->rank], b->u);
		size_t lo = s ? AIF_BISECT(mid, 0, s->len, s->at[mid].start < m->start) : 0;

		if (lo)
			since = AIF_MAX(since, AIF_MIN(s->at[lo - 1].end, m->start));
	}
	return since;
}

/* A wait that is passed on: that of `rank`, for `late`. */
struct passing {
	struct blaming *b;
	uint32_t rank, late;
	bool is_late_kept; /* the part of .late itself is left */
	uint64_t ns;       /* part of the wait that belongs to the rank at the end of the chain */
};

/* Takes a part of a wait: its owners are what the rank at the end of the chain did. */
static void take_passed(void *arg, uint32_t root, int64_t from, int64_t to)
{
	struct passing *x = arg;
	struct blaming *b = x->b;
	uint64_t ns = (uint64_t)to - (uint64_t)from;
	double done = 0, all;

	if (x->is_late_kept && root == x->late)
		return;
	measure(&b->owners, root, from, to, &b->other);
	for (size_t i = 0; i < b->other.len; i++)
		done += b->other.ns[b->other.which[i]];
	all = AIF_MAX(done, (double)ns);
	for (size_t i = 0; i < b->other.len; i++) {
		uint32_t k = b->other.which[i];

		*sum_of(b, root, k) += b->other.ns[k] / all * (double)ns;
	}
	*sum_of(b, root, b->owners.owners_len) += (double)ns * (1 - done / all);
	b->to->sums[root].given_ns += ns;
	b->to->sums[x->rank].suffered_ns += ns;
	b->to->wait_ns += ns;
	x->ns += ns;
}

/* Adds the waits in messages that are selected. */
static void add_messages(struct blaming *b)
{
	struct aif_rank_waits *w = b->to;

	for (size_t i = 0; i < w->ranks.waits_len; i++) {
		const struct aif_rank_wait *m = &w->ranks.waits[i];
		struct passing x = {.b = b, .rank = m->rank, .late = m->late};

		if (!m->is_message || !aif_timed_in_span(b->sel, m->to))
			continue;
		w->messages++;
		w->sums[m->late].late++;
		w->sums[m->late].operations++;
		w->sums[m->rank].operations++;
		if (is_kept(b, m->rank))
			aif_rank_roots(&w->ranks, m->late, m->from, m->to, take_passed, &x);
	}
}

/* Passes on what a member waits for a rank that itself waits. Returns how much that is. */
static uint64_t pass_on(struct blaming *b, const struct aif_rank_operation *o,
			const struct aif_rank_member *m)
{
	struct passing x = {.b = b, .rank = m->rank, .late = o->late, .is_late_kept = true};
	int64_t to = AIF_MIN(AIF_MIN(o->last_start, m->end), m->start + (int64_t)m->wait_ns);

	if (b->to->ranks.waits_len && m->exec == AIF_NONE && o->weight == 1)
		aif_rank_roots(&b->to->ranks, o->late, m->start, to, take_passed, &x);
	return x.ns;
}

static int add_operation(struct blaming *b, const struct aif_rank_operation *o, int64_t since)
{
	struct aif_rank_waits *w = b->to;
	double waited = 0;

	w->known++;
	w->operations += o->weight;
	w->sums[o->late].late += o->weight;
	w->sums[o->late].lead_ns += aif_timed_rounded((double)o->lead_ns * o->weight);
	if (w->ranks.is_estimate)
		since = AIF_MAX(since, captured_since(b, o));
	if (since != INT64_MIN)
		measure(&b->owners, o->late, since, o->last_start, &b->late);
	for (size_t i = o->first; i < o->first + o->len; i++) {
		const struct aif_rank_member *m = &w->ranks.members[i];
		uint64_t transfer =
				 (uint64_t)m->end - (uint64_t)m->start + m->before_ns - m->wait_ns,
			 ns = aif_timed_rounded((double)m->wait_ns * o->weight);

		w->sums[m->rank].operations += o->weight;
		w->sums[m->rank].transfer_ns += aif_timed_rounded((double)transfer * o->weight);
		if (!ns || !is_kept(b, m->rank))
			continue;
		waited += (double)ns;
		ns -= AIF_MIN(ns, pass_on(b, o, m));
		w->sums[m->rank].suffered_ns += ns;
		w->sums[o->late].given_ns += ns;
		w->wait_ns += ns;
		if (m->exec != AIF_NONE)
			w->alone_ns += aif_timed_rounded(
				(double)(m->wait_ns - AIF_MIN(m->hidden_ns, m->wait_ns)) *
				o->weight);
		if (since == INT64_MIN)
			*sum_of(b, o->late, b->owners.owners_len) += (double)ns;
		else
			share(b, o, m, ns, since);
	}
	return aif_estimate_add(&b->error, b->t->weights, o->cycle,
				waited / aif_weights_factor(b->t->weights, o->cycle));
}

/* Operations that a rank has begun and not waited for yet, of which the agent follows as many (agent/mpi/mpi.h). */
#define BEGUN_MAX 64

/* Sets, for each operation, the one before it in its communicator; SIZE_MAX: it is the first. 0 or -ENOMEM. */
static int find_before(const struct aif_ranks *r, size_t **ret)
{
	uint32_t groups = 0;
	size_t *before = malloc((r->operations_len + 1) * sizeof(*before)), *last;

	for (size_t i = 0; i < r->operations_len; i++)
		groups = AIF_MAX(groups, r->operations[i].group);
	last = malloc(((size_t)groups + 1) * sizeof(*last));
	*ret = before;
	if (!before || !last) {
		free(last);
		return -ENOMEM;
	}
	for (size_t i = 0; i <= groups; i++)
		last[i] = SIZE_MAX;
	for (size_t i = 0; i < r->operations_len; i++) {
		before[i] = last[r->operations[i].group];
		last[r->operations[i].group] = i;
	}
	free(last);
	return 0;
}

/* Returns since when ranks did different things before they waited for an operation, INT64_MIN: this is not known. Of operations that are
 * begun one after the other, and then waited for, it is the last one before the first of these. */
static int64_t since_of(const struct aif_ranks *r, const size_t *before, size_t i)
{
	const struct aif_rank_operation *o = &r->operations[i];
	int64_t first = o->last_start;

	for (size_t k = o->first; o->is_split && k < o->first + o->len; k++)
		first = AIF_MIN(first, r->members[k].start);
	i = before[i];
	for (unsigned n = 0; i != SIZE_MAX && r->operations[i].last_start > first && n < BEGUN_MAX;
	     n++)
		i = before[i];
	return i == SIZE_MAX ? INT64_MIN : r->operations[i].last_start;
}

static int add_operations(struct blaming *b)
{
	const struct aif_ranks *r = &b->to->ranks;
	size_t *before;
	int e = find_before(r, &before);

	for (size_t i = 0; i < r->operations_len && !e; i++)
		if (is_selected(b, &r->operations[i]))
			e = add_operation(b, &r->operations[i], since_of(r, before, i));
	free(before);
	return e;
}

/* ---- whole ns ---------------------------------------------------------------------------------- */

static int by_ns(const void *a, const void *b)
{
	const struct aif_wait_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->late != y->late)
		return x->late < y->late ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Makes the rows of a late rank: their whole ns add up to what it has given. */
static int add_rows(struct blaming *b, uint32_t late)
{
	static const struct aif_wait_row unknown = {
		.kind = AIF_WAIT_UNKNOWN, .stack = AIF_NONE, .kernel = AIF_NONE};
	struct aif_rank_waits *w = b->to;
	uint64_t given = w->sums[late].given_ns, done = 0;
	size_t last = SIZE_MAX;
	double until = 0;

	for (size_t k = 0; k <= b->owners.owners_len; k++)
		if (*sum_of(b, late, k) > 0)
			last = k;
	for (size_t k = 0; k <= b->owners.owners_len && last != SIZE_MAX; k++) {
		struct aif_wait_row row = k < b->owners.owners_len ? b->owners.owners[k] : unknown;
		uint64_t to;

		until += *sum_of(b, late, k);
		to = k >= last ? given : AIF_MIN(given, (uint64_t)until);
		row.late = late;
		row.ns = to - done;
		done = to;
		if (!row.ns)
			continue;
		if (aif_grow(&w->rows, &w->rows_cap, w->rows_len + 1, sizeof(*w->rows)) < 0)
			return -ENOMEM;
		w->rows[w->rows_len++] = row;
	}
	return 0;
}

static bool did_init(struct did *d, size_t owners)
{
	d->ns = calloc(owners + 1, sizeof(*d->ns));
	d->which = calloc(owners + 1, sizeof(*d->which));
	return d->ns && d->which;
}

static int blame(const struct aif_profile *p, const struct aif_selection *sel,
		 const struct aif_exec_timeline *t, const struct aif_utilization *u,
		 struct aif_rank_waits *ret)
{
	struct blaming b = {.p = p, .sel = sel, .t = t, .u = u, .to = ret};
	static const struct aif_selection all = {.whole = true};
	const struct aif_idle_part *idle;
	size_t n = ret->ranks.ranks_len;
	int r = aif_idle_part_get_course(p, &all, &idle);

	if (!r)
		r = aif_rank_owners_make(p, &ret->ranks, idle, &b.owners);
	if (!r) {
		b.sums = calloc(n * (b.owners.owners_len + 1), sizeof(*b.sums));
		b.classes = calloc(b.owners.classes + 1, sizeof(*b.classes));
		b.listed = calloc(b.owners.classes + 1, sizeof(*b.listed));
		if (!b.classes || !b.listed || !did_init(&b.late, b.owners.owners_len) ||
		    !did_init(&b.other, b.owners.owners_len) || !b.sums)
			r = -ENOMEM;
	}
	if (!r)
		r = add_operations(&b);
	if (!r)
		add_messages(&b);
	if (!r)
		ret->error_ns = aif_timed_rounded(aif_estimate_error(&b.error, t->weights));
	for (uint32_t i = 0; i < n && !r; i++)
		r = add_rows(&b, i);
	if (!r && ret->rows_len)
		qsort(ret->rows, ret->rows_len, sizeof(*ret->rows), by_ns);
	free(b.late.ns);
	free(b.late.which);
	free(b.other.ns);
	free(b.other.which);
	aif_estimate_finish(&b.error);
	free(b.classes);
	free(b.listed);
	free(b.sums);
	aif_rank_owners_finish(&b.owners);
	aif_facts_put(idle);
	return r;
}

/* ---- the fact ---------------------------------------------------------------------------------- */

/* Orders members by process, device and start. */
static int compare_exec(const struct aif_rank_waits *w, uint32_t member, uint32_t process,
			uint32_t device, int64_t start)
{
	const struct aif_rank_member *m = &w->ranks.members[member];
	const struct aif_rank *r = &w->ranks.ranks[m->rank];

	if (r->process != process)
		return r->process < process ? -1 : 1;
	if (r->device != device)
		return r->device < device ? -1 : 1;
	return m->start < start ? -1 : m->start > start;
}

static int by_exec(const void *a, const void *b, void *arg)
{
	const struct aif_rank_waits *w = arg;
	uint32_t y = *(const uint32_t *)b;
	const struct aif_rank *r = &w->ranks.ranks[w->ranks.members[y].rank];

	return compare_exec(w, *(const uint32_t *)a, r->process, r->device,
			    w->ranks.members[y].start);
}

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	struct aif_rank_waits *ret = value;
	static const struct aif_selection all = {.whole = true};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	int r = aif_exec_timeline_get(p, &all, &t);

	(void)err;
	if (!r)
		r = aif_utilization_get(p, t, &u);
	if (!r)
		r = aif_ranks_find(p, t, u, &ret->ranks);
	if (!r) {
		ret->sums = calloc(ret->ranks.ranks_len + 1, sizeof(*ret->sums));
		ret->by_exec = calloc(ret->ranks.members_len + 1, sizeof(*ret->by_exec));
		r = ret->sums && ret->by_exec ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < ret->ranks.members_len && !r; i++)
		ret->by_exec[i] = i;
	if (!r && ret->ranks.members_len)
		qsort_r(ret->by_exec, ret->ranks.members_len, sizeof(*ret->by_exec), by_exec, ret);
	if (!r && (ret->ranks.operations_len || ret->ranks.waits_len))
		r = blame(p, of->sel, t, u, ret);
	aif_facts_put(u);
	aif_facts_put(t);
	return r;
}

static void finish(void *value)
{
	struct aif_rank_waits *w = value;

	aif_ranks_finish(&w->ranks);
	free(w->sums);
	free(w->rows);
	free(w->by_exec);
}

static size_t bytes_of(const void *value)
{
	const struct aif_rank_waits *w = value;

	return w->ranks.members_len * (sizeof(*w->ranks.members) + sizeof(*w->by_exec)) +
	       w->ranks.operations_len * sizeof(*w->ranks.operations) +
	       w->ranks.waits_len * sizeof(*w->ranks.waits) + w->rows_len * sizeof(*w->rows);
}

static const struct aif_fact_kind kind = {.name = "waits of ranks",
					  .size = sizeof(struct aif_rank_waits),
					  .make = make,
					  .finish = finish,
					  .bytes = bytes_of};

int aif_rank_waits_get(const struct aif_profile *p, const struct aif_selection *sel,
		       const struct aif_rank_waits **ret)
{
	const void *fact;
	int r = aif_facts_get(p, &kind, (struct aif_fact_of){.sel = sel}, &fact, NULL);

	*ret = fact;
	return r;
}

uint64_t aif_rank_waits_of(const struct aif_rank_waits *w, const struct aif_exec_timeline *t,
			   const struct aif_timeline_exec *x, uint64_t *ret_transfer)
{
	const struct aif_timeline_work *of = aif_timeline_work_of(t, x);
	size_t lo =
		AIF_BISECT(mid, 0, w->by_exec ? w->ranks.members_len : 0,
			   compare_exec(w, w->by_exec[mid], of->process, of->device, x->start) < 0);

	*ret_transfer = 0;
	/* Two may start at the same time, on two streams. */
	for (; w->by_exec && lo < w->ranks.members_len; lo++) {
		const struct aif_rank_member *m = &w->ranks.members[w->by_exec[lo]];

		if (compare_exec(w, w->by_exec[lo], of->process, of->device, x->start))
			break;
		if (m->end != x->end)
			continue;
		*ret_transfer = aif_timed_rounded(
			(double)((uint64_t)m->end - (uint64_t)m->start - m->wait_ns) * m->weight);
		return aif_timed_rounded((double)m->wait_ns * m->weight);
	}
	return 0;
}

/* ---- in words ---------------------------------------------------------------------------------- */

const char *aif_wait_kind_name(enum aif_wait_kind k)
{
	static const char *const names[] = {"kernel", "copy", "communication",
					    "idle",   "host", "unknown"};

	return names[k];
}

void aif_rank_waits_say(const struct aif_rank_waits *w, struct aif_buf *out)
{
	const struct aif_ranks *r = &w->ranks;
	const char *between = "; ";
	size_t apart = 0;

	if (r->why) {
		aif_buf_printf(out, "ranks are not compared: %s", aif_ranks_why_say(r->why));
		return;
	}
	aif_human_ns(out, w->wait_ns);
	if (w->error_ns) {
		aif_buf_puts(out, " ±");
		aif_human_ns(out, w->error_ns);
	}
	aif_buf_puts(out, " of waiting in ");
	if (w->operations || !w->messages)
		aif_human_counted(out, aif_timed_rounded(w->operations), "operation");
	if (w->messages) {
		aif_buf_puts(out, w->operations ? " and " : "");
		aif_human_counted(out, w->messages, "message");
	}
	aif_buf_printf(out, " of %zu ranks", r->ranks_len);
	if (r->is_estimate) {
		aif_buf_puts(out, ", estimated from ");
		aif_human_share(out, aif_share_ppm(w->known, aif_timed_rounded(w->operations)));
		aif_buf_puts(out, " of them, which all ranks captured");
	}
	for (size_t i = 0; i < r->ranks_len; i++)
		apart += r->ranks[i].is_apart;
	if (apart)
		aif_buf_printf(out, ", %zu of which have another clock and are not compared",
			       apart);
	if (r->is_estimate && r->by_end)
		aif_buf_printf(out,
			       "%smatched by kernel and by when they end, as all ranks leave an "
			       "operation at once%s",
			       between, r->by_number ? ", and by number where they have one" : "");
	else if (r->is_estimate)
		aif_buf_printf(out, "%smatched by number", between);
	else if (r->by_kernel)
		aif_buf_printf(out, "%smatched by kernel and order, as communicators are not known",
			       between);
	else if (r->by_order)
		aif_buf_printf(out, "%smatched by their order in each communicator", between);
	if (r->unmatched && !r->is_estimate) {
		aif_buf_puts(out, between);
		aif_human_counted(out, r->unmatched, "execution");
		aif_buf_puts(out, " not matched");
	}
	if (r->missing) {
		aif_buf_puts(out, between);
		aif_human_counted(out, r->missing, "operation");
		aif_buf_puts(out, " of ranks that are not all here");
	}
	if (r->messages_unmatched) {
		aif_buf_puts(out, between);
		aif_human_counted(out, r->messages_unmatched, "message");
		aif_buf_puts(out, " not matched");
	}
	if (r->error_ns) {
		aif_buf_puts(out, between);
		aif_buf_puts(out, "clocks agree within ");
		aif_human_ns(out, r->error_ns);
	}
}
