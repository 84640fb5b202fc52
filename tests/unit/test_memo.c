/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the memo of stacks answers, keeps and forgets. Other stacks and threads: test_memo_stacks.c. */
#include "fixture_memo.h"
#include "tiny_elf.h"

/* ---- what it answers ---- */

static void test_hit_after_miss(void **state)
{
	struct aif_memo_result first;
	uint64_t value;

	(void)state;
	for (int i = 0; i < 10; i++) {
		plain(20, 0);
		assert_int_equal(audit.wrong, 0);
		assert_non_null(audit.last.stack);
		assert_int_equal(audit.last.hit, i > 0);
		assert_int_equal(audit.last.stop, AIF_STOP_END);
		assert_true(audit.last.depth > 20);
		if (i == 0) {
			first = audit.last;
			value = first.stack->value;
			assert_int_equal(first.stack->number, 1);
			assert_non_null(first.pcs);
			assert_non_null(first.frames);
		}
		assert_ptr_equal(audit.last.stack, first.stack);
		assert_int_equal(audit.last.stack->value, value);
	}
	assert_int_equal(counts().missed, 1);
	assert_int_equal(counts().predicted + counts().found, 9);
	/* From the third on the two before were this one too. */
	assert_true(counts().predicted >= 7);
}

static AIF_NOINLINE void with_frames(uint64_t local[3], unsigned depth)
{
	uint64_t here = 1;
	struct aif_regs regs;

	local[depth] = (uint64_t)(uintptr_t)&here;
	use(&here);
	if (depth) {
		with_frames(local, depth - 1);
		use(&here);
		return;
	}
	for (int i = 0; i < 3; i++) {
		struct aif_memo_result r;

		AIF_REGS_HERE(&regs);
		r = i == 2 ? aif_memo_unwind(audit.memo, &regs)
			   : aif_memo_capture(audit.memo, &regs);
		assert_int_equal(r.hit, i == 1);
		assert_int_equal(r.stop, AIF_STOP_END);
		if (i == 1) {
			assert_null(r.frames);
			continue;
		}
		for (unsigned k = 0; k < 3; k++) {
			assert_in_range(local[k], r.frames[k].sp, r.frames[k + 1].sp - 1);
			assert_true(r.frames[k].sp < r.frames[k + 1].sp);
		}
		assert_int_equal(r.frames[0].sp, regs.sp);
		assert_int_equal(r.pcs[0], regs.pc);
		assert_true(r.frames[r.depth].sp >= r.frames[r.depth - 1].sp);
	}
	use(&here);
}

static void test_frames_hold_their_locals(void **state)
{
	uint64_t local[3];

	(void)state;
	with_frames(local, 2);
}

/* ---- what makes stacks differ (see memo.c) ---- */

static void test_alloca_and_stale_slots(void **state)
{
	static const struct {
		void (*f)(long);
		long arg;
	} calls[] = {
		{memo_f, 256}, {memo_h, 256 - 112}, {memo_f, 256}, {memo_p, 0},
		{memo_q, 0},   {memo_p, 0},         {memo_t, 0},
	};
	static void (*volatile call)(long);

	(void)state;
	for (int round = 0; round < 6; round++) {
		for (size_t i = 0; i < AIF_ARRAY_LEN(calls); i++) {
			call = calls[i].f;
			call(calls[i].arg);
			assert_int_equal(audit.wrong, 0);
		}
	}
	assert_int_equal(counts().missed, 5);
	assert_int_equal(audit.hits, 6 * 7 - 5);
}

static void test_rbp_as_data_does_not_matter(void **state)
{
	(void)state;
	for (long i = 0; i < 200; i++)
		memo_data(i * 0x123456789);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(audit.hits, 199);
}

/* Each of three stacks is followed by each, so that only the last two together tell which comes next; the
 * stack pointer tells nothing. */
static void test_sequences_are_predicted(void **state)
{
	static const char sequence[] = "ppqprqqrr";
	uint64_t learned = 0;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		if (round == 3)
			learned = counts().predicted;
		for (const char *c = sequence; *c; c++) {
			void (*volatile call)(long) = *c == 'p'   ? memo_p
						      : *c == 'q' ? memo_q
								  : memo_r;

			call(0);
		}
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().missed, 3);
	assert_int_equal(counts().predicted - learned, 17 * strlen(sequence));
}

/* After the one stack twice comes a second, a third, or the same again: the last two do not tell which, the key
 * does. The stack pointer tells nothing. */
static void notes_predict_the_next_stack(void **state)
{
	static void (*const calls[])(long) = {memo_p, memo_p, memo_q, memo_p, memo_p,
					      memo_r, memo_p, memo_p, memo_p};
	static void (*volatile call)(long);
	uint64_t learned = 0;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		if (round == 3)
			learned = counts().predicted;
		for (uint64_t i = 0; i < AIF_ARRAY_LEN(calls); i++) {
			call = calls[i];
			audit.key = i % 2 << 63 | (i + 1);
			call(0);
		}
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().missed, 3);
	assert_int_equal(counts().predicted - learned, 17 * AIF_ARRAY_LEN(calls));
	assert_int_equal(audit.notes_found, 19 * AIF_ARRAY_LEN(calls));
}

/* From one place, so that it is one stack. */
static AIF_NOINLINE struct aif_memo_stack *stack_of(long locals)
{
	plain(20, locals);
	return audit.last.stack;
}

static void test_notes_are_by_key(void **state)
{
	static const long locals[] = {0, 1, 0};
	struct aif_memo *m = audit.memo;
	struct aif_memo_stack *stacks[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		stacks[i] = stack_of(locals[i]);
		for (uint64_t key = 1; key <= 20 && i == 0; key++) {
			assert_int_equal(aif_memo_noted(m, stacks[0], key), AIF_MEMO_NOT_NOTED);
			aif_memo_note(m, stacks[0], key, (uint32_t)key + 100);
			/* the last few are there, and no other */
			for (uint64_t old = 1; old <= key; old++)
				assert_int_equal(aif_memo_noted(m, stacks[0], old),
						 old + 4 > key ? old + 100 : AIF_MEMO_NOT_NOTED);
			assert_int_equal(aif_memo_noted(m, stacks[0], key | UINT64_C(1) << 63),
					 AIF_MEMO_NOT_NOTED);
		}
		assert_int_equal(aif_memo_noted(m, stacks[i], 20),
				 i == 1 ? AIF_MEMO_NOT_NOTED : 120);
	}
	assert_ptr_equal(stacks[2], stacks[0]);
	/* Stacks that are learned anew, at the same place too, have no note. */
	for (unsigned i = 0; i < 10000; i++) {
		if (i % 500 == 0)
			aif_memo_clear(m);
		stacks[0] = stack_of(i % 500);
		assert_int_equal(aif_memo_noted(m, stacks[0], 20), AIF_MEMO_NOT_NOTED);
		aif_memo_note(m, stacks[0], 20, 1);
	}
	assert_int_equal(audit.wrong, 0);
}

/* The same code and the same words, but another library's rows. */
static void test_library_replaced_at_its_address(void **state)
{
	unsigned at_same_address = 0;
	uint64_t hits = 0;
	void *last = NULL;

	(void)state;
	if (!tiny_addresses_come_back())
		skip();
	for (unsigned i = 0; i < 40; i++) {
		struct tiny_elf opts = {.frame = 1048, .no_tables = i % 2};
		void *handle = tiny_elf_open(&opts), *entry;

		assert_non_null(handle);
		entry = dlsym(handle, "entry");
		at_same_address += entry == last;
		last = entry;
		for (volatile int k = 0; k < 3; k++) { /* one call, not three */
			if (i % 2)
				tiny_call(tiny_elf_entry(handle), memo_hook, 1);
			else
				tiny_elf_entry(handle)(memo_hook);
		}
		assert_int_equal(audit.wrong, 0);
		assert_int_equal(audit.last.stop, i % 2 ? AIF_STOP_NO_FDE : AIF_STOP_END);
		hits += 2;
		assert_int_equal(audit.hits, hits);
		dlclose(handle);
		aif_unwinder_refresh(audit.u);
	}
	assert_true(at_same_address > 10); /* else this test shows nothing */
	/* Seen by capturing: all but the last dlclose. */
	assert_int_equal(counts().cleared, 39);
}

/* Code in no module, and then a library at its place: no generation ends in between. */
static void test_unknown_code_is_not_remembered(void **state)
{
	static uint8_t image[5 * TINY_PAGE];
	struct tiny_elf opts = {.frame = 1048};
	void *handle = tiny_elf_open(&opts), *entry, *code;
	tiny_entry *call;

	(void)state;
	if (!tiny_addresses_come_back())
		skip();
	assert_non_null(handle);
	entry = dlsym(handle, "entry");
	dlclose(handle);
	aif_unwinder_refresh(audit.u);
	tiny_elf_make(image, &opts);
	code = mmap(entry, TINY_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(code, entry);
	memcpy(code, image + TINY_CODE, TINY_CODE_LEN);
	memcpy(&call, &code, sizeof(call));
	for (int i = 0; i < 3; i++) {
		tiny_call(call, memo_hook, 1);
		assert_int_equal(audit.last.stop, AIF_STOP_NO_MODULE);
		assert_int_equal(audit.last.depth, 2);
		assert_null(audit.last.stack);
	}
	munmap(code, TINY_PAGE);
	handle = tiny_elf_open(&opts);
	assert_non_null(handle);
	assert_ptr_equal(dlsym(handle, "entry"), entry);
	tiny_elf_entry(handle)(memo_hook);
	assert_int_equal(audit.last.stop, AIF_STOP_END);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().refused, 3);
	dlclose(handle);
	aif_unwinder_refresh(audit.u);
}

/* Code without tables, in a module: who called follows from the frame pointer, if that leads to a return
 * address. The stack pointer is the same each time. */
static void guessed_frames_are_remembered_exactly(void **state)
{
	struct tiny_elf opts = {.frame = 1048, .no_tables = true};
	void *handle = tiny_elf_open(&opts);
	uint64_t here = (uint64_t)(uintptr_t)__builtin_return_address(0);
	/* More than a record has room for: it is no return address, but what is left of it would be. */
	const uint64_t large = here | UINT64_C(1) << 63;
	const struct {
		uint64_t word;
		bool by_address, hit, guessed;
	} steps[] = {
		{here, true, false, true},      {here, true, true, true},
		{5, true, false, false},        {5, true, true, false},
		{6, true, false, false},        {here, true, true, true},
		{5, true, true, false},         {here, false, false, false},
		{here, false, true, false},     {here, true, true, true},
		{here + 1, true, false, false}, {here, true, true, true},
		{5, true, true, false},         {6, true, true, false},
		{large, true, false, false},    {5, true, true, false},
		{6, true, true, false},         {here, true, true, true},
	};
	/* The word that the caller's own return address is read from is a zero: the stack's end. */
	volatile uint64_t frame[512] = {0};

	(void)state;
	if (AIF_ARCH_LINK)
		skip();
	assert_non_null(handle);
	for (volatile size_t i = 0; i < AIF_ARRAY_LEN(steps); i++) { /* one call, not many */
		frame[1] = steps[i].word;
		tiny_call(tiny_elf_entry(handle), memo_hook,
			  steps[i].by_address ? (uint64_t)(uintptr_t)frame : 1);
		assert_int_equal(audit.wrong, 0);
		assert_int_equal(audit.last.hit, steps[i].hit);
		assert_int_equal(audit.last.guessed, steps[i].guessed);
		assert_int_equal(audit.last.stop,
				 steps[i].guessed ? AIF_STOP_END : AIF_STOP_NO_FDE);
		assert_int_equal(audit.last.depth, steps[i].guessed ? 3 : 2);
	}
	dlclose(handle);
	aif_unwinder_refresh(audit.u);
}

static void test_far_words_are_not_remembered(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		plain(3, 600 * 1024 / 32);
		assert_null(audit.last.stack);
		assert_int_equal(audit.last.stop, AIF_STOP_END);
		plain(3, 480 * 1024 / 32);
		assert_non_null(audit.last.stack);
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().refused, 4);
	assert_int_equal(audit.hits, 3);
}

static void test_deep_stacks_are_cut(void **state)
{
	const unsigned depths[] = {1000, 1010, 1020, 1022, 1023, 1024, 1030, 1500, 3000};

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < AIF_ARRAY_LEN(depths); i++)
			plain(depths[i], 0);
	}
	assert_int_equal(audit.last.stop, AIF_STOP_DEPTH);
	assert_int_equal(audit.last.depth, AIF_MEMO_MAX_DEPTH);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(audit.hits, 2 * AIF_ARRAY_LEN(depths));
	aif_memo_init(audit.memo, audit.u, audit.bounds, 7);
	audit.max_depth = 7;
	for (unsigned i = 0; i < 20; i++)
		plain(i % 10, 0);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(audit.last.depth, 7);
	assert_int_equal(audit.hits, 2 * AIF_ARRAY_LEN(depths) + 10);
}

/* ---- memory, and when it does not pay ---- */

static size_t touched_pages(void)
{
	static unsigned char in[4096];
	size_t n = 0, pages = (aif_memo_size() + 4095) / 4096;

	assert_int_equal(mincore(audit.memo, aif_memo_size(), in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	return n;
}

static void test_memory_grows_with_what_is_known(void **state)
{
	(void)state;
	assert_true(aif_memo_size() <= 1200 * 1000);
	for (unsigned i = 0; i < 80; i++)
		plain(70, i);
	assert_int_equal(counts().missed, 80);
	assert_true(touched_pages() <= 45);
	aif_memo_clear(audit.memo);
	for (unsigned i = 0; i < 80; i++)
		plain(70, i);
	assert_int_equal(counts().missed, 160);
	assert_true(touched_pages() <= 45);
	assert_int_equal(audit.wrong, 0);
}

/* More stacks than there is room for: the oldest make room, nothing of them is used again. */
static void test_the_ring_goes_round(void **state)
{
	(void)state;
	audit.many_keys = true;
	for (unsigned i = 0; i < 30000; i++) {
		plain(60 + i % 3, i % 10 ? i % 50 : i / 10);
		assert_int_equal(audit.wrong, 0);
	}
	assert_true(counts().missed > 3000);
	assert_true(audit.hits > 26000);
	assert_true(audit.notes_found > 10000);
	assert_int_equal(counts().passed, 0);
	assert_int_equal(counts().cleared, 0);
}

static void test_stands_aside_when_it_does_not_pay(void **state)
{
	struct aif_memo_counts before;

	(void)state;
	/* ever new stacks, for long */
	for (unsigned i = 0; i < 40000; i++)
		plain(30 + i / 10000, i % 10000);
	before = counts();
	assert_true(before.passed > 30000);
	assert_true(before.missed < 8000);
	/* a loop: back at work after at most 64 windows */
	for (unsigned i = 0; i < 80 * 1024; i++)
		plain(20 + i % 10, 0);
	assert_int_equal(audit.wrong, 0);
	assert_true(counts().passed - before.passed <= 65 * 1024);
	assert_int_equal(counts().missed - before.missed, 10);
	assert_true(counts().predicted - before.predicted > 13 * 1024);
}

/* A number of stacks that fits is no reason to stand aside, even if none repeats for long. */
static void test_learning_is_not_standing_aside(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < 1500; i++)
			plain(20, i);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().passed, 0);
	assert_int_equal(counts().missed, 1500);
	assert_true(counts().predicted > 3700);
}

static void test_refusals_do_not_pay(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		plain(3, 600 * 1024 / 32);
	assert_int_equal(audit.wrong, 0);
	assert_true(counts().passed > 15000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_hit_after_miss),
		TEST(test_frames_hold_their_locals),
		TEST(test_alloca_and_stale_slots),
		TEST(test_rbp_as_data_does_not_matter),
		TEST(test_sequences_are_predicted),
		TEST(notes_predict_the_next_stack),
		TEST(test_notes_are_by_key),
		TEST(test_library_replaced_at_its_address),
		TEST(guessed_frames_are_remembered_exactly),
		TEST(test_unknown_code_is_not_remembered),
		TEST(test_far_words_are_not_remembered),
		TEST(test_deep_stacks_are_cut),
		TEST(test_memory_grows_with_what_is_known),
		TEST(test_the_ring_goes_round),
		TEST(test_stands_aside_when_it_does_not_pay),
		TEST(test_learning_is_not_standing_aside),
		TEST(test_refusals_do_not_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
