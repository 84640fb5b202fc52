/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `aiflame query`: the contract's columns first, in its order, others after them. Here are the bulk rows. */
#include "query/tables.h"

#include "analysis/occupancy.h"
#include "query/cells.h"

#include <stdio.h>
#include <string.h>

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

/* Returns the bytes of the launch's execution: runtimes may report only afterwards how much it was. Copies in a
 * graph's replay count for its nodes. */
static uint64_t bytes_moved(struct aif_query *q, uint64_t launch)
{
	uint32_t i = aif_launch_index_get(&q->by_exec, launch);

	return i != AIF_NONE && !q->execs[i].graph ? q->execs[i].bytes : 0;
}

#define AIF_BULK(kind, name, row, number)                    \
	static size_t name##_rows(const struct aif_query *q) \
	{                                                    \
		return q->name##_len;                        \
	}
#include "profile/bulk.def"

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

/* Returns how many executions one stands for: itself, and those that the overhead budget left
 * out. */
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
	case 14:
		return id(ctx, r->collective - 1);
	case 15:
		return id(ctx, r->sequence - 1);
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
	case 12:
		return sqlite3_result_text(ctx, aif_names_work_full(q->names, r->kind, r->kernel),
					   -1, SQLITE_TRANSIENT);
	default: /* the places are the same */
		return executions_column(q, row, column, ctx);
	}
}

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
	case 16:
		return id(ctx, r->capture);
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
	const uint64_t values[] = {t->device,   t->first_ns,      t->last_ns,        t->before_ns,
				   t->busy_ns,  t->idle_ns,       t->uncollected_ns, t->after_ns,
				   t->error_ns, t->idle_error_ns, t->kernel_ns,      t->copy_ns};

	number(ctx, values[column]);
}

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
	case 5:
		return number(ctx, r->waiting);
	case 6:
		return id(ctx, r->waker_thread ? q->p->threads[r->waker_thread - 1].tid : AIF_NONE);
	default:
		return id(ctx, r->waker ? r->waker - 1 : AIF_NONE);
	}
}

static void ops_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_op_row *r = &q->ops[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];
	uint32_t process = t ? t->process : AIF_NONE;
	int64_t start, end;

	switch (column) {
	case 0:
		return sqlite3_result_int64(ctx, mapped(q, r->clock, process, r->start));
	case 1: /* The difference of a damaged file's times may not fit, as for executions. */
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

static size_t calls_rows(const struct aif_query *q)
{
	return q->calls.len;
}
static void calls_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_host_call *r = &q->calls.at[row];
	const struct aif_thread *t = &q->p->threads[r->thread];

	switch (column) {
	case 0:
		return sqlite3_result_int64(ctx, r->start);
	case 1:
		return number(ctx, (uint64_t)r->end - (uint64_t)r->start);
	case 2:
		return id(ctx, t->process);
	case 3:
		return id(ctx, t->tid);
	case 4:
		return sqlite3_result_text(ctx, aif_host_call_kind_name(r->kind), -1,
					   SQLITE_STATIC);
	case 5:
		return str(q, ctx, r->name);
	default:
		return id(ctx, r->stack);
	}
}

static size_t queue_rows(const struct aif_query *q)
{
	return q->queue.len;
}

static const struct aif_queue_device *queue_of(const struct aif_queue *q, size_t row)
{
	size_t lo = AIF_BISECT(mid, 0, q->devices_len, q->devices[mid].end <= row);

	return &q->devices[lo];
}

static void queue_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_queue_launch *r = &q->queue.launches[row];
	uint32_t thread = aif_queue_thread_of(&q->queue, r);

	switch (column) {
	case 0:
		return number(ctx,
			      aif_timeline_number(q->queue.t, q->queue.t->execs[r->exec].launch));
	case 1:
		return sqlite3_result_int64(ctx, aif_queue_at(&q->queue, r));
	case 2:
		return id(ctx, queue_of(&q->queue, row)->process);
	case 3:
		return id(ctx, thread == AIF_NONE ? AIF_NONE : q->p->threads[thread].tid);
	case 4:
		return id(ctx, queue_of(&q->queue, row)->device);
	case 5:
		return number(ctx, aif_queue_delay(&q->queue, r));
	case 6:
		return id(ctx, r->is_known ? r->ahead : AIF_NONE);
	case 7:
		return r->is_known ? number(ctx, r->ahead_ns) : sqlite3_result_null(ctx);
	case 8:
		return sqlite3_result_int(ctx, r->is_after_wait);
	default:
		return sqlite3_result_double(ctx, (double)aif_queue_weight_of(&q->queue, r) /
							  AIF_WEIGHT_ONE);
	}
}

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
	case 5:
		return id(ctx, r->process);
	default:
		return r->launch ? number(ctx, r->launch - 1) : sqlite3_result_null(ctx);
	}
}

static void memory_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_memory_row *r = &q->memory[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];
	uint64_t sums[] = {r->allocated, r->reserved};

	switch (column) {
	case 0:
		return when(q, ctx, r->time);
	case 1:
		return sqlite3_result_text(ctx,
					   r->kind == AIF_MEMORY_RELEASE ? "release" : "allocate",
					   -1, SQLITE_STATIC);
	case 2:
		return id(ctx, t ? t->process : AIF_NONE);
	case 3:
		return id(ctx, t ? t->tid : AIF_NONE);
	case 4:
		return id(ctx, r->device);
	case 5:
		return number(ctx, r->bytes);
	case 6:
		return r->block ? number(ctx, r->block) : sqlite3_result_null(ctx);
	case 7:
		return id(ctx, r->stack);
	default:
		return sums[column - 8] == AIF_MEMORY_UNKNOWN ? sqlite3_result_null(ctx)
							      : number(ctx, sums[column - 8]);
	}
}

static void step_sums_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_step_sum_row *r = &q->step_sums[row];
	const struct aif_thread *t = r->thread == AIF_NONE ? NULL : &q->p->threads[r->thread];
	const uint64_t numbers[] = {r->first, r->steps, r->executions, r->ns, r->deviation};

	switch (column) {
	case 0:
		return when(q, ctx, r->start);
	case 1:
		return number(ctx, r->end > r->start ? r->end - r->start : 0);
	case 2:
		return id(ctx, t ? t->process : AIF_NONE);
	case 3:
		return id(ctx, t ? t->tid : AIF_NONE);
	case 4:
		return sqlite3_result_text(ctx, aif_step_sum_name(r->sum), -1, SQLITE_STATIC);
	case 5:
		return id(ctx, r->device);
	case 6:
		return r->sum == AIF_STEP_SUM_WORK
			       ? sqlite3_result_text(ctx, aif_launch_kind_name(r->kind), -1,
						     SQLITE_STATIC)
			       : sqlite3_result_null(ctx);
	case 7:
		return id(ctx, r->kernel);
	case 8:
		return id(ctx, r->stack);
	default:
		return number(ctx, numbers[column - 9]);
	}
}

#define SMALL(table, columns)                                                                   \
	{                                                                                       \
#table, columns, 0, aif_query_##table##_rows, NULL, aif_query_##table##_column, \
			AIF_KEY_OTHER                                                           \
	}
#define BY_ID(table, columns)                                                                   \
	{                                                                                       \
#table, columns, 0, aif_query_##table##_rows, NULL, aif_query_##table##_column, \
			AIF_KEY_ROW                                                             \
	}
const struct aif_query_table aif_query_tables[] = {
	{"launches",
	 "launch, time_ns, process, tid, kind, kernel, device, stream, stack, grid, block, bytes",
	 NEEDS_LAUNCHES | NEEDS_EXECS, launches_rows, NULL, launches_column, AIF_KEY_LAUNCH},
	{"executions",
	 "launch, start_ns, dur_ns, process, device, stream, kernel, stack, weight, graph, node, "
	 "registers, shared_bytes, occupancy, collective, sequence",
	 NEEDS_LAUNCHES | NEEDS_EXECS | NEEDS_WEIGHTS, execs_rows, is_kernel, executions_column,
	 AIF_KEY_EXEC},
	{"copies",
	 "launch, start_ns, dur_ns, process, device, stream, kind, bytes, stack, graph, node, weight, "
	 "name",
	 NEEDS_LAUNCHES | NEEDS_EXECS | NEEDS_WEIGHTS, execs_rows, is_copy, copies_column,
	 AIF_KEY_EXEC},
	{"windows",
	 "window, start_ns, end_ns, device, process, period, held, p, lost, thread, launches",
	 NEEDS_WINDOWS, windows_rows, NULL, windows_column, AIF_KEY_OTHER},
	{"samples", "window, process, device, kernel, pc, reason, count, time_ns, thread, frame",
	 NEEDS_SAMPLES, samples_rows, NULL, samples_column, AIF_KEY_OTHER},
	{"attributed",
	 "window, process, device, stack, kernel, pc, reason, count, weight_ns, grade, time_ns, launches, "
	 "frame, kind, error_ns, graph, capture",
	 NEEDS_ATTRIBUTION, attributed_rows, NULL, attributed_column, AIF_KEY_OTHER},
	{"device_times",
	 "device, first_ns, last_ns, before_ns, busy_ns, idle_ns, not_collected_ns, after_ns, error_ns, "
	 "idle_error_ns, kernel_ns, copy_ns",
	 NEEDS_ATTRIBUTION, device_times_rows, NULL, device_times_column, AIF_KEY_OTHER},
	{"cpu_samples", "time_ns, process, tid, stack, weight_ns, waiting_ns, waker_tid, waker",
	 NEEDS_CPU, cpu_rows, NULL, cpu_column, AIF_KEY_OTHER},
	{"ops", "start_ns, dur_ns, process, tid, kind, name, shapes, stack, id, sequence",
	 NEEDS_OPS, ops_rows, NULL, ops_column, AIF_KEY_OTHER},
	{"calls", "start_ns, dur_ns, process, tid, kind, name, stack", NEEDS_CALLS, calls_rows,
	 NULL, calls_column, AIF_KEY_OTHER},
	{"queue",
	 "launch, time_ns, process, tid, device, delay_ns, ahead, ahead_ns, after_wait, weight",
	 NEEDS_QUEUE, queue_rows, NULL, queue_column, AIF_KEY_OTHER},
	{"counters", "time_ns, device, name, value, unit, process, launch", NEEDS_COUNTERS,
	 counters_rows, NULL, counters_column, AIF_KEY_OTHER},
	{"memory", "time_ns, kind, process, tid, device, bytes, block, stack, allocated, reserved",
	 NEEDS_MEMORY, memory_rows, NULL, memory_column, AIF_KEY_OTHER},
	{"step_sums",
	 "start_ns, dur_ns, process, tid, sum, device, kind, kernel, stack, first, steps, executions, "
	 "time_ns, deviation_ns",
	 NEEDS_STEP_SUMS, step_sums_rows, NULL, step_sums_column, AIF_KEY_OTHER},
	BY_ID(strings, "id, text"),
	BY_ID(frames, "id, kind, module, address, function, line"),
	SMALL(frame_names, "frame, inline_depth, name, file, line"),
	BY_ID(stacks, "id, parent, frame, depth, flags"),
	BY_ID(kernels, "id, name, short, module, program"),
	BY_ID(modules, "id, kind, path, build_id, kernel"),
	BY_ID(processes,
	      "id, pid, ppid, exe, cmdline, host, start_ns, end_ns, agent, runtime, exit_status, cpu_ns, "
	      "rank, local_rank, world"),
	BY_ID(threads, "id, process, tid, name"),
	BY_ID(devices, "id, name, vendor, driver, runtime, kind, units, arch, pci"),
	SMALL(clocks, "clock, process, before_ns, after_ns, value"),
	SMALL(graph_nodes, "process, graph, node, since_ns, thread, made_ns, stack"),
	BY_ID(collectives, "id, communicator, operation, ranks, bytes"),
	SMALL(durations, "process, device, kind, kernel, ns, count, total_ns"),
	SMALL(losses, "reason, name, count, process, thread, detail"),
	SMALL(meta, "key, value"),
	BY_ID(programs, "id, process, options, source, source_name"),
	SMALL(codes, "module, address, size, name, arch, bytes"),
	{0},
};
