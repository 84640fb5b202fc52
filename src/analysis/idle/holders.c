/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/holders.h"

#include "analysis/idle/sleep.h"

#include <errno.h>
#include <stdlib.h>

/* Code on a stack: of Python, of a runtime, of the program. */
enum what { NONE, RUNTIME, NATIVE, PYTHON };

int aif_idle_holders_init(struct aif_idle_holders *ret, const struct aif_profile *p)
{
	*ret = (struct aif_idle_holders){
		.p = p,
		.what = calloc(p->stacks_len + 1, 1),
	};
	if (!ret->what)
		return -ENOMEM;
	for (size_t i = 0; i < p->stacks_len; i++) {
		const struct aif_stack *s = &p->stacks[i]; /* callers come before */
		enum what outer = s->parent == AIF_NONE || s->parent >= i
					  ? NONE
					  : (enum what)ret->what[s->parent];
		const struct aif_frame *f = s->frame == AIF_NONE ? NULL : &p->frames[s->frame];

		if (f && f->kind == AIF_FRAME_PYTHON)
			outer = PYTHON;
		else if (f && f->kind == AIF_FRAME_NATIVE && outer != PYTHON && outer != RUNTIME)
			outer = aif_idle_is_runtime(p, f->module) ? RUNTIME : NATIVE;
		ret->what[i] = (uint8_t)outer;
	}
	return 0;
}

void aif_idle_holders_finish(struct aif_idle_holders *h)
{
	free(h->what);
	free(h->at);
	aif_map_finish(&h->by_key);
}

int aif_idle_holders_add(struct aif_idle_holders *h, uint32_t waiting, uint32_t launches,
			 uint32_t bracket, const struct aif_cpu_row *row, double ns)
{
	const struct aif_thread *threads = h->p->threads;
	enum what what = row->stack == AIF_NONE ? NONE : (enum what)h->what[row->stack];
	bool is_python = launches != AIF_NONE && h->what[launches] == PYTHON;
	uint64_t key = (uint64_t)bracket << 32 | row->stack, i;

	if (threads[row->thread].process != threads[waiting].process ||
	    (what != PYTHON && (is_python || what != NATIVE)))
		return 0;
	if (!aif_map_get(&h->by_key, key, &i)) {
		i = h->len;
		if (aif_grow(&h->at, &h->cap, h->len + 1, sizeof(*h->at)) < 0 ||
		    aif_map_put(&h->by_key, key, i) < 0)
			return -ENOMEM;
		h->at[h->len++] = (struct aif_idle_holder){.bracket = bracket, .stack = row->stack};
	}
	h->at[i].ns += ns;
	return 0;
}

static int by_bracket(const void *a, const void *b)
{
	const struct aif_idle_holder *x = a, *y = b;

	return AIF_ORDER(x->bracket, y->bracket) ?: AIF_ORDER(x->stack, y->stack);
}

void aif_idle_holders_sort(struct aif_idle_holders *h)
{
	if (h->len)
		qsort(h->at, h->len, sizeof(*h->at), by_bracket);
}

const struct aif_idle_holder *aif_idle_holders_of(const struct aif_idle_holders *h,
						  uint32_t bracket, size_t *ret_len, double *ret_ns)
{
	size_t lo;

	*ret_len = 0;
	*ret_ns = 0;
	if (!h->len)
		return NULL;
	lo = AIF_BISECT(mid, 0, h->len, h->at[mid].bracket < bracket);
	for (; lo + *ret_len < h->len && h->at[lo + *ret_len].bracket == bracket; ++*ret_len)
		*ret_ns += h->at[lo + *ret_len].ns;
	return h->at + lo;
}
