/* SPDX-License-Identifier: Apache-2.0 */
/* --calls: time in calls of runtimes by class, as recordings and traces have them. */
#include "report/report_table.h"
#include "analysis/time.h"
#include "base/glob.h"
#include "base/host_calls.h"
#include "base/human.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct aif_table_column columns[] = {
	{"own", AIF_TABLE_NS},     {"time", AIF_TABLE_NS},    {"calls", AIF_TABLE_COUNT},
	{"median", AIF_TABLE_NS},  {"longest", AIF_TABLE_NS}, {"class", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID}, {"call", AIF_TABLE_TEXT},
};

struct call {
	int64_t start, end;
	uint64_t own; /* without the calls in it */
	uint32_t thread, row;
	bool is_numbered; /* an operation or a message of ranks */
};

/* Calls of one name, of a process. */
struct row {
	uint32_t process, name;
	uint64_t own, ns, calls;
};

struct table {
	struct aif_report *r;
	const struct aif_timeline *timeline;
	struct aif_map rows_of; /* process << 32 | name -> row */
	AIF_TABLE(row, rows);
	AIF_TABLE(call, calls);
	const char **classes; /* by string of the profile: a class that its frame has, or NULL */
};

/* Traces have what a call is of as its frame's module, "AIU runtime: DMA". */
static void find_classes(struct table *t)
{
	const struct aif_profile *p = t->r->p;

	for (uint32_t i = 0; i < p->frames_len; i++) {
		const struct aif_frame *f = &p->frames[i];
		const char *of;

		if (f->kind != AIF_FRAME_CALL || f->module == AIF_NONE ||
		    f->address >= p->strings.len)
			continue;
		of = strstr(aif_profile_str(p, p->modules[f->module].path), "runtime: ");
		if (of)
			t->classes[f->address] = of + strlen("runtime: ");
	}
}

static const char *class_of(const struct table *t, uint32_t name)
{
	static const struct {
		const char *glob, *class;
	} rules[] = {
		{"*Launch*", "launch"},     {"clEnqueueNDRange*", "launch"},
		{"*Memcpy*", "copy"},       {"*MemoryCopy*", "copy"},
		{"*Memset*", "fill"},       {"*MemoryFill*", "fill"},
		{"clEnqueueFill*", "fill"}, {"*Synchronize*", "synchronise"},
		{"*Malloc*", "allocate"},   {"*Free*", "free"},
		{"*Record*", "event"},      {"*Event*", "event"},
		{"*ModuleLoad*", "load"},   {"*Get*", "query"},
	};
	const char *text = aif_profile_str(t->r->p, name);
	enum aif_host_call_kind kind;

	if (t->classes[name])
		return t->classes[name];
	if (aif_host_call_kind_of(text, &kind))
		return aif_host_call_kind_name(kind);
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].glob, text, strlen(text), NULL))
			return rules[i].class;
	return "other";
}

static int add(struct table *t, const struct aif_op_row *op)
{
	const struct aif_selection *sel = t->r->o->sel;
	uint32_t process = t->r->p->threads[op->thread].process;
	struct call c = {.thread = op->thread, .is_numbered = op->id && op->sequence > 0};
	uint64_t key = (uint64_t)process << 32 | op->name, at;
	int64_t ns;

	if (sel && (!aif_selection_keeps(sel->processes, process) ||
		    !aif_selection_keeps(sel->threads, op->thread)))
		return 0;
	c.start = aif_timeline_map(t->timeline, op->clock, process, op->start, NULL);
	c.end = aif_timeline_map(t->timeline, op->clock, process, op->end, NULL);
	if (c.end < c.start || __builtin_sub_overflow(c.end, c.start, &ns) ||
	    !aif_timed_in_span(sel, c.start))
		return 0;
	if (!aif_map_get(&t->rows_of, key, &at)) {
		at = t->rows_len;
		if (aif_grow(&t->rows, &t->rows_cap, at + 1, sizeof(*t->rows)) < 0 ||
		    aif_map_put(&t->rows_of, key, at) < 0)
			return -ENOMEM;
		t->rows[t->rows_len++] = (struct row){.process = process, .name = op->name};
	}
	c.row = (uint32_t)at;
	c.own = (uint64_t)ns;
	if (aif_grow(&t->calls, &t->calls_cap, t->calls_len + 1, sizeof(*t->calls)) < 0)
		return -ENOMEM;
	t->calls[t->calls_len++] = c;
	return 0;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && !e; i++)
		if (rows[i].kind == AIF_OP_RUNTIME && rows[i].thread != AIF_NONE &&
		    rows[i].name != AIF_NONE)
			e = add(arg, &rows[i]);
	return e;
}

static int by_place(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->end, x->end) ?: AIF_ORDER(x->row, y->row);
}

/* Drops further rows of one call: it has one for each message that it was (docs/FORMAT.md). */
static void drop_repeated(struct table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->calls_len; i++)
		if (!n || !t->calls[i].is_numbered || by_place(&t->calls[n - 1], &t->calls[i]))
			t->calls[n++] = t->calls[i];
	t->calls_len = n;
}

/* Takes from each call what the calls in it took, so that own times add up to the time in calls. */
static int find_own(struct table *t)
{
	size_t *open = malloc((t->calls_len + 1) * sizeof(*open)), depth = 0;

	if (!open)
		return -ENOMEM;
	if (t->calls_len)
		qsort(t->calls, t->calls_len, sizeof(*t->calls), by_place);
	drop_repeated(t);
	for (size_t i = 0; i < t->calls_len; i++) {
		const struct call *c = &t->calls[i];

		while (depth && (t->calls[open[depth - 1]].thread != c->thread ||
				 t->calls[open[depth - 1]].end <= c->start))
			depth--;
		if (depth) {
			struct call *in = &t->calls[open[depth - 1]];
			uint64_t ns = (uint64_t)(AIF_MIN(c->end, in->end) - c->start);

			in->own -= AIF_MIN(in->own, ns);
		}
		open[depth++] = i;
	}
	free(open);
	return 0;
}

static int by_row_length(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->end - x->start < y->end - y->start   ? -1
	       : x->end - x->start > y->end - y->start ? 1
						       : 0;
}

static uint64_t length(const struct call *c)
{
	return (uint64_t)(c->end - c->start);
}

static void put_rows(struct table *t)
{
	struct aif_report *r = t->r;
	size_t at = 0;

	for (size_t i = 0; i < t->calls_len; i++) {
		struct row *row = &t->rows[t->calls[i].row];

		row->own += t->calls[i].own;
		row->ns += length(&t->calls[i]);
		row->calls++;
	}
	if (t->calls_len)
		qsort(t->calls, t->calls_len, sizeof(*t->calls), by_row_length);
	for (size_t i = 0; i < t->rows_len; i++) {
		const struct row *row = &t->rows[i];

		aif_table_number(&r->t, row->own);
		aif_table_number(&r->t, row->ns);
		aif_table_number(&r->t, row->calls);
		aif_table_number(&r->t, length(&t->calls[at + (row->calls - 1) / 2]));
		at += row->calls;
		aif_table_number(&r->t, length(&t->calls[at - 1]));
		aif_table_text(&r->t, class_of(t, row->name));
		aif_report_process_cell(r, row->process);
		aif_table_text(&r->t, aif_profile_str(r->p, row->name));
	}
}

struct class_time {
	const char *name;
	uint64_t ns;
};

static int by_time(const void *a, const void *b)
{
	const struct class_time *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->name, y->name);
}

/* Says how much of the time each class has, most first. */
static int say(struct table *t)
{
	struct class_time *of = calloc(t->rows_len + 1, sizeof(*of));
	uint64_t ns = 0;
	size_t n = 0;

	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < t->rows_len; i++) {
		const char *class = class_of(t, t->rows[i].name);
		size_t k = 0;

		while (k < n && strcmp(of[k].name, class) != 0)
			k++;
		n += k == n;
		of[k].name = class;
		of[k].ns += t->rows[i].own;
		ns += t->rows[i].own;
	}
	if (n)
		qsort(of, n, sizeof(*of), by_time);
	if (ns) {
		aif_human_ns(&t->r->before, ns);
		aif_buf_puts(&t->r->before, " in ");
		aif_human_counted(&t->r->before, t->calls_len, "call");
		for (size_t i = 0; i < n; i++)
			aif_buf_printf(&t->r->before, "%s%.1f %% %s", i ? ", " : ": ",
				       100 * (double)of[i].ns / (double)ns, of[i].name);
		aif_buf_puts(&t->r->before, "\n");
	}
	free(of);
	return 0;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct table t = {.r = r};
	int e;

	(void)err;
	t.classes = calloc(r->p->strings.len + 1, sizeof(*t.classes));
	e = t.classes ? aif_timeline_get(r->p, &t.timeline) : -ENOMEM;
	if (!e) {
		find_classes(&t);
		e = aif_profile_ops(r->p, take, &t, &r->damaged);
	}
	if (!e)
		e = find_own(&t);
	if (!e) {
		put_rows(&t);
		e = say(&t);
	}
	aif_facts_put(t.timeline);
	aif_map_finish(&t.rows_of);
	free(t.rows);
	free(t.calls);
	free(t.classes);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_calls = {
	.lacks = AIF_LACK_CALLS | AIF_LACK_RECORDS | AIF_LACK_EVENTS,
	.rows = "calls of runtimes",
	.hint = "recordings have those that wait, allocate, free, compile and load, and traces of "
		"torch.profiler all of them",
	.no_kernel = "a call is of no kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
