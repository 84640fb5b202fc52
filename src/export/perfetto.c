/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Perfetto's trace (perfetto.dev, protos/perfetto/trace): packets of one sequence. What is declared stable carries the
 * time line: TrackDescriptor and TrackEvent. A device is a track, its streams' lanes are tracks under it, so that
 * executions that overlap stay slices of their own; a launch whose call's end is not recorded is an instant of its
 * thread, another a slice, and each flows into what it launched. Executions are render stages, too (perfetto_stages.c).
 * Names, frames and stacks are interned once. Time is CLOCK_MONOTONIC, as the recording's.
 */
/* ---- packets ------------------------------------------------------------------------------------- */

/* Appends an event up to its type; 0 as `track` is the default's. The result is for event_end(). */
static size_t event_begin(struct perfetto *w, int64_t at, uint64_t track, unsigned type)
{
	size_t event;

	perfetto_packet_begin(w);
	aif_proto_u64(w->t.b, TIMESTAMP, perfetto_stamp(w, at));
	event = aif_proto_begin_small(w->t.b, TRACK_EVENT);
	aif_proto_u64(w->t.b, TYPE, type);
	aif_proto_u64(w->t.b, TRACK_UUID, track);
	return event;
}

static void event_end(struct perfetto *w, size_t event)
{
	aif_proto_end_small(w->t.b, event);
	perfetto_packet_end(w);
}

static uint64_t track_of(unsigned whose, uint32_t id)
{
	return (uint64_t)whose << 32 | id;
}

/* ---- the beginning ------------------------------------------------------------------------------- */

static void clock_put(struct perfetto *w, unsigned id, uint64_t value)
{
	size_t at = aif_proto_begin_small(w->t.b, 1);

	aif_proto_u64(w->t.b, 1, id);
	aif_proto_u64(w->t.b, 2, value);
	aif_proto_end_small(w->t.b, at);
}

static void first_packets(struct perfetto *w)
{
	size_t packet = aif_proto_begin(w->t.b, PACKET), at;

	aif_proto_u64(w->t.b, SEQUENCE_ID, SEQUENCE);
	at = aif_proto_begin_small(w->t.b, CLOCK_SNAPSHOT);
	clock_put(w, CLOCK_MONOTONIC_ID, w->t.p->start_ns);
	if (aif_export_unix_start(w->t.p))
		clock_put(w, CLOCK_REALTIME_ID, aif_export_unix_start(w->t.p));
	aif_proto_u64(w->t.b, 2, CLOCK_MONOTONIC_ID);
	aif_proto_end_small(w->t.b, at);
	aif_proto_end(w->t.b, packet);

	packet = aif_proto_begin(w->t.b, PACKET);
	aif_proto_u64(w->t.b, SEQUENCE_ID, SEQUENCE);
	aif_proto_u64(w->t.b, SEQUENCE_FLAGS, FLAG_CLEARED);
	at = aif_proto_begin_small(w->t.b, PACKET_DEFAULTS);
	aif_proto_u64(w->t.b, TIMESTAMP_CLOCK_ID, CLOCK_MONOTONIC_ID);
	aif_proto_end_small(w->t.b, at);
	aif_proto_end(w->t.b, packet);
}

/* ---- tracks -------------------------------------------------------------------------------------- */

/* The result is for track_end(). *name is finished. */
static size_t track_begin(struct perfetto *w, uint64_t uuid, uint64_t parent, struct aif_buf *name)
{
	size_t at;

	perfetto_packet_begin(w);
	at = aif_proto_begin(w->t.b, TRACK_DESCRIPTOR);
	aif_proto_u64(w->t.b, 1, uuid);
	if (name)
		aif_proto_text(w->t.b, 2, aif_buf_str(name));
	if (parent)
		aif_proto_u64(w->t.b, 5, parent);
	return at;
}

static void track_end(struct perfetto *w, size_t at)
{
	aif_proto_end(w->t.b, at);
	perfetto_packet_end(w);
}

static int process_put(struct aif_timeline_walk *t, uint32_t process)
{
	struct perfetto *w = (struct perfetto *)t;
	struct aif_buf name = {0};
	size_t at = track_begin(w, track_of(OF_PROCESS, process), 0, NULL),
	       inner = aif_proto_begin(t->b, 3);

	aif_proto_u64(t->b, 1, t->ids.processes[process]);
	aif_export_process_name(t->p, process, &name);
	aif_proto_text(t->b, 6, aif_buf_str(&name));
	aif_proto_end(t->b, inner);
	track_end(w, at);
	aif_buf_finish(&name);
	return 0;
}

static int thread_put(struct aif_timeline_walk *t, uint32_t thread)
{
	struct perfetto *w = (struct perfetto *)t;
	const struct aif_thread *of = &t->p->threads[thread];
	size_t at = track_begin(w, track_of(OF_THREAD, thread), 0, NULL),
	       inner = aif_proto_begin(t->b, 4);

	aif_proto_u64(t->b, 1, aif_track_id_process(&t->ids, of->process));
	aif_proto_u64(t->b, 2, t->ids.threads[thread]);
	aif_proto_text(t->b, 5, aif_profile_str(t->p, of->name));
	aif_proto_end(t->b, inner);
	track_end(w, at);
	return 0;
}

/* *name is finished. */
static void counter_track(struct perfetto *w, uint64_t track, uint32_t device, struct aif_buf *name,
			  const char *unit)
{
	size_t at, inner;

	at = track_begin(w, track, track_of(OF_DEVICE, device), name);
	inner = aif_proto_begin_small(w->t.b, 8);
	aif_proto_text(w->t.b, 6, unit);
	aif_proto_end_small(w->t.b, inner);
	track_end(w, at);
	aif_buf_finish(name);
}

static void value_put(struct perfetto *w, uint64_t track, int64_t at, double v)
{
	size_t event = event_begin(w, at, track, TYPE_COUNTER);

	aif_proto_double(w->t.b, DOUBLE_COUNTER_VALUE, v);
	event_end(w, event);
}

static int device_put(struct aif_timeline_walk *t, uint32_t device)
{
	struct perfetto *w = (struct perfetto *)t;
	struct aif_buf name = {0};

	aif_export_device_name(t->p, device, &name);
	track_end(w, track_begin(w, track_of(OF_DEVICE, device), 0, &name));
	aif_buf_finish(&name);
	return 0;
}

static int load_put(struct aif_timeline_walk *t, uint32_t device)
{
	struct perfetto *w = (struct perfetto *)t;
	struct aif_buf name = {0};

	aif_buf_puts(&name, "running");
	counter_track(w, track_of(OF_RUNNING, device), device, &name, "executions");
	aif_buf_puts(&name, "queued");
	counter_track(w, track_of(OF_QUEUED, device), device, &name, "launches");
	return 0;
}

/* Writes a point of the load. Its value is NaN where nothing was collected, which SQL has as
 * NULL. */
static int load_point_put(struct aif_timeline_walk *t, uint32_t device,
			  enum aif_timeline_curve curve, const struct aif_event_load_point *at)
{
	bool is_running = curve == AIF_TIMELINE_RUNNING;
	double v = is_running ? (double)at->running / 100 : (double)at->queued;

	value_put((struct perfetto *)t, track_of(is_running ? OF_RUNNING : OF_QUEUED, device),
		  at->at, at->is_known ? v : NAN);
	return 0;
}

static int counter_put(struct aif_timeline_walk *t, uint32_t counter)
{
	const struct aif_counter *of = &t->counters.at[counter];
	struct aif_buf name = {0};

	aif_counter_name(t->p, of, &name);
	counter_track((struct perfetto *)t, track_of(OF_COUNTER, counter), of->device, &name,
		      of->unit == AIF_NONE ? "" : aif_profile_str(t->p, of->unit));
	return 0;
}

static int counter_value_put(struct aif_timeline_walk *t, uint32_t counter, int64_t at, double v)
{
	value_put((struct perfetto *)t, track_of(OF_COUNTER, counter), at, v);
	perfetto_gpu_counter_value((struct perfetto *)t, counter, at, v);
	return 0;
}

static int pass_end(struct aif_timeline_walk *t, unsigned parts)
{
	if (parts & AIF_TIMELINE_COUNTERS)
		perfetto_gpu_counter_end((struct perfetto *)t);
	return 0;
}

/* Draws when nothing was captured: slices of a track of their own. */
static int gaps_put(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n)
{
	struct perfetto *w = (struct perfetto *)t;
	const struct aif_event_track *of = &t->events.tracks[track];
	uint64_t uuid = track_of(OF_GAPS, track);
	struct aif_buf name = {0};

	aif_event_gaps_name(t->p, of, &name);
	track_end(w, track_begin(w, uuid, track_of(OF_DEVICE, of->device), &name));
	aif_buf_finish(&name);
	for (size_t i = 0; i < n; i++) {
		size_t event = event_begin(w, (int64_t)gaps[i].start, uuid, TYPE_BEGIN);

		aif_proto_u64(t->b, NAME_IID, GAP_NAME);
		aif_proto_u64(t->b, CATEGORY_IIDS, CATEGORY_GAP);
		event_end(w, event);
		event_end(w, event_begin(w, (int64_t)gaps[i].end, uuid, TYPE_END));
	}
	return 0;
}

static int stream_put(struct aif_timeline_walk *t, uint32_t track)
{
	struct perfetto *w = (struct perfetto *)t;
	const struct aif_event_track *of = &t->events.tracks[track];
	struct aif_buf name = {0};

	aif_event_track_name(t->p, of, &name);
	track_end(w, track_begin(w, track_of(OF_STREAM, track), track_of(OF_DEVICE, of->device),
				 &name));
	aif_buf_finish(&name);
	return 0;
}

/* ---- events -------------------------------------------------------------------------------------- */

/* Interns the stack of a launch, operator or sample before its packet. 0 or -ENOMEM. */
static int stack_intern(struct perfetto *w, uint32_t stack, uint32_t *ret_node)
{
	*ret_node = aif_host_stacks_node(&w->t.stacks, stack);
	return *ret_node ? perfetto_callstack(w, *ret_node) : -ENOMEM;
}

static int launch_put(struct aif_timeline_walk *t, uint32_t i, int64_t end)
{
	struct perfetto *w = (struct perfetto *)t;
	const struct aif_event_launch *l = &t->events.launches[i];
	uint32_t node, name;
	size_t event;

	(void)end;
	if (stack_intern(w, l->stack, &node) < 0 || aif_timeline_launch_name(t, l, node, &name) < 0)
		return -ENOMEM;
	perfetto_name(w, EVENT_NAMES, name);
	perfetto_interned_flush(w);
	event = event_begin(w, l->time, l->thread == AIF_NONE ? 0 : track_of(OF_THREAD, l->thread),
			    TYPE_INSTANT);
	aif_proto_u64(t->b, NAME_IID, (uint64_t)name + 1);
	aif_proto_u64(t->b, CATEGORY_IIDS, CATEGORY_LAUNCH);
	aif_proto_u64(t->b, CALLSTACK_IID, node);
	if (l->first_start != INT64_MAX)
		aif_proto_fixed64(t->b, FLOW_IDS, (uint64_t)i + 1);
	event_end(w, event);
	return 0;
}

static void arg_put(struct perfetto *w, unsigned name, uint64_t v)
{
	size_t at = aif_proto_begin_small(w->t.b, ANNOTATIONS);

	aif_proto_u64(w->t.b, 1, name);
	aif_proto_u64(w->t.b, 3, v);
	aif_proto_end_small(w->t.b, at);
}

/* Writes as much of the text as an event has room for, whatever bytes it has. */
static void text_put(struct perfetto *w, unsigned name, const char *text)
{
	size_t at = aif_proto_begin_small(w->t.b, ANNOTATIONS);

	aif_proto_u64(w->t.b, 1, name);
	aif_proto_string(w->t.b, 6, text, strnlen(text, 2048));
	aif_proto_end_small(w->t.b, at);
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

static int op_put(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end)
{
	struct perfetto *w = (struct perfetto *)t;
	const struct aif_event_launch *l =
		o->launch == AIF_NONE ? NULL : &t->events.launches[o->launch];
	uint32_t node = aif_host_stacks_node(&t->stacks, l ? l->stack : o->stack);
	uint64_t name = perfetto_string(w, o->name);
	size_t event;

	(void)end;
	if (!node || perfetto_callstack(w, node) < 0)
		return -ENOMEM;
	perfetto_interned_flush(w);
	event = event_begin(w, o->start, track_of(OF_THREAD, o->thread), TYPE_BEGIN);
	aif_proto_u64(t->b, NAME_IID, name);
	if (l)
		aif_proto_u64(t->b, CATEGORY_IIDS, CATEGORY_LAUNCH);
	aif_proto_u64(t->b, CATEGORY_IIDS, op_category(o));
	aif_proto_u64(t->b, CALLSTACK_IID, node);
	if (l && l->is_kept && l->first_start != INT64_MAX)
		aif_proto_fixed64(t->b, FLOW_IDS, (uint64_t)o->launch + 1);
	if (o->shapes != AIF_NONE)
		text_put(w, ARG_SHAPES, aif_profile_str(t->p, o->shapes));
	event_end(w, event);
	return 0;
}

/* Ends the track's last begin: what runs on beyond what it is in is cut there. */
static int op_end_put(struct aif_timeline_walk *t, uint32_t thread, int64_t at)
{
	struct perfetto *w = (struct perfetto *)t;

	event_end(w, event_begin(w, at, track_of(OF_THREAD, thread), TYPE_END));
	return 0;
}

static void exec_args(struct perfetto *w, const struct aif_event_exec *x)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &w->t.events.launches[x->by];

	arg_put(w, ARG_LAUNCH, x->launch);
	if (x->kind != AIF_LAUNCH_KERNEL)
		arg_put(w, ARG_BYTES, x->bytes);
	else if (by && by->shape != AIF_NONE && !x->graph) {
		extent_put(w, ARG_GRID, w->t.p->shapes[by->shape].grid);
		extent_put(w, ARG_BLOCK, w->t.p->shapes[by->shape].block);
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

static int exec_put(struct aif_timeline_walk *t, const struct aif_event_exec *x)
{
	struct perfetto *w = (struct perfetto *)t;
	uint64_t track = track_of(OF_STREAM, x->track), iid;
	uint32_t name, node = 0;
	size_t event;

	if (aif_timeline_exec_name(t, x, &name) < 0)
		return -ENOMEM;
	if (x->graph) { /* other executions flow from their launch, which has the stack */
		node = aif_timeline_exec_node(t, x);
		if (!node || perfetto_callstack(w, node) < 0)
			return -ENOMEM;
	}
	iid = perfetto_name(w, EVENT_NAMES, name);
	perfetto_interned_flush(w);
	event = event_begin(w, x->start, track, TYPE_BEGIN);
	aif_proto_u64(t->b, NAME_IID, iid);
	aif_proto_u64(t->b, CATEGORY_IIDS,
		      x->kind == AIF_LAUNCH_KERNEL ? CATEGORY_KERNEL : CATEGORY_COPY);
	if (node)
		aif_proto_u64(t->b, CALLSTACK_IID, node);
	if (x->by != AIF_NONE && t->events.launches[x->by].is_kept)
		aif_proto_fixed64(t->b, FLOW_IDS, (uint64_t)x->by + 1);
	exec_args(w, x);
	event_end(w, event);
	event_end(w, event_begin(w, x->start + (int64_t)x->dur, track, TYPE_END));
	perfetto_stage(w, x, name, iid);
	return 0;
}

static int cpu_put(struct aif_timeline_walk *t, const struct aif_cpu_row *row, uint32_t process,
		   int64_t at)
{
	struct perfetto *w = (struct perfetto *)t;
	uint32_t node;
	size_t sample;

	(void)at;
	/* Waits that were added up have no time that they were at. */
	if (row->waiting || row->thread == AIF_NONE)
		return 1;
	if (stack_intern(w, row->stack, &node) < 0)
		return -ENOMEM;
	perfetto_interned_flush(w);
	perfetto_packet_begin(w);
	aif_proto_u64(t->b, TIMESTAMP, row->time);
	sample = aif_proto_begin_small(t->b, PERF_SAMPLE);
	aif_proto_u64(t->b, 2, aif_track_id_process(&t->ids, process));
	aif_proto_u64(t->b, 3, t->ids.threads[row->thread]);
	aif_proto_u64(t->b, 4, node);
	aif_proto_u64(t->b, 5, 2); /* user mode */
	aif_proto_end_small(t->b, sample);
	perfetto_packet_end(w);
	return 0;
}

static int begin(struct aif_timeline_walk *t)
{
	struct perfetto *w = (struct perfetto *)t;

	first_packets(w);
	perfetto_constants(w);
	perfetto_interned_flush(w);
	return 0;
}

static const struct aif_timeline_sink sink = {
	.passes = {AIF_TIMELINE_HOST | AIF_TIMELINE_DEVICES | AIF_TIMELINE_LOAD |
			   AIF_TIMELINE_COUNTERS,
		   AIF_TIMELINE_LAUNCHES, AIF_TIMELINE_OPS, AIF_TIMELINE_EXECS, AIF_TIMELINE_CPU},
	.is_nested = true,
	.begin = begin,
	.pass_end = pass_end,
	.process = process_put,
	.thread = thread_put,
	.device = device_put,
	.load = load_put,
	.load_point = load_point_put,
	.gaps = gaps_put,
	.track = stream_put,
	.counter = counter_put,
	.counter_value = counter_value_put,
	.launch = launch_put,
	.op = op_put,
	.op_end = op_end_put,
	.exec = exec_put,
	.cpu = cpu_put,
};

static int perfetto_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct perfetto w = {0};
	int r = aif_timeline_write(&w.t, &sink, x, out, err);

	aif_timeline_finish(&w.t);
	aif_buf_finish(&w.interned);
	aif_map_finish(&w.known);
	return r;
}

const struct aif_exporter aif_exporter_perfetto = {
	.name = "perfetto",
	.output = "aiflame.pftrace",
	.suffixes = ".pftrace .perfetto-trace .perfetto",
	.write = perfetto_write,
};
