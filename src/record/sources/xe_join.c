/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_join.h"

#include "base/clock.h"
#include "record/ingest/gpus.h"
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/stall_join.h"
#include "record/sources/streamed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Addresses that are looked for together: the first has come from memory when the last has been asked for. */
#define AT_A_TIME 64
/* Without code of anybody's on a device for so long, its sampling ends. */
#define IDLE_NS (2 * AIF_NS_PER_S)

static bool has_code(const struct aif_drainer *d, const struct aif_xe_batch *b, uint32_t process)
{
	const struct aif_code_map *p = aif_device_code_map(d);

	for (size_t i = 0; i < p->len; i++)
		if (p->at[i].process == process && p->at[i].from < b->end && p->at[i].to > b->start)
			return true;
	return false;
}

/* A row of its own for who has no agent. */
static uint32_t process_of(struct aif_store *s, const struct aif_xe_use *u)
{
	struct aif_process row = {.pid = (uint32_t)u->pid,
				  .start_ns = aif_now_ns(),
				  .host = aif_store_puts(s, ""),
				  .exit_status = -1};
	uint32_t known = aif_store_process_alive(s, row.pid);
	char path[64], exe[4096];
	ssize_t n;

	if (known != AIF_NONE)
		return known;
	snprintf(path, sizeof(path), "/proc/%d/exe", u->pid);
	n = readlink(path, exe, sizeof(exe));
	row.exe = n > 0 ? aif_store_str(s, exe, (size_t)n) : aif_store_puts(s, u->name);
	row.cmdline = aif_store_puts(s, u->name);
	return aif_store_process(s, &row);
}

/* Returns the only process that worked on the card without reporting code; if there was none, the only one that worked
 * and has reported some; else AIF_NONE. */
static uint32_t find_stranger(const struct aif_drainer *d, const struct aif_xe_batch *b,
			      uint32_t pci)
{
	struct aif_store *s = d->store;
	const struct aif_xe_use *stranger = NULL, *own = NULL;
	unsigned foreign_uid = 0, owners = 0;

	for (unsigned i = 0; i < b->uses_len; i++) {
		const struct aif_xe_use *u = &b->uses[i];
		uint32_t known = aif_store_process_alive(s, (uint32_t)u->pid);

		if (pci && u->pci != pci)
			continue;
		if (known != AIF_NONE && has_code(d, b, known)) {
			owners++;
			own = u;
		} else {
			foreign_uid++;
			stranger = u;
		}
	}
	if (foreign_uid == 1)
		return process_of(s, stranger);
	return !foreign_uid && owners == 1 ? process_of(s, own) : AIF_NONE;
}

/* Prefetches a sum, which may lie in two cache lines. */
static void prefetch(const struct aif_xe_sum *sum)
{
	__builtin_prefetch(sum);
	__builtin_prefetch(sum->counts + AIF_XE_REASONS - 1);
}

/* In order of addresses a place is found once for all that lies in it. Their frames are anywhere in a large table: many
 * at a time are looked for before the first of them is needed. */
static void join_window(struct aif_stall_join *j, struct aif_xe_window *w, const uint32_t *reasons)
{
	enum aif_code_map_space space = w->wide ? AIF_CODE_MAP_64 : AIF_CODE_MAP_32;
	struct aif_xe_counts *c = &w->counts;
	const uint64_t *order = aif_xe_counts_order(c);
	const struct aif_xe_sum *sums[AT_A_TIME];
	const struct aif_code_range *only[AT_A_TIME], *last = NULL;
	uint64_t from = 0, until = 0; /* where .last is the only one */

	for (size_t i = 0; i < c->len; i += AT_A_TIME) {
		size_t some = AIF_MIN(c->len - i, (size_t)AT_A_TIME);
		uint64_t address;

		/* The hardware counts in instructions' smallest size. */
		for (size_t k = 0; k < some; k++) {
			if (order && i + k + AT_A_TIME < c->len)
				prefetch(&c->at[aif_xe_counts_index(order[i + k + AT_A_TIME])]);
			sums[k] = &c->at[order ? aif_xe_counts_index(order[i + k]) : i + k];
			address = sums[k]->ip << 3;
			if (address < from || address >= until) {
				last = aif_stall_join_find(j, space, address, &until);
				from = address;
			}
			only[k] = last;
			if (last)
				aif_stall_join_fetch(j, space, address, last);
		}
		for (size_t k = 0; k < some; k++)
			aif_stall_join_put(j, space, sums[k]->ip << 3, only[k], reasons,
					   sums[k]->counts, AIF_XE_REASONS);
	}
}

static void busy_row(struct aif_drainer *d, const struct aif_xe_batch *b, uint32_t pci,
		     uint32_t process, uint64_t cycles, uint64_t total)
{
	struct aif_store *s = d->store;
	uint32_t device = aif_gpu_find(d, pci);
	struct aif_counter_row *row;

	if (device == AIF_NONE || !total)
		return;
	row = aif_batches_row(&s->batches, AIF_BATCH_COUNTER);
	if (!row) {
		aif_store_loss(s, AIF_REASON_WRITER_BEHIND, process,
			       aif_store_puts(s, "values of counters"), 1);
		return;
	}
	*row = (struct aif_counter_row){.time = b->end,
					.value = 100 * ((double)cycles / (double)total),
					.device = device,
					.name = aif_store_puts(s, "busy"),
					.unit = aif_store_puts(s, "%"),
					.process = process};
}

/* Writes how busy cards were, as the OS kernel counts: in all, and with each process that is
 * recorded. */
static void put_busy(struct aif_drainer *d, const struct aif_xe_batch *b)
{
	for (unsigned i = 0; i < b->uses_len; i++) {
		const struct aif_xe_use *u = &b->uses[i];
		uint32_t process = aif_store_process_alive(d->store, (uint32_t)u->pid);
		uint64_t cycles = 0, total = 0;
		bool is_first = true;

		if (process != AIF_NONE)
			busy_row(d, b, u->pci, process, u->cycles, u->total);
		for (unsigned k = 0; k < b->uses_len; k++) {
			is_first &= k >= i || b->uses[k].pci != u->pci;
			if (b->uses[k].pci != u->pci)
				continue;
			cycles += b->uses[k].total ? b->uses[k].cycles : 0;
			total = AIF_MAX(total, b->uses[k].total);
		}
		if (is_first)
			busy_row(d, b, u->pci, AIF_NONE, cycles, total);
	}
}

void aif_xe_join(struct aif_drainer *d, struct aif_xe_batch *b)
{
	uint32_t reasons[AIF_XE_REASONS];
	struct aif_stall_join j;

	for (unsigned k = 0; k < AIF_XE_REASONS; k++)
		reasons[k] = aif_store_puts(d->store, aif_xe_reason_name(k));
	aif_device_code_link_all(d);
	aif_stall_join_begin(&j, d, b->start, b->end);
	for (unsigned i = 0; i < b->windows_len; i++) {
		struct aif_xe_window *w = &b->windows[i];

		if (w->counts.len)
			aif_streamed_read(d, w->pci);
		aif_stall_join_window(
			&j, &(struct aif_stall_window){.pci = w->pci,
						       .period_ns = w->period_ps / 1000,
						       .process = AIF_NONE,
						       .device = AIF_NONE,
						       .stranger = find_stranger(d, b, w->pci)});
		join_window(&j, w, reasons);
	}
	aif_stall_join_end(&j);
	put_busy(d, b);
	aif_code_map_turn(aif_device_code_map(d), b->end);
	aif_code_map_forget(aif_device_code_map(d), d->store, aif_streamed_since(d, b->start));
}

/* ---- the source ---------------------------------------------------------------------------------- */

static struct aif_xe_source *xe_of(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_XE];
}

static void take(struct aif_drainer *d, uint64_t until)
{
	struct aif_xe *stream = xe_of(d)->stream;
	struct aif_xe_batch *b;
	struct aif_xe_note n;

	while ((b = aif_xe_take(stream, until)) != NULL) {
		aif_xe_join(d, b);
		aif_xe_batch_free(b);
	}
	while (aif_xe_note(stream, &n))
		aif_store_loss(d->store, n.reason, AIF_NONE,
			       *n.detail ? aif_store_puts(d->store, n.detail) : AIF_NONE, n.count);
}

/* Starts the stream if it does not run; is_sure: a process works with a card. */
static void want(struct aif_drainer *d, bool is_sure)
{
	struct aif_xe_source *x = xe_of(d);
	int r = 0;

	if (!x->stream && d->opts->device_rate)
		r = aif_xe_new(d->opts->device_rate, is_sure, &x->stream);
	if (r < 0)
		aif_store_loss(d->store, AIF_REASON_XE_FAILED, AIF_NONE,
			       aif_store_puts(d->store, strerror(-r)), 1);
	x->rests = false;
	x->used_ns = aif_now_ns();
}

static void end(struct aif_drainer *d)
{
	struct aif_xe_source *x = xe_of(d);

	if (!x->stream)
		return;
	aif_xe_stop(x->stream);
	take(d, UINT64_MAX);
	aif_xe_free(x->stream);
	x->stream = NULL;
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_place *r = record;
	struct aif_code_range place;

	if (r->size && aif_device_code_place(in, r, &place))
		want(in->drainer, true);
}

static void step(struct aif_drainer *d, const struct aif_turn *turn)
{
	const struct aif_code_map *map = aif_device_code_map(d);
	bool all = turn->collects && d->opts->all_processes;
	struct aif_xe_source *x = xe_of(d);
	uint64_t now = turn->now;

	if (!x->stream && all && !x->was_tried)
		want(d, false);
	x->was_tried = all;
	if (!x->stream)
		return;
	if (all || map->ended < map->len)
		x->used_ns = now;
	/* Batches are left for a while, until the places are there that they need. */
	take(d, now > AIF_STALLS_SETTLE_NS ? now - AIF_STALLS_SETTLE_NS : 0);
	/* A place of this very turn is younger than `now`. */
	if (now > x->used_ns && now - x->used_ns > IDLE_NS) {
		end(d);
		x->rests = true;
	}
}

static uint64_t stop(struct aif_drainer *d, bool collects)
{
	(void)collects;
	end(d);
	return aif_now_ns();
}

static void finish(struct aif_drainer *d)
{
	aif_xe_free(xe_of(d)->stream);
}

const struct aif_source aif_source_xe = {
	.name = "xe",
	.state_size = sizeof(struct aif_xe_source),
	.records = AIF_SOURCE_RECORD(PLACE),
	.on_record = on_record,
	.step = step,
	.stop = stop,
	.finish = finish,
};
