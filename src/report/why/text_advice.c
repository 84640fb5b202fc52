/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: what to try. */
#include "base/human.h"
#include "base/u64_of.h"
#include "report/why/saying.h"
#include "text/elide.h"

#include <string.h>

#define MOST_ADVICE 4
/* A bound above that says no more than that the group is nearly all of the time. */
#define MOST_SPEEDUP 10
/* Less is no advice: a replay errs by as much. */
#define LEAST_GAIN 1.02
/* Host and device side by side are advised from a twentieth on. */
#define OVERLAP_GAIN 1.05

/* Begins a line of advice: by how much the program gets faster at most, where that was replayed, else how much of its time it is. */
static void say_gain(struct saying *s, size_t said, double gain, uint64_t ns)
{
	aif_buf_puts(&s->line, said ? "         " : "try      ");
	if (!(gain > 0)) {
		aif_human_share(&s->line, share(s, ns));
		aif_buf_puts(&s->line, " of the time: ");
	} else if (gain >= MOST_SPEEDUP) {
		aif_buf_puts(&s->line, "nearly all of the time: ");
	} else {
		aif_buf_printf(&s->line, "at most %.2fx: ", gain);
	}
}

/* True unless a replay says that next to nothing would be gained. */
static bool is_worth_it(const struct aif_why *w, enum aif_why_group group)
{
	double gain = w->bound_of_group[group];

	return !(gain > 0) || gain >= LEAST_GAIN;
}

/* True if host and device go in lock step, and a replay without waits says that it costs. */
static bool is_overlap_worth_it(const struct aif_why *w)
{
	return !w->is_some_work && !w->idle_unknown &&
	       aif_why_queue_of(w) == AIF_WHY_QUEUE_LOCK_STEP &&
	       w->bound_of_group[AIF_WHY_SYNC] >= OVERLAP_GAIN;
}

/* Says what it would bring if the function that owns the most idle time took none. Returns how many lines. */
static size_t say_owner_advice(struct saying *s, size_t said)
{
	const struct aif_why *w = s->w;
	const struct aif_why_function *f = w->functions, *end = f + w->functions_len;
	struct aif_why_function own;
	enum aif_why_group group;

	if (f < end && aif_why_is_machine(w, f))
		f++;
	if (f == end || w->is_some_work || w->idle_unknown || f->is_before)
		return 0;
	/* A thread waits for a CPU where it computes: CPUs are advice of their own. */
	own = *f;
	own.ns -= own.of_group[AIF_WHY_NO_CPU];
	own.of_group[AIF_WHY_NO_CPU] = 0;
	group = aif_why_function_group(&own);
	if (share(s, own.ns) < AIF_WHY_ADVICE_PPM ||
	    (f->bound_gain > 0 && f->bound_gain < LEAST_GAIN) ||
	    (group != AIF_WHY_HOST && group != AIF_WHY_OFF_CPU))
		return 0;
	say_gain(s, said, f->bound_gain, own.ns);
	aif_why_say_function(s, f);
	aif_buf_puts(&s->line,
		     ": do it faster, earlier, or in another thread while the device works");
	aif_why_end_line(s);
	return 1;
}

bool aif_why_say_late_rank_advice(struct saying *s)
{
	const struct aif_why *w = s->w;
	const struct aif_rank_verdict *v = &w->ranks;
	const char *at = w->rank_cause.row ? place(s, w->rank_cause.place) : "";
	double gain;

	if (!w->waits || v->is != AIF_RANKS_ONE_LATE || v->saved_ns >= v->step_ns ||
	    w->is_some_work || w->idle_unknown)
		return false;
	gain = (double)v->step_ns / (double)(v->step_ns - v->saved_ns);
	if (gain < LEAST_GAIN)
		return false;
	say_gain(s, 0, gain, 0);
	aif_buf_puts(&s->line, "make ");
	aif_rank_say(s->names->p, &w->waits->ranks.ranks[v->late], &s->line);
	aif_buf_puts(&s->line, " as fast as the others");
	if (v->slow > 0)
		aif_buf_puts(&s->line, ", by its device");
	else if (*at && aif_why_has_late_place(w))
		aif_buf_printf(&s->line, ", %s%s", w->rank_cause.row->is_before ? "before " : "in ",
			       at);
	aif_buf_puts(&s->line, ": it is waiting, not transfer; see aiflame report --ranks, aiflame "
			       "flame --of waits");
	aif_why_end_line(s);
	return true;
}

/* Returns true of a kernel that computes. Others end when the other ranks do, or as fast as memory is. */
static bool computes(const struct saying *s, const struct aif_why_kernel *k)
{
	const struct aif_profile *p = s->names->p;

	return k->kernel != AIF_NONE &&
	       aif_work_class_of(aif_profile_str(p, p->kernels[k->kernel].name)) ==
		       AIF_WORK_COMPUTE;
}

/* Returns the kernel whose time could be saved, NULL: no single one is worth it. */
static const struct aif_why_kernel *kernel_to_speed_up(const struct saying *s)
{
	const struct aif_why_kernel *k = s->w->kernels, *end = k + s->w->kernels_len;

	while (k < end && !computes(s, k))
		k++;
	if (k == end || s->w->is_some_work || s->w->is_work_missing ||
	    share(s, k->saved_ns) < AIF_WHY_ADVICE_PPM ||
	    (k->bound_gain > 0 && k->bound_gain < LEAST_GAIN))
		return NULL;
	return k;
}

/* Says which kernel, whose, and how far it is from what the device can do, where that is known. */
static void say_kernel_advice(struct saying *s, const struct aif_why_kernel *k)
{
	const char *name = aif_names_work(s->names, k->kind, k->kernel);
	const char *by = place(s, k->caller);

	aif_buf_puts(&s->line, "make ");
	aif_elide(name, strlen(name), AIF_WHY_NAME_COLUMNS, &s->line);
	if (*by)
		aif_buf_printf(&s->line, " of %s", by);
	aif_buf_puts(&s->line, " faster");
	if (k->used >= 0) {
		aif_buf_puts(&s->line, ", which is at ");
		aif_human_share(&s->line, aif_u64_of(k->used * 1e6));
		aif_buf_printf(&s->line, " of the %s peak", k->bound);
	}
	if (s->names->p->traits.is_imported) /* which has no code */
		return;
	aif_buf_puts(&s->line, "; what holds it: aiflame annotate ");
	aif_buf_shell(&s->line, name);
}

void aif_why_say_advice(struct saying *s, const enum aif_why_group *order, size_t n)
{
	enum aif_why_group overlap;
	bool is_late;
	size_t said;

	if (is_mostly_outside(s->w)) {
		aif_buf_puts(
			&s->line,
			"try      see what the program does before and behind its device work: ");
		aif_buf_puts(&s->line, s->names->p->traits.is_imported ? "aiflame report --ops"
				       : s->w->has_cpu                 ? "aiflame flame --of cpu"
						       : "record CPU samples (no --cpu-rate 0)");
		aif_why_end_line(s);
		return;
	}
	if (aif_why_has_few_runs(s->w))
		return;
	is_late = aif_why_say_late_rank_advice(s);
	said = is_late;
	said += say_owner_advice(s, said);
	overlap = is_overlap_worth_it(s->w) ? AIF_WHY_SYNC : AIF_WHY_GROUPS;
	if (overlap == AIF_WHY_SYNC) {
		say_gain(s, said++, s->w->bound_of_group[AIF_WHY_SYNC], 0);
		aif_buf_puts(&s->line, aif_why_advice(s->names->p, s->w, AIF_WHY_SYNC));
		aif_why_end_line(s);
	}
	for (size_t i = 0; i < n && said < MOST_ADVICE; i++) {
		const char *advice = aif_why_advice(s->names->p, s->w, order[i]);
		const struct aif_why_kernel *k =
			order[i] == AIF_WHY_COMPUTE ? kernel_to_speed_up(s) : NULL;

		if (k) {
			say_gain(s, said++, k->bound_gain, k->ns);
			say_kernel_advice(s, k);
			aif_why_end_line(s);
		}
		if (order[i] == AIF_WHY_COMPUTE || !*advice ||
		    share(s, s->w->of_group[order[i]]) < AIF_WHY_ADVICE_PPM ||
		    !is_worth_it(s->w, order[i]) || order[i] == overlap ||
		    (is_late && order[i] == AIF_WHY_WAITING))
			continue;
		say_gain(s, said++,
			 order[i] == AIF_WHY_OFF_CPU && !s->w->has_off_cpu
				 ? 0
				 : s->w->bound_of_group[order[i]],
			 s->w->of_group[order[i]]);
		aif_buf_puts(&s->line, advice);
		aif_why_end_line(s);
	}
}
