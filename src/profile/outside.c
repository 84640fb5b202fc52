/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/outside.h"

#include "profile/file.h"

#include <errno.h>
#include <string.h>

struct adding {
	const struct aif_profile *p;
	const struct aif_attribution_opts *which;
	struct aif_attribution *a;
	size_t cap;
	struct aif_map by_stack; /* stack, kernel, process (hashed) -> index of a->rows */
};

bool aif_outside_is(const struct aif_profile *p, const struct aif_launch_row *row)
{
	return row->device == AIF_NONE && row->stream == AIF_NONE && row->stack != AIF_NONE &&
	       row->kind == AIF_LAUNCH_KERNEL &&
	       (p->stacks[row->stack].flags & AIF_STACK_FRAME_POINTERS);
}

static bool is_asked(const struct adding *s, const struct aif_launch_row *row, uint32_t process)
{
	const struct aif_attribution_opts *w = s->which;
	uint64_t at = row->time > s->p->start_ns ? row->time - s->p->start_ns : 0;

	if (!w)
		return true;
	return at >= w->from_ns && (!w->to_ns || at < w->to_ns) && !w->devices &&
	       (!w->threads || (row->thread != AIF_NONE && w->threads[row->thread])) &&
	       (!w->processes || (process != AIF_NONE && w->processes[process]));
}

static int row_add(struct adding *s, const struct aif_launch_row *row, uint32_t process)
{
	uint64_t key = aif_mix64((uint64_t)row->stack << 32 | row->kernel) + process, i;

	for (; aif_map_get(&s->by_stack, key, &i); key++) {
		struct aif_attribution_row *known = &s->a->rows[i];

		if (known->stack == row->stack && known->kernel == row->kernel &&
		    known->process == process) {
			known->launches++;
			return 0;
		}
	}
	if (aif_grow(&s->a->rows, &s->cap, s->a->rows_len + 1, sizeof(*s->a->rows)) < 0 ||
	    aif_map_put(&s->by_stack, key, s->a->rows_len) < 0)
		return -ENOMEM;
	s->a->rows[s->a->rows_len++] = (struct aif_attribution_row){
		.process = process,
		.device = AIF_NONE,
		.stream = AIF_NONE,
		.kind = row->kind,
		.kernel = row->kernel,
		.stack = row->stack,
		.frame = AIF_NONE,
		.reason = AIF_NONE,
		.launches = 1,
	};
	return 0;
}

static int rows_add(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct adding *s = arg;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		uint32_t process = rows[i].thread == AIF_NONE
					   ? AIF_NONE
					   : s->p->threads[rows[i].thread].process;

		if (aif_outside_is(s->p, &rows[i]) && is_asked(s, &rows[i], process))
			r = row_add(s, &rows[i], process);
	}
	return r;
}

int aif_outside_add(const struct aif_profile *p, const struct aif_attribution_opts *which,
		    struct aif_attribution *a, struct aif_err *err)
{
	/* What was computed has no room to spare that is known: the first row moves it. */
	struct adding s = {.p = p, .which = which, .a = a, .cap = a->rows_len};
	int r = aif_profile_launches(p, rows_add, &s, NULL);

	aif_map_finish(&s.by_stack);
	return r < 0 ? aif_err_set(err, r, "reading launches: %s", strerror(-r)) : 0;
}
