/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/interleave.h"

/*
 *	native (pcs)            Python segments         result
 *
 *	launch                                          launch
 *	ext_call                                        ext_call
 *	eval loop        <---   key, helper             key, helper, eval loop
 *	list_sort                                       list_sort
 *	eval loop        <---   main, <module>          main, <module>, eval loop
 *	main                                            main
 *
 * Frame i owns the stack from its own pointer to its caller's, [sps[i], sps[i + 1]); of the
 * outermost native frame the end is not known. Both lists are in order, and so is each pass over
 * them. The answer by address is taken only if all of it holds: the segments' addresses grow, and
 * no two lie in one C frame.
 *
 * By symbol less is seen: the loop's cold part may lie elsewhere (Debian's 3.11, while tracing),
 * and from 3.14 on the loop may be a function per opcode, which all jump to each other. By address
 * the segment is then put inside the C frame that holds its mark, which is the one that entered the
 * loop.
 */

struct output {
	uint32_t *to;
	unsigned len;
};

static void put_native(struct output *out, unsigned i)
{
	out->to[out->len++] = i;
}

/* The outermost frame of the segment that begins at k. */
static unsigned segment_end(const struct aif_interleave *in, unsigned k)
{
	while (k + 1 < in->python_len && !in->frames[k].ends_segment)
		k++;
	return k;
}

/* Returns where the next one begins. */
static unsigned put_segment(struct output *out, const struct aif_interleave *in, unsigned k)
{
	unsigned end = segment_end(in, k);

	for (; k <= end; k++)
		out->to[out->len++] = AIF_INTERLEAVE_PYTHON | k;
	return k;
}

static bool is_eval(const struct aif_interleave *in, unsigned i)
{
	/* A return address points after its call, which may be the function's last instruction. */
	return in->pcs[i] > in->eval_lo && in->pcs[i] <= in->eval_hi;
}

/* Does all of native frame i lie below `at`? Of the outermost one only its code can tell. */
static bool lies_below(const struct aif_interleave *in, unsigned i, uint64_t at)
{
	return i + 1 < in->native_len ? at >= in->sps[i + 1] : !is_eval(in, i);
}

static bool by_address(const struct aif_interleave *in, uint32_t *ret)
{
	struct output out = {.to = ret};
	unsigned i = 0, k = 0;
	uint64_t last = 0;

	if (!in->sps)
		return false;
	while (k < in->python_len) {
		uint64_t at = in->frames[segment_end(in, k)].on_stack;

		if (at <= last)
			return false;
		last = at;
		while (i < in->native_len && lies_below(in, i, at))
			put_native(&out, i++);
		if (i < in->native_len && at < in->sps[i])
			return false; /* below the stack, or in a frame that has its segment */
		k = put_segment(&out, in, k);
		if (i < in->native_len)
			put_native(&out, i++);
	}
	while (i < in->native_len)
		put_native(&out, i++);
	return true;
}

static bool by_symbol(const struct aif_interleave *in, uint32_t *ret)
{
	struct output out = {.to = ret};
	unsigned segments = 0, evals = 0, k = 0;

	for (k = 0; k < in->python_len; k = segment_end(in, k) + 1)
		segments++;
	for (unsigned i = 0; i < in->native_len; i++)
		evals += is_eval(in, i);
	/* Stacks that were cut lack their outer end: only then may the numbers differ. */
	if ((segments > evals && !in->native_cut) || (segments < evals && !in->python_cut))
		return false;
	k = 0;
	for (unsigned i = 0; i < in->native_len; i++) {
		if (k < in->python_len && is_eval(in, i))
			k = put_segment(&out, in, k);
		put_native(&out, i);
	}
	while (k < in->python_len)
		k = put_segment(&out, in, k);
	return true;
}

/* Inside the innermost evaluation loop, where at least the innermost frame is right. */
static void as_block(const struct aif_interleave *in, uint32_t *ret)
{
	struct output out = {.to = ret};
	unsigned i = 0, k = 0;

	while (i < in->native_len && !is_eval(in, i))
		put_native(&out, i++);
	while (k < in->python_len)
		k = put_segment(&out, in, k);
	while (i < in->native_len)
		put_native(&out, i++);
}

enum aif_interleave_how aif_interleave(const struct aif_interleave *in, uint32_t *ret)
{
	if (by_address(in, ret))
		return AIF_INTERLEAVE_BY_ADDRESS;
	if (by_symbol(in, ret))
		return AIF_INTERLEAVE_BY_SYMBOL;
	as_block(in, ret);
	return AIF_INTERLEAVE_BLOCK;
}
