/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest.h"

#include "base/demangle.h"
#include "record/cards.h"
#include "record/counters.h"
#include "record/device_samples.h"
#include "record/gpu_users.h"
#include "record/marks.h"
#include "record/modfiles.h"
#include "record/streamed.h"
#include "symbolize/pocl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside what its process pays for (store.h). */
#define MAX_SOURCE (16u << 20)
/* Buffers grow to twice what is in them, tables too. */
#define TEXT_COST    UINT64_C(2)
#define PROGRAM_COST (2 * sizeof(struct aif_target_program))
/* More than most threads need: a slot's table that has become bigger goes with its thread. */
#define KEPT_ENTRIES 4096
#define MAX_DEFERRED 65536
/* Of one sample: nobody computes in the kernel for a day. Sums of them do not overflow. */
#define MAX_CPU_WEIGHT (UINT64_C(86400) * AIF_NS_PER_S)

struct aif_deferred {
	union {
		struct aif_wire_head head;
		struct aif_wire_stream stream;
		struct aif_wire_kernel kernel;
		struct aif_wire_launch launch;
		struct aif_wire_exec exec;
	};
	uint32_t thread, stack, shape; /* of a launch: known in its slot when it came */
	uint32_t name;                 /* of a kernel */
};

static uint32_t get(const struct aif_map *m, uint64_t key)
{
	uint64_t id;

	return aif_map_get(m, key, &id) ? (uint32_t)id : AIF_NONE;
}

void aif_ingest_put(struct aif_store *s, struct aif_map *m, uint64_t key, uint32_t id)
{
	if (id != AIF_NONE &&
	    (aif_map_get(m, key, NULL) || aif_store_pay_own(s, AIF_ACCOUNT_ENTRY)))
		aif_map_put(m, key, id);
}

static void forget(struct aif_store *s, struct aif_map *m)
{
	aif_store_pay_back(s, s->payer, m->len * AIF_ACCOUNT_ENTRY);
	if (m->cap > KEPT_ENTRIES)
		aif_map_finish(m);
	else
		aif_map_clear(m);
}

static void add_range(struct aif_store *s, struct aif_ranges *r, const struct aif_range *range)
{
	size_t was = r->len;

	if (!aif_store_pay_own(s, sizeof(*range)))
		return;
	aif_ranges_add(r, range);
	aif_store_pay_back(s, s->payer, (was + 1 - r->len) * sizeof(*range));
}

static void forget_ranges(struct aif_store *s, struct aif_ranges *r)
{
	aif_store_pay_back(s, s->payer, r->len * sizeof(*r->at));
	r->len = 0;
	if (r->cap > KEPT_ENTRIES) {
		free(r->at);
		*r = (struct aif_ranges){0};
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
	forget(in->drainer->store, &in->slot->pycodes);
	forget_ranges(in->drainer->store, &in->slot->ranges);
	thread = aif_target_thread(in->drainer, in->target, r->head.aux, name);
	if (thread != in->slot->thread)
		aif_marks_forget(in->slot);
	in->slot->thread = thread;
}

static void on_module(struct aif_ingest *in, const struct aif_wire_module *r)
{
	struct aif_drainer *d = in->drainer;
	const char *at = (const char *)(r + 1);
	struct aif_range range = {.lo = r->lo, .hi = r->hi, .base = r->base};
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
	add_range(d->store, &in->slot->ranges, &range);
	aif_ranges_add(&in->target->ranges, &range); /* one table, of bounded length */
	if (d->store->p.modules_len == known)
		return;
	fd = r->head.aux ? -1 : aif_modfile_open(in->target->pid, r->lo, r->hi, path);
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
				 .pci = r->pci};
	uint32_t id;

	dev.name = tail_str(s, &at, r->name_len);
	dev.vendor = tail_str(s, &at, r->vendor_len);
	dev.driver = tail_str(s, &at, r->driver_len);
	dev.runtime = tail_str(s, &at, r->runtime_len);
	id = dev.kind == AIF_DEVICE_GPU ? aif_card_told(in->drainer, r->pci, &dev)
					: aif_store_device(s, &dev);
	aif_ingest_put(s, &in->target->devices, r->head.aux, id);
	if (r->pci)
		aif_ingest_put(s, &in->target->device_pci, r->head.aux, r->pci);
	if (dev.kind == AIF_DEVICE_CPU && in->target->cpu_device == AIF_NONE)
		in->target->cpu_device = id;
	/* No other runtime's are read. */
	if (dev.runtime != AIF_NONE && !strcmp(aif_profile_str(&s->p, dev.runtime), "level zero"))
		aif_counters_device(in->drainer, in->target, r->head.aux, r->kind);
}

static bool stream_row(struct aif_drainer *d, struct aif_target *t, const struct aif_wire_stream *r,
		       bool last_try)
{
	struct aif_stream stream = {.process = t->process,
				    .device = get(&t->devices, r->device),
				    .ordinal = r->ordinal,
				    .out_of_order = r->out_of_order != 0};

	if (!last_try && stream.device == AIF_NONE)
		return false;
	if (get(&t->streams, r->head.aux) == AIF_NONE)
		aif_ingest_put(d->store, &t->streams, r->head.aux,
			       aif_store_stream(d->store, &stream));
	return true;
}

/* A program becomes a row of the store when its text is whole: rows do not change once written. */
static void program_done(struct aif_drainer *d, struct aif_target *t, struct aif_target_program *p)
{
	struct aif_program row = {.process = t->process,
				  .source = AIF_NONE,
				  .options = p->options,
				  .source_name = p->source_name};

	if (p->source.len && !d->opts->no_source)
		row.source = aif_store_str(d->store, p->source.data, p->source.len);
	aif_store_pay_back(d->store, &t->account, TEXT_COST * p->source.len);
	aif_buf_finish(&p->source);
	p->id = aif_store_program(d->store, &row);
}

static struct aif_target_program *program_get(struct aif_target *t, uint32_t id)
{
	uint32_t i = get(&t->programs, id);

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

	if (!aif_store_pay_own(in->drainer->store, PROGRAM_COST) ||
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
	    !aif_store_pay_own(in->drainer->store, TEXT_COST * r->len))
		return;
	aif_buf_append(&p->source, r + 1, r->len);
	if (p->source.len >= p->source_len || aif_buf_failed(&p->source))
		program_done(in->drainer, in->target, p);
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

static void on_shape(struct aif_ingest *in, const struct aif_wire_shape *r)
{
	struct aif_shape shape;

	memcpy(shape.grid, r->grid, sizeof(shape.grid));
	memcpy(shape.block, r->block, sizeof(shape.block));
	aif_ingest_put(in->drainer->store, &in->slot->shapes, r->head.aux,
		       aif_store_shape(in->drainer->store, &shape));
}

static void on_pycode(struct aif_ingest *in, const struct aif_wire_pycode *r)
{
	aif_ingest_put(in->drainer->store, &in->slot->pycodes, r->head.aux,
		       aif_pycodes_add(&in->drainer->pycodes, in->drainer->store, r));
}

static uint32_t python_frame(struct aif_ingest *in, uint64_t entry)
{
	uint32_t code = get(&in->slot->pycodes, (entry & ~AIF_WIRE_PYTHON) >> 32);

	return aif_pycodes_frame(&in->drainer->pycodes, in->drainer->store, code, (int32_t)entry);
}

/* A JIT compiler's function that the ring has told of. Another may lie at its place later: each gets its own
 * frame there. */
static uint32_t jit_frame(struct aif_ingest *in, const struct aif_range *range, uint64_t pc)
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
	const struct aif_range *range = aif_ranges_find(&in->slot->ranges, pc);

	if (!range)
		range = aif_target_range(in->drainer, in->target, pc, now);
	else if (range->has_name)
		return jit_frame(in, range, pc);
	if (range && range->module == in->target->jit.modules[0])
		aif_jit_names_seen(&in->target->jit, in->target->pid, now);
	return aif_store_frame(in->drainer->store,
			       range && range->is_kernel ? AIF_FRAME_DEVICE : AIF_FRAME_NATIVE,
			       range ? range->module : AIF_NONE, range ? pc - range->base : pc);
}

static void on_jit(struct aif_ingest *in, const struct aif_wire_jit *r)
{
	struct aif_store *s = in->drainer->store;
	struct aif_range range = {.lo = r->lo, .hi = r->hi, .has_name = true};

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

	if (r->stop & ~(uint32_t)(AIF_WIRE_STACK_BLOCK | AIF_WIRE_STACK_GUESSED))
		flags |= AIF_STACK_TRUNCATED;
	if (r->stop & (AIF_WIRE_STACK_BLOCK | AIF_WIRE_STACK_GUESSED))
		flags |= AIF_STACK_GUESSED;

	for (uint32_t i = r->depth; i-- > 0;) {
		uint32_t frame = r->pcs[i] & AIF_WIRE_PYTHON ? python_frame(in, r->pcs[i])
							     : native_frame(in, r->pcs[i], now),
			 next;

		if (frame == AIF_NONE)
			continue;
		next = aif_store_stack(d->store, stack, frame, i ? 0 : flags);
		if (next != AIF_NONE)
			stack = next;
	}
	aif_ingest_put(d->store, &in->slot->stacks, r->head.aux, stack);
}

/* True when the record's names are all known, or never will be. */
static bool launch_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		       bool last_try)
{
	bool is_kernel = r->head.aux == AIF_LAUNCH_KERNEL;
	uint32_t kernel = is_kernel ? get(&t->kernels, r->launch.kernel) : AIF_NONE;
	uint32_t stream = get(&t->streams, r->launch.stream);
	struct aif_launch_row *row;

	/* What the agent does not know when it launches, the execution says. */
	if (!last_try && ((stream == AIF_NONE && r->launch.stream != AIF_WIRE_NONE) ||
			  (is_kernel && kernel == AIF_NONE && r->launch.kernel != AIF_WIRE_NONE)))
		return false;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_LAUNCH);
	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "launches"), 1);
		return true;
	}
	t->launches++;
	*row = (struct aif_launch_row){
		.launch = (uint64_t)t->process << 48 | r->launch.launch,
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
	return true;
}

static bool exec_row(struct aif_drainer *d, struct aif_target *t, const struct aif_deferred *r,
		     bool last_try)
{
	bool is_kernel = r->head.aux == AIF_LAUNCH_KERNEL;
	uint32_t kernel = is_kernel ? get(&t->kernels, r->exec.kernel) : AIF_NONE;
	uint32_t stream = get(&t->streams, r->exec.stream), device;
	struct aif_exec_row *row;

	if (!last_try && (stream == AIF_NONE || (is_kernel && kernel == AIF_NONE)))
		return false;
	row = aif_batches_row(&d->store->batches, AIF_BATCH_EXEC);
	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, t->process,
			       aif_store_puts(d->store, "executions"), 1);
		return true;
	}
	t->execs++;
	if (kernel != AIF_NONE && r->exec.end > r->exec.start)
		aif_places_ran(&d->places, t->process, d->store->p.kernels[kernel].name,
			       r->exec.end - r->exec.start);
	device = stream == AIF_NONE ? AIF_NONE : d->store->p.streams[stream].device;
	*row = (struct aif_exec_row){
		.launch = (uint64_t)t->process << 48 | r->exec.launch,
		.start = r->exec.start,
		.end = AIF_MAX(r->exec.start, r->exec.end),
		.clock = device == AIF_NONE ? AIF_CLOCK_MONOTONIC
					    : d->store->p.devices[device].clock,
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

void aif_ingest_deferred(struct aif_drainer *d, struct aif_target *t, size_t old)
{
	size_t kept = 0;

	d->store->payer = &t->account;
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

uint32_t aif_ingest_kernel_name(struct aif_store *store, const char *name, size_t len)
{
	struct aif_buf mangled = {0}, plain = {0};
	uint32_t id = AIF_NONE;

	if (len > 2 && !memcmp(name, "_Z", 2)) {
		aif_buf_append(&mangled, name, len);
		aif_demangle(aif_buf_str(&mangled), &plain);
		if (plain.len && !aif_buf_failed(&plain))
			id = aif_store_str(store, plain.data, plain.len);
	}
	aif_buf_finish(&mangled);
	aif_buf_finish(&plain);
	return id == AIF_NONE ? aif_store_str(store, name, len) : id;
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
				   .stack = get(&in->slot->stacks, r->stack),
				   .shape = get(&in->slot->shapes, r->shape)};

	/* The number's slot part is what makes it unique: it must be this ring's. */
	row.launch.launch = (uint64_t)in->slot_index << AIF_WIRE_SLOT_SHIFT |
			    (r->launch & ((UINT64_C(1) << AIF_WIRE_SLOT_SHIFT) - 1));
	if (has_kind(in, &r->head))
		resolve_or_defer(in, &row);
}

static void on_exec(struct aif_ingest *in, const struct aif_wire_exec *r)
{
	struct aif_deferred row = {.exec = *r};

	row.exec.launch &= (UINT64_C(1) << 48) - 1;
	if (has_kind(in, &r->head))
		resolve_or_defer(in, &row);
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

static void on_sample(struct aif_ingest *in, const struct aif_wire_sample *r)
{
	struct aif_target *t = in->target;
	uint64_t state = 0;
	bool is_kernel_thread;

	aif_map_get(&t->timer_threads, r->head.aux, &state);
	is_kernel_thread = state;
	in->drainer->sampled_by_timer++;
	aif_target_sample(in->drainer, t, r->head.aux, r->time, r->pc, AIF_MIN(r->count, 1000000),
			  &is_kernel_thread);
	if (is_kernel_thread && !state)
		aif_ingest_put(in->drainer->store, &t->timer_threads, r->head.aux, 1);
}

static void on_cpu_sample(struct aif_ingest *in, const struct aif_wire_cpu_sample *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_cpu_row *row = aif_batches_row(&d->store->batches, AIF_BATCH_CPU);
	uint64_t weight = AIF_MIN(r->weight, MAX_CPU_WEIGHT);

	if (!row) {
		aif_store_loss(d->store, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(d->store, "CPU samples"), 1);
		return;
	}
	*row = (struct aif_cpu_row){
		.time = r->time,
		.weight = r->waiting ? 0 : weight,
		.waiting = r->waiting ? weight : 0,
		.thread = aif_target_thread(d, in->target, r->head.aux, NULL),
		.stack = get(&in->slot->stacks, r->stack),
	};
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
		.thread = r->head.aux & AIF_WIRE_BLOCK_PROCESS ? AIF_NONE : in->slot->thread,
		.p_ppm = AIF_MIN(AIF_MAX(r->duty_ppm, UINT32_C(1)), UINT32_C(1000000)),
	};
}

/* The blocks that threads were in when their process ended, which nobody was left to tell. */
void aif_ingest_last_blocks(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	for (uint32_t i = 0; i < t->slots_len; i++) {
		struct aif_slot *slot = aif_shm_slot(t->shm, i);
		struct aif_ingest in = {
			.drainer = d, .target = t, .slot = &t->slots[i], .slot_index = i};
		struct aif_wire_block b = {
			.head.aux = atomic_load_explicit(&slot->block, memory_order_relaxed) & 1,
			.start = atomic_load_explicit(&slot->block_start, memory_order_relaxed),
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

/* A target that complains all the time is not answered each time by reading all of /proc. */
#define GPU_USERS_NS AIF_NS_PER_S

/* CUPTI says that the GPU's sampling unit is another's, not whose. */
static uint32_t put_holders(struct aif_drainer *d, const char *detail, size_t len)
{
	uint64_t now = aif_now_ns();
	struct aif_store *s = d->store;
	struct aif_gpu_user users[4];
	struct aif_buf text = {0};
	size_t n = 0;
	uint32_t id;

	if (!d->gpu_users_ns || now - d->gpu_users_ns >= GPU_USERS_NS) {
		d->gpu_users_ns = now;
		n = aif_gpu_users("", users, AIF_ARRAY_LEN(users));
	}
	aif_buf_append(&text, detail, len);
	for (size_t i = 0; i < n; i++)
		aif_buf_printf(&text, "%s%s (process %" PRIu32 ")", i ? ", " : "; perhaps it is ",
			       users[i].name, users[i].pid);
	id = aif_store_str(s, text.data, text.len);
	aif_buf_finish(&text);
	return id;
}

static void on_note(struct aif_ingest *in, const struct aif_wire_note *r)
{
	struct aif_store *s = in->drainer->store;
	uint32_t detail = AIF_NONE;

	if (!aif_reason_info((int)r->head.aux))
		return;
	if (r->head.aux == AIF_REASON_CUDA_COUNTERS_HELD)
		detail = put_holders(in->drainer, (const char *)(r + 1), r->detail_len);
	else if (r->detail_len)
		detail = aif_store_str(s, r + 1, r->detail_len);
	aif_store_loss(s, (enum aif_reason)r->head.aux, in->target->process, detail,
		       AIF_MAX(r->count, 1));
	aif_counters_note(in->target, r->head.aux);
	aif_streamed_note(in->target, r->head.aux);
	aif_device_samples_note(in->target, r->head.aux);
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
		ON(STREAM, stream)
		ON(PROGRAM, program)
		ON(TEXT, text)
		ON(KERNEL, kernel)
		ON(SHAPE, shape)
		ON(PYCODE, pycode)
		ON(STACK, stack)
		ON(LAUNCH, launch)
		ON(EXEC, exec)
		ON(CLOCK, clock)
		ON(SAMPLE, sample)
		ON(CPU_SAMPLE, cpu_sample)
		ON(BLOCK, block)
		ON(NOTE, note)
		ON(JIT, jit)
#undef ON
	case AIF_WIRE_MARK:
		aif_marks_record(ingest, record);
		break;
	case AIF_WIRE_COUNTER:
	case AIF_WIRE_VALUES:
		aif_counters_record(ingest, record);
		break;
	case AIF_WIRE_CODE:
	case AIF_WIRE_REASON:
	case AIF_WIRE_WINDOW:
	case AIF_WIRE_PC:
	case AIF_WIRE_PLACE:
		aif_device_samples_record(ingest, record);
		break;
	default:
		break;
	}
}
