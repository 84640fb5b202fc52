/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_buffer.h"

#include "agent/emit.h"
#include "base/clock.h"

#include <string.h>

/* Copies of Python functions, kept because each ring is told anew. 100,000 with 300 bytes each. */
#define CODES_BYTES (UINT64_C(32) << 20)

static void keep_code(struct aif_cpu *c, const struct aif_cpu_code *item)
{
	size_t bytes = (size_t)(uint32_t)item->head * 8;
	struct aif_cpu_code *copy;

	if (item->id >= AIF_CPU_CODES || c->codes[item->id] || c->codes_bytes + bytes > CODES_BYTES)
		return;
	copy = aif_arena_alloc(&c->arena, bytes);
	if (!copy)
		return;
	c->codes_bytes += bytes;
	memcpy(copy, item, bytes);
	c->codes[item->id] = copy;
}

/* The number in self's ring of the function with this number in the process, or AIF_WIRE_NONE. */
static uint32_t define_code(struct aif_cpu *c, struct aif_thread *self, uint32_t id)
{
	uint64_t hash = aif_mix64(id) | 1;
	struct aif_id_entry *e = aif_idtable_find(&self->codes, hash, id);
	const struct aif_cpu_code *copy = id < AIF_CPU_CODES ? c->codes[id] : NULL;
	struct aif_python_code code;
	uint32_t number;

	if (e->hash)
		return e->id;
	if (!copy)
		return AIF_WIRE_NONE;
	if (self->codes.len >= AIF_THREAD_CODES) {
		aif_idtable_clear(&self->codes);
		e = aif_idtable_find(&self->codes, hash, id);
	}
	code = (struct aif_python_code){
		.id = id,
		.first_line = copy->first_line,
		.name = copy->text,
		.file = copy->text + copy->name_len,
		.lines = (const uint8_t *)copy->text + copy->name_len + copy->file_len,
		.name_len = copy->name_len,
		.file_len = copy->file_len,
		.lines_len = copy->lines_len,
		.minor = (uint8_t)copy->minor,
	};
	number = self->codes.next;
	if (number >= AIF_WIRE_PYCODES || !aif_emit_pycode(self, number, &code))
		return AIF_WIRE_NONE;
	aif_idtable_take(&self->codes, e, hash, id);
	return number;
}

/*
 * Modules of other threads' stacks may be unloaded at this moment, and headers and notes of a module that goes cannot
 * be read: so the loader is held meanwhile.
 */
struct looking {
	struct aif_thread *self;
	const uint64_t *pcs;
	unsigned depth;
	bool stale;
};

static void announce(void *arg)
{
	struct looking *l = arg;

	aif_announce_modules(l->self, l->pcs, l->depth);
}

static void look_stale(void *arg)
{
	struct looking *l = arg;

	l->stale = aif_unwinder_stale(aif_agent.session.unwinder, l->pcs[0] - 1);
}

/* Calls look() while nothing can be unloaded. Where the loader may be locked for good, as in a forked child at first,
 * hardly anything is unloaded, and look() is called all the same. */
static void hold(struct looking *l, void (*look)(void *))
{
	if (!aif_unwinder_hold(aif_agent.session.unwinder, look, l))
		look(l);
}

/* Tells the ring of a stack that it does not know. */
static uint32_t report_stack(struct aif_cpu *c, struct aif_thread *self, uint64_t hash,
			     uint32_t check, const struct aif_cpu_sample *s)
{
	unsigned stop = s->stop & ~AIF_CPU_FLAGS, native = 0;
	struct aif_id_entry *e;
	uint32_t id;

	if (s->stop & AIF_CPU_NO_CODE)
		stop |= AIF_WIRE_STACK_CUT;
	if (self->stacks.len + 2 > 2 * AIF_THREAD_STACKS && !aif_thread_start_anew(self))
		return AIF_WIRE_NONE;
	for (uint32_t i = 0; i < s->len; i++) {
		uint64_t entry = s->entries[i];

		if (entry & AIF_WIRE_PYTHON) {
			uint32_t code =
				define_code(c, self, (uint32_t)((entry & ~AIF_WIRE_PYTHON) >> 32));

			if (code == AIF_WIRE_NONE)
				return AIF_WIRE_NONE;
			entry = AIF_WIRE_PYTHON | (uint64_t)code << 32 | (uint32_t)entry;
		} else if (entry != AIF_WIRE_OS && native < AIF_MEMO_MAX_DEPTH) {
			self->scratch.sps[native++] = entry;
		}
		self->entries[i] = entry;
	}
	hold(&(struct looking){.self = self, .pcs = self->scratch.sps, .depth = native}, announce);
	e = aif_idtable_find(&self->stacks, hash, check);
	id = self->stacks.next;
	if (!aif_emit_stack_record(self, id, self->entries, s->len, stop))
		return AIF_WIRE_NONE;
	aif_idtable_take(&self->stacks, e, hash, check);
	return id;
}

static uint32_t stack_of(struct aif_cpu *c, struct aif_thread *self, const struct aif_cpu_sample *s)
{
	struct aif_unwinder *u = aif_agent.session.unwinder;
	uint64_t hash;
	uint32_t check = s->len << 12 | (s->stop & 0xfff);
	struct aif_id_entry *e;

	if (!s->len || s->len > AIF_WIRE_MAX_DEPTH)
		return AIF_WIRE_NONE;
	/* The code may be of a module that was loaded a moment ago: the next samples shall know it. */
	if ((s->stop & 0xff) == AIF_STOP_NO_MODULE &&
	    !(s->entries[s->len - 1] & (AIF_WIRE_PYTHON | AIF_WIRE_OS))) {
		struct looking l = {.pcs = &s->entries[s->len - 1]};

		hold(&l, look_stale);
		if (l.stale)
			aif_session_refresh(aif_now_ns());
	}
	if (self->unwind_generation != aif_unwinder_generation(u)) {
		self->unwind_generation = aif_unwinder_generation(u);
		aif_idtable_clear(&self->stacks);
	}
	hash = aif_mix64(aif_idtable_hash(s->entries, s->len) + 1) | 1;
	e = aif_idtable_find(&self->stacks, hash, check);
	return e->hash ? e->id : report_stack(c, self, hash, check, s);
}

static void report_sample(struct aif_cpu *c, struct aif_cpu_thread *t, struct aif_thread *self,
			  const struct aif_cpu_sample *s)
{
	/* A handler that had no CPU for a while leaves it when its session is over. */
	if (s->time < c->discarded_ns)
		return;
	/* Caught while the interpreter gave a frame's memory back (unwind/python_walk.c), or entered one. */
	if (s->stop & AIF_WIRE_STACK_BLOCK)
		aif_emit_note(self, AIF_REASON_PYTHON_ORDER, 1, "CPU samples");
	if (s->stop & AIF_WIRE_STACK_CUT)
		aif_emit_note(self, AIF_REASON_PYTHON_TRUNCATED, 1, "CPU samples");
	if (s->stop & AIF_CPU_NO_CODE)
		aif_emit_note(self, AIF_REASON_PYTHON_CODE_UNKNOWN, 1, "");
	aif_cpu_account_sample(c, t, s->owner, s->weight);
	if (s->stop & AIF_CPU_UNKNOWN)
		aif_emit_note(self, AIF_REASON_CPU_UNKNOWN, s->weight / 1000000, "");
	if (s->len && s->time <= atomic_load(&c->unloaded_ns)) {
		c->lost++;
		return;
	}
	if (!aif_emit_cpu_sample(self, s->tid, s->time, s->weight, stack_of(c, self, s),
				 (s->stop & AIF_CPU_WAITING ? AIF_WIRE_CPU_WAITING : 0u) |
					 (s->stop & AIF_CPU_IN_OS ? AIF_WIRE_CPU_OS : 0u) |
					 (s->stop & AIF_CPU_BEFORE ? AIF_WIRE_CPU_BEFORE : 0u)))
		c->lost++;
}

static void carry_codes(struct aif_cpu *c, struct aif_cpu_thread *t)
{
	uint64_t head = atomic_load_explicit(&t->head, memory_order_acquire), at = t->codes_at;

	for (; at != head; at += (uint32_t)*aif_cpu_word(t, at))
		if (*aif_cpu_word(t, at) >> 32 == AIF_CPU_CODE)
			keep_code(c, (const void *)aif_cpu_word(t, at));
	t->codes_at = at;
}

static void carry_samples(struct aif_cpu *c, struct aif_cpu_thread *t, struct aif_thread *self)
{
	uint64_t at = atomic_load_explicit(&t->tail, memory_order_relaxed);

	for (; at != t->samples_to; at += (uint32_t)*aif_cpu_word(t, at))
		if (*aif_cpu_word(t, at) >> 32 == AIF_CPU_SAMPLE)
			report_sample(c, t, self, (const void *)aif_cpu_word(t, at));
	atomic_store_explicit(&t->tail, at, memory_order_release);
	c->lost += atomic_exchange_explicit(&t->lost, 0, memory_order_relaxed);
	c->interrupted += atomic_exchange_explicit(&t->interrupted, 0, memory_order_relaxed);
}

/* A sample may name a function whose copy lies in another thread's queue, where it was put before: so first it
 * is settled how far samples are taken, then all copies are, then the samples. */
void aif_cpu_carry(struct aif_cpu *c, struct aif_thread *self)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].thread)
			c->at[i].thread->samples_to =
				atomic_load_explicit(&c->at[i].thread->head, memory_order_acquire);
	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].thread)
			carry_codes(c, c->at[i].thread);
	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].thread)
			carry_samples(c, c->at[i].thread, self);
	if (c->lost && aif_emit_note(self, AIF_REASON_CPU_LOST, c->lost, ""))
		c->lost = 0;
	if (c->interrupted && aif_emit_note(self, AIF_REASON_CPU_INTERRUPTED, c->interrupted, ""))
		c->interrupted = 0;
}

void aif_cpu_discard(struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	c->discarded_ns = aif_now_ns();
	for (uint32_t i = 0; i < len; i++) {
		struct aif_cpu_thread *t = c->at[i].thread;

		if (!t)
			continue;
		/* Functions are named once: later samples count on them. */
		carry_codes(c, t);
		atomic_store_explicit(&t->tail, t->codes_at, memory_order_release);
		atomic_store_explicit(&t->lost, 0, memory_order_relaxed);
		atomic_store_explicit(&t->interrupted, 0, memory_order_relaxed);
	}
	c->lost = 0;
	c->interrupted = 0;
}
