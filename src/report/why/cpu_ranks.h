/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/why/cpu_answer.h"
#include "report/why/why.h"

/* Finds which rank of a job without devices is late, in a struct that has nothing else: ret->waits has no ranks where there is no such
 * job. time_ns: of the part that `sel` (NULL: all) chooses. *ret is finished by the caller, also after a failure. 0 or -errno. */
int aif_why_cpu_ranks_find(const struct aif_names *names, const struct aif_selection *sel,
			   uint64_t time_ns, const struct aif_run_delay *run_delay,
			   struct aif_why *ret);

/* Appends who bounds the job, of one whose rank is late; its line of ranks, "" where there is no job; and what its late rank costs. The
 * last returns false where nothing is said. */
void aif_why_cpu_say_bound(const struct aif_names *names, const struct aif_why *w,
			   struct aif_buf *out);
void aif_why_cpu_say_ranks(const struct aif_names *names, const struct aif_why *w,
			   struct aif_buf *out);
bool aif_why_cpu_say_advice(const struct aif_names *names, const struct aif_why *w,
			    struct aif_buf *out);

/* Puts the line of ranks, where there is one, into the head of the answer in JSON: evidence, and of a late rank the next command. A lack of memory shows in `out`. */
void aif_why_cpu_put_ranks(const struct aif_why_cpu_answer *a, const struct aif_names *names,
			   const struct aif_why *w, struct aif_json_answer *head,
			   struct aif_buf *out);
