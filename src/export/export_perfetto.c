/* SPDX-License-Identifier: Apache-2.0 */
#include "export/counters.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/host_stacks.h"
#include "export/perfetto_fields.h"
#include "export/proto.h"
#include "export/track_ids.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Perfetto's trace (perfetto.dev, protos/perfetto/trace): packets of one sequence. What is declared stable carries the
 * time line: TrackDescriptor and TrackEvent. A device is a track, its streams' lanes are tracks under it, so that
 * executions that overlap stay slices of their own; a launch whose call's end is not recorded is an instant of its
 * thread, another a slice, and each flows into what it launched. Names, frames and stacks are interned once. Time is
 * CLOCK_MONOTONIC, as the recording's.
 */
/* Numbers of interned categories and names of arguments. */
enum {
	CATEGORY_LAUNCH = 1,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_OPERATOR,
	CATEGORY_RANGE,
	CATEGORY_PYTHON,
	CATEGORY_CALL,
	CATEGORY_COUNT
};
enum {
	ARG_LAUNCH = 1,
	ARG_BYTES,
	ARG_GRID,
	ARG_BLOCK,
	ARG_REGISTERS,
	ARG_SHARED,
	ARG_GRAPH,
	ARG_NODE,
	ARG_SHAPES,
	ARG_COUNT
};
/* Whose track it is: the upper half of a track's number. */
enum { OF_PROCESS = 1, OF_THREAD, OF_DEVICE, OF_STREAM, OF_RUNNING, OF_QUEUED, OF_COUNTER };

struct perfetto {
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_counters counters;
	struct aif_track_ids ids;
	struct aif_host_stacks stacks;
	struct aif_buf interned; /* entries that no packet has yet */
	struct aif_map known;    /* table << 32 | number: it is interned */
	size_t packet;
	uint64_t given; /* launches, operators, executions, samples, counters */
};

/* ---- packets ------------------------------------------------------------------------------------- */

static void packet_begin(struct perfetto *w)
{
	w->packet = aif_proto_begin(w->b, PACKET);
	aif_proto_u64(w->b, SEQUENCE_ID, SEQUENCE);
	aif_proto_u64(w->b, SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
}

static void packet_end(struct perfetto *w)
{
	aif_proto_end(w->b, w->packet);
	aif_out_flush_if_full(w->out);
}

/* Before a packet that needs it. */
static void interned_flush(struct perfetto *w)
{
	if (!w->interned.len)
		return;
	packet_begin(w);
	aif_proto_bytes(w->b, INTERNED_DATA, w->interned.data, w->interned.len);
	packet_end(w);
	w->b->failed |= aif_buf_failed(&w->interned);
	aif_buf_clear(&w->interned);
}

static uint64_t stamp(const struct perfetto *w, int64_t at)
{
	uint64_t start = w->p->start_ns;

	return at < 0 && (uint64_t)-at > start ? 0 : start + (uint64_t)at;
}

/* Appends an event up to its type; 0 as `track` is the default's. The result is for event_end(). */
static size_t event_begin(struct perfetto *w, int64_t at, uint64_t track, unsigned type)
{
	size_t event;

	packet_begin(w);
	aif_proto_u64(w->b, TIMESTAMP, stamp(w, at));
	event = aif_proto_begin_small(w->b, TRACK_EVENT);
	aif_proto_u64(w->b, TYPE, type);
	aif_proto_u64(w->b, TRACK_UUID, track);
	return event;
}

static void event_end(struct perfetto *w, size_t event)
{
	aif_proto_end_small(w->b, event);
	packet_end(w);
}

static uint64_t track_of(unsigned whose, uint32_t id)
{
	return (uint64_t)whose << 32 | id;
}

/* ---- what is interned ---------------------------------------------------------------------------- */

/* True if it has to be, now. */
static bool is_new(struct perfetto *w, unsigned table, uint32_t number)
{
	uint64_t key = (uint64_t)table << 32 | number, known;

	if (aif_map_get(&w->known, key, &known))
		return false;
	if (aif_map_put(&w->known, key, 0) < 0)
		w->b->failed = true;
	return true;
}

static void intern(struct perfetto *w, unsigned table, uint64_t iid, const char *text, size_t len)
{
	size_t at = aif_proto_begin(&w->interned, table);

	aif_proto_u64(&w->interned, 1, iid);
	aif_proto_string(&w->interned, 2, text, len);
	aif_proto_end(&w->interned, at);
}

/* A string of the profile in a table of strings; 0 if there is none. */
static uint64_t string_iid(struct perfetto *w, unsigned table, uint32_t string)
{
	size_t len;
	const char *text;

	if (string == AIF_NONE)
		return 0;
	if (is_new(w, table, string)) {
		text = aif_strset_get(&w->p->strings, string, &len);
		intern(w, table, (uint64_t)string + 1, text, len);
	}
	return (uint64_t)string + 1;
}

/* A string as the name of an event. Those of the stacks' tree have numbers of 32 bits. */
static uint64_t string_event_iid(struct perfetto *w, uint32_t string)
{
	enum { STRINGS = EVENT_NAMES + 1000 }; /* of .known */
	uint64_t iid = (UINT64_C(1) << 32) + string;
	const char *text = string == AIF_NONE ? "" : aif_profile_str(w->p, string);

	if (is_new(w, STRINGS, string))
		intern(w, EVENT_NAMES, iid, text, strlen(text));
	return iid;
}

/* A name of the stacks' tree, as that of events or of functions. */
static uint64_t name_iid(struct perfetto *w, unsigned table, uint32_t name)
{
	size_t len;
	const char *text;

	if (is_new(w, table, name)) {
		text = aif_tree_text(&w->stacks.tree, name, &len);
		intern(w, table, (uint64_t)name + 1, text, len);
	}
	return (uint64_t)name + 1;
}

static uint64_t mapping_iid(struct perfetto *w, uint32_t module)
{
	const struct aif_module *m;
	uint64_t build_id, path;
	size_t at;

	if (module == AIF_NONE)
		return 0;
	if (!is_new(w, MAPPINGS, module))
		return (uint64_t)module + 1;
	m = &w->p->modules[module];
	build_id = string_iid(w, BUILD_IDS, m->build_id);
	path = string_iid(w, MAPPING_PATHS, m->path);
	at = aif_proto_begin_small(&w->interned, MAPPINGS);
	aif_proto_u64(&w->interned, 1, (uint64_t)module + 1);
	if (build_id)
		aif_proto_u64(&w->interned, 2, build_id);
	if (path)
		aif_proto_u64(&w->interned, 7, path);
	aif_proto_end_small(&w->interned, at);
	return (uint64_t)module + 1;
}

/* For colours: Frame.kind_str takes any word. */
static const char *kind_of(enum aif_tree_type type)
{
	switch (type) {
	case AIF_TREE_PYTHON:
		return "interpreted";
	case AIF_TREE_OS:
		return "kernel";
	case AIF_TREE_API:
		return "runtime";
	default:
		return "native";
	}
}

static void frame_intern(struct perfetto *w, uint32_t node)
{
	const struct aif_host_stacks *h = &w->stacks;
	const struct aif_host_node *n = &h->nodes[node];
	uint64_t function = name_iid(w, FUNCTION_NAMES, n->name),
		 mapping = mapping_iid(w, aif_host_module(h, node)),
		 source = n->row == AIF_NONE
				  ? 0
				  : string_iid(w, SOURCE_PATHS, w->p->frame_names[n->row].file);
	size_t at = aif_proto_begin_small(&w->interned, FRAMES);

	aif_proto_u64(&w->interned, 1, node);
	aif_proto_u64(&w->interned, 2, function);
	if (mapping) {
		aif_proto_u64(&w->interned, 3, mapping);
		aif_proto_u64(&w->interned, 4, w->p->frames[n->frame].address);
	}
	if (source)
		aif_proto_u64(&w->interned, 5, source);
	if (aif_host_line(h, node))
		aif_proto_u64(&w->interned, 6, aif_host_line(h, node));
	aif_proto_text(&w->interned, 8, kind_of(aif_host_type(h, node)));
	aif_proto_end_small(&w->interned, at);
}

/* The stack that ends at a node; its number is the node's, and so are those of its frames. */
static int callstack_intern(struct perfetto *w, uint32_t node)
{
	const struct aif_host_stacks *h = &w->stacks;
	uint32_t depth = h->nodes[node].depth, *path;
	size_t at;

	if (!is_new(w, CALLSTACKS, node))
		return 0;
	path = calloc((size_t)depth + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (uint32_t n = node, i = depth; n && i; n = h->nodes[n].parent) {
		path[--i] = n;
		if (is_new(w, FRAMES, n))
			frame_intern(w, n);
	}
	at = aif_proto_begin(&w->interned, CALLSTACKS);
	aif_proto_u64(&w->interned, 1, node);
	for (uint32_t i = 0; i < depth; i++)
		aif_proto_u64(&w->interned, 2, path[i]);
	aif_proto_end(&w->interned, at);
	free(path);
	return 0;
}

static void constants_intern(struct perfetto *w)
{
	static const char *const categories[CATEGORY_COUNT] = {
		NULL, "launch", "kernel", "copy", "operator", "range", "python", "call"};
	static const char *const args[ARG_COUNT] = {NULL,    "launch",    "bytes",  "grid",
						    "block", "registers", "shared", "graph",
						    "node",  "shapes"};

	for (unsigned i = 1; i < CATEGORY_COUNT; i++)
		intern(w, CATEGORIES, i, categories[i], strlen(categories[i]));
	for (unsigned i = 1; i < ARG_COUNT; i++)
		intern(w, ANNOTATION_NAMES, i, args[i], strlen(args[i]));
}

/* ---- the beginning ------------------------------------------------------------------------------- */

static void clock_put(struct perfetto *w, unsigned id, uint64_t value)
{
	size_t at = aif_proto_begin_small(w->b, 1);

	aif_proto_u64(w->b, 1, id);
	aif_proto_u64(w->b, 2, value);
	aif_proto_end_small(w->b, at);
}

static void first_packets(struct perfetto *w)
{
	size_t packet = aif_proto_begin(w->b, PACKET), at;

	aif_proto_u64(w->b, SEQUENCE_ID, SEQUENCE);
	at = aif_proto_begin_small(w->b, CLOCK_SNAPSHOT);
	clock_put(w, CLOCK_MONOTONIC_ID, w->p->start_ns);
	if (aif_export_unix_start(w->p))
		clock_put(w, CLOCK_REALTIME_ID, aif_export_unix_start(w->p));
	aif_proto_u64(w->b, 2, CLOCK_MONOTONIC_ID);
	aif_proto_end_small(w->b, at);
	aif_proto_end(w->b, packet);

	packet = aif_proto_begin(w->b, PACKET);
	aif_proto_u64(w->b, SEQUENCE_ID, SEQUENCE);
	aif_proto_u64(w->b, SEQUENCE_FLAGS, FLAG_CLEARED);
	at = aif_proto_begin_small(w->b, PACKET_DEFAULTS);
	aif_proto_u64(w->b, TIMESTAMP_CLOCK_ID, CLOCK_MONOTONIC_ID);
	aif_proto_end_small(w->b, at);
	aif_proto_end(w->b, packet);
}

/* ---- tracks -------------------------------------------------------------------------------------- */

/* The result is for track_end(). *name is finished. */
static size_t track_begin(struct perfetto *w, uint64_t uuid, uint64_t parent, struct aif_buf *name)
{
	size_t at;

	packet_begin(w);
	at = aif_proto_begin(w->b, TRACK_DESCRIPTOR);
	aif_proto_u64(w->b, 1, uuid);
	if (name)
		aif_proto_text(w->b, 2, aif_buf_str(name));
	if (parent)
		aif_proto_u64(w->b, 5, parent);
	return at;
}

static void track_end(struct perfetto *w, size_t at)
{
	aif_proto_end(w->b, at);
	packet_end(w);
}

static void host_tracks(struct perfetto *w)
{
	const struct aif_profile *p = w->p;
	struct aif_buf name = {0};
	size_t at, inner;

	for (uint32_t i = 0; i < p->processes_len; i++) {
		at = track_begin(w, track_of(OF_PROCESS, i), 0, NULL);
		inner = aif_proto_begin(w->b, 3);
		aif_proto_u64(w->b, 1, w->ids.processes[i]);
		aif_export_process_name(p, i, &name);
		aif_proto_text(w->b, 6, aif_buf_str(&name));
		aif_proto_end(w->b, inner);
		track_end(w, at);
		aif_buf_clear(&name);
	}
	for (uint32_t i = 0; i < p->threads_len; i++) {
		at = track_begin(w, track_of(OF_THREAD, i), 0, NULL);
		inner = aif_proto_begin(w->b, 4);
		aif_proto_u64(w->b, 1, aif_track_id_process(&w->ids, p->threads[i].process));
		aif_proto_u64(w->b, 2, w->ids.threads[i]);
		aif_proto_text(w->b, 5, aif_profile_str(p, p->threads[i].name));
		aif_proto_end(w->b, inner);
		track_end(w, at);
	}
	aif_buf_finish(&name);
}

/* *name is finished. */
static void counter_track(struct perfetto *w, uint64_t track, uint32_t device, struct aif_buf *name,
			  const char *unit)
{
	size_t at, inner;

	at = track_begin(w, track, track_of(OF_DEVICE, device), name);
	inner = aif_proto_begin_small(w->b, 8);
	aif_proto_text(w->b, 6, unit);
	aif_proto_end_small(w->b, inner);
	track_end(w, at);
	aif_buf_finish(name);
}

/* The device's curves: a point where a value changes. */
static int load_put(struct perfetto *w, uint32_t device)
{
	const struct aif_events *e = &w->events;
	struct aif_buf name = {0};
	struct aif_event_load l;
	int r = aif_event_load_init(&l, e, device);

	aif_buf_puts(&name, "running");
	counter_track(w, track_of(OF_RUNNING, device), device, &name, "executions");
	aif_buf_puts(&name, "queued");
	counter_track(w, track_of(OF_QUEUED, device), device, &name, "launches");
	for (size_t i = 0; i < l.len && !r; i++) {
		int64_t at = e->start_ns + (int64_t)(i * l.interval_ns);
		size_t event;

		if (!i || l.running[i] != l.running[i - 1]) {
			event = event_begin(w, at, track_of(OF_RUNNING, device), TYPE_COUNTER);
			aif_proto_double(w->b, DOUBLE_COUNTER_VALUE, (double)l.running[i] / 100);
			event_end(w, event);
		}
		if (!i || l.queued[i] != l.queued[i - 1]) {
			event = event_begin(w, at, track_of(OF_QUEUED, device), TYPE_COUNTER);
			aif_proto_u64(w->b, COUNTER_VALUE, l.queued[i]);
			event_end(w, event);
		}
	}
	aif_event_load_finish(&l);
	return r;
}

/* A device that ran nothing has no track yet. */
static void device_track(struct perfetto *w, uint32_t device)
{
	struct aif_buf name = {0};

	aif_export_device_name(w->p, device, &name);
	track_end(w, track_begin(w, track_of(OF_DEVICE, device), 0, &name));
	aif_buf_finish(&name);
}

static bool has_track(const struct aif_events *e, uint32_t device)
{
	size_t end;

	return aif_event_device_tracks(e, device, &end) < end;
}

static void counters_put(struct perfetto *w)
{
	const struct aif_counters *c = &w->counters;

	for (uint32_t i = 0; i < c->len; i++) {
		const struct aif_counter *of = &c->at[i];
		uint64_t track = track_of(OF_COUNTER, i);
		struct aif_buf name = {0};

		if ((!i || c->at[i - 1].device != of->device) && !has_track(&w->events, of->device))
			device_track(w, of->device);
		aif_counter_name(w->p, of, &name);
		counter_track(w, track, of->device, &name,
			      of->unit == AIF_NONE ? "" : aif_profile_str(w->p, of->unit));
		for (size_t k = 0; k < of->len; k++) {
			size_t event =
				event_begin(w, aif_counter_since(c, of, k), track, TYPE_COUNTER);

			aif_proto_double(w->b, DOUBLE_COUNTER_VALUE,
					 c->values[of->first + k].value);
			event_end(w, event);
		}
	}
}

static int device_tracks(struct perfetto *w)
{
	const struct aif_events *e = &w->events;
	struct aif_buf name = {0};
	int r = 0;

	for (uint32_t i = 0; i < e->tracks_len && !r; i++) {
		uint32_t device = e->tracks[i].device;

		if (aif_event_track_is_first(e, i)) {
			device_track(w, device);
			r = load_put(w, device);
		}
		aif_buf_clear(&name);
		aif_event_track_name(e->p, &e->tracks[i], &name);
		track_end(w, track_begin(w, track_of(OF_STREAM, i), track_of(OF_DEVICE, device),
					 &name));
	}
	aif_buf_finish(&name);
	return r;
}

/* ---- events -------------------------------------------------------------------------------------- */

static int launch_put(struct perfetto *w, uint32_t i)
{
	const struct aif_event_launch *l = &w->events.launches[i];
	uint32_t node = aif_host_stacks_node(&w->stacks, l->stack);
	struct aif_frame_label label;
	uint32_t name;
	size_t event;

	if (!node || callstack_intern(w, node) < 0)
		return -ENOMEM;
	name = w->stacks.nodes[node].name;
	if (aif_host_type(&w->stacks, node) != AIF_TREE_API) {
		if (aif_frame_labels_kernel(w->stacks.labels, l->kernel, l->kind, &label) < 0)
			return -ENOMEM;
		name = label.name;
	}
	name_iid(w, EVENT_NAMES, name);
	interned_flush(w);
	w->given++;
	event = event_begin(w, l->time, l->thread == AIF_NONE ? 0 : track_of(OF_THREAD, l->thread),
			    TYPE_INSTANT);
	aif_proto_u64(w->b, NAME_IID, (uint64_t)name + 1);
	aif_proto_u64(w->b, CATEGORY_IIDS, CATEGORY_LAUNCH);
	aif_proto_u64(w->b, CALLSTACK_IID, node);
	if (l->first_start != INT64_MAX)
		aif_proto_fixed64(w->b, FLOW_IDS, (uint64_t)i + 1);
	event_end(w, event);
	return w->out->error;
}

static void arg_put(struct perfetto *w, unsigned name, uint64_t v)
{
	size_t at = aif_proto_begin_small(w->b, ANNOTATIONS);

	aif_proto_u64(w->b, 1, name);
	aif_proto_u64(w->b, 3, v);
	aif_proto_end_small(w->b, at);
}

/* As much of it as an event has room for, whatever bytes it has. */
static void text_put(struct perfetto *w, unsigned name, const char *text)
{
	size_t at = aif_proto_begin_small(w->b, ANNOTATIONS);

	aif_proto_u64(w->b, 1, name);
	aif_proto_string(w->b, 6, text, strnlen(text, 2048));
	aif_proto_end_small(w->b, at);
}

static void extent_put(struct perfetto *w, unsigned name, const uint32_t v[3])
{
	char text[40];

	if (!v[0])
		return;
	snprintf(text, sizeof(text), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, v[0], v[1], v[2]);
	text_put(w, name, text);
}

/* ---- operators, ranges, calls -------------------------------------------------------------------- */

static unsigned op_category(const struct aif_event_op *o)
{
	return o->kind == AIF_OP_OPERATOR  ? CATEGORY_OPERATOR
	       : o->kind == AIF_OP_PYTHON  ? CATEGORY_PYTHON
	       : o->kind == AIF_OP_RUNTIME ? CATEGORY_CALL
					   : CATEGORY_RANGE;
}

static int op_begin(struct perfetto *w, const struct aif_event_op *o)
{
	const struct aif_event_launch *l =
		o->launch == AIF_NONE ? NULL : &w->events.launches[o->launch];
	uint32_t node = aif_host_stacks_node(&w->stacks, l ? l->stack : o->stack);
	uint64_t name = string_event_iid(w, o->name);
	size_t event;

	if (!node || callstack_intern(w, node) < 0)
		return -ENOMEM;
	interned_flush(w);
	event = event_begin(w, o->start, track_of(OF_THREAD, o->thread), TYPE_BEGIN);
	aif_proto_u64(w->b, NAME_IID, name);
	if (l)
		aif_proto_u64(w->b, CATEGORY_IIDS, CATEGORY_LAUNCH);
	aif_proto_u64(w->b, CATEGORY_IIDS, op_category(o));
	aif_proto_u64(w->b, CALLSTACK_IID, node);
	if (l && l->is_kept && l->first_start != INT64_MAX)
		aif_proto_fixed64(w->b, FLOW_IDS, (uint64_t)o->launch + 1);
	if (o->shapes != AIF_NONE)
		text_put(w, ARG_SHAPES, aif_profile_str(w->p, o->shapes));
	event_end(w, event);
	return w->out->error;
}

static void op_end(struct perfetto *w, uint32_t thread, int64_t at)
{
	event_end(w, event_begin(w, at, track_of(OF_THREAD, thread), TYPE_END));
}

/* An end is that of the last begin of the track: what runs on beyond what it is in is cut there. */
static int ops_put(struct perfetto *w)
{
	int64_t *ends = malloc((w->ops.len + 1) * sizeof(*ends));
	uint32_t thread = AIF_NONE;
	size_t depth = 0;
	int r = ends ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->ops.len && !r; i++) {
		const struct aif_event_op *o = &w->ops.ops[i];
		int64_t end = aif_event_op_end(o);

		if (!aif_event_op_is_shown(o, &w->events))
			continue;
		while (depth && (thread != o->thread || ends[depth - 1] <= o->start))
			op_end(w, thread, ends[--depth]);
		thread = o->thread;
		w->given++;
		r = op_begin(w, o);
		ends[depth] = depth ? AIF_MIN(end, ends[depth - 1]) : end;
		depth++;
	}
	while (depth && !r)
		op_end(w, thread, ends[--depth]);
	free(ends);
	return r;
}

static void exec_args(struct perfetto *w, const struct aif_event_exec *x)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &w->events.launches[x->by];

	arg_put(w, ARG_LAUNCH, x->launch);
	if (x->kind != AIF_LAUNCH_KERNEL)
		arg_put(w, ARG_BYTES, x->bytes);
	else if (by && by->shape != AIF_NONE && !x->graph) {
		extent_put(w, ARG_GRID, w->p->shapes[by->shape].grid);
		extent_put(w, ARG_BLOCK, w->p->shapes[by->shape].block);
	}
	if (x->registers) {
		arg_put(w, ARG_REGISTERS, x->registers);
		arg_put(w, ARG_SHARED, x->shared_bytes);
	}
	if (x->graph) {
		arg_put(w, ARG_GRAPH, x->graph);
		arg_put(w, ARG_NODE, x->node);
	}
}

static int exec_put(struct perfetto *w, const struct aif_event_exec *x, uint64_t name)
{
	size_t event;

	w->given++;
	event = event_begin(w, x->start, track_of(OF_STREAM, x->track), TYPE_BEGIN);
	aif_proto_u64(w->b, NAME_IID, name);
	aif_proto_u64(w->b, CATEGORY_IIDS,
		      x->kind == AIF_LAUNCH_KERNEL ? CATEGORY_KERNEL : CATEGORY_COPY);
	if (x->by != AIF_NONE && w->events.launches[x->by].is_kept)
		aif_proto_fixed64(w->b, FLOW_IDS, (uint64_t)x->by + 1);
	exec_args(w, x);
	event_end(w, event);
	event_end(w, event_begin(w, x->start + (int64_t)x->dur, track_of(OF_STREAM, x->track),
				 TYPE_END));
	return w->out->error;
}

static int execs_put(struct perfetto *w)
{
	const struct aif_events *e = &w->events;
	size_t kernels = w->p->kernels_len;
	uint64_t *names = calloc(kernels + AIF_LAUNCH_KIND_COUNT, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < e->execs_len && !r; i++) {
		const struct aif_event_exec *x = &e->execs[i];
		size_t which =
			x->kind == AIF_LAUNCH_KERNEL && x->kernel != AIF_NONE
				? x->kernel
				: kernels + AIF_MIN(x->kind, (uint32_t)AIF_LAUNCH_KIND_COUNT - 1);
		struct aif_frame_label l;

		if (!names[which]) {
			r = aif_frame_labels_kernel(w->stacks.labels, x->kernel, x->kind, &l);
			if (r < 0)
				break;
			names[which] = name_iid(w, EVENT_NAMES, l.name);
			interned_flush(w);
		}
		r = exec_put(w, x, names[which]);
	}
	free(names);
	return r;
}

static int cpu_put(struct perfetto *w, const struct aif_cpu_row *row)
{
	struct aif_cpu_row part;
	uint32_t process, node;
	size_t sample;

	/* Waits that were added up have no time that they were at. */
	if (row->waiting || row->thread == AIF_NONE ||
	    !aif_event_cpu_part(w->x, row, &part, &process))
		return 0;
	node = aif_host_stacks_node(&w->stacks, row->stack);
	if (!node || callstack_intern(w, node) < 0)
		return -ENOMEM;
	interned_flush(w);
	w->given++;
	packet_begin(w);
	aif_proto_u64(w->b, TIMESTAMP, part.time);
	sample = aif_proto_begin_small(w->b, PERF_SAMPLE);
	aif_proto_u64(w->b, 2, aif_track_id_process(&w->ids, process));
	aif_proto_u64(w->b, 3, w->ids.threads[row->thread]);
	aif_proto_u64(w->b, 4, node);
	aif_proto_u64(w->b, 5, 2); /* user mode */
	aif_proto_end_small(w->b, sample);
	packet_end(w);
	return w->out->error;
}

static int cpus_put(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = cpu_put(arg, &rows[i]);
	return r;
}

static int write_all(struct perfetto *w, struct aif_err *err)
{
	int r = aif_events_init(&w->events, w->x, err);

	if (!r)
		r = aif_event_ops_init(&w->ops, &w->events, w->x);
	if (r)
		return r;
	first_packets(w);
	constants_intern(w);
	interned_flush(w);
	host_tracks(w);
	r = device_tracks(w);
	if (!r && !w->x->kernel)
		r = aif_counters_read(w->p, &w->x->which, &w->counters);
	aif_export_damaged(w->x, w->counters.damaged);
	w->given += w->counters.len;
	if (!r)
		counters_put(w);
	for (uint32_t i = 0; i < w->events.launches_len && !r; i++)
		if (w->events.launches[i].is_kept && w->ops.calls[i] == AIF_NONE)
			r = launch_put(w, i);
	if (!r)
		r = ops_put(w);
	if (!r)
		r = execs_put(w);
	if (!r && !w->x->which.devices && !w->x->kernel)
		r = aif_export_cpu(w->x, cpus_put, w);
	return r || w->given ? r : aif_export_nothing(err);
}

static int perfetto_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct perfetto w = {.x = x, .p = x->profile, .out = out, .b = aif_out_buf(out)};
	int r = aif_track_ids_init(&w.ids, w.p);

	if (!r)
		r = aif_host_stacks_init(&w.stacks, w.p, x->detail);
	if (!r)
		r = write_all(&w, err);
	aif_event_ops_finish(&w.ops);
	aif_counters_finish(&w.counters);
	aif_events_finish(&w.events);
	aif_host_stacks_finish(&w.stacks);
	aif_track_ids_finish(&w.ids);
	aif_buf_finish(&w.interned);
	aif_map_finish(&w.known);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

const struct aif_exporter aif_exporter_perfetto = {
	.name = "perfetto",
	.output = "aiflame.pftrace",
	.suffixes = ".pftrace .perfetto-trace .perfetto",
	.write = perfetto_write,
};
