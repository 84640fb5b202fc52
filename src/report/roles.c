/* SPDX-License-Identifier: Apache-2.0 */
/* --roles: device time by the role of kernels in an engine, and the kernel that takes most of each. */
#include "report/work_table.h"

#include "analysis/roles.h"

#include <errno.h>
#include <stdlib.h>

static const struct aif_table_column columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},
	{"time", AIF_TABLE_NS},          {"error", AIF_TABLE_NS},
	{"launches", AIF_TABLE_COUNT},   {"samples", AIF_TABLE_COUNT},
	{"kernels", AIF_TABLE_COUNT},    {"process", AIF_TABLE_ID},
	{"role", AIF_TABLE_TEXT},        {"kernel", AIF_TABLE_TEXT},
};

/* The kernels of a role: how many, and the widest. */
struct kernels {
	uint64_t len, width;
	uint32_t kind, kernel;
};

/* roles: those of kernels, found by their names at first use; 1 + enum aif_role. */
static enum aif_role role_of(const struct aif_profile *p, uint8_t *roles, uint32_t kind,
			     uint32_t kernel)
{
	if (kind != AIF_LAUNCH_KERNEL)
		return AIF_ROLE_COPIES;
	if (kernel == AIF_NONE || p->kernels[kernel].name == AIF_NONE)
		return AIF_ROLE_OTHER;
	if (!roles[kernel])
		roles[kernel] =
			(uint8_t)(1 + aif_role_of(aif_profile_str(p, p->kernels[kernel].name)));
	return (enum aif_role)(roles[kernel] - 1);
}

static int role_key(struct aif_work_sums *w, const struct aif_attribution_row *row, uint64_t *ret)
{
	if (aif_launch_is_memory(row->kind))
		return -ENOENT; /* report --memory has allocations */
	*ret = role_of(w->names->p, w->arg, row->kind, row->kernel);
	return 0;
}

static int kernel_key(struct aif_work_sums *w, const struct aif_attribution_row *row, uint64_t *ret)
{
	return aif_launch_is_memory(row->kind) ? -ENOENT : aif_work_kernel_key(w, row, ret);
}

/* Finds the kernels of each role's sum. *ret for free(). */
static int find_kernels(struct aif_report *r, struct aif_work_sums *roles, struct kernels **ret)
{
	struct aif_work_sums kernels = {0};
	struct kernels *all = calloc(roles->len + 1, sizeof(*all));
	int e = all ? aif_work_table_sums(r, kernel_key, &kernels) : -ENOMEM;

	for (size_t i = 0; i < kernels.len && !e; i++) {
		const struct aif_work_sum *k = &kernels.sums[i],
					  *role = aif_work_sums_find(roles, k->kind, k->kernel,
								     k->process);
		struct kernels *of = role ? &all[role - roles->sums] : NULL;

		if (!of)
			continue;
		if (!of->len++ || k->width > of->width) {
			of->width = k->width;
			of->kind = k->kind;
			of->kernel = k->kernel;
		}
	}
	aif_work_sums_finish(&kernels);
	*ret = all;
	return e;
}

static void put_row(struct aif_report *r, const struct aif_work_sum *s, const struct kernels *k,
		    uint8_t *roles)
{
	aif_table_number(&r->t, aif_share_ppm(s->wall, r->a->conservation.busy_ns));
	aif_table_number(&r->t, s->wall);
	aif_table_number(&r->t, s->time);
	aif_work_error_cell(r, s->variance);
	aif_table_number(&r->t, s->launches);
	aif_table_number(&r->t, s->samples);
	aif_table_number(&r->t, k->len);
	aif_report_process_cell(r, s->process);
	aif_table_text(&r->t, aif_role_name(role_of(r->p, roles, s->kind, s->kernel)));
	aif_report_kernel_cell(r, k->kind, k->kernel);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_work_sums w = {.names = r->names,
				  .a = r->a,
				  .only = &r->kernel,
				  .by_process = true,
				  .key = role_key,
				  .arg = calloc(r->p->kernels_len + 1, 1)};
	struct kernels *kernels = NULL;
	int e = w.arg ? aif_work_table_begin(r, AIF_NAME_NORMAL, err) : -ENOMEM;

	w.stacks = r->stacks;
	if (!e)
		e = aif_work_sums_make(&w);
	if (!e)
		e = find_kernels(r, &w, &kernels);
	for (size_t i = 0; i < w.len && !e; i++)
		put_row(r, &w.sums[i], &kernels[i], w.arg);
	if (!e)
		e = aif_work_table_end(r, &w);
	aif_work_sums_finish(&w);
	free(kernels);
	free(w.arg);
	return e;
}

const struct aif_report_table aif_report_table_roles = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_ATTRIBUTION,
	.by = 1U << AIF_REPORT_BY_ROLE,
	.rows = "device activity",
	.wants_times = true,
	.left_out = aif_report_left_out_rows,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
