/* SPDX-License-Identifier: Apache-2.0 */
#include "names/stack_owner.h"

#include "base/glob.h"
#include "text/table.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* ---- by stack -------------------------------------------------------------------------------- */

/* States of a walk from the root. At most two frames of the C library stand between a thread's
 * start and its function: what the library calls at a thread's end, destructors, is no such
 * function. */
enum step {
	AT_ROOT = AIF_OWNER_COUNT,
	IN_LIBC,        /* clone */
	IN_LIBC_TWICE,  /* start_thread */
	IN_CXX_LIBRARY, /* std::thread's */
	STEP_COUNT
};

enum place { ELSEWHERE, LIBC, CXX_LIBRARY, CUPTI, AGENT };

static enum place place_of(const char *path)
{
	static const struct {
		enum place place;
		const char *pattern;
	} rules[] = {
		{LIBC, "libc.so*"},        {LIBC, "libc-*.so"},
		{LIBC, "libpthread*.so*"}, {CXX_LIBRARY, "libstdc++.so*"},
		{CUPTI, "libcupti*.so*"},  {AGENT, "libaiflame-agent*.so"},
	};
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, file, strlen(file), NULL))
			return rules[i].place;
	return ELSEWHERE;
}

static uint8_t step_into(uint8_t from, enum place place)
{
	if (from < AIF_OWNER_COUNT) /* the thread's function was met */
		return from;
	if (place == LIBC)
		return from == AT_ROOT   ? IN_LIBC
		       : from == IN_LIBC ? IN_LIBC_TWICE
					 : AIF_OWNER_PROGRAM;
	if (from == AT_ROOT)
		return AIF_OWNER_PROGRAM;
	if (place == CXX_LIBRARY)
		return from == IN_CXX_LIBRARY ? AIF_OWNER_PROGRAM : IN_CXX_LIBRARY;
	return place == CUPTI   ? AIF_OWNER_CUPTI
	       : place == AGENT ? AIF_OWNER_AIFLAME
				: AIF_OWNER_PROGRAM;
}

static enum place frame_place(const struct aif_profile *p, const uint8_t *modules, uint32_t frame)
{
	const struct aif_frame *f = &p->frames[frame];

	return f->kind == AIF_FRAME_NATIVE && f->module < p->modules_len ? modules[f->module]
									 : ELSEWHERE;
}

uint8_t *aif_stack_owners(const struct aif_profile *p)
{
	uint8_t *steps = malloc(p->stacks_len + 1), *modules = malloc(p->modules_len + 1);

	if (!steps || !modules) {
		free(steps);
		free(modules);
		return NULL;
	}
	for (size_t i = 0; i < p->modules_len; i++)
		modules[i] = (uint8_t)place_of(aif_profile_str(p, p->modules[i].path));
	for (size_t i = 0; i < p->stacks_len; i++) {
		const struct aif_stack *s = &p->stacks[i]; /* callers come before */
		uint8_t from = s->parent == AIF_NONE ? AT_ROOT
			       : s->parent < i       ? steps[s->parent]
						     : AIF_OWNER_PROGRAM;

		steps[i] = s->frame == AIF_NONE
				   ? from
				   : step_into(from, frame_place(p, modules, s->frame));
	}
	for (size_t i = 0; i < p->stacks_len; i++)
		if (steps[i] >= AIF_OWNER_COUNT || p->stacks[i].flags)
			steps[i] = AIF_OWNER_PROGRAM;
	free(modules);
	return steps;
}

/* ---- CUPTI's CPU time ------------------------------------------------------------------------ */

enum use { UNUSED, OURS, SHARED };

struct sum {
	const struct aif_profile *p;
	uint8_t *owners, *uses; /* by stack; by process */
	struct aif_cupti_cpu *to;
};

/* Finds who used CUPTI in each process. */
static void uses_find(const struct aif_profile *p, uint8_t *uses)
{
	for (size_t i = 0; i < p->streams_len; i++) {
		const struct aif_stream *s = &p->streams[i];

		if (s->process < p->processes_len && s->device < p->devices_len &&
		    !strcmp(aif_profile_str(p, p->devices[s->device].runtime), "cuda"))
			uses[s->process] = OURS;
	}
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *l = &p->losses[i];

		if (l->reason != AIF_REASON_CUDA_YIELDED && l->reason != AIF_REASON_CUDA_REFUSED &&
		    l->reason != AIF_REASON_CUDA_CROWDED)
			continue;
		for (uint32_t at = 0; at < p->processes_len; at++)
			if (uses[at] == OURS && (l->process == at || l->process == AIF_NONE))
				uses[at] = SHARED;
	}
}

static int rows_add(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct sum *s = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *r = &rows[i];
		uint32_t process =
			r->thread < s->p->threads_len ? s->p->threads[r->thread].process : AIF_NONE;
		uint64_t *ns;

		if (r->waiting || r->stack >= s->p->stacks_len || process >= s->p->processes_len ||
		    s->owners[r->stack] != AIF_OWNER_CUPTI || s->uses[process] == UNUSED)
			continue;
		ns = s->uses[process] == OURS ? &s->to->ours_ns : &s->to->shared_ns;
		if (__builtin_add_overflow(*ns, r->weight, ns))
			return -EOVERFLOW;
	}
	return 0;
}

int aif_cupti_cpu(const struct aif_profile *p, struct aif_cupti_cpu *ret)
{
	struct sum s = {.p = p, .to = ret};
	uint64_t damaged;
	int r = 0;

	*ret = (struct aif_cupti_cpu){0};
	if (p->traits.is_imported)
		return 0;
	s.owners = aif_stack_owners(p);
	s.uses = calloc(p->processes_len + 1, 1);
	if (s.owners && s.uses) {
		uses_find(p, s.uses);
		if (memchr(s.owners, AIF_OWNER_CUPTI, p->stacks_len))
			r = aif_profile_cpu(p, rows_add, &s, &damaged);
	} else {
		r = -ENOMEM;
	}
	free(s.owners);
	free(s.uses);
	return r;
}

void aif_cupti_cpu_describe(const struct aif_profile *p, const char *before, const char *after,
			    struct aif_buf *out)
{
	struct aif_cupti_cpu t;
	uint64_t ns;

	if (aif_cupti_cpu(p, &t) < 0 || __builtin_add_overflow(t.ours_ns, t.shared_ns, &ns) || !ns)
		return;
	aif_buf_printf(out, "%s%s ", before, t.shared_ns ? "at most" : "about");
	aif_human_ns(out, ns);
	aif_buf_puts(out, after);
}
