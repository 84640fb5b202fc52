/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/sampling.h"

#include "agent/cuda/claim.h"
#include "agent/cuda/cuda.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/lock.h"
#include "agent/cuda/nameless.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/samples.h"
#include "agent/cuda/sampling_setup.h"
#include "agent/emit.h"
#include "agent/objects.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Instruction samples: each SM tells, each 2^period cycles, where one of its warps is and why it does not
 * go on. CUPTI adds them up by instruction and reason; the helper takes the sums away. There are no times and no
 * launches in them: their window is all that is known (analysis/attribution/windows.c does the rest).
 *
 * What is known of CUPTI's manners (measured; CUDA 13.0, H100): enabling takes 150 ms once and 1 ms afterwards, the
 * next launches 0.1 to 0.3 s; disabling 40 to 90 ms. Code that was loaded before is sampled as well. A second process on the
 * GPU is let in and then gets CUPTI_ERROR_UNKNOWN for data, the first is undisturbed. The second must not switch anything off
 * any more (claim.c): what it has on stays on.
 *
 * CUPTI's own hash of a cubin reads some 30 bytes of it, and kernels that differ in a constant get the same;
 * so CUPTI is given ours (cuptiRegisterComputeCrcCallback), which comes back with each sample.
 */

#define OUT_OF_REACH \
	"CUPTI before 12.8 samples only without kernel records; leave out --all-launches"
#define NOT_IN_TURNS \
	"CUPTI before 12.8 samples only in turns with kernel records, as --cupti blocks does"
/* A second process on the GPU meets only errors. */
#define ERRORS_MAX 3

static void on_hash(const void *cubin, size_t size, uint64_t *hash)
{
	*hash = aif_hash_bytes(cubin, size);
}

/* Records are to be on throughout, and samples cannot be taken then. */
static bool is_out_of_reach(const struct aif_cuda *cuda)
{
	return cuda->sampling.apart &&
	       (!aif_agent.budget.asked_ppm || cuda->use != AIF_CUPTI_USE_BLOCKS);
}

bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda)
{
	const struct aif_cuda_sampling *s = &cuda->sampling;
	bool refused = false;

	if (!s->pc_size || s->is_stranded || !aif_agent.session.device_rate ||
	    cuda->use >= AIF_CUPTI_USE_RECORDS || is_out_of_reach(cuda))
		return false;
	for (const struct aif_cuda_sampled *c = s->contexts; c < s->contexts + AIF_CUDA_CONTEXTS;
	     c++) {
		if (aif_cuda_is_usable(c) && !c->refused)
			return true;
		refused |= aif_cuda_is_usable(c);
	}
	return !refused; /* one may come */
}

/* Forgets in a new session what an earlier one was refused, or had set. True: the session is new. */
static bool begin_session(struct aif_cuda_sampling *s)
{
	if (s->session == aif_agent.session.generation)
		return false;
	s->session = aif_agent.session.generation;
	for (struct aif_cuda_sampled *c = s->contexts; c < s->contexts + AIF_CUDA_CONTEXTS; c++) {
		c->refused = false;
		c->period = 0;
	}
	return true;
}

/* May this process, at all? */
static bool can_sample(struct aif_cuda *cuda)
{
	int r;

	if (!cuda->api.can_sample) {
		aif_cuda_report_error(AIF_REASON_CUDA_NO_SAMPLING, "this libcupti", 0);
		return false;
	}
	if (!aif_cuda_sampling_allowed()) {
		aif_cuda_report_error(AIF_REASON_CUDA_COUNTERS, "", 0);
		return false;
	}
	if (!aif_cuda_nameless_guard()) {
		aif_cuda_report_error(AIF_REASON_CUDA_NO_SAMPLING,
				      "its strdup() cannot be replaced", 0);
		return false;
	}
	r = cuda->api.cuptiRegisterComputeCrcCallback(on_hash);
	if (r) {
		aif_cuda_report_error(AIF_REASON_CUDA_NO_SAMPLING, "hashes of code", r);
		return false;
	}
	return true;
}

void aif_cuda_sampling_init(struct aif_cuda *cuda)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	bool is_new = begin_session(s);

	if (!s->pc_size && can_sample(cuda)) {
		s->pc_size = AIF_CUPTI_PC_SIZE(cuda->version);
		s->apart = cuda->version < AIF_CUPTI_VERSION_12_8;
	}
	if (s->is_stranded && is_new)
		aif_cuda_report_error(AIF_REASON_CUDA_COUNTERS_HELD, "since an earlier recording",
				      0);
	if (s->pc_size && is_new && is_out_of_reach(cuda))
		aif_cuda_report_error(AIF_REASON_CUDA_NO_SAMPLING,
				      aif_agent.budget.asked_ppm ? NOT_IN_TURNS : OUT_OF_REACH, 0);
}

/* ---- a context ---- */

static enum aif_reason reason_of(int error)
{
	switch (error) {
	case AIF_CUPTI_INSUFFICIENT_PRIVILEGES:
	case AIF_CUPTI_VIRTUAL_PRIVILEGES:
		return AIF_REASON_CUDA_COUNTERS;
	case AIF_CUPTI_HARDWARE_BUSY:
	case AIF_CUPTI_UNKNOWN:
		return AIF_REASON_CUDA_COUNTERS_HELD;
	default:
		return AIF_REASON_CUDA_NO_SAMPLING;
	}
}

static void give_up(struct aif_thread *t, struct aif_cuda_sampled *c, int error)
{
	char what[32];

	snprintf(what, sizeof(what), "device %u", c->device);
	if (t)
		aif_cuda_report_error_in(t, reason_of(error), what, error);
	else
		aif_cuda_report_error(reason_of(error), what, error);
	c->refused = true;
	c->restart = c->on;
}

/* Another process has the unit, and CUPTI has let this one in: leaves all as it is (claim.c). */
static void strand(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	give_up(t, c, c->error);
	cuda->sampling.is_stranded = true;
	c->on = c->restart = false;
	c->failed = 0;
}

/* One context of a device can be sampled: the one that is, else the first. */
static bool is_first(const struct aif_cuda_sampling *s, const struct aif_cuda_sampled *c)
{
	for (const struct aif_cuda_sampled *o = s->contexts; o < s->contexts + AIF_CUDA_CONTEXTS;
	     o++)
		if (o != c && aif_cuda_is_usable(o) && o->device == c->device &&
		    (o->on || (o < c && !o->refused)))
			return false;
	return true;
}

static bool is_to_begin(const struct aif_cuda *cuda, const struct aif_cuda_sampled *c)
{
	const struct aif_cuda_sampling *s = &cuda->sampling;

	if (s->apart && cuda->duty.mode == AIF_CUDA_TOGETHER)
		return false;
	return s->pc_size && aif_cuda_is_usable(c) && !c->refused && (c->restart || !c->on) &&
	       is_first(s, c);
}

/* Is it refused for the records' sake? 12.8's first release has the number of its second, which can do both. */
static bool is_beside_records(const struct aif_cuda *cuda, int error)
{
	return (error == AIF_CUPTI_NOT_COMPATIBLE || error == AIF_CUPTI_INVALID_OPERATION) &&
	       cuda->duty.mode == AIF_CUDA_TOGETHER && aif_agent.budget.asked_ppm;
}

static void begin(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cupti_context_params p = {.size = sizeof(p), .context = c->context};
	int r;

	if (c->on || !is_to_begin(cuda, c))
		return;
	/* Later, when they are off. */
	if (cuda->sampling.apart && cuda->records.on)
		return;
	if (!aif_cuda_claim(cuda, c)) {
		give_up(NULL, c, AIF_CUPTI_HARDWARE_BUSY);
		return;
	}
	r = aif_cuda_sampling_prepare(cuda, c);
	if (!r)
		r = cuda->api.cuptiPCSamplingEnable(&p);
	if (!r) {
		c->on = true;
		r = aif_cuda_learn_reasons(cuda, c);
	}
	if (!r)
		r = aif_cuda_sampling_configure(cuda, c);
	if (is_beside_records(cuda, r)) {
		cuda->sampling.apart = true; /* what was not known of its version */
		if (!c->on)
			aif_cuda_unclaim(c);
		return;
	}
	if (r && c->on && reason_of(r) == AIF_REASON_CUDA_COUNTERS_HELD) {
		c->error = r;
		strand(cuda, c, NULL);
		return;
	}
	if (r) {
		give_up(NULL, c, r);
		if (!c->on)
			aif_cuda_unclaim(c);
		return;
	}
	/* The last samples are read at exit before CUPTI's objects for sampling are destroyed. */
	if (!cuda->sampling.leaves_first)
		aif_agent_leave_first();
	cuda->sampling.leaves_first = true;
	c->since = aif_now_ns();
	c->errors = 0;
	c->error = c->failed = 0;
}

/* The most memory of devices that sampling had at a time in this session. */
static void report_memory(const struct aif_cuda_sampling *s)
{
	uint64_t bytes = 0;

	for (const struct aif_cuda_sampled *c = s->contexts; c < s->contexts + AIF_CUDA_CONTEXTS;
	     c++)
		bytes += c->on ? c->device_bytes : 0;
	if (bytes > atomic_load(&aif_agent.session.device_bytes))
		atomic_store(&aif_agent.session.device_bytes, bytes);
}

/* ---- what it saw ---- */

/* Writes samples, or counts them where there is no ring: CUPTI does not give them again. */
static void report(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t,
		   const struct aif_cupti_samples *b, uint64_t until)
{
	if (t)
		aif_cuda_report_samples(t, cuda, c, b, until);
	else
		atomic_fetch_add(&cuda->unsampled, b->total);
}

/* Returns the time until which CUPTI has all samples by now; a window has some length. */
static uint64_t seen_until(const struct aif_cuda_sampled *c)
{
	uint64_t now = aif_now_ns();

	return now - AIF_MIN(AIF_CUDA_WORKER_MS * UINT64_C(1000000), (now - c->since) / 2);
}

static void drain(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	struct aif_cupti_samples_params p = {
		.size = sizeof(p), .context = c->context, .samples = c->out};
	int r;

	do {
		c->out->len = 0;
		c->out->total = 0;
		r = cuda->api.cuptiPCSamplingGetData(&p);
		if (r)
			break;
		c->errors = 0;
		if (c->out->total)
			report(cuda, c, t, c->out, seen_until(c));
	} while (c->out->remaining && c->out->len);
	if (r && (++c->errors >= ERRORS_MAX || r == AIF_CUPTI_OUT_OF_MEMORY))
		c->failed = r;
	c->error = r;
}

static void end(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	struct aif_cupti_context_params p = {.size = sizeof(p), .context = c->context};

	if (!c->on)
		return;
	if (cuda->sampling.is_stranded) {
		c->on = c->restart = false;
		return;
	}
	if (!c->restart) {
		drain(cuda, c, t);
		if (c->error && c->error != AIF_CUPTI_OUT_OF_MEMORY) {
			strand(cuda, c, t);
			return;
		}
	}
	c->on = false;
	c->config->len = 0;
	c->config->total = 0;
	cuda->api.cuptiPCSamplingDisable(&p);
	aif_cuda_unclaim(c);
	/* Disabling hands out the samples that were under way. */
	if (c->config->total && c->config->len)
		report(cuda, c, t, c->config, aif_now_ns());
}

/* After CUPTI's buffer was full nothing comes any more: less often, from the beginning. */
static void recover(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	int error = c->failed;

	if (!error)
		return;
	if (error != AIF_CUPTI_OUT_OF_MEMORY) {
		strand(cuda, c, t);
		return;
	}
	c->failed = 0;
	if (c->period + 2 > AIF_CUDA_PERIOD_MAX) {
		give_up(t, c, error);
		return;
	}
	aif_emit_note(t, AIF_REASON_CUDA_BUFFER_FULL, 1, "");
	c->period += 2;
	c->restart = true;
}

bool aif_cuda_is_sampling(const struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++)
		if (cuda->sampling.contexts[i].on)
			return true;
	return false;
}

/* Under `switching`: the place is for another context. */
static void forget(struct aif_cuda_sampled *c)
{
	c->on = c->restart = false;
	c->event = NULL; /* went with it */
	aif_cuda_unclaim(c);
	c->period = 0;
	c->defined_gen = 0;
	memset(c->reasons, 0, sizeof(c->reasons));
	atomic_store(&c->destroyed, false);
	atomic_store(&c->context, NULL);
}

static void forget_destroyed(struct aif_cuda *cuda)
{
	struct aif_cuda_sampled *first = cuda->sampling.contexts;

	for (struct aif_cuda_sampled *c = first; c < first + AIF_CUDA_CONTEXTS; c++)
		if (atomic_load(&c->destroyed))
			forget(c);
}

void aif_cuda_sampling_forget(struct aif_cuda *cuda)
{
	for (struct aif_cuda_sampled *c = cuda->sampling.contexts;
	     c < cuda->sampling.contexts + AIF_CUDA_CONTEXTS; c++)
		forget(c);
	cuda->sampling.pc_size = 0;
}

static bool is_to_end(const struct aif_cuda_sampled *c, bool on)
{
	return aif_cuda_is_usable(c) && (c->on || c->restart) && (!on || c->restart);
}

bool aif_cuda_sampling_switch(struct aif_cuda *cuda, bool on)
{
	struct aif_cuda_sampled *first = cuda->sampling.contexts, *c;
	bool ends = false, begins = false;
	struct aif_thread *t;

	forget_destroyed(cuda);
	for (c = first; c < first + AIF_CUDA_CONTEXTS; c++) {
		ends |= is_to_end(c, on);
		begins |= on && is_to_begin(cuda, c);
	}
	if (!ends && !begins)
		return true;
	/* Kernels under way when records were switched off still get theirs: the device is to be idle before sampling
	 * begins. */
	if (!aif_cuda_quiesce_shut(
		    cuda, ends || (cuda->duty.mode == AIF_CUDA_SAMPLES && cuda->api.can_record)))
		return false;
	t = aif_thread_enter();
	for (c = first; c < first + AIF_CUDA_CONTEXTS; c++) {
		if (is_to_end(c, on))
			end(cuda, c, t);
		c->restart = false;
	}
	if (t)
		aif_thread_leave(t);
	for (c = first; c < first + AIF_CUDA_CONTEXTS && on; c++)
		if (aif_cuda_is_usable(c))
			begin(cuda, c);
	report_memory(&cuda->sampling);
	aif_cuda_quiesce_open(cuda);
	return true;
}

void aif_cuda_sampling_tick(struct aif_cuda *cuda)
{
	bool wanted = cuda->duty.mode != AIF_CUDA_RECORDS && aif_cuda_sampling_wanted(cuda),
	     new = false;
	struct aif_thread *t;

	if (!wanted)
		return;
	forget_destroyed(cuda);
	t = aif_thread_enter();
	if (!t)
		return;
	for (struct aif_cuda_sampled *c = cuda->sampling.contexts;
	     c < cuda->sampling.contexts + AIF_CUDA_CONTEXTS; c++) {
		if (c->on && !c->restart) {
			drain(cuda, c, t);
			recover(cuda, c, t);
		}
		new |= c->restart || is_to_begin(cuda, c);
	}
	aif_thread_leave(t);
	if (!new || !aif_cuda_quiesce_may_try(cuda, aif_now_ns()))
		return;
	(void)aif_cuda_sampling_switch(cuda, true);
	/* The time that it took says nothing about launches. */
	cuda->duty.interrupted = true;
}

void aif_cuda_context_used(struct aif_cuda *cuda, void *context)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	struct aif_cuda_sampled *free = NULL;
	uint32_t device;

	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++) {
		void *known = atomic_load_explicit(&s->contexts[i].context, memory_order_relaxed);

		if (known == context)
			return;
		if (!known && !free)
			free = &s->contexts[i];
	}
	if (!free || cuda->api.cuptiGetDeviceId(context, &device))
		return;
	pthread_mutex_lock(&cuda->lock);
	if (!atomic_load(&free->context)) {
		free->device = device;
		free->refused = false;
		atomic_store(&free->context, context);
	}
	pthread_mutex_unlock(&cuda->lock);
}

bool aif_cuda_uses_several_devices(const struct aif_cuda *cuda)
{
	const struct aif_cuda_sampled *first = NULL;

	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++) {
		const struct aif_cuda_sampled *c = &cuda->sampling.contexts[i];

		if (!aif_cuda_is_usable(c))
			continue;
		if (first && first->device != c->device)
			return true;
		first = c;
	}
	return false;
}

/* Ends its sampling, if that can be done: Disable waits for the device, where another context may wait for a launch that
 * the closed gate holds. The context itself cannot be asked any more. */
static void end_going(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	bool others = false, alone;
	struct aif_thread *t;

	atomic_store(&c->destroyed, true);
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++)
		others |= aif_cuda_is_usable(&cuda->sampling.contexts[i]);
	alone = aif_cuda_quiesce_shut(cuda, others);
	t = aif_thread_enter();
	/* Samples that the device still holds go with it. */
	if (alone)
		end(cuda, c, t);
	else if (!c->restart)
		drain(cuda, c, t);
	if (t)
		aif_thread_leave(t);
	if (alone)
		aif_cuda_quiesce_open(cuda);
}

/* The context goes, with its samples. Who switches may be waiting in the driver for a lock that this thread holds: then
 * they wait for each other, so it waits for a moment only. */
static void context_destroyed(struct aif_cuda *cuda, void *context)
{
	bool locked = aif_cuda_trylock_briefly(cuda);

	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++) {
		struct aif_cuda_sampled *c = &cuda->sampling.contexts[i];

		if (atomic_load(&c->context) != context)
			continue;
		if (!locked) {
			atomic_store(&c->destroyed, true);
			continue;
		}
		if (c->on)
			end_going(cuda, c);
		forget(c);
	}
	if (locked)
		pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_resource_event(struct aif_cuda *cuda, uint32_t event,
			     const struct aif_cupti_resource *r)
{
	const struct aif_cupti_module *m = r->descriptor;
	int saved = errno;

	switch (event) {
	case AIF_CUPTI_CONTEXT_CREATED:
		aif_cuda_context_used(cuda, r->context);
		/* At once, where nobody else switches; else the helper does. */
		if (!pthread_mutex_trylock(&cuda->switching)) {
			if (aif_cuda_uses_several_devices(cuda))
				aif_cuda_activity_use_peers(cuda);
			if (cuda->on && cuda->duty.mode != AIF_CUDA_RECORDS)
				(void)aif_cuda_sampling_switch(cuda, true);
			pthread_mutex_unlock(&cuda->switching);
		}
		break;
	case AIF_CUPTI_CONTEXT_DESTROYED:
		context_destroyed(cuda, r->context);
		break;
	case AIF_CUPTI_MODULE_LOADED:
		if (m && m->cubin && cuda->sampling.pc_size)
			(void)aif_object_keep(aif_hash_bytes(m->cubin, m->size), m->cubin, m->size);
		break;
	default:
		break;
	}
	errno = saved;
}
