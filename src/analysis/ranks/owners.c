/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/owning.h"

#include "profile/file.h"

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

/* Returns a number of the innermost Python function of a stack, 0: it has none. */
static uint64_t function_key(const struct aif_profile *p, uint32_t stack)
{
	for (; stack != AIF_NONE; stack = p->stacks[stack].parent) {
		uint32_t frame = p->stacks[stack].frame;
		const struct aif_frame_name *n;

		if (frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_PYTHON)
			continue;
		n = aif_profile_frame_name(p, frame);
		return n && n->name != AIF_NONE ? mix(n->name, n->file) : frame_key(p, frame);
	}
	return 0;
}

/* Sets the class of the newest owner: what a host did by its Python function, what a device did by its kernel, too. Waits of a host are
 * apart from what it does. */
static int classify(struct aif_rank_owners *o, const struct aif_wait_row *row, uint32_t name)
{
	bool waits = row->kind == AIF_WAIT_HOST && row->cause == AIF_IDLE_CAUSE_RANKS;
	uint64_t key = mix(mix(function_key(o->p, row->stack), name),
			   waits ? (uint64_t)AIF_WAIT_COMMUNICATION : (uint64_t)row->kind),
		 class;

	if (aif_grow(&o->class_of, &o->class_of_cap, o->owners_len + 1, sizeof(*o->class_of)) < 0)
		return -ENOMEM;
	if (!aif_map_get(&o->class_by_key, key, &class)) {
		class = o->classes++;
		if (aif_map_put(&o->class_by_key, key, class) < 0)
			return -ENOMEM;
	}
	o->class_of[o->owners_len] = (uint32_t) class;
	return 0;
}

uint32_t aif_rank_owner(struct aif_rank_owners *o, const struct aif_wait_row *row)
{
	uint32_t name = row->kernel == AIF_NONE ? AIF_NONE : o->p->kernels[row->kernel].name;
	uint64_t key = mix(mix(mix(stack_key(o, row->stack), name),
			       (uint64_t)row->kind << 8 | row->cause),
			   (uint64_t)row->exec_kind << 1 | row->is_before),
		 i;

	if (aif_map_get(&o->by_key, key, &i))
		return (uint32_t)i;
	if (aif_grow(&o->owners, &o->owners_cap, o->owners_len + 1, sizeof(*o->owners)) < 0 ||
	    o->owners_len >= AIF_RANK_MIX || aif_map_put(&o->by_key, key, o->owners_len) < 0 ||
	    classify(o, row, name) < 0)
		return AIF_NONE;
	o->owners[o->owners_len] = *row;
	return (uint32_t)o->owners_len++;
}

/* ---- segments --------------------------------------------------------------------------------- */

int aif_rank_put(struct aif_rank_segments *s, int64_t from, int64_t to, uint32_t owner)
{
	if (from >= to)
		return 0;
	if (owner == AIF_NONE || aif_grow(&s->at, &s->cap, s->len + 1, sizeof(*s->at)) < 0)
		return -ENOMEM;
	s->at[s->len++] = (struct aif_rank_segment){from, to, owner};
	return 0;
}

int aif_rank_fill_in(struct aif_rank_segments *s, const struct aif_rank_segments *more)
{
	struct aif_rank_segments sum = {0};
	size_t k = 0;
	int r = 0;

	for (size_t i = 0; i < more->len && !r; i++) {
		int64_t from = more->at[i].from;

		for (; k < s->len && s->at[k].to <= from && !r; k++)
			r = aif_rank_put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
		for (; k < s->len && s->at[k].from < more->at[i].to && !r; k++) {
			r = aif_rank_put(&sum, from, s->at[k].from, more->at[i].owner);
			if (!r && s->at[k].to > more->at[i].to) {
				/* This segment goes on behind: the next ones begin where it ends. */
				from = more->at[i].to;
				break;
			}
			if (!r)
				r = aif_rank_put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
			from = AIF_MAX(from, s->at[k].to);
		}
		if (!r)
			r = aif_rank_put(&sum, from, more->at[i].to, more->at[i].owner);
	}
	for (; k < s->len && !r; k++)
		r = aif_rank_put(&sum, s->at[k].from, s->at[k].to, s->at[k].owner);
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
		const struct aif_timeline_work *of = aif_timeline_work_of(idle->t, x);
		struct aif_wait_row row = {.kind = kind_of(class),
					   .stack = x->launch == AIF_NONE
							    ? AIF_NONE
							    : idle->t->launches[x->launch].stack,
					   .kernel = of->kernel,
					   .exec_kind = of->kind};

		if (idle->u->classes[idle->u->order[i]] != class || x->end <= end)
			continue;
		if (aif_rank_put(ret, AIF_MAX(end, x->start), x->end, aif_rank_owner(o, &row)) < 0)
			return -ENOMEM;
		end = x->end;
	}
	return 0;
}

/* ---- idle time -------------------------------------------------------------------------------- */

static int by_course(const void *a, const void *b)
{
	const struct aif_idle_course_part *x = *(const struct aif_idle_course_part *const *)a,
					  *y = *(const struct aif_idle_course_part *const *)b;

	if (x->course != y->course)
		return x->course < y->course ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

size_t aif_rank_idle_first(const struct aif_rank_idle_rows *rows, uint64_t course)
{
	return AIF_BISECT(mid, 0, rows->len, rows->parts[mid]->course < course);
}

/* Takes a row's key apart (aif_idle_row_key()). */
static struct aif_wait_row idle_owner(uint64_t key)
{
	return (struct aif_wait_row){.kind = AIF_WAIT_IDLE,
				     .cause = (enum aif_idle_cause)(key >> 32 & 0xf),
				     .is_before = key >> 36 & 1,
				     .stack = (uint32_t)key,
				     .kernel = AIF_NONE};
}

static uint32_t mix_owners(struct aif_rank_owners *o, const struct aif_rank_idle_rows *rows,
			   size_t first, size_t end, double sum)
{
	struct aif_rank_mix m = {.first = o->parts_len};

	if (aif_grow(&o->mixes, &o->mixes_cap, o->mixes_len + 1, sizeof(m)) < 0 ||
	    aif_grow(&o->parts, &o->parts_cap, o->parts_len + end - first, sizeof(*o->parts)) < 0)
		return AIF_NONE;
	for (size_t i = first; i < end; i++) {
		struct aif_wait_row row = idle_owner(rows->parts[i]->row);
		struct aif_rank_part part = {aif_rank_owner(o, &row), rows->parts[i]->ns / sum};

		if (part.owner == AIF_NONE)
			return AIF_NONE;
		o->parts[o->parts_len++] = part;
	}
	m.end = o->parts_len;
	o->mixes[o->mixes_len] = m;
	return AIF_RANK_MIX | (uint32_t)o->mixes_len++;
}

uint32_t aif_rank_course_owner(struct aif_rank_owners *o, const struct aif_rank_idle_rows *rows,
			       uint64_t course, size_t device)
{
	size_t first, end;
	double sum = 0;
	uint64_t known;
	uint32_t ret = AIF_NONE;

	if (aif_map_get(&o->mix_of, course, &known))
		return (uint32_t)known;
	first = end = aif_rank_idle_first(rows, course);
	for (; end < rows->len && rows->parts[end]->course == course; end++)
		sum += rows->parts[end]->ns;
	if (first == end || sum <= 0 || rows->parts[first]->row >> 37 != device)
		return AIF_NONE;
	if (end - first > 1) {
		ret = mix_owners(o, rows, first, end, sum);
	} else {
		struct aif_wait_row row = idle_owner(rows->parts[first]->row);

		ret = aif_rank_owner(o, &row);
	}
	return ret == AIF_NONE || aif_map_put(&o->mix_of, course, ret) < 0 ? AIF_NONE : ret;
}

static int by_from(const void *a, const void *b)
{
	const struct aif_rank_segment *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Divides idle times among devices. 0 or -ENOMEM. */
static int lanes_make(const struct aif_idle_part *idle, struct aif_rank_idle_rows *rows)
{
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time time;

	rows->lanes = calloc(idle->u->len + 1, sizeof(*rows->lanes));
	if (!rows->lanes)
		return -ENOMEM;
	while (aif_idle_course_next(&idle->course, &times, &time)) {
		size_t first = aif_rank_idle_first(rows, time.course);
		const struct aif_idle_course_part *part =
			first < rows->len ? rows->parts[first] : NULL;
		struct aif_rank_idle_times *lane;

		if (!part || part->course != time.course || !(part->ns > 0) ||
		    part->row >> 37 >= idle->u->len)
			continue;
		lane = &rows->lanes[part->row >> 37];
		if (aif_grow(&lane->at, &lane->cap, lane->len + 1, sizeof(*lane->at)) < 0)
			return -ENOMEM;
		lane->at[lane->len++] = time;
	}
	return 0;
}

static void idle_rows_finish(const struct aif_idle_part *idle, struct aif_rank_idle_rows *rows)
{
	for (size_t i = 0; rows->lanes && i < idle->u->len; i++)
		free(rows->lanes[i].at);
	free(rows->lanes);
	free(rows->parts);
}

/* Idle time of a device, where nothing else is: times may overlap by what rounding leaves. */
static int idle_segments(struct aif_rank_owners *o, const struct aif_rank_idle_rows *rows,
			 size_t device, struct aif_rank_segments *ret)
{
	const struct aif_rank_idle_times *times = &rows->lanes[device];
	int64_t end = INT64_MIN;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < times->len && !r; i++)
		r = aif_rank_put(ret, times->at[i].from, times->at[i].to,
				 aif_rank_course_owner(o, rows, times->at[i].course, device));
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

/* `calls` are those of all runtimes; a device whose calls are not known has no .critical: nor does it say when its host waited. */
static int rank_segments(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			 const struct aif_rank_idle_rows *rows, const struct aif_host_calls *calls,
			 size_t lane, struct aif_rank_did *ret)
{
	static const uint8_t classes[] = {AIF_WORK_COMPUTE, AIF_WORK_MEMORY,
					  AIF_WORK_COMMUNICATION};
	const struct aif_device_utilization *d = &idle->u->devices[lane];
	struct aif_rank_segments idle_time = {0};
	int r = idle_segments(o, rows, lane, &idle_time);

	for (size_t c = 0; c < AIF_ARRAY_LEN(classes) && !r; c++) {
		struct aif_rank_segments more = {0};

		r = class_segments(o, idle, d, classes[c], &more);
		if (!r)
			r = aif_rank_fill_in(&ret->device, &more);
		free(more.at);
	}
	if (!r)
		r = aif_rank_fill_in(&ret->device, &idle_time);
	if (!r && calls->len && aif_host_calls_recorded(o->p, d->device))
		r = aif_rank_critical_make(o, idle, rows, calls, lane, &idle_time, ret);
	free(idle_time.at);
	return r;
}

static size_t first_behind(const struct aif_rank_segments *s, int64_t at)
{
	return AIF_BISECT(mid, 0, s->len, s->at[mid].to <= at);
}

/* Calls take(arg, owner, ns) for the owner of `ns` of a segment, or for each of a mix. */
static void take_owner(const struct aif_rank_owners *o, uint32_t owner, double ns,
		       void (*take)(void *arg, uint32_t owner, double ns), void *arg)
{
	const struct aif_rank_mix *m;

	if (!(owner & AIF_RANK_MIX)) {
		take(arg, owner, ns);
		return;
	}
	m = &o->mixes[owner & ~AIF_RANK_MIX];
	for (size_t k = m->first; k < m->end; k++)
		take(arg, o->parts[k].owner, ns * o->parts[k].share);
}

/* Sums are made from so many segments on, and of each so many: as many as there are owners, so that sums take less memory than segments. */
#define LEAST_STRIDE 256
/* A part of a ns, which is what differences of sums are off by. */
#define NOTHING_NS 0.01

static void add_to_sum(void *arg, uint32_t owner, double ns)
{
	((double *)arg)[owner] += ns;
}

int aif_rank_segments_sum(const struct aif_rank_owners *o, struct aif_rank_segments *s)
{
	size_t n = o->owners_len, rows;

	s->owners = n;
	s->stride = AIF_MAX(n, (size_t)LEAST_STRIDE);
	rows = s->len / s->stride + 1;
	if (rows < 4)
		return 0;
	s->sums = calloc(rows * n + 1, sizeof(*s->sums));
	if (!s->sums)
		return -ENOMEM;
	for (size_t row = 1; row < rows; row++) {
		memcpy(&s->sums[row * n], &s->sums[(row - 1) * n], n * sizeof(*s->sums));
		for (size_t i = (row - 1) * s->stride; i < row * s->stride; i++)
			take_owner(o, s->at[i].owner, (double)(s->at[i].to - s->at[i].from),
				   add_to_sum, &s->sums[row * n]);
	}
	return 0;
}

/* Takes segments [first, end), as far as they lie in [from, to). */
static void take_each(const struct aif_rank_owners *o, const struct aif_rank_segments *s,
		      size_t first, size_t end, int64_t from, int64_t to,
		      void (*take)(void *arg, uint32_t owner, double ns), void *arg)
{
	for (size_t i = first; i < end; i++) {
		int64_t begin = AIF_MAX(s->at[i].from, from), until = AIF_MIN(s->at[i].to, to);

		if (begin < until)
			take_owner(o, s->at[i].owner, (double)(until - begin), take, arg);
	}
}

static void take_in(const struct aif_rank_owners *o, const struct aif_rank_segments *s,
		    int64_t from, int64_t to, void (*take)(void *arg, uint32_t owner, double ns),
		    void *arg)
{
	size_t first = from < to ? first_behind(s, from) : s->len;
	size_t end = AIF_BISECT(mid, first, s->len, s->at[mid].from < to), low, high;

	if (!s->sums || end - first < 3 * s->stride) {
		take_each(o, s, first, end, from, to, take, arg);
		return;
	}
	/* The first and the last segment may lie in the span in part. */
	low = first / s->stride + 1;
	high = (end - 1) / s->stride;
	take_each(o, s, first, low * s->stride, from, to, take, arg);
	for (size_t k = 0; k < s->owners; k++) {
		double ns = s->sums[high * s->owners + k] - s->sums[low * s->owners + k];

		if (ns > NOTHING_NS)
			take(arg, (uint32_t)k, ns);
	}
	take_each(o, s, high * s->stride, end, from, to, take, arg);
}

void aif_rank_owners_in(const struct aif_rank_owners *o, uint32_t rank, int64_t from, int64_t to,
			void (*take)(void *arg, uint32_t owner, double ns), void *arg)
{
	const struct aif_rank_did *did = &o->ranks[rank];
	/* Finds the last launch that was awaited by what began before. */
	size_t lo = AIF_BISECT(mid, 0, did->awaited_len, did->awaited[mid].start <= to);
	int64_t until;

	until = lo ? AIF_CLAMP(did->awaited[lo - 1].launch, from, to) : from;
	take_in(o, &did->critical, from, until, take, arg);
	take_in(o, &did->device, until, to, take, arg);
}

int aif_rank_owners_make(const struct aif_profile *p, const struct aif_ranks *r,
			 const struct aif_idle_part *idle, struct aif_rank_owners *ret)
{
	struct aif_rank_idle_rows rows = {.len = idle->course.parts_len};
	struct aif_host_calls calls = {0};
	int e = *aif_profile_meta(p, "calls") ? aif_host_calls_read(p, NULL, &calls) : 0;

	*ret = (struct aif_rank_owners){.p = p,
					.stacks = calloc(p->stacks_len + 1, sizeof(*ret->stacks)),
					.ranks = calloc(r->ranks_len + 1, sizeof(*ret->ranks)),
					.ranks_len = r->ranks_len};
	rows.parts = calloc(rows.len + 1, sizeof(const struct aif_idle_course_part *));
	if (!e && (!ret->stacks || !ret->ranks || !rows.parts))
		e = -ENOMEM;
	for (size_t i = 0; i < rows.len && !e; i++)
		rows.parts[i] = &idle->course.parts[i];
	if (!e && rows.len)
		qsort(rows.parts, rows.len, sizeof(const struct aif_idle_course_part *), by_course);
	if (!e)
		e = lanes_make(idle, &rows);
	for (size_t i = 0; i < r->ranks_len && !e; i++)
		if (r->ranks[i].lane != AIF_RANK_NO_LANE)
			e = rank_segments(ret, idle, &rows, &calls, r->ranks[i].lane,
					  &ret->ranks[i]);
	if (!e)
		e = aif_rank_host_owners_make(ret, r, &calls);
	for (size_t i = 0; i < r->ranks_len && !e; i++) {
		e = aif_rank_segments_sum(ret, &ret->ranks[i].device);
		if (!e)
			e = aif_rank_segments_sum(ret, &ret->ranks[i].critical);
	}
	aif_host_calls_finish(&calls);
	idle_rows_finish(idle, &rows);
	return e;
}

void aif_rank_owners_finish(struct aif_rank_owners *o)
{
	for (size_t i = 0; i < o->ranks_len && o->ranks; i++) {
		free(o->ranks[i].device.at);
		free(o->ranks[i].critical.at);
		free(o->ranks[i].device.sums);
		free(o->ranks[i].critical.sums);
		free(o->ranks[i].awaited);
	}
	free(o->ranks);
	free(o->stacks);
	free(o->owners);
	free(o->class_of);
	free(o->mixes);
	free(o->parts);
	aif_map_finish(&o->class_by_key);
	aif_map_finish(&o->mix_of);
	aif_map_finish(&o->by_key);
	*o = (struct aif_rank_owners){0};
}
