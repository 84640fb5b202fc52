/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/pipeline.h"
#include "analysis/attribution/count.h"
#include "analysis/attribution/join.h"
#include "analysis/attribution/rows.h"
#include "analysis/attribution/windows.h"

#include <string.h>

/*
 * Attribution
 *
 * Two independent measurements meet here. Executions say how long the device worked for which
 * launch: exact, from the runtime. Samples say at which instruction it was when somebody looked:
 * a statistic. Widths come from the first, insides from the second:
 *
 *     width of (stack, kernel)      = time of its executions
 *     width of an instruction in it = that, times the share of the samples that hit it
 *
 * so that a wide tower is wide because it took long, not because it was looked at often, and a
 * kernel that no sample hit keeps its width, with its inside unknown.
 *
 * Time. An execution's stamps are of its device's clock; time.c maps them. It cannot have
 * started before its launch call began: executions that say so are counted, and the count must
 * be 0.
 *
 * Wall. Where several executions run on a device at once, each ns is shared equally among them;
 * so the widths sum to the time in which the device was busy. The sum of durations is kept
 * beside it.
 *
 * Samples. A sample at a kernel's code belongs to the executions of that kernel that were
 * running then: one (exact), or several, which share it (apportioned). A sample of the same
 * threads outside of kernel code (libm, the driver's barrier) belongs to what was running. If
 * nothing fits it is counted as unmatched, or as outside when nothing ran at all: never given to
 * "the last launch". A GPU's own samples have no time, only a window: windows.c.
 *
 * Where the overhead budget left launches out, those that were captured stand for them
 * (weights.h): totals are then estimates with a standard error, and their grade says so. Should
 * the estimates ask for more time than there is, on a device or in a queue that runs one thing
 * at a time, they are scaled down to what is.
 *
 * Rounding happens once, at the end (round.c): sums over rows equal the totals exactly, and
 * those of an instruction and reason what was counted there.
 *
 * The stages, each a file with a struct of what it finds, and each entered once:
 *
 *     load         launches, samples, windows, weights, and when nothing was collected
 *     classify     what became of each launch: runs, and groups of them
 *     sweep        gives each ns of a device to what ran then
 *     join         gives samples with a time to what ran then
 *     windows      gives samples without one to what launched their kernel
 *     extrapolate  adds what was left out, and finds standard errors
 *     rows         splits groups over their insides, and rounds
 *     count        sums all of it up
 */

/* Gives samples to groups: their insides, and the rows of what no launch explains. */
static int find_insides(struct aif_stages *s, struct aif_insides *insides,
			struct aif_attribution *a)
{
	struct aif_unmatched unmatched = {0};
	int r = aif_join(&s->scope, &s->loaded, &s->classified, insides, &s->samples);

	if (!r)
		r = aif_split_counted(&s->scope, &s->loaded, &s->classified, &s->loaded.counted,
				      insides, &s->samples, &unmatched);
	if (!r) {
		a->unmatched = unmatched.rows;
		a->unmatched_len = unmatched.rows_len;
		unmatched.rows = NULL;
	}
	aif_unmatched_finish(&unmatched);
	return r;
}

static int run(struct aif_stages *s, struct aif_insides *insides, struct aif_attribution *a)
{
	int r = aif_load(&s->scope, &s->loaded);

	if (!r)
		r = aif_classify(&s->scope, &s->loaded, &s->classified);
	aif_loaded_drop_launches(&s->loaded);
	aif_classified_sort(&s->classified);
	if (!r)
		r = aif_sweep(&s->scope, &s->loaded, &s->classified, &s->swept);
	if (!r)
		r = find_insides(s, insides, a);
	aif_loaded_drop_samples(&s->loaded);
	aif_classified_drop_runs(&s->classified);
	if (!r)
		r = aif_extrapolate(&s->scope, s->loaded.weights, &s->classified, &s->swept,
				    &s->extrapolated);
	if (!r)
		r = aif_rows_make(&s->classified.groups, &s->extrapolated, insides, a);
	if (!r)
		r = aif_rows_make_devices(&s->scope, &s->swept, &s->extrapolated, a);
	if (!r) {
		a->conservation = aif_count(s);
		a->for_others_ns = s->classified.for_others_ns;
	}
	return r;
}

int aif_attribution_run(const struct aif_profile *p, const struct aif_selection *sel,
			struct aif_attribution *ret, struct aif_err *err)
{
	static const struct aif_selection everything;
	struct aif_stages s = {.scope = aif_scope_of(p, sel ? sel : &everything)};
	struct aif_insides insides = {0};
	struct aif_attribution a = {0};
	int r = run(&s, &insides, &a);

	aif_loaded_finish(&s.loaded);
	aif_classified_finish(&s.classified);
	aif_swept_finish(&s.swept);
	aif_extrapolated_finish(&s.extrapolated);
	aif_insides_finish(&insides);
	if (r < 0) {
		aif_attribution_finish(&a);
		return aif_err_set(err, r, "attribution: %s", strerror(-r));
	}
	*ret = a;
	return 0;
}
