/* SPDX-License-Identifier: Apache-2.0 */
/* The overhead controller against simulated loops whose cost of capture is known. */
#include "agent/budget.h"

#include "base/clock.h"
#include "base/map.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct loop {
	double interval_ns; /* between launches, without us */
	double noise;       /* its relative spread, uniform */
	double host;        /* that of a host that others use, too: another factor each HOST_NS */
	double cost_ns;     /* of capturing one launch */
	uint64_t step;      /* launches of a step... */
	double step_wait_ns; /* ...that end in a wait for the device, which swallows what capture cost */
	double seconds;
};

#define HOST_NS 20e6

struct outcome {
	double slowdown; /* of the whole run against the same without capture */
	double on_share; /* of launches */
	double last_duty;
};

static double uniform(uint64_t *random)
{
	*random += UINT64_C(0x9e3779b97f4a7c15);
	return (double)(aif_mix64(*random) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The blocks of one thread. */
struct blocks {
	struct aif_budget b;
	uint32_t block;
	uint64_t launches; /* in it, so far */
};

static void begin(struct blocks *t, uint32_t asked_ppm, uint64_t bound_ns, uint64_t seed,
		  uint64_t now)
{
	aif_budget_init(&t->b, asked_ppm, bound_ns, seed, now);
	t->block = 1;
	t->launches = 0;
}

/* A launch: is it to be captured? */
static bool is_captured(struct blocks *t, uint64_t now)
{
	uint32_t is = aif_budget_block(&t->b, now);

	if (is != t->block) {
		aif_budget_add(&t->b, t->block, t->launches);
		t->block = is;
		t->launches = 0;
	}
	t->launches++;
	return aif_budget_is_on(is);
}

static struct outcome simulate(const struct loop *l, uint32_t asked_ppm, uint64_t bound_ns,
			       uint64_t seed)
{
	double now = 1e9, end = now + l->seconds * 1e9, alone = 0, step_alone = 0, step_real = 0;
	double host = 1, host_until = 0;
	uint64_t random = seed, count = 0, on = 0;
	struct blocks t;
	struct outcome o;

	begin(&t, asked_ppm, bound_ns, seed, (uint64_t)now);
	for (uint64_t i = 0; now < end; i++) {
		double interval = l->interval_ns * (1 + l->noise * (uniform(&random) - 0.5)) * host;

		if (l->host && now >= host_until) {
			host = 1 + l->host * (uniform(&random) - 0.5);
			host_until = now + HOST_NS;
		}

		count++;
		step_alone += interval;
		step_real += interval;
		if (is_captured(&t, (uint64_t)now)) {
			on++;
			step_real += l->cost_ns;
			now += l->cost_ns;
		}
		now += interval;
		if (l->step && i % l->step == l->step - 1) {
			/* The device needs as long as it needs, from the step's begin. */
			double busy = (double)l->step * l->interval_ns + l->step_wait_ns;

			if (step_real < busy)
				now += busy - step_real;
			alone += AIF_MAX(busy, step_alone);
			step_alone = step_real = 0;
		} else if (!l->step) {
			alone += interval;
		}
	}
	o.slowdown = (now - 1e9) / alone - 1;
	o.on_share = (double)on / (double)count;
	o.last_duty = atomic_load(&t.b.duty_ppm) / 1e6;
	return o;
}

static void the_slowdown_is_what_was_asked(void **state)
{
	static const uint32_t asked[] = {10000, 20000, 50000};
	static const double costs[] = {0.1, 0.5, 2}; /* c */

	(void)state;
	for (size_t a = 0; a < AIF_ARRAY_LEN(asked); a++)
		for (size_t c = 0; c < AIF_ARRAY_LEN(costs); c++) {
			struct loop l = {.interval_ns = 10000,
					 .noise = 0.5,
					 .cost_ns = 10000 * costs[c],
					 .seconds = 60};
			struct outcome o = simulate(&l, asked[a], 30000, 7 * a + c);
			double want = asked[a] / 1e6;

			if (o.slowdown < want * 2 / 3 || o.slowdown > want * 4 / 3)
				fail_msg("asked %.3f, c %.2f: slowdown %.4f, duty %.3f", want,
					 costs[c], o.slowdown, o.last_duty);
		}
}

/* The blocks captured before the cost is known must not outweigh the rest of a run of seconds. */
static void a_short_run_is_not_slower(void **state)
{
	enum { SEEDS = 20 };

	(void)state;
	for (uint32_t percent = 1; percent <= 5; percent += percent == 2 ? 3 : 1)
		for (double c = 0.5; c < 2; c += 0.75) {
			struct loop l = {.interval_ns = 10000,
					 .noise = 0.5,
					 .cost_ns = 10000 * c,
					 .seconds = 8};
			double sum = 0;

			for (uint64_t seed = 0; seed < SEEDS; seed++)
				sum += simulate(&l, percent * 10000, 30000, seed).slowdown;
			sum *= 100.0 / SEEDS;
			if (sum < percent * 0.8 || sum > percent * 1.2)
				fail_msg("asked %u %%, c %.2f: slowdown %.2f %%", percent, c, sum);
		}
}

/* A runtime that is switched from outside: the helper comes late, and each 5 s takes 1 s for something else. What
 * was launched in an off-block is known when the next on-block is over. */
static void blocks_may_be_turned_by_a_helper(void **state)
{
	double now = 1e9, alone = 0, real = 0;
	uint64_t random = 3, launches = 0, next_hold = UINT64_C(5000000000);
	uint32_t off = 0;
	uint64_t off_launches = 0;
	struct aif_budget b;
	bool held = false;

	(void)state;
	aif_budget_init(&b, 20000, 30000, 1, (uint64_t)now);
	while (now < 120e9) {
		double interval = 10000 * (0.75 + 0.5 * uniform(&random));
		uint32_t block = atomic_load(&b.block);
		uint64_t at = (uint64_t)now;

		launches++;
		if (aif_budget_is_on(block))
			interval += 3000;
		if (!held) {
			real += interval;
			alone += interval - (aif_budget_is_on(block) ? 3000 : 0);
		}
		now += interval;
		if (at < atomic_load(&b.until) + 2000000 * uniform(&random))
			continue;
		if (aif_budget_is_on(block)) {
			if (off)
				aif_budget_add(&b, off, off_launches);
			aif_budget_add(&b, block, launches);
			off = 0;
		} else if (!held) {
			off = block;
			off_launches = launches;
		}
		launches = 0;
		held = false;
		if (aif_budget_is_on(block) && at > next_hold) {
			held = aif_budget_hold(&b, at, at + 1000000000);
			assert_true(held);
			assert_false(aif_budget_is_on(atomic_load(&b.block)));
			next_hold = at + UINT64_C(5000000000);
		} else {
			aif_budget_turn_at(&b, at);
		}
	}
	if (real / alone - 1 < 0.015 || real / alone - 1 > 0.025)
		fail_msg("slowdown %.4f, c %.3f", real / alone - 1, b.cost_ppm / 1e6);
	if (b.cost_ppm < 270000 || b.cost_ppm > 330000)
		fail_msg("c %.3f", b.cost_ppm / 1e6);
}

/* Launches of a held block say nothing about capture: other work goes on there, dear or cheap. */
static void what_was_held_is_not_compared(void **state)
{
	uint64_t now = UINT64_C(1000000000), length = 20000000;
	struct aif_budget b;
	bool held = false;
	int holds = 0;

	(void)state;
	aif_budget_init(&b, 20000, 30000, 1, now);
	for (int i = 0; i < 400; i++) {
		uint32_t block = atomic_load(&b.block);

		now += length;
		aif_budget_add(&b, block, aif_budget_is_on(block) ? 1000 : held ? 10000 : 2000);
		held = i % 5 == 0 && aif_budget_hold(&b, now, now + length);
		holds += held;
		if (!held)
			aif_budget_turn_at(&b, now);
	}
	assert_true(holds > 20 && b.pairs_len > AIF_BUDGET_PAIRS);
	for (int i = 0; i < AIF_BUDGET_PAIRS; i++)
		assert_true(b.pairs[i] > 0.99 && b.pairs[i] < 1.01);
}

/* A helper's blocks of a loop that launches each 30 us, of which capture costs 3. disturb() is told the number of each
 * block before it ends, and returns by how much longer it took. Returns the share of time that was captured, and
 * the greatest duty after 20 s. */
static double captured_share(struct aif_budget *b,
			     uint64_t (*disturb)(struct aif_budget *b, uint32_t block),
			     double *ret_most_duty)
{
	uint64_t now = UINT64_C(1000000000), on_ns = 0, all_ns = 0;
	double most_duty = 0;

	aif_budget_init(b, 20000, 3000, 1, now);
	while (all_ns < UINT64_C(60000000000)) {
		uint32_t block = atomic_load(&b->block);
		uint64_t ns = AIF_MAX(atomic_load(&b->until), now + 1000000) - now;

		aif_budget_add(b, block, ns / (aif_budget_is_on(block) ? 33000 : 30000));
		ns += disturb(b, block);
		now += ns;
		all_ns += ns;
		on_ns += aif_budget_is_on(block) ? ns : 0;
		aif_budget_turn_at(b, now);
		if (all_ns > UINT64_C(20000000000))
			most_duty = AIF_MAX(most_duty, b->duty);
	}
	*ret_most_duty = most_duty;
	return (double)on_ns / (double)all_ns;
}

static uint64_t disturb_off(struct aif_budget *b, uint32_t block)
{
	if (!aif_budget_is_on(block))
		aif_budget_disturb(b, block, false);
	return 0;
}

/* Each fourth block is interrupted for 0.2 s. */
static uint64_t interrupt(struct aif_budget *b, uint32_t block)
{
	if (block % 8 > 1)
		return 0;
	aif_budget_disturb(b, block, true);
	return 200000000;
}

static void what_is_not_compared_is_paid_for_by_the_bound(void **state)
{
	struct aif_budget b;
	double duty, share = captured_share(&b, disturb_off, &duty);

	(void)state;
	assert_int_equal(b.pairs_len, 0);
	/* 2 / 102 of the time may be spent, 3 / 33 of captured time is */
	if (share < 0.17 || share > 0.26)
		fail_msg("captured %.2f", share);
}

static void an_interrupted_block_does_not_tell_the_launch_rate(void **state)
{
	struct aif_budget b;
	double duty;

	(void)state;
	(void)captured_share(&b, interrupt, &duty);
	assert_true(b.pairs_len > 8);
	if (duty > 0.4)
		fail_msg("duty %.2f", duty);
}

static void few_launches_are_all_captured(void **state)
{
	/* 500 a second at no more than 30 us each are 1.5 %. */
	struct loop l = {.interval_ns = 2e6, .cost_ns = 5000, .seconds = 20};
	struct outcome o = simulate(&l, 20000, 30000, 1);

	(void)state;
	assert_true(o.on_share == 1);
}

/* 20,000 a second that cost 0.4 % in all, which nobody knows before it is measured. */
static void what_is_cheap_is_captured_once_that_is_known(void **state)
{
	struct loop l = {.interval_ns = 50000, .noise = 0.5, .cost_ns = 200, .seconds = 60};
	struct outcome o = simulate(&l, 20000, 5000, 1);

	(void)state;
	if (o.on_share < 0.9 || o.slowdown > 0.005)
		fail_msg("slowdown %.4f, %.3f of launches captured", o.slowdown, o.on_share);
}

/* Noise of the host may make captured blocks look faster than others; that does not make capture
 * cheap. */
static void noise_is_no_room(void **state)
{
	const struct loop l = {.interval_ns = 20000, .host = 1.9, .cost_ns = 500, .seconds = 60};
	double share = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		share = AIF_MAX(share, simulate(&l, 20000, 5000, seed).on_share);
	assert_true(share < 0.25); /* 0.08; 0.51 where a negative cost counts as one */
}

/* Capture that was cheap and becomes dear is noticed. */
static void capture_that_becomes_dear_is_noticed(void **state)
{
	uint64_t now = 1, on = 0, all = 0;
	struct blocks t;

	(void)state;
	begin(&t, 20000, 30000, 1, now);
	while (now < UINT64_C(120000000000)) {
		bool dear = now > UINT64_C(20000000000), late = now > UINT64_C(80000000000);
		bool captured = is_captured(&t, now);

		all += late;
		on += late && captured;
		now += 50000 + (captured ? (dear ? 25000 : 100) : 0);
	}
	/* c = 0.5: 6 % of the time is all that the budget allows. */
	if ((double)on > 0.12 * (double)all || (double)on < 0.02 * (double)all)
		fail_msg("%.3f of launches captured", (double)on / (double)all);
}

static void without_a_limit_all_is_captured(void **state)
{
	struct loop l = {.interval_ns = 3000, .cost_ns = 9000, .seconds = 5};

	(void)state;
	assert_true(simulate(&l, 0, 30000, 1).on_share == 1);
}

/* Launches at 50,000 a second that the device cannot follow: capture costs nothing, and is left on. */
static void a_loop_that_waits_stays_captured(void **state)
{
	struct loop l = {.interval_ns = 5000,
			 .noise = 0.2,
			 .cost_ns = 3000,
			 .step = 500,
			 .step_wait_ns = 7.5e6,
			 .seconds = 60};
	struct outcome o = simulate(&l, 20000, 30000, 3);

	(void)state;
	if (o.slowdown > 0.005 || o.on_share < 0.4)
		fail_msg("slowdown %.4f, %.3f of launches captured", o.slowdown, o.on_share);
}

/* Each 2,000th launch, one in about 200 ms as the cycle's mean is, is special: it must be captured as
 * often as any other. */
static void no_loop_runs_in_step_with_the_blocks(void **state)
{
	double sum = 0, squares = 0, mean, error;
	enum { SEEDS = 20, LAUNCHES = 2000000, EACH = 2000 };

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t now = 0, special_on = 0, all_on = 0;
		struct blocks t;
		double ratio;

		begin(&t, 20000, 30000, seed, 0);
		for (uint64_t i = 0; i < LAUNCHES; i++) {
			bool captured = is_captured(&t, now);

			now += captured ? 108000 : 100000;
			all_on += captured;
			special_on += captured && i % EACH == EACH / 2;
		}
		assert_true(all_on > LAUNCHES / 10 && all_on < LAUNCHES / 2);
		ratio = (double)special_on * EACH / (double)all_on;
		sum += ratio;
		squares += ratio * ratio;
	}
	mean = sum / SEEDS;
	error = sqrt((squares / SEEDS - mean * mean) / (SEEDS - 1));
	if (fabs(mean - 1) > 2 * error || error > 0.03)
		fail_msg("special launches are on %.3f +- %.3f times as often", mean, error);
}

static void threads_that_were_away_do_not_count(void **state)
{
	struct aif_budget b;

	(void)state;
	aif_budget_init(&b, 20000, 30000, 1, 0);
	for (uint64_t i = 0; i < 20; i++)
		aif_budget_turn(&b, (i + 1) * UINT64_C(400000000));
	aif_budget_add(&b, 1, 1000000);
	for (int i = 0; i < 4; i++)
		assert_int_equal(atomic_load(&b.last[i].launches), 0);
}

/* At 0.1 % the account holds 2.5 ms: a launch that costs all of its time has not overdrawn it by much when it is
 * looked at first, and then nothing is captured. */
static void the_first_block_is_as_short_as_the_account_is_small(void **state)
{
	uint64_t now = UINT64_C(1000000000), spent = 0;
	struct blocks t;

	(void)state;
	begin(&t, 1000, 10000, 1, now);
	for (uint64_t end = now + 100000000; now < end; now += 10000)
		spent += is_captured(&t, now) ? 10000 : 0;
	assert_true(spent >= 2000000 && spent <= 8000000);
	begin(&t, 20000, 10000, 1, now);
	assert_int_equal(atomic_load(&t.b.until), now + AIF_BUDGET_ON_MIN_NS);
}

/* Bursts of 0.3 s with a rest of 1.7 s before each, 70,000 launches a second of which capture costs 35 %. */
static void bursts_pay_no_more_than_other_work(void **state)
{
	enum { SEEDS = 6, BURSTS = 100 };
	double most = 0, sum = 0, captured = 0, worst_first = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t now = UINT64_C(1000000000);
		struct blocks t;
		double lost = 0, work = 0;

		begin(&t, 20000, 5000, seed, now);
		for (int i = 0; i < BURSTS; i++) {
			uint64_t alone = 0, on = 0, all = 0;

			for (now += 1700000000; alone < 300000000; all++) {
				bool is_on = is_captured(&t, now);

				on += is_on;
				alone += 14000;
				now += 14000 + (is_on ? 5000 : 0);
			}
			/* The first bursts pay before anything is known: from the account. */
			if (i < 5) {
				worst_first = AIF_MAX(worst_first, (double)on * 5000 / 300e6);
				continue;
			}
			lost += (double)on * 5000;
			work += 300e6;
			most = AIF_MAX(most, (double)on * 5000 / 300e6);
			captured += (double)on / (double)all / (BURSTS - 5) / SEEDS;
		}
		sum += lost / work / SEEDS;
	}
	if (sum < 0.012 || sum > 0.024 || most > 0.10 || worst_first > 0.25 || captured < 0.03)
		fail_msg(
			"%.4f slower in bursts, %.4f in the worst, %.4f in the worst of the first; "
			"%.3f of launches captured",
			sum, most, worst_first, captured);
}

/* Rests are no work, and a launch that waits for the clock of another is not a rest of 2^64 ns. */
static void rests_are_no_work(void **state)
{
	uint64_t now = UINT64_C(1000000000);
	struct aif_budget b;

	(void)state;
	aif_budget_init(&b, 20000, 5000, 1, now);
	for (int i = 0; i < 1000; i++)
		aif_budget_block(&b, now += i % 100 ? 100000 : 1000000000);
	/* 990 intervals of 0.1 ms and ten of which 10 ms count. */
	assert_in_range(aif_budget_worked(&b, now), 150000000, 215000000);
	assert_in_range(aif_budget_worked(&b, now + 5000000000), 150000000, 225000000);
	aif_budget_block(&b, now - 50000000);
	assert_in_range(aif_budget_worked(&b, now), 150000000, 215000000);
}

/* ---- ranks of a job -------------------------------------------------------------------------- */

#define JOB      77
#define REALTIME UINT64_C(1700000000000000000)

struct rank {
	struct blocks t;
	double next, interval, cost;
};

/* Launches until `at`, captured ones taking longer. */
static bool run_until(struct rank *r, double at)
{
	while (r->next < at)
		r->next += r->interval + (is_captured(&r->t, (uint64_t)r->next) ? r->cost : 0);
	return aif_budget_is_on(aif_budget_block(&r->t.b, (uint64_t)at));
}

/* Returns the part of the time of the rank that captures less in which the other one captures, too. */
static double common(uint64_t jobs[2], double cost, double *ret_duty)
{
	struct rank r[2] = {{.next = 1e9, .interval = 10000, .cost = 5000},
			    {.next = 1e9 + 333, .interval = 10000, .cost = cost}};
	uint64_t on[2] = {0}, both = 0, n = 0;

	for (int i = 0; i < 2; i++) {
		begin(&r[i].t, 20000, 30000, (uint64_t)i + 1, 1000000000);
		aif_budget_join(&r[i].t.b, jobs[i], REALTIME);
	}
	for (double at = 1e9; at < 61e9; at += 250000) {
		bool is[2] = {run_until(&r[0], at), run_until(&r[1], at)};

		if (at < 6e9) /* costs are not known */
			continue;
		n++;
		on[0] += is[0];
		on[1] += is[1];
		both += is[0] && is[1];
	}
	*ret_duty = (double)AIF_MIN(on[0], on[1]) / (double)n;
	return (double)both / (double)AIF_MIN(on[0], on[1]);
}

static void ranks_of_a_job_capture_at_the_same_time(void **state)
{
	static const double costs[] = {5000, 10000, 2000, 30000};
	double duty, part;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(costs); i++) {
		part = common((uint64_t[]){JOB, JOB}, costs[i], &duty);
		if (part < 0.9)
			fail_msg("cost %.0f: %.3f of a duty of %.3f", costs[i], part, duty);
	}
	/* Takes two jobs, whose blocks coincide by chance. */
	part = common((uint64_t[]){JOB, JOB + 1}, 5000, &duty);
	assert_true(part < 3 * duty);
	part = common((uint64_t[]){0, 0}, 5000, &duty);
	assert_true(part < 3 * duty);
}

static void a_rank_is_slowed_down_by_what_was_asked(void **state)
{
	static const double costs[] = {2000, 5000, 20000};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(costs); i++) {
		struct rank r = {.next = 1e9, .interval = 10000, .cost = costs[i]};
		uint64_t launches;

		begin(&r.t, 20000, 30000, 5, 1000000000);
		aif_budget_join(&r.t.b, JOB, REALTIME);
		for (launches = 0; r.next < 61e9; launches++)
			r.next += r.interval + (is_captured(&r.t, (uint64_t)r.next) ? r.cost : 0);
		if (60e9 < (double)launches * r.interval * 1.013 ||
		    60e9 > (double)launches * r.interval * 1.027)
			fail_msg("cost %.0f: slowdown %.4f", costs[i],
				 60e9 / ((double)launches * r.interval) - 1);
	}
}

/* Each part of a loop is captured as often as the others, also where it takes as long as the slots of the blocks. */
static void no_part_of_a_loop_is_preferred_by_the_blocks_of_a_job(void **state)
{
	enum { PARTS = 8 };
	static const double periods[] = {10e6, 200e6, 400e6};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(periods); i++) {
		struct rank r = {.next = 1e9, .interval = 50000, .cost = 20000};
		double captured[PARTS] = {0}, all[PARTS] = {0}, on = 0, n = 0;

		begin(&r.t, 20000, 30000, 5, 1000000000);
		aif_budget_join(&r.t.b, JOB, REALTIME);
		while (r.next < 1200e9) {
			size_t part = (size_t)(fmod(r.next, periods[i]) / periods[i] * PARTS);
			bool is = is_captured(&r.t, (uint64_t)r.next);

			captured[part] += is;
			all[part]++;
			on += is;
			n++;
			r.next += r.interval + (is ? r.cost : 0);
		}
		for (size_t k = 0; k < PARTS; k++)
			if (fabs(captured[k] / all[k] / (on / n) - 1) > 0.12)
				fail_msg("period %.0f ms, part %zu: %.4f of %.4f", periods[i] / 1e6,
					 k, captured[k] / all[k], on / n);
	}
}

static void a_process_of_no_job_has_its_own_blocks(void **state)
{
	struct rank r[2] = {{.next = 1e9, .interval = 10000, .cost = 5000},
			    {.next = 1e9, .interval = 10000, .cost = 5000}};

	(void)state;
	for (int i = 0; i < 2; i++)
		begin(&r[i].t, 20000, 30000, 9, 1000000000);
	aif_budget_join(&r[1].t.b, 0, REALTIME);
	for (double at = 1e9; at < 20e9; at += 1e6)
		assert_int_equal(run_until(&r[0], at), run_until(&r[1], at));
}

static void a_rest_does_not_put_off_the_blocks_of_a_job(void **state)
{
	struct rank r = {.next = 1e9, .interval = 10000, .cost = 5000}, other = r;
	uint64_t both = 0, on = 0;

	(void)state;
	begin(&r.t, 20000, 30000, 9, 1000000000);
	begin(&other.t, 20000, 30000, 8, 1000000000);
	aif_budget_join(&r.t.b, JOB, REALTIME);
	aif_budget_join(&other.t.b, JOB, REALTIME);
	for (double at = 1e9; at < 60e9; at += 250000) {
		bool rests = fmod(at, 1e9) < 100e6, is;

		if (rests)
			r.next = at;
		is = !rests && run_until(&r, at);
		both += is & run_until(&other, at) & (at > 10e9);
		on += is & (at > 10e9);
	}
	assert_true(on > 0 && both * 10 >= on * 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowdown_is_what_was_asked),
		cmocka_unit_test(a_short_run_is_not_slower),
		cmocka_unit_test(blocks_may_be_turned_by_a_helper),
		cmocka_unit_test(what_was_held_is_not_compared),
		cmocka_unit_test(what_is_not_compared_is_paid_for_by_the_bound),
		cmocka_unit_test(an_interrupted_block_does_not_tell_the_launch_rate),
		cmocka_unit_test(bursts_pay_no_more_than_other_work),
		cmocka_unit_test(rests_are_no_work),
		cmocka_unit_test(few_launches_are_all_captured),
		cmocka_unit_test(what_is_cheap_is_captured_once_that_is_known),
		cmocka_unit_test(noise_is_no_room),
		cmocka_unit_test(capture_that_becomes_dear_is_noticed),
		cmocka_unit_test(without_a_limit_all_is_captured),
		cmocka_unit_test(a_loop_that_waits_stays_captured),
		cmocka_unit_test(no_loop_runs_in_step_with_the_blocks),
		cmocka_unit_test(the_first_block_is_as_short_as_the_account_is_small),
		cmocka_unit_test(threads_that_were_away_do_not_count),
		cmocka_unit_test(ranks_of_a_job_capture_at_the_same_time),
		cmocka_unit_test(a_rank_is_slowed_down_by_what_was_asked),
		cmocka_unit_test(no_part_of_a_loop_is_preferred_by_the_blocks_of_a_job),
		cmocka_unit_test(a_process_of_no_job_has_its_own_blocks),
		cmocka_unit_test(a_rest_does_not_put_off_the_blocks_of_a_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
