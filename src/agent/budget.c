/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/budget.h"

#include "agent/job_blocks.h"

#include <math.h>
#include <string.h>

/* Below, c is noise. */
#define MIN_LAUNCHES 8
#define MIN_PAIRS    8
#define ON_LAUNCHES  16 /* on-blocks are half to one and a half of their length */
/* Known well enough to be used instead of the bound: two of these are a quarter of c. */
#define KNOWN_ERROR (1.0 / 8)
/* Measured to be within the budget: some off-blocks stay, to notice when that changes. */
#define WATCH_DUTY      (31.0 / 32)
#define MAX_COST        1e3
#define MAX_EXPONENTIAL 8.0

/* With everything on, the account is looked at again after this at the earliest: it must not be overdrawn
 * before, were all of the time spent. That is shorter than an on-block below 0.4 %. */
static uint64_t least_look(const struct aif_budget *b)
{
	return AIF_MIN((uint64_t)((double)b->asked_ppm / 1e6 * AIF_BUDGET_DEBT_NS),
		       AIF_BUDGET_ON_MIN_NS);
}

void aif_budget_init(struct aif_budget *b, uint32_t asked_ppm, uint64_t bound_ns, uint64_t seed,
		     uint64_t now)
{
	memset(b, 0, sizeof(*b));
	b->asked_ppm = asked_ppm;
	b->bound_ns = bound_ns;
	b->random = seed;
	b->began = now;
	atomic_store(&b->seen, now);
	b->duty = 1;
	b->last[1].number = 1;
	b->last[1].duty_ppm = 1000000;
	atomic_store(&b->duty_ppm, 1000000);
	atomic_store(&b->block, 1);
	atomic_store(&b->until, asked_ppm ? now + least_look(b) : UINT64_MAX);
}

void aif_budget_join(struct aif_budget *b, uint64_t job, uint64_t realtime)
{
	b->job = job;
	b->realtime = realtime;
}

void aif_budget_add(struct aif_budget *b, uint32_t block, uint64_t launches)
{
	struct aif_budget_block *k = &b->last[block % 4];
	uint64_t busiest = atomic_load_explicit(&k->busiest, memory_order_relaxed);

	/* A thread that slept through the blocks in between is too late. */
	if (atomic_load_explicit(&b->block, memory_order_relaxed) - block > 2)
		return;
	atomic_fetch_add_explicit(&k->launches, launches, memory_order_relaxed);
	while (busiest < launches &&
	       !atomic_compare_exchange_weak_explicit(&k->busiest, &busiest, launches,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void aif_budget_add_cost(struct aif_budget *b, uint32_t block, uint64_t ns)
{
	if (atomic_load_explicit(&b->block, memory_order_relaxed) - block <= 2)
		atomic_fetch_add_explicit(&b->last[block % 4].more_ns, ns, memory_order_relaxed);
}

void aif_budget_disturb(struct aif_budget *b, uint32_t block, bool not_judged)
{
	struct aif_budget_block *k = &b->last[block % 4];

	k->not_compared = true;
	k->not_judged |= not_judged;
}

static double uniform(struct aif_budget *b)
{
	b->random += UINT64_C(0x9e3779b97f4a7c15);
	return (double)(aif_mix64(b->random) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Exponential with mean 1, from uniform bits, without libm (von Neumann's method: Knuth, The Art of
 * Computer Programming, volume 2, 3.4.1): count runs of falling numbers until one has even length. */
static double exponential(struct aif_budget *b)
{
	for (double whole = 0; whole < MAX_EXPONENTIAL; whole++) {
		double first = uniform(b), last = first, next;
		unsigned length = 1;

		while ((next = uniform(b)) < last) {
			last = next;
			length++;
		}
		if (length & 1)
			return whole + first;
	}
	return MAX_EXPONENTIAL;
}

/* Both blocks' counts are complete: the threads that launch have met the block after them. */
static void compare(struct aif_budget *b, const struct aif_budget_block *x,
		    const struct aif_budget_block *y)
{
	const struct aif_budget_block *on = aif_budget_is_on(x->number) ? x : y,
				      *off = on == x ? y : x;
	uint64_t n = atomic_load(&on->launches), m = atomic_load(&off->launches);

	if (x->number != y->number + 1 || n < MIN_LAUNCHES || m < MIN_LAUNCHES ||
	    off->length_ns < AIF_BUDGET_OFF_MIN_NS || !on->length_ns ||
	    (b->held && off->number == b->held) || on->not_compared || off->not_compared)
		return;
	b->pairs[b->pairs_len++ % AIF_BUDGET_PAIRS] =
		(double)m / (double)off->length_ns * (double)on->length_ns / (double)n - 1;
}

static void sort(double *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
			double x = v[k];

			v[k] = v[k - 1];
			v[k - 1] = x;
		}
}

/* The median of the pairs and its standard error, from the median absolute deviation: 1.4826 makes
 * that a standard deviation (of a normal distribution), sqrt(pi / 2) is a median's against a mean's. */
static bool median(const struct aif_budget *b, double *ret_median, double *ret_error)
{
	double v[AIF_BUDGET_PAIRS], middle;
	size_t n = AIF_MIN(b->pairs_len, (uint32_t)AIF_BUDGET_PAIRS);

	if (n < MIN_PAIRS)
		return false;
	memcpy(v, b->pairs, n * sizeof(*v));
	sort(v, n);
	middle = v[n / 2];
	for (size_t i = 0; i < n; i++)
		v[i] = v[i] < middle ? middle - v[i] : v[i] - middle;
	sort(v, n);
	*ret_median = middle;
	*ret_error = 1.4826 * 1.2533 * v[n / 2] / sqrt((double)n);
	return true;
}

/* Cost of a block at most. */
static double cost_ns(const struct aif_budget *b, const struct aif_budget_block *k)
{
	return (double)atomic_load(&k->busiest) * (double)b->bound_ns +
	       (double)atomic_load(&k->more_ns);
}

/* At most this, by the rate of the busiest thread: x of its time in an on-block is ours. */
static double bound(const struct aif_budget *b, const struct aif_budget_block *k)
{
	double x = cost_ns(b, k) / (double)AIF_MAX(k->length_ns, 1);

	return x < 0.99 ? x / (1 - x) : MAX_COST;
}

/* A block's captures go on the account, and the budget of the time since the last pays off. */
static void charge(struct aif_budget *b, const struct aif_budget_block *k, uint64_t now)
{
	if (aif_budget_is_on(k->number))
		b->debt_ns += cost_ns(b, k);
	b->debt_ns -= (double)b->asked_ppm / 1e6 * (double)(now - b->began);
	if (b->debt_ns < 0)
		b->debt_ns = 0;
	/* While launches are left out there is no account; it is half full when that ends. */
	if (b->duty < 1)
		b->debt_ns = (double)b->asked_ppm / 1e6 * AIF_BUDGET_DEBT_NS / 2;
}

static void remember(struct aif_budget *b, bool was_on, uint64_t ns)
{
	double fade = AIF_BUDGET_LATELY_NS / (AIF_BUDGET_LATELY_NS + (double)ns);

	b->lately_ns = b->lately_ns * fade + (double)ns;
	b->lately_on_ns = b->lately_on_ns * fade + (was_on ? (double)ns : 0);
}

/* Before c was known little or, in the first blocks, much was spent: what to aim at now, at most half more
 * or less than what was asked. */
static double aim(const struct aif_budget *b, double asked, double c)
{
	double saved = b->lately_ns * asked / (1 + asked) - b->lately_on_ns * c / (1 + c),
	       more = saved / AIF_BUDGET_CATCH_UP_NS;

	return asked + AIF_MIN(AIF_MAX(more, -asked / 2), asked / 2);
}

static void decide(struct aif_budget *b, const struct aif_budget_block *on, uint64_t now)
{
	double asked = (double)b->asked_ppm / 1e6, most = bound(b, on), c = most, m, error;
	bool measured = median(b, &m, &error), fresh;

	asked -= AIF_MIN(b->spent, asked * 3 / 4);
	if (measured) {
		atomic_store(&b->cost_ppm, (uint32_t)(AIF_MIN(AIF_MAX(m, 0.0), MAX_COST) * 1e6));
		atomic_store(&b->cost_error_ppm,
			     (uint32_t)(AIF_MIN(AIF_MAX(error, 1e-6), MAX_COST) * 1e6));
		c = error <= m * KNOWN_ERROR ? m : AIF_MIN(most, AIF_MAX(m, 0.0) + 2 * error);
	}
	fresh = b->pairs_len - b->trusted_pairs >= MIN_PAIRS;
	/* Capturing makes nothing faster: a c below 0 says how much it scatters, not that there is room. */
	if (measured && fresh && AIF_MAX(m, 0.0) + 2 * error <= asked / 2) {
		b->duty = 1;
		b->trusted_pairs = b->pairs_len;
		b->trusted_until = now + AIF_BUDGET_TRUST_NS;
	} else if (now < b->trusted_until ||
		   (b->duty >= 1 ? b->debt_ns <= asked * AIF_BUDGET_DEBT_NS : most <= asked)) {
		b->duty = 1;
	} else if (c <= asked) {
		b->duty = WATCH_DUTY;
	} else {
		if (measured && error <= m * KNOWN_ERROR)
			asked = aim(b, asked, c);
		b->duty = AIF_MIN(WATCH_DUTY, asked / (1 + asked) * (1 + c) / c);
	}
	atomic_store(&b->duty_ppm, (uint32_t)(b->duty * 1e6));
}

/* Returns a length in which there are launches enough to compare, where they are rare and dear: replays of graphs. */
static double least_on(const struct aif_budget_block *k)
{
	double n = (double)AIF_MAX(atomic_load(&k->launches), UINT64_C(1));

	return AIF_MIN(ON_LAUNCHES * (double)k->length_ns / n, (double)AIF_BUDGET_CYCLE_NS / 2);
}

/* Returns the least length of on-blocks. Shorter ones until there are enough pairs: what is not known is taken for dear. */
static double least_length(const struct aif_budget *b, const struct aif_budget_block *k)
{
	return AIF_MAX((double)AIF_BUDGET_ON_MIN_NS / (b->pairs_len < MIN_PAIRS ? 2 : 1),
		       least_on(k));
}

/* k: a block whose counts are complete. */
static uint64_t next_length(struct aif_budget *b, const struct aif_budget_block *k, bool on)
{
	double on_min = least_length(b, k);
	double cycle =
		AIF_MAX((double)AIF_BUDGET_CYCLE_NS,
			AIF_MAX(on_min / b->duty, (double)AIF_BUDGET_OFF_MIN_NS / (1 - b->duty)));

	return (uint64_t)(on ? cycle * b->duty * (0.5 + uniform(b))
			     : cycle * (1 - b->duty) * exponential(b));
}

/* With everything on: the account is looked at again before it can be overdrawn by much. Of the time that
 * this takes at the rate of k, a quarter: k is two blocks old. */
static uint64_t look_length(const struct aif_budget *b, const struct aif_budget_block *k)
{
	double asked = (double)b->asked_ppm / 1e6, room = asked * AIF_BUDGET_DEBT_NS - b->debt_ns,
	       grows = k->length_ns ? cost_ns(b, k) / (double)k->length_ns - asked : 1,
	       ns = grows > 0 ? room / grows / 4 : (double)AIF_BUDGET_LOOK_NS;

	return (uint64_t)AIF_MIN(AIF_MAX(ns, (double)least_look(b)), (double)AIF_BUDGET_LOOK_NS);
}

static void begin(struct aif_budget *b, uint32_t n, uint64_t now, uint64_t until)
{
	b->last[n % 4].number = n;
	b->last[n % 4].duty_ppm = (uint32_t)(b->duty * 1e6);
	b->last[n % 4].length_ns = 0;
	b->last[n % 4].not_compared = b->last[n % 4].not_judged = false;
	atomic_store(&b->last[n % 4].launches, 0);
	atomic_store(&b->last[n % 4].busiest, 0);
	atomic_store(&b->last[n % 4].more_ns, 0);
	b->began = now;
	atomic_store_explicit(&b->block, n, memory_order_release);
	atomic_store_explicit(&b->until, until, memory_order_relaxed);
}

/* The turning thread's. */
static void rest(struct aif_budget *b, uint64_t ns)
{
	uint64_t until = atomic_load_explicit(&b->until, memory_order_relaxed);
	bool is_held = b->held && atomic_load_explicit(&b->block, memory_order_relaxed) == b->held;

	b->began += ns;
	if (b->job && b->duty < 1)
		b->began = AIF_MIN(b->began, until);
	else if (until != UINT64_MAX && !is_held)
		atomic_store_explicit(&b->until, until + ns, memory_order_relaxed);
}

void aif_budget_rest(struct aif_budget *b, uint64_t ns)
{
	uint32_t idle = 0;

	if (!atomic_compare_exchange_strong_explicit(&b->turning, &idle, 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	rest(b, ns);
	atomic_store_explicit(&b->turning, 0, memory_order_release);
}

void aif_budget_note(struct aif_budget *b, uint64_t now)
{
	uint64_t seen = atomic_load_explicit(&b->seen, memory_order_relaxed);

	/* Counts each rest once: one thread notes a moment. */
	if (now <= seen ||
	    !atomic_compare_exchange_strong_explicit(&b->seen, &seen, now, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	if (now - seen > AIF_BUDGET_REST_NS &&
	    !atomic_load_explicit(&b->is_owned, memory_order_relaxed))
		aif_budget_rest(b, now - seen - AIF_BUDGET_REST_NS);
}

uint64_t aif_budget_worked(const struct aif_budget *b, uint64_t now)
{
	uint64_t end = now;

	if (!atomic_load_explicit(&b->is_owned, memory_order_relaxed))
		end = AIF_MIN(now, atomic_load_explicit(&b->seen, memory_order_relaxed) +
					   AIF_BUDGET_REST_NS);
	return b->worked_ns + (end > b->began ? end - b->began : 0);
}

/* Decides the next block of a job's rank, from the times that all ranks have; sets *ret_until. False: the off-block goes on, for its
 * rank begins none now. */
static bool next_of_job(const struct aif_budget *b, uint32_t n, uint64_t now, uint32_t *ret_next,
			uint64_t *ret_until)
{
	const struct aif_budget_block *k = &b->last[n % 4];
	struct aif_job_part part = {b->job, b->duty, least_length(b, &b->last[(n - 2) % 4])};
	uint64_t real = now + b->realtime, until;
	bool was_on = aif_budget_is_on(n), is_on = aif_job_is_on(&part, real, &until);

	/* An on-block ends when it was to, whatever the duty has become. */
	if (was_on && k->duty_ppm < 1000000)
		is_on = false;
	if (!is_on)
		until = aif_job_next(&part, real);
	*ret_until = until - b->realtime;
	*ret_next = was_on == is_on ? n + 2 : n + 1;
	return was_on || is_on;
}

static void turn(struct aif_budget *b, uint64_t now)
{
	uint32_t idle = 0, n, next;
	uint64_t until, length, later;
	bool again;

	if (!atomic_compare_exchange_strong_explicit(&b->turning, &idle, 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	until = atomic_load_explicit(&b->until, memory_order_relaxed);
	if (now < until)
		goto out;
	n = atomic_load_explicit(&b->block, memory_order_relaxed);
	if (b->job && b->duty < 1 && !aif_budget_is_on(n) &&
	    !next_of_job(b, n, now, &next, &later)) {
		atomic_store_explicit(&b->until, later, memory_order_relaxed);
		goto out;
	}
	b->last[n % 4].length_ns = until - b->began; /* afterwards nobody launched */
	b->worked_ns += now - b->began;
	if (n != b->held)
		remember(b, aif_budget_is_on(n), until - b->began);
	if (b->duty < 1)
		compare(b, &b->last[(n - 1) % 4], &b->last[(n - 2) % 4]);
	charge(b, &b->last[(n - 2) % 4], now);
	if (aif_budget_is_on(n)) {
		/* The newest on-block whose counts are complete. */
		if (b->last[(n - 2) % 4].length_ns && !b->last[(n - 2) % 4].not_judged)
			decide(b, &b->last[(n - 2) % 4], now);
	}
	if (b->job && b->duty < 1) {
		next_of_job(b, n, now, &next, &later);
		begin(b, next, now, later);
		goto out;
	}
	/* The first block after leaving out has begun is drawn at random, too, as all later ones are. */
	again = aif_budget_is_on(n) &&
		(b->duty >= 1 || (b->last[n % 4].duty_ppm == 1000000 && uniform(b) < b->duty));
	next = again ? n + 2 : n + 1;
	length = b->duty >= 1 ? look_length(b, &b->last[(n - 2) % 4])
			      : next_length(b, &b->last[(n - 2) % 4], aif_budget_is_on(next));
	begin(b, next, now, now + length);
out:
	atomic_store_explicit(&b->turning, 0, memory_order_release);
}

void aif_budget_turn(struct aif_budget *b, uint64_t now)
{
	if (!atomic_load_explicit(&b->is_owned, memory_order_relaxed))
		turn(b, now);
}

void aif_budget_own(struct aif_budget *b, bool is_owned)
{
	atomic_store_explicit(&b->is_owned, is_owned, memory_order_relaxed);
}

void aif_budget_turn_at(struct aif_budget *b, uint64_t now)
{
	atomic_store_explicit(&b->until, now, memory_order_relaxed);
	turn(b, now);
}

bool aif_budget_hold(struct aif_budget *b, uint64_t now, uint64_t until)
{
	uint32_t idle = 0, n;
	bool on;

	if (!atomic_compare_exchange_strong_explicit(&b->turning, &idle, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	n = atomic_load_explicit(&b->block, memory_order_relaxed);
	on = aif_budget_is_on(n);
	if (on) {
		b->last[n % 4].length_ns = now - b->began;
		b->worked_ns += now - b->began;
		remember(b, true, now - b->began);
		b->held = n + 1;
		begin(b, n + 1, now, until);
	}
	atomic_store_explicit(&b->turning, 0, memory_order_release);
	return on;
}

void aif_budget_spend(struct aif_budget *b, double slowdown)
{
	b->spent = slowdown;
}

void aif_budget_resume(struct aif_budget *b, uint64_t now)
{
	uint32_t idle = 0, n;

	if (!b->asked_ppm ||
	    !atomic_compare_exchange_strong_explicit(&b->turning, &idle, 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	n = atomic_load_explicit(&b->block, memory_order_relaxed);
	atomic_store_explicit(&b->seen, now, memory_order_relaxed);
	begin(b, n, now, now + AIF_BUDGET_ON_MIN_NS);
	b->last[n % 4].number = 0;
	atomic_store_explicit(&b->turning, 0, memory_order_release);
}

bool aif_budget_trusts(const struct aif_budget *b, uint64_t now)
{
	return now < b->trusted_until;
}
