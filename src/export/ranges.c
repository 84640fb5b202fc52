/* SPDX-License-Identifier: Apache-2.0 */
/* --ranges: what the program itself marked (record_function, NVTX), by name: how long, and what was launched in it. */
#include "export/timed_report.h"

#include <errno.h>

static const struct aif_table_column columns[] = {
	{"cpu_total", AIF_TABLE_NS},      {"calls", AIF_TABLE_COUNT},
	{"cpu_average", AIF_TABLE_NS},    {"cpu_min", AIF_TABLE_NS},
	{"cpu_max", AIF_TABLE_NS},        {"device_total", AIF_TABLE_NS},
	{"device_average", AIF_TABLE_NS}, {"process", AIF_TABLE_ID},
	{"range", AIF_TABLE_TEXT},
};

struct sums {
	uint64_t cpu, calls, min, max, device;
	uint32_t name, process;
};

int aif_ranges_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_map ids = {0};
	struct sums *sums = NULL;
	size_t len = 0, cap = 0;
	int e = 0;

	(void)err;
	aif_op_tree_add_device(r->ops, r->timed, r->kernel->is_set ? aif_timed_report_keep : NULL,
			       r);
	for (size_t i = 0; i < r->ops->len && !e; i++) {
		const struct aif_op *o = &r->ops->ops[i];
		uint32_t process =
			o->thread == AIF_NONE ? AIF_NONE : r->p->threads[o->thread].process;
		uint64_t key = (uint64_t)process << 32 | o->name, id, ns = aif_op_ns(o);

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
		sums[id].cpu += ns;
		sums[id].calls++;
		sums[id].min = AIF_MIN(sums[id].min, ns);
		sums[id].max = AIF_MAX(sums[id].max, ns);
		sums[id].device += o->device_all_ns;
	}
	aif_table_init(r->t, columns, AIF_ARRAY_LEN(columns));
	for (size_t i = 0; i < len && !e; i++) {
		const struct sums *s = &sums[i];

		aif_table_number(r->t, s->cpu);
		aif_table_number(r->t, s->calls);
		aif_table_number(r->t, s->cpu / s->calls);
		aif_table_number(r->t, s->min);
		aif_table_number(r->t, s->max);
		aif_table_number(r->t, s->device);
		aif_table_number(r->t, s->device / s->calls);
		aif_table_number(r->t, aif_timed_report_pid(r, s->process));
		aif_table_text(r->t, s->name == AIF_NONE ? "" : aif_profile_str(r->p, s->name));
	}
	aif_map_finish(&ids);
	free(sums);
	return e ? e : aif_table_sort(r->t, 0);
}
