/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/quiesce.h"

#include "agent/cuda/cuda.h"
#include "agent/cuda/sampling.h"
#include "agent/helper.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Switching records or sampling alone with the driver
 * ===================================================
 *
 * Records. cuptiActivityDisable() beside a thread that is inside a copy's or a fill's call ends the
 * program: SIGSEGV in a thread of libcupti's or in a launch, some milliseconds later (CUPTI 13.0;
 * measured by bench/gpu/toggle.c: some 1 of 450 such calls in a CuPy program; none of 13,000 where
 * no call was under way). cuptiActivityEnable() may meet any call.
 *
 * Sampling. cuptiPCSamplingEnable and Disable hold a lock of CUPTI's while they wait for one of the
 * driver's. Launches, also of graphs, loading, and the unloading of what was launched hold the
 * driver's and wait for CUPTI's: at the first such meeting both wait for ever, and the program with
 * them (measured: bench/gpu/sampling.c). Code is loaded late, too, by the first call that asks for
 * more than a kernel's name: a decode was met inside cuKernelSetAttribute
 * (bench/results/h100-survive.md). Copies, memory, streams and waiting may go on; copies are held
 * all the same, since records may be on beside samples. CUPTI may load a library of its own
 * meanwhile: the thread that switches passes, any other is held for LOAD_NS at most.
 * Disable, moreover, waits until the device is idle, and
 * what runs there may be waiting for a launch that is yet to come: NCCL's kernels do, here for
 * another device's of this process, or for one of another process, whose gate may be closed, too.
 * So nobody disables before his own device is idle; nothing comes to it then that could wait for
 * others (streams that wait for values and host functions are held like launches); and who waits
 * for that in vain lets go. Of ranks that all close their gates at once the hindmost is idle, for
 * what it waits for was launched before.
 *
 * So such calls are counted from their first callback to their second, and who wants to switch
 *
 *     1. closes the gate: no such call begins any more, whoever is about to make one waits, and holds nothing yet;
 *     2. waits until none is under way, and to disable also until all contexts have done all that they were
 *        given (cuCtxRecordEvent; without it, a driver before CUDA 12.5, nobody may have launched for a second);
 *     3. opens the gate again if that takes too long, and tries at another time;
 *     4. else switches, and opens the gate.
 *
 * While a stream is captured sampling is not switched: it would end the capture. So no capture
 * begins meanwhile.
 *
 * Calls and captures that were begun before callbacks came are not counted. So at first it takes
 * some seconds, longer than they last, and an idle device: who is inside the driver for longer
 * waits for the device or has its lock, which cuCtxRecordEvent takes.
 *
 * A thread counts itself in one of some counters, so that threads do not fight for one. It
 * remembers in which epoch: a call whose second callback never came (callbacks were off by then) is
 * forgotten when the thread makes the next, or when callbacks come back.
 */

/* The longest that a thread waits for one try, at the gate or because it switches itself. */
#define GATE_NS (AIF_NS_PER_S / 4)
/* The longest that a call that loads code waits at the gate: longer than sampling takes to be switched. */
#define LOAD_NS AIF_NS_PER_S
/* While none does: a thread that is alone may be inside a call that waits for the device, which others use, too. */
#define FREE_NS  AIF_NS_PER_S
#define QUIET_NS AIF_NS_PER_S
/* Switching records: how long the gate is shut at most, and once a thread waits at it. A call that
 * takes longer is waited for with the gate open. */
#define BRIEF_NS (5 * UINT64_C(1000000))
#define HELD_NS  UINT64_C(200000)
/* A thread that waits, or that waits for calls to end, looks so often before it sleeps: some 10
 * us. */
#define LOOKS 200
/* After a try in vain, doubled each time. */
#define AGAIN_NS      AIF_NS_PER_S
#define AGAIN_MAX_NS  (32 * AIF_NS_PER_S)
#define SETTLE_NS     (3 * AIF_NS_PER_S)
#define STEP_NS       20000
#define NOT_READY     600 /* CUDA_ERROR_NOT_READY */
#define EVENT_NO_TIME 2   /* CU_EVENT_DISABLE_TIMING */

/* The epoch in which this thread is counted; 0 = it is not. */
static __thread uint32_t counted __attribute__((tls_model("initial-exec")));
static __thread bool counted_loads __attribute__((tls_model("initial-exec")));

#define UNDER_WAY UINT64_C(0xffffffff)
#define BEGUN     (UINT64_C(1) << 32)

static _Atomic uint64_t *shard(struct aif_cuda *cuda, bool loads)
{
	uint64_t hash = ((uint64_t)(uintptr_t)&counted >> 6) * UINT64_C(0x9e3779b97f4a7c15);

	return &cuda->quiesce.calls[hash >> (64 - AIF_CUDA_SHARDS_BITS)].n[loads];
}

/* nanosleep() is a point at which threads are cancelled: the gate would stay shut. */
void aif_cuda_sleep(long ns)
{
	const struct timespec step = {.tv_nsec = ns};

	(void)syscall(SYS_nanosleep, &step, NULL);
}

static void sleep_a_little(void)
{
	aif_cuda_sleep(STEP_NS);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* ---- who calls ---- */

void aif_cuda_quiesce_leave(struct aif_cuda *cuda)
{
	if (counted && counted == atomic_load_explicit(&cuda->quiesce.epoch, memory_order_relaxed))
		atomic_fetch_sub(shard(cuda, counted_loads), 1);
	counted = 0;
}

/* False: the call is not to wait any longer. */
static AIF_NOINLINE bool wait_at_gate(struct aif_cuda *cuda, bool loads)
{
	const uint64_t until = loads ? aif_now_ns() + LOAD_NS : UINT64_MAX;
	int saved = errno;
	bool waits = true;

	atomic_fetch_add(&cuda->quiesce.held, 1);
	for (int i = 0; waits && atomic_load(&cuda->quiesce.owner); i++) {
		if (i < LOOKS) {
			relax();
			continue;
		}
		sleep_a_little();
		waits = !loads || aif_now_ns() < until;
	}
	atomic_fetch_sub(&cuda->quiesce.held, 1);
	errno = saved;
	return waits;
}

void aif_cuda_quiesce_enter(struct aif_cuda *cuda, bool loads)
{
	struct aif_cuda_quiesce *g = &cuda->quiesce;
	const uint64_t self = (uint64_t)pthread_self();
	bool waits = true;

	if (aif_unlikely(counted))
		aif_cuda_quiesce_leave(cuda);
	for (;;) {
		uint64_t who;

		counted = atomic_load_explicit(&g->epoch, memory_order_relaxed);
		if (aif_unlikely(!counted))
			return;
		counted_loads = loads;
		atomic_fetch_add(shard(cuda, loads), BEGUN + 1);
		/* After it was counted: else who switches would miss it, and it the gate. */
		who = atomic_load(&g->owner);
		if (aif_likely(!who) || who == self || /* self: by CUPTI, while it switches */
		    !waits)
			return;
		aif_cuda_quiesce_leave(cuda);
		waits = wait_at_gate(cuda, loads);
	}
}

/* ---- who switches ---- */

void aif_cuda_quiesce_begin(struct aif_cuda *cuda)
{
	struct aif_cuda_quiesce *g = &cuda->quiesce;

	atomic_store(&g->epoch, AIF_MAX(atomic_load(&g->epoch) + 1, 1u));
	for (unsigned i = 0; i < AIF_CUDA_SHARDS; i++)
		for (unsigned loads = 0; loads < 2; loads++)
			atomic_store(&g->calls[i].n[loads], 0);
	g->again_at = aif_now_ns() + SETTLE_NS;
	g->again_ns = SETTLE_NS / 2;
	g->is_settled = false;
}

void aif_cuda_quiesce_settle(struct aif_cuda *cuda)
{
	cuda->quiesce.is_settled = true;
	cuda->quiesce.again_ns = 0;
}

static bool calls_are_under_way(struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < AIF_CUDA_SHARDS; i++)
		for (unsigned loads = 0; loads < 2; loads++)
			if (atomic_load(&cuda->quiesce.calls[i].n[loads]) & UNDER_WAY)
				return true;
	return false;
}

bool aif_cuda_quiesce_is_loading(struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < AIF_CUDA_SHARDS; i++)
		if (atomic_load(&cuda->quiesce.calls[i].n[1]) & UNDER_WAY)
			return true;
	return false;
}

bool aif_cuda_quiesce_is_called(struct aif_cuda *cuda)
{
	return calls_are_under_way(cuda);
}

uint64_t aif_cuda_quiesce_calls(struct aif_cuda *cuda)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < AIF_CUDA_SHARDS; i++)
		for (unsigned loads = 0; loads < 2; loads++)
			n += atomic_load(&cuda->quiesce.calls[i].n[loads]) / BEGUN;
	return n;
}

/* Sums the calls begun, modulo 2^32 in each counter: all of them coming round to the same values is not to be
 * feared. */
static uint64_t begun(struct aif_cuda *cuda)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < AIF_CUDA_SHARDS; i++)
		n += atomic_load(&cuda->quiesce.calls[i].n[0]) / BEGUN;
	return n;
}

void aif_cuda_quiesce_tick(struct aif_cuda *cuda, uint64_t now)
{
	uint64_t n = begun(cuda);

	if (n == cuda->quiesce.seen && cuda->quiesce.quiet_since)
		return;
	cuda->quiesce.seen = n;
	cuda->quiesce.quiet_since = now;
}

/* Records what the context is doing now, as an event. False: the driver refuses. */
static bool record(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	void *current;

	if (!c->event) {
		if (cuda->api.cuCtxPushCurrent_v2(c->context))
			return false;
		if (cuda->api.cuEventCreate(&c->event, EVENT_NO_TIME))
			c->event = NULL;
		cuda->api.cuCtxPopCurrent_v2(&current);
	}
	return c->event && !cuda->api.cuCtxRecordEvent(c->context, c->event);
}

/* A thread whose call began before callbacks came may be in a context that no callback has reported yet. */
static bool knows_a_context(const struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++)
		if (aif_cuda_is_usable(&cuda->sampling.contexts[i]))
			return true;
	return false;
}

static bool becomes_idle(struct aif_cuda *cuda, uint64_t until)
{
	struct aif_cuda_sampled *first = cuda->sampling.contexts, *c;
	int r;

	if (!cuda->quiesce.is_settled && !knows_a_context(cuda))
		return false;
	if (!cuda->api.can_record)
		return begun(cuda) == cuda->quiesce.seen && cuda->quiesce.quiet_since &&
		       aif_now_ns() - cuda->quiesce.quiet_since > QUIET_NS;
	for (c = first; c < first + AIF_CUDA_CONTEXTS; c++)
		if (aif_cuda_is_usable(c) && !record(cuda, c))
			return false;
	for (c = first; c < first + AIF_CUDA_CONTEXTS; c++) {
		while (aif_cuda_is_usable(c) && (r = cuda->api.cuEventQuery(c->event))) {
			if (r != NOT_READY || aif_now_ns() > until)
				return false;
			sleep_a_little();
		}
	}
	return true;
}

bool aif_cuda_quiesce_is_idle(struct aif_cuda *cuda, uint64_t within_ns)
{
	return cuda->api.can_record && becomes_idle(cuda, aif_now_ns() + within_ns);
}

static bool is_alone(struct aif_cuda *cuda, bool idle)
{
	uint64_t begin = aif_now_ns(), soon = begin + GATE_NS,
		 until = aif_helper_is_here() ? begin + FREE_NS : soon;

	while (calls_are_under_way(cuda)) {
		uint64_t now = aif_now_ns();

		if (cuda->exiting)
			until = AIF_MIN(until, soon);
		else if (atomic_load(&cuda->quiesce.held)) /* from now on, at the latest */
			until = AIF_MIN(until, now + GATE_NS);
		if (now > until)
			return false;
		sleep_a_little();
	}
	/* Threads that come while the device becomes idle are held, too. */
	if (aif_helper_is_here()) {
		soon = aif_now_ns() + GATE_NS;
		until = atomic_load(&cuda->quiesce.held) ? AIF_MIN(until, soon) : soon;
	}
	return !atomic_load(&cuda->captures) && (!idle || becomes_idle(cuda, until));
}

static void shut(struct aif_cuda *cuda)
{
	struct aif_cuda_quiesce *g = &cuda->quiesce;
	const bool was_counted = counted; /* within cuCtxDestroy, for instance */

	atomic_store(&g->owner, (uint64_t)pthread_self());
	aif_cuda_quiesce_leave(cuda);
	g->counts_self = was_counted;
}

bool aif_cuda_quiesce_shut(struct aif_cuda *cuda, bool idle)
{
	struct aif_cuda_quiesce *g = &cuda->quiesce;
	uint64_t now;

	/* Without callbacks nobody is counted, or waits. */
	if (!cuda->callbacks_on || (!g->is_settled && aif_now_ns() < g->again_at))
		return false;
	shut(cuda);
	if (is_alone(cuda, idle || !g->is_settled)) {
		aif_cuda_quiesce_settle(cuda);
		return true;
	}
	aif_cuda_quiesce_open(cuda);
	now = aif_now_ns();
	g->again_ns = AIF_MIN(AIF_MAX(2 * g->again_ns, AGAIN_NS), AGAIN_MAX_NS);
	g->again_at = now + g->again_ns;
	return false;
}

/* False: a call lasts, and somebody waits for its end. */
static bool is_alone_soon(struct aif_cuda *cuda)
{
	uint64_t now = aif_now_ns(), until = now + BRIEF_NS;
	bool held = false;

	for (int i = 0; calls_are_under_way(cuda); i++) {
		if (i < LOOKS) {
			relax();
			continue;
		}
		sleep_a_little();
		now = aif_now_ns();
		if (!held && atomic_load(&cuda->quiesce.held)) {
			held = true;
			until = AIF_MIN(until, now + HELD_NS);
		}
		if (now > until)
			return false;
	}
	return true;
}

bool aif_cuda_quiesce_shut_briefly(struct aif_cuda *cuda)
{
	if (!cuda->callbacks_on)
		return false;
	/* Calls that were begun before callbacks came are not counted. */
	if (!cuda->quiesce.is_settled) {
		if (!cuda->api.can_record || !aif_cuda_quiesce_shut(cuda, true))
			return false;
		aif_cuda_quiesce_open(cuda);
	}
	shut(cuda);
	if (is_alone_soon(cuda))
		return true;
	aif_cuda_quiesce_open(cuda);
	return false;
}

void aif_cuda_quiesce_open(struct aif_cuda *cuda)
{
	if (cuda->quiesce.counts_self)
		aif_cuda_quiesce_enter(cuda, counted_loads);
	atomic_store(&cuda->quiesce.owner, 0);
}

bool aif_cuda_quiesce_may_try(const struct aif_cuda *cuda, uint64_t now)
{
	return !cuda->quiesce.again_ns || now >= cuda->quiesce.again_at;
}
