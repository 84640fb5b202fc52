/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu_totals.h"

#include "analysis/traits.h"
#include "text/table.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct totals {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_cpu_totals *to;
	bool by_thread;
	struct aif_map stacks; /* stack | waiting << 32 | (thread + 1) << 33 -> index */
	struct aif_map
		ranges; /* with by_range, stack | range << 32 -> number in place of the stack */
	struct aif_map threads; /* those that were met */
};

/* True if the row lasts from its time on: spans and waits of imported traces, longer waits by record --ebpf --off-cpu, and
 * stacks with lengths (speedscope's events among them), which lie one behind another. Else its end is not known. */
bool aif_cpu_has_end(const struct aif_profile *p, const struct aif_cpu_row *row)
{
	return row->waiting
		       ? p->traits.is_imported || row->is_whole
		       : p->traits.cpu_weights == AIF_CPU_WEIGHTS_SPANS || p->traits.is_lengths;
}

static uint64_t moment(const struct aif_profile *p, uint64_t ns)
{
	uint64_t at;

	return __builtin_add_overflow(p->start_ns, ns, &at) ? UINT64_MAX : at;
}

/* Cuts the row to the time that is asked for. False: nothing is left. */
static bool cut(const struct aif_profile *p, const struct aif_selection *w, struct aif_cpu_row *row)
{
	uint64_t *ns = row->waiting ? &row->waiting : &row->weight, end;
	uint64_t from = w->from_ns ? moment(p, w->from_ns) : 0,
		 to = w->to_ns ? moment(p, w->to_ns) : UINT64_MAX;

	if (from == 0 && to == UINT64_MAX)
		return true;
	if (!*ns || !aif_cpu_has_end(p, row)) /* saturated: what was before the start is at it */
		return AIF_MAX(row->time, p->start_ns) >= from &&
		       AIF_MAX(row->time, p->start_ns) < to;
	if (__builtin_add_overflow(row->time, *ns, &end))
		end = UINT64_MAX;
	if (row->time >= to || end <= from)
		return false;
	row->time = AIF_MAX(row->time, from);
	*ns = AIF_MIN(end, to) - row->time;
	return true;
}

static int64_t since_start(const struct aif_profile *p, uint64_t time)
{
	return (int64_t)(time - p->start_ns);
}

/* Returns the text of the innermost frame behind `prefix`, if it is a mark that begins with that; else NULL. */
static const char *mark_behind(const struct aif_profile *p, uint32_t stack, const char *prefix)
{
	uint32_t frame = stack < p->stacks_len ? p->stacks[stack].frame : AIF_NONE;
	size_t len = strlen(prefix);
	const char *text;

	if (frame >= p->frames_len || p->frames[frame].kind != AIF_FRAME_MARK ||
	    p->frames[frame].address >= p->strings.len)
		return NULL;
	text = aif_profile_str(p, (uint32_t)p->frames[frame].address);
	return strncmp(text, prefix, len) ? NULL : text + len;
}

bool aif_cpu_is_off_cpu(const struct aif_profile *p, uint32_t stack)
{
	return mark_behind(p, stack, AIF_OFF_CPU);
}

bool aif_cpu_is_runnable(const struct aif_profile *p, uint32_t stack)
{
	const char *mark = mark_behind(p, stack, "");

	return mark &&
	       (!strcmp(mark, AIF_OFF_CPU_RUNNABLE) || !strcmp(mark, AIF_OFF_CPU_SEEN_RUNNABLE));
}

bool aif_cpu_is_unsampled(const struct aif_profile *p, uint32_t stack)
{
	const char *mark = mark_behind(p, stack, "[");

	return mark &&
	       (!strcmp(mark, &AIF_CPU_BEFORE_MARK[1]) || !strcmp(mark, &AIF_CPU_AFTER_MARK[1]) ||
		!strcmp(mark, &AIF_CPU_NOT_MARK[1]));
}

bool aif_cpu_is_thread(const struct aif_profile *p, uint32_t thread)
{
	const struct aif_thread *t = thread < p->threads_len ? &p->threads[thread] : NULL;

	return !t || t->tid || t->name >= p->strings.len ||
	       strcmp(aif_profile_str(p, t->name), AIF_ENDED_THREADS);
}

size_t aif_cpu_count_threads(const struct aif_profile *p)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->threads_len; i++)
		n += aif_cpu_is_thread(p, i);
	return n;
}

/* Adds CPU time without samples to the totals that say which it is. */
static void unsampled_add(struct totals *t, uint32_t stack, uint64_t ns)
{
	const char *mark = mark_behind(t->p, stack, AIF_CPU_BEFORE_MARK);

	t->to->unsampled_ns += ns; /* at most weight_ns, whose sum is checked */
	t->to->before_ns += mark && !*mark ? ns : 0;
}

const char *aif_cpu_seen(const struct aif_profile *p, uint32_t stack)
{
	return mark_behind(p, stack, AIF_OFF_CPU_SEEN);
}

bool aif_cpu_part(const struct aif_profile *p, const struct aif_selection *sel,
		  const struct aif_cpu_row *row, struct aif_cpu_row *ret)
{
	uint32_t process = row->thread == AIF_NONE ? AIF_NONE : p->threads[row->thread].process;

	*ret = *row;
	if (row->waiting && aif_cpu_seen(p, row->stack))
		return false;
	if (!sel)
		return true;
	return (row->waiting
			? aif_selection_keeps_moment(sel, row->thread, since_start(p, row->time))
			: aif_selection_keeps_work(sel, row->thread, since_start(p, row->time))) &&
	       (!sel->processes || (process != AIF_NONE && sel->processes[process])) &&
	       cut(p, sel, ret);
}

/* Returns the ranges of a row: of work those that it was done for, of a wait those of its thread. */
static uint32_t range_of(const struct totals *t, const struct aif_cpu_row *row)
{
	int64_t at = since_start(t->p, row->time);

	if (!t->sel)
		return 0;
	return row->waiting ? aif_selection_range(t->sel, row->thread, at)
			    : aif_selection_work_range(t->sel, row->thread, at);
}

static int row_add(struct totals *t, const struct aif_cpu_row *row)
{
	struct aif_cpu_totals *to = t->to;
	bool waiting = row->waiting,
	     is_unsampled = !waiting && aif_cpu_is_unsampled(t->p, row->stack),
	     is_sample = !waiting && !is_unsampled;
	uint64_t ns = waiting ? row->waiting : row->weight, *sum, both, i,
		 key = row->stack | (uint64_t)waiting << 32;
	uint32_t range = range_of(t, row);
	struct aif_cpu_stack *s;

	if (t->sel && t->sel->by_range) {
		uint64_t pair = row->stack | (uint64_t)range << 32, number = t->ranges.len;

		if (!aif_map_get(&t->ranges, pair, &number) &&
		    aif_map_put(&t->ranges, pair, number) < 0)
			return -ENOMEM;
		key = (uint32_t)number | (uint64_t)waiting << 32;
	}
	if (t->by_thread)
		key |= (uint64_t)(row->thread + 1) << 33; /* AIF_NONE + 1 is 0 */

	if (!aif_map_get(&t->stacks, key, &i)) {
		if (aif_grow(&to->stacks, &to->stacks_cap, to->stacks_len + 1, sizeof(*s)) < 0 ||
		    aif_map_put(&t->stacks, key, to->stacks_len) < 0)
			return -ENOMEM;
		i = to->stacks_len++;
		to->stacks[i] = (struct aif_cpu_stack){
			.stack = row->stack,
			.range = range,
			.thread = t->by_thread ? row->thread : AIF_NONE,
			.waiting = waiting,
			.off_cpu = waiting && aif_cpu_is_off_cpu(t->p, row->stack),
		};
	}
	s = &to->stacks[i];
	s->samples += is_sample;
	s->weight_ns += ns;
	to->samples += is_sample;
	if (t->sel && !waiting &&
	    aif_selection_is_for_other(t->sel, row->thread, since_start(t->p, row->time)))
		to->for_others_ns += ns;
	if (!t->sel && is_sample && (!to->first_ns || row->time < to->first_ns))
		to->first_ns = row->time;
	sum = s->off_cpu ? &to->off_cpu_ns : waiting ? &to->waiting_ns : &to->weight_ns;
	if (__builtin_add_overflow(*sum, ns, sum) ||
	    __builtin_add_overflow(to->waiting_ns, to->weight_ns, &both))
		return -EOVERFLOW;
	if (is_unsampled)
		unsampled_add(t, row->stack, ns);
	if (!aif_cpu_is_thread(t->p, row->thread) || (is_unsampled && row->thread == AIF_NONE))
		return 0;
	return aif_map_put(&t->threads, row->thread, 1);
}

static int rows_add(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct totals *t = arg;
	struct aif_cpu_row part;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		if (aif_cpu_part(t->p, t->sel, &rows[i], &part))
			r = row_add(t, &part);
	return r;
}

static int totals_find(const struct aif_profile *p, const struct aif_selection *sel, bool by_thread,
		       struct aif_cpu_totals *ret, struct aif_err *err)
{
	struct totals t = {.p = p, .sel = sel, .to = ret, .by_thread = by_thread};
	int r;

	*ret = (struct aif_cpu_totals){0};
	r = aif_profile_cpu(p, rows_add, &t, &ret->damaged);
	ret->threads = t.threads.len;
	aif_map_finish(&t.stacks);
	aif_map_finish(&t.ranges);
	aif_map_finish(&t.threads);
	return r < 0 ? aif_err_set(err, r, "reading CPU samples: %s", strerror(-r)) : 0;
}

static int by_thread_compare(const void *pa, const void *pb)
{
	const struct aif_cpu_stack *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->range != b->range)
		return a->range < b->range ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->waiting - b->waiting;
}

int aif_cpu_totals(const struct aif_profile *p, const struct aif_selection *sel,
		   struct aif_cpu_totals *ret, struct aif_err *err)
{
	int r = totals_find(p, sel, false, ret, err);

	if (sel && sel->by_range && ret->stacks_len)
		qsort(ret->stacks, ret->stacks_len, sizeof(*ret->stacks), by_thread_compare);
	return r;
}

int aif_cpu_totals_by_thread(const struct aif_profile *p, const struct aif_selection *sel,
			     struct aif_cpu_totals *ret, struct aif_err *err)
{
	int r = totals_find(p, sel, true, ret, err);

	if (ret->stacks_len)
		qsort(ret->stacks, ret->stacks_len, sizeof(*ret->stacks), by_thread_compare);
	return r;
}

void aif_cpu_totals_finish(struct aif_cpu_totals *t)
{
	free(t->stacks);
	*t = (struct aif_cpu_totals){0};
}

uint64_t aif_cpu_span_ns(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_cpu_totals *by_thread)
{
	uint64_t from = UINT64_MAX, to = 0, length = p->end_ns - p->start_ns;

	for (size_t i = 0; i < by_thread->stacks_len; i++) {
		uint32_t thread = by_thread->stacks[i].thread,
			 process = thread == AIF_NONE ? AIF_NONE : p->threads[thread].process;

		if (process == AIF_NONE)
			continue;
		from = AIF_MIN(from, AIF_MAX(p->processes[process].start_ns, p->start_ns));
		to = AIF_MAX(to, p->processes[process].end_ns ? p->processes[process].end_ns
							      : p->end_ns);
	}
	from = from < p->start_ns || from > p->end_ns ? 0 : from - p->start_ns;
	to = to <= p->start_ns ? length : AIF_MIN(to - p->start_ns, length);
	if (sel && sel->from_ns)
		from = AIF_MAX(from, sel->from_ns);
	if (sel && sel->to_ns)
		to = AIF_MIN(to, sel->to_ns);
	return to > from ? to - from : 0;
}

/* Later than that the first sample is worth a word. */
#define LATE_NS AIF_NS_PER_S
/* More CPU time without samples than this share of all is worth a word. */
#define UNSAMPLED_PERCENT 5

/* Fewer samples than this share of the rate, and of so many that it is no chance, are worth a word. */
#define REACHED_PERCENT 80
#define REACHED_SAMPLES 100

/* Appends the rate of the samples, what was asked for, and what was reached where that is less. */
static void rate_say(const struct aif_profile *p, const struct aif_cpu_totals *t,
		     struct aif_buf *out)
{
	const char *rate = aif_profile_meta(p, "cpu_rate"),
		   *asked = aif_profile_meta(p, "cpu_rate_asked");
	double sampled_s = (double)(t->weight_ns - t->unsampled_ns) / (double)AIF_NS_PER_S,
	       reached = sampled_s > 0 ? (double)t->samples / sampled_s : 0;
	bool is_less = p->traits.cpu_weights == AIF_CPU_WEIGHTS_TIME && !aif_cpu_counts(p) &&
		       t->samples >= REACHED_SAMPLES &&
		       reached * 100 < strtod(rate, NULL) * REACHED_PERCENT;

	aif_buf_printf(out, " at %s Hz", rate);
	if (*asked || is_less)
		aif_buf_puts(out, " (");
	if (*asked)
		aif_buf_printf(out, "%s asked", asked);
	if (is_less)
		aif_buf_printf(out, "%s%.0f reached", *asked ? ", " : "", reached);
	if (*asked || is_less)
		aif_buf_putc(out, ')');
}

/* Appends how many samples there are at which rate, and which part of the time has none. */
static void samples_say(const struct aif_profile *p, const struct aif_cpu_totals *t,
			struct aif_buf *out)
{
	const char *counts = aif_cpu_counts(p), *rate = aif_profile_meta(p, "cpu_rate"),
		   *without =
			   t->before_ns == t->unsampled_ns ? "before sampling" : "without samples";

	aif_buf_puts(out, ", ");
	if (!t->samples && t->unsampled_ns) { /* a rate of nothing says nothing */
		if (t->before_ns && t->before_ns < t->unsampled_ns) {
			aif_human_ns(out, t->before_ns);
			aif_buf_puts(out, " of it before sampling, the rest ");
		}
		aif_buf_puts(out, without);
		return;
	}
	aif_human_counted(out, t->samples, "sample");
	if (counts && *aif_profile_meta(p, "cpu_period")) {
		aif_buf_puts(out, ", one for each ");
		aif_human_count(out, strtoull(aif_profile_meta(p, "cpu_period"), NULL, 10));
	}
	if (*rate) /* imported ones do not say */
		rate_say(p, t, out);
	if (*rate && t->first_ns >= p->start_ns + LATE_NS) {
		aif_buf_puts(out, ", the first at ");
		aif_human_ns(out, t->first_ns - p->start_ns);
	}
	if (t->unsampled_ns > t->weight_ns / 100 * UNSAMPLED_PERCENT) {
		aif_buf_puts(out, ", ");
		aif_human_ns(out, t->unsampled_ns);
		aif_buf_printf(out, " of it %s", without);
	}
}

void aif_cpu_totals_say(const struct aif_profile *p, const struct aif_cpu_totals *t,
			struct aif_buf *out)
{
	static const char *const in[] = {
		[AIF_CPU_WEIGHTS_TIME] = " on CPU in ",
		[AIF_CPU_WEIGHTS_WALL] = " of wall-clock time in ",
		[AIF_CPU_WEIGHTS_SPANS] = " in spans of ",
		[AIF_CPU_WEIGHTS_COUNTS] = " in ",
	};
	enum aif_cpu_weights weights = p->traits.cpu_weights;
	const char *counts = aif_cpu_counts(p);
	bool has_cpu = t->samples || t->weight_ns;

	/* Without CPU time there is nothing to be said of CPUs: no threads of 0 ns. */
	if (has_cpu) {
		if (counts) {
			aif_human_count(out, t->weight_ns);
			aif_buf_printf(out, " %s", counts);
		} else {
			aif_human_ns(out, t->weight_ns);
		}
		aif_buf_puts(out, in[weights]);
		if (t->threads)
			aif_human_counted(out, t->threads, "thread");
		else
			aif_buf_puts(out, "threads that ended before they were found");
		if (weights != AIF_CPU_WEIGHTS_SPANS && !p->traits.is_lengths)
			samples_say(p, t, out);
	}
	if (t->for_others_ns) {
		aif_buf_puts(out, ", of which ");
		aif_human_ns(out, t->for_others_ns);
		aif_buf_puts(out, " by other threads during these ranges");
	}
	if (t->off_cpu_ns) {
		aif_buf_puts(out, has_cpu ? "; " : "");
		aif_human_ns(out, t->off_cpu_ns);
		aif_buf_puts(out, " off CPU");
	}
	if (t->waiting_ns || (!has_cpu && !t->off_cpu_ns)) {
		aif_buf_puts(out, has_cpu || t->off_cpu_ns ? "; " : "");
		aif_human_ns(out, t->waiting_ns);
		aif_buf_puts(out, " waiting for devices");
	}
	if (!has_cpu) {
		aif_buf_puts(out, " in ");
		aif_human_counted(out, t->threads, "thread");
	}
	if (t->damaged)
		aif_buf_printf(
			out,
			t->damaged == 1
				? "; BROKEN: %" PRIu64
				  " part of the file is damaged: what it held is missing here"
				: "; BROKEN: %" PRIu64
				  " parts of the file are damaged: what they held is missing here",
			t->damaged);
}
