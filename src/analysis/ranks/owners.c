/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/owners.h"

#include <errno.h>
#include <string.h>

/* ---- owners ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	return aif_mix64(h ^ aif_mix64(v + UINT64_C(0x9e3779b97f4a7c15)));
}

/* Returns a number of a frame that those with the same name, file and line share, of whatever process. */
static uint64_t frame_key(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame_name *n =
		frame == AIF_NONE ? NULL : aif_profile_frame_name(p, frame);

	if (frame == AIF_NONE)
		return 1;
	if (n && n->name != AIF_NONE)
		return mix(mix(n->name, n->file), n->line);
	return mix(mix(p->frames[frame].kind, p->frames[frame].module), p->frames[frame].address);
}

/* Callers have smaller numbers than stacks, so that those that are not known yet are found on the way up. */
static uint64_t stack_key(struct aif_rank_owners *o, uint32_t stack)
{
	const struct aif_profile *p = o->p;
	uint32_t at = stack;
	uint64_t key = 2;

	if (stack == AIF_NONE)
		return 1;
	if (o->stacks[stack])
		return o->stacks[stack];
	/* From the inside outwards, without recursion: a stack's number is of its frames in that order. */
	for (; at != AIF_NONE; at = p->stacks[at].parent)
		key = mix(key, frame_key(p, p->stacks[at].frame));
	return o->stacks[stack] = key | 1;
}

static uint32_t owner_of(struct aif_rank_owners *o, const struct aif_wait_row *row)
{
	uint32_t name = row->kernel == AIF_NONE ? AIF_NONE : o->p->kernels[row->kernel].name;
	uint64_t key = mix(mix(mix(stack_key(o, row->stack), name),
			       (uint64_t)row->kind << 8 | row->cause),
			   (uint64_t)row->exec_kind << 1 | row->is_before),
		 i;

	if (aif_map_get(&o->by_key, key, &i))
		return (uint32_t)i;
	if (aif_grow(&o->owners, &o->owners_cap, o->owners_len + 1, sizeof(*o->owners)) < 0 ||
	    aif_map_put(&o->by_key, key, o->owners_len) < 0)
		return AIF_NONE;
	o->owners[o->owners_len] = *row;
	return (uint32_t)o->owners_len++;
}

/* ---- segments --------------------------------------------------------------------------------- */

static int put(struct aif_rank_segments *s, int64_t from, int64_t to, uint32_t owner)
{
	if (from >= to)
		return 0;
	if (owner == AIF_NONE || aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0)
		return -ENOMEM;
	s->at[s->len++] = (struct aif_rank_segment){from, to, owner};
	return 0;
}

/* Adds what of `more` lies where `s` has nothing. Both are disjoint and in order, and so is what becomes of `s`. */
static int fill_in(struct aif_rank_segments *s, const struct aif_rank_segments *more)
{
	struct aif_rank_segments sum = {0};
	size_t k = 0;
	int r = 0;

	for (size_t i = 0; i < more->len && !r; i++) {
		int64_t from = more->at[i].from;

		for (; k < s->len && s->at[k].to <= from && !r; k++)
			r = put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
		for (; k < s->len && s->at[k].from < more->at[i].to && !r; k++) {
			r = put(&sum, from, s->at[k].from, more->at[i].owner);
			if (!r && s->at[k].to > more->at[i].to) {
				/* This segment goes on behind: the next ones begin where it ends. */
				from = more->at[i].to;
				break;
			}
			if (!r)
				r = put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
			from = AIF_MAX(from, s->at[k].to);
		}
		if (!r)
			r = put(&sum, from, more->at[i].to, more->at[i].owner);
	}
	for (; k < s->len && !r; k++)
		r = put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
	free(s->at);
	*s = sum;
	return r;
}

static enum aif_wait_kind kind_of(uint8_t class)
{
	return class == AIF_WORK_COMPUTE         ? AIF_WAIT_KERNEL
	       : class == AIF_WORK_COMMUNICATION ? AIF_WAIT_COMMUNICATION
						 : AIF_WAIT_COPY;
}

/* Makes what a rank's device did of one class: where several run at once, the first to start. */
static int class_segments(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			  const struct aif_device_utilization *d, uint8_t class,
			  struct aif_rank_segments *ret)
{
	int64_t end = INT64_MIN;

	for (size_t i = d->first; i < d->end; i++) {
		const struct aif_timeline_exec *x = &idle->t->execs[idle->u->order[i]];
		struct aif_wait_row row = {.kind = kind_of(class),
					   .stack = x->launch == AIF_NONE
							    ? AIF_NONE
							    : idle->t->launches[x->launch].stack,
					   .kernel = x->kernel,
					   .exec_kind = x->kind};

		if (idle->u->classes[idle->u->order[i]] != class || x->end <= end)
			continue;
		if (put(ret, AIF_MAX(end, x->start), x->end, owner_of(o, &row)) < 0)
			return -ENOMEM;
		end = x->end;
	}
	return 0;
}

/* ---- idle time -------------------------------------------------------------------------------- */

struct idle_rows {                                 /* rows of a course */
	const struct aif_idle_course_part **parts; /* by course */
	size_t len;
};

static int by_course(const void *a, const void *b)
{
	const struct aif_idle_course_part *x = *(const struct aif_idle_course_part *const *)a,
					  *y = *(const struct aif_idle_course_part *const *)b;

	if (x->course != y->course)
		return x->course < y->course ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static size_t first_of(const struct idle_rows *rows, uint64_t course)
{
	size_t lo = 0, hi = rows->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows->parts[mid]->course < course)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A row's key, taken apart (aif_idle_row_key()). */
static struct aif_wait_row idle_owner(uint64_t key)
{
	return (struct aif_wait_row){.kind = AIF_WAIT_IDLE,
				     .cause = (enum aif_idle_cause)(key >> 32 & 0xf),
				     .is_before = key >> 36 & 1,
				     .stack = (uint32_t)key,
				     .kernel = AIF_NONE};
}

/* Shares a time out among the rows of its course, one behind the other. */
static int share_time(struct aif_rank_owners *o, const struct idle_rows *rows,
		      const struct aif_idle_time *time, size_t device,
		      struct aif_rank_segments *ret)
{
	size_t first = first_of(rows, time->course), end = first;
	double sum = 0, until = 0, length = (double)(time->to - time->from);
	int64_t from = time->from;
	int r = 0;

	for (; end < rows->len && rows->parts[end]->course == time->course; end++)
		sum += rows->parts[end]->ns;
	if (first == end || sum <= 0 || rows->parts[first]->row >> 37 != device)
		return 0;
	for (size_t i = first; i < end && !r; i++) {
		struct aif_wait_row row = idle_owner(rows->parts[i]->row);
		int64_t to;

		until += rows->parts[i]->ns;
		to = i + 1 == end ? time->to
				  : AIF_MIN(time->to, time->from + (int64_t)(length * until / sum));
		r = put(ret, from, to, owner_of(o, &row));
		from = AIF_MAX(from, to);
	}
	return r;
}

static int by_from(const void *a, const void *b)
{
	const struct aif_rank_segment *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Idle time of a device, where nothing else is: times may overlap by what rounding leaves. */
static int idle_segments(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			 const struct idle_rows *rows, size_t device, struct aif_rank_segments *ret)
{
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time time;
	int64_t end = INT64_MIN;
	size_t n = 0;
	int r = 0;

	while (!r && aif_idle_course_next(&idle->course, &times, &time))
		r = share_time(o, rows, &time, device, ret);
	if (ret->len)
		qsort(ret->at, ret->len, sizeof(*ret->at), by_from);
	for (size_t i = 0; i < ret->len; i++) {
		struct aif_rank_segment s = ret->at[i];

		s.from = AIF_MAX(s.from, end);
		if (s.from >= s.to)
			continue;
		end = s.to;
		ret->at[n++] = s;
	}
	ret->len = n;
	return r;
}

static int rank_segments(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			 const struct idle_rows *rows, size_t device, struct aif_rank_segments *ret)
{
	static const uint8_t classes[] = {AIF_WORK_COMPUTE, AIF_WORK_MEMORY,
					  AIF_WORK_COMMUNICATION};
	const struct aif_device_utilization *d = &idle->u->devices[device];
	int r = 0;

	for (size_t c = 0; c <= AIF_ARRAY_LEN(classes) && !r; c++) {
		struct aif_rank_segments more = {0};

		if (c < AIF_ARRAY_LEN(classes))
			r = class_segments(o, idle, d, classes[c], &more);
		else
			r = idle_segments(o, idle, rows, device, &more);
		if (!r)
			r = fill_in(ret, &more);
		free(more.at);
	}
	return r;
}

int aif_rank_owners_make(const struct aif_profile *p, const struct aif_ranks *r,
			 const struct aif_idle_part *idle, struct aif_rank_owners *ret)
{
	struct idle_rows rows = {.len = idle->course.parts_len};
	int e = 0;

	*ret = (struct aif_rank_owners){.p = p,
					.stacks = calloc(p->stacks_len + 1, sizeof(*ret->stacks)),
					.ranks = calloc(r->ranks_len + 1, sizeof(*ret->ranks)),
					.ranks_len = r->ranks_len};
	rows.parts = calloc(rows.len + 1, sizeof(const struct aif_idle_course_part *));
	if (!ret->stacks || !ret->ranks || !rows.parts)
		e = -ENOMEM;
	for (size_t i = 0; i < rows.len && !e; i++)
		rows.parts[i] = &idle->course.parts[i];
	if (!e && rows.len)
		qsort(rows.parts, rows.len, sizeof(const struct aif_idle_course_part *), by_course);
	for (size_t i = 0; i < r->ranks_len && !e; i++)
		e = rank_segments(ret, idle, &rows, r->ranks[i].lane, &ret->ranks[i]);
	free(rows.parts);
	return e;
}

void aif_rank_owners_finish(struct aif_rank_owners *o)
{
	for (size_t i = 0; i < o->ranks_len && o->ranks; i++)
		free(o->ranks[i].at);
	free(o->ranks);
	free(o->stacks);
	free(o->owners);
	aif_map_finish(&o->by_key);
	*o = (struct aif_rank_owners){0};
}
