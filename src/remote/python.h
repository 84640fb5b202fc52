/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "remote/modules.h"
#include "unwind/python.h"

/*
 * Python's threads and their frames, read from another process's memory while it runs: CPython 3.8 to 3.14 with the GIL. As
 * unwind/python_walk.c does within a process; here, nothing holds still but the frames of a thread that sleeps or is stopped. Each
 * pointer is read as one of another's, each chain has an end.
 */
struct aif_remote_python_thread {
	uint64_t state; /* its PyThreadState */
	uint32_t tid;   /* of the process's pid namespace */
};

struct aif_remote_python_code {
	char *name, *file; /* UTF-8 */
	int32_t first_line;
	uint8_t *lines;
	size_t lines_len;
	bool hidden; /* no function: the interpreter's own */
};

struct aif_remote_python {
	struct aif_remote_memory *memory;
	struct aif_python_layout layout;
	size_t module; /* the interpreter's, an index of the modules */
	uint64_t runtime, type_code, type_text, type_bytes;
	uint64_t eval_lo, eval_hi; /* _PyEval_EvalFrameDefault, 0: not known */
	/* Threads of all interpreters. */
	struct aif_remote_python_thread *threads;
	size_t threads_len, threads_cap;
	uint64_t gil;         /* the lock; 0: not found */
	uint64_t gil_holder;  /* thread state that has it; 0: nobody */
	struct aif_map known; /* address -> index in codes */
	struct aif_remote_python_code *codes;
	size_t codes_len, codes_cap;
};

enum aif_remote_python_found {
	AIF_REMOTE_PYTHON_NONE,       /* no interpreter */
	AIF_REMOTE_PYTHON_FOUND,      /* and its threads */
	AIF_REMOTE_PYTHON_UNKNOWN,    /* of another version, or without the GIL */
	AIF_REMOTE_PYTHON_UNREADABLE, /* not as its version has it: it is starting, or ending */
};

/* Looks for an interpreter and its threads. `tids`: the process's threads as its own pid namespace numbers them. */
enum aif_remote_python_found aif_remote_python_find(struct aif_remote_python *py,
						    struct aif_remote_modules *modules,
						    const uint32_t *tids, size_t tids_len);
void aif_remote_python_finish(struct aif_remote_python *py);

/* Frames of a thread, innermost first, as aif_python_walk(); `sp`: its stack pointer. Until aif_remote_python_resolve() they
 * are addresses only, so that this is short enough for a thread that is stopped. Returns their number; *ret_whole: none is
 * missing. */
unsigned aif_remote_python_walk(struct aif_remote_python *py, uint64_t state, uint64_t sp,
				struct aif_python_frame *frames, unsigned max, bool *ret_whole);

/* The code object of a frame, NULL: it cannot be read. Valid until the next call. */
const struct aif_remote_python_code *aif_remote_python_resolve(struct aif_remote_python *py,
							       uint64_t code);
