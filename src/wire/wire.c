/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *name;
	uint16_t size;
	uint8_t variable;
} records[AIF_WIRE_COUNT] = {
#define X(NAME, name, size, variable) {#name, size, variable},
	AIF_WIRE_RECORDS(X)
#undef X
};

const char *aif_wire_name(unsigned type)
{
	return type < AIF_WIRE_COUNT ? records[type].name : "?";
}

/* Bytes that the record's own length fields ask for behind its fixed part. */
static uint64_t variable_len(const struct aif_wire_head *h)
{
	const void *p = h;

	switch ((enum aif_wire_type)h->type) {
	case AIF_WIRE_PAD:
		return aif_wire_size(h) - sizeof(struct aif_wire_pad);
	case AIF_WIRE_MODULE: {
		const struct aif_wire_module *m = p;
		return (uint64_t)m->path_len + m->build_id_len;
	}
	case AIF_WIRE_DEVICE: {
		const struct aif_wire_device *d = p;
		return (uint64_t)d->name_len + d->vendor_len + d->driver_len + d->runtime_len;
	}
	case AIF_WIRE_PROGRAM:
		return ((const struct aif_wire_program *)p)->options_len;
	case AIF_WIRE_TEXT:
		return ((const struct aif_wire_text *)p)->len;
	case AIF_WIRE_KERNEL:
		return ((const struct aif_wire_kernel *)p)->name_len;
	case AIF_WIRE_PYCODE: {
		const struct aif_wire_pycode *c = p;
		return (uint64_t)c->name_len + c->file_len + c->lines_len;
	}
	case AIF_WIRE_STACK:
		return (uint64_t)((const struct aif_wire_stack *)p)->depth * 8;
	case AIF_WIRE_NOTE:
		return ((const struct aif_wire_note *)p)->detail_len;
	case AIF_WIRE_JIT:
		return ((const struct aif_wire_jit *)p)->name_len;
	case AIF_WIRE_CODE:
		return ((const struct aif_wire_code *)p)->name_len;
	case AIF_WIRE_REASON:
		return ((const struct aif_wire_reason *)p)->name_len;
	case AIF_WIRE_PC:
		return (uint64_t)((const struct aif_wire_pc *)p)->count * 8;
	case AIF_WIRE_MARK:
		return ((const struct aif_wire_mark *)p)->name_len;
	case AIF_WIRE_NAME:
		return ((const struct aif_wire_name *)p)->name_len;
	case AIF_WIRE_COUNTER: {
		const struct aif_wire_counter *c = p;
		return (uint64_t)c->name_len + c->unit_len;
	}
	case AIF_WIRE_VALUES:
		return (uint64_t)((const struct aif_wire_values *)p)->count * 8;
	default:
		return 0;
	}
}

bool aif_wire_valid(const void *record, size_t len)
{
	const struct aif_wire_head *h = record;

	if (len < sizeof(*h) || h->type >= AIF_WIRE_COUNT || len != aif_wire_size(h) ||
	    len < records[h->type].size)
		return false;
	if (h->type == AIF_WIRE_PAD)
		return true;
	if (len > AIF_WIRE_MAX_RECORD)
		return false;
	if (h->type == AIF_WIRE_STACK &&
	    ((const struct aif_wire_stack *)record)->depth > AIF_WIRE_MAX_DEPTH)
		return false;
	if (h->type == AIF_WIRE_PC &&
	    ((const struct aif_wire_pc *)record)->count > AIF_WIRE_MAX_REASONS)
		return false;
	if (h->type == AIF_WIRE_VALUES &&
	    ((const struct aif_wire_values *)record)->count > AIF_WIRE_MAX_VALUES)
		return false;
	return AIF_ALIGN_UP(records[h->type].size + variable_len(h), 8) == len;
}

void aif_wire_shift(void *record, uint64_t ns)
{
	const struct aif_wire_head *h = record;

	switch ((enum aif_wire_type)h->type) {
	case AIF_WIRE_THREAD:
		((struct aif_wire_thread *)record)->time += ns;
		break;
	case AIF_WIRE_LAUNCH:
		((struct aif_wire_launch *)record)->time += ns;
		break;
	case AIF_WIRE_CLOCK:
		((struct aif_wire_clock *)record)->before += ns;
		((struct aif_wire_clock *)record)->after += ns;
		break;
	case AIF_WIRE_SAMPLE:
		((struct aif_wire_sample *)record)->time += ns;
		break;
	case AIF_WIRE_CPU_SAMPLE:
		((struct aif_wire_cpu_sample *)record)->time += ns;
		break;
	case AIF_WIRE_BLOCK:
		((struct aif_wire_block *)record)->start += ns;
		((struct aif_wire_block *)record)->end += ns;
		break;
	case AIF_WIRE_WINDOW:
		((struct aif_wire_window *)record)->start += ns;
		((struct aif_wire_window *)record)->end += ns;
		break;
	case AIF_WIRE_PLACE:
		((struct aif_wire_place *)record)->time += ns;
		break;
	case AIF_WIRE_NODE:
		((struct aif_wire_node *)record)->time += ns;
		break;
	case AIF_WIRE_MEMORY:
		((struct aif_wire_memory *)record)->time += ns;
		break;
	case AIF_WIRE_MARK: {
		struct aif_wire_mark *m = record;
		m->time += ns;
		if (h->aux == AIF_MARK_CALL || h->aux == AIF_MARK_JOINT_CALL ||
		    h->aux == AIF_MARK_CLOSE)
			m->number += ns;
		break;
	}
	case AIF_WIRE_VALUES:
		((struct aif_wire_values *)record)->time += ns;
		break;
	default:
		break;
	}
}

int aif_wire_dump(const void *record, char *text, size_t size)
{
	const struct aif_wire_head *h = record;
	const void *p = record;
	const char *tail = (const char *)record + records[h->type].size;
	const char *name = aif_wire_name(h->type);

	switch ((enum aif_wire_type)h->type) {
	case AIF_WIRE_THREAD:
		return snprintf(text, size, "%s tid=%" PRIu32 " name=%.16s", name, h->aux,
				((const struct aif_wire_thread *)p)->name);
	case AIF_WIRE_MODULE: {
		const struct aif_wire_module *m = p;
		return snprintf(text, size, "%s path=%.*s vdso=%" PRIu32, name, m->path_len, tail,
				h->aux);
	}
	case AIF_WIRE_DEVICE: {
		const struct aif_wire_device *d = p;
		return snprintf(text, size,
				"%s %" PRIu32 " name=%.*s kind=%" PRIu32 " clock=%" PRIu32, name,
				h->aux, d->name_len, tail, d->kind, d->clock);
	}
	case AIF_WIRE_STREAM: {
		const struct aif_wire_stream *s = p;
		return snprintf(text, size,
				"%s %" PRIu32 " device=%" PRIu32 " out_of_order=%" PRIu32, name,
				h->aux, s->device, s->out_of_order);
	}
	case AIF_WIRE_PROGRAM: {
		const struct aif_wire_program *q = p;
		return snprintf(text, size, "%s %" PRIu32 " source=%" PRIu32 " options=%.*s", name,
				h->aux, q->source_len, (int)q->options_len, tail);
	}
	case AIF_WIRE_TEXT: {
		const struct aif_wire_text *t = p;
		return snprintf(text, size,
				"%s program=%" PRIu32 " offset=%" PRIu32 " len=%" PRIu32, name,
				h->aux, t->offset, t->len);
	}
	case AIF_WIRE_KERNEL: {
		const struct aif_wire_kernel *k = p;
		return snprintf(text, size, "%s %" PRIu32 " program=%" PRIu32 " name=%.*s", name,
				h->aux, k->program, (int)k->name_len, tail);
	}
	case AIF_WIRE_SHAPE: {
		const struct aif_wire_shape *s = p;
		return snprintf(text, size,
				"%s %" PRIu32 " grid=%" PRIu32 ",%" PRIu32 ",%" PRIu32
				" block=%" PRIu32 ",%" PRIu32 ",%" PRIu32,
				name, h->aux, s->grid[0], s->grid[1], s->grid[2], s->block[0],
				s->block[1], s->block[2]);
	}
	case AIF_WIRE_PYCODE: {
		const struct aif_wire_pycode *c = p;
		return snprintf(text, size, "%s %" PRIu32 " name=%.*s file=%.*s line=%" PRId32,
				name, h->aux, c->name_len, tail, c->file_len, tail + c->name_len,
				c->first_line);
	}
	case AIF_WIRE_JIT: {
		const struct aif_wire_jit *j = p;
		return snprintf(text, size, "%s size=%" PRIu64 " name=%.*s", name, j->hi - j->lo,
				(int)j->name_len, tail);
	}
	case AIF_WIRE_STACK: {
		const struct aif_wire_stack *s = p;
		return snprintf(text, size, "%s %" PRIu32 " depth=%" PRIu32 " stop=%" PRIu32, name,
				h->aux, s->depth, s->stop);
	}
	case AIF_WIRE_LAUNCH: {
		const struct aif_wire_launch *l = p;
		return snprintf(text, size,
				"%s %#" PRIx64 " kind=%" PRIu32 " time=%" PRIu64 " stack=%" PRIu32
				" stream=%" PRIu32 " kernel=%" PRIu32 " shape=%" PRIu32,
				name, l->launch, h->aux, l->time, l->stack, l->stream, l->kernel,
				l->shape);
	}
	case AIF_WIRE_EXEC: {
		const struct aif_wire_exec *e = p;
		return snprintf(text, size,
				"%s %#" PRIx64 " kind=%" PRIu32 " start=%" PRIu64 " end=%" PRIu64
				" stream=%" PRIu32 " kernel=%" PRIu32 " registers=%" PRIu32
				" shared=%" PRIu32 " bytes=%" PRIu64 " graph=%" PRIu32
				" node=%" PRIu32,
				name, e->launch, h->aux, e->start, e->end, e->stream, e->kernel,
				e->kernel == AIF_WIRE_NONE ? 0 : e->registers,
				e->kernel == AIF_WIRE_NONE ? 0 : e->shared,
				e->kernel == AIF_WIRE_NONE ? e->bytes : 0, e->graph, e->node);
	}
	case AIF_WIRE_CLOCK: {
		const struct aif_wire_clock *c = p;
		return snprintf(text, size,
				"%s %" PRIu32 " before=%" PRIu64 " after=%" PRIu64
				" value=%" PRIu64,
				name, h->aux, c->before, c->after, c->value);
	}
	case AIF_WIRE_SAMPLE: {
		const struct aif_wire_sample *s = p;
		return snprintf(text, size,
				"%s tid=%" PRIu32 " time=%" PRIu64 " pc=%#" PRIx64
				" count=%" PRIu64,
				name, h->aux, s->time, s->pc, s->count);
	}
	case AIF_WIRE_CPU_SAMPLE: {
		const struct aif_wire_cpu_sample *s = p;
		return snprintf(text, size,
				"%s tid=%" PRIu32 " time=%" PRIu64 " weight=%" PRIu64
				" stack=%" PRIu32 " flags=%" PRIu32,
				name, h->aux, s->time, s->weight, s->stack, s->flags);
	}
	case AIF_WIRE_BLOCK: {
		const struct aif_wire_block *b = p;
		return snprintf(text, size,
				"%s %" PRIu32 " on=%d start=%" PRIu64 " end=%" PRIu64
				" launches=%" PRIu64 " duty=%" PRIu32,
				name, b->block, (h->aux & AIF_WIRE_BLOCK_ON) != 0, b->start, b->end,
				b->launches, b->duty_ppm);
	}
	case AIF_WIRE_NOTE: {
		const struct aif_wire_note *n = p;
		return snprintf(text, size, "%s reason=%" PRIu32 " count=%" PRIu64 " detail=%.*s",
				name, h->aux, n->count, (int)n->detail_len, tail);
	}
	case AIF_WIRE_CODE: {
		const struct aif_wire_code *c = p;
		return snprintf(text, size,
				"%s %" PRIu32 " hash=%#" PRIx64 " symbol=%" PRIu32 " name=%.*s",
				name, h->aux, c->hash, c->symbol, (int)c->name_len, tail);
	}
	case AIF_WIRE_REASON: {
		const struct aif_wire_reason *q = p;
		return snprintf(text, size, "%s %" PRIu32 " name=%.*s", name, h->aux,
				(int)q->name_len, tail);
	}
	case AIF_WIRE_WINDOW: {
		const struct aif_wire_window *w = p;
		return snprintf(text, size,
				"%s %" PRIu32 " device=%" PRIu32 " start=%" PRIu64 " end=%" PRIu64
				" samples=%" PRIu64 " lost=%" PRIu64,
				name, h->aux, w->device, w->start, w->end, w->samples, w->lost);
	}
	case AIF_WIRE_PC: {
		const struct aif_wire_pc *q = p;
		return snprintf(text, size,
				"%s window=%" PRIu32 " code=%" PRIu32 " pc=%#" PRIx64
				" reasons=%" PRIu32,
				name, h->aux, q->code, q->pc, q->count);
	}
	case AIF_WIRE_MARK: {
		const struct aif_wire_mark *m = p;
		return snprintf(text, size, "%s kind=%" PRIu32 " depth=%" PRIu32 " name=%.*s", name,
				h->aux, m->depth, (int)m->name_len, tail);
	}
	case AIF_WIRE_NAME: {
		const struct aif_wire_name *q = p;
		return snprintf(text, size, "%s %" PRIu32 " name=%.*s", name, h->aux,
				(int)q->name_len, tail);
	}
	case AIF_WIRE_PLACE: {
		const struct aif_wire_place *q = p;
		return snprintf(text, size,
				"%s code=%" PRIu32 " device=%" PRIu32 " address=%#" PRIx64
				" size=%" PRIu64,
				name, h->aux, q->device, q->address, q->size);
	}
	case AIF_WIRE_NODE: {
		const struct aif_wire_node *q = p;
		return snprintf(text, size,
				"%s kind=%" PRIu32 " node=%#" PRIx64 " from=%#" PRIx64
				" stack=%" PRIu32,
				name, h->aux, q->node, q->from, q->stack);
	}
	case AIF_WIRE_MEMORY: {
		const struct aif_wire_memory *m = p;
		return snprintf(text, size,
				"%s kind=%" PRIu32 " block=%#" PRIx64 " bytes=%" PRIu64
				" allocated=%" PRIu64 " stack=%" PRIu32 " device=%" PRIu32,
				name, h->aux, m->block, m->bytes, m->allocated, m->stack,
				m->device);
	}
	case AIF_WIRE_COUNTER: {
		const struct aif_wire_counter *c = p;
		return snprintf(text, size, "%s %" PRIu32 " device=%" PRIu32 " name=%.*s unit=%.*s",
				name, h->aux, c->device, c->name_len, tail, c->unit_len,
				tail + c->name_len);
	}
	case AIF_WIRE_VALUES: {
		const struct aif_wire_values *v = p;
		return snprintf(text, size,
				"%s %" PRIu32 " time=%" PRIu64 " count=%" PRIu32 " launch=%" PRIu64,
				name, h->aux, v->time, v->count, v->launch);
	}
	default:
		return snprintf(text, size, "%s words=%" PRIu16, name, h->words);
	}
}
