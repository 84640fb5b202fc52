/* SPDX-License-Identifier: Apache-2.0 */
#include "export/timeline.h"
#include "base/u64_of.h"
#include "text/json.h"
#include "analysis/exec_timeline.h"

#include <errno.h>
#include <string.h>

/*
 * Firefox Profiler's processed profile, preprocessedProfileVersion 48 (firefox-devtools/profiler,
 * docs-developer/CHANGELOG-formats.md): later viewers upgrade it as they load it. A lane of a device's stream is a
 * thread: each execution is a sample of its launch stack and kernel, and a marker from its start to its end. The sample
 * weighs the execution's duration, as often as it counts for those that the overhead budget left out. Threads with CPU
 * samples are threads; operators, ranges and calls are markers of theirs. Times are ms since the start.
 *
 * A thread has all tables of its own, as columns; they are put together beside each other and written one
 * after another.
 */

enum column {
	SAMPLE_STACK,
	SAMPLE_TIME,
	SAMPLE_WEIGHT,
	STACK_FRAME,
	STACK_PREFIX,
	STACK_CATEGORY,
	FRAME_ADDRESS,
	FRAME_DEPTH,
	FRAME_CATEGORY,
	FRAME_FUNC,
	FRAME_LINE,
	FUNC_NAME,
	FUNC_RESOURCE,
	FUNC_FILE,
	RESOURCE_LIB,
	RESOURCE_NAME,
	MARKER_DATA,
	MARKER_NAME,
	MARKER_START,
	MARKER_END,
	MARKER_CATEGORY,
	STRINGS,
	COLUMNS
};

/* The order is that of meta.categories. */
enum category { OTHER, PYTHON, NATIVE, OS_KERNEL, RUNTIME, DEVICE, TRANSFER, OPERATOR };

struct firefox {
	struct aif_timeline_walk t;
	struct aif_weights *weights; /* NULL: nothing was left out */
	bool is_first_thread;

	/* State of the thread at hand. */
	struct aif_buf columns[COLUMNS];
	size_t samples, stack_rows, frame_rows, func_rows, resource_rows, markers;
	struct aif_map known_stacks, known_funcs, known_resources; /* node; name and file; module */
	struct aif_strset strings;
	uint32_t *names; /* by row of the stack table: of its frame's function */
	size_t names_cap;
};

static enum category category_of(enum aif_tree_type type)
{
	switch (type) {
	case AIF_TREE_PYTHON:
		return PYTHON;
	case AIF_TREE_C:
	case AIF_TREE_CXX:
		return NATIVE;
	case AIF_TREE_OS:
		return OS_KERNEL;
	case AIF_TREE_API:
		return RUNTIME;
	case AIF_TREE_KERNEL:
	case AIF_TREE_LINE:
	case AIF_TREE_INSTRUCTION:
	case AIF_TREE_STALL:
		return DEVICE;
	case AIF_TREE_COPY:
		return TRANSFER;
	default:
		return OTHER;
	}
}

/* ---- columns ------------------------------------------------------------------------------------- */

static struct aif_buf *cell(struct firefox *w, enum column c)
{
	struct aif_buf *b = &w->columns[c];

	if (b->len)
		aif_buf_putc(b, ',');
	return b;
}

static void number_put(struct firefox *w, enum column c, uint64_t v)
{
	aif_out_json_u64(cell(w, c), v);
}

/* AIF_NONE is null. */
static void id_put(struct firefox *w, enum column c, uint32_t v)
{
	if (v == AIF_NONE)
		AIF_JSON_LIT(cell(w, c), "null");
	else
		number_put(w, c, v);
}

static void ms_put(struct firefox *w, enum column c, int64_t ns)
{
	aif_out_json_decimal(cell(w, c), ns, 6);
}

static uint32_t string_of(struct firefox *w, const char *text, size_t len)
{
	uint32_t before = (uint32_t)w->strings.len, id = aif_strset_put(&w->strings, text, len);

	if (id == before && id != AIF_STR_NONE)
		aif_out_json_string(cell(w, STRINGS), text, len);
	return id;
}

/* ---- stacks, frames, functions ------------------------------------------------------------------- */

static int resource_of(struct firefox *w, uint32_t module, uint64_t *ret)
{
	const char *path, *slash;
	uint32_t name;

	if (module == AIF_NONE) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (aif_map_get(&w->known_resources, module, ret))
		return 0;
	path = aif_profile_str(w->t.p, w->t.p->modules[module].path);
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	name = string_of(w, path, strlen(path));
	*ret = w->resource_rows++;
	number_put(w, RESOURCE_LIB, module);
	id_put(w, RESOURCE_NAME, name);
	return name == AIF_STR_NONE ? -ENOMEM : aif_map_put(&w->known_resources, module, *ret);
}

static int func_of(struct firefox *w, uint32_t node, uint64_t *ret)
{
	const struct aif_host_stacks *h = &w->t.stacks;
	uint32_t module = aif_host_module(h, node), name, file = AIF_NONE;
	const char *text = aif_host_file(h, node);
	uint64_t key, resource;
	size_t len;
	int r = resource_of(w, module, &resource);

	if (r < 0)
		return r;
	if (*text)
		file = string_of(w, text, strlen(text));
	text = aif_host_name(h, node, &len);
	name = string_of(w, text, len);
	key = aif_mix64((uint64_t)name << 32 | file) ^ module;
	if (aif_map_get(&w->known_funcs, key, ret))
		return 0;
	*ret = w->func_rows++;
	number_put(w, FUNC_NAME, name);
	id_put(w, FUNC_FILE, file);
	if (resource == UINT64_MAX)
		AIF_JSON_LIT(cell(w, FUNC_RESOURCE), "-1");
	else
		number_put(w, FUNC_RESOURCE, resource);
	return name == AIF_STR_NONE ? -ENOMEM : aif_map_put(&w->known_funcs, key, *ret);
}

/* A frame of its own for each node: both have as many rows. */
static int stack_add(struct firefox *w, uint32_t node, uint32_t prefix, uint32_t *ret)
{
	const struct aif_host_stacks *h = &w->t.stacks;
	const struct aif_host_node *n = &h->nodes[node];
	enum category category = category_of(aif_host_type(h, node));
	const char *text;
	uint64_t func;
	size_t len;
	int r = func_of(w, node, &func);

	if (r < 0)
		return r;
	if (n->frame == AIF_NONE || h->p->frames[n->frame].address > INT64_MAX)
		AIF_JSON_LIT(cell(w, FRAME_ADDRESS), "-1");
	else
		number_put(w, FRAME_ADDRESS, h->p->frames[n->frame].address);
	number_put(w, FRAME_DEPTH,
		   n->row == AIF_NONE ? 0 : w->t.p->frame_names[n->row].inline_depth);
	number_put(w, FRAME_CATEGORY, category);
	number_put(w, FRAME_FUNC, func);
	id_put(w, FRAME_LINE, aif_host_line(h, node) ? aif_host_line(h, node) : AIF_NONE);
	number_put(w, STACK_FRAME, w->frame_rows++);
	id_put(w, STACK_PREFIX, prefix);
	number_put(w, STACK_CATEGORY, category);
	if (aif_grow(&w->names, &w->names_cap, w->stack_rows + 1, sizeof(*w->names)) < 0)
		return -ENOMEM;
	*ret = (uint32_t)w->stack_rows++;
	text = aif_host_name(h, node, &len);
	w->names[*ret] = aif_strset_find(&w->strings, text, len);
	return aif_map_put(&w->known_stacks, node, *ret);
}

/* The row of a node's stack; its callers come first. */
static int stack_of(struct firefox *w, uint32_t node, uint32_t *ret)
{
	uint32_t depth = w->t.stacks.nodes[node].depth, *path, row = AIF_NONE, n = node,
		 missing = 0;
	uint64_t found;
	int r = 0;

	if (!node)
		return -ENOMEM;
	if (aif_map_get(&w->known_stacks, node, &found)) {
		*ret = (uint32_t)found;
		return 0;
	}
	path = calloc((size_t)depth + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	for (; n; n = w->t.stacks.nodes[n].parent) {
		if (aif_map_get(&w->known_stacks, n, &found)) {
			row = (uint32_t)found;
			break;
		}
		path[missing++] = n;
	}
	while (missing && !r)
		r = stack_add(w, path[--missing], row, &row);
	free(path);
	*ret = row;
	return r;
}

static int sample_add(struct firefox *w, uint32_t node, int64_t at, uint64_t weight_ns,
		      uint32_t *ret_name)
{
	uint32_t stack;
	int r = stack_of(w, node, &stack);

	if (r < 0)
		return r;
	number_put(w, SAMPLE_STACK, stack);
	ms_put(w, SAMPLE_TIME, at - w->t.events.start_ns);
	ms_put(w, SAMPLE_WEIGHT, (int64_t)AIF_MIN(weight_ns, (uint64_t)INT64_MAX));
	w->samples++;
	*ret_name = w->names[stack];
	return 0;
}

static int op_put(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end)
{
	static const enum category categories[AIF_OP_KIND_COUNT] = {
		[AIF_OP_OPERATOR] = OPERATOR,
		[AIF_OP_RUNTIME] = RUNTIME,
		[AIF_OP_PYTHON] = PYTHON,
	};
	struct firefox *w = (struct firefox *)t;
	const char *text = o->name == AIF_NONE ? "?" : aif_profile_str(t->p, o->name);
	uint32_t name = string_of(w, text, strlen(text));
	struct aif_buf *data = cell(w, MARKER_DATA);

	if (name == AIF_STR_NONE)
		return -ENOMEM;
	number_put(w, MARKER_NAME, name);
	ms_put(w, MARKER_START, o->start - w->t.events.start_ns);
	ms_put(w, MARKER_END, end - w->t.events.start_ns);
	number_put(w, MARKER_CATEGORY, categories[o->kind]);
	aif_buf_printf(data, "{\"type\":\"%s\"", aif_op_kind_name(o->kind));
	if (o->launch != AIF_NONE) {
		AIF_JSON_LIT(data, ",\"launch\":");
		aif_out_json_u64(data, w->t.events.launches[o->launch].launch);
	}
	if (o->shapes != AIF_NONE) {
		AIF_JSON_LIT(data, ",\"shapes\":");
		aif_out_json_text(data, aif_profile_str(w->t.p, o->shapes));
	}
	aif_buf_putc(data, '}');
	w->markers++;
	return 0;
}

/* Marks when nothing was captured, on the first track of its device and process. */
static int gaps_put(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n)
{
	struct firefox *w = (struct firefox *)t;
	uint32_t name = string_of(w, AIF_EVENT_GAP, strlen(AIF_EVENT_GAP));

	(void)track;
	if (name == AIF_STR_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		number_put(w, MARKER_NAME, name);
		ms_put(w, MARKER_START, (int64_t)gaps[i].start - t->events.start_ns);
		ms_put(w, MARKER_END, (int64_t)gaps[i].end - t->events.start_ns);
		number_put(w, MARKER_CATEGORY, OTHER);
		AIF_JSON_LIT(cell(w, MARKER_DATA), "{\"type\":\"" AIF_EVENT_GAP "\"}");
		w->markers++;
	}
	return 0;
}

static void marker_add(struct firefox *w, uint32_t name, const struct aif_event_exec *x)
{
	struct aif_buf *data = cell(w, MARKER_DATA);
	bool is_kernel = x->kind == AIF_LAUNCH_KERNEL;

	number_put(w, MARKER_NAME, name);
	ms_put(w, MARKER_START, x->start - w->t.events.start_ns);
	ms_put(w, MARKER_END, x->start + (int64_t)x->dur - w->t.events.start_ns);
	number_put(w, MARKER_CATEGORY, is_kernel ? DEVICE : TRANSFER);
	aif_buf_puts(data, is_kernel ? "{\"type\":\"kernel\",\"launch\":"
				     : "{\"type\":\"transfer\",\"launch\":");
	aif_out_json_u64(data, x->launch);
	if (!is_kernel) {
		AIF_JSON_LIT(data, ",\"bytes\":");
		aif_out_json_u64(data, x->bytes);
	} else if (x->registers) {
		AIF_JSON_LIT(data, ",\"registers\":");
		aif_out_json_u64(data, x->registers);
	}
	aif_buf_putc(data, '}');
	w->markers++;
}

/* ---- a thread ------------------------------------------------------------------------------------ */

static void column_put(struct firefox *w, const char *name, enum column c)
{
	aif_buf_puts(w->t.b, name);
	AIF_JSON_LIT(w->t.b, ":[");
	aif_buf_append(w->t.b, w->columns[c].data, w->columns[c].len);
	w->t.b->failed |= aif_buf_failed(&w->columns[c]);
	AIF_JSON_LIT(w->t.b, "],");
	aif_out_flush_if_full(w->t.out);
}

/* A column that is the same in every row. */
static void same_put(struct firefox *w, const char *name, const char *value, size_t n)
{
	aif_buf_puts(w->t.b, name);
	AIF_JSON_LIT(w->t.b, ":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			aif_buf_putc(w->t.b, ',');
		aif_buf_puts(w->t.b, value);
		aif_out_flush_if_full(w->t.out);
	}
	AIF_JSON_LIT(w->t.b, "],");
}

static void length_put(struct firefox *w, size_t n)
{
	AIF_JSON_LIT(w->t.b, "\"length\":");
	aif_out_json_u64(w->t.b, n);
	AIF_JSON_LIT(w->t.b, "},\n");
}

static void tables_put(struct firefox *w)
{
	aif_buf_puts(w->t.b, "\"samples\":{\"weightType\":\"tracing-ms\",");
	column_put(w, "\"stack\"", SAMPLE_STACK);
	column_put(w, "\"time\"", SAMPLE_TIME);
	column_put(w, "\"weight\"", SAMPLE_WEIGHT);
	length_put(w, w->samples);
	aif_buf_puts(w->t.b, "\"stackTable\":{");
	column_put(w, "\"frame\"", STACK_FRAME);
	column_put(w, "\"prefix\"", STACK_PREFIX);
	column_put(w, "\"category\"", STACK_CATEGORY);
	same_put(w, "\"subcategory\"", "0", w->stack_rows);
	length_put(w, w->stack_rows);
	aif_buf_puts(w->t.b, "\"frameTable\":{");
	column_put(w, "\"address\"", FRAME_ADDRESS);
	column_put(w, "\"inlineDepth\"", FRAME_DEPTH);
	column_put(w, "\"category\"", FRAME_CATEGORY);
	same_put(w, "\"subcategory\"", "0", w->frame_rows);
	column_put(w, "\"func\"", FRAME_FUNC);
	same_put(w, "\"nativeSymbol\"", "null", w->frame_rows);
	same_put(w, "\"innerWindowID\"", "0", w->frame_rows);
	same_put(w, "\"implementation\"", "null", w->frame_rows);
	column_put(w, "\"line\"", FRAME_LINE);
	same_put(w, "\"column\"", "null", w->frame_rows);
	length_put(w, w->frame_rows);
	aif_buf_puts(w->t.b, "\"funcTable\":{");
	same_put(w, "\"isJS\"", "false", w->func_rows);
	same_put(w, "\"relevantForJS\"", "false", w->func_rows);
	column_put(w, "\"name\"", FUNC_NAME);
	column_put(w, "\"resource\"", FUNC_RESOURCE);
	column_put(w, "\"fileName\"", FUNC_FILE);
	same_put(w, "\"lineNumber\"", "null", w->func_rows);
	same_put(w, "\"columnNumber\"", "null", w->func_rows);
	length_put(w, w->func_rows);
	aif_buf_puts(w->t.b, "\"resourceTable\":{");
	column_put(w, "\"lib\"", RESOURCE_LIB);
	column_put(w, "\"name\"", RESOURCE_NAME);
	same_put(w, "\"host\"", "null", w->resource_rows);
	same_put(w, "\"type\"", "1", w->resource_rows); /* a library */
	length_put(w, w->resource_rows);
	aif_buf_puts(w->t.b, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			     "\"functionSize\":[],\"length\":0},\n\"markers\":{");
	column_put(w, "\"data\"", MARKER_DATA);
	column_put(w, "\"name\"", MARKER_NAME);
	column_put(w, "\"startTime\"", MARKER_START);
	column_put(w, "\"endTime\"", MARKER_END);
	same_put(w, "\"phase\"", "1", w->markers); /* an interval */
	column_put(w, "\"category\"", MARKER_CATEGORY);
	length_put(w, w->markers);
	AIF_JSON_LIT(w->t.b, "\"stringArray\":[");
	aif_buf_append(w->t.b, w->columns[STRINGS].data, w->columns[STRINGS].len);
	w->t.b->failed |= aif_buf_failed(&w->columns[STRINGS]);
	AIF_JSON_LIT(w->t.b, "]}");
}

/* Writes the thread and forgets its tables. *name is finished. */
static void thread_put(struct firefox *w, uint32_t pid, struct aif_buf *process, uint32_t tid,
		       struct aif_buf *name, bool is_main)
{
	aif_buf_puts(w->t.b, w->is_first_thread ? "\n{" : ",\n{");
	w->is_first_thread = false;
	AIF_JSON_LIT(w->t.b,
		     "\"processType\":\"default\",\"processStartupTime\":0,"
		     "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		     "\"pausedRanges\":[],\"showMarkersInTimeline\":true,\"isMainThread\":");
	aif_buf_puts(w->t.b, is_main ? "true" : "false");
	AIF_JSON_LIT(w->t.b, ",\"name\":");
	aif_out_json_text(w->t.b, aif_buf_str(name));
	AIF_JSON_LIT(w->t.b, ",\"processName\":");
	aif_out_json_text(w->t.b, aif_buf_str(process));
	AIF_JSON_LIT(w->t.b, ",\"pid\":\"");
	aif_out_json_u64(w->t.b, pid);
	AIF_JSON_LIT(w->t.b, "\",\"tid\":");
	aif_out_json_u64(w->t.b, tid);
	AIF_JSON_LIT(w->t.b, ",\n");
	tables_put(w);
	aif_buf_finish(name);
	aif_buf_finish(process);
	for (unsigned i = 0; i < COLUMNS; i++)
		aif_buf_clear(&w->columns[i]);
	w->samples = w->stack_rows = w->frame_rows = w->func_rows = w->resource_rows = w->markers =
		0;
	/* Not cleared, which would cost each later thread what the widest one has had. */
	aif_map_finish(&w->known_stacks);
	aif_map_finish(&w->known_funcs);
	aif_map_finish(&w->known_resources);
	aif_strset_finish(&w->strings);
}

/* Returns the execution's duration, times the weight of its launch. What began before the part that was asked for is shown, and is
 * not of the part's time, as in tables and pictures. */
static uint64_t exec_weight(const struct firefox *w, const struct aif_event_exec *x)
{
	const struct aif_event_launch *by = x->by == AIF_NONE ? NULL : &w->t.events.launches[x->by];
	const struct aif_weights_cycle *c =
		by ? aif_weights_at(w->weights, by->thread, w->t.p->start_ns + (uint64_t)by->time)
		   : NULL;

	if (x->start < (int64_t)AIF_MIN(w->t.x->sel.from_ns, (uint64_t)INT64_MAX))
		return 0;
	return c ? aif_u64_of((double)x->dur * (double)c->weight / (double)AIF_WEIGHT_ONE + 0.5)
		 : x->dur;
}

static int exec_put(struct aif_timeline_walk *t, const struct aif_event_exec *x)
{
	struct firefox *w = (struct firefox *)t;
	uint32_t node = aif_timeline_exec_node(t, x), name;
	int r;

	if (node)
		node = aif_host_stacks_kernel(&t->stacks, node, x->kernel, x->kind);
	r = sample_add(w, node, x->start, exec_weight(w, x), &name);
	if (!r)
		marker_add(w, name, x);
	return r;
}

static int track_end(struct aif_timeline_walk *t, uint32_t track)
{
	const struct aif_event_track *of = &t->events.tracks[track];
	struct aif_buf name = {0}, process = {0};

	aif_export_device_name(t->p, of->device, &process);
	aif_event_track_name(t->p, of, &name);
	thread_put((struct firefox *)t, aif_track_id_device(of->device), &process, track + 1, &name,
		   aif_event_track_is_first(&t->events, track));
	return 0;
}

/* ---- threads of programs ---------------------------------------------------------------------------- */

static int cpu_put(struct aif_timeline_walk *t, const struct aif_cpu_row *row, uint32_t process,
		   int64_t at)
{
	uint32_t node = aif_host_stacks_node(&t->stacks, row->stack), name;

	(void)process;
	if (node && row->waiting)
		node = aif_host_stacks_mark(&t->stacks, node, "[waiting]");
	return sample_add((struct firefox *)t, node, AIF_MAX(at, 0),
			  row->waiting ? row->waiting : row->weight, &name);
}

static int calls_end(struct aif_timeline_walk *t, uint32_t thread)
{
	uint32_t process = thread == AIF_NONE ? AIF_NONE : t->p->threads[thread].process;
	struct aif_buf name = {0}, process_name = {0};
	bool is_main =
		process != AIF_NONE && t->p->processes[process].pid == t->p->threads[thread].tid;

	aif_export_thread_name(t->p, thread, &name);
	aif_export_process_name(t->p, process, &process_name);
	thread_put((struct firefox *)t, aif_track_id_process(&t->ids, process), &process_name,
		   aif_track_id_thread(&t->ids, thread), &name, is_main);
	return 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void meta_put(struct firefox *w)
{
	AIF_JSON_LIT(w->t.b, "{\"meta\":{\"interval\":1,\"startTime\":");
	aif_out_json_decimal(w->t.b, (int64_t)aif_export_unix_start(w->t.p) + w->t.events.start_ns,
			     6);
	AIF_JSON_LIT(w->t.b,
		     ",\"processType\":0,\"product\":\"aiflame\",\"stackwalk\":1,\"debug\":false,"
		     "\"version\":29,\"preprocessedProfileVersion\":48,\"symbolicated\":true,"
		     "\"importedFrom\":\"aiflame " AIF_VERSION "\",\"arguments\":");
	aif_out_json_text(w->t.b, aif_profile_meta(w->t.p, "command"));
	AIF_JSON_LIT(
		w->t.b,
		",\"categories\":["
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Python\",\"color\":\"magenta\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Native\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"OS kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Runtime\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Device\",\"color\":\"teal\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Transfer\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Operator\",\"color\":\"green\",\"subcategories\":[\"Other\"]}],\n"
		"\"markerSchema\":["
		"{\"name\":\"kernel\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"data\":[{\"key\":\"launch\",\"label\":\"Launch\",\"format\":\"integer\"},"
		"{\"key\":\"registers\",\"label\":\"Registers\",\"format\":\"integer\"}]},"
		"{\"name\":\"transfer\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"data\":[{\"key\":\"launch\",\"label\":\"Launch\",\"format\":\"integer\"},"
		"{\"key\":\"bytes\",\"label\":\"Bytes\",\"format\":\"bytes\"}]},"
		"{\"name\":\"" AIF_EVENT_GAP
		"\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
		"\"data\":[]}");
	for (unsigned kind = 1; kind < AIF_OP_KIND_COUNT; kind++)
		aif_buf_printf(
			w->t.b,
			",{\"name\":\"%s\",\"display\":[\"marker-chart\",\"marker-table\"],"
			"\"data\":[{\"key\":\"launch\",\"label\":\"Launch\",\"format\":\"integer\"},"
			"{\"key\":\"shapes\",\"label\":\"Input shapes\",\"format\":\"string\"}]}",
			aif_op_kind_name(kind));
	AIF_JSON_LIT(w->t.b, "]},\n");
}

/* A module's number here is the profile's. */
static void libs_put(struct firefox *w)
{
	AIF_JSON_LIT(w->t.b, "\"libs\":[");
	for (size_t i = 0; i < w->t.p->modules_len; i++) {
		const struct aif_module *m = &w->t.p->modules[i];
		const char *path = aif_profile_str(w->t.p, m->path), *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;

		aif_buf_puts(w->t.b,
			     i ? ",\n{\"arch\":\"\",\"name\":" : "\n{\"arch\":\"\",\"name\":");
		aif_out_json_text(w->t.b, name);
		AIF_JSON_LIT(w->t.b, ",\"path\":");
		aif_out_json_text(w->t.b, path);
		AIF_JSON_LIT(w->t.b, ",\"debugName\":");
		aif_out_json_text(w->t.b, name);
		AIF_JSON_LIT(w->t.b, ",\"debugPath\":");
		aif_out_json_text(w->t.b, path);
		AIF_JSON_LIT(w->t.b, ",\"breakpadId\":\"\",\"codeId\":");
		if (m->build_id == AIF_NONE)
			AIF_JSON_LIT(w->t.b, "null");
		else
			aif_out_json_text(w->t.b, aif_profile_str(w->t.p, m->build_id));
		aif_buf_putc(w->t.b, '}');
		aif_out_flush_if_full(w->t.out);
	}
	AIF_JSON_LIT(w->t.b, "],\n");
}

static int begin(struct aif_timeline_walk *t)
{
	struct firefox *w = (struct firefox *)t;

	w->is_first_thread = true;
	meta_put(w);
	libs_put(w);
	AIF_JSON_LIT(t->b, "\"pages\":[],\n\"threads\":[");
	return aif_exec_timeline_weights(t->p, &t->x->sel, &w->weights);
}

static int end(struct aif_timeline_walk *t)
{
	AIF_JSON_LIT(t->b, "]}\n");
	return 0;
}

/* Samples weigh as much as the launches that they stand for. */
static bool has_left_out(const struct aif_export *x)
{
	(void)x;
	return true;
}

static const struct aif_timeline_sink sink = {
	.passes = {AIF_TIMELINE_DEVICES | AIF_TIMELINE_EXECS, AIF_TIMELINE_CPU | AIF_TIMELINE_OPS},
	.has_left_out = has_left_out,
	.begin = begin,
	.end = end,
	.gaps = gaps_put,
	.exec = exec_put,
	.track_end = track_end,
	.cpu = cpu_put,
	.op = op_put,
	.calls_end = calls_end,
};

static int firefox_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct firefox w = {0};
	int r = aif_timeline_write(&w.t, &sink, x, out, err);

	aif_timeline_finish(&w.t);
	aif_weights_free(w.weights);
	for (unsigned i = 0; i < COLUMNS; i++)
		aif_buf_finish(&w.columns[i]);
	aif_map_finish(&w.known_stacks);
	aif_map_finish(&w.known_funcs);
	aif_map_finish(&w.known_resources);
	aif_strset_finish(&w.strings);
	free(w.names);
	return r;
}

const struct aif_exporter aif_exporter_firefox = {
	.name = "firefox",
	.output = "aiflame.firefox.json",
	.suffixes = ".firefox.json",
	.is_text = true,
	.write = firefox_write,
};
