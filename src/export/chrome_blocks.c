/* SPDX-License-Identifier: Apache-2.0 */
#include "export/chrome.h"
#include "base/u64_of.h"
#include "profile/file.h"
#include "analysis/weights.h"

/*
 * aiflameBlocks: when launches were captured, and how many there were when not (analysis/weights.h), for import, so that
 * what comes in again stands for as much as what went out. Times are ns since the trace's own start, whole.
 *
 * Of some kernels, devices or threads the counts are not known: they are of all that a process launched. Then there is
 * only when nothing was captured.
 */

struct blocks {
	struct chrome *c;
	uint64_t from, to; /* CLOCK_MONOTONIC: what was asked for */
};

static void block_put(struct chrome *c, const struct aif_window_row *row, uint64_t from,
		      uint64_t to)
{
	uint64_t launches = row->launches;
	uint64_t zero = c->t.p->start_ns + (uint64_t)c->t.events.start_ns;

	/* A part of a block gets its launches in proportion to the time. */
	if (to - from < row->end - row->start)
		launches = aif_u64_of((double)launches * (double)(to - from) /
					      (double)(row->end - row->start) +
				      0.5);
	CHROME_EVENT(c, "{\"pid\":");
	aif_out_json_u64(c->t.b, aif_track_id_process(&c->t.ids, row->process));
	if (row->thread != AIF_NONE)
		chrome_u64_put(c, ",\"tid\":", aif_track_id_thread(&c->t.ids, row->thread));
	chrome_u64_put(c, ",\"start_ns\":", from - zero);
	chrome_u64_put(c, ",\"dur_ns\":", to - from);
	chrome_u64_put(c, ",\"held\":", row->held != AIF_NOT_HELD);
	chrome_u64_put(c, ",\"launches\":", launches);
	chrome_u64_put(c, ",\"ppm\":", row->p_ppm);
	aif_buf_putc(c->t.b, '}');
	aif_out_flush_if_full(c->t.out);
}

static int blocks_take(void *arg, const struct aif_window_row *rows, size_t n)
{
	const struct blocks *b = arg;
	const bool *keep = b->c->t.x->sel.processes;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = AIF_MAX(rows[i].start, b->from), to = AIF_MIN(rows[i].end, b->to);

		if (rows[i].device != AIF_NONE || rows[i].process == AIF_NONE || from >= to ||
		    (keep && !keep[rows[i].process]))
			continue;
		block_put(b->c, &rows[i], from, to);
	}
	return b->c->t.out->error;
}

static void gaps_put(struct chrome *c)
{
	for (size_t i = 0; i < c->t.events.gaps.len; i++) {
		const struct aif_gap *g = &c->t.events.gaps.at[i];
		struct aif_window_row row = {.start = c->t.p->start_ns + g->start,
					     .end = c->t.p->start_ns + g->end,
					     .process = g->process,
					     .thread = AIF_NONE};

		block_put(c, &row, row.start, row.end);
	}
}

bool chrome_has_blocks(const struct aif_export *x)
{
	return !x->kernel && !x->sel.devices && !aif_selection_is_of_threads(&x->sel);
}

int chrome_blocks_put(struct chrome *c)
{
	const struct aif_selection *w = &c->t.x->sel;
	struct blocks b = {
		.c = c,
		.from = AIF_MAX(c->t.p->start_ns + AIF_MIN(w->from_ns, (uint64_t)INT64_MAX),
				c->t.p->kept_ns),
		.to = w->to_ns ? c->t.p->start_ns + AIF_MIN(w->to_ns, (uint64_t)INT64_MAX)
			       : c->t.p->end_ns};
	int r = 0;

	if (!c->t.events.gaps.len)
		return 0;
	AIF_JSON_LIT(c->t.b, ",\n\"aiflameBlocks\":[\n");
	c->is_first = true;
	if (!chrome_has_blocks(c->t.x))
		gaps_put(c);
	else
		r = aif_profile_windows(c->t.p, blocks_take, &b, NULL);
	AIF_JSON_LIT(c->t.b, "]");
	return r;
}
