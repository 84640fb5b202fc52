/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_profile IN OUT HOST RANK,... [SECONDS PPM]: writes the part of a profile that is of some ranks as another host would have
 * recorded it, whose clock is that much ahead and that much faster, and whose date is as wrong. For tests of `aiflame merge`.
 */
#include "profile/chunk.h"
#include "profile/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct splitting {
	struct aif_profile p;
	struct aif_writer *w;
	bool *keeps; /* by process */
	bool has_rest;
	double ahead_ns, fast;
	uint64_t from;
	void *rows;
	size_t len;
};

static uint64_t skewed(const struct splitting *s, uint64_t at)
{
	double since = (double)(int64_t)(at - s->from);

	return at + (uint64_t)llround(s->ahead_ns + s->fast * since);
}

static bool keeps(const struct splitting *s, uint32_t process, uint32_t thread)
{
	if (process == AIF_NONE && thread != AIF_NONE)
		process = s->p.threads[thread].process;
	return process == AIF_NONE ? s->has_rest : s->keeps[process];
}

/* Defines what takes the rows of a kind: those that are kept, with other times. */
#define TAKE(kind, row, PROCESS, THREAD, CHANGE)                            \
	static int take_##kind(void *arg, const struct row *rows, size_t n) \
	{                                                                   \
		struct splitting *s = arg;                                  \
		struct row *to = s->rows;                                   \
		size_t len = 0;                                             \
                                                                            \
		for (size_t i = 0; i < n; i++) {                            \
			struct row x = rows[i];                             \
                                                                            \
			if (!keeps(s, PROCESS, THREAD))                     \
				continue;                                   \
			CHANGE;                                             \
			to[len++] = x;                                      \
		}                                                           \
		return aif_writer_##kind(s->w, to, len, NULL);              \
	}
#define SKEW(field)  x.field = skewed(s, x.field)
#define STAMP(field) x.field = x.clock == AIF_CLOCK_MONOTONIC ? skewed(s, x.field) : x.field
TAKE(launches, aif_launch_row, AIF_NONE, x.thread, SKEW(time))
TAKE(execs, aif_exec_row, x.process, AIF_NONE, (STAMP(start), STAMP(end)))
TAKE(samples, aif_sample_row, x.process, x.thread, SKEW(time))
TAKE(windows, aif_window_row, x.process, x.thread, (SKEW(start), SKEW(end)))
TAKE(cpu, aif_cpu_row, AIF_NONE, x.thread, SKEW(time))
TAKE(ops, aif_op_row, AIF_NONE, x.thread, (STAMP(start), STAMP(end)))
TAKE(counters, aif_counter_row, x.process, AIF_NONE, SKEW(time))
TAKE(memory, aif_memory_row, AIF_NONE, x.thread, SKEW(time))
TAKE(step_sums, aif_step_sum_row, AIF_NONE, x.thread, (SKEW(start), SKEW(end)))

static bool is_in(const char *list, uint32_t rank)
{
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (rank && strtoul(at, NULL, 10) == rank - 1)
			return true;
	return false;
}

static void set_meta(struct aif_profile *p, const char *key, const char *value)
{
	struct aif_meta m = {aif_strset_puts(&p->strings, key),
			     aif_strset_puts(&p->strings, value)};

	for (size_t i = 0; i < p->meta_len; i++)
		if (p->meta[i].key == m.key) {
			p->meta[i] = m;
			return;
		}
	if (aif_grow(&p->meta, &p->meta_cap, p->meta_len + 1, sizeof(m)) < 0)
		abort();
	p->meta[p->meta_len++] = m;
}

static void move_tables(struct splitting *s, const char *host, const char *ranks)
{
	struct aif_profile *p = &s->p;
	char date[24];

	snprintf(date, sizeof(date), "%" PRIu64,
		 (uint64_t)(strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10) +
			    (uint64_t)llround(s->ahead_ns)));
	set_meta(p, "start_realtime_ns", date);
	set_meta(p, "host", host);
	for (size_t i = 0; i < p->processes_len; i++) {
		struct aif_process *x = &p->processes[i];

		s->keeps[i] = is_in(ranks, x->rank) || (!x->rank && s->has_rest);
		if (!s->keeps[i]) {
			x->pid = 0;
			x->rank = 0;
			x->flags = 0;
		}
		x->host = AIF_NONE;
		x->start_ns = skewed(s, x->start_ns);
		x->end_ns = x->end_ns ? skewed(s, x->end_ns) : 0;
	}
	for (size_t i = 0; i < p->clock_pairs_len; i++) {
		p->clock_pairs[i].before = skewed(s, p->clock_pairs[i].before);
		p->clock_pairs[i].after = skewed(s, p->clock_pairs[i].after);
	}
}

int main(int argc, char **argv)
{
	struct splitting s = {0};
	struct aif_err err = {0};
	uint64_t bad;
	int r;

	if (argc < 5) {
		fputs("usage: split_profile IN OUT HOST RANK,... [SECONDS PPM]\n", stderr);
		return 2;
	}
	s.ahead_ns = argc > 5 ? atof(argv[5]) * 1e9 : 0;
	s.fast = argc > 6 ? atof(argv[6]) * 1e-6 : 0;
	s.has_rest = is_in(argv[4], 1);
	r = aif_profile_open(argv[1], &s.p, &err);
	if (r) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	s.from = s.p.start_ns;
	s.keeps = calloc(s.p.processes_len + 1, sizeof(*s.keeps));
	s.rows = malloc((size_t)AIF_CHUNK_MAX_ROWS * sizeof(struct aif_exec_row));
	if (!s.keeps || !s.rows)
		return 1;
	move_tables(&s, argv[3], argv[4]);
	r = aif_writer_new(argv[2], skewed(&s, s.p.start_ns), &s.w, &err);
#define ROWS(kind) \
	if (!r)    \
		r = aif_profile_##kind(&s.p, take_##kind, &s, &bad);
	ROWS(launches)
	ROWS(execs)
	ROWS(samples)
	ROWS(windows)
	ROWS(cpu)
	ROWS(ops)
	ROWS(counters)
	ROWS(memory)
	ROWS(step_sums)
	if (!r)
		r = aif_writer_tables(s.w, &s.p, &err);
	if (!r)
		r = aif_writer_finish(s.w, skewed(&s, s.p.end_ns), &err);
	if (r)
		fprintf(stderr, "%s\n", err.text);
	aif_profile_finish(&s.p);
	free(s.keeps);
	free(s.rows);
	return r != 0;
}
