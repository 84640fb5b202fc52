/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include "export/cut.h"
#include "export/filter.h"
#include "export/imported.h"
#include "export/no_samples.h"
#include "export/process_names.h"
#include "export/stack_names.h"
#include "export/stalls.h"
#include "profile/file.h"
#include "profile/occupancy.h"
#include "profile/timeless.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* On one line of a terminal. */
#define SHOWN_PROCESSES ((size_t)4)

/* Of a stack, where people read it: five lines of a terminal, of which what launched has most. */
#define STACK_COLUMNS      ((size_t)400)
#define STACK_HEAD_COLUMNS ((size_t)320)

const char *aif_report_kernel(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
			      char space[64])
{
	if (kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE)
		return aif_profile_str(p, p->kernels[kernel].name);
	snprintf(space, 64, "[%s]", aif_launch_kind_name(kind));
	return space;
}

const char *aif_report_kernel_short(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
				    char space[64])
{
	if (kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE &&
	    p->kernels[kernel].short_name != AIF_NONE)
		return aif_profile_str(p, p->kernels[kernel].short_name);
	return aif_report_kernel(p, kind, kernel, space);
}

/* What all tables are made from. */
struct report {
	const struct aif_profile *p;
	const struct aif_attribution *a;
	const struct aif_report_opts *o;
	struct aif_regex kernel;
	struct aif_stack_names *names;
	struct aif_process_names processes;
	struct aif_table *t;
	struct aif_buf text;
	struct aif_strset lines;   /* of stacks */
	struct aif_map attributes; /* launch -> see add_attributes() */
	struct aif_map devices;    /* launch -> device, of those that have attributes */
	struct aif_map bytes;      /* launch -> what its execution moved */
	uint64_t asked_launches;   /* of --launches: of the time, processes and threads asked for */
	bool have_operators, have_errors, have_samples, has_shapes;
	bool have_callers; /* other ones than the operators */
	bool is_lengths;   /* launches are not known, and 0 here */
	bool is_untimed;   /* samples are all that there is */
	bool has_samples;  /* else their numbers are not known, and 0 here */
};

/* Of a column that has nothing to say to people. */
static void hide(struct report *r, const char *column)
{
	r->t->hidden |= UINT64_C(1) << aif_table_column(r->t, column);
}

static bool is_asked_kernel(const struct report *r, uint32_t kind, uint32_t kernel)
{
	return !r->kernel.is_set || aif_filter_kernel(&r->kernel, r->p, kind, kernel);
}

static void process_cell(struct report *r, uint32_t process)
{
	bool is_plain = r->o->format == AIF_TABLE_PLAIN;

	aif_table_id(r->t, process == AIF_NONE ? 0 : r->p->processes[process].pid,
		     (is_plain ? aif_process_names_show : aif_process_names_get)(&r->processes,
										 process));
}

/* In full for programs, which may look for it in other tables. */
static void kernel_cell(struct report *r, uint32_t kind, uint32_t kernel)
{
	bool is_full = r->o->format != AIF_TABLE_PLAIN || r->o->detail == AIF_NAME_FULL;
	char space[64];

	aif_table_text(r->t, (is_full ? aif_report_kernel
				      : aif_report_kernel_short)(r->p, kind, kernel, space));
}

static void caller_cell(struct report *r, uint32_t stack)
{
	const char *caller = aif_stack_names_caller(r->names, stack);

	r->t->failed |= !caller;
	aif_table_text(r->t, caller ? caller : "");
}

/* Beside the operator people need not read it twice. */
static void other_caller_cell(struct report *r, uint32_t stack)
{
	const char *caller = aif_stack_names_caller(r->names, stack), *op;
	bool is_other;

	/* The operator may be written where the caller is. */
	aif_buf_clear(&r->text);
	aif_buf_puts(&r->text, caller ? caller : "");
	op = aif_stack_names_operator(r->names, stack);
	is_other = !caller || !op || strcmp(aif_buf_str(&r->text), op) != 0;
	r->have_callers |= is_other;
	if (is_other || r->o->format != AIF_TABLE_PLAIN)
		caller_cell(r, stack);
	else
		aif_table_text(r->t, "");
}

static void operator_cell(struct report *r, uint32_t stack)
{
	const char *name = aif_stack_names_operator(r->names, stack);

	r->t->failed |= !name;
	r->have_operators |= name && *name;
	aif_table_text(r->t, name ? name : "");
}

/* Where all was captured there are none. */
static void error_cell(struct report *r, double variance)
{
	r->have_errors |= variance > 0;
	aif_table_number(r->t, (uint64_t)sqrt(variance));
}

struct sums {
	uint64_t wall, time, launches, samples, bytes;
	uint64_t widest; /* wall, or samples, of .stack, the one with the most of it */
	uint32_t kind, kernel, stack, process;
	double variance; /* of time */
};

/* Keys of two numbers, of which the first has 64 bits, as one: dense numbers of the first ones. */
static int key_of(struct aif_map *first_ids, uint64_t first, uint32_t second, uint64_t *ret)
{
	uint64_t id;

	if (!aif_map_get(first_ids, first, &id)) {
		id = first_ids->len;
		if (aif_map_put(first_ids, first, id) < 0)
			return -ENOMEM;
	}
	*ret = id << 32 | second;
	return 0;
}

static int add_stack(struct aif_map *by_stack, struct sums *s, uint64_t id,
		     const struct aif_attribution_row *row, uint64_t width)
{
	uint64_t key = id << 32 | row->stack, sum = 0;

	aif_map_get(by_stack, key, &sum);
	sum += width;
	if (sum > s->widest) {
		s->widest = sum;
		s->stack = row->stack;
	}
	return aif_map_put(by_stack, key, sum);
}

struct summing {
	struct report *r;
	int (*key)(struct report *, const struct aif_attribution_row *, uint64_t *);
	struct sums *sums;
	struct aif_map ids, keys, by_stack;
	size_t len, cap;
};

/* row: of an attribution, or of a part of such a one. */
static int add_row(struct summing *g, const struct aif_attribution_row *row)
{
	uint64_t id, k;
	struct sums *s;
	int e = g->key(g->r, row, &k);

	if (e)
		return e == -ENOENT ? 0 : e;
	if (key_of(&g->keys, k, row->process, &k) < 0)
		return -ENOMEM;
	if (!aif_map_get(&g->ids, k, &id)) {
		id = g->len;
		if (aif_grow(&g->sums, &g->cap, g->len + 1, sizeof(*g->sums)) < 0 ||
		    aif_map_put(&g->ids, k, id) < 0)
			return -ENOMEM;
		g->sums[g->len++] = (struct sums){.kind = row->kind,
						  .kernel = row->kernel,
						  .stack = row->stack,
						  .process = row->process};
	}
	s = &g->sums[id];
	s->wall += row->wall_ns;
	s->time += row->time_ns;
	s->launches += g->r->is_lengths ? 0 : row->launches;
	s->samples += g->r->has_samples ? row->samples : 0;
	s->bytes += row->bytes;
	s->variance += (double)row->error_ns * (double)row->error_ns;
	return add_stack(&g->by_stack, s, id, row, g->r->is_untimed ? row->samples : row->wall_ns);
}

/* Adds the attribution's rows up by process and what `key` says. 0 or -errno; *ret is freed. */
static int sum_up(struct report *r,
		  int (*key)(struct report *, const struct aif_attribution_row *, uint64_t *),
		  struct sums **ret, size_t *ret_len)
{
	const struct aif_attribution *a = r->a;
	struct summing g = {.r = r, .key = key};
	int e = 0;

	for (size_t i = 0; !e && i < a->rows_len; i++) {
		const struct aif_attribution_row *rows;
		size_t n;

		if (!is_asked_kernel(r, a->rows[i].kind, a->rows[i].kernel))
			continue;
		rows = aif_stack_names_shares(r->names, &a->rows[i], &n);
		e = rows ? 0 : -ENOMEM;
		for (size_t j = 0; !e && j < n; j++)
			e = add_row(&g, &rows[j]);
	}
	aif_map_finish(&g.ids);
	aif_map_finish(&g.keys);
	aif_map_finish(&g.by_stack);
	if (e) {
		free(g.sums);
		return e;
	}
	*ret = g.sums;
	*ret_len = g.len;
	return 0;
}

/* Kernels of one name are one, whichever program each is of. */
static uint32_t work_of(const struct report *r, const struct aif_attribution_row *row)
{
	return row->kind == AIF_LAUNCH_KERNEL && row->kernel != AIF_NONE
		       ? r->p->kernels[row->kernel].name
		       : ~row->kind;
}
static int kernel_key(struct report *r, const struct aif_attribution_row *row, uint64_t *ret)
{
	*ret = work_of(r, row);
	return 0;
}
/* The text's number, in the upper half of a key. */
static int text_key(struct report *r, const char *text, size_t len, uint32_t work, uint64_t *ret)
{
	uint32_t id = aif_strset_put(&r->lines, text, len);

	*ret = (uint64_t)id << 32 | work;
	return id == AIF_STR_NONE ? -ENOMEM : 0;
}
/* Stacks that are folded to the same text are one. */
static int stack_key(struct report *r, const struct aif_attribution_row *row, uint64_t *ret)
{
	aif_buf_clear(&r->text);
	if (aif_stack_names_line(r->names, row->stack, &r->text) < 0)
		return -ENOMEM;
	return text_key(r, aif_buf_str(&r->text), r->text.len, work_of(r, row), ret);
}
static int copy_key(struct report *r, const struct aif_attribution_row *row, uint64_t *ret)
{
	const char *caller;

	if (row->kind == AIF_LAUNCH_KERNEL)
		return -ENOENT;
	caller = aif_stack_names_caller(r->names, row->stack);
	return caller ? text_key(r, caller, strlen(caller), row->kind, ret) : -ENOMEM;
}

static bool has_column(const struct aif_table_column *columns, size_t n, const char *name)
{
	while (n--)
		if (!strcmp(columns[n].name, name))
			return true;
	return false;
}

static void init(struct report *r, const struct aif_table_column *columns, size_t n)
{
	static const char *const unknown[] = {"launches", "average", "samples", "copies"};
	struct aif_buf several = {0};

	aif_table_init(r->t, columns, n);
	aif_report_processes(r->p, r->a, &r->processes, &several);
	if (!several.len)
		hide(r, "process");
	for (size_t i = 0; r->is_lengths && i < AIF_ARRAY_LEN(unknown); i++)
		if (has_column(columns, n, unknown[i]) &&
		    !(r->has_samples && !strcmp(unknown[i], "samples")))
			hide(r, unknown[i]);
	aif_buf_finish(&several);
}

static const struct aif_table_column kernel_columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},        {"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},         {"launches", AIF_TABLE_COUNT}, {"average", AIF_TABLE_NS},
	{"samples", AIF_TABLE_COUNT},    {"process", AIF_TABLE_ID},     {"kernel", AIF_TABLE_TEXT},
	{"operator", AIF_TABLE_TEXT},    {"caller", AIF_TABLE_TEXT},
};

/* Without times, without their columns. */
static int sort_by_width(struct report *r)
{
	static const char *const timed[] = {"wall_share", "wall", "time", "launches", "average"};

	if (!r->have_samples)
		hide(r, "samples");
	for (size_t i = 0; r->is_untimed && i < AIF_ARRAY_LEN(timed); i++)
		if (has_column(r->t->columns, r->t->width, timed[i]))
			hide(r, timed[i]);
	return aif_table_sort(r->t, aif_table_column(r->t, r->is_untimed ? "samples" : "wall"));
}

static int kernels(struct report *r)
{
	struct sums *s;
	size_t n;
	int e = sum_up(r, kernel_key, &s, &n);

	if (e)
		return e;
	init(r, kernel_columns, AIF_ARRAY_LEN(kernel_columns));
	for (size_t i = 0; i < n; i++) {
		aif_table_number(r->t, aif_share_ppm(s[i].wall, r->a->conservation.busy_ns));
		aif_table_number(r->t, s[i].wall);
		aif_table_number(r->t, s[i].time);
		error_cell(r, s[i].variance);
		aif_table_number(r->t, s[i].launches);
		aif_table_number(r->t, s[i].launches ? s[i].time / s[i].launches : 0);
		aif_table_number(r->t, s[i].samples);
		r->have_samples |= s[i].samples > 0;
		process_cell(r, s[i].process);
		kernel_cell(r, s[i].kind, s[i].kernel);
		operator_cell(r, s[i].stack);
		other_caller_cell(r, s[i].stack);
	}
	if (!r->have_callers)
		hide(r, "caller");
	if (!r->have_operators)
		hide(r, "operator");
	if (!r->have_errors)
		hide(r, "error");
	free(s);
	return sort_by_width(r);
}

/* Of a long stack its middle is left out: what launched, and the program's outermost function. */
static void elide(struct aif_buf *line)
{
	static const char seam[] = " < ";
	const size_t len = sizeof(seam) - 1;
	size_t first = 0, last = line->len, left = 0;
	struct aif_buf brief = {0};

	if (aif_cut_width(line->data, line->len) <= STACK_COLUMNS || aif_buf_failed(line))
		return;
	for (const uint8_t *at; (at = memmem(line->data + first, line->len - first, seam, len));) {
		size_t next = (size_t)(at - line->data) + len;

		if (first && aif_cut_width(line->data, next) > STACK_HEAD_COLUMNS)
			break;
		first = next;
	}
	for (size_t i = first; i + len < line->len; i++)
		if (!memcmp(line->data + i, seam, len)) {
			left++;
			last = i;
		}
	if (left < 2) /* a name for a number */
		return;
	aif_buf_append(&brief, line->data, first);
	aif_buf_printf(&brief, "(%zu more)", left);
	aif_buf_append(&brief, line->data + last, line->len - last);
	aif_buf_clear(line);
	aif_buf_append(line, brief.data, brief.len);
	line->failed |= aif_buf_failed(&brief);
	aif_buf_finish(&brief);
}

static const struct aif_table_column stack_columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},
	{"time", AIF_TABLE_NS},          {"error", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT},   {"samples", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},       {"kernel", AIF_TABLE_TEXT},
	{"stack", AIF_TABLE_TEXT},
};

static int stacks(struct report *r)
{
	struct sums *s;
	size_t n;
	int e = sum_up(r, stack_key, &s, &n);

	if (e)
		return e;
	init(r, stack_columns, AIF_ARRAY_LEN(stack_columns));
	r->t->folds = " < ";
	for (size_t i = 0; i < n && !e; i++) {
		aif_table_number(r->t, aif_share_ppm(s[i].wall, r->a->conservation.busy_ns));
		aif_table_number(r->t, s[i].wall);
		aif_table_number(r->t, s[i].time);
		error_cell(r, s[i].variance);
		aif_table_number(r->t, s[i].launches);
		aif_table_number(r->t, s[i].samples);
		r->have_samples |= s[i].samples > 0;
		process_cell(r, s[i].process);
		kernel_cell(r, s[i].kind, s[i].kernel);
		aif_buf_clear(&r->text);
		e = aif_stack_names_line(r->names, s[i].stack, &r->text);
		if (r->o->format == AIF_TABLE_PLAIN && r->o->detail != AIF_NAME_FULL)
			elide(&r->text);
		aif_table_text(r->t, aif_buf_str(&r->text));
	}
	if (!r->have_errors)
		hide(r, "error");
	free(s);
	return e ? e : sort_by_width(r);
}

static const struct aif_table_column copy_columns[] = {
	{"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},
	{"copies", AIF_TABLE_COUNT},
	{"bytes", AIF_TABLE_BYTES},
	{"bytes_per_second", AIF_TABLE_BYTES},
	{"process", AIF_TABLE_ID},
	{"kind", AIF_TABLE_TEXT},
	{"caller", AIF_TABLE_TEXT},
};

static int copies(struct report *r)
{
	struct sums *s;
	size_t n;
	int e = sum_up(r, copy_key, &s, &n);

	if (e)
		return e;
	init(r, copy_columns, AIF_ARRAY_LEN(copy_columns));
	for (size_t i = 0; i < n; i++) {
		aif_table_number(r->t, s[i].time);
		error_cell(r, s[i].variance);
		aif_table_number(r->t, s[i].launches);
		aif_table_number(r->t, s[i].bytes);
		aif_table_number(
			r->t,
			s[i].time ? (uint64_t)((double)s[i].bytes * 1e9 / (double)s[i].time) : 0);
		process_cell(r, s[i].process);
		aif_table_text(r->t, aif_launch_kind_name(s[i].kind));
		caller_cell(r, s[i].stack);
	}
	if (!r->have_errors)
		hide(r, "error");
	free(s);
	return aif_table_sort(r->t, 0);
}

static const struct aif_table_column launch_columns[] = {
	{"time", AIF_TABLE_AT},     {"process", AIF_TABLE_ID},      {"tid", AIF_TABLE_ID},
	{"kind", AIF_TABLE_TEXT},   {"bytes", AIF_TABLE_BYTES},     {"grid", AIF_TABLE_TEXT},
	{"block", AIF_TABLE_TEXT},  {"registers", AIF_TABLE_COUNT}, {"shared", AIF_TABLE_BYTES},
	{"kernel", AIF_TABLE_TEXT}, {"caller", AIF_TABLE_TEXT},     {"occupancy", AIF_TABLE_SHARE},
};

/* What launches do not know of themselves: registers of a thread << 32 | bytes that a block shares, and with
 * runtimes that tell only afterwards how much a copy moved. Nodes of a
 * graph differ. */
static int add_attributes(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct report *r = arg;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].graph)
			continue;
		if (rows[i].registers &&
		    (aif_map_put(&r->attributes, rows[i].launch,
				 (uint64_t)rows[i].registers << 32 | rows[i].shared_bytes) < 0 ||
		     aif_map_put(&r->devices, rows[i].launch, rows[i].device) < 0))
			return -ENOMEM;
		if (rows[i].bytes && aif_map_put(&r->bytes, rows[i].launch, rows[i].bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void shape_cell(struct report *r, const uint32_t v[3])
{
	aif_buf_clear(&r->text);
	if (v && v[0])
		aif_buf_printf(&r->text, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, v[0], v[1], v[2]);
	aif_table_text(r->t, aif_buf_str(&r->text));
}

/* The theoretical one; 0 where it is not known, of graphs for example. */
static void occupancy_cell(struct report *r, const struct aif_launch_row *row, uint64_t attributes)
{
	uint64_t device = AIF_NONE;
	struct aif_exec_row exec = {.kind = row->kind,
				    .registers = (uint32_t)(attributes >> 32),
				    .shared_bytes = (uint32_t)attributes};

	aif_map_get(&r->devices, row->launch, &device);
	exec.device = (uint32_t)device;
	aif_table_number(r->t, (uint64_t)(1e6 * aif_exec_occupancy(r->p, &exec, row)));
}

static bool is_kept(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

/* By the moment of the call: a launch has no other. */
static bool is_asked_launch(struct report *r, const struct aif_launch_row *row, uint64_t at)
{
	const struct aif_attribution_opts *w = r->o->which;
	uint32_t process = row->thread == AIF_NONE ? AIF_NONE : r->p->threads[row->thread].process;

	if (w &&
	    (!is_kept(w->processes, process) || !is_kept(w->threads, row->thread) ||
	     !is_kept(w->devices, row->device) || at < w->from_ns || (w->to_ns && at >= w->to_ns)))
		return false;
	r->asked_launches++;
	return is_asked_kernel(r, row->kind, row->kernel);
}

static int add_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct report *r = arg;
	const struct aif_profile *p = r->p;

	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *row = &rows[i];
		const struct aif_shape *shape =
			row->shape == AIF_NONE ? NULL : &p->shapes[row->shape];
		const struct aif_thread *thread =
			row->thread == AIF_NONE ? NULL : &p->threads[row->thread];
		uint64_t at = row->time > p->start_ns ? row->time - p->start_ns : 0, attributes = 0,
			 bytes = row->bytes;

		if (!is_asked_launch(r, row, at))
			continue;
		aif_table_number(r->t, at);
		process_cell(r, thread ? thread->process : AIF_NONE);
		aif_table_number(r->t, thread ? thread->tid : 0);
		aif_table_text(r->t, aif_launch_kind_name(row->kind));
		if (!bytes)
			aif_map_get(&r->bytes, row->launch, &bytes);
		aif_table_number(r->t, bytes);
		r->has_shapes |= shape != NULL;
		shape_cell(r, shape ? shape->grid : NULL);
		shape_cell(r, shape ? shape->block : NULL);
		aif_map_get(&r->attributes, row->launch, &attributes);
		aif_table_number(r->t, attributes >> 32);
		aif_table_number(r->t, (uint32_t)attributes);
		kernel_cell(r, row->kind, row->kernel);
		caller_cell(r, row->stack);
		occupancy_cell(r, row, attributes);
	}
	return r->t->failed ? -ENOMEM : 0;
}

static int launches(struct report *r)
{
	int e = 0;

	init(r, launch_columns, AIF_ARRAY_LEN(launch_columns));
	/* For programs only: lines for people are long enough. */
	hide(r, "registers");
	hide(r, "shared");
	hide(r, "occupancy");
	e = aif_profile_execs(r->p, add_attributes, r, NULL);
	return e ? e : aif_profile_launches(r->p, add_launches, r, NULL);
}

struct share {
	uint64_t width;
	uint32_t process;
};

static int by_width(const void *pa, const void *pb)
{
	const struct share *a = pa, *b = pb;

	if (a->width != b->width)
		return a->width > b->width ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

void aif_report_processes(const struct aif_profile *p, const struct aif_attribution *a,
			  const struct aif_process_names *names, struct aif_buf *out)
{
	struct share *shares = calloc(p->processes_len + 1, sizeof(*shares));
	bool is_untimed = aif_is_untimed(p, a);
	uint64_t whole = 0;
	size_t n = 0;

	for (uint32_t i = 0; shares && i < p->processes_len; i++)
		shares[i].process = i;
	for (size_t i = 0; shares && i < a->rows_len; i++)
		if (a->rows[i].process < p->processes_len) {
			uint64_t width = is_untimed ? a->rows[i].samples : a->rows[i].wall_ns;

			shares[a->rows[i].process].width += width;
			whole += width;
		}
	if (shares)
		qsort(shares, p->processes_len, sizeof(*shares), by_width);
	while (shares && n < p->processes_len && shares[n].width)
		n++;
	for (size_t i = 0; i < AIF_MIN(n, SHOWN_PROCESSES) && n > 1; i++) {
		const char *name = aif_process_names_show(names, shares[i].process);

		aif_buf_puts(out, i ? ", " : "");
		if (name)
			aif_name_sanitize(name, strlen(name), out);
		else
			aif_buf_printf(out, "%" PRIu32, p->processes[shares[i].process].pid);
		aif_buf_putc(out, ' ');
		aif_human_share(out, aif_share_ppm(shares[i].width, whole));
	}
	if (n > SHOWN_PROCESSES)
		aif_buf_printf(out, ", and %zu more", n - SHOWN_PROCESSES);
	free(shares);
}

/* No rows are an answer: in words for people, to whom an empty table would tell nothing. */
static void nothing(const struct report *r, struct aif_buf *out)
{
	const char *of = r->o->kind == AIF_REPORT_COPIES     ? "copies"
			 : r->o->kind == AIF_REPORT_LAUNCHES ? "launches"
			 : r->o->kind == AIF_REPORT_STALLS   ? "kernels with stall reasons"
							     : "device activity";
	bool has_kernel = r->kernel.is_set, has_part = aif_report_is_part(r->o->which);

	if (!has_kernel && !has_part && r->o->kind != AIF_REPORT_LAUNCHES &&
	    r->o->kind != AIF_REPORT_COPIES && aif_timeless_count(r->p))
		aif_buf_puts(
			out,
			"its launches have no times; see report --launches, flame --by launches\n");
	else if (has_kernel && !has_part)
		aif_buf_printf(out, "--kernel '%s': no %s of what matches\n", r->o->kernel, of);
	else if (has_part)
		aif_buf_printf(out, "no %s in what %s" AIF_REPORT_CHOOSES " leave; loosen them\n",
			       of, has_kernel ? "--kernel, " : "");
	else
		aif_buf_printf(out, "no %s in this profile; see aiflame info\n", of);
}

/* Where launches were left out it is not known that there is nothing. */
static int is_answer(const struct report *r, struct aif_err *err)
{
	bool is_all = r->o->kind == AIF_REPORT_LAUNCHES && !r->kernel.is_set;

	return !r->a->rows_len || is_all
		       ? aif_report_left_out(r->a->conservation.left_out, "report", err)
		       : 0;
}

static int say_no_stalls(const struct aif_profile *p, struct aif_err *err)
{
	struct aif_buf why = {0};

	aif_no_samples_because(p, &why);
	aif_err_set(err, -ENODATA,
		    "report: no stall reasons in this profile: they come with a GPU's "
		    "instruction samples%s",
		    aif_buf_str(&why));
	aif_buf_finish(&why);
	return -ENODATA;
}

static int stalls(struct report *r, struct aif_buf *out, struct aif_err *err)
{
	struct aif_stalls s;
	int e = aif_stalls_init(&s, r->p, r->a);
	size_t before = out->len;

	if (e)
		return e;
	if (r->o->format != AIF_TABLE_PLAIN || r->o->sort)
		/* In another order rows of kernels are no longer together. */
		aif_stalls_table(&s, &r->kernel, r->o->sort ? 0 : r->o->limit,
				 r->o->format != AIF_TABLE_PLAIN || r->o->detail == AIF_NAME_FULL,
				 r->t);
	else
		aif_stalls_print(&s, r->a, &r->kernel, r->o->limit, r->o->detail, out);
	if (!r->a->rows_len && aif_report_left_out(r->a->conservation.left_out, "report", err) < 0)
		e = -ENODATA;
	else if (!s.kernels_len && aif_report_is_part(r->o->which))
		e = aif_err_set(err, -ENODATA,
				"report: no stall reasons in what " AIF_REPORT_CHOOSES
				" leave; loosen them, "
				"or see aiflame info");
	else if (!s.kernels_len)
		e = say_no_stalls(r->p, err);
	else if (out->len == before && !r->t->width)
		nothing(r, out);
	aif_stalls_finish(&s);
	return e;
}

static int fill(struct report *r, struct aif_buf *out, struct aif_err *err)
{
	if (r->is_lengths && r->o->kind == AIF_REPORT_LAUNCHES)
		return aif_err_set(
			err, -ENODATA,
			"report: launches are not known: the imported file has stacks and "
			"their lengths; see report --stacks");
	switch (r->o->kind) {
	case AIF_REPORT_KERNELS:
		return kernels(r);
	case AIF_REPORT_STACKS:
		return stacks(r);
	case AIF_REPORT_COPIES:
		return copies(r);
	case AIF_REPORT_STALLS:
		return stalls(r, out, err);
	default:
		return launches(r);
	}
}

int aif_report_write(const struct aif_profile *p, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err)
{
	/* Callers are found by what is folded away. */
	enum aif_name_detail detail =
		opts->kind == AIF_REPORT_STACKS ? opts->detail : AIF_NAME_NORMAL;
	struct aif_table t = {0};
	struct report r = {.p = p,
			   .a = a,
			   .o = opts,
			   .t = &t,
			   .is_lengths = aif_is_lengths(p),
			   .is_untimed = aif_is_untimed(p, a),
			   .has_samples = aif_has_sample_numbers(p)};
	bool is_empty;
	int e = aif_regex_init(&r.kernel, "--kernel", opts->kernel, err);

	if (!e)
		e = aif_stack_names_new(p, detail, &r.names);
	if (!e)
		e = aif_stack_names_join(r.names, opts->which, err);
	if (!e)
		e = aif_process_names_init(&r.processes, p);
	if (!e)
		e = fill(&r, out, err);
	if (!e)
		e = aif_report_sort(&t, opts, err);
	is_empty = t.width && !t.cells_len;
	if (!e && is_empty && opts->kind != AIF_REPORT_STALLS)
		e = is_answer(&r, err);
	t.columns_max = opts->columns;
	t.text_max = opts->detail == AIF_NAME_FULL ? 0 : AIF_REPORT_TEXT_COLUMNS;
	if (!e && t.cells_len && opts->kind == AIF_REPORT_LAUNCHES && a->conservation.left_out &&
	    opts->format == AIF_TABLE_PLAIN) {
		aif_report_say_part(r.asked_launches, a->conservation.left_out, out);
		aif_buf_puts(out, ":\n");
	}
	if (!e && is_empty && opts->format == AIF_TABLE_PLAIN)
		nothing(&r, out);
	/* Those in the kernels' order were counted in kernels. */
	else if (!e && t.width)
		e = aif_table_print(
			&t, opts->format,
			opts->kind == AIF_REPORT_STALLS && !opts->sort ? 0 : opts->limit, out);
	if (!e && r.has_shapes && opts->format == AIF_TABLE_PLAIN)
		aif_buf_puts(
			out,
			"grid: work items in all; block: those of one work group (CUDA: threads, "
			"and threads of a block)\n");
	if (!e && a->conservation.damaged && opts->format == AIF_TABLE_PLAIN)
		aif_table_say_damaged(a->conservation.damaged, out);
	aif_table_finish(&t);
	aif_regex_finish(&r.kernel);
	aif_stack_names_free(r.names);
	aif_process_names_finish(&r.processes);
	aif_strset_finish(&r.lines);
	aif_map_finish(&r.attributes);
	aif_map_finish(&r.devices);
	aif_map_finish(&r.bytes);
	aif_buf_finish(&r.text);
	return e == -ENOMEM ? aif_err_set(err, e, "out of memory") : e;
}
