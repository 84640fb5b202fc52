/* SPDX-License-Identifier: Apache-2.0 */
/* --launches: each launch, in the order of the file. */
#include "report/launch_counters.h"
#include "base/u64_of.h"
#include "report/work_table.h"

#include "analysis/occupancy.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>

static const struct aif_table_column columns[] = {
	{"time", AIF_TABLE_AT},     {"process", AIF_TABLE_ID},      {"tid", AIF_TABLE_ID},
	{"kind", AIF_TABLE_TEXT},   {"bytes", AIF_TABLE_BYTES},     {"grid", AIF_TABLE_TEXT},
	{"block", AIF_TABLE_TEXT},  {"registers", AIF_TABLE_COUNT}, {"shared", AIF_TABLE_BYTES},
	{"kernel", AIF_TABLE_TEXT}, {"caller", AIF_TABLE_TEXT},     {"occupancy", AIF_TABLE_SHARE},
};

/* Attributes that only executions have, by launch. A graph's launch has none: its nodes differ. */
struct execs {
	struct aif_map attributes; /* registers of a thread << 32 | bytes that a block shares */
	struct aif_map devices;    /* of those that have attributes */
	struct aif_map bytes; /* of copies whose runtime says only afterwards how much they moved */
	struct aif_map graphs; /* replayed: device << 32 | number */
};

struct launches {
	struct aif_report *r;
	struct execs execs;
	struct aif_launch_counters counters;
	struct aif_buf text;
	uint64_t
		chosen; /* launches of the time, processes, threads and devices that were asked for */
	bool has_shapes;
};

static int add_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct execs *x = arg;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].graph) {
			if (aif_map_put(&x->graphs, rows[i].launch,
					(uint64_t)rows[i].device << 32 | rows[i].graph) < 0)
				return -ENOMEM;
			continue;
		}
		if (rows[i].registers &&
		    (aif_map_put(&x->attributes, rows[i].launch,
				 (uint64_t)rows[i].registers << 32 | rows[i].shared_bytes) < 0 ||
		     aif_map_put(&x->devices, rows[i].launch, rows[i].device) < 0))
			return -ENOMEM;
		if (rows[i].bytes && aif_map_put(&x->bytes, rows[i].launch, rows[i].bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void shape_cell(struct launches *l, const uint32_t v[3])
{
	aif_buf_clear(&l->text);
	if (v && v[0])
		aif_buf_printf(&l->text, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, v[0], v[1], v[2]);
	aif_table_text(&l->r->t, aif_buf_str(&l->text));
}

/* Adds a cell with what was launched: a replayed graph goes by its number. */
static void kernel_cell(struct launches *l, const struct aif_launch_row *row)
{
	uint64_t graph;

	if (row->kind != AIF_LAUNCH_KERNEL || row->kernel != AIF_NONE ||
	    !aif_map_get(&l->execs.graphs, row->launch, &graph)) {
		aif_report_kernel_cell(l->r, row->kind, row->kernel);
		return;
	}
	aif_buf_clear(&l->text);
	aif_names_put_graph(l->r->p, (uint32_t)(graph >> 32), (uint32_t)graph, &l->text);
	aif_table_text(&l->r->t, aif_buf_str(&l->text));
}

/* Adds a cell with the theoretical occupancy; 0 where it is not known, of graphs for example. */
static void occupancy_cell(struct launches *l, const struct aif_launch_row *row,
			   uint64_t attributes)
{
	uint64_t device = AIF_NONE;
	struct aif_exec_row exec = {.kind = row->kind,
				    .registers = (uint32_t)(attributes >> 32),
				    .shared_bytes = (uint32_t)attributes};

	aif_map_get(&l->execs.devices, row->launch, &device);
	exec.device = (uint32_t)device;
	aif_table_number(&l->r->t, aif_u64_of(1e6 * aif_exec_occupancy(l->r->p, &exec, row)));
}

/* Adds a cell with the value of each counter that was measured around launches. */
static void counter_cells(struct launches *l, uint64_t launch)
{
	for (size_t i = 0; i < l->counters.len; i++) {
		double value;
		bool is_known = aif_launch_counter(&l->counters, launch, i, &value);

		aif_buf_clear(&l->text);
		if (is_known)
			aif_buf_printf(&l->text, "%.6g", value);
		aif_table_any(&l->r->t, is_known ? 'n' : '0', aif_buf_str(&l->text), l->text.len);
	}
}

/* Makes the table: its columns, and those of counters. 0 or -errno. */
static int begin(struct launches *l)
{
	struct aif_report *r = l->r;
	size_t n = 0;
	int e = aif_launch_counters_read(r->p, &l->counters);

	static_assert(AIF_ARRAY_LEN(columns) + AIF_LAUNCH_COUNTERS_MAX <= AIF_TITLES_MAX, "made");
	for (; n < AIF_ARRAY_LEN(columns); n++)
		r->made[n] = columns[n];
	for (size_t i = 0; i < l->counters.len; i++)
		r->made[n++] = (struct aif_table_column){
			aif_profile_str(r->p, l->counters.names[i]), AIF_TABLE_ANY};
	aif_table_init(&r->t, r->made, n);
	/* Columns for programs only: lines for people are long enough. */
	aif_report_hide(r, "registers");
	aif_report_hide(r, "shared");
	aif_report_hide(r, "occupancy");
	return e;
}

static bool is_kept(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

/* True for launches whose call began in what was asked for. */
static bool is_chosen(const struct aif_report *r, const struct aif_launch_row *row,
		      uint32_t process, uint64_t at)
{
	const struct aif_selection *w = r->o->sel;

	return !w || (is_kept(w->processes, process) &&
		      aif_selection_keeps_work(w, row->thread, (int64_t)at) &&
		      is_kept(w->devices, row->device) && at >= w->from_ns &&
		      (!w->to_ns || at < w->to_ns));
}

static void add_launch(struct launches *l, const struct aif_launch_row *row)
{
	struct aif_report *r = l->r;
	const struct aif_profile *p = r->p;
	const struct aif_shape *shape = row->shape == AIF_NONE ? NULL : &p->shapes[row->shape];
	const struct aif_thread *thread = row->thread == AIF_NONE ? NULL : &p->threads[row->thread];
	uint32_t process = thread ? thread->process : AIF_NONE;
	uint64_t at = row->time > p->start_ns ? row->time - p->start_ns : 0, attributes = 0,
		 bytes = row->bytes;

	if (!is_chosen(r, row, process, at))
		return;
	l->chosen++;
	if (!aif_report_has_kernel(r, row->kind, row->kernel))
		return;
	aif_map_get(&l->execs.attributes, row->launch, &attributes);
	if (!bytes)
		aif_map_get(&l->execs.bytes, row->launch, &bytes);
	l->has_shapes |= shape != NULL;
	aif_table_number(&r->t, at);
	aif_report_process_cell(r, process);
	aif_table_number(&r->t, thread ? thread->tid : 0);
	aif_table_text(&r->t, aif_launch_kind_name(row->kind));
	aif_table_number(&r->t, bytes);
	shape_cell(l, shape ? shape->grid : NULL);
	shape_cell(l, shape ? shape->block : NULL);
	aif_table_number(&r->t, attributes >> 32);
	aif_table_number(&r->t, (uint32_t)attributes);
	kernel_cell(l, row);
	aif_work_caller_cell(r, row->stack);
	occupancy_cell(l, row, attributes);
	counter_cells(l, row->launch);
}

static int add_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct launches *l = arg;

	for (size_t i = 0; i < n; i++)
		add_launch(l, &rows[i]);
	return l->r->t.failed ? -ENOMEM : 0;
}

static void add_notes(struct launches *l)
{
	struct aif_report *r = l->r;
	uint64_t left_out = r->a->conservation.left_out;

	if (left_out) {
		aif_report_describe_captured(l->chosen, left_out, &r->before);
		aif_buf_puts(&r->before, ":\n");
	}
	if (l->has_shapes)
		aif_buf_puts(&r->after,
			     "grid: work items in all; block: those of one work group (CUDA: "
			     "threads, and threads of a block)\n");
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct launches l = {.r = r};
	int e = begin(&l);

	if (!e)
		e = r->p->traits.is_lengths
			    ? aif_err_set(err, -ENODATA,
					  "report: launches are not known: the imported file has "
					  "stacks and their lengths; see report --stacks")
			    : aif_work_table_begin(r, AIF_NAME_NORMAL, err);
	if (!e)
		e = aif_profile_execs(r->p, add_execs, &l.execs, NULL);
	if (!e)
		e = aif_profile_launches(r->p, add_launches, &l, NULL);
	add_notes(&l);
	aif_map_finish(&l.execs.attributes);
	aif_map_finish(&l.execs.devices);
	aif_map_finish(&l.execs.bytes);
	aif_map_finish(&l.execs.graphs);
	aif_launch_counters_finish(&l.counters);
	aif_buf_finish(&l.text);
	return e;
}

/* Returns the launches left out: without --kernel they are missing, whatever else was captured. */
static uint64_t left_out(const struct aif_report *r)
{
	return r->kernel.is_set ? aif_report_left_out_rows(r) : r->a->conservation.left_out;
}

const struct aif_report_table aif_report_table_launches = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.rows = "launches",
	.left_out = left_out,
	.fill = fill,
};
