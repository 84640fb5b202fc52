/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' table, torch.profiler's key_averages(): rows of one name are added up. First what op_tree.h has of
 * operators, ranges, steps and runtime calls, then the device's own work, each kernel a row: so a kernel's time
 * is there twice, in its own row and in that of the operator which launched it, as in torch's table.
 *
 *   self_cpu      sum of (duration - durations of its children); self_cpu_share: of the sum of this column
 *   cpu_total     sum of durations; its share is of the same sum, and with a name that is nested in itself may be
 *                 more than all
 *   self_device   of an operator: what it launched itself; of a kernel: its time. Its share is of the kernels' sum
 *   device_total  of an operator: what its children launched, too
 *   averages      totals / calls
 */
#include "report/ops.h"
#include "report/range_labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STEP      "ProfilerStep#"
#define STEP_NAME "ProfilerStep*"

struct sums {
	/* Children that overlap in part can be longer than their parent, which then has less than
	 * none, for torch too: modulo 2^64. */
	uint64_t self_cpu;
	uint64_t cpu, self_device, device, calls;
	uint64_t error;    /* standard error of .device */
	double executions; /* executions of a device's work, weighted; .calls in the end */
	/* process; string of .texts that --by tells rows apart by, or AIF_NONE */
	uint32_t process, by;
	uint32_t name; /* name of an operator, a string; AIF_NONE: all steps */
	struct aif_op_memory memory, memory_all;
	bool is_label;  /* name: of a range, a label */
	bool is_memory; /* row of memory allocated in no operator */
	uint32_t kind;  /* kind of an operator; 0 for a device's work */
	uint32_t exec_kind, kernel;
};

struct table {
	struct aif_report *r;
	struct sums *sums;
	size_t len, cap;
	struct aif_map names, rests, ids; /* ids: of both, to a row */
	struct aif_strset texts;          /* shapes and stacks */
	struct aif_map by_stack;          /* stack -> text */
	struct aif_stack_names *stack_names;
	struct aif_buf line;
	struct aif_range_labels labels; /* labels of ranges */
	uint32_t *row_of_op, *row_of_exec;
	uint8_t *name_is; /* 0 not looked at yet, NAME_PLAIN or NAME_STEP, by string */
};
enum { NAME_PLAIN = 1, NAME_STEP };

static int number_of(struct aif_map *m, uint64_t key, uint64_t *ret)
{
	if (aif_map_get(m, key, ret))
		return 0;
	*ret = m->len;
	return aif_map_put(m, key, *ret);
}

/* NULL when memory runs out. */
static struct sums *row_of(struct table *t, uint64_t name, uint32_t process, uint32_t by)
{
	uint64_t a, b, id;

	if (number_of(&t->names, name, &a) < 0 ||
	    number_of(&t->rests, (uint64_t)process << 32 | by, &b) < 0)
		return NULL;
	if (aif_map_get(&t->ids, a << 32 | b, &id))
		return &t->sums[id];
	if (aif_grow(&t->sums, &t->cap, t->len + 1, sizeof(*t->sums)) < 0 ||
	    aif_map_put(&t->ids, a << 32 | b, t->len) < 0)
		return NULL;
	t->sums[t->len] = (struct sums){.process = process, .by = by};
	return &t->sums[t->len++];
}

static bool is_step(struct table *t, uint32_t name)
{
	if (name == AIF_NONE)
		return false;
	if (!t->name_is[name])
		t->name_is[name] = !strncmp(aif_profile_str(t->r->p, name), STEP, strlen(STEP))
					   ? NAME_STEP
					   : NAME_PLAIN;
	return t->name_is[name] == NAME_STEP;
}

static bool is_range(uint32_t kind)
{
	return kind == AIF_OP_RANGE || kind == AIF_OP_STEP;
}

/* Finds the text by which --by tells rows of one name apart. 0 or -ENOMEM. */
static int by_of(struct table *t, const struct aif_op *o, uint32_t *ret)
{
	uint64_t known;

	*ret = AIF_NONE;
	if (t->r->o->by == AIF_REPORT_BY_SHAPE && o->shapes != AIF_NONE) {
		*ret = aif_strset_puts(&t->texts, aif_profile_str(t->r->p, o->shapes));
		return *ret == AIF_STR_NONE ? -ENOMEM : 0;
	}
	if (t->r->o->by != AIF_REPORT_BY_STACK || o->stack == AIF_NONE)
		return 0;
	if (!aif_map_get(&t->by_stack, o->stack, &known)) {
		aif_buf_clear(&t->line);
		if (aif_stack_names_line(t->stack_names, o->stack, &t->line) < 0)
			return -ENOMEM;
		known = aif_strset_put(&t->texts, t->line.data, t->line.len);
		if (known == AIF_STR_NONE || aif_map_put(&t->by_stack, o->stack, known) < 0)
			return -ENOMEM;
	}
	*ret = (uint32_t)known;
	return 0;
}

/* Rows of labels, beside those of names and of kernels. */
#define LABEL (UINT64_C(1) << 42)

/* Moves the time of a replayed graph's node from the range that launched the replay to the instruction that made the
 * node; it is in the total of both. */
static int move_node(struct table *t, const struct aif_timeline_exec *x)
{
	uint32_t label = aif_range_label_of_exec(&t->labels, t->r->timeline, x),
		 op = aif_op_tree_of(&t->r->ops, x);
	uint64_t ns = aif_op_tree_device_ns(t->r->timeline, x);
	struct sums *s;

	if (label == AIF_STR_NONE || op == AIF_NONE || t->row_of_op[op] == AIF_NONE ||
	    t->r->o->by != AIF_REPORT_BY_NAME)
		return 0;
	s = row_of(t, LABEL | label, aif_timeline_work_of(t->r->timeline, x)->process, AIF_NONE);
	if (!s)
		return -ENOMEM;
	s->name = label;
	s->kind = AIF_OP_RANGE;
	s->is_label = true;
	s->self_device += ns;
	s->device += ns;
	t->sums[t->row_of_op[op]].self_device -= ns;
	return 0;
}

/* Adds; sums of a hostile file may wrap. */
static void memory_add(struct aif_op_memory *sum, const struct aif_op_memory *m)
{
	sum->host = (int64_t)((uint64_t)sum->host + (uint64_t)m->host);
	sum->device = (int64_t)((uint64_t)sum->device + (uint64_t)m->device);
}

/* Adds torch's row of what was allocated in no operator. */
static int add_memory_outside(struct table *t)
{
	struct sums *s;

	if (!t->r->ops.allocations_outside)
		return 0;
	s = row_of(t, UINT64_C(1) << 44, AIF_NONE, AIF_NONE);
	if (!s)
		return -ENOMEM;
	s->is_memory = true;
	s->memory = s->memory_all = t->r->ops.memory_outside;
	s->executions = (double)t->r->ops.allocations_outside;
	return 0;
}

static int add_op(struct table *t, size_t op, uint32_t *ret_row)
{
	const struct aif_op_tree *tree = &t->r->ops;
	const struct aif_op *o = &tree->ops[op];
	uint32_t process = o->thread == AIF_NONE ? AIF_NONE : t->r->p->threads[o->thread].process;
	uint32_t name = is_step(t, o->name) ? AIF_NONE : o->name, by;
	uint64_t ns = aif_op_ns(o);
	bool is_label = o->kind == AIF_OP_RANGE && name != AIF_NONE;
	struct sums *s;

	if (is_label)
		name = aif_range_label(&t->labels, name, o->shapes);
	if ((is_label && name == AIF_STR_NONE) || by_of(t, o, &by) < 0)
		return -ENOMEM;
	s = row_of(t, is_label ? LABEL | name : (uint64_t)name << 1 | is_range(o->kind), process,
		   by);
	if (!s)
		return -ENOMEM;
	s->is_label = is_label;
	s->name = name;
	s->kind = o->kind;
	s->self_cpu += ns;
	/* Parents come first; none of them is a part of another one. */
	if (o->parent != AIF_NONE)
		t->sums[t->row_of_op[o->parent]].self_cpu -= ns;
	s->cpu += ns;
	s->self_device += tree->device[op].ns;
	s->device += tree->device[op].all_ns;
	if (tree->memory) {
		memory_add(&s->memory, &tree->memory[op].own);
		memory_add(&s->memory_all, &tree->memory[op].all);
	}
	s->calls++;
	*ret_row = (uint32_t)(s - t->sums);
	return 0;
}

/* Kernels of one name are one, whichever program each is of; so are transfers. */
static int add_exec(struct table *t, const struct aif_timeline_exec *x, uint32_t *ret_row)
{
	const struct aif_profile *p = t->r->p;
	const struct aif_timeline_work *of = aif_timeline_work_of(t->r->timeline, x);
	bool is_kernel = of->kind == AIF_LAUNCH_KERNEL, is_named = of->kernel != AIF_NONE;
	uint64_t ns = aif_op_tree_device_ns(t->r->timeline, x),
		 name = UINT64_C(1) << (is_kernel && is_named ? 40
					: is_named            ? 43
							      : 41) |
			(is_named ? p->kernels[of->kernel].name : of->kind);
	struct sums *s = row_of(t, name, of->process, AIF_NONE);

	if (!s)
		return -ENOMEM;
	s->kernel = of->kernel;
	s->exec_kind = of->kind;
	s->self_device += ns;
	s->device += ns;
	s->executions += aif_exec_timeline_whole(t->r->timeline, x, 1);
	*ret_row = (uint32_t)(s - t->sums);
	return 0;
}

static int find_errors(struct table *t)
{
	uint64_t *errors = calloc(t->len + 1, sizeof(*errors));
	int e = errors ? aif_op_errors(t->r, t->row_of_op, t->row_of_exec, t->len, errors)
		       : -ENOMEM;

	for (size_t i = 0; i < t->len && !e; i++)
		t->sums[i].error = errors[i];
	free(errors);
	return e;
}

static int add_all(struct table *t)
{
	const struct aif_report *r = t->r;
	int e = 0;

	t->row_of_op = malloc((r->ops.len + 1) * sizeof(*t->row_of_op));
	t->row_of_exec = malloc((r->timeline->execs_len + 1) * sizeof(*t->row_of_exec));
	if (!t->row_of_op || !t->row_of_exec)
		return -ENOMEM;
	for (size_t i = 0; i < r->ops.len && !e; i++) {
		t->row_of_op[i] = AIF_NONE;
		if (r->ops.ops[i].twin == AIF_NONE)
			e = add_op(t, i, &t->row_of_op[i]);
	}
	for (size_t i = 0; i < r->timeline->execs_len && !e; i++) {
		t->row_of_exec[i] = AIF_NONE;
		if (aif_report_has_exec(r, &r->timeline->execs[i]))
			e = add_exec(t, &r->timeline->execs[i], &t->row_of_exec[i]);
		if (!e && t->row_of_exec[i] != AIF_NONE)
			e = move_node(t, &r->timeline->execs[i]);
	}
	if (!e)
		e = add_memory_outside(t);
	if (!e)
		e = find_errors(t);
	for (size_t i = 0; i < t->len && !e; i++)
		if (!t->sums[i].kind)
			t->sums[i].calls = aif_timed_rounded(t->sums[i].executions);
	return e;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Columns that all profiles have; those of memory, calls and what --by tells apart follow. */
enum {
	NAME,
	PROCESS,
	TYPE,
	SELF_CPU_SHARE,
	SELF_CPU,
	CPU_SHARE,
	CPU,
	CPU_AVERAGE,
	SELF_DEVICE,
	SELF_DEVICE_SHARE,
	DEVICE,
	DEVICE_AVERAGE,
	ERROR,
};

/* Adds a column with torch's title: of `format` with the device's word where it has room for one. */
static void column_add(struct aif_report *r, size_t *n, const char *name, enum aif_table_type type,
		       const char *format)
{
	char word[16], *space = r->title_space[*n];

	assert(*n < AIF_TITLES_MAX);
	r->made[*n] = (struct aif_table_column){name, type};
	r->titles[*n] = format;
	if (strstr(format, "%s")) {
		const char *at = strstr(format, "%s");

		aif_device_word(r->p, word);
		snprintf(space, AIF_TITLE_MAX, "%.*s%s%s", (int)(at - format), format, word,
			 at + 2);
		r->titles[*n] = space;
	}
	++*n;
}

/* Makes the columns, of which those of memory are there where the profile has allocations. */
static size_t make_columns(struct aif_report *r)
{
	static const struct {
		const char *name;
		enum aif_table_type type;
		const char *title;
	} common[] = {
		[NAME] = {"name", AIF_TABLE_TEXT, "Name"},
		[PROCESS] = {"process", AIF_TABLE_ID, "Process"},
		[TYPE] = {"type", AIF_TABLE_TEXT, "Type"},
		[SELF_CPU_SHARE] = {"self_cpu_share", AIF_TABLE_SHARE, "Self CPU %"},
		[SELF_CPU] = {"self_cpu", AIF_TABLE_NS, "Self CPU"},
		[CPU_SHARE] = {"cpu_total_share", AIF_TABLE_SHARE, "CPU total %"},
		[CPU] = {"cpu_total", AIF_TABLE_NS, "CPU total"},
		[CPU_AVERAGE] = {"cpu_average", AIF_TABLE_NS, "CPU time avg"},
		[SELF_DEVICE] = {"self_device", AIF_TABLE_NS, "Self %s"},
		[SELF_DEVICE_SHARE] = {"self_device_share", AIF_TABLE_SHARE, "Self %s %"},
		[DEVICE] = {"device_total", AIF_TABLE_NS, "%s total"},
		[DEVICE_AVERAGE] = {"device_average", AIF_TABLE_NS, "%s time avg"},
		[ERROR] = {"error", AIF_TABLE_NS, "Error"},
	};
	size_t n = 0;

	for (size_t i = 0; i < AIF_ARRAY_LEN(common); i++)
		column_add(r, &n, common[i].name, common[i].type, common[i].title);
	if (r->ops.has_memory) {
		column_add(r, &n, "cpu_memory", AIF_TABLE_CHANGE, "CPU Mem");
		column_add(r, &n, "self_cpu_memory", AIF_TABLE_CHANGE, "Self CPU Mem");
		column_add(r, &n, "device_memory", AIF_TABLE_CHANGE, "%s Mem");
		column_add(r, &n, "self_device_memory", AIF_TABLE_CHANGE, "Self %s Mem");
	}
	column_add(r, &n, "calls", AIF_TABLE_COUNT, "# of Calls");
	if (r->o->by == AIF_REPORT_BY_SHAPE)
		column_add(r, &n, "shapes", AIF_TABLE_TEXT, "Input Shapes");
	if (r->o->by == AIF_REPORT_BY_STACK)
		column_add(r, &n, "stack", AIF_TABLE_TEXT, "Source Location");
	return n;
}

static void text_cell(struct aif_report *r, const char *text)
{
	aif_table_text(&r->t, text ? text : "");
}

static void name_cells(struct aif_report *r, const struct aif_range_labels *labels,
		       const struct sums *s)
{
	if (s->is_memory)
		text_cell(r, "[memory]");
	else if (s->kind)
		text_cell(r, s->name == AIF_NONE ? STEP_NAME
			     : s->is_label       ? aif_range_label_text(labels, s->name)
						 : aif_profile_str(r->p, s->name));
	else
		aif_report_kernel_cell(r, s->exec_kind, s->kernel);
	aif_report_process_cell(r, s->process);
	text_cell(r, s->is_memory ? "memory"
		     : s->kind    ? aif_op_kind_name(s->kind)
				  : aif_launch_kind_name(s->exec_kind));
}

static uint64_t at_least_none(uint64_t ns)
{
	return ns > INT64_MAX ? 0 : ns;
}

static uint64_t average(uint64_t ns, uint64_t calls)
{
	return calls ? (ns + calls / 2) / calls : ns;
}

static void put_rows(struct table *t, uint64_t all_cpu, uint64_t all_device)
{
	struct aif_table *to = &t->r->t;

	for (size_t i = 0; i < t->len; i++) {
		const struct sums *s = &t->sums[i];

		name_cells(t->r, &t->labels, s);
		aif_table_number(to, aif_share_ppm(at_least_none(s->self_cpu), all_cpu));
		aif_table_number(to, at_least_none(s->self_cpu));
		aif_table_number(to, aif_share_ppm(s->cpu, all_cpu));
		aif_table_number(to, s->cpu);
		aif_table_number(to, average(s->cpu, s->calls));
		aif_table_number(to, s->self_device);
		aif_table_number(to, aif_share_ppm(s->self_device, all_device));
		aif_table_number(to, s->device);
		aif_table_number(to, average(s->device, s->calls));
		aif_table_number(to, s->error);
		if (t->r->ops.has_memory) {
			aif_table_number(to, (uint64_t)s->memory_all.host);
			aif_table_number(to, (uint64_t)s->memory.host);
			aif_table_number(to, (uint64_t)s->memory_all.device);
			aif_table_number(to, (uint64_t)s->memory.device);
		}
		aif_table_number(to, s->calls);
		if (t->r->o->by != AIF_REPORT_BY_NAME)
			text_cell(t->r,
				  s->by == AIF_NONE ? "" : aif_strset_get(&t->texts, s->by, NULL));
	}
}

/* Returns the time in which threads were in any operator: spans that overlap in part count once. */
static uint64_t covered_ns(const struct aif_op_tree *t)
{
	uint64_t ns = 0;
	int64_t end = 0;

	for (size_t i = 0; i < t->len; i++) {
		const struct aif_op *o = &t->ops[i];

		if (!i || o->thread != t->ops[i - 1].thread || o->start > end)
			end = o->start;
		if (o->end > end) {
			ns += (uint64_t)o->end - (uint64_t)end;
			end = o->end;
		}
	}
	return ns;
}

static void note_totals(struct aif_report *r, uint64_t all_cpu, uint64_t all_device)
{
	uint64_t covered = covered_ns(&r->ops);
	char word[16];

	aif_device_word(r->p, word);
	aif_buf_puts(&r->after, "Self CPU time total: ");
	aif_human_torch_ns(&r->after, (double)all_cpu);
	if (covered < all_cpu) {
		aif_buf_puts(&r->after, ", of which ");
		aif_human_torch_ns(&r->after, (double)(all_cpu - covered));
		aif_buf_puts(&r->after,
			     " counted twice, as torch does: spans of one thread overlap in part");
	}
	if (all_device) {
		aif_buf_printf(&r->after, "\nSelf %s time total: ", word);
		aif_human_torch_ns(&r->after, (double)all_device);
	}
	if (r->o->sel && (r->o->sel->from_ns || r->o->sel->to_ns))
		aif_buf_puts(&r->after,
			     "\nOf --time: operators that begin in it, each as long as it was");
	aif_buf_putc(&r->after, '\n');
}

static int print(struct table *t)
{
	struct aif_report *r = t->r;
	uint64_t all_cpu = 0, all_device = 0;
	uint32_t process = t->len ? t->sums[0].process : AIF_NONE;
	bool several = false, have_errors = false;

	for (size_t i = 0; i < t->len; i++) {
		have_errors |= t->sums[i].error > 0;
		all_cpu += t->sums[i].self_cpu;
		all_device += t->sums[i].kind ? 0 : t->sums[i].self_device;
		several |= !t->sums[i].is_memory && t->sums[i].process != process;
	}
	all_cpu = at_least_none(all_cpu);
	aif_table_init(&r->t, r->made, make_columns(r));
	r->t.titles = r->titles;
	r->t.is_torch = true;
	r->cpu_ns = all_cpu;
	r->device_ns = all_device;
	r->t.first_max = r->o->detail == AIF_NAME_FULL ? 0 : AIF_OPS_NAME_COLUMNS;
	r->t.folds = r->o->by == AIF_REPORT_BY_STACK ? " < " : NULL;
	aif_report_hide(r, "type");
	if (!several)
		aif_report_hide(r, "process");
	if (!have_errors)
		aif_report_hide(r, "error");
	for (int c = SELF_DEVICE; c <= DEVICE_AVERAGE && !all_device; c++)
		aif_report_hide(r, r->made[c].name);
	for (size_t i = 0; i < 2 && r->ops.has_memory && !r->ops.has_device_memory; i++)
		aif_report_hide(r, i ? "self_device_memory" : "device_memory");
	put_rows(t, all_cpu, all_device);
	note_totals(r, all_cpu, all_device);
	return aif_table_sort(&r->t, all_device ? SELF_DEVICE : SELF_CPU);
}

/* Fills the table from operators' times. */
static int fill_timed(struct aif_report *r)
{
	struct table t = {.r = r, .name_is = calloc(r->p->strings.len + 1, sizeof(*t.name_is))};
	int e = t.name_is ? 0 : -ENOMEM;

	if (!e && r->o->by == AIF_REPORT_BY_STACK)
		e = aif_stack_names_new(r->names, r->o->detail, &t.stack_names);
	if (!e)
		e = aif_range_labels_make(r->p, &t.labels);
	if (!e)
		e = aif_op_tree_add_memory(&r->ops, r->p, r->o->sel);
	if (!e)
		e = aif_op_tree_add_device(&r->ops, r->timeline,
					   r->kernel.is_set ? aif_report_has_exec : NULL, r);
	if (!e)
		e = add_all(&t);
	if (!e)
		e = print(&t);
	aif_stack_names_free(t.stack_names);
	aif_range_labels_finish(&t.labels);
	aif_map_finish(&t.names);
	aif_map_finish(&t.rests);
	aif_map_finish(&t.ids);
	aif_map_finish(&t.by_stack);
	aif_strset_finish(&t.texts);
	aif_buf_finish(&t.line);
	free(t.row_of_op);
	free(t.row_of_exec);
	free(t.name_is);
	free(t.sums);
	return e;
}

/* True if the table is that of the rows' times. */
static bool has_times(const struct aif_report *r)
{
	return r->ops.rows->has_operators &&
	       (!r->ops.rows->has_some_operators || r->o->by == AIF_REPORT_BY_SHAPE);
}

/* Fills the table from stacks where the profile has no operators' times. */
static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_err none = {0};
	int e = has_times(r) ? -ENODATA : aif_ops_stacks_fill(r, &none);

	/* Ranges and steps are rows, too, where there are no operators. */
	if (e == -ENODATA && r->ops.rows->any)
		return fill_timed(r);
	if (e && err)
		*err = none;
	return e;
}

const struct aif_report_table aif_report_table_ops = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_JOINS | AIF_LACK_STACKS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPERATORS,
	.by = 1U << AIF_REPORT_BY_SHAPE | 1U << AIF_REPORT_BY_STACK,
	.rows = "operators",
	.sort_column = aif_ops_sort_column,
	.print_style = aif_ops_print_torch,
	.fill = fill,
};
