/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a runtime in which a device's idle time passes, of traces whose stacks end in them. */
#include "base/glob.h"
#include "report/why/saying.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More calls than these are not named. */
#define MOST_CALLS 4

static const char *meaning(const char *name)
{
	static const struct {
		const char *name, *text;
	} calls[] = {
#define AIF_WHY_CALL(name, text) {name, text},
#include "report/why/calls.def"
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(calls); i++)
		if (aif_glob(calls[i].name, name, strlen(name), NULL))
			return calls[i].text;
	return NULL;
}

int aif_why_call_add(const struct aif_profile *p, struct aif_why *w, const struct aif_idle_row *row)
{
	uint32_t frame = row->stack == AIF_NONE ? AIF_NONE : p->stacks[row->stack].frame, name;

	/* The time before a launch call is not in it, and what it has launched is the device's. */
	if (!p->traits.is_imported || frame == AIF_NONE ||
	    p->frames[frame].kind != AIF_FRAME_CALL || row->is_before ||
	    row->cause == AIF_IDLE_CAUSE_LAUNCH || row->cause == AIF_IDLE_CAUSE_LATE)
		return 0;
	name = (uint32_t)p->frames[frame].address;
	if (!meaning(aif_profile_str(p, name)))
		return 0;
	for (size_t i = 0; i < w->calls_len; i++)
		if (w->calls[i].name == name) {
			w->calls[i].ns += row->ns;
			return 0;
		}
	if (aif_grow(&w->calls, &w->calls_cap, w->calls_len + 1, sizeof(*w->calls)) < 0)
		return -ENOMEM;
	w->calls[w->calls_len++] = (struct aif_why_call){.name = name, .ns = row->ns};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_why_call *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return AIF_ORDER(x->name, y->name);
}

void aif_why_calls_sort(struct aif_why *w)
{
	if (w->calls_len)
		qsort(w->calls, w->calls_len, sizeof(*w->calls), by_time);
}

void aif_why_say_calls(struct saying *s)
{
	const struct aif_why *w = s->w;
	size_t shown = 0;

	for (; shown < AIF_MIN(w->calls_len, MOST_CALLS); shown++) {
		const char *name = aif_profile_str(s->names->p, w->calls[shown].name);

		if (share(s, w->calls[shown].ns) < AIF_WHY_LEAST_PPM)
			break;
		aif_buf_puts(&s->line, shown ? "; " : "in calls ");
		aif_human_share(&s->line, share(s, w->calls[shown].ns));
		aif_buf_printf(&s->line, " %s, which %s", name, meaning(name));
	}
	if (shown)
		aif_why_end_line(s);
}
