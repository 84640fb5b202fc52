/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/duty.h"

#include "agent/cuda/cuda.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/lock.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/records.h"
#include "agent/cuda/sampling.h"
#include "agent/emit.h"

/*
 * Decides what is on, and when. Each launch costs 0.5 us for CUPTI's kernel record, 0.4 to 0.8 us for the stack, next
 * to nothing for callbacks, and 0.3 us and more for good once records were on (bench/results/h200-cupti.md); a decode
 * that launches each 13 us was 14 % slower with all of it. So the blocks of the overhead budget (budget.h) switch the
 * stacks and the records; the latter takes 2 to 15 us, and what was launched before is recorded to its end (measured:
 * 500 of 500). The helper turns the blocks. Their launches are counted here, for each thread that makes many
 * and for the others together (AIF_WIRE_BLOCK_COUNTED).
 *
 * So it is where CUPTI may be asked to switch records (AIF_CUPTI_USE_BLOCKS, use.c). Else they
 * are on from beginning to end, beside samples where these are wanted, and blocks switch the stacks
 * only.
 *
 * The callbacks stay on, in pauses, too (cuda.c): by them launches are counted, and held while
 * sampling is switched. What records leave behind is spent whether they are on or not, and taken
 * off what the budget may spend.
 *
 * Instruction samples. Kernel records cannot be switched on while a context is sampled
 * (CUPTI_ERROR_NOT_COMPATIBLE), but they may be on before, and then stay. Hence three modes:
 *
 *     together   records first, then sampling, both for good: everything is exact. The way it begins, and what
 *                programs keep that launch so seldom that records cost next to nothing, or whose
 *                launches are hidden behind their device's work.
 *     records    records by blocks, no sampling
 *     samples    for some seconds of each minute: sampling, and no stacks. Switching it on and off takes
 *                0.15 to 0.4 s together, which is paid once a minute. The first time is shorter: a program that runs for ten
 *                seconds in all has its loop's launches captured in most of them.
 *
 * CUPTI before 12.8 has no together: records, and samples in turn; with --all-launches there are no
 * samples then.
 *
 * All processes of a machine sample at the same time: ranks of a job wait for each other, and so
 * for each that is switching; together they wait once.
 *
 * Only who is alone with the driver may switch sampling, and now and then nobody can be: then what
 * is on stays so for some seconds more (quiesce.c).
 *
 * Times come from records, insides from samples, and where the two are not of the same moment, a
 * profile says so (grade).
 */

/*
 * Cost of a launch in any case: its callbacks, and what CUPTI does in each for as long as it is there once records were on.
 * In a loop that only launches, and where launches are some among a program's other work, whose caches are cold then
 * (bench/results/h200-price.md: by samples of whose code launching threads are in, and by bench/gpu/residue.cu).
 */
#define CALLBACK_HOT_NS  450
#define CALLBACK_COLD_NS 900
#define LEFT_HOT_NS      500
#define LEFT_COLD_NS     1700
/* Time from a launch to the next up to which caches are hot, and from which on they are cold. */
#define HOT_NS  5000
#define COLD_NS 20000
/* The cost of a record, of which the device's part is 0.3 us: 0.8 to 1.2 us in a loop, 1.2 to 2.5 elsewhere. That of being
 * sampled: 0.4 us in a loop. */
#define RECORD_NS  1300
#define SAMPLED_NS 400
/* Launches that are behind sampling's being switched on take 0.1 to 0.3 s together. */
#define SAMPLES_BEGIN_NS UINT64_C(200000000)
/* Cost of a call's two callbacks, where it neither launches nor waits. A guess, from those of a launch. */
#define ASIDE_NS 500
/* CUPTI's record of a graph's node: 240 ns where replays are queued, 760 to 1,500 where each is waited for
 * (bench/results/h100-graph-cost.md): at most, and on average. */
#define NODE_MOST_NS 1000
#define NODE_NS      500
/* Cost of a node for good, since CUPTI has had its buffer functions: 10 to 25 ns where replays are queued, 200 to 450 where
 * each is waited for; 122 us a replay of 240 nodes, all parts together (bench/results/h200-price.md). */
#define NODE_QUEUED_NS 20
#define NODE_WAITED_NS 400
/* Cost of a call that waits: its two callbacks, and clocks. A guess. */
#define WAIT_NS 600
/* Before the launch rate is known. */
#define SETTLE_NS        (AIF_NS_PER_S / 4)
#define SAMPLES_FIRST_NS (3 * AIF_NS_PER_S)
#define SAMPLES_EACH_NS  (60 * AIF_NS_PER_S)
#define SAMPLES_FOR_NS   (4 * AIF_NS_PER_S)
#define FIRST_FOR_NS     (3 * AIF_NS_PER_S / 2)
/* Back to both when the rate was low, or launches cost nothing, for so long. */
#define TOGETHER_AGAIN_NS (10 * AIF_NS_PER_S)
#define LOOK_NS           2000000
/* Time between two looks whether the program works, and while it rests. */
#define WORKS_NS UINT64_C(5000000)
#define RESTS_NS UINT64_C(20000000)
#define RATE_NS  1e9
#define PACE_NS  UINT64_C(100000000)
#define NEVER    UINT64_MAX

static uint32_t counts(const struct aif_cuda_duty *b)
{
	return 1 + atomic_load(&b->counted_threads);
}

static uint64_t launches(const struct aif_cuda_duty *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < counts(b); i++)
		sum += atomic_load(&b->counts[i].captured) + atomic_load(&b->counts[i].left_out);
	return sum;
}

uint64_t aif_cuda_duty_launches(const struct aif_cuda *cuda)
{
	return launches(&cuda->duty);
}

static uint64_t captures(const struct aif_cuda_duty *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < counts(b); i++)
		sum += atomic_load(&b->counts[i].captured);
	return sum;
}

static double allowed(void)
{
	return (double)aif_agent.budget.asked_ppm / 1e6;
}

/* Reports a block. Without a ring nothing stands for the launches of an off-block: they are counted as lost. Those of
 * an on-block have their own records. */
static void report_block(const struct aif_emit_block *e)
{
	struct aif_thread *t;

	if (!e->launches || !aif_agent.budget.asked_ppm)
		return;
	t = aif_thread_enter();
	if (t) {
		aif_emit_block(t, e);
		aif_thread_leave(t);
	} else if (!e->on) {
		atomic_fetch_add(&aif_agent.session.no_slot, e->launches);
	}
}

/*
 * The block is over, or what comes of it now is not captured any more: what was launched in it. On-blocks count
 * what was captured and off-blocks what was not, whatever the clock says: around a switch a thread may do the
 * one in the other's time. Of what an on-block has left out the next off-block tells.
 */
static void count_ended(const struct aif_cuda_duty *b, struct aif_cuda_count *c, uint64_t now,
			bool next_on)
{
	uint64_t captured = atomic_load(&c->captured), left_out = atomic_load(&c->left_out),
		 more = captured - c->captured_before;
	struct aif_emit_block e = {.on = b->on,
				   .counted = true,
				   .start = b->since,
				   .end = now,
				   .launches = b->on ? more : left_out - c->left_out_before,
				   .block = b->block,
				   .duty_ppm = b->duty_ppm,
				   .tid = atomic_load(&c->tid)};

	c->captured_before = captured;
	if (!b->on)
		c->left_out_before = left_out;
	/* Between two on-blocks nothing was launched that was not captured. */
	if (!(e.on && next_on && b->duty_ppm == 1000000))
		report_block(&e);
}

static void block_ended(struct aif_cuda *cuda, uint64_t now, bool next_on)
{
	struct aif_cuda_duty *b = &cuda->duty;

	for (uint32_t i = 0; i < counts(b); i++)
		count_ended(b, &b->counts[i], now, next_on);
	atomic_fetch_add(&b->blocks, 1);
}

static uint64_t asides(struct aif_cuda *cuda)
{
	uint64_t calls = aif_cuda_quiesce_calls(cuda), n = launches(&cuda->duty);

	return calls > n ? calls - n : 0;
}

/* Returns for how long the program has worked in the block. */
static uint64_t worked(const struct aif_cuda_duty *b, uint64_t now)
{
	uint64_t ns = now - b->began;

	return ns > b->rested_ns ? ns - b->rested_ns : 1;
}

static uint64_t more(uint64_t is, uint64_t was)
{
	return is > was ? is - was : 0;
}

static void measure_rate(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	double ns = (double)worked(b, now), fade = RATE_NS / (RATE_NS + ns);

	b->lately_ns = b->lately_ns * fade + ns;
	b->lately_launches = b->lately_launches * fade + (double)more(launches(b), b->began_with);
	b->lately_waits =
		b->lately_waits * fade + (double)more(atomic_load(&b->waits), b->began_with_waits);
	b->lately_asides =
		b->lately_asides * fade + (double)more(asides(cuda), b->began_with_asides);
	b->lately_cpu_samples_ns = b->lately_cpu_samples_ns * fade +
				   (double)more(atomic_load(&aif_agent.session.cpu_samples_ns),
						b->began_with_cpu_samples_ns);
}

/* Begins a measurement: rates are of what comes from now on. */
static void count_from(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;

	b->began = now;
	b->began_with = launches(b);
	b->began_with_waits = atomic_load(&b->waits);
	b->began_with_asides = asides(cuda);
	b->began_with_cpu_samples_ns = atomic_load(&aif_agent.session.cpu_samples_ns);
	b->rested_ns = 0;
}

/* Returns how many launches the program makes in a second of work, lately. */
static double rate(const struct aif_cuda_duty *b)
{
	return b->lately_ns > 0 ? b->lately_launches / b->lately_ns * 1e9 : 0;
}

/*
 * Notes whether the program rests: what lasts longer than AIF_BUDGET_REST_NS is no time of its blocks. It works while a
 * thread launches, or is inside a call that launches, copies or waits for the device.
 */
static void look_for_rest(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	uint64_t waits = atomic_load(&b->waits), with = launches(b) + waits,
		 before = AIF_MAX(b->idle_ns, AIF_BUDGET_REST_NS), rested;

	if (with != b->looked_with || waits > atomic_load(&b->waited) ||
	    aif_cuda_quiesce_is_called(cuda)) {
		b->idle_ns = 0;
	} else {
		b->idle_ns += now - b->looked;
		rested = AIF_MAX(b->idle_ns, AIF_BUDGET_REST_NS) - before;
		b->rested_ns += rested;
		if (rested)
			aif_budget_rest(&aif_agent.budget, rested);
	}
	b->looked = now;
	b->looked_with = with;
}

static uint64_t next_look(const struct aif_cuda_duty *b)
{
	return b->looked + (b->idle_ns > AIF_BUDGET_REST_NS ? RESTS_NS : WORKS_NS);
}

/* Counts the nodes of graphs that a launch has, on average, from their records. These come up to a quarter of a second
 * late: both numbers fade alike. */
static void measure_nodes(struct aif_cuda_duty *b, uint64_t now, bool had_records)
{
	double ns = (double)worked(b, now), fade = RATE_NS / (RATE_NS + ns);
	uint64_t nodes = atomic_load(&b->nodes);

	b->nodes_lately = b->nodes_lately * fade + (double)(nodes - b->began_with_nodes);
	b->recorded_lately = b->recorded_lately * fade +
			     (had_records ? (double)(launches(b) - b->began_with) : 0);
	b->began_with_nodes = nodes;
}

static double nodes_of_launch(const struct aif_cuda_duty *b)
{
	return b->nodes_lately / AIF_MAX(b->recorded_lately, 1.0);
}

static bool needs_records(const struct aif_cuda *cuda)
{
	const struct aif_cuda_duty *b = &cuda->duty;

	if (cuda->use != AIF_CUPTI_USE_BLOCKS)
		return cuda->use < AIF_CUPTI_USE_LAUNCHES;
	return b->mode == AIF_CUDA_TOGETHER || (b->mode == AIF_CUDA_RECORDS && b->on);
}

/* Records are on before the first launch that is captured, and off after the last. */
static void apply(struct aif_cuda *cuda, bool on)
{
	struct aif_cuda_duty *b = &cuda->duty;

	if (b->on == on)
		return;
	b->on = on;
	if (on)
		aif_cuda_records_want(cuda, needs_records(cuda));
	atomic_store(&b->capture, on && b->mode != AIF_CUDA_SAMPLES);
	if (!on)
		aif_cuda_records_want(cuda, needs_records(cuda));
}

static bool is_throughout(const struct aif_cuda *cuda)
{
	return cuda->duty.mode == AIF_CUDA_TOGETHER || cuda->use == AIF_CUPTI_USE_THROUGHOUT ||
	       cuda->use == AIF_CUPTI_USE_RECORDS || cuda->sampling.is_stranded;
}

/* Returns what CUPTI costs each launch for being there, at the pace of lately. */
static double presence_ns(const struct aif_cuda *cuda)
{
	const struct aif_cuda_duty *b = &cuda->duty;
	double apart = b->lately_ns / AIF_MAX(b->lately_launches, 1.0),
	       cold = AIF_CLAMP((apart - HOT_NS) / (COLD_NS - HOT_NS), 0.0, 1.0),
	       ns = CALLBACK_HOT_NS + cold * (CALLBACK_COLD_NS - CALLBACK_HOT_NS), waited;

	if (cuda->records.were_on)
		ns += LEFT_HOT_NS + cold * (LEFT_COLD_NS - LEFT_HOT_NS);
	waited = AIF_MIN(b->lately_waits / AIF_MAX(b->lately_launches, 1.0), 1.0);
	return ns +
	       nodes_of_launch(b) * (NODE_QUEUED_NS + waited * (NODE_WAITED_NS - NODE_QUEUED_NS));
}

/* Returns the cost of each launch that is spent in any case: CUPTI's presence, and the records while they are on
 * throughout, but for those of its nodes. */
static double each_ns(const struct aif_cuda *cuda)
{
	return presence_ns(cuda) + (is_throughout(cuda) ? RECORD_NS : 0) +
	       (aif_cuda_is_sampling(cuda) ? SAMPLED_NS : 0);
}

void aif_cuda_duty_charge(struct aif_cuda *cuda)
{
	struct aif_cuda_duty *b = &cuda->duty;
	struct aif_session *s = &aif_agent.session;
	uint64_t n = launches(b), waits = atomic_load(&b->waits), nodes = atomic_load(&b->nodes),
		 calls = asides(cuda), captured = captures(b), recorded, sampled;

	recorded = (is_throughout(cuda) ? (n - b->spent_for) * RECORD_NS : 0) +
		   (nodes - b->spent_for_nodes) * NODE_NS;
	sampled = aif_cuda_is_sampling(cuda) ? (n - b->spent_for) * SAMPLED_NS : 0;
	atomic_fetch_add(&s->records_ns, recorded);
	atomic_fetch_add(&s->samples_ns, sampled);
	if (!is_throughout(cuda) && cuda->use < AIF_CUPTI_USE_LAUNCHES)
		atomic_fetch_add(&s->block_records_ns,
				 (captured - b->spent_for_captured) * RECORD_NS);
	atomic_fetch_add(&s->spent_ns, (uint64_t)((double)(n - b->spent_for) * presence_ns(cuda)) +
					       recorded + sampled +
					       (waits - b->spent_for_waits) * WAIT_NS +
					       more(calls, b->spent_for_asides) * ASIDE_NS);
	b->spent_for_nodes = nodes;
	b->spent_for = n;
	b->spent_for_captured = captured;
	b->spent_for_waits = waits;
	b->spent_for_asides = calls;
}

/* Accounts for what launches take longer once sampling is switched on. */
static void charge_samples_begin(void)
{
	atomic_fetch_add(&aif_agent.session.samples_ns, SAMPLES_BEGIN_NS);
	atomic_fetch_add(&aif_agent.session.spent_ns, SAMPLES_BEGIN_NS);
}

/* False: sampling cannot be switched now. */
static bool enter_mode(struct aif_cuda *cuda, enum aif_cuda_mode mode, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;

	if (b->mode == mode)
		return true;
	/* The time that it takes says nothing about launches. */
	b->interrupted = true;
	/* Records can be switched on only while nothing is sampled. */
	if (b->mode != AIF_CUDA_RECORDS && !aif_cuda_sampling_switch(cuda, false))
		return false;
	aif_cuda_duty_charge(cuda);
	b->mode = mode;
	b->mode_since = now;
	if (mode == AIF_CUDA_SAMPLES) {
		atomic_store(&b->capture, false);
		/* The rest of the block is off. */
		if (b->on)
			block_ended(cuda, now, false);
		b->on = false;
		b->since = now;
	}
	aif_cuda_records_want(cuda, needs_records(cuda));
	/* If not now, then at a tick. */
	if (mode != AIF_CUDA_RECORDS && aif_cuda_sampling_switch(cuda, true) &&
	    aif_cuda_is_sampling(cuda))
		charge_samples_begin();
	atomic_store(&b->capture, b->on && mode != AIF_CUDA_SAMPLES);
	return true;
}

bool aif_cuda_duty_records_only(struct aif_cuda *cuda, uint64_t now)
{
	return enter_mode(cuda, AIF_CUDA_RECORDS, now);
}

/* The same for all processes, in a half to one and a half of the time. */
static uint64_t next_samples(uint64_t now)
{
	uint64_t at = (now / SAMPLES_EACH_NS + 1) * SAMPLES_EACH_NS;

	return at - now < SAMPLES_EACH_NS / 2 ? at + SAMPLES_EACH_NS : at;
}

static uint64_t first_samples(uint64_t now)
{
	return (now + SAMPLES_FIRST_NS) / AIF_NS_PER_S * AIF_NS_PER_S + AIF_NS_PER_S;
}

/* Returns the slowdown by records and samples that are on throughout. */
static double throughout_share(const struct aif_cuda_duty *b)
{
	return rate(b) * (RECORD_NS + SAMPLED_NS + nodes_of_launch(b) * NODE_MOST_NS) / 1e9;
}

/* Do records and samples cost too much to be on throughout? Up to four fifths of what is allowed
 * they do not: to switch sampling costs more in the first minute, 3.3 % of a CuPy program of 8 s
 * against 2.1 % (--overhead 2; H100, 21,000 launches/s). */
static bool costs_too_much(const struct aif_cuda_duty *b)
{
	return throughout_share(b) > allowed() * 4 / 5;
}

static void choose_mode(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	bool trusted = aif_budget_trusts(&aif_agent.budget, now), apart = cuda->sampling.apart;

	if (!aif_cuda_quiesce_may_try(cuda, now))
		return;
	if (!aif_cuda_sampling_wanted(cuda)) {
		(void)enter_mode(cuda, AIF_CUDA_RECORDS, now);
	} else if (cuda->use != AIF_CUPTI_USE_BLOCKS) {
		return; /* nothing is switched */
	} else if (b->mode == AIF_CUDA_TOGETHER) {
		if (now - b->mode_since > SETTLE_NS && (apart || (costs_too_much(b) && !trusted)) &&
		    enter_mode(cuda, AIF_CUDA_RECORDS, now))
			b->samples_next = first_samples(now);
	} else if (!apart && b->mode == AIF_CUDA_RECORDS &&
		   now - b->mode_since > TOGETHER_AGAIN_NS &&
		   (trusted || throughout_share(b) < allowed() / 4)) {
		(void)enter_mode(cuda, AIF_CUDA_TOGETHER, now);
	} else if (b->mode == AIF_CUDA_RECORDS && now >= b->samples_next &&
		   enter_mode(cuda, AIF_CUDA_SAMPLES, now)) {
		b->samples_until = (b->has_sampled ? SAMPLES_FOR_NS : FIRST_FOR_NS) +
				   (now - b->samples_next < AIF_NS_PER_S ? b->samples_next : now);
		b->samples_next = next_samples(now);
		b->has_sampled = true;
	}
}

void aif_cuda_duty_begin(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	struct aif_budget *budget = &aif_agent.budget;
	/* After a pause what was dear still is. */
	bool costly = rate(b) > 0 && costs_too_much(b) && budget->asked_ppm &&
		      cuda->use == AIF_CUPTI_USE_BLOCKS,
	     beside = aif_cuda_sampling_wanted(cuda) && !cuda->sampling.apart && !costly;

	/* Calls and allocations ask for the block, too. */
	aif_budget_own(budget, true);
	aif_budget_resume(budget, now);
	b->on = b->interrupted = false;
	b->since = b->mode_since = b->settled_at = now;
	b->block = budget->block;
	b->duty_ppm = aif_budget_duty(budget, b->block);
	for (uint32_t i = 0; i < counts(b); i++) {
		struct aif_cuda_count *c = &b->counts[i];

		c->captured_before = atomic_load(&c->captured);
		c->left_out_before = atomic_load(&c->left_out);
	}
	count_from(cuda, now);
	b->spent_for = b->began_with;
	b->spent_for_captured = captures(b);
	b->began_with_nodes = b->spent_for_nodes = atomic_load(&b->nodes);
	b->spent_for_waits = b->began_with_waits;
	b->spent_for_asides = b->began_with_asides;
	b->looked = now;
	b->looked_with = b->idle_ns = 0;
	/* Sampling that could not be ended is still on, with or without records. */
	if (!aif_cuda_is_sampling(cuda))
		b->mode = AIF_CUDA_RECORDS;
	if (b->mode == AIF_CUDA_SAMPLES)
		(void)aif_cuda_duty_records_only(cuda, now);
	if (b->mode == AIF_CUDA_TOGETHER || (b->mode == AIF_CUDA_RECORDS && beside)) {
		b->mode = AIF_CUDA_TOGETHER;
		aif_cuda_records_want(cuda, needs_records(cuda));
		/* Contexts that are there. New ones are sampled as they come. */
		(void)aif_cuda_sampling_switch(cuda, true);
	}
	if (!b->samples_next)
		b->samples_next = first_samples(now);
	apply(cuda, aif_budget_is_on(b->block));
}

/* Returns how many launches were left out since then that are not reported yet. */
static uint64_t left_out(const struct aif_cuda_duty *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < counts(b); i++)
		sum += atomic_load(&b->counts[i].left_out) - b->counts[i].left_out_before;
	return sum;
}

void aif_cuda_duty_end(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	bool was_on = b->on;

	aif_budget_own(&aif_agent.budget, false);
	atomic_store(&b->capture, false);
	block_ended(cuda, now, false);
	apply(cuda, false);
	/* There is no next: a block of as many ns as launches. */
	if (was_on) {
		b->since = now;
		block_ended(cuda, now + left_out(b), false);
	}
	measure_rate(cuda, now);
	aif_cuda_duty_charge(cuda);
	/* If not now, then at a tick (cuda.c), or never. */
	(void)enter_mode(cuda, AIF_CUDA_RECORDS, now);
}

/* True if records were as the block wants them for at least seven eighths of it: on a busy host they are switched off
 * some milliseconds late. */
static bool were_records_settled(const struct aif_cuda *cuda, uint64_t now)
{
	const struct aif_cuda_duty *b = &cuda->duty;

	return b->settled_at && b->settled_at - b->began <= (now - b->began) / 8;
}

/* The block has ended. Its launches are counted before it is compared with its neighbour. */
static void next_block(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_duty *b = &cuda->duty;
	struct aif_budget *budget = &aif_agent.budget;
	bool was_on = aif_budget_is_on(b->block), on;
	double nodes, node_ns;

	measure_nodes(b, now, cuda->records.on);
	nodes = (double)(launches(b) - b->began_with) * nodes_of_launch(b);
	if (was_on && !is_throughout(cuda))
		aif_budget_add_cost(budget, b->block, (uint64_t)(nodes * NODE_MOST_NS));
	if (was_on && b->mode != AIF_CUDA_SAMPLES)
		choose_mode(cuda, now);
	else if (!was_on && b->mode == AIF_CUDA_SAMPLES && aif_cuda_quiesce_may_try(cuda, now))
		(void)enter_mode(cuda, AIF_CUDA_RECORDS, now);
	if (b->interrupted)
		now = aif_now_ns();
	aif_budget_add(budget, b->block, launches(b) - b->began_with);
	/* A block in which the program rested may still have some of that rest in its time. */
	if (b->interrupted || b->rested_ns || !were_records_settled(cuda, now))
		aif_budget_disturb(budget, b->block, b->interrupted);
	measure_rate(cuda, now);
	node_ns = is_throughout(cuda) ? nodes_of_launch(b) * NODE_NS : 0;
	aif_budget_spend(budget, (b->lately_launches * (each_ns(cuda) + node_ns) +
				  b->lately_waits * WAIT_NS + b->lately_asides * ASIDE_NS +
				  b->lately_cpu_samples_ns) /
					 b->lately_ns);
	/* Sampling has just begun: for as long as that lasts nothing is captured. */
	if (!was_on || b->mode != AIF_CUDA_SAMPLES ||
	    !aif_budget_hold(budget, now, b->samples_until))
		aif_budget_turn_at(budget, now);
	on = aif_budget_is_on(budget->block);
	if (!on)
		atomic_store(&b->capture, false);
	block_ended(cuda, now, on);
	apply(cuda, on);
	b->since = now;
	count_from(cuda, now);
	b->interrupted = false;
	b->settled_at = cuda->records.on == cuda->records.wanted ? now : 0;
	b->block = budget->block;
	b->duty_ppm = aif_budget_duty(budget, b->block);
}

uint64_t aif_cuda_duty_poll(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_budget *budget = &aif_agent.budget;
	uint64_t until;

	if (!cuda->on)
		return NEVER;
	/* Somebody else switches, and not for long. */
	if (pthread_mutex_trylock(&cuda->switching))
		return now + LOOK_NS;
	if (cuda->on)
		look_for_rest(cuda, now);
	if (cuda->on && budget->asked_ppm &&
	    (now >= atomic_load(&budget->until) || cuda->duty.interrupted)) {
		next_block(cuda, now);
	} else if (cuda->on && !budget->asked_ppm && now - cuda->duty.began >= PACE_NS) {
		/* There are no blocks to measure the pace in. */
		measure_rate(cuda, now);
		count_from(cuda, now);
	}
	until = AIF_MIN(atomic_load(&budget->until), next_look(&cuda->duty));
	if (!aif_cuda_records_settle(cuda, now))
		until = AIF_MIN(until, cuda->records.again_at);
	else if (!cuda->duty.settled_at)
		cuda->duty.settled_at = aif_now_ns();
	pthread_mutex_unlock(&cuda->switching);
	return until;
}

void aif_cuda_duty_at_exit(struct aif_cuda *cuda)
{
	cuda->exiting = true; /* the helper does not begin again */
	if (!aif_cuda_trylock_briefly(cuda))
		return;
	if (cuda->on) {
		cuda->on = false;
		aif_cuda_duty_end(cuda, aif_now_ns());
		/* Samples taken until now are read. */
		aif_cuda_sampling_tick(cuda);
		(void)aif_cuda_callbacks_switch(cuda, false);
		cuda->callbacks_on = false;
	}
	pthread_mutex_unlock(&cuda->switching);
}
