/* SPDX-License-Identifier: Apache-2.0 */
#include "export/events.h"

#include "analysis/cpu_totals.h"
#include "analysis/graph_nodes.h"
#include "names/filter.h"
#include "profile/file.h"
#include "analysis/launch_index.h"
#include "analysis/facts.h"
#include "analysis/time.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct loading {
	struct aif_events *e;
	const struct aif_export *x;
	const struct aif_timeline *timeline;
	struct aif_launch_index by_launch;
	struct aif_graph_nodes nodes;
	struct aif_regex kernel;
	uint8_t *kernel_asked;                     /* by kernel; 0: not known yet, 1 no, 2 yes */
	uint8_t kind_asked[AIF_LAUNCH_KIND_COUNT]; /* of what is no kernel */
};

static bool is_kernel_asked(struct loading *l, uint32_t kind, uint32_t kernel)
{
	uint8_t *known = kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE ? &l->kernel_asked[kernel]
			 : kind < AIF_LAUNCH_KIND_COUNT                  ? &l->kind_asked[kind]
									 : NULL;

	if (!l->kernel.is_set)
		return true;
	if (known && *known)
		return *known == 2;
	if (!known)
		return aif_filter_kernel(&l->kernel, l->x->names, kind, kernel);
	*known = aif_filter_kernel(&l->kernel, l->x->names, kind, kernel) ? 2 : 1;
	return *known == 2;
}

static bool is_row_asked(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

/* Does [from, to) touch the time that was asked for? */
static bool is_time_asked(const struct aif_selection *w, int64_t from, int64_t to)
{
	return to >= (int64_t)AIF_MIN(w->from_ns, INT64_MAX) &&
	       (!w->to_ns || from < (int64_t)AIF_MIN(w->to_ns, INT64_MAX));
}

static int launch_add(struct loading *l, const struct aif_launch_row *row)
{
	const struct aif_selection *w = &l->x->sel;
	const struct aif_profile *p = l->x->profile;
	struct aif_events *e = l->e;
	int64_t at = aif_time_clamp(
		aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, AIF_NONE, row->time, NULL));
	uint32_t process = row->thread == AIF_NONE ? AIF_NONE : p->threads[row->thread].process;

	if (e->launches_len == AIF_NONE)
		return -EOVERFLOW;
	if (aif_grow(&e->launches, &e->launches_cap, e->launches_len + 1, sizeof(*e->launches)) < 0)
		return -ENOMEM;
	e->launches[e->launches_len++] = (struct aif_event_launch){
		.time = at,
		.first_start = INT64_MAX,
		.launch = row->launch,
		.bytes = row->bytes,
		.thread = row->thread,
		.kind = row->kind,
		.kernel = row->kernel,
		.device = row->device,
		.stream = row->stream,
		.stack = row->stack,
		.shape = row->shape,
		.is_kept = aif_selection_keeps_work(w, row->thread, at) &&
			   is_row_asked(w->processes, process) &&
			   is_row_asked(w->devices, row->device) && is_time_asked(w, at, at) &&
			   is_kernel_asked(l, row->kind, row->kernel),
	};
	return 0;
}

static int launches_add(void *arg, const struct aif_launch_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = launch_add(arg, &rows[i]);
	return r;
}

/* ---- order --------------------------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
	const struct aif_event_launch *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->time, y->time)
	       ?: AIF_ORDER(x->launch, y->launch);
}

/* The longer first, which then nests what begins with it. */
static int by_track(const void *a, const void *b)
{
	const struct aif_event_exec *x = a, *y = b;

	return AIF_ORDER(x->track, y->track) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->dur, x->dur) ?: AIF_ORDER(x->node, y->node);
}

/* Files are nearly in order, often quite. */
static void sort(void *rows, size_t n, size_t size, int (*order)(const void *, const void *))
{
	const char *at = rows;

	for (size_t i = 1; i < n; i++)
		if (order(at + (i - 1) * size, at + i * size) > 0) {
			qsort(rows, n, size, order);
			return;
		}
}

static int launches_index(struct loading *l)
{
	struct aif_events *e = l->e;
	int r;

	sort(e->launches, e->launches_len, sizeof(*e->launches), by_thread);
	r = AIF_LAUNCH_INDEX_INIT(&l->by_launch, e->launches, e->launches_len);
	for (size_t i = 0; i < e->launches_len && !r; i++)
		r = aif_launch_index_put(&l->by_launch, e->launches[i].launch, (uint32_t)i);
	return r;
}

/* ---- executions ---------------------------------------------------------------------------------- */

/* The track of lane 0: the rows of a stream come together there first. */
static int stream_track(struct loading *l, struct aif_map *tracks, const struct aif_exec_row *row,
			uint32_t *ret)
{
	struct aif_events *e = l->e;
	uint64_t key = aif_mix64(((uint64_t)row->process << 32 | row->stream) ^
				 aif_mix64((uint64_t)row->device + 1)),
		 i;

	/* Streams are of one process and device each; what says otherwise is told apart as far as 64 bits do. */
	if (aif_map_get(tracks, key, &i)) {
		*ret = (uint32_t)i;
		return 0;
	}
	if (aif_grow(&e->tracks, &e->tracks_cap, e->tracks_len + 1, sizeof(*e->tracks)) < 0 ||
	    aif_map_put(tracks, key, e->tracks_len) < 0)
		return -ENOMEM;
	*ret = (uint32_t)e->tracks_len;
	e->tracks[e->tracks_len++] = (struct aif_event_track){
		.process = row->process, .device = row->device, .stream = row->stream};
	return 0;
}

struct execs_loading {
	struct loading *l;
	struct aif_map tracks;
};

static int exec_add(struct execs_loading *el, const struct aif_exec_row *row)
{
	struct loading *l = el->l;
	const struct aif_selection *w = &l->x->sel;
	struct aif_events *e = l->e;
	struct aif_event_launch *by = NULL;
	struct aif_event_exec *to;
	int64_t start, end;
	uint32_t at = aif_launch_index_get(&l->by_launch, row->launch);

	if (at != AIF_NONE)
		by = &e->launches[at];
	start = aif_time_clamp(aif_timeline_map_after(l->timeline, row->clock, row->process,
						      row->start, by ? by->time : 0, NULL));
	end = aif_time_clamp(aif_timeline_map_after(l->timeline, row->clock, row->process, row->end,
						    start, NULL));
	end = AIF_MAX(end, start); /* a damaged file's */
	if (!is_row_asked(w->processes, row->process) || !is_row_asked(w->devices, row->device) ||
	    !aif_selection_keeps_exec(w, by ? by->thread : AIF_NONE, by ? by->time : 0,
				      row->process, row->graph, row->node) ||
	    !is_time_asked(w, start, end) || !is_kernel_asked(l, row->kind, row->kernel))
		return 0;
	if (aif_grow(&e->execs, &e->execs_cap, e->execs_len + 1, sizeof(*to)) < 0)
		return -ENOMEM;
	to = &e->execs[e->execs_len++];
	*to = (struct aif_event_exec){
		.start = start,
		.dur = (uint64_t)end - (uint64_t)start,
		.launch = row->launch,
		.bytes = row->bytes ? row->bytes
			 : by       ? by->bytes
				    : 0,
		.by = at,
		.kind = row->kind,
		.kernel = row->kernel,
		.graph = row->graph,
		.node = row->node,
		.registers = row->registers,
		.shared_bytes = row->shared_bytes,
		.capture = AIF_NONE,
	};
	if (by && row->graph && l->nodes.len) {
		const struct aif_graph_node *made =
			aif_graph_nodes_find(&l->nodes, row->process, row->graph, row->node,
					     e->p->start_ns + (uint64_t)by->time);

		to->capture = made ? made->stack : AIF_NONE;
	}
	if (by)
		by->first_start = AIF_MIN(by->first_start, start);
	e->start_ns = AIF_MIN(e->start_ns, start);
	e->end_ns = AIF_MAX(e->end_ns, end);
	return stream_track(l, &el->tracks, row, &to->track);
}

static int execs_add(void *arg, const struct aif_exec_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = exec_add(arg, &rows[i]);
	return r;
}

/* ---- lanes --------------------------------------------------------------------------------------- */

/* A lane is busy until some time, or free; both in a heap whose top is the earliest or the lowest lane. */
struct lane {
	int64_t key; /* busy: until; free: the lane again */
	uint32_t lane;
};
struct heap {
	struct lane *at;
	size_t len, cap;
};

static bool is_before(const struct lane *a, const struct lane *b)
{
	return a->key != b->key ? a->key < b->key : a->lane < b->lane;
}

static int heap_push(struct heap *h, struct lane v)
{
	size_t i = h->len, up;

	if (aif_grow(&h->at, &h->cap, h->len + 1, sizeof(*h->at)) < 0)
		return -ENOMEM;
	h->len++;
	for (; i && is_before(&v, &h->at[up = (i - 1) / 2]); i = up)
		h->at[i] = h->at[up];
	h->at[i] = v;
	return 0;
}

static struct lane heap_pop(struct heap *h)
{
	struct lane top = h->at[0], v = h->at[--h->len];
	size_t i = 0, down;

	for (; (down = 2 * i + 1) < h->len; i = down) {
		if (down + 1 < h->len && is_before(&h->at[down + 1], &h->at[down]))
			down++;
		if (!is_before(&h->at[down], &v))
			break;
		h->at[i] = h->at[down];
	}
	if (h->len)
		h->at[i] = v;
	return top;
}

/* Gives each of the executions of a stream, which are in order, the lowest lane that is free. *ret: how many. */
static int lanes_give(struct aif_event_exec *x, size_t n, uint32_t *lane_of, uint32_t *ret)
{
	struct heap busy = {0}, idle = {0};
	uint32_t lanes = 0;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		uint32_t lane = lanes;

		while (busy.len && busy.at[0].key <= x[i].start && !r) {
			lane = heap_pop(&busy).lane;
			r = heap_push(&idle, (struct lane){lane, lane});
		}
		lane = idle.len ? heap_pop(&idle).lane : lanes++;
		lane_of[i] = lane;
		if (!r)
			r = heap_push(&busy, (struct lane){x[i].start + (int64_t)x[i].dur, lane});
	}
	free(busy.at);
	free(idle.at);
	*ret = lanes;
	return r;
}

/* Splits a stream into tracks of executions that do not overlap, and sets .track of its
 * executions. */
static int stream_split(struct aif_events *e, uint32_t stream_track_id,
			struct aif_event_track **tracks, size_t *len, size_t *cap, size_t first,
			size_t n)
{
	uint32_t *lane_of = malloc(n * sizeof(*lane_of)), lanes = 0;
	int r = lane_of ? lanes_give(e->execs + first, n, lane_of, &lanes) : -ENOMEM;

	if (!r)
		r = aif_grow(tracks, cap, *len + lanes, sizeof(**tracks));
	for (size_t i = 0; i < n && !r; i++)
		e->execs[first + i].track = (uint32_t)*len + lane_of[i];
	for (uint32_t i = 0; i < lanes && !r; i++) {
		(*tracks)[*len] = e->tracks[stream_track_id];
		(*tracks)[(*len)++].lane = i;
	}
	free(lane_of);
	return r;
}

static int by_device(const void *a, const void *b)
{
	const struct aif_event_track *x = a, *y = b;
	const uint32_t k[2][3] = {{x->device, x->process, x->stream},
				  {y->device, y->process, y->stream}};

	for (unsigned i = 0; i < 3; i++)
		if (k[0][i] != k[1][i])
			return k[0][i] < k[1][i] ? -1 : 1;
	return 0;
}

/* Numbers the streams by device before their executions are put in order by them. */
static int streams_order(struct aif_events *e)
{
	uint32_t *number = malloc((e->tracks_len + 1) * sizeof(*number));

	if (!number)
		return -ENOMEM;
	for (size_t i = 0; i < e->tracks_len; i++)
		e->tracks[i].first = i; /* its number until now */
	if (e->tracks_len)
		qsort(e->tracks, e->tracks_len, sizeof(*e->tracks), by_device);
	for (size_t i = 0; i < e->tracks_len; i++)
		number[e->tracks[i].first] = (uint32_t)i;
	for (size_t i = 0; i < e->execs_len; i++)
		e->execs[i].track = number[e->execs[i].track];
	free(number);
	sort(e->execs, e->execs_len, sizeof(*e->execs), by_track);
	return 0;
}

/* Tracks are in the order of devices, then processes. */
static void tracks_look_around(struct aif_events *e)
{
	for (size_t i = 0, end; i < e->tracks_len; i = end) {
		struct aif_event_track *t = e->tracks;
		bool is_of_several;

		for (end = i + 1; end < e->tracks_len && t[end].device == t[i].device;)
			end++;
		is_of_several = t[i].process != t[end - 1].process;
		for (size_t k = i; k < end; k++)
			t[k].is_of_several = is_of_several;
	}
}

static int tracks_make(struct aif_events *e)
{
	struct aif_event_track *tracks = NULL;
	size_t len = 0, cap = 0, i = 0;
	int r = streams_order(e);

	while (i < e->execs_len && !r) {
		uint32_t stream = e->execs[i].track;
		size_t first = i;

		while (i < e->execs_len && e->execs[i].track == stream)
			i++;
		r = stream_split(e, stream, &tracks, &len, &cap, first, i - first);
	}
	free(e->tracks);
	e->tracks = tracks;
	e->tracks_len = len;
	e->tracks_cap = cap;
	if (r)
		return r;
	sort(e->execs, e->execs_len, sizeof(*e->execs), by_track);
	for (i = 0; i < e->execs_len; i++) {
		struct aif_event_track *t = &tracks[e->execs[i].track];

		if (!t->len++)
			t->first = i;
	}
	tracks_look_around(e);
	return 0;
}

/* ---- gaps ---------------------------------------------------------------------------------------- */

/* Takes the profile's gaps, cut to the time and the processes that were asked for. */
static int gaps_take(struct aif_events *e, const struct aif_selection *w)
{
	uint64_t to = w->to_ns ? w->to_ns : (uint64_t)AIF_TIME_MAX;
	size_t n = 0;
	int r = aif_gaps_init_with_off(&e->gaps, e->p);

	for (size_t i = 0; i < e->gaps.len; i++) {
		struct aif_gap g = e->gaps.at[i];

		g.start = AIF_MAX(g.start, w->from_ns);
		g.end = AIF_MIN(g.end, AIF_MIN(to, (uint64_t)AIF_TIME_MAX));
		if (g.start < g.end && is_row_asked(w->processes, g.process))
			e->gaps.at[n++] = g;
	}
	e->gaps.len = n;
	return r;
}

const struct aif_gap *aif_event_gaps(const struct aif_events *e, uint32_t process, size_t *ret_len)
{
	const struct aif_gap *at = e->gaps.at;
	size_t lo = AIF_BISECT(mid, 0, e->gaps.len, at[mid].process < process), end;

	for (end = lo; end < e->gaps.len && at[end].process == process;)
		end++;
	*ret_len = end - lo;
	return end > lo ? at + lo : NULL;
}

/* A device's time line is as long as what is shown of it. */
static void gaps_bound(struct aif_events *e)
{
	for (size_t i = 0; i < e->tracks_len; i++) {
		const struct aif_gap *gaps;
		size_t n;

		if (!aif_event_track_has_gaps(e, i))
			continue;
		gaps = aif_event_gaps(e, e->tracks[i].process, &n);
		if (n)
			e->end_ns = AIF_MAX(e->end_ns, (int64_t)gaps[n - 1].end);
	}
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int load(struct loading *l)
{
	struct execs_loading el = {.l = l};
	const struct aif_profile *p = l->x->profile;
	struct aif_events *e = l->e;
	uint64_t bad[2] = {0};
	int r = aif_timeline_get(p, &l->timeline);

	if (!r)
		r = aif_profile_launches(p, launches_add, l, &bad[0]);
	if (!r)
		r = launches_index(l);
	if (!r)
		r = aif_graph_nodes_init(&l->nodes, p);
	if (!r)
		r = aif_profile_execs(p, execs_add, &el, &bad[1]);
	aif_export_damaged(l->x, bad[0] + bad[1]);
	aif_map_finish(&el.tracks);
	if (r)
		return r;
	for (size_t i = 0; i < e->launches_len; i++) {
		struct aif_event_launch *by = &e->launches[i];

		/* A graph's launch has no kernel of its own: it is asked for by what it ran. */
		by->is_kept |= l->kernel.is_set && by->first_start != INT64_MAX;
		if (by->is_kept) {
			e->start_ns = AIF_MIN(e->start_ns, by->time);
			e->end_ns = AIF_MAX(e->end_ns, by->time);
		}
	}
	r = tracks_make(e);
	if (!r)
		r = gaps_take(e, &l->x->sel);
	if (!r)
		gaps_bound(e);
	return r;
}

int aif_events_init(struct aif_events *e, const struct aif_export *x, struct aif_err *err)
{
	struct loading l = {.e = e, .x = x};
	int r;

	*e = (struct aif_events){.p = x->profile};
	r = aif_regex_init(&l.kernel, "--kernel", x->kernel, err);
	if (r < 0)
		return r;
	l.kernel_asked = calloc(x->profile->kernels_len + 1, 1);
	r = l.kernel_asked ? load(&l) : -ENOMEM;
	aif_facts_put(l.timeline);
	aif_graph_nodes_finish(&l.nodes);
	aif_launch_index_finish(&l.by_launch);
	aif_regex_finish(&l.kernel);
	free(l.kernel_asked);
	return r < 0 ? aif_err_set(err, r, "export: reading launches and executions: %s",
				   strerror(-r))
		     : 0;
}

void aif_events_finish(struct aif_events *e)
{
	aif_gaps_finish(&e->gaps);
	free(e->launches);
	free(e->execs);
	free(e->tracks);
	*e = (struct aif_events){0};
}

bool aif_event_cpu_part(const struct aif_export *x, const struct aif_cpu_row *row,
			struct aif_cpu_row *ret, uint32_t *ret_process)
{
	*ret_process =
		row->thread == AIF_NONE ? AIF_NONE : x->profile->threads[row->thread].process;
	return aif_cpu_part(x->profile, &x->sel, row, ret);
}

/* The first track of this device or of one behind it. */
static size_t first_track(const struct aif_events *e, uint64_t device)
{
	return AIF_BISECT(mid, 0, e->tracks_len, e->tracks[mid].device < device);
}

size_t aif_event_device_tracks(const struct aif_events *e, uint32_t device, size_t *ret_end)
{
	*ret_end = first_track(e, (uint64_t)device + 1);
	return first_track(e, device);
}

static void process_put(const struct aif_profile *p, const struct aif_event_track *t,
			struct aif_buf *out)
{
	if (t->is_of_several && t->process != AIF_NONE)
		aif_buf_printf(out, " of %" PRIu32, p->processes[t->process].pid);
}

void aif_event_groups(const struct aif_shape *s, uint32_t groups[3])
{
	for (unsigned k = 0; k < 3; k++)
		groups[k] =
			s->block[k]
				? (uint32_t)(((uint64_t)s->grid[k] + s->block[k] - 1) / s->block[k])
				: s->grid[k];
}

void aif_event_track_name(const struct aif_profile *p, const struct aif_event_track *t,
			  struct aif_buf *out)
{
	if (t->stream == AIF_NONE)
		aif_buf_puts(out, "no stream");
	else
		aif_buf_printf(out, "stream %" PRIu64, p->streams[t->stream].ordinal);
	process_put(p, t, out);
	if (t->lane)
		aif_buf_printf(out, " (%" PRIu32 ")", t->lane + 1);
}

void aif_event_gaps_name(const struct aif_profile *p, const struct aif_event_track *t,
			 struct aif_buf *out)
{
	aif_buf_puts(out, AIF_EVENT_GAP);
	process_put(p, t, out);
}
