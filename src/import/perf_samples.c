/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_samples.h"

#include "import/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Time of a sample where it cannot be measured between two: perf's own rate is 4,000 Hz. */
#define DEFAULT_NS UINT64_C(250000)
#define CLOCK_MAX  (UINT64_C(3600) * AIF_NS_PER_S) /* no sample of a clock stands for more */

struct perf_node {
	uint32_t parent, frame, flags;
};
struct perf_frame {
	uint32_t kind, module, name, file; /* strings of its own, AIF_NONE */
	uint32_t build_id;                 /* of the module */
	uint32_t level, levels;            /* of code: its names, inwards */
	uint32_t pid;                      /* of code that only its process can name */
	uint64_t address;                  /* of code */
	bool is_inlined;
};
struct perf_level {
	uint32_t name, file, line;
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

static uint32_t string(struct aif_perf_samples *x, const char *p, size_t len)
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
	       a->file == b->file && a->address == b->address && a->build_id == b->build_id &&
	       a->pid == b->pid && a->is_inlined == b->is_inlined;
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
static struct perf_frame python_frame(struct aif_perf_samples *x, struct aif_perf_text name)
{
	const char *from = name.p + 4, *end = name.p + name.len,
		   *colon = memchr(from, ':', (size_t)(end - from));

	return (struct perf_frame){.kind = AIF_FRAME_PYTHON,
				   .module = AIF_NONE,
				   .build_id = AIF_NONE,
				   .name = string(x, from, (size_t)((colon ? colon : end) - from)),
				   .file = colon ? string(x, colon + 1, (size_t)(end - colon - 1))
						 : AIF_NONE};
}

static bool has_word(struct aif_perf_text name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(name.p, name.len, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Returns true for functions that a CPU runs when it has nothing to do. */
static bool is_idle(struct aif_perf_text name)
{
	static const char *const words[] = {"cpuidle", "idle_call", "native_safe_halt", "do_idle",
					    "default_idle"};

	return has_word(name, words, AIF_ARRAY_LEN(words));
}

/* Returns true for functions that an interrupt of an idle CPU runs. */
static bool is_interrupt(struct aif_perf_text name)
{
	static const char *const words[] = {"irq", "interrupt", "evtchn", "sysvec",
					    "ret_from_intr"};

	return has_word(name, words, AIF_ARRAY_LEN(words));
}

/* Tells idling from work of the idle task in an interrupt, whose frames are further in than those of the idle loop. */
static void idle_note(struct aif_perf_samples *x, struct aif_perf_text name)
{
	if (x->at.tid != 0)
		return;
	if (!x->is_idle && is_interrupt(name))
		x->is_interrupt = true;
	x->is_idle |= is_idle(name);
}

static uint32_t frame_of(struct aif_perf_samples *x, const struct perf_frame *row)
{
	uint64_t hash = aif_mix64((uint64_t)row->name << 32 | row->module) +
			aif_mix64(row->address + ((uint64_t)row->pid << 32)) +
			((uint64_t)row->file << 8) + row->kind + ((uint64_t)row->is_inlined << 7);

	return INTERN(x, frame_ids, frames, hash, row, same_frame);
}

void aif_perf_samples_push(struct aif_perf_samples *x, uint32_t frame)
{
	if (x->at.tid == 0 && frame != AIF_NONE && x->frames[frame].levels) {
		struct aif_perf_text name;

		name.p = aif_strset_get(&x->strings, x->levels[x->frames[frame].level].name,
					&name.len);
		idle_note(x, name);
	}
	if (x->stack_len == AIF_PERF_DEPTH_MAX)
		x->is_cut = true;
	else
		x->stack[x->stack_len++] = frame;
}

/* Makes the name of a frame without one: its module stands for all of them, as in perf's own reports. */
static uint32_t module_name(struct aif_perf_samples *x, struct aif_perf_text module, bool is_os)
{
	const char *slash = module.len ? memrchr(module.p, '/', module.len) : NULL;
	struct aif_buf text = {0};
	uint32_t id;

	if (slash) {
		module.len -= (size_t)(slash + 1 - module.p);
		module.p = slash + 1;
	}
	if (is_os || !module.len)
		aif_buf_puts(&text, is_os ? "[kernel]" : "[unknown]");
	else if (module.p[0] == '[')
		aif_buf_append(&text, module.p, module.len);
	else
		aif_buf_printf(&text, "[%.*s]", (int)module.len, module.p);
	x->is_memory |= aif_buf_failed(&text);
	id = string(x, aif_buf_str(&text), text.len);
	aif_buf_finish(&text);
	return id;
}

/* Returns true for code that a JIT compiler made, whose map may name what was inlined: "caller->callee->callee". */
static bool is_jit(struct aif_perf_text module)
{
	const char *slash, *base, *end;

	if (!module.len)
		return true;
	slash = memrchr(module.p, '/', module.len);
	base = slash ? slash + 1 : module.p;
	end = module.p + module.len;
	return (end - base > 9 && !memcmp(base, "perf-", 5) && !memcmp(end - 4, ".map", 4)) ||
	       (module.len > 4 && !memcmp(module.p, "[JIT", 4));
}

/* Adds the functions of such a name, the innermost first, and leaves the outermost in *name. */
static void push_inlined(struct aif_perf_samples *x, struct perf_frame row,
			 struct aif_perf_text *name)
{
	for (size_t i = name->len; i-- > 2;) {
		const char *at = name->p + i - 1;

		/* C++'s own */
		if (at[0] != '-' || at[1] != '>' || i + 1 == name->len || i < 2 ||
		    (i > 8 && !memcmp(at - 8, "operator", 8)))
			continue;
		row.name = string(x, at + 2, (size_t)(name->p + name->len - at - 2));
		row.is_inlined = true;
		aif_perf_samples_push(x, frame_of(x, &row));
		name->len = i - 1;
	}
}

/* Returns true for code of the OS kernel. Behind code of a program no caller is the kernel's: an address there that looks
 * so is what an unwinder read from a stack without frame pointers. */
static bool is_os_frame(const struct aif_perf_samples *x, const struct aif_perf_frame *f)
{
	uint32_t callee = x->stack_len ? x->stack[x->stack_len - 1] : AIF_NONE;

	if (f->module.len || f->name.len)
		return aif_host_is_os(f->module.p, f->module.len, f->ip) || f->ip >> 63;
	return f->ip >> 56 == 0xff &&
	       (callee == AIF_NONE || x->frames[callee].kind == AIF_FRAME_OS);
}

void aif_perf_samples_frame(struct aif_perf_samples *x, const struct aif_perf_frame *f)
{
	struct aif_perf_text name = f->name;
	bool is_os = is_os_frame(x, f);
	struct perf_frame row = {.kind = is_os ? AIF_FRAME_OS : AIF_FRAME_NATIVE,
				 .module = AIF_NONE,
				 .name = AIF_NONE,
				 .file = AIF_NONE,
				 .build_id = AIF_NONE};

	idle_note(x, f->name);
	if (!is_os && f->name.len > 4 && !memcmp(f->name.p, "py::", 4)) {
		row = python_frame(x, f->name);
	} else {
		if (f->module.len && !is_os)
			row.module = string(x, f->module.p, f->module.len);
		if (!is_os && name.len && is_jit(f->module))
			push_inlined(x, row, &name);
		row.name =
			name.len ? string(x, name.p, name.len) : module_name(x, f->module, is_os);
	}
	aif_perf_samples_push(x, frame_of(x, &row));
}

uint32_t aif_perf_samples_code(struct aif_perf_samples *x, const struct aif_perf_code *c,
			       const struct aif_perf_level *levels, size_t n)
{
	struct perf_frame row = {.kind = c->kind,
				 .module = AIF_NONE,
				 .build_id = AIF_NONE,
				 .name = AIF_NONE,
				 .file = AIF_NONE,
				 .level = (uint32_t)x->levels_len,
				 .levels = (uint32_t)n,
				 .pid = c->pid,
				 .address = c->address};

	if (c->module)
		row.module = string(x, c->module, strlen(c->module));
	if (c->build_id && *c->build_id)
		row.build_id = string(x, c->build_id, strlen(c->build_id));
	if (aif_grow(&x->levels, &x->levels_cap, x->levels_len + n, sizeof(*x->levels)) < 0) {
		x->is_memory = true;
		return AIF_NONE;
	}
	for (size_t i = 0; i < n; i++)
		x->levels[x->levels_len++] = (struct perf_level){
			.name = string(x, levels[i].name, strlen(levels[i].name)),
			.file = levels[i].file ? string(x, levels[i].file, strlen(levels[i].file))
					       : AIF_NONE,
			.line = levels[i].line};
	return frame_of(x, &row);
}

void aif_perf_samples_name(struct aif_perf_samples *x, uint32_t frame, const char *name, size_t len)
{
	struct aif_perf_text text = {name, len};

	if (len > 4 && !memcmp(name, "py::", 4))
		x->frames[frame] = python_frame(x, text);
	else
		x->frames[frame].name = string(x, name, len);
}

/* ---- samples ------------------------------------------------------------------------------------- */

/* Returns the thread's process. A process has the last name of its first thread, if that was seen: an earlier one
 * may be a shell's. */
static uint32_t process_of(struct aif_perf_samples *x, const struct perf_thread *t)
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

static uint32_t thread_of(struct aif_perf_samples *x, const struct aif_perf_header *h)
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

void aif_perf_samples_begin(struct aif_perf_samples *x, const struct aif_perf_header *h,
			    uint32_t event)
{
	x->at = *h;
	x->event = event;
	x->thread = thread_of(x, h);
	x->is_in = true;
	x->is_idle = x->is_interrupt = x->is_cut = x->has_node = false;
	x->is_untimed |= !h->has_time;
	x->stack_len = 0;
}

static uint32_t node_of(struct aif_perf_samples *x)
{
	uint32_t node = AIF_NONE;

	for (size_t i = x->stack_len; i-- > 0;) {
		struct perf_node n = {.parent = node,
				      .frame = x->stack[i],
				      .flags = i == 0 && x->is_cut ? AIF_STACK_TRUNCATED : 0};

		node = INTERN(x, node_ids, nodes,
			      aif_mix64((uint64_t)n.parent << 32 | n.frame) + n.flags, &n,
			      same_node);
	}
	return node;
}

uint32_t aif_perf_samples_stack(struct aif_perf_samples *x)
{
	if (!x->has_node)
		x->node = node_of(x);
	x->has_node = true;
	return x->node;
}

void aif_perf_samples_again(struct aif_perf_samples *x, uint32_t stack)
{
	x->node = stack;
	x->has_node = true;
}

int aif_perf_samples_end(struct aif_perf_samples *x)
{
	struct perf_sample row = {.time = x->at.time,
				  .period = x->at.period,
				  .has_period = x->at.has_period,
				  .thread = x->thread,
				  .event = x->event};
	struct aif_perf_event *event;

	if (!x->is_in)
		return 0;
	x->is_in = false;
	if (x->at.tid == 0 && ((x->is_idle && !x->is_interrupt) || !x->stack_len)) {
		x->idle++;
		return x->is_memory ? -ENOMEM : 0;
	}
	row.node = aif_perf_samples_stack(x);
	x->cut += row.node != AIF_NONE && (x->nodes[row.node].flags & AIF_STACK_TRUNCATED);
	if (x->is_memory ||
	    aif_grow(&x->samples, &x->samples_cap, x->samples_len + 1, sizeof(*x->samples)) < 0)
		return -ENOMEM;
	x->samples[x->samples_len++] = row;
	event = &x->events.list[row.event];
	event->samples++;
	event->is_weightless |=
		event->kind != AIF_PERF_COUNT &&
		(!row.has_period || (event->kind == AIF_PERF_CLOCK && row.period > CLOCK_MAX));
	x->source->events++;
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

struct rows {
	struct aif_perf_samples *x;
	struct aif_host host;
	uint32_t *code;        /* of frames of code: the profile's */
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

/* Makes a frame of code with all of its names, once. */
static uint32_t code_row(struct rows *w, uint32_t frame)
{
	const struct perf_frame *f = &w->x->frames[frame];
	struct aif_builder *b = w->x->b;
	struct aif_frame row = {.kind = f->kind, .address = f->address};

	if (w->code[frame] != AIF_NONE)
		return w->code[frame];
	row.module =
		aif_host_module_of(&w->host, f->kind, moved(w, f->module), moved(w, f->build_id));
	for (uint32_t i = 0; i < f->levels; i++) {
		const struct perf_level *l = &w->x->levels[f->level + i];
		uint32_t name = moved(w, l->name), file = moved(w, l->file);

		if (!i)
			w->code[frame] = aif_builder_named_frame(b, &row, name, file, l->line);
		else
			aif_builder_name(b, w->code[frame], name, file, l->line);
	}
	return w->code[frame];
}

static uint32_t frame_row(struct rows *w, uint32_t frame)
{
	const struct perf_frame *f = &w->x->frames[frame];
	uint32_t module = moved(w, f->module);

	if (f->levels)
		return code_row(w, frame);
	if (f->name == AIF_NONE)
		return aif_host_unnamed(&w->host, module, f->address);
	return f->is_inlined ? aif_host_inlined(&w->host, f->kind, module, moved(w, f->name),
						moved(w, f->file), 0)
			     : aif_host_frame(&w->host, f->kind, module, moved(w, f->name),
					      moved(w, f->file), 0);
}

/* process: a string of the profile's. */
static uint32_t stack_row(struct rows *w, uint32_t node, uint32_t process)
{
	struct aif_perf_samples *x = w->x;
	uint32_t *path = x->stack, stack = AIF_NONE;
	size_t n = 0;
	uint64_t known = AIF_NONE, under = w->by_process ? process : 0;

	for (; node != AIF_NONE; node = x->nodes[node].parent) {
		if (aif_map_get(&w->stacks, under << 32 | node, &known))
			break;
		path[n++] = node; /* AIF_PERF_DEPTH_MAX at most, as it was read */
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
static bool several_programs(const struct aif_perf_samples *x, uint32_t event)
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

static int make_rows(struct aif_perf_samples *x, const struct aif_perf_event *event,
		     uint64_t count_ns)
{
	struct aif_builder *b = x->b;
	uint32_t number = (uint32_t)(event - x->events.list);
	struct rows w = {.x = x, .host = {.b = b}};
	uint64_t left = UINT64_C(1) << 60, too_much = 0, without = 0, at = 0;

	for (size_t i = 0; i < x->threads_len; i++)
		if (!x->threads[i].has_pid)
			x->threads[i].process = process_of(x, &x->threads[i]);
	if (x->is_memory)
		return -ENOMEM;
	w.by_process = several_programs(x, number);
	w.code = malloc((x->frames_len + 1) * sizeof(*w.code));
	if (!w.code)
		return -ENOMEM;
	memset(w.code, 0xff, x->frames_len * sizeof(*w.code));
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
		without += s->node == AIF_NONE;
		if (stack == AIF_NONE) /* perf says where it was, or it did not know */
			stack = aif_builder_stack(b, AIF_NONE,
						  mark(&w, aif_builder_puts(b, "[no stack]")), 0);
		row = aif_builder_wait(b);
		if (!row)
			break;
		*row = (struct aif_cpu_row){
			.time = x->is_untimed ? at : s->time,
			.weight = ns,
			.thread = aif_host_thread(
				&w.host, t->has_pid ? t->pid : UINT64_C(1) << 32 | t->process,
				t->tid, name, moved(&w, t->name)),
			.stack = stack};
		at += ns;
	}
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(x->source->input)), too_much);
	aif_builder_loss(b, AIF_REASON_IMPORT_NO_STACK, AIF_NONE,
			 aif_builder_puts(b, aif_input_name(x->source->input)), without);
	aif_host_finish(&w.host);
	aif_map_finish(&w.stacks);
	free(w.code);
	return b->failed ? -ENOMEM : 0;
}

/* Periods that are no time: each sample stands for the usual time between two. */
static void weigh(struct aif_perf_samples *x, const struct aif_perf_event *event, size_t first)
{
	struct aif_builder *b = x->b;
	uint64_t each = aif_host_usual_gap(b, first);
	char text[400];

	if (x->is_untimed) {
		for (size_t i = first; i < b->waits_len; i++) {
			b->waits[i].weight = 1;
			b->waits[i].time = i - first;
		}
		return;
	}
	each = AIF_MIN(each ? each : DEFAULT_NS, AIF_NS_PER_S);
	snprintf(text, sizeof(text), "%s: %.60s: %" PRIu64 " ns each",
		 aif_input_name(x->source->input), aif_perf_event_name(&x->events, event), each);
	aif_builder_loss(b, AIF_REASON_IMPORT_WEIGHT, AIF_NONE, aif_builder_puts(b, text), 1);
	for (size_t i = first; i < b->waits_len; i++)
		b->waits[i].weight = each;
}

static void losses_report(struct aif_perf_samples *x, const struct aif_perf_event *event,
			  uint64_t count_ns)
{
	struct aif_builder *b = x->b;
	const char *file = aif_input_name(x->source->input);
	struct aif_buf others = {0};
	uint64_t samples = aif_perf_events_others(&x->events, event, &others);
	bool by_sample;
	char text[600];

	snprintf(text, sizeof(text), "%s: %s", file, aif_buf_str(&others));
	if (samples)
		aif_builder_loss(b, AIF_REASON_IMPORT_OTHER_EVENT, AIF_NONE,
				 aif_builder_puts(b, text), samples);
	aif_builder_loss(b, AIF_REASON_IMPORT_IDLE, AIF_NONE, aif_builder_puts(b, file), x->idle);
	aif_builder_loss(b, AIF_REASON_IMPORT_STACK_DEEP, AIF_NONE, aif_builder_puts(b, file),
			 x->cut);
	aif_builder_loss(b, AIF_REASON_IMPORT_LOST, AIF_NONE, aif_builder_puts(b, file), x->lost);
	aif_builder_loss(b, AIF_REASON_IMPORT_UNTIMED, AIF_NONE, aif_builder_puts(b, file),
			 x->is_untimed);
	if (samples || x->idle || x->records)
		aif_builder_meta(b, "imported.not_kept",
				 "%" PRIu64 " samples of other events (%s), %" PRIu64
				 " of idle CPUs, %" PRIu64 " records that are no samples",
				 samples, samples ? aif_buf_str(&others) : "none", x->idle,
				 x->records);
	aif_builder_meta(b, "imported.event", "%s", aif_perf_event_name(&x->events, event));
	by_sample = x->is_untimed && aif_perf_event_by_gap(event);
	if ((by_sample || aif_perf_event_counts(event)) && !count_ns) { /* else it is time */
		aif_builder_meta(b, "cpu_sampling", "counts");
		aif_builder_meta(b, "cpu_counts", "%s",
				 by_sample ? "samples" : aif_perf_event_name(&x->events, event));
	}
	b->failed |= aif_buf_failed(&others);
	aif_buf_finish(&others);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int choose(struct aif_perf_samples *x, const char *asked, const struct aif_perf_event **ret,
		  struct aif_err *err)
{
	const char *file = aif_input_name(x->source->input);
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

int aif_perf_samples_rows(struct aif_perf_samples *x, const struct aif_import_opts *opts,
			  struct aif_err *err)
{
	const struct aif_perf_event *event = NULL;
	size_t first = x->b->waits_len;
	int r = choose(x, opts->event, &event, err);

	if (r < 0)
		return r;
	r = make_rows(x, event, opts->count_ns);
	if (r < 0)
		return aif_err_set(err, r, "%s: %s", aif_input_name(x->source->input),
				   strerror(-r));
	if (!opts->count_ns && aif_perf_event_by_gap(event))
		weigh(x, event, first);
	losses_report(x, event, opts->count_ns);
	return 0;
}

void aif_perf_samples_finish(struct aif_perf_samples *x)
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
	free(x->levels);
}
