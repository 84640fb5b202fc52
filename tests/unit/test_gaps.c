/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file.h"
#include "record/ingest/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* Tests the recorder's gaps, which follow from the times at which an agent says that it
 * collected. */
#define RING_SIZE (UINT64_C(1) << 16)

struct world {
	struct aif_store store;
	struct aif_drainer d;
	struct aif_shm *shm;
	struct aif_target *t;
	uint64_t t0; /* the recording's start: a minute ago */
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	assert_non_null(w);
	w->t0 = aif_now_ns() - 60 * AIF_NS_PER_S;
	assert_int_equal(aif_store_init(&w->store, w->t0), 0);
	w->d = (struct aif_drainer){.store = &w->store};
	assert_int_equal(aif_shm_create(1, RING_SIZE, &w->shm, &fd), 0);
	close(fd);
	w->t = aif_target_new(&w->d, (int)getpid(),
			      aif_store_process(&w->store, &(struct aif_process){.pid = 1}), w->shm,
			      1, RING_SIZE);
	assert_non_null(w->t);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	aif_target_free(&w->d, w->t);
	aif_store_finish(&w->store);
	free(w);
	return 0;
}

/* Seconds since the recording's start: a second of this target's is 0 where nothing is said. */
static void say(struct world *w, uint64_t began, uint64_t stopped)
{
	atomic_store(&w->shm->began_ns, began ? w->t0 + began * AIF_NS_PER_S : 0);
	atomic_store(&w->shm->stopped_ns, stopped ? w->t0 + stopped * AIF_NS_PER_S : 0);
}

/* The gaps that were written since the last call, their ends rounded to seconds: "1-5 7-8". */
static const char *written(struct world *w, struct aif_buf *b)
{
	struct aif_batch *batch;

	aif_buf_clear(b);
	aif_batches_flush(&w->store.batches);
	while ((batch = aif_batches_take(&w->store.batches)) != NULL) {
		for (size_t i = 0; i < batch->len; i++) {
			const struct aif_window_row *r = &batch->windows[i];

			assert_int_equal(batch->kind, AIF_BATCH_WINDOW);
			assert_int_equal(r->device, AIF_NONE);
			assert_int_equal(r->thread, AIF_NONE);
			assert_int_equal(r->process, 0);
			assert_int_equal(r->held | r->p_ppm, 0);
			aif_buf_printf(b, "%s%d-%d", b->len ? " " : "",
				       (int)((r->start - w->t0) / AIF_NS_PER_S),
				       (int)((r->end - w->t0) / AIF_NS_PER_S));
		}
		aif_batches_give(&w->store.batches, batch);
	}
	return aif_buf_str(b);
}

/* An agent whose runtime starts has launched nothing before. */
static void one_that_starts_has_no_gap(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	aif_target_gaps(&w->d, w->t, true); /* it has said nothing yet */
	say(w, 7, 7);
	aif_target_gaps(&w->d, w->t, true);
	assert_int_equal(w->t->gap_since, 0);
	assert_string_equal(written(w, &b), "");
	aif_buf_finish(&b);
}

/* Returns how often an agent stopped because the recorder was silent. */
static uint64_t silences(const struct world *w)
{
	for (size_t i = 0; i < w->store.p.losses_len; i++)
		if (w->store.p.losses[i].reason == AIF_REASON_RECORDER_SILENT)
			return w->store.p.losses[i].count;
	return 0;
}

/* An agent that stopped by itself, as the recorder had no CPU, is counted. A pause that was asked for is not. */
static void one_that_misses_us_is_counted(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	say(w, 7, 7);
	aif_target_beat(w->t, w->t0 + 7 * AIF_NS_PER_S);
	aif_target_gaps(&w->d, w->t, true);
	aif_target_beat(w->t, w->t0 + 8 * AIF_NS_PER_S);
	say(w, 7, 8); /* was told to */
	aif_target_gaps(&w->d, w->t, false);
	say(w, 9, 8);
	aif_target_gaps(&w->d, w->t, false);
	assert_int_equal(silences(w), 0);
	aif_target_beat(w->t, w->t0 + 9 * AIF_NS_PER_S);
	aif_target_beat(w->t, w->t0 + 12 * AIF_NS_PER_S);
	assert_int_equal(w->shm->heartbeat_ns, w->t0 + 12 * AIF_NS_PER_S);
	say(w, 9, 11);
	aif_target_gaps(&w->d, w->t, false);
	assert_int_equal(silences(w), 1);
	say(w, 13, 11);
	aif_target_gaps(&w->d, w->t, false);
	say(w, 13, 14); /* told to again */
	aif_target_gaps(&w->d, w->t, false);
	assert_int_equal(silences(w), 1);
	assert_string_equal(written(w, &b), "8-9 11-13");
	aif_buf_finish(&b);
}

/* An agent that ran before has a gap from the recording's start, however early it stopped. */
static void one_that_is_met_later_has_one(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	say(w, 3, 0);
	atomic_store(&w->shm->stopped_ns, w->t0 - 5);
	aif_target_gaps(&w->d, w->t, false);
	assert_string_equal(written(w, &b), "0-3");
	aif_buf_finish(&b);
}

static void a_pause_is_a_gap(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	say(w, 3, 3);
	aif_target_gaps(&w->d, w->t, false);
	say(w, 3, 10);
	aif_target_gaps(&w->d, w->t, false);
	assert_true(w->t->gap_since);
	assert_string_equal(written(w, &b), ""); /* it lasts */
	say(w, 20, 10);
	aif_target_gaps(&w->d, w->t, false);
	aif_target_gaps(&w->d, w->t, true);
	assert_string_equal(written(w, &b), "10-20");
	assert_int_equal(w->t->gap_since, 0);
	/* The recorder was not looking: it was silent, and the agent stopped by itself. */
	say(w, 40, 30);
	aif_target_gaps(&w->d, w->t, false);
	assert_string_equal(written(w, &b), "30-40");
	/* Again, within a pause. */
	say(w, 40, 45);
	aif_target_gaps(&w->d, w->t, false);
	say(w, 47, 50);
	aif_target_gaps(&w->d, w->t, false);
	assert_string_equal(written(w, &b), "45-47");
	say(w, 55, 50);
	aif_target_gaps(&w->d, w->t, false);
	assert_string_equal(written(w, &b), "50-55");
	aif_buf_finish(&b);
}

/* Each second, so that it is in the file if the recorder dies. */
static void a_long_one_is_written_in_pieces(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	say(w, 0, 10); /* held from the start (--delay) */
	aif_target_gaps(&w->d, w->t, true);
	assert_string_equal(written(w, &b), "10-60");
	say(w, 20, 10); /* earlier than what was written: the clock was read before */
	aif_target_gaps(&w->d, w->t, true);
	assert_string_equal(written(w, &b), "");
	assert_int_equal(w->t->gap_since, 0);
	aif_buf_finish(&b);
}

/* A process that lives on when the recording ends may have worked until its end; one that has ended
 * has not. */
static void a_process_that_lives_on_may_have_worked_to_the_end(void **state)
{
	struct world *w = *state;
	struct aif_buf b = {0};

	say(w, 3, 3);
	aif_target_last_gap(&w->d, w->t, w->t0 + 20 * AIF_NS_PER_S, w->t0 + 22 * AIF_NS_PER_S);
	assert_string_equal(written(w, &b), "20-22");
	w->t->gap_since = 0;
	w->t->ended = true;
	aif_target_last_gap(&w->d, w->t, w->t0 + 20 * AIF_NS_PER_S, w->t0 + 22 * AIF_NS_PER_S);
	assert_string_equal(written(w, &b), "");
	say(w, 3, 15);
	aif_target_last_gap(&w->d, w->t, w->t0 + 20 * AIF_NS_PER_S, w->t0 + 22 * AIF_NS_PER_S);
	assert_string_equal(written(w, &b), "15-22");
	aif_buf_finish(&b);
}

/* An agent's times may be anything. */
static void nonsense_stays_within_the_recording(void **state)
{
	static const uint64_t odd[] = {1, UINT64_MAX, UINT64_MAX / 2, 0};
	struct world *w = *state;
	struct aif_batch *batch;

	for (unsigned i = 0; i < 64; i++) {
		atomic_store(&w->shm->began_ns, odd[i % 4]);
		atomic_store(&w->shm->stopped_ns, odd[i / 4 % 4]);
		aif_target_gaps(&w->d, w->t, i & 1);
	}
	aif_batches_flush(&w->store.batches);
	while ((batch = aif_batches_take(&w->store.batches)) != NULL) {
		for (size_t i = 0; i < batch->len; i++) {
			assert_true(batch->windows[i].start >= w->t0);
			assert_true(batch->windows[i].end > batch->windows[i].start);
			assert_true(batch->windows[i].end <= aif_now_ns());
		}
		aif_batches_give(&w->store.batches, batch);
	}
}

/* A stack that is in the file already is found again, not whole: the file has to say so. And a module's kernel
 * is known only later. */
static void what_is_learned_after_a_commit_is_written(void **state)
{
	struct world *w = *state;
	struct aif_err err = {0};
	struct aif_profile got;
	struct aif_writer *file;
	char path[64];
	uint32_t module, frame, whole, cut, leaf;

	snprintf(path, sizeof(path), "/tmp/aiflame-gaps-%d", (int)getpid());
	assert_int_equal(aif_writer_new(path, w->t0, &file, &err), 0);
	module = aif_store_module(&w->store, AIF_MODULE_DEVICE_ELF, "/k.so", 5, "", 0);
	frame = aif_store_frame(&w->store, AIF_FRAME_DEVICE, module, 16);
	whole = aif_store_stack(&w->store, AIF_NONE, frame, 0);
	assert_int_equal(aif_writer_tables(file, &w->store.p, &err), 0);
	assert_int_equal(aif_writer_commit(file, &err), 0);

	cut = aif_store_stack(&w->store, AIF_NONE, frame, AIF_STACK_TRUNCATED);
	leaf = aif_store_stack(&w->store, cut, frame, AIF_STACK_GUESSED | AIF_STACK_TRUNCATED);
	assert_int_equal(aif_store_stack(&w->store, AIF_NONE, frame, AIF_STACK_TRUNCATED), cut);
	assert_int_equal(aif_store_stack(&w->store, AIF_NONE, frame, 0), whole);
	w->store.p.modules[module].kernel =
		aif_store_kernel(&w->store, aif_store_puts(&w->store, "k"), AIF_NONE);
	assert_int_equal(aif_writer_tables(file, &w->store.p, &err), 0);
	assert_int_equal(aif_writer_finish(file, aif_now_ns(), &err), 0);

	assert_int_equal(aif_profile_open(path, &got, &err), 0);
	assert_int_equal(got.stacks_len, 3);
	assert_int_equal(got.stacks[whole].flags, 0);
	assert_int_equal(got.stacks[cut].flags, AIF_STACK_TRUNCATED);
	assert_int_equal(got.stacks[leaf].flags, AIF_STACK_GUESSED | AIF_STACK_TRUNCATED);
	assert_int_equal(got.stacks[leaf].depth, 2);
	assert_int_equal(got.modules[module].kernel, 0);
	aif_profile_finish(&got);
	unlink(path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(one_that_starts_has_no_gap),
		TEST(one_that_is_met_later_has_one),
		TEST(one_that_misses_us_is_counted),
		TEST(a_pause_is_a_gap),
		TEST(a_long_one_is_written_in_pieces),
		TEST(a_process_that_lives_on_may_have_worked_to_the_end),
		TEST(nonsense_stays_within_the_recording),
		TEST(what_is_learned_after_a_commit_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
