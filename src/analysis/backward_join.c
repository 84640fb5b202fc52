/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/backward.h"
#include "analysis/backward_internal.h"

#include <errno.h>

/* Operators that this many parts of backwards did not ask for have no nodes, or another's. */
#define OPS_AGE 4

struct joiner {
	const struct aif_profile *p;
	const struct aif_torch_stacks *stacks;
};

/* A function, whatever the line. */
static bool is_same_function(const struct aif_profile *p, uint32_t a, uint32_t b)
{
	const struct aif_frame_name *x, *y;

	if (p->stacks[a].frame == p->stacks[b].frame)
		return true;
	x = aif_profile_frame_name(p, p->stacks[a].frame);
	y = aif_profile_frame_name(p, p->stacks[b].frame);
	return x && y && x->name == y->name && x->file == y->file;
}

/* The next Python frame on a stack, from `stack` outwards; frames of C between them say nothing. */
static uint32_t python_of(const struct joiner *f, uint32_t stack)
{
	return stack == AIF_NONE ? AIF_NONE : f->stacks->stacks[stack].python;
}

static uint32_t python_caller(const struct joiner *f, uint32_t stack)
{
	return python_of(f, f->p->stacks[stack].parent);
}

static size_t python_depth(const struct joiner *f, uint32_t stack)
{
	size_t n = 0;

	for (; stack != AIF_NONE; stack = python_caller(f, stack))
		n++;
	return n;
}

/* The innermost Python function that both were called from: where `a` is in it. AIF_NONE if there is none. */
static uint32_t shared_python(const struct joiner *f, uint32_t a, uint32_t b)
{
	size_t depth_a = python_depth(f, a), depth_b = python_depth(f, b);
	uint32_t shared = AIF_NONE;

	for (; depth_a > depth_b; depth_a--)
		a = python_caller(f, a);
	for (; depth_b > depth_a; depth_b--)
		b = python_caller(f, b);
	for (; a != b && a != AIF_NONE; a = python_caller(f, a), b = python_caller(f, b)) {
		if (!is_same_function(f->p, a, b))
			shared = AIF_NONE;
		else if (shared == AIF_NONE)
			shared = a;
	}
	return shared == AIF_NONE ? a : shared;
}

/* Nodes whose operator launched nothing: it came after the one before and before the one behind. */
static void between(const struct joiner *f, size_t n, struct aif_backward_target *to)
{
	size_t before = n;

	for (size_t i = 0; i < n; i++) {
		size_t next = i;

		if (to[i].how != AIF_BACKWARD_UNJOINED) {
			before = i;
			continue;
		}
		while (next < n && to[next].how == AIF_BACKWARD_UNJOINED)
			next++;
		if (before < n && next < n) {
			uint32_t shared = shared_python(f, to[before].forward, to[next].forward);

			for (; i < next && shared != AIF_NONE; i++)
				to[i] = (struct aif_backward_target){shared, AIF_BACKWARD_BETWEEN};
		}
		i = next - 1;
	}
}

/* Operators that are done with go. */
static void ops_forget(struct aif_backward_lane *l, const bool *is_matched)
{
	size_t first = l->ops_len, last = 0, kept = 0;

	for (size_t i = 0; i < l->ops_len; i++)
		if (is_matched[i]) {
			first = AIF_MIN(first, i);
			last = i;
		}
	for (size_t i = 0; i < l->ops_len; i++)
		if ((i < first || i > last || first == l->ops_len) && ++l->ops[i].parts < OPS_AGE)
			l->ops[kept++] = l->ops[i];
	l->ops_len = kept;
}

static int units_match(const struct joiner *f, struct aif_backward_lane *l,
		       struct aif_backward_target *to)
{
	struct aif_backward_unit *units = calloc(l->units_len + 1, sizeof(*units));
	uint32_t *ops = calloc(l->ops_len + 1, sizeof(*ops)),
		 *chosen = calloc(l->ops_len + 1, sizeof(*chosen)),
		 *match = calloc(l->units_len + 1, sizeof(*match));
	bool *is_matched = calloc(l->ops_len + 1, sizeof(*is_matched)),
	     *is_asked = calloc(f->stacks->families.len + 1, sizeof(*is_asked));
	size_t n = 0;
	int r = units && ops && chosen && match && is_matched && is_asked ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < l->units_len; i++) {
		units[i] = l->units[i].u;
		if (units[i].family != AIF_NONE)
			is_asked[units[i].family] = true;
	}
	/* Newest first, and only those of families that have nodes. */
	for (size_t i = l->ops_len; r == 0 && i-- > 0;)
		if (is_asked[l->ops[i].family]) {
			chosen[n] = (uint32_t)i;
			ops[n++] = l->ops[i].family;
		}
	if (r == 0)
		r = aif_backward_match(units, l->units_len, ops, n, match);
	for (size_t i = 0; r == 0 && i < l->units_len; i++) {
		if (match[i] == AIF_BACKWARD_NO_OP)
			continue;
		is_matched[chosen[match[i]]] = true;
		if (l->ops[chosen[match[i]]].forward != AIF_NONE)
			to[i] = (struct aif_backward_target){l->ops[chosen[match[i]]].forward,
							     AIF_BACKWARD_MATCHED};
	}
	if (r == 0)
		ops_forget(l, is_matched);
	free(units);
	free(ops);
	free(chosen);
	free(match);
	free(is_matched);
	free(is_asked);
	return r;
}

int aif_backward_join(const struct aif_profile *p, const struct aif_torch_stacks *stacks,
		      struct aif_backward_lane *l, struct aif_backward_target *ret)
{
	const struct joiner f = {.p = p, .stacks = stacks};
	int r;

	for (size_t i = 0; i < l->units_len; i++)
		ret[i] = (struct aif_backward_target){AIF_NONE, AIF_BACKWARD_UNJOINED};
	r = units_match(&f, l, ret);
	if (r == 0)
		between(&f, l->units_len, ret);
	return r;
}
