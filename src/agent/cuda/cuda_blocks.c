/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

/*
 * What is on, when. Each launch costs 0.4 us for CUPTI's callbacks, 0.5 us for its kernel record and 0.4 to
 * 0.7 us for the stack, which is 13 % of a decode that launches each 13 us. So the blocks of the overhead
 * budget (budget.h) switch the stacks and the records; the latter takes 2 to 15 us, and what was launched
 * before is recorded to its end (measured: 500 of 500). The helper turns the blocks. Their launches are counted for
 * the process (AIF_WIRE_BLOCK_PROCESS).
 *
 * The callbacks stay on. To switch them as well would save what is left, but when nothing else is on, CUPTI loses
 * count of a call that is under way on another thread at that moment: that thread's later calls all get
 * that one's correlation id (measured, within a second of switching each 100 ms). What they cost is
 * taken off what the budget may spend.
 *
 * Instruction samples. Kernel records cannot be switched on while a context is sampled
 * (CUPTI_ERROR_NOT_COMPATIBLE), but they may be on before, and then stay. Hence three modes:
 *
 *     together   records first, then sampling, both for good: everything is exact. The way it begins, and what
 *                programs keep that launch so seldom that records cost next to nothing, or whose
 *                launches are hidden behind their device's work.
 *     records    records by blocks, no sampling
 *     samples    for some seconds of each minute: sampling, and no stacks. Switching it on and off takes
 *                0.2 s together, which is paid once a minute.
 *
 * Who switches sampling. cuptiPCSamplingEnable and Disable take a lock of the driver for writing that threads in
 * its calls hold for reading, also while they wait for the device; the lock prefers readers, and a helper beside a
 * thread that launches and waits in turn was not let in for as long as the program ran (measured). So
 * the helper only asks, and a launching thread does it, before its call; where none launches for a second, the
 * helper finds the driver free.
 *
 * Times come from records, insides from samples, and where the two are not of the same moment, a profile
 * says so (grade).
 */

/* A kernel record and being sampled, for each launch; a callback's beginning and end. */
#define THROUGHOUT_NS 700
#define CALLBACK_NS   400
/* Before the launch rate is known. */
#define SETTLE_NS        (AIF_NS_PER_S)
#define SAMPLES_FIRST_NS (3 * AIF_NS_PER_S)
#define SAMPLES_EACH_NS  (60 * AIF_NS_PER_S)
#define SAMPLES_FOR_NS   (4 * AIF_NS_PER_S)
/* Back to both when the rate was low, or launches cost nothing, for so long. */
#define CALM_NS (10 * AIF_NS_PER_S)
/* Nobody launches: the helper may switch itself. */
#define NOBODY_NS AIF_NS_PER_S
#define LOOK_NS   2000000
#define RATE_NS   1e9
#define NEVER     UINT64_MAX

static double asked(void)
{
	return (double)aif_agent.budget.asked_ppm / 1e6;
}

/* The block is over: what was launched in it. */
static void block_ended(struct aif_cuda *cuda, uint64_t now, bool next_on)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	struct aif_emit_block e = {.on = b->on,
				   .process = true,
				   .start = b->since,
				   .end = now,
				   .launches = b->launches_before,
				   .block = b->block,
				   .duty_ppm = b->duty_ppm};
	double ns = (double)AIF_MAX(now - b->since, UINT64_C(1)), fade = RATE_NS / (RATE_NS + ns);
	uint64_t launches = atomic_load(&cuda->blocks.launches);
	struct aif_thread *t;

	e.launches = launches - b->launches_before;
	b->launches_before = launches;
	b->rate = b->rate * fade + (1 - fade) * (double)e.launches / ns * 1e9;
	/* Between two on-blocks nothing was launched that was not captured. */
	if (!e.launches || !aif_agent.budget.asked_ppm ||
	    (e.on && next_on && b->duty_ppm == 1000000))
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	aif_emit_block(t, &e);
	aif_thread_leave(t);
}

/* Records are on before the first launch that is captured, and off after the last. */
static void apply(struct aif_cuda *cuda, bool on)
{
	struct aif_cuda_blocks *b = &cuda->blocks;

	if (b->on == on)
		return;
	b->on = on;
	if (on && b->mode == AIF_CUDA_RECORDS)
		(void)aif_cuda_activity(cuda, true);
	atomic_store(&b->capture, on && b->mode != AIF_CUDA_SAMPLES);
	if (!on && b->mode == AIF_CUDA_RECORDS)
		(void)aif_cuda_activity(cuda, false);
}

static void enter_mode(struct aif_cuda *cuda, enum aif_cuda_mode mode, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	bool sampled = b->mode != AIF_CUDA_RECORDS;

	if (b->mode == mode)
		return;
	/* Records can be switched on only while nothing is sampled. */
	if (sampled)
		aif_cuda_sampling(cuda, false);
	b->mode = mode;
	b->mode_since = now;
	if (mode == AIF_CUDA_SAMPLES)
		atomic_store(&b->capture, false);
	if (mode == AIF_CUDA_TOGETHER || (mode == AIF_CUDA_RECORDS && b->on))
		(void)aif_cuda_activity(cuda, true);
	else
		(void)aif_cuda_activity(cuda, false);
	if (mode == AIF_CUDA_SAMPLES || mode == AIF_CUDA_TOGETHER)
		aif_cuda_sampling(cuda, true);
	atomic_store(&b->capture, b->on && mode != AIF_CUDA_SAMPLES);
}

void aif_cuda_ask(struct aif_cuda *cuda, enum aif_cuda_mode mode, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;

	b->asked_at = now;
	atomic_store(&b->asked, (int)mode + 1);
}

/* Does what was asked for. */
static void obey(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	int asked = atomic_exchange(&b->asked, 0);

	if (!asked || !cuda->on)
		return;
	/* Again: for contexts that are new, or are to begin anew. */
	if (b->mode == (enum aif_cuda_mode)(asked - 1))
		aif_cuda_sampling(cuda, b->mode != AIF_CUDA_RECORDS);
	else
		enter_mode(cuda, (enum aif_cuda_mode)(asked - 1), now);
	/* The time that it took says nothing about launches. */
	b->interrupted = true;
}

void aif_cuda_obey(struct aif_cuda *cuda)
{
	if (pthread_mutex_trylock(&cuda->switching))
		return;
	obey(cuda, aif_now_ns());
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_stop_sampling(struct aif_cuda *cuda)
{
	const struct timespec step = {.tv_nsec = 1000000};
	struct aif_cuda_blocks *b = &cuda->blocks;
	uint64_t until = aif_now_ns() + NOBODY_NS;

	if (!cuda->on || b->mode == AIF_CUDA_RECORDS || !aif_cuda_is_sampling(cuda))
		return;
	aif_cuda_ask(cuda, AIF_CUDA_RECORDS, aif_now_ns());
	while (atomic_load(&b->asked) && aif_now_ns() < until)
		nanosleep(&step, NULL);
	atomic_store(&b->asked, 0);
}

/* Do records and samples cost too much to be on throughout? */
static bool too_dear(const struct aif_cuda_blocks *b)
{
	return b->rate * THROUGHOUT_NS / 1e9 > asked() / 2;
}

static void choose_mode(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	bool trusted = aif_budget_trusts(&aif_agent.budget, now);

	if (!aif_cuda_sampling_wanted(cuda)) {
		enter_mode(cuda, AIF_CUDA_RECORDS, now);
		return;
	}
	if (b->mode == AIF_CUDA_TOGETHER) {
		if (now - b->mode_since > SETTLE_NS && too_dear(b) && !trusted) {
			aif_cuda_ask(cuda, AIF_CUDA_RECORDS, now);
			b->samples_next = now + SAMPLES_FIRST_NS;
		}
	} else if (b->mode == AIF_CUDA_RECORDS && now - b->mode_since > CALM_NS &&
		   (trusted || b->rate * THROUGHOUT_NS / 1e9 < asked() / 4)) {
		aif_cuda_ask(cuda, AIF_CUDA_TOGETHER, now);
	}
}

void aif_cuda_blocks_begin(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	struct aif_budget *budget = &aif_agent.budget;
	/* After a pause what was dear still is. */
	bool dear = b->rate > 0 && too_dear(b) && budget->asked_ppm;
	double rate = b->rate;
	uint64_t samples_next = b->samples_next;

	aif_budget_resume(budget, now);
	*b = (struct aif_cuda_blocks){.mode = AIF_CUDA_RECORDS,
				      .since = now,
				      .mode_since = now,
				      .rate = rate,
				      .samples_next = samples_next,
				      .block = budget->block,
				      .duty_ppm = aif_budget_duty(budget, budget->block)};
	if (aif_cuda_sampling_wanted(cuda) && !dear)
		enter_mode(cuda, AIF_CUDA_TOGETHER, now);
	apply(cuda, aif_budget_is_on(b->block));
	aif_cuda_launches(cuda, true);
}

void aif_cuda_blocks_end(struct aif_cuda *cuda, uint64_t now)
{
	aif_cuda_launches(cuda, false);
	block_ended(cuda, now, false);
	apply(cuda, false);
	enter_mode(cuda, AIF_CUDA_RECORDS, now);
}

static bool samples_are_due(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;

	return b->mode == AIF_CUDA_RECORDS && now >= b->samples_next &&
	       aif_cuda_sampling_wanted(cuda);
}

/* The block has ended. Its launches are counted before it is compared with its neighbour. */
static void next_block(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_blocks *b = &cuda->blocks;
	struct aif_budget *budget = &aif_agent.budget;
	bool was_on = b->on, on, samples = b->mode == AIF_CUDA_SAMPLES;

	if (was_on && !samples) {
		choose_mode(cuda, now);
		if (!atomic_load(&b->asked) && samples_are_due(cuda, now)) {
			aif_cuda_ask(cuda, AIF_CUDA_SAMPLES, now);
			b->samples_next = now + SAMPLES_EACH_NS;
		}
		if (atomic_load(&b->asked))
			return;
	}
	if (!b->interrupted)
		aif_budget_add(budget, b->block, atomic_load(&b->launches) - b->launches_before);
	/* What callbacks cost is spent in any case. */
	aif_budget_spend(budget, b->rate * CALLBACK_NS / 1e9);
	/* Sampling has just begun: for as long as that lasts nothing is captured. */
	if (!was_on || !samples || !aif_budget_hold(budget, now, now + SAMPLES_FOR_NS))
		aif_budget_turn_at(budget, now);
	on = aif_budget_is_on(budget->block);
	/* The first launch ends sampling, before it is told. */
	if (on && b->mode == AIF_CUDA_SAMPLES)
		aif_cuda_ask(cuda, AIF_CUDA_RECORDS, now);
	if (!on)
		apply(cuda, false);
	block_ended(cuda, now, on);
	if (on)
		apply(cuda, true);
	b->since = now;
	b->interrupted = false;
	b->block = budget->block;
	b->duty_ppm = aif_budget_duty(budget, b->block);
}

uint64_t aif_cuda_turn(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_budget *budget = &aif_agent.budget;
	struct aif_cuda_blocks *b = &cuda->blocks;
	uint64_t until;

	if (!cuda->on || (!budget->asked_ppm && !atomic_load(&b->asked)))
		return NEVER;
	/* Somebody switches: on an application's thread, and not for long. */
	if (pthread_mutex_trylock(&cuda->switching))
		return now + LOOK_NS;
	if (atomic_load(&b->asked) && now - b->asked_at > NOBODY_NS)
		obey(cuda, now);
	if (cuda->on && !atomic_load(&b->asked) && budget->asked_ppm &&
	    (now >= atomic_load(&budget->until) || b->interrupted))
		next_block(cuda, now);
	until = atomic_load(&b->asked) ? now + LOOK_NS : atomic_load(&budget->until);
	pthread_mutex_unlock(&cuda->switching);
	return until;
}

void aif_cuda_leave(struct aif_cuda *cuda)
{
	const struct timespec step = {.tv_nsec = 100000};

	cuda->left = true; /* the helper does not begin again */
	for (int i = 0; pthread_mutex_trylock(&cuda->switching); i++) {
		if (i > 1000)
			return;
		nanosleep(&step, NULL);
	}
	if (cuda->on) {
		cuda->on = false;
		aif_cuda_blocks_end(cuda, aif_now_ns());
	}
	pthread_mutex_unlock(&cuda->switching);
}
