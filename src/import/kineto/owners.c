/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include "import/kineto/classify.h"

#include <errno.h>
#include <string.h>

/* Limit of calls with one number that are looked at: more have it only in a hostile file. */
#define LOOK 64

struct numbered { /* a call, or an operator */
	int64_t start;
	uint32_t owner, group;
	uint32_t next; /* with the same number, + 1 */
};

struct finder {
	struct kineto *k;
	AIF_TABLE(numbered, rows);
	struct aif_map by_number; /* the first row + 1 */
	/* Executions of a device (its key and an owner): numbers that this owner alone has, and that it has, too. */
	struct aif_map sure, likely;
	bool has_group; /* of the calls */
};

/* Finds threads whose processes may have numbers: those with spans, as queues of devices are named like threads; all if some are of
 * one rank of several. */
static void threads_find(const struct kineto *k, bool *ret)
{
	bool has_groups = false;

	for (size_t t = 0; t < k->threads.rows_len; t++)
		has_groups |= k->threads.rows[t].pid.group != 0;
	for (size_t t = 0; t < k->threads.rows_len; t++)
		ret[t] = has_groups;
	for (size_t i = 0; i < k->spans_len; i++)
		ret[k->spans[i].thread] = true;
}

/* Gives each process that has such threads a number. */
static int processes_find(struct kineto *k)
{
	struct kineto_owners *o = &k->owners;
	struct aif_map ids = {0};
	bool *has_numbers = calloc(k->threads.rows_len + 1, sizeof(*has_numbers));
	int r = has_numbers ? 0 : -ENOMEM;

	o->of_thread = calloc(k->threads.rows_len + 1, sizeof(*o->of_thread));
	if (!o->of_thread)
		r = -ENOMEM;
	if (!r)
		threads_find(k, has_numbers);
	for (size_t t = 0; !r && t < k->threads.rows_len; t++) {
		struct kineto_id pid = k->threads.rows[t].pid;
		uint64_t key = aif_mix64((uint64_t)pid.number * 2 + pid.is_name) + pid.group, id;

		if (!has_numbers[t])
			continue;
		if (!aif_map_get(&ids, key, &id)) {
			id = o->n++;
			r = aif_map_put(&ids, key, id);
		}
		o->of_thread[t] = (uint32_t)id;
	}
	aif_map_finish(&ids);
	free(has_numbers);
	if (o->n < 2) {
		free(o->of_thread);
		o->of_thread = NULL;
	}
	return r;
}

static int numbered_add(struct finder *f, const struct kineto_span *s, uint64_t number)
{
	struct numbered n = {.start = s->start,
			     .owner = f->k->owners.of_thread[s->thread],
			     .group = f->k->threads.rows[s->thread].pid.group};
	uint64_t first = 0;

	aif_map_get(&f->by_number, number, &first);
	n.next = (uint32_t)first;
	f->has_group |= n.group != 0;
	return KINETO_ADD(f, rows, n) < 0 ? -ENOMEM
					  : aif_map_put(&f->by_number, number, f->rows_len);
}

static uint64_t vote_key(const struct finder *f, const struct kineto_exec *x, uint32_t owner)
{
	return aif_mix64((uint64_t)f->k->machine.queues[x->queue].device) + owner;
}

static int vote(struct aif_map *votes, uint64_t key)
{
	uint64_t n = 0;

	aif_map_get(votes, key, &n);
	return aif_map_put(votes, key, n + 1);
}

/* Calls that an execution can be of: in its group, where it has one. */
static bool is_candidate(const struct finder *f, const struct kineto_exec *x,
			 const struct numbered *n)
{
	uint32_t group = f->k->machine.queues[x->queue].group;

	return !group || !f->has_group || n->group == group;
}

/* Takes votes for the owners of one execution; sets the only one. */
static int look(struct finder *f, struct kineto_exec *x, uint64_t first)
{
	uint32_t only = AIF_NONE;
	bool several = false;
	unsigned looked = 0;
	int r = 0;

	for (uint64_t i = first; i && looked < LOOK && !r; i = f->rows[i - 1].next, looked++) {
		const struct numbered *n = &f->rows[i - 1];

		if (!is_candidate(f, x, n))
			continue;
		several |= only != AIF_NONE && only != n->owner;
		only = n->owner;
		if (n->start <= x->start)
			r = vote(&f->likely, vote_key(f, x, n->owner));
	}
	if (only == AIF_NONE || several)
		return r;
	x->owner = only;
	return r ? r : vote(&f->sure, vote_key(f, x, only));
}

/* Decides among several owners. */
static void choose(struct finder *f, struct kineto_exec *x, uint64_t first)
{
	uint64_t best_sure = 0, best_likely = 0;
	unsigned looked = 0, equal = 0;

	for (uint64_t i = first; i && looked < LOOK; i = f->rows[i - 1].next, looked++) {
		const struct numbered *n = &f->rows[i - 1];
		uint64_t sure = 0, likely = 0;

		if (!is_candidate(f, x, n) || n->owner == x->owner)
			continue;
		aif_map_get(&f->sure, vote_key(f, x, n->owner), &sure);
		aif_map_get(&f->likely, vote_key(f, x, n->owner), &likely);
		if (x->owner != AIF_NONE && sure == best_sure && likely == best_likely) {
			equal++;
			continue;
		}
		if (x->owner != AIF_NONE &&
		    (sure < best_sure || (sure == best_sure && likely < best_likely)))
			continue;
		x->owner = n->owner;
		best_sure = sure;
		best_likely = likely;
		equal = 0;
	}
	f->k->counts.guessed_owners += equal > 0;
}

/* Finds, by one kind of number, the owners of executions that have none yet. */
static int by_number(struct finder *f, bool is_external)
{
	struct kineto *k = f->k;
	int r = 0;

	f->rows_len = 0;
	aif_map_finish(&f->by_number);
	f->by_number = (struct aif_map){0};
	/* From the last on: each chain begins with its first. */
	for (size_t i = k->spans_len; !r && i-- > 0;) {
		const struct kineto_span *s = &k->spans[i];

		if (!is_external && s->class == KINETO_CALL && k->calls[s->ref].has_correlation)
			r = numbered_add(f, s, k->calls[s->ref].correlation);
		if (is_external && s->class == KINETO_OP && s->ref != AIF_NONE &&
		    k->ops[s->ref].external)
			r = numbered_add(f, s, k->ops[s->ref].external);
	}
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; !r && i < k->execs_len; i++) {
			struct kineto_exec *x = &k->execs[i];
			uint64_t number = is_external ? x->external : x->correlation, first;

			if (x->owner != AIF_NONE ||
			    !(is_external ? x->has_external : x->has_correlation) ||
			    !aif_map_get(&f->by_number, number, &first))
				continue;
			if (pass)
				choose(f, x, first);
			else
				r = look(f, x, first);
		}
	return r;
}

/* ROCm gives work without a call the number 0, and other calls, too: it is a number of a launch only where one call has
 * it that launches. */
static int zeros_drop(struct kineto *k)
{
	struct zeros {
		uint64_t calls, execs;
		bool is_graph;
	} *of = calloc(k->owners.n + 2, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < k->execs_len; i++)
		if (k->execs[i].has_correlation && !k->execs[i].correlation)
			of[k->execs[i].owner == AIF_NONE ? 0 : k->execs[i].owner].execs++;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < k->spans_len; i++) {
			const struct kineto_span *s = &k->spans[i];
			struct kineto_call *c = s->class == KINETO_CALL ? &k->calls[s->ref] : NULL;
			size_t len;
			const char *name;
			struct zeros *z;

			if (!c || !c->has_correlation || c->correlation)
				continue;
			name = aif_strset_get(&k->names.texts, s->name, &len);
			z = &of[kineto_owners_of(&k->owners, s->thread)];
			if (!pass && kineto_waits(name, len)) {
				c->has_correlation = false;
			} else if (!pass) {
				z->calls++;
				z->is_graph |= memmem(name, len, "Graph", 5) != NULL;
			} else if (z->calls > 1 || (z->execs > 1 && !z->is_graph)) {
				c->has_correlation = false;
			}
		}
	free(of);
	return 0;
}

int kineto_owners_find(struct kineto *k)
{
	struct finder f = {.k = k};
	int r = processes_find(k);

	for (size_t i = 0; i < k->execs_len; i++)
		k->execs[i].owner = k->owners.of_thread ? AIF_NONE : 0;
	if (!r && k->owners.of_thread) {
		r = by_number(&f, false);
		if (!r)
			r = by_number(&f, true);
	}
	if (!r)
		r = zeros_drop(k);
	free(f.rows);
	aif_map_finish(&f.by_number);
	aif_map_finish(&f.sure);
	aif_map_finish(&f.likely);
	return r;
}

void kineto_owners_finish(struct kineto_owners *o)
{
	free(o->of_thread);
}
