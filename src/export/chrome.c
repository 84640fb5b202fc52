/* SPDX-License-Identifier: Apache-2.0 */
#include "base/demangle.h"
#include "export/chrome.h"

#include <errno.h>
#include <string.h>

/*
 * Trace Event Format, JSON, with the categories and arguments of PyTorch's profiler (Kineto), which its readers go by. A device is a process, a lane of a stream is a thread of it;
 * executions of a lane do not overlap. Launches are on their threads, with the operators, ranges and calls that the profile has. An arrow from launch to execution is a `bind_id` that both
 * have, so that it takes no events of its own. Launch stacks are `stackFrames`, which stand at the end, where all are known; CPU samples are `samples`.
 */

/* ---- launches and executions --------------------------------------------------------------------- */

/* Readers of traces go by whole names, whatever --detail says of stacks: Kineto's own, or as it would write them. */
static void kernel_text(struct chrome *c, const char *name)
{
	struct aif_buf text = {0};

	if (!c->t.p->traits.is_imported && c->t.x->detail != AIF_NAME_FULL)
		aif_demangle(name, &text);
	else
		aif_buf_puts(&text, name);
	aif_out_json_string(&c->names, aif_buf_str(&text), text.len);
	c->names.failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
}

/* Before the first kernel's name is used. Transfers have the trace's, or Kineto's, which say their direction. */
static int names_make(struct chrome *c)
{
	size_t kernels = c->t.p->kernels_len;

	c->names_at = calloc(kernels + AIF_LAUNCH_KIND_COUNT + 1, sizeof(*c->names_at));
	if (!c->names_at)
		return -ENOMEM;
	for (size_t i = 0; i < kernels + AIF_LAUNCH_KIND_COUNT; i++) {
		if (i < kernels)
			kernel_text(c, aif_profile_str(c->t.p, c->t.p->kernels[i].name));
		else
			aif_out_json_text(&c->names, aif_transfer_name((unsigned)(i - kernels)));
		c->names_at[i + 1] = c->names.len;
	}
	return aif_buf_failed(&c->names) ? -ENOMEM : 0;
}

static void name_put(struct chrome *c, uint32_t kind, uint32_t kernel)
{
	size_t i = kernel != AIF_NONE ? kernel
				      : c->t.p->kernels_len +
						AIF_MIN(kind, (uint32_t)AIF_LAUNCH_KIND_COUNT - 1);

	aif_buf_append(c->t.b, c->names.data + c->names_at[i], c->names_at[i + 1] - c->names_at[i]);
}

static void correlation_put(struct chrome *c, uint32_t by)
{
	chrome_u64_put(c, "\"correlation\":",
		       c->are_launches_small ? c->t.events.launches[by].launch : by);
}

static void bind_put(struct chrome *c, uint32_t by)
{
	char text[16];
	size_t at = sizeof(text);

	do {
		text[--at] = "0123456789abcdef"[by & 15];
		by >>= 4;
	} while (by);
	AIF_JSON_LIT(c->t.b, ",\"bind_id\":\"0x");
	aif_buf_append(c->t.b, text + at, sizeof(text) - at);
}

static void extent_put(struct chrome *c, const char *key, const uint32_t v[3])
{
	if (!v[0])
		return;
	chrome_u64_put(c, key, v[0]);
	chrome_u64_put(c, ",", v[1]);
	chrome_u64_put(c, ",", v[2]);
	aif_buf_putc(c->t.b, ']');
}

static const char *op_name(const struct chrome *c, const struct aif_event_op *o)
{
	return o->name == AIF_NONE ? "" : aif_profile_str(c->t.p, o->name);
}

static void category_put(struct chrome *c, const char *category)
{
	AIF_JSON_LIT(c->t.b, ",\"cat\":\"");
	aif_buf_puts(c->t.b, category);
	AIF_JSON_LIT(c->t.b, "\",\"name\":");
}

/* An arrow to what it launched, if that is there. */
static void flow_out_put(struct chrome *c, uint32_t launch)
{
	if (!c->t.events.launches[launch].is_kept ||
	    c->t.events.launches[launch].first_start == INT64_MAX)
		return;
	bind_put(c, launch);
	AIF_JSON_LIT(c->t.b, "\",\"flow_out\":true");
}

/* Appends what was launched to a launch without executions: import reads launches without times,
 * too. */
static void untimed_put(struct chrome *c, const struct aif_event_launch *l)
{
	chrome_u64_put(c, ",\"launched\":", l->kind);
	AIF_JSON_LIT(c->t.b, ",\"name\":");
	name_put(c, l->kind, l->kernel);
	chrome_u64_put(c, ",\"device\":", l->device == AIF_NONE ? 0 : l->device);
	chrome_u64_put(
		c, ",\"stream\":", l->stream == AIF_NONE ? 0 : c->t.p->streams[l->stream].ordinal);
}

/* A launch, drawn as its call where that is known: NULL, it is not. */
static int launch_event_put(struct chrome *c, uint32_t i, const struct aif_event_op *call,
			    int64_t dur)
{
	const struct aif_event_launch *l = &c->t.events.launches[i];
	uint32_t process = l->thread == AIF_NONE ? AIF_NONE : c->t.p->threads[l->thread].process;
	uint32_t node = aif_host_stacks_node(&c->t.stacks, l->stack);
	const char *name;
	size_t len;

	if (!node)
		return -ENOMEM;
	CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->t.ids, process),
		       aif_track_id_thread(&c->t.ids, l->thread));
	chrome_time_put(c, l->time);
	AIF_JSON_LIT(c->t.b, ",\"dur\":");
	aif_out_json_decimal(c->t.b, dur, 3);
	name = aif_host_name(&c->t.stacks, node, &len);
	if (call) {
		name = op_name(c, call);
		len = strlen(name);
	}
	category_put(c, aif_event_call_category(name, len, chrome_runtime_of(c, l->device)));
	/* Without a call the innermost frame is it; where it is not, what was launched says more. */
	if (call || aif_host_type(&c->t.stacks, node) == AIF_TREE_API)
		aif_out_json_string(c->t.b, name, len);
	else
		name_put(c, l->kind, l->kernel);
	if (chrome_stack_put(c, l->stack, &node) < 0)
		return -ENOMEM;
	flow_out_put(c, i);
	c->operators[i] = chrome_operator_at(c, l->time);
	chrome_u64_put(c, ",\"args\":{\"External id\":", c->operators[i]);
	AIF_JSON_LIT(c->t.b, ",");
	correlation_put(c, i);
	if (l->first_start == INT64_MAX)
		untimed_put(c, l);
	AIF_JSON_LIT(c->t.b, "}}");
	aif_out_flush_if_full(c->t.out);
	return 0;
}

static int launch_put(struct aif_timeline_walk *t, uint32_t i, int64_t end)
{
	return launch_event_put((struct chrome *)t, i, NULL, end - t->events.launches[i].time);
}

static bool is_call(const struct chrome *c, uint32_t call)
{
	return call != AIF_NONE && c->t.ops.ops[call].kind == AIF_OP_RUNTIME;
}

static int op_event_put(struct chrome *c, const struct aif_event_op *o)
{
	const char *name = op_name(c, o), *before = "";
	uint64_t number = o->id;
	uint32_t node;
	int r = 0;

	if (o->kind == AIF_OP_RUNTIME)
		number = chrome_operator_at(c, o->start);
	else if (o->kind == AIF_OP_OPERATOR)
		r = chrome_operator_begin(c, o, &number);
	if (r)
		return r;

	CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&c->t.ids, c->t.p->threads[o->thread].process),
		       aif_track_id_thread(&c->t.ids, o->thread));
	chrome_time_put(c, o->start);
	AIF_JSON_LIT(c->t.b, ",\"dur\":");
	aif_out_json_decimal(c->t.b, (int64_t)o->dur, 3);
	category_put(c, o->kind == AIF_OP_OPERATOR ? "cpu_op"
			: o->kind == AIF_OP_PYTHON ? "python_function"
			: o->kind == AIF_OP_RUNTIME
				? aif_event_call_category(
					  name, strlen(name),
					  chrome_runtime_of(c, c->t.p->devices_len ? 0 : AIF_NONE))
				: "user_annotation");
	aif_out_json_text(c->t.b, name);
	if (chrome_stack_put(c, o->stack, &node) < 0)
		return -ENOMEM;
	if (o->launch != AIF_NONE)
		flow_out_put(c, o->launch);
	AIF_JSON_LIT(c->t.b, ",\"args\":{");
	if (number || o->kind == AIF_OP_RUNTIME) {
		chrome_u64_put(c, "\"External id\":", number);
		before = ",";
	}
	if (o->sequence >= 0) {
		aif_buf_puts(c->t.b, before);
		chrome_u64_put(c, "\"Sequence number\":", (uint64_t)o->sequence);
		before = ",";
	}
	if (o->shapes != AIF_NONE) {
		const char *shapes = aif_profile_str(c->t.p, o->shapes);

		aif_buf_puts(c->t.b, before);
		AIF_JSON_LIT(c->t.b, "\"Input Dims\":");
		if (aif_json_is_lists(shapes))
			aif_buf_puts(c->t.b, shapes);
		else
			aif_out_json_text(c->t.b, shapes);
	}
	AIF_JSON_LIT(c->t.b, "}}");
	aif_out_flush_if_full(c->t.out);
	return 0;
}

/* A call that launched something is written as its launch. */
static int op_put(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end)
{
	struct chrome *c = (struct chrome *)t;

	(void)end;
	if (o->launch == AIF_NONE || o->kind != AIF_OP_RUNTIME)
		return op_event_put(c, o);
	if (!t->events.launches[o->launch].is_kept)
		return 1;
	return launch_event_put(c, o->launch, o, (int64_t)o->dur);
}

static void exec_args(struct chrome *c, const struct aif_event_exec *x,
		      const struct aif_event_track *t)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &c->t.events.launches[x->by];

	chrome_u64_put(c, ",\"args\":{\"device\":", t->device == AIF_NONE ? 0 : t->device);
	chrome_u64_put(
		c, ",\"stream\":", t->stream == AIF_NONE ? 0 : c->t.p->streams[t->stream].ordinal);
	chrome_u64_put(c, ",\"External id\":", by ? c->operators[x->by] : 0);
	/* Without a call it has its operator's number alone, by which Kineto joins it. */
	if (by && (c->t.ops.calls[x->by] == AIF_NONE || is_call(c, c->t.ops.calls[x->by]))) {
		aif_buf_putc(c->t.b, ',');
		correlation_put(c, x->by);
	}
	if (x->kind == AIF_LAUNCH_KERNEL) {
		if (by && by->shape != AIF_NONE && !x->graph) {
			const struct aif_shape *s = &c->t.p->shapes[by->shape];
			uint32_t blocks[3];

			aif_event_groups(s, blocks);
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
	aif_buf_putc(c->t.b, '}');
}

static int exec_put(struct aif_timeline_walk *t, const struct aif_event_exec *x)
{
	struct chrome *c = (struct chrome *)t;
	const struct aif_event_track *on = &t->events.tracks[x->track];

	CHROME_EVENT(c, "{\"ph\":\"X\",\"pid\":");
	chrome_ids_put(c, aif_track_id_device(on->device), x->track + 1);
	chrome_time_put(c, x->start);
	AIF_JSON_LIT(c->t.b, ",\"dur\":");
	aif_out_json_decimal(c->t.b, (int64_t)x->dur, 3);
	aif_buf_puts(c->t.b, x->kind == AIF_LAUNCH_KERNEL ? ",\"cat\":\"kernel\",\"name\":"
			     : x->kind == AIF_LAUNCH_FILL ? ",\"cat\":\"gpu_memset\",\"name\":"
							  : ",\"cat\":\"gpu_memcpy\",\"name\":");
	name_put(c, x->kind, x->kernel);
	if (x->by != AIF_NONE && t->events.launches[x->by].is_kept) {
		bind_put(c, x->by);
		AIF_JSON_LIT(c->t.b, "\",\"flow_in\":true");
	}
	exec_args(c, x, on);
	if (x->graph) { /* other executions have their launch's */
		uint32_t node = aif_timeline_exec_node(t, x);

		if (!node)
			return -ENOMEM;
		chrome_u64_put(c, ",\"sf\":", node);
	}
	aif_buf_putc(c->t.b, '}');
	aif_out_flush_if_full(c->t.out);
	return 0;
}

/* ---- CPU samples and stacks ---------------------------------------------------------------------- */

static int cpu_put(struct aif_timeline_walk *t, const struct aif_cpu_row *row, uint32_t process,
		   int64_t at)
{
	struct chrome *c = (struct chrome *)t;
	uint32_t node;

	if (at < t->events.start_ns)
		return 1;
	node = aif_host_stacks_node(&t->stacks, row->stack);
	if (!node)
		return -ENOMEM;
	/* speedscope shows these alone where there is such an array, and nothing if it is empty. */
	if (c->is_first)
		AIF_JSON_LIT(t->b, ",\n\"samples\":[\n");
	CHROME_EVENT(c, "{\"cpu\":0,\"pid\":");
	chrome_ids_put(c, aif_track_id_process(&t->ids, process),
		       aif_track_id_thread(&t->ids, row->thread));
	chrome_time_put(c, at);
	aif_buf_puts(t->b, row->waiting ? ",\"name\":\"device wait\"" : ",\"name\":\"cpu\"");
	chrome_u64_put(c, ",\"sf\":", node);
	chrome_u64_put(c, ",\"weight\":", row->waiting ? row->waiting : row->weight);
	aif_buf_putc(t->b, '}');
	aif_out_flush_if_full(t->out);
	return 0;
}

/* Kineto has one for all devices, and as a number: 12090 is 12.9. */
static void driver_put(struct chrome *c)
{
	const char *driver = c->t.p->devices_len
				     ? aif_profile_str(c->t.p, c->t.p->devices[0].driver)
				     : "",
		   *runtime = chrome_runtime_of(c, c->t.p->devices_len ? 0 : AIF_NONE);
	size_t len = strlen(driver);

	if (!len || len > 9 || *driver == '0' || strspn(driver, "0123456789") != len)
		return;
	if (strcmp(runtime, "cuda") && strcmp(runtime, "hip"))
		return;
	aif_buf_printf(c->t.b, ",\"%s_driver_version\":%s", runtime, driver);
}

/* Appends the host and the driver's version, by Kineto's keys. */
static void machine_put(struct chrome *c)
{
	const char *host = aif_profile_meta(c->t.p, "host");

	for (size_t i = 0; i < c->t.p->processes_len && !*host; i++)
		host = aif_profile_str(c->t.p, c->t.p->processes[i].host);
	if (*host) {
		AIF_JSON_LIT(c->t.b, ",\n\"host_name\":");
		aif_out_json_text(c->t.b, host);
	}
	driver_put(c);
}

static int begin(struct aif_timeline_walk *t)
{
	struct chrome *c = (struct chrome *)t;
	int r = 0;

	c->has_full = t->x->detail != AIF_NAME_FULL;
	if (c->has_full)
		r = aif_host_stacks_init(&c->full, t->x->names, AIF_NAME_FULL);
	if (!r)
		r = names_make(c);
	if (!r)
		r = chrome_operators_init(c);
	if (r)
		return r;
	c->are_launches_small = true;
	for (size_t i = 0; i < t->events.launches_len; i++)
		c->are_launches_small &= t->events.launches[i].launch < UINT64_C(1) << 53;
	AIF_JSON_LIT(c->t.b,
		     "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
	aif_out_json_i64(c->t.b, (int64_t)aif_export_unix_start(c->t.p) + c->t.events.start_ns);
	AIF_JSON_LIT(c->t.b,
		     ",\"otherData\":{\"exporter\":\"aiflame " AIF_VERSION "\",\"command\":");
	aif_out_json_text(c->t.b, aif_profile_meta(c->t.p, "command"));
	AIF_JSON_LIT(c->t.b, ",\"host\":");
	aif_out_json_text(c->t.b, aif_profile_meta(c->t.p, "host"));
	AIF_JSON_LIT(c->t.b, "},\n\"deviceProperties\":[");
	for (size_t i = 0; i < c->t.p->devices_len; i++) {
		chrome_u64_put(c, i ? ",{\"id\":" : "{\"id\":", i);
		AIF_JSON_LIT(c->t.b, ",\"name\":");
		aif_out_json_text(c->t.b, aif_profile_str(c->t.p, c->t.p->devices[i].name));
		chrome_u64_put(c, ",\"numSms\":", c->t.p->devices[i].units);
		aif_buf_putc(c->t.b, '}');
	}
	aif_buf_putc(c->t.b, ']');
	machine_put(c);
	AIF_JSON_LIT(c->t.b, ",\n\"traceEvents\":[\n");
	c->is_first = true;
	return 0;
}

/* CPU samples are an array of their own. */
static int pass_begin(struct aif_timeline_walk *t, unsigned parts)
{
	struct chrome *c = (struct chrome *)t;
	int r;

	if (parts & AIF_TIMELINE_CPU) {
		r = chrome_memory_put(c);
		if (r)
			return r;
		AIF_JSON_LIT(t->b, "]");
		c->is_first = true;
	}
	return 0;
}

static int end(struct aif_timeline_walk *t)
{
	struct chrome *c = (struct chrome *)t;
	int r;

	if (!c->is_first)
		AIF_JSON_LIT(t->b, "]");
	r = chrome_blocks_put(c);
	chrome_stacks_put(c);
	AIF_JSON_LIT(t->b, "}\n");
	return r;
}

static const struct aif_timeline_sink sink = {
	.passes = {AIF_TIMELINE_HOST | AIF_TIMELINE_DEVICES,
		   AIF_TIMELINE_LAUNCHES | AIF_TIMELINE_OPS, AIF_TIMELINE_EXECS,
		   AIF_TIMELINE_LOAD | AIF_TIMELINE_COUNTERS, AIF_TIMELINE_CPU},
	.has_left_out = chrome_has_blocks,
	.begin = begin,
	.pass_begin = pass_begin,
	.end = end,
	.process = chrome_process_put,
	.thread = chrome_thread_put,
	.device = chrome_device_put,
	.gaps = chrome_gaps_put,
	.track = chrome_track_put,
	.calls = chrome_calls_put,
	.launch = launch_put,
	.op = op_put,
	.exec = exec_put,
	.load_point = chrome_load_put,
	.counter = chrome_counter_put,
	.counter_value = chrome_counter_value_put,
	.cpu = cpu_put,
};

static int chrome_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct chrome c = {0};
	int r = aif_timeline_write(&c.t, &sink, x, out, err);

	aif_timeline_finish(&c.t);
	aif_host_stacks_finish(&c.full);
	aif_buf_finish(&c.names);
	aif_buf_finish(&c.counter);
	free(c.names_at);
	chrome_operators_finish(&c);
	return r;
}

const struct aif_exporter aif_exporter_chrome = {
	.name = "chrome",
	.output = "aiflame.json",
	.suffixes = ".json",
	.is_text = true,
	.write = chrome_write,
};
