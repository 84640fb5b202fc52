/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "base/name_sanitize.h"
#include "stacks/ranks.h"

#include <inttypes.h>
#include <string.h>

/* Communicators of which something is said. */
#define COMMUNICATORS_SAID 8

/* ---- ranks, places ---- */

/* Writes the ranks for which in[i]: "ranks 0 to 2, 5". */
static void put_ranks(const struct aif_stacks_job *j, const bool *in, struct aif_buf *out)
{
	size_t n = 0, first;
	bool begins = true;

	for (size_t i = 0; i < j->len; i++)
		n += in[i];
	aif_buf_puts(out, j->number ? n == 1 ? "rank " : "ranks "
			  : n == 1  ? "process "
				    : "processes ");
	for (size_t i = 0; i < j->len; i++) {
		if (!in[i])
			continue;
		first = i;
		while (j->number && i + 1 < j->len && in[i + 1] &&
		       j->ranks[i + 1].job.rank == j->ranks[i].job.rank + 1)
			i++;
		aif_buf_puts(out, begins ? "" : ", ");
		begins = false;
		if (!j->number)
			aif_buf_printf(out, "%d", j->ranks[first].pid);
		else
			aif_buf_printf(out, "%" PRIu32, j->ranks[first].job.rank);
		if (i > first)
			aif_buf_printf(out, "%s%" PRIu32, i > first + 1 ? " to " : ", ",
				       j->ranks[i].job.rank);
	}
}

static size_t count(const bool *in, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += in[i];
	return n;
}

static void put_line(const struct aif_stacks_frame *f, struct aif_buf *out)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;

	aif_name_sanitize(f->function, strlen(f->function), out);
	if (!f->file)
		return;
	aif_buf_puts(out, " (");
	aif_name_sanitize(slash ? slash + 1 : f->file, strlen(slash ? slash + 1 : f->file), out);
	if (f->line)
		aif_buf_printf(out, ":%" PRIu32, f->line);
	aif_buf_puts(out, ")");
}

/* Says where ranks are; `many`: more than one. */
static void put_where(const struct aif_stacks_rank *r, bool many, struct aif_buf *out)
{
	const struct aif_stacks_where *w = &r->where;

	if (r->why.code) {
		aif_buf_puts(out, many ? " were not seen: " : " was not seen: ");
		aif_name_sanitize(r->why.text, strlen(r->why.text), out);
		return;
	}
	if (w->place != AIF_STACKS_ELSEWHERE) {
		aif_buf_puts(out, many ? " wait in " : " waits in ");
		aif_name_sanitize(w->operation, strlen(w->operation), out);
		aif_buf_puts(out, w->caller ? ", called by " : "");
	} else {
		aif_buf_puts(out, many ? " are in " : " is in ");
		aif_buf_puts(out, w->caller ? "" : "code of which nothing is known");
	}
	if (w->caller)
		put_line(w->caller, out);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_where(const struct aif_stacks_rank *a, const struct aif_stacks_rank *b)
{
	const struct aif_stacks_frame *f = a->where.caller, *g = b->where.caller;

	if (a->why.code || b->why.code)
		return a->why.code && b->why.code && !strcmp(a->why.text, b->why.text);
	return a->where.place == b->where.place &&
	       !strcmp(a->where.operation, b->where.operation) && !f == !g &&
	       (!f || (f->line == g->line && is_same_text(f->function, g->function) &&
		       is_same_text(f->file, g->file)));
}

/* Fills in[] with the ranks that are where rank i is. */
static void find_same(const struct aif_stacks_job *j, size_t i, bool *in)
{
	for (size_t k = 0; k < j->len; k++)
		in[k] = is_same_where(&j->ranks[i], &j->ranks[k]);
}

/* ---- by stacks ---- */

/* Returns the first rank of the largest group that waits in one operation; j->len: no rank does. */
static size_t largest(const struct aif_stacks_job *j, bool *in)
{
	size_t best = j->len, best_len = 0;

	for (size_t i = 0; i < j->len; i++) {
		if (j->ranks[i].why.code || j->ranks[i].where.place != AIF_STACKS_COLLECTIVE)
			continue;
		find_same(j, i, in);
		if (count(in, j->len) > best_len) {
			best = i;
			best_len = count(in, j->len);
		}
	}
	return best;
}

static void say_by_stacks(const struct aif_stacks_job *j, bool *in, bool *others,
			  struct aif_buf *out)
{
	size_t i = largest(j, in), n;

	if (i == j->len) {
		aif_buf_puts(out, "no rank waits in a collective operation\n");
		return;
	}
	find_same(j, i, in);
	n = count(in, j->len);
	if (n == j->len) {
		const bool is_all = AIF_MAX(j->world, j->here) <= n;

		aif_buf_puts(out, n == 1   ? "one rank only was seen, and it"
				  : is_all ? "nobody is missing of "
					   : "all ");
		if (n > 1)
			aif_human_counted(out, n, "rank");
		if (n > 1)
			aif_buf_puts(out, is_all ? ": all" : " that were seen");
		put_where(&j->ranks[i], n > 1, out);
		aif_buf_puts(out, "\n");
		return;
	}
	for (size_t k = 0; k < j->len; k++)
		others[k] = !in[k];
	aif_buf_puts(out, "missing: ");
	put_ranks(j, others, out);
	aif_buf_puts(out, ", while ");
	put_ranks(j, in, out);
	put_where(&j->ranks[i], n > 1, out);
	for (size_t k = 0; k < j->len; k++) {
		if (!others[k])
			continue;
		find_same(j, k, in);
		aif_buf_puts(out, "; ");
		put_ranks(j, in, out);
		put_where(&j->ranks[k], count(in, j->len) > 1, out);
		for (size_t m = 0; m < j->len; m++)
			others[m] &= !in[m];
	}
	aif_buf_puts(out, "\n");
}

/* ---- by what they have begun ---- */

bool aif_stacks_call(const struct aif_communicator *c, uint64_t number,
		     struct aif_collective_call *ret)
{
	const struct aif_collective_call *call = &c->latest[number % AIF_COLLECTIVES_LATEST];

	ret->number = call->number;
	ret->bytes = call->bytes;
	ret->kind = call->kind;
	return number && ret->number == number && ret->kind < AIF_COLLECTIVE_KINDS;
}

static const struct aif_communicator *find(const struct aif_stacks_rank *r, uint64_t id)
{
	for (size_t i = 0; r->counts && i < AIF_COMMUNICATORS; i++)
		if (r->counts->communicators[i].is_used && r->counts->communicators[i].id == id)
			return &r->counts->communicators[i];
	return NULL;
}

static void put_call(const struct aif_stacks_rank *r, const struct aif_collective_call *call,
		     struct aif_buf *out)
{
	const char *kind = r->counts->kinds[call->kind];

	aif_name_sanitize(kind, strlen(kind), out);
	if (call->bytes != UINT64_MAX) {
		aif_buf_puts(out, " of ");
		aif_human_bytes(out, call->bytes);
	}
}

static bool is_same_call(const struct aif_stacks_rank *a, const struct aif_collective_call *x,
			 const struct aif_stacks_rank *b, const struct aif_collective_call *y)
{
	return x->bytes == y->bytes &&
	       !strcmp(a->counts->kinds[x->kind], b->counts->kinds[y->kind]);
}

/* Finds the first number at which two ranks have begun different operations; 0: none is known. */
static uint64_t first_difference(const struct aif_stacks_job *j, uint64_t id, uint64_t least)
{
	uint64_t number = least > AIF_COLLECTIVES_LATEST ? least - AIF_COLLECTIVES_LATEST + 1 : 1;

	for (; number && number <= least; number++) { /* 0: behind the largest */
		const struct aif_stacks_rank *seen = NULL;
		struct aif_collective_call first, call;

		for (size_t i = 0; i < j->len; i++) {
			const struct aif_communicator *c = find(&j->ranks[i], id);

			if (!c || !aif_stacks_call(c, number, &call))
				continue;
			if (!seen) {
				seen = &j->ranks[i];
				first = call;
			} else if (!is_same_call(seen, &first, &j->ranks[i], &call)) {
				return number;
			}
		}
	}
	return 0;
}

static void put_communicator(const struct aif_communicator *c, struct aif_buf *out)
{
	if (!c->id) {
		aif_buf_puts(out, "all communicators together");
		return;
	}
	aif_buf_printf(out, "communicator 0x%" PRIx64, c->id);
	if (c->size) {
		aif_buf_puts(out, " of ");
		aif_human_counted(out, c->size, "rank");
	}
}

/* Says which ranks began which operation as the one of that number. */
static void put_difference(const struct aif_stacks_job *j, uint64_t id, uint64_t number, bool *in,
			   struct aif_buf *out)
{
	bool begins = true;

	aif_buf_puts(out, ": number ");
	aif_human_count(out, number);
	aif_buf_puts(out, " is ");
	for (size_t i = 0; i < j->len; i++) {
		const struct aif_communicator *c = find(&j->ranks[i], id), *d;
		struct aif_collective_call call, other;
		bool is_first = true;

		memset(in, 0, j->len * sizeof(*in));
		if (!c || !aif_stacks_call(c, number, &call))
			continue;
		for (size_t k = 0; k < j->len; k++) {
			d = find(&j->ranks[k], id);
			in[k] = d && aif_stacks_call(d, number, &other) &&
				is_same_call(&j->ranks[i], &call, &j->ranks[k], &other);
			is_first &= !in[k] || k >= i;
		}
		if (!is_first)
			continue;
		aif_buf_puts(out, begins ? "" : ", and ");
		begins = false;
		put_call(&j->ranks[i], &call, out);
		aif_buf_puts(out, " on ");
		put_ranks(j, in, out);
	}
	aif_buf_puts(out, ": one has left an operation out, or has one more\n");
}

/* Says which ranks have not begun what others have. */
static void put_behind(const struct aif_stacks_job *j, uint64_t id, uint64_t least, uint64_t most,
		       bool *in, struct aif_buf *out)
{
	struct aif_collective_call call;
	size_t n, known = 0;

	for (size_t i = 0; i < j->len; i++) {
		const struct aif_communicator *c = find(&j->ranks[i], id);

		in[i] = c && c->begun == least;
		known += c != NULL;
	}
	n = count(in, j->len);
	aif_buf_puts(out, ": ");
	put_ranks(j, in, out);
	aif_buf_puts(out, n > 1 ? " have begun " : " has begun ");
	aif_human_count(out, least);
	if (least == most) {
		aif_buf_puts(out, known > 1 ? " operations each\n" : " operations\n");
		return;
	}
	aif_buf_puts(out, " operations, ");
	for (size_t i = 0; i < j->len; i++)
		in[i] = !in[i] && find(&j->ranks[i], id);
	put_ranks(j, in, out);
	aif_buf_puts(out, known - n > 1 ? " up to " : " ");
	aif_human_count(out, most);
	for (size_t i = 0; i < j->len; i++) {
		if (!in[i] || !aif_stacks_call(find(&j->ranks[i], id), least + 1, &call))
			continue;
		aif_buf_puts(out, "; number ");
		aif_human_count(out, least + 1);
		aif_buf_puts(out, ", ");
		put_call(&j->ranks[i], &call, out);
		aif_buf_puts(out, n > 1 ? ", is what they are missing in"
					: ", is what it is missing in");
		break;
	}
	aif_buf_puts(out, "\n");
}

static void say_communicator(const struct aif_stacks_job *j, const struct aif_communicator *c,
			     bool *in, struct aif_buf *out)
{
	uint64_t least = UINT64_MAX, most = 0, number;

	for (size_t i = 0; i < j->len; i++) {
		const struct aif_communicator *d = find(&j->ranks[i], c->id);

		if (!d)
			continue;
		least = AIF_MIN(least, d->begun);
		most = AIF_MAX(most, d->begun);
	}
	number = first_difference(j, c->id, least);
	put_communicator(c, out);
	put_behind(j, c->id, least, most, in, out);
	if (!number)
		return;
	put_communicator(c, out);
	put_difference(j, c->id, number, in, out);
}

/* True if the rank is the first one that has the communicator. */
static bool is_first(const struct aif_stacks_job *j, size_t i, uint64_t id)
{
	for (size_t k = 0; k < i; k++)
		if (find(&j->ranks[k], id))
			return false;
	return true;
}

static void say_by_counts(const struct aif_stacks_job *j, bool *in, struct aif_buf *out)
{
	size_t said = 0, more = 0;
	uint64_t left_out = 0;

	for (size_t i = 0; i < j->len; i++) {
		const struct aif_collective_counts *c = j->ranks[i].counts;

		for (size_t k = 0; c && k < AIF_COMMUNICATORS; k++) {
			const struct aif_communicator *d = &c->communicators[k];

			if (!d->is_used || find(&j->ranks[i], d->id) != d || !is_first(j, i, d->id))
				continue;
			if (said++ < COMMUNICATORS_SAID)
				say_communicator(j, d, in, out);
			else
				more++;
		}
	}
	if (more) {
		aif_human_counted(out, more, "more communicator");
		aif_buf_puts(out, ", which --json has\n");
	}
	for (size_t i = 0; i < j->len; i++)
		if (j->ranks[i].counts)
			left_out = AIF_MAX(left_out, atomic_load(&j->ranks[i].counts->left_out));
	if (left_out) {
		aif_buf_puts(out, "a rank has begun ");
		aif_human_counted(out, left_out, "operation");
		aif_buf_puts(out, " of communicators that are not counted: there is room for ");
		aif_human_counted(out, AIF_COMMUNICATORS, "communicator");
		aif_buf_puts(out, "\n");
	}
}

/* ---- the whole ---- */

static void say_who_is_here(const struct aif_stacks_job *j, bool *in, struct aif_buf *out)
{
	size_t len = j->len;

	if (!j->number) {
		aif_human_counted(out, len, "process");
		aif_buf_puts(out, ", no ranks by their environment");
	} else {
		aif_buf_puts(out, "job of ");
		aif_human_counted(out, AIF_MAX(j->world, len), "rank");
		aif_buf_puts(out, ": ");
		memset(in, true, len * sizeof(*in));
		put_ranks(j, in, out);
		aif_buf_puts(out, " on this host");
		if (j->here > len) {
			aif_buf_puts(out, ", where ");
			aif_human_count(out, j->here - len);
			aif_buf_puts(out,
				     j->here - len > 1 ? " more have ended" : " more has ended");
		} else if (!j->here && j->world > len) {
			aif_buf_puts(out, "; the others are on other hosts, or have ended");
		}
	}
	if (j->doubles) {
		aif_buf_puts(out, "; left out: ");
		aif_human_counted(out, j->doubles, "process");
		aif_buf_puts(out, " with the rank of another one");
	}
	aif_buf_puts(out, "\n");
}

static void say_who_moved(const struct aif_stacks_job *j, bool *in, struct aif_buf *out)
{
	size_t moved, seen = 0;

	for (size_t i = 0; i < j->len; i++) {
		const struct aif_stacks_rank *r = &j->ranks[i];

		in[i] = !r->why.code && r->was_seen && r->has_moved;
		seen += !r->why.code && r->was_seen;
	}
	moved = count(in, j->len);
	if (!seen)
		return;
	aif_buf_puts(out, "seen twice, ");
	aif_human_ns(out, j->apart_ns);
	aif_buf_puts(out, " apart: ");
	if (moved && moved == j->len) {
		aif_buf_puts(out, "each has moved, the job goes on");
	} else if (moved && moved == seen) {
		put_ranks(j, in, out);
		aif_buf_puts(out, moved > 1 ? " have moved" : " has moved");
	} else if (moved) {
		put_ranks(j, in, out);
		aif_buf_puts(out, moved > 1 ? " have moved, the others have not"
					    : " has moved, the others have not");
	} else {
		aif_buf_puts(out, "none has moved");
	}
	if (seen < j->len) {
		aif_buf_puts(out, "; ");
		aif_human_counted(out, j->len - seen, "rank");
		aif_buf_puts(out,
			     j->len - seen > 1 ? " were not seen twice" : " was not seen twice");
	}
	aif_buf_puts(out, "\n");
}

void aif_stacks_job_say(const struct aif_stacks_job *j, struct aif_buf *out)
{
	bool *in = calloc(2 * AIF_MAX(j->len, 1), sizeof(*in)), *others = in + AIF_MAX(j->len, 1);

	if (!in) {
		out->failed = true;
		return;
	}
	say_who_is_here(j, in, out);
	say_who_moved(j, in, out);
	say_by_counts(j, in, out);
	say_by_stacks(j, in, others, out);
	free(in);
}
