/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a file with the merged profile's numbers and times. */
#include "merge/tables.h"

#include "merge/stamps.h"
#include "profile/chunk.h"

#include <errno.h>
#include <string.h>

struct writing {
	struct aif_merge_tables *t;
	const struct aif_merge_input *in;
	const struct aif_profile *from;
	const struct aif_merge_ids *ids;
	struct aif_writer *w;
	struct aif_err *err;
	struct aif_merge_stamps stamps;
	uint64_t launches; /* the greatest number of a launch and of a window, so far */
	uint32_t windows;
	void *rows; /* space for a chunk */
};

static uint32_t id(const struct writing *w, unsigned table, uint32_t of)
{
	return aif_merge_id(w->ids, table, of);
}

static uint64_t at(const struct writing *w, uint64_t time)
{
	return aif_merge_time(w->in, w->t->base_ns, time);
}

/* Returns a launch's number: those of the files before come first. */
static uint64_t launch_of(struct writing *w, uint64_t launch)
{
	/* A number that has none behind it is refused with the file (check_numbers()). */
	w->launches = AIF_MAX(w->launches, launch == UINT64_MAX ? launch : launch + 1);
	return w->t->launches + launch;
}

static uint32_t window_of(struct writing *w, uint32_t window)
{
	if (window == AIF_NONE)
		return AIF_NONE;
	w->windows = AIF_MAX(w->windows, window + 1);
	return w->t->windows + window;
}

/* The same of ns since the file's beginning. */
static uint64_t at_own(const struct writing *w, int64_t own)
{
	return at(w, w->in->start_ns + (uint64_t)own);
}

/* ---- rows of each kind -------------------------------------------------------------------------- */

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_launch_row *to = w->rows;

	if (aif_merge_stamps_launches(&w->stamps, rows, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *x = &rows[i];

		to[i] = *x;
		to[i].launch = launch_of(w, x->launch);
		to[i].time = at(w, x->time);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].kernel = id(w, AIF_TABLE_KERNEL, x->kernel);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].stream = id(w, AIF_TABLE_STREAM, x->stream);
		to[i].stack = id(w, AIF_TABLE_STACK, x->stack);
		to[i].shape = id(w, AIF_TABLE_SHAPE, x->shape);
	}
	return aif_writer_launches(w->w, to, n, w->err);
}

static int take_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_exec_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_exec_row *x = &rows[i];
		int64_t start, end;

		aif_merge_stamps_exec(&w->stamps, x, &start, &end);
		to[i] = *x;
		to[i].launch = launch_of(w, x->launch);
		to[i].start = at_own(w, start);
		to[i].end = at_own(w, end);
		to[i].clock = AIF_CLOCK_MONOTONIC;
		to[i].process = id(w, AIF_TABLE_PROCESS, x->process);
		to[i].kernel = id(w, AIF_TABLE_KERNEL, x->kernel);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].stream = id(w, AIF_TABLE_STREAM, x->stream);
		to[i].collective =
			x->collective ? 1 + id(w, AIF_TABLE_COLLECTIVE, x->collective - 1) : 0;
	}
	return aif_writer_execs(w->w, to, n, w->err);
}

static int take_samples(void *arg, const struct aif_sample_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_sample_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_sample_row *x = &rows[i];

		to[i] = *x;
		to[i].time = at(w, x->time);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].process = id(w, AIF_TABLE_PROCESS, x->process);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].frame = id(w, AIF_TABLE_FRAME, x->frame);
		to[i].reason = id(w, AIF_TABLE_STRING, x->reason);
		to[i].window = window_of(w, x->window);
	}
	return aif_writer_samples(w->w, to, n, w->err);
}

static int take_windows(void *arg, const struct aif_window_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_window_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_window_row *x = &rows[i];

		to[i] = *x;
		to[i].start = at(w, x->start);
		to[i].end = AIF_MAX(at(w, x->end), to[i].start);
		to[i].window = window_of(w, x->window);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].process = id(w, AIF_TABLE_PROCESS, x->process);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
	}
	return aif_writer_windows(w->w, to, n, w->err);
}

static int take_cpu(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_cpu_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *x = &rows[i];

		to[i] = *x;
		to[i].time = at(w, x->time);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].stack = id(w, AIF_TABLE_STACK, x->stack);
		to[i].waker_thread =
			x->waker_thread ? 1 + id(w, AIF_TABLE_THREAD, x->waker_thread - 1) : 0;
		to[i].waker = x->waker ? 1 + id(w, AIF_TABLE_STACK, x->waker - 1) : 0;
	}
	return aif_writer_cpu(w->w, to, n, w->err);
}

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_op_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *x = &rows[i];
		int64_t start = aif_merge_stamps_map(&w->stamps, x->clock, AIF_NONE, x->start,
						     INT64_MIN),
			end = aif_merge_stamps_map(&w->stamps, x->clock, AIF_NONE, x->end, start);

		to[i] = *x;
		to[i].start = at_own(w, start);
		to[i].end = AIF_MAX(at_own(w, end), to[i].start);
		to[i].clock = AIF_CLOCK_MONOTONIC;
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].name = id(w, AIF_TABLE_STRING, x->name);
		to[i].shapes = id(w, AIF_TABLE_STRING, x->shapes);
		to[i].types = id(w, AIF_TABLE_STRING, x->types);
		to[i].stack = id(w, AIF_TABLE_STACK, x->stack);
	}
	return aif_writer_ops(w->w, to, n, w->err);
}

static int take_counters(void *arg, const struct aif_counter_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_counter_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_counter_row *x = &rows[i];

		to[i] = *x;
		to[i].time = at(w, x->time);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].name = id(w, AIF_TABLE_STRING, x->name);
		to[i].unit = id(w, AIF_TABLE_STRING, x->unit);
		to[i].process = id(w, AIF_TABLE_PROCESS, x->process);
		to[i].launch = x->launch ? 1 + launch_of(w, x->launch - 1) : 0;
	}
	return aif_writer_counters(w->w, to, n, w->err);
}

static int take_memory(void *arg, const struct aif_memory_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_memory_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_memory_row *x = &rows[i];

		to[i] = *x;
		to[i].time = at(w, x->time);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].stack = id(w, AIF_TABLE_STACK, x->stack);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
	}
	return aif_writer_memory(w->w, to, n, w->err);
}

static int take_step_sums(void *arg, const struct aif_step_sum_row *rows, size_t n)
{
	struct writing *w = arg;
	struct aif_step_sum_row *to = w->rows;

	for (size_t i = 0; i < n; i++) {
		const struct aif_step_sum_row *x = &rows[i];

		to[i] = *x;
		to[i].start = at(w, x->start);
		to[i].end = AIF_MAX(at(w, x->end), to[i].start);
		to[i].thread = id(w, AIF_TABLE_THREAD, x->thread);
		to[i].device = id(w, AIF_TABLE_DEVICE, x->device);
		to[i].stack = id(w, AIF_TABLE_STACK, x->stack);
		to[i].kernel = id(w, AIF_TABLE_KERNEL, x->kernel);
	}
	return aif_writer_step_sums(w->w, to, n, w->err);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static int write_dropped(const struct writing *w)
{
	const struct aif_profile *p = w->from;
	const struct aif_loss *all = aif_profile_loss(p, AIF_REASON_MAX_SIZE);
	uint64_t until = at(w, p->kept_ns);
	int r;

	if (!(p->notes & AIF_NOTE_TRIMMED) || !all)
		return 0;
	r = aif_writer_dropped(w->w, AIF_CHUNK_LAUNCHES, p->dropped_launches, 0, until, w->err);
	return r ? r
		 : aif_writer_dropped(w->w, AIF_CHUNK_EXECS,
				      all->count - AIF_MIN(all->count, p->dropped_launches), 0,
				      until, w->err);
}

static int write_all(struct writing *w, uint64_t *ret_bad)
{
	uint64_t bad;
	int r = 0;

#define AIF_BULK(kind, name, row, number)                              \
	if (!r) {                                                      \
		bad = 0;                                               \
		r = aif_profile_##name(w->from, take_##name, w, &bad); \
		*ret_bad += bad;                                       \
	}
#include "profile/bulk.def"
	return r ? r : write_dropped(w);
}

/* Numbers of launches may be any: those of all files fit below each other, or none of this file's is right. */
static int check_numbers(const struct writing *w)
{
	if (w->launches > UINT64_MAX / 2 - w->t->launches ||
	    w->windows > AIF_NONE - 1 - w->t->windows)
		return aif_err_set(
			w->err, -EOVERFLOW,
			"%s: its launches or windows have too great numbers; leave it out",
			w->in->path);
	return 0;
}

int aif_merge_rows_add(struct aif_merge_tables *t, const struct aif_merge_input *in,
		       const struct aif_profile *from, const struct aif_merge_ids *ids,
		       struct aif_writer *writer, uint64_t *ret_bad, struct aif_err *err)
{
	struct writing w = {
		.t = t,
		.in = in,
		.from = from,
		.ids = ids,
		.w = writer,
		.err = err,
		.rows = malloc((size_t)AIF_CHUNK_MAX_ROWS * sizeof(struct aif_exec_row))};
	int r = w.rows ? aif_merge_stamps_init(&w.stamps, from) : -ENOMEM;

	if (!r)
		r = write_all(&w, ret_bad);
	aif_merge_stamps_finish(&w.stamps);
	if (!r)
		r = check_numbers(&w);
	t->launches += w.launches;
	t->windows += w.windows;
	free(w.rows);
	return r == -ENOMEM ? aif_err_set(err, r, "%s: out of memory", in->path) : r;
}
