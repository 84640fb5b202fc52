/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"
#include "profile/chunk.h"

/*
 * Threads that computed while one that launches waited until another one let it go on: by a queue between threads, or for Python's
 * interpreter lock. Those of the same process count, by stacks with functions of Python, and if the launch has none, by any but those
 * in a runtime's own code.
 */
struct aif_idle_holder {
	uint32_t bracket, stack;
	double ns;
};
struct aif_idle_holders {
	const struct aif_profile *p;
	uint8_t *what;              /* by stack (holders.c) */
	struct aif_idle_holder *at; /* by bracket, once sorted */
	size_t len, cap;
	struct aif_map by_key; /* bracket << 32 | stack -> index of .at */
};

/* *ret is finished by the caller, also after a failure. 0 or -ENOMEM. */
int aif_idle_holders_init(struct aif_idle_holders *ret, const struct aif_profile *p);
void aif_idle_holders_finish(struct aif_idle_holders *h);
/* Adds a CPU sample of another thread than `waiting`, whose launch that ends the bracket's gaps has the stack `launches`. 0 or -ENOMEM. */
int aif_idle_holders_add(struct aif_idle_holders *h, uint32_t waiting, uint32_t launches,
			 uint32_t bracket, const struct aif_cpu_row *row, double ns);
/* Puts them in order, once all were added. */
void aif_idle_holders_sort(struct aif_idle_holders *h);
/* Returns those of a bracket, and adds up their time. */
const struct aif_idle_holder *aif_idle_holders_of(const struct aif_idle_holders *h,
						  uint32_t bracket, size_t *ret_len,
						  double *ret_ns);
