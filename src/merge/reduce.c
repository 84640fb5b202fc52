/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/reduce.h"

#include "analysis/durations.h"
#include "analysis/launch_index.h"
#include "analysis/weights.h"
#include "merge/kept_steps.h"
#include "merge/step_sums.h"
#include "profile/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Runs by lot of which fewer say nothing of the other steps: a pool of weights (analysis/weights.h). */
#define FEWEST AIF_WEIGHTS_POOL
/* Rows of a chunk, which has 130 bytes of its own: 1,800 steps with a chunk for each took 584 KiB, together 212. */
#define BATCH 16384

struct reducing {
	const char *input;
	const struct aif_reduce_opts *opts;
	struct aif_profile p;
	struct aif_kept_steps kept;
	struct count {
		uint64_t launches;
		bool is_whole; /* the thread's launches are kept, whatever is kept of others */
	} * *counts; /* by thread: of each block of its process; NULL: it launches nothing */
	struct gone {
		uint64_t launch;
	} * gone; /* launches that are left out */
	size_t gone_len, gone_cap;
	struct aif_launch_index index; /* of .gone */
	struct aif_writer *w;
	void *rows; /* BATCH of a kind, of which .len are to be written */
	size_t len;
	uint64_t bad;
	struct aif_reduce_sum *sum;
	struct aif_err *err;
};

static uint32_t process_of(const struct reducing *r, uint32_t thread)
{
	return thread == AIF_NONE ? AIF_NONE : r->p.threads[thread].process;
}

/* ---- what goes ------------------------------------------------------------------------------------ */

static struct count *count_of(const struct reducing *r, uint32_t thread,
			      const struct aif_kept_block *b)
{
	return &r->counts[thread][b - r->kept.processes[process_of(r, thread)].blocks];
}

static int count_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct reducing *r = arg;

	for (size_t i = 0; i < n; i++) {
		uint32_t thread = rows[i].thread, process = process_of(r, thread);
		const struct aif_kept_block *b = aif_kept_steps_at(&r->kept, process, rows[i].time);

		r->sum->launches++;
		if (!b)
			continue;
		if (!r->counts[thread])
			r->counts[thread] =
				calloc(r->kept.processes[process].len, sizeof(**r->counts));
		if (!r->counts[thread])
			return -ENOMEM;
		count_of(r, thread, b)->launches++;
	}
	return 0;
}

/* Blocks between two that are certain: launches of a thread in them, of these in steps that are kept by lot, and steps. */
struct stretch {
	size_t from, to;
	uint64_t launches, by_lot, steps;
};

/* Finds the thread's next stretch from ret->to on; false: there is none. */
static bool next_stretch(const struct reducing *r, uint32_t thread, struct stretch *ret)
{
	const struct aif_kept_process *of = &r->kept.processes[process_of(r, thread)];
	struct stretch s = {.from = ret->to};

	while (s.from < of->len && of->blocks[s.from].is_certain)
		s.from++;
	for (s.to = s.from; s.to < of->len && !of->blocks[s.to].is_certain; s.to++) {
		uint64_t n = r->counts[thread][s.to].launches;

		s.launches += n;
		s.by_lot += of->blocks[s.to].is_on ? n : 0;
		s.steps += of->blocks[s.to].steps;
	}
	*ret = s;
	return s.from < s.to;
}

/* Returns how many steps have to be kept by lot in each stretch so that a thread which launches in each step has enough launches to
 * stand for the others (analysis/weights.h); 0: it has. */
static size_t least_of(const struct reducing *r, uint32_t thread)
{
	struct stretch s = {.to = 0};
	size_t least = 0;

	while (next_stretch(r, thread, &s))
		if (s.by_lot < AIF_WEIGHTS_MIN && s.launches >= s.steps)
			least = AIF_MAX(least,
					AIF_WEIGHTS_MIN * s.steps / s.launches + AIF_KEPT_RUN);
	return least;
}

/* Keeps all launches of a thread in stretches where what is kept by lot is too little: the first steps, or a slow one, would stand for
 * them. */
static void keep_whole(struct reducing *r, uint32_t thread)
{
	struct stretch s = {.to = 0};

	while (next_stretch(r, thread, &s)) {
		if (s.by_lot >= AIF_WEIGHTS_MIN && s.by_lot < s.launches)
			continue;
		for (size_t i = s.from; i < s.to; i++)
			r->counts[thread][i].is_whole = true;
		r->sum->whole += s.launches - s.by_lot;
	}
}

/* True for what a thread did in a block of its process. */
static bool is_kept(const struct reducing *r, uint32_t thread, const struct aif_kept_block *b)
{
	return !b || b->is_on || (r->counts[thread] && count_of(r, thread, b)->is_whole);
}

static int take_gone(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct reducing *r = arg;

	for (size_t i = 0; i < n; i++) {
		uint32_t thread = rows[i].thread;

		if (is_kept(r, thread,
			    aif_kept_steps_at(&r->kept, process_of(r, thread), rows[i].time)))
			continue;
		if (r->gone_len == AIF_NONE ||
		    aif_grow(&r->gone, &r->gone_cap, r->gone_len + 1, sizeof(*r->gone)) < 0)
			return -ENOMEM;
		r->gone[r->gone_len++].launch = rows[i].launch;
	}
	return 0;
}

static void free_counts(struct reducing *r)
{
	for (size_t i = 0; r->counts && i < r->p.threads_len; i++)
		free(r->counts[i]);
	free(r->counts);
	r->counts = NULL;
}

static int count(struct reducing *r)
{
	free_counts(r);
	r->sum->launches = 0;
	r->counts = calloc(r->p.threads_len + 1, sizeof(*r->counts));
	return r->counts ? aif_profile_launches(&r->p, count_launches, r, NULL) : -ENOMEM;
}

/* Keeps more steps of processes whose threads launch little in each. */
static int keep_more(struct reducing *r)
{
	size_t *least = calloc(r->p.processes_len + 1, sizeof(*least));
	bool is_more = false;
	int e = least ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->p.threads_len && !e; i++)
		if (r->counts[i]) {
			size_t *of = &least[process_of(r, i)];

			*of = AIF_MAX(*of, least_of(r, i));
			is_more |= *of > 0;
		}
	if (is_more) {
		aif_kept_steps_finish(&r->kept);
		e = aif_kept_steps_find(&r->p, r->opts->every, least, &r->kept);
		if (!e)
			e = count(r);
	}
	free(least);
	return e;
}

static int find_gone(struct reducing *r)
{
	int e = count(r);

	if (!e)
		e = keep_more(r);
	for (uint32_t i = 0; i < r->p.threads_len && !e; i++)
		if (r->counts[i])
			keep_whole(r, i);
	if (!e)
		e = aif_profile_launches(&r->p, take_gone, r, NULL);
	if (!e)
		e = AIF_LAUNCH_INDEX_INIT(&r->index, r->gone, r->gone_len);
	for (size_t i = 0; i < r->gone_len && !e; i++)
		e = aif_launch_index_put(&r->index, r->gone[i].launch, (uint32_t)i);
	r->sum->left_out = r->gone_len;
	r->sum->by_lot = r->kept.by_lot;
	return e;
}

static bool is_gone(struct reducing *r, uint64_t launch)
{
	return aif_launch_index_get(&r->index, launch) != AIF_NONE;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Operators and calls are reported of what is captured, ranges and steps of all. */
static bool is_op_kept(const struct reducing *r, const struct aif_op_row *row)
{
	const struct aif_kept_block *b;

	if (row->clock != AIF_CLOCK_MONOTONIC || row->kind == AIF_OP_STEP ||
	    row->kind == AIF_OP_RANGE)
		return true;
	b = aif_kept_steps_at(&r->kept, process_of(r, row->thread), row->start);
	return is_kept(r, row->thread, b);
}

/* Blocks of the overhead budget, in which nothing was left out, become those of steps. */
static bool is_budgets(const struct reducing *r, const struct aif_window_row *row)
{
	return row->device == AIF_NONE && (row->thread != AIF_NONE || row->p_ppm) &&
	       row->process != AIF_NONE && r->kept.processes[row->process].len;
}

/* Defines what collects the rows of a kind that are kept, x, and what writes those that were collected: the chunks of a recording, one a
 * second, would have a few rows each. */
#define WRITE(name, row, is_kept)                                            \
	static int flush_##name(struct reducing *r)                          \
	{                                                                    \
		size_t n = r->len;                                           \
                                                                             \
		r->len = 0;                                                  \
		return aif_writer_##name(r->w, r->rows, n, r->err);          \
	}                                                                    \
	static int write_##name(void *arg, const struct row *rows, size_t n) \
	{                                                                    \
		struct reducing *r = arg;                                    \
		int e = 0;                                                   \
                                                                             \
		for (size_t i = 0; i < n && !e; i++) {                       \
			const struct row *x = &rows[i];                      \
                                                                             \
			if (!(is_kept))                                      \
				continue;                                    \
			((struct row *)r->rows)[r->len++] = *x;              \
			if (r->len == BATCH)                                 \
				e = flush_##name(r);                         \
		}                                                            \
		return e;                                                    \
	}
WRITE(launches, aif_launch_row, !is_gone(r, x->launch))
WRITE(execs, aif_exec_row, !is_gone(r, x->launch))
WRITE(ops, aif_op_row, is_op_kept(r, x))
WRITE(counters, aif_counter_row, !x->launch || !is_gone(r, x->launch - 1))
WRITE(windows, aif_window_row, !is_budgets(r, x))
WRITE(samples, aif_sample_row, x)
WRITE(cpu, aif_cpu_row, x)
WRITE(memory, aif_memory_row, x)
#undef WRITE

/* Writes the blocks of a thread, with all that it launched in each. */
static int write_blocks(struct reducing *r, uint32_t thread)
{
	uint32_t process = process_of(r, thread);
	const struct aif_kept_process *of = &r->kept.processes[process];
	struct aif_window_row *to = r->rows;
	size_t len = 0;
	int e = 0;

	for (size_t i = 0; i < of->len && !e; i++) {
		const struct aif_kept_block *b = &of->blocks[i];
		const struct count *c = &r->counts[thread][i];

		to[len++] = (struct aif_window_row){
			.start = b->from,
			.end = AIF_MIN(b->to, AIF_MAX(r->p.end_ns, b->from + 1)),
			.window = AIF_NONE,
			.device = AIF_NONE,
			.process = process,
			.held = b->is_on || c->is_whole,
			.launches = c->launches,
			.thread = thread,
			.p_ppm = (b->is_on && b->is_certain) || c->is_whole
					 ? 1000000
					 : 1000000 / r->opts->every};
		if (len < BATCH && i + 1 < of->len)
			continue;
		e = aif_writer_windows(r->w, to, len, r->err);
		len = 0;
	}
	return e;
}

static int write_rows(struct reducing *r)
{
	struct aif_profile *p = &r->p;
	size_t most = 0;
	uint64_t bad;
	int e = 0;

	for (enum aif_chunk_kind kind = AIF_CHUNK_LAUNCHES; kind < AIF_CHUNK_KIND_COUNT; kind++)
		most = AIF_MAX(most, aif_chunk_row_size(kind));
	r->rows = malloc(BATCH * most);
	if (!r->rows)
		return -ENOMEM;
#define COPY(name)                                                        \
	do {                                                              \
		bad = 0;                                                  \
		e = e ? e : aif_profile_##name(p, write_##name, r, &bad); \
		e = e ? e : flush_##name(r);                              \
		r->bad += bad;                                            \
	} while (0)
	COPY(launches);
	COPY(execs);
	COPY(samples);
	COPY(windows);
	COPY(cpu);
	COPY(ops);
	COPY(counters);
	COPY(memory);
#undef COPY
	for (uint32_t i = 0; i < p->threads_len && !e; i++)
		if (r->counts[i])
			e = write_blocks(r, i);
	return e;
}

/* ---- the file ------------------------------------------------------------------------------------- */

static int note(struct reducing *r, struct aif_err *err)
{
	char text[160];
	int e = 0;

	/* Turns are written as steps, which nobody has marked. */
	if (r->kept.turns_len) {
		snprintf(text, sizeof(text), "%zu", r->kept.turns_len);
		e = aif_writer_note(r->w, &r->p, "reduced_turns", text, err);
	}
	if (e)
		return e;
	snprintf(text, sizeof(text),
		 "1 step of %" PRIu32 ", the first and slow ones: %" PRIu64 ", %" PRIu64
		 " and %" PRIu64 " of %" PRIu64,
		 r->opts->every, r->sum->by_lot, r->sum->first, r->sum->slow, r->sum->steps);
	return aif_writer_note(r->w, &r->p, "reduced", text, err);
}

/* Makes the names of turns that were taken for steps, "turn#17": without the launches of most nothing else tells them. */
static int name_turns(struct reducing *r)
{
	char name[32];

	for (size_t i = 0; i < r->kept.turns_len; i++) {
		snprintf(name, sizeof(name), "turn#%zu", i);
		if (aif_strset_puts(&r->p.strings, name) == AIF_STR_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Writes what each place took in all steps. */
static int write_step_sums(struct reducing *r)
{
	struct aif_step_sum_row *rows = NULL;
	size_t len = 0;
	int e = aif_merge_step_sums(&r->p, &r->kept, &rows, &len);

	for (size_t i = 0; i < len && !e; i += BATCH)
		e = aif_writer_step_sums(r->w, rows + i, AIF_MIN(len - i, (size_t)BATCH), r->err);
	free(rows);
	return e;
}

/* Marks turns as steps. */
static int write_turns(struct reducing *r)
{
	struct aif_op_row *rows = calloc(r->kept.turns_len + 1, sizeof(*rows));
	int e = rows ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->kept.turns_len && rows; i++) {
		char name[32];

		rows[i] = (struct aif_op_row){
			.start = r->kept.turns[i].from,
			.end = r->kept.turns[i].to,
			.thread = r->kept.turns_thread,
			.name = aif_strset_find(
				&r->p.strings, name,
				(size_t)snprintf(name, sizeof(name), "turn#%zu", i)),
			.kind = AIF_OP_STEP,
			.shapes = AIF_NONE,
			.types = AIF_NONE,
			.stack = AIF_NONE,
			.sequence = -1};
	}
	for (size_t i = 0; i < r->kept.turns_len && !e; i += BATCH)
		e = aif_writer_ops(r->w, rows + i, AIF_MIN(r->kept.turns_len - i, (size_t)BATCH),
				   r->err);
	free(rows);
	return e;
}

static int write_part(void *arg, struct aif_writer *w, struct aif_err *err)
{
	struct reducing *r = arg;
	uint64_t bad = 0; /* counted where rows are copied */
	int e;

	r->w = w;
	r->err = err;
	e = name_turns(r);
	if (!e)
		e = aif_durations_count(&r->p, &bad);
	e = e ? aif_err_set(err, e, "%s: out of memory", r->input)
	      : aif_writer_tables(r->w, &r->p, err);
	if (!e)
		e = note(r, err);
	if (!e) {
		e = write_rows(r);
		e = e ? e : write_turns(r);
		e = e ? e : write_step_sums(r);
		if (e == -ENOMEM)
			aif_err_set(err, e, "%s: out of memory", r->input);
	}
	if (!e)
		e = aif_profile_check(&r->p, r->input, err);
	if (!e && r->bad)
		e = aif_err_set(err, -EBADMSG,
				"%s: is damaged: %" PRIu64
				" of its chunks cannot be read; use it as it is",
				r->input, r->bad);
	return e;
}

/* Refuses a profile of which the steps do not say what is left out. */
static int check(struct reducing *r, struct aif_err *err)
{
	struct aif_weights *weights = NULL;
	int e;

	if (r->p.traits.is_lengths)
		return aif_err_set(err, -EINVAL,
				   "%s: has stacks with counts and no times, and no steps; use it "
				   "as it is",
				   r->input);
	if (r->p.notes & (AIF_NOTE_TRIMMED | AIF_NOTE_CUT_SHORT | AIF_NOTE_NO_ROLLBACK))
		return aif_err_set(err, -EINVAL,
				   "%s: is not the whole of a recording (aiflame info says why); "
				   "use it as it is",
				   r->input);
	e = aif_weights_new(&r->p, &weights);
	if (e)
		return aif_err_set(err, e, "%s: %s", r->input, strerror(-e));
	if (aif_weights_uncaptured(weights))
		e = aif_err_set(
			err, -EINVAL,
			"%s: launches were left out of it already; reduce what was recorded "
			"with --all-launches",
			r->input);
	aif_weights_free(weights);
	return e;
}

static int choose(struct reducing *r, struct aif_err *err)
{
	struct aif_reduce_sum *s = r->sum;
	int e = aif_kept_steps_find(&r->p, r->opts->every, NULL, &r->kept);

	s->steps = r->kept.steps;
	s->by_lot = r->kept.by_lot;
	s->first = r->kept.first;
	s->slow = r->kept.slow;
	s->ranks = r->kept.with_steps;
	if (!e && !s->steps)
		return aif_err_set(
			err, -EINVAL,
			"%s: no step is marked, and no loop is seen in its launches, so that "
			"none can be left out (docs/program.md); use it as it is",
			r->input);
	if (!e && s->by_lot < FEWEST * AIF_KEPT_RUN * s->ranks)
		return aif_err_set(
			err, -EINVAL,
			"%s: one of %" PRIu32 " of its %" PRIu64
			" steps says too little of the others; give a smaller --every, or "
			"use it as it is",
			r->input, r->opts->every, s->steps / s->ranks);
	if (!e)
		e = find_gone(r);
	if (!e && !s->left_out)
		return aif_err_set(
			err, -EINVAL,
			"%s: one of %" PRIu32
			" steps has too few launches between slow steps to stand for the others; "
			"give a smaller --every, or use it as it is",
			r->input, r->opts->every);
	return e ? aif_err_set(err, e, "%s: %s", r->input, strerror(-e)) : 0;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int aif_reduce_file(const char *input, const char *output, const struct aif_reduce_opts *opts,
		    struct aif_reduce_sum *ret, struct aif_err *err)
{
	struct reducing r = {.input = input, .opts = opts, .sum = ret};
	int e = aif_profile_open(input, &r.p, err);

	*ret = (struct aif_reduce_sum){.bytes = size_of(input)};
	if (e < 0)
		return e;
	e = check(&r, err);
	if (!e)
		e = choose(&r, err);
	if (!e)
		e = aif_profile_output(output, &r.p, opts->scratch, write_part, &r, err);
	if (!e)
		ret->reduced_bytes = size_of(output);
	free_counts(&r);
	free(r.gone);
	free(r.rows);
	aif_launch_index_finish(&r.index);
	aif_kept_steps_finish(&r.kept);
	aif_profile_finish(&r.p);
	return e;
}
