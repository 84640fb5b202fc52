/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"
#include "export/chrome.h"
#include "export/imported.h"
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
		[AIF_LAUNCH_PEER] = "Memcpy PtoP",
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
	chrome_u64_put(
		c, "\"correlation\":", c->are_launches_small ? c->events.launches[by].launch : by);
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
	chrome_u64_put(c, key, v[0]);
	chrome_u64_put(c, ",", v[1]);
	chrome_u64_put(c, ",", v[2]);
	aif_buf_putc(c->b, ']');
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

/* What was launched, where no execution says it: import has launches without times, too. */
static void untimed_put(struct chrome *c, const struct aif_event_launch *l)
{
	chrome_u64_put(c, ",\"launched\":", l->kind);
	AIF_JSON_LIT(c->b, ",\"name\":");
	name_put(c, l->kind, l->kernel);
	chrome_u64_put(c, ",\"device\":", l->device == AIF_NONE ? 0 : l->device);
	chrome_u64_put(
		c, ",\"stream\":", l->stream == AIF_NONE ? 0 : c->p->streams[l->stream].ordinal);
}

static int launch_put(struct chrome *c, uint32_t i, int64_t next)
{
	const struct aif_event_launch *l = &c->events.launches[i];
	uint32_t process = l->thread == AIF_NONE ? AIF_NONE : c->p->threads[l->thread].process;
	uint32_t node = aif_host_stacks_node(&c->stacks, l->stack);
	uint32_t call = c->ops.calls[i];
	const char *name;
	size_t len;
	int r;

	if (!node)
		return -ENOMEM;
	c->given++;
	CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->ids, process),
		       aif_track_id_thread(&c->ids, l->thread));
	chrome_time_put(c, l->time);
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
	category_put(c, aif_event_call_category(name, len, chrome_runtime_of(c, l->device)));
	/* Without a call the innermost frame is it; where it is not, what was launched says more. */
	if (call != AIF_NONE || aif_host_type(&c->stacks, node) == AIF_TREE_API)
		aif_out_json_string(c->b, name, len);
	else
		name_put(c, l->kind, l->kernel);
	r = chrome_stack_put(c, l->stack, &node);
	if (r < 0)
		return r;
	flow_out_put(c, i);
	AIF_JSON_LIT(c->b, ",\"args\":{");
	correlation_put(c, i);
	if (l->first_start == INT64_MAX)
		untimed_put(c, l);
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
	uint32_t node;

	c->given++;
	CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->ids, c->p->threads[o->thread].process),
		       aif_track_id_thread(&c->ids, o->thread));
	chrome_time_put(c, o->start);
	AIF_JSON_LIT(c->b, ",\"dur\":");
	aif_out_json_decimal(c->b, (int64_t)o->dur, 3);
	category_put(c, o->kind == AIF_OP_OPERATOR ? "cpu_op"
			: o->kind == AIF_OP_PYTHON ? "python_function"
			: o->kind == AIF_OP_RUNTIME
				? aif_event_call_category(
					  name, strlen(name),
					  chrome_runtime_of(c, c->p->devices_len ? 0 : AIF_NONE))
				: "user_annotation");
	aif_out_json_text(c->b, name);
	if (chrome_stack_put(c, o->stack, &node) < 0)
		return -ENOMEM;
	if (o->launch != AIF_NONE)
		flow_out_put(c, o->launch);
	AIF_JSON_LIT(c->b, ",\"args\":{");
	if (o->id) {
		chrome_u64_put(c, "\"External id\":", o->id);
		before = ",";
	}
	if (o->sequence >= 0) {
		aif_buf_puts(c->b, before);
		chrome_u64_put(c, "\"Sequence number\":", (uint64_t)o->sequence);
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

	chrome_u64_put(c, ",\"args\":{\"device\":", t->device == AIF_NONE ? 0 : t->device);
	chrome_u64_put(
		c, ",\"stream\":", t->stream == AIF_NONE ? 0 : c->p->streams[t->stream].ordinal);
	/* Without a call, as Kineto joins it to its operator. */
	if (by && c->ops.calls[x->by] != AIF_NONE && !is_call(c, c->ops.calls[x->by])) {
		chrome_u64_put(c, ",\"External id\":", c->ops.ops[c->ops.calls[x->by]].id);
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
			chrome_u64_put(c, ",\"registers per thread\":", x->registers);
			chrome_u64_put(c, ",\"shared memory\":", x->shared_bytes);
		}
	} else {
		chrome_u64_put(c, ",\"bytes\":", x->bytes);
	}
	if (x->graph) {
		chrome_u64_put(c, ",\"graph id\":", x->graph);
		chrome_u64_put(c, ",\"graph node id\":", x->node);
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
		CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
		chrome_ids_put(c, aif_track_id_device(t->device), x->track + 1);
		chrome_time_put(c, x->start);
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
	CHROME_EVENT(c, "{\"cpu\":0,\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->ids, process),
		       aif_track_id_thread(&c->ids, row->thread));
	chrome_time_put(c, at);
	aif_buf_puts(c->b, row->waiting ? ",\"name\":\"device wait\"" : ",\"name\":\"cpu\"");
	chrome_u64_put(c, ",\"sf\":", node);
	chrome_u64_put(c, ",\"weight\":", part.waiting ? part.waiting : part.weight);
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

/* Kineto has one for all devices, and as a number: 12090 is 12.9. */
static void driver_put(struct chrome *c)
{
	const char *driver =
			   c->p->devices_len ? aif_profile_str(c->p, c->p->devices[0].driver) : "",
		   *runtime = chrome_runtime_of(c, c->p->devices_len ? 0 : AIF_NONE);
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
		chrome_u64_put(c, i ? ",{\"id\":" : "{\"id\":", i);
		AIF_JSON_LIT(c->b, ",\"name\":");
		aif_out_json_text(c->b, aif_profile_str(c->p, c->p->devices[i].name));
		chrome_u64_put(c, ",\"numSms\":", c->p->devices[i].units);
		aif_buf_putc(c->b, '}');
	}
	aif_buf_putc(c->b, ']');
	machine_put(c);
	AIF_JSON_LIT(c->b, ",\n\"traceEvents\":[\n");
	c->is_first = true;
	chrome_host_tracks(c);
	chrome_device_tracks(c);
	r = names_make(c);
	if (!r)
		r = calls_put(c);
	if (!r)
		r = execs_put(c);
	if (!r)
		r = chrome_load_put(c);
	if (!r && !c->x->kernel)
		r = aif_counters_read(c->p, &c->x->which, &c->counters);
	aif_export_damaged(c->x, c->counters.damaged);
	c->given += c->counters.len;
	if (!r)
		chrome_counters_put(c);
	AIF_JSON_LIT(c->b, "]");
	c->is_first = true;
	if (!r && !c->x->which.devices && !c->x->kernel)
		r = aif_export_cpu(c->x, cpus_put, c);
	if (!c->is_first)
		AIF_JSON_LIT(c->b, "]");
	if (!r && !c->given)
		return aif_export_nothing(err);
	if (!r)
		r = chrome_blocks_put(c);
	chrome_stacks_put(c);
	AIF_JSON_LIT(c->b, "}\n");
	return r;
}

static int chrome_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct chrome c = {.x = x, .p = x->profile, .out = out, .b = aif_out_buf(out)};
	int r = aif_track_ids_init(&c.ids, c.p);

	if (!r)
		r = aif_host_stacks_init(&c.stacks, c.p, x->detail);
	c.has_full = x->detail != AIF_NAME_FULL;
	if (!r && c.has_full)
		r = aif_host_stacks_init(&c.full, c.p, AIF_NAME_FULL);
	if (!r)
		r = aif_timeline_new(c.p, &c.timeline);
	if (!r)
		r = write_all(&c, err);
	/* Without a device there is nothing that blocks are of. */
	if ((!r || r == -ENODATA) && (!chrome_has_blocks(x) || !c.events.execs_len) &&
	    aif_export_is_captured_only(x) < 0)
		r = -ENOMEM;
	aif_timeline_free(c.timeline);
	aif_event_ops_finish(&c.ops);
	aif_counters_finish(&c.counters);
	aif_events_finish(&c.events);
	aif_host_stacks_finish(&c.stacks);
	aif_host_stacks_finish(&c.full);
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
