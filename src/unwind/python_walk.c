/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_internal.h"

/*
 * Python frames without the interpreter's help
 * ============================================
 *
 * PyGILState_GetThisThreadState() gives the thread's state (a thread-local variable; the getters of the
 * "current" state give another thread's when this one has released the GIL, as PyTorch does around
 * each operation). From there, by version:
 *
 *   3.8 - 3.10   thread state -> frame -> frame -> 0           one evaluation loop (C frame) each
 *   3.11         thread state -> CFrame -> frame -> frame ...  a frame marked `is_entry` ends its loop
 *   3.12         thread state -> CFrame -> frame -> mark -> frame ...
 *   3.13, 3.14   thread state -> frame -> frame -> mark -> frame ...
 *
 *       C stack (grows down)                              Python frames, innermost first
 *     hi | main, Py_RunMain, ...       |
 *        | _PyEval_EvalFrameDefault    | <--- mark ---\    <module>   \ segment 2: ends at its mark, which
 *        |    [mark of segment 2]      |               \-- main       / lies in the C frame of its loop
 *        | list_sort                   |
 *        | _PyEval_EvalFrameDefault    | <--- mark ------- key         segment 1
 *        |    [mark of segment 1]      |
 *     sp | launch                      |
 *
 * The mark, or for 3.10 and 3.11 the CFrame, is a local variable of the evaluation loop. Its address
 * tells in which C frame a segment runs (interleave.h). Marks and CFrames are believed only as far
 * as they lie on this thread's stack, each above the last: 3.10 leaves the last one's link
 * uninitialised in all but the first thread.
 *
 * Why reading is safe without the GIL. All that is read belongs to this thread: its state, its frames,
 * the marks on its stack. Only this thread links, unlinks and frees them, and at a launch it stands
 * in a C function that the innermost frame called, so everything is linked and alive. A frame holds
 * its code object; nobody else can end that one's life. So a launch-path read needs no probing, and
 * no read can fault unless an offset is wrong, which the start-up check (python.c) makes sure of
 * with probed reads; even then a pointer must point to user memory, be aligned, and a chain has
 * an end. The exceptions: Py_Finalize frees the states of daemon threads, so there is no walk once
 * it has begun (of a walk that has begun then, some 100 ns are left to lose); and a signal may come
 * when the innermost frame is being freed (3.11 unlinks it after its memory was given back), so
 * in handlers each page is probed before it is read (python_read.h).
 *
 * What is found is a list of (code object, instruction). Code objects are known by number, not by
 * address (python_codes.h), because addresses are reused at once; python_death.c sees each death. The
 * hash is taken over (number, instruction) and the ends of segments, so equal hashes are equal
 * stacks, for the process's life, but for a chance of 2^-64 a pair. A second hash, of (address,
 * instruction), needs no look-up; it says as much only until the next death, so who keeps one keeps
 * the count of deaths with it. A memo that verifies the last
 * walk instead of walking was measured: no faster, since it must follow the same pointers.
 *
 * Frames that are no functions are left out, as the interpreter's own tracebacks do: marks, and code
 * without a traceable instruction (3.12's helper frame between a class call and its __init__). Those
 * have the number SKIP.
 */

#define INLINE static inline __attribute__((always_inline))

/* Constants of a walk; struct sums has what changes. Both are passed to inlined functions only:
 * a loop whose sums live in memory takes twice as long. */
struct walk {
	const struct aif_python_layout *layout;
	/* of the layout, what each frame needs: else it is loaded anew for each */
	uint16_t f_code, f_previous, f_instr, f_mark, co_code;
	uint8_t owner_entry;
	uint64_t code_mask;
	const struct aif_python_codes *codes;
	struct aif_python_reader *reader;
	uint64_t lo, room; /* where a frame may begin: [lo, lo + room] */
	bool probe;
	uint16_t frame_end;              /* for probing */
	bool places;                     /* hash addresses of code objects, not their numbers */
	struct aif_python_frame *frames; /* NULL: hash only */
	unsigned max;
	struct aif_stack_bounds bounds;
};

struct sums {
	uint64_t hash;
	unsigned depth, segments, unknown;
	unsigned steps; /* links followed, marks and left-out frames too */
	bool open;      /* the segment at hand has frames */
	bool unlocated; /* an address of a segment is missing or was not believed */
};

/* Marks and left-out frames do not count as depth; without a limit a hostile ring of them has no
 * end. Between two frames there is at most one of each. */
#define STEPS_PER_FRAME 3

/* `m` does not depend on the frames before, so that a step adds 4 cycles only, as many as the
 * load of the next frame's address. Each part is a bijection: stacks that differ in one frame
 * never collide. */
INLINE uint64_t mix_frame(uint64_t hash, uint32_t id, int32_t lasti)
{
	uint64_t m = (uint64_t)id << 32 | (uint32_t)lasti;

	m ^= m >> 32;
	m *= UINT64_C(0xbf58476d1ce4e5b9);
	m ^= m >> 29;
	return (hash ^ m) * UINT64_C(0x9E3779B97F4A7C15);
}

INLINE uint64_t mix_place(uint64_t hash, uint64_t code, int32_t lasti)
{
	uint64_t m = code * UINT64_C(0xbf58476d1ce4e5b9);

	m ^= m >> 32;
	m += (uint32_t)lasti * UINT64_C(0xc2b2ae3d27d4eb4f);
	return (hash ^ m) * UINT64_C(0x9E3779B97F4A7C15);
}

#define SEGMENT_END UINT64_C(0x94d049bb133111eb)

INLINE uint64_t mix_end(uint64_t hash)
{
	return (hash ^ SEGMENT_END) * UINT64_C(0x9E3779B97F4A7C15);
}

INLINE void take(const struct walk *w, struct sums *s, uint64_t code, int32_t lasti)
{
	uint32_t id;

	if (w->places) {
		s->hash = mix_place(s->hash, code, lasti);
		s->depth++;
		s->open = true;
		return;
	}
	id = aif_python_codes_find(w->codes, code);
	if (aif_unlikely(id <= AIF_PYTHON_ID_SKIP)) {
		if (id == AIF_PYTHON_ID_SKIP)
			return;
		s->unknown++;
	}
	s->hash = mix_frame(s->hash, id, lasti);
	if (w->frames)
		w->frames[s->depth] =
			(struct aif_python_frame){.code = code, .id = id, .lasti = lasti};
	s->depth++;
	s->open = true;
}

INLINE void end_segment(const struct walk *w, struct sums *s, uint64_t on_stack)
{
	if (!s->open)
		return;
	s->open = false;
	s->hash = mix_end(s->hash);
	s->segments++;
	if (w->frames) {
		w->frames[s->depth - 1].ends_segment = true;
		w->frames[s->depth - 1].on_stack = on_stack;
		s->unlocated |= on_stack == 0;
	}
}

INLINE bool endless(const struct walk *w, struct sums *s)
{
	return s->steps++ > w->max * STEPS_PER_FRAME;
}

INLINE bool is_frame(const struct walk *w, uint64_t frame)
{
	if (aif_unlikely(frame - w->lo > w->room || frame & 7))
		return false;
	return !w->probe || aif_python_probe(w->reader, frame, w->frame_end);
}

#define CFRAME_BYTES 24

/* An address in the C frame of an evaluation loop, above that of the last one; else 0. */
static uint64_t believed(struct aif_python_reader *r, struct aif_stack_bounds bounds, uint64_t at,
			 uint64_t last)
{
	if (at <= last || at < bounds.lo || bounds.hi < CFRAME_BYTES ||
	    at > bounds.hi - CFRAME_BYTES || !aif_python_object(r, at, CFRAME_BYTES))
		return 0;
	return at;
}

/* The list of CFrames, of which each evaluation loop has one (3.10, 3.11). Gives the one of the
 * segment at hand, 0 if not known; *cframe becomes the next. */
static uint64_t next_cframe(const struct aif_python_layout *l, struct aif_python_reader *r,
			    struct aif_stack_bounds bounds, uint64_t *cframe)
{
	uint64_t at = *cframe;

	if (at)
		*cframe = believed(r, bounds, aif_python_u64(at, l->cframe_previous), at);
	return at;
}

INLINE enum aif_python_stop walk_objects(const struct walk *w, struct sums *s, uint64_t frame,
					 uint64_t cframe)
{
	const struct aif_python_layout *l = w->layout;
	const int64_t unit = l->instr == AIF_PYTHON_INSTR_UNITS ? 2 : 1;

	while (frame) {
		int64_t lasti;

		if (aif_unlikely(s->depth == w->max || endless(w, s)))
			return AIF_PYTHON_STOP_DEPTH;
		if (aif_unlikely(!is_frame(w, frame)))
			return AIF_PYTHON_STOP_BROKEN;
		lasti = aif_python_i32(frame, w->f_instr) * unit;
		if (aif_unlikely(lasti < -2 || lasti > AIF_PYTHON_LASTI_MAX))
			return AIF_PYTHON_STOP_BROKEN;
		take(w, s, aif_python_u64(frame, w->f_code), (int32_t)lasti);
		end_segment(w, s, w->frames ? next_cframe(l, w->reader, w->bounds, &cframe) : 0);
		frame = aif_python_u64(frame, w->f_previous);
	}
	/* More loops than frames: then we do not know which is whose. */
	s->unlocated |= cframe != 0;
	return AIF_PYTHON_STOP_END;
}

/* Takes the frame at `frame`, whose instruction is known by address. */
INLINE bool take_pointed(const struct walk *w, struct sums *s, uint64_t frame)
{
	uint64_t code = aif_python_u64(frame, w->f_code) & w->code_mask;
	/* 3.11 and 3.12 keep the last instruction, which is at -2 before the first. */
	uint64_t at = aif_python_u64(frame, w->f_instr) - (code + w->co_code);

	if (aif_unlikely(at + 2 > AIF_PYTHON_LASTI_MAX))
		return false;
	take(w, s, code, (int32_t)at);
	return true;
}

INLINE enum aif_python_stop walk_is_entry(const struct walk *w, struct sums *s, uint64_t frame,
					  uint64_t cframe)
{
	const struct aif_python_layout *l = w->layout;

	while (frame) {
		uint64_t previous;

		if (aif_unlikely(s->depth == w->max || endless(w, s))) {
			end_segment(w, s, cframe);
			return AIF_PYTHON_STOP_DEPTH;
		}
		if (aif_unlikely(!is_frame(w, frame) || !take_pointed(w, s, frame)))
			return AIF_PYTHON_STOP_BROKEN;
		previous = aif_python_u64(frame, w->f_previous);
		if (aif_python_u8(frame, w->f_mark)) {
			end_segment(w, s,
				    w->frames ? next_cframe(l, w->reader, w->bounds, &cframe) : 0);
			/* The next loop's frame must be the one that its CFrame names. */
			if (w->frames && cframe &&
			    aif_python_u64(cframe, l->cframe_current) != previous)
				cframe = 0;
		}
		frame = previous;
	}
	return AIF_PYTHON_STOP_END;
}

/* A recursion deeper than this has no C frame between its ends that anybody could miss. */
#define FIND_MARK_STEPS 100000

/* The mark of a segment of which not all frames are taken. */
static AIF_NOINLINE uint64_t find_mark(const struct aif_python_layout *l,
				       struct aif_python_reader *r, uint64_t frame)
{
	for (unsigned i = 0;
	     i < FIND_MARK_STEPS && aif_python_object(r, frame, aif_python_frame_end(l)); i++) {
		if (aif_python_u8(frame, l->f_mark) >= l->owner_entry)
			return frame;
		frame = aif_python_u64(frame, l->f_previous);
	}
	return 0;
}

INLINE enum aif_python_stop walk_marks(const struct walk *w, struct sums *s, uint64_t frame)
{
	uint64_t at = 0;

	while (frame) {
		if (aif_unlikely(endless(w, s)))
			return AIF_PYTHON_STOP_DEPTH;
		if (aif_unlikely(!is_frame(w, frame)))
			return AIF_PYTHON_STOP_BROKEN;
		if (aif_python_u8(frame, w->f_mark) >= w->owner_entry) {
			if (w->frames)
				at = believed(w->reader, w->bounds, frame, at);
			end_segment(w, s, at);
		} else if (aif_unlikely(s->depth == w->max)) {
			if (w->frames)
				at = believed(w->reader, w->bounds,
					      find_mark(w->layout, w->reader, frame), at);
			end_segment(w, s, at);
			return AIF_PYTHON_STOP_DEPTH;
		} else if (aif_unlikely(!take_pointed(w, s, frame))) {
			return AIF_PYTHON_STOP_BROKEN;
		}
		frame = aif_python_u64(frame, w->f_previous);
	}
	return AIF_PYTHON_STOP_END;
}

INLINE enum aif_python_stop walk_frames(const struct walk *w, struct sums *s, uint64_t thread)
{
	const struct aif_python_layout *l = w->layout;
	uint64_t cframe = 0, frame, at = 0;

	if (l->ts_cframe != AIF_PYTHON_NO_FIELD) {
		cframe = aif_python_u64(thread, l->ts_cframe);
		if (w->frames)
			at = believed(w->reader, w->bounds, cframe, 0);
	}
	if (l->ts_frame != AIF_PYTHON_NO_FIELD) {
		frame = aif_python_u64(thread, l->ts_frame);
	} else {
		if (!aif_python_object(w->reader, cframe, CFRAME_BYTES))
			return AIF_PYTHON_STOP_BROKEN;
		frame = aif_python_u64(cframe, l->cframe_current);
	}
	switch (l->kind) {
	case AIF_PYTHON_OBJECTS:
		return walk_objects(w, s, frame, at);
	case AIF_PYTHON_IS_ENTRY:
		return walk_is_entry(w, s, frame, at);
	case AIF_PYTHON_ENTRY_FRAME:
		return walk_marks(w, s, frame);
	}
	return AIF_PYTHON_STOP_BROKEN;
}

/* An address is kept for every segment, or for none. */
static void forget_places(struct aif_python_frame *frames, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		frames[i].on_stack = 0;
}

uint64_t aif_python_thread(const struct aif_python *py, struct aif_python_reader *r)
{
	uint64_t thread = (uint64_t)(uintptr_t)py->thread_state();

	if (thread == 0 || py->finalizing())
		return 0;
	return aif_python_object(r, thread, AIF_PYTHON_FRAME_BYTES) ? thread : 0;
}

/* `probe`: as r->probe, but known when this is compiled, if the caller does. */
INLINE void walk(const struct aif_python *py, struct aif_python_reader *r, bool probe, bool places,
		 uint64_t thread, struct aif_stack_bounds bounds, struct aif_python_frame *frames,
		 unsigned max, struct aif_python_stack *ret)
{
	const struct aif_python_layout *l = &py->layout;
	struct sums s = {0};
	const struct walk w = {
		.layout = l,
		.f_code = l->f_code,
		.f_previous = l->f_previous,
		.f_instr = l->f_instr,
		.f_mark = l->f_mark,
		.co_code = l->co_code,
		.owner_entry = l->owner_entry,
		.code_mask = l->code_mask,
		.codes = &py->codes,
		.reader = r,
		.lo = r->lo,
		.room = r->span - AIF_PYTHON_FRAME_BYTES, /* the thread's state has as much */
		.probe = probe,
		.frame_end = probe ? aif_python_frame_end(l) : 0,
		.places = places,
		.frames = frames,
		.max = max,
		.bounds = bounds,
	};

	ret->stop = walk_frames(&w, &s, thread);
	end_segment(&w, &s, 0); /* one whose end was not reached */
	if (frames && s.unlocated)
		forget_places(frames, s.depth);
	ret->depth = s.depth;
	ret->segments = s.segments;
	ret->unknown = s.unknown;
	ret->hash = s.depth ? s.hash ^ s.hash >> 32 : 0;
}

void aif_python_walk_thread(const struct aif_python *py, struct aif_python_reader *r,
			    uint64_t thread, struct aif_python_frame *frames, unsigned max,
			    struct aif_python_stack *ret)
{
	walk(py, r, r->probe, false, thread, (struct aif_stack_bounds){0}, frames, max, ret);
}

/*
 * The check takes the first stack with Python frames, reads it with every page probed, and demands
 * that the chain ends, that each code object, name, path and table has the type that its field must
 * have, that each instruction lies in its bytecode, and that the thread belongs to the main
 * interpreter. The types' addresses come from the dynamic symbols and so are independent of the
 * offsets. A wrong offset does not get through that; what would is caught where code objects are
 * first read.
 */

/* Frames of a stack that are looked at, from the innermost on. */
#define CHECKED_DEPTH 32

static enum aif_reason examine(struct aif_python *py, const struct aif_python_frame *frames,
			       const struct aif_python_stack *stack)
{
	struct aif_python_reader r;

	aif_python_reader_init(&r, py, true);
	if (stack->stop == AIF_PYTHON_STOP_BROKEN)
		return AIF_REASON_PYTHON_LAYOUT;
	for (unsigned i = 0; i < stack->depth; i++)
		if (!aif_python_code_valid(py, &r, frames[i].code, frames[i].lasti))
			return AIF_REASON_PYTHON_LAYOUT;
	return 0;
}

bool aif_python_check(struct aif_python *py)
{
	struct aif_python_frame frames[CHECKED_DEPTH];
	uint32_t expected = AIF_PYTHON_CHECKING;
	struct aif_python_stack stack;
	struct aif_python_reader r;
	enum aif_reason reason;
	uint64_t thread, main_interpreter;

	aif_python_reader_init(&r, py, true);
	thread = aif_python_thread(py, &r);
	main_interpreter = (uint64_t)(uintptr_t)py->interpreter_main();
	if (thread == 0 || main_interpreter == 0 ||
	    aif_python_u64(thread, py->layout.ts_interp) != main_interpreter)
		return false; /* says nothing: no Python here, or another interpreter's */
	aif_python_walk_thread(py, &r, thread, frames, CHECKED_DEPTH, &stack);
	if (stack.depth == 0 && stack.stop == AIF_PYTHON_STOP_END)
		return false;
	reason = examine(py, frames, &stack);
	if (reason) {
		aif_python_turn_off(py, AIF_PYTHON_CHECKING, reason);
		return false;
	}
	/* All who check at the same time write the same. */
	__atomic_store_n(&py->main_interpreter, main_interpreter, __ATOMIC_RELAXED);
	return atomic_compare_exchange_strong(&py->state, &expected, AIF_PYTHON_ON) ||
	       expected == AIF_PYTHON_ON;
}

INLINE void walk_here(struct aif_python *py, bool probe, bool places,
		      struct aif_stack_bounds bounds, struct aif_python_frame *frames, unsigned max,
		      struct aif_python_stack *ret)
{
	struct aif_python_reader r;
	uint64_t thread;

	*ret = (struct aif_python_stack){0};
	if (aif_unlikely(!aif_python_checked(py)))
		return;
	aif_python_reader_init(&r, py, probe);
	thread = aif_python_thread(py, &r);
	/* A thread of another interpreter stays native: what its code objects are, and when they
	 * die, is between that interpreter and its own lock. */
	if (thread && aif_python_u64(thread, py->layout.ts_interp) == py->main_interpreter)
		walk(py, &r, probe, places, thread, bounds, frames, max, ret);
}

void aif_python_hash_slow(struct aif_python *py, enum aif_python_context context, unsigned max,
			  struct aif_python_stack *ret)
{
	if (context == AIF_PYTHON_AT_CALL)
		walk_here(py, false, false, (struct aif_stack_bounds){0}, NULL, max, ret);
	else
		walk_here(py, true, false, (struct aif_stack_bounds){0}, NULL, max, ret);
}

bool aif_python_hash_places_slow(struct aif_python *py, unsigned max, uint64_t *ret)
{
	struct aif_python_stack stack;

	walk_here(py, false, true, (struct aif_stack_bounds){0}, NULL, max, &stack);
	*ret = stack.hash;
	/* Frames that are left out count here: where it was cut, the other may see further. */
	return stack.stop == AIF_PYTHON_STOP_END;
}

void aif_python_walk(struct aif_python *py, enum aif_python_context context,
		     struct aif_stack_bounds bounds, struct aif_python_frame *frames, unsigned max,
		     struct aif_python_stack *ret)
{
	walk_here(py, context == AIF_PYTHON_IN_SIGNAL, false, bounds, frames, max, ret);
}
