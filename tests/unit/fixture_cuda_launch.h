/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the CUDA adapter with the rest of the agent left out. One file of tests at a time. */
#pragma once

#include "agent/cuda/cuda.h"

#include "agent/calls/host_call.h"
#include "agent/capture.h"
#include "agent/cuda/correlation.h"
#include "agent/cuda/graphs.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/names.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "agent/cuda/translate.h"
#include "agent/emit.h"
#include "agent/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define LAUNCH_KERNEL 307

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));
__thread uint64_t aif_launching __attribute__((tls_model("initial-exec")));

static struct aif_cuda cuda;
static struct aif_cuda_correlation correlations[AIF_CUDA_CORRELATIONS];
static struct aif_thread threads[2], *here;
static uint64_t defined_gen; /* launches, numbered from 1 */
static int waiting, waited, gated;

/* ---- the rest of the agent ---- */

struct aif_thread *aif_thread_enter_slow(void)
{
	return here;
}

void aif_emit_missed(void)
{
	fail();
}

void aif_emit_cost_begin(struct aif_thread *t, struct aif_emit_cost *c, uint64_t now)
{
	(void)t, (void)now;
	*c = (struct aif_emit_cost){.since = 0};
}

void aif_emit_cost_end(struct aif_emit_cost *c)
{
	(void)c;
}

bool aif_emit_launch(struct aif_thread *t, const struct aif_emit_launch *l, uint64_t *ret_number)
{
	(void)t, (void)l;
	*ret_number = ++defined_gen;
	return true;
}

uint32_t aif_emit_shape(struct aif_thread *t, const struct aif_emit_shape *shape)
{
	(void)t, (void)shape;
	return 0;
}

void aif_emit_shape_prefetch(const struct aif_thread *t, const struct aif_emit_shape *shape)
{
	(void)t, (void)shape;
}

static struct {
	enum aif_host_call_id id;
	uint32_t begun, ended, token, least_ns;
} host_calls;

uint32_t aif_host_call_begin_slow(enum aif_host_call_id id, uint32_t least_ns,
				  const struct aif_regs *regs, const struct aif_emit_api *api)
{
	host_calls.least_ns = least_ns;
	assert_true(regs && api);
	host_calls.id = id;
	return ++host_calls.begun;
}

void aif_host_call_end_slow(uint32_t token, const struct aif_regs *regs,
			    const struct aif_emit_api *api)
{
	assert_true(regs && api);
	host_calls.ended++;
	host_calls.token = token;
}

static struct aif_emit_memory memory[32];
static unsigned memory_len;

bool aif_emit_memory(struct aif_thread *t, const struct aif_emit_memory *m)
{
	assert_non_null(t);
	assert_true(memory_len < AIF_ARRAY_LEN(memory));
	memory[memory_len++] = *m;
	return true;
}

bool aif_cuda_device_define(struct aif_thread *t, struct aif_cuda *c, uint32_t ordinal)
{
	assert_true(t && c && ordinal == 3);
	return true;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	(void)t, (void)reason, (void)n, (void)detail;
	fail();
	return false;
}

uint32_t aif_capture(struct aif_thread *t, const struct aif_regs *regs,
		     const struct aif_emit_api *api)
{
	(void)t, (void)regs, (void)api;
	return 0;
}

void aif_capture_prefetch(const struct aif_thread *t, const struct aif_regs *regs)
{
	(void)t, (void)regs;
}

void aif_cuda_names_invalidate(struct aif_cuda *c)
{
	atomic_fetch_add(&c->names_epoch, 1);
}

struct aif_cuda_kernel *aif_cuda_kernel_launched(struct aif_cuda *c, const char *name)
{
	(void)c, (void)name;
	return NULL;
}

uint32_t aif_cuda_kernel_define(struct aif_thread *t, struct aif_cuda_kernel *k)
{
	(void)t, (void)k;
	return 0;
}

void aif_cuda_context_used(struct aif_cuda *c, void *context)
{
	(void)c, (void)context;
}

void aif_cuda_quiesce_enter(struct aif_cuda *c, bool loads)
{
	(void)c, (void)loads;
	gated++;
}

void aif_cuda_quiesce_leave(struct aif_cuda *c)
{
	(void)c;
}

void aif_wait_spin_begin(void)
{
	assert_int_equal(waiting, 0);
	waiting++;
}

void aif_wait_spin_end(const struct aif_regs *regs)
{
	assert_true(regs->sp);
	waiting--;
	waited++;
}

void aif_cuda_resource_event(struct aif_cuda *c, uint32_t event,
			     const struct aif_cupti_resource *data)
{
	(void)c, (void)event, (void)data;
}

static struct aif_emit_node nodes[16];
static unsigned nodes_len;

bool aif_emit_node(struct aif_thread *t, const struct aif_emit_node *n)
{
	assert_non_null(t);
	assert_true(nodes_len < AIF_ARRAY_LEN(nodes));
	nodes[nodes_len++] = *n;
	return true;
}

/* ---- calls ---- */

static int setup(void **state)
{
	static struct aif_armed armed = {.generation = 1};

	(void)state;
	memset(&cuda, 0, sizeof(cuda));
	atomic_store(&aif_agent.session.armed, &armed);
	memset(correlations, 0, sizeof(correlations));
	memset(threads, 0, sizeof(threads));
	here = &threads[0];
	defined_gen = 0;
	waiting = waited = gated = 0;
	cuda.correlations = correlations;
	cuda.duty.capture = true;
	return 0;
}

/* A call that launches nothing, to its end. */
static void aside(uint32_t id)
{
	int result = 0;
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER, .result = &result};

	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
	cb.site = AIF_CUPTI_EXIT;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
}
