/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/stall_join.h"

#include "base/hash.h"
#include "record/ingest/gpus.h"
#include "record/sources/device_code.h"

static void lose(struct aif_stall_join *j, const char *what, uint64_t n)
{
	struct aif_store *s = j->d->store;

	aif_store_loss(s, AIF_REASON_WRITER_BEHIND, AIF_NONE, aif_store_puts(s, what), n);
}

static uint32_t window_row(struct aif_stall_join *j, const struct aif_stall_user *u,
			   enum aif_held held)
{
	struct aif_window_row *row = aif_batches_row(&j->d->store->batches, AIF_BATCH_WINDOW);
	uint32_t window = j->d->windows++;

	if (row)
		*row = (struct aif_window_row){
			.start = j->start,
			.end = j->end,
			.window = window,
			.device = u->device,
			.process = u->process,
			.held = held,
			.period_ns = (uint32_t)AIF_MIN(j->w.period_ns, (uint64_t)UINT32_MAX),
			.thread = AIF_NONE,
			.p_ppm = 1000000};
	else
		lose(j, "windows", 1);
	return window;
}

static struct aif_stall_user *user_of(struct aif_stall_join *j, uint32_t process, uint32_t device)
{
	struct aif_stall_user *u;

	for (unsigned i = j->users_len; i-- > 0;)
		if (j->users[i].process == process && j->users[i].device == device)
			return &j->users[i];
	if (j->users_len == AIF_STALL_USERS)
		return NULL;
	u = &j->users[j->users_len++];
	*u = (struct aif_stall_user){
		.process = process, .device = device, .sure = AIF_NONE, .ambiguous = AIF_NONE};
	u->sure = window_row(j, u, AIF_HELD);
	return u;
}

static uint32_t window_of(struct aif_stall_join *j, const struct aif_code_range *place,
			  bool is_sure)
{
	struct aif_stall_user *u = user_of(j, place->process, place->device);

	if (!u)
		return AIF_NONE;
	if (!is_sure && u->ambiguous == AIF_NONE)
		u->ambiguous = window_row(j, u, AIF_HELD_AMBIGUOUS);
	return is_sure ? u->sure : u->ambiguous;
}

static void sample_row(struct aif_stall_join *j, uint32_t process, uint32_t device, uint32_t frame,
		       uint32_t reason, uint32_t window, uint64_t count)
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
	*row = (struct aif_sample_row){.time = j->start,
				       .count = count,
				       .thread = AIF_NONE,
				       .process = process,
				       .device = device,
				       .frame = frame,
				       .reason = reason,
				       .window = window};
}

/* Returns the device that the window's reader has named, or that of its card; else that of the latest place: an address
 * in nobody's code says no more. */
static uint32_t device_of(const struct aif_stall_join *j)
{
	uint32_t known = aif_gpu_find(j->d, j->w.pci);

	if (j->w.device != AIF_NONE)
		return j->w.device;
	if (known != AIF_NONE)
		return known;
	return j->map->has_device ? j->map->device : aif_gpu_device(j->d, j->w.pci);
}

static void put_unknown(struct aif_stall_join *j, const uint32_t *reasons, const uint32_t *counts,
			unsigned n)
{
	uint32_t device = device_of(j);

	for (unsigned k = 0; k < n; k++)
		sample_row(j, j->w.stranger, device, AIF_NONE, reasons[k], AIF_NONE, counts[k]);
}

static void put(struct aif_stall_join *j, const struct aif_code_range *place, uint64_t offset,
		const uint32_t *reasons, const uint32_t *counts, unsigned n, bool is_sure)
{
	uint32_t frame = aif_code_map_frames_get(&j->map->frames, j->d->store, place->module,
						 offset),
		 window, any = 0;

	/* Successive addresses are mostly of one place. */
	if (!is_sure || place != j->last) {
		window = window_of(j, place, is_sure);
		j->last = is_sure ? place : NULL;
		j->last_window = window;
	}
	/* Most are 0, and which are not nobody can guess. */
	for (unsigned k = 0; k < n; k++)
		any |= (uint32_t)(counts[k] != 0) << k;
	for (; any; any &= any - 1) {
		unsigned k = (unsigned)__builtin_ctz(any);

		sample_row(j, place->process, place->device, frame, reasons[k], j->last_window,
			   counts[k]);
	}
}

/* Whole samples by weight: each place gets those that its share covers, counted from somewhere, so that of many
 * single samples each gets its share, too. */
static void share(struct aif_stall_join *j, const struct aif_code_range *const *places, size_t n,
		  enum aif_code_map_space space, uint64_t address, const uint32_t *reasons,
		  const uint32_t *counts, unsigned reasons_len)
{
	uint64_t weights[AIF_CODE_MAP_HITS];
	uint32_t parts[AIF_CODE_MAP_HITS][AIF_STALL_REASONS] = {0};
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += (double)(weights[i] = aif_code_map_time(j->map, places[i]));
	for (size_t i = 0; i < n && all <= 0; i++)
		weights[i] = 1;
	all = all > 0 ? all : (double)n;
	for (unsigned k = 0; k < reasons_len; k++) {
		uint64_t seed = aif_mix64(address >> 3 ^ j->start) + reasons[k];
		double end = (double)(aif_mix64(seed) >> 11) / (double)(UINT64_C(1) << 53);
		uint32_t given = 0;

		for (size_t i = 0; i < n; i++) {
			uint32_t until;

			end += (double)counts[k] * ((double)weights[i] / all);
			until = i == n - 1 ? counts[k]
					   : (uint32_t)AIF_MIN((uint64_t)end, counts[k]);
			parts[i][k] = AIF_MAX(until, given) - given;
			given = AIF_MAX(until, given);
		}
		j->ambiguous += counts[k];
	}
	for (size_t i = 0; i < n; i++)
		put(j, places[i], aif_code_map_offset(places[i], space, address), reasons, parts[i],
		    reasons_len, false);
}

/* A process that reads a device's samples knows which of its devices it is; another's may be the same one. */
static bool is_there(const struct aif_stall_window *w, const struct aif_code_range *x)
{
	return x->process != w->process || w->tiles || x->device == w->device;
}

/* All that may be meant. */
static size_t find(struct aif_stall_join *j, enum aif_code_map_space space, uint64_t address,
		   const struct aif_code_range *ret[AIF_CODE_MAP_HITS])
{
	size_t found = aif_code_map_find(j->map, space, address, j->w.pci, j->start, j->end, ret),
	       kept = 0;

	for (size_t i = 0; i < found; i++)
		if (is_there(&j->w, ret[i]))
			ret[kept++] = ret[i];
	return kept;
}

static uint64_t in_space(enum aif_code_map_space space, uint64_t address)
{
	return space == AIF_CODE_MAP_32 ? address & UINT32_MAX : address;
}

const struct aif_code_range *aif_stall_join_find(struct aif_stall_join *j,
						 enum aif_code_map_space space, uint64_t address,
						 uint64_t *ret_until)
{
	const struct aif_code_range *places[AIF_CODE_MAP_HITS];
	uint64_t low = in_space(space, address), until;
	size_t n = find(j, space, low, places);

	until = aif_code_map_until(j->map, space, low);
	/* A 32-bit space ends where the addresses' upper bits change. */
	if (space == AIF_CODE_MAP_32)
		until = AIF_MIN(until, UINT64_C(1) << 32);
	*ret_until = until > low ? address + (until - low) : address;
	return n == 1 ? places[0] : NULL;
}

void aif_stall_join_fetch(struct aif_stall_join *j, enum aif_code_map_space space, uint64_t address,
			  const struct aif_code_range *only)
{
	aif_code_map_frames_prefetch(&j->map->frames, only->module,
				     aif_code_map_offset(only, space, in_space(space, address)));
}

void aif_stall_join_put(struct aif_stall_join *j, enum aif_code_map_space space, uint64_t address,
			const struct aif_code_range *only, const uint32_t *reasons,
			const uint32_t *counts, unsigned n)
{
	const struct aif_code_range *places[AIF_CODE_MAP_HITS] = {only};
	size_t found = 1;

	n = AIF_MIN(n, AIF_STALL_REASONS);
	address = in_space(space, address);
	if (!only)
		found = find(j, space, address, places);
	if (!found)
		put_unknown(j, reasons, counts, n);
	else if (found == 1)
		put(j, places[0], aif_code_map_offset(places[0], space, address), reasons, counts,
		    n, true);
	else
		share(j, places, found, space, address, reasons, counts, n);
}

/* A second without samples says something, too: executions in it had none. */
static void make_users(struct aif_stall_join *j)
{
	const struct aif_code_map *p = j->map;
	uint32_t process = AIF_NONE, device = AIF_NONE;

	for (size_t i = 0; i < p->len; i++) {
		const struct aif_code_range *x = &p->at[i];

		if (x->from >= j->end || x->to <= j->start ||
		    (x->process == process && x->device == device) ||
		    (j->w.pci && x->pci && x->pci != j->w.pci) || !is_there(&j->w, x))
			continue;
		process = x->process;
		device = x->device;
		user_of(j, process, device);
	}
}

void aif_stall_join_begin(struct aif_stall_join *j, struct aif_drainer *d, uint64_t start,
			  uint64_t end)
{
	j->d = d;
	j->map = aif_device_code_map(d);
	j->start = start;
	j->end = end;
	j->users_len = 0;
	j->ambiguous = 0;
	j->last = NULL;
}

void aif_stall_join_window(struct aif_stall_join *j, const struct aif_stall_window *w)
{
	j->w = *w;
	j->last = NULL;
	make_users(j);
}

void aif_stall_join_end(struct aif_stall_join *j)
{
	if (j->ambiguous)
		aif_store_loss(j->d->store, AIF_REASON_XE_AMBIGUOUS, AIF_NONE, AIF_NONE,
			       j->ambiguous);
}
