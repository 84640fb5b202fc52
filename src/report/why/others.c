/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what other threads compute while launching threads are on no CPU, and nothing says what these wait for: a server's thread of a
 * request may wait for Python's interpreter lock, for a client whose request another thread answers, or not be there yet. */
#include "report/why/why.h"

#include "analysis/cpu_totals.h"
#include "analysis/ebpf_launches.h"
#include "analysis/facts.h"
#include "analysis/idle/holders.h"
#include "analysis/idle/sleep.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A function is named that is on the stacks of so much of what others computed. */
#define NAMED_SHARE 0.6

struct reading {
	const struct aif_profile *p;
	const struct aif_idle_part *part;
	struct aif_idle_holders holders; /* all of one bracket */
};

struct function {
	uint32_t stack; /* one that ends in it */
	double ns;
	size_t depth; /* the least that it was seen at */
	size_t seen;  /* 1 + the holder that counted it last */
};

/* Returns the launch that ends the gap which a device of a process is in at a time; AIF_NONE: it is in none. */
static uint32_t gap_at(const struct reading *r, const struct aif_device_utilization *d, int64_t at)
{
	const struct aif_exec_timeline *t = r->part->t;
	const uint32_t *order = r->part->u->order;
	size_t i;

	if (at < d->from || at >= d->to || aif_spans_covered(&d->busy, at, at + 1) ||
	    aif_spans_covered(&d->not_collected, at, at + 1))
		return AIF_NONE;
	i = AIF_BISECT(mid, d->first, d->end, t->execs[order[mid]].start < at);
	return i < d->end ? t->execs[order[i]].launch : AIF_NONE;
}

static int take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct reading *r = arg;
	const struct aif_utilization *u = r->part->u;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *row = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(row->time - r->p->start_ns));

		if (row->thread == AIF_NONE || row->waiting || row->stack == AIF_NONE ||
		    aif_cpu_is_unsampled(r->p, row->stack))
			continue;
		for (size_t d = 0; d < u->len; d++) {
			uint32_t launch, thread;

			if (u->devices[d].process != r->p->threads[row->thread].process)
				continue;
			launch = gap_at(r, &u->devices[d], at);
			thread = launch == AIF_NONE ? AIF_NONE
						    : aif_timeline_thread_of(r->part->t, launch);
			if (thread == AIF_NONE || thread == row->thread)
				continue;
			if (aif_idle_holders_add(
				    &r->holders, thread,
				    aif_stack_of_call(r->p, r->part->t->launches[launch].stack), 0,
				    row, (double)row->weight) < 0)
				return -ENOMEM;
			break;
		}
	}
	return 0;
}

/* ---- the function ------------------------------------------------------------------------------- */

/* True for a function of the program's own. */
static bool is_own(const struct aif_profile *p, const struct aif_frame *f,
		   const struct aif_frame_name *n)
{
	const char *file = n->file == AIF_NONE ? "" : aif_profile_str(p, n->file);

	if (f->kind == AIF_FRAME_PYTHON)
		return *file && *file != '<' && !strstr(file, "/lib/python") &&
		       !strstr(file, "-packages/");
	return f->kind == AIF_FRAME_NATIVE && *file && f->module != AIF_NONE &&
	       !aif_idle_is_runtime(p, f->module);
}

/* Returns a number of the frame's function; 0: it is none of the program's. */
static uint64_t function_of(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame *f = frame == AIF_NONE ? NULL : &p->frames[frame];
	const struct aif_frame_name *n = f ? aif_profile_frame_name(p, frame) : NULL;

	return n && n->name != AIF_NONE && is_own(p, f, n) ? (1 + (uint64_t)n->name) << 32 | n->file
							   : 0;
}

static size_t depth_of(const struct aif_profile *p, uint32_t stack)
{
	size_t n = 0;

	for (; stack != AIF_NONE; stack = p->stacks[stack].parent)
		n++;
	return n;
}

/* Adds what a holder computed to each function on its stack. 0 or -ENOMEM. */
static int add_holder(const struct aif_profile *p, const struct aif_idle_holder *h, size_t number,
		      struct aif_map *known, struct function **all, size_t *len, size_t *cap)
{
	size_t depth = depth_of(p, h->stack);

	for (uint32_t s = h->stack; s != AIF_NONE; s = p->stacks[s].parent, depth--) {
		uint64_t key = function_of(p, p->stacks[s].frame), i;

		if (!key)
			continue;
		if (!aif_map_get(known, key, &i)) {
			i = *len;
			if (aif_grow(all, cap, *len + 1, sizeof(**all)) < 0 ||
			    aif_map_put(known, key, i) < 0)
				return -ENOMEM;
			(*all)[(*len)++] = (struct function){.stack = s, .depth = SIZE_MAX};
		}
		if ((*all)[i].seen != number + 1)
			(*all)[i].ns += h->ns;
		(*all)[i].seen = number + 1;
		(*all)[i].depth = AIF_MIN((*all)[i].depth, depth);
	}
	return 0;
}

/* Names the innermost function that most of it has in common. 0 or -ENOMEM. */
static int name_function(struct reading *r, struct aif_stack_names *stacks, struct aif_why *w)
{
	struct function *all = NULL;
	const struct function *best = NULL;
	size_t len = 0, cap = 0, n;
	struct aif_map known = {0};
	double ns;
	const struct aif_idle_holder *h = aif_idle_holders_of(&r->holders, 0, &n, &ns);
	const char *name;
	int e = 0;

	w->others.ns = (uint64_t)ns;
	for (size_t i = 0; i < n && !e; i++)
		e = add_holder(r->p, &h[i], i, &known, &all, &len, &cap);
	for (size_t i = 0; i < len && !e; i++)
		if (all[i].ns >= NAMED_SHARE * ns && (!best || all[i].depth > best->depth))
			best = &all[i];
	if (best) {
		name = aif_stack_names_caller(stacks, best->stack);
		w->others.place = name ? aif_strset_puts(&w->places, name) : AIF_STR_NONE;
		w->others.in_place_ns = (uint64_t)best->ns;
		e = w->others.place == AIF_STR_NONE ? -ENOMEM : e;
	}
	aif_map_finish(&known);
	free(all);
	return e;
}

int aif_why_others_add(const struct aif_names *names, const struct aif_selection *window,
		       struct aif_why *w)
{
	struct reading r = {.p = names->p};
	struct aif_stack_names *stacks = NULL;
	uint64_t damaged = 0; /* counted already */
	int e;

	if (aif_share_ppm(w->of_group[AIF_WHY_OFF_CPU], w->time_ns) < AIF_WHY_BOUND_PPM)
		return 0;
	e = aif_idle_part_get(r.p, window, &r.part);
	if (!e)
		e = aif_idle_holders_init(&r.holders, r.p);
	if (!e)
		e = aif_profile_cpu(r.p, take, &r, &damaged);
	if (!e)
		e = aif_stack_names_new(names, AIF_NAME_NORMAL, &stacks);
	if (!e) {
		aif_idle_holders_sort(&r.holders);
		e = name_function(&r, stacks, w);
	}
	aif_stack_names_free(stacks);
	aif_idle_holders_finish(&r.holders);
	aif_facts_put(r.part);
	return e;
}
