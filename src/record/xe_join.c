/* SPDX-License-Identifier: Apache-2.0 */
#include "record/xe_join.h"

#include "base/clock.h"
#include "base/hash.h"
#include "record/device_samples.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Places and executions are in rings until the drain thread has looked at them: every 20 ms, if it gets a CPU. */
#define SETTLE_NS (200 * 1000 * 1000)
/* Processes and their devices; of more than that the rest goes without windows, which costs them precision only. */
#define MAX_USERS 256
/* Addresses that are looked for together: the first has come from memory when the last has been asked for. */
#define AT_A_TIME 64
/* Without code of anybody's on a device for so long, its sampling ends. */
#define IDLE_NS (2 * AIF_NS_PER_S)

/* A process on a device, in a batch. */
struct user {
	uint32_t process, device;
	uint32_t sure, ambiguous; /* windows, AIF_NONE = none yet */
};
struct join {
	struct aif_drainer *d;
	const struct aif_xe_batch *b;
	const struct aif_xe_window *w;
	struct user users[MAX_USERS];
	unsigned users_len;
	uint32_t reasons[AIF_XE_REASONS]; /* strings, AIF_NONE = not yet needed */
	uint64_t ambiguous;
	uint32_t stranger; /* who ran what lies in nobody's code; AIF_NONE = not known */
};

static void lose(struct join *j, const char *what, uint64_t n)
{
	struct aif_store *s = j->d->store;

	aif_store_loss(s, AIF_REASON_WRITER_BEHIND, AIF_NONE, aif_store_puts(s, what), n);
}

static uint32_t window_row(struct join *j, const struct user *u, enum aif_held held)
{
	struct aif_window_row *row = aif_batches_row(&j->d->store->batches, AIF_BATCH_WINDOW);
	uint32_t window = j->d->windows++;

	if (row)
		*row = (struct aif_window_row){.start = j->b->start,
					       .end = j->b->end,
					       .window = window,
					       .device = u->device,
					       .process = u->process,
					       .held = held,
					       .period_ns = j->w->period_ps / 1000,
					       .thread = AIF_NONE,
					       .p_ppm = 1000000};
	else
		lose(j, "windows", 1);
	return window;
}

static struct user *user_of(struct join *j, uint32_t process, uint32_t device)
{
	struct user *u;

	for (unsigned i = j->users_len; i-- > 0;)
		if (j->users[i].process == process && j->users[i].device == device)
			return &j->users[i];
	if (j->users_len == MAX_USERS)
		return NULL;
	u = &j->users[j->users_len++];
	*u = (struct user){
		.process = process, .device = device, .sure = AIF_NONE, .ambiguous = AIF_NONE};
	u->sure = window_row(j, u, AIF_HELD);
	return u;
}

static uint32_t window_of(struct join *j, const struct aif_place *place, bool is_sure)
{
	struct user *u = user_of(j, place->process, place->device);

	if (!u)
		return AIF_NONE;
	if (!is_sure && u->ambiguous == AIF_NONE)
		u->ambiguous = window_row(j, u, AIF_HELD_AMBIGUOUS);
	return is_sure ? u->sure : u->ambiguous;
}

static uint32_t reason_of(struct join *j, enum aif_xe_reason reason)
{
	if (j->reasons[reason] == AIF_NONE)
		j->reasons[reason] = aif_store_puts(j->d->store, aif_xe_reason_name(reason));
	return j->reasons[reason];
}

static void sample_row(struct join *j, uint32_t process, uint32_t device, uint32_t frame,
		       enum aif_xe_reason reason, uint32_t window, uint64_t count)
{
	struct aif_sample_row *row;

	if (!count)
		return;
	row = aif_batches_row(&j->d->store->batches, AIF_BATCH_SAMPLE);
	if (!row) {
		lose(j, "samples", count);
		return;
	}
	j->d->samples += count;
	*row = (struct aif_sample_row){.time = j->b->start,
				       .count = count,
				       .thread = AIF_NONE,
				       .process = process,
				       .device = device,
				       .frame = frame,
				       .reason = reason_of(j, reason),
				       .window = window};
}

static bool has_code(const struct join *j, uint32_t process)
{
	const struct aif_places *p = &j->d->places;

	for (size_t i = 0; i < p->len; i++)
		if (p->at[i].process == process && p->at[i].from < j->b->end &&
		    p->at[i].to > j->b->start)
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

/* Who worked on the card and told of no code; where nobody did, who has told of some of his. Of several nobody knows which. */
static uint32_t find_stranger(const struct join *j)
{
	struct aif_store *s = j->d->store;
	const struct aif_xe_use *stranger = NULL, *own = NULL;
	unsigned strangers = 0, owners = 0;

	for (unsigned i = 0; i < j->b->uses_len; i++) {
		const struct aif_xe_use *u = &j->b->uses[i];
		uint32_t known = aif_store_process_alive(s, (uint32_t)u->pid);

		if (j->w->pci && u->pci != j->w->pci)
			continue;
		if (known != AIF_NONE && has_code(j, known)) {
			owners++;
			own = u;
		} else {
			strangers++;
			stranger = u;
		}
	}
	if (strangers == 1)
		return process_of(s, stranger);
	return !strangers && owners == 1 ? process_of(s, own) : AIF_NONE;
}

/* The device of the latest place that was told: an address in nobody's code says no more. Before the first one, what the
 * driver's name says. */
static uint32_t device_of(const struct join *j)
{
	struct aif_store *s = j->d->store;
	struct aif_device device = {.kind = AIF_DEVICE_GPU, .clock = AIF_CLOCK_MONOTONIC};

	if (j->d->places.is_told)
		return j->d->places.device;
	device.name = aif_store_puts(s, "Intel GPU");
	device.vendor = aif_store_puts(s, "Intel");
	device.driver = device.runtime = aif_store_puts(s, "xe");
	return aif_store_device(s, &device);
}

static void put_unknown(struct join *j, const struct aif_xe_sum *sum)
{
	uint32_t device = device_of(j);

	for (unsigned k = 0; k < AIF_XE_REASONS; k++)
		sample_row(j, j->stranger, device, AIF_NONE, k, AIF_NONE, sum->counts[k]);
}

static void put(struct join *j, const struct aif_place *place, uint64_t offset,
		const uint32_t counts[AIF_XE_REASONS], bool is_sure)
{
	uint32_t frame = aif_place_frames_get(&j->d->places.frames, j->d->store, place->module,
					      offset),
		 window = window_of(j, place, is_sure);

	for (unsigned k = 0; k < AIF_XE_REASONS; k++)
		sample_row(j, place->process, place->device, frame, k, window, counts[k]);
}

/* Whole samples by weight: each place gets those that its share covers, counted from somewhere, so that of many
 * single samples each gets its share, too. */
static void share(struct join *j, const struct aif_place *const *places, size_t n,
		  enum aif_places_space space, uint64_t address, const struct aif_xe_sum *sum)
{
	uint64_t weights[AIF_PLACES_HITS];
	uint32_t parts[AIF_PLACES_HITS][AIF_XE_REASONS] = {0};
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += (double)(weights[i] = aif_places_time(&j->d->places, places[i]));
	for (size_t i = 0; i < n && all <= 0; i++)
		weights[i] = 1;
	all = all > 0 ? all : (double)n;
	for (unsigned k = 0; k < AIF_XE_REASONS; k++) {
		uint64_t seed = aif_mix64(sum->ip ^ j->b->start) + k;
		double end = (double)(aif_mix64(seed) >> 11) / (double)(UINT64_C(1) << 53);
		uint32_t given = 0;

		for (size_t i = 0; i < n; i++) {
			uint32_t until;

			end += (double)sum->counts[k] * ((double)weights[i] / all);
			until = i == n - 1 ? sum->counts[k]
					   : (uint32_t)AIF_MIN((uint64_t)end, sum->counts[k]);
			parts[i][k] = AIF_MAX(until, given) - given;
			given = AIF_MAX(until, given);
		}
		j->ambiguous += sum->counts[k];
	}
	for (size_t i = 0; i < n; i++)
		put(j, places[i], aif_places_offset(places[i], space, address), parts[i], false);
}

static enum aif_places_space space_of(const struct join *j)
{
	return j->w->wide ? AIF_PLACES_64 : AIF_PLACES_32;
}

/* The hardware counts in instructions' smallest size. */
static uint64_t address_of(const struct join *j, uint64_t ip)
{
	return j->w->wide ? ip << 3 : ip << 3 & UINT32_MAX;
}

static size_t find(struct join *j, uint64_t address, const struct aif_place *ret[AIF_PLACES_HITS])
{
	return aif_places_find(&j->d->places, space_of(j), address, j->w->pci, j->b->start,
			       j->b->end, ret);
}

/* only: the one place that there is, or NULL. */
static void join_sum(struct join *j, const struct aif_xe_sum *sum, const struct aif_place *only)
{
	uint64_t address = address_of(j, sum->ip);
	const struct aif_place *places[AIF_PLACES_HITS];
	size_t n;

	if (only) {
		put(j, only, aif_places_offset(only, space_of(j), address), sum->counts, true);
		return;
	}
	n = find(j, address, places);
	if (n)
		share(j, places, n, space_of(j), address, sum);
	else
		put_unknown(j, sum);
}

/* In order of addresses a place is found once for all that lies in it. Their frames are anywhere in a large table: many
 * at a time are looked for before the first of them is needed. */
static void join_window(struct join *j)
{
	const struct aif_xe_counts *c = &j->w->counts;
	uint64_t *order = aif_xe_counts_order(c);
	const struct aif_xe_sum *sums[AT_A_TIME];
	const struct aif_place *places[AIF_PLACES_HITS], *only[AT_A_TIME];

	for (size_t i = 0; i < c->len; i += AT_A_TIME) {
		size_t some = AIF_MIN(c->len - i, (size_t)AT_A_TIME);

		for (size_t k = 0; k < some; k++) {
			uint64_t address;

			sums[k] = &c->at[order ? aif_xe_counts_index(order[i + k]) : i + k];
			address = address_of(j, sums[k]->ip);
			only[k] = find(j, address, places) == 1 ? places[0] : NULL;
			if (only[k])
				aif_place_frames_prefetch(
					&j->d->places.frames, only[k]->module,
					aif_places_offset(only[k], space_of(j), address));
		}
		for (size_t k = 0; k < some; k++)
			join_sum(j, sums[k], only[k]);
	}
	free(order);
}

/* A second without samples says something, too: executions in it had none. */
static void make_users(struct join *j)
{
	const struct aif_places *p = &j->d->places;
	uint32_t process = AIF_NONE, device = AIF_NONE;

	for (size_t i = 0; i < p->len; i++) {
		const struct aif_place *x = &p->at[i];

		if (x->from >= j->b->end || x->to <= j->b->start ||
		    (x->process == process && x->device == device) ||
		    (j->w->pci && x->pci && x->pci != j->w->pci))
			continue;
		process = x->process;
		device = x->device;
		user_of(j, process, device);
	}
}

void aif_xe_join(struct aif_drainer *d, const struct aif_xe_batch *b)
{
	struct join j = {.d = d, .b = b};

	memset(j.reasons, 0xff, sizeof(j.reasons));
	for (struct aif_target *t = d->targets; t; t = t->next)
		aif_device_samples_last(d, t);
	for (unsigned i = 0; i < b->windows_len; i++) {
		j.w = &b->windows[i];
		make_users(&j);
		j.stranger = find_stranger(&j);
		join_window(&j);
	}
	if (j.ambiguous)
		aif_store_loss(d->store, AIF_REASON_XE_AMBIGUOUS, AIF_NONE, AIF_NONE, j.ambiguous);
	aif_places_turn(&d->places);
	aif_places_forget(&d->places, d->store, b->start);
}

/* ---- the source ---------------------------------------------------------------------------------- */

static void take(struct aif_drainer *d, uint64_t until)
{
	struct aif_xe_batch *b;
	struct aif_xe_note n;

	while ((b = aif_xe_take(d->xe, until)) != NULL) {
		aif_xe_join(d, b);
		aif_xe_batch_free(b);
	}
	while (aif_xe_note(d->xe, &n))
		aif_store_loss(d->store, n.reason, AIF_NONE,
			       *n.detail ? aif_store_puts(d->store, n.detail) : AIF_NONE, n.count);
}

static void want(struct aif_drainer *d, bool is_sure)
{
	int r = !d->xe && d->opts->device_rate ? aif_xe_new(d->opts->device_rate, is_sure, &d->xe)
					       : 0;

	if (r < 0)
		aif_store_loss(d->store, AIF_REASON_XE_FAILED, AIF_NONE,
			       aif_store_puts(d->store, strerror(-r)), 1);
	d->xe_used_ns = aif_now_ns();
}

void aif_xe_wanted(struct aif_drainer *d)
{
	want(d, true);
}

void aif_xe_last(struct aif_drainer *d)
{
	if (!d->xe)
		return;
	aif_xe_stop(d->xe);
	take(d, UINT64_MAX);
	aif_xe_free(d->xe);
	d->xe = NULL;
}

void aif_xe_follow(struct aif_drainer *d, uint64_t now, bool collects)
{
	bool all = collects && d->opts->all_processes;

	if (!d->xe && all && !d->xe_tried)
		want(d, false);
	d->xe_tried = all;
	if (!d->xe)
		return;
	if (all || d->places.ended < d->places.len)
		d->xe_used_ns = now;
	take(d, now > SETTLE_NS ? now - SETTLE_NS : 0);
	if (now - d->xe_used_ns > IDLE_NS)
		aif_xe_last(d);
}
