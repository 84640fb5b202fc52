/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto.h"

#include <stdio.h>
#include <string.h>

/*
 * Executions as render stages of a GPU (protos/perfetto/trace/gpu): Perfetto draws its hardware queues of them, and its compute
 * page opens a kernel by them, with the launch. They stand beside the slices of perfetto.c, whose arrows and stacks stages have no
 * place for. A stream is a queue with all of its lanes, as stages of a queue may overlap.
 */

/* Numbers of specifications: stages first, then queues. */
enum { STAGE_KERNEL = 1, STAGE_TRANSFER, STAGE_SET, STAGE_END, QUEUES = 16 };
enum { ARG_NAME_REGISTERS = 1, ARG_NAME_SHARED, ARG_NAME_COUNT };

static void specification_intern(struct perfetto *w, uint64_t iid, const char *name,
				 unsigned category)
{
	size_t at = aif_proto_begin(&w->interned, GPU_SPECIFICATIONS);

	aif_proto_u64(&w->interned, 1, iid);
	aif_proto_text(&w->interned, 2, name);
	aif_proto_u64(&w->interned, 4, category);
	aif_proto_end(&w->interned, at);
}

static void constants(struct perfetto *w)
{
	static const char *const stages[STAGE_END] = {NULL, "Kernel", "MemoryTransfer",
						      "MemorySet"};
	static const char *const args[ARG_NAME_COUNT] = {NULL, "registers_per_thread",
							 "shared_mem_per_block"};

	for (unsigned i = 1; i < STAGE_END; i++)
		specification_intern(w, i, stages[i],
				     i == STAGE_KERNEL ? CATEGORY_COMPUTE : CATEGORY_OTHER);
	for (unsigned i = 1; i < ARG_NAME_COUNT; i++) {
		size_t at = aif_proto_begin_small(&w->interned, COMPUTE_ARG_NAMES);

		aif_proto_u64(&w->interned, 1, i);
		aif_proto_text(&w->interned, 2, args[i]);
		aif_proto_end_small(&w->interned, at);
	}
}

/* InternedGraphicsContext.Api of a device's runtime; 0: it has none. */
static unsigned api_of(const struct aif_profile *p, uint32_t device)
{
	const char *runtime =
		device == AIF_NONE ? "" : aif_profile_str(p, p->devices[device].runtime);

	return strcmp(runtime, "cuda") == 0     ? API_CUDA
	       : strcmp(runtime, "hip") == 0    ? API_HIP
	       : strcmp(runtime, "opencl") == 0 ? API_OPEN_CL
						: 0;
}

static void context_intern(struct perfetto *w, uint64_t iid, const struct aif_event_track *t)
{
	size_t at = aif_proto_begin_small(&w->interned, GRAPHICS_CONTEXTS);
	unsigned api = api_of(w->t.p, t->device);

	aif_proto_u64(&w->interned, 1, iid);
	aif_proto_u64(&w->interned, 2, aif_track_id_process(&w->t.ids, t->process));
	if (api)
		aif_proto_u64(&w->interned, 3, api);
	aif_proto_end_small(&w->interned, at);
}

/* Sets the queue and the context of a track: those of the first lane of its stream, and of the first track of its process on its
 * device. Executions come track by track. */
static void track_choose(struct perfetto *w, uint32_t track)
{
	const struct aif_event_track *t = &w->t.events.tracks[track], *before;
	struct aif_buf name = {0};
	bool is_new;

	if (w->stage_track == track + 1)
		return;
	before = w->stage_track ? &w->t.events.tracks[w->stage_track - 1] : NULL;
	if (!before)
		constants(w);
	w->stage_track = track + 1;
	is_new = !before || before->device != t->device || before->process != t->process;
	if (is_new) {
		w->context = (uint64_t)track + 1;
		context_intern(w, w->context, t);
	}
	if (!is_new && before->stream == t->stream)
		return;
	w->queue = (uint64_t)track + QUEUES;
	aif_event_track_name(w->t.p, t, &name);
	specification_intern(w, w->queue, aif_buf_str(&name), CATEGORY_COMPUTE);
	w->t.b->failed |= aif_buf_failed(&name);
	aif_buf_finish(&name);
}

/* Returns the number of a kernel on a device, whose architecture is the kernel's; 0: it has no name. */
static uint64_t kernel_intern(struct perfetto *w, const struct aif_event_exec *x, uint32_t name)
{
	const struct aif_profile *p = w->t.p;
	uint32_t device = w->t.events.tracks[x->track].device,
		 arch = device == AIF_NONE ? 0 : p->devices[device].arch;
	uint64_t key, iid;
	const char *text;
	size_t len, at;

	if (x->kernel == AIF_NONE)
		return 0;
	/* Tables of .known behind those of InternedData, one for each architecture. */
	key = ((uint64_t)COMPUTE_KERNELS + 1000 + AIF_MIN(arch, UINT16_MAX)) << 32 | x->kernel;
	if (aif_map_get(&w->known, key, &iid))
		return iid;
	iid = ++w->kernels;
	if (aif_map_put(&w->known, key, iid) < 0)
		w->t.b->failed = true;
	at = aif_proto_begin(&w->interned, COMPUTE_KERNELS);
	aif_proto_u64(&w->interned, 1, iid);
	text = aif_strset_get(&p->strings, p->kernels[x->kernel].name, &len);
	aif_proto_string(&w->interned, 2, text, len);
	text = aif_tree_text(&w->t.stacks.tree, name, &len);
	aif_proto_string(&w->interned, 3, text, len);
	if (arch) {
		char sm[24];

		snprintf(sm, sizeof(sm), "sm_%u", arch);
		aif_proto_text(&w->interned, 4, sm);
	}
	aif_proto_end(&w->interned, at);
	return iid;
}

/* Appends a Dim3; dimensions that were not given are of 1. */
static void extent_put(struct perfetto *w, unsigned field, const uint32_t v[3])
{
	size_t at = aif_proto_begin_small(w->t.b, field);

	for (unsigned k = 0; k < 3; k++)
		aif_proto_u64(w->t.b, k + 1, AIF_MAX(v[k], 1));
	aif_proto_end_small(w->t.b, at);
}

static void arg_put(struct perfetto *w, unsigned name, uint64_t v)
{
	size_t at = aif_proto_begin_small(w->t.b, 3);

	aif_proto_u64(w->t.b, 1, name);
	aif_proto_u64(w->t.b, 4, v);
	aif_proto_end_small(w->t.b, at);
}

/* Appends a kernel's ComputeKernelLaunch; the grid is in groups. */
static void launch_put(struct perfetto *w, const struct aif_event_exec *x)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &w->t.events.launches[x->by];
	size_t at = aif_proto_begin_small(w->t.b, STAGE_LAUNCH);

	if (by && by->shape != AIF_NONE && !x->graph) {
		const struct aif_shape *s = &w->t.p->shapes[by->shape];
		uint32_t groups[3];

		aif_event_groups(s, groups);
		if (groups[0])
			extent_put(w, 1, groups);
		if (s->block[0])
			extent_put(w, 2, s->block);
	}
	if (x->registers) {
		arg_put(w, ARG_NAME_REGISTERS, x->registers);
		arg_put(w, ARG_NAME_SHARED, x->shared_bytes);
	}
	aif_proto_end_small(w->t.b, at);
}

void perfetto_stage(struct perfetto *w, const struct aif_event_exec *x, uint32_t name,
		    uint64_t name_iid)
{
	bool is_kernel = x->kind == AIF_LAUNCH_KERNEL;
	uint32_t device = w->t.events.tracks[x->track].device;
	uint64_t kernel;
	size_t event;

	track_choose(w, x->track);
	kernel = is_kernel ? kernel_intern(w, x, name) : 0;
	perfetto_interned_flush(w);
	perfetto_packet_begin(w);
	aif_proto_u64(w->t.b, TIMESTAMP, perfetto_stamp(w, x->start));
	event = aif_proto_begin_small(w->t.b, GPU_RENDER_STAGE_EVENT);
	aif_proto_u64(w->t.b, STAGE_EVENT_ID, ++w->stages);
	aif_proto_u64(w->t.b, STAGE_DURATION, x->dur);
	aif_proto_u64(w->t.b, STAGE_CONTEXT, w->context);
	if (device != AIF_NONE)
		aif_proto_u64(w->t.b, STAGE_GPU_ID, device);
	aif_proto_u64(w->t.b, STAGE_QUEUE_IID, w->queue);
	aif_proto_u64(w->t.b, STAGE_STAGE_IID,
		      is_kernel                    ? STAGE_KERNEL
		      : x->kind == AIF_LAUNCH_FILL ? STAGE_SET
						   : STAGE_TRANSFER);
	aif_proto_u64(w->t.b, STAGE_NAME_IID, name_iid);
	if (kernel) {
		aif_proto_u64(w->t.b, STAGE_KERNEL_IID, kernel);
		launch_put(w, x);
	}
	aif_proto_end_small(w->t.b, event);
	perfetto_packet_end(w);
}
