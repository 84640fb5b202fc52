/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_interpreter.h"

/* Frames and code objects, on interpreters made by hand. */

static void assert_five_calls(const struct calls *s)
{
	bool each = fake.l.kind == AIF_PYTHON_OBJECTS;

	assert_int_equal(stack.depth, 5);
	assert_int_equal(stack.segments, each ? 5 : 3);
	assert_int_equal(stack.stop, AIF_PYTHON_STOP_END);
	assert_true(stack.hash != 0);
	assert_int_equal(frames[0].code, s->b);
	assert_int_equal(frames[1].code, s->c);
	assert_int_equal(frames[2].code, s->b);
	assert_int_equal(frames[3].code, s->a);
	assert_int_equal(frames[4].code, s->module);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(frames[i].lasti, 12 - 2 * i);
		assert_int_equal(frames[i].ends_segment, each || i == 0 || i == 2 || i == 4);
	}
	if (minor_ >= 10) {
		assert_int_equal(frames[0].on_stack, s->place[2]);
		assert_int_equal(frames[2].on_stack, s->place[1]);
		assert_int_equal(frames[4].on_stack, s->place[0]);
	}
	for (unsigned i = 0; i < 5; i++)
		if (minor_ < 10 || !frames[i].ends_segment)
			assert_int_equal(frames[i].on_stack, 0);
}

static void test_frames_of_each_version(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct calls s;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		assert_int_equal(aif_python_state(py), AIF_PYTHON_CHECKING);
		walk(MAX);
		assert_int_equal(aif_python_state(py), AIF_PYTHON_ON);
		assert_int_equal(stack.unknown, 5);
		learn_all();
		assert_five_calls(&s);
		assert_int_equal(frames[0].id, frames[2].id);
		assert_true(frames[0].id != frames[1].id && frames[1].id != frames[3].id);
		assert_int_equal(py->eval_lo, (uintptr_t)_PyEval_EvalFrameDefault);
		assert_true(py->eval_hi > py->eval_lo);
		end();
	}
}

static void test_hash_tells_stacks_apart(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		uint64_t first, code, hash, frame;
		struct calls s;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		first = stack.hash;
		/* another instruction of an outer frame */
		if (fake.l.instr == AIF_PYTHON_INSTR_PTR)
			put64(s.frame[1], fake.l.f_instr, s.a + fake.l.co_code + 40);
		else
			put32(s.frame[1], fake.l.f_instr, 40);
		walk(MAX);
		assert_true(stack.hash != first);
		if (fake.l.instr == AIF_PYTHON_INSTR_PTR)
			put64(s.frame[1], fake.l.f_instr, s.a + fake.l.co_code + 6);
		else
			put32(s.frame[1], fake.l.f_instr, minor == 10 ? 3 : 6);
		walk(MAX);
		assert_int_equal(stack.hash, first);
		/* the same two frames in one loop or two */
		if (fake.l.kind == AIF_PYTHON_IS_ENTRY) {
			put8(s.frame[1], fake.l.f_mark, 1);
			walk(MAX);
			assert_true(stack.hash != first);
			put8(s.frame[1], fake.l.f_mark, 0);
		}
		/* another code object at the same address, at the same instruction */
		code = s.c;
		(*dealloc())((void *)(uintptr_t)code);
		assert_int_equal(died, 1);
		walk(MAX);
		assert_int_equal(stack.unknown, 1);
		assert_int_equal(frames[1].id, 0);
		learn_all();
		assert_true(stack.hash != first);
		hash = stack.hash;
		frame = fake_push(&fake, s.b, 2, true, NULL);
		walk(MAX);
		assert_true(stack.hash != hash);
		assert_int_equal(stack.depth, 6);
		hash = stack.hash;
		/* another one that is known, at the same instruction */
		put64(frame, fake.l.f_code, aif_python_u64(frame, fake.l.f_code) + s.a - s.b);
		if (fake.l.instr == AIF_PYTHON_INSTR_PTR)
			put64(frame, fake.l.f_instr,
			      aif_python_u64(frame, fake.l.f_instr) + s.a - s.b);
		walk(MAX);
		assert_int_equal(stack.unknown, 0);
		assert_true(stack.hash != hash);
		end();
	}
}

/* ---- what is cut, what is broken ---- */

static void test_depth_is_marked(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct calls s;
		uint64_t hash[6];

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		for (unsigned max = 0; max <= 5; max++) {
			walk(max);
			assert_int_equal(stack.depth, max);
			assert_int_equal(stack.stop,
					 max == 5 ? AIF_PYTHON_STOP_END : AIF_PYTHON_STOP_DEPTH);
			hash[max] = stack.hash;
			for (unsigned i = 0; i < max; i++)
				assert_true(hash[i] != hash[max]);
			if (max)
				assert_true(frames[max - 1].ends_segment);
			if (minor >= 10 && max == 4 && fake.l.kind != AIF_PYTHON_OBJECTS)
				assert_int_equal(frames[3].on_stack, s.place[0]);
			if (minor >= 10 && max)
				assert_int_equal(frames[0].on_stack, s.place[2]);
		}
		end();
	}
}

static void broken_at(uint64_t frame, uint16_t offset, uint64_t value, unsigned depth)
{
	uint64_t was = aif_python_u64(frame, offset);

	put64(frame, offset, value);
	walk(MAX);
	assert_int_equal(stack.stop, AIF_PYTHON_STOP_BROKEN);
	assert_int_equal(stack.depth, depth);
	put64(frame, offset, was);
	walk(MAX);
	assert_int_equal(stack.stop, AIF_PYTHON_STOP_END);
}

static void test_broken_chains_end(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct calls s;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		/* frames 4 and 3 are taken, then comes what is no frame */
		broken_at(s.frame[3], fake.l.f_previous, 8, 2);              /* the zero page */
		broken_at(s.frame[3], fake.l.f_previous, s.frame[2] + 4, 2); /* not aligned */
		broken_at(s.frame[3], fake.l.f_previous, py->memory_hi, 2);
		broken_at(s.frame[3], fake.l.f_previous, UINT64_MAX - 7, 2);
		broken_at(s.frame[3], fake.l.f_previous, py->memory_hi - 8, 2);
		if (fake.l.instr == AIF_PYTHON_INSTR_PTR) {
			broken_at(s.frame[3], fake.l.f_instr, s.c + fake.l.co_code - 4, 1);
			broken_at(s.frame[3], fake.l.f_instr, s.c + (UINT64_C(1) << 31), 1);
		} else {
			broken_at(s.frame[3], fake.l.f_instr, (uint32_t)-3, 1);
			broken_at(s.frame[3], fake.l.f_instr, INT32_MAX, 1);
		}
		/* a ring: as deep as may be, no deeper */
		put64(s.frame[2], fake.l.f_previous, s.frame[3]);
		walk(MAX);
		assert_int_equal(stack.stop, AIF_PYTHON_STOP_DEPTH);
		assert_int_equal(stack.depth, MAX);
		end();
	}
}

/* Marks and left-out frames do not count, and still a ring of them has an end. */
static void test_ring_of_marks(void **state)
{
	(void)state;
	for (unsigned minor = 12; minor <= 14; minor++) {
		struct calls s;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		put64(s.place[1], fake.l.f_previous, s.place[1]);
		walk(MAX);
		assert_int_equal(stack.stop, AIF_PYTHON_STOP_DEPTH);
		assert_int_equal(stack.depth, 3);
		end();
	}
}

/* A function that is new and stands in the stack many times is entered once, and a death ends it. */
static void test_recursion_is_entered_once(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		const unsigned depth = 40; /* more than a look-up looks at */
		struct aif_python_code c;
		uint64_t f;
		unsigned taken = 0;

		assert_true(depth > AIF_PYTHON_CODES_PROBES);
		begin(minor);
		f = fake_named(&fake, "f");
		for (unsigned i = 0; i < depth; i++)
			fake_push(&fake, f, 2, i == 0 || fake.l.kind == AIF_PYTHON_OBJECTS, NULL);
		aif_python_detect(py);
		walk(MAX);
		assert_int_equal(stack.unknown, depth);
		for (unsigned i = 0; i < depth; i++) {
			assert_int_equal(aif_python_code_read(py, f, buffer, sizeof(buffer), &c),
					 0);
			assert_int_equal(aif_python_code_publish(py, &c), 0);
		}
		walk(MAX);
		assert_int_equal(stack.depth, depth);
		assert_int_equal(stack.unknown, 0);
		for (unsigned i = 0; i < AIF_PYTHON_CODES_LEN; i++)
			taken += py->codes.nodes[i].key > AIF_PYTHON_CODES_BUSY;
		assert_int_equal(taken, 1);
		end();
	}
}

/* Places on the stack are believed altogether or not at all. */
static void test_places_not_believed(void **state)
{
	(void)state;
	for (unsigned minor = 10; minor <= 14; minor++) {
		struct aif_stack_bounds bounds;
		struct calls s;
		uint64_t high;

		begin(minor);
		high = fake_on_stack(&fake, AIF_PYTHON_FRAME_BYTES);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		assert_int_equal(frames[0].on_stack, s.place[2]);
		/* this thread's stack ends before the outermost loop */
		bounds = fake_bounds(&fake);
		bounds.hi = s.place[0];
		aif_python_walk(py, AIF_PYTHON_AT_CALL, bounds, frames, MAX, &stack);
		assert_int_equal(stack.depth, 5);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(frames[i].on_stack, 0);
		/* no stack known */
		aif_python_walk(py, AIF_PYTHON_AT_CALL, (struct aif_stack_bounds){0}, frames, MAX,
				&stack);
		assert_int_equal(stack.depth, 5);
		assert_int_equal(frames[0].on_stack, 0);
		if (fake.l.kind == AIF_PYTHON_ENTRY_FRAME) {
			/* not above the last one */
			memcpy((void *)(uintptr_t)high, (void *)(uintptr_t)s.place[2],
			       AIF_PYTHON_FRAME_BYTES);
			put64(s.frame[4], fake.l.f_previous, high);
		} else {
			put64(fake.cframe, fake.l.cframe_previous, fake.cframe);
			walk(MAX);
			assert_int_equal(frames[0].on_stack, 0);
			assert_int_equal(frames[4].on_stack, 0);
			/* one is left out */
			put64(fake.cframe, fake.l.cframe_previous, s.place[0]);
		}
		walk(MAX);
		assert_int_equal(stack.depth, 5);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(frames[i].on_stack, 0);
		if (fake.l.kind == AIF_PYTHON_IS_ENTRY) {
			/* one that names another frame */
			put64(fake.cframe, fake.l.cframe_previous, s.place[1]);
			walk(MAX);
			assert_int_equal(frames[0].on_stack, s.place[2]);
			put64(s.place[1], fake.l.cframe_current, s.frame[3] + 8);
			walk(MAX);
			assert_int_equal(frames[0].on_stack, 0);
			assert_int_equal(stack.depth, 5);
		}
		end();
	}
}

/* ---- code that is not shown, code that is none ---- */

static void test_helper_frames_are_left_out(void **state)
{
	(void)state;
	for (unsigned minor = 12; minor <= 14; minor++) {
		uint64_t helper, place, hash;
		struct calls s;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		hash = stack.hash;
		helper = fake_named(&fake, "__init__");
		put32(helper, fake.l.co_firsttraceable, FAKE_CODE_UNITS);
		fake_push(&fake, helper, 2, false, NULL);
		learn_all();
		assert_five_calls(&s);
		assert_int_equal(stack.hash, hash);
		/* alone in its loop: that has no segment */
		fake_push(&fake, helper, 2, true, &place);
		walk(MAX);
		assert_five_calls(&s);
		assert_int_equal(stack.hash, hash);
		/* between a frame and its mark */
		fake_push(&fake, helper, 2, true, &place);
		fake_push(&fake, s.a, 2, false, NULL);
		walk(MAX);
		assert_int_equal(stack.depth, 6);
		assert_true(frames[0].ends_segment);
		assert_int_equal(frames[0].on_stack, place);
		end();
	}
}

static void spoil(uint64_t at, uint16_t offset, uint64_t value)
{
	struct aif_python_code c;
	uint64_t was = aif_python_u64(at, offset);

	assert_int_equal(aif_python_code_read(py, frames[0].code, buffer, sizeof(buffer), &c), 0);
	put64(at, offset, value);
	assert_int_equal(aif_python_code_read(py, frames[0].code, buffer, sizeof(buffer), &c),
			 -EINVAL);
	put64(at, offset, was);
}

static void test_what_is_no_code(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		const struct aif_python_layout *l = &fake.l;
		struct aif_python_code c;
		uint64_t code, name, lines, crooked;
		void *page;

		begin(minor);
		five_calls();
		aif_python_detect(py);
		walk(MAX);
		code = frames[0].code;
		name = aif_python_u64(code, l->co_name);
		lines = aif_python_u64(code, l->co_linetable);
		spoil(code, l->ob_type, fake.type_str);
		spoil(code, l->ob_refcnt, 0);
		spoil(code, l->ob_refcnt, 0x00007f0012345670); /* freed: a link */
		spoil(code, l->co_name, 0);
		spoil(code, l->co_name, code);
		/* all of a str, but not where one can lie */
		crooked = fake_alloc(&fake, 128) + 4;
		memcpy((void *)(uintptr_t)crooked, (void *)(uintptr_t)name, 80);
		spoil(code, l->co_name, crooked);
		spoil(code, l->co_filename, lines);
		spoil(code, l->co_linetable, name);
		if (l->co_qualname != AIF_PYTHON_NO_FIELD) {
			spoil(code, l->co_qualname, 16);
			spoil(code, l->ob_size, 0);
			spoil(code, l->ob_size, UINT64_C(1) << 40);
		} else {
			spoil(code, l->co_code, name);
		}
		spoil(name, l->str_length, UINT64_C(1) << 60);
		spoil(name, l->ob_type, fake.type_bytes);
		spoil(lines, l->ob_size, UINT64_C(1) << 60);
		/* a page that cannot be read */
		page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(page != MAP_FAILED);
		assert_int_equal(mprotect(page, 8192, PROT_NONE), 0);
		spoil(code, l->co_name, (uint64_t)(uintptr_t)page);
		munmap(page, 8192);
		spoil(code, l->co_name, (uint64_t)(uintptr_t)page);
		assert_int_equal(aif_python_code_read(py, (uint64_t)(uintptr_t)page, buffer,
						      sizeof(buffer), &c),
				 -EINVAL);
		assert_int_equal(aif_python_code_read(py, code, buffer, 4000, &c), -ENOBUFS);
		end();
	}
}

/* In a handler a frame may lie in memory that was given back. */
static void test_signal_reads_no_unmapped_page(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct calls s;
		void *page;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(page != MAP_FAILED);
		for (int unmapped = 0; unmapped < 2; unmapped++) {
			put64(s.frame[3], fake.l.f_previous, (uint64_t)(uintptr_t)page + 512);
			aif_python_walk(py, AIF_PYTHON_IN_SIGNAL, fake_bounds(&fake), frames, MAX,
					&stack);
			assert_int_equal(stack.stop, AIF_PYTHON_STOP_BROKEN);
			assert_int_equal(stack.depth, 2);
			munmap(page, 4096);
		}
		end();
	}
}

/* A frame may be the last thing in its memory: the interpreter's stack of frames is made of pieces. */
static void a_frame_at_the_end_of_memory_is_read_in_signals(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		uint64_t from, to;
		struct calls s;
		uint8_t *page;

		begin(minor);
		s = five_calls();
		aif_python_detect(py);
		learn_all();
		page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(page != MAP_FAILED);
		assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
		from = aif_python_u64(s.frame[3], fake.l.f_previous);
		to = (uint64_t)(uintptr_t)page + 4096 -
		     AIF_ALIGN_UP(aif_python_frame_end(&fake.l), 8);
		memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from,
		       aif_python_frame_end(&fake.l));
		put64(s.frame[3], fake.l.f_previous, to);
		aif_python_walk(py, AIF_PYTHON_IN_SIGNAL, fake_bounds(&fake), frames, MAX, &stack);
		assert_int_equal(stack.stop, AIF_PYTHON_STOP_END);
		assert_int_equal(stack.depth, 5);
		munmap(page, 8192);
		end();
	}
}

/* ---- texts ---- */

static void name_is(uint64_t str, const char *wanted, size_t len)
{
	struct aif_python_code c;
	uint64_t code = frames[0].code;

	put64(code, fake.l.co_qualname == AIF_PYTHON_NO_FIELD ? fake.l.co_name : fake.l.co_qualname,
	      str);
	assert_int_equal(aif_python_code_read(py, code, buffer, sizeof(buffer), &c), 0);
	assert_int_equal(c.name_len, len);
	assert_memory_equal(c.name, wanted, len);
	assert_int_equal(c.file_len, 7);
	assert_memory_equal(c.file, "file.py", 7);
	assert_int_equal(c.lines_len, 4);
	assert_int_equal(c.first_line, 10);
	assert_int_equal(c.minor, minor_);
}

static void test_texts_become_utf8(void **state)
{
	static const uint32_t latin[] = {'a', 0xe9, 0xff}, wide[] = {'a', 0x7ff, 0x800, 0xffff},
			      all[] = {'a', 0x10000, 0x10ffff}, half[] = {0xd800, 'x', 0xdfff},
			      beyond[] = {0x110000, 'y'};

	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		uint32_t many[600];
		uint64_t old, data;
		char long_name[600];

		begin(minor);
		five_calls();
		aif_python_detect(py);
		walk(MAX);
		name_is(fake_ascii(&fake, "plain"), "plain", 5);
		name_is(fake_ascii(&fake, ""), "", 0);
		name_is(fake_str(&fake, latin, 3, 1), "a\xc3\xa9\xc3\xbf", 5);
		name_is(fake_str(&fake, wide, 4, 2), "a\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 9);
		name_is(fake_str(&fake, all, 3, 4), "a\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 9);
		name_is(fake_str(&fake, half, 3, 2), "\xef\xbf\xbdx\xef\xbf\xbd", 7);
		name_is(fake_str(&fake, beyond, 2, 4), "\xef\xbf\xbdy", 4);
		/* cut at a whole character */
		for (unsigned i = 0; i < 600; i++)
			many[i] = 0x800;
		many[0] = 'z';
		long_name[0] = 'z';
		for (unsigned i = 0; i < 199; i++)
			memcpy(long_name + 1 + 3 * i, "\xe0\xa0\x80", 3);
		name_is(fake_str(&fake, many, 600, 2), long_name, 511);
		/* header and characters in two blocks */
		data = fake_alloc(&fake, 16);
		memcpy((void *)(uintptr_t)data, "a\xe9", 2);
		old = fake_object(&fake, fake.type_str, 2, fake.l.str_compact + 16);
		put32(old, fake.l.str_state, 1 << 2);
		put64(old, fake.l.str_compact, data);
		name_is(old, "a\xc3\xa9", 3);
		end();
	}
}

static void test_line_table_is_cut(void **state)
{
	enum { SMALL = AIF_PYTHON_NAME_MAX + AIF_PYTHON_FILE_MAX };
	static uint8_t table[20000];
	struct aif_python_code c;

	(void)state;
	begin(11);
	five_calls();
	aif_python_detect(py);
	walk(MAX);
	for (unsigned i = 0; i < sizeof(table); i++)
		table[i] = (uint8_t)i;
	put64(frames[0].code, fake.l.co_linetable, fake_bytes(&fake, table, sizeof(table)));
	memset(buffer, 0x55, sizeof(buffer));
	assert_int_equal(aif_python_code_read(py, frames[0].code, buffer, SMALL, &c), 0);
	assert_true(c.lines_cut);
	assert_int_equal(c.lines_len + c.name_len + c.file_len, SMALL);
	assert_memory_equal(c.lines, table, c.lines_len);
	assert_int_equal(buffer[SMALL], 0x55);
	put64(frames[0].code, fake.l.co_linetable, fake_bytes(&fake, table, 100));
	assert_int_equal(aif_python_code_read(py, frames[0].code, buffer, SMALL, &c), 0);
	assert_false(c.lines_cut);
	assert_int_equal(c.lines_len, 100);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_each_version),
		cmocka_unit_test(test_hash_tells_stacks_apart),
		cmocka_unit_test(test_depth_is_marked),
		cmocka_unit_test(test_broken_chains_end),
		cmocka_unit_test(test_ring_of_marks),
		cmocka_unit_test(test_places_not_believed),
		cmocka_unit_test(test_recursion_is_entered_once),
		cmocka_unit_test(test_helper_frames_are_left_out),
		cmocka_unit_test(test_what_is_no_code),
		cmocka_unit_test(test_signal_reads_no_unmapped_page),
		cmocka_unit_test(a_frame_at_the_end_of_memory_is_read_in_signals),
		cmocka_unit_test(test_texts_become_utf8),
		cmocka_unit_test(test_line_table_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
