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

/* A text behind a record's fixed part. */
struct text {
	const void *at;
	size_t len;
};

/* Writes a record: *fields but for its head, and `n` texts behind it. False: no room. */
static bool put(struct aif_thread *t, enum aif_wire_type type, uint32_t aux, const void *fields,
		size_t size, const struct text *texts, size_t n)
{
	size_t tail = 0;
	uint8_t *r, *at;

	for (size_t i = 0; i < n; i++)
		tail += texts[i].len;
	r = reserve(t, type, size, tail, aux);
	if (!r)
		return false;
	memcpy(r + sizeof(struct aif_wire_head),
	       (const uint8_t *)fields + sizeof(struct aif_wire_head),
	       size - sizeof(struct aif_wire_head));
	at = r + size;
	for (size_t i = 0; i < n; at += texts[i++].len)
		if (texts[i].len)
			memcpy(at, texts[i].at, texts[i].len);
	aif_ring_commit(&t->ring);
	return true;
}

/* Write a record of that type; with texts: PUT_TEXTS(t, TYPE, aux, &fields, {text, len}...). */
#define PUT(t, TYPE, aux, fields) put(t, AIF_WIRE_##TYPE, aux, fields, sizeof(*(fields)), NULL, 0)
#define PUT_TEXTS(t, TYPE, aux, fields, ...)                    \
	put(t, AIF_WIRE_##TYPE, aux, fields, sizeof(*(fields)), \
	    (const struct text[]){__VA_ARGS__},                 \
	    AIF_ARRAY_LEN(((const struct text[]){__VA_ARGS__})))

bool aif_emit_device(struct aif_thread *t, const struct aif_emit_device *d)
{
	size_t name = AIF_MIN(strlen(d->name), 1000), vendor = AIF_MIN(strlen(d->vendor), 1000),
	       driver = AIF_MIN(strlen(d->driver), 1000), runtime = strlen(d->runtime);
	const struct aif_wire_device r = {
		.kind = d->kind,
		.units = d->units,
		.clock = d->clock,
		.arch = d->arch,
		.unit_threads = d->unit_threads,
		.unit_blocks = d->unit_blocks,
		.unit_registers = d->unit_registers,
		.unit_shared = d->unit_shared,
		.block_shared = d->block_shared,
		.pci = d->pci,
		.clock_khz = d->clock_khz,
		.memory_khz = d->memory_khz,
		.memory_bits = d->memory_bits,
		.name_len = (uint16_t)name,
		.vendor_len = (uint16_t)vendor,
		.driver_len = (uint16_t)driver,
		.runtime_len = (uint16_t)runtime,
	};

	return PUT_TEXTS(t, DEVICE, d->id, &r, {d->name, name}, {d->vendor, vendor},
			 {d->driver, driver}, {d->runtime, runtime});
}

bool aif_emit_stream(struct aif_thread *t, uint32_t id, uint32_t device, uint32_t ordinal,
		     bool out_of_order)
{
	const struct aif_wire_stream r = {
		.device = device, .ordinal = ordinal, .out_of_order = out_of_order};

	return PUT(t, STREAM, id, &r);
}

bool aif_emit_program(struct aif_thread *t, uint32_t id, const char *options, const char *source,
		      size_t source_len, uint64_t il)
{
	size_t len = AIF_MIN(strlen(options), 16384);
	const struct aif_wire_program r = {
		.source_len = (uint32_t)AIF_MIN(source_len, AIF_EMIT_SOURCE_MAX),
		.options_len = (uint32_t)len,
		.il = il,
	};

	if (!PUT_TEXTS(t, PROGRAM, id, &r, {options, len}))
		return false;
	for (uint32_t at = 0; at < r.source_len; at += TEXT_PIECE) {
		const struct aif_wire_text x = {
			.offset = at, .len = AIF_MIN(r.source_len - at, (uint32_t)TEXT_PIECE)};

		if (!PUT_TEXTS(t, TEXT, id, &x, {source + at, x.len}))
			break; /* the text ends here: without it the program is still good */
	}
	return true;
}

bool aif_emit_kernel(struct aif_thread *t, uint32_t id, uint32_t program, const char *name)
{
	size_t len = AIF_MIN(strlen(name), 30000);
	const struct aif_wire_kernel r = {.program = program, .name_len = (uint32_t)len};

	return PUT_TEXTS(t, KERNEL, id, &r, {name, len});
}

bool aif_emit_pycode(struct aif_thread *t, uint32_t id, const struct aif_python_code *c)
{
	uint32_t lines = AIF_MIN(c->lines_len, UINT32_C(20000));
	const struct aif_wire_pycode r = {
		.first_line = c->first_line,
		.name_len = (uint16_t)c->name_len,
		.file_len = (uint16_t)c->file_len,
		.lines_len = (uint16_t)lines,
		.minor = c->minor,
	};

	return PUT_TEXTS(t, PYCODE, id, &r, {c->name, c->name_len}, {c->file, c->file_len},
			 {c->lines, lines});
}

static_assert(AIF_STOP_DEPTH == AIF_WIRE_STOP_DEPTH, "the recorder knows it by number");

bool aif_emit_stack_record(struct aif_thread *t, uint32_t id, const uint64_t *entries,
			   unsigned depth, unsigned stop)
{
	const struct aif_wire_stack r = {.depth = depth, .stop = stop};

	return PUT_TEXTS(t, STACK, id, &r, {entries, depth * sizeof(entries[0])});
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
	const struct aif_wire_block r = {
		.start = b->start,
		.end = b->end,
		.launches = b->launches,
		.block = b->block,
		.duty_ppm = b->duty_ppm,
		.tid = b->tid,
	};

	return PUT(t, BLOCK,
		   (b->on ? AIF_WIRE_BLOCK_ON : 0) | (b->counted ? AIF_WIRE_BLOCK_COUNTED : 0), &r);
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
	const struct aif_wire_clock r = {.before = before, .after = after, .value = value};

	return PUT(t, CLOCK, clock, &r);
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
	const struct aif_wire_cpu_sample r = {
		.time = since, .weight = weight, .stack = stack, .flags = AIF_WIRE_CPU_WAITING};

	PUT(t, CPU_SAMPLE, t->tid, &r);
}

bool aif_emit_module(struct aif_thread *t, const struct aif_unwind_module *m, const char *path,
		     bool is_vdso, const char *build_id)
{
	size_t path_len = AIF_MIN(strlen(path), 4096), id_len = strlen(build_id);
	const struct aif_wire_module r = {
		.base = m->base,
		.lo = m->lo,
		.hi = m->hi,
		.path_len = (uint16_t)path_len,
		.build_id_len = (uint16_t)id_len,
	};

	return PUT_TEXTS(t, MODULE, is_vdso, &r, {path, path_len}, {build_id, id_len});
}

bool aif_emit_jit(struct aif_thread *t, uint64_t lo, uint64_t hi, const char *name)
{
	size_t len = strlen(name);
	const struct aif_wire_jit r = {.lo = lo, .hi = hi, .name_len = (uint32_t)len};

	return PUT_TEXTS(t, JIT, 0, &r, {name, len});
}

bool aif_emit_code(struct aif_thread *t, uint32_t id, uint64_t hash, uint32_t symbol,
		   const char *name)
{
	size_t len = AIF_MIN(strlen(name), 30000);
	const struct aif_wire_code r = {.hash = hash, .symbol = symbol, .name_len = (uint32_t)len};

	return PUT_TEXTS(t, CODE, id, &r, {name, len});
}

bool aif_emit_reason(struct aif_thread *t, uint32_t id, const char *name)
{
	size_t len = AIF_MIN(strlen(name), 1000);
	const struct aif_wire_reason r = {.name_len = (uint32_t)len};

	return PUT_TEXTS(t, REASON, id, &r, {name, len});
}

bool aif_emit_window(struct aif_thread *t, const struct aif_emit_window *w)
{
	const struct aif_wire_window r = {
		.start = w->start,
		.end = w->end,
		.period_ps = w->period_ps,
		.samples = w->samples,
		.lost = w->lost,
		.others = w->others,
		.device = w->device,
		.flags = w->flags,
	};

	return PUT(t, WINDOW, w->id, &r);
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
	const struct aif_wire_counter r = {
		.device = device, .name_len = (uint16_t)name_len, .unit_len = (uint16_t)unit_len};

	return PUT_TEXTS(t, COUNTER, id, &r, {name, name_len}, {unit, unit_len});
}

bool aif_emit_values(struct aif_thread *t, uint32_t first, uint64_t time, uint64_t launch,
		     const double *values, unsigned n)
{
	const struct aif_wire_values r = {.time = time, .count = n, .launch = launch};

	return PUT_TEXTS(t, VALUES, first, &r, {values, n * sizeof(*values)});
}

bool aif_emit_node(struct aif_thread *t, const struct aif_emit_node *n)
{
	const struct aif_wire_node r = {
		.time = n->time, .node = n->node, .from = n->from, .stack = n->stack};

	return PUT(t, NODE, (uint32_t)n->kind, &r);
}

bool aif_emit_memory(struct aif_thread *t, const struct aif_emit_memory *m)
{
	const struct aif_wire_memory r = {
		.time = m->time,
		.block = m->block,
		.bytes = m->bytes,
		.allocated = m->allocated,
		.reserved = m->reserved,
		.stack = m->stack,
		.device = m->device,
	};

	return PUT(t, MEMORY, m->is_release ? AIF_EMIT_MEMORY_RELEASE : AIF_EMIT_MEMORY_ALLOCATE,
		   &r);
}

bool aif_emit_place(struct aif_thread *t, const struct aif_emit_place *p)
{
	const struct aif_wire_place r = {
		.time = p->time, .address = p->address, .size = p->size, .device = p->device};

	return PUT(t, PLACE, p->code, &r);
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	size_t len = AIF_MIN(strlen(detail), 1000);
	const struct aif_wire_note r = {.count = n, .detail_len = (uint32_t)len};

	return PUT_TEXTS(t, NOTE, (uint32_t)reason, &r, {detail, len});
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
	const struct aif_wire_name r = {.name_len = (uint32_t)len};

	return PUT_TEXTS(t, NAME, id, &r, {name, len});
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
	else if (!atomic_load_explicit(&s->armed->generation, memory_order_relaxed) ||
		 atomic_load(&s->is_late))
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
