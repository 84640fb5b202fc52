/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "merge/input.h"
#include "profile/schema.h"

/* Tables of the merged profile, and the numbers that a file's rows have in them. */

struct aif_merge_tables {
	struct aif_profile p;
	uint64_t base_ns; /* the reference's beginning on the merged profile's clock */
	/* Maps from hashes of rows to their numbers. */
	struct aif_map known[AIF_TABLE_COUNT], codes, python, builds;
	uint32_t python_codes;
	size_t *names_of; /* by frame: the first of its names */
	size_t names_of_cap;
	uint64_t launches; /* numbers of launches and windows of the files before */
	uint32_t windows;
};

/* The merged profile's number of each of a file's rows, by table, strings last. */
struct aif_merge_ids {
	uint32_t *of[AIF_TABLE_COUNT + 1];
};

/* Adds the tables of a file but for those of the recording itself: meta, clock pairs. 0 or -ENOMEM. */
int aif_merge_tables_add(struct aif_merge_tables *t, const struct aif_merge_input *in,
			 struct aif_profile *from, struct aif_merge_ids *ret);
void aif_merge_ids_finish(struct aif_merge_ids *ids);
/* Gives processes of different files that have one number names that differ: their ranks, or hosts. 0 or -ENOMEM. */
int aif_merge_tables_name(struct aif_merge_tables *t);
void aif_merge_tables_finish(struct aif_merge_tables *t);

static inline uint32_t aif_merge_id(const struct aif_merge_ids *ids, unsigned table, uint32_t id)
{
	return id == AIF_NONE ? AIF_NONE : ids->of[table][id];
}

/* Writes the rows of a file. *ret_bad: chunks that were damaged. 0 or -errno with *err. */
int aif_merge_rows_add(struct aif_merge_tables *t, const struct aif_merge_input *in,
		       const struct aif_profile *from, const struct aif_merge_ids *ids,
		       struct aif_writer *w, uint64_t *ret_bad, struct aif_err *err);
