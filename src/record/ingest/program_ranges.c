/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/program_ranges.h"

#include "base/host_calls.h"
#include "record/ingest/range_rows.h"
#include "record/ingest/range_spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of a call's name, and of one in which ranks take part together sets which that is. */
static uint32_t name_len_of(const struct aif_wire_mark *r, struct aif_op_row *row)
{
	const char *text = (const char *)(r + 1);
	uint32_t len = (uint32_t)strnlen(text, r->name_len);
	uint64_t joint[2];

	if (r->head.aux != AIF_MARK_JOINT_CALL || r->name_len != len + 1 + sizeof(joint))
		return r->head.aux == AIF_MARK_CALL ? r->name_len : len;
	memcpy(joint, text + len + 1, sizeof(joint));
	row->id = joint[0];
	row->sequence = joint[1] <= INT64_MAX ? (int64_t)joint[1] : -1;
	return len;
}

static void add_call(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	uint64_t stack = AIF_NONE;
	struct aif_op_row *row = aif_range_row_next(in, AIF_OP_RUNTIME, in->slot->thread,
						    AIF_MIN(r->number, r->time), r->time);

	if (!row)
		return;
	/* Sleeps of a rank that uses no device are looked at as those of a launching thread are (asleep/sleeps.c). */
	if (r->head.aux == AIF_MARK_JOINT_CALL) {
		in->target->launching += !in->slot->has_launched;
		in->slot->has_launched = true;
	}
	aif_map_get(&in->slot->stacks, r->depth, &stack);
	row->name = aif_store_str(in->drainer->store, r + 1, name_len_of(r, row));
	row->stack = (uint32_t)stack;
}

static void end_step(struct aif_ingest *in, struct aif_program_ranges *m, uint64_t end)
{
	struct aif_op_row *row;
	char name[32];

	if (!m->in_step)
		return;
	m->in_step = false;
	row = aif_range_row_next(in, AIF_OP_STEP, in->slot->thread, m->step_start, end);
	if (!row)
		return;
	snprintf(name, sizeof(name), "step#%" PRIu64, m->step);
	row->name = aif_store_puts(in->drainer->store, name);
}

/* Opens a range `depth` deep. NULL: too many are open. */
static struct aif_open_range *open_range(struct aif_ingest *in, struct aif_open_ranges *o,
					 const struct aif_wire_mark *r)
{
	/* Ends of these were not heard of. */
	while (o->len && o->at[o->len - 1].depth >= r->depth)
		o->len--;
	if (o->len == AIF_PROGRAM_RANGES_OPEN) {
		aif_store_loss(in->drainer->store, AIF_REASON_RANGES_DEEP, in->target->process,
			       AIF_NONE, 1);
		return NULL;
	}
	o->at[o->len] = (struct aif_open_range){
		.start = r->time, .name = AIF_NONE, .depth = r->depth, .text = AIF_NONE};
	return &o->at[o->len++];
}

static void begin_range(struct aif_ingest *in, struct aif_program_ranges *m,
			const struct aif_wire_mark *r)
{
	struct aif_open_range *range = open_range(in, &m->program, r);

	if (range)
		range->name = aif_store_str(in->drainer->store, r + 1, r->name_len);
}

/* Ends the range or operator at the mark's depth; those that are deeper have lost their ends. */
static void end_range(struct aif_ingest *in, struct aif_open_ranges *o, enum aif_op_kind kind,
		      const struct aif_wire_mark *r)
{
	while (o->len && o->at[o->len - 1].depth > r->depth)
		o->len--;
	if (!o->len || o->at[o->len - 1].depth != r->depth)
		return;
	o->len--;
	aif_range_row_add(in, kind, in->slot->thread, &o->at[o->len], r->time);
}

/* ---- operators of a framework ---------------------------------------------------------------- */

static void begin_operator(struct aif_ingest *in, struct aif_program_ranges *m,
			   const struct aif_wire_mark *r)
{
	struct aif_open_range *op = open_range(in, &m->operators, r);
	const char *name = (const char *)(r + 1);
	const char *zero = memchr(name, 0, r->name_len);
	uint32_t len = zero ? (uint32_t)(zero - name) : r->name_len;

	if (!op)
		return;
	op->name = aif_store_str(in->drainer->store, name, len);
	op->text = zero ? aif_store_str(in->drainer->store, zero + 1, r->name_len - len - 1)
			: AIF_NONE;
}

/* ---- NVTX ------------------------------------------------------------------------------------ */

static uint32_t name_of(const struct aif_ingest *in, const struct aif_wire_mark *r)
{
	return aif_ingest_get(&in->slot->names, (uint32_t)r->number);
}

static uint32_t text_of(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	uint32_t name = (uint32_t)(r->number >> 32);

	if (r->head.aux != AIF_MARK_CLOSE && name)
		return aif_ingest_get(&in->slot->names, name);
	return r->name_len ? aif_store_str(in->drainer->store, r + 1, r->name_len) : AIF_NONE;
}

static void open_marked(struct aif_ingest *in, struct aif_program_ranges *m,
			const struct aif_wire_mark *r)
{
	struct aif_open_range *range = open_range(in, &m->marked, r);

	if (!range)
		return;
	range->name = name_of(in, r);
	range->text = text_of(in, r);
}

/* Ends a range; one of another domain that is deeper goes on. */
static void close_marked(struct aif_ingest *in, struct aif_program_ranges *m,
			 const struct aif_wire_mark *r)
{
	struct aif_open_ranges *o = &m->marked;
	uint32_t i = o->len;

	while (i && o->at[i - 1].depth > r->depth)
		i--;
	/* Another range at that depth: the begin of this one was lost. */
	if (!i || o->at[i - 1].depth != r->depth || o->at[i - 1].start != r->number)
		return;
	if (o->at[i - 1].text == AIF_NONE)
		o->at[i - 1].text = text_of(in, r);
	aif_range_row_add(in, AIF_OP_RANGE, in->slot->thread, &o->at[i - 1], r->time);
	memmove(&o->at[i - 1], &o->at[i], (o->len - i) * sizeof(o->at[0]));
	o->len--;
}

static void on_instant(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	struct aif_open_range range = {
		.start = r->time, .name = name_of(in, r), .text = text_of(in, r)};

	aif_range_row_add(in, AIF_OP_RANGE, in->slot->thread, &range, r->time);
}

/* ---------------------------------------------------------------------------------------------- */

void aif_program_ranges_record(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	struct aif_program_ranges *m = in->slot->program_ranges;

	if (in->slot->thread == AIF_NONE)
		return;
	if (r->head.aux == AIF_MARK_CALL || r->head.aux == AIF_MARK_JOINT_CALL) {
		add_call(in, r);
		return;
	}
	if (!m) {
		if (!aif_store_charge_own(in->drainer->store, sizeof(*m)))
			return;
		in->slot->program_ranges = m = calloc(1, sizeof(*m));
	}
	if (!m)
		return;
	m->last = r->time;
	switch (r->head.aux) {
	case AIF_MARK_BEGIN:
		begin_range(in, m, r);
		break;
	case AIF_MARK_END:
		end_range(in, &m->program, AIF_OP_RANGE, r);
		break;
	case AIF_MARK_STEP:
		/* The next one's begin is its end, and no later one's, which came after a pause. */
		if (r->number == m->step + 1)
			end_step(in, m, r->time);
		m->in_step = true;
		m->step = r->number;
		m->step_start = r->time;
		break;
	case AIF_MARK_STEPS_END:
		end_step(in, m, r->time);
		break;
	case AIF_MARK_OPEN:
		open_marked(in, m, r);
		break;
	case AIF_MARK_CLOSE:
		close_marked(in, m, r);
		break;
	case AIF_MARK_OPERATOR:
		begin_operator(in, m, r);
		break;
	case AIF_MARK_OPERATOR_END:
		end_range(in, &m->operators, AIF_OP_OPERATOR, r);
		break;
	case AIF_MARK_INSTANT:
		on_instant(in, r);
		break;
	case AIF_MARK_START:
	case AIF_MARK_FINISH:
		aif_range_spans_record(in, r);
		break;
	default:
		in->slot->drain.bad++;
		break;
	}
}

/* Ends ranges whose own end has not come. */
static void end_open(struct aif_ingest *in, struct aif_open_ranges *o, uint64_t end)
{
	while (o->len) {
		o->len--;
		aif_range_row_add(in, AIF_OP_RANGE, in->slot->thread, &o->at[o->len], end);
	}
}

static void count_unended(struct aif_ingest *in, const struct aif_open_ranges *o)
{
	if (o->len)
		aif_store_loss(in->drainer->store, AIF_REASON_RANGES_UNENDED, in->target->process,
			       AIF_NONE, o->len);
}

void aif_program_ranges_forget(struct aif_ingest *in)
{
	struct aif_program_ranges *m = in->slot->program_ranges;

	if (!m)
		return;
	if (in->slot->thread != AIF_NONE) {
		count_unended(in, &m->marked);
		end_open(in, &m->marked, m->last);
	}
	*m = (struct aif_program_ranges){.in_step = false};
}

/* A call that its thread has not come back from. What the slot says is hostile. */
static void end_call(struct aif_ingest *in, uint64_t end)
{
	const struct aif_slot *slot = aif_shm_slot(in->target->shm, in->slot_index);
	uint64_t stack = AIF_NONE,
		 since = aif_target_time(
			 in->target, atomic_load_explicit(&slot->call_since, memory_order_acquire));
	const char *name =
		aif_host_call_name(atomic_load_explicit(&slot->call_id, memory_order_relaxed));
	struct aif_store *s = in->drainer->store;
	struct aif_op_row *row;

	if (!since || since >= end || !name || in->slot->thread == AIF_NONE)
		return;
	aif_map_get(&in->slot->stacks,
		    atomic_load_explicit(&slot->call_stack, memory_order_relaxed), &stack);
	row = aif_range_row_next(in, AIF_OP_RUNTIME, in->slot->thread, since, end);
	if (row) {
		row->name = aif_store_puts(s, name);
		row->stack = (uint32_t)stack;
	}
	aif_store_loss(s, AIF_REASON_CALLS_OPEN, in->target->process, AIF_NONE, 1);
}

void aif_program_ranges_last(struct aif_drainer *d, struct aif_target *t, uint64_t end)
{
	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_ingest in = {
			.drainer = d, .target = t, .slot = &t->slots[i], .slot_index = i};
		struct aif_program_ranges *m = in.slot->program_ranges;

		if (t->shm)
			end_call(&in, end);
		if (!m)
			continue;
		end_open(&in, &m->program, end);
		if (t->ended)
			count_unended(&in, &m->marked);
		end_open(&in, &m->marked, end);
		end_step(&in, m, end);
	}
	aif_range_spans_last(d, t, end);
}
