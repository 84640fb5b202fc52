/* SPDX-License-Identifier: Apache-2.0 */
#include "base/job_rank.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct launcher {
	const char *rank, *local_rank, *world, *local_world;
	bool needs_world; /* without it, or with 1, the name means something else */
} launchers[] = {
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", true},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", false},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS", false},
	{"PMIX_RANK", "", "", "", false},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE",
	 "MV2_COMM_WORLD_LOCAL_SIZE", false},
	/* SLURM_PROCID is also 0 in a batch script: only a step with several tasks has ranks. */
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", "", true},
};

struct block {
	const char *text;
	size_t size;
};

static const char *find(const struct block *b, const char *name)
{
	size_t len = strlen(name);

	if (!b)
		return *name ? getenv(name) : NULL;
	for (size_t at = 0; *name && at < b->size;) {
		size_t n = strnlen(b->text + at, b->size - at);

		if (at + n == b->size) /* cut off */
			break;
		if (n > len && b->text[at + len] == '=' && !memcmp(b->text + at, name, len))
			return b->text + at + len + 1;
		at += n + 1;
	}
	return NULL;
}

static bool number(const char *text, uint32_t *ret)
{
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v >= UINT32_MAX - 1)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool has_needed_world(const struct block *b, size_t i, uint32_t *ret_world)
{
	*ret_world = 0;
	return number(find(b, launchers[i].world), ret_world)
		       ? !launchers[i].needs_world || !i || *ret_world > 1
		       : !launchers[i].needs_world;
}

struct aif_job_rank aif_job_rank_find(const char *text, size_t size)
{
	struct block b = {text, size};

	for (size_t i = 0; i < AIF_ARRAY_LEN(launchers); i++) {
		struct aif_job_rank r = {.local_rank = UINT32_MAX};

		if (!number(find(&b, launchers[i].rank), &r.rank) ||
		    !has_needed_world(&b, i, &r.world) || (r.world && r.rank >= r.world))
			continue;
		number(find(&b, launchers[i].local_rank), &r.local_rank);
		number(find(&b, launchers[i].local_world), &r.local_world);
		r.is_known = true;
		return r;
	}
	return (struct aif_job_rank){.local_rank = UINT32_MAX};
}

uint64_t aif_job_number(const char *text, size_t size)
{
	static const char *const names[] = {
		"MASTER_ADDR",  "MASTER_PORT",   "TORCHELASTIC_RUN_ID",
		"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE",
	};
	struct aif_job_rank rank = aif_job_rank_find(text, size);
	struct block b = {text, size};
	uint64_t hash = 0;

	if (!rank.is_known || rank.world == 1)
		return 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *c = find(&b, names[i]);

		hash = aif_mix64(hash + i + (c ? aif_hash_bytes(c, strlen(c)) : 0));
	}
	return hash | 1;
}

bool aif_job_is_local(const char *text, size_t size)
{
	struct block b = {text, size};
	const char *address = find(&b, "MASTER_ADDR");

	return address && (!strncmp(address, "127.", 4) || !strcmp(address, "localhost") ||
			   !strcmp(address, "::1"));
}

const char *aif_job_rank_own(void)
{
	uint32_t world;

	for (size_t i = 0; i < AIF_ARRAY_LEN(launchers); i++)
		if (getenv(launchers[i].rank) && has_needed_world(NULL, i, &world))
			return getenv(launchers[i].rank);
	return NULL;
}
