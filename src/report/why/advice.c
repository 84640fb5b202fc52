/* SPDX-License-Identifier: Apache-2.0 */
/* Words for what bounds a program: its groups, the state of its queue, what to try. */
#include "report/why/why.h"

#include <string.h>

/* Shares are known within a tenth from so many launches on. */
#define LEAST_LAUNCHES 10
/* Waits that are too few to be a habit. */
#define LEAST_WAITS 3
/* The host is behind if so many launches find the device idle, and no wait is why; it is ahead if at most so many do. */
#define BEHIND_PPM 500000
#define AHEAD_PPM  100000
/* Host and device go in lock step if so many waits leave nothing queued. */
#define EMPTIED_PPM 900000
/* Standard errors that a share must be apart from a bound. */
#define ERRORS 2

/* ---- groups ---------------------------------------------------------------------------------- */

struct group_words {
	const char *key, *name, *evidence;
};

static const struct group_words *words_of(enum aif_why_group g)
{
#define AIF_WHY_GROUP(id, key, name, evidence) {key, name, evidence},
	static const struct group_words words[] = {
#include "report/why/groups.def"
	};
#undef AIF_WHY_GROUP
	return &words[g];
}

const char *aif_why_group_key(enum aif_why_group g)
{
	return words_of(g)->key;
}

const char *aif_why_group_name(enum aif_why_group g)
{
	return words_of(g)->name;
}

const char *aif_why_group_evidence(enum aif_why_group g)
{
	return words_of(g)->evidence;
}

/* ---- the queue ------------------------------------------------------------------------------- */

/* True if the program waits in at least half of its steps, and most of its waits leave nothing queued. */
static bool is_lock_step(const struct aif_why *w)
{
	const struct aif_queue_sum *q = &w->ahead;
	bool has_steps = w->is_loop && !w->phases.is_sparse;
	uint64_t least = AIF_MAX(LEAST_WAITS, has_steps ? (uint64_t)w->phases.len / 2 : 0);

	return q->waits >= least && aif_share_ppm(q->emptied, q->waits) >= EMPTIED_PPM &&
	       q->after_wait_ppm * 2 >= q->idle_ppm;
}

enum aif_why_queue aif_why_queue_of(const struct aif_why *w)
{
	const struct aif_queue_sum *q = &w->ahead;
	uint64_t error = ERRORS * q->idle_error_ppm;

	if (q->known < LEAST_LAUNCHES || w->is_work_missing)
		return AIF_WHY_QUEUE_UNKNOWN;
	if (q->idle_ppm >= BEHIND_PPM + q->after_wait_ppm + error)
		return AIF_WHY_QUEUE_BEHIND;
	if (is_lock_step(w))
		return AIF_WHY_QUEUE_LOCK_STEP;
	return q->idle_ppm + error <= AHEAD_PPM ? AIF_WHY_QUEUE_AHEAD : AIF_WHY_QUEUE_MIXED;
}

struct queue_words {
	const char *key, *text;
};

static const struct queue_words *words_of_queue(enum aif_why_queue q)
{
#define AIF_WHY_QUEUE(id, key, text) {key, text},
	static const struct queue_words words[] = {
#include "report/why/queue.def"
	};
#undef AIF_WHY_QUEUE
	return &words[q];
}

const char *aif_why_queue_key(enum aif_why_queue q)
{
	return words_of_queue(q)->key;
}

const char *aif_why_queue_text(enum aif_why_queue q)
{
	return words_of_queue(q)->text;
}

/* Returns true of a host that does something else between launches for most of its time: it is behind, too. */
static bool host_computes(const struct aif_why *w)
{
	return 2 * w->launching_ns < w->of_group[AIF_WHY_HOST];
}

struct aif_why_verdict aif_why_verdict(const struct aif_why *w, enum aif_why_group g)
{
#define AIF_WHY_VERDICT(group, queue, key, text) \
	{AIF_WHY_##group, AIF_WHY_QUEUE_##queue, {key, text}},
	static const struct {
		enum aif_why_group group;
		enum aif_why_queue queue;
		struct aif_why_verdict verdict;
	} verdicts[] = {
#include "report/why/verdicts.def"
	};
#undef AIF_WHY_VERDICT
	enum aif_why_queue queue = aif_why_queue_of(w);

	if (g == AIF_WHY_HOST && queue == AIF_WHY_QUEUE_BEHIND && host_computes(w))
		return (struct aif_why_verdict){"", ""};
	if (aif_share_ppm(w->of_group[g], w->time_ns) >= AIF_WHY_BOUND_PPM)
		for (size_t i = 0; i < AIF_ARRAY_LEN(verdicts); i++)
			if (verdicts[i].group == g && verdicts[i].queue == queue)
				return verdicts[i].verdict;
	return (struct aif_why_verdict){"", ""};
}

/* ---- advice ---------------------------------------------------------------------------------- */

enum program {
	TORCH,
	CUDA,
	OPENCL,
	LEVEL_ZERO,
	UNSEEN,
	WOKEN,
	CROWDED,
	COMPUTES,
	LATE_RANK,
	LONE_RANK,
	ANY
};

static bool has_runtime(const struct aif_profile *p, const char *name)
{
	for (size_t i = 0; i < p->devices_len; i++)
		if (!strcmp(aif_profile_str(p, p->devices[i].runtime), name))
			return true;
	return false;
}

/* True if most of the time in which launching threads do not run they waited for other threads, whose places are known. */
static bool waits_for_threads(const struct aif_why *w)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < w->owners_len; i++) {
		size_t n;
		const struct aif_why_wake *wakes = aif_why_wakes_of(w, &w->owners[i], &n);

		for (size_t k = 0; w->owners[i].group == AIF_WHY_OFF_CPU && k < n; k++)
			ns += wakes[k].kind == AIF_IDLE_WAKER_THREAD ? wakes[k].ns : 0;
	}
	return ns > w->of_group[AIF_WHY_OFF_CPU] / 2;
}

static bool fits(const struct aif_profile *p, const struct aif_why *w, enum program program)
{
	switch (program) {
	case TORCH:
		return w->is_torch;
	case CUDA:
		return has_runtime(p, "cuda");
	case OPENCL:
		return has_runtime(p, "opencl");
	case LEVEL_ZERO:
		return has_runtime(p, "level zero");
	case CROWDED:
		return w->is_crowded;
	case COMPUTES:
		return host_computes(w);
	case UNSEEN:
		return !w->has_off_cpu;
	case LATE_RANK:
		return w->ranks.is == AIF_RANKS_ONE_LATE;
	case LONE_RANK:
		return w->waits && w->waits->ranks.why == AIF_RANKS_ONE;
	case WOKEN:
		return waits_for_threads(w);
	case ANY:
		break;
	}
	return true;
}

const char *aif_why_advice(const struct aif_profile *p, const struct aif_why *w,
			   enum aif_why_group g)
{
#define AIF_WHY_RULE(group, queue, program, text) \
	{AIF_WHY_##group, AIF_WHY_QUEUE_##queue, program, text},
	static const struct {
		enum aif_why_group group;
		enum aif_why_queue queue;
		enum program program;
		const char *text;
	} rules[] = {
#include "report/why/rules.def"
	};

#undef AIF_WHY_RULE
	enum aif_why_queue queue = aif_why_queue_of(w);

	/* Says nothing of transfer where most is waiting: ranks that come at the same time change it, too. */
	if (g == AIF_WHY_COMMUNICATION && w->of_group[AIF_WHY_WAITING] > w->of_group[g])
		return "";
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules) && !w->is_some_work && !w->idle_unknown; i++)
		if (rules[i].group == g &&
		    (rules[i].queue == AIF_WHY_QUEUE_ANY || rules[i].queue == queue) &&
		    fits(p, w, rules[i].program))
			return rules[i].text;
	return "";
}

bool aif_why_seems_idle(const struct aif_why *w, enum aif_why_group largest)
{
	return w->is_work_missing && largest >= AIF_WHY_HOST &&
	       aif_share_ppm(w->of_group[largest], w->time_ns) >= AIF_WHY_BOUND_PPM;
}

bool aif_why_has_few_runs(const struct aif_why *w)
{
	uint64_t runs = 0;

	for (size_t i = 0; i < w->kernels_len; i++)
		runs += w->kernels[i].runs;
	return runs < AIF_WHY_FEWEST_RUNS;
}

size_t aif_why_order(const uint64_t of_group[AIF_WHY_GROUPS],
		     enum aif_why_group order[AIF_WHY_GROUPS])
{
	size_t n = 0;

	for (unsigned g = 0; g < AIF_WHY_GROUPS; g++) {
		size_t at = n;

		if (!of_group[g])
			continue;
		for (; at && of_group[order[at - 1]] < of_group[g]; at--)
			order[at] = order[at - 1];
		order[at] = (enum aif_why_group)g;
		n++;
	}
	return n;
}
