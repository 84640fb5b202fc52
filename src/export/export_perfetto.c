/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Perfetto's trace (perfetto.dev, protos/perfetto/trace): packets of one sequence. What is declared stable carries the
 * time line: TrackDescriptor and TrackEvent. A device is a track, its streams' lanes are tracks under it, so that
 * executions that overlap stay slices of their own; a launch whose call's end is not recorded is an instant of its
 * thread, another a slice, and each flows into what it launched. Names, frames and stacks are interned once. Time is
 * CLOCK_MONOTONIC, as the recording's.
 */
/* ---- packets ------------------------------------------------------------------------------------- */

static uint64_t stamp(const struct perfetto *w, int64_t at)
{
	uint64_t start = w->p->start_ns;

	return at < 0 && (uint64_t)-at > start ? 0 : start + (uint64_t)at;
}

/* Appends an event up to its type; 0 as `track` is the default's. The result is for event_end(). */
static size_t event_begin(struct perfetto *w, int64_t at, uint64_t track, unsigned type)
{
	size_t event;

	perfetto_packet_begin(w);
	aif_proto_u64(w->b, TIMESTAMP, stamp(w, at));
	event = aif_proto_begin_small(w->b, TRACK_EVENT);
	aif_proto_u64(w->b, TYPE, type);
	aif_proto_u64(w->b, TRACK_UUID, track);
	return event;
}

static void event_end(struct perfetto *w, size_t event)
{
	aif_proto_end_small(w->b, event);
	perfetto_packet_end(w);
}

static uint64_t track_of(unsigned whose, uint32_t id)
{
	return (uint64_t)whose << 32 | id;
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

	perfetto_packet_begin(w);
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
	perfetto_packet_end(w);
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

static void running_put(struct perfetto *w, uint32_t device, int64_t at, double v)
{
	size_t event = event_begin(w, at, track_of(OF_RUNNING, device), TYPE_COUNTER);

	aif_proto_double(w->b, DOUBLE_COUNTER_VALUE, v);
	event_end(w, event);
}

static void queued_put(struct perfetto *w, uint32_t device, int64_t at, double v)
{
	size_t event = event_begin(w, at, track_of(OF_QUEUED, device), TYPE_COUNTER);

	aif_proto_double(w->b, DOUBLE_COUNTER_VALUE, v);
	event_end(w, event);
}

/* The device's curves: a point where a value changes. Where nothing was collected it is no number, which SQL has as
 * NULL. */
static int load_put(struct perfetto *w, uint32_t device)
{
	struct aif_buf name = {0};
	struct aif_event_load l;
	int r = aif_event_load_init(&l, &w->events, device);

	aif_buf_puts(&name, "running");
	counter_track(w, track_of(OF_RUNNING, device), device, &name, "executions");
	aif_buf_puts(&name, "queued");
	counter_track(w, track_of(OF_QUEUED, device), device, &name, "launches");
	for (size_t i = 0; i < l.points_len && !r; i++) {
		const struct aif_event_load_point *at = &l.points[i], *was = i ? at - 1 : NULL;
		bool is_new = !was || at->is_known != was->is_known;

		if (is_new || at->running != was->running)
			running_put(w, device, at->at,
				    at->is_known ? (double)at->running / 100 : NAN);
		if (is_new || at->queued != was->queued)
			queued_put(w, device, at->at, at->is_known ? (double)at->queued : NAN);
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

/* When nothing was captured: slices of a track of their own. */
static void gaps_put(struct perfetto *w, uint32_t track)
{
	const struct aif_event_track *t = &w->events.tracks[track];
	uint64_t uuid = track_of(OF_GAPS, track);
	struct aif_buf name = {0};
	size_t n, event;
	const struct aif_gap *gaps = aif_event_gaps(&w->events, t->process, &n);

	if (!n)
		return;
	aif_event_gaps_name(w->p, t, &name);
	track_end(w, track_begin(w, uuid, track_of(OF_DEVICE, t->device), &name));
	aif_buf_finish(&name);
	for (size_t i = 0; i < n; i++) {
		event = event_begin(w, (int64_t)gaps[i].start, uuid, TYPE_BEGIN);
		aif_proto_u64(w->b, NAME_IID, GAP_NAME);
		aif_proto_u64(w->b, CATEGORY_IIDS, CATEGORY_GAP);
		event_end(w, event);
		event_end(w, event_begin(w, (int64_t)gaps[i].end, uuid, TYPE_END));
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
		if (aif_event_track_has_gaps(e, i))
			gaps_put(w, i);
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

	if (!node || perfetto_callstack(w, node) < 0)
		return -ENOMEM;
	name = w->stacks.nodes[node].name;
	if (aif_host_type(&w->stacks, node) != AIF_TREE_API) {
		if (aif_frame_labels_kernel(w->stacks.labels, l->kernel, l->kind, &label) < 0)
			return -ENOMEM;
		name = label.name;
	}
	perfetto_name(w, EVENT_NAMES, name);
	perfetto_interned_flush(w);
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
	uint64_t name = perfetto_string(w, o->name);
	size_t event;

	if (!node || perfetto_callstack(w, node) < 0)
		return -ENOMEM;
	perfetto_interned_flush(w);
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
			names[which] = perfetto_name(w, EVENT_NAMES, l.name);
			perfetto_interned_flush(w);
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
	if (!node || perfetto_callstack(w, node) < 0)
		return -ENOMEM;
	perfetto_interned_flush(w);
	w->given++;
	perfetto_packet_begin(w);
	aif_proto_u64(w->b, TIMESTAMP, part.time);
	sample = aif_proto_begin_small(w->b, PERF_SAMPLE);
	aif_proto_u64(w->b, 2, aif_track_id_process(&w->ids, process));
	aif_proto_u64(w->b, 3, w->ids.threads[row->thread]);
	aif_proto_u64(w->b, 4, node);
	aif_proto_u64(w->b, 5, 2); /* user mode */
	aif_proto_end_small(w->b, sample);
	perfetto_packet_end(w);
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
	perfetto_constants(w);
	perfetto_interned_flush(w);
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
	if (!r)
		r = aif_export_is_captured_only(w->x);
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
