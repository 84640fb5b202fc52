/* SPDX-License-Identifier: Apache-2.0 */
/* --comm: each process's communication on each device, kernel by kernel. */
#include "analysis/ranks/bus.h"
#include "analysis/ranks/waits.h"
#include "report/report_table.h"

#include <errno.h>
#include <math.h>

static const struct aif_table_column columns[] = {
	{"time", AIF_TABLE_NS},     {"error", AIF_TABLE_NS},
	{"calls", AIF_TABLE_COUNT}, {"average", AIF_TABLE_NS},
	{"wait", AIF_TABLE_NS},     {"transfer", AIF_TABLE_NS},
	{"bytes", AIF_TABLE_BYTES}, {"bus_bytes_per_second", AIF_TABLE_BYTES},
	{"alone", AIF_TABLE_NS},    {"overlap_share", AIF_TABLE_SHARE},
	{"process", AIF_TABLE_ID},  {"device", AIF_TABLE_TEXT},
	{"kernel", AIF_TABLE_TEXT},
};

struct comm {
	struct aif_estimate time;
	double calls, alone;     /* weighted */
	uint64_t wait, transfer; /* for other ranks, and the rest, of what is matched (ranks.h) */
	double bytes;            /* that the rank gives, weighted */
	/* Sums of the calls whose bytes and ranks are known: what they move over the busiest link, and how long that took: the transfer, where
	 * it is told from waiting. */
	double bus_bytes, bus_ns;
	uint32_t kernel;
};

static void add_bytes(struct aif_report *r, const struct aif_timeline_exec *x, uint64_t wait,
		      uint64_t transfer, struct comm *sum)
{
	uint32_t collective = aif_timeline_more_of(r->timeline, x)->collective;
	double bus;

	if (!collective)
		return;
	sum->bytes +=
		aif_exec_timeline_whole(r->timeline, x, r->p->collectives[collective - 1].bytes);
	bus = aif_rank_bus_bytes(r->p, &r->p->collectives[collective - 1]);
	if (bus <= 0)
		return;
	sum->bus_bytes += bus * aif_exec_timeline_whole(r->timeline, x, 1);
	sum->bus_ns += wait || transfer ? (double)transfer
					: aif_exec_timeline_whole(r->timeline, x, aif_timed_ns(x));
}

static int add_comm(struct aif_report *r, const struct aif_rank_waits *waits,
		    const struct aif_device_utilization *d, const struct aif_timeline_exec *x,
		    struct aif_map *ids, struct comm **sums, size_t *len, size_t *cap)
{
	uint32_t kernel = aif_timeline_work_of(r->timeline, x)->kernel,
		 name = r->p->kernels[kernel].name;
	uint64_t id, wait, transfer;

	if (!aif_map_get(ids, name, &id)) {
		id = *len;
		if (aif_grow(sums, cap, *len + 1, sizeof(**sums)) < 0 ||
		    aif_map_put(ids, name, id) < 0)
			return -ENOMEM;
		(*sums)[(*len)++] = (struct comm){.kernel = kernel};
	}
	wait = aif_rank_waits_of(waits, r->timeline, x, &transfer);
	add_bytes(r, x, wait, transfer, &(*sums)[id]);
	(*sums)[id].wait += wait;
	(*sums)[id].transfer += transfer;
	(*sums)[id].calls += aif_exec_timeline_whole(r->timeline, x, 1);
	(*sums)[id].alone += aif_exec_timeline_whole(
		r->timeline, x, aif_timed_ns(x) - aif_spans_covered(&d->compute, x->start, x->end));
	return aif_estimate_add(&(*sums)[id].time, r->timeline->weights,
				aif_timeline_cycle_of(r->timeline, x), (double)aif_timed_ns(x));
}

static int comm_of(struct aif_report *r, const struct aif_utilization *w,
		   const struct aif_rank_waits *waits, const struct aif_device_utilization *d)
{
	struct aif_map ids = {0};
	struct comm *sums = NULL;
	size_t len = 0, cap = 0;
	int e = 0;

	for (size_t i = d->first; i < d->end && !e; i++) {
		const struct aif_timeline_exec *x = &r->timeline->execs[w->order[i]];

		if (w->classes[w->order[i]] == AIF_WORK_COMMUNICATION && aif_report_has_exec(r, x))
			e = add_comm(r, waits, d, x, &ids, &sums, &len, &cap);
	}
	for (size_t i = 0; i < len && !e; i++) {
		struct comm *c = &sums[i];
		uint64_t time = aif_timed_rounded(c->time.whole),
			 alone = aif_timed_rounded(c->alone);

		aif_table_number(&r->t, time);
		aif_table_number(&r->t,
				 aif_utilization_error(&c->time, r->timeline->weights, INFINITY));
		aif_table_number(&r->t, aif_timed_rounded(c->calls));
		aif_table_number(&r->t, aif_timed_rounded(floor(c->time.whole / c->calls)));
		aif_table_number(&r->t, c->wait);
		aif_table_number(&r->t, c->transfer);
		aif_table_number(&r->t, aif_timed_rounded(c->bytes));
		aif_table_number(&r->t, c->bus_ns > 0
						? aif_timed_rounded(c->bus_bytes * 1e9 / c->bus_ns)
						: 0);
		aif_table_number(&r->t, alone);
		aif_table_number(&r->t, aif_share_ppm(time - alone, time));
		aif_report_process_cell(r, d->process);
		aif_report_device_cell(r, d->device);
		aif_report_kernel_cell(r, AIF_LAUNCH_KERNEL, c->kernel);
	}
	if (len) {
		if (d->process != AIF_NONE) {
			aif_buf_puts(&r->after, "process ");
			aif_report_put_process(r, d->process, &r->after);
			aif_buf_puts(&r->after, " on ");
		}
		aif_buf_printf(&r->after, "%s: ",
			       d->device == AIF_NONE
				       ? "a device"
				       : aif_profile_str(r->p, r->p->devices[d->device].name));
		aif_human_ns(&r->after, d->whole.communication);
		aif_buf_puts(&r->after, " with communication, of which ");
		aif_human_share(&r->after, aif_share_ppm(aif_utilization_hidden_communication(d),
							 d->whole.communication));
		aif_buf_puts(&r->after, " hidden behind computation\n");
	}
	for (size_t i = 0; i < len; i++)
		aif_estimate_finish(&sums[i].time);
	aif_map_finish(&ids);
	free(sums);
	return e;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_utilization *w = aif_facts_none();
	const struct aif_rank_waits *waits = aif_facts_none();
	int e = aif_utilization_get(r->p, r->timeline, &w);

	(void)err;
	if (!e)
		e = aif_rank_waits_get(r->p, r->o->sel, &waits);
	for (size_t i = 0; i < w->len && !e; i++)
		e = comm_of(r, w, waits, &w->devices[i]);
	if (!e && !waits->ranks.why && waits->ranks.operations_len) {
		aif_rank_waits_say(waits, &r->before);
		aif_buf_putc(&r->before, '\n');
	}
	aif_facts_put(waits);
	aif_facts_put(w);
	return e ? e : aif_table_sort(&r->t, 0);
}

const struct aif_report_table aif_report_table_comm = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "kernels of communication",
	.hint = "they are those of NCCL, RCCL, oneCCL and the like, known by their names",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
