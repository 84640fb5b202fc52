/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/hash.h"

/*
 * Numbers of calls (`correlation`) and operators (`External id`) are a process's own. In a file of several processes,
 * ranks that were merged, each execution belongs to the process that has its number; where several have it, to the one
 * with the same "[rank]" before its pid, else to the one that its device belongs to by the numbers that only one has,
 * or by what began before it.
 */
struct kineto;

struct kineto_owners {
	uint32_t *of_thread; /* the process of each thread, from 0 on; NULL: there is one only */
	size_t n;
};

/* Finds the processes, and the owner of each execution: .owner. 0 or -ENOMEM. */
int kineto_owners_find(struct kineto *k);
/* Returns the key of a number in a process. */
static inline uint64_t kineto_owners_key(const struct kineto_owners *o, uint32_t owner,
					 uint64_t number)
{
	return o->of_thread
		       ? aif_mix64(number + ((uint64_t)owner + 1) * UINT64_C(0x9e3779b97f4a7c15))
		       : number;
}
static inline uint32_t kineto_owners_of(const struct kineto_owners *o, uint32_t thread)
{
	return o->of_thread ? o->of_thread[thread] : 0;
}
void kineto_owners_finish(struct kineto_owners *o);
