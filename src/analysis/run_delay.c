/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/run_delay.h"

#include "analysis/cpu_totals.h"
#include "analysis/time.h"
#include "base/human.h"
#include "profile/file.h"
#include "text/table.h"

#include <errno.h>
#include <stdlib.h>

struct delayed {
	uint64_t waited_ns, ran_ns;
	int64_t first, last;
};

struct measuring {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_run_delay *to;
	int64_t from, end;
	struct delayed *of; /* by thread */
};

/* Adds the part of a row that lies in the time at hand. 0 or -EOVERFLOW. */
static int add(uint64_t *sum, struct measuring *m, const struct aif_cpu_row *row, uint64_t ns)
{
	struct delayed *of = &m->of[row->thread];
	int64_t at = aif_time_clamp((int64_t)(row->time - m->p->start_ns));
	int64_t end = at + (int64_t)AIF_MIN(ns, (uint64_t)AIF_TIME_MAX);

	/* A sample counts where it is. */
	if (row->waiting) {
		at = AIF_MAX(at, m->from);
		end = AIF_MIN(end, m->end);
	} else if (at < m->from || at >= m->end) {
		return 0;
	}
	if (end <= at)
		return 0;
	if (!of->waited_ns && !of->ran_ns)
		of->first = at;
	of->first = AIF_MIN(of->first, at);
	of->last = AIF_MAX(of->last, end);
	ns = (uint64_t)(end - at);
	return __builtin_add_overflow(row->waiting ? of->waited_ns : of->ran_ns, ns,
				      row->waiting ? &of->waited_ns : &of->ran_ns) ||
			       __builtin_add_overflow(*sum, ns, sum)
		       ? -EOVERFLOW
		       : 0;
}

static bool is_selected(const struct measuring *m, uint32_t thread)
{
	return thread != AIF_NONE &&
	       (!m->sel || (aif_selection_keeps(m->sel->threads, thread) &&
			    aif_selection_keeps(m->sel->processes, m->p->threads[thread].process)));
}

static int take_waits(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct measuring *m = arg;
	int e = 0;

	for (size_t i = 0; i < n && e >= 0; i++) {
		if (!rows[i].waiting || !is_selected(m, rows[i].thread) ||
		    !aif_cpu_is_runnable(m->p, rows[i].stack))
			continue;
		e = add(&m->to->waited_ns, m, &rows[i], rows[i].waiting);
	}
	return e;
}

static int take_samples(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct measuring *m = arg;
	int e = 0;

	for (size_t i = 0; i < n && e >= 0; i++)
		if (!rows[i].waiting && rows[i].thread != AIF_NONE &&
		    m->of[rows[i].thread].waited_ns)
			e = add(&m->to->ran_ns, m, &rows[i], rows[i].weight);
	return e;
}

static void sum_threads(const struct measuring *m)
{
	struct aif_run_delay *to = m->to;

	for (size_t i = 0; i < m->p->threads_len; i++) {
		const struct delayed *of = &m->of[i];

		if (!of->waited_ns)
			continue;
		to->threads++;
		to->lived_ns += (uint64_t)(AIF_MIN(of->last, m->end) - of->first);
		if (of->waited_ns + of->ran_ns <= to->most_waited_ns + to->most_ran_ns)
			continue;
		to->most_waited_ns = of->waited_ns;
		to->most_ran_ns = of->ran_ns;
	}
}

int aif_run_delay_measure(const struct aif_profile *p, const struct aif_selection *sel,
			  int64_t from, int64_t to, struct aif_run_delay *ret)
{
	struct measuring m = {.p = p, .sel = sel, .to = ret, .from = from, .end = to};
	uint64_t damaged = 0; /* counted already */
	int e;

	*ret = (struct aif_run_delay){0};
	if (p->traits.cpu_weights != AIF_CPU_WEIGHTS_TIME)
		return 0;
	m.of = calloc(p->threads_len + 1, sizeof(*m.of));
	e = m.of ? aif_profile_cpu(p, take_waits, &m, &ret->damaged) : -ENOMEM;
	if (!e && ret->waited_ns)
		e = aif_profile_cpu(p, take_samples, &m, &damaged);
	if (!e)
		sum_threads(&m);
	free(m.of);
	return e;
}

uint64_t aif_run_delay_share_ppm(const struct aif_run_delay *d)
{
	return aif_share_ppm(d->waited_ns, d->waited_ns + d->ran_ns);
}

bool aif_run_delay_is_busy(const struct aif_run_delay *d, uint64_t ns)
{
	return d->waited_ns && aif_run_delay_share_ppm(d) >= AIF_RUN_DELAY_PPM &&
	       d->waited_ns >= ns / AIF_RUN_DELAY_OF;
}

void aif_run_delay_say(const struct aif_run_delay *d, struct aif_buf *out)
{
	aif_human_counted(out, d->threads, "thread");
	aif_buf_puts(out, " waited ");
	aif_human_ns(out, d->waited_ns);
	aif_buf_puts(out, " for a CPU, ");
	aif_human_share(out, aif_run_delay_share_ppm(d));
	aif_buf_printf(out, " of the time that %s could have run", d->threads == 1 ? "it" : "they");
}
