/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks and modes of the CUDA adapter against a CUPTI that is strict, on a clock of our own. One file of tests at a
 * time. */
#pragma once

#include "agent/cuda/cuda.h"

#include "agent/cuda/activity.h"
#include "agent/cuda/duty.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "agent/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

static struct {
	struct aif_cuda cuda;
	struct aif_thread thread;
	uint64_t now;
	bool no_ring;
	bool is_shut;
	bool records, sampled, refuse_sampling, refuse_records;
	bool refuse_beside; /* samples, where there are records */
	bool in_call;       /* a call lasts */
	bool works;         /* the device, always */
	unsigned idle_asked, flushed;
	bool makes_code;  /* nothing may be flushed */
	uint64_t asides;  /* other calls that are watched */
	bool busy, waits; /* somebody is always inside the driver; it was tried in vain lately */
	uint64_t captured, left_out;           /* what was launched */
	uint64_t told_captured, told_left_out; /* what the blocks say */
	uint64_t last_end, last_left_out;
	uint64_t sampled_ns, records_ns;
	unsigned refused, switched, tried;
	unsigned nodes,
		node_ns; /* of a launch, which is a replay: how many, and what the record of one costs */
	uint64_t nodes_ns;
} it;

/* Time goes on when somebody sleeps, and in the script. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	(void)id;
	*ret = (struct timespec){.tv_sec = (time_t)(it.now / AIF_NS_PER_S),
				 .tv_nsec = (long)(it.now % AIF_NS_PER_S)};
	return 0;
}

int nanosleep(const struct timespec *t, struct timespec *rest)
{
	(void)rest;
	it.now += (uint64_t)t->tv_nsec;
	return 0;
}

struct aif_thread *aif_thread_enter_slow(void)
{
	return it.no_ring ? NULL : &it.thread;
}

bool aif_emit_block(struct aif_thread *t, const struct aif_emit_block *b)
{
	(void)t;
	assert_true(b->counted);
	assert_true(b->end > b->start && b->start >= it.last_end);
	assert_true(b->launches > 0 && b->launches <= b->end - b->start);
	/* An on-block ends where something else begins. */
	assert_true(!b->on || it.last_left_out <= b->start);
	it.last_end = b->end;
	*(b->on ? &it.told_captured : &it.told_left_out) += b->launches;
	return true;
}

void aif_cuda_report_error(enum aif_reason reason, const char *what, int error)
{
	assert_int_equal(reason, AIF_REASON_CUDA_REFUSED);
	assert_non_null(what);
	assert_int_not_equal(error, 0);
	it.refused++;
}

int aif_cuda_callbacks_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	assert_false(on);
	return 0;
}

int aif_cuda_activity_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	if (on && (it.sampled || it.refuse_records))
		return AIF_CUPTI_NOT_COMPATIBLE;
	/* Off only with nobody in a call, and nothing sampled. */
	assert_true(on || (it.is_shut && !it.sampled));
	it.records = on;
	return 0;
}

bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda)
{
	(void)cuda;
	return !it.refuse_sampling;
}

bool aif_cuda_is_sampling(const struct aif_cuda *cuda)
{
	(void)cuda;
	return it.sampled;
}

bool aif_cuda_sampling_switch(struct aif_cuda *cuda, bool on)
{
	(void)cuda;
	if (it.busy) {
		it.now += AIF_NS_PER_S / 4;
		it.tried++;
		return false;
	}
	it.switched += it.sampled != on;
	it.now += 40000000;
	it.sampled = on && !it.refuse_sampling && !(it.refuse_beside && it.records);
	return true;
}

void aif_cuda_sampling_tick(struct aif_cuda *cuda)
{
	(void)cuda;
}

bool aif_cuda_quiesce_shut_briefly(struct aif_cuda *cuda)
{
	(void)cuda;
	it.is_shut = !it.in_call;
	return it.is_shut;
}

/* Launches are all that is called. */
uint64_t aif_cuda_quiesce_calls(struct aif_cuda *cuda)
{
	return atomic_load(&cuda->duty.counts[0].captured) +
	       atomic_load(&cuda->duty.counts[0].left_out) + it.asides;
}

bool aif_cuda_quiesce_is_called(struct aif_cuda *cuda)
{
	(void)cuda;
	return it.in_call;
}

bool aif_cuda_quiesce_is_idle(struct aif_cuda *cuda, uint64_t within_ns)
{
	(void)cuda;
	assert_true(it.is_shut && within_ns <= 10000000);
	it.idle_asked++;
	it.now += it.works ? within_ns : 0;
	return !it.works;
}

bool aif_cuda_activity_may_flush(struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return !it.makes_code;
}

void aif_cuda_activity_flush(struct aif_cuda *cuda, bool last)
{
	(void)cuda;
	assert_false(last);
	it.flushed++;
}

static int cupti_now(uint64_t *ret)
{
	*ret = it.now + 777;
	return 0;
}

void aif_cuda_quiesce_open(struct aif_cuda *cuda)
{
	(void)cuda;
	it.is_shut = false;
}

void aif_cuda_sleep(long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

bool aif_cuda_quiesce_may_try(const struct aif_cuda *cuda, uint64_t now)
{
	(void)cuda, (void)now;
	return !it.waits;
}

/* Counts a launch as agent/cuda/launch.c does. */
static void launch(uint64_t ns)
{
	struct aif_cuda_duty *b = &it.cuda.duty;

	if (atomic_load(&b->capture)) {
		assert_true(it.records);
		it.captured++;
		atomic_fetch_add(&b->counts[0].captured, 1);
		it.now += 2000;
	} else {
		it.left_out++;
		it.last_left_out = it.now;
		atomic_fetch_add(&b->counts[0].left_out, 1);
	}
	if (it.nodes)
		atomic_store(&it.cuda.has_replays, true);
	if (it.records) {
		atomic_fetch_add(&b->nodes, it.nodes);
		it.nodes_ns += (uint64_t)it.nodes * it.node_ns;
		it.now += (uint64_t)it.nodes * it.node_ns;
	}
	it.sampled_ns += it.sampled ? ns : 0;
	it.records_ns += it.records ? ns : 0;
	it.now += ns;
}

static void start(uint32_t asked_ppm)
{
	it.cuda.on = true;
	aif_budget_init(&aif_agent.budget, asked_ppm, 5000, 7, it.now);
	aif_cuda_duty_begin(&it.cuda, it.now);
}

/* Launches for so long, one each `ns`; the helper comes when it said, and a little late. */
static void run_for(double seconds, uint64_t ns)
{
	uint64_t end = it.now + (uint64_t)(seconds * 1e9), next = it.now;

	while (it.now < end) {
		launch(ns);
		if (it.now > next + 70000)
			next = AIF_MIN(aif_cuda_duty_poll(&it.cuda, it.now),
				       it.now + AIF_NS_PER_S / 4);
	}
}

/* The program calls nothing for so long. */
static inline void rest_for(double seconds)
{
	uint64_t end = it.now + (uint64_t)(seconds * 1e9);

	while (it.now < end)
		it.now =
			AIF_MIN(AIF_MAX(aif_cuda_duty_poll(&it.cuda, it.now), it.now + 70000), end);
}

static void stop(void)
{
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	assert_false(it.records || it.sampled);
	assert_false(atomic_load(&it.cuda.duty.capture));
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	it.cuda.use = AIF_CUPTI_USE_BLOCKS;
	it.cuda.api.cuptiGetTimestamp = cupti_now;
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.now = UINT64_C(1000000000000);
	pthread_mutex_init(&it.cuda.switching, NULL);
	aif_self = NULL;
	return 0;
}
