/* SPDX-License-Identifier: Apache-2.0 */
#include "import/host.h"
#include "import/lines.h"
#include "import/perf_events.h"
#include "import/perf_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Makes CPU samples of what `perf script` prints. The event that counts, and a program's name after its exec, are known
 * when all lines were read: until then samples are numbers of threads, events and nodes (stacks), each of which is kept
 * once.
 */
#define DEPTH_MAX 4096 /* perf's own limit is 127, or what kernel.perf_event_max_stack says */
/* Time of a sample where it cannot be measured between two: perf's own rate is 4,000 Hz. */
#define DEFAULT_NS UINT64_C(250000)
#define CLOCK_MAX  (UINT64_C(3600) * AIF_NS_PER_S) /* no sample of a clock stands for more */

struct perf_node {
	uint32_t parent, frame, flags;
};
struct perf_frame {
	uint32_t kind, module, name, file; /* strings of its own, AIF_NONE */
	uint64_t address;                  /* of one without a name */
};
struct perf_thread {
	uint64_t pid;
	uint32_t tid, name; /* the last one */
	uint32_t process;
	bool has_pid;
};
struct perf_process {
	uint32_t name;
	bool is_main; /* it is the first thread's */
};
struct perf_sample {
	uint64_t time, period;
	uint32_t thread, node, event;
	bool has_period;
};

struct perf {
	struct aif_builder *b;
	struct aif_lines lines;
	struct aif_strset strings;
	struct aif_perf_events events;
	struct aif_map frame_ids, node_ids, thread_ids, process_ids;
	AIF_TABLE(perf_frame, frames);
	AIF_TABLE(perf_node, nodes);
	AIF_TABLE(perf_thread, threads);
	AIF_TABLE(perf_process, processes);
	AIF_TABLE(perf_sample, samples);
	/* The sample at hand. */
	struct aif_perf_header at;
	struct perf_sample sample;
	bool is_in, is_idle, is_cut, is_record;
	uint32_t stack[DEPTH_MAX];
	size_t stack_len;
	uint64_t records, idle;
	bool is_memory;
};

static uint32_t string(struct perf *x, const char *p, size_t len)
{
	uint32_t id = aif_strset_put(&x->strings, p, len);

	x->is_memory |= id == AIF_STR_NONE;
	return id;
}

/* The id in `map` and `table` of a row that is equal to *row, a new one if there is none. */
#define INTERN(x, map, table, hash, row, is_equal)                                              \
	({                                                                                      \
		uint64_t key_ = (hash), id_;                                                    \
		bool is_known_;                                                                 \
		while ((is_known_ = aif_map_get(&(x)->map, key_, &id_)) &&                      \
		       !is_equal(&(x)->table[id_], (row)))                                      \
			key_++;                                                                 \
		if (!is_known_) {                                                               \
			id_ = (x)->table##_len;                                                 \
			if (id_ >= AIF_NONE ||                                                  \
			    aif_grow(&(x)->table, &(x)->table##_cap, id_ + 1, sizeof(*(row))) < \
				    0 ||                                                        \
			    aif_map_put(&(x)->map, key_, id_) < 0) {                            \
				(x)->is_memory = true;                                          \
				id_ = AIF_NONE;                                                 \
			} else {                                                                \
				(x)->table[(x)->table##_len++] = *(row);                        \
			}                                                                       \
		}                                                                               \
		(uint32_t) id_;                                                                 \
	})

static bool same_frame(const struct perf_frame *a, const struct perf_frame *b)
{
	return a->kind == b->kind && a->module == b->module && a->name == b->name &&
	       a->file == b->file && a->address == b->address;
}

static bool same_node(const struct perf_node *a, const struct perf_node *b)
{
	return a->parent == b->parent && a->frame == b->frame && a->flags == b->flags;
}

static bool same_thread(const struct perf_thread *a, const struct perf_thread *b)
{
	return a->has_pid == b->has_pid && a->pid == b->pid && a->tid == b->tid;
}

/* ---- frames -------------------------------------------------------------------------------------- */

/* CPython 3.12 and later: "py::function:/path/file.py", one frame for each function that perf sees. */
static struct perf_frame python_frame(struct perf *x, struct aif_perf_text name)
{
	const char *from = name.p + 4, *end = name.p + name.len,
		   *colon = memchr(from, ':', (size_t)(end - from));

	return (struct perf_frame){.kind = AIF_FRAME_PYTHON,
				   .module = AIF_NONE,
				   .name = string(x, from, (size_t)((colon ? colon : end) - from)),
				   .file = colon ? string(x, colon + 1, (size_t)(end - colon - 1))
						 : AIF_NONE};
}

/* Returns true for functions that a CPU runs when it has nothing to do. */
static bool is_idle(struct aif_perf_text name)
{
	static const char *const words[] = {"cpuidle", "idle_call", "native_safe_halt", "do_idle",
					    "default_idle"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (memmem(name.p, name.len, words[i], strlen(words[i])))
			return true;
	return false;
}

static void frame_add(struct perf *x, const struct aif_perf_frame *f)
{
	bool is_os = aif_host_is_os(f->module.p, f->module.len) || f->ip >> 63;
	struct perf_frame row = {.kind = is_os ? AIF_FRAME_OS : AIF_FRAME_NATIVE,
				 .module = AIF_NONE,
				 .name = AIF_NONE,
				 .file = AIF_NONE};
	uint64_t hash;

	if (x->stack_len == DEPTH_MAX) {
		x->is_cut = true;
		return;
	}
	if (x->at.tid == 0)
		x->is_idle |= is_idle(f->name);
	if (!is_os && f->name.len > 4 && !memcmp(f->name.p, "py::", 4)) {
		row = python_frame(x, f->name);
	} else {
		if (f->module.len && !is_os)
			row.module = string(x, f->module.p, f->module.len);
		if (f->name.len)
			row.name = string(x, f->name.p, f->name.len);
		else
			row.address = f->ip;
	}
	hash = aif_mix64((uint64_t)row.name << 32 | row.module) + aif_mix64(row.address) +
	       ((uint64_t)row.file << 8) + row.kind;
	x->stack[x->stack_len++] = INTERN(x, frame_ids, frames, hash, &row, same_frame);
}

/* ---- samples ------------------------------------------------------------------------------------- */

/* Returns the thread's process. A process has the last name of its first thread, if that was seen: an earlier one
 * may be a shell's. */
static uint32_t process_of(struct perf *x, const struct perf_thread *t)
{
	/* Without a process's number, a process is what has the same name: that is known at the end. */
	uint64_t key = t->has_pid ? t->pid : UINT64_C(1) << 32 | t->name, id;
	bool is_main = t->has_pid && t->pid == t->tid;

	if (!aif_map_get(&x->process_ids, key, &id)) {
		id = x->processes_len;
		if (aif_grow(&x->processes, &x->processes_cap, id + 1, sizeof(*x->processes)) < 0 ||
		    aif_map_put(&x->process_ids, key, id) < 0) {
			x->is_memory = true;
			return AIF_NONE;
		}
		x->processes[x->processes_len++] = (struct perf_process){.name = AIF_NONE};
	}
	if (is_main || !x->processes[id].is_main)
		x->processes[id] = (struct perf_process){.name = t->name, .is_main = is_main};
	return (uint32_t)id;
}

static uint32_t thread_of(struct perf *x, const struct aif_perf_header *h)
{
	struct perf_thread t = {.pid = h->has_pid ? h->pid : 0,
				.tid = (uint32_t)h->tid,
				.has_pid = h->has_pid,
				.name = string(x, h->comm.p, h->comm.len)};
	uint32_t id =
		INTERN(x, thread_ids, threads, aif_mix64(t.pid * 31) + t.tid, &t, same_thread);

	if (id != AIF_NONE) {
		x->threads[id].name = t.name;
		if (t.has_pid)
			x->threads[id].process = process_of(x, &x->threads[id]);
	}
	return id;
}

/* The sample is over. */
static int flush(struct perf *x)
{
	struct aif_perf_event *event;
	struct perf_sample *row;
	uint32_t node = AIF_NONE;

	if (!x->is_in)
		return 0;
	x->is_in = false;
	if (x->at.tid == 0 && (x->is_idle || !x->stack_len)) {
		x->idle++;
		return 0;
	}
	for (size_t i = x->stack_len; i-- > 0;) {
		struct perf_node n = {.parent = node,
				      .frame = x->stack[i],
				      .flags = i == 0 && x->is_cut ? AIF_STACK_TRUNCATED : 0};

		node = INTERN(x, node_ids, nodes,
			      aif_mix64((uint64_t)n.parent << 32 | n.frame) + n.flags, &n,
			      same_node);
	}
	if (x->is_memory ||
	    aif_grow(&x->samples, &x->samples_cap, x->samples_len + 1, sizeof(*x->samples)) < 0)
		return -ENOMEM;
	row = &x->samples[x->samples_len++];
	*row = x->sample;
	row->node = node;
	event = &x->events.list[row->event];
	event->samples++;
	event->is_weightless |=
		event->kind == AIF_PERF_CLOCK && (!row->has_period || row->period > CLOCK_MAX);
	x->lines.source->events++;
	return 0;
}

static int header_add(struct perf *x, const struct aif_perf_header *h)
{
	struct aif_perf_frame f;
	int r = flush(x);

	if (r < 0)
		return r;
	x->is_record = h->is_record;
	if (h->is_record) {
		x->records++;
		return 0;
	}
	x->at = *h;
	x->is_in = true;
	x->is_idle = x->is_cut = false;
	x->stack_len = 0;
	x->sample = (struct perf_sample){.time = h->time,
					 .period = h->period,
					 .has_period = h->has_period,
					 .thread = thread_of(x, h)};
	r = aif_perf_event(&x->events, h->event, &x->sample.event);
	if (!r && h->rest.len && aif_perf_frame(h->rest, &f))
		frame_add(x, &f);
	return x->is_memory ? -ENOMEM : r;
}

static int line_add(struct perf *x, struct aif_perf_text line)
{
	struct aif_perf_header h;

	if (!line.len)
		return flush(x);
	if (*line.p == '#')
		return 0;
	/* Commands may be right-justified, with blanks before them; a frame ends with its module. */
	if (aif_perf_blank(*line.p) && x->is_in) {
		struct aif_perf_frame f;
		bool is_frame = aif_perf_frame(line, &f);

		if (!(is_frame && line.p[line.len - 1] == ')') && aif_perf_header(line, &h))
			return header_add(x, &h);
		/* Source lines, which perf puts between frames if it is asked to, begin with no number. */
		if (is_frame)
			frame_add(x, &f);
		return x->is_memory ? -ENOMEM : 0;
	}
	if (aif_perf_header(line, &h))
		return header_add(x, &h);
	/* A record may have more lines than one. */
	if (!x->is_record || !aif_perf_blank(*line.p))
		aif_lines_bad(&x->lines);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

struct rows {
	struct perf *x;
	struct aif_host host;
	struct aif_map stacks; /* node and the process's name -> stack */
	bool by_process;       /* each program is a frame of its own, below all of its stacks */
};

static uint32_t moved(struct rows *w, uint32_t str)
{
	size_t len;
	const char *text;

	if (str == AIF_NONE)
		return AIF_NONE;
	text = aif_strset_get(&w->x->strings, str, &len);
	return aif_builder_str(w->x->b, text, len);
}

static uint32_t mark(struct rows *w, uint32_t name)
{
	return aif_host_frame(&w->host, AIF_FRAME_MARK, AIF_NONE, name, AIF_NONE, 0);
}

static uint32_t frame_row(struct rows *w, uint32_t frame)
{
	const struct perf_frame *f = &w->x->frames[frame];
	uint32_t module = moved(w, f->module);

	if (f->name == AIF_NONE)
		return aif_host_unnamed(&w->host, module, f->address);
	return aif_host_frame(&w->host, f->kind, module, moved(w, f->name), moved(w, f->file), 0);
}

/* process: a string of the profile's. */
static uint32_t stack_row(struct rows *w, uint32_t node, uint32_t process)
{
	struct perf *x = w->x;
	uint32_t *path = x->stack, stack = AIF_NONE;
	size_t n = 0;
	uint64_t known = AIF_NONE, under = w->by_process ? process : 0;

	for (; node != AIF_NONE; node = x->nodes[node].parent) {
		if (aif_map_get(&w->stacks, under << 32 | node, &known))
			break;
		path[n++] = node; /* DEPTH_MAX at most, as it was read */
	}
	stack = (uint32_t)known;
	if (stack == AIF_NONE && w->by_process)
		stack = aif_builder_stack(x->b, AIF_NONE, mark(w, process), 0);
	while (n--) {
		const struct perf_node *at = &x->nodes[path[n]];

		stack = aif_builder_stack(x->b, stack, frame_row(w, at->frame), at->flags);
		x->b->failed |= aif_map_put(&w->stacks, under << 32 | path[n], stack) < 0;
	}
	return stack;
}

/* Are there programs of several names? Then a stack says nothing without its own. */
static bool several_programs(const struct perf *x, uint32_t event)
{
	uint32_t first = AIF_NONE;

	for (size_t i = 0; i < x->samples_len; i++) {
		const struct perf_sample *s = &x->samples[i];
		uint32_t name = x->processes[x->threads[s->thread].process].name;

		if (s->event != event)
			continue;
		if (first != AIF_NONE && name != first)
			return true;
		first = name;
	}
	return false;
}

static int make_rows(struct perf *x, const struct aif_perf_event *event, uint64_t count_ns)
{
	struct aif_builder *b = x->b;
	uint32_t number = (uint32_t)(event - x->events.list);
	struct rows w = {.x = x, .host = {.b = b}};
	uint64_t left = UINT64_C(1) << 60, too_much = 0;

	for (size_t i = 0; i < x->threads_len; i++)
		if (!x->threads[i].has_pid)
			x->threads[i].process = process_of(x, &x->threads[i]);
	if (x->is_memory)
		return -ENOMEM;
	w.by_process = several_programs(x, number);
	for (size_t i = 0; i < x->samples_len && !b->failed; i++) {
		const struct perf_sample *s = &x->samples[i];
		const struct perf_thread *t = &x->threads[s->thread];
		uint64_t ns = aif_perf_event_weight(event, s->has_period, s->period, count_ns);
		struct aif_cpu_row *row;
		uint32_t name, stack;

		if (s->event != number)
			continue;
		name = moved(&w, x->processes[t->process].name);
		stack = stack_row(&w, s->node, name);
		if (ns > left) {
			too_much++;
			continue;
		}
		left -= ns;
		if (stack == AIF_NONE) /* perf says where it was, or it did not know */
			stack = aif_builder_stack(b, AIF_NONE,
						  mark(&w, aif_builder_puts(b, "[no stack]")), 0);
		row = aif_builder_wait(b);
		if (!row)
			break;
		*row = (struct aif_cpu_row){
			.time = s->time,
			.weight = ns,
			.thread = aif_host_thread(
				&w.host, t->has_pid ? t->pid : UINT64_C(1) << 32 | t->process,
				t->tid, name, moved(&w, t->name)),
			.stack = stack};
	}
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(x->lines.source->input)), too_much);
	aif_host_finish(&w.host);
	aif_map_finish(&w.stacks);
	return b->failed ? -ENOMEM : 0;
}

/* Periods that are no time: each sample stands for the usual time between two. */
static void weigh(struct perf *x, const struct aif_perf_event *event, size_t first)
{
	struct aif_builder *b = x->b;
	uint64_t each = aif_host_usual_gap(b, first);
	char text[400];

	each = AIF_MIN(each ? each : DEFAULT_NS, AIF_NS_PER_S);
	snprintf(text, sizeof(text), "%s: %.60s: %" PRIu64 " ns each",
		 aif_input_name(x->lines.source->input), aif_perf_event_name(&x->events, event),
		 each);
	aif_builder_loss(b, AIF_REASON_IMPORT_WEIGHT, AIF_NONE, aif_builder_puts(b, text), 1);
	for (size_t i = first; i < b->waits_len; i++)
		b->waits[i].weight = each;
}

static void losses_report(struct perf *x, const struct aif_perf_event *event, uint64_t count_ns)
{
	struct aif_builder *b = x->b;
	const char *file = aif_input_name(x->lines.source->input);
	struct aif_buf others = {0};
	uint64_t samples = aif_perf_events_others(&x->events, event, &others);
	char text[600];

	snprintf(text, sizeof(text), "%s: %s", file, aif_buf_str(&others));
	if (samples)
		aif_builder_loss(b, AIF_REASON_IMPORT_OTHER_EVENT, AIF_NONE,
				 aif_builder_puts(b, text), samples);
	if (samples || x->idle || x->records)
		aif_builder_meta(b, "imported.not_kept",
				 "%" PRIu64 " samples of other events (%s), %" PRIu64
				 " of idle CPUs, %" PRIu64 " records that are no samples",
				 samples, samples ? aif_buf_str(&others) : "none", x->idle,
				 x->records);
	aif_builder_meta(b, "imported.event", "%s", aif_perf_event_name(&x->events, event));
	if (event->kind == AIF_PERF_COUNT && !count_ns) { /* else it is time */
		aif_builder_meta(b, "cpu_sampling", "counts");
		aif_builder_meta(b, "cpu_counts", "%s", aif_perf_event_name(&x->events, event));
	}
	b->failed |= aif_buf_failed(&others);
	aif_buf_finish(&others);
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* Looks for a header and its frames. Messages of perf, and half of a stack, may stand before them. */
static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	bool has_header = false, is_behind = false;

	for (unsigned lines = 0; at < end && lines < 2000; lines++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct aif_perf_text line = {at, (size_t)((nl ? nl : end) - at)};
		struct aif_perf_header h;
		struct aif_perf_frame f;

		at += line.len + 1;
		while (line.len && line.p[line.len - 1] == '\r')
			line.len--;
		if (memchr(line.p, '\0', line.len))
			return 0;
		if (is_behind && line.len && aif_perf_blank(*line.p) && aif_perf_frame(line, &f))
			return 8;
		if (!line.len || *line.p == '#')
			continue;
		is_behind = aif_perf_header(line, &h) && !h.is_record;
		if (is_behind && h.rest.len && h.event.len && aif_perf_frame(h.rest, &f))
			return 8;
		has_header |= is_behind && h.event.len;
	}
	return has_header ? 5 : 0;
}

static int choose(struct perf *x, const char *asked, const struct aif_perf_event **ret,
		  struct aif_err *err)
{
	const char *file = aif_input_name(x->lines.source->input);
	struct aif_buf all = {0};
	int r = 0;

	if (!x->samples_len)
		return aif_err_set(err, -ENODATA, "%s: no sample in it", file);
	*ret = aif_perf_events_choose(&x->events, asked);
	if (!*ret) {
		aif_perf_events_others(&x->events, NULL, &all);
		r = aif_err_set(err, -ENODATA, "%s: no sample of event %s; it has %s", file, asked,
				aif_buf_str(&all));
	}
	aif_buf_finish(&all);
	return r;
}

static void finish(struct perf *x)
{
	struct aif_map *maps[] = {&x->frame_ids, &x->node_ids, &x->thread_ids, &x->process_ids};

	for (size_t i = 0; i < AIF_ARRAY_LEN(maps); i++)
		aif_map_finish(maps[i]);
	aif_strset_finish(&x->strings);
	aif_perf_events_finish(&x->events);
	free(x->frames);
	free(x->nodes);
	free(x->threads);
	free(x->processes);
	free(x->samples);
	free(x);
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct perf *x = calloc(1, sizeof(*x));
	const struct aif_perf_event *event = NULL;
	size_t first = b->waits_len;
	struct aif_perf_text line;
	char *p;
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->b = b;
	x->lines.source = s;
	while ((r = aif_lines_next(&x->lines, &p, &line.len, err)) > 0) {
		line.p = p;
		r = line_add(x, line);
		if (r < 0)
			goto memory;
	}
	if (r < 0)
		goto out;
	r = flush(x);
	if (r < 0)
		goto memory;
	r = choose(x, s->opts->event, &event, err);
	if (r < 0)
		goto out;
	r = make_rows(x, event, s->opts->count_ns);
	if (r < 0)
		goto memory;
	if (!s->opts->count_ns && aif_perf_event_by_gap(event))
		weigh(x, event, first);
	losses_report(x, event, s->opts->count_ns);
	goto out;
memory:
	aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
out:
	aif_lines_finish(&x->lines, b);
	finish(x);
	return r;
}

const struct aif_importer aif_importer_perf_script = {
	.name = "perf script",
	.summary = "what `perf script` prints: CPU samples with stacks",
	.uses = AIF_IMPORT_USES_COUNT | AIF_IMPORT_USES_EVENT,
	.probe = probe,
	.read = read_file,
};
