/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fixture_python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
/* after those */
#include <cmocka.h>

/*
 * For programs that pretend to be Python: the symbols by which an interpreter is found (they are linked with
 * their symbols exported), with one that is made by hand behind them, so that all of detect() is passed.
 */

#define EXPORT __attribute__((visibility("default")))

static struct fake fake;
static struct aif_python *py;
static const char *version;
static int finalizing;
static bool second_interpreter;
static uint64_t no_thread_here;
static unsigned minor_;

EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT const char *Py_GetVersion(void);
EXPORT int _Py_IsFinalizing(void);
EXPORT void *PyInterpreterState_Main(void);
EXPORT void *PyInterpreterState_Head(void);
EXPORT int _PyEval_EvalFrameDefault(void);
EXPORT extern uint64_t PyCode_Type[16], PyUnicode_Type[16], PyBytes_Type[16];
EXPORT extern uint64_t _PyRuntime[FAKE_WORDS];
uint64_t PyCode_Type[16], PyUnicode_Type[16], PyBytes_Type[16], _PyRuntime[FAKE_WORDS];

void *PyGILState_GetThisThreadState(void)
{
	return no_thread_here ? NULL : (void *)(uintptr_t)fake.thread;
}

const char *Py_GetVersion(void)
{
	return version;
}

int _Py_IsFinalizing(void)
{
	return finalizing;
}

void *PyInterpreterState_Main(void)
{
	return (void *)(uintptr_t)fake.interpreter;
}

void *PyInterpreterState_Head(void)
{
	return second_interpreter ? &second_interpreter : PyInterpreterState_Main();
}

int _PyEval_EvalFrameDefault(void)
{
	return finalizing + 1;
}

static unsigned died;

static void plain_dealloc(void *object)
{
	(void)object;
	died++;
}

static void (**dealloc(void))(void *)
{
	return (void (**)(void *)) & PyCode_Type[6];
}

enum { MEMORY = 1 << 20 };

/* For expect_places(). */
static struct {
	uint64_t places, deaths, hash;
} seen[256];
static unsigned turn;

/* An interpreter 3.`minor` without frames, not yet detected. */
static void begin(unsigned minor)
{
	static char text[32], *memory;
	struct aif_python_layout l;

	minor_ = minor;
	snprintf(text, sizeof(text), "3.%u.7 (main) [made by hand]", minor);
	version = text;
	finalizing = 0;
	second_interpreter = false;
	no_thread_here = 0;
	died = 0;
	assert_true(fake_layout(minor, &l));
	memset(_PyRuntime, 0, sizeof(_PyRuntime));
	if (minor >= 13)
		fake_describe(minor, _PyRuntime);
	if (!memory)
		memory = aligned_alloc(64, MEMORY);
	assert_non_null(memory);
	fake_init(&fake, &l, memory, MEMORY);
	fake.type_code = (uint64_t)(uintptr_t)PyCode_Type;
	fake.type_str = (uint64_t)(uintptr_t)PyUnicode_Type;
	fake.type_bytes = (uint64_t)(uintptr_t)PyBytes_Type;
	PyCode_Type[3] = (uint64_t)(uintptr_t) "code";
	if (py)
		aif_python_stop(py);
	else
		py = aligned_alloc(64, sizeof(*py));
	assert_non_null(py);
	*dealloc() = plain_dealloc;
	memset(py, 0, sizeof(*py));
	memset(seen, 0, sizeof(seen));
}

static void end(void)
{
	aif_python_stop(py);
	assert_ptr_equal(*dealloc(), plain_dealloc);
}

enum { MAX = 64 };

static struct aif_python_frame frames[MAX];
static struct aif_python_stack stack;

/* Checks that a hash by places which was seen before still stands for the same `stack`, as long as no code object has
 * died. */
static void expect_places(unsigned max)
{
	const uint64_t deaths = aif_python_deaths(py);
	uint64_t places;

	if (!aif_python_hash_places(py, max, &places))
		return;
	assert_int_equal(stack.stop, AIF_PYTHON_STOP_END);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(seen) && !stack.unknown; i++)
		if (seen[i].hash && seen[i].places == places && seen[i].deaths == deaths)
			assert_int_equal(seen[i].hash, stack.hash);
	if (!stack.unknown)
		seen[turn++ % AIF_ARRAY_LEN(seen)] = (typeof(seen[0])){places, deaths, stack.hash};
}

static void walk(unsigned max)
{
	struct aif_python_stack hash;

	memset(frames, 0xaa, sizeof(frames));
	aif_python_walk(py, AIF_PYTHON_AT_CALL, fake_bounds(&fake), frames, max, &stack);
	aif_python_hash(py, AIF_PYTHON_AT_CALL, max, &hash);
	assert_memory_equal(&stack, &hash, sizeof(hash));
	aif_python_hash(py, AIF_PYTHON_IN_SIGNAL, max, &hash);
	assert_memory_equal(&stack, &hash, sizeof(hash));
	expect_places(max);
	/* nothing is written beyond */
	for (unsigned i = stack.depth; i < MAX; i++)
		assert_int_equal(frames[i].code, 0xaaaaaaaaaaaaaaaa);
}

static char buffer[AIF_PYTHON_CODE_BUFFER];

static void learn_all(void)
{
	struct aif_python_code c;

	walk(MAX);
	for (unsigned i = 0; i < stack.depth; i++) {
		if (frames[i].id == 0 && aif_python_codes_find(&py->codes, frames[i].code) == 0) {
			int rc = aif_python_code_read(py, frames[i].code, buffer, sizeof(buffer),
						      &c);

			assert_true(rc == 0 || rc == -EEXIST);
			if (rc == 0)
				assert_int_equal(aif_python_code_publish(py, &c), 0);
		}
	}
	walk(MAX);
	assert_int_equal(stack.unknown, 0);
}

/* <module> calls a, C calls b, which calls c, C calls b */
struct calls {
	uint64_t module, a, b, c;
	uint64_t place[3]; /* of segments, outermost first */
	uint64_t frame[5]; /* outermost first */
};

static struct calls five_calls(void)
{
	struct calls s = {
		.module = fake_named(&fake, "<module>"),
		.a = fake_named(&fake, "a"),
		.b = fake_named(&fake, "b"),
		.c = fake_named(&fake, "Class.c"),
	};

	/* to 3.10 every call is a segment of its own: the last is asked for, as an example */
	s.frame[0] = fake_push(&fake, s.module, 4, true, &s.place[0]);
	s.frame[1] = fake_push(&fake, s.a, 6, fake.l.kind == AIF_PYTHON_OBJECTS, NULL);
	s.frame[2] = fake_push(&fake, s.b, 8, true, &s.place[1]);
	s.frame[3] = fake_push(&fake, s.c, 10, fake.l.kind == AIF_PYTHON_OBJECTS, NULL);
	s.frame[4] = fake_push(&fake, s.b, 12, true, &s.place[2]);
	return s;
}
