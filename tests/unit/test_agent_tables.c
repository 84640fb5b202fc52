/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/call.h"
#include "agent/fake/script.h"
#include "agent/memory/handles.h"
#include "agent/memory/idtable.h"
#include "agent/memory/pages.h"
#include "base/map.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

static void ids_are_dense_and_found_again(void **state)
{
	struct aif_idtable t;

	(void)state;
	aif_idtable_init(&t, aif_pages(aif_idtable_bytes(4096)), 16, 4096);
	for (uint32_t i = 0; i < 2048; i++) {
		uint64_t hash = aif_mix64(i + 1);
		struct aif_id_entry *e = aif_idtable_find(&t, hash, i);

		assert_int_equal(e->hash, 0);
		assert_true(aif_idtable_take(&t, e, hash, i));
	}
	assert_int_equal(t.cap, 4096);
	for (uint32_t i = 0; i < 2048; i++)
		assert_int_equal(aif_idtable_find(&t, aif_mix64(i + 1), i)->id, i);
	/* Full: nothing more, and nothing broken. */
	assert_false(aif_idtable_take(&t, aif_idtable_find(&t, 7, 7), 7, 7));
	assert_int_equal(aif_idtable_find(&t, aif_mix64(5), 4)->id, 4);
}

static void clearing_forgets_but_ids_go_on(void **state)
{
	struct aif_idtable t;

	(void)state;
	aif_idtable_init(&t, aif_pages(aif_idtable_bytes(64)), 16, 64);
	for (uint64_t h = 1; h <= 20; h++)
		assert_true(aif_idtable_take(&t, aif_idtable_find(&t, h, 0), h, 0));
	aif_idtable_clear(&t);
	for (uint64_t h = 1; h <= 20; h++) {
		struct aif_id_entry *e = aif_idtable_find(&t, h, 0);

		assert_int_equal(e->hash, 0);
		assert_true(aif_idtable_take(&t, e, h, 0));
		assert_int_equal(aif_idtable_find(&t, h, 0)->id, 19 + h);
	}
}

static void an_id_may_have_two_names(void **state)
{
	struct aif_idtable t;
	void *memory = calloc(1, aif_idtable_bytes(64));
	struct aif_id_entry *e;

	(void)state;
	assert_non_null(memory);
	aif_idtable_init(&t, memory, 8, 64);
	for (uint32_t i = 0; i < 16; i++) {
		e = aif_idtable_find(&t, 100 + i, 1);
		assert_true(aif_idtable_take(&t, e, 100 + i, 1));
		e = aif_idtable_find(&t, 100 + i, 2);
		assert_true(aif_idtable_also(&t, e, 100 + i, 2, i));
	}
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(aif_idtable_find(&t, 100 + i, 1)->id, i);
		assert_int_equal(aif_idtable_find(&t, 100 + i, 2)->id, i);
	}
	assert_false(aif_idtable_also(&t, aif_idtable_find(&t, 1, 1), 1, 1, 0)); /* full */
	assert_int_equal(t.next, 16);
	free(memory);
}

static void one_hash_with_two_depths_is_two_ids(void **state)
{
	struct aif_idtable t;

	(void)state;
	aif_idtable_init(&t, aif_pages(aif_idtable_bytes(64)), 16, 64);
	assert_true(aif_idtable_take(&t, aif_idtable_find(&t, 99, 3), 99, 3));
	assert_int_equal(aif_idtable_find(&t, 99, 4)->hash, 0);
	assert_true(aif_idtable_take(&t, aif_idtable_find(&t, 99, 4), 99, 4));
	assert_int_equal(aif_idtable_find(&t, 99, 3)->id, 0);
	assert_int_equal(aif_idtable_find(&t, 99, 4)->id, 1);
}

static void handles_are_replaced_when_reused(void **state)
{
	struct aif_handles h = {0};
	int a = 0, b = 0, key = 0;

	(void)state;
	assert_null(aif_handles_get(&h, &key));
	assert_null(aif_handles_get(&h, NULL));
	assert_int_equal(aif_handles_put(&h, &key, &a), 0);
	assert_ptr_equal(aif_handles_get(&h, &key), &a);
	assert_int_equal(aif_handles_put(&h, &key, &b), 0);
	assert_ptr_equal(aif_handles_get(&h, &key), &b);
	assert_int_equal(h.table->len, 1);
	assert_int_equal(aif_handles_put(&h, &key, NULL), 0);
	assert_null(aif_handles_get(&h, &key));
}

/* A destroyed handle is forgotten although there is no memory for a larger table. */
static void known_handles_need_no_memory(void **state)
{
	struct rlimit limit, none;
	struct aif_handles h = {0};
	void *page;
	int a = 0, r, r_new;

	(void)state;
	for (uintptr_t k = 1; k <= 128; k++)
		assert_int_equal(aif_handles_put(&h, (void *)(k * 64), &a), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	none = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r = aif_handles_put(&h, (void *)64, NULL);
	r_new = aif_handles_put(&h, (void *)(129 * 64), &a);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(r, 0);
	if (page != MAP_FAILED) { /* emulators take the limit for their own */
		munmap(page, 4096);
		skip();
	}
	assert_int_equal(r_new, -ENOMEM);
	assert_null(aif_handles_get(&h, (void *)64));
	assert_int_equal(h.table->cap, 256);
}

#define HANDLES 20000
static struct aif_handles shared;
static _Atomic bool done;

static void *reader(void *arg)
{
	unsigned long wrong = 0;

	(void)arg;
	while (!done)
		for (uintptr_t k = 1; k <= HANDLES; k += 37) {
			void *v = aif_handles_get(&shared, (void *)(k * 64));

			wrong += v && v != (void *)(k + 1);
		}
	return (void *)wrong;
}

static void readers_see_whole_entries_while_it_grows(void **state)
{
	pthread_t thread;
	void *wrong;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, reader, NULL), 0);
	for (uintptr_t k = 1; k <= HANDLES; k++)
		assert_int_equal(aif_handles_put(&shared, (void *)(k * 64), (void *)(k + 1)), 0);
	done = true;
	pthread_join(thread, &wrong);
	assert_ptr_equal(wrong, NULL);
	for (uintptr_t k = 1; k <= HANDLES; k++)
		assert_ptr_equal(aif_handles_get(&shared, (void *)(k * 64)), (void *)(k + 1));
}

static void arenas_give_zeroed_aligned_memory(void **state)
{
	struct aif_arena a = {0};

	(void)state;
	for (size_t size = 1; size < 40000; size += 977) {
		uint8_t *p = aif_arena_alloc(&a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	assert_string_equal(aif_arena_strdup(&a, "text"), "text");
}

static void orders_are_read(void **state)
{
	static struct aif_fake_order o;
	const char *text =
		"# nothing\n"
		"device 3 name=\"a b\\n\\\"c\" kind=gpu units=0x10 clock=own # end\n"
		"launch stream=1 kernel=2 stack=0x10,0x20 grid=1,2,3 time=5 start=6 end=7";

	(void)state;
	assert_int_equal(aif_fake_order_read(&text, &o, NULL), 0);
	assert_int_equal(o.verb, AIF_FAKE_NOTHING);
	assert_int_equal(aif_fake_order_read(&text, &o, NULL), 0);
	assert_int_equal(o.verb, AIF_FAKE_DEVICE);
	assert_int_equal(o.id, 3);
	assert_string_equal(o.name, "a b\n\"c");
	assert_int_equal(o.units, 16);
	assert_true(o.own_clock);
	assert_int_equal(aif_fake_order_read(&text, &o, NULL), 0);
	assert_int_equal(o.stack_len, 2);
	assert_int_equal(o.stack[1], 0x20);
	assert_int_equal(o.grid[2], 3);
	assert_int_equal(o.end, 7);
	assert_int_equal(*text, '\0');
}

static void bad_orders_are_named(void **state)
{
	static const char *const bad[] = {
		"explode 1",           "launch stream=x", "launch wibble=1", "device kind=toaster",
		"launch grid=1,2,3,4", "launch stack=",   "kernel 1x"};
	static struct aif_fake_order o;
	struct aif_err err = {0};

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(bad); i++) {
		const char *text = bad[i];

		err.text[0] = '\0';
		assert_int_equal(aif_fake_order_read(&text, &o, &err), -EINVAL);
		assert_non_null(strstr(err.text, "fake script"));
	}
}

static struct aif_call_slot met;

static void *meets(void *arg)
{
	struct aif_call call;

	for (unsigned i = 0; i < 20000; i++) {
		memset(&call, 'a' + (int)(i % 26), sizeof(call));
		aif_call_set(&met, &call);
	}
	return arg;
}

static void who_was_met_is_read_whole(void **state)
{
	static const struct aif_call none;
	struct aif_call call;
	pthread_t t;

	(void)state;
	assert_true(aif_call_get(&met, &call));
	assert_memory_equal(&call, &none, sizeof(call));
	/* The writer was stopped in the middle. */
	met.changes = 7;
	assert_false(aif_call_get(&met, &call));
	aif_call_set(&met, &none);
	assert_int_equal(met.changes, 8);
	assert_true(aif_call_get(&met, &call));
	assert_int_equal(pthread_create(&t, NULL, meets, NULL), 0);
	for (unsigned i = 0; i < 20000; i++)
		if (aif_call_get(&met, &call))
			for (size_t k = 1; k < sizeof(call); k++)
				assert_int_equal(((char *)&call)[k], call.path[0]);
	pthread_join(t, NULL);
	assert_true(aif_call_get(&met, &call));
	assert_int_equal(call.name[0], 'a' + 19999 % 26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_dense_and_found_again),
		cmocka_unit_test(clearing_forgets_but_ids_go_on),
		cmocka_unit_test(an_id_may_have_two_names),
		cmocka_unit_test(one_hash_with_two_depths_is_two_ids),
		cmocka_unit_test(handles_are_replaced_when_reused),
		cmocka_unit_test(known_handles_need_no_memory),
		cmocka_unit_test(readers_see_whole_entries_while_it_grows),
		cmocka_unit_test(arenas_give_zeroed_aligned_memory),
		cmocka_unit_test(who_was_met_is_read_whole),
		cmocka_unit_test(orders_are_read),
		cmocka_unit_test(bad_orders_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
