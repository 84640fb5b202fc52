/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/reasons.h"
#include "unwind/python_codes.h"
#include "unwind/python_layout.h"
#include "unwind/unwind.h"

/*
 * Walks the Python frames of the current thread, from the memory of a stock CPython 3.8 to 3.14. No
 * GIL, no lock, no allocation, nothing changed; two small functions are called, to find the thread
 * and to see whether Python is ending. python_walk.c opens with the essay.
 *
 *	aif_python_detect()                where dlsym may be called: is there an interpreter?
 *	aif_python_hash_places()           each launch: a number for the thread's Python stack, until a death
 *	  ... not seen since the last death:
 *	aif_python_hash()                  one that stays
 *	  ... a number not seen before:
 *	aif_python_walk()                  its frames
 *	  ... a frame with id 0:
 *	aif_python_code_read()             what to tell of its code object, with a new id
 *	aif_python_code_publish()          once it is told; then hash again
 *	aif_python_stop()                  gives back what detect() took
 */

enum aif_python_state {
	AIF_PYTHON_ABSENT,   /* no interpreter found so far */
	AIF_PYTHON_CHECKING, /* found; the first stack decides */
	AIF_PYTHON_ON,
	AIF_PYTHON_STOPPED, /* by aif_python_stop() */
	AIF_PYTHON_OFF,     /* for good, see reason */
};

/* Process-wide; memory is the caller's, zeroed, alive as long as the process (the interpreter
 * may keep a pointer to the wrapper of python_death.c). Fields are for src/unwind and its tests. */
struct aif_python {
	_Alignas(64) _Atomic uint32_t state; /* enum aif_python_state */
	_Atomic uint32_t reason;             /* enum aif_reason, 0 none; of OFF, or a restriction */
	struct aif_python_layout layout;
	uint64_t memory_lo, memory_hi; /* where pointers may point: user addresses, but for tests */
	void *(*thread_state)(void);   /* PyGILState_GetThisThreadState */
	int (*finalizing)(void);       /* _Py_IsFinalizing or Py_IsFinalizing */
	void *(*interpreter_main)(void), *(*interpreter_head)(void);
	uint64_t main_interpreter;                /* known once checked */
	uint64_t type_code, type_str, type_bytes; /* addresses of PyCode_Type, ... */
	uint64_t eval_lo, eval_hi;                /* _PyEval_EvalFrameDefault, 0 if not known */
	_Atomic uint32_t last_id, unreadable;
	struct aif_python_codes codes;
};

/* Looks for an interpreter, unless one was found. Cheap if none is there (some dlsym), but it
 * takes the loader's lock and may allocate: not on a launch path, not in a signal handler. Call
 * it at start, and again after modules were loaded while aif_python_wanted(). Callers take
 * turns. */
void aif_python_detect(struct aif_python *py);

/* Deaths of code objects are no longer watched; from here on no stack has Python frames until
 * aif_python_detect() is called again. Callers take turns with detect(). */
void aif_python_stop(struct aif_python *py);

static inline enum aif_python_state aif_python_state(const struct aif_python *py)
{
	return (enum aif_python_state)atomic_load_explicit(&py->state, memory_order_acquire);
}

/* Might aif_python_detect() change anything? */
static inline bool aif_python_wanted(const struct aif_python *py)
{
	enum aif_python_state state = aif_python_state(py);

	return state == AIF_PYTHON_ABSENT || state == AIF_PYTHON_STOPPED;
}

/* Returns why Python frames are missing: 0 if none are, or an enum aif_reason. */
static inline int aif_python_reason(const struct aif_python *py)
{
	return (int)atomic_load_explicit(&py->reason, memory_order_relaxed);
}

struct aif_python_frame {
	uint64_t code; /* address of the code object: names it as long as the frame lives */
	uint64_t
		on_stack; /* ends_segment: an address in the C frame that runs the segment; 0 unknown */
	uint32_t id;      /* of the code object; 0: not published yet */
	int32_t lasti;     /* bytes into the bytecode, of the instruction at work; < 0: none yet */
	bool ends_segment; /* the outermost of the frames that one C frame (the evaluation loop) runs */
};

enum aif_python_stop {
	AIF_PYTHON_STOP_END,    /* the stack is complete */
	AIF_PYTHON_STOP_DEPTH,  /* `max` frames taken, more exist */
	AIF_PYTHON_STOP_BROKEN, /* a frame that is none: the rest is missing */
};

struct aif_python_stack {
	uint64_t hash;             /* of (id, lasti, segments), 0 without frames */
	uint32_t depth;            /* frames */
	uint32_t segments;         /* evaluation loops */
	uint32_t unknown;          /* frames with id 0: then `hash` names no stack */
	enum aif_python_stop stop; /* anything but END means: truncated, and marked so */
};

enum aif_python_context {
	AIF_PYTHON_AT_CALL, /* on a launch path: the interpreter called, its structures are in order */
	AIF_PYTHON_IN_SIGNAL, /* anywhere: each page is probed by a system call before it is read */
};

/* The Python stack of this thread, innermost first: its hash only, or its frames too. Both say
 * the same. `bounds`: this thread's stack; {0, 0} if not known, then no frame has an address on
 * it. At most `max` frames are looked at. A few ns where there is no Python, or none in this
 * thread. */
void aif_python_hash_slow(struct aif_python *py, enum aif_python_context context, unsigned max,
			  struct aif_python_stack *ret);
void aif_python_walk(struct aif_python *py, enum aif_python_context context,
		     struct aif_stack_bounds bounds, struct aif_python_frame *frames, unsigned max,
		     struct aif_python_stack *ret);

/* Whether a launch has a Python stack that was seen before, in less time: a hash of (address of
 * the code object, lasti, segments), for who keeps what it led to. Of two launches for which it
 * is true and that have the same hash and the same aif_python_deaths(), aif_python_hash() says
 * the same if it knew all functions for one of them. False: ask aif_python_hash(). */
bool aif_python_hash_places_slow(struct aif_python *py, unsigned max, uint64_t *ret);

static inline bool aif_python_hash_places(struct aif_python *py, unsigned max, uint64_t *ret)
{
	if (aif_python_state(py) == AIF_PYTHON_ON || aif_python_state(py) == AIF_PYTHON_CHECKING)
		return aif_python_hash_places_slow(py, max, ret);
	*ret = 0;
	return true;
}

/* Code objects that had a number and have died; to be read before the hash. */
static inline uint64_t aif_python_deaths(const struct aif_python *py)
{
	return atomic_load_explicit(&py->codes.deaths, memory_order_acquire);
}

static inline void aif_python_hash(struct aif_python *py, enum aif_python_context context,
				   unsigned max, struct aif_python_stack *ret)
{
	if (aif_python_state(py) == AIF_PYTHON_ON || aif_python_state(py) == AIF_PYTHON_CHECKING)
		aif_python_hash_slow(py, context, max, ret);
	else
		*ret = (struct aif_python_stack){0};
}

/* The description of a code object, which is recorded once. Texts are UTF-8 without terminator
 * and, like the table, lie in the caller's buffer. */
struct aif_python_code {
	uint64_t code;
	uint32_t id;
	int32_t first_line;
	const char *name, *file; /* name: the qualified one since 3.11 */
	const uint8_t *lines;    /* raw line table, see symbolize/pylines.h */
	uint32_t name_len, file_len, lines_len;
	uint8_t minor;  /* version 3.minor: what the line table means */
	bool lines_cut; /* it was longer than the buffer */
};

/* Longer names and paths are cut. */
#define AIF_PYTHON_NAME_MAX 512u
#define AIF_PYTHON_FILE_MAX 4096u

/* A buffer of this size holds all but the longest line tables. */
#define AIF_PYTHON_CODE_BUFFER 16384u

/* Copies what is to be told of the code object of one of this thread's frames, found without id,
 * and takes a number for it. 0, -EEXIST (not to be shown: walks leave it out from now on),
 * -EINVAL (no code object), -ENOBUFS (`size` is below the two maxima above). Usable in signal
 * handlers. */
int aif_python_code_read(struct aif_python *py, uint64_t code, void *buffer, size_t size,
			 struct aif_python_code *ret);

/* From now on walks know it, by this number unless it had one already. Call it while the frame
 * lives, after it is certain that the recorder will be told. 0, or -ENOSPC: there is no room,
 * the frame stays unknown. */
int aif_python_code_publish(struct aif_python *py, const struct aif_python_code *code);
