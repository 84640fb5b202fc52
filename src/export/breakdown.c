/* SPDX-License-Identifier: Apache-2.0 */
/* --breakdown: what each process's devices did with their time; --comm: its communication, kernel by kernel;
 * --steps: the same for each step. work.h has the definitions. */
#include "export/timed_report.h"
#include "export/work.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

static void parts_cells(struct aif_timed_report *r, const struct aif_work_parts *x)
{
	aif_table_number(r->t, x->compute);
	aif_table_number(r->t, x->communication_alone);
	aif_table_number(r->t, x->memory_alone);
	aif_table_number(r->t, x->idle);
	aif_table_number(r->t, x->not_collected);
}

#define PARTS                                                             \
	{"compute", AIF_TABLE_NS}, {"communication_alone", AIF_TABLE_NS}, \
		{"memory_alone", AIF_TABLE_NS}, {"idle", AIF_TABLE_NS},   \
	{                                                                 \
		"not_collected", AIF_TABLE_NS                             \
	}

static uint64_t hidden_communication(const struct aif_device_work *d)
{
	const struct aif_work_whole *x = &d->whole;

	return x->communication - AIF_MIN(x->parts.communication_alone, x->communication);
}

/* ---- --breakdown ----------------------------------------------------------------------------- */

static const struct aif_table_column breakdown_columns[] = {
	{"span", AIF_TABLE_NS},
	{"busy_share", AIF_TABLE_SHARE},
	{"compute_share", AIF_TABLE_SHARE},
	PARTS,
	{"error", AIF_TABLE_NS}, /* of busy */
	{"idle_error", AIF_TABLE_NS},
	{"compute_error", AIF_TABLE_NS},
	{"communication_error", AIF_TABLE_NS},
	{"memory_error", AIF_TABLE_NS},
	{"host_wait", AIF_TABLE_NS},
	{"kernel_wait", AIF_TABLE_NS},
	{"other_wait", AIF_TABLE_NS},
	{"unknown_wait", AIF_TABLE_NS},
	{"communication", AIF_TABLE_NS},
	{"overlap_share", AIF_TABLE_SHARE},
	{"process", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},
};

/* Gaps between what ran on the device, whatever the stream, by cause: their sum is idle. */
static void find_waits(const struct aif_timed *t, const struct aif_work *w,
		       const struct aif_device_work *d, uint64_t ret[AIF_IDLE_COUNT])
{
	int64_t end = t->execs[w->order[d->first]].start;
	struct aif_work_waits waits = {0};

	for (size_t i = d->first; i < d->end; i++) {
		const struct aif_timed_exec *x = &t->execs[w->order[i]];

		if (x->start > end) {
			struct aif_work_gap gap = aif_work_gap(t, d, end, x);

			aif_work_waits_add(&waits, x, &gap);
		}
		end = AIF_MAX(end, x->end);
	}
	aif_work_waits_split(&waits, d->whole.parts.idle, ret);
}

int aif_breakdown_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_work w = {0};
	int e = aif_work_make(r->p, r->timed, &w);

	(void)err;
	aif_table_init(r->t, breakdown_columns, AIF_ARRAY_LEN(breakdown_columns));
	for (size_t i = 0; i < w.len && !e; i++) {
		const struct aif_device_work *d = &w.devices[i];
		const struct aif_work_whole *x = &d->whole;
		uint64_t waits[AIF_IDLE_COUNT], known = x->span - x->parts.not_collected;

		find_waits(r->timed, &w, d, waits);
		aif_table_number(r->t, x->span);
		aif_table_number(r->t, aif_share_ppm(x->busy, known));
		aif_table_number(r->t, aif_share_ppm(x->parts.compute, known));
		parts_cells(r, &x->parts);
		aif_table_number(r->t, x->error);
		aif_table_number(r->t, x->idle_error);
		aif_table_number(r->t, x->compute_error);
		aif_table_number(r->t, x->communication_error);
		aif_table_number(r->t, x->memory_error);
		for (size_t k = 0; k < AIF_IDLE_COUNT; k++)
			aif_table_number(r->t, waits[k]);
		aif_table_number(r->t, x->communication);
		aif_table_number(r->t, aif_share_ppm(hidden_communication(d), x->communication));
		aif_timed_report_process_cell(r, d->process);
		aif_timed_report_device_cell(r, d->device);
	}
	aif_work_finish(&w);
	return e;
}

/* ---- --comm ---------------------------------------------------------------------------------- */

static const struct aif_table_column comm_columns[] = {
	{"time", AIF_TABLE_NS},    {"error", AIF_TABLE_NS},    {"calls", AIF_TABLE_COUNT},
	{"average", AIF_TABLE_NS}, {"alone", AIF_TABLE_NS},    {"overlap_share", AIF_TABLE_SHARE},
	{"process", AIF_TABLE_ID}, {"device", AIF_TABLE_TEXT}, {"kernel", AIF_TABLE_TEXT},
};

struct comm {
	struct aif_estimate time;
	double calls, alone; /* weighted */
	uint32_t kernel;
};

static int add_comm(struct aif_timed_report *r, const struct aif_device_work *d,
		    const struct aif_timed_exec *x, struct aif_map *ids, struct comm **sums,
		    size_t *len, size_t *cap)
{
	uint32_t name = r->p->kernels[x->kernel].name;
	uint64_t id;

	if (!aif_map_get(ids, name, &id)) {
		id = *len;
		if (aif_grow(sums, cap, *len + 1, sizeof(**sums)) < 0 ||
		    aif_map_put(ids, name, id) < 0)
			return -ENOMEM;
		(*sums)[(*len)++] = (struct comm){.kernel = x->kernel};
	}
	(*sums)[id].calls += aif_timed_whole(x, 1);
	(*sums)[id].alone += aif_timed_whole(
		x, aif_timed_ns(x) - aif_spans_covered(&d->compute, x->start, x->end));
	return aif_estimate_add(&(*sums)[id].time, r->timed->weights, x->cycle,
				(double)aif_timed_ns(x));
}

static int comm_of(struct aif_timed_report *r, const struct aif_work *w,
		   const struct aif_device_work *d)
{
	struct aif_map ids = {0};
	struct comm *sums = NULL;
	size_t len = 0, cap = 0;
	int e = 0;

	for (size_t i = d->first; i < d->end && !e; i++) {
		const struct aif_timed_exec *x = &r->timed->execs[w->order[i]];

		if (w->classes[w->order[i]] == AIF_WORK_COMMUNICATION &&
		    aif_timed_report_keeps(r, x))
			e = add_comm(r, d, x, &ids, &sums, &len, &cap);
	}
	for (size_t i = 0; i < len && !e; i++) {
		struct comm *c = &sums[i];
		uint64_t time = aif_timed_rounded(c->time.whole),
			 alone = aif_timed_rounded(c->alone);

		aif_table_number(r->t, time);
		aif_table_number(r->t, aif_work_error(&c->time, r->timed->weights, INFINITY));
		aif_table_number(r->t, aif_timed_rounded(c->calls));
		aif_table_number(r->t, aif_timed_rounded(floor(c->time.whole / c->calls)));
		aif_table_number(r->t, alone);
		aif_table_number(r->t, aif_share_ppm(time - alone, time));
		aif_timed_report_process_cell(r, d->process);
		aif_timed_report_device_cell(r, d->device);
		aif_timed_report_kernel_cell(r, AIF_LAUNCH_KERNEL, c->kernel);
	}
	if (len) {
		if (d->process != AIF_NONE) {
			aif_buf_puts(r->after, "process ");
			aif_timed_report_put_process(r, d->process, r->after);
			aif_buf_puts(r->after, " on ");
		}
		aif_buf_printf(r->after, "%s: ",
			       d->device == AIF_NONE
				       ? "a device"
				       : aif_profile_str(r->p, r->p->devices[d->device].name));
		aif_human_ns(r->after, d->whole.communication);
		aif_buf_puts(r->after, " with communication, of which ");
		aif_human_share(r->after,
				aif_share_ppm(hidden_communication(d), d->whole.communication));
		aif_buf_puts(r->after, " hidden behind computation\n");
	}
	for (size_t i = 0; i < len; i++)
		aif_estimate_finish(&sums[i].time);
	aif_map_finish(&ids);
	free(sums);
	return e;
}

int aif_comm_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_work w = {0};
	int e = aif_work_make(r->p, r->timed, &w);

	(void)err;
	aif_table_init(r->t, comm_columns, AIF_ARRAY_LEN(comm_columns));
	for (size_t i = 0; i < w.len && !e; i++)
		e = comm_of(r, &w, &w.devices[i]);
	aif_work_finish(&w);
	return e ? e : aif_table_sort(r->t, 0);
}

/* ---- --steps --------------------------------------------------------------------------------- */

/* Half a gigabyte. */
#define MOST_CELLS ((size_t)1 << 26)

static const struct aif_table_column step_columns[] = {
	{"start", AIF_TABLE_AT},         {"time", AIF_TABLE_NS},
	{"busy_share", AIF_TABLE_SHARE}, PARTS,
	{"device_total", AIF_TABLE_NS},  /* of what was launched in it, whenever it ran */
	{"other_threads", AIF_TABLE_NS}, /* of this, by other threads */
	{"launches", AIF_TABLE_COUNT},   {"process", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},      {"step", AIF_TABLE_TEXT},
};

static void step_row(struct aif_timed_report *r, const struct aif_op *o, uint32_t process,
		     const struct aif_device_work *d, uint64_t launches, uint64_t others_ns)
{
	struct aif_work_parts parts = {0};
	uint64_t known;

	if (d)
		parts = aif_work_parts(d, o->start, o->end);
	known = aif_op_ns(o) - parts.not_collected;
	aif_table_number(r->t, o->start > 0 ? (uint64_t)o->start : 0);
	aif_table_number(r->t, aif_op_ns(o));
	aif_table_number(r->t, aif_share_ppm(d ? known - parts.idle : 0, known));
	parts_cells(r, &parts);
	aif_table_number(r->t, o->device_all_ns + others_ns);
	aif_table_number(r->t, others_ns);
	aif_table_number(r->t, launches);
	aif_timed_report_process_cell(r, process);
	aif_timed_report_device_cell(r, d ? d->device : AIF_NONE);
	aif_table_text(r->t, o->name == AIF_NONE ? "" : aif_profile_str(r->p, o->name));
}

static size_t first_device(const struct aif_work *w, uint32_t process)
{
	size_t lo = 0, hi = w->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->devices[mid].process < process)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A step of a process that drives several devices has a row for each. */
int aif_steps_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_op_tree *ops = r->ops;
	struct aif_work w = {0};
	uint64_t others_ns = 0, *launches = calloc(ops->len + 1, sizeof(*launches));
	int e = launches ? aif_work_make(r->p, r->timed, &w) : -ENOMEM;

	if (!e) {
		aif_op_tree_add_device(ops, r->timed, NULL, NULL);
		e = aif_op_tree_add_others(ops, r->p, r->timed, AIF_OP_STEP, NULL, NULL);
	}
	for (size_t i = ops->len; i-- > 0 && !e;) {
		launches[i] += ops->ops[i].launches;
		if (ops->ops[i].parent != AIF_NONE)
			launches[ops->ops[i].parent] += launches[i];
		else
			others_ns += ops->others[i].ns; /* which has its children's */
	}
	aif_timed_report_say_part(r, "; time in which launches were left out is not_collected:");
	aif_table_init(r->t, step_columns, AIF_ARRAY_LEN(step_columns));
	for (size_t i = 0; i < ops->len && !e; i++) {
		const struct aif_op *o = &ops->ops[i];
		uint32_t process =
			o->thread == AIF_NONE ? AIF_NONE : r->p->threads[o->thread].process;
		const struct aif_op_others *others;
		size_t d;

		if (o->kind != AIF_OP_STEP || o->twin != AIF_NONE)
			continue;
		others = &ops->others[i];
		d = first_device(&w, process);
		if (d == w.len || w.devices[d].process != process)
			step_row(r, o, process, NULL, launches[i] + others->launches, others->ns);
		for (; d < w.len && w.devices[d].process == process; d++)
			step_row(r, o, process, &w.devices[d], launches[i] + others->launches,
				 others->ns);
		if (r->t->cells_len > MOST_CELLS)
			e = aif_err_set(err, -EFBIG,
					"report: too many steps on too many devices; choose a part "
					"by --time or --device");
	}
	aif_timed_report_say_others(r, "step", others_ns);
	free(launches);
	aif_work_finish(&w);
	return e;
}
