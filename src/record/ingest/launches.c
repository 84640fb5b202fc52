/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/launches.h"

#include "record/ingest/modfiles.h"
#include "record/ingest/source.h"

#include <stdio.h>

/* Limit of a program's source, beside its process's quota (store.h). */
#define MAX_SOURCE (16u << 20)
/* Buffers grow to twice what is in them, tables too. */
#define TEXT_COST    UINT64_C(2)
#define PROGRAM_COST (2 * sizeof(struct aif_target_program))
#define MAX_DEFERRED 65536

struct aif_deferred {
	union {
		struct aif_wire_head head;
		struct aif_wire_stream stream;
		struct aif_wire_kernel kernel;
		struct aif_wire_launch launch;
		struct aif_wire_exec exec;
		struct aif_wire_memory memory;
	};
	uint32_t thread, stack, shape; /* of a launch, of memory: known in its slot when it came */
	uint32_t name;                 /* of a kernel */
};

/* A program becomes a row of the store when its text is whole: rows do not change once written. */
static void program_done(struct aif_drainer *d, struct aif_target *t, struct aif_target_program *p)
{
	struct aif_program row = {.process = t->process,
				  .source = AIF_NONE,
				  .options = p->options,
				  .source_name = p->source_name};

	if (p->source.len && !d->opts->no_source)
		row.source = aif_store_str(d->store, p->source.data, p->source.len);
	aif_store_uncharge(d->store, &t->quota, TEXT_COST * p->source.len);
	aif_buf_finish(&p->source);
	p->id = aif_store_program(d->store, &row);
}

static struct aif_target_program *program_get(struct aif_target *t, uint32_t id)
{
	uint32_t i = aif_ingest_get(&t->programs, id);

	return i == AIF_NONE ? NULL : &t->program[i];
}

static void on_program(struct aif_ingest *in, const struct aif_wire_program *r)
{
	struct aif_target *t = in->target;
	struct aif_target_program p = {
		.id = AIF_NONE,
		.source_len = AIF_MIN(r->source_len, MAX_SOURCE),
		.options = aif_store_str(in->drainer->store, r + 1, r->options_len),
		.source_name = AIF_NONE};
	char name[AIF_SPIRV_NAME_MAX];

	if (!aif_store_charge_own(in->drainer->store, PROGRAM_COST) ||
	    aif_grow(&t->program, &t->program_cap, t->program_len + 1, sizeof(p)) < 0)
		return;
	if (r->il && !in->drainer->opts->no_code) {
		snprintf(name, sizeof(name), AIF_SPIRV_NAME, r->il);
		p.source_name = aif_store_puts(in->drainer->store, name);
		aif_modfiles_add_spirv(in->drainer->files, r->il);
	}
	t->program[t->program_len] = p;
	aif_ingest_put(in->drainer->store, &t->programs, r->head.aux, (uint32_t)t->program_len);
	if (!p.source_len)
		program_done(in->drainer, t, &t->program[t->program_len]);
	t->program_len++;
}

static void on_text(struct aif_ingest *in, const struct aif_wire_text *r)
{
	struct aif_target_program *p = program_get(in->target, r->head.aux);

	/* Pieces come in order from one thread; anything else ends the text where it is. */
	if (!p || p->id != AIF_NONE || r->offset != p->source.len ||
	    r->len > p->source_len - r->offset ||
	    !aif_store_charge_own(in->drainer->store, TEXT_COST * r->len))
		return;
	aif_buf_append(&p->source, r + 1, r->len);
	if (p->source.len >= p->source_len || aif_buf_failed(&p->source))
		program_done(in->drainer, in->target, p);
}

static bool stream_row(struct aif_drainer *d, struct aif_target *t, const struct aif_wire_stream *r,
		       bool last_try)
{
	struct aif_stream stream = {.process = t->process,
				    .device = aif_ingest_get(&t->devices, r->device),
				    .ordinal = r->ordinal,
				    .out_of_order = r->out_of_order != 0};

	if (!last_try && stream.device == AIF_NONE)
		return false;
	if (aif_ingest_get(&t->streams, r->head.aux) == AIF_NONE)
		aif_ingest_put(d->store, &t->streams, r->head.aux,
			       aif_store_stream(d->store, &stream));
	return true;
}

static bool kernel_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		       bool last_try)
{
	struct aif_target_program *p = program_get(t, r->kernel.program);
	uint32_t id;

	if (!last_try && (p ? p->id == AIF_NONE : r->kernel.program != AIF_WIRE_NONE))
		return false;
	if (p && p->id == AIF_NONE)
		program_done(d, t, p);
	id = aif_store_kernel(d->store, r->name, p ? p->id : AIF_NONE);
	aif_ingest_put(d->store, &t->kernels, r->head.aux, id);
	aif_ingest_put(d->store, &t->kernel_named, r->name, id);
	return true;
}

/* True when the record's names are all known, or never will be. */
static bool launch_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		       bool last_try)
{
	bool is_kernel = r->head.aux == AIF_LAUNCH_KERNEL;
	uint32_t kernel = is_kernel ? aif_ingest_get(&t->kernels, r->launch.kernel) : AIF_NONE;
	uint32_t stream = aif_ingest_get(&t->streams, r->launch.stream);
	struct aif_launch_row row, *to;

	/* A stream or kernel that the agent does not know at the launch is named by the
	 * execution. */
	if (!last_try && ((stream == AIF_NONE && r->launch.stream != AIF_WIRE_NONE) ||
			  (is_kernel && kernel == AIF_NONE && r->launch.kernel != AIF_WIRE_NONE)))
		return false;
	row = (struct aif_launch_row){
		.launch = aif_target_launch(t, r->launch.launch),
		.time = r->launch.time,
		.thread = r->thread,
		.kind = r->head.aux,
		.kernel = kernel,
		.device = stream == AIF_NONE ? AIF_NONE : d->store->p.streams[stream].device,
		.stream = stream,
		.stack = r->stack,
		.shape = is_kernel ? r->shape : AIF_NONE,
		.bytes = is_kernel ? 0 : r->launch.bytes,
	};
	if (!d->has_kernel_rings || !aif_sources_take_launch(d, &row)) {
		to = aif_batches_row(&d->store->batches, AIF_BATCH_LAUNCH);
		if (!to) {
			aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
				       aif_store_puts(d->store, "launches"), 1);
			return true;
		}
		*to = row;
	}
	t->launches++;
	return true;
}

/* Returns what to add to stamps of that clock (enum aif_clock) of the target's. */
static uint64_t clock_shift(const struct aif_target *t, uint32_t clock)
{
	switch (clock) {
	case AIF_CLOCK_MONOTONIC:
	case AIF_CLOCK_MONOTONIC_RAW:
		return t->clocks.monotonic;
	case AIF_CLOCK_BOOTTIME:
		return t->clocks.boottime;
	default:
		return 0;
	}
}

static bool exec_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		     bool last_try)
{
	bool is_kernel = r->head.aux == AIF_LAUNCH_KERNEL;
	uint32_t kernel = is_kernel ? aif_ingest_get(&t->kernels, r->exec.kernel) : AIF_NONE;
	uint32_t stream = aif_ingest_get(&t->streams, r->exec.stream), device, clock;
	struct aif_exec_row *row;
	uint64_t start, end;

	if (!last_try && (stream == AIF_NONE || (is_kernel && kernel == AIF_NONE)))
		return false;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_EXEC);
	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "executions"), 1);
		return true;
	}
	t->execs++;
	device = stream == AIF_NONE ? AIF_NONE : d->store->p.streams[stream].device;
	clock = device == AIF_NONE ? AIF_CLOCK_MONOTONIC : d->store->p.devices[device].clock;
	start = r->exec.start + clock_shift(t, clock);
	end = r->exec.end + clock_shift(t, clock);
	*row = (struct aif_exec_row){
		.launch = aif_target_launch(t, r->exec.launch),
		.start = start,
		.end = AIF_MAX(start, end),
		.clock = clock,
		.process = t->process,
		.kind = r->head.aux,
		.kernel = kernel,
		.device = device,
		.stream = stream,
		.bytes = is_kernel ? 0 : r->exec.bytes,
		.graph = r->exec.graph,
		.node = r->exec.graph ? r->exec.node : 0,
		.registers = is_kernel ? r->exec.registers : 0,
		.shared_bytes = is_kernel && r->exec.registers ? r->exec.shared : 0,
	};
	AIF_SOURCES_CALL(d, on_exec, d, t, row);
	return true;
}

static bool memory_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		       bool last_try)
{
	uint32_t device = aif_ingest_get(&t->devices, r->memory.device);
	struct aif_memory_row *row;

	if (device == AIF_NONE && r->memory.device != AIF_WIRE_NONE) {
		if (last_try) /* the definition was dropped; without it the block would be the host's */
			aif_store_loss(d->store, AIF_REASON_RING_FULL, t->process,
				       aif_store_puts(d->store, "allocations"), 1);
		return last_try;
	}
	row = aif_batches_row(&d->store->batches, AIF_BATCH_MEMORY);
	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "allocations"), 1);
		return true;
	}
	*row = (struct aif_memory_row){.time = r->memory.time,
				       .block = r->memory.block,
				       .bytes = r->memory.bytes,
				       .allocated = r->memory.allocated,
				       .reserved = r->memory.reserved,
				       .thread = r->thread,
				       .stack = r->stack,
				       .device = device,
				       .kind = r->head.aux};
	return true;
}

static bool resolve(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		    bool last_try)
{
	switch (r->head.type) {
	case AIF_WIRE_STREAM:
		return stream_row(d, t, &r->stream, last_try);
	case AIF_WIRE_KERNEL:
		return kernel_row(d, t, r, last_try);
	case AIF_WIRE_LAUNCH:
		return launch_row(d, t, r, last_try);
	case AIF_WIRE_MEMORY:
		return memory_row(d, t, r, last_try);
	default:
		return exec_row(d, t, r, last_try);
	}
}

static void resolve_or_defer(struct aif_ingest *in, const struct aif_deferred *r)
{
	struct aif_target *t = in->target;

	if (resolve(in->drainer, t, r, false))
		return;
	if (t->deferred_len >= MAX_DEFERRED ||
	    aif_grow(&t->deferred, &t->deferred_cap, t->deferred_len + 1, sizeof(*r)) < 0)
		resolve(in->drainer, t, r, true);
	else
		t->deferred[t->deferred_len++] = *r;
}

static bool is_definition(const struct aif_deferred *r)
{
	return r->head.type == AIF_WIRE_STREAM || r->head.type == AIF_WIRE_KERNEL;
}

void aif_launches_deferred(struct aif_drainer *d, struct aif_target *t, size_t old)
{
	size_t kept = 0;

	d->store->payer = &t->quota;
	/* Definitions first; a second time does no harm. */
	for (size_t i = 0; i < t->deferred_len; i++)
		if (is_definition(&t->deferred[i]))
			resolve(d, t, &t->deferred[i], i < old);
	for (size_t i = 0; i < t->deferred_len; i++)
		if (!resolve(d, t, &t->deferred[i], i < old))
			t->deferred[kept++] = t->deferred[i];
	t->deferred_len = kept;
	d->store->payer = NULL;
}

static void on_stream(struct aif_ingest *in, const struct aif_wire_stream *r)
{
	struct aif_deferred row = {.stream = *r};

	resolve_or_defer(in, &row);
}

static void on_kernel(struct aif_ingest *in, const struct aif_wire_kernel *r)
{
	struct aif_deferred row = {
		.kernel = *r,
		.name = aif_ingest_kernel_name(in->drainer->store, (const char *)(r + 1),
					       r->name_len),
	};

	resolve_or_defer(in, &row);
}

/* Launches and executions of a kind that is not known here are nonsense. */
static bool has_kind(struct aif_ingest *in, const struct aif_wire_head *h)
{
	if (h->aux < AIF_LAUNCH_KIND_COUNT)
		return true;
	in->slot->drain.bad++;
	return false;
}

static void on_launch(struct aif_ingest *in, const struct aif_wire_launch *r)
{
	struct aif_deferred row = {.launch = *r,
				   .thread = in->slot->thread,
				   .stack = aif_ingest_get(&in->slot->stacks, r->stack),
				   .shape = aif_ingest_get(&in->slot->shapes, r->shape)};

	/* The number's slot part is what makes it unique: it must be this ring's. */
	row.launch.launch = (uint64_t)in->slot_index << AIF_WIRE_SLOT_SHIFT |
			    (r->launch & ((UINT64_C(1) << AIF_WIRE_SLOT_SHIFT) - 1));
	if (!has_kind(in, &r->head))
		return;
	in->target->launching += !in->slot->has_launched;
	in->slot->has_launched = true;
	resolve_or_defer(in, &row);
}

static void on_exec(struct aif_ingest *in, const struct aif_wire_exec *r)
{
	struct aif_deferred row = {.exec = *r};

	row.exec.launch &= (UINT64_C(1) << 48) - 1;
	if (has_kind(in, &r->head))
		resolve_or_defer(in, &row);
}

static void on_memory(struct aif_ingest *in, const struct aif_wire_memory *r)
{
	struct aif_deferred row = {.memory = *r,
				   .thread = in->slot->thread,
				   .stack = aif_ingest_get(&in->slot->stacks, r->stack)};

	if (r->head.aux == AIF_MEMORY_ALLOCATE || r->head.aux == AIF_MEMORY_RELEASE)
		resolve_or_defer(in, &row);
	else
		in->slot->drain.bad++;
}

void aif_launches_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	switch ((enum aif_wire_type)h->type) {
	case AIF_WIRE_STREAM:
		on_stream(in, record);
		break;
	case AIF_WIRE_PROGRAM:
		on_program(in, record);
		break;
	case AIF_WIRE_TEXT:
		on_text(in, record);
		break;
	case AIF_WIRE_KERNEL:
		on_kernel(in, record);
		break;
	case AIF_WIRE_LAUNCH:
		on_launch(in, record);
		break;
	case AIF_WIRE_MEMORY:
		on_memory(in, record);
		break;
	default:
		on_exec(in, record);
		break;
	}
}
