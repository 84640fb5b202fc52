/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/aiu.h"
#include "import/kineto/classify.h"
#include "import/kineto/kineto.h"
#include "import/kineto/npu.h"
#include "import/kineto/xla.h"

#include <errno.h>
#include <string.h>

/* Longest trace: a time this far from most others is a broken one. */
#define DAY_NS INT64_C(86400000000000)

bool kineto_is_same_day(int64_t a, int64_t b)
{
	int64_t apart;

	return !__builtin_sub_overflow(a, b, &apart) && apart < DAY_NS && apart > -DAY_NS;
}

/* ---- keeping ------------------------------------------------------------------------------------- */

/* Returns the bytes of an element of one of torch's types; 0: it is none that is known. */
static uint64_t type_bytes(const struct aif_buf *type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {{"Float", 4},  {"Half", 2},   {"BFloat16", 2},      {"Double", 8},
		     {"Long", 8},   {"Int", 4},    {"Short", 2},         {"Byte", 1},
		     {"Char", 1},   {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},
		     {"UInt32", 4}, {"UInt64", 8}, {"ComplexFloat", 8}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == type->len &&
		    !memcmp(types[i].name, type->data, type->len))
			return types[i].bytes;
	return 0;
}

/* Returns 1 + the operation between ranks that the event is of; 0: it is of none. */
static uint32_t collective_of(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct aif_collective c = {.communicator = AIF_NONE, .ranks = e->group_size};
	struct aif_buf name = {0};
	uint64_t bytes;
	uint32_t id;

	if (!e->collective.len)
		return 0;
	c.operation = aif_builder_str(k->b, e->collective.data, e->collective.len);
	if (!__builtin_mul_overflow(e->elements, type_bytes(&e->type), &bytes))
		c.bytes = bytes;
	if (e->group.len || e->group_ranks.len) {
		aif_buf_append(&name, e->group.data, e->group.len);
		if (e->group_ranks.len) {
			aif_buf_puts(&name, name.len ? " " : "");
			aif_buf_append(&name, e->group_ranks.data, e->group_ranks.len);
		}
		c.communicator = aif_buf_failed(&name) ? AIF_NONE
						       : aif_builder_str(k->b, name.data, name.len);
		k->is_failed |= c.communicator == AIF_NONE;
	}
	aif_buf_finish(&name);
	id = aif_builder_collective(k->b, &c);
	k->is_failed |= id == AIF_NONE;
	return id == AIF_NONE ? 0 : id + 1;
}

/* Notes what few executions have, if this one has any. 0 or -ENOMEM. */
static int detail_collect(struct kineto *k, struct kineto_exec *x)
{
	const struct kineto_event *e = &k->event;
	struct kineto_detail d = {.bytes = e->bytes, .graph = e->graph, .node = e->node};

	if (e->has_readings) {
		struct kineto_reading g = {.has = e->has_readings};

		memcpy(g.values, e->readings, sizeof(g.values));
		if (KINETO_ADD(k, readings, g) < 0)
			return -ENOMEM;
		d.readings = (uint32_t)k->readings_len;
	}
	d.collective = collective_of(k);
	if (d.collective && e->has_order && e->order < UINT32_MAX - 1)
		d.sequence = (uint32_t)e->order + 1;
	if (!d.bytes && !d.graph && !d.node && !d.readings && !d.collective)
		return 0;
	x->detail = (uint32_t)k->details_len + 1;
	return KINETO_ADD(k, details, d);
}

static int exec_collect(struct kineto *k, uint32_t name, enum aif_launch_kind kind)
{
	const struct kineto_event *e = &k->event;
	struct aif_shape shape;
	struct kineto_exec x = {
		.start = e->ts,
		.end = e->ts + e->dur,
		.correlation = e->correlation,
		.external = e->external,
		.queue = kineto_queue(
			k, kineto_device_key(k, e->has_device ? e->device : e->pid.number),
			e->has_stream ? e->stream : e->tid.number, e->pid.group),
		.name = name,
		.registers = e->registers,
		.shared_bytes = e->shared_bytes,
		.shape = AIF_NONE,
		.next = AIF_NONE,
		.next_external = AIF_NONE,
		.kind = (uint8_t)kind,
		.has_correlation = e->has_correlation,
		.has_external = e->has_external,
	};

	if (kind == AIF_LAUNCH_KERNEL && e->grid[0]) {
		for (unsigned i = 0; i < 3; i++) {
			uint64_t items = (uint64_t)e->grid[i] * AIF_MAX(e->block[i], 1);

			shape.grid[i] = (uint32_t)AIF_MIN(items, UINT32_MAX);
			shape.block[i] = e->block[i];
		}
		x.shape = aif_builder_shape(k->b, &shape);
	}
	if (x.queue == AIF_NONE || detail_collect(k, &x) < 0)
		return -ENOMEM;
	return KINETO_ADD(k, execs, x);
}

/* Notes what the next call launches. */
static int untimed_collect(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	struct kineto_untimed u = {.device = e->device,
				   .stream = e->stream,
				   .call = (uint32_t)k->calls_len,
				   .kind = (uint8_t)e->launched};

	if (e->launched >= AIF_LAUNCH_KIND_COUNT || !e->has_device || !e->has_stream) {
		k->counts.bad++;
		return 0;
	}
	u.name = kineto_name(k, aif_buf_str(&e->text), e->text.len);
	return u.name == AIF_STR_NONE ? -ENOMEM : KINETO_ADD(k, untimed, u);
}

static int span_collect(struct kineto *k, uint32_t name)
{
	const struct kineto_event *e = &k->event;
	uint32_t thread = kineto_thread(k, e->pid, e->tid);
	uint32_t rank = kineto_rank_of(k);
	struct kineto_span s = {.start = e->ts,
				.end = e->ts + e->dur,
				.name = name,
				.thread = thread,
				.class = e->class,
				.ref = AIF_NONE,
				.frames = e->full ? e->full : e->frames};
	int r = 0;

	k->stackframes.has_full |= e->full != 0;
	if (thread == KINETO_THREADS_MAX || rank == AIF_NONE)
		return -ENOMEM;
	if (e->class == KINETO_PYTHON) {
		s.ref = e->python;
	} else if (e->class == KINETO_CALL) {
		struct kineto_call c = {.correlation = e->correlation,
					.chain = e->chain,
					.has_correlation = e->has_correlation};

		s.ref = (uint32_t)k->calls_len;
		r = e->has_launched ? untimed_collect(k) : 0;
		if (!r)
			r = KINETO_ADD(k, calls, c);
	} else {
		struct kineto_op o = {.external = e->has_external ? e->external : 0,
				      .sequence = e->sequence,
				      .shapes = AIF_NONE,
				      .types = AIF_NONE,
				      .is_backward = e->forward_thread != 0};

		k->backward.has_nodes |= o.is_backward;

		if (e->shapes.len)
			o.shapes = aif_builder_str(k->b, e->shapes.data, e->shapes.len);
		if (e->shapes.len && e->types.len)
			o.types = aif_builder_str(k->b, e->types.data, e->types.len);
		if (o.external || o.sequence >= 0 || o.shapes != AIF_NONE) {
			s.ref = (uint32_t)k->ops_len;
			r = KINETO_ADD(k, ops, o);
		}
	}
	if (r < 0 || !e->has_slot)
		return r < 0 ? r : KINETO_ADD(k, spans, s);
	k->spans[e->slot] = s;
	return 0;
}

/* True for names of PyTorch's operators: "aten::mm", "autograd::engine::evaluate_function: MmBackward0", "MmBackward0". */
static bool is_operator(const char *name, size_t len)
{
	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return memmem(name, len, "::", 2) || (len > 8 && !memcmp(name + len - 8, "Backward", 8));
}

/* Classifies an event without a known category by its name: AIU's own dialect has none, nor has the list of functions
 * of torch's autograd profiler, where record_function's names stand among operators. */
static size_t name_classify(struct kineto *k, const char *name, size_t len)
{
	struct kineto_event *e = &k->event;
	size_t node = len;

	if (!e->cat.len && e->is_function) {
		e->class = is_operator(name, len) ? KINETO_OP : KINETO_RANGE;
		return len;
	}

	switch (e->cat.len ? AIF_FLEX_NONE : aif_aiu_flex_of(name, len, &node)) {
	case AIF_FLEX_KERNEL:
		e->class = KINETO_KERNEL;
		break;
	case AIF_FLEX_IN:
	case AIF_FLEX_OUT:
		e->class = KINETO_COPY;
		break;
	case AIF_FLEX_PREPARE:
		e->class = KINETO_CALL;
		break;
	case AIF_FLEX_NONE:
		return len;
	}
	k->machine.family = KINETO_AIU;
	return e->class == KINETO_KERNEL ? node : len;
}

/*
 * Returns true if the event's times can be. The trace ends no earlier then. Which day the trace is of is a vote of its
 * events: the first one may be the broken one, with a time of 0 before those since 1970. far_drop() drops events of other
 * days.
 */
static bool is_time_ok(struct kineto *k, const struct kineto_event *e)
{
	struct kineto_clock *c = &k->clock;
	int64_t end;

	if (!e->has_ts || e->is_bad || e->dur < 0 || e->dur >= DAY_NS ||
	    __builtin_add_overflow(e->ts, e->dur, &end))
		return false;
	if (c->votes && kineto_is_same_day(e->ts, c->day_ts) &&
	    kineto_is_same_day(end, c->day_ts)) {
		c->votes += c->votes < UINT64_MAX;
		c->last_ts = AIF_MAX(c->last_ts, end);
	} else if (c->votes > 1) {
		c->votes--;
		c->has_far = true;
	} else {
		c->has_far |= c->votes != 0;
		c->votes = 1;
		c->day_ts = e->ts;
		c->last_ts = end;
	}
	return true;
}

/* From an operator to the node that it made for the backward. */
static int arrow_collect(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct kineto_arrow a = {.at = e->ts, .id = e->flow, .is_end = e->ph == 'f'};
	uint32_t thread = kineto_thread(k, e->pid, e->tid);

	a.thread = thread;
	return thread == KINETO_THREADS_MAX ? -ENOMEM : KINETO_ADD(&k->backward, arrows, a);
}

/* "Flow_H2D_17_0", "CL_Flow_H2D_17_0": the kernel with this number was launched here. */
static int flow_collect(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	const char *cat = aif_buf_str(&e->cat);
	struct kineto_flow f = {.at = e->ts};

	if (!strcmp(cat, "fwdbwd") && e->has_ts && e->has_flow && e->ph != 't')
		return arrow_collect(k);
	k->counts.not_kept_flows++;
	if (e->ph != 's' || !e->has_ts)
		return 0;
	if (!strncmp(cat, "CL_", 3))
		cat += 3;
	if (strncmp(cat, "Flow_H2D_", 9) != 0)
		return 0;
	for (cat += 9; *cat >= '0' && *cat <= '9' && f.id < UINT64_MAX / 16; cat++)
		f.id = f.id * 10 + (uint64_t)(*cat - '0');
	f.thread = kineto_thread(k, e->pid, e->tid);
	k->counts.not_kept_flows--;
	return f.thread == KINETO_THREADS_MAX ? -ENOMEM : KINETO_ADD(k, flows, f);
}

static void leave_out(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	const char *what = e->ph == 'C'                   ? "counter"
			   : e->ph == 'i' || e->ph == 'I' ? "instant"
							  : "without category";

	k->counts.not_kept++;
	if (e->cat.len)
		kineto_leave_out(k->counts.left_out, (const char *)e->cat.data, e->cat.len, 1);
	else
		kineto_leave_out(k->counts.left_out, what, strlen(what), 1);
}

/* A whole event: with a beginning and an end. */
static int whole_collect(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	const char *name = (const char *)e->name.data;
	size_t len = e->name.len, kept = len;
	uint32_t id;

	if (e->class == KINETO_NOT_KEPT && !kineto_xla_classify(k)) {
		k->counts.not_kept++;
		kineto_leave_out(k->counts.left_out, "sums of a device's queues", 25, 1);
		return 0;
	}
	if (e->class == KINETO_NOT_KEPT && !kineto_npu_classify(k)) {
		k->counts.not_kept++;
		kineto_leave_out(k->counts.left_out, "waits of a device", 17, 1);
		return 0;
	}
	if (e->class == KINETO_NOT_KEPT)
		kept = name_classify(k, name, len);
	if (e->class == KINETO_NOT_KEPT && !k->is_known && !e->is_sum)
		e->class = KINETO_OTHER;
	if (e->class == KINETO_BLANK)
		return 0;
	/* Traces of 2021 have steps among the operators. */
	if (e->class == KINETO_OP && len > 13 && !memcmp(name, "ProfilerStep#", 13))
		e->class = KINETO_RANGE;
	if (e->class == KINETO_NOT_KEPT) {
		leave_out(k);
		return 0;
	}
	if (e->class != KINETO_OTHER && e->class != KINETO_OVERHEAD)
		k->is_known = true;
	if (e->is_bad || !is_time_ok(k, e) || !len) {
		k->counts.bad++;
		return 0;
	}
	if (e->class == KINETO_OVERHEAD) {
		k->counts.overhead_ns += e->dur;
		return 0;
	}
	/* A device that waits for another stream does nothing. */
	if (e->class == KINETO_KERNEL && kineto_is_wait(name, len)) {
		k->counts.not_kept++;
		kineto_leave_out(k->counts.left_out, "waits of a device", 17, 1);
		return 0;
	}
	k->counts.python_calls += e->class == KINETO_PYTHON;
	/* AIU's releases have a call's category, and are the device's: they name it. */
	if (e->class == KINETO_CALL && e->has_device && len > 8 && !memcmp(name, "Memory (", 8))
		e->class = KINETO_FILL;
	if (e->class == KINETO_OP || e->class == KINETO_KERNEL) {
		size_t was = kept;

		kept = kineto_unitrace_classify(e, &name, kept);
		len -= was - kept;
	}
	if (e->class == KINETO_CALL || e->class == KINETO_KERNEL)
		k->machine.family = kineto_family_of(k->machine.family, e, name, len);
	if (e->class == KINETO_OTHER && e->has_detail) {
		/* clang -ftime-trace says of what in here. */
		aif_buf_puts(&e->name, " (");
		aif_buf_append(&e->name, e->text.data, e->text.len);
		aif_buf_puts(&e->name, ")");
		if (aif_buf_failed(&e->name))
			return -ENOMEM;
		name = (const char *)e->name.data;
		kept = len = e->name.len;
	}
	id = kineto_name(k, name, kept);
	if (id == AIF_STR_NONE)
		return -ENOMEM;
	if (e->class == KINETO_KERNEL || e->class == KINETO_COPY || e->class == KINETO_FILL)
		return exec_collect(k, id, kineto_exec_kind(e, name, len));
	return span_collect(k, id);
}

static int end_collect(struct kineto *k)
{
	bool is_found;

	if (kineto_open_end(k, &is_found) < 0)
		return -ENOMEM;
	if (is_found)
		return whole_collect(k);
	k->counts.bad++;
	return 0;
}

int kineto_collect_open(struct kineto *k)
{
	size_t at = 0;
	int r = 0;

	while (!r && kineto_open_next(k, &at))
		r = whole_collect(k);
	return r;
}

/* ---- what is said of processes and threads ------------------------------------------------------- */

/* A hostile file has a million of them: those without a name do as well. */
#define NAMED_PIDS_MAX 65536

static int metadata_collect(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	bool has_number = e->has_recorded_id && e->recorded_id < UINT32_MAX;
	uint32_t text = AIF_NONE, thread;
	static const char overflowed[] = "trace_buffer_overflowed"; /* of Chromium */
	struct kineto_pid *p;

	if (e->name.len == sizeof(overflowed) - 1 && !memcmp(e->name.data, overflowed, e->name.len))
		k->counts.overflowed++;
	if ((!e->text.len && !has_number) || !e->name.len)
		return 0;
	if (e->text.len)
		text = aif_builder_str(k->b, e->text.data, e->text.len);
	if (e->name.len == 11 && !memcmp(e->name.data, "thread_name", 11)) {
		/* Only of threads that have events: the others are named for nothing. */
		thread = kineto_thread(k, e->pid, e->tid);
		if (thread == KINETO_THREADS_MAX)
			return 0;
		k->threads.rows[thread].name = text;
		if (has_number)
			k->threads.rows[thread].number = (uint32_t)e->recorded_id;
		return 0;
	}
	p = k->machine.pids_len < NAMED_PIDS_MAX ? kineto_pid_of(k, e->pid) : NULL;
	if (p && e->name.len == 12 && !memcmp(e->name.data, "process_name", 12)) {
		p->name = text;
		kineto_xla_name_process(k, p, (const char *)e->text.data, e->text.len);
		if (has_number)
			p->number = (uint32_t)e->recorded_id;
	} else if (p && e->name.len == 14 && !memcmp(e->name.data, "process_labels", 14)) {
		p->labels = text;
	}
	return 0;
}

static int instant_collect(struct kineto *k)
{
	if (!kineto_is_memory(k)) {
		leave_out(k);
		return 0;
	}
	if (k->event.is_bad || !is_time_ok(k, &k->event)) {
		k->counts.bad++;
		return 0;
	}
	return kineto_memory_collect(k);
}

int kineto_collect(struct kineto *k)
{
	struct kineto_event *e = &k->event;

	if (aif_buf_failed(&e->name) || aif_buf_failed(&e->cat) || aif_buf_failed(&e->shapes) ||
	    aif_buf_failed(&e->types) || aif_buf_failed(&e->text))
		return -ENOMEM;
	k->counts.events++;
	kineto_classify(e);
	/* A trace lasts until its last event, of any kind. */
	if (e->ph == 'B' || (e->ph != 'X' && e->ph != 'M' && k->clock.votes))
		is_time_ok(k, e);
	switch (e->ph) {
	case 'X':
		return whole_collect(k);
	case 'B':
		return kineto_open_begin(k);
	case 'E':
		return end_collect(k);
	case 'M':
		return metadata_collect(k);
	case 's':
	case 't':
	case 'f':
		return flow_collect(k);
	case 'i':
	case 'I':
		return instant_collect(k);
	case 0: /* XLA's traces end with an empty one */
		k->counts.bad += e->name.len || e->has_ts || e->cat.len;
		return 0;
	default:
		leave_out(k);
		return 0;
	}
}
