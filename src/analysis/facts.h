/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"

/*
 * Facts: what views compute of a profile and have in common, each computed once.
 *
 *     file     rows, decoded once where they fit (profile/file_read.c)
 *       |
 *     facts    struct aif_facts, one per open profile: clocks, gaps, weights, the time line of executions,
 *       |      operators, phases, idle time, ..., by kind and by the part of the profile that they are of
 *     views    aif_X_get(), read, aif_facts_put()
 *
 * What a fact is. A value of one kind (struct aif_fact_kind) of one part of one profile. The file that computes it defines
 * its kind, and its header has the function by which it is got: aif_exec_timeline_get(). Nothing here knows any kind. A
 * fact may be computed from others, which it then holds.
 *
 * Who computes it. The first who asks for it. Two who ask for the same part get the same value, so it is const: who needs
 * it changed takes a copy.
 *
 * Until when it is valid. From the get to the put that gives it back, which comes before aif_profile_finish(). Each
 * get and each hold want one put.
 *
 * When it is dropped. With the profile. Before that only if no view holds it, nor another fact, and those that no view
 * needs take more than AIF_FACTS_MEMORY together: then first one that is large, was given back long ago and takes little
 * time to compute. The next get computes it again.
 *
 * Where nothing can be kept, of a profile in memory or of a recording that goes on (aif_profile_attached()), each get
 * computes a value and its put frees it.
 *
 * A profile and its facts belong to one thread at a time.
 */

/* Bounds the facts that no view holds, nor holds by another fact. A command that shows several tables of a recording with a
 * million launches gets each fact once with it: the time line of that many takes 40 MB, and parts of it (a loop) take as
 * much again. Facts in use come on top. */
#define AIF_FACTS_MEMORY ((size_t)256 << 20)

/* Says what a fact is of. */
struct aif_fact_of {
	const struct aif_selection *sel; /* a part of the profile; NULL: all */
	/* Another fact of this profile that it is made from: its part is that one's, and the fact holds it. NULL: none. */
	const void *base;
	unsigned variant; /* the kind's own */
};

struct aif_fact_kind {
	const char *name;
	size_t size; /* of the value */
	/* Computes the value, zeroed before; of->sel is never NULL. 0 or -errno with *err (may be NULL); after a failure
	 * finish() is called all the same. */
	int (*make)(const struct aif_profile *p, const struct aif_fact_of *of, void *ret,
		    struct aif_err *err);
	void (*finish)(void *value);
	size_t (*bytes)(const void *value); /* that the value has beside itself */
};

/* Gets the fact of a kind. *ret is valid until aif_facts_put(*ret); after a failure it is
 * aif_facts_none(). 0 or -errno with *err (may be NULL). */
int aif_facts_get(const struct aif_profile *p, const struct aif_fact_kind *kind,
		  struct aif_fact_of of, const void **ret, struct aif_err *err);
/* True if such a fact is there already. */
bool aif_facts_have(const struct aif_profile *p, const struct aif_fact_kind *kind,
		    struct aif_fact_of of);
/* Holds a fact once more, for who keeps it beyond the put of who got it. */
void aif_facts_hold(const void *value);
/* Gives back what aif_facts_get() or aif_facts_none() gave. NULL is fine. */
void aif_facts_put(const void *value);
/* Returns a value of zeros, the same for all kinds, where a fact is not asked for. */
const void *aif_facts_none(void);

/* Returns how many facts were computed for an open profile, those that were dropped since and computed again each time. */
uint64_t aif_facts_computed(const struct aif_profile *p);
