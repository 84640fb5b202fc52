/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/messages.h"
#include "analysis/ranks/rank_items.h"
#include "analysis/ranks/rank_list.h"
#include "base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Ends of an operation's kernels differ by this much, and starts may be read so much too late. */
#define SLACK_NS 20000
/* Ranks of one host were measured to leave an operation within 1 to 11 us (two H200): the shortest operations take longer. */
#define SAME_END_NS 15000

/* ---- which are the same operation -------------------------------------------------------------- */

static int by_group_rank_start(const void *a, const void *b)
{
	const struct aif_rank_item *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Returns when a rank would have come to an operation, had it waited in no call before. */
static int64_t arrival(const struct aif_rank_item *i)
{
	return i->start - (int64_t)i->before;
}

static int by_group_sequence_nth(const void *a, const void *b)
{
	const struct aif_rank_item *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return AIF_ORDER(arrival(x), arrival(y)) ?: AIF_ORDER(x->rank, y->rank);
}

/* Numbers the items of one rank, [from, to), by their order, or by that among those of one sequence number. */
static int number_items(struct aif_rank_item *i, size_t n, bool by_sequence)
{
	struct aif_map of = {0};
	uint64_t nth;

	for (size_t k = 0; k < n; k++) {
		nth = k;
		if (by_sequence) {
			if (!aif_map_get(&of, i[k].sequence, &nth))
				nth = 0;
			if (aif_map_put(&of, i[k].sequence, nth + 1) < 0) {
				aif_map_finish(&of);
				return -ENOMEM;
			}
		} else {
			i[k].sequence = 0;
		}
		i[k].nth = (uint32_t)nth;
	}
	aif_map_finish(&of);
	return 0;
}

/* Gives items of a rank the numbers of those of another with which they overlap most; those with none get one of their own. */
static void number_by_overlap(const struct aif_rank_item *base, size_t n, struct aif_rank_item *i,
			      size_t len)
{
	size_t at = 0;
	uint32_t own = UINT32_MAX;

	for (size_t k = 0; k < len; k++) {
		uint64_t best = 0;
		size_t which = n;

		while (at < n && base[at].end <= i[k].start)
			at++;
		for (size_t b = at; b < n && base[b].start < i[k].end; b++) {
			uint64_t common = (uint64_t)AIF_MIN(base[b].end, i[k].end) -
					  (uint64_t)AIF_MAX(base[b].start, i[k].start);

			if (common > best) {
				best = common;
				which = b;
			}
		}
		i[k].nth = which < n ? base[which].nth : own--;
		if (which < n)
			at = which + 1;
	}
}

/* Gives items of a rank the numbers of those of another that end when they do; those with none get one of their own. Both are by
 * start, and so by end, but for some that ran side by side. */
static void number_by_end(const struct aif_rank_item *base, size_t n, struct aif_rank_item *i,
			  size_t len, uint64_t error_ns)
{
	int64_t most = SAME_END_NS + (int64_t)error_ns;
	uint32_t own = UINT32_MAX;
	size_t at = 0;

	for (size_t k = 0; k < len; k++) {
		int64_t best = most + 1;
		size_t which = n;

		while (at < n && base[at].end < i[k].end - most)
			at++;
		for (size_t b = at; b < n && base[b].start < i[k].end; b++) {
			int64_t off = base[b].end < i[k].end ? i[k].end - base[b].end
							     : base[b].end - i[k].end;

			if (off < best) {
				best = off;
				which = b;
			}
		}
		i[k].nth = which < n ? base[which].nth : own--;
		if (which < n)
			at = which + 1;
	}
}

/* A rank's items of a group. */
struct part {
	size_t from, to;
};

static int number_group(struct aif_rank_items *all, struct part *parts, size_t n,
			struct aif_ranks *ret)
{
	struct aif_rank_item *i = all->at;
	bool by_sequence = true, alike = true;
	size_t least = 0;
	int r = 0;

	for (size_t k = 0; k < n; k++) {
		for (size_t j = parts[k].from; j < parts[k].to; j++)
			by_sequence &= i[j].sequence != 0;
		alike &= parts[k].to - parts[k].from == parts[0].to - parts[0].from;
		if (parts[k].to - parts[k].from < parts[least].to - parts[least].from)
			least = k;
	}
	for (size_t k = 0; k < n && !r; k++)
		r = number_items(&i[parts[k].from], parts[k].to - parts[k].from, by_sequence);
	if (r || n < 2)
		return r;
	ret->by_order |= !by_sequence;
	ret->by_number |= by_sequence;
	ret->by_end |= !by_sequence && ret->is_estimate;
	if (by_sequence || (alike && !ret->is_estimate))
		return 0;
	for (size_t k = 0; k < n; k++)
		if (k != least && ret->is_estimate)
			number_by_end(&i[parts[least].from], parts[least].to - parts[least].from,
				      &i[parts[k].from], parts[k].to - parts[k].from,
				      ret->error_ns);
		else if (k != least)
			number_by_overlap(&i[parts[least].from],
					  parts[least].to - parts[least].from, &i[parts[k].from],
					  parts[k].to - parts[k].from);
	return 0;
}

static int number_all(struct aif_rank_items *all, struct aif_ranks *ret)
{
	struct part *parts = calloc(ret->ranks_len + 1, sizeof(*parts));
	int r = parts ? 0 : -ENOMEM;

	for (size_t from = 0; from < all->len && !r;) {
		size_t to = from, n = 0;

		while (to < all->len && all->at[to].group == all->at[from].group) {
			if (to == from || all->at[to].rank != all->at[to - 1].rank)
				parts[n++].from = to;
			parts[n - 1].to = ++to;
		}
		r = number_group(all, parts, n, ret);
		from = to;
	}
	free(parts);
	return r;
}

/* Times at which the last rank came to an operation: had it waited in no call before, and in truth. */
struct last {
	int64_t arrival, start;
};

/* Returns until when a rank waits that has come at arrival(i), and waits from then on. */
static int64_t wait_end(const struct aif_rank_item *i, const struct last *last)
{
	return AIF_MIN(AIF_MAX(last->arrival, arrival(i)), i->end);
}

/* Returns how long a rank waits. What it does between beginning an operation and waiting for it is no wait. */
static uint64_t wait_of(const struct aif_rank_item *i, const struct last *last)
{
	int64_t until = AIF_MIN(last->start, i->end);

	if (!i->is_split)
		return (uint64_t)wait_end(i, last) - (uint64_t)arrival(i);
	return AIF_MIN((uint64_t)last->arrival - (uint64_t)arrival(i), i->before) +
	       (until > i->waits_from ? (uint64_t)until - (uint64_t)i->waits_from : 0);
}

static uint64_t hidden_of(const struct aif_ranks *r, const struct aif_utilization *u,
			  const struct aif_rank_item *i, const struct last *last)
{
	int64_t from = i->is_split ? i->waits_from : arrival(i);

	if (from == AIF_RANK_NO_WAIT)
		return 0;
	return aif_rank_computed(r, u, i->rank, from, AIF_MAX(from, wait_end(i, last)));
}

/* Returns by how much the last of items [0, n) delays all others. */
static uint64_t lead_of(const struct aif_ranks *r, const struct aif_utilization *u,
			const struct aif_rank_item *i, size_t n, const struct last *last)
{
	uint64_t least = UINT64_MAX;
	bool any = false;

	if (!i->is_split)
		return (uint64_t)last->arrival - (uint64_t)arrival(&i[n - 2]) -
		       aif_rank_computed(r, u, i[n - 2].rank, arrival(&i[n - 2]), last->arrival);
	for (size_t k = 0; k + 1 < n; k++) {
		if (i[k].waits_from == AIF_RANK_NO_WAIT)
			continue;
		any = true;
		least = AIF_MIN(least, wait_of(&i[k], last));
	}
	return any ? least : 0;
}

/* Adds the operation of items [0, n), which have one number. */
static int add_operation(const struct aif_profile *p, const struct aif_exec_timeline *t,
			 const struct aif_utilization *u, const struct aif_rank_item *i, size_t n,
			 size_t ranks, uint32_t group, struct aif_ranks *ret)
{
	struct aif_rank_operation o = {
		.collective = i->exec == AIF_NONE
				      ? 0
				      : aif_timeline_more_of(t, &t->execs[i->exec])->collective,
		.group = group,
		.first = (uint32_t)ret->members_len,
		.len = (uint32_t)n};
	int64_t first_end = INT64_MAX;
	struct last last;
	size_t rarest = 0, lowest = n;

	for (size_t k = 0; k < n; k++) {
		if (i[k].cycle != AIF_NONE && (lowest == n || i[k].rank < i[lowest].rank))
			lowest = k;
		if (i[k].waits_from != AIF_RANK_NO_WAIT)
			first_end = AIF_MIN(first_end, i[k].end);
		o.last_start = k ? AIF_MAX(o.last_start, i[k].start) : i[k].start;
		if (!k || i[k].weight > i[rarest].weight)
			rarest = k;
	}
	o.weight = (double)i[rarest].weight / AIF_WEIGHT_ONE;
	/* Takes the cycle of the same rank in all operations: those of different ranks are no sequence, whose neighbours would differ by
	 * which of them has the operation. */
	o.cycle = lowest < n ? i[lowest].cycle : AIF_NONE;
	/* Counts what was begun and tested until it was done: nobody is seen to wait. */
	if (first_end == INT64_MAX) {
		ret->tested += n > 1;
		return 0;
	}
	last = (struct last){arrival(&i[n - 1]), o.last_start};
	o.late = i[n - 1].rank;
	/* All ranks of a communicator make its calls: one that was not captured may be the late one. */
	if (n < 2 || ((ret->is_estimate || i->exec == AIF_NONE) && n < ranks) ||
	    o.last_start > first_end + SLACK_NS + (int64_t)ret->error_ns) {
		ret->unmatched += n;
		return 0;
	}
	o.is_split = i->is_split;
	o.lead_ns = lead_of(ret, u, i, n, &last);
	ret->missing += o.collective && p->collectives[o.collective - 1].ranks > n;
	ret->by_kernel |= i->by_kernel;
	if (aif_grow(&ret->members, &ret->members_cap, ret->members_len + n,
		     sizeof(*ret->members)) < 0 ||
	    aif_grow(&ret->operations, &ret->operations_cap, ret->operations_len + 1,
		     sizeof(*ret->operations)) < 0)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		ret->members[ret->members_len++] = (struct aif_rank_member){
			.rank = i[k].rank,
			.exec = i[k].exec,
			.start = i[k].is_split && i[k].waits_from != AIF_RANK_NO_WAIT
					 ? i[k].waits_from
					 : i[k].start,
			.end = i[k].end,
			.before_ns = i[k].before,
			.weight = o.weight,
			.wait_ns = wait_of(&i[k], &last),
			.hidden_ns = hidden_of(ret, u, &i[k], &last)};
	ret->operations[ret->operations_len++] = o;
	return 0;
}

/* Returns how many ranks have items of the group that begins at `from`. seen: by rank, the last group that it was seen in, from 1. */
static size_t ranks_of(const struct aif_rank_items *all, size_t from, uint32_t *seen,
		       uint32_t group)
{
	size_t n = 0;

	for (size_t i = from; i < all->len && all->at[i].group == all->at[from].group; i++) {
		n += seen[all->at[i].rank] != group;
		seen[all->at[i].rank] = group;
	}
	return n;
}

/* Scales the weights of the operations of a group, whose items are [from, to), those from `first` on: all stand for as many as its ranks
 * have on average. */
static void weigh(const struct aif_rank_items *all, size_t from, size_t to, size_t ranks,
		  struct aif_ranks *ret, size_t first)
{
	double whole = 0, matched = 0;

	for (size_t i = from; i < to; i++)
		whole += (double)all->at[i].weight / AIF_WEIGHT_ONE;
	for (size_t i = first; i < ret->operations_len; i++)
		matched += ret->operations[i].weight;
	for (size_t i = first; i < ret->operations_len; i++) {
		struct aif_rank_operation *o = &ret->operations[i];

		o->weight *= whole / (double)ranks / matched;
		for (size_t k = o->first; k < o->first + o->len; k++)
			ret->members[k].weight = o->weight;
	}
}

static int by_last_start(const void *a, const void *b)
{
	const struct aif_rank_operation *x = a, *y = b;

	if (x->last_start != y->last_start)
		return x->last_start < y->last_start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int find_operations(const struct aif_profile *p, const struct aif_exec_timeline *t,
			   const struct aif_utilization *u, struct aif_rank_items *all,
			   struct aif_ranks *ret)
{
	uint32_t group = 0, *seen = calloc(ret->ranks_len + 1, sizeof(*seen));
	size_t ranks = 0, first = 0, begin = 0;
	int r;

	if (!seen)
		return -ENOMEM;
	qsort(all->at, all->len, sizeof(*all->at), by_group_rank_start);
	r = number_all(all, ret);
	if (!r)
		qsort(all->at, all->len, sizeof(*all->at), by_group_sequence_nth);
	for (size_t from = 0; from < all->len && !r;) {
		const struct aif_rank_item *i = &all->at[from];
		size_t n = 1;

		while (from + n < all->len && i[n].group == i->group &&
		       i[n].sequence == i->sequence && i[n].nth == i->nth)
			n++;
		if (!from || i->group != i[-1].group) {
			ranks = ranks_of(all, from, seen, group + 1);
			first = ret->operations_len;
			begin = from;
		}
		r = add_operation(p, t, u, i, n, ranks, group, ret);
		from += n;
		if (ret->is_estimate && (from == all->len || all->at[from].group != i->group))
			weigh(all, begin, from, ranks, ret, first);
		group += from < all->len && all->at[from].group != i->group;
	}
	if (ret->operations_len)
		qsort(ret->operations, ret->operations_len, sizeof(*ret->operations),
		      by_last_start);
	free(seen);
	return r;
}

static enum aif_ranks_why why_none(const struct aif_ranks *r, const struct aif_rank_items *items)
{
	size_t comparable = 0;

	for (size_t i = 0; i < r->ranks_len; i++)
		comparable += !r->ranks[i].is_apart;
	if (!items->len && !r->unmatched && !r->messages_unmatched)
		return AIF_RANKS_NO_COMMUNICATION;
	if (r->ranks_len < 2)
		return AIF_RANKS_ONE;
	return comparable < 2   ? AIF_RANKS_APART
	       : r->tested      ? AIF_RANKS_TESTED
	       : r->is_estimate ? AIF_RANKS_LEFT_OUT
				: AIF_RANKS_UNMATCHED;
}

/* Returns what two ranks may differ by: each is that far from the one whose clock it was put on. */
static uint64_t clock_error(const struct aif_ranks *r)
{
	uint64_t most = 0, next = 0;

	for (size_t i = 0; i < r->ranks_len; i++) {
		uint64_t error = r->ranks[i].is_apart ? 0 : r->ranks[i].clock_error_ns;

		next = AIF_MAX(next, AIF_MIN(error, most));
		most = AIF_MAX(most, error);
	}
	return most + next;
}

/* True if a process is a rank of a job, or a device communicates: others have no joint calls that would have to be read. */
static bool may_have_calls(const struct aif_profile *p, const struct aif_utilization *u)
{
	for (size_t i = 0; i < p->processes_len; i++)
		if (p->processes[i].rank)
			return true;
	for (size_t i = 0; i < u->len; i++)
		if (u->devices[i].communication.len)
			return true;
	return false;
}

static bool any_host(const struct aif_ranks *r)
{
	for (size_t i = 0; i < r->ranks_len; i++)
		if (r->ranks[i].lane == AIF_RANK_NO_LANE)
			return true;
	return false;
}

/* Finds what ranks without a device waited in other calls than those of all ranks. */
static int find_host_waits(const struct aif_profile *p, struct aif_ranks *ret)
{
	struct aif_host_calls calls;
	int r = aif_host_calls_read(p, NULL, &calls);

	if (!r)
		r = aif_joint_calls_add_before(p, &calls, &ret->calls);
	if (!r)
		r = aif_rank_messages_find(p, &calls, ret);
	aif_host_calls_finish(&calls);
	return r;
}

int aif_ranks_find(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_ranks *ret)
{
	struct aif_rank_items items = {0};
	int r = may_have_calls(p, u) ? aif_joint_calls_read(p, &ret->calls) : 0;

	if (!r)
		r = aif_rank_list_make(p, u, ret);
	ret->error_ns = clock_error(ret);
	if (!r)
		r = aif_rank_items_find(p, t, u, ret, &items);
	if (!r && any_host(ret))
		r = find_host_waits(p, ret);
	if (!r) {
		aif_rank_messages_take(ret);
		r = aif_rank_items_find_calls(p, ret, &items);
	}
	ret->is_estimate = t->left_out || t->weights;
	if (!r)
		r = items.len ? find_operations(p, t, u, &items, ret) : 0;
	if (!r)
		r = aif_rank_waits_add_operations(ret);
	if (!r && !ret->operations_len && !ret->messages)
		ret->why = why_none(ret, &items);
	free(items.at);
	return r;
}

void aif_ranks_finish(struct aif_ranks *r)
{
	free(r->ranks);
	free(r->operations);
	free(r->members);
	free(r->waits);
	aif_joint_calls_finish(&r->calls);
	*r = (struct aif_ranks){0};
}

const char *aif_ranks_why_say(enum aif_ranks_why why)
{
	switch (why) {
	case AIF_RANKS_NO_COMMUNICATION:
		return "no kernel communicates, and no message, and no call of MPI that ends for all ranks at "
		       "once, was recorded";
	case AIF_RANKS_ONE:
		return "there is one rank only: import the traces of all ranks together";
	case AIF_RANKS_LEFT_OUT:
		return "launches were left out by the overhead budget, and no operation was captured on "
		       "all ranks: record --all-launches";
	case AIF_RANKS_APART:
		return "no two ranks have one clock";
	case AIF_RANKS_UNMATCHED:
		return "no operation was found on two ranks";
	case AIF_RANKS_TESTED:
		return "operations were tested until they were done (MPI_Test), which is not followed";
	case AIF_RANKS_COMPARED:
		break;
	}
	return "";
}
