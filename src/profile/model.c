/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/model.h"

#include "base/glob.h"
#include "profile/file_internal.h"

#include <stdlib.h>
#include <string.h>

const char *aif_launch_kind_name(unsigned kind)
{
	static const char *const names[AIF_LAUNCH_KIND_COUNT] = {
		[AIF_LAUNCH_KERNEL] = "kernel",     [AIF_LAUNCH_READ] = "read",
		[AIF_LAUNCH_WRITE] = "write",       [AIF_LAUNCH_COPY] = "copy",
		[AIF_LAUNCH_FILL] = "fill",         [AIF_LAUNCH_MAP] = "map",
		[AIF_LAUNCH_UNMAP] = "unmap",       [AIF_LAUNCH_MIGRATE] = "migrate",
		[AIF_LAUNCH_ALLOCATE] = "allocate", [AIF_LAUNCH_RELEASE] = "release",
		[AIF_LAUNCH_PEER] = "peer",
	};

	return kind < AIF_LAUNCH_KIND_COUNT ? names[kind] : "?";
}

const char *aif_transfer_name(unsigned kind)
{
	static const char *const names[AIF_LAUNCH_KIND_COUNT] = {
		[AIF_LAUNCH_KERNEL] = "[unknown kernel]",
		[AIF_LAUNCH_READ] = "Memcpy DtoH",
		[AIF_LAUNCH_WRITE] = "Memcpy HtoD",
		[AIF_LAUNCH_COPY] = "Memcpy DtoD",
		[AIF_LAUNCH_PEER] = "Memcpy PtoP",
		[AIF_LAUNCH_FILL] = "Memset (Device)",
		[AIF_LAUNCH_MAP] = "[map]",
		[AIF_LAUNCH_UNMAP] = "[unmap]",
		[AIF_LAUNCH_MIGRATE] = "[migrate]",
		[AIF_LAUNCH_ALLOCATE] = "Memory (Allocation)",
		[AIF_LAUNCH_RELEASE] = "Memory (Release)",
	};

	return names[AIF_MIN(kind, (unsigned)AIF_LAUNCH_KIND_COUNT - 1)];
}

enum aif_launch_kind aif_transfer_kind(const char *name, size_t len)
{
	static const struct {
		const char *glob;
		enum aif_launch_kind kind;
	} torch[] = {
		{"Memcpy *HtoD*", AIF_LAUNCH_WRITE},
		{"Memcpy *DtoH*", AIF_LAUNCH_READ},
		{"Memcpy *PtoP*", AIF_LAUNCH_PEER},
		{"Memcpy *", AIF_LAUNCH_COPY},
		{"Memset *", AIF_LAUNCH_FILL},
		{"Memory (Allocation)*", AIF_LAUNCH_ALLOCATE},
		{"Memory (Release)*", AIF_LAUNCH_RELEASE},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(torch); i++)
		if (aif_glob(torch[i].glob, name, len, NULL))
			return torch[i].kind;
	if (len < 3 || name[0] != '[' || name[len - 1] != ']')
		return AIF_LAUNCH_KERNEL;
	for (unsigned k = AIF_LAUNCH_KERNEL + 1; k < AIF_LAUNCH_KIND_COUNT; k++) {
		const char *known = aif_launch_kind_name(k);

		if (strlen(known) == len - 2 && !memcmp(known, name + 1, len - 2))
			return k;
	}
	return AIF_LAUNCH_KERNEL;
}

const char *aif_op_kind_name(unsigned kind)
{
	static const char *const names[AIF_OP_KIND_COUNT] = {
		[AIF_OP_OPERATOR] = "operator", [AIF_OP_RANGE] = "range",   [AIF_OP_STEP] = "step",
		[AIF_OP_RUNTIME] = "runtime",   [AIF_OP_PYTHON] = "python",
	};

	return kind && kind < AIF_OP_KIND_COUNT ? names[kind] : "?";
}

const char *aif_step_sum_name(unsigned sum)
{
	static const char *const names[AIF_STEP_SUM_KIND_COUNT] = {
		[AIF_STEP_SUM_WORK] = "work",
		[AIF_STEP_SUM_IDLE] = "idle",
		[AIF_STEP_SUM_COMPUTE] = "compute",
	};

	return sum && sum < AIF_STEP_SUM_KIND_COUNT ? names[sum] : "?";
}

const char *aif_profile_str(const struct aif_profile *p, uint32_t id)
{
	return aif_strset_get(&p->strings, id, NULL);
}

const struct aif_loss *aif_profile_loss(const struct aif_profile *p, uint32_t reason)
{
	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason == reason)
			return &p->losses[i];
	return NULL;
}

const char *aif_profile_meta(const struct aif_profile *p, const char *key)
{
	uint32_t id = aif_strset_find(&p->strings, key, strlen(key));

	if (id == AIF_STR_NONE)
		return "";
	for (size_t i = 0; i < p->meta_len; i++)
		if (p->meta[i].key == id)
			return aif_profile_str(p, p->meta[i].value);
	return "";
}

void aif_profile_cycle(const struct aif_profile *p, struct aif_cycle *ret)
{
	const char *at = aif_profile_meta(p, AIF_CYCLE);
	uint64_t *const to[] = {&ret->cycle, &ret->first, &ret->last, &ret->from_ns, &ret->to_ns};
	char *end = NULL;

	*ret = (struct aif_cycle){0};
	for (size_t i = 0; i < AIF_ARRAY_LEN(to); i++, at = end) {
		*to[i] = strtoull(at, &end, 10);
		if (end == at || ret->to_ns > INT64_MAX || ret->from_ns > INT64_MAX) {
			*ret = (struct aif_cycle){0};
			return;
		}
	}
	ret->usual_ns = strtoull(at, &end, 10);
	ret->is_slow = end != at;
	if (ret->to_ns <= ret->from_ns || ret->last < ret->first)
		*ret = (struct aif_cycle){0};
}

const struct aif_frame_name *aif_profile_frame_name(const struct aif_profile *p, uint32_t frame)
{
	size_t lo = AIF_BISECT(mid, 0, p->frame_names_len, p->frame_names[mid].frame <= frame);

	return lo && p->frame_names[lo - 1].frame == frame ? &p->frame_names[lo - 1] : NULL;
}

void aif_profile_finish(struct aif_profile *p)
{
	aif_file_free(p->file); /* and what is attached to it, which may point to the tables */
	aif_strset_finish(&p->strings);
	for (size_t i = 0; i < p->codes_len; i++) {
		free((void *)(uintptr_t)p->codes[i].bytes);
		free((void *)(uintptr_t)p->codes[i].packed);
	}
	free(p->meta);
	free(p->processes);
	free(p->threads);
	free(p->devices);
	free(p->streams);
	free(p->modules);
	free(p->frames);
	free(p->frame_names);
	free(p->stacks);
	free(p->programs);
	free(p->kernels);
	free(p->shapes);
	free(p->codes);
	free(p->clock_pairs);
	free(p->graph_nodes);
	free(p->collectives);
	free(p->durations);
	free(p->losses);
	*p = (struct aif_profile){0};
}
