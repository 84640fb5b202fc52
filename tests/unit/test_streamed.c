/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_ingest.h"

#include "record/sources/streamed.h"
#include "record/sources/xe_join.h"

/* Windows and samples that agents read off whole devices, from their rings to the rows. */

static void step(struct world *w, uint64_t now)
{
	aif_source_streamed.step(&w->d, &(struct aif_turn){.now = now});
}

static void last(struct world *w)
{
	aif_source_streamed.last(&w->d);
}

static void ended(struct world *w)
{
	aif_source_streamed.target_end(&w->d, w->t, 1);
}

static void pc(struct world *w, int slot, uint32_t window, uint64_t at, uint32_t reason,
	       uint32_t samples)
{
	struct aif_wire_pc *r =
		aif_ring_reserve(&w->ring[slot], AIF_WIRE_PC, sizeof(*r) + sizeof(r->samples[0]));

	assert_non_null(r);
	r->head.aux = window;
	r->code = AIF_WIRE_NONE;
	r->count = 1;
	r->pc = at;
	r->samples[0] = (uint64_t)reason << 32 | samples;
	aif_ring_commit(&w->ring[slot]);
}

/* Two devices, 5 and 6, with code at one address. */
static void code(struct world *w)
{
	PUT(w, 0, DEVICE, device, "one", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3);
	PUT(w, 0, DEVICE, device, "two", .head.aux = 6, .kind = AIF_DEVICE_GPU, .name_len = 3);
	PUT(w, 0, CODE, code, "multiply", .head.aux = 3, .name_len = 8);
	for (uint32_t i = 5; i <= 6; i++)
		PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10,
		    .address = UINT64_C(0x800000001000), .size = 64, .device = i);
	PUT(w, 0, REASON, reason, "sbid", .head.aux = 2, .name_len = 4);
}

static void window(struct world *w, uint32_t id, uint32_t device, uint32_t flags, uint64_t samples)
{
	PUT(w, 0, WINDOW, window, NULL, .head.aux = id, .device = device, .start = 100, .end = 200,
	    .period_ps = 1169000, .samples = samples, .flags = AIF_WIRE_WINDOW_ADDRESSES | flags);
}

static uint64_t sum(struct world *w, const char *device, uint32_t *ret_rows)
{
	const struct aif_profile *p = &w->store.p;
	struct aif_batch *b = take(w, AIF_BATCH_SAMPLE);
	uint64_t n = 0;

	*ret_rows = b ? (uint32_t)b->len : 0;
	for (size_t i = 0; b && i < b->len; i++)
		if (!strcmp(aif_profile_str(p, p->devices[b->samples[i].device].name), device))
			n += b->samples[i].count;
	return n;
}

static void a_window_waits_for_what_is_in_other_rings(void **state)
{
	struct world *w = *state;
	struct aif_streamed *s = w->d.source_state[AIF_SOURCE_STREAMED];
	uint64_t now = aif_now_ns();
	uint32_t rows;

	s->any_reader = true;
	w->d.targets = w->t;
	code(w);
	window(w, 1, 5, 0, 30);
	pc(w, 0, 1, 0x1008, 2, 10);
	aif_target_drain(&w->d, w->t);
	step(w, now + AIF_NS_PER_S);
	assert_int_equal(sum(w, "one", &rows), 0); /* it is not whole */
	pc(w, 0, 1, 0x1010, 2, 20);
	aif_target_drain(&w->d, w->t);
	step(w, now);
	assert_int_equal(sum(w, "one", &rows), 0); /* too young */
	step(w, aif_now_ns() + AIF_NS_PER_S);
	assert_int_equal(sum(w, "one", &rows), 30);
	assert_int_equal(rows, 2);
	assert_int_equal(w->d.samples, 30);
	assert_int_equal(s->samples, 0);
	assert_null(s->windows);
	/* A ring was full: it is not waited for for ever. */
	window(w, 2, 5, 0, 30);
	pc(w, 0, 2, 0x1008, 2, 10);
	aif_target_drain(&w->d, w->t);
	step(w, aif_now_ns() + 6 * AIF_NS_PER_S);
	assert_int_equal(sum(w, "one", &rows), 10);
	/* Samples that come after their window was given up are lost, and counted. */
	pc(w, 0, 2, 0x1008, 2, 20);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].reason, AIF_REASON_XE_BEHIND);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].count, 20);
	w->d.targets = NULL;
}

static void a_device_is_another_than_its_neighbour(void **state)
{
	struct world *w = *state;
	uint32_t rows;

	code(w);
	window(w, 1, 6, 0, 10);
	pc(w, 0, 1, 0x1008, 2, 10);
	aif_target_drain(&w->d, w->t);
	last(w);
	assert_int_equal(sum(w, "two", &rows), 10);
	assert_int_equal(rows, 1);
	/* With 64 bits another place. */
	window(w, 2, 6, 0, 10);
	pc(w, 0, 2, UINT64_C(0x400000001008), 2, 10);
	pc(w, 0, 2, UINT64_C(0x800000001008), 2, 5);
	aif_target_drain(&w->d, w->t);
	last(w);
	{
		struct aif_batch *b = take(w, AIF_BATCH_SAMPLE);

		assert_int_equal(b->len, 2);
		assert_int_equal(b->samples[0].frame, AIF_NONE);
		assert_int_equal(b->samples[0].process, AIF_NONE);
		assert_int_equal(b->samples[1].count, 5);
		assert_int_not_equal(b->samples[1].frame, AIF_NONE);
	}
	/* Samples are shared by the code of both devices where these may be parts of one. */
	window(w, 3, 6, AIF_WIRE_WINDOW_TILES, 1000);
	pc(w, 0, 3, 0x1008, 2, 1000);
	aif_target_drain(&w->d, w->t);
	last(w);
	assert_in_range(sum(w, "one", &rows), 499, 501);
	assert_int_equal(rows, 2);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].reason,
			 AIF_REASON_XE_AMBIGUOUS);
}

/* No more than so much is kept, whatever a target says. */
static void memory_is_bounded(void **state)
{
	struct world *w = *state;
	struct aif_streamed *s = w->d.source_state[AIF_SOURCE_STREAMED];

	code(w);
	for (uint32_t i = 0; i < 3000; i++)
		window(w, i, 5, 0, 10);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].reason, AIF_REASON_NO_MEMORY);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].count, 3000 - 1024);
	/* Samples of a window that was not kept are of no window. */
	pc(w, 0, 2999, 0x1008, 2, 1);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->slots[0].drain.bad, 1);
	last(w);
	s->samples = AIF_STREAMED_MAX;
	window(w, 1, 5, 0, 10);
	pc(w, 0, 1, 0x1008, 2, 7);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].reason, AIF_REASON_XE_BEHIND);
	assert_int_equal(w->store.p.losses[w->store.p.losses_len - 1].count, 7);
	last(w);
}

static void who_may_sample_is_said(void **state)
{
	struct world *w = *state;
	struct aif_xe_source *xe = w->d.source_state[AIF_SOURCE_XE];

	w->d.targets = w->t;
	code(w);
	PUT(w, 0, DEVICE, device, "last", .head.aux = 63, .kind = AIF_DEVICE_GPU, .name_len = 4);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10, .address = 64, .size = 64,
	    .device = 63);
	aif_target_drain(&w->d, w->t);
	/* Not without samples asked for. */
	step(w, aif_now_ns());
	assert_int_equal(w->shm->streamers, 0);
	w->opts.device_rate = 999;
	/* The agent may not while the recorder's own stream only rests. */
	xe->rests = true;
	step(w, aif_now_ns());
	assert_int_equal(w->shm->streamers, 0);
	xe->rests = false;
	/* Without the xe driver's stream the agent may. */
	step(w, aif_now_ns());
	assert_true(w->shm->streamers == (UINT64_C(1) << 63 | 1 << 5 | 1 << 6));
	w->d.targets = NULL;
}

static uint64_t over_soon(struct world *w)
{
	const struct aif_profile *p = &w->store.p;
	uint64_t n = 0;

	last(w);
	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason == AIF_REASON_STALLS_SHORT)
			n += p->losses[i].count;
	return n;
}

/* code() of Level Zero's. */
static void zero_code(struct world *w)
{
	code(w);
	PUT(w, 0, DEVICE, device, "onelevel zero", .head.aux = 5, .kind = AIF_DEVICE_GPU,
	    .name_len = 3, .runtime_len = 10);
	aif_target_drain(&w->d, w->t);
}

static void who_is_over_too_soon_is_counted(void **state)
{
	struct world *w = *state;

	code(w);
	aif_target_drain(&w->d, w->t);
	w->shm->began_ns = 1;
	w->opts.device_rate = 999;
	ended(w);
	assert_int_equal(over_soon(w), 0); /* no agent can */
	w->opts.device_rate = 0;
	zero_code(w);
	ended(w);
	assert_int_equal(over_soon(w), 0); /* nobody asked */
	w->opts.device_rate = 999;
	ended(w);
	ended(w);
	assert_int_equal(over_soon(w), 2);
	/* A process that collected nothing is not counted. */
	w->shm->began_ns = 0;
	ended(w);
	assert_int_equal(over_soon(w), 2);
	w->shm->began_ns = 1;
	/* Somebody has read the card, if there was nothing to be read. */
	window(w, 1, 5, 0, 0);
	aif_target_drain(&w->d, w->t);
	ended(w);
	assert_int_equal(over_soon(w), 2);
	ended(w);
	aif_streamed_read(&w->d, 0x400); /* some card: this one's place is not known */
	assert_int_equal(over_soon(w), 2);
	/* The agent's note has said why. */
	PUT(w, 0, NOTE, note, NULL, .head.aux = AIF_REASON_ZE_METRICS_OFF, .count = 1);
	aif_target_drain(&w->d, w->t);
	ended(w);
	assert_int_equal(over_soon(w), 2);
}

static void of_another_card_nobody_has_read(void **state)
{
	struct world *w = *state;

	w->opts.device_rate = 999;
	w->shm->began_ns = 1;
	zero_code(w);
	assert_int_equal(aif_map_put(&w->t->device_pci, 5, 0x300), 0);
	ended(w);
	aif_streamed_read(&w->d, 0x400);
	assert_int_equal(over_soon(w), 1);
	ended(w);
	aif_streamed_read(&w->d, 0x300);
	assert_int_equal(over_soon(w), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_window_waits_for_what_is_in_other_rings),
		TEST(a_device_is_another_than_its_neighbour),
		TEST(memory_is_bounded),
		TEST(who_may_sample_is_said),
		TEST(who_is_over_too_soon_is_counted),
		TEST(of_another_card_nobody_has_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
