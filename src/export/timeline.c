/* SPDX-License-Identifier: Apache-2.0 */
#include "export/timeline.h"

#include "base/sort.h"

#include <errno.h>

/* Width of a call whose end is not recorded, unless the thread's next event comes before. */
#define CALL_NS 1000

enum { OF_DEVICES = AIF_TIMELINE_DEVICES | AIF_TIMELINE_LOAD | AIF_TIMELINE_EXECS };
enum { OF_CALLS = AIF_TIMELINE_LAUNCHES | AIF_TIMELINE_OPS };

/* Hands on, if the sink has the slot; else the arguments are not evaluated. */
#define CALL(t, slot, ...) ((t)->sink->slot ? (t)->sink->slot((t), ##__VA_ARGS__) : 0)

/* Counts an event by what its slot returned. 0 or -errno. */
static int count(struct aif_timeline_walk *t, int r)
{
	t->written += !r;
	return r < 0 ? r : t->out->error;
}

/* ---- devices ------------------------------------------------------------------------------------- */

static int load_point(struct aif_timeline_walk *t, uint32_t device,
		      const struct aif_event_load_point *at, const struct aif_event_load_point *was)
{
	bool is_new = !was || at->is_known != was->is_known;
	int r = 0;

	if (is_new || at->running != was->running)
		r = CALL(t, load_point, device, AIF_TIMELINE_RUNNING, at);
	if (!r && (is_new || at->queued != was->queued))
		r = CALL(t, load_point, device, AIF_TIMELINE_QUEUED, at);
	return r;
}

/* Draws a device's curves: a point where a value changes. */
static int load_walk(struct aif_timeline_walk *t, uint32_t device)
{
	struct aif_event_load l;
	int r = aif_event_load_init(&l, &t->events, device);

	if (!r)
		r = CALL(t, load, device);
	for (size_t i = 0; i < l.points_len && !r; i++)
		r = load_point(t, device, &l.points[i], i ? &l.points[i - 1] : NULL);
	aif_event_load_finish(&l);
	return r;
}

static int gaps_walk(struct aif_timeline_walk *t, uint32_t track)
{
	size_t n;
	const struct aif_gap *gaps =
		aif_event_gaps(&t->events, t->events.tracks[track].process, &n);

	return n ? CALL(t, gaps, track, gaps, n) : 0;
}

static int track_walk(struct aif_timeline_walk *t, unsigned parts, uint32_t track)
{
	const struct aif_event_track *of = &t->events.tracks[track];
	bool is_device = parts & AIF_TIMELINE_DEVICES;
	int r = is_device && aif_event_track_has_gaps(&t->events, track) ? gaps_walk(t, track) : 0;

	if (!r && is_device)
		r = CALL(t, track, track);
	for (size_t i = 0; i < of->len && (parts & AIF_TIMELINE_EXECS) && !r; i++)
		r = count(t, CALL(t, exec, &t->events.execs[of->first + i]));
	if (!r && is_device)
		r = CALL(t, track_end, track);
	return r;
}

static int devices_walk(struct aif_timeline_walk *t, unsigned parts)
{
	const struct aif_events *e = &t->events;
	int r = 0;

	for (uint32_t i = 0; i < e->tracks_len && !r;) {
		uint32_t device = e->tracks[i].device;

		if (parts & AIF_TIMELINE_DEVICES)
			r = CALL(t, device, device);
		if (!r && (parts & AIF_TIMELINE_LOAD))
			r = load_walk(t, device);
		for (; i < e->tracks_len && e->tracks[i].device == device && !r; i++)
			r = track_walk(t, parts, i);
		if (!r && (parts & AIF_TIMELINE_DEVICES))
			r = CALL(t, device_end, device);
	}
	return r;
}

static bool has_track(const struct aif_events *e, uint32_t device)
{
	size_t end;

	return aif_event_device_tracks(e, device, &end) < end;
}

static int counters_walk(struct aif_timeline_walk *t)
{
	const struct aif_counters *all = &t->counters;
	int r = 0;

	for (uint32_t i = 0; i < all->len && !r; i++) {
		const struct aif_counter *of = &all->at[i];

		t->written++;
		if ((!i || of[-1].device != of->device) && !has_track(&t->events, of->device))
			r = CALL(t, device, of->device);
		if (!r)
			r = CALL(t, counter, i);
		for (size_t k = 0; k < of->len && !r; k++)
			r = CALL(t, counter_value, i, aif_counter_since(all, of, k),
				 all->values[of->first + k].value);
	}
	return r;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static int cpu_walk(struct aif_timeline_walk *t, const struct aif_cpu_row *row, uint32_t process)
{
	uint64_t start = t->p->start_ns;
	int64_t at = row->time >= start
			     ? (int64_t)AIF_MIN(row->time - start, (uint64_t)AIF_TIME_MAX)
			     : -(int64_t)AIF_MIN(start - row->time, (uint64_t)AIF_TIME_MAX);

	return count(t, CALL(t, cpu, row, process, at));
}

static int cpus_collect(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct aif_timeline_walk *t = arg;
	struct aif_cpu_row part;
	uint32_t process;

	for (size_t i = 0; i < n; i++) {
		if (!aif_event_cpu_part(t->x, &rows[i], &part, &process))
			continue;
		if (aif_grow(&t->cpus, &t->cpus_cap, t->cpus_len + 1, sizeof(*t->cpus)) < 0)
			return -ENOMEM;
		t->cpus[t->cpus_len++] = part;
	}
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct aif_cpu_row *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->time, y->time);
}

/* Reads CPU samples by thread. They are of no device and of no kernel. */
static int cpus_load(struct aif_timeline_walk *t)
{
	int r;

	t->cpus_len = 0;
	r = aif_export_cpu(t->x, cpus_collect, t);
	aif_sort(t->cpus, t->cpus_len, sizeof(*t->cpus), by_thread);
	return r;
}

/* Walks CPU samples alone. A file has some of a thread's behind later ones, which readers refuse. */
static int cpus_walk(struct aif_timeline_walk *t)
{
	int r = cpus_load(t);

	for (size_t i = 0; i < t->cpus_len && !r; i++) {
		uint32_t thread = t->cpus[i].thread;

		r = cpu_walk(t, &t->cpus[i],
			     thread == AIF_NONE ? AIF_NONE : t->p->threads[thread].process);
	}
	return r;
}

/* Position in each kind of event, in the order of threads; events of no thread come last. */
struct cursor {
	unsigned parts;
	size_t cpu, op, launch;
};

/* Steps over operators that are not drawn. */
static void op_seek(const struct aif_timeline_walk *t, struct cursor *at)
{
	if (!(at->parts & AIF_TIMELINE_OPS))
		at->op = t->ops.len;
	while (at->op < t->ops.len && !aif_event_op_is_shown(&t->ops.ops[at->op], &t->events))
		at->op++;
}

/* Steps over launches that are not drawn, or are drawn as their call. */
static void launch_seek(const struct aif_timeline_walk *t, struct cursor *at)
{
	const struct aif_events *e = &t->events;

	if (!(at->parts & AIF_TIMELINE_LAUNCHES))
		at->launch = e->launches_len;
	while (at->launch < e->launches_len &&
	       (!e->launches[at->launch].is_kept || t->ops.calls[at->launch] != AIF_NONE))
		at->launch++;
}

/* The next time of the thread's operators, of its launches; INT64_MAX: there is none. */
static int64_t op_time(const struct aif_timeline_walk *t, const struct cursor *at, uint32_t thread)
{
	return at->op < t->ops.len && t->ops.ops[at->op].thread == thread ? t->ops.ops[at->op].start
									  : INT64_MAX;
}
static int64_t launch_time(const struct aif_timeline_walk *t, size_t launch, uint32_t thread)
{
	const struct aif_events *e = &t->events;

	return launch < e->launches_len && e->launches[launch].thread == thread
		       ? e->launches[launch].time
		       : INT64_MAX;
}

/* Ends the operators that are over at `start`. */
static int ops_end(struct aif_timeline_walk *t, uint32_t thread, int64_t start)
{
	int r = 0;

	for (; t->depth && t->ends[t->depth - 1] <= start && !r; t->depth--)
		r = CALL(t, op_end, thread, t->ends[t->depth - 1]);
	return r;
}

/* Cuts off what runs on beyond the operator that it began in. */
static int64_t nested_end(const struct aif_timeline_walk *t, int64_t end)
{
	return t->sink->is_nested && t->depth ? AIF_MIN(end, t->ends[t->depth - 1]) : end;
}

static int op_walk(struct aif_timeline_walk *t, struct cursor *at)
{
	const struct aif_event_op *o = &t->ops.ops[at->op++];
	int64_t end = nested_end(t, aif_event_op_end(o));

	op_seek(t, at);
	if (t->sink->is_nested) {
		if (aif_grow(&t->ends, &t->ends_cap, t->depth + 1, sizeof(*t->ends)) < 0)
			return -ENOMEM;
		t->ends[t->depth++] = end;
	}
	return count(t, CALL(t, op, o, end));
}

/* Walks a launch. Its end is the thread's next event, at the latest CALL_NS later. */
static int launch_walk(struct aif_timeline_walk *t, struct cursor *at, uint32_t thread)
{
	const struct aif_events *e = &t->events;
	size_t i = at->launch++, next = i + 1;
	int64_t end = op_time(t, at, thread);

	launch_seek(t, at);
	while (next < e->launches_len && !e->launches[next].is_kept)
		next++;
	end = AIF_MIN(end, launch_time(t, t->sink->is_nested ? at->launch : next, thread));
	end = AIF_MIN(end, e->launches[i].time + CALL_NS);
	return count(t, CALL(t, launch, (uint32_t)i, nested_end(t, end)));
}

static int calls_walk(struct aif_timeline_walk *t, struct cursor *at, uint32_t thread)
{
	int r = 0;

	while (!r) {
		int64_t of_op = op_time(t, at, thread),
			of_launch = launch_time(t, at->launch, thread),
			start = AIF_MIN(of_op, of_launch);

		r = ops_end(t, thread, start);
		if (start == INT64_MAX || r)
			break;
		r = of_op <= of_launch ? op_walk(t, at) : launch_walk(t, at, thread);
	}
	return r;
}

static uint32_t next_thread(const struct aif_timeline_walk *t, const struct cursor *at)
{
	uint32_t thread = AIF_NONE;

	if (at->cpu < t->cpus_len)
		thread = t->cpus[at->cpu].thread;
	if (at->op < t->ops.len)
		thread = AIF_MIN(thread, t->ops.ops[at->op].thread);
	if (at->launch < t->events.launches_len)
		thread = AIF_MIN(thread, t->events.launches[at->launch].thread);
	return thread;
}

static int threads_walk(struct aif_timeline_walk *t, unsigned parts)
{
	struct cursor at = {.parts = parts};
	int r = 0;

	op_seek(t, &at);
	launch_seek(t, &at);
	while (!r &&
	       (at.cpu < t->cpus_len || at.op < t->ops.len || at.launch < t->events.launches_len)) {
		uint32_t thread = next_thread(t, &at),
			 process = thread == AIF_NONE ? AIF_NONE : t->p->threads[thread].process;

		r = CALL(t, calls, thread);
		for (; at.cpu < t->cpus_len && t->cpus[at.cpu].thread == thread && !r; at.cpu++)
			r = cpu_walk(t, &t->cpus[at.cpu], process);
		if (!r)
			r = calls_walk(t, &at, thread);
		if (!r)
			r = CALL(t, calls_end, thread);
	}
	return r;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int host_walk(struct aif_timeline_walk *t)
{
	int r = 0;

	for (uint32_t i = 0; i < t->p->processes_len && !r; i++)
		r = CALL(t, process, i);
	for (uint32_t i = 0; i < t->p->threads_len && !r; i++)
		r = CALL(t, thread, i);
	return r;
}

static int parts_walk(struct aif_timeline_walk *t, unsigned parts)
{
	bool has_cpus = (parts & AIF_TIMELINE_CPU) && !t->x->sel.devices && !t->x->kernel;
	int r = parts & AIF_TIMELINE_HOST ? host_walk(t) : 0;

	if (!r && (parts & OF_DEVICES))
		r = devices_walk(t, parts);
	if (!r && (parts & AIF_TIMELINE_COUNTERS))
		r = counters_walk(t);
	if (!r && has_cpus)
		r = parts & OF_CALLS ? cpus_load(t) : cpus_walk(t);
	if (!r && (parts & OF_CALLS))
		r = threads_walk(t, parts);
	return r;
}

static int walk(struct aif_timeline_walk *t)
{
	int r = CALL(t, begin);

	for (unsigned i = 0; i < AIF_TIMELINE_PASSES && t->sink->passes[i] && !r; i++) {
		unsigned parts = t->sink->passes[i];

		r = CALL(t, pass_begin, parts);
		if (!r)
			r = parts_walk(t, parts);
		if (!r)
			r = CALL(t, pass_end, parts);
	}
	return r;
}

static int load(struct aif_timeline_walk *t, struct aif_err *err)
{
	const struct aif_export *x = t->x;
	unsigned parts = 0;
	int r = aif_track_ids_init(&t->ids, t->p);

	for (unsigned i = 0; i < AIF_TIMELINE_PASSES && t->sink->passes[i]; i++)
		parts |= t->sink->passes[i];
	if (!r)
		r = aif_host_stacks_init(&t->stacks, x->names, x->detail);
	t->exec_names = calloc(t->p->kernels_len + AIF_LAUNCH_KIND_COUNT, sizeof(*t->exec_names));
	if (!r && !t->exec_names)
		r = -ENOMEM;
	if (!r)
		r = aif_events_init(&t->events, x, err);
	if (!r)
		r = aif_event_ops_init(&t->ops, &t->events, x);
	/* Counters are of devices, but of no kernel. */
	if (!r && (parts & AIF_TIMELINE_COUNTERS) && !x->kernel)
		r = aif_counters_read(t->p, &x->sel, &t->counters);
	aif_export_damaged(x, t->counters.damaged);
	return r;
}

int aif_timeline_write(struct aif_timeline_walk *t, const struct aif_timeline_sink *sink,
		       const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	int r;

	t->x = x;
	t->p = x->profile;
	t->out = out;
	t->b = aif_out_buf(out);
	t->sink = sink;
	if (t->p->traits.is_lengths)
		return aif_err_set(
			err, -ENODATA,
			"export: the profile has no times: import laid its stacks one after "
			"another, which is no time line; choose --format pprof, "
			"speedscope, otlp or folded");
	r = load(t, err);
	if (!r)
		r = walk(t);
	if (!r && !(sink->has_left_out && sink->has_left_out(x) && t->events.execs_len))
		r = aif_export_is_captured_only(x);
	if (!r && !t->written)
		return aif_export_nothing(err);
	if (!r)
		r = CALL(t, end);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

void aif_timeline_finish(struct aif_timeline_walk *t)
{
	aif_event_ops_finish(&t->ops);
	aif_counters_finish(&t->counters);
	aif_events_finish(&t->events);
	aif_host_stacks_finish(&t->stacks);
	aif_track_ids_finish(&t->ids);
	free(t->cpus);
	free(t->ends);
	free(t->exec_names);
}

/* ---- names --------------------------------------------------------------------------------------- */

int aif_timeline_launch_name(struct aif_timeline_walk *t, const struct aif_event_launch *l,
			     uint32_t node, uint32_t *ret)
{
	struct aif_frame_label label;

	*ret = t->stacks.nodes[node].name;
	if (aif_host_type(&t->stacks, node) == AIF_TREE_API)
		return 0;
	if (aif_frame_labels_kernel(t->stacks.labels, l->kernel, l->kind, &label) < 0)
		return -ENOMEM;
	*ret = label.name;
	return 0;
}

uint32_t aif_timeline_exec_node(struct aif_timeline_walk *t, const struct aif_event_exec *x)
{
	uint32_t stack = x->by == AIF_NONE ? AIF_NONE : t->events.launches[x->by].stack;
	uint32_t node = aif_host_stacks_node(&t->stacks, stack);

	if (!x->graph)
		return node;
	return aif_export_graph_node(&t->stacks, t->p, node, t->events.tracks[x->track].device,
				     x->graph, stack, x->capture);
}

int aif_timeline_exec_name(struct aif_timeline_walk *t, const struct aif_event_exec *x,
			   uint32_t *ret)
{
	uint32_t kind = AIF_MIN(x->kind, (uint32_t)AIF_LAUNCH_KIND_COUNT - 1);
	uint32_t *known =
		&t->exec_names[x->kernel != AIF_NONE ? x->kernel : t->p->kernels_len + kind];
	struct aif_frame_label label;

	if (!*known) {
		if (aif_frame_labels_kernel(t->stacks.labels, x->kernel, x->kind, &label) < 0)
			return -ENOMEM;
		*known = label.name + 1;
	}
	*ret = *known - 1;
	return 0;
}
