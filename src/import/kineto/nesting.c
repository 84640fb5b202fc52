/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/nesting.h"

#include <errno.h>

/* Python gives up at 1,000; 82 is the deepest that was seen. What is deeper has the stack of its callers. */
#define DEPTH_MAX 1100

#define NOT_MADE (AIF_NONE - 1)

int kineto_nesting_init(struct kineto_nesting *w, struct kineto *k)
{
	*w = (struct kineto_nesting){.k = k, .levels = calloc(DEPTH_MAX, sizeof(*w->levels))};
	return w->levels ? 0 : -ENOMEM;
}

void kineto_nesting_finish(struct kineto_nesting *w)
{
	free(w->levels);
	*w = (struct kineto_nesting){0};
}

void kineto_nesting_clear(struct kineto_nesting *w)
{
	w->len = w->crossed = 0;
}

void kineto_nesting_drop(struct kineto_nesting *w, int64_t now)
{
	while (w->len && w->levels[w->len - 1].end <= now) {
		w->len--;
		if (w->len && w->levels[w->len].end > w->levels[w->len - 1].end)
			w->crossed--;
	}
	if (!w->crossed || w->least > now)
		return;
	/* Some may have ended beneath others. */
	for (size_t i = 0, n = w->len; i < n; i++) {
		if (w->levels[i].end > now)
			continue;
		w->len = i;
		w->crossed = 0;
		for (size_t j = i + 1; j < n; j++) {
			struct kineto_level *to = &w->levels[w->len];

			if (w->levels[j].end <= now)
				continue;
			*to = w->levels[j];
			to->stacks[KINETO_STACK_AS_IT_WAS] = NOT_MADE;
			if (!to->is_node)
				to->stacks[KINETO_STACK_JOINED] = NOT_MADE;
			w->len++;
		}
		break;
	}
	w->crossed = 0;
	w->least = INT64_MAX;
	for (size_t i = 0; i < w->len; i++) {
		w->crossed += i && w->levels[i].end > w->levels[i - 1].end;
		w->least = AIF_MIN(w->least, w->levels[i].end);
	}
}

uint32_t kineto_nesting_stack(struct kineto_nesting *w, enum kineto_stack which, size_t levels)
{
	struct kineto *k = w->k;
	size_t known = levels;
	uint32_t stack;

	while (known && w->levels[known - 1].stacks[which] == NOT_MADE)
		known--;
	stack = known ? w->levels[known - 1].stacks[which] : AIF_NONE;
	for (; known < levels; known++) {
		const struct kineto_span *s = &k->spans[w->levels[known].span];
		uint32_t frame = kineto_frame(k, s->name, s->class);

		if (frame == AIF_NONE)
			return stack;
		stack = aif_builder_stack(k->b, stack, frame, 0);
		w->levels[known].stacks[which] = stack;
	}
	return stack;
}

void kineto_nesting_set(struct kineto_nesting *w, uint32_t stack)
{
	w->levels[w->len - 1].stacks[KINETO_STACK_JOINED] = stack;
	w->levels[w->len - 1].is_node = true;
}

bool kineto_nesting_push(struct kineto_nesting *w, uint32_t at)
{
	uint32_t span = w->k->order[at];
	int64_t end = w->k->spans[span].end;

	if (w->len == DEPTH_MAX) {
		w->k->counts.too_deep++;
		return false;
	}
	if (w->len && w->levels[w->len - 1].end < end) {
		w->k->counts.partial++;
		w->crossed++;
		w->least = 0; /* looked for when it is needed */
	}
	w->levels[w->len++] = (struct kineto_level){
		.end = end, .span = span, .at = at, .stacks = {NOT_MADE, NOT_MADE}};
	return true;
}
