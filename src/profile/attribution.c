/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_cache.h"
#include "profile/attribution_internal.h"

#include "profile/file.h"
#include "profile/outside.h"
#include "profile/time.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Attribution
 *
 * Two independent measurements meet here. Executions say how long the device worked for which launch:
 * exact, from the runtime. Samples say at which instruction it was when somebody looked: a
 * statistic. Widths come from the first, insides from the second:
 *
 *     width of (stack, kernel)      = time of its executions
 *     width of an instruction in it = that, times the share of the samples that hit it
 *
 * so that a wide tower is wide because it took long, not because it was looked at often, and a kernel
 * that no sample hit keeps its width, with its inside unknown.
 *
 * Time. An execution's stamps are of its device's clock; time.c maps them. It cannot have started
 * before its launch call began: executions that say so are counted, and the count must be 0.
 *
 * Wall. Where several executions run on a device at once, each ns is shared equally among them; so the
 * widths sum to the time in which the device was busy. The sum of durations is kept beside it.
 *
 * Samples. A sample at a kernel's code belongs to the executions of that kernel that were running
 * then: one (exact), or several, which share it (apportioned). A sample of the same threads outside
 * of kernel code (libm, the driver's barrier) belongs to what was running. If nothing fits it is
 * counted as unmatched, or as outside when nothing ran at all: never given to "the last launch". A GPU's own
 * samples have no time, only a window: attribution_windows.c.
 *
 * Where the overhead budget left launches out, those that were captured stand for them (weights.h):
 * totals are then estimates with a standard error, and their grade says so. Should the estimates ask
 * for more time than there is, on a device or in a queue that runs one thing at a time, they are scaled
 * down to what is.
 *
 * Rounding happens once, at the end (attribution_round.c): sums over rows equal the totals exactly, and those of an
 * instruction and reason what was counted there.
 */

const char *aif_grade_name(enum aif_grade grade)
{
	static const char *const names[] = {"exact", "apportioned", "mixed", "sampled",
					    "unmatched"};

	return (unsigned)grade < AIF_ARRAY_LEN(names) ? names[grade] : "?";
}

/* A launch, as its executions need it. */
struct launched {
	uint64_t launch, time, bytes;
	uint32_t thread, stack, kernel, stream, kind;
	bool joined, ended; /* ended: it has an execution, shown or not */
};
struct loading {
	struct aif_attribution_work *w;
	struct aif_timeline *timeline;
	struct launched *launches;
	size_t launches_len, launches_cap;
	struct aif_map by_launch; /* launch -> index */
	bool *devices;            /* that executed something */
};

static bool kept(const bool *keep, uint32_t id)
{
	return !keep || (id != AIF_NONE && keep[id]);
}

static int load_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct loading *l = arg;

	if (aif_grow(&l->launches, &l->launches_cap, l->launches_len + n, sizeof(*l->launches)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *r = &rows[i];

		if (aif_outside_is(l->w->p, r)) {
			l->w->c.outside += r->time >= l->w->p->kept_ns;
			continue;
		}
		l->launches[l->launches_len] = (struct launched){.launch = r->launch,
								 .time = r->time,
								 .bytes = r->bytes,
								 .thread = r->thread,
								 .stack = r->stack,
								 .kernel = r->kernel,
								 .stream = r->stream,
								 .kind = r->kind};
		if (aif_map_put(&l->by_launch, r->launch, l->launches_len++) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int group_of(struct aif_attribution_work *w, const struct aif_group *g, uint32_t *ret)
{
	uint32_t words[7] = {g->process, g->device, g->stream, g->kind,
			     g->kernel,  g->stack,  g->graph};
	uint64_t key = aif_hash_bytes(words, sizeof(words)), id;

	for (; aif_map_get(&w->group_ids, key, &id); key++) {
		const struct aif_group *known = &w->groups[id];

		if (known->process == g->process && known->device == g->device &&
		    known->stream == g->stream && known->kind == g->kind &&
		    known->kernel == g->kernel && known->stack == g->stack &&
		    known->graph == g->graph) {
			*ret = (uint32_t)id;
			return 0;
		}
	}
	id = w->groups_len;
	if (aif_grow(&w->groups, &w->groups_cap, id + 1, sizeof(*g)) < 0 ||
	    aif_map_put(&w->group_ids, key, id) < 0)
		return -ENOMEM;
	w->groups[w->groups_len++] = *g;
	*ret = (uint32_t)id;
	return 0;
}

static uint32_t kernel_name(const struct aif_profile *p, uint32_t kind, uint32_t kernel)
{
	return kind != AIF_LAUNCH_KERNEL ? AIF_NONE
	       : kernel == AIF_NONE      ? AIF_NONE - 1
					 : p->kernels[kernel].name;
}

/* A launch of before the recording's start, which only a damaged file has, counts as of then. */
static uint64_t since_start(const struct aif_profile *p, uint64_t time)
{
	return time > p->start_ns ? time - p->start_ns : 0;
}

/* An execution, as what was in flight is told by it. */
static int note_ended(struct loading *l, const struct aif_exec_row *e, struct launched *launch,
		      uint32_t name, uint64_t start)
{
	struct aif_attribution_work *w = l->w;
	int r = 0;

	if (e->process == AIF_NONE)
		return 0;
	if (name != AIF_NONE)
		r = aif_in_flight_began(&w->in_flight, &w->gaps, e->process, name, start);
	if (!r && launch && e->stream != AIF_NONE)
		r = aif_in_flight_queued(&w->in_flight, &w->gaps, e->process, e->stream,
					 since_start(w->p, launch->time), start);
	if (!r && launch && !launch->ended && launch->stream != AIF_NONE &&
	    !w->p->streams[launch->stream].out_of_order)
		r = aif_in_flight_ended(&w->in_flight, &w->gaps, e->process, launch->stream,
					since_start(w->p, launch->time));
	if (launch)
		launch->ended = true;
	return r;
}

static int load_exec(struct loading *l, const struct aif_exec_row *e)
{
	struct aif_attribution_work *w = l->w;
	struct aif_group group = {.process = e->process,
				  .device = e->device,
				  .stream = e->stream,
				  .kind = e->kind,
				  .kernel = e->kernel,
				  .stack = AIF_NONE,
				  .graph = e->graph};
	struct aif_run run = {.process = e->process, .device = e->device};
	struct launched *launch = NULL;
	int64_t start, end, launched_at = 0;
	uint32_t name;
	uint64_t i;
	int r;

	if (aif_map_get(&l->by_launch, e->launch, &i)) {
		launch = &l->launches[i];
		launched_at = aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, e->process,
					       launch->time, NULL);
	}
	start = aif_timeline_map_after(l->timeline, e->clock, e->process, e->start, launched_at,
				       NULL);
	name = kernel_name(w->p, e->kind,
			   e->kernel == AIF_NONE && launch ? launch->kernel : e->kernel);
	r = note_ended(l, e, launch, name, (uint64_t)AIF_MAX(start, 0));
	if (r < 0)
		return r;
	if (e->device == AIF_NONE || !kept(w->opts->processes, e->process) ||
	    !kept(w->opts->devices, e->device) ||
	    !kept(w->opts->threads, launch ? launch->thread : AIF_NONE))
		return 0;
	end = aif_timeline_map_after(l->timeline, e->clock, e->process, e->end, start, NULL);
	if (launch) {
		w->c.started_before_launch += start < launched_at;
		group.stack = launch->stack;
		if (group.kernel == AIF_NONE)
			group.kernel = launch->kernel;
	}
	run.start = AIF_MIN((uint64_t)AIF_MAX(start, (int64_t)w->from), w->to);
	run.end = AIF_MIN((uint64_t)AIF_MAX(end, (int64_t)run.start), w->to);
	/* What lies outside of the time asked for is not there; what took no time is. */
	if (run.start == run.end &&
	    (start != end || start < (int64_t)w->from || start > (int64_t)w->to))
		return 0;
	w->c.executions_unjoined += !launch;
	run.kernel_name = name;
	r = group_of(w, &group, &run.group);
	if (!r)
		r = aif_grow(&w->runs, &w->runs_cap, w->runs_len + 1, sizeof(run));
	if (r < 0)
		return r;
	r = aif_attribution_weigh(w, &run, launch ? launch->thread : AIF_NONE,
				  launch ? launch->time : 0,
				  e->bytes ? e->bytes
				  : launch ? launch->bytes
					   : 0);
	if (r < 0)
		return r;
	w->runs[w->runs_len++] = run;
	w->c.joined += launch && !launch->joined;
	if (launch)
		launch->joined = true;
	l->devices[e->device] = true;
	return 0;
}

static int load_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = load_exec(arg, &rows[i]);
	return r;
}

static int load_samples(void *arg, const struct aif_sample_row *rows, size_t n)
{
	struct loading *l = arg;
	struct aif_attribution_work *w = l->w;

	if (aif_grow(&w->samples, &w->samples_cap, w->samples_len + n, sizeof(*rows)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct aif_sample_row s = rows[i];
		int64_t at =
			aif_timeline_map(l->timeline, AIF_CLOCK_MONOTONIC, s.process, s.time, NULL);

		/* More are not a count, but would make sums wrap. */
		s.count = AIF_MIN(s.count, UINT32_MAX);
		if (!s.count || !kept(w->opts->processes, s.process) ||
		    !kept(w->opts->devices, s.device))
			continue;
		s.time = (uint64_t)AIF_MAX(at, 0);
		if (!aif_attribution_is_counted(w->p, &s)) {
			if (at < (int64_t)w->from || at > (int64_t)w->to)
				continue;
			w->c.samples += s.count;
			w->samples[w->samples_len++] = s;
			continue;
		}
		/* Whether and how many of these are of the time asked for, their windows say. */
		if (aif_grow(&w->counted, &w->counted_cap, w->counted_len + 1, sizeof(s)) < 0)
			return -ENOMEM;
		w->counted[w->counted_len++] = s;
	}
	return 0;
}

static bool is_part(const struct aif_attribution_opts *o)
{
	return o->from_ns || o->to_ns;
}

static bool is_filtered(const struct aif_attribution_opts *o)
{
	return is_part(o) || o->processes || o->threads || o->devices;
}

static uint64_t family_key(uint32_t process, uint32_t device, uint32_t name)
{
	uint32_t words[3] = {process, device, name};

	return aif_hash_bytes(words, sizeof(words));
}

/* What is known of kernels by process, device and name, and of processes. */
struct untimed {
	struct aif_map processes; /* whose driver gave no times for some launches */
	struct aif_map sampled, timed;
};

/* A launch whose times nobody knows, of that device. */
static int add_untimed(struct loading *l, const struct untimed *u, const struct launched *x,
		       uint32_t device)
{
	struct aif_attribution_work *w = l->w;
	const struct aif_profile *p = w->p;
	struct aif_group g = {.process = p->threads[x->thread].process,
			      .device = device,
			      .kind = x->kind,
			      .kernel = x->kernel,
			      .stack = x->stack,
			      .stream = x->stream};
	uint64_t key = family_key(g.process, device, p->kernels[x->kernel].name);
	uint32_t id;
	int r;

	if (!aif_map_get(&u->processes, g.process, NULL) || !aif_map_get(&u->sampled, key, NULL) ||
	    aif_map_get(&u->timed, key, NULL) || !kept(w->opts->processes, g.process) ||
	    !kept(w->opts->devices, device) || !kept(w->opts->threads, x->thread))
		return 0;
	r = group_of(w, &g, &id);
	if (r < 0)
		return r;
	w->groups[id].untimed++;
	w->groups[id].sampled = true;
	return 0;
}

static int find_untimed_launches(struct loading *l, const struct untimed *u)
{
	struct aif_attribution_work *w = l->w;
	const struct aif_profile *p = w->p;
	int r = 0;

	for (size_t i = 0; i < l->launches_len && !r; i++) {
		const struct launched *x = &l->launches[i];
		uint64_t at = since_start(p, x->time);

		if (x->ended || x->kind != AIF_LAUNCH_KERNEL || x->kernel == AIF_NONE ||
		    x->thread == AIF_NONE || at < w->from || at > w->to)
			continue;
		if (x->stream != AIF_NONE)
			r = add_untimed(l, u, x, p->streams[x->stream].device);
		/* Of a command list, of which nobody knows what executed it: where the kernel was seen. */
		for (uint32_t k = 0; x->stream == AIF_NONE && k < p->devices_len && !r; k++)
			r = add_untimed(l, u, x, k);
	}
	return r;
}

/* Where a driver gives no times there are launches and samples, but no executions: the samples of such a kernel go by
 * its launches. Its widths stay 0: nobody has measured them. */
static int find_untimed(struct loading *l)
{
	struct aif_attribution_work *w = l->w;
	const struct aif_profile *p = w->p;
	struct untimed u = {.processes = {0}};
	int r = 0;

	for (size_t i = 0; i < p->losses_len && !r; i++)
		if (p->losses[i].reason == AIF_REASON_NO_TIMES && p->losses[i].process != AIF_NONE)
			r = aif_map_put(&u.processes, p->losses[i].process, 1);
	for (size_t i = 0; i < w->counted_len && !r && u.processes.len; i++)
		r = aif_map_put(&u.sampled,
				family_key(w->counted[i].process, w->counted[i].device,
					   aif_attribution_sampled_kernel(p, w->counted[i].frame)),
				1);
	for (size_t i = 0; i < w->groups_len && !r && u.sampled.len; i++)
		r = aif_map_put(&u.timed,
				family_key(w->groups[i].process, w->groups[i].device,
					   kernel_name(p, w->groups[i].kind, w->groups[i].kernel)),
				1);
	if (!r && u.sampled.len)
		r = find_untimed_launches(l, &u);
	aif_map_finish(&u.processes);
	aif_map_finish(&u.timed);
	aif_map_finish(&u.sampled);
	return r;
}

/* Did the process end in the same span, with nobody told to stop before? */
static bool is_cut_off(const struct aif_attribution_work *w, uint32_t process, uint64_t at)
{
	uint64_t end = w->p->processes[process].end_ns;
	struct aif_gaps_span s = aif_gaps_at(&w->gaps, process, at);

	return end && !s.is_gap && since_start(w->p, end) <= s.end;
}

/* Launches that have no execution: of those that were in flight samples may be there. Counts those that were
 * not, and those whose process ended first, without what --keep dropped. */
static int find_in_flight(struct loading *l, uint64_t *ret_untold, uint64_t *ret_unread)
{
	struct aif_attribution_work *w = l->w;
	const struct aif_profile *p = w->p;
	int r = 0;

	for (size_t i = 0; i < l->launches_len && !r; i++) {
		const struct launched *x = &l->launches[i];
		uint64_t at = since_start(p, x->time);
		uint32_t process = x->thread == AIF_NONE ? AIF_NONE : p->threads[x->thread].process;

		if (x->ended || process == AIF_NONE)
			continue;
		if (aif_in_flight_overtaken(&w->in_flight, &w->gaps, process, x->stream, at,
					    p->end_ns - p->start_ns)) {
			*ret_untold += x->time >= p->kept_ns;
			continue;
		}
		*ret_unread += x->time >= p->kept_ns && is_cut_off(w, process, at);
		r = aif_in_flight_add(&w->in_flight, &w->gaps, process,
				      kernel_name(p, x->kind, x->kernel), at);
	}
	return r;
}

/* Launches that never became rows, and executions that were lost behind launches that did. */
static void count_lost(struct loading *l, uint64_t untold, uint64_t unread)
{
	struct aif_conservation *c = &l->w->c;
	const struct aif_profile *p = l->w->p;
	uint64_t lost_launches = 0, lost_execs = 0, open;

	/* Launches whose executions --keep dropped are as gone as those are. */
	for (size_t i = 0; i < l->launches_len; i++)
		c->launches += l->launches[i].joined || l->launches[i].time >= p->kept_ns;
	for (size_t i = 0; i < p->losses_len; i++) {
		const struct aif_loss *loss = &p->losses[i];
		const char *detail =
			loss->detail == AIF_NONE ? "" : aif_profile_str(p, loss->detail);

		switch ((enum aif_reason)loss->reason) {
		case AIF_REASON_RING_FULL:
			*(!strcmp(detail, "launches") ? &lost_launches : &lost_execs) +=
				!strcmp(detail, "definitions") ? 0 : loss->count;
			break;
		case AIF_REASON_WRITER_BEHIND:
			lost_launches += !strcmp(detail, "launches") ? loss->count : 0;
			lost_execs += !strcmp(detail, "executions") ? loss->count : 0;
			c->samples_dropped += !strcmp(detail, "samples") ? loss->count : 0;
			break;
		case AIF_REASON_NO_MEMORY:
			lost_launches += !strcmp(detail, "launches") ? loss->count : 0;
			break;
		case AIF_REASON_NO_SLOT:
		case AIF_REASON_SECCOMP_THREADS:
		case AIF_REASON_BEFORE_ATTACH:
		case AIF_REASON_AFTER_FORK:
			lost_launches += loss->count;
			break;
		case AIF_REASON_NO_TIMES:
		case AIF_REASON_FAILED_COMMAND:
			lost_execs += loss->count;
			break;
		case AIF_REASON_SAMPLE_LOST:
		case AIF_REASON_XE_BEHIND:
			c->samples_dropped += loss->count;
			break;
		default:
			break;
		}
	}
	open = c->launches - c->joined;
	c->uncaptured = aif_weights_uncaptured(l->w->weights);
	c->launches += c->uncaptured + c->outside;
	lost_execs = AIF_MIN(lost_execs, open);
	c->launches += lost_launches;
	c->lost = lost_launches + lost_execs;
	/* What was counted as lost is not said again: it is the strangest that are. */
	untold = AIF_MIN(untold, open);
	unread = AIF_MIN(unread, open - untold);
	c->untold = untold - AIF_MIN(untold, lost_execs);
	c->unread = unread - AIF_MIN(unread, lost_execs - (untold - c->untold));
	c->unfinished = open - lost_execs - c->untold - c->unread;
	c->samples += c->samples_dropped;
}

/* With filters the launches that count are those that have executions here. */
static void count_filtered(struct loading *l)
{
	struct aif_conservation *c = &l->w->c;

	c->launches = c->joined;
	c->outside = 0;
}

/* What was left out ran, too: between which times, its blocks tell, where nothing else does. */
static void count_left_out(struct aif_attribution_work *w)
{
	uint64_t start = w->p->start_ns;
	struct aif_weights_blank blank;

	/* Blocks do not know devices: of one that nobody uses nothing was left out. */
	if (w->opts->devices)
		return;
	if (!aif_weights_blank(w->weights, start + w->from, start + w->to, w->opts->processes,
			       w->opts->threads, &blank))
		return;
	w->c.left_out = (uint64_t)ceil(blank.launches);
	if (!w->runs_len) {
		w->c.first_start_ns = blank.from - start;
		w->c.last_end_ns = blank.to - start;
	}
}

static int load(struct loading *l, struct aif_err *err)
{
	const struct aif_profile *p = l->w->p;
	struct aif_conservation *c = &l->w->c;
	uint64_t bad[4] = {0}, untold = 0, unread = 0;
	int r;

	l->devices = calloc(AIF_MAX(p->devices_len, 1), sizeof(*l->devices));
	r = l->devices ? aif_timeline_new(p, &l->timeline) : -ENOMEM;
	if (!r)
		r = is_part(l->w->opts) ? aif_weights_new_part(p,
							       (struct aif_weights_span){
								       p->start_ns + l->w->from,
								       p->start_ns + l->w->to, 0},
							       &l->w->weights)
					: aif_weights_new(p, &l->w->weights);
	if (!r)
		r = aif_gaps_init(&l->w->gaps, p);
	if (!r)
		r = aif_profile_launches(p, load_launches, l, &bad[0]);
	if (!r)
		r = aif_profile_execs(p, load_execs, l, &bad[1]);
	if (!r)
		r = aif_profile_samples(p, load_samples, l, &bad[2]);
	if (!r && l->w->counted_len)
		r = aif_attribution_windows_load(l->w, l->timeline, &bad[3]);
	if (!r && l->w->counted_len)
		r = find_untimed(l);
	if (!r)
		r = find_in_flight(l, &untold, &unread);
	if (r < 0)
		return aif_err_set(err, r, "attribution: %s", strerror(-r));
	if (is_filtered(l->w->opts))
		count_filtered(l);
	else
		count_lost(l, untold, unread);
	for (size_t i = 0; i < p->devices_len; i++)
		c->devices += l->devices[i];
	c->elapsed_ns = l->w->to - l->w->from;
	c->damaged = bad[0] + bad[1] + bad[2] + bad[3];
	count_left_out(l->w);
	return 0;
}

struct split {
	aif_fraction *fractions;
	uint64_t *whole;
};

/* Divides a group's total over its insides, in proportion to their samples. */
static int split_total(uint64_t total, const struct aif_inside *in, size_t n, struct split *s)
{
	aif_fraction samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += in[i].samples;
	for (size_t i = 0; i < n; i++) { /* total < 2^64, samples of one recording < 2^63 in all */
		double share = samples ? (double)in[i].samples / (double)samples : 1 / (double)n;

		s->fractions[i] =
			(aif_fraction)((double)total * share * (double)(1u << AIF_FRACTION_BITS));
	}
	return aif_attribution_round(s->fractions, n, total, s->whole);
}

static int by_group(const void *a, const void *b)
{
	const struct aif_inside *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->reason < y->reason ? -1 : x->reason > y->reason;
}

static void sort_insides(struct aif_attribution_work *w)
{
	size_t n = 0;

	if (w->insides_len)
		qsort(w->insides, w->insides_len, sizeof(*w->insides), by_group);
	for (size_t i = 0; i < w->insides_len; i++) {
		const struct aif_inside *in = &w->insides[i];

		if (!n || by_group(&w->insides[n - 1], in)) {
			w->insides[n++] = *in;
			continue;
		}
		w->insides[n - 1].samples += in->samples;
		w->insides[n - 1].shared |= in->shared;
		w->insides[n - 1].mixed |= in->mixed;
	}
	w->insides_len = n;
}

static struct aif_attribution_row group_row(const struct aif_group *g)
{
	return (struct aif_attribution_row){.process = g->process,
					    .device = g->device,
					    .stream = g->stream,
					    .kind = g->kind,
					    .kernel = g->kernel,
					    .stack = g->stack,
					    .graph = g->graph,
					    .frame = AIF_NONE,
					    .reason = AIF_NONE,
					    .grade = g->sampled ? AIF_GRADE_SAMPLED
								: AIF_GRADE_EXACT};
}

/* A group without samples is one row; another is a row for each inside. */
static int emit_group(struct aif_attribution *a, const struct aif_group *g, uint64_t wall,
		      const struct aif_inside *in, const uint64_t *samples, size_t n,
		      struct split *s)
{
	struct aif_attribution_row *row = a->rows + a->rows_len;
	int r = 0;

	if (!n) {
		*row = group_row(g);
		row->wall_ns = wall;
		row->time_ns = g->time;
		a->rows_len++;
	} else {
		r = split_total(wall, in, n, s);
		for (size_t i = 0; i < n && !r; i++) {
			row[i] = group_row(g);
			row[i].frame = in[i].frame;
			row[i].reason = in[i].reason;
			if (in[i].shared && !g->sampled)
				row[i].grade =
					in[i].mixed ? AIF_GRADE_MIXED : AIF_GRADE_APPORTIONED;
			row[i].samples = samples[i];
			row[i].wall_ns = s->whole[i];
		}
		if (!r)
			r = split_total(g->time, in, n, s);
		for (size_t i = 0; i < n && !r; i++)
			row[i].time_ns = s->whole[i];
		a->rows_len += n;
	}
	row->launches = (uint64_t)((g->launches + AIF_WEIGHT_ONE / 2) / AIF_WEIGHT_ONE);
	row->bytes = g->bytes;
	row->error_ns = g->error;
	return r;
}

static int emit(struct aif_attribution_work *w, struct aif_attribution *a)
{
	size_t n = AIF_MAX(w->groups_len, w->insides_len) + 1, at = 0;
	struct split s = {.fractions = calloc(n, sizeof(*s.fractions)),
			  .whole = calloc(n, sizeof(*s.whole))};
	uint64_t *wall = calloc(n, sizeof(*wall)), *samples = calloc(n, sizeof(*samples));
	int r = -ENOMEM;

	a->rows = calloc(w->groups_len + w->insides_len + 1, sizeof(*a->rows));
	if (!s.fractions || !s.whole || !wall || !samples || !a->rows)
		goto out;
	for (size_t i = 0; i < w->groups_len; i++)
		s.fractions[i] = w->groups[i].wall;
	r = aif_attribution_round(s.fractions, w->groups_len, w->c.busy_ns, wall);
	if (!r)
		r = aif_attribution_round_samples(w, samples);
	for (size_t g = 0; g < w->groups_len && !r; g++) {
		size_t first = at;

		while (at < w->insides_len && w->insides[at].group == g)
			at++;
		/* Without samples there are no insides, and to NULL nothing may be added. */
		r = emit_group(a, &w->groups[g], wall[g], w->insides ? w->insides + first : NULL,
			       samples + first, at - first, &s);
	}
out:
	free(s.fractions);
	free(s.whole);
	free(wall);
	free(samples);
	return r;
}

/* Each stage lets go of what the next ones do not need: a profile of 3 million launches takes a third less. */
static void finish_loading(struct loading *l)
{
	aif_timeline_free(l->timeline);
	aif_map_finish(&l->by_launch);
	free(l->launches);
	free(l->devices);
}

static void finish_sources(struct aif_attribution_work *w)
{
	aif_map_finish(&w->group_ids);
	aif_map_finish(&w->inside_ids);
	free(w->runs);
	free(w->samples);
	free(w->counted);
	free(w->windows);
	w->runs = NULL;
	w->samples = w->counted = NULL;
	w->windows = NULL;
}

int aif_attribution_compute(const struct aif_profile *p, const struct aif_attribution_opts *opts,
			    struct aif_attribution *ret, struct aif_err *err)
{
	static const struct aif_attribution_opts everything;
	struct aif_attribution_work w = {.p = p, .opts = opts ? opts : &everything};
	struct loading l = {.w = &w};
	struct aif_attribution a = {0};
	uint64_t length = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0, first;
	int r;

	if (!is_filtered(w.opts) && aif_attribution_cache_get(p, ret) == 0)
		return 0;
	/* Of what was dropped nobody knows whether it was busy: it is no part of the time looked at. */
	first = p->kept_ns > p->start_ns ? p->kept_ns - p->start_ns : 0;
	w.from = AIF_MIN(AIF_MAX(w.opts->from_ns, first), length);
	w.to = w.opts->to_ns ? AIF_MAX(AIF_MIN(w.opts->to_ns, length), w.from) : length;
	r = load(&l, err);
	finish_loading(&l);
	if (!r) {
		r = aif_attribution_sweep(&w);
		if (!r)
			r = aif_attribution_windows(&w);
		finish_sources(&w);
		if (!r) {
			r = aif_attribution_settle(&w);
			sort_insides(&w);
			if (!r)
				r = emit(&w, &a);
			a.conservation = w.c;
			if (!r)
				r = aif_attribution_emit_devices(&w, &a);
			a.unmatched = w.unmatched;
			a.unmatched_len = w.unmatched_len;
			w.unmatched = NULL;
		}
		if (r < 0)
			aif_err_set(err, r, "attribution: %s", strerror(-r));
	}
	finish_sources(&w);
	for (size_t i = 0; w.devices && i < p->devices_len; i++)
		aif_estimate_finish(&w.devices[i].busy);
	free(w.devices);
	free(w.groups);
	free(w.insides);
	free(w.cycle_sums);
	free(w.unmatched);
	aif_map_finish(&w.in_cycle);
	aif_weights_free(w.weights);
	aif_gaps_finish(&w.gaps);
	aif_in_flight_finish(&w.in_flight);
	if (r < 0) {
		aif_attribution_finish(&a);
		return r;
	}
	if (!is_filtered(w.opts))
		aif_attribution_cache_put(p, &a);
	*ret = a;
	return 0;
}

int aif_attribution_take_unmatched(struct aif_attribution *a)
{
	size_t cap = a->rows_len; /* What was computed has no room to spare that is known. */

	if (!a->unmatched_len)
		return 0;
	if (aif_grow(&a->rows, &cap, a->rows_len + a->unmatched_len, sizeof(*a->rows)) < 0)
		return -ENOMEM;
	memcpy(a->rows + a->rows_len, a->unmatched, a->unmatched_len * sizeof(*a->rows));
	a->rows_len += a->unmatched_len;
	a->unmatched_len = 0;
	return 0;
}

bool aif_attribution_is_untimed(const struct aif_attribution *a)
{
	bool has_samples = a->unmatched_len;

	for (size_t i = 0; i < a->rows_len; i++) {
		if (a->rows[i].wall_ns || a->rows[i].time_ns)
			return false;
		has_samples |= a->rows[i].samples;
	}
	return has_samples;
}

void aif_attribution_finish(struct aif_attribution *a)
{
	free(a->rows);
	free(a->unmatched);
	free(a->devices);
	*a = (struct aif_attribution){0};
}
