/* SPDX-License-Identifier: Apache-2.0 */
#include "import/proto_reader.h"
#include "import/stacked.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto): stacks of locations, the innermost first, with
 * values and labels; locations, functions and strings are told behind the samples that name them, so all of it is held
 * in memory. Numbers in it are looked up, never trusted.
 *
 * Of several values the profile's default counts, else the last, as pprof itself chooses. aiflame's own exports have
 * device time, CPU time and waiting, and each is what it was.
 */
/* Some bytes of it become 20 times as many here; --limit says that it is right. */
#define SIZE_DEFAULT (UINT64_C(1) << 30)
#define DEPTH_MAX    8192
#define TYPES_MAX    64

enum { /* Profile */
       SAMPLE_TYPE = 1,
       SAMPLE = 2,
       MAPPING = 3,
       LOCATION = 4,
       FUNCTION = 5,
       STRING = 6,
       DEFAULT_SAMPLE_TYPE = 14,
};

struct bytes {
	const uint8_t *p;
	size_t len;
};
struct pprof_string {
	struct bytes text;
	uint32_t id; /* of the profile, AIF_NONE: not yet */
};
struct pprof_mapping {
	uint64_t id;
	uint32_t file; /* number in .strings */
};
struct pprof_function {
	uint64_t id;
	uint32_t name, file;
};
struct pprof_line {
	uint32_t function, line; /* function: its place in .functions */
	uint32_t frame;          /* of the profile */
};
struct pprof_location {
	uint64_t id, address, mapping;
	struct bytes bytes;
	size_t first, lines; /* in .lines, the innermost first */
	bool is_known;
};

struct pprof {
	struct aif_builder *b;
	struct aif_import_source *source;
	struct aif_laid laid;
	struct aif_host host;
	struct aif_buf text; /* the file */
	AIF_TABLE(pprof_string, strings);
	AIF_TABLE(pprof_mapping, mappings);
	AIF_TABLE(pprof_function, functions);
	AIF_TABLE(pprof_location, locations);
	AIF_TABLE(pprof_line, lines);
	struct aif_map mapping_ids, function_ids, location_ids, threads, devices;
	struct {
		uint32_t type, unit; /* numbers of strings */
	} types[TYPES_MAX];
	size_t types_len;
	uint64_t default_type;
	size_t value_at, device_at, cpu_at, wait_at; /* SIZE_MAX: there is none */
	uint64_t unit_ns;                            /* what one of value_at is; 0: a count */
	uint64_t bad, too_deep;
	bool is_memory, is_torn;

	/* The sample at hand. */
	struct pprof_line stack[DEPTH_MAX]; /* the innermost first */
	size_t stack_len;
	uint64_t values[TYPES_MAX];
	uint32_t kernel, instruction, stall, thread,
		device; /* labels: numbers of strings, 0: none */
};

static void finish(struct pprof *x)
{
	aif_laid_finish(&x->laid);
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

#define PUSH(x, table, ...)                                                                      \
	(aif_grow(&(x)->table, &(x)->table##_cap, (x)->table##_len + 1, sizeof(*(x)->table)) < 0 \
		 ? (void)((x)->is_memory = true)                                                 \
		 : (void)((x)->table[(x)->table##_len++] = (__VA_ARGS__)))

/* ---- tables -------------------------------------------------------------------------------------- */

static struct bytes string(const struct pprof *x, uint64_t number)
{
	return number < x->strings_len ? x->strings[number].text : (struct bytes){NULL, 0};
}

/* The string in the profile. */
static uint32_t string_id(struct pprof *x, uint64_t number)
{
	struct pprof_string *s;

	if (number >= x->strings_len)
		return aif_builder_puts(x->b, "");
	s = &x->strings[number];
	if (s->id == AIF_NONE)
		s->id = aif_builder_str(x->b, s->text.len ? s->text.p : (const uint8_t *)"",
					s->text.len);
	return s->id;
}

static bool is(struct bytes s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.p, text, s.len));
}

static bool is_same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.p, b.p, a.len));
}

static uint32_t clipped(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void take_type(struct pprof *x, struct aif_proto_in m)
{
	uint64_t type = 0, unit = 0;

	while (aif_proto_next(&m))
		if (m.wire == AIF_PROTO_VARINT)
			*(m.field == 1 ? &type : m.field == 2 ? &unit : &(uint64_t){0}) = m.value;
	x->bad += m.is_bad;
	if (x->types_len == TYPES_MAX) {
		x->bad++;
		return;
	}
	x->types[x->types_len].type = clipped(type);
	x->types[x->types_len++].unit = clipped(unit);
}

/* Rows have numbers of their own, none of them 0: others are not kept, however many there are. */
static bool is_new(struct pprof *x, struct aif_map *ids, uint64_t id, size_t at)
{
	uint64_t known;

	if (!id || aif_map_get(ids, id, &known)) {
		x->bad++;
		return false;
	}
	x->is_memory |= aif_map_put(ids, id, at) < 0;
	return !x->is_memory;
}

static void take_mapping(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_mapping row = {0};

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 5)
			row.file = clipped(m.value);
	}
	if (!is_new(x, &x->mapping_ids, row.id, x->mappings_len))
		return;
	PUSH(x, mappings, row);
}

static void take_function(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_function row = {0};
	uint32_t system_name = 0;

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 2)
			row.name = clipped(m.value);
		if (m.field == 3)
			system_name = clipped(m.value);
		if (m.field == 4)
			row.file = clipped(m.value);
	}
	if (!row.name)
		row.name = system_name;
	if (!is_new(x, &x->function_ids, row.id, x->functions_len))
		return;
	PUSH(x, functions, row);
}

static void take_location(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_location row = {.bytes = {m.at, (size_t)(m.end - m.at)}};

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 2)
			row.mapping = m.value;
		if (m.field == 3)
			row.address = m.value;
	}
	x->bad += m.is_bad;
	if (!is_new(x, &x->location_ids, row.id, x->locations_len))
		return;
	PUSH(x, locations, row);
}

/* All but the samples. */
static void read_tables(struct pprof *x)
{
	struct aif_proto_in p = aif_proto_of(x->text.data, x->text.len);

	while (!x->is_memory && aif_proto_next(&p)) {
		struct aif_proto_in m = aif_proto_of(p.bytes, p.len);

		if (p.wire == AIF_PROTO_VARINT && p.field == DEFAULT_SAMPLE_TYPE)
			x->default_type = p.value;
		if (p.wire != AIF_PROTO_BYTES)
			continue;
		switch (p.field) {
		case SAMPLE_TYPE:
			take_type(x, m);
			break;
		case MAPPING:
			take_mapping(x, m);
			break;
		case LOCATION:
			take_location(x, m);
			break;
		case FUNCTION:
			take_function(x, m);
			break;
		case STRING:
			PUSH(x, strings,
			     (struct pprof_string){.text = {p.bytes, p.len}, .id = AIF_NONE});
			break;
		default:
			break;
		}
	}
	x->is_torn |= p.is_bad;
}

static uint64_t unit_ns(struct bytes unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"nanoseconds", 1},        {"nanosecond", 1},        {"ns", 1},
		{"microseconds", 1000},    {"microsecond", 1000},    {"us", 1000},
		{"milliseconds", 1000000}, {"millisecond", 1000000}, {"ms", 1000000},
		{"seconds", AIF_NS_PER_S}, {"second", AIF_NS_PER_S}, {"s", AIF_NS_PER_S},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++)
		if (is(unit, units[i].name))
			return units[i].ns;
	return 0;
}

static void choose_values(struct pprof *x)
{
	x->value_at = x->types_len ? x->types_len - 1 : SIZE_MAX;
	x->device_at = x->cpu_at = x->wait_at = SIZE_MAX;
	for (size_t i = 0; i < x->types_len; i++) {
		struct bytes type = string(x, x->types[i].type);

		if (x->default_type && x->types[i].type == x->default_type)
			x->value_at = i;
		if (is(type, "device_time"))
			x->device_at = i;
		if (is(type, "cpu"))
			x->cpu_at = i;
		if (is(type, "device_wait"))
			x->wait_at = i;
	}
	if (x->device_at == SIZE_MAX || x->cpu_at == SIZE_MAX)
		x->device_at = SIZE_MAX;
	if (x->value_at != SIZE_MAX)
		x->unit_ns = unit_ns(string(x, x->types[x->value_at].unit));
}

/* ---- samples ------------------------------------------------------------------------------------- */

static struct bytes function_name(const struct pprof *x, uint32_t function)
{
	return function < x->functions_len ? string(x, x->functions[function].name)
					   : (struct bytes){NULL, 0};
}

/* "main (train.py)" of /src/train.py: pictures say the file again. */
static struct bytes without_file(struct bytes name, struct bytes file)
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
	struct bytes name = function_name(x, function), file = {NULL, 0}, module = {NULL, 0};
	uint32_t module_id = AIF_NONE, file_id = AIF_NONE, name_id;
	enum aif_frame_kind kind;
	uint64_t i;

	if (aif_map_get(&x->mapping_ids, l->mapping, &i)) {
		module = string(x, x->mappings[i].file);
		if (module.len)
			module_id = string_id(x, x->mappings[i].file);
	}
	if (function < x->functions_len) {
		file = string(x, x->functions[function].file);
		if (file.len)
			file_id = string_id(x, x->functions[function].file);
	}
	if (!name.len && function == AIF_NONE)
		return aif_host_unnamed(&x->host, module_id, l->address);
	kind = aif_host_kind((const char *)name.p, name.len, (const char *)file.p, file.len);
	if (kind == AIF_FRAME_NATIVE && name.len > 2 && name.p[0] == '[' &&
	    name.p[name.len - 1] == ']')
		kind = AIF_FRAME_MARK;
	if (aif_host_is_os((const char *)module.p, module.len) || is(module, AIF_OS_KERNEL))
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
		PUSH(x, lines, row);
		l->lines++;
	}
	if (!l->lines) {
		PUSH(x, lines,
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
		if (x->stack_len == DEPTH_MAX) {
			x->too_deep++;
			return;
		}
		x->stack[x->stack_len++] = x->lines[l->first + n];
	}
}

static void take_label(struct pprof *x, struct aif_proto_in m)
{
	uint64_t key = 0, text = 0;
	struct bytes name;

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			key = m.value;
		if (m.field == 2)
			text = m.value;
	}
	if (!text || text >= x->strings_len)
		return;
	name = string(x, key);
	if (is(name, "thread") || is(name, "thread name"))
		x->thread = (uint32_t)text;
	if (x->device_at == SIZE_MAX)
		return;
	if (is(name, "kernel"))
		x->kernel = (uint32_t)text;
	if (is(name, "device"))
		x->device = (uint32_t)text;
	if (is(name, "instruction"))
		x->instruction = (uint32_t)text;
	if (is(name, "stall"))
		x->stall = (uint32_t)text;
}

static bool parse_sample(struct pprof *x, struct aif_proto_in m)
{
	size_t values = 0;

	x->stack_len = 0;
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
				if (values < TYPES_MAX)
					x->values[values] = v;
				values++;
			}
		else if (m.field == 3 && m.wire == AIF_PROTO_BYTES)
			take_label(x, aif_proto_of(m.bytes, m.len));
		if (state.is_bad)
			return false;
	}
	return !m.is_bad && values == x->types_len;
}

static void thread_switch(struct pprof *x)
{
	struct aif_thread row = {.process = x->laid.process, .name = AIF_NONE};
	uint64_t id;

	if (aif_map_get(&x->threads, x->thread, &id)) {
		x->laid.thread = (uint32_t)id;
		return;
	}
	/* A hostile file has as many as it likes. */
	if (x->b->p.threads_len < 65536) {
		if (x->thread)
			row.name = string_id(x, x->thread);
		row.tid = (uint32_t)x->b->p.threads_len; /* none is told */
		x->laid.thread = aif_builder_thread(x->b, &row);
	}
	x->is_memory |= aif_map_put(&x->threads, x->thread, x->laid.thread) < 0;
}

/* Devices have streams of the same number: one each. */
static void device_switch(struct pprof *x)
{
	uint64_t stream;
	struct bytes name = string(x, x->device);
	char text[256];

	if (!x->device)
		return; /* what is laid makes one */
	if (!aif_map_get(&x->devices, x->device, &stream)) {
		/* More than any machine has: those behind them are the last one. */
		if (x->devices.len >= 4096)
			return;
		snprintf(text, sizeof(text), "%.*s", (int)AIF_MIN(name.len, sizeof(text)),
			 name.len ? (const char *)name.p : "");
		aif_laid_make_device(&x->laid, text);
		stream = x->laid.stream;
		x->is_memory |= aif_map_put(&x->devices, x->device, stream) < 0;
	}
	x->laid.stream = (uint32_t)stream;
	if (stream < x->b->p.streams_len)
		x->laid.device = x->b->p.streams[stream].device;
}

/* Of the frames from `leaf` on to the root, which is the last. */
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
	struct aif_stacked_frame frames[2];
	struct aif_stacked s;
	struct bytes kernel = string(x, x->kernel);
	struct aif_buf inside = {0};
	size_t at = x->stack_len;
	int r;

	if (!kernel.len)
		kernel = (struct bytes){(const uint8_t *)"[unknown]", 9};
	while (at && !is_same(function_name(x, x->stack[at - 1].function), kernel))
		at--;
	if (!at) /* it is not among them: the innermost is */
		at = 1;
	frames[0] = (struct aif_stacked_frame){
		.name = (const char *)kernel.p, .len = kernel.len, .kind = AIF_FRAME_DEVICE};
	for (size_t i = at - 1; i-- > 0;) {
		struct bytes name = function_name(x, x->stack[i].function);

		if (!name.len)
			continue;
		if (inside.len)
			aif_buf_puts(&inside, ";");
		aif_buf_append(&inside, name.p, name.len);
	}
	if (x->instruction && !(at > 1 && is_same(function_name(x, x->stack[0].function),
						  string(x, x->instruction)))) {
		struct bytes name = string(x, x->instruction);

		if (inside.len)
			aif_buf_puts(&inside, ";");
		aif_buf_append(&inside, name.p, name.len);
	}
	frames[1] = (struct aif_stacked_frame){
		.name = aif_buf_str(&inside), .len = inside.len, .kind = AIF_FRAME_DEVICE};
	r = aif_buf_failed(&inside) ? -ENOMEM
				    : aif_stacked_of(&x->laid, &x->host, frames, inside.len ? 2 : 1,
						     AIF_IMPORT_AS_MARKED, &s);
	aif_buf_finish(&inside);
	if (r < 0)
		return r;
	device_switch(x);
	s.stack = stack_of(x, at);
	r = aif_stacked_put(&x->laid, &s, ns);
	if (!r && x->stall && s.kind == AIF_LAUNCH_KERNEL && ns)
		x->b->samples[x->b->samples_len - 1].reason = string_id(x, x->stall);
	return r;
}

static int put(struct pprof *x)
{
	const struct aif_import_opts *o = x->source->opts;
	uint64_t v, ns;
	int r = 0;

	thread_switch(x);
	if (x->device_at != SIZE_MAX && x->wait_at != SIZE_MAX) {
		if (x->values[x->device_at] && x->kernel)
			r = put_device(x, x->values[x->device_at]);
		if (!r && x->values[x->cpu_at])
			r = aif_laid_cpu(&x->laid, stack_of(x, 0), x->values[x->cpu_at]);
		if (!r && x->values[x->wait_at]) {
			r = aif_laid_cpu(&x->laid, stack_of(x, 0), x->values[x->wait_at]);
			if (!r) {
				struct aif_cpu_row *row = &x->b->waits[x->b->waits_len - 1];

				row->waiting = row->weight;
				row->weight = 0;
			}
		}
		return r;
	}
	v = x->values[x->value_at];
	if (__builtin_mul_overflow(v, x->unit_ns ? x->unit_ns : o->count_ns ? o->count_ns : 1, &ns))
		return -ERANGE;
	if (!ns || !x->stack_len)
		return 0;
	if (o->folded == AIF_IMPORT_AS_DEVICE && x->stack[0].function < x->functions_len) {
		x->kernel = x->functions[x->stack[0].function].name;
		return put_device(x, ns);
	}
	return aif_laid_cpu(&x->laid, stack_of(x, 0), ns);
}

static int read_samples(struct pprof *x)
{
	struct aif_proto_in p = aif_proto_of(x->text.data, x->text.len);
	int r = 0;

	while (!r && aif_proto_next(&p)) {
		if (p.field != SAMPLE || p.wire != AIF_PROTO_BYTES)
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
		bool is_message = p.field <= STRING || p.field == 11;

		if (p.field > 15 || (p.wire != AIF_PROTO_BYTES && p.wire != AIF_PROTO_VARINT) ||
		    (is_message != (p.wire == AIF_PROTO_BYTES) && p.field != 13))
			return 0;
		m = aif_proto_of(p.bytes, p.len);
		types += p.field == SAMPLE_TYPE;
		if (p.field == SAMPLE_TYPE)
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
				" bytes, and such a file is kept in memory; raise --limit if it is right",
				name, limit);
	} while (n);
	return 0;
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct pprof *x = calloc(1, sizeof(*x));
	const char *name = aif_input_name(source->input);
	size_t rows = b->waits_len + b->execs_len;
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->b = x->laid.b = x->host.b = b;
	x->source = source;
	for (size_t i = 0; i < b->execs_len; i++) /* of the files before it */
		x->laid.at = AIF_MAX(x->laid.at, b->execs[i].end);
	for (size_t i = 0; i < b->waits_len; i++)
		x->laid.at = AIF_MAX(x->laid.at,
				     b->waits[i].time + b->waits[i].weight + b->waits[i].waiting);
	r = read_all(x, err);
	if (r < 0)
		goto out;
	read_tables(x);
	x->is_torn |= aif_input_is_torn(source->input);
	choose_values(x);
	aif_laid_begin(&x->laid, name);
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
	aif_builder_loss(b, AIF_REASON_IMPORT_DEPTH, AIF_NONE, aif_builder_puts(b, name),
			 x->too_deep);
	aif_builder_loss(b, AIF_REASON_IMPORT_TORN, AIF_NONE, aif_builder_puts(b, name),
			 x->is_torn);
	if (x->device_at == SIZE_MAX) {
		struct bytes type = string(x, x->types[x->value_at].type),
			     unit = string(x, x->types[x->value_at].unit);

		aif_builder_meta(b, "imported.value", "%.*s (%.*s)", (int)AIF_MIN(type.len, 60u),
				 type.len ? (const char *)type.p : "", (int)AIF_MIN(unit.len, 60u),
				 unit.len ? (const char *)unit.p : "");
	}
out:
	finish(x);
	return r;
}

const struct aif_importer aif_importer_pprof = {
	.name = "pprof",
	.summary = "pprof's protobuf: Go, and many others",
	.uses = AIF_IMPORT_USES_AS | AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = aif_stacked_finish,
};
