/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/rank_list.h"
#include "base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Ends of an operation's kernels differ by this much, and starts may be read so much too late. */
#define SLACK_NS 20000
/* Ranks of one host were measured to leave an operation within 1 to 11 us (two H200): the shortest operations take longer. */
#define SAME_END_NS 15000

#define NO_WAIT INT64_MAX
struct item {
	uint64_t group; /* key: the communicator's, or the kernel's */
	uint32_t rank, nth;
	uint32_t sequence;
	uint32_t exec;
	int64_t start, end;
	uint64_t before; /* aif_rank_member.before_ns */
	/* The time when the rank began to wait for an operation that it began at .start, NO_WAIT if that is not known; else .start. */
	int64_t waits_from;
	bool is_split; /* begun by one call and waited for in another */
	uint64_t weight;
	uint32_t cycle;
	bool by_kernel;
};

struct items {
	struct item *at;
	size_t len, cap;
};

/* ---- executions that communicate -------------------------------------------------------------- */

/* True for sends and receives: the trace does not say which rank is the peer. */
static bool is_of_two(const struct aif_profile *p, const struct aif_exec_timeline *t,
		      const struct aif_timeline_exec *x)
{
	uint32_t collective = aif_timeline_more_of(t, x)->collective;
	const char *operation =
		collective ? aif_profile_str(p, p->collectives[collective - 1].operation) : "";
	const char *kernel =
		aif_profile_str(p, p->kernels[aif_timeline_work_of(t, x)->kernel].name);

	if (*operation)
		return !strncasecmp(operation, "send", 4) || !strncasecmp(operation, "recv", 4) ||
		       !strncasecmp(operation, "coalesced", 9);
	return strcasestr(kernel, "sendrecv") != NULL;
}

static struct item item_of(const struct aif_profile *p, const struct aif_exec_timeline *t,
			   const struct aif_timeline_exec *x)
{
	const struct aif_timeline_more *more = aif_timeline_more_of(t, x);
	struct item i = {.sequence = more->sequence,
			 .start = x->start,
			 .end = x->end,
			 .weight = aif_timeline_weight_of(t, x),
			 .cycle = aif_timeline_cycle_of(t, x)};
	uint32_t communicator =
		more->collective ? p->collectives[more->collective - 1].communicator : AIF_NONE;

	i.by_kernel = communicator == AIF_NONE;
	i.group = i.by_kernel
			  ? (uint64_t)1 << 32 | p->kernels[aif_timeline_work_of(t, x)->kernel].name
			  : communicator;
	if (i.by_kernel)
		i.sequence = 0;
	return i;
}

static int find_items(const struct aif_profile *p, const struct aif_exec_timeline *t,
		      const struct aif_utilization *u, struct aif_ranks *ret, struct items *items)
{
	for (size_t k = 0; k < ret->ranks_len; k++) {
		const struct aif_device_utilization *d = ret->ranks[k].lane == AIF_RANK_NO_LANE
								 ? NULL
								 : &u->devices[ret->ranks[k].lane];

		for (size_t i = d ? d->first : 0; d && i < d->end; i++) {
			const struct aif_timeline_exec *x = &t->execs[u->order[i]];
			struct item item;

			if (u->classes[u->order[i]] != AIF_WORK_COMMUNICATION ||
			    aif_timeline_work_of(t, x)->kernel == AIF_NONE)
				continue;
			if (ret->ranks[k].is_apart || is_of_two(p, t, x)) {
				ret->unmatched++;
				continue;
			}
			if (aif_grow(&items->at, &items->cap, items->len + 1, sizeof(item)) < 0)
				return -ENOMEM;
			item = item_of(p, t, x);
			item.rank = (uint32_t)k;
			item.exec = u->order[i];
			items->at[items->len++] = item;
		}
	}
	return 0;
}

/* ---- calls that communicate --------------------------------------------------------------------- */

/* Returns the first of a process's ranks; AIF_NONE: it has none. */
static uint32_t rank_of(const struct aif_ranks *r, uint32_t process)
{
	for (uint32_t k = 0; k < r->ranks_len; k++)
		if (r->ranks[k].process == process)
			return k;
	return AIF_NONE;
}

/* True if a host has two processes of one number: there are several jobs, whose communicators have the same numbers. */
static bool are_several_jobs(const struct aif_profile *p, const struct aif_ranks *r)
{
	for (size_t k = 0; k < r->ranks_len; k++)
		for (size_t i = k + 1; i < r->ranks_len && r->ranks[i].number == r->ranks[k].number;
		     i++)
			if (r->ranks[k].number != AIF_NONE &&
			    r->ranks[i].process != r->ranks[k].process &&
			    p->processes[r->ranks[i].process].host ==
				    p->processes[r->ranks[k].process].host)
				return true;
	return false;
}

/* Returns the group of a call. Of several jobs each has a launcher of its own, on each host. */
static uint64_t group_of(const struct aif_profile *p, const struct aif_joint_call *c,
			 bool by_launcher)
{
	uint64_t launcher = by_launcher ? p->processes[c->process].ppid : 0;

	return UINT64_C(1) << 63 | launcher << 32 | c->communicator;
}

/* Returns what counts as a part of a call of a rank without a device: the calls before it. */
static uint64_t before_of(const struct aif_rank *r, const struct aif_joint_call *c)
{
	return r->thread == c->thread ? c->before_ns : 0;
}

/* Marks the groups of calls in which a rank with a device takes part: its calls before are not counted, so no rank's are. */
static int mark_with_devices(const struct aif_profile *p, const struct aif_ranks *r,
			     bool by_launcher, struct aif_map *ret)
{
	uint32_t rank = AIF_NONE;
	int e = 0;

	for (size_t i = 0; i < r->calls.len && !e; i++) {
		const struct aif_joint_call *c = &r->calls.at[i];

		if (!i || c->process != c[-1].process)
			rank = rank_of(r, c->process);
		if (rank != AIF_NONE && r->ranks[rank].lane != AIF_RANK_NO_LANE)
			e = aif_map_put(ret, group_of(p, c, by_launcher), 1);
	}
	return e;
}

/* Operations that a process has begun, and waits for later. */
struct begun {
	struct aif_map items; /* communicator and number -> index of its item */
	uint32_t process;
};

/* Adds a call, or takes it for the wait of an operation that was begun before. */
static int add_call(struct items *items, struct begun *begun, const struct aif_joint_call *c,
		    struct item item)
{
	uint64_t key = (uint64_t)c->communicator << 32 | c->number, i;

	if (begun->process != c->process)
		aif_map_finish(&begun->items);
	begun->process = c->process;
	if (c->part == AIF_JOINT_WAIT) {
		/* The begin may not have been recorded. */
		if (aif_map_get(&begun->items, key, &i)) {
			items->at[i].waits_from = c->start;
			items->at[i].end = c->end;
		}
		return 0;
	}
	if (aif_grow(&items->at, &items->cap, items->len + 1, sizeof(item)) < 0 ||
	    (c->part == AIF_JOINT_BEGIN && aif_map_put(&begun->items, key, items->len) < 0))
		return -ENOMEM;
	items->at[items->len++] = item;
	return 0;
}

static int find_calls(const struct aif_profile *p, struct aif_ranks *ret, struct items *items)
{
	bool by_launcher = are_several_jobs(p, ret);
	struct begun begun = {.process = AIF_NONE};
	struct aif_map with_devices = {0};
	uint32_t rank = AIF_NONE;
	int e = mark_with_devices(p, ret, by_launcher, &with_devices);

	for (size_t i = 0; i < ret->calls.len && !e; i++) {
		const struct aif_joint_call *c = &ret->calls.at[i];
		bool is_begin = c->part == AIF_JOINT_BEGIN;
		uint64_t group, with;

		if (!i || c->process != c[-1].process)
			rank = rank_of(ret, c->process);
		if (rank == AIF_NONE)
			continue;
		group = group_of(p, c, by_launcher);
		if (ret->ranks[rank].is_apart)
			ret->unmatched++;
		else
			e = add_call(
				items, &begun, c,
				(struct item){.group = group,
					      .rank = rank,
					      .sequence = c->number,
					      .exec = AIF_NONE,
					      .start = c->start,
					      .end = c->end,
					      .waits_from = is_begin ? NO_WAIT : c->start,
					      .is_split = is_begin,
					      .before = aif_map_get(&with_devices, group, &with)
								? 0
								: before_of(&ret->ranks[rank], c),
					      .weight = AIF_WEIGHT_ONE,
					      .cycle = AIF_NONE});
	}
	aif_map_finish(&begun.items);
	aif_map_finish(&with_devices);
	return e;
}

/* ---- which are the same operation -------------------------------------------------------------- */

static int by_group_rank_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Returns when a rank would have come to an operation, had it waited in no call before. */
static int64_t arrival(const struct item *i)
{
	return i->start - (int64_t)i->before;
}

static int by_group_sequence_nth(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return AIF_ORDER(arrival(x), arrival(y)) ?: AIF_ORDER(x->rank, y->rank);
}

/* Numbers the items of one rank, [from, to), by their order, or by that among those of one sequence number. */
static int number_items(struct item *i, size_t n, bool by_sequence)
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
static void number_by_overlap(const struct item *base, size_t n, struct item *i, size_t len)
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
static void number_by_end(const struct item *base, size_t n, struct item *i, size_t len,
			  uint64_t error_ns)
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

static int number_group(struct items *all, struct part *parts, size_t n, struct aif_ranks *ret)
{
	struct item *i = all->at;
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

static int number_all(struct items *all, struct aif_ranks *ret)
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
static int64_t wait_end(const struct item *i, const struct last *last)
{
	return AIF_MIN(AIF_MAX(last->arrival, arrival(i)), i->end);
}

/* Returns how long a rank waits. What it does between beginning an operation and waiting for it is no wait. */
static uint64_t wait_of(const struct item *i, const struct last *last)
{
	int64_t until = AIF_MIN(last->start, i->end);

	if (!i->is_split)
		return (uint64_t)wait_end(i, last) - (uint64_t)arrival(i);
	return AIF_MIN((uint64_t)last->arrival - (uint64_t)arrival(i), i->before) +
	       (until > i->waits_from ? (uint64_t)until - (uint64_t)i->waits_from : 0);
}

static uint64_t hidden_of(const struct aif_ranks *r, const struct aif_utilization *u,
			  const struct item *i, const struct last *last)
{
	int64_t from = i->is_split ? i->waits_from : arrival(i);

	if (from == NO_WAIT)
		return 0;
	return aif_rank_computed(r, u, i->rank, from, AIF_MAX(from, wait_end(i, last)));
}

/* Returns by how much the last of items [0, n) delays all others. */
static uint64_t lead_of(const struct aif_ranks *r, const struct aif_utilization *u,
			const struct item *i, size_t n, const struct last *last)
{
	uint64_t least = UINT64_MAX;
	bool any = false;

	if (!i->is_split)
		return (uint64_t)last->arrival - (uint64_t)arrival(&i[n - 2]) -
		       aif_rank_computed(r, u, i[n - 2].rank, arrival(&i[n - 2]), last->arrival);
	for (size_t k = 0; k + 1 < n; k++) {
		if (i[k].waits_from == NO_WAIT)
			continue;
		any = true;
		least = AIF_MIN(least, wait_of(&i[k], last));
	}
	return any ? least : 0;
}

/* Adds the operation of items [0, n), which have one number. */
static int add_operation(const struct aif_profile *p, const struct aif_exec_timeline *t,
			 const struct aif_utilization *u, const struct item *i, size_t n,
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
		if (i[k].waits_from != NO_WAIT)
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
			.start = i[k].is_split && i[k].waits_from != NO_WAIT ? i[k].waits_from
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
static size_t ranks_of(const struct items *all, size_t from, uint32_t *seen, uint32_t group)
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
static void weigh(const struct items *all, size_t from, size_t to, size_t ranks,
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
			   const struct aif_utilization *u, struct items *all,
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
		const struct item *i = &all->at[from];
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

static enum aif_ranks_why why_none(const struct aif_ranks *r, const struct items *items)
{
	size_t comparable = 0;

	for (size_t i = 0; i < r->ranks_len; i++)
		comparable += !r->ranks[i].is_apart;
	if (!items->len && !r->unmatched)
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

int aif_ranks_find(const struct aif_profile *p, const struct aif_exec_timeline *t,
		   const struct aif_utilization *u, struct aif_ranks *ret)
{
	struct items items = {0};
	int r = may_have_calls(p, u) ? aif_joint_calls_read(p, &ret->calls) : 0;

	if (!r)
		r = aif_rank_list_make(p, u, ret);
	ret->error_ns = clock_error(ret);
	if (!r)
		r = find_items(p, t, u, ret, &items);
	if (!r && any_host(ret))
		r = aif_joint_calls_add_before(p, &ret->calls);
	if (!r)
		r = find_calls(p, ret, &items);
	ret->is_estimate = t->left_out || t->weights;
	if (!r)
		r = items.len ? find_operations(p, t, u, &items, ret) : 0;
	if (!r && !ret->operations_len)
		ret->why = why_none(ret, &items);
	free(items.at);
	return r;
}

void aif_ranks_finish(struct aif_ranks *r)
{
	free(r->ranks);
	free(r->operations);
	free(r->members);
	aif_joint_calls_finish(&r->calls);
	*r = (struct aif_ranks){0};
}

const char *aif_ranks_why_say(enum aif_ranks_why why)
{
	switch (why) {
	case AIF_RANKS_NO_COMMUNICATION:
		return "no kernel communicates, and no call of MPI was recorded that ends for all ranks at "
		       "once";
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
