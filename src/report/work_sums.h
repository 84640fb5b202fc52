/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/stack_names.h"
#include "analysis/attribution.h"

/* The rows of an attribution added up by kernel, stack or caller: what the tables and the summary
 * show of device work. */

struct aif_work_sum {
	uint64_t wall, time, launches, samples, bytes;
	double variance;                /* of time */
	uint64_t width;                 /* wall, or samples where there are no times */
	uint32_t kind, kernel, process; /* of the first row */
	uint32_t stack;                 /* the one with the most width */
	uint64_t stack_width;           /* its width */
};

struct aif_work_sums {
	/* Set by the caller, before aif_work_sums_make. */
	const struct aif_names *names;
	const struct aif_attribution *a;
	struct aif_stack_names *stacks;
	const struct aif_regex *only; /* kernels that it matches; NULL, not set: all */
	bool by_process;              /* processes have sums of their own */
	/* Says in *ret which sum a row belongs to. 0, -ENOENT: to none, or -ENOMEM. */
	int (*key)(struct aif_work_sums *w, const struct aif_attribution_row *row, uint64_t *ret);

	struct aif_work_sum *sums; /* in the order of their first rows */
	size_t len, cap;
	bool is_untimed; /* samples are all that there is */

	struct aif_map ids, keys, by_stack;
	struct aif_strset texts; /* of aif_work_text_key */
	struct aif_buf text;     /* for .key to use */
	void *arg;               /* the same, the caller's */
};

/* Adds the rows up. 0 or -ENOMEM; finished by the caller in any case. */
int aif_work_sums_make(struct aif_work_sums *w);
void aif_work_sums_finish(struct aif_work_sums *w);
/* Returns the sum that rows of this kind, kernel and process were added to, or NULL. */
struct aif_work_sum *aif_work_sums_find(struct aif_work_sums *w, uint32_t kind, uint32_t kernel,
					uint32_t process);

/* Implements .key: one sum for kernels of one name, whichever program each is of, and one for each
 * kind of transfer. */
int aif_work_kernel_key(struct aif_work_sums *w, const struct aif_attribution_row *row,
			uint64_t *ret);
/* Makes a key of a text and of what `work` numbers below it. 0 or -ENOMEM. */
int aif_work_text_key(struct aif_work_sums *w, const char *text, size_t len, uint32_t work,
		      uint64_t *ret);
/* Implements .key: one sum for stacks that are folded to the same text, kernel by kernel. */
int aif_work_stack_key(struct aif_work_sums *w, const struct aif_attribution_row *row,
		       uint64_t *ret);
