/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/code_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
/* after those */
#include <cmocka.h>

/* Processes put code into devices' memory; who had what where, and when. */
struct world {
	struct aif_store s;
	struct aif_quota quota;
	struct aif_code_map p;
};

static int start(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w || aif_store_init(&w->s, 0) < 0)
		return -1;
	w->s.payer = &w->quota;
	*state = w;
	return 0;
}

static int stop(void **state)
{
	struct world *w = *state;

	aif_code_map_finish(&w->p);
	aif_store_finish(&w->s);
	free(w);
	return 0;
}

static void put(struct world *w, uint32_t process, uint32_t code, uint64_t at, uint64_t size,
		uint64_t from)
{
	aif_code_map_put(&w->p, &w->s,
			 &(struct aif_code_range){.address = at,
						  .size = size,
						  .from = from,
						  .process = process,
						  .module = code,
						  .name = code,
						  .code = code});
}

/* The codes at `address` in [from, to): in the order of the processes, as decimal digits. */
static unsigned found(struct world *w, enum aif_code_map_space space, uint64_t address,
		      uint64_t from, uint64_t to)
{
	const struct aif_code_range *hits[AIF_CODE_MAP_HITS];
	size_t n = aif_code_map_find(&w->p, space, address, 0, from, to, hits);
	unsigned seen = 0, digits = 0;

	for (uint32_t process = 0; process < 10; process++)
		for (size_t i = 0; i < n; i++)
			if (hits[i]->process == process) {
				digits = digits * 10 + hits[i]->code;
				seen++;
			}
	assert_int_equal(seen, n);
	return digits;
}

static void code_is_found_where_it_lies(void **state)
{
	struct world *w = *state;
	const struct aif_code_range *hits[AIF_CODE_MAP_HITS];

	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 0, 100), 0);
	put(w, 0, 1, 0x1000, 0x100, 10);
	put(w, 0, 2, 0x1100, 0x100, 10);
	put(w, 0, 3, 0x5000, 8, 10);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xfff, 20, 30), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 20, 30), 1);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x10ff, 20, 30), 1);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1100, 20, 30), 2);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1200, 20, 30), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x5007, 20, 30), 3);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x5008, 20, 30), 0);
	/* Not before it was told. */
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 0, 10), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 0, 11), 1);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x1108, 0, 20, 30, hits), 1);
	assert_int_equal(aif_code_map_offset(hits[0], AIF_CODE_MAP_32, 0x1108), 8);
}

static void addresses_have_32_bits_or_all(void **state)
{
	struct world *w = *state;
	const struct aif_code_range *hits[AIF_CODE_MAP_HITS];

	put(w, 0, 1, UINT64_C(0x8000fffd0000), 0x400, 0);
	put(w, 1, 2, UINT64_C(0x4000fffd0000), 0x400, 0);
	assert_int_equal(found(w, AIF_CODE_MAP_64, UINT64_C(0x8000fffd0228), 1, 2), 1);
	assert_int_equal(found(w, AIF_CODE_MAP_64, UINT64_C(0x4000fffd0228), 1, 2), 2);
	assert_int_equal(found(w, AIF_CODE_MAP_64, 0xfffd0228, 1, 2), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xfffd0228, 1, 2), 12);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0xfffd0228, 0, 1, 2, hits), 2);
	assert_int_equal(aif_code_map_offset(hits[0], AIF_CODE_MAP_32, 0xfffd0228), 0x228);
	assert_int_equal(aif_code_map_offset(hits[1], AIF_CODE_MAP_32, 0xfffd0228), 0x228);
	/* Code that crosses the end of 32 bits goes on at 0. */
	put(w, 2, 3, UINT64_C(0x1ffffff00), 0x200, 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xffffff80, 1, 2), 3);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xff, 1, 2), 3);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x100, 1, 2), 0);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x10, 0, 1, 2, hits), 1);
	assert_int_equal(aif_code_map_offset(hits[0], AIF_CODE_MAP_32, 0x10), 0x110);
}

static void code_goes_and_its_place_is_taken(void **state)
{
	struct world *w = *state;

	put(w, 0, 1, 0x1000, 0x100, 10);
	put(w, 0, 1, 0x1000, 0, 20); /* gone */
	put(w, 0, 2, 0x1080, 0x100, 30);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 10, 20), 1);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 20, 30), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 30, 40), 2);
	/* Code that the same process puts over other code has taken its place, though nobody said that it was gone. */
	put(w, 0, 3, 0x1080, 8, 40);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 50, 60), 3);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 30, 40), 2);
	/* At address 0: wherever it is. */
	put(w, 0, 4, 0x9000, 8, 40);
	put(w, 0, 4, 0xa000, 8, 40);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x9000, 50, 60), 4);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xa000, 50, 60), 4);
	put(w, 0, 4, 0, 0, 50);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x9000, 50, 60), 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xa000, 50, 60), 0);
	/* Told once more, it is the same. */
	put(w, 0, 5, 0xb000, 8, 40);
	put(w, 0, 5, 0xb000, 8, 60);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0xb000, 50, 55), 5);
}

static void processes_share_addresses(void **state)
{
	struct world *w = *state;

	put(w, 0, 1, 0x1000, 0x100, 0);
	put(w, 1, 2, 0x1000, 0x80, 0);
	put(w, 2, 3, 0x1040, 0x100, 0);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 10, 20), 12);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1040, 10, 20), 123);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 10, 20), 13);
	aif_code_map_end(&w->p, 0, 15);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 10, 20), 13);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1080, 15, 20), 3);
}

static void cards_are_told_apart(void **state)
{
	struct world *w = *state;
	const struct aif_code_range *hits[AIF_CODE_MAP_HITS];
	struct aif_code_range x = {.address = 0x1000, .size = 8, .pci = 0x300};

	aif_code_map_put(&w->p, &w->s, &x);
	x.process = 1;
	x.pci = 0x400;
	aif_code_map_put(&w->p, &w->s, &x);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x1000, 0x300, 1, 2, hits), 1);
	assert_int_equal(hits[0]->process, 0);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x1000, 0x400, 1, 2, hits), 1);
	assert_int_equal(hits[0]->process, 1);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x1000, 0x500, 1, 2, hits), 0);
	assert_int_equal(aif_code_map_find(&w->p, AIF_CODE_MAP_32, 0x1000, 0, 1, 2, hits), 2);
}

static void what_ran_is_of_this_window_and_the_one_before(void **state)
{
	struct world *w = *state;
	const struct aif_code_range x = {.process = 1, .name = 7};

	aif_code_map_ran(&w->p, 1, 7, 100);
	assert_int_equal(aif_code_map_time(&w->p, &x), 0); /* nobody has code: nobody asks */
	put(w, 1, 7, 0x1000, 8, 0);
	aif_code_map_ran(&w->p, 1, 7, 100);
	aif_code_map_ran(&w->p, 2, 7, 1000);
	aif_code_map_turn(&w->p, 1);
	aif_code_map_ran(&w->p, 1, 7, 10);
	assert_int_equal(aif_code_map_time(&w->p, &x), 110);
	aif_code_map_turn(&w->p, 1);
	assert_int_equal(aif_code_map_time(&w->p, &x), 10);
	aif_code_map_turn(&w->p, 1);
	assert_int_equal(aif_code_map_time(&w->p, &x), 0);
	aif_code_map_ran(&w->p, 1, 7, UINT64_MAX);
	aif_code_map_ran(&w->p, 1, 7, UINT64_MAX);
	assert_true(aif_code_map_time(&w->p, &x) > UINT64_MAX / 8);
}

/* Code that has ended is forgotten, and its quota given back. */
static void memory_is_bounded(void **state)
{
	struct world *w = *state;
	uint64_t paid;

	put(w, 0, 1, 0x1000, 8, 0);
	paid = w->quota.own;
	assert_true(paid > 0);
	for (uint32_t i = 0; i < 100000; i++) {
		put(w, 0, 2, UINT64_C(0x100000) + i * 16, 8, i);
		put(w, 0, 2, 0, 0, i + 1);
		if (i % 1000 == 999)
			aif_code_map_forget(&w->p, &w->s, i);
	}
	aif_code_map_forget(&w->p, &w->s, 1000000);
	assert_int_equal(w->p.len, 1);
	assert_int_equal(w->quota.own, paid);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 5, 6), 1);
	/* Nonsense, and more than anybody has. */
	put(w, 0, 3, UINT64_MAX - 4, 8, 0);
	put(w, 0, 3, 0x1000, UINT64_C(1) << 40, 0);
	assert_int_equal(w->p.len, 1);
	for (uint32_t i = 0; i < AIF_CODE_MAP_MAX + 10; i++)
		put(w, 0, 10 + i, UINT64_C(0x100000) + UINT64_C(16) * i, 8, 0);
	assert_int_equal(w->p.len, AIF_CODE_MAP_MAX);
	assert_int_equal(w->s.p.losses_len, 1);
	assert_int_equal(w->s.p.losses[0].reason, AIF_REASON_XE_PLACES_FULL);
	assert_int_equal(w->s.p.losses[0].count, 11);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 5, 6), 1);
}

/* At one address one function after the other: however many there were, the latest is found, and all of the window. */
static void a_place_that_is_taken_again_and_again(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < 1000; i++)
		put(w, 1, 1000 + i, UINT64_C(0x100000) + i * 16, 8, 0); /* stay */
	for (uint32_t i = 0; i < 200; i++) {
		put(w, 0, i, 0x1000, 8, 10 * i);
		aif_code_map_forget(&w->p, &w->s, i >= 3 ? 10 * (i - 3) : 0);
		assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 10 * i + 1, 10 * i + 2), i);
	}
	for (uint32_t i = 0; i < 200; i++)
		put(w, 0, 200 + i, 0x1000, 8, 3000);
	put(w, 0, 999, 0x1000, 8, 3001);
	assert_int_equal(found(w, AIF_CODE_MAP_32, 0x1000, 3002, 3003), 999);
}

/* Against a list that is gone through: a few processes, small addresses, so that everything meets everything. */
static void it_agrees_with_a_plain_list(void **state)
{
	struct world *w = *state;
	struct aif_code_range list[400];
	size_t n = 0;
	uint64_t random = 1;

	for (uint64_t now = 1; now <= AIF_ARRAY_LEN(list); now++) {
		struct aif_code_range x = {.from = now, .to = UINT64_MAX, .code = (uint32_t)now};

		random = aif_mix64(random + 1);
		x.process = random % 6;
		x.address = (random >> 8) % 256;
		x.size = 1 + (random >> 20) % 40;
		for (size_t i = 0; i < n; i++)
			if (list[i].process == x.process && list[i].to == UINT64_MAX &&
			    list[i].address < x.address + x.size &&
			    x.address < list[i].address + list[i].size)
				list[i].to = now;
		list[n++] = x;
		aif_code_map_put(&w->p, &w->s, &x);
		for (uint64_t address = 0; address < 300; address += 7) {
			const struct aif_code_range *hits[AIF_CODE_MAP_HITS];
			uint64_t from = now - (random >> 40) % AIF_MIN(now, 20), sum = 0, got = 0;
			size_t len, expected = 0;

			if (now % 4)
				continue;
			for (size_t i = 0; i < n; i++)
				if (list[i].to > now && address >= list[i].address &&
				    address < list[i].address + list[i].size) {
					expected++;
					sum += list[i].code;
				}
			len = aif_code_map_find(&w->p, AIF_CODE_MAP_64, address, 0, now, now + 1,
						hits);
			for (size_t i = 0; i < len; i++)
				got += hits[i]->code;
			assert_int_equal(len, expected);
			assert_int_equal(got, sum);
			/* The same up to where it says. */
			for (uint64_t to = aif_code_map_until(&w->p, AIF_CODE_MAP_64, address),
				      next = address;
			     next < AIF_MIN(to, (uint64_t)300); next++) {
				uint64_t there = 0;

				len = aif_code_map_find(&w->p, AIF_CODE_MAP_64, next, 0, now,
							now + 1, hits);
				for (size_t i = 0; i < len; i++)
					there += hits[i]->code;
				assert_int_equal(there, sum);
			}
			/* Longer times find more code, as far as one answer holds it. */
			assert_true(aif_code_map_find(&w->p, AIF_CODE_MAP_64, address, 0, from,
						      now + 1, hits) <= AIF_CODE_MAP_HITS);
		}
		aif_code_map_forget(&w->p, &w->s, now);
	}
}

/* Frames of code are those of the store, wherever in a block, also where blocks are forgotten. */
static void frames_are_the_stores(void **state)
{
	struct world *w = *state;
	struct aif_code_map_frames f = {0};

	w->s.payer = NULL;
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t x = aif_mix64(i), address = (x >> 20) % 80000 * 128 + (x & 127 & -(x % 3));
		uint32_t module = i % 4 ? (uint32_t)(i % 3) : AIF_NONE, frame;

		aif_code_map_frames_prefetch(&f, module, address);
		frame = aif_code_map_frames_get(&f, &w->s, module, address);
		assert_int_not_equal(frame, AIF_NONE);
		assert_int_equal(frame, aif_store_frame(&w->s, AIF_FRAME_DEVICE, module, address));
		assert_int_equal(w->s.p.frames[frame].address, address);
		assert_int_equal(w->s.p.frames[frame].module, module);
		assert_int_equal(w->s.p.frames[frame].kind, AIF_FRAME_DEVICE);
		assert_true(f.len <= 32768);
	}
	assert_int_equal(aif_code_map_frames_get(&f, &w->s, 0, UINT64_C(1) << 48), AIF_NONE);
	assert_int_equal(aif_code_map_frames_get(&f, &w->s, UINT16_MAX, 8), AIF_NONE);
	aif_code_map_frames_finish(&f);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(code_is_found_where_it_lies),
		CASE(addresses_have_32_bits_or_all),
		CASE(code_goes_and_its_place_is_taken),
		CASE(processes_share_addresses),
		CASE(cards_are_told_apart),
		CASE(what_ran_is_of_this_window_and_the_one_before),
		CASE(memory_is_bounded),
		CASE(a_place_that_is_taken_again_and_again),
		CASE(it_agrees_with_a_plain_list),
		CASE(frames_are_the_stores),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
