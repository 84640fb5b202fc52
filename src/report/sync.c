/* SPDX-License-Identifier: Apache-2.0 */
/* --sync: calls that can hold a thread up, by kind and caller, and what its process's devices did meanwhile. */
#include "report/report_table.h"
#include "analysis/calls/host_calls.h"
#include "analysis/utilization.h"
#include "base/human.h"
#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct aif_table_column columns[] = {
	{"time", AIF_TABLE_NS},    {"calls", AIF_TABLE_COUNT},    {"median", AIF_TABLE_NS},
	{"longest", AIF_TABLE_NS}, {"device_idle", AIF_TABLE_NS}, {"kind", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID}, {"call", AIF_TABLE_TEXT},      {"caller", AIF_TABLE_TEXT},
};

/* Calls of one kind, name and place. */
struct place {
	uint32_t process, name, caller; /* caller: of .callers */
	enum aif_host_call_kind kind;
	uint64_t ns, calls, idle_ns;
};

/* A call of a place. */
struct length {
	uint64_t ns;
	uint32_t place;
};

struct places {
	struct place *at;
	size_t len, cap;
	struct length *lengths;
	size_t lengths_len, lengths_cap;
	struct aif_map known; /* caller << 32 | name: -> place of .process */
	struct aif_strset callers;
	struct aif_map caller_of; /* stack -> caller */
	struct aif_stack_names *stacks;
	const struct aif_spans *busy; /* of the process at hand, all its devices */
	struct aif_spans of_several;  /* that, where these are several */
	size_t next_device;           /* of a later process */
	uint32_t process;
};

static int by_start(const void *a, const void *b)
{
	const struct aif_span *x = a, *y = b;

	return AIF_ORDER(x->start, y->start);
}

/* Sets *ret to when any of several devices ran something. 0 or -ENOMEM. */
static int join_busy(const struct aif_device_utilization *devices, size_t n, struct aif_spans *ret)
{
	struct aif_span *all = NULL;
	size_t len = 0, cap = 0;
	int e = 0;

	for (size_t k = 0; k < n && !e; k++) {
		const struct aif_spans *of = &devices[k].busy;

		e = aif_grow(&all, &cap, len + of->len, sizeof(*all));
		for (size_t i = 0; i < of->len && !e; i++)
			all[len++] = of->at[i];
	}
	if (len)
		aif_sort(all, len, sizeof(*all), by_start);
	for (size_t i = 0; i < len && !e; i++)
		e = aif_spans_add(ret, all[i].start, all[i].end);
	free(all);
	return e < 0 ? -ENOMEM : 0;
}

/* Sets .busy, when any of the process's devices ran something. Processes come in order, as devices are. */
static int find_busy(struct places *s, const struct aif_utilization *u, uint32_t process)
{
	size_t first;

	aif_spans_finish(&s->of_several);
	while (s->next_device < u->len && u->devices[s->next_device].process < process)
		s->next_device++;
	first = s->next_device;
	while (s->next_device < u->len && u->devices[s->next_device].process == process)
		s->next_device++;
	s->busy = &s->of_several;
	if (s->next_device == first)
		return 0;
	/* A copy of the spans of a long recording takes as much memory as its launches. */
	if (s->next_device - first == 1) {
		s->busy = &u->devices[first].busy;
		return 0;
	}
	return join_busy(&u->devices[first], s->next_device - first, &s->of_several);
}

/* Sets *ret to the text of who called, a string of .callers. */
static int caller_of(struct places *s, uint32_t stack, uint32_t *ret)
{
	const char *caller;
	uint64_t known;

	if (aif_map_get(&s->caller_of, stack, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	caller = aif_stack_names_caller(s->stacks, stack);
	*ret = caller ? aif_strset_put(&s->callers, caller, strlen(caller)) : AIF_STR_NONE;
	return *ret == AIF_STR_NONE ? -ENOMEM : aif_map_put(&s->caller_of, stack, *ret);
}

static int add(struct places *s, const struct aif_host_call *c, uint32_t process)
{
	uint64_t ns = (uint64_t)c->end - (uint64_t)c->start, i;
	uint32_t caller;
	struct place *to;

	if (caller_of(s, c->stack, &caller) < 0)
		return -ENOMEM;
	if (!aif_map_get(&s->known, (uint64_t)caller << 32 | c->name, &i)) {
		i = s->len;
		if (aif_grow(&s->at, &s->cap, i + 1, sizeof(*s->at)) < 0 ||
		    aif_map_put(&s->known, (uint64_t)caller << 32 | c->name, i) < 0)
			return -ENOMEM;
		s->at[s->len++] = (struct place){
			.process = process, .name = c->name, .caller = caller, .kind = c->kind};
	}
	if (aif_grow(&s->lengths, &s->lengths_cap, s->lengths_len + 1, sizeof(*s->lengths)) < 0)
		return -ENOMEM;
	s->lengths[s->lengths_len++] = (struct length){.ns = ns, .place = (uint32_t)i};
	to = &s->at[i];
	to->ns += ns;
	to->calls++;
	to->idle_ns += ns - AIF_MIN(ns, aif_spans_covered(s->busy, c->start, c->end));
	return 0;
}

static int by_place_length(const void *a, const void *b)
{
	const struct length *x = a, *y = b;

	return AIF_ORDER(x->place, y->place) ?: AIF_ORDER(x->ns, y->ns);
}

static void put_rows(struct aif_report *r, struct places *s)
{
	size_t at = 0;

	if (s->lengths_len)
		qsort(s->lengths, s->lengths_len, sizeof(*s->lengths), by_place_length);
	for (size_t i = 0; i < s->len; i++) {
		const struct place *p = &s->at[i];

		aif_table_number(&r->t, p->ns);
		aif_table_number(&r->t, p->calls);
		aif_table_number(&r->t, s->lengths[at + (p->calls - 1) / 2].ns);
		at += p->calls;
		aif_table_number(&r->t, s->lengths[at - 1].ns);
		aif_table_number(&r->t, p->idle_ns);
		aif_table_text(&r->t, aif_host_call_kind_name(p->kind));
		aif_report_process_cell(r, p->process);
		aif_table_text(&r->t, aif_profile_str(r->p, p->name));
		aif_table_text(&r->t, aif_strset_get(&s->callers, p->caller, NULL));
	}
}

/* Says what kinds the time is of, and what is not in it. */
static void say(struct aif_report *r, const struct places *s)
{
	uint64_t of_kind[AIF_HOST_CALL_KINDS] = {0}, calls = 0, ns = 0;
	uint64_t shorter = strtoull(aif_profile_meta(r->p, "short_calls"), NULL, 10);
	const char *between = ": ";

	for (size_t i = 0; i < s->len; i++) {
		of_kind[s->at[i].kind] += s->at[i].ns;
		ns += s->at[i].ns;
		calls += s->at[i].calls;
	}
	if (!calls)
		return;
	aif_human_ns(&r->before, ns);
	aif_buf_puts(&r->before, " in ");
	aif_human_counted(&r->before, calls, "call");
	for (unsigned k = 0; k < AIF_HOST_CALL_KINDS; k++) {
		if (!of_kind[k])
			continue;
		aif_buf_printf(&r->before, "%s%.1f %% %s", between,
			       100 * (double)of_kind[k] / (double)ns, aif_host_call_kind_name(k));
		between = ", ";
	}
	aif_buf_puts(&r->before, "\n");
	if (!shorter || aif_selection_is_part(r->o->sel))
		return;
	aif_human_counted(&r->after, shorter, "shorter call");
	aif_buf_puts(&r->after, " only counted: ");
	aif_human_ns(&r->after, strtoull(aif_profile_meta(r->p, "short_calls_ns"), NULL, 10));
	aif_buf_puts(&r->after, "\n");
}

static int by_process(const void *a, const void *b, void *arg)
{
	const struct aif_host_call *x = a, *y = b;
	const struct aif_profile *p = arg;
	uint32_t of_x = p->threads[x->thread].process, of_y = p->threads[y->thread].process;

	return AIF_ORDER(of_x, of_y) ?: AIF_ORDER(x->thread, y->thread)
	       ?: AIF_ORDER(x->start, y->start);
}

static int read_utilization(struct aif_report *r, const struct aif_exec_timeline **t,
			    const struct aif_utilization **u)
{
	struct aif_selection all = r->o->sel ? *r->o->sel : (struct aif_selection){0};
	int e;

	/* A call may be for what was launched before the part that is asked for. */
	all.from_ns = all.to_ns = 0;
	all.threads = NULL;
	e = aif_exec_timeline_get(r->p, &all, t);
	return e ? e : aif_utilization_get(r->p, *t, u);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct places s = {.process = AIF_NONE, .busy = &s.of_several};
	const struct aif_exec_timeline *t = NULL;
	const struct aif_utilization *u = aif_facts_none();
	struct aif_host_calls calls = {0};
	int e = aif_stack_names_new_with_lines(r->names, &s.stacks);

	(void)err;
	aif_report_note_captured(r, ":");
	if (!e)
		e = aif_host_calls_read(r->p, r->o->sel, &calls);
	if (!e)
		e = read_utilization(r, &t, &u);
	if (calls.len)
		qsort_r(calls.at, calls.len, sizeof(*calls.at), by_process,
			(void *)(uintptr_t)r->p);
	for (size_t i = 0; i < calls.len && !e; i++) {
		uint32_t process = r->p->threads[calls.at[i].thread].process;

		if (!i || process != s.process) {
			aif_map_clear(&s.known);
			s.process = process;
			e = find_busy(&s, u, process);
		}
		if (!e)
			e = add(&s, &calls.at[i], process);
	}
	if (!e) {
		say(r, &s);
		put_rows(r, &s);
	}
	r->damaged += calls.damaged;
	free(s.at);
	free(s.lengths);
	aif_map_finish(&s.known);
	aif_map_finish(&s.caller_of);
	aif_strset_finish(&s.callers);
	aif_spans_finish(&s.of_several);
	aif_stack_names_free(s.stacks);
	aif_host_calls_finish(&calls);
	aif_facts_put(u);
	aif_facts_put(t);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_sync = {
	.lacks = AIF_LACK_CALLS | AIF_LACK_RECORDS | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "calls that synchronise, copy, allocate, free, compile or load",
	.hint = "recordings of OpenCL and Level Zero have them, and traces of torch.profiler "
		"the runtime's",
	.no_kernel = "calls are of no kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
