/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sampling of the CUDA adapter with a CUPTI of our own, and with stand-ins for the rest of the agent. */

#include "agent/cuda/cuda.h"

#include "agent/cuda/claim.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/lock.h"
#include "agent/cuda/nameless.h"
#include "agent/cuda/names.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "agent/emit.h"
#include "agent/helper.h"
#include "agent/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void aif_cuda_activity_use_peers(struct aif_cuda *cuda)
{
	(void)cuda;
}

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

#define PREFIX "smsp__pcsamp_warps_issue_stalled_"
static const char *const reason_names[] = {
	"smsp__pcsamp_sample_count",  PREFIX "wait", PREFIX "wait_not_issued", PREFIX "selected",
	PREFIX "selected_not_issued",
};
enum { COUNT, WAIT, WAIT_NOT_ISSUED, SELECTED, REASONS = AIF_ARRAY_LEN(reason_names) };

/* Contexts are 1..3; 1 and 2 are of device 0, 3 is of device 1. */
enum { CONTEXTS = 4 };
static struct {
	struct aif_cuda cuda;
	struct aif_thread thread;
	bool sampled[CONTEXTS];
	unsigned enabled, disabled, refused;
	enum aif_reason why;
	int enable_error, data_error;
	uint32_t period;
	bool endless; /* says that there is more, and gives nothing */
	bool locked;  /* somebody else switches */
	bool no_ring;
	bool ring_full; /* but for a window */
	unsigned windows, pcs, codes, reasons, notes;
	unsigned devices; /* defined */
	uint64_t defined_gen[REASONS];
	bool gate_closed;
	bool busy[CONTEXTS], going[CONTEXTS];
	uintptr_t event[CONTEXTS];
	unsigned events;
	unsigned handlers; /* registered for the exit */
	bool no_preload, nameless;
	uint64_t others;
} it;

static inline uintptr_t number(const void *context)
{
	assert_true((uintptr_t)context > 0 && (uintptr_t)context < CONTEXTS);
	return (uintptr_t)context;
}

/* ---- CUPTI ---- */

static inline int enable(struct aif_cupti_context_params *p)
{
	uintptr_t n = number(p->context);

	it.gate_closed &= atomic_load(&it.cuda.quiesce.owner) == (uint64_t)pthread_self();
	if (it.enable_error)
		return it.enable_error;
	assert_false(it.sampled[n]);
	/* One context of a device. */
	assert_false(n < 3 && it.sampled[3 - n]);
	it.sampled[n] = true;
	it.enabled++;
	return 0;
}

static inline int disable(struct aif_cupti_context_params *p)
{
	it.gate_closed &= atomic_load(&it.cuda.quiesce.owner) == (uint64_t)pthread_self();
	assert_true(it.sampled[number(p->context)]);
	it.sampled[number(p->context)] = false;
	it.disabled++;
	return 0;
}

static inline int set(struct aif_cupti_attribute_params *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->attributes[i].type == AIF_CUPTI_PERIOD)
			it.period = p->attributes[i].number;
	return 0;
}

static inline int get(struct aif_cupti_attribute_params *p)
{
	p->attributes[0].number = it.period;
	return 0;
}

static inline int reasons_len(struct aif_cupti_reasons_len_params *p)
{
	*p->len = REASONS;
	return 0;
}

/* The other device's numbers are others. */
static inline uint32_t index_of(const void *context, uint32_t reason)
{
	return number(context) == 3 ? REASONS - 1 - reason : reason;
}

static inline int reasons(struct aif_cupti_reasons_params *p)
{
	for (uint32_t i = 0; i < REASONS; i++) {
		p->indices[i] = index_of(p->context, i);
		snprintf(p->names[i], AIF_CUPTI_REASON_NAME, "%s", reason_names[i]);
	}
	return 0;
}

/* Returns the samples of one instruction: 10 waited, 6 of them with nothing issued, 3 were
 * issuing. */
static inline int data(struct aif_cupti_samples_params *p)
{
	static const struct aif_cupti_pc_reason said[] = {
		{COUNT, 99}, {WAIT, 10}, {WAIT_NOT_ISSUED, 6}, {SELECTED, 3}};
	static char name[] = "f";
	struct aif_cupti_pc *pc = p->samples->pcs;

	assert_true(it.sampled[number(p->context)]);
	if (it.data_error)
		return it.data_error;
	p->samples->remaining = it.endless;
	if (it.endless)
		return 0;
	pc->hash = 7;
	pc->function = 1;
	pc->name = it.nameless ? name + 1 : name;
	pc->reasons_len = AIF_ARRAY_LEN(said);
	for (size_t i = 0; i < AIF_ARRAY_LEN(said); i++)
		pc->reasons[i] = (struct aif_cupti_pc_reason){index_of(p->context, said[i].reason),
							      said[i].samples};
	p->samples->len = 1;
	p->samples->total = 13;
	return 0;
}

static inline int hashes(aif_cupti_hash_fn *fn)
{
	uint64_t a, b;

	fn("0123456789", 10, &a);
	fn("0123456788", 10, &b);
	assert_int_not_equal(a, b);
	return 0;
}

static inline int device_of(void *context, uint32_t *ret)
{
	*ret = number(context) == 3;
	return 0;
}

static inline int device_get(int *ret, int ordinal)
{
	*ret = ordinal;
	return 0;
}

/* An H100. */
static inline int attribute(int *ret, int which, int device)
{
	(void)device;
	*ret = which == AIF_CUDA_ATTRIBUTE_CLOCK_KHZ ? 1980000 : 132;
	return 0;
}

static inline int push(void *context)
{
	return number(context) ? 0 : 1;
}

static inline int pop(void **ret)
{
	*ret = NULL;
	return 0;
}

static inline int event_new(void **ret, unsigned flags)
{
	*ret = it.events < CONTEXTS ? &it.event[it.events++] : NULL;
	return flags != 2 || !*ret;
}

static inline int event_record(void *context, void *event)
{
	assert_false(it.going[number(context)]);
	*(uintptr_t *)event = number(context);
	return 0;
}

static inline int event_query(void *event)
{
	return it.busy[*(uintptr_t *)event] ? 600 : 0;
}

/* ---- the rest of the agent ---- */

struct aif_thread *aif_thread_enter_slow(void)
{
	return it.no_ring ? NULL : &it.thread;
}

bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	(void)cuda;
	c->claim = 1;
	return true;
}

void aif_cuda_unclaim(struct aif_cuda_sampled *c)
{
	c->claim = 0;
}

bool aif_emit_code(struct aif_thread *t, uint32_t id, uint64_t hash, uint32_t symbol,
		   const char *name)
{
	(void)t, (void)id;
	assert_true(hash == 7 && symbol == 1 && !strcmp(name, "f"));
	it.codes++;
	return true;
}

bool aif_emit_reason(struct aif_thread *t, uint32_t id, const char *name)
{
	(void)t;
	/* All but the counter. */
	assert_true(id + 1 < REASONS);
	assert_string_equal(name, reason_names[id + 1] + sizeof(PREFIX) - 1);
	it.reasons++;
	return true;
}

bool aif_emit_window(struct aif_thread *t, const struct aif_emit_window *w)
{
	(void)t;
	assert_true(w->end >= w->start && w->samples == 13);
	it.windows++;
	it.others += w->others;
	return true;
}

bool aif_emit_pc(struct aif_thread *t, uint32_t window, uint32_t code, uint64_t pc,
		 const struct aif_emit_reason *r, unsigned n)
{
	(void)t, (void)window, (void)code, (void)pc;
	if (it.ring_full)
		return false;
	for (unsigned i = 0; i < n; i++)
		it.defined_gen[r[i].reason + 1] += r[i].samples;
	it.pcs++;
	return true;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	(void)t, (void)detail;
	assert_true(reason == AIF_REASON_CUDA_BUFFER_FULL);
	it.notes += (unsigned)n;
	return true;
}

bool aif_cuda_device_define_here(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal)
{
	(void)t, (void)cuda, (void)ordinal;
	it.devices++;
	return true;
}

void aif_cuda_report_error(enum aif_reason reason, const char *what, int error)
{
	(void)what, (void)error;
	it.why = reason;
	it.refused++;
}

void aif_cuda_report_error_in(struct aif_thread *t, enum aif_reason reason, const char *what,
			      int error)
{
	(void)t;
	aif_cuda_report_error(reason, what, error);
}

bool aif_cuda_trylock_briefly(struct aif_cuda *cuda)
{
	(void)cuda;
	return !it.locked && !pthread_mutex_trylock(&it.cuda.switching);
}

void aif_agent_leave_first(void)
{
	it.handlers++;
}

bool aif_helper_is_here(void)
{
	return true;
}

bool aif_cuda_nameless_guard(void)
{
	return !it.no_preload;
}

bool aif_object_keep(uint64_t hash, const void *bytes, size_t n)
{
	(void)hash, (void)bytes, (void)n;
	return true;
}

/* ---- */

static inline void *context(uintptr_t n)
{
	return (void *)n;
}

static inline void created(uintptr_t n)
{
	struct aif_cupti_resource r = {.context = context(n)};

	aif_cuda_resource_event(&it.cuda, AIF_CUPTI_CONTEXT_CREATED, &r);
}

static inline void destroyed(uintptr_t n)
{
	struct aif_cupti_resource r = {.context = context(n)};

	it.going[n] = true;
	aif_cuda_resource_event(&it.cuda, AIF_CUPTI_CONTEXT_DESTROYED, &r);
	it.going[n] = it.sampled[n] = false; /* at the latest */
}

/* The helper's. */
static inline void tick(void)
{
	aif_cuda_sampling_tick(&it.cuda);
}

static inline int setup(void **state)
{
	struct aif_cuda *c = &it.cuda;

	(void)state;
	memset(&it, 0, sizeof(it));
	it.cuda.use = AIF_CUPTI_USE_BLOCKS;
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.gate_closed = true;
	it.thread.generation = aif_agent.session.generation = 1;
	aif_agent.session.device_rate = 999;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->switching, NULL);
	c->on = c->callbacks_on = true;
	aif_cuda_quiesce_begin(c);
	aif_cuda_quiesce_settle(c);
	c->duty.mode = AIF_CUDA_TOGETHER;
	c->version = AIF_CUPTI_VERSION_13_0;
	c->api = (struct aif_cupti){.can_sample = true,
				    .cuptiPCSamplingEnable = enable,
				    .cuptiPCSamplingDisable = disable,
				    .cuptiPCSamplingSetConfigurationAttribute = set,
				    .cuptiPCSamplingGetConfigurationAttribute = get,
				    .cuptiPCSamplingGetNumStallReasons = reasons_len,
				    .cuptiPCSamplingGetStallReasons = reasons,
				    .cuptiPCSamplingGetData = data,
				    .cuptiRegisterComputeCrcCallback = hashes,
				    .cuptiGetDeviceId = device_of,
				    .cuDeviceGet = device_get,
				    .cuDeviceGetAttribute = attribute,
				    .can_record = true,
				    .cuCtxPushCurrent_v2 = push,
				    .cuCtxPopCurrent_v2 = pop,
				    .cuEventCreate = event_new,
				    .cuEventQuery = event_query,
				    .cuCtxRecordEvent = event_record};
	/* A pc_size that is set skips the check whether the driver's files allow sampling. */
	c->sampling.pc_size = sizeof(struct aif_cupti_pc);
	aif_cuda_sampling_init(c);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	aif_cuda_sampling_switch(&it.cuda, false);
	assert_int_equal(it.enabled, it.disabled);
	assert_true(it.gate_closed);
	assert_int_equal(atomic_load(&it.cuda.quiesce.owner), 0);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
