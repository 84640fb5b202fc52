/* SPDX-License-Identifier: Apache-2.0 */
/* --ranges: what the program itself marked (record_function, NVTX), by name: how long, and what was launched in it. */
#include "report/ops.h"
#include "report/range_labels.h"

#include <errno.h>

static const struct aif_table_column columns[] = {
	{"elapsed", AIF_TABLE_NS},
	{"calls", AIF_TABLE_COUNT},
	{"elapsed_average", AIF_TABLE_NS},
	{"elapsed_min", AIF_TABLE_NS},
	{"elapsed_max", AIF_TABLE_NS},
	{"device_total", AIF_TABLE_NS},
	{"device_average", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},         /* standard error of device_total */
	{"other_threads", AIF_TABLE_NS}, /* of it */
	{"process", AIF_TABLE_ID},
	{"range", AIF_TABLE_TEXT},
};

struct sums {
	uint64_t elapsed, calls, min, max, device, others;
	uint32_t label, process;
};

/* The rows while they are summed up. */
struct table {
	struct sums *sums;
	size_t len, cap;
	struct aif_map ids; /* process << 32 | label -> row */
	struct aif_range_labels labels;
};

/* Returns the row of a label, AIF_NONE when memory runs out. */
static uint32_t row_of(struct table *t, uint32_t process, uint32_t label)
{
	uint64_t key = (uint64_t)process << 32 | label, id;

	if (aif_map_get(&t->ids, key, &id))
		return (uint32_t)id;
	if (label == AIF_STR_NONE ||
	    aif_grow(&t->sums, &t->cap, t->len + 1, sizeof(*t->sums)) < 0 ||
	    aif_map_put(&t->ids, key, t->len) < 0)
		return AIF_NONE;
	t->sums[t->len] = (struct sums){.min = UINT64_MAX, .label = label, .process = process};
	return (uint32_t)t->len++;
}

/* Adds the time of replayed graphs' nodes to the instructions that made them: they were launched in the graph's range,
 * which has it, too. */
static int add_nodes(struct table *t, const struct aif_report *r)
{
	for (size_t i = 0; i < r->timeline->execs_len; i++) {
		const struct aif_timeline_exec *x = &r->timeline->execs[i];
		uint32_t label = aif_report_has_exec(r, x)
					 ? aif_range_label_of_exec(&t->labels, r->timeline, x)
					 : AIF_STR_NONE,
			 row;

		if (label == AIF_STR_NONE)
			continue;
		row = row_of(t, aif_timeline_work_of(r->timeline, x)->process, label);
		if (row == AIF_NONE)
			return -ENOMEM;
		t->sums[row].device += aif_op_tree_device_ns(r->timeline, x);
	}
	return 0;
}

/* Makes one of the many names that differ in numbers only; --detail full has each. */
static int fold(const struct aif_report *r, struct aif_range_labels *labels)
{
	for (size_t i = 0; i < r->ops.len; i++) {
		const struct aif_op *o = &r->ops.ops[i];

		if (o->kind == AIF_OP_RANGE &&
		    aif_range_label(labels, o->name, o->shapes) == AIF_STR_NONE)
			return -ENOMEM;
	}
	return r->o->detail == AIF_NAME_FULL ? 0 : aif_range_labels_fold(labels);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	bool (*keep)(const void *, const struct aif_timeline_exec *) =
		r->kernel.is_set ? aif_report_has_exec : NULL;
	struct table t = {0};
	uint64_t others_ns = 0;
	uint32_t *rows = malloc((r->ops.len + 1) * sizeof(*rows));
	uint64_t *errors = NULL;
	int e = rows ? 0 : -ENOMEM;

	(void)err;
	if (!e)
		e = aif_op_tree_add_device(&r->ops, r->timeline, keep, r);
	if (!e)
		e = aif_range_labels_make(r->p, &t.labels);
	if (!e)
		e = fold(r, &t.labels);
	if (!e)
		e = aif_op_tree_add_others(&r->ops, r->p, r->timeline, AIF_OP_RANGE, keep, r);
	for (size_t i = 0; i < r->ops.len && !e; i++)
		if (r->ops.ops[i].parent == AIF_NONE)
			others_ns += r->ops.others[i].ns;
	aif_report_note_others(r, "range", others_ns);
	for (size_t i = 0; i < r->ops.len && !e; i++) {
		const struct aif_op *o = &r->ops.ops[i];
		uint32_t process =
			o->thread == AIF_NONE ? AIF_NONE : r->p->threads[o->thread].process;
		uint64_t ns = aif_op_ns(o);
		struct sums *sum;

		rows[i] = AIF_NONE;
		if (o->kind != AIF_OP_RANGE || o->twin != AIF_NONE)
			continue;
		rows[i] = row_of(&t, process, aif_range_label(&t.labels, o->name, o->shapes));
		if (rows[i] == AIF_NONE) {
			e = -ENOMEM;
			break;
		}
		sum = &t.sums[rows[i]];
		sum->elapsed += ns;
		sum->calls++;
		sum->min = AIF_MIN(sum->min, ns);
		sum->max = AIF_MAX(sum->max, ns);
		sum->device += r->ops.device[i].all_ns + r->ops.others[i].ns;
		sum->others += r->ops.others[i].ns;
	}
	if (!e)
		e = add_nodes(&t, r);
	errors = calloc(t.len + 1, sizeof(*errors));
	if (!e)
		e = errors ? aif_op_errors(r, rows, NULL, t.len, errors) : -ENOMEM;
	for (size_t i = 0; i < t.len && !e; i++) {
		const struct sums *s = &t.sums[i];
		uint64_t calls = AIF_MAX(s->calls, UINT64_C(1));

		aif_table_number(&r->t, s->elapsed);
		aif_table_number(&r->t, s->calls);
		aif_table_number(&r->t, s->elapsed / calls);
		aif_table_number(&r->t, s->calls ? s->min : 0);
		aif_table_number(&r->t, s->max);
		aif_table_number(&r->t, s->device);
		aif_table_number(&r->t, s->device / calls);
		aif_table_number(&r->t, errors[i]);
		aif_table_number(&r->t, s->others);
		aif_report_process_cell(r, s->process);
		aif_table_text(&r->t, aif_range_label_text(&t.labels, s->label));
	}
	aif_range_labels_finish(&t.labels);
	aif_map_finish(&t.ids);
	free(t.sums);
	free(rows);
	free(errors);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_ranges = {
	.lacks = AIF_LACK_WORK | AIF_LACK_RANGES | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPS,
	.hides_zeros = true,
	.rows = "ranges that the program marked",
	.hint = "record has those of PyTorch's record_function, record --nvtx those of NVTX; programs mark "
		"them with aiflame.h or aiflame.py, too (docs/program.md); steps are in report --steps",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
