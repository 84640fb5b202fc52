/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/facts.h"

#include "profile/file.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* More facts than this no other is made from. */
#define USES 8

struct fact {
	struct aif_facts *of; /* NULL: kept nowhere, freed when it is given back */
	struct fact *next;
	const struct aif_fact_kind *kind;
	const void *base; /* which it holds */
	struct aif_buf key;
	unsigned held;
	unsigned pins;           /* views that hold it, and facts with pins that are made from it */
	struct fact *uses[USES]; /* facts that it is made from and holds */
	size_t uses_len;
	uint64_t given_back; /* when, counted in puts */
	uint64_t cost_ns;    /* CPU time of making it, without that of what it is made from */
	size_t bytes;
	_Alignas(max_align_t) unsigned char value[];
};

/* A fact that is being made, whose .uses are what was got for it and not yet given back. */
struct making {
	struct making *around; /* the fact that it is made for; NULL: a view asked */
	struct fact *fact;
	uint64_t within_ns; /* CPU time of facts that were made for it */
};

struct aif_facts {
	struct fact *first; /* few: a list */
	size_t loose; /* bytes of facts without pins: no view holds them, not even by another fact */
	uint64_t puts, computed;
	struct making *making; /* the innermost */
	unsigned finishing;    /* facts that are being freed, whose pins have gone before */
};

/* The size of the largest value. */
#define NOTHING_SIZE 1024
static const _Alignas(max_align_t) unsigned char nothing[NOTHING_SIZE];

const void *aif_facts_none(void)
{
	return nothing;
}

static const struct aif_selection all;

/* ---- keys ------------------------------------------------------------------------------------ */

static void put(struct aif_buf *key, const void *p, size_t n)
{
	aif_buf_append(key, p, n);
}

/* Writes a list of rows kept, or that there is none. */
static void put_list(struct aif_buf *key, const bool *keep, size_t n)
{
	aif_buf_putc(key, keep ? 1 : 0);
	if (keep)
		put(key, keep, n * sizeof(*keep));
}

/* Writes what tells an index from others of the same profile: chains, and which of them are asked for. */
static void put_ranges(struct aif_buf *key, const struct aif_range_index *x)
{
	for (size_t i = 0; i < x->chains_len; i++) {
		const struct aif_range_chain *c = &x->chains[i];
		uint32_t words[] = {c->parent, c->name, c->is_kept};

		put(key, words, sizeof(words));
	}
	for (size_t i = 0; i < x->commands_len; i++)
		aif_buf_putc(key, x->commands[i].is_kept ? 1 : 0);
}

/* Writes what decides which fact it is. Keys of one kind and profile are compared whole. */
static int make_key(const struct aif_profile *p, const struct aif_fact_of *of, struct aif_buf *key)
{
	const struct aif_selection *sel = of->sel;
	/* A base is held by what is made from it: its address is nothing else's meanwhile. */
	uint64_t words[] = {(uintptr_t)of->base, of->variant, sel->from_ns, sel->to_ns, sel->loop};
	bool flags[] = {sel->in_ranges, sel->by_range, sel->whole};

	put(key, words, sizeof(words));
	put(key, flags, sizeof(flags));
	put_list(key, sel->processes, p->processes_len);
	put_list(key, sel->threads, p->threads_len);
	put_list(key, sel->devices, p->devices_len);
	if (sel->in_ranges || sel->by_range)
		put_ranges(key, sel->ranges);
	return aif_buf_failed(key) ? -ENOMEM : 0;
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct fact *fact_of(const void *value)
{
	return (struct fact *)((uintptr_t)value - offsetof(struct fact, value));
}

static void pin(struct fact *f)
{
	if (f->pins++)
		return;
	f->of->loose -= f->bytes;
	for (size_t i = 0; i < f->uses_len; i++)
		pin(f->uses[i]);
}

static void unpin(struct fact *f)
{
	if (--f->pins)
		return;
	f->of->loose += f->bytes;
	for (size_t i = 0; i < f->uses_len; i++)
		unpin(f->uses[i]);
}

/* Counts a new holder: a view, or the fact that is being made. */
static void hold(struct fact *f)
{
	struct fact *user = f->of && f->of->making ? f->of->making->fact : NULL;

	f->held++;
	if (f->of)
		pin(f);
	assert(!user || user->uses_len < USES);
	if (user && user->uses_len < USES)
		user->uses[user->uses_len++] = f;
}

/* Takes back what hold() counted. The pins of a fact that is being freed have gone when its last one went. */
static void let_go(struct fact *f)
{
	struct fact *user = f->of && f->of->making ? f->of->making->fact : NULL;

	f->held--;
	if (!f->of || f->of->finishing)
		return;
	for (size_t i = user ? user->uses_len : 0; i-- > 0;)
		if (user->uses[i] == f) {
			user->uses[i] = user->uses[--user->uses_len];
			break;
		}
	unpin(f);
}

/* Frees a fact without pins. */
static void free_fact(struct fact *f)
{
	struct aif_facts *of = f->of;
	const void *base = f->base;

	if (of)
		of->finishing++;
	f->kind->finish(f->value);
	aif_buf_finish(&f->key);
	free(f);
	aif_facts_put(base);
	if (of)
		of->finishing--;
}

static void drop(struct aif_facts *of, struct fact *f)
{
	struct fact **at = &of->first;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	of->loose -= f->bytes;
	free_fact(f); /* which may give back others */
}

/* Returns how much memory is had for how little: bytes, times how long nobody wanted them, per time to make them again. */
static double worth_dropping(const struct aif_facts *of, const struct fact *f)
{
	return (double)f->bytes * (double)(of->puts - f->given_back) /
	       (double)(f->cost_ns / 1000000 + 1);
}

/* Returns the fact to drop first of those that nobody holds, NULL: all are held. */
static struct fact *first_to_drop(const struct aif_facts *of)
{
	struct fact *best = NULL;

	for (struct fact *f = of->first; f; f = f->next)
		if (!f->held && (!best || worth_dropping(of, f) > worth_dropping(of, best)))
			best = f;
	return best;
}

static void drop_some(struct aif_facts *of, size_t bytes)
{
	struct fact *f;

	while (of->loose > bytes && !of->finishing && (f = first_to_drop(of)))
		drop(of, f);
}

static void free_facts(void *attached)
{
	struct aif_facts *of = attached;
	struct fact *f;

	while ((f = first_to_drop(of)))
		drop(of, f);
	/* A fact that is still held was not given back by a view that failed: its value goes, too. */
	while ((f = of->first)) {
		f->held = 0;
		drop(of, f);
	}
	free(of);
}

/* Returns the store of an open profile; NULL with 0: it has no place for one. */
static int store_of(const struct aif_profile *p, struct aif_facts **ret)
{
	void **place = aif_profile_attached(p, free_facts);

	*ret = NULL;
	if (!place)
		return 0;
	if (!*place)
		*place = calloc(1, sizeof(struct aif_facts));
	*ret = *place;
	return *ret ? 0 : -ENOMEM;
}

static struct fact *find(const struct aif_facts *of, const struct aif_fact_kind *kind,
			 const struct aif_buf *key)
{
	for (struct fact *f = of ? of->first : NULL; f; f = f->next)
		if (f->kind == kind && f->key.len == key->len &&
		    !memcmp(f->key.data, key->data, key->len))
			return f;
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Computes the value of a fact of an open profile, and notes what it is made from. */
static int make_kept(const struct aif_profile *p, const struct aif_fact_of *of, struct fact *f,
		     struct aif_err *err)
{
	struct aif_facts *in = f->of;
	struct making m = {.around = in->making, .fact = f};
	uint64_t from = cpu_ns(), ns;
	int e;

	in->making = &m;
	if (f->base && f->base != nothing)
		hold(fact_of(f->base));
	e = f->kind->make(p, of, f->value, err);
	in->making = m.around;
	ns = cpu_ns() - from;
	f->cost_ns = ns - AIF_MIN(m.within_ns, ns);
	if (m.around)
		m.around->within_ns += ns;
	/* Pins of what it is made from were the making's, and go. */
	for (size_t i = 0; i < f->uses_len; i++)
		unpin(f->uses[i]);
	return e;
}

/* Makes the fact, whose key it takes over. */
static int make(const struct aif_profile *p, struct aif_facts *in, const struct aif_fact_kind *kind,
		const struct aif_fact_of *of, struct aif_buf *key, struct fact **ret,
		struct aif_err *err)
{
	struct fact *f = calloc(1, sizeof(*f) + kind->size);
	int e;

	if (!f)
		return -ENOMEM;
	*f = (struct fact){.of = in, .kind = kind, .base = of->base};
	if (!in && f->base && f->base != nothing)
		fact_of(f->base)->held++;
	e = in ? make_kept(p, of, f, err) : kind->make(p, of, f->value, err);
	if (e < 0) {
		free_fact(f);
		return e;
	}
	f->key = *key;
	*key = (struct aif_buf){0};
	if (in) {
		f->bytes = kind->size + kind->bytes(f->value);
		f->next = in->first;
		in->first = f;
		in->loose += f->bytes;
		in->computed++;
	}
	*ret = f;
	return 0;
}

int aif_facts_get(const struct aif_profile *p, const struct aif_fact_kind *kind,
		  struct aif_fact_of of, const void **ret, struct aif_err *err)
{
	struct aif_buf key = {0};
	struct aif_facts *in;
	struct fact *f = NULL;
	int e = store_of(p, &in);

	assert(kind->size <= NOTHING_SIZE);
	*ret = nothing;
	of.sel = of.sel ? of.sel : &all;
	if (!e)
		e = make_key(p, &of, &key);
	if (!e)
		f = find(in, kind, &key);
	if (!e && !f)
		e = make(p, in, kind, &of, &key, &f, err);
	aif_buf_finish(&key);
	if (e < 0)
		return e == -ENOMEM ? aif_err_set(err, e, "out of memory") : e;
	hold(f);
	*ret = f->value;
	return 0;
}

bool aif_facts_have(const struct aif_profile *p, const struct aif_fact_kind *kind,
		    struct aif_fact_of of)
{
	struct aif_buf key = {0};
	struct aif_facts *in;
	bool is_there;

	of.sel = of.sel ? of.sel : &all;
	is_there = !store_of(p, &in) && !make_key(p, &of, &key) && find(in, kind, &key);
	aif_buf_finish(&key);
	return is_there;
}

void aif_facts_hold(const void *value)
{
	if (value && value != nothing)
		hold(fact_of(value));
}

void aif_facts_put(const void *value)
{
	struct fact *f;

	if (!value || value == nothing)
		return;
	f = fact_of(value);
	let_go(f);
	if (f->held)
		return;
	if (!f->of) {
		free_fact(f);
		return;
	}
	f->given_back = f->of->puts++;
	drop_some(f->of, AIF_FACTS_MEMORY);
}

uint64_t aif_facts_computed(const struct aif_profile *p)
{
	void **place = aif_profile_attached(p, free_facts);

	return place && *place ? ((const struct aif_facts *)*place)->computed : 0;
}
