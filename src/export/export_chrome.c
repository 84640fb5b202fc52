/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"
#include "export/counters.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/host_stacks.h"
#include "export/imported.h"
#include "export/json.h"
#include "export/track_ids.h"
#include "profile/file.h"
#include "profile/time.h"

#include <errno.h>
#include <string.h>

/*
 * Trace Event Format, JSON, with the categories and arguments of PyTorch's profiler (Kineto), which its readers go by. A device is a process, a lane of a stream is a thread of it;
 * executions of a lane do not overlap. Launches are on their threads, with the operators, ranges and calls that the profile has. An arrow from launch to execution is a `bind_id` that both
 * have, so that it takes no events of its own. Launch stacks are `stackFrames`, which stand at the end, where all are known; CPU samples are `samples`.
 */

/* Where the end of a call is not recorded, it is drawn this wide, or until the thread's next. */
#define CALL_NS 1000

struct chrome {
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_counters counters;
	struct aif_track_ids ids;
	struct aif_host_stacks stacks;
	struct aif_timeline *timeline;
	struct aif_buf names;    /* of kernels and of transfers, in quotes */
	size_t *names_at;        /* by kernel, then by kind, then the end of all */
	bool are_launches_small; /* their numbers are exact in doubles */
	bool is_first;
	uint64_t given; /* launches, operators, executions, samples, counters */
};

/* ---- pieces -------------------------------------------------------------------------------------- */

static void event_begin(struct chrome *c, const char *phase_to_pid, size_t len)
{
	if (c->is_first)
		c->is_first = false;
	else
		AIF_JSON_LIT(c->b, ",\n");
	aif_buf_append(c->b, phase_to_pid, len);
}
#define EVENT(c, literal) event_begin(c, literal, sizeof(literal) - 1)

static void ids_put(struct chrome *c, uint32_t pid, uint32_t tid)
{
	aif_out_json_u64(c->b, pid);
	AIF_JSON_LIT(c->b, ",\"tid\":");
	aif_out_json_u64(c->b, tid);
}

static void time_put(struct chrome *c, int64_t at)
{
	AIF_JSON_LIT(c->b, ",\"ts\":");
	aif_out_json_decimal(c->b, at - c->events.start_ns, 3);
}

static void u64_put(struct chrome *c, const char *key, uint64_t v)
{
	aif_buf_puts(c->b, key);
	aif_out_json_u64(c->b, v);
}

/* What names a track. `recorded`: what of that is the process's or thread's own name, which import reads, as it does
 * `number`, where the track could not have it; NULL: it is neither. */
static void meta_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     struct aif_buf *name, const char *recorded, uint32_t number)
{
	EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->b, what);
	AIF_JSON_LIT(c->b, "\",\"pid\":");
	ids_put(c, pid, tid);
	AIF_JSON_LIT(c->b, ",\"args\":{\"name\":");
	aif_out_json_text(c->b, aif_buf_str(name));
	if (recorded) {
		AIF_JSON_LIT(c->b, ",\"recorded\":");
		aif_out_json_text(c->b, recorded);
		if (number != (tid ? tid : pid))
			u64_put(c, ",\"recorded id\":", number);
	}
	AIF_JSON_LIT(c->b, "}}");
	aif_buf_finish(name);
}

static void order_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		      uint64_t index)
{
	EVENT(c, "{\"ph\":\"M\",\"name\":\"");
	aif_buf_puts(c->b, what);
	AIF_JSON_LIT(c->b, "\",\"pid\":");
	ids_put(c, pid, tid);
	u64_put(c, ",\"args\":{\"sort_index\":", index);
	AIF_JSON_LIT(c->b, "}}");
}

/* ---- tracks -------------------------------------------------------------------------------------- */

static void host_tracks(struct chrome *c)
{
	const struct aif_profile *p = c->p;
	struct aif_buf name = {0};

	for (uint32_t i = 0; i < p->processes_len; i++) {
		aif_export_process_name(p, i, &name);
		meta_put(c, "process_name", c->ids.processes[i], 0, &name,
			 aif_export_process_own(p, i), p->processes[i].pid);
		order_put(c, "process_sort_index", c->ids.processes[i], 0, i);
	}
	for (uint32_t i = 0; i < p->threads_len; i++) {
		aif_export_thread_name(p, i, &name);
		meta_put(c, "thread_name", aif_track_id_process(&c->ids, p->threads[i].process),
			 c->ids.threads[i], &name, aif_profile_str(p, p->threads[i].name),
			 p->threads[i].tid);
		aif_out_flush_if_full(c->out);
	}
}

static void device_tracks(struct chrome *c)
{
	const struct aif_events *e = &c->events;
	struct aif_buf name = {0};

	for (size_t i = 0; i < e->tracks_len; i++) {
		uint32_t device = e->tracks[i].device, pid = aif_track_id_device(device);

		if (aif_event_track_is_first(e, i)) {
			aif_export_device_name(c->p, device, &name);
			meta_put(c, "process_name", pid, 0, &name, NULL, 0);
			order_put(c, "process_sort_index", pid, 0, pid);
		}
		aif_event_track_name(e->p, &e->tracks[i], &name);
		meta_put(c, "thread_name", pid, (uint32_t)i + 1, &name, NULL, 0);
		order_put(c, "thread_sort_index", pid, (uint32_t)i + 1, i + 1);
		aif_out_flush_if_full(c->out);
	}
}

/* ---- launches and executions --------------------------------------------------------------------- */

/* Readers of traces go by whole names, whatever --detail says of stacks: Kineto's own, or as it would write them. */
static void kernel_text(struct chrome *c, const char *name)
{
	struct aif_buf text = {0};

	if (!aif_is_imported(c->p) && c->x->detail != AIF_NAME_FULL)
		aif_demangle(name, &text);
	else
		aif_buf_puts(&text, name);
	aif_out_json_string(&c->names, aif_buf_str(&text), text.len);
	c->names.failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

/* Before the first kernel's name is used. Transfers have Kineto's, which say their direction. */
static int names_make(struct chrome *c)
{
	static const char *const others[AIF_LAUNCH_KIND_COUNT] = {
		[AIF_LAUNCH_KERNEL] = "[unknown kernel]",
		[AIF_LAUNCH_MAP] = "[map]",
		[AIF_LAUNCH_UNMAP] = "[unmap]",
		[AIF_LAUNCH_MIGRATE] = "[migrate]",
		[AIF_LAUNCH_READ] = "Memcpy DtoH",
		[AIF_LAUNCH_WRITE] = "Memcpy HtoD",
		[AIF_LAUNCH_COPY] = "Memcpy DtoD",
		[AIF_LAUNCH_FILL] = "Memset (Device)",
		[AIF_LAUNCH_ALLOCATE] = "Memory (Allocation)",
		[AIF_LAUNCH_RELEASE] = "Memory (Release)",
	};
	size_t kernels = c->p->kernels_len;

	c->names_at = calloc(kernels + AIF_LAUNCH_KIND_COUNT + 1, sizeof(*c->names_at));
	if (!c->names_at)
		return -ENOMEM;
	for (size_t i = 0; i < kernels + AIF_LAUNCH_KIND_COUNT; i++) {
		if (i < kernels)
			kernel_text(c, aif_profile_str(c->p, c->p->kernels[i].name));
		else
			aif_out_json_text(&c->names, others[i - kernels]);
		c->names_at[i + 1] = c->names.len;
	}
	return aif_buf_failed(&c->names) ? -ENOMEM : 0;
}

static void name_put(struct chrome *c, uint32_t kind, uint32_t kernel)
{
	size_t i = kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE
			   ? kernel
			   : c->p->kernels_len + AIF_MIN(kind, (uint32_t)AIF_LAUNCH_KIND_COUNT - 1);

	aif_buf_append(c->b, c->names.data + c->names_at[i], c->names_at[i + 1] - c->names_at[i]);
}

static void correlation_put(struct chrome *c, uint32_t by)
{
	u64_put(c, "\"correlation\":", c->are_launches_small ? c->events.launches[by].launch : by);
}

static void bind_put(struct chrome *c, uint32_t by)
{
	char text[16];
	size_t at = sizeof(text);

	do {
		text[--at] = "0123456789abcdef"[by & 15];
		by >>= 4;
	} while (by);
	AIF_JSON_LIT(c->b, ",\"bind_id\":\"0x");
	aif_buf_append(c->b, text + at, sizeof(text) - at);
}

static void extent_put(struct chrome *c, const char *key, const uint32_t v[3])
{
	if (!v[0])
		return;
	u64_put(c, key, v[0]);
	u64_put(c, ",", v[1]);
	u64_put(c, ",", v[2]);
	aif_buf_putc(c->b, ']');
}

static const char *runtime_of(const struct chrome *c, uint32_t device)
{
	return device == AIF_NONE ? "" : aif_profile_str(c->p, c->p->devices[device].runtime);
}

static const char *op_name(const struct chrome *c, const struct aif_event_op *o)
{
	return o->name == AIF_NONE ? "" : aif_profile_str(c->p, o->name);
}

static void category_put(struct chrome *c, const char *category)
{
	AIF_JSON_LIT(c->b, ",\"cat\":\"");
	aif_buf_puts(c->b, category);
	AIF_JSON_LIT(c->b, "\",\"name\":");
}

/* An arrow to what it launched, if that is there. */
static void flow_out_put(struct chrome *c, uint32_t launch)
{
	if (!c->events.launches[launch].is_kept ||
	    c->events.launches[launch].first_start == INT64_MAX)
		return;
	bind_put(c, launch);
	AIF_JSON_LIT(c->b, "\",\"flow_out\":true");
}

static int launch_put(struct chrome *c, uint32_t i, int64_t next)
{
	const struct aif_event_launch *l = &c->events.launches[i];
	uint32_t process = l->thread == AIF_NONE ? AIF_NONE : c->p->threads[l->thread].process;
	uint32_t node = aif_host_stacks_node(&c->stacks, l->stack);
	uint32_t call = c->ops.calls[i];
	const char *name;
	size_t len;

	if (!node)
		return -ENOMEM;
	c->given++;
	EVENT(c, "{\"ph\":\"X\",\"pid\":");
	ids_put(c, aif_track_id_process(&c->ids, process), aif_track_id_thread(&c->ids, l->thread));
	time_put(c, l->time);
	AIF_JSON_LIT(c->b, ",\"dur\":");
	aif_out_json_decimal(c->b,
			     call == AIF_NONE ? AIF_MIN(next - l->time, CALL_NS)
					      : (int64_t)c->ops.ops[call].dur,
			     3);
	name = aif_host_name(&c->stacks, node, &len);
	if (call != AIF_NONE) {
		name = op_name(c, &c->ops.ops[call]);
		len = strlen(name);
	}
	category_put(c, aif_event_call_category(name, len, runtime_of(c, l->device)));
	/* Without a call the innermost frame is it; where it is not, what was launched says more. */
	if (call != AIF_NONE || aif_host_type(&c->stacks, node) == AIF_TREE_API)
		aif_out_json_string(c->b, name, len);
	else
		name_put(c, l->kind, l->kernel);
	if (l->stack != AIF_NONE)
		u64_put(c, ",\"sf\":", node);
	flow_out_put(c, i);
	AIF_JSON_LIT(c->b, ",\"args\":{");
	correlation_put(c, i);
	AIF_JSON_LIT(c->b, "}}");
	aif_out_flush_if_full(c->out);
	return c->out->error;
}

static bool is_call(const struct chrome *c, uint32_t call)
{
	return call != AIF_NONE && c->ops.ops[call].kind == AIF_OP_RUNTIME;
}

static int op_put(struct chrome *c, const struct aif_event_op *o)
{
	const char *name = op_name(c, o), *before = "";
	uint32_t node = aif_host_stacks_node(&c->stacks, o->stack);

	if (!node)
		return -ENOMEM;
	c->given++;
	EVENT(c, "{\"ph\":\"X\",\"pid\":");
	ids_put(c, aif_track_id_process(&c->ids, c->p->threads[o->thread].process),
		aif_track_id_thread(&c->ids, o->thread));
	time_put(c, o->start);
	AIF_JSON_LIT(c->b, ",\"dur\":");
	aif_out_json_decimal(c->b, (int64_t)o->dur, 3);
	category_put(c, o->kind == AIF_OP_OPERATOR ? "cpu_op"
			: o->kind == AIF_OP_PYTHON ? "python_function"
			: o->kind == AIF_OP_RUNTIME
				? aif_event_call_category(
					  name, strlen(name),
					  runtime_of(c, c->p->devices_len ? 0 : AIF_NONE))
				: "user_annotation");
	aif_out_json_text(c->b, name);
	if (o->stack != AIF_NONE)
		u64_put(c, ",\"sf\":", node);
	if (o->launch != AIF_NONE)
		flow_out_put(c, o->launch);
	AIF_JSON_LIT(c->b, ",\"args\":{");
	if (o->id) {
		u64_put(c, "\"External id\":", o->id);
		before = ",";
	}
	if (o->sequence >= 0) {
		aif_buf_puts(c->b, before);
		u64_put(c, "\"Sequence number\":", (uint64_t)o->sequence);
		before = ",";
	}
	if (o->shapes != AIF_NONE) {
		const char *shapes = aif_profile_str(c->p, o->shapes);

		aif_buf_puts(c->b, before);
		AIF_JSON_LIT(c->b, "\"Input Dims\":");
		if (aif_json_is_lists(shapes))
			aif_buf_puts(c->b, shapes);
		else
			aif_out_json_text(c->b, shapes);
	}
	AIF_JSON_LIT(c->b, "}}");
	aif_out_flush_if_full(c->out);
	return c->out->error;
}

/* Operators that are to be written and begin before: of earlier threads, or not later than `at`. */
static int ops_put_until(struct chrome *c, size_t *next, uint32_t thread, int64_t at)
{
	int r = 0;

	for (; *next < c->ops.len && !r; ++*next) {
		const struct aif_event_op *o = &c->ops.ops[*next];

		if (o->thread > thread || (o->thread == thread && o->start > at))
			break;
		/* A call that launched something is written as its launch. */
		if (o->launch == AIF_NONE
			    ? o->is_kept
			    : o->kind == AIF_OP_OPERATOR &&
				      (o->is_kept || c->events.launches[o->launch].is_kept))
			r = op_put(c, o);
	}
	return r;
}

/* With operators around what is in them: readers take the first of two with one time for the outer one. */
static int calls_put(struct chrome *c)
{
	const struct aif_events *e = &c->events;
	size_t op = 0;
	int r = 0;

	for (size_t i = 0; i < e->launches_len && !r; i++) {
		size_t next = i + 1;

		if (!e->launches[i].is_kept)
			continue;
		while (next < e->launches_len && !e->launches[next].is_kept)
			next++;
		r = ops_put_until(c, &op, e->launches[i].thread, e->launches[i].time);
		if (!r && (c->ops.calls[i] == AIF_NONE || is_call(c, c->ops.calls[i])))
			r = launch_put(c, (uint32_t)i,
				       next < e->launches_len && e->launches[next].thread ==
									 e->launches[i].thread
					       ? e->launches[next].time
					       : INT64_MAX);
	}
	return r ? r : ops_put_until(c, &op, AIF_NONE, INT64_MAX);
}

static void exec_args(struct chrome *c, const struct aif_event_exec *x,
		      const struct aif_event_track *t)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &c->events.launches[x->by];

	u64_put(c, ",\"args\":{\"device\":", t->device == AIF_NONE ? 0 : t->device);
	u64_put(c, ",\"stream\":", t->stream == AIF_NONE ? 0 : c->p->streams[t->stream].ordinal);
	/* Without a call, as Kineto joins it to its operator. */
	if (by && c->ops.calls[x->by] != AIF_NONE && !is_call(c, c->ops.calls[x->by])) {
		u64_put(c, ",\"External id\":", c->ops.ops[c->ops.calls[x->by]].id);
	} else if (by) {
		aif_buf_putc(c->b, ',');
		correlation_put(c, x->by);
	}
	if (x->kind == AIF_LAUNCH_KERNEL) {
		if (by && by->shape != AIF_NONE && !x->graph) {
			const struct aif_shape *s = &c->p->shapes[by->shape];
			uint32_t blocks[3];

			for (unsigned k = 0; k < 3; k++)
				blocks[k] = s->block[k] ? (uint32_t)(((uint64_t)s->grid[k] +
								      s->block[k] - 1) /
								     s->block[k])
							: s->grid[k];
			extent_put(c, ",\"grid\":[", blocks);
			extent_put(c, ",\"block\":[", s->block);
		}
		if (x->registers) {
			u64_put(c, ",\"registers per thread\":", x->registers);
			u64_put(c, ",\"shared memory\":", x->shared_bytes);
		}
	} else {
		u64_put(c, ",\"bytes\":", x->bytes);
	}
	if (x->graph) {
		u64_put(c, ",\"graph id\":", x->graph);
		u64_put(c, ",\"graph node id\":", x->node);
	}
	aif_buf_putc(c->b, '}');
}

static int execs_put(struct chrome *c)
{
	const struct aif_events *e = &c->events;

	for (size_t i = 0; i < e->execs_len && !c->out->error; i++) {
		const struct aif_event_exec *x = &e->execs[i];
		const struct aif_event_track *t = &e->tracks[x->track];

		c->given++;
		EVENT(c, "{\"ph\":\"X\",\"pid\":");
		ids_put(c, aif_track_id_device(t->device), x->track + 1);
		time_put(c, x->start);
		AIF_JSON_LIT(c->b, ",\"dur\":");
		aif_out_json_decimal(c->b, (int64_t)x->dur, 3);
		aif_buf_puts(c->b, x->kind == AIF_LAUNCH_KERNEL ? ",\"cat\":\"kernel\",\"name\":"
				   : x->kind == AIF_LAUNCH_FILL
					   ? ",\"cat\":\"gpu_memset\",\"name\":"
					   : ",\"cat\":\"gpu_memcpy\",\"name\":");
		name_put(c, x->kind, x->kernel);
		if (x->by != AIF_NONE && e->launches[x->by].is_kept) {
			bind_put(c, x->by);
			AIF_JSON_LIT(c->b, "\",\"flow_in\":true");
		}
		exec_args(c, x, t);
		aif_buf_putc(c->b, '}');
		aif_out_flush_if_full(c->out);
	}
	return 0;
}

/* ---- counters ------------------------------------------------------------------------------------ */

static void counter_put(struct chrome *c, uint32_t pid, int64_t at, const char *name, uint64_t v,
			bool in_hundredths)
{
	EVENT(c, "{\"ph\":\"C\",\"pid\":");
	ids_put(c, pid, 0);
	time_put(c, at);
	aif_buf_puts(c->b, name);
	if (in_hundredths)
		aif_out_json_decimal(c->b, (int64_t)AIF_MIN(v, INT64_MAX / 10) * 10, 3);
	else
		aif_out_json_u64(c->b, v);
	AIF_JSON_LIT(c->b, "}}");
	aif_out_flush_if_full(c->out);
}

static int load_put(struct chrome *c)
{
	const struct aif_events *e = &c->events;
	int r = 0;

	for (size_t i = 0; i < e->tracks_len && !r; i++) {
		uint32_t device = e->tracks[i].device, pid = aif_track_id_device(device);
		struct aif_event_load l;

		if (!aif_event_track_is_first(e, i))
			continue;
		r = aif_event_load_init(&l, e, device);
		for (size_t k = 0; k < l.len && !r; k++) {
			int64_t at = e->start_ns + (int64_t)(k * l.interval_ns);

			if (!k || l.running[k] != l.running[k - 1])
				counter_put(c, pid, at,
					    ",\"name\":\"running\",\"args\":{\"executions\":",
					    l.running[k], true);
			if (!k || l.queued[k] != l.queued[k - 1])
				counter_put(c, pid, at,
					    ",\"name\":\"queued\",\"args\":{\"launches\":",
					    l.queued[k], false);
		}
		aif_event_load_finish(&l);
	}
	return r;
}

/* Of a device that ran nothing the track has no name yet. */
static void counter_device_put(struct chrome *c, uint32_t device)
{
	uint32_t pid = aif_track_id_device(device);
	struct aif_buf name = {0};
	size_t end;

	if (aif_event_device_tracks(&c->events, device, &end) < end)
		return;
	aif_export_device_name(c->p, device, &name);
	meta_put(c, "process_name", pid, 0, &name, NULL, 0);
	order_put(c, "process_sort_index", pid, 0, pid);
}

static void counters_put(struct chrome *c)
{
	const struct aif_counters *all = &c->counters;
	struct aif_buf name = {0};

	for (size_t i = 0; i < all->len; i++) {
		const struct aif_counter *of = &all->at[i];
		const char *unit = of->unit == AIF_NONE ? "" : aif_profile_str(c->p, of->unit);

		if (!i || all->at[i - 1].device != of->device)
			counter_device_put(c, of->device);
		aif_buf_clear(&name);
		aif_counter_name(c->p, of, &name);
		for (size_t k = 0; k < of->len; k++) {
			EVENT(c, "{\"ph\":\"C\",\"pid\":");
			ids_put(c, aif_track_id_device(of->device), 0);
			time_put(c, AIF_MAX(aif_counter_since(all, of, k), c->events.start_ns));
			AIF_JSON_LIT(c->b, ",\"name\":");
			aif_out_json_text(c->b, aif_buf_str(&name));
			AIF_JSON_LIT(c->b, ",\"args\":{");
			aif_out_json_text(c->b, *unit ? unit : "value");
			aif_buf_putc(c->b, ':');
			aif_buf_printf(c->b, "%.17g", all->values[of->first + k].value);
			AIF_JSON_LIT(c->b, "}}");
			aif_out_flush_if_full(c->out);
		}
	}
	aif_buf_finish(&name);
}

/* ---- CPU samples and stacks ---------------------------------------------------------------------- */

static int cpu_put(struct chrome *c, const struct aif_cpu_row *row)
{
	struct aif_cpu_row part;
	uint32_t process, node;
	int64_t at;

	if (!aif_event_cpu_part(c->x, row, &part, &process))
		return 0;
	at = aif_event_time(
		aif_timeline_map(c->timeline, AIF_CLOCK_MONOTONIC, AIF_NONE, part.time, NULL));
	if (at < c->events.start_ns)
		return 0;
	node = aif_host_stacks_node(&c->stacks, row->stack);
	if (!node)
		return -ENOMEM;
	/* speedscope shows these alone where there is such an array, and nothing if it is empty. */
	if (c->is_first)
		AIF_JSON_LIT(c->b, ",\n\"samples\":[\n");
	c->given++;
	EVENT(c, "{\"cpu\":0,\"pid\":");
	ids_put(c, aif_track_id_process(&c->ids, process),
		aif_track_id_thread(&c->ids, row->thread));
	time_put(c, at);
	aif_buf_puts(c->b, row->waiting ? ",\"name\":\"device wait\"" : ",\"name\":\"cpu\"");
	u64_put(c, ",\"sf\":", node);
	u64_put(c, ",\"weight\":", part.waiting ? part.waiting : part.weight);
	aif_buf_putc(c->b, '}');
	aif_out_flush_if_full(c->out);
	return c->out->error;
}

static int cpus_put(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = cpu_put(arg, &rows[i]);
	return r;
}

/* What import reads again: the label alone does not say what it is of. */
static void frame_put(struct chrome *c, uint32_t node)
{
	static const char *const kinds[] = {
		[AIF_FRAME_NATIVE] = "native", [AIF_FRAME_OS] = "os", [AIF_FRAME_PYTHON] = "python",
		[AIF_FRAME_MARK] = "mark",     [AIF_FRAME_OP] = "op", [AIF_FRAME_RANGE] = "range",
		[AIF_FRAME_CALL] = "call",
	};
	const struct aif_host_node *n = &c->stacks.nodes[node];
	uint32_t kind = n->frame == AIF_NONE ? AIF_FRAME_MARK : c->p->frames[n->frame].kind;

	AIF_JSON_LIT(c->b, ",\"kind\":\"");
	if (kind == AIF_FRAME_NATIVE && n->row != AIF_NONE &&
	    c->p->frame_names[n->row].inline_depth)
		AIF_JSON_LIT(c->b, "inlined");
	else
		aif_buf_puts(c->b,
			     kind < AIF_ARRAY_LEN(kinds) && kinds[kind] ? kinds[kind] : "native");
	AIF_JSON_LIT(c->b, "\"");
	if (n->row == AIF_NONE)
		return;
	AIF_JSON_LIT(c->b, ",\"function\":");
	aif_out_json_text(c->b, aif_profile_str(c->p, c->p->frame_names[n->row].name));
	if (*aif_host_file(&c->stacks, node)) {
		AIF_JSON_LIT(c->b, ",\"file\":");
		aif_out_json_text(c->b, aif_host_file(&c->stacks, node));
	}
	if (aif_host_line(&c->stacks, node))
		u64_put(c, ",\"line\":", aif_host_line(&c->stacks, node));
}

static void stacks_put(struct chrome *c)
{
	const struct aif_host_stacks *h = &c->stacks;

	c->is_first = true;
	for (uint32_t i = 1; i < h->len; i++) {
		uint32_t module = aif_host_module(h, i);
		size_t len;
		const char *name = aif_host_name(h, i, &len);

		EVENT(c, "\"");
		aif_out_json_u64(c->b, i);
		AIF_JSON_LIT(c->b, "\":{\"name\":");
		aif_out_json_string(c->b, name, len);
		AIF_JSON_LIT(c->b, ",\"category\":");
		aif_out_json_text(c->b,
				  module == AIF_NONE
					  ? ""
					  : aif_profile_str(c->p, c->p->modules[module].path));
		frame_put(c, i);
		if (h->nodes[i].parent)
			u64_put(c, ",\"parent\":", h->nodes[i].parent);
		aif_buf_putc(c->b, '}');
		aif_out_flush_if_full(c->out);
	}
}

/* Kineto has one for all devices, and as a number: 12090 is 12.9. */
static void driver_put(struct chrome *c)
{
	const char *driver =
			   c->p->devices_len ? aif_profile_str(c->p, c->p->devices[0].driver) : "",
		   *runtime = runtime_of(c, c->p->devices_len ? 0 : AIF_NONE);
	size_t len = strlen(driver);

	if (!len || len > 9 || *driver == '0' || strspn(driver, "0123456789") != len)
		return;
	if (strcmp(runtime, "cuda") && strcmp(runtime, "hip"))
		return;
	aif_buf_printf(c->b, ",\"%s_driver_version\":%s", runtime, driver);
}

/* Where and with what it ran, by Kineto's keys. */
static void machine_put(struct chrome *c)
{
	const char *host = aif_profile_meta(c->p, "host");

	for (size_t i = 0; i < c->p->processes_len && !*host; i++)
		host = aif_profile_str(c->p, c->p->processes[i].host);
	if (*host) {
		AIF_JSON_LIT(c->b, ",\n\"host_name\":");
		aif_out_json_text(c->b, host);
	}
	driver_put(c);
}

static int write_all(struct chrome *c, struct aif_err *err)
{
	int r = aif_events_init(&c->events, c->x, err);

	if (!r)
		r = aif_event_ops_init(&c->ops, &c->events, c->x);
	if (r)
		return r;
	c->are_launches_small = true;
	for (size_t i = 0; i < c->events.launches_len; i++)
		c->are_launches_small &= c->events.launches[i].launch < UINT64_C(1) << 53;
	AIF_JSON_LIT(c->b,
		     "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
	aif_out_json_i64(c->b, (int64_t)aif_export_unix_start(c->p) + c->events.start_ns);
	AIF_JSON_LIT(c->b, ",\"otherData\":{\"exporter\":\"aiflame " AIF_VERSION "\",\"command\":");
	aif_out_json_text(c->b, aif_profile_meta(c->p, "command"));
	AIF_JSON_LIT(c->b, ",\"host\":");
	aif_out_json_text(c->b, aif_profile_meta(c->p, "host"));
	AIF_JSON_LIT(c->b, "},\n\"deviceProperties\":[");
	for (size_t i = 0; i < c->p->devices_len; i++) {
		u64_put(c, i ? ",{\"id\":" : "{\"id\":", i);
		AIF_JSON_LIT(c->b, ",\"name\":");
		aif_out_json_text(c->b, aif_profile_str(c->p, c->p->devices[i].name));
		u64_put(c, ",\"numSms\":", c->p->devices[i].units);
		aif_buf_putc(c->b, '}');
	}
	aif_buf_putc(c->b, ']');
	machine_put(c);
	AIF_JSON_LIT(c->b, ",\n\"traceEvents\":[\n");
	c->is_first = true;
	host_tracks(c);
	device_tracks(c);
	r = names_make(c);
	if (!r)
		r = calls_put(c);
	if (!r)
		r = execs_put(c);
	if (!r)
		r = load_put(c);
	if (!r && !c->x->kernel)
		r = aif_counters_read(c->p, &c->x->which, &c->counters);
	aif_export_damaged(c->x, c->counters.damaged);
	c->given += c->counters.len;
	if (!r)
		counters_put(c);
	AIF_JSON_LIT(c->b, "]");
	c->is_first = true;
	if (!r && !c->x->which.devices && !c->x->kernel)
		r = aif_export_cpu(c->x, cpus_put, c);
	if (!c->is_first)
		AIF_JSON_LIT(c->b, "]");
	if (!r && !c->given)
		return aif_export_nothing(err);
	AIF_JSON_LIT(c->b, ",\n\"stackFrames\":{\n");
	stacks_put(c);
	AIF_JSON_LIT(c->b, "}}\n");
	return r;
}

static int chrome_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct chrome c = {.x = x, .p = x->profile, .out = out, .b = aif_out_buf(out)};
	int r = aif_track_ids_init(&c.ids, c.p);

	if (!r)
		r = aif_host_stacks_init(&c.stacks, c.p, x->detail);
	if (!r)
		r = aif_timeline_new(c.p, &c.timeline);
	if (!r)
		r = write_all(&c, err);
	aif_timeline_free(c.timeline);
	aif_event_ops_finish(&c.ops);
	aif_counters_finish(&c.counters);
	aif_events_finish(&c.events);
	aif_host_stacks_finish(&c.stacks);
	aif_track_ids_finish(&c.ids);
	aif_buf_finish(&c.names);
	free(c.names_at);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

const struct aif_exporter aif_exporter_chrome = {
	.name = "chrome",
	.output = "aiflame.json",
	.suffixes = ".json",
	.is_text = true,
	.write = chrome_write,
};
