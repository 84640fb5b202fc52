/* SPDX-License-Identifier: Apache-2.0 */
/* --ranges: what the program itself marked (record_function, NVTX), by name: how long, and what was launched in it. */
#include "report/ops.h"

#include <errno.h>

static const struct aif_table_column columns[] = {
	{"cpu_total", AIF_TABLE_NS},      {"calls", AIF_TABLE_COUNT},
	{"cpu_average", AIF_TABLE_NS},    {"cpu_min", AIF_TABLE_NS},
	{"cpu_max", AIF_TABLE_NS},        {"device_total", AIF_TABLE_NS},
	{"device_average", AIF_TABLE_NS}, {"error", AIF_TABLE_NS}, /* of device_total */
	{"other_threads", AIF_TABLE_NS},                           /* of it */
	{"process", AIF_TABLE_ID},        {"range", AIF_TABLE_TEXT},
};

struct sums {
	uint64_t cpu, calls, min, max, device, others;
	uint32_t name, process;
};

static int fill(struct aif_report *r, struct aif_err *err)
{
	bool (*keep)(const void *, const struct aif_timeline_exec *) =
		r->kernel.is_set ? aif_report_has_exec : NULL;
	struct aif_map ids = {0};
	struct sums *sums = NULL;
	uint64_t others_ns = 0;
	size_t len = 0, cap = 0;
	uint32_t *row_of = malloc((r->ops.len + 1) * sizeof(*row_of));
	uint64_t *errors = NULL;
	int e = row_of ? 0 : -ENOMEM;

	(void)err;
	aif_op_tree_add_device(&r->ops, &r->timeline, keep, r);
	if (!e)
		e = aif_op_tree_add_others(&r->ops, r->p, &r->timeline, AIF_OP_RANGE, keep, r);
	for (size_t i = 0; i < r->ops.len && !e; i++)
		if (r->ops.ops[i].parent == AIF_NONE)
			others_ns += r->ops.others[i].ns;
	aif_report_note_others(r, "range", others_ns);
	for (size_t i = 0; i < r->ops.len && !e; i++) {
		const struct aif_op *o = &r->ops.ops[i];
		uint32_t process =
			o->thread == AIF_NONE ? AIF_NONE : r->p->threads[o->thread].process;
		uint64_t key = (uint64_t)process << 32 | o->name, id, ns = aif_op_ns(o);

		row_of[i] = AIF_NONE;
		if (o->kind != AIF_OP_RANGE || o->twin != AIF_NONE)
			continue;
		if (!aif_map_get(&ids, key, &id)) {
			id = len;
			if (aif_grow(&sums, &cap, len + 1, sizeof(*sums)) < 0 ||
			    aif_map_put(&ids, key, id) < 0) {
				e = -ENOMEM;
				break;
			}
			sums[len++] = (struct sums){
				.min = UINT64_MAX, .name = o->name, .process = process};
		}
		row_of[i] = (uint32_t)id;
		sums[id].cpu += ns;
		sums[id].calls++;
		sums[id].min = AIF_MIN(sums[id].min, ns);
		sums[id].max = AIF_MAX(sums[id].max, ns);
		sums[id].device += o->device_all_ns + r->ops.others[i].ns;
		sums[id].others += r->ops.others[i].ns;
	}
	errors = calloc(len + 1, sizeof(*errors));
	if (!e)
		e = errors ? aif_op_errors(r, row_of, NULL, len, errors) : -ENOMEM;
	for (size_t i = 0; i < len && !e; i++) {
		const struct sums *s = &sums[i];

		aif_table_number(&r->t, s->cpu);
		aif_table_number(&r->t, s->calls);
		aif_table_number(&r->t, s->cpu / s->calls);
		aif_table_number(&r->t, s->min);
		aif_table_number(&r->t, s->max);
		aif_table_number(&r->t, s->device);
		aif_table_number(&r->t, s->device / s->calls);
		aif_table_number(&r->t, errors[i]);
		aif_table_number(&r->t, s->others);
		aif_report_process_cell(r, s->process);
		aif_table_text(&r->t, s->name == AIF_NONE ? "" : aif_profile_str(r->p, s->name));
	}
	aif_map_finish(&ids);
	free(sums);
	free(row_of);
	free(errors);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_ranges = {
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPS,
	.hides_zeros = true,
	.rows = "ranges that the program marked",
	.hint = "programs mark them with aiflame.h or aiflame.py (docs/program.md), traces that are imported may have some",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
