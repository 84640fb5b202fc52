/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "page/tree.h"

/*
 * Roots of the device tree: the process and the thread that launched the work, or that ended an idle time. Rows of the
 * attribution do not know their thread. A row's values are divided as the durations of the executions of its group (kernel and
 * stack) are: exactly, unless several threads launch one kernel from one stack.
 */
struct aif_page_roots {
	const struct aif_profile *p;
	struct aif_page_root_part {
		uint32_t group, thread;
		double ns;
	} * parts; /* sealed: by group */
	size_t parts_len, parts_cap;
	struct aif_map part_of; /* group << 32 | thread -> part */
	struct {
		uint32_t process, thread; /* AIF_NONE: not known, or several */
	} * at;
	size_t len, cap;
	struct aif_map root_of; /* process << 32 | thread -> root */
	bool failed;            /* out of memory */
};
void aif_page_roots_finish(struct aif_page_roots *r);

/* Adds the duration of an execution. 0 or -ENOMEM. */
int aif_page_roots_part(struct aif_page_roots *r, uint32_t group, uint32_t thread, double ns);
/* Orders what was added, before the first of the next calls. */
void aif_page_roots_seal(struct aif_page_roots *r);

/* Returns the number of a root; sets .failed where memory is short. */
uint32_t aif_page_root(struct aif_page_roots *r, uint32_t process, uint32_t thread);
/* The parts of a group that threads of a process have. */
struct aif_page_root_share {
	size_t at, end;
	uint32_t process;
	double sum, so_far;
	uint64_t given;
	bool is_whole; /* no thread is known: one part */
};
struct aif_page_root_share aif_page_roots_of(const struct aif_page_roots *r, uint32_t group,
					     uint32_t process);
/* Takes the next root and its part of `value`: the parts sum to it. False behind the last. */
bool aif_page_root_next(struct aif_page_roots *r, struct aif_page_root_share *s, uint64_t value,
			uint32_t *ret_root, uint64_t *ret_part);

/* Appends [name of the process, name of the thread],... to `json`, by number, and the names to `texts`; *ret_several: there is
 * more than one root. 0 or -ENOMEM. */
int aif_page_roots_put(const struct aif_page_roots *r, struct aif_page_names *texts,
		       struct aif_buf *json, bool *ret_several);
