/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/why.h"

#include "analysis/cpu_totals.h"
#include "analysis/gaps.h"
#include "analysis/step_names.h"
#include "base/reasons.h"
#include "names/callers.h"
#include "names/stack_names.h"
#include "report/wake_text.h"
#include "report/why/bounds.h"
#include "report/why/owners.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- the window ------------------------------------------------------------------------------ */

/* Shares of the devices' time in which they were busy, by what was captured. */
static void measure_phases(const struct aif_utilization *u, const struct aif_profile *p,
			   struct aif_why *w)
{
	int64_t end = (int64_t)(p->end_ns - p->start_ns);
	const int64_t from[] = {w->since, w->phases.start, w->phases.end};
	const int64_t to[] = {w->phases.start, w->phases.end, end};

	uint64_t work = 0, in_loop = 0;

	for (unsigned i = 0; i < AIF_ARRAY_LEN(from); i++) {
		uint64_t known = 0, busy = 0;

		for (size_t d = 0; d < u->len && from[i] < to[i]; d++) {
			struct aif_utilization_parts parts =
				aif_utilization_parts(&u->devices[d], from[i], to[i]);
			uint64_t all = (uint64_t)(to[i] - from[i]) - parts.not_collected;

			known += all;
			busy += all - AIF_MIN(parts.idle, all);
		}
		w->phase_busy_ppm[i] = aif_share_ppm(busy, known);
		work += i ? busy : 0; /* start-up has loops of its own: a warm-up */
		in_loop += i == 1 ? busy : 0;
	}
	w->loop_work_ppm = aif_share_ppm(in_loop, work);
}

/* Time is collected from here on: behind what was dropped, and behind the last pause before the loop. 0 or -ENOMEM. */
static int find_since(const struct aif_profile *p, const struct aif_exec_timeline *t,
		      struct aif_why *w)
{
	uint32_t process =
		w->phases.thread == AIF_NONE ? AIF_NONE : p->threads[w->phases.thread].process;
	struct aif_gaps gaps = {0};
	int64_t first = w->phases.start;
	int e = aif_gaps_init(&gaps, p);

	for (size_t i = 0; i < t->launches_len; i++)
		first = AIF_MIN(first, t->launches[i].at);
	w->since = (int64_t)(p->kept_ns - p->start_ns);
	for (size_t i = 0; i < gaps.len && !e; i++)
		/* The recorder's end of a pause may come after the first launch, which the agent stamps. */
		if (gaps.at[i].process == process && first >= 0 &&
		    gaps.at[i].start < (uint64_t)first)
			w->since = AIF_MAX(w->since,
					   (int64_t)AIF_MIN(gaps.at[i].end, (uint64_t)first));
	w->since = AIF_MIN(w->since, AIF_MAX(w->phases.start, 0));
	aif_gaps_finish(&gaps);
	return e;
}

/* A graph may have run for longer than all else: if it was one launch in so many, it is said to be unknown only. */
#define FEW_GRAPHS 100

/* True of an import without what graphs ran, or without the executions of many launches. */
static bool lacks_work(const struct aif_profile *p, uint64_t launches)
{
	for (size_t i = 0; i < p->losses_len; i++)
		if (p->losses[i].reason == AIF_REASON_IMPORT_GRAPH_UNKNOWN &&
		    p->losses[i].count >= launches / FEW_GRAPHS)
			return true;
	return *aif_profile_meta(p, "imported.device_work");
}

/* Returns the part that was asked for, else the loop, else all. */
static struct aif_selection window_of(const struct aif_profile *p, const struct aif_selection *sel,
				      struct aif_why *w)
{
	struct aif_selection part = *sel;

	w->is_part = sel->from_ns || sel->to_ns;
	w->is_some_work = sel->threads || sel->in_ranges;
	w->idle_unknown = p->traits.lacks & AIF_LACK_WORK;
	w->options = sel->options ? sel->options : "";
	w->is_loop = !w->is_part && !sel->whole && w->phases.from &&
		     w->loop_work_ppm >= AIF_WHY_LOOP_PPM;
	if (w->is_loop) {
		part.from_ns = w->phases.start > 0 ? (uint64_t)w->phases.start : 0;
		part.to_ns = w->phases.end > 0 ? (uint64_t)w->phases.end : 1;
	}
	w->from = (int64_t)part.from_ns;
	w->to = part.to_ns ? (int64_t)part.to_ns : (int64_t)(p->end_ns - p->start_ns);
	return part;
}

/* Sums up how far the host was ahead in the window; of a loop that is queued long before, by when its work starts. Keeps
 * only the waits of the queue, for replays. */
static int measure_ahead(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_exec_timeline *t, const struct aif_utilization *u,
			 struct aif_why *w)
{
	struct aif_selection part = window_of(p, sel, w);
	const struct aif_exec_timeline *of = NULL;
	struct aif_queue_span span = {.device = AIF_QUEUE_ALL,
				      .from = w->from,
				      .to = w->to,
				      .by_start = w->phases.is_queued,
				      .step_ns = w->phases.from ? w->phases.median_ns : 0};
	int e = aif_queue_make(p, t, u, &w->queue);

	/* The part has weights of its own where launches were left out (idle/part.c). */
	if (!e && (part.from_ns || part.to_ns) && (t->weights || t->left_out))
		e = aif_exec_timeline_get(p, &part, &of);
	if (!e)
		e = aif_queue_sum(&w->queue, of ? of->weights : t->weights, &span, &w->ahead);
	aif_facts_put(of);
	aif_queue_drop_launches(&w->queue);
	return e;
}

/* Finds the phases of all that `sel` chooses, whatever its times; with_queue: also how far the host was ahead. */
static int find_phases(const struct aif_profile *p, const struct aif_selection *sel,
		       bool with_queue, struct aif_why *w)
{
	struct aif_selection all = *sel;
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	int e;

	all.from_ns = all.to_ns = 0;
	e = aif_exec_timeline_get(p, &all, &t);
	if (!e)
		e = aif_phases_find(p, &all, t, &w->phases);
	if (!e && w->phases.from)
		e = find_since(p, t, w);
	if (!e)
		e = aif_utilization_get(p, t, &u);
	if (!e && w->phases.from)
		measure_phases(u, p, w);
	if (!e && with_queue && !p->traits.is_lengths)
		e = measure_ahead(p, sel, t, u, w);
	w->damaged += w->queue.damaged;
	aif_facts_put(u);
	aif_facts_put(t);
	return e;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void add_devices(const struct aif_idle_part *part, struct aif_why *w)
{
	uint64_t all;

	for (size_t i = 0; i < part->u->len; i++) {
		struct aif_utilization_parts d = aif_idle_part_of(part, i);

		w->of_group[AIF_WHY_COMPUTE] += d.compute;
		w->of_group[AIF_WHY_COPY] += d.memory_alone;
		w->of_group[AIF_WHY_COMMUNICATION] += d.communication_alone;
		w->idle_ns += d.idle;
		w->not_collected_ns += d.not_collected;
		w->error_ns += part->is_cut ? 0 : part->u->devices[i].whole.error;
		w->devices += d.compute + d.memory_alone + d.communication_alone + d.idle > 0;
	}
	w->time_ns = w->of_group[AIF_WHY_COMPUTE] + w->of_group[AIF_WHY_COPY] +
		     w->of_group[AIF_WHY_COMMUNICATION] + w->idle_ns;
	if (w->to > w->from &&
	    !__builtin_mul_overflow((uint64_t)(w->to - w->from), w->devices, &all))
		w->outside_ns = all - AIF_MIN(all, w->time_ns + w->not_collected_ns);
}

struct measuring {
	const struct aif_profile *p;
	struct aif_why *w;
	struct aif_stack_names *stacks;
	struct aif_buf line;
	struct aif_map owners; /* group << 33 | before << 32 | place -> owner */
	uint64_t *rows;        /* by row of the blame: the same key of its owner */
};

/* Sets *ret, a string of .places (owners.h). 0 or -ENOMEM. */
static int place_of(struct measuring *m, uint32_t stack, uint32_t *ret)
{
	int e;

	aif_buf_clear(&m->line);
	e = aif_why_place(m->p, m->stacks, stack, &m->line);
	if (!e)
		*ret = aif_strset_puts(&m->w->places, aif_buf_str(&m->line));
	return e ? e : aif_buf_failed(&m->line) || *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

/* Adds idle time of a group to who owns it, with the key *ret. 0 or -ENOMEM. */
static int add_owner(struct measuring *m, const struct aif_idle_row *row, uint64_t *ret)
{
	enum aif_why_group group = aif_why_group_of(row->cause);
	bool is_before = row->is_before && !row->is_machine;
	uint64_t ns = row->ns;
	struct aif_why *w = m->w;
	uint32_t place = AIF_STR_NONE;
	uint64_t key, i;

	*ret = UINT64_MAX;
	if (!ns)
		return 0;
	/* The launch was in time: another program had the CPUs. */
	if (row->is_machine)
		place = aif_strset_puts(&w->places, AIF_IDLE_MACHINE);
	else if (place_of(m, row->stack, &place) < 0)
		return -ENOMEM;
	if (place == AIF_STR_NONE)
		return -ENOMEM;
	*ret = key = (uint64_t)group << 33 | (uint64_t)is_before << 32 | place;
	w->of_group[group] += ns;
	if (aif_map_get(&m->owners, key, &i)) {
		w->owners[i].ns += ns;
		w->owners[i].is_other &= row->is_other;
		if (w->owners[i].seen == AIF_NONE)
			w->owners[i].seen = row->seen;
		return 0;
	}
	if (aif_grow(&w->owners, &w->owners_cap, w->owners_len + 1, sizeof(*w->owners)) < 0 ||
	    aif_map_put(&m->owners, key, w->owners_len) < 0)
		return -ENOMEM;
	w->owners[w->owners_len++] = (struct aif_why_owner){.group = group,
							    .stack = row->stack,
							    .is_before = is_before,
							    .is_machine = row->is_machine,
							    .is_other = row->is_other,
							    .seen = row->seen,
							    .ns = ns,
							    .place = place};
	return 0;
}

/* Adds who ended the sleeps of a row to the owner that has it. */
static int add_wakes(struct measuring *m, enum aif_why_group group, const struct aif_idle_blame *b,
		     const struct aif_idle_row *row)
{
	struct aif_why_owner owner = {.group = group, .is_before = row->is_before};
	size_t n;
	const struct aif_idle_wake *wakes = aif_idle_wakes_of(b, row, &n);
	int e = n ? place_of(m, row->stack, &owner.place) : 0;

	for (size_t i = 0; i < n && !e; i++) {
		uint32_t text = AIF_STR_NONE;

		aif_buf_clear(&m->line);
		e = aif_wake_text(m->p, m->stacks, &wakes[i], &m->line);
		if (!e)
			text = aif_strset_puts(&m->w->places, aif_buf_str(&m->line));
		if (!e)
			e = text == AIF_STR_NONE ? -ENOMEM
						 : aif_why_wake_add(m->w, &owner, &wakes[i], text);
	}
	return e;
}

static int by_owner_time(const void *a, const void *b)
{
	const struct aif_why_owner *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return AIF_ORDER(x->group, y->group) ?: AIF_ORDER(x->place, y->place);
}

/* Takes what `b` has of devices, and adds its rows, which come longest first, so that an owner has the stack of its longest. */
static int add_idle(struct measuring *m, const struct aif_idle_blame *b)
{
	int e = 0;

	m->rows = malloc((b->len + 1) * sizeof(*m->rows));
	if (!m->rows)
		return -ENOMEM;
	for (size_t i = 0; i < b->len && !e; i++) {
		const struct aif_idle_row *row = &b->rows[i];

		if (aif_why_group_of(row->cause) == AIF_WHY_HOST && row->gap_ns < AIF_WHY_LAUNCH_NS)
			m->w->launching_ns += row->ns;
		e = add_owner(m, row, &m->rows[i]);
		if (!e)
			e = add_wakes(m, aif_why_group_of(row->cause), b, row);
		if (!e)
			e = aif_why_call_add(m->p, m->w, row);
	}
	aif_why_calls_sort(m->w);
	aif_why_wakes_sort(m->w);
	if (!e && b->devices_len) {
		m->w->idle = malloc(b->devices_len * sizeof(*m->w->idle));
		e = m->w->idle ? 0 : -ENOMEM;
	}
	if (m->w->idle) {
		memcpy(m->w->idle, b->devices, b->devices_len * sizeof(*m->w->idle));
		m->w->idle_len = b->devices_len;
	}
	if (m->w->owners_len)
		qsort(m->w->owners, m->w->owners_len, sizeof(*m->w->owners), by_owner_time);
	return e ? e : aif_why_functions_add(m->w, m->p->traits.is_imported);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* PyTorch is a module of the program, or gave names to what it ran. */
static bool is_torch(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->modules_len; i++) {
		const char *path = aif_profile_str(p, p->modules[i].path);

		if (strstr(path, "libtorch") || strstr(path, "/torch/"))
			return true;
	}
	for (size_t i = 0; i < p->frame_names_len; i++)
		if (!strncmp(aif_profile_str(p, p->frame_names[i].name), "aten::", 6))
			return true;
	return false;
}

/* True if times off CPU have stacks, of which each ends in a mark. A wait for a CPU that was seen from outside has none. */
static bool has_off_cpu(const struct aif_profile *p)
{
	for (uint32_t i = 0; i < p->stacks_len; i++)
		if (aif_cpu_is_off_cpu(p, i) &&
		    (!aif_cpu_seen(p, i) || p->stacks[i].parent != AIF_NONE))
			return true;
	return false;
}

/* Place of a loop: a stack in its function; where the source has it, the line on which it begins, that of a call in it, on which the
 * stack is, and which of the functions of the stack's frame it is in. */
struct loop_place {
	uint32_t stack, line, call_line, inlined;
};

static bool is_native(const struct aif_profile *p, uint32_t stack)
{
	uint32_t frame = p->stacks[stack].frame;

	return frame != AIF_NONE && p->frames[frame].kind == AIF_FRAME_NATIVE;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && !strcmp(text + len - n, end);
}

/* Sets *ret to a string of .places, the program's own function that has the loop; AIF_STR_NONE: an engine alone is on its stack. */
static int place_level(struct measuring *m, const struct loop_place *at, uint32_t *ret)
{
	const char *name;
	char of_call[16];

	*ret = AIF_STR_NONE;
	if (at->stack == AIF_NONE)
		return 0;
	snprintf(of_call, sizeof(of_call), ":%u)", at->call_line);
	name = at->line ? aif_stack_names_inlined(m->stacks, at->stack, at->inlined) : "";
	if (name && (!ends_with(name, of_call) || !is_native(m->p, at->stack)))
		name = aif_stack_names_caller(m->stacks, at->stack);
	if (!name)
		return -ENOMEM;
	if (!*name || aif_caller_is_engine(name))
		return 0;
	aif_buf_clear(&m->line);
	aif_buf_puts(&m->line, name);
	if (at->line && ends_with(name, of_call)) {
		m->line.len -= strlen(of_call);
		aif_buf_printf(&m->line, ":%u)", at->line);
	}
	*ret = aif_strset_puts(&m->w->places, aif_buf_str(&m->line));
	return aif_buf_failed(&m->line) || *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

static int place_loop(struct measuring *m)
{
	const struct aif_phases *f = &m->w->phases;
	struct loop_place steps = {.stack = f->stack};
	int e = 0;

	for (size_t i = 0; i < f->levels && !e; i++) {
		const struct aif_loop_level *l = &f->level[i];
		struct aif_loop_span span = {
			.thread = f->thread, .stack = l->begin, .from = l->start, .to = l->end};
		struct loop_place at = {l->stack, l->line, l->call_line, l->inlined};

		if (at.stack == AIF_NONE && l->begin != AIF_NONE)
			e = aif_loop_enclosing(m->p, &span, &at.stack);
		if (!e)
			e = place_level(m, &at, &m->w->level_places[i]);
		if (i == f->chosen)
			steps = at;
	}
	if (!e)
		e = place_level(m, &steps, &m->w->loop_place);
	for (size_t i = 0; i < f->loops_len && !e; i++) {
		const struct aif_loop_candidate *c = &f->loops[i];

		e = place_level(m,
				&(struct loop_place){c->stack, c->line, c->call_line, c->inlined},
				&m->w->candidate_places[i]);
	}
	if (f->loops_len)
		m->w->candidate_places[0] = m->w->loop_place;
	return e;
}

/* ---- all ------------------------------------------------------------------------------------- */

static uint64_t part_ns(const void *arg, const struct aif_timeline_exec *x)
{
	return aif_idle_part_ns(arg, x);
}

/* Sets *ret to a string of .places: a name up to who called it; AIF_STR_NONE if it is "". 0 or -ENOMEM. */
static int put_place(struct aif_why *w, const char *name, uint32_t *ret)
{
	const char *end = name ? strstr(name, AIF_STACK_CALLED_BY) : NULL;

	if (!name)
		return -ENOMEM;
	if (!*name)
		return 0;
	*ret = aif_strset_put(&w->places, name, end ? (size_t)(end - name) : strlen(name));
	return *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

/* Names who launched the kernels that come first: the others are not shown. */
#define PLACED 16
static int place_kernels(struct measuring *m)
{
	int e = 0;

	for (size_t i = 0; i < m->w->kernels_len && i < PLACED && !e; i++) {
		struct aif_why_kernel *k = &m->w->kernels[i];

		if (k->stack == AIF_NONE)
			continue;
		e = put_place(m->w, aif_stack_names_operator(m->stacks, k->stack), &k->operator);
		if (!e)
			e = put_place(m->w, aif_stack_names_caller(m->stacks, k->stack),
				      &k->caller);
	}
	return e;
}

/* True if a stack is named as the place of the kernel is. -ENOMEM. */
static int is_placed(const struct measuring *m, const struct aif_why_kernel *k, uint32_t stack)
{
	bool by_operator = k->operator!= AIF_STR_NONE;
	const char *place = aif_strset_get(&m->w->places, by_operator ? k->operator: k->caller,
					   NULL);
	const char *name = stack == AIF_NONE ? ""
			   : by_operator     ? aif_stack_names_operator(m->stacks, stack)
					     : aif_stack_names_caller(m->stacks, stack);
	const char *end = name ? strstr(name, AIF_STACK_CALLED_BY) : NULL;
	size_t len = strlen(place);

	if (!name)
		return -ENOMEM;
	return (end ? (size_t)(end - name) : strlen(name)) == len && !memcmp(name, place, len);
}

/* Counts the runs of the kernels that are shown which their place launched: others may have launched some, too. */
static int count_placed(struct measuring *m, const struct aif_idle_part *part)
{
	struct aif_why *w = m->w;
	size_t n = AIF_MIN(w->kernels_len, (size_t)PLACED);
	struct aif_map known = {0}, placed = {0};
	double runs[PLACED] = {0};
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		const struct aif_why_kernel *k = &w->kernels[i];

		if (k->operator!= AIF_STR_NONE || k->caller != AIF_STR_NONE)
			e = aif_map_put(
				&known,
				(uint64_t)k->kind << 32 | aif_why_kernel_name(m->p, k->kernel), i);
	}
	for (size_t i = 0; i < part->t->execs_len && !e; i++) {
		const struct aif_timeline_exec *x = &part->t->execs[i];
		const struct aif_timeline_work *of = aif_timeline_work_of(part->t, x);
		uint32_t stack =
			x->launch == AIF_NONE ? AIF_NONE : part->t->launches[x->launch].stack;
		uint64_t k, is;

		if (!aif_map_get(&known,
				 (uint64_t)of->kind << 32 | aif_why_kernel_name(m->p, of->kernel),
				 &k) ||
		    !aif_idle_part_has(part, x))
			continue;
		if (!aif_map_get(&placed, k << 32 | stack, &is)) {
			e = is_placed(m, &w->kernels[k], stack);
			is = e > 0;
			e = e < 0 ? e : aif_map_put(&placed, k << 32 | stack, is);
		}
		runs[k] += is ? aif_exec_timeline_whole(part->t, x, 1) : 0;
	}
	for (size_t i = 0; i < n; i++)
		w->kernels[i].placed_runs = aif_timed_rounded(runs[i]);
	aif_map_finish(&known);
	aif_map_finish(&placed);
	return e;
}

/* Takes waits for CPUs in the time of which the shares are. */
static void take_run_delay(const struct aif_idle_part *part, struct aif_why *w)
{
	w->run_delay = part->run_delay;
	w->is_busy_machine = part->is_busy_machine;
	w->is_crowded = part->is_crowded;
	w->damaged += part->run_delay.damaged;
}

/* Replays what functions, groups and kernels cost. 0 or -errno. */
static int find_bounds(struct measuring *m, const struct aif_idle_part *part)
{
	struct aif_why *w = m->w;
	struct aif_why_rows rows = {.p = m->p, .len = part->blame.len};
	int e = 0;

	rows.owner = malloc((rows.len + 1) * sizeof(*rows.owner));
	if (!rows.owner)
		return -ENOMEM;
	/* Owners were put in order since. */
	for (size_t i = 0; i < w->owners_len && !e; i++) {
		const struct aif_why_owner *o = &w->owners[i];

		e = aif_map_put(&m->owners,
				(uint64_t)o->group << 33 | (uint64_t)o->is_before << 32 | o->place,
				i);
	}
	for (size_t i = 0; i < rows.len && !e; i++) {
		uint64_t owner;

		rows.owner[i] =
			aif_map_get(&m->owners, m->rows[i], &owner) ? (uint32_t)owner : AIF_NONE;
	}
	if (!e)
		e = aif_why_bounds_find(&rows, part, w);
	free(rows.owner);
	return e;
}

static void count_launches(const struct aif_idle_part *part, struct aif_why *w)
{
	w->captured = part->t->captured;
	w->left_out = part->t->left_out;
	w->for_others_ns = aif_timed_rounded(part->t->for_others_ns);
	w->launches = part->t->captured + part->t->left_out;
	w->damaged += part->t->damaged + part->blame.damaged;
}

static int measure_window(struct measuring *m, const struct aif_selection *sel)
{
	const struct aif_idle_part *part;
	int e;

	/* Lengths are put one after another and say nothing of idle time. */
	if (m->p->traits.is_lengths)
		return 0;
	e = aif_idle_part_get_course(m->p, sel, &part);
	if (!e) {
		take_run_delay(part, m->w);
		add_devices(part, m->w);
		e = add_idle(m, &part->blame);
	}
	if (!e)
		e = aif_opportunity_make(m->p, NULL, part->t, part_ns, part, &m->w->work);
	if (!e)
		e = aif_why_kernels_add(m->p, part, m->w);
	if (!e)
		e = place_kernels(m);
	if (!e)
		e = count_placed(m, part);
	/* Threads that wait for CPUs take other times in each run, so that no replay has what a change brings. */
	if (!e && !m->w->is_busy_machine)
		e = find_bounds(m, part);
	if (part->t)
		count_launches(part, m->w);
	aif_facts_put(part);
	return e;
}

int aif_why_measure(const struct aif_names *names, const struct aif_selection *sel,
		    struct aif_why *ret, struct aif_err *err)
{
	static const struct aif_selection all;
	struct measuring m = {.p = names->p, .w = ret};
	struct aif_selection part;
	int e;

	*ret = (struct aif_why){.loop_place = AIF_STR_NONE};
	e = aif_stack_names_new_with_lines(names, &m.stacks);
	if (!e)
		e = find_phases(names->p, sel ? sel : &all, true, ret);
	if (!e) {
		part = window_of(names->p, sel ? sel : &all, ret);
		e = measure_window(&m, &part);
	}
	ret->is_requests =
		ret->is_loop && ret->phases.from == AIF_PHASES_TURNS &&
		aif_share_ppm(ret->of_group[AIF_WHY_DEMAND], ret->time_ns) >= AIF_WHY_BOUND_PPM;
	/* Estimates know more of a loop than what was captured, where launches were left out. */
	if (!e && ret->is_loop && ret->left_out)
		ret->phase_busy_ppm[1] = aif_share_ppm(ret->time_ns - ret->idle_ns, ret->time_ns);
	if (!e)
		e = place_loop(&m);
	if (!e)
		e = aif_power_measure(names->p, sel, ret->from, ret->to, &ret->power);
	if (!e)
		e = aif_why_ranks_add(names->p, m.stacks, sel ? sel : &all, ret);
	if (!e)
		e = aif_why_changes_add(names->p, m.stacks, sel ? sel : &all, ret);
	if (!e)
		e = aif_why_others_add(names, &part, ret);
	ret->is_work_missing = lacks_work(names->p, ret->launches);
	ret->damaged += ret->power.damaged;
	ret->is_torch = is_torch(names->p);
	ret->has_off_cpu =
		has_off_cpu(names->p) || names->p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL;
	ret->has_cpu = names->p->traits.is_imported ||
		       strtod(aif_profile_meta(names->p, "cpu_rate"), NULL) > 0;
	aif_map_finish(&m.owners);
	free(m.rows);
	aif_buf_finish(&m.line);
	aif_stack_names_free(m.stacks);
	if (e)
		return aif_err_set(err, e, "why: %s", strerror(-e));
	return ret->time_ns ? 0 : aif_left_out_error(ret->left_out, "why", err);
}

int aif_why_measure_amounts(const struct aif_profile *p, const struct aif_selection *sel,
			    struct aif_why *ret, const struct aif_idle_part **ret_part,
			    struct aif_err *err)
{
	static const struct aif_selection all;
	struct aif_selection window;
	int e;

	*ret = (struct aif_why){.loop_place = AIF_STR_NONE};
	*ret_part = aif_facts_none();
	e = find_phases(p, sel ? sel : &all, false, ret);
	if (!e) {
		window = window_of(p, sel ? sel : &all, ret);
		e = p->traits.is_lengths ? 0 : aif_idle_part_get(p, &window, ret_part);
	}
	if (!e && !p->traits.is_lengths) {
		add_devices(*ret_part, ret);
		e = aif_why_kernels_add(p, *ret_part, ret);
		count_launches(*ret_part, ret);
	}
	if (e)
		return aif_err_set(err, e, "%s", strerror(-e));
	return ret->time_ns ? 0 : aif_left_out_error(ret->left_out, "why", err);
}

void aif_why_finish(struct aif_why *w)
{
	aif_phases_finish(&w->phases);
	aif_queue_finish(&w->queue);
	free(w->idle);
	free(w->owners);
	free(w->functions);
	free(w->calls);
	free(w->wakes);
	free(w->kernels);
	aif_opportunity_finish(&w->work);
	aif_strset_finish(&w->places);
	aif_power_finish(&w->power);
	aif_facts_put(w->waits);
	free(w->change);
	*w = (struct aif_why){0};
}
