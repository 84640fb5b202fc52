/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/query_tables.h"

#include "base/utf8.h"
#include "profile/occupancy.h"

#include <stdio.h>
#include <sys/wait.h>

/* The tables of `aiflame query`: the contract's columns first, in its order, others after them. */

static void number(sqlite3_context *ctx, uint64_t v)
{
	sqlite3_result_int64(ctx, (sqlite3_int64)v);
}

static void id(sqlite3_context *ctx, uint32_t v)
{
	if (v == AIF_NONE)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_int64(ctx, v);
}

/* SQLite takes any bytes for text, but what reads an exported file does not (Python's sqlite3 refuses the row). */
static void text(sqlite3_context *ctx, const char *s, size_t len)
{
	struct aif_buf b = {0};

	if (aif_utf8_is_text(s, len)) {
		sqlite3_result_text64(ctx, s, len, SQLITE_TRANSIENT, SQLITE_UTF8);
		return;
	}
	aif_utf8_put(&b, s, len);
	if (aif_buf_failed(&b))
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_text64(ctx, aif_buf_str(&b), b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	aif_buf_finish(&b);
}

static void str(struct aif_query *q, sqlite3_context *ctx, uint32_t v)
{
	size_t len;
	const char *s = aif_strset_get(&q->p->strings, v, &len);

	if (v == AIF_NONE)
		sqlite3_result_null(ctx);
	else
		text(ctx, s, len);
}

static int64_t mapped(struct aif_query *q, uint32_t clock, uint32_t process, uint64_t raw)
{
	return aif_timeline_map(q->timeline, clock, process, raw, NULL);
}

static void when(struct aif_query *q, sqlite3_context *ctx, uint64_t monotonic)
{
	sqlite3_result_int64(ctx, mapped(q, AIF_CLOCK_MONOTONIC, AIF_NONE, monotonic));
}

static const struct aif_launch_row *launch_of(struct aif_query *q, uint64_t launch)
{
	if (!q->last.is_set || q->last.launch != launch) {
		uint32_t i = aif_launch_index_get(&q->by_launch, launch);

		q->last.row = i == AIF_NONE ? NULL : &q->launches[i];
		q->last.launch = launch;
		q->last.is_set = true;
	}
	return q->last.row;
}

/* By the launch's execution: runtimes may tell only afterwards how much it was. What a graph's replay copies is of
 * its nodes. */
static uint64_t bytes_moved(struct aif_query *q, uint64_t launch)
{
	uint32_t i = aif_launch_index_get(&q->by_exec, launch);

	return i != AIF_NONE && !q->execs[i].graph ? q->execs[i].bytes : 0;
}

static void text_or_null(sqlite3_context *ctx, const char *text)
{
	if (*text)
		sqlite3_result_text(ctx, text, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(ctx);
}

#define ROWS(table)                                           \
	static size_t table##_rows(const struct aif_query *q) \
	{                                                     \
		return q->p->table##_len;                     \
	}
#define BULK_ROWS(table)                                      \
	static size_t table##_rows(const struct aif_query *q) \
	{                                                     \
		return q->table##_len;                        \
	}

BULK_ROWS(launches)
static void launches_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_launch_row *r = &q->launches[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];

	switch (column) {
	case 0:
		return number(ctx, r->launch);
	case 1:
		return when(q, ctx, r->time);
	case 2:
		return id(ctx, t ? t->process : AIF_NONE);
	case 3:
		return id(ctx, t ? t->tid : AIF_NONE);
	case 4:
		return sqlite3_result_text(ctx, aif_launch_kind_name(r->kind), -1, SQLITE_STATIC);
	case 5:
		return id(ctx, r->kernel);
	case 6:
		return id(ctx, r->device);
	case 7:
		return id(ctx, r->stream);
	case 8:
		return id(ctx, r->stack);
	case 9:
		return text_or_null(ctx, r->shape == AIF_NONE ? "" : q->extents[r->shape].grid);
	case 10:
		return text_or_null(ctx, r->shape == AIF_NONE ? "" : q->extents[r->shape].block);
	default:
		return number(ctx, r->bytes ? r->bytes : bytes_moved(q, r->launch));
	}
}

static size_t execs_rows(const struct aif_query *q)
{
	return q->execs_len;
}
static bool is_kernel(const struct aif_query *q, size_t row)
{
	return q->execs[row].kind == AIF_LAUNCH_KERNEL;
}
static bool is_copy(const struct aif_query *q, size_t row)
{
	return !is_kernel(q, row);
}

static int64_t start_of(struct aif_query *q, const struct aif_exec_row *r)
{
	const struct aif_launch_row *l = launch_of(q, r->launch);

	return aif_timeline_map_after(q->timeline, r->clock, r->process, r->start,
				      l ? mapped(q, AIF_CLOCK_MONOTONIC, r->process, l->time) : 0,
				      NULL);
}

/* How many executions one stands for: itself, and those that the overhead budget left out. */
static void weight(const struct aif_query *q, sqlite3_context *ctx, const struct aif_launch_row *l)
{
	const struct aif_weights_cycle *c =
		l ? aif_weights_at(q->weights, l->thread, l->time) : NULL;

	if (c)
		sqlite3_result_double(ctx, (double)c->weight / AIF_WEIGHT_ONE);
	else
		sqlite3_result_int(ctx, 1);
}

static void executions_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_exec_row *r = &q->execs[row];
	const struct aif_launch_row *l;
	double occupancy;

	switch (column) {
	case 0:
		return number(ctx, r->launch);
	case 1:
		return sqlite3_result_int64(ctx, start_of(q, r));
	case 2:
		/* Unsigned: of a damaged file's times the difference may not fit. */
		return number(ctx,
			      (uint64_t)aif_timeline_map_after(q->timeline, r->clock, r->process,
							       r->end, start_of(q, r), NULL) -
				      (uint64_t)start_of(q, r));
	case 3:
		return id(ctx, r->process);
	case 4:
		return id(ctx, r->device);
	case 5:
		return id(ctx, r->stream);
	case 6:
		return id(ctx, r->kernel);
	case 7:
		l = launch_of(q, r->launch);
		return id(ctx, l ? l->stack : AIF_NONE);
	case 8:
		return weight(q, ctx, launch_of(q, r->launch));
	case 9:
		return id(ctx, r->graph ? r->graph : AIF_NONE);
	case 10:
		return id(ctx, r->graph ? r->node : AIF_NONE);
	case 11:
		return id(ctx, r->registers ? r->registers : AIF_NONE);
	case 12:
		return id(ctx, r->registers ? r->shared_bytes : AIF_NONE);
	default:
		occupancy = aif_exec_occupancy(q->p, r, launch_of(q, r->launch));
		return occupancy > 0 ? sqlite3_result_double(ctx, occupancy)
				     : sqlite3_result_null(ctx);
	}
}

static void copies_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_exec_row *r = &q->execs[row];
	const struct aif_launch_row *l;

	switch (column) {
	case 6:
		return sqlite3_result_text(ctx, aif_launch_kind_name(r->kind), -1, SQLITE_STATIC);
	case 7:
		l = launch_of(q, r->launch);
		return number(ctx, r->bytes ? r->bytes : l ? l->bytes : 0);
	case 8:
		return executions_column(q, row, 7, ctx);
	case 11:
		return executions_column(q, row, 8, ctx);
	default: /* the places are the same */
		return executions_column(q, row, column, ctx);
	}
}

BULK_ROWS(windows)
static void windows_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_window_row *r = &q->windows[row];

	switch (column) {
	case 0:
		return id(ctx, r->window);
	case 1:
		return when(q, ctx, r->start);
	case 2:
		return when(q, ctx, r->end);
	case 3:
		return id(ctx, r->device);
	case 4:
		return id(ctx, r->process);
	case 5:
		return number(ctx, r->period_ns);
	case 6:
		return id(ctx, r->held);
	case 7:
		return sqlite3_result_double(ctx, r->p_ppm / 1e6);
	case 8:
		return number(ctx, r->lost);
	case 9:
		return id(ctx, r->thread);
	default:
		return number(ctx, r->launches);
	}
}

static uint32_t sampled_kernel(const struct aif_profile *p, uint32_t frame)
{
	uint32_t module = frame == AIF_NONE ? AIF_NONE : p->frames[frame].module;

	return module == AIF_NONE ? AIF_NONE : p->modules[module].kernel;
}

static void pc(struct aif_query *q, sqlite3_context *ctx, uint32_t frame)
{
	if (frame == AIF_NONE)
		sqlite3_result_null(ctx);
	else
		number(ctx, q->p->frames[frame].address);
}

BULK_ROWS(samples)
static void samples_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_sample_row *r = &q->samples[row];

	switch (column) {
	case 0:
		return id(ctx, r->window);
	case 1:
		return id(ctx, r->process);
	case 2:
		return id(ctx, r->device);
	case 3:
		return id(ctx, sampled_kernel(q->p, r->frame));
	case 4:
		return pc(q, ctx, r->frame);
	case 5:
		return str(q, ctx, r->reason);
	case 6:
		return number(ctx, r->count);
	case 7:
		return when(q, ctx, r->time);
	case 8:
		return id(ctx, r->thread);
	default:
		return id(ctx, r->frame);
	}
}

static size_t attributed_rows(const struct aif_query *q)
{
	return q->attribution.rows_len;
}
static void attributed_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_attribution_row *r = &q->attribution.rows[row];

	switch (column) {
	case 0:
		return sqlite3_result_null(ctx); /* over all windows */
	case 1:
		return id(ctx, r->process);
	case 2:
		return id(ctx, r->device);
	case 3:
		return id(ctx, r->stack);
	case 4:
		return id(ctx, r->kernel);
	case 5:
		return pc(q, ctx, r->frame);
	case 6:
		return str(q, ctx, r->reason);
	case 7:
		return number(ctx, r->samples);
	case 8:
		return number(ctx, r->wall_ns);
	case 9:
		return sqlite3_result_text(ctx, aif_grade_name((enum aif_grade)r->grade), -1,
					   SQLITE_STATIC);
	case 10:
		return number(ctx, r->time_ns);
	case 11:
		return number(ctx, r->launches);
	case 12:
		return id(ctx, r->frame);
	case 14:
		return number(ctx, r->error_ns);
	case 15:
		return id(ctx, r->graph ? r->graph : AIF_NONE);
	default:
		return sqlite3_result_text(ctx, aif_launch_kind_name(r->kind), -1, SQLITE_STATIC);
	}
}

static size_t device_times_rows(const struct aif_query *q)
{
	return q->attribution.devices_len;
}
static void device_times_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_device_time *t = &q->attribution.devices[row];
	const uint64_t values[] = {t->device,   t->first_ns,      t->last_ns,        t->startup_ns,
				   t->busy_ns,  t->idle_ns,       t->uncollected_ns, t->tail_ns,
				   t->error_ns, t->idle_error_ns, t->kernel_ns,      t->copy_ns};

	number(ctx, values[column]);
}

BULK_ROWS(cpu)
static void cpu_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_cpu_row *r = &q->cpu[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];

	switch (column) {
	case 0:
		return when(q, ctx, r->time);
	case 1:
		return id(ctx, t ? t->process : AIF_NONE);
	case 2:
		return id(ctx, t ? t->tid : AIF_NONE);
	case 3:
		return id(ctx, r->stack);
	case 4:
		return number(ctx, r->weight);
	default:
		return number(ctx, r->waiting);
	}
}

BULK_ROWS(ops)
static void ops_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_op_row *r = &q->ops[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];
	uint32_t process = t ? t->process : AIF_NONE;
	int64_t start, end;

	switch (column) {
	case 0:
		return sqlite3_result_int64(ctx, mapped(q, r->clock, process, r->start));
	case 1: /* As for executions: of a damaged file's times the difference may not fit. */
		start = mapped(q, r->clock, process, r->start);
		end = mapped(q, r->clock, process, r->end);
		return number(ctx, (uint64_t)AIF_MAX(start, end) - (uint64_t)start);
	case 2:
		return id(ctx, process);
	case 3:
		return id(ctx, t ? t->tid : AIF_NONE);
	case 4:
		return sqlite3_result_text(ctx, aif_op_kind_name(r->kind), -1, SQLITE_STATIC);
	case 5:
		return str(q, ctx, r->name);
	case 6:
		return str(q, ctx, r->shapes);
	case 7:
		return id(ctx, r->stack);
	case 8:
		return r->id ? number(ctx, r->id) : sqlite3_result_null(ctx);
	default:
		return r->sequence < 0 ? sqlite3_result_null(ctx)
				       : sqlite3_result_int64(ctx, r->sequence);
	}
}

BULK_ROWS(counters)
static void counters_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_counter_row *r = &q->counters[row];

	switch (column) {
	case 0:
		return when(q, ctx, r->time);
	case 1:
		return id(ctx, r->device);
	case 2:
		return str(q, ctx, r->name);
	case 3:
		return sqlite3_result_double(ctx, r->value);
	case 4:
		return str(q, ctx, r->unit);
	default:
		return id(ctx, r->process);
	}
}

static size_t strings_rows(const struct aif_query *q)
{
	return q->p->strings.len;
}
static void strings_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	if (column == 0)
		number(ctx, row);
	else
		str(q, ctx, (uint32_t)row);
}

ROWS(frames)
static void frames_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"?", "native", "os", "python", "device", "mark"};
	const struct aif_frame *f = &q->p->frames[row];
	const struct aif_frame_name *n;

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return sqlite3_result_text(ctx,
					   f->kind < AIF_ARRAY_LEN(kinds) ? kinds[f->kind] : "?",
					   -1, SQLITE_STATIC);
	case 2:
		return id(ctx, f->module);
	case 3:
		return number(ctx, f->address);
	case 4:
		n = aif_profile_frame_name(q->p, (uint32_t)row);
		return str(q, ctx, n ? n->name : AIF_NONE);
	default:
		n = aif_profile_frame_name(q->p, (uint32_t)row);
		return n && n->line ? number(ctx, n->line) : sqlite3_result_null(ctx);
	}
}

ROWS(frame_names)
static void frame_names_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_frame_name *n = &q->p->frame_names[row];

	switch (column) {
	case 0:
		return id(ctx, n->frame);
	case 1:
		return id(ctx, n->inline_depth);
	case 2:
		return str(q, ctx, n->name);
	case 3:
		return str(q, ctx, n->file);
	default:
		return id(ctx, n->line);
	}
}

ROWS(stacks)
static void stacks_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_stack *s = &q->p->stacks[row];
	const uint32_t values[] = {(uint32_t)row, s->parent, s->frame, s->depth, s->flags};

	id(ctx, values[column]);
}

ROWS(kernels)
static void kernels_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_kernel *k = &q->p->kernels[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return str(q, ctx, k->name);
	case 2:
		return str(q, ctx, k->short_name == AIF_NONE ? k->name : k->short_name);
	case 4:
		return id(ctx, k->program);
	default: /* the module that holds it, where one module holds one kernel */
		for (size_t i = 0; i < q->p->modules_len; i++)
			if (q->p->modules[i].kernel == row)
				return number(ctx, i);
		return sqlite3_result_null(ctx);
	}
}

ROWS(modules)
static void modules_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"?",          "elf",    "vdso",   "anon",
					    "device elf", "device", "source", "os"};
	const struct aif_module *m = &q->p->modules[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return sqlite3_result_text(ctx,
					   m->kind < AIF_ARRAY_LEN(kinds) ? kinds[m->kind] : "?",
					   -1, SQLITE_STATIC);
	case 2:
		return str(q, ctx, m->path);
	case 3:
		return str(q, ctx, m->build_id);
	default:
		return id(ctx, m->kernel);
	}
}

/* As a shell has it: 128 and the number of the signal that ended the process. */
static int exit_number(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ROWS(processes)
static void processes_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_process *p = &q->p->processes[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return id(ctx, p->pid);
	case 2:
		return id(ctx, p->ppid);
	case 3:
		return str(q, ctx, p->exe);
	case 4:
		return str(q, ctx, p->cmdline);
	case 5:
		return str(q, ctx, p->host);
	case 6:
		return when(q, ctx, p->start_ns);
	case 7:
		return p->end_ns ? when(q, ctx, p->end_ns) : sqlite3_result_null(ctx);
	case 8:
		return sqlite3_result_int(ctx, (p->flags & AIF_PROCESS_AGENT) != 0);
	case 9:
		return sqlite3_result_int(ctx, (p->flags & AIF_PROCESS_RUNTIME) != 0);
	case 10:
		return p->exit_status < 0 ? sqlite3_result_null(ctx)
					  : sqlite3_result_int(ctx, exit_number(p->exit_status));
	default:
		return p->cpu_ns ? number(ctx, p->cpu_ns) : sqlite3_result_null(ctx);
	}
}

ROWS(threads)
static void threads_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_thread *t = &q->p->threads[row];

	if (column == 3)
		str(q, ctx, t->name);
	else
		id(ctx, column == 0 ? (uint32_t)row : column == 1 ? t->process : t->tid);
}

/* As lspci and nvidia-smi have it. */
static void pci(sqlite3_context *ctx, uint32_t pci)
{
	char text[24];

	if (!pci)
		return sqlite3_result_null(ctx);
	snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", pci >> 16, pci >> 8 & 0xff,
		 pci >> 3 & 0x1f, pci & 7);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

ROWS(devices)
static void devices_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"other", "cpu", "gpu", "accelerator"};
	const struct aif_device *d = &q->p->devices[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return str(q, ctx, d->name);
	case 2:
		return str(q, ctx, d->vendor);
	case 3:
		return str(q, ctx, d->driver);
	case 4:
		return str(q, ctx, d->runtime);
	case 5:
		return sqlite3_result_text(ctx,
					   d->kind < AIF_ARRAY_LEN(kinds) ? kinds[d->kind] : "?",
					   -1, SQLITE_STATIC);
	case 6:
		return id(ctx, d->units);
	case 7:
		return id(ctx, d->arch ? d->arch : AIF_NONE);
	default:
		return pci(ctx, d->pci);
	}
}

static size_t clocks_rows(const struct aif_query *q)
{
	return q->p->clock_pairs_len;
}
static void clocks_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_clock_pair *c = &q->p->clock_pairs[row];

	switch (column) {
	case 0:
		return id(ctx, c->clock);
	case 1:
		return id(ctx, c->process);
	case 2:
		return when(q, ctx, c->before);
	case 3:
		return when(q, ctx, c->after);
	default:
		return number(ctx, c->value);
	}
}

ROWS(losses)
static void losses_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_loss *l = &q->p->losses[row];
	const struct aif_reason_info *info = aif_reason_info((int)l->reason);

	switch (column) {
	case 0:
		return id(ctx, l->reason);
	case 1:
		return sqlite3_result_text(ctx, info ? info->name : "?", -1, SQLITE_STATIC);
	case 2:
		return number(ctx, l->count);
	case 3:
		return id(ctx, l->process);
	case 4:
		return id(ctx, l->thread);
	default:
		return str(q, ctx, l->detail);
	}
}

ROWS(meta)
static void meta_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	str(q, ctx, column ? q->p->meta[row].value : q->p->meta[row].key);
}

ROWS(programs)
static void programs_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_program *p = &q->p->programs[row];

	if (column >= 2)
		str(q, ctx, column == 2 ? p->options : column == 3 ? p->source : p->source_name);
	else
		id(ctx, column ? p->process : (uint32_t)row);
}

ROWS(codes)
static void codes_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_code *c = &q->p->codes[row];

	switch (column) {
	case 0:
		return id(ctx, c->module);
	case 1:
		return number(ctx, c->address);
	case 2:
		return number(ctx, c->size);
	case 3:
		return str(q, ctx, c->name);
	case 4:
		return str(q, ctx, c->arch);
	default:
		return c->bytes ? sqlite3_result_blob64(ctx, c->bytes, c->size, SQLITE_TRANSIENT)
				: sqlite3_result_null(ctx);
	}
}

#define SMALL(table, columns)                                                         \
	{                                                                             \
#table, columns, 0, table##_rows, NULL, table##_column, AIF_KEY_OTHER \
	}
#define BY_ID(table, columns)                                                       \
	{                                                                           \
#table, columns, 0, table##_rows, NULL, table##_column, AIF_KEY_ROW \
	}
const struct aif_query_table aif_query_tables[] = {
	{"launches",
	 "launch, time_ns, process, tid, kind, kernel, device, stream, stack, grid, block, bytes",
	 NEEDS_LAUNCHES | NEEDS_EXECS, launches_rows, NULL, launches_column, AIF_KEY_LAUNCH},
	{"executions",
	 "launch, start_ns, dur_ns, process, device, stream, kernel, stack, weight, graph, node, "
	 "registers, shared_bytes, occupancy",
	 NEEDS_LAUNCHES | NEEDS_EXECS | NEEDS_WEIGHTS, execs_rows, is_kernel, executions_column,
	 AIF_KEY_EXEC},
	{"copies",
	 "launch, start_ns, dur_ns, process, device, stream, kind, bytes, stack, graph, node, weight",
	 NEEDS_LAUNCHES | NEEDS_EXECS | NEEDS_WEIGHTS, execs_rows, is_copy, copies_column,
	 AIF_KEY_EXEC},
	{"windows",
	 "window, start_ns, end_ns, device, process, period, held, p, lost, thread, launches",
	 NEEDS_WINDOWS, windows_rows, NULL, windows_column, AIF_KEY_OTHER},
	{"samples", "window, process, device, kernel, pc, reason, count, time_ns, thread, frame",
	 NEEDS_SAMPLES, samples_rows, NULL, samples_column, AIF_KEY_OTHER},
	{"attributed",
	 "window, process, device, stack, kernel, pc, reason, count, weight_ns, grade, time_ns, launches, "
	 "frame, kind, error_ns, graph",
	 NEEDS_ATTRIBUTION, attributed_rows, NULL, attributed_column, AIF_KEY_OTHER},
	{"device_times",
	 "device, first_ns, last_ns, startup_ns, busy_ns, idle_ns, not_collected_ns, tail_ns, error_ns, "
	 "idle_error_ns, kernel_ns, copy_ns",
	 NEEDS_ATTRIBUTION, device_times_rows, NULL, device_times_column, AIF_KEY_OTHER},
	{"cpu_samples", "time_ns, process, tid, stack, weight_ns, waiting_ns", NEEDS_CPU, cpu_rows,
	 NULL, cpu_column, AIF_KEY_OTHER},
	{"ops", "start_ns, dur_ns, process, tid, kind, name, shapes, stack, id, sequence",
	 NEEDS_OPS, ops_rows, NULL, ops_column, AIF_KEY_OTHER},
	{"counters", "time_ns, device, name, value, unit, process", NEEDS_COUNTERS, counters_rows,
	 NULL, counters_column, AIF_KEY_OTHER},
	BY_ID(strings, "id, text"),
	BY_ID(frames, "id, kind, module, address, function, line"),
	SMALL(frame_names, "frame, inline_depth, name, file, line"),
	BY_ID(stacks, "id, parent, frame, depth, flags"),
	BY_ID(kernels, "id, name, short, module, program"),
	BY_ID(modules, "id, kind, path, build_id, kernel"),
	BY_ID(processes,
	      "id, pid, ppid, exe, cmdline, host, start_ns, end_ns, agent, runtime, exit_status, cpu_ns"),
	BY_ID(threads, "id, process, tid, name"),
	BY_ID(devices, "id, name, vendor, driver, runtime, kind, units, arch, pci"),
	SMALL(clocks, "clock, process, before_ns, after_ns, value"),
	SMALL(losses, "reason, name, count, process, thread, detail"),
	SMALL(meta, "key, value"),
	BY_ID(programs, "id, process, options, source, source_name"),
	SMALL(codes, "module, address, size, name, arch, bytes"),
	{0},
};
