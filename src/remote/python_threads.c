/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/python.h"

#include <errno.h>
#include <string.h>

/*
 * Finds an interpreter's threads and its lock.
 *
 * Since 3.13 the runtime describes itself: `_PyRuntime` begins with offsets, in words (unwind/python_layout.c has those of frames).
 * Before, the structures differ with each version and are recognised: an interpreter is what one of its first words leads
 * to a thread state whose own pointer leads back, and which is the first of its list; the lock is its interval, the thread
 * state that had it last, and whether it is locked, one after the other.
 */
static const struct {
	uint8_t minor, head, interp_next, threads, gil, gil_begin, gil_locked, gil_holder, ts_next,
		ts_native;
} described[] = {
	{13, 5, 8, 9, 14, 15, 17, 18, 21, 25},
	{14, 5, 8, 9, 15, 16, 18, 19, 24, 28},
};

/* Words of the structures of older versions in which to look. */
#define RUNTIME_WORDS     1024
#define INTERPRETER_WORDS 64
#define GIL_WORDS         8192
#define STATE_WORDS       64

/* Thread states begin with prev, next, interp in all of 3.8 to 3.12. */
#define TS_PREV 0
#define TS_NEXT 8

#define THREADS_MAX      65536
#define INTERPRETERS_MAX 64

/* A pthread_t of glibc on x86-64 points to a structure that names itself at +16, and the thread's number at +0x2d0. */
#define PTHREAD_SELF 0x10
#define PTHREAD_TID  0x2d0

static bool is_tid(const uint32_t *tids, size_t n, uint64_t tid)
{
	size_t lo = AIF_BISECT(mid, 0, n, tids[mid] < tid);

	/* Callers have a 0 for each place of their tables that is free. */
	return tid && lo < n && tids[lo] == tid;
}

static bool is_pointer(uint64_t at)
{
	return at >= 4096 && at < UINT64_C(1) << 56 && at % 8 == 0;
}

/* Finds the thread of the process that has this state; 0: not found. */
static uint32_t tid_of(struct aif_remote_python *py, uint64_t state, unsigned native,
		       const uint32_t *tids, size_t n)
{
	uint64_t word[STATE_WORDS];

	if (native) {
		uint64_t tid;

		return aif_remote_u64(py->memory, state + native, &tid) && is_tid(tids, n, tid)
			       ? (uint32_t)tid
			       : 0;
	}
	if (!aif_remote_read(py->memory, state, word, sizeof(word)))
		return 0;
	for (unsigned i = 3; i + 1 < STATE_WORDS; i++) {
		uint32_t tid;
		uint64_t self;

		if (!is_pointer(word[i]))
			continue;
		/* 3.11 and 3.12 keep the number behind the pthread_t. */
		if (py->layout.minor >= 11 && is_tid(tids, n, word[i + 1]))
			return (uint32_t)word[i + 1];
		if (AIF_ARCH_LINK || py->layout.minor >= 11)
			continue;
		if (aif_remote_u64(py->memory, word[i] + PTHREAD_SELF, &self) && self == word[i] &&
		    aif_remote_read(py->memory, word[i] + PTHREAD_TID, &tid, sizeof(tid)) &&
		    is_tid(tids, n, tid))
			return tid;
	}
	return 0;
}

static int add_threads(struct aif_remote_python *py, uint64_t state, unsigned next, unsigned native,
		       const uint32_t *tids, size_t n)
{
	for (; state;) {
		if (!is_pointer(state) || py->threads_len >= THREADS_MAX)
			return 0;
		if (aif_grow(&py->threads, &py->threads_cap, py->threads_len + 1,
			     sizeof(*py->threads)))
			return -ENOMEM;
		py->threads[py->threads_len++] = (struct aif_remote_python_thread){
			state, tid_of(py, state, native, tids, n)};
		if (!aif_remote_u64(py->memory, state + next, &state))
			return 0;
	}
	return 0;
}

static bool has_state(const struct aif_remote_python *py, uint64_t state)
{
	for (size_t i = 0; i < py->threads_len; i++)
		if (py->threads[i].state == state)
			return true;
	return false;
}

/* ---- 3.13 and newer ---- */

static bool find_described(struct aif_remote_python *py, const uint32_t *tids, size_t n)
{
	uint64_t word[32], interpreter, threads, gil, holder;
	int32_t locked;
	size_t v = 0;

	while (v < AIF_ARRAY_LEN(described) && described[v].minor != py->layout.minor)
		v++;
	if (v == AIF_ARRAY_LEN(described) ||
	    !aif_remote_read(py->memory, py->runtime, word, sizeof(word)))
		return false;
#define OFFSET(name) word[described[v].name]
	for (unsigned i = 0; i < 32; i++)
		if (i >= described[v].head && word[i] > 1 << 24)
			return false;
	if (!aif_remote_u64(py->memory, py->runtime + OFFSET(head), &interpreter))
		return false;
	for (unsigned i = 0; i < INTERPRETERS_MAX && is_pointer(interpreter); i++) {
		if (aif_remote_u64(py->memory, interpreter + OFFSET(threads), &threads) &&
		    add_threads(py, threads, (unsigned)OFFSET(ts_next), (unsigned)OFFSET(ts_native),
				tids, n))
			return false;
		if (aif_remote_u64(py->memory, interpreter + OFFSET(gil), &gil) &&
		    is_pointer(gil) &&
		    aif_remote_read(py->memory, gil + OFFSET(gil_locked) - OFFSET(gil_begin),
				    &locked, sizeof(locked)) &&
		    aif_remote_u64(py->memory, gil + OFFSET(gil_holder) - OFFSET(gil_begin),
				   &holder)) {
			py->gil = gil;
			py->gil_holder = locked == 1 ? holder : 0;
		}
		if (!aif_remote_u64(py->memory, interpreter + OFFSET(interp_next), &interpreter))
			break;
	}
#undef OFFSET
	return py->threads_len > 0;
}

/* ---- older versions ---- */

/* The first thread state of what may be an interpreter; 0: it is none. */
static uint64_t first_state(struct aif_remote_python *py, uint64_t interpreter)
{
	uint64_t word[INTERPRETER_WORDS], prev, interp;

	if (!is_pointer(interpreter) ||
	    !aif_remote_read(py->memory, interpreter, word, sizeof(word)))
		return 0;
	for (unsigned i = 0; i < INTERPRETER_WORDS; i++)
		if (is_pointer(word[i]) &&
		    aif_remote_u64(py->memory, word[i] + py->layout.ts_interp, &interp) &&
		    interp == interpreter && aif_remote_u64(py->memory, word[i] + TS_PREV, &prev) &&
		    prev == 0)
			return word[i];
	return 0;
}

/* Looks for the lock among the words at `at`. */
static void find_gil(struct aif_remote_python *py, uint64_t at, unsigned words)
{
	uint64_t interval, holder;

	for (unsigned i = 0; i + 2 < words; i++) {
		int32_t locked;

		if (!aif_remote_u64(py->memory, at + 8 * i, &interval))
			return;
		if (!interval || interval > 1000000000 ||
		    !aif_remote_u64(py->memory, at + 8 * i + 8, &holder) ||
		    !has_state(py, holder) ||
		    !aif_remote_read(py->memory, at + 8 * i + 16, &locked, sizeof(locked)) ||
		    (locked != 0 && locked != 1))
			continue;
		py->gil = at + 8 * i;
		py->gil_holder = locked ? holder : 0;
		return;
	}
}

static bool find_recognised(struct aif_remote_python *py, const uint32_t *tids, size_t n)
{
	uint64_t interpreter = 0, state = 0;

	for (unsigned i = 0; i < RUNTIME_WORDS && !state; i++)
		if (aif_remote_u64(py->memory, py->runtime + 8 * i, &interpreter))
			state = first_state(py, interpreter);
	if (!state || add_threads(py, state, TS_NEXT, 0, tids, n))
		return false;
	if (py->layout.minor >= 12)
		find_gil(py, interpreter, GIL_WORDS);
	else
		find_gil(py, py->runtime, RUNTIME_WORDS);
	return true;
}

/* ---- the interpreter ---- */

static bool is_python(const char *path, bool is_program)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	return is_program || !strncmp(file, "python", 6) || !strncmp(file, "libpython3", 10);
}

/* The version of an interpreter that does not say it: paths of its modules do. */
static unsigned minor_of_paths(const struct aif_remote_modules *modules)
{
	for (size_t i = 0; i < modules->len; i++) {
		const char *at = strstr(modules->modules[i].path, "python3.");

		if (at && at[8] >= '0' && at[8] <= '9')
			return (unsigned)strtoul(at + 8, NULL, 10);
	}
	return 0;
}

enum aif_remote_python_found aif_remote_python_find(struct aif_remote_python *py,
						    struct aif_remote_modules *modules,
						    const uint32_t *tids, size_t tids_len)
{
	struct aif_remote_module *module = NULL;
	uint64_t at, size, version;
	unsigned minor = 0;

	*py = (struct aif_remote_python){.memory = modules->memory};
	for (size_t i = 0; i < modules->len && !py->runtime; i++) {
		module = &modules->modules[i];
		if (is_python(module->path, i == 0))
			aif_remote_symbol(modules, module, "_PyRuntime", &py->runtime, &size);
		py->module = i;
	}
	if (!py->runtime)
		return AIF_REMOTE_PYTHON_NONE;
	/* PY_VERSION_HEX, since 3.11. */
	if (aif_remote_symbol(modules, module, "Py_Version", &at, &version) &&
	    aif_remote_u64(py->memory, at, &version) && version >> 24 == 3)
		minor = version >> 16 & 0xff;
	else
		minor = minor_of_paths(modules);
	if (!aif_python_layout_known(minor, &py->layout)) {
		uint64_t words[128];

		if (!aif_remote_read(py->memory, py->runtime, words, sizeof(words)) ||
		    aif_python_layout_described(minor, words, sizeof(words), &py->layout))
			return AIF_REMOTE_PYTHON_UNKNOWN;
	}
	if (!aif_remote_symbol(modules, module, "PyCode_Type", &py->type_code, &size) ||
	    !aif_remote_symbol(modules, module, "PyUnicode_Type", &py->type_text, &size) ||
	    !aif_remote_symbol(modules, module, "PyBytes_Type", &py->type_bytes, &size))
		return AIF_REMOTE_PYTHON_UNREADABLE;
	if (aif_remote_symbol(modules, module, "_PyEval_EvalFrameDefault", &py->eval_lo, &size))
		py->eval_hi = py->eval_lo + size;
	if (minor >= 13 ? find_described(py, tids, tids_len) : find_recognised(py, tids, tids_len))
		return AIF_REMOTE_PYTHON_FOUND;
	return AIF_REMOTE_PYTHON_UNREADABLE;
}

void aif_remote_python_finish(struct aif_remote_python *py)
{
	for (size_t i = 0; i < py->codes_len; i++) {
		free(py->codes[i].name);
		free(py->codes[i].file);
		free(py->codes[i].lines);
	}
	free(py->codes);
	free(py->threads);
	aif_map_finish(&py->known);
}
