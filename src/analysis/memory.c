/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory.h"

#include "analysis/memory_rows.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/human.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* Memory of one allocator: of a process on a device. */
struct pool {
	uint32_t on;       /* which of .levels */
	uint64_t live;     /* bytes of blocks that are known */
	uint64_t before;   /* and of those that are not */
	bool is_summed;    /* the allocator says what it has in all */
	bool is_beside;    /* of what the runtime allocated, where an allocator has a pool, too */
	uint64_t reserved; /* by the allocator, as it said last */
};

/* All pools of a device; in the order of aif_memory.devices. */
struct level {
	uint64_t live, before, beside, reserved;
	bool is_reserved; /* an allocator says how much */
};

struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	struct aif_memory *m;
	AIF_TABLE(aif_memory_moment, rows);
	AIF_TABLE(pool, pools);
	AIF_TABLE(level, levels);
	struct aif_map pool_ids, device_ids;
	/* The live block of a pool and address, or its newest one of a size, + 1. */
	struct aif_strset keys;
	uint32_t *live;
	size_t live_cap;
	uint32_t *older; /* by block: the live one of its size that is older, + 1 */
	size_t older_cap;
};

static int take(void *arg, const struct aif_memory_row *rows, size_t n)
{
	struct reading *r = arg;

	if (r->rows_len + n >= AIF_NONE ||
	    aif_grow(&r->rows, &r->rows_cap, r->rows_len + n, sizeof(*r->rows)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_memory_row *row = &rows[i];
		uint32_t process =
			row->thread == AIF_NONE ? AIF_NONE : r->p->threads[row->thread].process;

		if (row->kind != AIF_MEMORY_ALLOCATE && row->kind != AIF_MEMORY_RELEASE)
			continue;
		r->m->any = true;
		if (r->sel && (!aif_selection_keeps(r->sel->processes, process) ||
			       !aif_selection_keeps(r->sel->devices, row->device)))
			continue;
		r->rows[r->rows_len] = (struct aif_memory_moment){
			.at = aif_time_clamp(aif_timeline_map(r->timeline, AIF_CLOCK_MONOTONIC,
							      process, row->time, NULL)),
			.block = row->block,
			.bytes = row->bytes,
			.allocated = row->allocated,
			.reserved = row->reserved,
			.process = process,
			.thread = row->thread,
			.stack = row->stack,
			.device = row->device,
			.order = (uint32_t)r->rows_len,
			.is_release = row->kind == AIF_MEMORY_RELEASE};
		r->rows_len++;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct aif_memory_moment *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->order, y->order);
}

/* ---- pools and blocks ------------------------------------------------------------------------ */

/* Returns the device's place; AIF_NONE: no memory. */
static uint32_t device_of(struct reading *r, uint32_t device)
{
	struct aif_memory *m = r->m;
	uint64_t i;

	if (aif_map_get(&r->device_ids, device, &i))
		return (uint32_t)i;
	if (aif_grow(&m->devices, &m->devices_cap, m->devices_len + 1, sizeof(*m->devices)) < 0 ||
	    aif_grow(&r->levels, &r->levels_cap, m->devices_len + 1, sizeof(*r->levels)) < 0 ||
	    aif_map_put(&r->device_ids, device, m->devices_len) < 0)
		return AIF_NONE;
	r->levels[m->devices_len] = (struct level){0};
	m->devices[m->devices_len] =
		(struct aif_memory_device){.device = device, .reserved = AIF_MEMORY_UNKNOWN};
	return (uint32_t)m->devices_len++;
}

/* Memory of the runtime is a pool of its own beside an allocator's. */
static uint64_t pool_key(const struct aif_memory_moment *e)
{
	return ((uint64_t)e->process << 32 | e->device) ^ (uint64_t)e->is_beside << 31;
}

static struct pool *pool_of(struct reading *r, const struct aif_memory_moment *e)
{
	uint64_t key = pool_key(e), i;
	uint32_t on;

	if (aif_map_get(&r->pool_ids, key, &i))
		return &r->pools[i];
	on = device_of(r, e->device);
	if (on == AIF_NONE ||
	    aif_grow(&r->pools, &r->pools_cap, r->pools_len + 1, sizeof(*r->pools)) < 0 ||
	    aif_map_put(&r->pool_ids, key, r->pools_len) < 0)
		return NULL;
	r->pools[r->pools_len] = (struct pool){.on = on, .is_beside = e->is_beside};
	return &r->pools[r->pools_len++];
}

/* Sets what a pool has that is of no known block. */
static void set_before(struct reading *r, struct pool *pool, uint64_t before)
{
	r->levels[pool->on].before += before - pool->before;
	pool->before = before;
}

static void set_reserved(struct reading *r, struct pool *pool, uint64_t reserved)
{
	r->levels[pool->on].reserved += reserved - pool->reserved;
	r->levels[pool->on].is_reserved = true;
	pool->reserved = reserved;
}

/* Returns the entry of live blocks for the event's address, or for its size where it has none; NULL: no memory. */
static uint32_t *live_of(struct reading *r, const struct aif_memory_moment *e)
{
	uint64_t key[] = {e->block, e->block ? 0 : e->bytes, pool_key(e)};
	uint32_t id = aif_strset_put(&r->keys, key, sizeof(key));
	size_t had = r->live_cap;

	if (id == AIF_STR_NONE || aif_grow(&r->live, &r->live_cap, id + 1, sizeof(*r->live)) < 0)
		return NULL;
	if (r->live_cap > had)
		memset(r->live + had, 0, (r->live_cap - had) * sizeof(*r->live));
	return &r->live[id];
}

static bool is_kept(const struct reading *r, const struct aif_memory_moment *e)
{
	return !r->sel || !aif_selection_is_of_threads(r->sel) ||
	       aif_selection_keeps_moment(r->sel, e->thread, e->at);
}

static int event_add(struct reading *r, int64_t at, uint32_t block, bool is_release)
{
	struct aif_memory *m = r->m;

	if (aif_grow(&m->events, &m->events_cap, m->events_len + 1, sizeof(*m->events)) < 0)
		return -ENOMEM;
	m->events[m->events_len++] = (struct aif_memory_event){at, block, is_release};
	return 0;
}

/* Ends the block that is the newest of *live. */
static int block_end(struct reading *r, struct pool *pool, uint32_t *live, int64_t at)
{
	struct aif_memory_device *d = &r->m->devices[pool->on];
	uint32_t i = *live - 1;
	struct aif_memory_block *b = &r->m->blocks[i];

	b->end = at;
	b->last = r->m->events_len;
	*live = r->older[i];
	pool->live -= b->bytes;
	r->levels[pool->on].live -= b->bytes;
	r->levels[pool->on].beside -= pool->is_beside ? b->bytes : 0;
	d->released += b->bytes;
	d->releases++;
	return event_add(r, at, i, true);
}

static int block_begin(struct reading *r, const struct aif_memory_moment *e, struct pool *pool,
		       uint32_t *live)
{
	struct aif_memory_device *d = &r->m->devices[pool->on];
	struct aif_memory *m = r->m;
	uint32_t i = (uint32_t)m->blocks_len;

	if (aif_grow(&m->blocks, &m->blocks_cap, m->blocks_len + 1, sizeof(*m->blocks)) < 0 ||
	    aif_grow(&r->older, &r->older_cap, m->blocks_len + 1, sizeof(*r->older)) < 0)
		return -ENOMEM;
	r->older[i] = e->block ? 0 : *live;
	*live = i + 1;
	m->blocks[m->blocks_len++] = (struct aif_memory_block){.start = e->at,
							       .end = INT64_MAX,
							       .first = m->events_len,
							       .last = SIZE_MAX,
							       .bytes = e->bytes,
							       .process = e->process,
							       .thread = e->thread,
							       .stack = e->stack,
							       .device = e->device,
							       .is_beside = e->is_beside};
	pool->live += e->bytes;
	r->levels[pool->on].live += e->bytes;
	r->levels[pool->on].beside += pool->is_beside ? e->bytes : 0;
	d->allocated += e->bytes;
	d->allocations++;
	return event_add(r, e->at, i, false);
}

/* ---- peaks ----------------------------------------------------------------------------------- */

static void peak_take(const struct reading *r, size_t on, int64_t at)
{
	struct aif_memory_device *d = &r->m->devices[on];
	const struct level *l = &r->levels[on];
	uint64_t sum = l->live + l->before;

	if (sum <= d->peak || (r->sel && ((r->sel->from_ns && at < (int64_t)r->sel->from_ns) ||
					  (r->sel->to_ns && at >= (int64_t)r->sel->to_ns))))
		return;
	d->peak = sum;
	d->peak_at = at;
	d->peak_event = r->m->events_len;
	d->before = l->before;
	d->beside = l->beside;
	d->reserved = l->is_reserved ? l->reserved : AIF_MEMORY_UNKNOWN;
}

/* Counts what is there when the time that was asked for begins. */
static void begin_span(const struct reading *r, int64_t at)
{
	for (size_t i = 0; i < r->m->devices_len; i++)
		peak_take(r, i, at);
}

/* Without the allocator's own sum, what is released and never was allocated was there before. */
static int find_before(struct reading *r)
{
	int e = 0;

	for (size_t i = 0; i < r->rows_len && !e; i++) {
		const struct aif_memory_moment *row = &r->rows[i];
		struct pool *pool = pool_of(r, row);
		uint32_t *of = pool ? live_of(r, row) : NULL;

		if (!of)
			e = -ENOMEM;
		else if (row->is_segment)
			continue;
		else if (row->allocated != AIF_MEMORY_UNKNOWN)
			pool->is_summed = true;
		else if (!row->is_release)
			*of = row->block ? 1 : *of + 1;
		else if (*of)
			--*of;
		else
			set_before(r, pool, pool->before + row->bytes);
	}
	if (r->live_cap)
		memset(r->live, 0, r->live_cap * sizeof(*r->live));
	return e;
}

static int row_take(struct reading *r, const struct aif_memory_moment *e)
{
	struct pool *pool = pool_of(r, e);
	uint32_t *live = pool ? live_of(r, e) : NULL;
	int x = 0;

	if (!live)
		return -ENOMEM;
	if (e->is_segment)
		return 0;
	if (e->reserved != AIF_MEMORY_UNKNOWN)
		set_reserved(r, pool, e->reserved);
	if (e->is_release && !*live && !pool->is_summed)
		set_before(r, pool, pool->before - AIF_MIN(pool->before, e->bytes));
	if (e->is_release && !e->block && *live)
		r->m->devices[pool->on].by_size++;
	/* A block that is allocated again was released in between. */
	if (*live && (e->is_release || e->block))
		x = block_end(r, pool, live, e->at);
	if (!x && !e->is_release && e->bytes && is_kept(r, e))
		x = block_begin(r, e, pool, live);
	if (pool->is_summed && e->allocated != AIF_MEMORY_UNKNOWN && is_kept(r, e))
		set_before(r, pool, e->allocated > pool->live ? e->allocated - pool->live : 0);
	if (!x)
		peak_take(r, pool->on, e->at);
	return x;
}

int aif_memory_read(const struct aif_profile *p, const struct aif_selection *sel,
		    struct aif_memory *ret)
{
	struct reading r = {.p = p, .sel = sel, .m = ret};
	bool is_part = sel && aif_selection_is_of_threads(sel);
	int e;

	*ret = (struct aif_memory){0};
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_profile_memory(p, take, &r, &ret->damaged);
	if (!e && r.rows_len)
		qsort(r.rows, r.rows_len, sizeof(*r.rows), by_time);
	if (!e)
		e = aif_memory_find_segments(r.rows, r.rows_len);
	if (!e)
		e = find_before(&r);
	/* Blocks from before the recording are of no known thread. */
	for (size_t i = 0; i < r.pools_len && is_part; i++) {
		set_before(&r, &r.pools[i], 0);
		r.pools[i].is_summed = false;
	}
	for (size_t i = 0; i < r.rows_len && !e; i++) {
		bool is_first = sel && sel->from_ns && r.rows[i].at >= (int64_t)sel->from_ns &&
				(!i || r.rows[i - 1].at < (int64_t)sel->from_ns);

		if (is_first)
			begin_span(&r, (int64_t)sel->from_ns);
		e = row_take(&r, &r.rows[i]);
	}
	if (!e && r.rows_len && sel && sel->from_ns &&
	    r.rows[r.rows_len - 1].at < (int64_t)sel->from_ns)
		begin_span(&r, (int64_t)sel->from_ns);
	aif_facts_put(r.timeline);
	aif_strset_finish(&r.keys);
	free(r.live);
	free(r.older);
	free(r.rows);
	free(r.pools);
	free(r.levels);
	aif_map_finish(&r.pool_ids);
	aif_map_finish(&r.device_ids);
	return e;
}

void aif_memory_finish(struct aif_memory *m)
{
	free(m->blocks);
	free(m->events);
	free(m->devices);
	*m = (struct aif_memory){0};
}

bool aif_memory_is_at_peak(const struct aif_memory *m, const struct aif_memory_block *b)
{
	for (size_t i = 0; i < m->devices_len; i++)
		if (m->devices[i].device == b->device)
			return b->first < m->devices[i].peak_event &&
			       (b->last == SIZE_MAX || b->last >= m->devices[i].peak_event);
	return false;
}

static void device_say(const struct aif_profile *p, const struct aif_memory_device *d,
		       struct aif_buf *out)
{
	aif_buf_puts(out, out->len ? "; " : "");
	aif_buf_puts(out, d->device == AIF_NONE ? "host"
						: aif_profile_str(p, p->devices[d->device].name));
	aif_buf_puts(out, ": peak ");
	aif_human_bytes(out, d->peak);
	aif_buf_puts(out, " at ");
	aif_human_ns(out, (uint64_t)AIF_MAX(d->peak_at, 0));
	if (d->reserved != AIF_MEMORY_UNKNOWN && d->reserved) {
		aif_buf_puts(out, ", ");
		aif_human_bytes(out, d->reserved);
		aif_buf_puts(out, " reserved");
	}
	if (d->beside) {
		aif_buf_puts(out, ", ");
		aif_human_bytes(out, d->beside);
		aif_buf_puts(out, " of it not by that allocator");
	}
	if (d->before) {
		aif_buf_puts(out, ", ");
		aif_human_bytes(out, d->before);
		aif_buf_puts(out, " of it allocated before");
	}
}

void aif_memory_say(const struct aif_profile *p, const struct aif_memory *m, struct aif_buf *out)
{
	bool by_size = false;

	for (int host = 0; host < 2; host++)
		for (size_t i = 0; i < m->devices_len; i++) {
			by_size |= m->devices[i].by_size > 0;
			if (m->devices[i].peak && (m->devices[i].device == AIF_NONE) == host)
				device_say(p, &m->devices[i], out);
		}
	if (by_size)
		aif_buf_puts(out,
			     "; without addresses of blocks: each release is taken for that of "
			     "the newest block of its size");
}
