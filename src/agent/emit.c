/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/emit.h"

#include "agent/sandbox.h"
#include "base/map.h"

#include <string.h>

/* TEXT pieces: large enough to be few, small enough to fit where a ring is nearly full. */
#define TEXT_PIECE 8192

static void *reserve(struct aif_thread *t, enum aif_wire_type type, size_t fixed, size_t tail,
		     uint32_t aux)
{
	size_t len = AIF_ALIGN_UP(fixed + tail, 8);
	struct aif_wire_head *h =
		len <= AIF_WIRE_MAX_RECORD ? aif_ring_reserve(&t->ring, type, len) : NULL;

	if (!h) {
		aif_emit_count(type == AIF_WIRE_NAME ? &t->slot->lost_ranges
						     : &t->slot->lost_others);
		return NULL;
	}
	h->aux = aux;
	memset((uint8_t *)h + sizeof(*h), 0, len - sizeof(*h));
	return h;
}

#define RESERVE(t, NAME, name, tail, aux)                                                      \
	((struct aif_wire_##name *)reserve(t, AIF_WIRE_##NAME, sizeof(struct aif_wire_##name), \
					   tail, aux))

static char *append(char *at, const char *s, size_t len)
{
	memcpy(at, s, len);
	return at + len;
}

bool aif_emit_device(struct aif_thread *t, const struct aif_emit_device *d)
{
	size_t name = AIF_MIN(strlen(d->name), 1000), vendor = AIF_MIN(strlen(d->vendor), 1000),
	       driver = AIF_MIN(strlen(d->driver), 1000), runtime = strlen(d->runtime);
	struct aif_wire_device *r =
		RESERVE(t, DEVICE, device, name + vendor + driver + runtime, d->id);
	char *at;

	if (!r)
		return false;
	r->kind = d->kind;
	r->units = d->units;
	r->clock = d->clock;
	r->arch = d->arch;
	r->unit_threads = d->unit_threads;
	r->unit_blocks = d->unit_blocks;
	r->unit_registers = d->unit_registers;
	r->unit_shared = d->unit_shared;
	r->block_shared = d->block_shared;
	r->pci = d->pci;
	r->clock_khz = d->clock_khz;
	r->memory_khz = d->memory_khz;
	r->memory_bits = d->memory_bits;
	r->name_len = (uint16_t)name;
	r->vendor_len = (uint16_t)vendor;
	r->driver_len = (uint16_t)driver;
	r->runtime_len = (uint16_t)runtime;
	at = append((char *)(r + 1), d->name, name);
	at = append(at, d->vendor, vendor);
	at = append(at, d->driver, driver);
	append(at, d->runtime, runtime);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_stream(struct aif_thread *t, uint32_t id, uint32_t device, uint32_t ordinal,
		     bool out_of_order)
{
	struct aif_wire_stream *r = RESERVE(t, STREAM, stream, 0, id);

	if (!r)
		return false;
	r->device = device;
	r->ordinal = ordinal;
	r->out_of_order = out_of_order;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_program(struct aif_thread *t, uint32_t id, const char *options, const char *source,
		      size_t source_len, uint64_t il)
{
	size_t len = AIF_MIN(strlen(options), 16384);
	struct aif_wire_program *r = RESERVE(t, PROGRAM, program, len, id);

	if (!r)
		return false;
	source_len = AIF_MIN(source_len, AIF_EMIT_SOURCE_MAX);
	r->source_len = (uint32_t)source_len;
	r->options_len = (uint32_t)len;
	r->il = il;
	memcpy(r + 1, options, len);
	aif_ring_commit(&t->ring);
	for (size_t at = 0; at < source_len; at += TEXT_PIECE) {
		size_t piece = AIF_MIN(source_len - at, (size_t)TEXT_PIECE);
		struct aif_wire_text *x = RESERVE(t, TEXT, text, piece, id);

		if (!x)
			break; /* the text ends here: without it the program is still good */
		x->offset = (uint32_t)at;
		x->len = (uint32_t)piece;
		memcpy(x + 1, source + at, piece);
		aif_ring_commit(&t->ring);
	}
	return true;
}

bool aif_emit_kernel(struct aif_thread *t, uint32_t id, uint32_t program, const char *name)
{
	size_t len = AIF_MIN(strlen(name), 30000);
	struct aif_wire_kernel *r = RESERVE(t, KERNEL, kernel, len, id);

	if (!r)
		return false;
	r->program = program;
	r->name_len = (uint32_t)len;
	memcpy(r + 1, name, len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_pycode(struct aif_thread *t, uint32_t id, const struct aif_python_code *c)
{
	uint32_t lines = AIF_MIN(c->lines_len, UINT32_C(20000));
	struct aif_wire_pycode *r =
		RESERVE(t, PYCODE, pycode, c->name_len + c->file_len + lines, id);
	char *at;

	if (!r)
		return false;
	r->first_line = c->first_line;
	r->name_len = (uint16_t)c->name_len;
	r->file_len = (uint16_t)c->file_len;
	r->lines_len = (uint16_t)lines;
	r->minor = c->minor;
	at = append((char *)(r + 1), c->name, c->name_len);
	at = append(at, c->file, c->file_len);
	append(at, (const char *)c->lines, lines);
	aif_ring_commit(&t->ring);
	return true;
}

static_assert(AIF_STOP_DEPTH == AIF_WIRE_STOP_DEPTH, "the recorder knows it by number");

bool aif_emit_stack_record(struct aif_thread *t, uint32_t id, const uint64_t *entries,
			   unsigned depth, unsigned stop)
{
	struct aif_wire_stack *r = RESERVE(t, STACK, stack, depth * sizeof(entries[0]), id);

	if (!r)
		return false;
	r->depth = depth;
	r->stop = stop;
	memcpy(r->pcs, entries, depth * sizeof(entries[0]));
	aif_ring_commit(&t->ring);
	return true;
}

static uint64_t shape_hash(const struct aif_emit_shape *shape)
{
	uint64_t words[3];

	static_assert(sizeof(words) == sizeof(*shape), "three pairs");
	memcpy(words, shape, sizeof(words));
	return aif_idtable_hash(words, AIF_ARRAY_LEN(words)) | 1;
}

void aif_emit_shape_prefetch(const struct aif_thread *t, const struct aif_emit_shape *shape)
{
	__builtin_prefetch(
		&t->shapes.memory[t->shapes.cap + (shape_hash(shape) & (t->shapes.cap - 1))]);
}

uint32_t aif_emit_shape(struct aif_thread *t, const struct aif_emit_shape *shape)
{
	const uint64_t hash = shape_hash(shape);
	uint32_t id;
	struct aif_id_entry *e;
	struct aif_wire_shape *r;

	e = aif_idtable_find(&t->shapes, hash, 0);
	if (aif_likely(e->hash))
		return e->id;
	if (t->shapes.len >= AIF_THREAD_SHAPES) {
		/* No new THREAD record: this launch's stack was told under the one in force. */
		aif_idtable_clear(&t->shapes);
		e = aif_idtable_find(&t->shapes, hash, 0);
	}
	id = t->shapes.next;
	r = RESERVE(t, SHAPE, shape, 0, id);
	if (!r)
		return AIF_WIRE_NONE;
	memcpy(r->grid, shape->grid, sizeof(r->grid));
	memcpy(r->block, shape->block, sizeof(r->block));
	aif_ring_commit(&t->ring);
	aif_idtable_take(&t->shapes, e, hash, 0);
	return id;
}

bool aif_emit_launch(struct aif_thread *t, const struct aif_emit_launch *l, uint64_t *ret_launch)
{
	struct aif_slot *slot = t->slot;
	uint64_t number = atomic_load_explicit(&slot->launches, memory_order_relaxed);
	struct aif_wire_launch *r = aif_ring_reserve(&t->ring, AIF_WIRE_LAUNCH, sizeof(*r));

	atomic_store_explicit(&slot->launches, number + 1, memory_order_relaxed);
	if (aif_unlikely(!r)) {
		aif_emit_count(&slot->lost_launches);
		return false;
	}
	r->head.aux = l->kind;
	r->time = l->time;
	r->launch = (uint64_t)t->slot_index << AIF_WIRE_SLOT_SHIFT | number;
	r->stack = l->stack;
	r->stream = l->stream;
	if (l->kind == AIF_EMIT_KERNEL) {
		r->kernel = l->kernel;
		r->shape = l->shape;
	} else {
		r->bytes = l->bytes;
	}
	*ret_launch = r->launch;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_exec(struct aif_thread *t, const struct aif_emit_exec *e)
{
	struct aif_wire_exec *r = aif_ring_reserve(&t->ring, AIF_WIRE_EXEC, sizeof(*r));

	if (aif_unlikely(!r)) {
		aif_emit_count(&t->slot->lost_execs);
		return false;
	}
	r->head.aux = e->kind;
	r->launch = e->launch;
	r->start = e->start;
	r->end = e->end;
	r->stream = e->stream;
	r->kernel = e->kernel;
	if (e->kind == AIF_EMIT_KERNEL) {
		r->registers = e->registers;
		r->shared = e->shared;
	} else {
		r->bytes = e->bytes;
	}
	r->graph = e->graph;
	r->node = e->node;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_block(struct aif_thread *t, const struct aif_emit_block *b)
{
	struct aif_wire_block *r = RESERVE(t, BLOCK, block, 0,
					   (b->on ? AIF_WIRE_BLOCK_ON : 0) |
						   (b->counted ? AIF_WIRE_BLOCK_COUNTED : 0));

	if (!r)
		return false;
	r->start = b->start;
	r->end = b->end;
	r->launches = b->launches;
	r->block = b->block;
	r->duty_ppm = b->duty_ppm;
	r->tid = b->tid;
	aif_ring_commit(&t->ring);
	return true;
}

void aif_emit_block_ended(struct aif_thread *t, uint32_t next, uint64_t now)
{
	struct aif_budget *b = &aif_agent.budget;
	struct aif_slot *slot = t->slot;
	bool on = aif_budget_is_on(t->block);

	if (t->block_launches) {
		aif_budget_add(b, t->block, t->block_launches);
		/* Between two on-blocks this thread launched nothing that was not captured. */
		if (!on || (!aif_budget_is_on(next) && (next || t->block_duty_ppm != 1000000)))
			aif_emit_block(t, &(struct aif_emit_block){.on = on,
								   .start = t->block_start,
								   .end = now,
								   .launches = t->block_launches,
								   .block = t->block,
								   .duty_ppm = t->block_duty_ppm});
	}
	t->block = next;
	t->block_duty_ppm = aif_budget_duty(b, next);
	t->block_start = now;
	t->block_launches = 0;
	atomic_store_explicit(&slot->block_launches, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->block_start, now, memory_order_relaxed);
	atomic_store_explicit(&slot->block, next, memory_order_relaxed);
}

bool aif_emit_clock(struct aif_thread *t, uint32_t clock, uint64_t before, uint64_t after,
		    uint64_t value)
{
	struct aif_wire_clock *r = RESERVE(t, CLOCK, clock, 0, clock);

	if (!r)
		return false;
	r->before = before;
	r->after = after;
	r->value = value;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_sample(struct aif_thread *t, uint32_t tid, uint64_t time, uint64_t pc,
		     uint64_t samples)
{
	struct aif_wire_sample *r = aif_ring_reserve(&t->ring, AIF_WIRE_SAMPLE, sizeof(*r));

	if (!r) {
		aif_emit_count(&t->slot->lost_samples);
		return false;
	}
	r->head.aux = tid;
	r->time = time;
	r->pc = pc;
	r->count = samples;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_cpu_sample(struct aif_thread *t, uint32_t tid, uint64_t time, uint64_t weight,
			 uint32_t stack, uint32_t flags)
{
	struct aif_wire_cpu_sample *r = aif_ring_reserve(&t->ring, AIF_WIRE_CPU_SAMPLE, sizeof(*r));

	if (!r)
		return false;
	r->head.aux = tid;
	r->time = time;
	r->weight = weight;
	r->stack = stack;
	r->flags = flags;
	aif_ring_commit(&t->ring);
	return true;
}

void aif_emit_wait(struct aif_thread *t, uint64_t since, uint64_t weight, uint32_t stack)
{
	struct aif_wire_cpu_sample *r = RESERVE(t, CPU_SAMPLE, cpu_sample, 0, t->tid);

	if (!r)
		return;
	r->time = since;
	r->weight = weight;
	r->stack = stack;
	r->flags = AIF_WIRE_CPU_WAITING;
	aif_ring_commit(&t->ring);
}

bool aif_emit_module(struct aif_thread *t, const struct aif_unwind_module *m, const char *path,
		     bool is_vdso, const char *build_id)
{
	size_t path_len = AIF_MIN(strlen(path), 4096), id_len = strlen(build_id);
	struct aif_wire_module *r = RESERVE(t, MODULE, module, path_len + id_len, is_vdso);

	if (!r)
		return false;
	r->base = m->base;
	r->lo = m->lo;
	r->hi = m->hi;
	r->path_len = (uint16_t)path_len;
	r->build_id_len = (uint16_t)id_len;
	append(append((char *)(r + 1), path, path_len), build_id, id_len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_jit(struct aif_thread *t, uint64_t lo, uint64_t hi, const char *name)
{
	size_t len = strlen(name);
	struct aif_wire_jit *r = RESERVE(t, JIT, jit, len, 0);

	if (!r)
		return false;
	r->lo = lo;
	r->hi = hi;
	r->name_len = (uint32_t)len;
	memcpy(r + 1, name, len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_code(struct aif_thread *t, uint32_t id, uint64_t hash, uint32_t symbol,
		   const char *name)
{
	size_t len = AIF_MIN(strlen(name), 30000);
	struct aif_wire_code *r = RESERVE(t, CODE, code, len, id);

	if (!r)
		return false;
	r->hash = hash;
	r->symbol = symbol;
	r->name_len = (uint32_t)len;
	memcpy(r + 1, name, len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_reason(struct aif_thread *t, uint32_t id, const char *name)
{
	size_t len = AIF_MIN(strlen(name), 1000);
	struct aif_wire_reason *r = RESERVE(t, REASON, reason, len, id);

	if (!r)
		return false;
	r->name_len = (uint32_t)len;
	memcpy(r + 1, name, len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_window(struct aif_thread *t, const struct aif_emit_window *w)
{
	struct aif_wire_window *r = RESERVE(t, WINDOW, window, 0, w->id);

	if (!r)
		return false;
	r->start = w->start;
	r->end = w->end;
	r->period_ps = w->period_ps;
	r->samples = w->samples;
	r->lost = w->lost;
	r->others = w->others;
	r->device = w->device;
	r->flags = w->flags;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_pc(struct aif_thread *t, uint32_t window, uint32_t code, uint64_t pc,
		 const struct aif_emit_reason *reasons, unsigned n)
{
	struct aif_wire_pc *r = RESERVE(t, PC, pc, n * sizeof(uint64_t), window);

	if (!r)
		return false;
	r->code = code;
	r->count = n;
	r->pc = pc;
	for (unsigned i = 0; i < n; i++)
		r->samples[i] = (uint64_t)reasons[i].reason << 32 | reasons[i].samples;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_counter(struct aif_thread *t, uint32_t id, uint32_t device, const char *name,
		      const char *unit)
{
	size_t name_len = AIF_MIN(strlen(name), 1000), unit_len = AIF_MIN(strlen(unit), 1000);
	struct aif_wire_counter *r = RESERVE(t, COUNTER, counter, name_len + unit_len, id);

	if (!r)
		return false;
	r->device = device;
	r->name_len = (uint16_t)name_len;
	r->unit_len = (uint16_t)unit_len;
	memcpy(r + 1, name, name_len);
	memcpy((char *)(r + 1) + name_len, unit, unit_len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_values(struct aif_thread *t, uint32_t first, uint64_t time, uint64_t launch,
		     const double *values, unsigned n)
{
	struct aif_wire_values *r = RESERVE(t, VALUES, values, n * sizeof(*values), first);

	if (!r)
		return false;
	r->time = time;
	r->count = n;
	r->zero = 0;
	r->launch = launch;
	memcpy(r->values, values, n * sizeof(*values));
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_node(struct aif_thread *t, const struct aif_emit_node *n)
{
	struct aif_wire_node *r = RESERVE(t, NODE, node, 0, (uint32_t)n->kind);

	if (!r)
		return false;
	r->time = n->time;
	r->node = n->node;
	r->from = n->from;
	r->stack = n->stack;
	r->zero = 0;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_memory(struct aif_thread *t, const struct aif_emit_memory *m)
{
	struct aif_wire_memory *r =
		RESERVE(t, MEMORY, memory, 0,
			m->is_release ? AIF_EMIT_MEMORY_RELEASE : AIF_EMIT_MEMORY_ALLOCATE);

	if (!r)
		return false;
	r->time = m->time;
	r->block = m->block;
	r->bytes = m->bytes;
	r->allocated = m->allocated;
	r->reserved = m->reserved;
	r->stack = m->stack;
	r->device = m->device;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_place(struct aif_thread *t, const struct aif_emit_place *p)
{
	struct aif_wire_place *r = RESERVE(t, PLACE, place, 0, p->code);

	if (!r)
		return false;
	r->time = p->time;
	r->address = p->address;
	r->size = p->size;
	r->device = p->device;
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	size_t len = AIF_MIN(strlen(detail), 1000);
	struct aif_wire_note *r = RESERVE(t, NOTE, note, len, (uint32_t)reason);

	if (!r)
		return false;
	r->count = n;
	r->detail_len = (uint32_t)len;
	memcpy(r + 1, detail, len);
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_mark_text(struct aif_thread *t, const struct aif_emit_mark *m)
{
	size_t len = AIF_ALIGN_UP(sizeof(struct aif_wire_mark) + m->text_len, 8);
	struct aif_wire_mark *r = aif_ring_reserve(&t->ring, AIF_WIRE_MARK, len);

	if (aif_unlikely(!r)) {
		aif_emit_count(m->kind == AIF_MARK_CALL || m->kind == AIF_MARK_JOINT_CALL
				       ? &t->slot->lost_others
				       : &t->slot->lost_ranges);
		return false;
	}
	r->head.aux = (uint32_t)m->kind;
	r->time = m->time;
	r->number = m->number;
	r->depth = m->depth;
	r->name_len = (uint32_t)m->text_len;
	if (m->text_len) {
		memset((uint8_t *)r + len - 8, 0, 8); /* the padding behind the text */
		memcpy(r + 1, m->text, m->text_len);
	}
	aif_ring_commit(&t->ring);
	return true;
}

bool aif_emit_mark(struct aif_thread *t, enum aif_wire_mark_kind kind, uint32_t depth,
		   uint64_t number, const char *name)
{
	return aif_emit_mark_at(t, kind, depth, number, aif_now_ns(), name);
}

bool aif_emit_mark_at(struct aif_thread *t, enum aif_wire_mark_kind kind, uint32_t depth,
		      uint64_t number, uint64_t time, const char *name)
{
	return aif_emit_mark_text(t, &(struct aif_emit_mark){.kind = kind,
							     .time = time,
							     .number = number,
							     .depth = depth,
							     .text = name,
							     .text_len = strnlen(name, 1000)});
}

bool aif_emit_name(struct aif_thread *t, uint32_t id, const char *name, size_t len)
{
	struct aif_wire_name *r = RESERVE(t, NAME, name, len, id);

	if (!r)
		return false;
	r->name_len = (uint32_t)len;
	memcpy(r + 1, name, len);
	aif_ring_commit(&t->ring);
	return true;
}

void aif_emit_missed(void)
{
	struct aif_session *s = &aif_agent.session;
	_Atomic uint64_t *const refused[] = {[AIF_REFUSED_SLOT] = &s->no_slot,
					     [AIF_REFUSED_MEMORY] = &s->no_memory,
					     [AIF_REFUSED_CALLS] = &s->no_calls};

	if (!s->armed || (aif_self && aif_thread_busy(aif_self)))
		return; /* hidden on purpose */
	/* Into our own memory: the session's may go at any moment. */
	if (aif_self && aif_self->refused)
		atomic_fetch_add_explicit(refused[aif_self->refused], 1, memory_order_relaxed);
	else if (!atomic_load_explicit(&s->armed->generation, memory_order_relaxed))
		atomic_fetch_add_explicit(&s->before_attach, 1, memory_order_relaxed);
	else if (!aif_self && atomic_load_explicit(&s->armed->on, memory_order_relaxed))
		atomic_fetch_add_explicit(aif_sandbox_may_be_on() ? &s->no_calls : &s->no_memory, 1,
					  memory_order_relaxed);
}

void aif_emit_cost_begin(struct aif_thread *t, struct aif_emit_cost *c, uint64_t now)
{
	*c = (struct aif_emit_cost){0};
	if (aif_likely(t->countdown--))
		return;
	t->countdown = AIF_EMIT_COST_EACH - 1;
	c->since = now;
	c->shm = t->joined->shm;
}

void aif_emit_cost_end(struct aif_emit_cost *c)
{
	struct aif_shm *shm = c->shm;

	if (aif_likely(!c->since))
		return;
	aif_emit_cost_pause(c);
	atomic_fetch_add_explicit(&shm->capture_ns, c->ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->captures, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&shm->capture_times[aif_shm_time(c->ns)], 1,
				  memory_order_relaxed);
}
