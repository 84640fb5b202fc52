/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/messages.h"

#include "base/sort.h"

#include <errno.h>

/* Clocks of CPUs differ by this much, and starts may be read so much too late. */
#define SLACK_NS 20000
/* Receives with less between them are one wait. */
#define BETWEEN_NS 20000
/* Time that a wait goes on after its last message was begun: a copy of 64 KiB takes less. */
#define TAIL_NS 100000

/* A call of a rank that may have waited for another one, or a send, which ends a series of receives (.is_end). */
struct event {
	uint32_t rank, peer;
	int64_t from, to;
	int64_t arrival; /* when the other one entered its call */
	bool is_send, is_end;
	bool is_begun; /* the other one's call only begins the message */
};

struct matching {
	const struct aif_profile *p;
	struct aif_ranks *r;
	uint32_t *rank_of; /* by process; AIF_NONE: it is none without a device */
	struct event *events;
	size_t len, cap;
	const struct aif_host_calls *calls;
};

/* ---- which are the same message ----------------------------------------------------------------- */

/* A side of a message: its calls, [first, end). */
struct side {
	size_t first, end;
	uint32_t rank; /* AIF_NONE: it is not known, or there are several */
	int64_t post;
	bool is_begun;
};

static struct side side_of(const struct matching *m, size_t first, size_t end)
{
	const struct aif_message_call *c = m->r->calls.messages;
	struct side s = {.first = first, .end = end, .rank = AIF_NONE};

	if (first == end)
		return s;
	s.post = c[first].start;
	s.is_begun = c[first].part == AIF_JOINT_BEGIN;
	s.rank = m->rank_of[c[first].process];
	for (size_t i = first; i < end; i++)
		if (c[i].process != c[first].process)
			s.rank = AIF_NONE;
	return s;
}

static int add_event(struct matching *m, struct event e)
{
	if (aif_grow(&m->events, &m->cap, m->len + 1, sizeof(e)) < 0)
		return -ENOMEM;
	m->events[m->len++] = e;
	return 0;
}

/* Adds what one side did: waits for the other one, and where its sends are. */
static int add_side(struct matching *m, const struct side *s, const struct side *other,
		    bool is_send)
{
	int64_t slack = SLACK_NS + (int64_t)m->r->error_ns;

	for (size_t i = s->first; i < s->end; i++) {
		const struct aif_message_call *c = &m->r->calls.messages[i];
		struct event e = {.rank = s->rank,
				  .peer = other->rank,
				  .from = c->start,
				  .to = c->end,
				  .arrival = other->post,
				  .is_send = is_send,
				  .is_begun = other->is_begun};

		if (c->thread != m->r->ranks[s->rank].thread)
			continue;
		if (is_send && c->part != AIF_JOINT_WAIT) {
			e.is_end = true;
			if (add_event(m, e) < 0)
				return -ENOMEM;
			e.is_end = false;
		}
		if (c->part == AIF_JOINT_BEGIN)
			continue;
		/* The library had room for the message: nobody waited. */
		if (is_send && other->post > c->end + slack)
			continue;
		if (add_event(m, e) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the message whose calls are [first, end), those from `middle` on of the side that receives. */
static int add_message(struct matching *m, size_t first, size_t middle, size_t end)
{
	struct side sent = side_of(m, first, middle), received = side_of(m, middle, end);
	int64_t last = INT64_MIN;
	int e;

	for (size_t i = middle; i < end; i++)
		if (m->r->calls.messages[i].part != AIF_JOINT_BEGIN)
			last = AIF_MAX(last, m->r->calls.messages[i].end);
	/* Was received before it was sent: it is another one. */
	if (sent.rank == AIF_NONE || received.rank == AIF_NONE || sent.rank == received.rank ||
	    (last != INT64_MIN && sent.post > last + SLACK_NS + (int64_t)m->r->error_ns)) {
		m->r->messages_unmatched++;
		return 0;
	}
	m->r->messages++;
	m->r->ranks[sent.rank].messages++;
	m->r->ranks[received.rank].messages++;
	e = add_side(m, &sent, &received, true);
	return e ?: add_side(m, &received, &sent, false);
}

static int match(struct matching *m)
{
	const struct aif_joint_calls *calls = &m->r->calls;
	int e = 0;

	for (size_t i = 0, end; i < calls->messages_len && !e; i = end) {
		const struct aif_message_call *c = &calls->messages[i];
		size_t middle = i;

		for (end = i;
		     end < calls->messages_len && calls->messages[end].channel == c->channel &&
		     calls->messages[end].number == c->number;
		     end++)
			middle += !calls->messages[end].is_receive;
		e = add_message(m, i, middle, end);
	}
	return e;
}

/* ---- waits ------------------------------------------------------------------------------------- */

static int by_rank_from(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return AIF_ORDER(x->rank, y->rank) ?: AIF_ORDER(x->from, y->from)
	       ?: AIF_ORDER(y->is_end, x->is_end) ?: AIF_ORDER(x->to, y->to)
	       ?: AIF_ORDER(x->is_send, y->is_send) ?: AIF_ORDER(x->arrival, y->arrival);
}

static bool is_same_call(const struct event *x, const struct event *y)
{
	return x->rank == y->rank && x->from == y->from && x->to == y->to;
}

/* Leaves out sends of a call in which a message is received that came meanwhile: whether it waited for them is not known. */
static void drop_sends(struct matching *m)
{
	size_t n = 0;

	for (size_t i = 0, end; i < m->len; i = end) {
		bool any = false;

		for (end = i; end < m->len && is_same_call(&m->events[i], &m->events[end]); end++)
			any |= !m->events[end].is_send &&
			       m->events[end].arrival > m->events[i].from;
		for (size_t k = i; k < end; k++)
			if (!any || !m->events[k].is_send || m->events[k].is_end)
				m->events[n++] = m->events[k];
	}
	m->len = n;
}

/* Returns when a thread that is in no call of MPI at `from` next enters one, until `to`; INT64_MIN: it is in one, or enters none. */
static int64_t entered(const struct matching *m, uint32_t thread, int64_t from, int64_t to)
{
	const struct aif_host_calls *c = m->calls;
	size_t i = aif_host_calls_first(c, thread, from);

	while (i < c->len && c->at[i].thread == thread && c->at[i].start <= to &&
	       (c->at[i].kind != AIF_HOST_CALL_COMMUNICATE || c->at[i].end <= from))
		i++;
	return i < c->len && c->at[i].thread == thread && c->at[i].start > from &&
			       c->at[i].start <= to
		       ? c->at[i].start
		       : INT64_MIN;
}

/* A message that is large, and was only begun by the other rank, goes on when that one calls MPI again: such a call is its arrival where
 * the wait went on after all had been begun. */
static void find_progress(struct matching *m)
{
	for (size_t i = 0, end; i < m->len; i = end) {
		int64_t last = m->events[i].from, at;

		for (end = i; end < m->len && is_same_call(&m->events[i], &m->events[end]); end++)
			if (!m->events[end].is_end)
				last = AIF_MAX(last, m->events[end].arrival);
		if (m->events[i].to - last <= TAIL_NS)
			continue;
		for (size_t k = i; k < end; k++) {
			struct event *e = &m->events[k];

			if (!e->is_begun || e->is_end)
				continue;
			at = entered(m, m->r->ranks[e->peer].thread, last, e->to);
			e->arrival = AIF_MAX(e->arrival, at);
		}
	}
}

static bool has_peer(const struct event *e, size_t n, const struct event *of)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].peer == of->peer && !is_same_call(&e[i], of))
			return true;
	return false;
}

/* Returns how many of events [0, n) are one wait: those of one call, and receives of further ranks behind it. */
static size_t series_of(const struct event *e, size_t n)
{
	size_t len = 1;

	while (len < n && e[len].rank == e->rank && !e[len].is_end &&
	       (is_same_call(&e[len], e) ||
		(!e->is_send && !e[len].is_send && e[len].from >= e[len - 1].from &&
		 e[len].from <= e[len - 1].to + BETWEEN_NS && !has_peer(e, len, &e[len]))))
		len++;
	return len;
}

/* Adds the waits of a series: one for each call. */
static int add_waits(struct aif_ranks *r, const struct event *e, size_t n)
{
	const struct event *last = e;
	int64_t before = e->from;

	for (size_t i = 1; i < n; i++)
		if (e[i].arrival > last->arrival)
			last = &e[i];
	for (size_t i = 0; i < n; i++)
		if (e[i].peer != last->peer)
			before = AIF_MAX(before, e[i].arrival);
	for (size_t i = 0, end; i < n; i = end) {
		struct aif_rank_wait w = {.rank = e->rank,
					  .late = last->peer,
					  .from = e[i].from,
					  .lead_from = before,
					  .is_message = true};
		int64_t arrival = e[i].arrival;

		for (end = i; end < n && is_same_call(&e[i], &e[end]); end++)
			arrival = AIF_MAX(arrival, e[end].arrival);
		w.to = AIF_MIN(arrival, e[i].to);
		if (w.to <= w.from)
			continue;
		if (aif_grow(&r->waits, &r->waits_cap, r->waits_len + 1, sizeof(w)) < 0)
			return -ENOMEM;
		r->waits[r->waits_len++] = w;
	}
	return 0;
}

static int make_waits(struct matching *m)
{
	int e = 0;

	if (m->len)
		aif_sort(m->events, m->len, sizeof(*m->events), by_rank_from);
	find_progress(m);
	drop_sends(m);
	for (size_t i = 0, n; i < m->len && !e; i += n) {
		n = m->events[i].is_end ? 1 : series_of(&m->events[i], m->len - i);
		if (!m->events[i].is_end)
			e = add_waits(m->r, &m->events[i], n);
	}
	return e;
}

int aif_rank_messages_find(const struct aif_profile *p, const struct aif_host_calls *calls,
			   struct aif_ranks *r)
{
	struct matching m = {.p = p, .r = r, .calls = calls};
	int e;

	if (!r->calls.messages_len)
		return 0;
	m.rank_of = malloc((p->processes_len + 1) * sizeof(*m.rank_of));
	if (!m.rank_of)
		return -ENOMEM;
	for (size_t i = 0; i < p->processes_len; i++)
		m.rank_of[i] = AIF_NONE;
	for (uint32_t i = 0; i < r->ranks_len; i++)
		if (r->ranks[i].lane == AIF_RANK_NO_LANE && !r->ranks[i].is_apart)
			m.rank_of[r->ranks[i].process] = i;
	e = match(&m);
	if (!e)
		e = make_waits(&m);
	free(m.rank_of);
	free(m.events);
	return e;
}

/* ---- what is known of other waits ---------------------------------------------------------------- */

/* Returns the index of the first wait of a rank that ends behind `at`. */
static size_t first_of(const struct aif_ranks *r, uint32_t rank, int64_t at)
{
	return AIF_BISECT(mid, 0, r->waits_len,
			  r->waits[mid].rank < rank ||
				  (r->waits[mid].rank == rank && r->waits[mid].to <= at));
}

static uint32_t rank_of(const struct aif_ranks *r, const struct aif_joint_call *c)
{
	for (uint32_t i = 0; i < r->ranks_len; i++)
		if (r->ranks[i].process == c->process)
			return i;
	return AIF_NONE;
}

void aif_rank_messages_take(struct aif_ranks *r)
{
	uint32_t rank = AIF_NONE;
	int64_t since = INT64_MIN;

	for (size_t i = 0; i < r->calls.len && r->waits_len; i++) {
		struct aif_joint_call *c = &r->calls.at[i];

		if (!i || c->process != c[-1].process) {
			rank = rank_of(r, c);
			since = INT64_MIN;
		}
		if (rank == AIF_NONE || r->ranks[rank].thread != c->thread)
			continue;
		for (size_t k = first_of(r, rank, since);
		     k < r->waits_len && r->waits[k].rank == rank && r->waits[k].from < c->start;
		     k++)
			c->before_ns -= AIF_MIN(c->before_ns, (uint64_t)r->waits[k].to -
								      (uint64_t)r->waits[k].from);
		since = c->end;
	}
}

static int by_rank_and_start(const void *a, const void *b)
{
	const struct aif_rank_wait *x = a, *y = b;

	return AIF_ORDER(x->rank, y->rank) ?: AIF_ORDER(x->from, y->from)
	       ?: AIF_ORDER(x->to, y->to);
}

int aif_rank_waits_add_operations(struct aif_ranks *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->operations_len && r->waits_len; i++) {
		const struct aif_rank_operation *o = &r->operations[i];

		for (size_t k = o->first; k < o->first + o->len; k++) {
			const struct aif_rank_member *m = &r->members[k];
			struct aif_rank_wait w = {.rank = m->rank,
						  .late = o->late,
						  .from = m->start,
						  .to = AIF_MIN(o->last_start, m->end)};

			if (m->exec != AIF_NONE || m->rank == o->late || w.to <= w.from)
				continue;
			if (aif_grow(&r->waits, &r->waits_cap, r->waits_len + 1, sizeof(w)) < 0)
				return -ENOMEM;
			r->waits[r->waits_len++] = w;
		}
	}
	if (r->waits_len)
		aif_sort(r->waits, r->waits_len, sizeof(*r->waits), by_rank_and_start);
	/* Makes those of a rank disjoint, as calls of one thread are but for what clocks do. */
	for (size_t i = 0; i < r->waits_len; i++) {
		struct aif_rank_wait w = r->waits[i];

		if (n && r->waits[n - 1].rank == w.rank)
			w.from = AIF_MAX(w.from, r->waits[n - 1].to);
		if (w.from < w.to)
			r->waits[n++] = w;
	}
	r->waits_len = n;
	return 0;
}

/* ---- chains ------------------------------------------------------------------------------------- */

struct chain {
	const struct aif_ranks *r;
	void (*take)(void *arg, uint32_t rank, int64_t from, int64_t to);
	void *arg;
};

/* left: ranks that the chain may still have; a longer one is a circle, of clocks that differ. */
static void follow(const struct chain *c, uint32_t rank, int64_t from, int64_t to, size_t left)
{
	const struct aif_ranks *r = c->r;

	for (size_t i = left ? first_of(r, rank, from) : r->waits_len;
	     i < r->waits_len && r->waits[i].rank == rank && r->waits[i].from < to; i++) {
		const struct aif_rank_wait *w = &r->waits[i];

		if (w->from > from)
			c->take(c->arg, rank, from, w->from);
		follow(c, w->late, AIF_MAX(from, w->from), AIF_MIN(to, w->to), left - 1);
		from = AIF_MIN(to, w->to);
	}
	if (from < to)
		c->take(c->arg, rank, from, to);
}

void aif_rank_roots(const struct aif_ranks *r, uint32_t late, int64_t from, int64_t to,
		    void (*take)(void *arg, uint32_t rank, int64_t from, int64_t to), void *arg)
{
	struct chain c = {r, take, arg};

	if (from < to)
		follow(&c, late, from, to, AIF_MIN(r->ranks_len, AIF_RANK_CHAIN));
}
