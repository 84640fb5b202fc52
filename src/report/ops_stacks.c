/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' table of a recording that has stacks and no operators' times: who was on the stacks of launches and of
 * CPU samples (the dispatcher's functions, analysis/torch_names.h).
 *
 *   self_device, device_total   exact where every launch was captured
 *   self_cpu, cpu_total         CPU samples, and what the thread waited for the device, with the operator innermost or
 *                               anywhere on the stack; of n samples the standard error is 1 / sqrt(n) of their time
 *   calls                       op_calls.h; of a kernel its executions
 */
#include "report/ops.h"

#include "base/u64_of.h"
#include "analysis/cpu_totals.h"
#include "analysis/torch_names.h"
#include "analysis/traits.h"
#include "report/op_calls.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct sums {
	uint64_t self_device, device, launches;
	uint64_t self_cpu, cpu;
	double variance, cpu_variance; /* of device, cpu */
	uint64_t calls, calls_error;
	uint32_t name, process; /* name: of .names, or beyond them of a kernel or a copy */
	uint32_t kind, kernel;
	bool is_work; /* the device's own */
};

struct table {
	struct aif_report *r;
	struct aif_strset names;
	uint32_t *of_frame; /* operator's name, AIF_NONE: it is none */
	uint64_t *seen;     /* by name: the last row on whose stack it was */
	uint64_t rows;
	struct sums *sums;
	size_t len, cap;
	struct aif_map ids, works; /* works: kind and name of work -> number */
	struct aif_op_calls calls;
	struct aif_cpu_totals cpu;
	bool have_operators, have_cpu;
};

static int name_frames(struct table *t)
{
	const struct aif_profile *p = t->r->p;
	struct aif_buf text = {0};
	int e = 0;

	t->of_frame = malloc((p->frames_len + 1) * sizeof(*t->of_frame));
	if (!t->of_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->frames_len && !e; i++) {
		const struct aif_frame_name *n =
			p->frames[i].kind == AIF_FRAME_NATIVE ? aif_profile_frame_name(p, i) : NULL;
		const char *name;
		size_t len;

		t->of_frame[i] = AIF_NONE;
		if (!n ||
		    aif_torch_kind(aif_profile_str(p, n->name), &name, &len) != AIF_TORCH_CALL)
			continue;
		aif_buf_clear(&text);
		aif_buf_printf(&text, "aten::%.*s", (int)aif_torch_operator(name, len), name);
		t->of_frame[i] = aif_strset_put(&t->names, text.data, text.len);
		e = aif_buf_failed(&text) || t->of_frame[i] == AIF_STR_NONE ? -ENOMEM : 0;
	}
	aif_buf_finish(&text);
	return e;
}

static struct sums *row_of(struct table *t, uint32_t name, uint32_t process)
{
	uint64_t key = (uint64_t)process << 32 | name, id;

	if (aif_map_get(&t->ids, key, &id))
		return &t->sums[id];
	if (aif_grow(&t->sums, &t->cap, t->len + 1, sizeof(*t->sums)) < 0 ||
	    aif_map_put(&t->ids, key, t->len) < 0)
		return NULL;
	t->sums[t->len] = (struct sums){.name = name, .process = process};
	return &t->sums[t->len++];
}

static uint64_t work_key(const struct table *t, uint32_t kind, uint32_t kernel)
{
	return (uint64_t)kind << 32 |
	       (kernel == AIF_NONE ? AIF_NONE : t->r->p->kernels[kernel].name);
}

static struct sums *kernel_row_of(struct table *t, const struct aif_attribution_row *row)
{
	uint64_t work = work_key(t, row->kind, row->kernel), id;
	struct sums *s;

	/* A number that no operator's name has. */
	if (!aif_map_get(&t->works, work, &id)) {
		id = t->works.len;
		if (aif_map_put(&t->works, work, id) < 0)
			return NULL;
	}
	s = row_of(t, (uint32_t)(t->names.len + id), row->process);
	if (s) {
		s->is_work = true;
		s->kind = row->kind;
		s->kernel = row->kernel;
	}
	return s;
}

static void add(struct sums *s, const struct aif_attribution_row *row, bool is_self)
{
	s->device += row->time_ns;
	s->variance += (double)row->error_ns * (double)row->error_ns;
	if (!is_self)
		return;
	s->self_device += row->time_ns;
	s->launches += row->launches;
}

/* The innermost operator launched it; all others on the stack, each once, had it launched. */
static int add_row(struct table *t, const struct aif_attribution_row *row)
{
	const struct aif_profile *p = t->r->p;
	struct sums *sums = kernel_row_of(t, row);
	bool is_innermost = true;

	if (!sums)
		return -ENOMEM;
	add(sums, row, true);
	t->rows++;
	for (uint32_t s = row->stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame,
			 name = frame == AIF_NONE ? AIF_NONE : t->of_frame[frame];

		if (name == AIF_NONE || t->seen[name] == t->rows)
			continue;
		t->seen[name] = t->rows;
		sums = row_of(t, name, row->process);
		if (!sums)
			return -ENOMEM;
		add(sums, row, is_innermost);
		t->have_operators = true;
		is_innermost = false;
	}
	return 0;
}

static void add_cpu_stack(struct sums *s, const struct aif_cpu_stack *c, bool is_self)
{
	s->cpu += c->weight_ns;
	s->self_cpu += is_self ? c->weight_ns : 0;
	if (c->samples)
		s->cpu_variance += (double)c->weight_ns * (double)c->weight_ns / (double)c->samples;
}

/* Adds the CPU time of a stack to the operators on it, each once. */
static int add_cpu(struct table *t, const struct aif_cpu_stack *c)
{
	const struct aif_profile *p = t->r->p;
	bool is_innermost = true;

	t->rows++;
	for (uint32_t s = c->stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame,
			 name = frame == AIF_NONE ? AIF_NONE : t->of_frame[frame];
		struct sums *sums;

		if (name == AIF_NONE || t->seen[name] == t->rows)
			continue;
		t->seen[name] = t->rows;
		sums = row_of(t, name,
			      c->thread == AIF_NONE ? AIF_NONE : p->threads[c->thread].process);
		if (!sums)
			return -ENOMEM;
		add_cpu_stack(sums, c, is_innermost);
		t->have_operators = t->have_cpu = true;
		is_innermost = false;
	}
	return 0;
}

/* CPU time is of no kernel, and of imported counts no time. */
static int add_all_cpu(struct table *t, struct aif_err *err)
{
	const struct aif_report *r = t->r;
	int e;

	if (r->kernel.is_set || r->p->traits.is_imported || aif_cpu_counts(r->p))
		return 0;
	e = aif_cpu_totals_by_thread(r->p, r->o->sel, &t->cpu, err);
	for (size_t i = 0; i < t->cpu.stacks_len && !e; i++)
		if (!t->cpu.stacks[i].off_cpu)
			e = add_cpu(t, &t->cpu.stacks[i]);
	return e;
}

static bool is_asked(const void *arg, const struct aif_timeline_launch *l, uint32_t *ret_work)
{
	const struct table *t = arg;
	const struct aif_timeline_call *call = aif_timeline_call_of(t->r->timeline, l);
	uint64_t id;

	if (!aif_report_has_kernel(t->r, call->kind, call->kernel) ||
	    !aif_map_get(&t->works, work_key(t, call->kind, call->kernel), &id))
		return false;
	*ret_work = (uint32_t)(t->names.len + id);
	return true;
}

static int add_calls(struct table *t)
{
	const struct aif_exec_timeline *of = t->r->timeline;
	int e = aif_op_calls_count(t->r->p, of, t->of_frame, is_asked, t, &t->calls);

	for (size_t i = 0; i < t->len && !e; i++) {
		struct sums *s = &t->sums[i];
		struct aif_op_calls_row *c = aif_op_calls_of(&t->calls, s->process, s->name);

		s->calls = s->is_work ? s->launches
			   : c        ? aif_timed_rounded(c->calls.whole)
				      : AIF_TABLE_NO_VALUE;
		if (c && of->weights)
			s->calls_error =
				aif_timed_rounded(ceil(aif_estimate_error(&c->calls, of->weights)));
	}
	return e;
}

enum {
	NAME,
	PROCESS,
	TYPE,
	SELF_CPU_SHARE,
	SELF_CPU,
	CPU_SHARE,
	CPU,
	CPU_ERROR,
	SELF_DEVICE,
	SELF_DEVICE_SHARE,
	DEVICE,
	ERROR,
	CALLS,
	CALLS_ERROR,
	LAUNCHES,
	COLUMNS
};
static const struct aif_table_column columns[] = {
	{"name", AIF_TABLE_TEXT},       {"process", AIF_TABLE_ID},
	{"type", AIF_TABLE_TEXT},       {"self_cpu_share", AIF_TABLE_SHARE},
	{"self_cpu", AIF_TABLE_NS},     {"cpu_total_share", AIF_TABLE_SHARE},
	{"cpu_total", AIF_TABLE_NS},    {"cpu_error", AIF_TABLE_NS}, /* of cpu_total */
	{"self_device", AIF_TABLE_NS},  {"self_device_share", AIF_TABLE_SHARE},
	{"device_total", AIF_TABLE_NS}, {"error", AIF_TABLE_NS}, /* of device_total */
	{"calls", AIF_TABLE_COUNT},     {"calls_error", AIF_TABLE_COUNT},
	{"launches", AIF_TABLE_COUNT},
};

static void make_titles(struct aif_report *r)
{
	static const char *const titles[COLUMNS] = {
		[NAME] = "Name",
		[PROCESS] = "Process",
		[TYPE] = "Type",
		[SELF_CPU_SHARE] = "Self CPU %",
		[SELF_CPU] = "Self CPU",
		[CPU_SHARE] = "CPU total %",
		[CPU] = "CPU total",
		[CPU_ERROR] = "CPU error",
		[ERROR] = "Error",
		[CALLS] = "# of Calls",
		[CALLS_ERROR] = "Calls error",
		[LAUNCHES] = "# of Launches",
	};
	char word[16], (*space)[AIF_TITLE_MAX] = r->title_space;

	memcpy(r->titles, titles, sizeof(titles));
	aif_device_word(r->p, word);
	snprintf(space[0], AIF_TITLE_MAX, "Self %s", word);
	snprintf(space[1], AIF_TITLE_MAX, "Self %s %%", word);
	snprintf(space[2], AIF_TITLE_MAX, "%s total", word);
	for (size_t i = 0; i < 3; i++)
		r->titles[SELF_DEVICE + i] = space[i];
	r->t.titles = r->titles;
	r->t.first_max = r->o->detail == AIF_NAME_FULL ? 0 : AIF_OPS_NAME_COLUMNS;
}

/* Says how the numbers were found, where a trace would have them from the program. */
static void note(const struct table *t, uint64_t all_cpu, uint64_t launches)
{
	struct aif_buf *b = &t->r->after;

	if (t->have_cpu) {
		aif_buf_puts(b, "CPU times: ");
		aif_human_ns(b, all_cpu);
		aif_buf_puts(b, " in operators, of ");
		aif_cpu_totals_say(t->r->p, &t->cpu, b);
		aif_buf_puts(b, ".\n");
	}
	aif_buf_puts(b, launches ? "Calls: those that launched work, counted by how launch stacks "
				   "change; a loop within an operator counts each turn. -: "
				   "launched nothing, not known.\n"
				 : "Calls are counted from launches, of which there are none.\n");
}

static void put_cpu(struct table *t, const struct sums *s, uint64_t all_cpu)
{
	const uint64_t cells[] = {
		aif_share_ppm(s->self_cpu, all_cpu), s->self_cpu,
		aif_share_ppm(s->cpu, all_cpu),      s->cpu,
		aif_u64_of(sqrt(s->cpu_variance)),
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(cells); i++)
		aif_table_number(&t->r->t, t->have_cpu ? cells[i] : AIF_TABLE_NO_VALUE);
}

static int print(struct table *t)
{
	struct aif_report *r = t->r;
	uint64_t all = 0, all_cpu = 0, launches = 0;
	bool several = false, have_errors = false, have_call_errors = false;

	for (size_t i = 0; i < t->len; i++) {
		have_errors |= t->sums[i].variance > 0;
		have_call_errors |= t->sums[i].calls_error > 0;
		all += t->sums[i].is_work ? t->sums[i].device : 0;
		all_cpu += t->sums[i].self_cpu;
		launches += t->sums[i].launches;
		several |= t->sums[i].process != t->sums[0].process;
	}
	aif_table_init(&r->t, columns, COLUMNS);
	make_titles(r);
	r->t.is_torch = true;
	r->device_ns = all;
	r->cpu_ns = all_cpu;
	aif_report_hide(r, "type");
	if (!several)
		aif_report_hide(r, "process");
	if (!have_errors)
		aif_report_hide(r, "error");
	if (!have_call_errors)
		aif_report_hide(r, "calls_error");
	for (int c = SELF_CPU_SHARE; c <= CPU_ERROR && !t->have_cpu; c++)
		aif_report_hide(r, columns[c].name);
	for (int c = SELF_DEVICE; c <= ERROR && !launches; c++)
		aif_report_hide(r, columns[c].name);
	if (!launches)
		aif_report_hide(r, "launches");
	for (size_t i = 0; i < t->len; i++) {
		const struct sums *s = &t->sums[i];

		if (s->is_work)
			aif_report_kernel_cell(r, s->kind, s->kernel);
		else
			aif_table_text(&r->t, aif_strset_get(&t->names, s->name, NULL));
		aif_report_process_cell(r, s->process);
		aif_table_text(&r->t, s->is_work ? aif_launch_kind_name(s->kind) : "operator");
		put_cpu(t, s, all_cpu);
		aif_table_number(&r->t, s->self_device);
		aif_table_number(&r->t, aif_share_ppm(s->self_device, all));
		aif_table_number(&r->t, s->device);
		aif_table_number(&r->t, aif_u64_of(sqrt(s->variance)));
		aif_table_number(&r->t, s->calls);
		aif_table_number(&r->t, s->calls_error);
		aif_table_number(&r->t, s->launches);
	}
	note(t, all_cpu, launches);
	return aif_table_sort(&r->t, launches ? SELF_DEVICE : SELF_CPU);
}

int aif_ops_stacks_fill(struct aif_report *r, struct aif_err *err)
{
	struct table t = {.r = r};
	struct aif_attribution a = {0};
	int e = r->o->by == AIF_REPORT_BY_NAME || r->ops.rows->any
			? 0
			: aif_err_set(err, -EINVAL,
				      "report: --by is for operators of a trace; this profile has "
				      "launch stacks, see report --stacks");

	if (!e)
		e = aif_attribution_compute(r->p, r->o->sel, &a, err);
	if (!e)
		e = name_frames(&t);
	if (!e) {
		t.seen = calloc(t.names.len + 1, sizeof(*t.seen));
		e = t.seen ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < a.rows_len && !e; i++)
		if (aif_report_has_kernel(r, a.rows[i].kind, a.rows[i].kernel))
			e = add_row(&t, &a.rows[i]);
	if (!e)
		e = add_all_cpu(&t, err);
	if (!e)
		e = add_calls(&t);
	if (!e && !t.have_operators)
		e = aif_err_set(err, -ENODATA,
				"report: no operators in this profile; import a trace of "
				"torch.profiler (aiflame import), or record a program that uses "
				"PyTorch");
	if (!e)
		e = print(&t);
	aif_attribution_finish(&a);
	aif_op_calls_finish(&t.calls);
	aif_cpu_totals_finish(&t.cpu);
	aif_map_finish(&t.ids);
	aif_map_finish(&t.works);
	aif_strset_finish(&t.names);
	free(t.of_frame);
	free(t.seen);
	free(t.sums);
	return e;
}
