/* SPDX-License-Identifier: Apache-2.0 */
#include "import/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Some bytes of it become 20 times as many here; --limit says that it is right. */
#define SIZE_DEFAULT (UINT64_C(1) << 30)
/* A hostile file has as many as it likes. */
#define THREADS_MAX 65536
#define DEVICES_MAX 4096

static void pprof_free(struct pprof *x)
{
	aif_synthetic_timeline_finish(&x->timeline);
	aif_host_finish(&x->host);
	aif_buf_finish(&x->text);
	aif_map_finish(&x->mapping_ids);
	aif_map_finish(&x->function_ids);
	aif_map_finish(&x->location_ids);
	aif_map_finish(&x->threads);
	aif_map_finish(&x->devices);
	free(x->strings);
	free(x->mappings);
	free(x->functions);
	free(x->locations);
	free(x->lines);
	free(x);
}

/* ---- samples ------------------------------------------------------------------------------------- */

static bool is_same(struct pprof_bytes a, struct pprof_bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.p, b.p, a.len));
}

static struct pprof_bytes function_name(const struct pprof *x, uint32_t function)
{
	return function < x->functions_len ? pprof_string(x, x->functions[function].name)
					   : (struct pprof_bytes){NULL, 0};
}

/* "main (train.py)" of /src/train.py: pictures say the file again. */
static struct pprof_bytes without_file(struct pprof_bytes name, struct pprof_bytes file)
{
	const uint8_t *slash = file.len ? memrchr(file.p, '/', file.len) : NULL;
	const uint8_t *base = slash ? slash + 1 : file.p, *at;
	size_t len = file.len - (size_t)(slash ? slash + 1 - file.p : 0);

	if (!len || name.len < len + 4 || name.p[name.len - 1] != ')')
		return name;
	at = name.p + name.len - len - 3;
	if (at[0] == ' ' && at[1] == '(' && !memcmp(at + 2, base, len))
		name.len -= len + 3;
	return name;
}

static uint32_t frame_of(struct pprof *x, const struct pprof_location *l, uint32_t function,
			 uint32_t line)
{
	struct pprof_bytes name = function_name(x, function), file = {NULL, 0}, module = {NULL, 0};
	uint32_t module_id = AIF_NONE, file_id = AIF_NONE, name_id;
	enum aif_frame_kind kind;
	uint64_t i;

	if (aif_map_get(&x->mapping_ids, l->mapping, &i)) {
		module = pprof_string(x, x->mappings[i].file);
		if (module.len)
			module_id = pprof_string_id(x, x->mappings[i].file);
	}
	if (function < x->functions_len) {
		file = pprof_string(x, x->functions[function].file);
		if (file.len)
			file_id = pprof_string_id(x, x->functions[function].file);
	}
	if (!name.len && function == AIF_NONE)
		return aif_host_unnamed(&x->host, module_id, l->address);
	kind = aif_host_kind((const char *)name.p, name.len, (const char *)file.p, file.len);
	if (kind == AIF_FRAME_NATIVE && name.len > 2 && name.p[0] == '[' &&
	    name.p[name.len - 1] == ']')
		kind = AIF_FRAME_MARK;
	if (aif_host_is_os((const char *)module.p, module.len, l->address) ||
	    pprof_is(module, AIF_OS_KERNEL))
		kind = AIF_FRAME_OS;
	if (kind == AIF_FRAME_PYTHON)
		name = without_file(name, file);
	name_id = name.len ? aif_builder_str(x->b, name.p, name.len)
			   : aif_builder_puts(x->b, "[unknown]");
	return aif_host_frame(&x->host, kind, module_id, name_id, file_id,
			      file_id == AIF_NONE ? 0 : line);
}

static void lines_make(struct pprof *x, struct pprof_location *l)
{
	struct aif_proto_in m = aif_proto_of(l->bytes.p, l->bytes.len);

	l->is_known = true;
	l->first = x->lines_len;
	while (!x->is_memory && aif_proto_next(&m)) {
		struct aif_proto_in inner = aif_proto_of(m.bytes, m.len);
		struct pprof_line row = {.function = AIF_NONE - 1};
		uint64_t i;

		if (m.field != 4 || m.wire != AIF_PROTO_BYTES)
			continue;
		while (aif_proto_next(&inner)) {
			if (inner.field == 1 && aif_map_get(&x->function_ids, inner.value, &i))
				row.function = (uint32_t)i;
			if (inner.field == 2)
				row.line = inner.value < INT32_MAX ? (uint32_t)inner.value : 0;
		}
		row.frame = frame_of(x, l, row.function, row.line);
		PPROF_ADD(x, lines, row);
		l->lines++;
	}
	if (!l->lines) {
		PPROF_ADD(x, lines,
			  (struct pprof_line){.function = AIF_NONE,
					      .frame = frame_of(x, l, AIF_NONE, 0)});
		l->lines = 1;
	}
}

static void push_location(struct pprof *x, uint64_t id)
{
	struct pprof_location *l;
	uint64_t i;

	if (!aif_map_get(&x->location_ids, id, &i)) {
		x->bad++;
		return;
	}
	l = &x->locations[i];
	if (!l->is_known)
		lines_make(x, l);
	for (size_t n = 0; n < l->lines && !x->is_memory; n++) {
		/* Callers of what is deeper are lost: the end of a stack is where it was. */
		if (x->stack_len == PPROF_DEPTH_MAX) {
			x->is_deep = true;
			return;
		}
		x->stack[x->stack_len++] = x->lines[l->first + n];
	}
}

static void label_add(struct pprof *x, struct aif_proto_in m)
{
	uint64_t key = 0, text = 0;
	struct pprof_bytes name;

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			key = m.value;
		if (m.field == 2)
			text = m.value;
	}
	if (!text || text >= x->strings_len)
		return;
	name = pprof_string(x, key);
	if (pprof_is(name, "thread") || pprof_is(name, "thread name"))
		x->thread = (uint32_t)text;
	if (x->device_at == SIZE_MAX)
		return;
	if (pprof_is(name, "kernel"))
		x->kernel = (uint32_t)text;
	if (pprof_is(name, "device"))
		x->device = (uint32_t)text;
	if (pprof_is(name, "instruction"))
		x->instruction = (uint32_t)text;
	if (pprof_is(name, "stall"))
		x->stall = (uint32_t)text;
}

static bool parse_sample(struct pprof *x, struct aif_proto_in m)
{
	size_t values = 0;

	x->stack_len = 0;
	x->is_deep = false;
	x->kernel = x->instruction = x->stall = x->thread = x->device = 0;
	memset(x->values, 0, sizeof(x->values));
	while (aif_proto_next(&m)) {
		struct aif_proto_in state = {0};
		uint64_t v;

		if (m.field == 1)
			while (aif_proto_number(&m, &state, &v))
				push_location(x, v);
		else if (m.field == 2)
			while (aif_proto_number(&m, &state, &v)) {
				if (values < PPROF_TYPES_MAX)
					x->values[values] = v;
				values++;
			}
		else if (m.field == 3 && m.wire == AIF_PROTO_BYTES)
			label_add(x, aif_proto_of(m.bytes, m.len));
		if (state.is_bad)
			return false;
	}
	return !m.is_bad && values == x->types_len;
}

static void thread_switch(struct pprof *x)
{
	struct aif_thread row = {.process = x->timeline.process, .name = AIF_NONE};
	uint64_t id;

	if (aif_map_get(&x->threads, x->thread, &id)) {
		x->timeline.thread = (uint32_t)id;
		x->crowded += id >> 32;
		return;
	}
	id = 0;
	if (x->b->p.threads_len < THREADS_MAX) {
		if (x->thread)
			row.name = pprof_string_id(x, x->thread);
		row.tid = (uint32_t)x->b->p.threads_len; /* none is known */
		x->timeline.thread = aif_builder_thread(x->b, &row);
	} else {
		x->crowded++;
		id = UINT64_C(1) << 32; /* the last one's */
	}
	x->is_memory |= aif_map_put(&x->threads, x->thread, id | x->timeline.thread) < 0;
}

/* Devices have streams of the same number: one each. */
static void device_switch(struct pprof *x)
{
	uint64_t stream;
	struct pprof_bytes name = pprof_string(x, x->device);
	char text[256];

	if (!x->device)
		return; /* the first execution makes one */
	if (!aif_map_get(&x->devices, x->device, &stream)) {
		/* More than any machine has: those behind them are the last one. */
		if (x->devices.len >= DEVICES_MAX) {
			x->crowded++;
			return;
		}
		snprintf(text, sizeof(text), "%.*s", (int)AIF_MIN(name.len, sizeof(text)),
			 name.len ? (const char *)name.p : "");
		aif_synthetic_timeline_make_device(&x->timeline, text);
		stream = x->timeline.stream;
		x->is_memory |= aif_map_put(&x->devices, x->device, stream) < 0;
	}
	x->timeline.stream = (uint32_t)stream;
	if (stream < x->b->p.streams_len)
		x->timeline.device = x->b->p.streams[stream].device;
}

/* Returns the stack of the frames from `leaf` to the root, which is the last. */
static uint32_t stack_of(struct pprof *x, size_t leaf)
{
	uint32_t stack = AIF_NONE;

	for (size_t i = x->stack_len; i-- > leaf;)
		stack = aif_builder_stack(x->b, stack, x->stack[i].frame, 0);
	return stack;
}

/* Device time: which of the functions is the kernel a label says. */
static int put_device(struct pprof *x, uint64_t ns)
{
	struct aif_weighted_frame frames[2];
	struct aif_weighted_stack s;
	struct pprof_bytes kernel = pprof_string(x, x->kernel);
	struct aif_buf inside = {0};
	size_t at = x->stack_len;
	int r;

	if (!kernel.len)
		kernel = (struct pprof_bytes){(const uint8_t *)"[unknown]", 9};
	while (at && !is_same(function_name(x, x->stack[at - 1].function), kernel))
		at--;
	if (!at) /* it is not among them: the innermost is */
		at = 1;
	frames[0] = (struct aif_weighted_frame){
		.name = (const char *)kernel.p, .len = kernel.len, .kind = AIF_FRAME_DEVICE};
	for (size_t i = at - 1; i-- > 0;) {
		struct pprof_bytes name = function_name(x, x->stack[i].function);

		if (!name.len)
			continue;
		if (inside.len)
			aif_buf_puts(&inside, ";");
		aif_buf_append(&inside, name.p, name.len);
	}
	if (x->instruction && !(at > 1 && is_same(function_name(x, x->stack[0].function),
						  pprof_string(x, x->instruction)))) {
		struct pprof_bytes name = pprof_string(x, x->instruction);

		if (inside.len)
			aif_buf_puts(&inside, ";");
		aif_buf_append(&inside, name.p, name.len);
	}
	frames[1] = (struct aif_weighted_frame){
		.name = aif_buf_str(&inside), .len = inside.len, .kind = AIF_FRAME_DEVICE};
	r = aif_buf_failed(&inside)
		    ? -ENOMEM
		    : aif_weighted_stack_split(&x->timeline, &x->host, frames, inside.len ? 2 : 1,
					       AIF_IMPORT_AS_MARKED, &s);
	aif_buf_finish(&inside);
	if (r < 0)
		return r;
	device_switch(x);
	s.stack = stack_of(x, at);
	r = aif_weighted_stack_put(&x->timeline, &s, ns);
	if (!r && x->stall && s.kind == AIF_LAUNCH_KERNEL && ns)
		x->b->samples[x->b->samples_len - 1].reason = pprof_string_id(x, x->stall);
	return r;
}

static uint32_t no_stack(struct pprof *x)
{
	uint32_t name = aif_builder_puts(x->b, "[no stack]");

	return aif_builder_stack(
		x->b, AIF_NONE,
		aif_host_frame(&x->host, AIF_FRAME_MARK, AIF_NONE, name, AIF_NONE, 0), 0);
}

static int put(struct pprof *x)
{
	const struct aif_import_opts *o = x->source->opts;
	uint64_t v, ns;
	int r = 0;

	thread_switch(x);
	x->too_deep += x->is_deep;
	if (x->device_at != SIZE_MAX && x->wait_at != SIZE_MAX) {
		if (x->values[x->device_at] && x->kernel)
			r = put_device(x, x->values[x->device_at]);
		if (!r && x->values[x->cpu_at])
			r = aif_synthetic_timeline_cpu(&x->timeline, stack_of(x, 0),
						       x->values[x->cpu_at]);
		if (!r && x->values[x->wait_at]) {
			struct pprof_bytes leaf =
				function_name(x, x->stack_len ? x->stack[0].function : AIF_NONE);
			bool has_mark =
				leaf.len && aif_weighted_is_wait((const char *)leaf.p, leaf.len);

			r = aif_synthetic_timeline_wait(&x->timeline, stack_of(x, has_mark),
							x->values[x->wait_at]);
		}
		return r;
	}
	v = x->values[x->value_at];
	if (__builtin_mul_overflow(v, x->unit_ns ? x->unit_ns : o->count_ns ? o->count_ns : 1, &ns))
		return -ERANGE;
	if (!ns)
		return 0;
	if (!x->stack_len) {
		x->no_stack++;
		return aif_synthetic_timeline_cpu(&x->timeline, no_stack(x), ns);
	}
	if (o->folded == AIF_IMPORT_AS_DEVICE && x->stack[0].function < x->functions_len) {
		x->kernel = x->functions[x->stack[0].function].name;
		return put_device(x, ns);
	}
	return aif_synthetic_timeline_cpu(&x->timeline, stack_of(x, 0), ns);
}

static int read_samples(struct pprof *x)
{
	struct aif_proto_in p = aif_proto_of(x->text.data, x->text.len);
	int r = 0;

	while (!r && aif_proto_next(&p)) {
		if (p.field != PPROF_SAMPLE || p.wire != AIF_PROTO_BYTES)
			continue;
		if (!parse_sample(x, aif_proto_of(p.bytes, p.len))) {
			x->bad++;
			continue;
		}
		x->source->events++;
		r = put(x);
		if (r == -ERANGE) {
			x->bad++;
			r = 0;
		}
		if (x->is_memory || x->b->failed)
			r = -ENOMEM;
	}
	return r;
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* All are fields of a Profile, each as it is encoded there, in any order (Go's runtime begins with the time), with a
 * ValueType among them. */
static int probe(const uint8_t *head, size_t len)
{
	struct aif_proto_in p = aif_proto_of(head, len), m;
	unsigned fields = 0, types = 0;

	while (aif_proto_next(&p)) {
		bool is_message = p.field <= PPROF_STRING || p.field == 11;

		if (p.field > 15 || (p.wire != AIF_PROTO_BYTES && p.wire != AIF_PROTO_VARINT) ||
		    (is_message != (p.wire == AIF_PROTO_BYTES) && p.field != 13))
			return 0;
		m = aif_proto_of(p.bytes, p.len);
		types += p.field == PPROF_SAMPLE_TYPE;
		if (p.field == PPROF_SAMPLE_TYPE)
			while (aif_proto_next(&m))
				if (m.field > 2 || m.wire != AIF_PROTO_VARINT)
					return 0;
		if (m.is_bad)
			return 0;
		fields++;
	}
	return fields > 2 && types ? 6 : 0;
}

static int read_all(struct pprof *x, struct aif_err *err)
{
	const char *name = aif_input_name(x->source->input);
	uint64_t limit = x->source->opts->limit ? x->source->opts->limit : SIZE_DEFAULT;
	ssize_t n;

	do {
		void *room = aif_buf_reserve(&x->text, 1u << 18);

		if (!room)
			return aif_err_set(err, -ENOMEM, "%s: out of memory", name);
		n = aif_import_read(x->source, room, 1u << 18, err);
		if (n < 0)
			return (int)n;
		x->text.len += (size_t)n;
		if (x->text.len > limit)
			return aif_err_set(
				err, -EFBIG,
				"%s: holds more than %" PRIu64
				" bytes, and such a file is kept in memory; raise --limit if that is right",
				name, limit);
	} while (n);
	return 0;
}

/* Says which values are not here. How many samples there are is none of them: a value beside it stands for as much. */
static void other_values(struct pprof *x)
{
	struct aif_buf left = {0}, text = {0};
	struct pprof_bytes type;

	for (size_t i = 0; i < x->types_len; i++) {
		type = pprof_string(x, x->types[i].type);
		if (i == x->value_at || (x->unit_ns && pprof_is(type, "samples")) || left.len > 200)
			continue;
		aif_buf_printf(&left, "%s%.*s", left.len ? ", " : "", (int)AIF_MIN(type.len, 60u),
			       type.len ? (const char *)type.p : "");
	}
	type = pprof_string(x, x->types[x->value_at].type);
	aif_buf_printf(&text, "%s: %.*s; left out: %s", aif_input_name(x->source->input),
		       (int)AIF_MIN(type.len, 60u), type.len ? (const char *)type.p : "",
		       aif_buf_str(&left));
	if (left.len)
		aif_builder_loss(x->b, AIF_REASON_IMPORT_OTHER_VALUE, AIF_NONE,
				 aif_builder_puts(x->b, aif_buf_str(&text)), 1);
	x->b->failed |= aif_buf_failed(&left) || aif_buf_failed(&text);
	aif_buf_finish(&left);
	aif_buf_finish(&text);
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct pprof *x = calloc(1, sizeof(*x));
	const char *name = aif_input_name(source->input);
	size_t rows = b->waits_len + b->execs_len;
	char counts[64];
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->b = x->timeline.b = x->host.b = b;
	x->source = source;
	for (size_t i = 0; i < b->execs_len; i++) /* of the files before it */
		x->timeline.at = AIF_MAX(x->timeline.at, b->execs[i].end);
	for (size_t i = 0; i < b->waits_len; i++)
		x->timeline.at = AIF_MAX(x->timeline.at, b->waits[i].time + b->waits[i].weight +
								 b->waits[i].waiting);
	r = read_all(x, err);
	if (r < 0)
		goto out;
	pprof_tables_read(x);
	x->is_torn |= aif_input_is_torn(source->input);
	pprof_values_choose(x);
	aif_synthetic_timeline_begin(&x->timeline, name);
	if (x->is_memory)
		r = -ENOMEM;
	else if (x->types_len)
		r = read_samples(x);
	if (r < 0) {
		aif_err_set(err, r, "%s: %s", name, strerror(-r));
		goto out;
	}
	if (b->waits_len + b->execs_len == rows) {
		r = aif_err_set(err, -ENODATA, "%s: no sample with a value in it", name);
		goto out;
	}
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE, aif_builder_puts(b, name), 1);
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE, aif_builder_puts(b, name), x->bad);
	aif_builder_loss(b, AIF_REASON_IMPORT_STACK_DEEP, AIF_NONE, aif_builder_puts(b, name),
			 x->too_deep);
	aif_builder_loss(b, AIF_REASON_IMPORT_CROWDED, AIF_NONE, aif_builder_puts(b, name),
			 x->crowded);
	aif_builder_loss(b, AIF_REASON_IMPORT_NO_STACK, AIF_NONE, aif_builder_puts(b, name),
			 x->no_stack);
	aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, aif_builder_puts(b, name),
			 x->is_torn);
	if (pprof_is_wall(x) && b->waits_len)
		aif_weighted_stacks_wall(b);
	if (x->device_at == SIZE_MAX) {
		struct pprof_bytes type = pprof_string(x, x->types[x->value_at].type),
				   unit = pprof_string(x, x->types[x->value_at].unit);

		other_values(x);
		aif_builder_meta(b, "imported.value", "%.*s (%.*s)", (int)AIF_MIN(type.len, 60u),
				 type.len ? (const char *)type.p : "", (int)AIF_MIN(unit.len, 60u),
				 unit.len ? (const char *)unit.p : "");
		if (!x->unit_ns && !source->opts->count_ns) {
			struct pprof_bytes of = unit.len && !pprof_is(unit, "count") ? unit : type;

			snprintf(counts, sizeof(counts), "%.*s", (int)AIF_MIN(of.len, 60u),
				 of.len ? (const char *)of.p : "counts");
			aif_weighted_stacks_count(b, counts);
		}
	}
out:
	pprof_free(x);
	return r;
}

const struct aif_importer aif_importer_pprof = {
	.name = "pprof",
	.summary = "pprof's protobuf: Go, and many others",
	.uses = AIF_IMPORT_USES_AS | AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = aif_weighted_stacks_finish,
};
