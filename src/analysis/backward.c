/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/backward.h"

#include "base/sort.h"
#include "base/u64_of.h"
#include "analysis/backward_internal.h"
#include "profile/file.h"
#include "analysis/gaps.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * Passes once over the launches in the order of time, each process and device for itself. Operators of the
 * forward are remembered; launches of nodes are collected to units until an operator of the forward comes:
 * that ends a part of a backward, which is matched with what is remembered (backward_join.c). Operators
 * that were matched, or lie between matched ones and so have no nodes, are forgotten; older ones may be of
 * another graph. Where the overhead budget left launches out everything is forgotten: sequences are
 * compared within stretches that were captured whole.
 *
 * Launches of one stretch of time may be in two chunks: those of the last SETTLE_NS wait for the next
 * one. Memory: that, OPS_MAX operators, UNITS_MAX units, and 16 bytes for each launch of a backward, to
 * find its execution's time.
 */
#define SETTLE_NS (2 * AIF_NS_PER_S)
#define OPS_MAX   ((size_t)1 << 14)
#define UNITS_MAX ((size_t)1 << 14)

struct found {
	uint64_t launch;
	uint32_t part;
};

struct finder {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_torch_stacks stacks;
	struct aif_backward *ret;
	struct aif_backward_lane *lanes;
	struct aif_backward_launch *waiting;
	struct aif_gaps off; /* when launches were left out */
	struct found *found;
	struct aif_map parts; /* hash of a part -> its number */
	size_t lanes_len, lanes_cap, waiting_len, waiting_cap, found_len, found_cap, parts_cap;
};

/* ---- a part of a backward ------------------------------------------------------------------------ */

static bool is_part(const struct aif_backward_part *a, const struct aif_backward_part *b)
{
	return a->process == b->process && a->stack == b->stack && a->kind == b->kind &&
	       a->kernel == b->kernel && a->forward == b->forward && a->name == b->name &&
	       a->how == b->how;
}

static int part_number(struct finder *f, const struct aif_backward_part *part, uint32_t *ret)
{
	const uint32_t key[] = {part->process, part->stack, part->kind, part->kernel,
				part->forward, part->name,  part->how};
	uint64_t hash = aif_hash_bytes(key, sizeof(key)), at;

	for (; aif_map_get(&f->parts, hash, &at); hash = aif_mix64(hash + 1))
		if (is_part(&f->ret->parts[at], part)) {
			*ret = (uint32_t)at;
			return 0;
		}
	if (aif_grow(&f->ret->parts, &f->parts_cap, f->ret->parts_len + 1, sizeof(*f->ret->parts)) <
		    0 ||
	    aif_map_put(&f->parts, hash, f->ret->parts_len) < 0)
		return -ENOMEM;
	*ret = (uint32_t)f->ret->parts_len;
	f->ret->parts[f->ret->parts_len++] = *part;
	return 0;
}

static int launch_join(struct finder *f, const struct aif_backward_launch *w,
		       const struct aif_backward_run *u, const struct aif_backward_target *to)
{
	const struct aif_torch_stack *s = &f->stacks.stacks[w->stack];
	struct aif_backward_part part = {
		.process = w->process,
		.stack = w->stack,
		.kind = w->kind,
		.kernel = w->kernel,
		.forward = to->forward,
		.inside = s->site,
		.name = u->name,
		.how = to->how,
	};
	struct found *at;

	if (!w->is_asked)
		return 0;
	if (aif_grow(&f->found, &f->found_cap, f->found_len + 1, sizeof(*f->found)) < 0)
		return -ENOMEM;
	at = &f->found[f->found_len++];
	at->launch = w->launch;
	return part_number(f, &part, &at->part);
}

/* The lane's units are complete. */
static int units_join(struct finder *f, struct aif_backward_lane *l)
{
	struct aif_backward_target *to = calloc(l->units_len + 1, sizeof(*to));
	int r = to ? 0 : -ENOMEM;

	if (r == 0)
		r = aif_backward_join(f->p, &f->stacks, l, to);
	for (size_t i = 0; r == 0 && i < l->units_len; i++) {
		size_t end = i + 1 < l->units_len ? l->units[i + 1].begin : l->launches_len;

		for (size_t j = l->units[i].begin; r == 0 && j < end; j++)
			r = launch_join(f, &l->launches[j], &l->units[i], &to[i]);
	}
	l->units_len = l->launches_len = 0;
	free(to);
	return r;
}

/* ---- launches, in order --------------------------------------------------------------------------- */

static int op_add(struct aif_backward_lane *l, const struct aif_torch_stack *s, uint32_t stack)
{
	struct aif_backward_op *last = l->ops_len ? &l->ops[l->ops_len - 1] : NULL;

	/* The kernels of one call have different stacks. */
	if (last && last->call == s->call && last->first != stack)
		return 0;
	if (l->ops_len == OPS_MAX) {
		memmove(l->ops, l->ops + OPS_MAX / 2, OPS_MAX / 2 * sizeof(*l->ops));
		l->ops_len = OPS_MAX / 2;
	}
	if (aif_grow(&l->ops, &l->ops_cap, l->ops_len + 1, sizeof(*l->ops)) < 0)
		return -ENOMEM;
	l->ops[l->ops_len++] = (struct aif_backward_op){
		.family = s->family, .call = s->call, .forward = s->python, .first = stack};
	return 0;
}

static bool was_at(const struct aif_backward_run *u, uint32_t site)
{
	for (uint32_t i = 0; i < AIF_MIN(u->sites_len, (uint32_t)AIF_ARRAY_LEN(u->sites)); i++)
		if (u->sites[i] == site)
			return true;
	return false;
}

/* Generated code calls one after the other; one that comes again is another run. So is the node after the
 * engine was at work. The same kernel once more may be either. */
static bool begins_unit(const struct aif_backward_run *u, const struct aif_torch_stack *s,
			const struct aif_backward_launch *w, bool *ret_is_weak)
{
	*ret_is_weak = false;
	if (u->is_over || u->name != s->name || u->thread != w->thread || u->u.family != s->family)
		return true;
	if (u->site != s->site)
		return was_at(u, s->site);
	*ret_is_weak = u->first == w->stack;
	return *ret_is_weak;
}

static int unit_add(struct aif_backward_lane *l, const struct aif_torch_stack *s,
		    const struct aif_backward_launch *w)
{
	struct aif_backward_run *u = l->units_len ? &l->units[l->units_len - 1] : NULL;
	bool is_weak = false;

	if (aif_grow(&l->launches, &l->launches_cap, l->launches_len + 1, sizeof(*l->launches)) < 0)
		return -ENOMEM;
	if (u && s->role == AIF_TORCH_AFTER) {
		u->is_over = true;
	} else if (!u || begins_unit(u, s, w, &is_weak)) {
		if (aif_grow(&l->units, &l->units_cap, l->units_len + 1, sizeof(*l->units)) < 0)
			return -ENOMEM;
		l->units[l->units_len++] = (struct aif_backward_run){
			.u = {.family = s->family, .is_weak = is_weak},
			.site = s->site,
			.sites_len = 1,
			.sites = {s->site},
			.first = w->stack,
			.name = s->name,
			.thread = w->thread,
			.begin = l->launches_len,
		};
	} else if (u->site != s->site) {
		u->site = s->site;
		u->first = w->stack;
		if (u->sites_len < AIF_ARRAY_LEN(u->sites))
			u->sites[u->sites_len++] = s->site;
	}
	l->launches[l->launches_len++] = *w;
	return 0;
}

static struct aif_backward_lane *lane_get(struct finder *f, const struct aif_backward_launch *w)
{
	uint64_t key = (uint64_t)w->process << 32 | w->device;

	for (size_t i = 0; i < f->lanes_len; i++)
		if (f->lanes[i].key == key)
			return &f->lanes[i];
	if (aif_grow(&f->lanes, &f->lanes_cap, f->lanes_len + 1, sizeof(*f->lanes)) < 0)
		return NULL;
	f->lanes[f->lanes_len] = (struct aif_backward_lane){.key = key};
	return &f->lanes[f->lanes_len++];
}

static uint64_t since_start(const struct finder *f, uint64_t time)
{
	return time > f->p->start_ns ? time - f->p->start_ns : 0;
}

/* Was anything left out in the process from `from` to `to`? */
static bool is_cut(const struct finder *f, uint32_t process, uint64_t from, uint64_t to)
{
	struct aif_gaps_span s = aif_gaps_at(&f->off, process, since_start(f, from));

	return s.is_gap || s.end < since_start(f, to);
}

static int launch_look(struct finder *f, const struct aif_backward_launch *w)
{
	const struct aif_torch_stack *s = &f->stacks.stacks[w->stack];
	struct aif_backward_lane *l = lane_get(f, w);
	int r = 0;

	if (!l)
		return -ENOMEM;
	if (l->last_ns && is_cut(f, w->process, l->last_ns, w->time)) {
		r = units_join(f, l);
		l->ops_len = 0;
	}
	l->last_ns = w->time;
	if (r == 0 && l->units_len && (s->role == AIF_TORCH_FORWARD || l->units_len >= UNITS_MAX))
		r = units_join(f, l);
	if (r < 0)
		return r;
	return s->role == AIF_TORCH_FORWARD ? op_add(l, s, w->stack) : unit_add(l, s, w);
}

static int by_time(const void *pa, const void *pb)
{
	const struct aif_backward_launch *a = pa, *b = pb;

	return AIF_ORDER(a->time, b->time) ?: AIF_ORDER(a->launch, b->launch);
}

/* Looks at what waits from before `until`. */
static int waiting_look(struct finder *f, uint64_t until)
{
	size_t n = 0;
	int r = 0;

	if (f->waiting_len)
		qsort(f->waiting, f->waiting_len, sizeof(*f->waiting), by_time);
	for (; r == 0 && n < f->waiting_len && f->waiting[n].time < until; n++)
		r = launch_look(f, &f->waiting[n]);
	f->waiting_len -= n;
	if (n)
		memmove(f->waiting, f->waiting + n, f->waiting_len * sizeof(*f->waiting));
	return r;
}

static bool is_kept(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

static bool is_asked(const struct finder *f, const struct aif_launch_row *row, uint32_t process)
{
	const struct aif_selection *w = f->sel;
	uint64_t at = since_start(f, row->time);

	return !w || (is_kept(w->processes, process) &&
		      aif_selection_keeps_work(w, row->thread, (int64_t)at) &&
		      is_kept(w->devices, row->device) && at >= w->from_ns &&
		      (!w->to_ns || at < w->to_ns));
}

static int launches_add(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct finder *f = arg;
	uint64_t newest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *row = &rows[i];
		uint32_t process;

		newest = AIF_MAX(newest, row->time);
		if (row->stack == AIF_NONE || row->thread == AIF_NONE ||
		    f->stacks.stacks[row->stack].role == AIF_TORCH_NOT)
			continue;
		if (aif_grow(&f->waiting, &f->waiting_cap, f->waiting_len + 1,
			     sizeof(*f->waiting)) < 0)
			return -ENOMEM;
		process = f->p->threads[row->thread].process;
		f->waiting[f->waiting_len++] = (struct aif_backward_launch){
			.time = row->time,
			.launch = row->launch,
			.process = process,
			.device = row->device,
			.thread = row->thread,
			.stack = row->stack,
			.kind = row->kind,
			.kernel = row->kernel,
			.is_asked = is_asked(f, row, process),
		};
	}
	return waiting_look(f, newest > SETTLE_NS ? newest - SETTLE_NS : 0);
}

/* ---- times ---------------------------------------------------------------------------------------- */

static int by_launch(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	return AIF_ORDER(a->launch, b->launch);
}

static int times_add(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct finder *f = arg;

	for (size_t i = 0; i < n; i++) {
		const struct found key = {.launch = rows[i].launch},
				   *at = bsearch(&key, f->found, f->found_len, sizeof(key),
						 by_launch);

		if (!at)
			continue;
		f->ret->parts[at->part].launches++;
		if (rows[i].end > rows[i].start)
			f->ret->parts[at->part].time += rows[i].end - rows[i].start;
	}
	return 0;
}

static int by_row(const struct aif_backward_part *a, const struct aif_backward_part *b)
{
	const uint32_t x[] = {a->process, a->stack, a->kind, a->kernel},
		       y[] = {b->process, b->stack, b->kind, b->kernel};

	for (size_t i = 0; i < AIF_ARRAY_LEN(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static int by_row_and_time(const void *pa, const void *pb)
{
	const struct aif_backward_part *a = pa, *b = pb;
	int c = by_row(a, b);

	if (c)
		return c;
	return AIF_ORDER(b->time, a->time) ?: AIF_ORDER(a->forward, b->forward)
	       ?: AIF_ORDER(a->name, b->name);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static int find(struct finder *f)
{
	const struct aif_profile *p = f->p;
	int r = aif_torch_stacks_init(&f->stacks, p);

	if (r < 0 || !f->stacks.stacks || !p->file)
		return r;
	r = aif_gaps_init_with_off(&f->off, p);
	if (r == 0)
		r = aif_profile_launches(p, launches_add, f, NULL);
	if (r == 0)
		r = waiting_look(f, UINT64_MAX);
	for (size_t i = 0; r == 0 && i < f->lanes_len; i++)
		r = units_join(f, &f->lanes[i]);
	if (r < 0 || !f->found_len)
		return r;
	aif_sort(f->found, f->found_len, sizeof(*f->found), by_launch);
	r = aif_profile_execs(p, times_add, f, NULL);
	qsort(f->ret->parts, f->ret->parts_len, sizeof(*f->ret->parts), by_row_and_time);
	return r;
}

static void finish(void *value)
{
	struct aif_backward *b = value;

	free(b->parts);
	aif_strset_finish(&b->names);
}

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	struct aif_backward *b = value;
	struct finder f = {.p = p, .sel = of->sel, .ret = b};
	int r = find(&f);

	b->names = f.stacks.names;
	f.stacks.names = (struct aif_strset){0};
	aif_torch_stacks_finish(&f.stacks);
	for (size_t i = 0; i < f.lanes_len; i++) {
		free(f.lanes[i].ops);
		free(f.lanes[i].units);
		free(f.lanes[i].launches);
	}
	free(f.lanes);
	free(f.waiting);
	aif_gaps_finish(&f.off);
	free(f.found);
	aif_map_finish(&f.parts);
	return r < 0 ? aif_err_set(err, r, "backward: %s", strerror(-r)) : 0;
}

static size_t bytes_of(const void *value)
{
	const struct aif_backward *b = value;

	return b->parts_len * sizeof(*b->parts) + b->names.bytes_cap;
}

int aif_backward_get(const struct aif_profile *p, const struct aif_selection *sel,
		     const struct aif_backward **ret, struct aif_err *err)
{
	static const struct aif_fact_kind kind = {.name = "backward",
						  .size = sizeof(struct aif_backward),
						  .make = make,
						  .finish = finish,
						  .bytes = bytes_of};
	const void *fact;
	int r = aif_facts_get(p, &kind, (struct aif_fact_of){.sel = sel}, &fact, err);

	*ret = fact;
	return r;
}

size_t aif_backward_parts(const struct aif_backward *b, const struct aif_attribution_row *row,
			  const struct aif_backward_part **ret)
{
	struct aif_backward_part key = {
		.process = row->process,
		.stack = row->stack,
		.kind = row->kind,
		.kernel = row->kernel,
	};
	size_t low = AIF_BISECT(mid, 0, b->parts_len, by_row(&b->parts[mid], &key) < 0), n = 0;

	while (low + n < b->parts_len && !by_row(&b->parts[low + n], &key))
		n++;
	*ret = b->parts_len ? b->parts + low : NULL;
	return n;
}

/* Returns the share of `value` for the first `part` of `whole`; rounding leaves sums exact. */
static uint64_t up_to(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)value * part / whole);
}

void aif_backward_sums(const struct aif_backward *b, const struct aif_attribution *a,
		       uint64_t ret_wall_ns[AIF_BACKWARD_HOWS])
{
	memset(ret_wall_ns, 0, AIF_BACKWARD_HOWS * sizeof(*ret_wall_ns));
	for (size_t i = 0; i < a->rows_len; i++) {
		const struct aif_backward_part *parts;
		size_t n = aif_backward_parts(b, &a->rows[i], &parts);
		uint64_t whole = 0, part = 0, taken = 0;

		for (size_t j = 0; j < n; j++)
			whole += parts[j].time;
		for (size_t j = 0; j < n; j++) {
			uint64_t to;

			part += parts[j].time;
			to = whole ? up_to(a->rows[i].wall_ns, part, whole) : 0;
			ret_wall_ns[parts[j].how] += to - taken;
			taken = to;
		}
	}
}

void aif_backward_split(const struct aif_attribution_row *row,
			const struct aif_backward_part *parts, size_t n,
			struct aif_attribution_row *ret)
{
	uint64_t time = 0, launches = 0, t = 0, l = 0;

	for (size_t i = 0; i < n; i++) {
		time += parts[i].time;
		launches += parts[i].launches;
	}
	for (size_t i = 0; i < n; i++) {
		/* Executions without times are split by number. */
		uint64_t t_end = t + (time ? parts[i].time : parts[i].launches),
			 l_end = l + parts[i].launches;
		uint64_t t_all = time ? time : launches, l_all = launches;

		ret[i] = *row;
		if (!l_all) /* nothing is known of any execution: all is the first one's */
			t_all = l_all = t_end = l_end = 1;
#define SHARE(field, from, to, all) \
	ret[i].field = up_to(row->field, to, all) - up_to(row->field, from, all)
		SHARE(wall_ns, t, t_end, t_all);
		SHARE(time_ns, t, t_end, t_all);
		SHARE(samples, t, t_end, t_all);
		SHARE(launches, l, l_end, l_all);
		SHARE(bytes, l, l_end, l_all);
#undef SHARE
		/* Squares of errors sum to that of the row's. */
		ret[i].error_ns = aif_u64_of((double)row->error_ns *
					     sqrt((double)(t_end - t) / (double)t_all));
		t = t_end;
		l = l_end;
	}
}
