/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how records of a ring become tables and rows. What a target may take: test_ingest_limits.c. */
#include "fixture_ingest.h"

#include "record/sources/device_code.h"
#include "record/sources/xe_join.h"

static void places_are_of_known_code(void **state)
{
	struct world *w = *state;
	const struct aif_code_range *hits[AIF_CODE_MAP_HITS];
	struct aif_code_map *map = aif_device_code_map(&w->d);
	const struct aif_xe_source *xe = w->d.source_state[AIF_SOURCE_XE];

	PUT(w, 0, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3,
	    .pci = 0x300);
	PUT(w, 0, DEVICE, device, "cpu", .head.aux = 6, .kind = AIF_DEVICE_CPU, .name_len = 3);
	PUT(w, 0, CODE, code, "multiply", .head.aux = 3, .name_len = 8);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10, .address = 0x1000, .size = 64,
	    .device = 5);
	/* Places of unknown code, on an unknown device, on one that takes no such samples. */
	PUT(w, 0, PLACE, place, NULL, .head.aux = 4, .time = 10, .address = 0x2000, .size = 64,
	    .device = 5);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10, .address = 0x3000, .size = 64,
	    .device = 7);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10, .address = 0x4000, .size = 64,
	    .device = 6);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->slots[0].drain.bad, 3);
	assert_int_equal(map->len, 1);
	assert_int_equal(aif_code_map_find(map, AIF_CODE_MAP_32, 0x1010, 0x300, 20, 30, hits), 1);
	assert_int_equal(aif_code_map_find(map, AIF_CODE_MAP_32, 0x1010, 0x400, 20, 30, hits), 0);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 25, .device = 5);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_code_map_find(map, AIF_CODE_MAP_32, 0x1010, 0, 26, 30, hits), 0);
	assert_null(xe->stream); /* --device-rate 0 */
}

static void records_become_rows(void **state)
{
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	struct aif_batch *b;
	const struct aif_launch_row *l;
	const struct aif_exec_row *e;

	PUT(w, 1, THREAD, thread, NULL, .head.aux = 77, .name = "worker");
	define(w, 1);
	PUT(w, 1, SHAPE, shape, NULL, .head.aux = 2, .grid = {64, 32, 1}, .block = {16, 16, 1});
	launch(w, 1, 9);
	PUT(w, 2, EXEC, exec, NULL, .launch = UINT64_C(1) << AIF_WIRE_SLOT_SHIFT | 9, .start = 1000,
	    .end = 1500, .stream = 6, .kernel = 8);
	assert_true(aif_target_drain(&w->d, w->t) > 0);

	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_int_equal(b->len, 1);
	l = b->launches;
	assert_int_equal(p->threads[l->thread].tid, 77);
	assert_string_equal(aif_profile_str(p, p->threads[l->thread].name), "worker");
	assert_string_equal(aif_profile_str(p, p->kernels[l->kernel].name), "multiply");
	assert_string_equal(aif_profile_str(p, p->devices[l->device].name), "dev");
	assert_string_equal(aif_profile_str(p, p->programs[p->kernels[l->kernel].program].source),
			    "kernel");
	assert_int_equal(p->shapes[l->shape].grid[0], 64);
	assert_int_equal(l->stack, AIF_NONE); /* its stack was never defined */
	b = take(w, AIF_BATCH_EXEC);
	assert_non_null(b);
	e = b->execs;
	assert_true(e->launch == l->launch);
	assert_int_equal(e->clock, AIF_CLOCK_MONOTONIC_RAW);
	assert_int_equal(e->end - e->start, 500);
}

/* Times of executed kernels decide between functions of several processes at one address
 * (code_map.h). */
static void executions_weigh_their_functions(void **state)
{
	struct world *w = *state;
	struct aif_code_map *map = aif_device_code_map(&w->d);

	define(w, 0);
	PUT(w, 0, CODE, code, "multiply", .head.aux = 3, .name_len = 8);
	PUT(w, 0, PLACE, place, NULL, .head.aux = 3, .time = 10, .address = 0x1000, .size = 64,
	    .device = 5);
	/* Before its kernel is known, and after. */
	PUT(w, 1, EXEC, exec, NULL, .start = 1000, .end = 1500, .stream = 6, .kernel = 9);
	PUT(w, 1, EXEC, exec, NULL, .start = 2000, .end = 2030, .stream = 6, .kernel = 8);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(map->len, 1);
	assert_int_equal(aif_code_map_time(map, &map->at[0]), 30);
	PUT(w, 1, KERNEL, kernel, "multiply", .head.aux = 9, .program = 7, .name_len = 8);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(aif_code_map_time(map, &map->at[0]), 530);
}

/* The definition lies in a ring that is drained later in the same round. */
static void definitions_may_come_from_a_later_ring(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	launch(w, 0, 1);
	define(w, 2);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_string_equal(
		aif_profile_str(&w->store.p, w->store.p.kernels[b->launches[0].kernel].name),
		"multiply");
	assert_int_not_equal(b->launches[0].stream, AIF_NONE);
}

/* Definitions were written to ring 0 after it was looked at, and before ring 1 and 2 were. */
static void definitions_may_come_in_the_next_round(void **state)
{
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	struct aif_batch *b;

	launch(w, 1, 1);
	PUT(w, 2, STREAM, stream, NULL, .head.aux = 6, .device = 5);
	PUT(w, 2, KERNEL, kernel, "multiply", .head.aux = 8, .program = 7, .name_len = 8);
	aif_target_drain(&w->d, w->t);
	assert_null(take(w, AIF_BATCH_LAUNCH));
	PUT(w, 0, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3);
	PUT(w, 0, PROGRAM, program, "-O", .head.aux = 7, .source_len = 3, .options_len = 2);
	PUT(w, 0, TEXT, text, "ker", .head.aux = 7, .offset = 0, .len = 3);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_int_not_equal(b->launches[0].device, AIF_NONE);
	assert_int_equal(p->streams_len, 1);
	assert_int_equal(p->kernels_len, 1);
	assert_string_equal(aif_profile_str(p, p->programs[p->kernels[0].program].source), "ker");
}

static void a_launch_of_nothing_known_is_still_a_launch(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	launch(w, 0, 1);
	aif_target_drain(&w->d, w->t);
	assert_null(take(w, AIF_BATCH_LAUNCH)); /* the next look at the rings may bring the names */
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_int_equal(b->launches[0].kernel, AIF_NONE);
	assert_int_equal(b->launches[0].device, AIF_NONE);
}

/* An allocation waits for its device as a launch does. One whose device never comes would be the host's. */
static void allocations_are_of_a_device_or_the_hosts(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 1, MEMORY, memory, NULL, .head.aux = AIF_MEMORY_ALLOCATE, .time = 10, .block = 1,
	    .bytes = 100, .allocated = 300, .reserved = 400, .stack = AIF_WIRE_NONE, .device = 5);
	PUT(w, 1, MEMORY, memory, NULL, .head.aux = AIF_MEMORY_RELEASE, .time = 11, .block = 2,
	    .allocated = AIF_MEMORY_UNKNOWN, .reserved = AIF_MEMORY_UNKNOWN, .stack = AIF_WIRE_NONE,
	    .device = AIF_WIRE_NONE);
	PUT(w, 1, MEMORY, memory, NULL, .head.aux = AIF_MEMORY_ALLOCATE, .device = 77);
	PUT(w, 1, MEMORY, memory, NULL, .head.aux = 3, .device = AIF_WIRE_NONE);
	PUT(w, 2, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3);
	aif_target_drain(&w->d, w->t);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_MEMORY);
	assert_non_null(b);
	assert_int_equal(b->len, 2);
	for (size_t i = 0; i < b->len; i++) {
		const struct aif_memory_row *r = &b->memory[i];

		if (r->kind == AIF_MEMORY_ALLOCATE) {
			assert_int_equal(r->device, 0);
			assert_int_equal(r->bytes, 100);
			assert_int_equal(r->allocated, 300);
			assert_int_equal(r->reserved, 400);
		} else {
			assert_int_equal(r->device, AIF_NONE);
			assert_int_equal(r->block, 2);
			assert_int_equal(r->allocated, AIF_MEMORY_UNKNOWN);
		}
	}
	assert_int_equal(w->t->slots[1].drain.bad, 1);
	assert_int_equal(w->store.p.losses_len, 1);
	assert_int_equal(w->store.p.losses[0].reason, AIF_REASON_RING_FULL);
}

AIF_NOINLINE static uint64_t my_address(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void stacks_are_shared_and_root_first(void **state)
{
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	uint64_t here = my_address();
	struct aif_wire_stack *s;
	struct aif_batch *b;
	uint32_t stack;

	define(w, 0);
	for (uint32_t id = 1; id <= 2; id++) {
		s = put(w, 0, AIF_WIRE_STACK, sizeof(*s) + 2 * 8, NULL);
		s->head.aux = id;
		s->depth = 2;
		s->stop = id == 2; /* the second is cut short */
		s->pcs[0] = here + id;
		s->pcs[1] = here;
		aif_ring_commit(&w->ring[0]);
	}
	launch(w, 0, 1);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	stack = b->launches[0].stack;
	assert_int_equal(p->stacks_len, 3); /* one caller, two callees */
	assert_int_equal(p->stacks[stack].depth, 2);
	assert_int_equal(p->stacks[p->stacks[stack].parent].parent, AIF_NONE);
	assert_int_equal(p->stacks[stack].flags, 0);
	assert_int_equal(p->stacks[2].flags, AIF_STACK_TRUNCATED);
	/* The address is of the file, and inside the call: found through /proc/self/maps. */
	assert_int_equal(p->modules[p->frames[p->stacks[0].frame].module].kind, AIF_MODULE_ELF);
	assert_int_equal(p->frames[p->stacks[stack].frame].address,
			 p->frames[p->stacks[0].frame].address + 1);
}

/* Writes a stack of `n` entries, innermost first. */
static void put_stack(struct world *w, int slot, uint32_t id, const uint64_t *entries, uint32_t n,
		      uint32_t stop)
{
	struct aif_wire_stack *s =
		aif_ring_reserve(&w->ring[slot], AIF_WIRE_STACK, sizeof(*s) + n * sizeof(*entries));

	assert_non_null(s);
	s->head.aux = id;
	s->depth = n;
	s->stop = stop;
	memcpy(s->pcs, entries, n * sizeof(*entries));
	aif_ring_commit(&w->ring[slot]);
}

#define PY(code, lasti) (AIF_WIRE_PYTHON | (uint64_t)(code) << 32 | (uint32_t)(lasti))

/* A compiler's functions, as the ring tells of them: one place, two functions, and the first one again. */
static void jit_functions_have_their_own_frames(void **state)
{
	static const char *const names[] = {"one", "two", "one"};
	const uint64_t entries[] = {0x1011, (uintptr_t)take + 1}, unknown[] = {0x1211};
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	uint32_t frames[3];

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 1);
	for (uint32_t i = 0; i < 3; i++) {
		PUT(w, 0, JIT, jit, names[i], .lo = 0x1000, .hi = 0x1100, .name_len = 3);
		put_stack(w, 0, i, entries, AIF_ARRAY_LEN(entries), AIF_WIRE_STACK_GUESSED);
	}
	put_stack(w, 0, 3, unknown, AIF_ARRAY_LEN(unknown), 1);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(w->t->slots[0].drain.bad, 0);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t stack;

		assert_true(aif_map_get(&w->t->slots[0].stacks, i, &stack));
		assert_int_equal(p->stacks[stack].flags, AIF_STACK_GUESSED);
		frames[i] = p->stacks[stack].frame;
		assert_int_equal(p->frames[frames[i]].address, 0x1010);
		assert_string_equal(
			aif_profile_str(p, p->modules[p->frames[frames[i]].module].path), "[jit]");
		assert_string_equal(aif_profile_str(p, aif_profile_frame_name(p, frames[i])->name),
				    strcmp(names[i], "one") ? "[jit] two" : "[jit] one");
	}
	assert_int_equal(frames[0], frames[2]);
	assert_int_not_equal(frames[0], frames[1]);
	assert_null(aif_profile_frame_name(p, p->stacks[p->stacks_len - 1].frame));
}

/* 3.9's table: pairs of (bytes, lines): the second line begins at byte 10. */
static void python_frames_get_names_and_lines(void **state)
{
	const uint64_t entries[] = {PY(1, 12), PY(0, -1), (uintptr_t)take + 1, PY(0, 2), PY(9, 0)};
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	const struct aif_frame_name *n;
	uint32_t stack;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 1);
	PUT(w, 0, PYCODE, pycode, "mainprog.py\x0a\x01", .head.aux = 0, .first_line = 3,
	    .name_len = 4, .file_len = 7, .lines_len = 2, .minor = 9);
	PUT(w, 0, PYCODE, pycode, "<lambda>prog.py\x0a\x01", .head.aux = 1, .first_line = 7,
	    .name_len = 8, .file_len = 7, .lines_len = 2, .minor = 9);
	put_stack(w, 0, 1, entries, AIF_ARRAY_LEN(entries), AIF_WIRE_STACK_BLOCK);
	launch(w, 0, 1);
	/* The same functions in another thread are the same frames, whatever their numbers there. */
	PUT(w, 1, THREAD, thread, NULL, .head.aux = 2);
	PUT(w, 1, PYCODE, pycode, "<lambda>prog.py\x0a\x01", .head.aux = 4, .first_line = 7,
	    .name_len = 8, .file_len = 7, .lines_len = 2, .minor = 9);
	PUT(w, 1, PYCODE, pycode, "mainprog.py\x0a\x01", .head.aux = 5, .first_line = 3,
	    .name_len = 4, .file_len = 7, .lines_len = 2, .minor = 9);
	put_stack(w, 1, 1, (const uint64_t[]){PY(4, 12), PY(5, -1), (uintptr_t)take + 1, PY(5, 2)},
		  4, AIF_WIRE_STACK_BLOCK);
	launch(w, 1, 1);
	assert_true(aif_target_drain(&w->d, w->t) > 0);
	assert_int_equal(w->t->slots[0].drain.bad, 0);

	/* The entry of an unknown function is left out: four frames, of which two are one function. */
	assert_int_equal(p->stacks_len, 4);
	stack = 3;
	assert_int_equal(p->stacks[stack].depth, 4);
	assert_int_equal(p->stacks[stack].flags, AIF_STACK_GUESSED);
	n = aif_profile_frame_name(p, p->stacks[stack].frame);
	assert_string_equal(aif_profile_str(p, n->name), "<lambda>:7");
	assert_string_equal(aif_profile_str(p, n->file), "prog.py");
	assert_int_equal(n->line, 8);
	assert_int_equal(p->frames[n->frame].kind, AIF_FRAME_PYTHON);
	assert_int_equal(p->modules[p->frames[n->frame].module].kind, AIF_MODULE_SOURCE);
	stack = p->stacks[stack].parent;
	n = aif_profile_frame_name(p, p->stacks[stack].frame);
	assert_string_equal(aif_profile_str(p, n->name), "main");
	assert_int_equal(n->line, 3);
	stack = p->stacks[p->stacks[stack].parent].parent;
	assert_int_equal(p->stacks[stack].parent, AIF_NONE);
	assert_string_equal(
		aif_profile_str(p, aif_profile_frame_name(p, p->stacks[stack].frame)->name),
		"main");
}

static void a_block_is_a_window(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	PUT(w, 0, THREAD, thread, NULL, .head.aux = 1);
	PUT(w, 0, BLOCK, block, NULL, .head.aux = 1, .start = 10, .end = 20, .launches = 7,
	    .block = 3, .duty_ppm = 250000);
	PUT(w, 0, BLOCK, block, NULL, .head.aux = 0, .start = 30, .end = 25, .launches = 9,
	    .block = 4, .duty_ppm = UINT32_MAX);
	/* The block of a thread that was killed before it could tell. */
	atomic_store(&aif_shm_slot(w->shm, 0)->block, 6);
	atomic_store(&aif_shm_slot(w->shm, 0)->block_start, 40);
	atomic_store(&aif_shm_slot(w->shm, 0)->block_launches, 11);
	assert_true(aif_target_drain(&w->d, w->t) > 0);
	aif_ingest_last_blocks(&w->d, w->t, 50);
	b = take(w, AIF_BATCH_WINDOW);
	assert_int_equal(b->len, 3);
	assert_int_equal(b->windows[0].launches, 7);
	assert_int_equal(b->windows[0].held, 1);
	assert_int_equal(b->windows[0].p_ppm, 250000);
	assert_int_equal(b->windows[1].held, 0);
	assert_int_equal(b->windows[1].end, 30);
	assert_int_equal(b->windows[1].p_ppm, 1000000);
	assert_int_equal(b->windows[2].launches, 11);
	assert_int_equal(b->windows[2].end, 50);
	assert_int_equal(w->t->uncaptured, 9 + 11);
}

/* A slot that another thread takes: ids of the one before mean nothing any more. */
static void a_new_thread_forgets_slot_ids(void **state)
{
	struct world *w = *state;
	struct aif_batch *b;

	define(w, 0);
	PUT(w, 0, SHAPE, shape, NULL, .head.aux = 2, .grid = {64, 32, 1});
	launch(w, 0, 1);
	PUT(w, 0, THREAD, thread, NULL, .head.aux = 78, .name = "next");
	launch(w, 0, 2);
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_LAUNCH);
	assert_non_null(b);
	assert_int_equal(b->len, 2);
	assert_int_not_equal(b->launches[0].shape, AIF_NONE);
	assert_int_equal(b->launches[1].shape, AIF_NONE);
}

/* A target in a time namespace: its clocks become the recorder's, each by its own offset. */
static void another_namespaces_times_become_ours(void **state)
{
	static const struct {
		uint32_t clock;
		uint64_t start;
	} devices[] = {{AIF_CLOCK_MONOTONIC, 1300},
		       {AIF_CLOCK_MONOTONIC_RAW, 1300},
		       {AIF_CLOCK_REALTIME, 300},
		       {AIF_CLOCK_BOOTTIME, 320},
		       {AIF_CLOCK_DEVICE + 9, 300}};
	struct world *w = *state;
	struct aif_batch *b;

	aif_target_set_clocks(w->t, &(struct aif_proc_clocks){.monotonic = 1000, .boottime = 20});
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(devices); i++) {
		PUT(w, 0, DEVICE, device, NULL, .head.aux = i, .kind = AIF_DEVICE_GPU,
		    .clock = devices[i].clock, .units = i + 1);
		PUT(w, 0, STREAM, stream, NULL, .head.aux = i, .device = i);
		PUT(w, 0, EXEC, exec, NULL, .head.aux = AIF_LAUNCH_COPY, .launch = i, .start = 300,
		    .end = 301, .stream = i);
	}
	aif_target_drain(&w->d, w->t);
	b = take(w, AIF_BATCH_EXEC);
	assert_int_equal(b->len, AIF_ARRAY_LEN(devices));
	for (size_t i = 0; i < AIF_ARRAY_LEN(devices); i++) {
		assert_int_equal(b->execs[i].start, devices[i].start);
		assert_int_equal(b->execs[i].end, devices[i].start + 1);
	}
}

static void pc(struct world *w, int slot, uint32_t window, uint32_t code, uint64_t at,
	       uint32_t reason, uint32_t samples)
{
	struct aif_wire_pc *r =
		aif_ring_reserve(&w->ring[slot], AIF_WIRE_PC, sizeof(*r) + sizeof(r->samples[0]));

	assert_non_null(r);
	r->head.aux = window;
	r->code = code;
	r->count = 1;
	r->pc = at;
	r->samples[0] = (uint64_t)reason << 32 | samples;
	aif_ring_commit(&w->ring[slot]);
}

static void counted_samples_become_rows_of_their_window(void **state)
{
	struct world *w = *state;
	struct aif_profile *p = &w->store.p;
	struct aif_modfile file;
	struct aif_batch *b;
	const struct aif_sample_row *s;

	PUT(w, 0, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3);
	PUT(w, 1, CODE, code, "_Z1fv", .head.aux = 9, .hash = 0xabc, .symbol = 4, .name_len = 5);
	PUT(w, 1, REASON, reason, "wait", .head.aux = 2, .name_len = 4);
	PUT(w, 1, WINDOW, window, NULL, .head.aux = 77, .device = 5, .start = 1000, .end = 2000,
	    .period_ps = 132000, .samples = 50, .lost = 3, .others = 7);
	pc(w, 1, 77, 9, 0x40, 2, 30);
	pc(w, 1, 77, 9, 0x50, 99, 6);             /* of a reason that nobody told of */
	pc(w, 1, 77, 8, 0x50, 99, 4);             /* and in code that nobody did */
	pc(w, 1, 77, 9, UINT64_C(1) << 47, 2, 1); /* no function is that long */
	aif_target_drain(&w->d, w->t);

	assert_int_equal(p->modules_len, 1);
	assert_int_equal(p->modules[0].kind, AIF_MODULE_DEVICE);
	assert_string_equal(aif_profile_str(p, p->modules[0].path), "cubin 0000000000000abc");
	assert_string_equal(aif_profile_str(p, p->modules[0].build_id), "0000000000000abc.4");
	assert_true(aif_modfiles_take(&w->files, &file));
	assert_string_equal(file.function, "_Z1fv");
	assert_int_equal(file.object, 0xabc);
	aif_modfile_finish(&file);
	b = take(w, AIF_BATCH_SAMPLE);
	assert_non_null(b);
	assert_int_equal(b->len, 5);
	s = b->samples;
	assert_int_equal(s[0].count, 7); /* of others */
	assert_int_equal(s[0].frame, AIF_NONE);
	assert_int_equal(s[0].reason, AIF_NONE);
	assert_int_equal(s[1].count, 30);
	assert_int_equal(s[1].time, 1000);
	assert_int_equal(s[1].thread, AIF_NONE);
	assert_int_equal(p->frames[s[1].frame].address, 0x40);
	assert_int_equal(p->frames[s[1].frame].kind, AIF_FRAME_DEVICE);
	assert_string_equal(aif_profile_str(p, s[1].reason), "wait");
	assert_int_equal(s[2].reason, AIF_NONE);
	/* Without frame and reason it would be of others. */
	assert_int_equal(s[3].frame, AIF_NONE);
	assert_int_not_equal(s[3].reason, AIF_NONE);
	assert_int_equal(s[4].frame, AIF_NONE);
	assert_int_equal(p->losses_len, 1);
	assert_int_equal(p->losses[0].reason, AIF_REASON_SAMPLE_LOST);
	assert_int_equal(p->losses[0].count, 3);
	/* The module's kernel is told of later. */
	assert_int_equal(p->modules[0].kernel, AIF_NONE);
	PUT(w, 2, KERNEL, kernel, "_Z1fv", .head.aux = 1, .program = AIF_WIRE_NONE, .name_len = 5);
	aif_target_drain(&w->d, w->t);
	aif_source_device_code.target_end(&w->d, w->t, 1);
	assert_int_equal(p->modules[0].kernel, 0);
	assert_string_equal(aif_profile_str(p, p->kernels[0].name), "f()");
}

static void counted_samples_of_no_window_are_refused(void **state)
{
	struct world *w = *state;

	PUT(w, 0, DEVICE, device, "dev", .head.aux = 5, .kind = AIF_DEVICE_GPU, .name_len = 3);
	pc(w, 1, 0, 9, 0x40, 2, 30); /* before any */
	PUT(w, 1, WINDOW, window, NULL, .head.aux = 1, .device = 6, .start = 1000, .end = 2000);
	pc(w, 1, 1, 9, 0x40, 2, 30); /* of a device that nobody knows */
	PUT(w, 1, WINDOW, window, NULL, .head.aux = 2, .device = 5, .samples = UINT64_MAX);
	pc(w, 1, 2, 9, 0x40, 2, 30); /* of one that lies */
	PUT(w, 1, WINDOW, window, NULL, .head.aux = 3, .device = 5, .samples = 30);
	pc(w, 1, 4, 9, 0x40, 2, 30); /* of another */
	pc(w, 2, 3, 9, 0x40, 2, 30); /* in another ring */
	aif_target_drain(&w->d, w->t);
	assert_null(take(w, AIF_BATCH_SAMPLE));
	assert_int_equal(w->t->slots[1].drain.bad, 6);
	assert_int_equal(w->t->slots[2].drain.bad, 1);
}

static void what_a_program_was_made_of_has_a_name(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	struct aif_modfile file;

	PUT(w, 0, PROGRAM, program, NULL, .head.aux = 7, .il = 0x1234);
	aif_target_drain(&w->d, w->t);
	assert_string_equal(aif_profile_str(p, p->programs[0].source_name),
			    "spirv 0000000000001234");
	assert_true(aif_modfiles_take(&w->files, &file));
	assert_int_equal(file.spirv, 0x1234);
	aif_modfile_finish(&file);
	w->opts.no_code = true;
	PUT(w, 0, PROGRAM, program, NULL, .head.aux = 8, .il = 0x1235);
	aif_target_drain(&w->d, w->t);
	assert_int_equal(p->programs[1].source_name, AIF_NONE);
	assert_false(aif_modfiles_take(&w->files, &file));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_a_program_was_made_of_has_a_name),
		TEST(places_are_of_known_code),
		TEST(records_become_rows),
		TEST(executions_weigh_their_functions),
		TEST(definitions_may_come_from_a_later_ring),
		TEST(definitions_may_come_in_the_next_round),
		TEST(a_launch_of_nothing_known_is_still_a_launch),
		TEST(allocations_are_of_a_device_or_the_hosts),
		TEST(stacks_are_shared_and_root_first),
		TEST(jit_functions_have_their_own_frames),
		TEST(python_frames_get_names_and_lines),
		TEST(a_block_is_a_window),
		TEST(a_new_thread_forgets_slot_ids),
		TEST(another_namespaces_times_become_ours),
		cmocka_unit_test_setup_teardown(counted_samples_become_rows_of_their_window, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(counted_samples_of_no_window_are_refused, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
