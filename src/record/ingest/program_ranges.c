/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/program_ranges.h"

#include "base/host_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void add_row(struct aif_ingest *in, enum aif_op_kind kind, uint32_t name, uint64_t start,
		    uint64_t end, uint32_t stack)
{
	struct aif_store *s = in->drainer->store;
	struct aif_op_row *row = aif_batches_row(&s->batches, AIF_BATCH_OP);

	if (!row) {
		aif_store_loss(s, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(s, "ranges"), 1);
		return;
	}
	*row = (struct aif_op_row){.start = start,
				   .end = AIF_MAX(start, end),
				   .clock = AIF_CLOCK_MONOTONIC,
				   .thread = in->slot->thread,
				   .name = name,
				   .kind = kind,
				   .shapes = AIF_NONE,
				   .stack = stack,
				   .sequence = -1};
}

static void add_call(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	uint64_t stack = AIF_NONE;

	aif_map_get(&in->slot->stacks, r->depth, &stack);
	add_row(in, AIF_OP_RUNTIME, aif_store_str(in->drainer->store, r + 1, r->name_len),
		AIF_MIN(r->number, r->time), r->time, (uint32_t)stack);
}

static void end_step(struct aif_ingest *in, struct aif_program_ranges *m, uint64_t end)
{
	char name[32];

	if (!m->in_step)
		return;
	m->in_step = false;
	snprintf(name, sizeof(name), "step#%" PRIu64, m->step);
	add_row(in, AIF_OP_STEP, aif_store_puts(in->drainer->store, name), m->step_start, end,
		AIF_NONE);
}

static void begin_range(struct aif_ingest *in, struct aif_program_ranges *m,
			const struct aif_wire_mark *r)
{
	struct aif_store *s = in->drainer->store;

	while (m->len && m->open[m->len - 1].depth >= r->depth)
		m->len--;
	if (m->len == AIF_PROGRAM_RANGES_OPEN) {
		aif_store_loss(s, AIF_REASON_RANGES_DEEP, in->target->process, AIF_NONE, 1);
		return;
	}
	m->open[m->len].start = r->time;
	m->open[m->len].depth = r->depth;
	m->open[m->len].name = aif_store_str(s, r + 1, r->name_len);
	m->len++;
}

static void end_range(struct aif_ingest *in, struct aif_program_ranges *m,
		      const struct aif_wire_mark *r)
{
	while (m->len && m->open[m->len - 1].depth > r->depth)
		m->len--;
	if (!m->len || m->open[m->len - 1].depth != r->depth)
		return;
	m->len--;
	add_row(in, AIF_OP_RANGE, m->open[m->len].name, m->open[m->len].start, r->time, AIF_NONE);
}

void aif_program_ranges_record(struct aif_ingest *in, const struct aif_wire_mark *r)
{
	struct aif_program_ranges *m = in->slot->program_ranges;

	if (in->slot->thread == AIF_NONE)
		return;
	if (r->head.aux == AIF_MARK_CALL) {
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
	switch (r->head.aux) {
	case AIF_MARK_BEGIN:
		begin_range(in, m, r);
		break;
	case AIF_MARK_END:
		end_range(in, m, r);
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
	default:
		in->slot->drain.bad++;
		break;
	}
}

void aif_program_ranges_forget(struct aif_target_slot *slot)
{
	if (slot->program_ranges)
		*slot->program_ranges = (struct aif_program_ranges){.len = 0};
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

	if (!since || since >= end || !name || in->slot->thread == AIF_NONE)
		return;
	aif_map_get(&in->slot->stacks,
		    atomic_load_explicit(&slot->call_stack, memory_order_relaxed), &stack);
	add_row(in, AIF_OP_RUNTIME, aif_store_puts(s, name), since, end, (uint32_t)stack);
	aif_store_loss(s, AIF_REASON_CALLS_OPEN, in->target->process, AIF_NONE, 1);
}

void aif_program_ranges_last(struct aif_drainer *d, struct aif_target *t, uint64_t end)
{
	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_ingest in = {
			.drainer = d, .target = t, .slot = &t->slots[i], .slot_index = i};
		struct aif_program_ranges *m = in.slot->program_ranges;

		while (m && m->len) {
			m->len--;
			add_row(&in, AIF_OP_RANGE, m->open[m->len].name, m->open[m->len].start, end,
				AIF_NONE);
		}
		if (m)
			end_step(&in, m, end);
		if (t->shm)
			end_call(&in, end);
	}
}
