/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/source.h"

#include "record/ingest/gpus.h"
#include "record/ingest/generated.h"
#include "record/ingest/launches.h"
#include "record/ingest/modfiles.h"
#include "record/ingest/notes.h"
#include "record/ingest/program_ranges.h"
#include "symbolize/pocl.h"

#include <string.h>

/* More than most threads need: a slot's table that has become bigger goes with its thread. */
#define KEPT_ENTRIES 4096

static void forget(struct aif_store *s, struct aif_map *m)
{
	aif_store_uncharge(s, s->payer, m->len * AIF_QUOTA_ENTRY);
	if (m->cap > KEPT_ENTRIES)
		aif_map_finish(m);
	else
		aif_map_clear(m);
}

static void add_range(struct aif_store *s, struct aif_address_map *r,
		      const struct aif_address_range *range)
{
	size_t was = r->len;

	if (!aif_store_charge_own(s, sizeof(*range)))
		return;
	aif_address_map_add(r, range);
	aif_store_uncharge(s, s->payer, (was + 1 - r->len) * sizeof(*range));
}

static void forget_ranges(struct aif_store *s, struct aif_address_map *r)
{
	aif_store_uncharge(s, s->payer, r->len * sizeof(*r->at));
	r->len = 0;
	if (r->cap > KEPT_ENTRIES) {
		free(r->at);
		*r = (struct aif_address_map){0};
	}
}

/* The next string behind a record's fixed part. */
static uint32_t tail_str(struct aif_store *s, const char **at, size_t len)
{
	uint32_t id = aif_store_str(s, *at, len);

	*at += len;
	return id;
}

static void on_thread(struct aif_ingest *in, const struct aif_wire_thread *r)
{
	char name[sizeof(r->name) + 1];
	uint32_t thread;

	memcpy(name, r->name, sizeof(r->name));
	name[sizeof(r->name)] = '\0';
	forget(in->drainer->store, &in->slot->stacks);
	forget(in->drainer->store, &in->slot->shapes);
	forget(in->drainer->store, &in->slot->names);
	forget(in->drainer->store, &in->slot->pycodes);
	forget_ranges(in->drainer->store, &in->slot->ranges);
	thread = aif_target_thread(in->drainer, in->target, r->head.aux, name);
	if (thread != in->slot->thread)
		aif_program_ranges_forget(in);
	in->slot->has_launched &= thread == in->slot->thread;
	in->slot->thread = thread;
}

static void on_module(struct aif_ingest *in, const struct aif_wire_module *r)
{
	struct aif_drainer *d = in->drainer;
	const char *at = (const char *)(r + 1);
	struct aif_address_range range = {.lo = r->lo, .hi = r->hi, .base = r->base};
	char path[4097], build_id[129] = "";
	size_t known = d->store->p.modules_len, len = AIF_MIN(r->path_len, sizeof(path) - 1);
	int fd;

	memcpy(path, at, len);
	path[len] = '\0';
	if (r->build_id_len < sizeof(build_id)) {
		memcpy(build_id, at + r->path_len, r->build_id_len);
		build_id[r->build_id_len] = '\0';
	}
	/* Device code on a CPU: a stack of a CPU sample runs through it. The maps say more (ranges.c). */
	if (aif_pocl_is_kernel_path(path)) {
		in->target->maps_stale = true;
		return;
	}
	range.module = aif_store_module(d->store, r->head.aux ? AIF_MODULE_VDSO : AIF_MODULE_ELF,
					path, len, build_id, strlen(build_id));
	if (range.module == AIF_NONE || r->lo >= r->hi)
		return;
	aif_homes_note(&d->store->homes, range.module, &in->target->files);
	add_range(d->store, &in->slot->ranges, &range);
	aif_address_map_add(&in->target->ranges, &range); /* one table, of bounded length */
	if (d->store->p.modules_len == known)
		return;
	fd = r->head.aux ? -1 : aif_modfile_open(&in->target->files, r->lo, r->hi, path);
	if (fd >= 0 || r->head.aux)
		aif_modfiles_add(d->files, range.module, fd, path, build_id);
	else
		aif_target_no_file(d, in->target, path, fd);
}

static void on_device(struct aif_ingest *in, const struct aif_wire_device *r)
{
	struct aif_store *s = in->drainer->store;
	const char *at = (const char *)(r + 1);
	struct aif_device dev = {.kind = r->kind,
				 .units = r->units,
				 .clock = r->clock,
				 .arch = r->arch,
				 .unit_threads = r->unit_threads,
				 .unit_blocks = r->unit_blocks,
				 .unit_registers = r->unit_registers,
				 .unit_shared = r->unit_shared,
				 .block_shared = r->block_shared,
				 .pci = r->pci,
				 .clock_khz = r->clock_khz,
				 .memory_khz = r->memory_khz,
				 .memory_bits = r->memory_bits};
	uint32_t id;

	dev.name = tail_str(s, &at, r->name_len);
	dev.vendor = tail_str(s, &at, r->vendor_len);
	dev.driver = tail_str(s, &at, r->driver_len);
	dev.runtime = tail_str(s, &at, r->runtime_len);
	id = dev.kind == AIF_DEVICE_GPU ? aif_gpu_define(in->drainer, r->pci, &dev)
					: aif_store_device(s, &dev);
	aif_ingest_put(s, &in->target->devices, r->head.aux, id);
	/* A process may join before a runtime is initialised in it (--children). */
	s->p.processes[in->target->process].flags |= AIF_PROCESS_RUNTIME;
	if (r->pci)
		aif_ingest_put(s, &in->target->device_pci, r->head.aux, r->pci);
}

static void on_shape(struct aif_ingest *in, const struct aif_wire_shape *r)
{
	struct aif_shape shape;

	memcpy(shape.grid, r->grid, sizeof(shape.grid));
	memcpy(shape.block, r->block, sizeof(shape.block));
	aif_ingest_put(in->drainer->store, &in->slot->shapes, r->head.aux,
		       aif_store_shape(in->drainer->store, &shape));
}

static void on_name(struct aif_ingest *in, const struct aif_wire_name *r)
{
	aif_ingest_put(in->drainer->store, &in->slot->names, r->head.aux,
		       aif_store_str(in->drainer->store, r + 1, r->name_len));
}

static void on_pycode(struct aif_ingest *in, const struct aif_wire_pycode *r)
{
	const char *file = (const char *)(r + 1) + r->name_len;
	struct aif_drainer *d = in->drainer;
	uint32_t code = aif_pycodes_add(&d->pycodes, d->store, r);

	aif_ingest_put(d->store, &in->slot->pycodes, r->head.aux, code);
	if (code != AIF_NONE)
		aif_homes_note(&d->store->homes, d->pycodes.codes[code].module, &in->target->files);
	aif_generated_add(d, in->target, file, r->file_len);
}

static uint32_t python_frame(struct aif_ingest *in, uint64_t entry)
{
	uint32_t code = aif_ingest_get(&in->slot->pycodes, (entry & ~AIF_WIRE_PYTHON) >> 32);

	return aif_pycodes_frame(&in->drainer->pycodes, in->drainer->store, code, (int32_t)entry);
}

/* A JIT compiler's function that the ring has told of. Another may lie at its place later: each gets its own
 * frame there. */
static uint32_t jit_frame(struct aif_ingest *in, const struct aif_address_range *range, uint64_t pc)
{
	struct aif_store *s = in->drainer->store;
	uint32_t frame = AIF_NONE;

	for (unsigned layer = 1; layer < AIF_JIT_LAYERS; layer++) {
		uint32_t module = aif_target_jit(in->drainer, in->target, layer);
		size_t known = s->p.frames_len;
		uint64_t name;

		frame = aif_store_frame(s, AIF_FRAME_NATIVE, module, pc);
		if (frame == AIF_NONE)
			break;
		if (s->p.frames_len > known) {
			aif_store_name(s, &(struct aif_frame_name){.frame = frame,
								   .name = range->name,
								   .file = AIF_NONE});
			aif_map_put(&in->target->jit.named, frame, range->name);
			break;
		}
		if (aif_map_get(&in->target->jit.named, frame, &name) && name == range->name)
			break;
	}
	return frame;
}

static uint32_t native_frame(struct aif_ingest *in, uint64_t entry, uint64_t now)
{
	uint64_t pc = entry - 1; /* inside the call instruction */
	const struct aif_address_range *range = aif_address_map_find(&in->slot->ranges, pc);

	if (!range)
		range = aif_target_range(in->drainer, in->target, pc, now);
	else if (range->has_name)
		return jit_frame(in, range, pc);
	if (range && range->module == in->target->jit.modules[0])
		aif_jit_names_seen(&in->target->jit, &in->target->files, now);
	return aif_store_frame(in->drainer->store,
			       range && range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
			       range ? range->module : AIF_NONE, range ? pc - range->base : pc);
}

/* The OS kernel, where it is not known in which function of it. */
static uint32_t os_frame(struct aif_ingest *in)
{
	struct aif_store *s = in->drainer->store;
	uint32_t module =
		aif_store_module(s, AIF_MODULE_OS, AIF_OS_KERNEL, strlen(AIF_OS_KERNEL), NULL, 0);

	return module == AIF_NONE ? AIF_NONE
				  : aif_store_frame(s, AIF_FRAME_OS, module, AIF_OS_ANYWHERE);
}

static void on_jit(struct aif_ingest *in, const struct aif_wire_jit *r)
{
	struct aif_store *s = in->drainer->store;
	struct aif_address_range range = {.lo = r->lo, .hi = r->hi, .has_name = true};

	range.module = AIF_NONE; /* jit_frame() knows */
	range.name = aif_jit_names_put(s, (const char *)(r + 1), r->name_len);
	if (range.name != AIF_NONE)
		add_range(s, &in->slot->ranges, &range);
}

static void on_stack(struct aif_ingest *in, const struct aif_wire_stack *r)
{
	struct aif_drainer *d = in->drainer;
	uint32_t stack = AIF_NONE, flags = 0;
	uint64_t now = aif_now_ns();
	size_t known = 0;

	if (r->stop & ~(uint32_t)(AIF_WIRE_STACK_BLOCK | AIF_WIRE_STACK_GUESSED))
		flags |= AIF_STACK_TRUNCATED;
	if (r->stop & (AIF_WIRE_STACK_BLOCK | AIF_WIRE_STACK_GUESSED))
		flags |= AIF_STACK_GUESSED;

	for (uint32_t i = r->depth; i-- > 0;) {
		uint32_t frame = r->pcs[i] & AIF_WIRE_PYTHON ? python_frame(in, r->pcs[i])
				 : r->pcs[i] == AIF_WIRE_OS  ? os_frame(in)
							     : native_frame(in, r->pcs[i], now),
			 next;

		if (frame == AIF_NONE)
			continue;
		known = d->store->p.stacks_len;
		next = aif_store_stack(d->store, stack, frame, i ? 0 : flags);
		if (next != AIF_NONE)
			stack = next;
	}
	/* Once, however many threads have it. Python frames that are missing are counted where they are read. */
	if (AIF_WIRE_STACK_STOP(r->stop) && stack != AIF_NONE && stack >= known)
		aif_store_loss(d->store,
			       AIF_WIRE_STACK_STOP(r->stop) == AIF_WIRE_STOP_DEPTH
				       ? AIF_REASON_STACK_DEEP
				       : AIF_REASON_STACK_TRUNCATED,
			       in->target->process, AIF_NONE, 1);
	aif_ingest_put(d->store, &in->slot->stacks, r->head.aux, stack);
}

static void on_clock(struct aif_ingest *in, const struct aif_wire_clock *r)
{
	struct aif_clock_pair pair = {.clock = r->head.aux,
				      .process = in->target->process,
				      .before = r->before,
				      .after = r->after,
				      .value = r->value};

	if (r->before <= r->after && r->head.aux >= AIF_CLOCK_DEVICE)
		aif_store_clock(in->drainer->store, &pair);
}

static uint32_t thread_of_block(const struct aif_ingest *in, const struct aif_wire_block *r)
{
	if (!(r->head.aux & AIF_WIRE_BLOCK_COUNTED))
		return in->slot->thread;
	return r->tid ? aif_target_thread(in->drainer, in->target, r->tid, NULL) : AIF_NONE;
}

static void on_block(struct aif_ingest *in, const struct aif_wire_block *r)
{
	struct aif_window_row *row =
		aif_batches_row(&in->drainer->store->batches, AIF_BATCH_WINDOW);

	if (!row) {
		aif_store_loss(in->drainer->store, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(in->drainer->store, "windows"), 1);
		return;
	}
	if (!(r->head.aux & AIF_WIRE_BLOCK_ON))
		in->target->uncaptured += r->launches;
	*row = (struct aif_window_row){
		.start = r->start,
		.end = AIF_MAX(r->start, r->end),
		.window = in->drainer->windows++,
		.device = AIF_NONE,
		.process = in->target->process,
		.held = r->head.aux & AIF_WIRE_BLOCK_ON,
		.launches = r->launches,
		.thread = thread_of_block(in, r),
		.p_ppm = AIF_MIN(AIF_MAX(r->duty_ppm, UINT32_C(1)), UINT32_C(1000000)),
	};
}

void aif_ingest_last_blocks(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_slot *slot = aif_shm_slot(t->shm, i);
		struct aif_ingest in = {
			.drainer = d, .target = t, .slot = &t->slots[i], .slot_index = i};
		struct aif_wire_block b = {
			.head.aux = atomic_load_explicit(&slot->block, memory_order_relaxed) & 1,
			.start = aif_target_time(
				t, atomic_load_explicit(&slot->block_start, memory_order_relaxed)),
			.end = now,
			.launches =
				atomic_load_explicit(&slot->block_launches, memory_order_relaxed),
			.duty_ppm = atomic_load_explicit(&t->shm->duty_ppm, memory_order_relaxed)};

		/* With everything on there is nothing to make up for. */
		if (b.launches && in.slot->thread != AIF_NONE &&
		    (!b.head.aux || b.duty_ppm < 1000000))
			on_block(&in, &b);
	}
}

void aif_ingest_record(void *ingest, const void *record)
{
	const struct aif_wire_head *h = record;

	switch ((enum aif_wire_type)h->type) {
#define ON(NAME, name)                     \
	case AIF_WIRE_##NAME:              \
		on_##name(ingest, record); \
		break;
		ON(THREAD, thread)
		ON(MODULE, module)
		ON(DEVICE, device)
		ON(SHAPE, shape)
		ON(PYCODE, pycode)
		ON(NAME, name)
		ON(STACK, stack)
		ON(CLOCK, clock)
		ON(BLOCK, block)
		ON(JIT, jit)
#undef ON
	case AIF_WIRE_STREAM:
	case AIF_WIRE_PROGRAM:
	case AIF_WIRE_TEXT:
	case AIF_WIRE_KERNEL:
	case AIF_WIRE_LAUNCH:
	case AIF_WIRE_EXEC:
	case AIF_WIRE_MEMORY:
		aif_launches_record(ingest, record);
		break;
	case AIF_WIRE_NOTE:
		aif_notes_record(ingest, record);
		break;
	case AIF_WIRE_MARK:
		aif_program_ranges_record(ingest, record);
		break;
	default:
		break;
	}
	aif_sources_record(ingest, h);
}
