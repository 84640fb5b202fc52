/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_interpreter.h"

#include <pthread.h>

/* Tests when there is an interpreter that can be believed, and when there is not; and who hears of
 * deaths. */

static void test_no_python_no_frames(void **state)
{
	(void)state;
	begin(11);
	five_calls();
	walk(MAX); /* not detected */
	assert_int_equal(stack.depth, 0);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_ABSENT);
	assert_true(aif_python_wanted(py));
	aif_python_detect(py);
	assert_false(aif_python_wanted(py));
	/* a thread that has no state says nothing */
	no_thread_here = 1;
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_CHECKING);
	no_thread_here = 0;
	/* nor does one of another interpreter */
	put64(fake.thread, fake.l.ts_interp, fake.interpreter + 8);
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_CHECKING);
	put64(fake.thread, fake.l.ts_interp, fake.interpreter);
	walk(MAX);
	assert_int_equal(stack.depth, 5);
	put64(fake.thread, fake.l.ts_interp, fake.interpreter + 8);
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	put64(fake.thread, fake.l.ts_interp, fake.interpreter);
	/* states of threads may be freed from now on */
	finalizing = 1;
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	finalizing = 0;
	aif_python_stop(py);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_STOPPED);
	assert_ptr_equal(*dealloc(), plain_dealloc);
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	assert_true(aif_python_wanted(py));
	aif_python_detect(py);
	walk(MAX);
	assert_int_equal(stack.depth, 5);
	end();
}

/* Numbers from before a stop are not believed after it. */
static void test_start_again_forgets(void **state)
{
	uint32_t id;

	(void)state;
	begin(12);
	five_calls();
	aif_python_detect(py);
	learn_all();
	id = frames[0].id;
	aif_python_stop(py);
	aif_python_detect(py);
	walk(MAX);
	assert_int_equal(stack.unknown, 5);
	learn_all();
	assert_true(frames[0].id > id);
	end();
}

static void assert_off(int reason)
{
	aif_python_detect(py);
	walk(MAX);
	assert_int_equal(stack.depth, 0);
	walk(MAX);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_OFF);
	assert_int_equal(aif_python_reason(py), reason);
	assert_false(aif_python_wanted(py));
	assert_ptr_equal(*dealloc(), plain_dealloc);
	aif_python_detect(py);
	aif_python_stop(py);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_OFF);
}

static void test_versions_that_are_refused(void **state)
{
	static const char *const texts[] = {"2.7.18 (default) [GCC]",
					    "3.7.16 (default) [GCC]",
					    "3.15.0a1 (main) [GCC]",
					    "3.x",
					    "",
					    "4.0.0 (main)"};

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(texts); i++) {
		begin(11);
		five_calls();
		version = texts[i];
		assert_off(AIF_REASON_PYTHON_VERSION);
	}
	for (unsigned minor = 13; minor <= 14; minor++) {
		begin(minor);
		five_calls();
		version = "3.13.0 experimental free-threading build (main) [GCC]";
		assert_off(AIF_REASON_PYTHON_FREE_THREADED);
		begin(minor);
		five_calls();
		_PyRuntime[2] = 1;
		assert_off(AIF_REASON_PYTHON_FREE_THREADED);
		begin(minor);
		five_calls();
		_PyRuntime[0]++;
		assert_off(AIF_REASON_PYTHON_LAYOUT);
	}
}

/* A build whose structures differ from its version's. */
static void test_wrong_layout_is_refused(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		for (unsigned wrong = 0; wrong < 7; wrong++) {
			uint64_t code;
			struct calls s;

			begin(minor);
			s = five_calls();
			code = s.b;
			switch (wrong) {
			case 0: /* not a code object */
				put64(code, fake.l.ob_type, fake.type_str);
				break;
			case 1:
				put64(code, fake.l.co_name, code);
				break;
			case 2:
				put64(code, fake.l.co_filename, code);
				break;
			case 3:
				put64(code, fake.l.co_linetable, code);
				break;
			case 4: /* an instruction behind the bytecode */
				if (fake.l.instr == AIF_PYTHON_INSTR_PTR)
					put64(s.frame[2], fake.l.f_instr,
					      code + fake.l.co_code + 100);
				else
					put32(s.frame[2], fake.l.f_instr, 100);
				break;
			case 5: /* a chain that ends in the woods */
				put64(s.frame[0], fake.l.f_previous, 0x18);
				break;
			case 6:
				put32(code, fake.l.co_firstline, (uint32_t)-5);
				break;
			}
			assert_off(AIF_REASON_PYTHON_LAYOUT);
		}
		begin(minor);
		five_calls();
		PyCode_Type[3] = (uint64_t)(uintptr_t) "dict";
		assert_off(AIF_REASON_PYTHON_LAYOUT);
	}
}

/* A code object that passed the check and still is not readable, again and again. */
static void test_unreadable_for_good(void **state)
{
	struct aif_python_code c;
	uint64_t code;

	(void)state;
	begin(12);
	five_calls();
	aif_python_detect(py);
	learn_all();
	code = fake.interpreter;
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(aif_python_code_read(py, code, buffer, sizeof(buffer), &c),
				 -EINVAL);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_ON);
	assert_int_equal(aif_python_code_read(py, code, buffer, sizeof(buffer), &c), -EINVAL);
	assert_int_equal(aif_python_state(py), AIF_PYTHON_OFF);
	assert_int_equal(aif_python_reason(py), AIF_REASON_PYTHON_LAYOUT);
	assert_ptr_equal(*dealloc(), plain_dealloc);
	walk(MAX);
	assert_int_equal(stack.depth, 0);
}

static void test_several_interpreters_are_told(void **state)
{
	(void)state;
	begin(12);
	five_calls();
	second_interpreter = true;
	aif_python_detect(py);
	learn_all();
	assert_int_equal(stack.depth, 5);
	assert_int_equal(aif_python_reason(py), AIF_REASON_PYTHON_INTERPRETERS);
	end();
}

/* ---- deaths ---- */

static void (*before_theirs)(void *);
static unsigned theirs_called;

static void theirs(void *object)
{
	theirs_called++;
	before_theirs(object);
}

static void test_others_wrap_too(void **state)
{
	struct calls s;

	(void)state;
	begin(11);
	theirs_called = 0;
	/* before us */
	before_theirs = plain_dealloc;
	*dealloc() = theirs;
	s = five_calls();
	aif_python_detect(py);
	learn_all();
	(*dealloc())((void *)(uintptr_t)s.c);
	assert_int_equal(theirs_called, 1);
	assert_int_equal(died, 1);
	aif_python_stop(py);
	assert_ptr_equal(*dealloc(), theirs);
	*dealloc() = plain_dealloc;
	/* after us: we stay, and stay useful */
	aif_python_detect(py);
	before_theirs = *dealloc();
	*dealloc() = theirs;
	aif_python_stop(py);
	assert_ptr_equal(*dealloc(), theirs);
	(*dealloc())((void *)(uintptr_t)s.c);
	assert_int_equal(died, 2);
	aif_python_detect(py);
	assert_ptr_equal(*dealloc(), theirs);
	learn_all();
	(*dealloc())((void *)(uintptr_t)s.c);
	assert_int_equal(died, 3);
	walk(MAX);
	assert_int_equal(stack.unknown, 1);
	*dealloc() = before_theirs; /* they leave */
	end();
}

/* Launches that began before a pause and end while the watch begins anew: no function that died then is known. */
static atomic_bool passing_by;
static _Atomic uint64_t passed;
#define PASSED_AT UINT64_C(0x7f0000000000)

static void *pass_by(void *arg)
{
	while (atomic_load(&passing_by)) {
		uint64_t code = PASSED_AT + 512 * atomic_load(&passed);

		aif_python_codes_insert(&py->codes, code, 7);
		__atomic_load_n(dealloc(), __ATOMIC_SEQ_CST)((void *)(uintptr_t)code);
		atomic_fetch_add(&passed, 1);
	}
	return arg;
}

static void test_nobody_dies_unseen(void **state)
{
	pthread_t thread;

	(void)state;
	begin(12);
	five_calls();
	aif_python_detect(py);
	for (unsigned round = 0; round < 50; round++) {
		aif_python_stop(py);
		atomic_store(&passed, 0);
		atomic_store(&passing_by, true);
		assert_int_equal(pthread_create(&thread, NULL, pass_by, NULL), 0);
		while (!atomic_load(&passed))
			;
		aif_python_detect(py);
		atomic_store(&passing_by, false);
		pthread_join(thread, NULL);
		for (uint64_t i = 0; i < passed; i++)
			assert_int_equal(aif_python_codes_find(&py->codes, PASSED_AT + 512 * i), 0);
	}
	end();
}

/* Two addresses that begin at one node, which takes them in turn. */
static uint64_t turns[2];

static void *take_turns(void *arg)
{
	while (atomic_load(&passing_by)) {
		for (uint32_t i = 0; i < 2; i++) {
			aif_python_codes_insert(&py->codes, turns[i], 7 + i);
			aif_python_codes_remove(&py->codes, turns[i]);
		}
		atomic_fetch_add(&passed, 1);
	}
	return arg;
}

static void test_a_number_is_of_its_address(void **state)
{
	pthread_t thread;
	uint32_t id;

	(void)state;
	begin(12);
	turns[0] = turns[1] = PASSED_AT;
	do
		turns[1] += 512;
	while (aif_python_codes_first(turns[1]) != aif_python_codes_first(turns[0]));
	for (unsigned round = 0; round < 20; round++) {
		atomic_store(&passed, 0);
		atomic_store(&passing_by, true);
		assert_int_equal(pthread_create(&thread, NULL, take_turns, NULL), 0);
		while (!atomic_load(&passed))
			;
		id = 0;
		for (unsigned i = 0; i < 2000000 && id != 8; i++) {
			uint64_t deaths = atomic_load(&py->codes.deaths);

			id = aif_python_codes_find(&py->codes, turns[0]);
			atomic_thread_fence(memory_order_acquire);
			/* Away and back between two looks, which takes two deaths: who looks an address up
			 * holds it alive, so that this happens here only. */
			if (atomic_load(&py->codes.deaths) - deaths > 1)
				id = 0;
		}
		atomic_store(&passing_by, false);
		pthread_join(thread, NULL);
		assert_int_not_equal(id, 8);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_python_no_frames),
		cmocka_unit_test(test_start_again_forgets),
		cmocka_unit_test(test_versions_that_are_refused),
		cmocka_unit_test(test_wrong_layout_is_refused),
		cmocka_unit_test(test_unreadable_for_good),
		cmocka_unit_test(test_several_interpreters_are_told),
		cmocka_unit_test(test_others_wrap_too),
		cmocka_unit_test(test_nobody_dies_unseen),
		cmocka_unit_test(test_a_number_is_of_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
