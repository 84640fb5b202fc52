/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"

#include "agent/sandbox.h"
#include "base/map.h"

#include <errno.h>
#include <string.h>

/*
 * The stack of a launch as a small number.
 *
 *     native frames   the memo: the number of a stack that was seen before, or a fresh unwind
 *     Python frames   a hash of the thread's Python stack; its frames only when that hash is new
 *     both            interleaved in their true order, once per new pair
 *
 * Three keys lead to one stack id. A note in the memo (memo.h) is what a repeated launch has: there the Python
 * stack is a hash of addresses, which is had without looking a single function up, and holds until a code
 * object dies or ids begin anew. The other two are in the thread's table: the short one, (number in the memo, hash of the
 * Python stack by numbers), where no note is; the long one with a hash of the
 * return addresses in place of the number: the memo forgets and gives new numbers, and what it
 * refuses (code without a module, which may be another function by now; coroutines' stacks) has none.
 *
 * The wire tells a Python function once per ring, before the first stack with it, under a number of the
 * ring's: so no record refers to another ring.
 */

struct native {
	struct aif_memo_stack *memo; /* NULL: not remembered */
	bool hit;                    /* seen before: no pcs yet */
	uint64_t *pcs;
	struct aif_unwind_frame *frames;
	unsigned depth;
	enum aif_unwind_stop stop;
	bool guessed, foreign; /* see struct aif_unwind_result */
	bool no_python; /* there were Python frames, but a function of them could not be told */
};

static void native_stack(struct aif_thread *t, const struct aif_regs *regs, bool fresh,
			 struct native *n)
{
	struct aif_stack_bounds bounds = t->bounds;
	struct aif_unwind_result plain;
	struct aif_memo_result r;

	/* On a fiber's stack, a task's or a signal's the memo knows nothing. To read those takes system calls. */
	bounds.may_leave = aif_unlikely(regs->sp - bounds.lo >= bounds.hi - bounds.lo) &&
			   !aif_sandbox_may_be_on();
	if (!t->memo || bounds.may_leave) {
		plain = aif_unwind_frames(aif_agent.session.unwinder, regs, false, bounds,
					  t->scratch.pcs, AIF_MEMO_MAX_DEPTH, t->scratch.frames);
		*n = (struct native){.pcs = t->scratch.pcs,
				     .frames = t->scratch.frames,
				     .depth = plain.depth,
				     .stop = plain.stop,
				     .guessed = plain.guessed,
				     .foreign = plain.foreign};
		return;
	}
	r = fresh ? aif_memo_unwind(t->memo, regs) : aif_memo_capture(t->memo, regs);
	n->hit = r.hit;
	n->pcs = r.pcs;
	n->frames = r.frames;
	n->depth = r.depth;
	n->stop = r.stop;
	n->guessed = r.guessed;
	n->foreign = r.foreign;
	if (!fresh)
		n->memo = r.stack;
}

static void drop_innermost(struct native *n)
{
	n->pcs++;
	n->depth--;
	if (n->frames)
		n->frames++;
}

/* pcs[0] is in our own entry. Its place is taken by the API function, unless that one left a frame of
 * its own. */
static void leave_ourselves_out(struct native *n, const struct aif_emit_api *api)
{
	bool has_frame;

	while (n->depth > 1 && n->pcs[1] > api->skip_lo && n->pcs[1] <= api->skip_hi)
		drop_innermost(n);
	has_frame = n->depth > 1 && n->pcs[1] > api->lo && n->pcs[1] <= api->hi;
	if (!has_frame && api->pc)
		n->pcs[0] = api->pc + 1;
	else
		drop_innermost(n);
}

/* A key of the table, not 0, which means free. Short and long keys differ in their check word. */
struct key {
	uint64_t hash;
	uint32_t check;
};
#define SHORT_KEY (UINT32_C(1) << 31)

static struct key short_key(uint32_t number, uint64_t python)
{
	return (struct key){aif_mix64(python + number * UINT64_C(0x9e3779b97f4a7c15)) | 1,
			    SHORT_KEY | number};
}

static struct key long_key(const struct native *n, uint64_t python)
{
	if (n->foreign)
		python += aif_mix64(aif_unwinder_jit_epoch(aif_agent.session.unwinder));
	return (struct key){aif_mix64(aif_idtable_hash(n->pcs, n->depth) + python) | 1,
			    n->depth << 10 | (n->guessed ? 512u : 0) | (n->no_python ? 256u : 0) |
				    n->stop};
}

/* The Python stack by the addresses of its functions. */
struct places {
	uint64_t hash, deaths;
	bool known; /* else there is no such hash */
};

static struct places python_places(void)
{
	struct aif_python *py = aif_agent.python;
	struct places p = {.deaths = aif_python_deaths(py)}; /* before the hash */

	p.known = aif_python_hash_places(py, AIF_THREAD_PYTHON, &p.hash);
	return p;
}

/* Not 0. */
static uint64_t note_key(const struct aif_thread *t, const struct places *p)
{
	return aif_mix64(p->hash + p->deaths * UINT64_C(0x9e3779b97f4a7c15) +
			 t->stacks.clears * UINT64_C(0xc2b2ae3d27d4eb4f)) |
	       1;
}

/* Publishes the functions of this stack that have no number yet. False: it cannot be named. */
static bool number_codes(struct aif_thread *t, struct aif_python_stack *py)
{
	struct aif_python *python = aif_agent.python;
	struct aif_python_code code;

	for (uint32_t i = 0; i < py->depth && py->unknown; i++) {
		int r;

		/* The same function further in, perhaps: a recursion has it many times. */
		if (t->scratch.python[i].id ||
		    aif_python_codes_find(&python->codes, t->scratch.python[i].code))
			continue;
		r = aif_python_code_read(python, t->scratch.python[i].code, t->scratch.code,
					 AIF_PYTHON_CODE_BUFFER, &code);
		if (!r)
			r = aif_python_code_publish(python, &code);
		if (r < 0 && r != -EEXIST)
			return false;
	}
	aif_python_walk(python, AIF_PYTHON_AT_CALL, t->bounds, t->scratch.python, AIF_THREAD_PYTHON,
			py);
	return !py->unknown;
}

static void note(struct aif_thread *t, enum aif_reason reason)
{
	aif_emit_note(t, reason, 1, "");
}

/* The frames of the Python stack into t->scratch.python. Without Python, or where a function cannot be told: a
 * stack of none. False: the latter, so that the whole is not complete. */
static bool python_stack(struct aif_thread *t, struct aif_python_stack *py)
{
	if (!py->depth)
		return true;
	aif_python_walk(aif_agent.python, AIF_PYTHON_AT_CALL, t->bounds, t->scratch.python,
			AIF_THREAD_PYTHON, py);
	if (py->unknown && !number_codes(t, py)) {
		note(t, AIF_REASON_PYTHON_CODE_UNKNOWN);
		*py = (struct aif_python_stack){0};
		return false;
	}
	return true;
}

/* Tells this ring of a function. Its number here, or AIF_WIRE_NONE. */
static uint32_t define_code(struct aif_thread *t, const struct aif_python_frame *f)
{
	uint64_t hash = aif_mix64(f->id) | 1;
	struct aif_id_entry *e = aif_idtable_find(&t->codes, hash, f->id);
	struct aif_python_code code;
	uint32_t id;

	if (aif_likely(e->hash))
		return e->id;
	if (t->codes.len >= AIF_THREAD_CODES) {
		aif_idtable_clear(&t->codes);
		e = aif_idtable_find(&t->codes, hash, f->id);
	}
	id = t->codes.next;
	if (id >= AIF_WIRE_PYCODES ||
	    aif_python_code_read(aif_agent.python, f->code, t->scratch.code, AIF_PYTHON_CODE_BUFFER,
				 &code) < 0 ||
	    !aif_emit_pycode(t, id, &code))
		return AIF_WIRE_NONE;
	aif_idtable_take(&t->codes, e, hash, f->id);
	return id;
}

/* Writes both in their order to t->entries. The number of entries, 0 when a function could not be told. */
static unsigned interleave(struct aif_thread *t, const struct native *n,
			   const struct aif_python_stack *py, unsigned *stop)
{
	struct aif_interleave in = aif_scratch_interleave(&t->scratch, py);
	unsigned len = n->depth + py->depth;

	in.pcs = n->pcs;
	in.sps = n->frames ? t->scratch.sps : NULL;
	in.native_len = n->depth;
	in.native_cut = n->stop != AIF_STOP_END;
	for (unsigned i = 0; n->frames && i < n->depth; i++)
		t->scratch.sps[i] = n->frames[i].sp;
	if (aif_interleave(&in, t->scratch.order) == AIF_INTERLEAVE_BLOCK) {
		note(t, AIF_REASON_PYTHON_ORDER);
		*stop |= AIF_WIRE_STACK_BLOCK;
	}
	if (in.python_cut) {
		note(t, AIF_REASON_PYTHON_TRUNCATED);
		*stop |= AIF_WIRE_STACK_CUT;
	}
	for (unsigned i = 0; i < len; i++) {
		uint32_t at = t->scratch.order[i] & ~AIF_INTERLEAVE_PYTHON, code;

		if (!(t->scratch.order[i] & AIF_INTERLEAVE_PYTHON)) {
			t->entries[i] = n->pcs[at];
			continue;
		}
		code = define_code(t, &t->scratch.python[at]);
		if (code == AIF_WIRE_NONE)
			return 0;
		t->entries[i] = AIF_WIRE_PYTHON | (uint64_t)code << 32 |
				(uint32_t)t->scratch.python[at].lasti;
	}
	return len;
}

/* The id of the stack with this long key, told to the ring if it is new. */
static uint32_t stack_id(struct aif_thread *t, struct key key, const struct native *n,
			 const struct aif_python_stack *py)
{
	struct aif_id_entry *e = aif_idtable_find(&t->stacks, key.hash, key.check);
	const uint64_t *entries = n->pcs;
	unsigned len = n->depth, stop = n->stop | (n->guessed ? AIF_WIRE_STACK_GUESSED : 0u) |
					(n->no_python ? AIF_WIRE_STACK_CUT : 0u);
	uint32_t id;

	if (e->hash)
		return e->id;
	/* A long key may be followed by a short one. */
	if (t->stacks.len + 2 > 2 * AIF_THREAD_STACKS && !aif_thread_start_anew(t))
		return AIF_WIRE_NONE;
	if (py->depth) {
		len = interleave(t, n, py, &stop);
		entries = t->entries;
		if (!len)
			return AIF_WIRE_NONE;
	}
	aif_announce_modules(t, n->pcs, n->depth);
	e = aif_idtable_find(&t->stacks, key.hash, key.check);
	id = t->stacks.next;
	if (!aif_emit_stack_record(t, id, entries, len, stop))
		return AIF_WIRE_NONE;
	aif_idtable_take(&t->stacks, e, key.hash, key.check);
	return id;
}

void aif_capture_prefetch(const struct aif_thread *t, const struct aif_regs *regs)
{
	aif_ring_prefetch(&t->ring);
	if (t->memo)
		aif_memo_prefetch(t->memo, regs);
}

uint32_t aif_capture(struct aif_thread *t, const struct aif_regs *regs,
		     const struct aif_emit_api *api)
{
	struct aif_unwinder *u = aif_agent.session.unwinder;
	const struct places places = python_places();
	struct aif_python_stack py;
	struct aif_id_entry *e;
	struct native n = {0};
	struct key key = {0};
	uint32_t id;

	native_stack(t, regs, false, &n);
	/* The code may be of a module that was loaded a moment ago, or was compiled then. */
	if (aif_unlikely(!n.hit && n.foreign) && aif_unwinder_stale(u, n.pcs[n.depth - 1]) &&
	    aif_session_refresh(aif_now_ns()))
		native_stack(t, regs, false, &n);
	/* A module went away: the same addresses may now be another's. */
	if (aif_unlikely(t->unwind_generation != aif_unwinder_generation(u))) {
		t->unwind_generation = aif_unwinder_generation(u);
		aif_idtable_clear(&t->stacks);
	}
	if (aif_likely(n.hit && places.known)) {
		id = aif_memo_noted(t->memo, n.memo, note_key(t, &places));
		if (aif_likely(id != AIF_MEMO_NOT_NOTED))
			return id;
	}
	aif_python_hash(aif_agent.python, AIF_PYTHON_AT_CALL, AIF_THREAD_PYTHON, &py);
	if (aif_likely(n.hit && !py.unknown)) {
		key = short_key(n.memo->number, py.hash);
		e = aif_idtable_find(&t->stacks, key.hash, key.check);
		if (aif_likely(e->hash)) {
			id = e->id;
			if (places.known)
				aif_memo_note(t->memo, n.memo, note_key(t, &places), id);
			return id;
		}
	}
	if (n.hit)
		native_stack(t, regs, true, &n);
	leave_ourselves_out(&n, api);
	n.no_python = !python_stack(t, &py);
	id = stack_id(t, long_key(&n, py.hash), &n, &py);
	/* The next launch from there may find what was missing. */
	if (id != AIF_WIRE_NONE && n.memo && !n.no_python &&
	    t->stacks.len < 2 * AIF_THREAD_STACKS) {
		key = short_key(n.memo->number, py.hash);
		e = aif_idtable_find(&t->stacks, key.hash, key.check);
		if (!e->hash)
			aif_idtable_also(&t->stacks, e, key.hash, key.check, id);
		if (places.known)
			aif_memo_note(t->memo, n.memo, note_key(t, &places), id);
	}
	return id;
}

uint32_t aif_emit_stack(struct aif_thread *t, const uint64_t *pcs, unsigned depth,
			enum aif_unwind_stop stop)
{
	static const struct aif_python_stack none;
	struct native n = {.depth = depth, .stop = stop};

	/* Not changed: only aif_capture() does. */
	n.pcs = (uint64_t *)(uintptr_t)pcs;
	if (aif_unlikely(t->unwind_generation !=
			 aif_unwinder_generation(aif_agent.session.unwinder))) {
		t->unwind_generation = aif_unwinder_generation(aif_agent.session.unwinder);
		aif_idtable_clear(&t->stacks);
	}
	return stack_id(t, long_key(&n, 0), &n, &none);
}
