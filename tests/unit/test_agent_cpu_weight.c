/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_switches.h"
#include "agent/cpu_weight.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Tests which part of a thread's CPU time a sample stands for. */

#define MS UINT64_C(1000000)

/* A thread that is in user code and in the OS kernel in turns, and the signals that it gets. */
struct run {
	struct aif_cpu_clocks c;
	bool is_alone, is_call; /* its time in the kernel is of calls, else of page faults */
	uint64_t period, tick;
	uint64_t cpu, next_event, next_tick;
	uint64_t user_ticks, system_ticks, faults;
	uint64_t late;             /* events due in so much at the end of a call come at its end */
	uint64_t slices, switches; /* ticks are hidden by up to so many switches each */
	bool tick_waits, event_waits;
	/* Indexed by where the thread was: 0 user code, 1 the kernel. */
	uint64_t got[2], unknown, samples, greatest;
};

static void take(struct run *r, struct aif_cpu_weight w, bool in_kernel)
{
	r->got[in_kernel] += w.ns;
	r->unknown += w.unknown_ns;
	r->samples += w.ns > 0;
	r->greatest = AIF_MAX(r->greatest, w.ns);
	if (w.ns && r->is_call && !r->slices)
		assert_int_equal(w.in_kernel, in_kernel);
}

static struct aif_cpu_signal now(const struct run *r, bool is_call_end)
{
	uint64_t ticks = r->user_ticks + r->system_ticks;

	return (struct aif_cpu_signal){
		.is_alone = r->is_alone,
		.is_call_end = is_call_end,
		.cpu_ns = r->cpu,
		.system_ns = ticks ? r->cpu * r->system_ticks / ticks : 0,
		.user_ns = ticks ? r->cpu - r->cpu * r->system_ticks / ticks : 0,
		.faults = r->faults,
		.switches = r->switches,
	};
}

/* The thread loses its CPU before most ticks. */
static uint64_t hidden(struct run *r)
{
	uint64_t n = r->slices ? aif_mix64(r->next_tick) % (r->slices + 1) : 0;

	r->switches += n;
	return n * r->tick;
}

static void signal_tick(struct run *r, bool in_kernel)
{
	struct aif_cpu_signal s = now(r, in_kernel && r->is_call);

	take(r, aif_cpu_weigh_tick(&r->c, &s), in_kernel);
	r->tick_waits = false;
}

/* The thread spends so long in user code or in the kernel. */
static void spend(struct run *r, uint64_t ns, bool in_kernel)
{
	uint64_t end = r->cpu + ns;

	if (in_kernel && !r->is_call)
		r->faults++;
	while (r->cpu < end) {
		r->cpu = AIF_MIN(AIF_MIN(r->next_event, r->next_tick), end);
		if (r->cpu == r->next_tick) {
			r->next_tick += r->tick + hidden(r);
			r->tick_waits = true;
			*(in_kernel ? &r->system_ticks : &r->user_ticks) += 1;
			if (!in_kernel || !r->is_call)
				signal_tick(r, in_kernel);
		}
		if (r->cpu == r->next_event) {
			struct aif_cpu_signal s = now(r, false);

			r->next_event += r->period;
			r->event_waits |= in_kernel && end - r->cpu < r->late;
			if (!in_kernel && !r->is_alone)
				take(r, aif_cpu_weigh_event(&r->c, &s), false);
		}
	}
	if (r->event_waits) {
		struct aif_cpu_signal s = now(r, true);

		take(r, aif_cpu_weigh_event(&r->c, &s), false);
		r->event_waits = false;
	}
	if (r->tick_waits)
		signal_tick(r, in_kernel);
}

static struct run run_begin(uint64_t period, uint64_t tick, bool is_alone, bool is_call)
{
	return (struct run){
		.c = {.period_ns = period, .tick_ns = tick},
		.is_alone = is_alone,
		.is_call = is_call,
		.period = period,
		.tick = is_alone ? period : tick,
		.next_event = period,
		.next_tick = 700000,
	};
}

#define assert_near(a, b, off)                                     \
	do {                                                       \
		double a_ = (double)(a), b_ = (double)(b);         \
		assert_true(a_ - b_ <= (off) && b_ - a_ <= (off)); \
	} while (0)

static void time_in_calls_is_theirs(void **state)
{
	(void)state;
	for (unsigned part = 5; part < 100; part += 15) {
		struct run r = run_begin(10 * MS + 1234567, 4 * MS, false, true);
		double all;

		for (unsigned i = 0; i < 40000; i++) {
			spend(&r, (uint64_t)part * 10101, true);
			spend(&r, (uint64_t)(100 - part) * 10103, false);
		}
		all = (double)r.cpu;
		assert_near((double)r.got[1] / all, part / 100.0, 0.02);
		assert_near((double)(r.got[0] + r.got[1] + r.unknown) / all, 1, 0.01);
		assert_true(r.greatest <= 3 * r.period);
		assert_int_equal(r.unknown, 0);
	}
}

/* Interrupts are off for a moment at the end of a call: a program of many short ones has most events there. */
static void events_at_the_end_of_a_call_lose_no_time(void **state)
{
	struct run r = run_begin(MS + 12345, 4 * MS, false, true);

	(void)state;
	r.late = 5000;
	for (unsigned i = 0; i < 100000; i++) {
		spend(&r, 40011, true);
		spend(&r, 10357, false);
	}
	assert_near((double)r.unknown / (double)r.cpu, 0, 0.01);
	assert_near((double)r.got[1] / (double)r.cpu, 0.7, 0.03);
	assert_near((double)(r.got[0] + r.got[1] + r.unknown) / (double)r.cpu, 1, 0.01);
}

/* Threads that share a CPU with many: ticks come upon them after up to ten times as much time of theirs. */
static void ticks_that_others_hide_shift_no_shares(void **state)
{
	const uint64_t period = 2 * MS + 12345, tick = 4 * MS;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		unsigned part = 20 * (1 + i / 2), alone = i % 2;
		struct run r = run_begin(alone ? tick : period, tick, alone, true);
		double all, known;

		r.slices = 9;
		for (unsigned n = 0; n < 20000; n++) {
			spend(&r, part * (30000 + aif_mix64(n) % 20000), true);
			spend(&r, (100 - part) * (30000 + aif_mix64(n + 7) % 20000), false);
		}
		all = (double)r.cpu;
		known = (double)(r.got[0] + r.got[1]);
		assert_near((double)r.got[1] / known, part / 100.0, 0.04);
		assert_true(known > 0.95 * all);
		assert_near(known + (double)r.unknown, all, 0.01 * all);
		assert_true(r.greatest <= 24 * tick + period);
	}
}

/* Events of a thread in user code that come after two periods each, while others hide ticks: the time stays the thread's own. */
static void late_events_of_user_code_have_their_time(void **state)
{
	const uint64_t period = 2 * MS, tick = 4 * MS;

	(void)state;
	for (unsigned slices = 0; slices < 10; slices += 9) {
		struct run r = run_begin(period, tick, false, true);

		r.slices = slices;
		for (unsigned n = 0; n < 500; n++) {
			struct aif_cpu_signal s;

			r.next_event = UINT64_MAX;
			spend(&r, 2 * period, false);
			s = now(&r, false);
			take(&r, aif_cpu_weigh_event(&r.c, &s), false);
		}
		assert_true((double)r.got[0] > 0.9 * (double)r.cpu);
		assert_int_equal(r.got[1] + r.unknown, 0);
	}
}

static void time_in_page_faults_is_theirs(void **state)
{
	struct run r = run_begin(5 * MS + 12345, 4 * MS, false, false);

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		spend(&r, 1003031 + aif_mix64(i + 1) % (4 * MS), i % 2);
		spend(&r, 1001017, false);
	}
	assert_near((double)r.got[1] / (double)r.cpu, 0.375, 0.06);
	assert_near((double)(r.got[0] + r.got[1] + r.unknown) / (double)r.cpu, 1, 0.01);
}

static void user_code_has_a_period_each(void **state)
{
	struct run r = run_begin(10 * MS, 4 * MS, false, true);

	(void)state;
	spend(&r, 10000 * MS, false);
	assert_int_equal(r.samples, 1000);
	assert_int_equal(r.got[0], 10000 * MS);
	assert_int_equal(r.got[1] + r.unknown, 0);
	assert_int_equal(r.greatest, 10 * MS);
}

static void a_long_call_has_all_of_its_time(void **state)
{
	(void)state;
	for (unsigned alone = 0; alone < 2; alone++) {
		struct run r = run_begin(10 * MS, 4 * MS, alone, true);

		spend(&r, 100 * MS, false);
		spend(&r, 400 * MS, true);
		spend(&r, 100 * MS, false);
		assert_near((double)r.got[1], 400e6, 20e6);
		assert_near((double)(r.got[0] + r.got[1]), 600e6, 20e6);
		assert_int_equal(r.unknown, 0);
	}
}

/* Both signals wait while they are blocked, and come at the end of the call that lets them. */
static void blocked_signals_give_their_time_to_no_stack(void **state)
{
	(void)state;
	for (unsigned alone = 0; alone < 2; alone++) {
		struct run r = run_begin(10 * MS, 4 * MS, alone, true);
		struct aif_cpu_signal s;

		spend(&r, 200 * MS, false);
		r.cpu += 500 * MS;
		r.user_ticks += 125;
		s = now(&r, true);
		r.is_call = false;
		if (!alone)
			take(&r, aif_cpu_weigh_event(&r.c, &s), true);
		take(&r, aif_cpu_weigh_tick(&r.c, &s), true);
		assert_true(r.got[1] <= 30 * MS);
		assert_true(r.unknown >= 460 * MS);
		assert_near((double)(r.got[0] + r.got[1] + r.unknown), 700e6, 20e6);
	}
}

/* A tick of a call has had time of the period at hand; then both signals are blocked for long. */
static void what_a_tick_has_had_is_not_unknown_too(void **state)
{
	struct run r = run_begin(10 * MS, 4 * MS, false, true);
	struct aif_cpu_signal s;
	uint64_t had;

	(void)state;
	spend(&r, 200 * MS, false);
	spend(&r, 61 * MS, true);
	had = r.got[1];
	assert_true(had >= 40 * MS);
	r.cpu += 500 * MS;
	r.user_ticks += 125;
	s = now(&r, true);
	take(&r, aif_cpu_weigh_event(&r.c, &s), false);
	assert_true(r.got[0] + r.got[1] + r.unknown <= r.cpu);
	assert_near((double)(r.got[0] + r.got[1] + r.unknown), (double)r.cpu, 20e6);
}

static void time_before_the_first_sample_is_nobodys(void **state)
{
	struct aif_cpu_clocks c = {.period_ns = 10 * MS, .tick_ns = 4 * MS};
	struct aif_cpu_signal s = {.cpu_ns = 5000 * MS};
	struct aif_cpu_weight w = aif_cpu_weigh_event(&c, &s);

	(void)state;
	assert_int_equal(w.ns, 10 * MS);
	assert_int_equal(w.unknown_ns, 0);
}

/* A thread that was in one call of the kernel for long, whose time ticks have had, is sampled by ticks alone from now on. */
static void a_change_of_the_clock_loses_no_time(void **state)
{
	struct aif_cpu_clocks c = {.period_ns = 5 * MS, .tick_ns = 4 * MS};
	struct aif_cpu_signal s = {.cpu_ns = 5 * MS};
	struct aif_cpu_weight w = aif_cpu_weigh_event(&c, &s);
	uint64_t got = w.ns;

	(void)state;
	s.is_call_end = true;
	while (s.cpu_ns < 105 * MS) {
		s.cpu_ns += 4 * MS;
		s.system_ns += 4 * MS;
		w = aif_cpu_weigh_tick(&c, &s);
		got += w.ns + w.unknown_ns;
	}
	aif_cpu_clocks_change(&c, 5 * MS);
	s.is_alone = true;
	for (int i = 0; i < 10; i++) {
		s.cpu_ns += 5 * MS;
		s.system_ns += 5 * MS;
		w = aif_cpu_weigh_tick(&c, &s);
		assert_int_equal(w.unknown_ns, 0);
		got += w.ns;
	}
	assert_int_equal(got, s.cpu_ns);
	aif_cpu_clocks_change(&c, 5 * MS);
	s.is_alone = s.is_call_end = false;
	for (int i = 0; i < 10; i++) {
		s.cpu_ns += 5 * MS;
		s.user_ns += 5 * MS;
		w = aif_cpu_weigh_event(&c, &s);
		assert_int_equal(w.unknown_ns, 0);
		got += w.ns;
	}
	assert_int_equal(got, s.cpu_ns);
}

/* Checks that what a thread used before its first sample comes with that, less what ticks in the kernel have had. */
static void the_first_sample_has_what_was_before(void **state)
{
	struct aif_cpu_clocks c = {.period_ns = 5 * MS, .tick_ns = 4 * MS}, alone = c;
	struct aif_cpu_signal s = {.cpu_ns = 10 * MS, .system_ns = 10 * MS, .is_call_end = true};
	struct aif_cpu_weight w = aif_cpu_weigh_tick(&c, &s);
	uint64_t got = w.ns;

	(void)state;
	assert_true(w.in_kernel && w.ns);
	s = (struct aif_cpu_signal){.cpu_ns = 40 * MS, .user_ns = 30 * MS, .system_ns = 10 * MS};
	w = aif_cpu_weigh_event(&c, &s);
	assert_int_equal(w.ns, 5 * MS);
	assert_int_equal(got + w.ns + w.before_ns, s.cpu_ns);
	s.cpu_ns += 5 * MS;
	assert_int_equal(aif_cpu_weigh_event(&c, &s).before_ns, 0);
	s = (struct aif_cpu_signal){.cpu_ns = 40 * MS, .user_ns = 40 * MS, .is_alone = true};
	w = aif_cpu_weigh_tick(&alone, &s);
	assert_int_equal(w.ns, 5 * MS);
	assert_int_equal(w.ns + w.before_ns, s.cpu_ns);
}

static struct aif_cpu_weight young(struct aif_cpu_clocks *c, struct aif_cpu_credit *credit,
				   uint64_t period, uint64_t cpu, bool is_call_end)
{
	struct aif_cpu_signal s = {.cpu_ns = cpu, .is_call_end = is_call_end};

	return aif_cpu_weigh_young(c, credit, period, &s);
}

/* Threads of less and more than a tick, and than a period, one after another, the kernel's ticks at any phase of them: each
 * fifth of their time gets a fifth, and all of it together its length. */
static void short_threads_have_their_time(void **state)
{
	const uint64_t lengths[] = {1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS},
		       periods[] = {AIF_NS_PER_S / 99, AIF_NS_PER_S / 999}, tick = 4 * MS;
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(lengths) * AIF_ARRAY_LEN(periods); i++) {
		uint64_t length = lengths[i / 2], period = periods[i % 2], got[5] = {0}, all = 0;
		struct aif_cpu_credit credit;

		aif_cpu_credit_init(&credit, i, period);
		for (unsigned n = 0; n < 400000; n++) {
			struct aif_cpu_clocks c = {.tick_ns = tick};

			aif_cpu_credit_begin(&credit, tick);
			random = aif_mix64(random + 1);
			for (uint64_t at = random % tick; at < length; at += tick) {
				struct aif_cpu_weight w = young(&c, &credit, period, at, false);

				got[at * 5 / length] += w.ns;
				all += w.ns;
				assert_int_equal(w.unknown_ns, 0);
			}
			aif_cpu_credit_end(&credit, length);
		}
		assert_in_range(all, 399000 * length, 401000 * length);
		for (unsigned k = 0; k < 5; k++)
			assert_in_range(got[k], all * 195 / 1000, all * 205 / 1000);
	}
}

/* Threads that begin to run at a tick, each second one: ticks miss a part of their time, and the others make it good. */
static void time_that_ticks_miss_is_made_good(void **state)
{
	const uint64_t length = 5 * MS, tick = 4 * MS, period = 5 * MS;
	struct aif_cpu_credit credit;
	uint64_t random = 1, all = 0;

	(void)state;
	aif_cpu_credit_init(&credit, 1, period);
	for (unsigned n = 0; n < 100000; n++) {
		struct aif_cpu_clocks c = {.tick_ns = tick};

		aif_cpu_credit_begin(&credit, tick);
		random = aif_mix64(random + 1);
		for (uint64_t at = n % 2 ? tick : random % tick; at < length; at += tick)
			all += young(&c, &credit, period, at, false).ns;
		aif_cpu_credit_end(&credit, length);
	}
	assert_in_range(all, 99900 * length, 100100 * length);
}

/* Threads that share their CPUs have ticks after any time of theirs: each counts for one. */
static void threads_that_share_a_cpu_have_their_time(void **state)
{
	const uint64_t length = 94 * MS, tick = 4 * MS, period = 10 * MS;
	uint64_t random = 1, all = 0;

	(void)state;
	for (unsigned n = 0; n < 4000; n++) {
		struct aif_cpu_clocks c = {.tick_ns = tick};
		struct aif_cpu_credit credit;

		aif_cpu_credit_init(&credit, n, period);
		aif_cpu_credit_begin(&credit, tick);
		/* The thread's own times between two: 0 to 8 ms. */
		for (uint64_t at = 0;; all += young(&c, &credit, period, at, false).ns) {
			random = aif_mix64(random + 1);
			at += random % (2 * tick + 1);
			if (at >= length)
				break;
		}
	}
	assert_in_range(all, 3900 * length, 4100 * length);
}

/* Short threads that share a CPU with many, in calls and in user code for 3 ms in turns. */
static void ticks_that_others_hide_from_short_threads_are_made_good(void **state)
{
	const uint64_t length = 24 * MS, part = 3 * MS, tick = 4 * MS, period = 5 * MS;
	struct aif_cpu_credit credit;
	uint64_t random = 1, got[2] = {0}, unknown = 0;

	(void)state;
	aif_cpu_credit_init(&credit, 1, period);
	for (unsigned n = 0; n < 40000; n++) {
		struct aif_cpu_clocks c = {.tick_ns = tick};
		uint64_t switches = 0, at = 0;

		aif_cpu_credit_begin(&credit, tick);
		for (;;) {
			struct aif_cpu_signal s;
			struct aif_cpu_weight w;
			uint64_t more;

			random = aif_mix64(random + 1);
			more = random % 5;
			switches += more;
			at += more * tick + random / 8 % tick;
			if (at >= length)
				break;
			s = (struct aif_cpu_signal){
				.cpu_ns = at,
				.switches = switches,
				.is_call_end = at / part % 2,
			};
			/* Comes when the call is over. */
			if (s.is_call_end)
				s.cpu_ns = at = at / part * part + part;
			w = aif_cpu_weigh_young(&c, &credit, period, &s);
			got[s.is_call_end] += w.ns;
			unknown += w.unknown_ns;
		}
		aif_cpu_credit_end(&credit, length);
	}
	assert_near((double)got[1] / (double)(got[0] + got[1]), 0.5, 0.05);
	assert_near((double)(got[0] + got[1]), 40000.0 * (double)length, 400.0 * (double)length);
	assert_int_equal(unknown, 0);
}

/* Preempted threads, whose time is made good by ticks that count for more, and among them some in one long call. */
static void a_long_call_among_preempted_threads_has_its_time(void **state)
{
	const uint64_t tick = 4 * MS, period = 10 * MS, call = 80 * MS, length = 24 * MS;
	struct aif_cpu_credit credit;
	uint64_t random = 1, got[2] = {0}, used[2] = {0};

	(void)state;
	aif_cpu_credit_init(&credit, 1, period);
	for (unsigned n = 0; n < 40000; n++) {
		struct aif_cpu_clocks c = {.tick_ns = tick};
		struct aif_cpu_signal s = {.is_call_end = n % 20 == 0};
		uint64_t of = s.is_call_end ? call : length;

		aif_cpu_credit_begin(&credit, tick);
		for (;;) {
			uint64_t more;

			random = aif_mix64(random + 1);
			more = s.is_call_end ? 0 : 1 + random % 4;
			s.switches += more;
			s.cpu_ns += s.is_call_end ? call : more * tick + random / 8 % tick;
			if (s.cpu_ns > of)
				break;
			got[s.is_call_end] += aif_cpu_weigh_young(&c, &credit, period, &s).ns;
		}
		used[s.is_call_end] += of;
		aif_cpu_credit_end(&credit, of);
	}
	assert_near((double)got[1] / (double)used[1], 1, 0.1);
	assert_near((double)got[0] / (double)used[0], 1, 0.1);
}

/* A call of the OS kernel in which ticks came as one at its end has the time of all of them; more than three periods of other
 * time have no stack. */
static void a_short_threads_call_has_its_time(void **state)
{
	const uint64_t period = 10 * MS, tick = 4 * MS;
	struct aif_cpu_clocks c = {.tick_ns = tick};
	struct aif_cpu_credit credit;
	uint64_t got = 0, unknown = 0;

	(void)state;
	aif_cpu_credit_init(&credit, 1, period);
	for (unsigned i = 1; i <= 100; i++) {
		struct aif_cpu_weight w = young(&c, &credit, period, i * 60 * MS, true);

		assert_true(w.in_kernel);
		assert_int_equal(w.unknown_ns, 0);
		got += w.ns;
	}
	assert_in_range(got, 5960 * MS, 6040 * MS);
	for (unsigned i = 1; i <= 100; i++) {
		struct aif_cpu_weight w =
			young(&c, &credit, period, 6000 * MS + i * 60 * MS, false);

		assert_false(w.in_kernel);
		assert_in_range(w.ns, 0, 3 * period);
		unknown += w.unknown_ns;
	}
	assert_in_range(unknown, 2800 * MS, 3200 * MS);
}

/* A server that waits for each request; a program that computes; one between the two stays as it is. */
static void threads_that_leave_the_cpu_often_are_known(void **state)
{
	const uint64_t second = AIF_NS_PER_S;

	(void)state;
	assert_true(aif_cpu_switches_often(false, 100000, second));
	assert_true(aif_cpu_switches_often(false, 60, second / 50));
	assert_false(aif_cpu_switches_often(false, 59, second / 50));
	assert_false(aif_cpu_switches_often(false, 100, second));
	assert_false(aif_cpu_switches_often(true, 100, second));
	assert_false(aif_cpu_switches_often(false, 2000, second));
	assert_true(aif_cpu_switches_often(true, 2000, second));
	assert_true(aif_cpu_switches_often(false, UINT64_MAX, UINT64_MAX / 1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_in_calls_is_theirs),
		cmocka_unit_test(events_at_the_end_of_a_call_lose_no_time),
		cmocka_unit_test(ticks_that_others_hide_shift_no_shares),
		cmocka_unit_test(late_events_of_user_code_have_their_time),
		cmocka_unit_test(time_in_page_faults_is_theirs),
		cmocka_unit_test(user_code_has_a_period_each),
		cmocka_unit_test(a_long_call_has_all_of_its_time),
		cmocka_unit_test(blocked_signals_give_their_time_to_no_stack),
		cmocka_unit_test(what_a_tick_has_had_is_not_unknown_too),
		cmocka_unit_test(time_before_the_first_sample_is_nobodys),
		cmocka_unit_test(a_change_of_the_clock_loses_no_time),
		cmocka_unit_test(the_first_sample_has_what_was_before),
		cmocka_unit_test(short_threads_have_their_time),
		cmocka_unit_test(time_that_ticks_miss_is_made_good),
		cmocka_unit_test(threads_that_share_a_cpu_have_their_time),
		cmocka_unit_test(ticks_that_others_hide_from_short_threads_are_made_good),
		cmocka_unit_test(a_long_call_among_preempted_threads_has_its_time),
		cmocka_unit_test(a_short_threads_call_has_its_time),
		cmocka_unit_test(threads_that_leave_the_cpu_often_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
