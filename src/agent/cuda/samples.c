/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/samples.h"

#include "agent/cuda/cuda.h"
#include "agent/cuda/names.h"
#include "agent/emit.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Writes the samples that CUPTI hands out: sums by instruction and reason. Functions and reasons are defined before
 * their first use in a session.
 *
 * Numbers of reasons are of a device's kind: two kinds in a process have reasons of one name in one place of ours.
 *
 * The sum over reasons equals the samples only if X_not_issued, which is part of X, is left out: here the two are
 * made disjoint. Names of functions are CUPTI's to share and ours to free, but nobody says when: they are copied
 * and left.
 */

struct aif_cuda_code { /* a sampled function */
	uint32_t id, function;
	uint32_t defined_gen;
	uint64_t hash;
	char *name;
};

/* 40 reasons, and some counters that are none. */
#define PREFIX     "smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED "_not_issued"

/* The place of this name; a new one if need be. AIF_CUDA_REASONS: there is none left. */
static unsigned place_of(struct aif_cuda_sampling *s, const char *name)
{
	unsigned i;

	for (i = 0; i < s->reasons_len; i++)
		if (!strcmp(s->reasons[i].name, name))
			return i;
	if (i < AIF_CUDA_REASONS) {
		snprintf(s->reasons[i].name, sizeof(s->reasons[i].name), "%s", name);
		s->reasons[i].other = (uint16_t)i;
		s->reasons_len++;
	}
	return i;
}

static void learn_reason(struct aif_cuda_sampling *s, struct aif_cuda_sampled *c, uint32_t index,
			 const char *name)
{
	unsigned place;

	if (index >= AIF_CUDA_REASONS || strncmp(name, PREFIX, sizeof(PREFIX) - 1))
		return; /* a counter */
	place = place_of(s, name + sizeof(PREFIX) - 1);
	c->reasons[index] = place < AIF_CUDA_REASONS ? (uint8_t)(place + 1) : 0;
}

static void pair_reasons(struct aif_cuda_sampling *s)
{
	for (unsigned i = 0; i < s->reasons_len; i++) {
		size_t len = strlen(s->reasons[i].name), tail = sizeof(NOT_ISSUED) - 1;

		if (len <= tail || strcmp(s->reasons[i].name + len - tail, NOT_ISSUED))
			continue;
		for (unsigned k = 0; k < s->reasons_len; k++)
			if (strlen(s->reasons[k].name) == len - tail &&
			    !memcmp(s->reasons[k].name, s->reasons[i].name, len - tail))
				s->reasons[i].other = (uint16_t)k;
	}
}

int aif_cuda_learn_reasons(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	size_t n = 0;
	struct aif_cupti_reasons_len_params l = {
		.size = sizeof(l), .context = c->context, .len = &n};
	struct aif_cupti_reasons_params p = {.size = sizeof(p), .context = c->context};
	struct {
		char *pointers[AIF_CUDA_REASONS];
		uint32_t indices[AIF_CUDA_REASONS];
		char names[AIF_CUDA_REASONS][AIF_CUPTI_REASON_NAME];
	} * said;
	int r = cuda->api.cuptiPCSamplingGetNumStallReasons(&l);

	if (r)
		return r;
	said = n <= AIF_CUDA_REASONS ? aif_pages(sizeof(*said)) : NULL;
	if (!said)
		return AIF_CUPTI_OUT_OF_MEMORY;
	for (size_t i = 0; i < n; i++)
		said->pointers[i] = said->names[i];
	p.len = n;
	p.indices = said->indices;
	p.names = said->pointers;
	r = cuda->api.cuptiPCSamplingGetStallReasons(&p);
	for (size_t i = 0; i < n && !r; i++)
		learn_reason(s, c, said->indices[i], said->names[i]);
	munmap(said, sizeof(*said));
	pair_reasons(s);
	return r;
}

static struct aif_cuda_code *code_of(struct aif_cuda *cuda, const struct aif_cupti_pc *pc)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	void *key = (void *)(uintptr_t)(aif_mix64(pc->hash ^ aif_mix64(pc->function)) | 1);
	struct aif_cuda_code *code = aif_handles_get(&s->codes, key);
	size_t len;

	if (code)
		return code->hash == pc->hash && code->function == pc->function ? code : NULL;
	len = pc->name ? strlen(pc->name) : 0;
	pthread_mutex_lock(&cuda->lock);
	code = aif_arena_alloc(&cuda->arena, sizeof(*code) + len + 1);
	if (code) {
		code->id = s->codes_len++;
		code->function = pc->function;
		code->hash = pc->hash;
		code->name = (char *)(code + 1);
		memcpy(code->name, pc->name ? pc->name : "", len);
		if (aif_handles_put(&s->codes, key, code) < 0)
			code = NULL;
	}
	pthread_mutex_unlock(&cuda->lock);
	return code;
}

/* Defines what windows refer to, in the ring that they are written to: the device, and the reasons. */
static bool define(struct aif_thread *t, struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	const struct aif_cuda_sampling *s = &cuda->sampling;

	if (c->defined_gen == t->generation)
		return true;
	if (!aif_cuda_device_define_here(t, cuda, c->device))
		return false;
	for (uint32_t i = 0; i < s->reasons_len; i++)
		if (!aif_emit_reason(t, i, s->reasons[i].name))
			return false;
	c->defined_gen = t->generation;
	return true;
}

/* X without X_not_issued: the two become disjoint. Gives out[0..*n), and their sum. */
static uint64_t take_reasons(const struct aif_cuda_sampling *s, const struct aif_cuda_sampled *c,
			     const struct aif_cupti_pc *pc,
			     struct aif_emit_reason out[AIF_CUDA_REASONS], unsigned *n)
{
	uint64_t sums[AIF_CUDA_REASONS] = {0}, all = 0;

	*n = 0;
	for (size_t i = 0; i < AIF_MIN(pc->reasons_len, (size_t)AIF_CUDA_REASONS); i++) {
		uint32_t index = pc->reasons[i].reason;

		if (index < AIF_CUDA_REASONS && c->reasons[index])
			sums[c->reasons[index] - 1] += pc->reasons[i].samples;
	}
	for (unsigned i = 0; i < s->reasons_len; i++) {
		uint64_t *base = &sums[s->reasons[i].other];

		if (s->reasons[i].other != i)
			*base -= AIF_MIN(*base, sums[i]);
	}
	for (unsigned i = 0; i < s->reasons_len; i++)
		if (sums[i]) {
			out[(*n)++] = (struct aif_emit_reason){
				.reason = i, .samples = (uint32_t)AIF_MIN(sums[i], UINT32_MAX)};
			all += sums[i];
		}
	return all;
}

static bool is_nameless(const struct aif_cupti_pc *pc)
{
	return !pc->name || !*pc->name;
}

static const struct aif_cupti_pc *pc_of(const struct aif_cuda *cuda,
					const struct aif_cupti_samples *b, size_t i)
{
	return (const void *)((const uint8_t *)b->pcs + i * cuda->sampling.pc_size);
}

/* Samples in code of which CUPTI does not know the function (nameless.c). */
static uint64_t count_nameless(const struct aif_cuda *cuda, const struct aif_cuda_sampled *c,
			       const struct aif_cupti_samples *b)
{
	struct aif_emit_reason out[AIF_CUDA_REASONS];
	uint64_t all = 0;
	unsigned n;

	for (size_t i = 0; i < AIF_MIN(b->len, b->cap); i++)
		if (is_nameless(pc_of(cuda, b, i)))
			all += take_reasons(&cuda->sampling, c, pc_of(cuda, b, i), out, &n);
	return all;
}

/* Returns the samples that could not be written. */
static uint64_t report_pc(struct aif_thread *t, struct aif_cuda *cuda,
			  const struct aif_cuda_sampled *c, uint32_t window,
			  const struct aif_cupti_pc *pc)
{
	struct aif_emit_reason out[AIF_CUDA_REASONS];
	struct aif_cuda_code *code;
	uint64_t all;
	unsigned n;

	if (is_nameless(pc))
		return 0;
	all = take_reasons(&cuda->sampling, c, pc, out, &n);
	if (!n)
		return 0;
	code = code_of(cuda, pc);
	if (code && code->defined_gen != t->generation &&
	    aif_emit_code(t, code->id, code->hash, code->function, code->name))
		code->defined_gen = t->generation;
	return code && code->defined_gen == t->generation &&
			       aif_emit_pc(t, window, code->id, pc->pc, out, n)
		       ? 0
		       : all;
}

void aif_cuda_report_samples(struct aif_thread *t, struct aif_cuda *cuda,
			     struct aif_cuda_sampled *c, const struct aif_cupti_samples *b,
			     uint64_t until)
{
	uint64_t unreported = 0, nameless = count_nameless(cuda, c, b);
	struct aif_emit_window w = {.id = cuda->sampling.windows++,
				    .device = c->device,
				    .start = c->since,
				    .end = until,
				    .period_ps = c->period_ps,
				    .samples = b->total,
				    .lost = b->dropped,
				    .others = b->others + nameless};

	c->since = until;
	if (!define(t, cuda, c) || !aif_emit_window(t, &w)) {
		unreported = b->total;
	} else {
		for (size_t i = 0; i < AIF_MIN(b->len, b->cap); i++)
			unreported += report_pc(t, cuda, c, w.id, pc_of(cuda, b, i));
		atomic_fetch_add(&cuda->nameless, nameless);
	}
	/* The ring that had no room for them has none for a note. */
	atomic_fetch_add(&cuda->unsampled, unreported);
}
