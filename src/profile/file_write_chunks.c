/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bulk rows -> chunks. Rows are sorted before they are compressed: launches and executions by
 * launch number, which puts each thread's calls in their order (a predictable sequence); samples of
 * devices and CPUs, operators and allocations, by thread and time; counters by device and time. They are cut
 * where a reader would otherwise have to decode chunks in vain: executions and operators by the
 * clock of their times (a chunk has one range of times), launches and executions where launch
 * numbers jump (a chunk has one narrow range of launches, by which the two find each other).
 */
#include "profile/file_writer.h"

#include <errno.h>
#include <string.h>

/* Launch numbers further apart than this come from different counters. */
#define LAUNCH_JUMP (UINT64_C(1) << 32)

/* Value of .until for a chunk with times of another clock, until the trimming that follows it. */
#define UNTIL_UNKNOWN 0

/* With more counters than this active in a second, small chunks would cost more than they save. */
#define MAX_CUTS 64

static void take_key(enum aif_chunk_kind kind, const void *rows, size_t i, struct aif_sort_key *k)
{
	const struct aif_launch_row *l = rows;
	const struct aif_exec_row *x = rows;
	const struct aif_sample_row *s = rows;
	const struct aif_window_row *w = rows;
	const struct aif_cpu_row *c = rows;
	const struct aif_op_row *o = rows;
	const struct aif_counter_row *v = rows;
	const struct aif_memory_row *m = rows;
	const struct aif_step_sum_row *sum = rows;

	k->row = (uint32_t)i;
	k->group = 0;
	switch (kind) {
	case AIF_CHUNK_LAUNCHES:
		k->at = l[i].launch;
		break;
	case AIF_CHUNK_EXECS:
		/* A device's clock is a process's own view of it; host clocks are one for all. */
		k->group = (uint64_t)x[i].clock << 32 |
			   (x[i].clock >= AIF_CLOCK_DEVICE ? x[i].process : AIF_NONE);
		k->at = x[i].launch;
		break;
	case AIF_CHUNK_SAMPLES:
		k->group = s[i].thread;
		k->at = s[i].time;
		break;
	case AIF_CHUNK_CPU:
		k->group = c[i].thread;
		k->at = c[i].time;
		break;
	case AIF_CHUNK_OPS:
		k->group = (uint64_t)o[i].clock << 32 | o[i].thread;
		k->at = o[i].start;
		break;
	case AIF_CHUNK_COUNTERS:
		k->group = v[i].device;
		k->at = v[i].time;
		break;
	case AIF_CHUNK_MEMORY:
		k->group = m[i].thread;
		k->at = m[i].time;
		break;
	case AIF_CHUNK_STEP_SUMS:
		/* Keeps the order in which they come: by place. */
		k->group = sum[i].thread;
		break;
	default:
		k->at = w[i].start;
		break;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct aif_sort_key *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static int sort_rows(struct aif_writer *w, enum aif_chunk_kind kind, const void *rows, size_t n)
{
	bool sorted = true;

	if (n > UINT32_MAX || aif_grow(&w->keys, &w->keys_cap, n, sizeof(*w->keys)) < 0 ||
	    aif_grow(&w->order, &w->order_cap, n, sizeof(*w->order)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		take_key(kind, rows, i, &w->keys[i]);
		sorted = sorted && (i == 0 || by_key(&w->keys[i - 1], &w->keys[i]) < 0);
	}
	if (!sorted)
		qsort(w->keys, n, sizeof(*w->keys), by_key);
	for (size_t i = 0; i < n; i++)
		w->order[i] = w->keys[i].row;
	return 0;
}

static bool is_jump(const struct aif_sort_key *k)
{
	return k[1].at - k[0].at >= LAUNCH_JUMP;
}

static bool cut_before(enum aif_chunk_kind kind, const struct aif_sort_key *k, bool at_jumps)
{
	if (kind == AIF_CHUNK_EXECS && k[-1].group != k[0].group)
		return true;
	if (kind == AIF_CHUNK_OPS && k[-1].group >> 32 != k[0].group >> 32)
		return true;
	return at_jumps && is_jump(k - 1);
}

/* Entry of the file's index for a chunk. */
struct summary {
	uint32_t clock, process;
	uint64_t start, end, launch_min, launch_max, total;
};

static void widen(struct summary *s, uint64_t start, uint64_t end, uint64_t launch)
{
	s->start = AIF_MIN(s->start, start);
	s->end = AIF_MAX(s->end, end);
	s->launch_min = AIF_MIN(s->launch_min, launch);
	s->launch_max = AIF_MAX(s->launch_max, launch);
}

static struct summary summarize(enum aif_chunk_kind kind, const void *rows, const uint32_t *order,
				size_t n)
{
	const struct aif_launch_row *l = rows;
	const struct aif_exec_row *x = rows;
	const struct aif_sample_row *sample = rows;
	const struct aif_window_row *window = rows;
	const struct aif_cpu_row *cpu = rows;
	const struct aif_op_row *op = rows;
	const struct aif_counter_row *counter = rows;
	const struct aif_memory_row *memory = rows;
	const struct aif_step_sum_row *sum = rows;
	struct summary s = {.clock = AIF_CLOCK_MONOTONIC,
			    .process = AIF_NONE,
			    .start = UINT64_MAX,
			    .launch_min = UINT64_MAX};

	if (kind == AIF_CHUNK_EXECS) {
		s.clock = x[order[0]].clock;
		s.process = s.clock >= AIF_CLOCK_DEVICE ? x[order[0]].process : AIF_NONE;
	}
	if (kind == AIF_CHUNK_OPS)
		s.clock = op[order[0]].clock;
	for (size_t i = 0; i < n; i++) {
		uint32_t at = order[i];

		switch (kind) {
		case AIF_CHUNK_LAUNCHES:
			widen(&s, l[at].time, l[at].time, l[at].launch);
			s.total++;
			break;
		case AIF_CHUNK_EXECS:
			widen(&s, x[at].start, AIF_MAX(x[at].start, x[at].end), x[at].launch);
			s.total += x[at].end - x[at].start;
			break;
		case AIF_CHUNK_SAMPLES:
			widen(&s, sample[at].time, sample[at].time, 0);
			s.total += sample[at].count;
			break;
		case AIF_CHUNK_CPU:
			widen(&s, cpu[at].time, cpu[at].time, 0);
			s.total += cpu[at].weight;
			break;
		case AIF_CHUNK_OPS:
			widen(&s, op[at].start, AIF_MAX(op[at].start, op[at].end), 0);
			s.total++;
			break;
		case AIF_CHUNK_COUNTERS:
			widen(&s, counter[at].time, counter[at].time, 0);
			s.total++;
			break;
		case AIF_CHUNK_MEMORY:
			widen(&s, memory[at].time, memory[at].time, 0);
			s.total++;
			break;
		case AIF_CHUNK_STEP_SUMS:
			widen(&s, sum[at].start, AIF_MAX(sum[at].start, sum[at].end), 0);
			s.total += sum[at].ns;
			break;
		default:
			widen(&s, window[at].start, AIF_MAX(window[at].start, window[at].end), 0);
			s.total++;
			break;
		}
	}
	return s;
}

static int insert_chunk(struct aif_writer *w, enum aif_chunk_kind kind, const struct summary *s,
			size_t n, struct aif_err *err)
{
	sqlite3_stmt *q;
	int r = aif_writer_prepare(w, &w->insert_chunk,
				   "INSERT INTO chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				   err);

	if (r < 0)
		return r;
	q = w->insert_chunk;
	sqlite3_bind_int64(q, 1, w->next_chunk);
	sqlite3_bind_int(q, 2, (int)kind);
	sqlite3_bind_int64(q, 3, (sqlite3_int64)n);
	sqlite3_bind_int64(q, 4, s->clock);
	if (s->process == AIF_NONE)
		sqlite3_bind_null(q, 5);
	else
		sqlite3_bind_int64(q, 5, s->process);
	sqlite3_bind_int64(q, 6, (sqlite3_int64)s->start);
	sqlite3_bind_int64(q, 7, (sqlite3_int64)s->end);
	sqlite3_bind_int64(q, 8, (sqlite3_int64)s->launch_min);
	sqlite3_bind_int64(q, 9, (sqlite3_int64)s->launch_max);
	sqlite3_bind_int64(q, 10, (sqlite3_int64)s->total);
	sqlite3_bind_blob64(q, 11, w->chunk.data, w->chunk.len, SQLITE_STATIC);
	return aif_writer_step(w, q, err);
}

/* ---- which launches are still needed ---------------------------------------------------------- */

/* Limits of the search for an execution's launch: chunks to look back (a minute at 130 a
 * second), and searches in vain for one chunk, as executions of lost launches must not cost
 * more. */
#define LOOK_BACK 8192
#define IN_VAIN   16

static bool has_launch(const struct aif_written_chunk *c, uint64_t launch)
{
	return c->kind == AIF_CHUNK_LAUNCHES && launch >= c->launch_min && launch <= c->launch_max;
}

static struct aif_written_chunk *chunk_of_launch(struct aif_writer *w, uint64_t launch)
{
	size_t least =
		AIF_MAX(w->chunks_first, w->chunks_len > LOOK_BACK ? w->chunks_len - LOOK_BACK : 0);

	for (size_t i = w->chunks_len; i-- > least;)
		if (has_launch(&w->chunks[i], launch))
			return &w->chunks[i];
	return NULL;
}

/* The last chunk holds these executions: the chunks of their launches are needed as long as it is. */
static void find_launches(struct aif_writer *w, const struct aif_exec_row *rows,
			  const uint32_t *order, size_t n)
{
	struct aif_written_chunk *c = NULL;
	unsigned in_vain = 0;

	for (size_t i = 0; i < n && in_vain < IN_VAIN; i++) {
		uint64_t launch = rows[order[i]].launch;

		if (!c || !has_launch(c, launch))
			c = chunk_of_launch(w, launch);
		if (!c) {
			in_vain++;
			continue;
		}
		c->last_exec = w->chunks[w->chunks_len - 1].id;
		/* A graph's launch has several. */
		if (c->open && (!i || rows[order[i - 1]].launch != launch))
			c->open--;
	}
}

static int write_chunk(struct aif_writer *w, enum aif_chunk_kind kind, const void *rows,
		       const uint32_t *order, size_t n, struct aif_err *err)
{
	struct summary s = summarize(kind, rows, order, n);
	int r;

	if (aif_grow(&w->chunks, &w->chunks_cap, w->chunks_len + 1, sizeof(*w->chunks)) < 0)
		return aif_writer_fail_with(w, -ENOMEM, err);
	aif_buf_clear(&w->chunk);
	r = aif_chunk_encode(w->encoder, kind, rows, order, n, &w->chunk);
	if (r < 0)
		return aif_writer_fail_with(w, r, err);
	if (w->observe)
		w->observe(w->observe_arg, kind, n, w->chunk.data, w->chunk.len);
	if (!w->db)
		return 0;
	r = insert_chunk(w, kind, &s, n, err);
	if (r < 0)
		return r;
	if (s.clock == AIF_CLOCK_MONOTONIC)
		w->end_ns = AIF_MAX(w->end_ns, s.end);
	w->chunks[w->chunks_len++] = (struct aif_written_chunk){
		.id = w->next_chunk++,
		.bytes = w->chunk.len,
		.rows = n,
		.total = s.total,
		.until = s.clock == AIF_CLOCK_MONOTONIC ? w->end_ns : UNTIL_UNKNOWN,
		.kind = kind,
		.launch_min = s.launch_min,
		.launch_max = s.launch_max,
		.open = kind == AIF_CHUNK_LAUNCHES ? n : 0};
	if (kind == AIF_CHUNK_EXECS)
		find_launches(w, rows, order, n);
	w->chunks_bytes += w->chunk.len;
	return 0;
}

int aif_writer_rows(struct aif_writer *w, enum aif_chunk_kind kind, const void *rows, size_t n,
		    struct aif_err *err)
{
	size_t begin = 0, jumps = 0;
	bool at_jumps = kind == AIF_CHUNK_LAUNCHES || kind == AIF_CHUNK_EXECS;
	int r = n ? aif_writer_begin(w, err) : 0;

	if (r < 0 || n == 0)
		return r;
	r = sort_rows(w, kind, rows, n);
	if (r < 0)
		return aif_writer_fail_with(w, r, err);
	for (size_t i = 1; i < n && at_jumps; i++) {
		jumps += is_jump(&w->keys[i - 1]);
		at_jumps = jumps <= MAX_CUTS;
	}
	for (size_t i = 1; i <= n && r == 0; i++) {
		if (i < n && i - begin < AIF_CHUNK_MAX_ROWS &&
		    !cut_before(kind, &w->keys[i], at_jumps))
			continue;
		r = write_chunk(w, kind, rows, w->order + begin, i - begin, err);
		begin = i;
	}
	return r;
}

#define AIF_BULK(kind, name, row, number)                                             \
	int aif_writer_##name(struct aif_writer *w, const struct row *rows, size_t n, \
			      struct aif_err *err)                                    \
	{                                                                             \
		return aif_writer_rows(w, AIF_CHUNK_##kind, rows, n, err);            \
	}
#include "profile/bulk.def"

/* ---- trimming -------------------------------------------------------------------------------- */

int aif_writer_dropped(struct aif_writer *w, enum aif_chunk_kind kind, uint64_t rows,
		       uint64_t total, uint64_t until, struct aif_err *err)
{
	int r = aif_writer_begin(w, err);

	if (r == 0)
		r = aif_writer_prepare(w, &w->drop,
				       "INSERT INTO dropped VALUES(?, 1, ?, ?, ?) ON CONFLICT(id) "
				       "DO UPDATE SET chunks=chunks+1, rows=rows+excluded.rows, "
				       "total=total+excluded.total, "
				       "until=max(until, excluded.until)",
				       err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(w->drop, 1, kind);
	sqlite3_bind_int64(w->drop, 2, (sqlite3_int64)rows);
	sqlite3_bind_int64(w->drop, 3, (sqlite3_int64)total);
	sqlite3_bind_int64(w->drop, 4, (sqlite3_int64)until);
	return aif_writer_step(w, w->drop, err);
}

static int drop_chunk(struct aif_writer *w, const struct aif_written_chunk *c, struct aif_err *err)
{
	int r = aif_writer_prepare(w, &w->delete_chunk, "DELETE FROM chunk WHERE id=?", err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(w->delete_chunk, 1, c->id);
	r = aif_writer_step(w, w->delete_chunk, err);
	return r < 0 ? r : aif_writer_dropped(w, c->kind, c->rows, c->total, c->until, err);
}

/* Launches may be older than what is kept, and their executions not: those would be left without
 * a stack. Not all that never end can be waited for. */
#define MAX_HELD      64
#define HELD_OF_BYTES 8 /* of max_bytes, one part in so many */

/* Drops those before `end` but for launches that are needed by what comes from there on, which
 * move up to it. */
static int drop_until(struct aif_writer *w, size_t end, uint64_t max_bytes, struct aif_err *err)
{
	uint64_t held_bytes = 0;
	size_t to = end;
	int r = 0;

	/* The youngest first: they are the likeliest to be needed. */
	for (size_t i = end; i-- > w->chunks_first && r == 0;) {
		struct aif_written_chunk c = w->chunks[i];
		bool needed = c.kind == AIF_CHUNK_LAUNCHES &&
			      (c.open || (end < w->chunks_len && c.last_exec >= w->chunks[end].id));

		if (needed && end - to < MAX_HELD &&
		    (!max_bytes || held_bytes + c.bytes <= max_bytes / HELD_OF_BYTES)) {
			held_bytes += c.bytes;
			w->chunks[--to] = c;
			continue;
		}
		r = aif_writer_begin(w, err);
		if (r == 0)
			r = drop_chunk(w, &c, err);
		w->chunks_bytes -= c.bytes;
	}
	w->chunks_first = to;
	return r;
}

int aif_writer_trim(struct aif_writer *w, uint64_t max_bytes, uint64_t keep_ns, uint64_t now_ns,
		    struct aif_err *err)
{
	uint64_t bytes = w->chunks_bytes;
	size_t end = w->chunks_first;
	int r = 0;

	/* Chunks without a known time, written since the last call, had happened by now, whatever
	 * their clock says. */
	for (size_t i = w->chunks_timed; i < w->chunks_len; i++)
		if (w->chunks[i].until == UNTIL_UNKNOWN)
			w->chunks[i].until = now_ns;
	w->chunks_timed = w->chunks_len;
	for (; end < w->chunks_len; end++) {
		const struct aif_written_chunk *c = &w->chunks[end];
		bool old = keep_ns && now_ns > keep_ns && c->until < now_ns - keep_ns;

		if (!old && !(max_bytes && bytes > max_bytes))
			break;
		bytes -= c->bytes;
	}
	if (end > w->chunks_first)
		r = drop_until(w, end, max_bytes, err);
	/* Launches that are held take room, too: drops further chunks until the rest fits. */
	while (r == 0 && max_bytes && w->chunks_bytes > max_bytes && end < w->chunks_len)
		r = drop_until(w, ++end, max_bytes, err);
	/* The list of dropped chunks must not grow for ever. */
	if (w->chunks_first > w->chunks_len / 2) {
		w->chunks_len -= w->chunks_first;
		memmove(w->chunks, w->chunks + w->chunks_first, w->chunks_len * sizeof(*w->chunks));
		w->chunks_first = 0;
		w->chunks_timed = w->chunks_len;
	}
	return r;
}
