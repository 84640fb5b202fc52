/* SPDX-License-Identifier: Apache-2.0 */
#include "page/timeline.h"

#include "base/sort.h"
#include "names/process_names.h"
#include "page/idle_cells.h"
#include "profile/file.h"
#include "text/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lanes beside one another of a stream's executions that overlap. What overlaps more joins the last one. */
#define LANES_OF_STREAM 4

void aif_page_event_groups_finish(struct aif_page_event_groups *g)
{
	free(g->execs);
	free(g->idle);
	free(g->samples);
	*g = (struct aif_page_event_groups){0};
}

void aif_page_timeline_finish(struct aif_page_timeline *t)
{
	aif_facts_put(t->idle);
	aif_strset_finish(&t->strings);
	aif_map_finish(&t->what_of);
	aif_map_finish(&t->thread_of);
	free(t->what);
	free(t->threads);
	free(t->is_drawn);
}

/* ---- executions ---------------------------------------------------------------------------------- */

struct execs {
	struct aif_page_timeline *t;
	const struct aif_exec_timeline *x;
	uint32_t *order; /* executions that are drawn, by lane, then start */
	size_t len;
	uint32_t *lane;    /* by execution */
	uint32_t *what;    /* by execution */
	uint32_t *details; /* by launch: 1 + shape */
	size_t next;       /* launch that the next row is likely to be of */
	uint32_t lanes;
};

static int by_stream(const void *pa, const void *pb, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct aif_timeline_work *a = aif_timeline_work_of(t, &t->execs[ia]),
				       *b = aif_timeline_work_of(t, &t->execs[ib]);
	int64_t start = t->execs[ia].start, other = t->execs[ib].start;

	return AIF_ORDER(a->device, b->device) ?: AIF_ORDER(a->process, b->process)
	       ?: AIF_ORDER(a->stream, b->stream) ?: AIF_ORDER(start, other) ?: AIF_ORDER(ia, ib);
}

static bool is_one_stream(const struct aif_exec_timeline *t, uint32_t ia, uint32_t ib)
{
	const struct aif_timeline_work *a = aif_timeline_work_of(t, &t->execs[ia]),
				       *b = aif_timeline_work_of(t, &t->execs[ib]);

	return a->device == b->device && a->process == b->process && a->stream == b->stream;
}

static void lane_say(struct execs *e, const struct aif_timeline_work *x, unsigned nth)
{
	const struct aif_profile *p = e->t->names->p;

	aif_buf_printf(e->t->json, "%s{\"device\":%d,\"process\":%d,\"nth\":%u",
		       e->lanes ? "," : "", x->device == AIF_NONE ? -1 : (int)x->device,
		       x->process == AIF_NONE ? -1 : (int)x->process, nth);
	if (x->stream != AIF_NONE)
		aif_buf_printf(e->t->json, ",\"stream\":\"%" PRIu64 "\"",
			       p->streams[x->stream].ordinal);
	aif_buf_putc(e->t->json, '}');
	e->lanes++;
}

/* Gives the executions of a stream, which are in order, the first lane that is free. */
static void lanes_give(struct execs *e, size_t from, size_t to)
{
	int64_t end[LANES_OF_STREAM];
	unsigned used = 0, k;
	uint32_t first = e->lanes;

	for (size_t i = from; i < to; i++) {
		const struct aif_timeline_exec *x = &e->x->execs[e->order[i]];

		for (k = 0; k < used && end[k] > x->start; k++)
			;
		if (k == used && used < LANES_OF_STREAM) {
			lane_say(e, aif_timeline_work_of(e->x, x), used);
			end[used++] = 0;
		}
		k = AIF_MIN(k, used - 1);
		end[k] = AIF_MAX(end[k], x->end);
		e->lane[e->order[i]] = first + k;
	}
}

/* Orders by lane what is by stream and start. */
static int lanes_order(struct execs *e)
{
	size_t n = e->len, *first = calloc((size_t)e->lanes + 1, sizeof(*first));
	uint32_t *to = malloc((n + 1) * sizeof(*to));

	if (!first || !to) {
		free(first);
		free(to);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		first[e->lane[e->order[i]] + 1]++;
	for (uint32_t l = 1; l <= e->lanes; l++)
		first[l] += first[l - 1];
	for (size_t i = 0; i < n; i++)
		to[first[e->lane[e->order[i]]]++] = e->order[i];
	free(e->order);
	e->order = to;
	free(first);
	return 0;
}

static int lanes_make(struct execs *e)
{
	const struct aif_utilization *u = e->t->idle->u;
	const struct aif_exec_timeline *x = e->x;

	for (size_t i = 0; i < x->execs_len && !e->t->alike->as; i++)
		e->order[e->len++] = (uint32_t)i;
	for (size_t k = 0; k < u->len && e->t->alike->as; k++)
		for (size_t i = u->devices[k].first;
		     i < u->devices[k].end && aif_page_is_drawn(e->t->alike, k); i++)
			e->order[e->len++] = u->order[i];
	if (e->len)
		aif_sort_r(e->order, e->len, sizeof(*e->order), by_stream, (void *)x);
	aif_buf_puts(e->t->json, "\"streams\":[");
	for (size_t i = 0, from = 0; i < e->len; i++)
		if (i + 1 == e->len || !is_one_stream(x, e->order[i], e->order[i + 1])) {
			lanes_give(e, from, i + 1);
			from = i + 1;
		}
	aif_buf_putc(e->t->json, ']');
	return lanes_order(e);
}

static int names_make(struct execs *e)
{
	const struct aif_exec_timeline *x = e->x;

	for (size_t k = 0; k < e->len; k++) {
		uint32_t i = e->order[k];
		const struct aif_timeline_exec *o = &x->execs[i];
		const struct aif_timeline_work *of = aif_timeline_work_of(x, o);
		const uint32_t *group = e->t->groups->execs;

		e->what[i] =
			aif_page_what(e->t, aif_names_work(e->t->names, of->kind, of->kernel),
				      group ? group[i] : AIF_NONE,
				      aif_timeline_more_of(x, o)->graph, e->t->idle->u->classes[i]);
		if (e->what[i] == AIF_NONE)
			return -ENOMEM;
		if (o->launch != AIF_NONE)
			aif_page_thread(e->t, aif_timeline_thread_of(x, o->launch));
	}
	return 0;
}

/* Finds the shapes of launches, which come in the file's order: mostly that of their numbers. */
static int shapes_take(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct execs *e = arg;
	const struct aif_exec_timeline *x = e->x;

	for (size_t i = 0; i < n; i++) {
		size_t lo = e->next;

		if (rows[i].shape == AIF_NONE)
			continue;
		if (lo >= x->launches_len || aif_timeline_number(x, lo) != rows[i].launch)
			lo = AIF_BISECT(mid, 0, x->launches_len,
					aif_timeline_number(x, mid) < rows[i].launch);
		if (lo < x->launches_len && aif_timeline_number(x, lo) == rows[i].launch) {
			e->details[lo] = 1 + rows[i].shape;
			e->next = lo + 1;
		}
	}
	return 0;
}

/* A recording has tens of millions of executions, and counting their bars takes several passes. */
static struct aif_page_event exec_span_at(const void *arg, size_t i)
{
	const struct execs *e = arg;
	uint32_t id = e->order[i];
	const struct aif_timeline_exec *x = &e->x->execs[id];

	return (struct aif_page_event){.start = x->start, .end = x->end, .lane = e->lane[id]};
}

static struct aif_page_event exec_at(const void *arg, size_t i)
{
	const struct execs *e = arg;
	uint32_t id = e->order[i];
	const struct aif_timeline_exec *x = &e->x->execs[id];
	const struct aif_timeline_launch *l =
		x->launch == AIF_NONE ? NULL : &e->x->launches[x->launch];
	struct aif_page_event ret = {.start = x->start,
				     .end = x->end,
				     .lane = e->lane[id],
				     .what = e->what[id],
				     .details = aif_timeline_more_of(e->x, x)->bytes};
	uint64_t thread;

	if (!l)
		return ret;
	ret.waited = x->start >= l->at ? 1 + (uint64_t)(x->start - l->at) : 0;
	if (aif_map_get(&e->t->thread_of, aif_timeline_call_of(e->x, l)->thread, &thread))
		ret.by = 1 + (uint32_t)thread;
	if (e->t->idle->u->classes[id] != AIF_WORK_MEMORY)
		ret.details = e->details[x->launch];
	return ret;
}

static void shapes_say(struct aif_page_timeline *t)
{
	const struct aif_profile *p = t->names->p;

	aif_buf_puts(t->json, ",\"shapes\":[");
	for (size_t i = 0; i < p->shapes_len; i++) {
		const struct aif_shape *s = &p->shapes[i];

		aif_buf_printf(t->json, "%s[%u,%u,%u,%u,%u,%u]", i ? "," : "", s->grid[0],
			       s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2]);
	}
	aif_buf_putc(t->json, ']');
}

static int execs_write(struct aif_page_timeline *t)
{
	const struct aif_exec_timeline *x = t->idle->t;
	size_t n = x->execs_len + 1;
	struct execs e = {.t = t,
			  .x = x,
			  .order = malloc(n * sizeof(*e.order)),
			  .lane = malloc(n * sizeof(*e.lane)),
			  .what = malloc(n * sizeof(*e.what)),
			  .details = calloc(x->launches_len + 1, sizeof(*e.details))};
	struct aif_page_events events = {.at = exec_at,
					 .span_at = exec_span_at,
					 .arg = &e,
					 .whole = t->whole,
					 .whole_len = t->whole_len};
	struct aif_page_bars bars = {0};
	int r = e.order && e.lane && e.what && e.details ? lanes_make(&e) : -ENOMEM;

	if (!r)
		r = names_make(&e);
	events.len = e.len;
	free(t->groups->execs);
	t->groups->execs = NULL;
	if (!r)
		r = aif_profile_launches(t->names->p, shapes_take, &e, NULL);
	if (!r)
		r = aif_page_bars_write(&events, e.lanes, AIF_PAGE_EXECS_MAX, "x_", t->columns,
					&bars);
	if (!r) {
		aif_page_bars_say(t, "x", &bars, e.len);
		shapes_say(t);
	}
	free(e.order);
	free(e.lane);
	free(e.what);
	free(e.details);
	return r;
}

/* ---- idle time ----------------------------------------------------------------------------------- */

/* A recording has millions of them. */
struct gap {
	int64_t from;
	uint32_t ns;    /* UINT32_MAX: in .long_gaps */
	uint32_t place; /* index of its course in the idle part's */
};
/* Describes the gaps of one course. */
struct course_row {
	double ns; /* the most time that a row has of it, of which the others are; 0: none has any */
	uint32_t row, device, what;
};
struct gaps {
	struct aif_page_timeline *t;
	AIF_TABLE(gap, gap);
	struct aif_map long_gaps; /* ns by gap */
	uint32_t *order;          /* indexes of gaps, by device and time */
	struct course_row *rows;  /* by place */
};

static int64_t gap_end(const struct gaps *g, uint32_t i)
{
	uint64_t ns = g->gap[i].ns;

	if (ns == UINT32_MAX)
		aif_map_get(&g->long_gaps, i, &ns);
	return g->gap[i].from + (int64_t)ns;
}

/* Returns the index of its device in the idle part's. */
static uint32_t device_of(const struct gaps *g, uint32_t i)
{
	return g->rows[g->gap[i].place].device;
}

static int by_device(const void *pa, const void *pb, void *arg)
{
	const struct gaps *g = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint32_t device = device_of(g, a), other = device_of(g, b);

	return AIF_ORDER(device, other) ?: AIF_ORDER(g->gap[a].from, g->gap[b].from)
	       ?: AIF_ORDER(gap_end(g, b), gap_end(g, a)) ?: AIF_ORDER(a, b);
}

/* Finds the row with the most time of each course. */
static int courses_make(const struct aif_idle_part *idle, struct course_row **ret)
{
	const struct aif_idle_course *c = &idle->course;
	struct aif_map row_of_key = {0};
	uint64_t row, at;
	int r = 0;

	*ret = malloc((c->courses_len + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < c->courses_len; i++)
		(*ret)[i] = (struct course_row){.what = AIF_NONE};
	for (size_t i = 0; r == 0 && i < idle->blame.len; i++)
		r = aif_map_put(&row_of_key, aif_idle_row_key(&idle->blame.rows[i]), i);
	for (size_t i = 0; r == 0 && i < c->parts_len; i++)
		if (aif_map_get(&row_of_key, c->parts[i].row, &row) &&
		    aif_map_get(&c->place_of, c->parts[i].course, &at) &&
		    c->parts[i].ns > (*ret)[at].ns)
			(*ret)[at] = (struct course_row){c->parts[i].ns, (uint32_t)row,
							 idle->blame.rows[row].device, AIF_NONE};
	aif_map_finish(&row_of_key);
	return r < 0 ? -ENOMEM : 0;
}

static int gap_add(struct gaps *g, const struct aif_idle_time *time, size_t place)
{
	struct course_row *of = &g->rows[place];
	const struct aif_idle_row *row = &g->t->idle->blame.rows[of->row];
	const uint32_t *group = g->t->groups->idle;
	uint64_t ns = (uint64_t)(time->to - time->from);

	if (of->what == AIF_NONE)
		of->what = aif_page_what(g->t, aif_idle_cause_name(row->cause),
					 group ? group[place] : AIF_NONE, 0,
					 aif_why_group_of(row->cause));
	if (of->what == AIF_NONE || g->gap_len >= AIF_NONE ||
	    aif_grow(&g->gap, &g->gap_cap, g->gap_len + 1, sizeof(*g->gap)) < 0 ||
	    (ns >= UINT32_MAX && aif_map_put(&g->long_gaps, g->gap_len, ns) < 0))
		return -ENOMEM;
	g->gap[g->gap_len++] =
		(struct gap){time->from, (uint32_t)AIF_MIN(ns, UINT32_MAX), (uint32_t)place};
	return 0;
}

static int gaps_read(struct gaps *g)
{
	const struct aif_idle_part *idle = g->t->idle;
	struct aif_idle_course_reader times = {0};
	struct aif_idle_time time;
	int r = courses_make(idle, &g->rows);

	while (r == 0 && aif_idle_course_next(&idle->course, &times, &time))
		if (g->rows[times.place].ns > 0 &&
		    aif_page_is_drawn(g->t->alike, g->rows[times.place].device))
			r = gap_add(g, &time, times.place);
	return r;
}

static int gaps_sort(struct gaps *g)
{
	g->order = malloc((g->gap_len + 1) * sizeof(*g->order));
	if (!g->order)
		return -ENOMEM;
	for (size_t i = 0; i < g->gap_len; i++)
		g->order[i] = (uint32_t)i;
	if (g->gap_len)
		aif_sort_r(g->order, g->gap_len, sizeof(*g->order), by_device, g);
	return 0;
}

static struct aif_page_event gap_at(const void *arg, size_t i)
{
	const struct gaps *g = arg;
	uint32_t gap = g->order[i];

	return (struct aif_page_event){.start = g->gap[gap].from,
				       .end = gap_end(g, gap),
				       .lane = device_of(g, gap),
				       .what = g->rows[g->gap[gap].place].what};
}

static int gaps_write(struct aif_page_timeline *t)
{
	const struct aif_utilization *u = t->idle->u;
	struct gaps g = {.t = t};
	struct aif_page_events events = {
		.at = gap_at, .arg = &g, .whole = t->whole, .whole_len = t->whole_len};
	struct aif_page_bars bars = {0};
	uint32_t lanes = (uint32_t)u->len;
	int r = gaps_read(&g);

	events.len = g.gap_len;
	aif_buf_puts(t->json, ",\"idle\":[");
	for (size_t i = 0; i < u->len; i++) {
		aif_buf_printf(t->json, "%s{\"device\":%d,\"process\":%d,\"many\":%zu}",
			       i ? "," : "",
			       u->devices[i].device == AIF_NONE ? -1 : (int)u->devices[i].device,
			       u->devices[i].process == AIF_NONE ? -1 : (int)u->devices[i].process,
			       aif_page_is_drawn(t->alike, i) ? aif_page_alike_many(t->alike, i)
							      : (size_t)0);
	}
	aif_buf_putc(t->json, ']');
	/* Frees it before the gaps are sorted: it takes much more than they do, and is not read again. */
	aif_facts_put(t->idle);
	t->idle = NULL;
	if (!r)
		r = gaps_sort(&g);
	if (!r)
		r = aif_page_bars_write(&events, lanes, AIF_PAGE_GAPS_MAX, "i_", t->columns, &bars);
	if (!r)
		aif_page_bars_say(t, "i", &bars, g.gap_len);
	free(g.gap);
	free(g.order);
	free(g.rows);
	aif_map_finish(&g.long_gaps);
	return r;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int what_write(struct aif_page_timeline *t)
{
	size_t n = t->what_len;
	uint32_t *v = malloc((n + 1) * sizeof(*v));
	uint8_t *class = malloc(n + 1);

	if (!v || !class) {
		free(v);
		free(class);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = t->what[i].name;
		class[i] = t->what[i].class;
	}
	aif_page_u32(t->columns, "what_name", v, n);
	aif_page_u8(t->columns, "what_class", class, n);
	for (size_t i = 0; i < n; i++)
		v[i] = t->what[i].group;
	aif_page_u32(t->columns, "what_group", v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = t->what[i].graph;
	aif_page_u32(t->columns, "what_graph", v, n);
	aif_buf_puts(t->json, ",\"names\":[");
	for (uint32_t i = 0; i < t->strings.len; i++) {
		aif_buf_puts(t->json, i ? "," : "");
		aif_out_json_text(t->json, aif_strset_get(&t->strings, i, NULL));
	}
	aif_buf_putc(t->json, ']');
	free(v);
	free(class);
	return 0;
}

static void process_say(struct aif_page_timeline *t, const struct aif_process_names *names,
			uint32_t i)
{
	const struct aif_profile *p = t->names->p;
	const struct aif_process *process = &p->processes[i];
	const char *shown = aif_process_names_show(names, i),
		   *exe = aif_profile_str(p, process->exe),
		   *base = exe && strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
	char text[96], rank[32] = "";

	if (process->rank)
		snprintf(rank, sizeof(rank), "rank %u, ", process->rank - 1);
	if (!shown)
		snprintf(text, sizeof(text), "%s%.40s%s%u", rank, base ? base : "",
			 base && *base ? ", " : "process ", process->pid);
	aif_buf_puts(t->json, i ? "," : "");
	aif_out_json_text(t->json, shown ? shown : text);
}

static int places_say(struct aif_page_timeline *t)
{
	const struct aif_profile *p = t->names->p;
	struct aif_process_names names;
	int r = aif_process_names_init(&names, p);

	aif_buf_puts(t->json, ",\"devices\":[");
	for (size_t i = 0; !r && i < p->devices_len; i++) {
		aif_buf_puts(t->json, i ? "," : "");
		aif_out_json_text(t->json, aif_profile_str(p, p->devices[i].name));
	}
	aif_buf_puts(t->json, "],\"processes\":[");
	for (uint32_t i = 0; !r && i < p->processes_len; i++)
		process_say(t, &names, i);
	aif_buf_puts(t->json, "],\"threads\":[");
	for (size_t i = 0; !r && i < t->threads_len; i++) {
		const struct aif_thread *th = &p->threads[t->threads[i]];
		const char *name = aif_profile_str(p, th->name);

		aif_buf_printf(t->json, "%s{\"process\":%d,\"tid\":%u,\"name\":", i ? "," : "",
			       th->process == AIF_NONE ? -1 : (int)th->process, th->tid);
		aif_out_json_text(t->json, name ? name : "");
		aif_buf_putc(t->json, '}');
	}
	aif_buf_putc(t->json, ']');
	aif_process_names_finish(&names);
	return r;
}

/* Finds the processes whose threads are drawn. */
static int drawn_find(struct aif_page_timeline *t)
{
	size_t n = t->names->p->processes_len;

	if (!t->alike->as)
		return 0;
	t->is_drawn = malloc(n + 1);
	if (!t->is_drawn)
		return -ENOMEM;
	aif_page_processes_drawn(t->alike, t->idle->u, t->is_drawn, n);
	return 0;
}

int aif_page_timeline_write(struct aif_page_timeline *t)
{
	int r = drawn_find(t);

	aif_buf_putc(t->json, '{');
	if (!r)
		r = execs_write(t);
	if (!r)
		r = gaps_write(t);
	if (!r)
		r = aif_page_timeline_threads(t);
	if (!r)
		r = what_write(t);
	if (!r)
		r = places_say(t);
	aif_buf_puts(t->json, ",\"columns\":");
	aif_buf_append(t->json, t->columns->index.data, t->columns->index.len);
	aif_buf_puts(t->json, "}}");
	return r ? r : aif_buf_failed(t->json) || aif_page_columns_failed(t->columns) ? -ENOMEM : 0;
}
