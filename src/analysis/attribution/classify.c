/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/classify.h"
#include "base/sort.h"
#include "analysis/attribution/classify_untimed.h"
#include "analysis/graph_nodes.h"

#include "profile/file.h"

#include <errno.h>

struct classifying {
	const struct aif_scope *s;
	const struct aif_loaded *l;
	struct aif_classified *c;
	bool *executed, *joined; /* of a launch: it has an execution; one that was asked for */
	struct aif_map in_cycle; /* group and cycle -> index of cycle_sums */
	struct aif_launch_index by_launch; /* that of .l: looking something up changes it */
	struct aif_graph_nodes nodes;
};

/* ---- timed ---- */

static int add_to_cycle(struct classifying *x, uint32_t group, uint32_t cycle, uint64_t ns)
{
	struct aif_classified *c = x->c;
	uint64_t key = (uint64_t)group << 32 | cycle, i;

	if (!aif_map_get(&x->in_cycle, key, &i)) {
		i = c->cycle_sums_len;
		if (aif_grow(&c->cycle_sums, &c->cycle_sums_cap, i + 1, sizeof(*c->cycle_sums)) <
			    0 ||
		    aif_map_put(&x->in_cycle, key, i) < 0)
			return -ENOMEM;
		c->cycle_sums[c->cycle_sums_len++] =
			(struct aif_cycle_sum){.group = group, .cycle = cycle};
	}
	c->cycle_sums[i].ns += (double)ns;
	return 0;
}

static uint64_t times(uint64_t n, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)n * weight + AIF_WEIGHT_ONE - 1) / AIF_WEIGHT_ONE);
}

/* Finds the weight of an execution that `thread` launched at `time`, and adds it to its group's
 * sums. */
static int weigh(struct classifying *x, struct aif_run *run, uint32_t thread, uint64_t time,
		 uint64_t bytes)
{
	struct aif_weights *weights = x->l->weights;
	const struct aif_weights_cycle *c = aif_weights_at(weights, thread, time);
	struct aif_group *g = &x->c->groups.at[run->group];
	uint64_t ns = run->end - run->start, weight = c ? c->weight : AIF_WEIGHT_ONE, weighted;
	size_t n;

	run->cycle = AIF_NONE;
	/* No recording is years long: these weights are nonsense, and sums must not wrap. */
	if (ns > (UINT64_C(1) << 42) || x->c->durations_ns > (UINT64_C(1) << 62) ||
	    bytes > (UINT64_C(1) << 42) || g->bytes > (UINT64_C(1) << 62))
		weight = AIF_WEIGHT_ONE;
	weighted = times(ns, weight);
	g->time += weighted;
	g->seen += ns;
	g->executions++;
	g->launches += weight;
	g->bytes += times(bytes, weight);
	x->c->durations_ns += weighted;
	if (!c || weight == AIF_WEIGHT_ONE)
		return 0;
	g->sampled = true;
	run->cycle = (uint32_t)(c - aif_weights_cycles(weights, &n));
	return add_to_cycle(x, run->group, run->cycle, weighted);
}

/* Notes for the launches in flight that this one, which may be NULL, has an execution, and when
 * it started. executed: of the launch. */
static int note_execution(struct classifying *x, const struct aif_exec_row *e,
			  const struct aif_loaded_launch *launch, bool *executed, uint32_t name,
			  uint64_t start)
{
	struct aif_in_flight *f = &x->c->in_flight;
	const struct aif_gaps *gaps = &x->l->gaps;
	uint64_t at = launch ? aif_scope_since_start(x->s, launch->time) : 0;
	int r = 0;

	if (e->process == AIF_NONE)
		return 0;
	if (name != AIF_NONE)
		r = aif_in_flight_began(f, gaps, e->process, name, start);
	if (!r && launch && e->stream != AIF_NONE)
		r = aif_in_flight_queued(f, gaps, e->process, e->stream, at, start);
	if (!r && launch && !*executed && launch->call.stream != AIF_NONE &&
	    !x->s->p->streams[launch->call.stream].out_of_order)
		r = aif_in_flight_ended(f, gaps, e->process, launch->call.stream, at);
	if (launch)
		*executed = true;
	return r;
}

/* Notes which call made the node of a graph that an execution is of. */
static void find_capture(const struct classifying *x, const struct aif_exec_row *e,
			 const struct aif_loaded_launch *launch, struct aif_group *group)
{
	const struct aif_graph_node *n;

	group->capture = AIF_NONE;
	if (!e->graph || !launch || !x->nodes.len)
		return;
	n = aif_graph_nodes_find(&x->nodes, e->process, e->graph, e->node, launch->time);
	if (!n || n->stack == AIF_NONE)
		return;
	group->capture = n->stack;
	group->capture_range = aif_selection_work_range(
		x->s->sel, n->thread,
		aif_timeline_map(x->l->timeline, AIF_CLOCK_MONOTONIC, e->process, n->made, NULL));
}

/* Returns the kernel of an execution, or that of its launch, which may be NULL, where the execution's is not known. */
static uint32_t kernel_of(const struct aif_exec_row *e, const struct aif_loaded_launch *launch)
{
	return e->kernel == AIF_NONE && launch ? launch->call.kernel : e->kernel;
}

static int add_run(struct classifying *x, const struct aif_exec_row *e,
		   const struct aif_loaded_launch *launch, int64_t launched_at, uint32_t range,
		   struct aif_run *run)
{
	struct aif_classified *c = x->c;
	const struct aif_loaded_call *call = launch ? &launch->call : NULL;
	struct aif_group group = {.process = e->process,
				  .device = e->device,
				  .stream = e->stream,
				  .kind = e->kind,
				  .kernel = kernel_of(e, launch),
				  .stack = call ? call->stack : AIF_NONE,
				  .graph = e->graph,
				  .range = range};
	int r;

	group.kernel_name = aif_scope_launched_name(x->s, group.kind, group.kernel);
	find_capture(x, e, launch, &group);
	r = aif_groups_find_or_add(&c->groups, &group, &run->group);
	if (!r)
		r = aif_grow(&c->runs, &c->runs_cap, c->runs_len + 1, sizeof(*run));
	if (!r)
		r = weigh(x, run, call ? call->thread : AIF_NONE, launch ? launch->time : 0,
			  e->bytes ? e->bytes
			  : call   ? call->bytes
				   : 0);
	if (r < 0)
		return r;
	if (launch && aif_selection_is_for_other(x->s->sel, call->thread, launched_at))
		c->for_others_ns += times(run->end - run->start, aif_run_weight(c, run));
	c->runs[c->runs_len++] = *run;
	return 0;
}

static int classify_execution(struct classifying *x, const struct aif_exec_row *e)
{
	const struct aif_scope *s = x->s;
	const struct aif_loaded *l = x->l;
	uint32_t i = aif_launch_index_get(&x->by_launch, e->launch), thread = AIF_NONE, range;
	struct aif_loaded_launch of_index, *launch = NULL;
	struct aif_run run = {0};
	int64_t start, end, launched_at = 0;
	int r;

	if (i != AIF_NONE) {
		of_index = aif_loaded_launch(l, i);
		launch = &of_index;
		thread = launch->call.thread;
		launched_at = aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, e->process,
					       launch->time, NULL);
	}
	start = aif_timeline_map_after(l->timeline, e->clock, e->process, e->start, launched_at,
				       NULL);
	r = note_execution(x, e, launch, launch ? &x->executed[i] : NULL,
			   aif_scope_launched_name(s, e->kind, kernel_of(e, launch)),
			   (uint64_t)AIF_MAX(start, 0));
	if (r < 0)
		return r;
	if (e->device == AIF_NONE || !aif_selection_keeps(s->sel->processes, e->process) ||
	    !aif_selection_keeps(s->sel->devices, e->device) ||
	    !aif_selection_keeps(s->sel->threads, thread) ||
	    !aif_selection_exec_range(s->sel, thread, launched_at, e->process, e->graph, e->node,
				      &range))
		return 0;
	end = aif_timeline_map_after(l->timeline, e->clock, e->process, e->end, start, NULL);
	x->c->started_before_launch += launch && start < launched_at;
	run.start = AIF_MIN((uint64_t)AIF_MAX(start, (int64_t)s->from), s->to);
	run.end = AIF_MIN((uint64_t)AIF_MAX(end, (int64_t)run.start), s->to);
	/* Skips executions outside of the time asked for; keeps those in it that took no time. */
	if (run.start == run.end &&
	    (start != end || start < (int64_t)s->from || start > (int64_t)s->to))
		return 0;
	x->c->executions_unjoined += !launch;
	r = add_run(x, e, launch, launched_at, range, &run);
	if (r < 0)
		return r;
	if (launch) {
		x->c->joined += !x->joined[i];
		x->joined[i] = true;
	}
	return 0;
}

static int classify_executions(void *arg, const struct aif_exec_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = classify_execution(arg, &rows[i]);
	return r;
}

/* ---- without an execution ---- */

/* True if the process ended in the span of that time, with nobody told to stop before. */
static bool is_cut_off(const struct classifying *x, uint32_t process, uint64_t at)
{
	uint64_t end = x->s->p->processes[process].end_ns;
	struct aif_gaps_span span = aif_gaps_at(&x->l->gaps, process, at);

	return end && !span.is_gap && aif_scope_since_start(x->s, end) <= span.end;
}

/* Notes launches that have no execution as in flight: samples of them may be there. Counts those
 * that were not, and those whose process ended first, without what --keep dropped. */
static int classify_others(struct classifying *x)
{
	const struct aif_profile *p = x->s->p;
	const struct aif_gaps *gaps = &x->l->gaps;
	struct aif_classified *c = x->c;
	int r = 0;

	for (size_t i = 0; i < x->l->launches_len && !r; i++) {
		const struct aif_loaded_launch l = aif_loaded_launch(x->l, i);
		const struct aif_loaded_call *call = &l.call;
		uint64_t at = aif_scope_since_start(x->s, l.time);
		uint32_t process =
			call->thread == AIF_NONE ? AIF_NONE : p->threads[call->thread].process;

		/* Launches whose executions --keep dropped are as gone as those are. */
		c->launches += x->joined[i] || l.time >= p->kept_ns;
		if (x->executed[i] || process == AIF_NONE)
			continue;
		if (aif_in_flight_overtaken(&c->in_flight, gaps, process, call->stream, at,
					    p->end_ns - p->start_ns)) {
			c->unreported += l.time >= p->kept_ns;
			continue;
		}
		c->unread += l.time >= p->kept_ns && is_cut_off(x, process, at);
		r = aif_in_flight_add(&c->in_flight, gaps, process,
				      aif_scope_launched_name(x->s, call->kind, call->kernel), at);
	}
	return r;
}

static int by_device_and_start(const void *a, const void *b, void *arg)
{
	const struct aif_classified *c = arg;
	const struct aif_run *x = a, *y = b;
	uint32_t device = aif_group_of(c, x)->device, other = aif_group_of(c, y)->device;

	return AIF_ORDER(device, other) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(x->end, y->end);
}

static int by_group_and_cycle(const void *a, const void *b)
{
	const struct aif_cycle_sum *x = a, *y = b;

	return AIF_ORDER(x->group, y->group) ?: AIF_ORDER(x->cycle, y->cycle);
}

void aif_classified_sort(struct aif_classified *c)
{
	if (c->runs_len)
		aif_sort_r(c->runs, c->runs_len, sizeof(*c->runs), by_device_and_start, c);
	if (c->cycle_sums_len)
		qsort(c->cycle_sums, c->cycle_sums_len, sizeof(*c->cycle_sums), by_group_and_cycle);
}

int aif_classify(const struct aif_scope *s, const struct aif_loaded *l, struct aif_classified *ret)
{
	struct classifying x = {.s = s,
				.l = l,
				.c = ret,
				.by_launch = l->by_launch,
				.executed = calloc(l->launches_len + 1, sizeof(*x.executed)),
				.joined = calloc(l->launches_len + 1, sizeof(*x.joined))};
	int r = x.executed && x.joined ? 0 : -ENOMEM;

	ret->weights = l->weights;
	if (!r)
		r = aif_graph_nodes_init(&x.nodes, s->p);
	if (!r)
		r = aif_profile_execs(s->p, classify_executions, &x, &ret->damaged);
	if (!r && l->counted.samples_len)
		r = aif_classify_untimed(s, l, x.executed, &ret->groups);
	if (!r)
		r = classify_others(&x);
	aif_groups_seal(&ret->groups);
	aif_map_finish(&x.in_cycle);
	aif_graph_nodes_finish(&x.nodes);
	free(x.executed);
	free(x.joined);
	return r;
}

void aif_classified_drop_runs(struct aif_classified *c)
{
	free(c->runs);
	c->runs = NULL;
	c->runs_cap = 0;
}

void aif_classified_finish(struct aif_classified *c)
{
	aif_classified_drop_runs(c);
	aif_groups_finish(&c->groups);
	free(c->cycle_sums);
	aif_in_flight_finish(&c->in_flight);
	*c = (struct aif_classified){0};
}
