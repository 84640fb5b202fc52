/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/gpus.h"
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/streamed.h"
#include "record/sources/xe_join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/* A second's counts of a card, processes' places, and the rows that become of them. */
struct world {
	struct aif_store s;
	struct aif_record_opts opts;
	struct aif_drainer d;
	struct aif_xe_batch *b;
	uint32_t device;
};

static int start(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct aif_device device = {.kind = AIF_DEVICE_GPU};

	if (!w || aif_store_init(&w->s, 0) < 0)
		return -1;
	w->d = (struct aif_drainer){.store = &w->s, .opts = &w->opts};
	if (aif_sources_init(&w->d, aif_sources, AIF_SOURCE_COUNT, NULL) < 0)
		return -1;
	w->b = calloc(1, sizeof(*w->b) + 2 * sizeof(w->b->windows[0]));
	w->b->start = 1000;
	w->b->end = 2000;
	w->b->windows_len = 1;
	w->device = aif_store_device(&w->s, &device);
	*state = w;
	return 0;
}

static int stop(void **state)
{
	struct world *w = *state;

	aif_xe_batch_free(w->b);
	aif_sources_finish(&w->d);
	aif_store_finish(&w->s);
	free(w);
	return 0;
}

static void place(struct world *w, uint32_t process, const char *name, uint64_t at, uint64_t size)
{
	struct aif_code_range p = {.address = at,
				   .size = size,
				   .process = process,
				   .device = w->device,
				   .name = aif_store_puts(&w->s, name)};

	p.module =
		aif_store_module(&w->s, AIF_MODULE_DEVICE, name, strlen(name), name, strlen(name));
	p.code = p.module;
	aif_code_map_put(aif_device_code_map(&w->d), &w->s, &p);
}

static void tell(struct world *w, uint64_t address, enum aif_xe_reason reason, uint64_t count)
{
	struct aif_xe_record r = {.ip = address >> 3};

	while (count) {
		uint64_t some = AIF_MIN(count, 255);

		r.low = reason < 7 ? some << 8 * reason : 0;
		r.high = reason < 7 ? 0 : some << 8 * (reason - 7);
		assert_int_equal(aif_xe_counts_add(&w->b->windows[0].counts, &r, 1), 1);
		count -= some;
	}
}

/* Samples of a process (AIF_NONE: nobody's) at a place's offset (AIF_NONE: nowhere) in windows of that kind. */
static uint64_t samples(struct world *w, uint32_t process, const char *name, uint64_t offset,
			const char *reason, uint32_t held)
{
	const struct aif_batch *rows = w->s.batches.open[AIF_BATCH_SAMPLE],
			       *windows = w->s.batches.open[AIF_BATCH_WINDOW];
	uint64_t sum = 0;

	for (size_t i = 0; rows && i < rows->len; i++) {
		const struct aif_sample_row *x = &rows->samples[i];
		bool fits = x->process == process && x->device == w->device &&
			    x->thread == AIF_NONE && x->time == w->b->start &&
			    !strcmp(aif_profile_str(&w->s.p, x->reason), reason);

		if (!fits || (name ? x->frame == AIF_NONE : x->frame != AIF_NONE))
			continue;
		if (!name) {
			assert_int_equal(x->window, AIF_NONE);
			sum += x->count;
			continue;
		}
		if (w->s.p.frames[x->frame].address != offset ||
		    strcmp(aif_profile_str(&w->s.p,
					   w->s.p.modules[w->s.p.frames[x->frame].module].path),
			   name) != 0)
			continue;
		for (size_t k = 0; k < windows->len; k++) {
			const struct aif_window_row *y = &windows->windows[k];

			if (y->window != x->window)
				continue;
			assert_true(y->start == 1000 && y->end == 2000 && y->process == process &&
				    y->device == w->device);
			sum += y->held == held ? x->count : 0;
		}
	}
	return sum;
}

static size_t windows(const struct world *w)
{
	return w->s.batches.open[AIF_BATCH_WINDOW] ? w->s.batches.open[AIF_BATCH_WINDOW]->len : 0;
}

static uint64_t lost(const struct world *w, enum aif_reason reason)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->s.p.losses_len; i++)
		n += w->s.p.losses[i].reason == reason ? w->s.p.losses[i].count : 0;
	return n;
}

static void samples_find_their_instruction(void **state)
{
	struct world *w = *state;

	place(w, 0, "mm", UINT64_C(0x8000fffd0000), 0x400);
	place(w, 1, "rows", UINT64_C(0x8000fffd0400), 0x100);
	place(w, 2, "idle", 0x1000, 0x100);
	tell(w, 0xfffd0228, AIF_XE_SBID, 300);
	tell(w, 0xfffd0228, AIF_XE_ACTIVE, 3);
	tell(w, 0xfffd0400, AIF_XE_TDR, 1);
	tell(w, 0xfffd0500, AIF_XE_SEND, 7);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, 0, "mm", 0x228, "sbid", AIF_HELD), 300);
	assert_int_equal(samples(w, 0, "mm", 0x228, "active", AIF_HELD), 3);
	assert_int_equal(samples(w, 1, "rows", 0, "tdr", AIF_HELD), 1);
	assert_int_equal(samples(w, AIF_NONE, NULL, 0, "send", 0), 7);
	assert_int_equal(w->d.samples, 311);
	/* A process without samples has a window, too. */
	assert_int_equal(windows(w), 3);
	assert_int_equal(w->s.p.losses_len, 0);
}

static void shared_addresses_are_shared_by_time(void **state)
{
	struct world *w = *state;

	place(w, 0, "mm", 0x1000, 0x400);
	place(w, 1, "mn", 0x1000, 0x400);
	aif_code_map_ran(aif_device_code_map(&w->d), 0, aif_store_puts(&w->s, "mm"), 3000);
	aif_code_map_ran(aif_device_code_map(&w->d), 1, aif_store_puts(&w->s, "mn"), 1000);
	tell(w, 0x1008, AIF_XE_SYNC, 1000);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, 0, "mm", 8, "sync", AIF_HELD_AMBIGUOUS), 750);
	assert_int_equal(samples(w, 1, "mn", 8, "sync", AIF_HELD_AMBIGUOUS), 250);
	assert_int_equal(windows(w), 4);
	assert_int_equal(lost(w, AIF_REASON_XE_AMBIGUOUS), 1000);
}

/* One at a time, as most instructions' are: the small share gets some of them. */
static void single_samples_are_shared_fairly(void **state)
{
	struct world *w = *state;
	uint64_t first = 0, second = 0;

	place(w, 0, "mm", 0, 80000);
	place(w, 1, "mn", 0, 80000);
	aif_code_map_ran(aif_device_code_map(&w->d), 0, aif_store_puts(&w->s, "mm"), 9000);
	aif_code_map_ran(aif_device_code_map(&w->d), 1, aif_store_puts(&w->s, "mn"), 1000);
	for (uint64_t i = 0; i < 10000; i++)
		tell(w, 8 * i, AIF_XE_OTHER, 1);
	aif_xe_join(&w->d, w->b);
	for (size_t i = 0; i < w->s.batches.open[AIF_BATCH_SAMPLE]->len; i++) {
		const struct aif_sample_row *x = &w->s.batches.open[AIF_BATCH_SAMPLE]->samples[i];

		*(x->process ? &second : &first) += x->count;
	}
	assert_int_equal(first + second, 10000);
	assert_in_range(second, 850, 1150);
}

static void without_times_they_are_shared_equally(void **state)
{
	struct world *w = *state;

	place(w, 0, "mm", 0x1000, 0x400);
	place(w, 1, "mn", 0x1000, 0x400);
	place(w, 2, "mo", 0x1000, 0x400);
	tell(w, 0x1008, AIF_XE_SYNC, 3000);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, 0, "mm", 8, "sync", AIF_HELD_AMBIGUOUS), 1000);
	assert_int_equal(samples(w, 1, "mn", 8, "sync", AIF_HELD_AMBIGUOUS), 1000);
	assert_int_equal(samples(w, 2, "mo", 8, "sync", AIF_HELD_AMBIGUOUS), 1000);
}

static void whole_addresses_are_not_shared(void **state)
{
	struct world *w = *state;

	w->b->windows[0].wide = true;
	place(w, 0, "mm", UINT64_C(0x800000001000), 0x400);
	place(w, 1, "mn", UINT64_C(0x400000001000), 0x400);
	tell(w, UINT64_C(0x400000001008), AIF_XE_SYNC, 5);
	tell(w, 0x1008, AIF_XE_SYNC, 2);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, 1, "mn", 8, "sync", AIF_HELD), 5);
	assert_int_equal(samples(w, AIF_NONE, NULL, 0, "sync", 0), 2);
	assert_int_equal(lost(w, AIF_REASON_XE_AMBIGUOUS), 0);
}

/* ---- sums by address ----------------------------------------------------------------------------- */

static void sums_are_exact_and_bounded(void **state)
{
	struct aif_xe_counts c = {0};
	struct aif_xe_record r[512];
	uint64_t told = 0, taken = 0;

	(void)state;
	for (uint64_t round = 0; round < 400; round++) {
		size_t n;

		for (size_t i = 0; i < AIF_ARRAY_LEN(r); i++)
			r[i] = (struct aif_xe_record){.ip = aif_mix64(round * 512 + i) % 100000,
						      .low = 0x0100000000000002, /* 2 and 1 */
						      .high = i % 2};
		/* Records without counts are nobody's. */
		r[7].low = r[7].high = 0;
		n = aif_xe_counts_add(&c, r, AIF_ARRAY_LEN(r));
		taken += n;
		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < AIF_XE_REASONS; k++)
				told += aif_xe_count(&r[i], k);
		if (n < AIF_ARRAY_LEN(r))
			break;
	}
	assert_in_range(c.len, AIF_XE_COUNTS_MAX - 16, AIF_XE_COUNTS_MAX);
	assert_true(c.slots_cap <= 2 * AIF_XE_COUNTS_MAX);
	assert_int_equal(aif_xe_counts_samples(&c), told);
	assert_int_equal(c.records, taken);
	aif_xe_counts_finish(&c);
	/* No sum can wrap. */
	for (size_t i = 0; i < AIF_ARRAY_LEN(r); i++)
		r[i] = (struct aif_xe_record){.ip = 5, .low = 255};
	told = 0;
	while (aif_xe_counts_add(&c, r, AIF_ARRAY_LEN(r)) == AIF_ARRAY_LEN(r))
		told += 512 * 255;
	assert_int_equal(aif_xe_counts_samples(&c), told);
	assert_true(told <= UINT32_MAX);
	aif_xe_counts_finish(&c);
}

/* Samples in unknown code are of the only process that used the card, or of the only one of them
 * that told of no code. */
static void code_of_nobody_may_have_an_owner(void **state)
{
	struct world *w = *state;
	const struct aif_xe_use uses[] = {{.pci = 7, .pid = 1 << 29, .name = "game"},
					  {.pci = 7, .pid = 1 << 28, .name = "python3"},
					  {.pci = 7, .pid = 1 << 27, .name = "compositor"},
					  {.pci = 8, .pid = 1 << 26, .name = "elsewhere"}};
	struct aif_process python = {.pid = 1 << 28};
	uint32_t process, game;

	process = aif_store_process(&w->s, &python);
	place(w, process, "mm", 0x1000, 0x100);
	w->b->windows[0].pci = 7;
	tell(w, 0x9000, AIF_XE_SEND, 3);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, AIF_NONE, NULL, 0, "send", 0), 3);

	/* Only python3 used this card. */
	w->b->uses[w->b->uses_len++] = uses[1];
	w->b->uses[w->b->uses_len++] = uses[3];
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, process, NULL, 0, "send", 0), 3);

	w->b->uses[w->b->uses_len++] = uses[0];
	aif_xe_join(&w->d, w->b);
	game = aif_store_process_alive(&w->s, 1 << 29);
	assert_int_not_equal(game, AIF_NONE);
	assert_string_equal(aif_profile_str(&w->s.p, w->s.p.processes[game].exe), "game");
	assert_int_equal(samples(w, game, NULL, 0, "send", 0), 3);
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, game, NULL, 0, "send", 0), 6);
	assert_int_equal(w->s.p.processes_len, 2);

	/* Two processes that told of no code used the card: the owner is not known. */
	w->b->uses[w->b->uses_len++] = uses[2];
	aif_xe_join(&w->d, w->b);
	assert_int_equal(samples(w, AIF_NONE, NULL, 0, "send", 0), 6);
	assert_int_equal(w->s.p.processes_len, 2);
}

/* The use of a card is a counter: in all, and with each process that is recorded. */
static void how_busy_is_a_counter(void **state)
{
	struct world *w = *state;
	struct aif_process python = {.pid = 1 << 28};
	uint32_t process = aif_store_process(&w->s, &python), card = aif_gpu_device(&w->d, 7);
	const struct aif_batch *b;

	w->b->uses[0] = (struct aif_xe_use){.pci = 7, .pid = 1 << 29, .cycles = 250, .total = 1000};
	w->b->uses[1] = (struct aif_xe_use){.pci = 8, .pid = 1 << 29, .cycles = 9, .total = 10};
	w->b->uses[2] = (struct aif_xe_use){.pci = 7, .pid = 1 << 28, .cycles = 125, .total = 1000};
	/* The time in which these cycles were counted is not known. */
	w->b->uses[3] = (struct aif_xe_use){.pci = 7, .pid = 1 << 28, .cycles = 99};
	w->b->uses_len = 4;
	aif_xe_join(&w->d, w->b);
	b = w->s.batches.open[AIF_BATCH_COUNTER];
	assert_non_null(b);
	assert_int_equal(b->len, 2);
	assert_int_equal(b->counters[0].process, AIF_NONE);
	assert_true(b->counters[0].value == 37.5);
	assert_int_equal(b->counters[0].device, card);
	assert_int_equal(b->counters[0].time, w->b->end);
	assert_string_equal(aif_profile_str(&w->s.p, b->counters[0].name), "busy");
	assert_string_equal(aif_profile_str(&w->s.p, b->counters[0].unit), "%");
	assert_int_equal(b->counters[1].process, process);
	assert_true(b->counters[1].value == 12.5);
	/* For which there is no room: counted. */
	aif_batches_flush(&w->s.batches);
	w->s.batches.made = AIF_BATCH_MAX;
	aif_xe_join(&w->d, w->b);
	assert_null(w->s.batches.open[AIF_BATCH_COUNTER]);
	assert_int_equal(w->s.p.losses_len, 2); /* in all, and with the process */
	assert_int_equal(w->s.p.losses[0].reason, AIF_REASON_WRITER_BEHIND);
	assert_int_equal(w->s.p.losses[0].count + w->s.p.losses[1].count, 2);
}

/* A card that is sampled before anybody tells of it is the one that is told of later: a device, not two. */
static void a_card_is_one_device(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->s.p;
	struct aif_device real = {.kind = AIF_DEVICE_GPU,
				  .name = aif_store_puts(&w->s, "Max 1100"),
				  .vendor = aif_store_puts(&w->s, "Intel(R) Corporation"),
				  .clock = AIF_CLOCK_DEVICE},
			  tile = real;
	uint32_t first = aif_gpu_device(&w->d, 0x300), second = aif_gpu_device(&w->d, 0x400);
	size_t devices = p->devices_len;

	assert_int_not_equal(first, second);
	assert_string_equal(aif_profile_str(p, p->devices[second].name),
			    "Intel GPU at 0000:04:00.0");
	assert_int_equal(aif_gpu_find(&w->d, 0x400), second);
	assert_int_equal(aif_gpu_find(&w->d, 0x500), AIF_NONE);
	assert_int_equal(aif_gpu_define(&w->d, 0x400, &real), second);
	assert_string_equal(aif_profile_str(p, p->devices[second].name), "Max 1100");
	assert_int_equal(p->devices_len, devices);
	/* Another process tells the same; its part is another device. */
	assert_int_equal(aif_gpu_define(&w->d, 0x400, &real), second);
	assert_int_equal(aif_gpu_device(&w->d, 0x400), second);
	tile.units = 5;
	assert_int_equal(aif_gpu_define(&w->d, 0x400, &tile), devices);
	assert_int_equal(aif_gpu_find(&w->d, 0x400), second);
	/* A device without a place becomes a new one beside several cards. */
	tile.units = 6;
	assert_int_equal(aif_gpu_define(&w->d, 0, &tile), devices + 1);
	/* A device that is defined before its card is seen. */
	tile.units = 7;
	assert_int_equal(aif_gpu_define(&w->d, 0x500, &tile), devices + 2);
	assert_int_equal(aif_gpu_device(&w->d, 0x500), devices + 2);
	/* The only card, whose place is unknown, is the device that is defined. */
	w->d.gpus_len = 0;
	first = aif_gpu_device(&w->d, 0);
	tile.units = 8;
	assert_int_equal(aif_gpu_define(&w->d, 0x600, &tile), first);
	assert_int_equal(aif_gpu_find(&w->d, 0x600), first);
	/* A device of another vendor is not the only card. */
	w->d.gpus_len = 0;
	first = aif_gpu_device(&w->d, 0x700);
	tile.vendor = aif_store_puts(&w->s, "NVIDIA");
	assert_int_not_equal(aif_gpu_define(&w->d, 0, &tile), first);
}

/* Sums by their addresses: all of them, each once, in order; or none where these are too far apart. */
static void sums_come_in_order(void **state)
{
	static const uint64_t masks[] = {0, 0xff, 0x1fffffff, UINT64_C(0x7fffffffffff), UINT64_MAX};

	(void)state;
	for (size_t m = 0; m < AIF_ARRAY_LEN(masks); m++) {
		struct aif_xe_counts c = {0}, like = {0};
		const uint64_t *order;
		uint64_t last = 0;
		static bool seen[AIF_XE_COUNTS_MAX];
		size_t taken = 0;

		for (uint64_t i = 0; i < 20000; i++) {
			struct aif_xe_record r = {
				.ip = (UINT64_C(1) << 63) + (aif_mix64(i) & masks[m]), .low = 1};

			assert_int_equal(aif_xe_counts_add(&c, &r, 1), 1);
			taken += masks[m] == 0xff || masks[m] == 0;
		}
		assert_int_equal(c.len, m == 0 ? 1 : taken ? 256 : c.len);
		assert_int_equal(aif_xe_counts_samples(&c), 20000);
		order = aif_xe_counts_order(&c);
		if (masks[m] == UINT64_MAX) {
			assert_null(order);
		} else {
			memset(seen, 0, sizeof(seen));
			assert_non_null(order);
			for (size_t i = 0; i < c.len; i++) {
				uint32_t at = aif_xe_counts_index(order[i]);

				assert_true(at < c.len && !seen[at]);
				assert_true(!i || c.at[at].ip > last);
				last = c.at[at].ip;
				seen[at] = true;
			}
		}
		/* Reserving makes room, and puts nothing in it. */
		aif_xe_counts_reserve(&like, &c);
		assert_true(like.slots_cap >= c.len && like.slots_cap <= 4 * c.len + 1024);
		assert_int_equal(like.len, 0);
		assert_int_equal(aif_xe_counts_samples(&like), 0);
		aif_xe_counts_finish(&c);
		aif_xe_counts_finish(&like);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(samples_find_their_instruction),
		CASE(shared_addresses_are_shared_by_time),
		CASE(single_samples_are_shared_fairly),
		CASE(without_times_they_are_shared_equally),
		CASE(whole_addresses_are_not_shared),
		CASE(code_of_nobody_may_have_an_owner),
		cmocka_unit_test(sums_are_exact_and_bounded),
		cmocka_unit_test_setup_teardown(a_card_is_one_device, start, stop),
		cmocka_unit_test_setup_teardown(how_busy_is_a_counter, start, stop),
		cmocka_unit_test(sums_come_in_order),
	};

	return cmocka_run_group_tests_name("xe_join", tests, NULL, NULL);
}
