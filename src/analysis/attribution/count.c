/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/count.h"

#include "base/u64_of.h"

#include <math.h>
#include <string.h>

/* Rows that were lost before they came into the file. */
struct lost {
	uint64_t launches, executions, samples;
};

static void add_loss(struct lost *l, const struct aif_loss *loss, const char *detail)
{
	switch ((enum aif_reason)loss->reason) {
	case AIF_REASON_RING_FULL:
		*(!strcmp(detail, "launches") ? &l->launches : &l->executions) +=
			!strcmp(detail, "definitions") || !strcmp(detail, "ranges") ? 0
										    : loss->count;
		break;
	case AIF_REASON_WRITER_BEHIND:
		l->launches += !strcmp(detail, "launches") ? loss->count : 0;
		l->executions += !strcmp(detail, "executions") ? loss->count : 0;
		l->samples += !strcmp(detail, "samples") ? loss->count : 0;
		break;
	case AIF_REASON_NO_MEMORY:
		l->launches += !strcmp(detail, "launches") ? loss->count : 0;
		break;
	case AIF_REASON_NO_SLOT:
	case AIF_REASON_SECCOMP_THREADS:
	case AIF_REASON_BEFORE_ATTACH:
	case AIF_REASON_AFTER_FORK:
		l->launches += loss->count;
		break;
	case AIF_REASON_NO_TIMES:
	case AIF_REASON_FAILED_COMMAND:
		l->executions += loss->count;
		break;
	case AIF_REASON_SAMPLE_LOST:
	case AIF_REASON_XE_BEHIND:
		l->samples += loss->count;
		break;
	default:
		break;
	}
}

static struct lost sum_losses(const struct aif_profile *p)
{
	struct lost l = {0};

	for (size_t i = 0; i < p->losses_len; i++) {
		uint32_t detail = p->losses[i].detail;

		add_loss(&l, &p->losses[i], detail == AIF_NONE ? "" : aif_profile_str(p, detail));
	}
	return l;
}

/* Counts all launches: those of the file, those that were left out, and those that were lost. */
static void count_launches(const struct aif_stages *s, struct aif_conservation *c)
{
	const struct aif_classified *k = &s->classified;
	struct lost l = sum_losses(s->scope.p);
	uint64_t open = k->launches - k->joined, unreported, unread;

	l.executions = AIF_MIN(l.executions, open);
	unreported = AIF_MIN(k->unreported, open);
	unread = AIF_MIN(k->unread, open - unreported);
	c->outside = s->loaded.outside;
	c->uncaptured = aif_weights_uncaptured(s->loaded.weights);
	c->launches = k->launches + c->uncaptured + c->outside + l.launches;
	c->lost = l.launches + l.executions;
	/* Executions counted as lost are not counted twice: they are taken from the unreported ones
	 * first, then from the unread ones. */
	c->unreported = unreported - AIF_MIN(unreported, l.executions);
	c->unread = unread - AIF_MIN(unread, l.executions - (unreported - c->unreported));
	c->unfinished = open - l.executions - c->unreported - c->unread;
	c->samples_dropped = l.samples;
}

static void count_samples(const struct aif_stages *s, struct aif_conservation *c)
{
	const struct aif_sample_counts *k = &s->samples;

	c->samples = s->loaded.samples_count - k->cut + c->samples_dropped;
	c->sampled_attributed = k->attributed;
	c->sampled_unmatched = k->unmatched;
	c->samples_outside = k->outside;
	c->samples_off = k->off;
	c->samples_in_flight = k->in_flight;
}

static void count_times(const struct aif_stages *s, struct aif_conservation *c)
{
	double variance = 0, idle_variance = 0;

	for (size_t i = 0; i < s->scope.p->devices_len; i++) {
		const struct aif_device_time *t = &s->extrapolated.devices[i];

		c->before_ns += t->before_ns;
		c->busy_ns += t->busy_ns;
		c->idle_ns += t->idle_ns;
		c->uncollected_ns += t->uncollected_ns;
		c->after_ns += t->after_ns;
		c->busy_kernel_ns += t->kernel_ns;
		c->busy_copy_ns += t->copy_ns;
		variance += (double)t->error_ns * (double)t->error_ns;
		idle_variance += (double)t->idle_error_ns * (double)t->idle_error_ns;
		if (!s->swept.devices[i].is_used)
			continue;
		c->first_start_ns =
			c->devices ? AIF_MIN(c->first_start_ns, t->first_ns) : t->first_ns;
		c->last_end_ns = AIF_MAX(c->last_end_ns, t->last_ns);
		c->devices++;
	}
	c->error_ns = aif_u64_of(ceil(sqrt(variance)));
	c->idle_error_ns = aif_u64_of(ceil(sqrt(idle_variance)));
	c->durations_ns = s->extrapolated.durations_ns;
	c->overlap_ns = s->extrapolated.overlap_ns;
}

/* Counts the launches that the overhead budget left out, which ran, too. Between which times,
 * their blocks tell where nothing else does. */
static void count_left_out(const struct aif_stages *s, struct aif_conservation *c)
{
	const struct aif_selection *sel = s->scope.sel;
	uint64_t start = s->scope.p->start_ns;
	struct aif_weights_blank blank;

	/* Blocks do not know devices: of one that nobody uses nothing was left out. */
	if (sel->devices ||
	    !aif_weights_blank(s->loaded.weights, start + s->scope.from, start + s->scope.to,
			       sel->processes, sel->threads, &blank))
		return;
	c->left_out = aif_u64_of(ceil(blank.launches));
	if (!s->classified.runs_len) {
		c->first_start_ns = blank.from - start;
		c->last_end_ns = blank.to - start;
	}
}

struct aif_conservation aif_count(const struct aif_stages *s)
{
	const struct aif_classified *k = &s->classified;
	struct aif_conservation c = {
		.elapsed_ns = s->scope.to - s->scope.from,
		.joined = k->joined,
		.executions_unjoined = k->executions_unjoined,
		.started_before_launch = k->started_before_launch,
		.damaged = s->loaded.damaged + k->damaged,
	};

	/* In a part of a profile only launches that have executions in it count. */
	if (aif_selection_is_part(s->scope.sel))
		c.launches = c.joined;
	else
		count_launches(s, &c);
	count_samples(s, &c);
	count_times(s, &c);
	count_left_out(s, &c);
	return c;
}
