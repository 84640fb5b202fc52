/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/reduce.h"

#include "analysis/attribution.h"
#include "profile/file.h"
#include "record/reduce/reducer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unit/fixture_profile.h"

/*
 * A recording of steps of which the input changes rows, in changes of eight bytes: a kind of rows, a row, a column, a kind of value, four
 * bytes of value. Reduced as a file it fails with words and leaves no file, or its file opens, and adds up if the whole did. Reduced while
 * it is written it has all launches that the whole has, but for those that it says it left out, and opens. A first byte says which of the
 * two: together they took twice as long.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* Each run allocates some MB a few thousand times: unwinding each call, and keeping what was freed, took most of the time. */
const char *__asan_default_options(void)
{
	return "malloc_context_size=1:quarantine_size_mb=0";
}

enum {
	CHANGE = 8,
	CHANGES_MAX = 64,
	STEPS = 64,
	EACH = 4,
	ROWS = STEPS * EACH,
	EVERY = 2,
	ROUNDS = 2
};
#define STEP_NS UINT64_C(20000000)

static struct aif_launch_row launches[ROWS];
static struct aif_exec_row execs[ROWS];
static struct aif_op_row ops[2 * STEPS];
static struct aif_window_row windows[4];
static struct aif_counter_row counters[4];

static void make_rows(struct aif_profile *p)
{
	for (uint64_t i = 0; i < ROWS; i++) {
		uint64_t at = FIXTURE_START + 1000000 + i / EACH * STEP_NS + i % EACH * 100000;

		launches[i] = fixture_launch(i);
		launches[i].time = at;
		execs[i] = fixture_exec(i);
		execs[i].start = at + 10000;
		execs[i].end = at + 60000;
	}
	for (unsigned i = 0; i < 2 * STEPS; i++) {
		char name[32];

		snprintf(name, sizeof(name), i % 2 ? "step#%u" : "aten::mm", i / 2);
		ops[i] = (struct aif_op_row){.start = launches[i / 2 * EACH].time - 1000,
					     .end = launches[i / 2 * EACH].time + STEP_NS / 2,
					     .kind = i % 2 ? AIF_OP_STEP : AIF_OP_OPERATOR,
					     .name = aif_strset_puts(&p->strings, name),
					     .shapes = AIF_NONE,
					     .types = AIF_NONE,
					     .stack = AIF_NONE,
					     .sequence = -1};
	}
	for (unsigned i = 0; i < 4; i++) {
		windows[i] = fixture_window(i);
		counters[i] = fixture_counter(i);
		counters[i].launch = 1 + launches[i * 50].launch;
	}
}

static uint64_t value_of(uint8_t kind, uint32_t raw)
{
	static const uint64_t special[] = {0,
					   1,
					   UINT32_MAX,
					   UINT64_MAX,
					   INT64_MAX,
					   UINT64_C(1) << 63,
					   FIXTURE_START,
					   FIXTURE_START + STEPS * STEP_NS};

	if (kind < AIF_ARRAY_LEN(special))
		return special[kind] + raw;
	return kind % 2 ? (uint64_t)raw << 32 : raw;
}

static void change(const uint8_t *c)
{
	const struct {
		void *rows;
		size_t size, len;
	} kinds[] = {
		{launches, sizeof(launches[0]), ROWS}, {execs, sizeof(execs[0]), ROWS},
		{ops, sizeof(ops[0]), 2 * STEPS},      {windows, sizeof(windows[0]), 4},
		{counters, sizeof(counters[0]), 4},
	};
	size_t k = c[0] % AIF_ARRAY_LEN(kinds), size = kinds[k].size, at = c[2] % (size / 4) * 4,
	       len = c[3] % 2 && at + 8 <= size ? 8 : 4,
	       row = (c[1] + (size_t)(c[0] / 8) * 256) % kinds[k].len;
	uint32_t raw;
	uint64_t value;

	memcpy(&raw, c + 4, sizeof(raw));
	value = value_of(c[3], raw);
	memcpy((uint8_t *)kinds[k].rows + row * size + at, &value, len);
}

/* Writes the rows in rounds, as a recorder does; r: NULL, or what leaves rows out of them. */
static void write_file(const char *path, struct aif_profile *p, struct aif_reducer *r)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	unlink(path);
	if (aif_writer_new(path, p->start_ns, &w, &err) < 0)
		abort();
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t rows = ROWS / ROUNDS, of = 2 * STEPS / ROUNDS;
		/* A second in which rows come is a minute: each is followed by a round. */
		uint64_t now = FIXTURE_START + STEPS * STEP_NS + i * 60 * AIF_NS_PER_S;

		if (aif_writer_launches(w, launches + i * rows, rows, &err) < 0 ||
		    aif_writer_execs(w, execs + i * rows, rows, &err) < 0 ||
		    aif_writer_ops(w, ops + i * of, of, &err) < 0 ||
		    (!i && (aif_writer_windows(w, windows, 4, &err) < 0 ||
			    aif_writer_counters(w, counters, 4, &err) < 0)) ||
		    aif_writer_tables(w, p, &err) < 0)
			abort();
		if (r && (aif_reducer_see(r, ops + i * of, of) < 0 ||
			  aif_reducer_see_execs(r, execs + i * rows, rows) < 0 ||
			  aif_reducer_round(r, w, p, now, i + 1 == ROUNDS, &err) < 0)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		if (r && i + 1 == ROUNDS &&
		    (aif_reducer_durations(r, p) < 0 || aif_writer_tables(w, p, &err) < 0))
			abort();
		if (aif_writer_commit(w, &err) < 0)
			abort();
	}
	if (aif_writer_finish(w, p->end_ns, &err) < 0)
		abort();
}

/* Opens a profile, and counts its launches. False: it does not add up. */
static bool adds_up(const char *path, uint64_t *ret_launches, struct aif_buf *why)
{
	struct aif_attribution at;
	struct aif_profile p;
	struct aif_err err = {0};
	bool does;

	if (aif_profile_open(path, &p, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		abort();
	}
	*ret_launches = aif_profile_rows(&p, AIF_CHUNK_LAUNCHES);
	if (aif_attribution_compute(&p, NULL, &at, &err) < 0) {
		aif_profile_finish(&p);
		aif_buf_puts(why, err.text);
		return false;
	}
	does = aif_conservation_check(&at.conservation, why);
	aif_attribution_finish(&at);
	aif_profile_finish(&p);
	return does;
}

/* Reduces the rows as a file. */
static void as_file(struct aif_profile *p, bool is_changed)
{
	const struct aif_reduce_opts o = {.every = EVERY};
	char whole[64], reduced[64];
	struct aif_reduce_sum sum;
	struct aif_buf why = {0};
	struct aif_err err = {0};
	uint64_t made, left;
	int e;

	snprintf(whole, sizeof(whole), "/dev/shm/fuzz_reduce.%d.in", (int)getpid());
	snprintf(reduced, sizeof(reduced), "/dev/shm/fuzz_reduce.%d", (int)getpid());
	unlink(reduced);
	write_file(whole, p, NULL);
	e = aif_reduce_file(whole, reduced, &o, &sum, &err);
	if ((e < 0) != (err.code < 0) || (e < 0) != (access(reduced, F_OK) < 0))
		abort();
	if (!e && !adds_up(reduced, &left, &why) && adds_up(whole, &made, &why)) {
		fprintf(stderr, "reduced: %s\n", aif_buf_str(&why));
		abort();
	}
	if (!is_changed && (e || !sum.left_out)) {
		fprintf(stderr, "nothing is left out: %s\n", err.text);
		abort();
	}
	aif_buf_finish(&why);
	unlink(whole);
	unlink(reduced);
}

/* Reduces the rows while they are written. */
static void as_they_come(struct aif_profile *p, bool is_changed)
{
	struct aif_reducer *r = aif_reducer_new(EVERY);
	struct aif_buf why = {0};
	uint64_t left;
	char live[64];

	snprintf(live, sizeof(live), "/dev/shm/fuzz_reduce.%d.live", (int)getpid());
	write_file(live, p, r);
	adds_up(live, &left, &why);
	if (left + aif_reducer_sum(r)->left_out != ROWS) {
		fprintf(stderr, "live: %llu of %d launches, left out %llu\n",
			(unsigned long long)left, ROWS,
			(unsigned long long)aif_reducer_sum(r)->left_out);
		abort();
	}
	if (!is_changed && !aif_reducer_sum(r)->left_out)
		abort();
	aif_reducer_free(r);
	aif_buf_finish(&why);
	unlink(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_profile p;

	if (size > 1 + (size_t)CHANGES_MAX * CHANGE)
		return -1;
	fixture_profile(&p);
	make_rows(&p);
	p.end_ns = FIXTURE_START + STEPS * STEP_NS + 1000000000;
	for (size_t i = 1; i + CHANGE <= size; i += CHANGE)
		change(data + i);
	if (size && data[0] % 2)
		as_they_come(&p, size > CHANGE);
	else
		as_file(&p, size > CHANGE);
	aif_profile_finish(&p);
	return 0;
}
