/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto.h"

#include "import/aiu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Nothing is traced for so long: a time this far from the first one is a broken one. */
#define DAY_NS INT64_C(86400000000000)
/* Begun and not ended: a torn or hostile file has as many as it likes. */
#define OPEN_MAX (1u << 20)
/* An "E" names what it ends; of a thread's that many innermost ones are asked. */
#define OPEN_LOOK 64

#define PUSH(k, table, row)                                                                      \
	(aif_grow(&(k)->table, &(k)->table##_cap, (k)->table##_len + 1, sizeof(*(k)->table)) < 0 \
		 ? -ENOMEM                                                                       \
		 : ((k)->table[(k)->table##_len++] = (row), 0))

static bool is_same(struct kineto_id a, struct kineto_id b)
{
	return a.number == b.number && a.is_name == b.is_name;
}

uint32_t kineto_thread(struct kineto *k, struct kineto_id pid, struct kineto_id tid)
{
	struct kineto_thread t = {.pid = pid,
				  .tid = tid,
				  .number = (uint32_t)tid.number,
				  .process = AIF_NONE,
				  .thread = AIF_NONE,
				  .name = AIF_NONE};
	uint64_t key, i;

	if (is_same(k->last_pid, pid) && is_same(k->last_tid, tid) && k->threads_len)
		return k->last_thread;
	key = aif_mix64((uint64_t)pid.number * 31 + pid.is_name) + (uint64_t)tid.number * 2 +
	      tid.is_name;
	for (; aif_map_get(&k->thread_ids, key, &i); key++)
		if (is_same(k->threads[i].pid, pid) && is_same(k->threads[i].tid, tid))
			goto out;
	i = k->threads_len;
	if (i + 1 >= KINETO_THREADS_MAX || aif_map_put(&k->thread_ids, key, i) < 0 ||
	    PUSH(k, threads, t) < 0)
		return KINETO_THREADS_MAX;
out:
	k->last_pid = pid;
	k->last_tid = tid;
	k->last_thread = (uint32_t)i;
	return (uint32_t)i;
}

/* ---- what a name tells --------------------------------------------------------------------------- */

static bool has(const char *name, size_t len, const char *word)
{
	return memmem(name, len, word, strlen(word)) != NULL;
}

enum aif_launch_kind kineto_copy_kind(const char *name, size_t len)
{
	static const char *const writes[] = {"HtoD", "HostToDevice", "HOST_TO_DEVICE",
					     "H2D",  "M2D",          "HtoA"},
				 *const reads[] = {"DtoH", "DeviceToHost", "DEVICE_TO_HOST",
						   "D2H",  "D2M",          "AtoH"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(writes); i++)
		if (has(name, len, writes[i]))
			return AIF_LAUNCH_WRITE;
	for (size_t i = 0; i < AIF_ARRAY_LEN(reads); i++)
		if (has(name, len, reads[i]))
			return AIF_LAUNCH_READ;
	if (has(name, len, "PtoP") || has(name, len, "PeerToPeer"))
		return AIF_LAUNCH_PEER;
	return AIF_LAUNCH_COPY;
}

bool kineto_waits(const char *name, size_t len)
{
	enum aif_aiu_group group = aif_aiu_group_of(name, len);

	return group == AIF_AIU_WAIT || group == AIF_AIU_RDMA_WAIT ||
	       (len == 8 && !memcmp(name, "clFinish", 8)) ||
	       (len == 15 && !memcmp(name, "clWaitForEvents", 15)) ||
	       (len > 11 && !memcmp(name + len - 11, "Synchronize", 11));
}

static bool begins(const char *name, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !memcmp(name, with, n) && name[n] >= 'A' && name[n] <= 'Z';
}

/* By a call's name, or its category. */
static void learn_family(struct kineto *k, const char *name, size_t len)
{
	const struct aif_buf *cat = &k->event.cat;

	if (k->family == KINETO_AIU)
		return;
	if (aif_aiu_group_of(name, len) != AIF_AIU_NONE)
		k->family = KINETO_AIU;
	else if (k->family != KINETO_UNKNOWN)
		return;
	else if (cat->len == 6 && !memcmp(cat->data, "gpu_op", 6))
		k->family = KINETO_ZE;
	else if (begins(name, len, "hip"))
		k->family = KINETO_HIP;
	else if (begins(name, len, "cuda") || begins(name, len, "cu"))
		k->family = KINETO_CUDA;
	else if (cat->len > 4 && !memcmp(cat->data, "xpu_", 4))
		k->family = KINETO_XPU;
	else if (cat->len > 5 && !memcmp(cat->data, "mtia_", 5))
		k->family = KINETO_MTIA;
	else if (cat->len > 4 && !memcmp(cat->data, "hpu_", 4))
		k->family = KINETO_HPU;
	else if (cat->len > 11 && !memcmp(cat->data, "privateuse1", 11))
		k->family = KINETO_PRIVATE;
}

/*
 * unitrace has one category for all of the host and one for all of a device: the rest is in names, "zeCommandListAppend
 * MemoryCopy(D2M)[400 bytes]", "clEnqueueReadBuffer". A kernel that runs on a part of a device is "Tile #1: NAME".
 */
static size_t unitrace_classify(struct kineto_event *e, const char **name, size_t len)
{
	static const char *const calls[] = {"ze", "zes", "zet", "cl", "ur"};
	const char *at = *name, *bytes;
	uint64_t n = 0;

	for (size_t i = 0; e->class == KINETO_OP && i < AIF_ARRAY_LEN(calls); i++)
		if (begins(at, len, calls[i]))
			e->class = KINETO_CALL;
	if (e->class != KINETO_KERNEL || e->cat.len != 6 || memcmp(e->cat.data, "gpu_op", 6))
		return len;
	if (len > 8 && !memcmp(at, "Tile #", 6)) {
		const char *colon = memmem(at, len, ": ", 2);

		if (colon && (size_t)(colon + 2 - at) < len) {
			len -= (size_t)(colon + 2 - at);
			*name = at = colon + 2;
		}
	}
	if (e->has_id) {
		e->has_correlation = true;
		e->correlation = e->id;
	}
	if (!begins(at, len, "zeCommandList") && !begins(at, len, "clEnqueue"))
		return len;
	if (has(at, len, "Fill"))
		e->class = KINETO_FILL;
	else if (has(at, len, "Copy") || has(at, len, "ReadBuffer") ||
		 has(at, len, "WriteBuffer") || has(at, len, "ReadImage") ||
		 has(at, len, "WriteImage"))
		e->class = KINETO_COPY;
	bytes = memmem(at, len, "[", 1);
	if (bytes && has(bytes, (size_t)(at + len - bytes), " bytes]")) {
		for (const char *p = bytes + 1; *p >= '0' && *p <= '9' && n < UINT64_MAX / 16; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		e->bytes = n;
	}
	return len;
}

/* ---- keeping ------------------------------------------------------------------------------------- */

static int take_exec(struct kineto *k, uint32_t name, enum aif_launch_kind kind)
{
	const struct kineto_event *e = &k->event;
	struct aif_shape shape;
	struct kineto_exec x = {
		.start = e->ts,
		.end = e->ts + e->dur,
		.correlation = e->correlation,
		.external = e->external,
		.bytes = e->bytes,
		.device = e->has_device ? e->device : e->pid.number,
		.stream = e->has_stream ? e->stream : e->tid.number,
		.name = name,
		.graph = e->graph,
		.node = e->node,
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
	return PUSH(k, execs, x);
}

/* Of the next call. */
static int take_untimed(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	struct kineto_untimed u = {.device = e->device,
				   .stream = e->stream,
				   .call = (uint32_t)k->calls_len,
				   .kind = (uint8_t)e->launched};

	if (e->launched >= AIF_LAUNCH_KIND_COUNT || !e->has_device || !e->has_stream) {
		k->bad++;
		return 0;
	}
	u.name = kineto_name(k, aif_buf_str(&e->text), e->text.len);
	return u.name == AIF_STR_NONE ? -ENOMEM : PUSH(k, untimed, u);
}

static int take_span(struct kineto *k, uint32_t name)
{
	const struct kineto_event *e = &k->event;
	uint32_t thread = kineto_thread(k, e->pid, e->tid);
	struct kineto_span s = {.start = e->ts,
				.end = e->ts + e->dur,
				.name = name,
				.thread = thread,
				.class = e->class,
				.ref = AIF_NONE,
				.told = e->full ? e->full : e->told};
	int r = 0;

	k->has_full |= e->full != 0;
	if (thread == KINETO_THREADS_MAX)
		return -ENOMEM;
	if (e->class == KINETO_PYTHON) {
		s.ref = e->python;
	} else if (e->class == KINETO_CALL) {
		struct kineto_call c = {.correlation = e->correlation,
					.chain = e->chain,
					.has_correlation = e->has_correlation};

		s.ref = (uint32_t)k->calls_len;
		r = e->has_launched ? take_untimed(k) : 0;
		if (!r)
			r = PUSH(k, calls, c);
	} else {
		struct kineto_op o = {.external = e->has_external ? e->external : 0,
				      .sequence = e->sequence,
				      .shapes = AIF_NONE,
				      .is_backward = e->forward_thread != 0};

		k->has_backward |= o.is_backward;

		if (e->shapes.len)
			o.shapes = aif_builder_str(k->b, e->shapes.data, e->shapes.len);
		if (o.external || o.sequence >= 0 || o.shapes != AIF_NONE) {
			s.ref = (uint32_t)k->ops_len;
			r = PUSH(k, ops, o);
		}
	}
	return r < 0 ? r : PUSH(k, spans, s);
}

/* What an event without a known category is, by its name: AIU's own dialect has none. */
static size_t name_classify(struct kineto *k, const char *name, size_t len)
{
	struct kineto_event *e = &k->event;
	size_t node = len;

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
	k->is_flex = true;
	k->family = KINETO_AIU;
	return e->class == KINETO_KERNEL ? node : len;
}

static bool is_time_ok(struct kineto *k, const struct kineto_event *e)
{
	int64_t end, far;

	if (!e->has_ts || e->dur < 0 || e->dur >= DAY_NS ||
	    __builtin_add_overflow(e->ts, e->dur, &end))
		return false;
	if (!k->has_first) {
		k->has_first = true;
		k->first_ts = e->ts;
	}
	return !__builtin_sub_overflow(e->ts, k->first_ts, &far) && far < DAY_NS && far > -DAY_NS &&
	       end - k->first_ts < DAY_NS;
}

static enum aif_launch_kind exec_kind(const struct kineto_event *e, const char *name, size_t len)
{
	if (e->class == KINETO_KERNEL)
		return AIF_LAUNCH_KERNEL;
	if (has(name, len, "Allocation"))
		return AIF_LAUNCH_ALLOCATE;
	if (has(name, len, "Release"))
		return AIF_LAUNCH_RELEASE;
	if (e->class == KINETO_FILL)
		return AIF_LAUNCH_FILL;
	if (len > 5 && !memcmp(name + len - 5, " DmaI", 5))
		return AIF_LAUNCH_WRITE;
	if (len > 5 && !memcmp(name + len - 5, " DmaO", 5))
		return AIF_LAUNCH_READ;
	if (begins(name, len, "clEnqueueRead"))
		return AIF_LAUNCH_READ;
	if (begins(name, len, "clEnqueueWrite"))
		return AIF_LAUNCH_WRITE;
	return kineto_copy_kind(name, len);
}

/* From an operator to the node that it made for the backward. */
static int take_arrow(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct kineto_arrow a = {.at = e->ts, .id = e->flow, .is_end = e->ph == 'f'};
	uint32_t thread = kineto_thread(k, e->pid, e->tid);

	a.thread = thread;
	return thread == KINETO_THREADS_MAX ? -ENOMEM : PUSH(k, arrows, a);
}

/* "Flow_H2D_17_0", "CL_Flow_H2D_17_0": the kernel with this number was launched here. */
static int take_flow(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	const char *cat = aif_buf_str(&e->cat);
	struct kineto_flow f = {.at = e->ts};

	if (!strcmp(cat, "fwdbwd") && e->has_ts && e->has_flow && e->ph != 't')
		return take_arrow(k);
	k->not_kept_flows++;
	if (e->ph != 's' || !e->has_ts)
		return 0;
	if (!strncmp(cat, "CL_", 3))
		cat += 3;
	if (strncmp(cat, "Flow_H2D_", 9) != 0)
		return 0;
	for (cat += 9; *cat >= '0' && *cat <= '9' && f.id < UINT64_MAX / 16; cat++)
		f.id = f.id * 10 + (uint64_t)(*cat - '0');
	f.thread = kineto_thread(k, e->pid, e->tid);
	k->not_kept_flows--;
	return f.thread == KINETO_THREADS_MAX ? -ENOMEM : PUSH(k, flows, f);
}

void kineto_leave_out(struct kineto_left_out *l, const char *what, size_t len, uint64_t n)
{
	char text[sizeof(l->what)];
	size_t i = 0;

	len = AIF_MIN(len, sizeof(text) - 1);
	for (size_t k = 0; k < len; k++) /* a terminal's escapes are no category */
		text[k] = what[k] > ' ' && what[k] < 0x7f ? what[k] : ' ';
	text[len] = '\0';
	while (i < KINETO_LEFT_OUT_MAX - 1 && l[i].count && strcmp(l[i].what, text))
		i++;
	if (!l[i].count)
		snprintf(l[i].what, sizeof(l[i].what), "%s",
			 i < KINETO_LEFT_OUT_MAX - 1 ? text : "others");
	l[i].count += n;
}

static void leave_out(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	const char *what = e->ph == 'C'                   ? "counter"
			   : e->ph == 'i' || e->ph == 'I' ? "instant"
							  : "without category";

	k->not_kept++;
	if (e->cat.len)
		kineto_leave_out(k->left_out, (const char *)e->cat.data, e->cat.len, 1);
	else if (e->name.len == 8 && !memcmp(e->name.data, "[memory]", 8))
		kineto_leave_out(k->left_out, "[memory]", 8, 1);
	else
		kineto_leave_out(k->left_out, what, strlen(what), 1);
}

/* A whole event: with a beginning and an end. */
static int take_whole(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	const char *name = (const char *)e->name.data;
	size_t len = e->name.len, kept = len;
	uint32_t id;

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
		k->bad++;
		return 0;
	}
	if (e->class == KINETO_OVERHEAD) {
		k->overhead_ns += e->dur;
		return 0;
	}
	/* AIU's releases have a call's category, and are the device's: they name it. */
	if (e->class == KINETO_CALL && e->has_device && len > 8 && !memcmp(name, "Memory (", 8))
		e->class = KINETO_FILL;
	if (e->class == KINETO_OP || e->class == KINETO_KERNEL) {
		size_t was = kept;

		kept = unitrace_classify(e, &name, kept);
		len -= was - kept;
	}
	if (e->class == KINETO_CALL || e->class == KINETO_KERNEL)
		learn_family(k, name, len);
	if (e->class == KINETO_OTHER && e->text.len) {
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
		return take_exec(k, id, exec_kind(e, name, len));
	return take_span(k, id);
}

/* ---- "B" and "E" --------------------------------------------------------------------------------- */

static uint64_t thread_key(const struct kineto_event *e)
{
	return aif_mix64((uint64_t)e->pid.number) + (uint64_t)e->tid.number;
}

static int take_begin(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	struct kineto_open o = {.class = e->class};
	uint64_t key = thread_key(e), top = 0, at;

	if (!e->has_ts || e->is_bad || k->unended >= OPEN_MAX) {
		k->bad++;
		return 0;
	}
	o.name = aif_strset_put(&k->names, e->name.data ? e->name.data : (const uint8_t *)"",
				e->name.len);
	o.exec.start = e->ts;
	o.exec.correlation = e->correlation;
	o.exec.external = e->external;
	o.exec.bytes = e->bytes;
	o.exec.has_correlation = e->has_correlation;
	o.exec.has_external = e->has_external;
	aif_map_get(&k->open_tops, key, &top);
	o.below = (uint32_t)top;
	at = k->open_free ? k->open_free - 1 : k->open_len;
	if (o.name == AIF_STR_NONE ||
	    aif_grow(&k->open, &k->open_cap, at + 1, sizeof(*k->open)) < 0 ||
	    aif_map_put(&k->open_tops, key, at + 1) < 0)
		return -ENOMEM;
	if (k->open_free)
		k->open_free = k->open[at].below;
	else
		k->open_len++;
	k->open[at] = o;
	k->unended++;
	return 0;
}

/* The innermost open event of the thread that this one ends, taken out; false: there is none. */
static int open_take(struct kineto *k, struct kineto_open *ret, bool *ret_found)
{
	const struct kineto_event *e = &k->event;
	uint64_t key = thread_key(e), top = 0;
	uint32_t above = 0, at;

	*ret_found = false;
	aif_map_get(&k->open_tops, key, &top);
	at = (uint32_t)top;
	for (unsigned looked = 0; at && looked < OPEN_LOOK; looked++) {
		struct kineto_open *o = &k->open[at - 1];
		size_t len;
		const char *name = aif_strset_get(&k->names, o->name, &len);

		if (e->name.len && (e->name.len != len || memcmp(e->name.data, name, len))) {
			above = at;
			at = o->below;
			continue;
		}
		if (above)
			k->open[above - 1].below = o->below;
		else if (aif_map_put(&k->open_tops, key, o->below) < 0)
			return -ENOMEM;
		*ret = *o;
		*ret_found = true;
		o->below = k->open_free;
		k->open_free = at;
		k->unended--;
		return 0;
	}
	return 0;
}

static int take_end(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	struct kineto_open was;
	bool is_found = false;
	size_t len;
	const char *name;

	if (e->has_ts && open_take(k, &was, &is_found) < 0)
		return -ENOMEM;
	if (!is_found) {
		k->bad++;
		return 0;
	}
	name = aif_strset_get(&k->names, was.name, &len);
	aif_buf_clear(&e->name);
	aif_buf_append(&e->name, name, len);
	e->class = was.class;
	e->is_bad |= __builtin_sub_overflow(e->ts, was.exec.start, &e->dur);
	e->ts = was.exec.start;
	if (was.exec.has_correlation)
		e->correlation = was.exec.correlation;
	if (was.exec.has_external)
		e->external = was.exec.external;
	e->has_correlation |= was.exec.has_correlation;
	e->has_external |= was.exec.has_external;
	e->bytes = AIF_MAX(e->bytes, was.exec.bytes);
	return take_whole(k);
}

/* ---- what is said of processes and threads ------------------------------------------------------- */

/* A hostile file has a million of them: those without a name do as well. */
#define NAMED_PIDS_MAX 65536

static int take_metadata(struct kineto *k)
{
	const struct kineto_event *e = &k->event;
	bool has_number = e->has_recorded_id && e->recorded_id < UINT32_MAX;
	uint32_t text = AIF_NONE, thread;
	struct kineto_pid *p;

	if ((!e->text.len && !has_number) || !e->name.len)
		return 0;
	if (e->text.len)
		text = aif_builder_str(k->b, e->text.data, e->text.len);
	if (e->name.len == 11 && !memcmp(e->name.data, "thread_name", 11)) {
		/* Only of threads that have events: the others are named for nothing. */
		thread = kineto_thread(k, e->pid, e->tid);
		if (thread == KINETO_THREADS_MAX)
			return 0;
		k->threads[thread].name = text;
		if (has_number)
			k->threads[thread].number = (uint32_t)e->recorded_id;
		return 0;
	}
	p = k->pids_len < NAMED_PIDS_MAX ? kineto_pid_of(k, e->pid) : NULL;
	if (p && e->name.len == 12 && !memcmp(e->name.data, "process_name", 12)) {
		p->name = text;
		if (has_number)
			p->number = (uint32_t)e->recorded_id;
	} else if (p && e->name.len == 14 && !memcmp(e->name.data, "process_labels", 14)) {
		p->labels = text;
	}
	return 0;
}

int kineto_take(struct kineto *k)
{
	struct kineto_event *e = &k->event;

	if (aif_buf_failed(&e->name) || aif_buf_failed(&e->cat) || aif_buf_failed(&e->shapes) ||
	    aif_buf_failed(&e->text))
		return -ENOMEM;
	k->events++;
	kineto_classify(e);
	switch (e->ph) {
	case 'X':
		return take_whole(k);
	case 'B':
		return take_begin(k);
	case 'E':
		return take_end(k);
	case 'M':
		return take_metadata(k);
	case 's':
	case 't':
	case 'f':
		return take_flow(k);
	case 0:
		k->bad++;
		return 0;
	default:
		leave_out(k);
		return 0;
	}
}
