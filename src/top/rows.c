/* SPDX-License-Identifier: Apache-2.0 */
#include "top/internal.h"

#include "analysis/idle/part.h"
#include "names/process_names.h"
#include "report/annotate.h"
#include "report/stalls.h"
#include "report/work_sums.h"

#include <errno.h>
#include <string.h>

/* Rows of a view; what comes behind them is of no use to anybody. */
#define ROWS_MAX 1000

static uint64_t share(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((double)part / (double)whole * 1e6 + 0.5) : 0;
}

struct order {
	const struct aif_top_model *m;
	enum aif_top_sort by;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct aif_top_row *x = a, *y = b;
	const struct order *o = arg;
	uint64_t u = x->ns, v = y->ns;
	int names = strcmp(aif_top_str(o->m, x->name), aif_top_str(o->m, y->name));

	if (o->by == AIF_TOP_BY_NAME && names)
		return names;
	if (o->by == AIF_TOP_BY_LAUNCHES && x->launches != y->launches)
		return x->launches < y->launches ? 1 : -1;
	if (o->by == AIF_TOP_BY_AVERAGE) {
		u = x->launches ? x->ns / x->launches : 0;
		v = y->launches ? y->ns / y->launches : 0;
	}
	if (u == v) {
		u = x->share_ppm;
		v = y->share_ppm;
	}
	return u == v ? names : u < v ? 1 : -1;
}

void aif_top_sort(const struct aif_top_model *m, struct aif_top_rows *rows, enum aif_top_sort by)
{
	struct order o = {m, by};

	if (rows->len)
		qsort_r(rows->at, rows->len, sizeof(*rows->at), compare, &o);
}

static int put_string(struct aif_top *t, const char *text, uint32_t *ret)
{
	*ret = aif_strset_puts(&t->m.strings, text);
	return *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

static int put_row(struct aif_top_rows *rows, const struct aif_top_row *row)
{
	if (aif_grow(&rows->at, &rows->cap, rows->len + 1, sizeof(*rows->at)) < 0)
		return -ENOMEM;
	rows->at[rows->len++] = *row;
	return 0;
}

/* ---- device work ----------------------------------------------------------------------------- */

static int process_key(struct aif_work_sums *w, const struct aif_attribution_row *row,
		       uint64_t *ret)
{
	(void)w;
	*ret = row->process;
	return 0;
}

static int describe_process(struct aif_top *t, uint32_t id, struct aif_buf *name)
{
	const struct aif_process *p;

	aif_buf_clear(name);
	if (id >= t->p->processes_len) {
		aif_buf_puts(name, "?");
		return 0;
	}
	p = &t->p->processes[id];
	aif_buf_printf(name, "%u %s", p->pid,
		       p->cmdline == AIF_NONE ? "" : aif_profile_str(t->p, p->cmdline));
	return aif_buf_failed(name) ? -ENOMEM : 0;
}

/* The names of a sum's row. */
static int name_row(struct aif_top *t, enum aif_top_view v, const struct aif_work_sum *s,
		    struct aif_top_row *row, struct aif_buf *text)
{
	const char *work = aif_names_work(&t->names, s->kind, s->kernel), *caller;
	int e = 0;

	if (v == AIF_TOP_STACK) {
		aif_buf_clear(text);
		e = aif_stack_names_line(t->stacks, s->stack, text);
		e = e ? e : put_string(t, aif_buf_str(text), &row->name);
		return e ? e : put_string(t, work, &row->detail);
	}
	if (v == AIF_TOP_PROCESS) {
		e = describe_process(t, s->process, text);
		e = e ? e : put_string(t, aif_buf_str(text), &row->name);
		return e ? e : put_string(t, work, &row->detail);
	}
	e = put_string(t, work, &row->name);
	caller = e ? NULL : aif_stack_names_caller(t->stacks, s->stack);
	return caller ? put_string(t, caller, &row->detail) : -ENOMEM;
}

static int by_width(const void *a, const void *b)
{
	const struct aif_work_sum *x = a, *y = b;

	return AIF_ORDER(y->width, x->width);
}

static int make_work(struct aif_top *t, enum aif_top_view v)
{
	struct aif_work_sums w = {.names = &t->names,
				  .a = &t->a,
				  .stacks = t->stacks,
				  .key = v == AIF_TOP_STACK     ? aif_work_stack_key
					 : v == AIF_TOP_PROCESS ? process_key
								: aif_work_kernel_key};
	struct aif_buf text = {0};
	int e = aif_work_sums_make(&w);
	uint64_t whole = 0;

	for (size_t i = 0; i < w.len && !e; i++)
		whole += w.sums[i].width;
	if (w.len)
		qsort(w.sums, w.len, sizeof(*w.sums), by_width);
	for (size_t i = 0; i < AIF_MIN(w.len, (size_t)ROWS_MAX) && !e; i++) {
		const struct aif_work_sum *s = &w.sums[i];
		struct aif_top_row row = {.detail = AIF_STR_NONE,
					  .stack = s->stack,
					  .kind = s->kind,
					  .kernel = s->kernel,
					  .process = s->process,
					  .ns = s->wall,
					  .share_ppm = share(s->width, whole),
					  .launches = s->launches,
					  .samples = s->samples};

		e = name_row(t, v, s, &row, &text);
		e = e ? e : put_row(&t->m.rows[v], &row);
	}
	aif_buf_finish(&text);
	aif_work_sums_finish(&w);
	return e;
}

/* ---- stalls ---------------------------------------------------------------------------------- */

static int make_stalls(struct aif_top *t)
{
	struct aif_stalls s = {0};
	uint64_t whole = 0;
	int e = aif_stalls_init(&s, t->p, &t->a);

	for (size_t i = 0; i < s.sums_len && !e; i++)
		whole += s.sums[i].samples;
	for (size_t i = 0; i < AIF_MIN(s.sums_len, (size_t)ROWS_MAX) && !e; i++) {
		const struct aif_stall_sum *from = &s.sums[i];
		struct aif_top_row row = {.stack = AIF_NONE,
					  .kind = AIF_LAUNCH_KERNEL,
					  .kernel = from->kernel,
					  .process = AIF_NONE,
					  .share_ppm = share(from->samples, whole),
					  .samples = from->samples};

		e = put_string(t, aif_strset_get(&s.reasons, from->reason, NULL), &row.name);
		if (!e)
			e = put_string(t,
				       aif_names_work(&t->names, AIF_LAUNCH_KERNEL, from->kernel),
				       &row.detail);
		e = e ? e : put_row(&t->m.rows[AIF_TOP_STALL], &row);
	}
	aif_stalls_finish(&s);
	aif_top_sort(&t->m, &t->m.rows[AIF_TOP_STALL], AIF_TOP_BY_TIME);
	return e;
}

/* ---- idle time ------------------------------------------------------------------------------- */

static int add_idle(struct aif_top *t, const struct aif_idle_row *from, struct aif_map *ids,
		    struct aif_buf *text)
{
	struct aif_top_rows *rows = &t->m.rows[AIF_TOP_IDLE];
	const char *caller = aif_stack_names_caller(t->stacks, from->stack);
	struct aif_top_row row = {
		.stack = from->stack, .kernel = AIF_NONE, .process = from->process, .ns = from->ns};
	uint64_t at;
	int e;

	aif_buf_clear(text);
	if (caller && *caller)
		aif_buf_printf(text, "%s%s", from->is_before ? "before " : "", caller);
	e = caller ? put_string(t, aif_idle_cause_name(from->cause), &row.name) : -ENOMEM;
	e = e ? e : put_string(t, aif_buf_str(text), &row.detail);
	if (e)
		return e;
	if (aif_map_get(ids, (uint64_t)row.name << 32 | row.detail, &at)) {
		rows->at[at].ns += row.ns;
		return 0;
	}
	e = aif_map_put(ids, (uint64_t)row.name << 32 | row.detail, rows->len);
	return e ? e : put_row(rows, &row);
}

static int make_idle(struct aif_top *t)
{
	struct aif_top_rows *rows = &t->m.rows[AIF_TOP_IDLE];
	const struct aif_idle_part *part;
	struct aif_buf text = {0};
	struct aif_map ids = {0};
	int e = aif_idle_part_get(t->p, &t->sel, &part);

	for (size_t i = 0; i < part->blame.len && !e; i++)
		if (part->blame.rows[i].ns)
			e = add_idle(t, &part->blame.rows[i], &ids, &text);
	for (size_t i = 0; i < rows->len; i++)
		rows->at[i].share_ppm = share(rows->at[i].ns, part->blame.idle_ns);
	aif_facts_put(part);
	aif_map_finish(&ids);
	aif_buf_finish(&text);
	aif_top_sort(&t->m, rows, AIF_TOP_BY_TIME);
	rows->len = AIF_MIN(rows->len, (size_t)ROWS_MAX);
	return e;
}

int aif_top_make_rows(struct aif_top *t, enum aif_top_view v, struct aif_err *err)
{
	int e = v == AIF_TOP_STALL  ? make_stalls(t)
		: v == AIF_TOP_IDLE ? make_idle(t)
				    : make_work(t, v);

	if (e && e != -ENOMEM)
		aif_err_set(err, e, "the window cannot be read: %s", strerror(-e));
	t->m.rows[v].is_made = true;
	return e;
}

/* ---- of one row ------------------------------------------------------------------------------ */

/* Frames of a line "inner < outer < main", a line each, deeper ones further to the left. */
static void put_frames(const char *line, struct aif_buf *out)
{
	size_t len = strlen(AIF_STACK_CALLED_BY);

	for (const char *next; *line; line = next ? next + len : "") {
		next = strstr(line, AIF_STACK_CALLED_BY);
		aif_buf_puts(out, "    ");
		aif_buf_append(out, line, next ? (size_t)(next - line) : strlen(line));
		aif_buf_putc(out, '\n');
	}
}

struct caller {
	uint32_t text;
	uint64_t ns, samples, launches;
};

static bool is_of(const struct aif_top *t, enum aif_top_view v, const struct aif_top_row *row,
		  const struct aif_attribution_row *a)
{
	if (v == AIF_TOP_PROCESS)
		return a->process == row->process;
	if (v == AIF_TOP_IDLE)
		return a->stack == row->stack;
	if (a->kind != row->kind)
		return false;
	if (v == AIF_TOP_STACK && a->stack != row->stack)
		return false;
	return a->kind != AIF_LAUNCH_KERNEL ||
	       (a->kernel == AIF_NONE || row->kernel == AIF_NONE
			? a->kernel == row->kernel
			: t->p->kernels[a->kernel].name == t->p->kernels[row->kernel].name);
}

static int by_ns(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return AIF_ORDER(y->samples, x->samples);
}

static int add_caller(struct aif_top *t, const struct aif_attribution_row *a,
		      struct aif_strset *texts, struct caller **list, size_t *cap,
		      struct aif_buf *line)
{
	size_t before = texts->len;
	uint32_t id;

	aif_buf_clear(line);
	if (aif_stack_names_line(t->stacks, a->stack, line) < 0)
		return -ENOMEM;
	id = aif_strset_puts(texts, aif_buf_str(line));
	if (id == AIF_STR_NONE || aif_grow(list, cap, texts->len, sizeof(**list)) < 0)
		return -ENOMEM;
	if (texts->len > before)
		(*list)[id] = (struct caller){.text = id};
	(*list)[id].ns += a->wall_ns;
	(*list)[id].samples += a->samples;
	(*list)[id].launches += a->launches;
	return 0;
}

int aif_top_callers(struct aif_top *t, enum aif_top_view view, const struct aif_top_row *row,
		    struct aif_buf *out, struct aif_err *err)
{
	struct aif_strset texts = {0};
	struct caller *list = NULL;
	struct aif_buf line = {0};
	uint64_t whole = 0;
	size_t cap = 0;
	int e = 0;

	for (size_t i = 0; i < t->a.rows_len && !e; i++) {
		const struct aif_attribution_row *shares;
		size_t n = 0;

		shares = aif_stack_names_shares(t->stacks, &t->a.rows[i], &n);
		e = shares ? 0 : -ENOMEM;
		for (size_t k = 0; k < n && !e; k++)
			if (is_of(t, view, row, &shares[k])) {
				whole += shares[k].wall_ns;
				e = add_caller(t, &shares[k], &texts, &list, &cap, &line);
			}
	}
	if (texts.len)
		qsort(list, texts.len, sizeof(*list), by_ns);
	for (size_t i = 0; i < AIF_MIN(texts.len, (size_t)ROWS_MAX) && !e; i++) {
		const char *text = aif_strset_get(&texts, list[i].text, NULL);

		aif_buf_printf(out, "%.1f %% of ", (double)share(list[i].ns, whole) / 1e4);
		aif_buf_printf(out, "%.3f ms, %llu launches", (double)whole / 1e6,
			       (unsigned long long)list[i].launches);
		aif_buf_puts(out, "\n");
		put_frames(*text ? text : "[the stack is not known]", out);
	}
	if (!e && !texts.len && row->stack != AIF_NONE) {
		aif_buf_clear(&line);
		e = aif_stack_names_line(t->stacks, row->stack, &line);
		put_frames(aif_buf_str(&line), out);
	}
	if (!out->len)
		aif_buf_puts(out, "Nothing that launched it is known in this window.\n");
	free(list);
	aif_strset_finish(&texts);
	aif_buf_finish(&line);
	return e ? aif_err_set(err, e, "out of memory") : 0;
}

/* The name as an expression that matches it alone. */
static void put_quoted(const char *name, struct aif_buf *out)
{
	aif_buf_putc(out, '^');
	for (; *name; name++) {
		if (strchr("\\^$.|?*+()[]{}", *name))
			aif_buf_putc(out, '\\');
		aif_buf_putc(out, *name);
	}
	aif_buf_putc(out, '$');
}

int aif_top_annotate(struct aif_top *t, const struct aif_top_row *row, uint32_t columns,
		     struct aif_buf *out, struct aif_err *err)
{
	struct aif_buf re = {0};
	struct aif_annotate_opts o = {.min_ppm = 1000, .columns = columns};
	int e;

	if (row->kernel == AIF_NONE || row->kind != AIF_LAUNCH_KERNEL)
		return aif_err_set(err, -ENODATA, "this row is of no kernel");
	put_quoted(aif_profile_str(t->p, t->p->kernels[row->kernel].name), &re);
	o.kernel = aif_buf_str(&re);
	e = aif_annotate_write(&t->names, &t->a, &o, out, err);
	aif_buf_finish(&re);
	if (e && !err->code)
		aif_err_set(err, e, "%s", strerror(-e));
	return e;
}
