/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which launch an execution's correlation id means. */
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

/* ---- calls ---- */

/* The beginning of a call of a thread's; the launch's number, or 0 where none was told. */
static uint64_t call(unsigned thread, uint32_t correlation)
{
	static const uint8_t parameters[256];
	uint64_t data, before = defined_gen;
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
					.parameters = parameters,
					.data = &data,
					.correlation = correlation};

	here = &threads[thread];
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LAUNCH_KERNEL, &cb);
	return defined_gen > before ? defined_gen : 0;
}

/* Returns the launch of an execution with this number, or AIF_CUDA_*; 0 = nothing that is known. */
static uint64_t meant(uint32_t correlation)
{
	uint64_t launch;

	return aif_cuda_correlation_get(cuda.correlations, correlation, &launch) ? launch : 0;
}

static void test_a_launch_is_shown_while_its_call_lasts(void **state)
{
	uint64_t data = 0, launch = call(0, 5);
	int result = 0;
	struct aif_cupti_callback cb = {
		.site = AIF_CUPTI_EXIT, .result = &result, .data = &data, .correlation = 5};

	(void)state;
	assert_int_equal(aif_launching, launch + 1);
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LAUNCH_KERNEL, &cb);
	assert_int_equal(aif_launching, 0);
}

static int setup(void **state)
{
	static struct aif_armed armed = {.generation = 1};

	(void)state;
	memset(&cuda, 0, sizeof(cuda));
	atomic_store(&aif_agent.session.armed, &armed);
	memset(correlations, 0, sizeof(correlations));
	memset(threads, 0, sizeof(threads));
	defined_gen = 0;
	waiting = waited = gated = 0;
	cuda.correlations = correlations;
	cuda.duty.capture = true;
	return 0;
}

static void each_number_is_a_launch(void **state)
{
	(void)state;
	assert_int_equal(call(0, 1), 1);
	assert_int_equal(call(1, 2), 2);
	assert_int_equal(call(0, 3), 3);
	assert_int_equal(meant(1), 1);
	assert_int_equal(meant(3), 3);
	assert_int_equal(meant(4), 0);
	cuda.duty.capture = false;
	assert_int_equal(call(0, 4), 0);
	assert_int_equal(meant(4), AIF_CUDA_NOT_CAPTURED);
	assert_int_equal(cuda.confused, 0);
}

static void a_number_of_many_calls_is_nobodys(void **state)
{
	(void)state;
	assert_int_equal(call(0, 7), 1);
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(call(0, 7), 0);
		assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
		assert_int_equal(cuda.confused, i);
	}
	/* Numbers of other threads count on. */
	assert_int_equal(call(1, 8), 2);
	assert_int_equal(meant(8), 2);
}

/* A new subscriber's numbers begin anew, and come to the one that a thread of before still has: its executions are not
 * those of the launch that has it by counting. */
static void nor_is_it_of_who_gets_it_by_counting(void **state)
{
	(void)state;
	call(0, 7);
	call(0, 7);
	assert_int_equal(call(1, 6), 2);
	assert_int_equal(call(1, 7), 0);
	assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
	assert_int_equal(cuda.confused, 2);
	cuda.duty.capture = false;
	assert_int_equal(call(1, 6), 0);
	assert_int_equal(call(1, 7), 0);
	assert_int_equal(meant(7), AIF_CUDA_CONFUSED);
	/* The next subscriber. */
	cuda.duty.capture = true;
	cuda.any_confused = false;
	aif_cuda_correlations_clear(cuda.correlations);
	assert_int_equal(meant(7), 0);
	assert_int_equal(call(1, 6), 3);
	assert_int_equal(call(1, 7), 4);
	assert_int_equal(meant(7), 4);
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

#define BEGIN_CAPTURE      495
#define LIBRARY_UNLOAD     680
#define GRAPH_UPLOAD       580
#define STREAM_SYNCHRONIZE 126

static void what_is_unloaded_takes_its_names(void **state)
{
	(void)state;
	aside(LIBRARY_UNLOAD);
	assert_int_equal(cuda.names_epoch, 2); /* before and after */
	assert_int_equal(cuda.captures, 0);
	aside(GRAPH_UPLOAD);
	aside(BEGIN_CAPTURE);
	assert_int_equal(cuda.names_epoch, 2);
	assert_int_equal(cuda.captures, 1);
}

/* The two callbacks of a synchronization are the beginning and the end of waiting, and nothing that
 * the gate counts. */
static void who_synchronizes_waits(void **state)
{
	(void)state;
	aside(STREAM_SYNCHRONIZE);
	assert_int_equal(waiting, 0);
	assert_int_equal(waited, 1);
	assert_int_equal(cuda.duty.waits, 1);
	assert_int_equal(gated, 0);
	aside(GRAPH_UPLOAD);
	assert_int_equal(waited, 1);
	assert_int_equal(gated, 1);
}

/* ---- graphs ---- */

static struct aif_emit_node nodes[16];
static unsigned nodes_len, refused_event;

bool aif_emit_node(struct aif_thread *t, const struct aif_emit_node *n)
{
	assert_non_null(t);
	assert_true(nodes_len < AIF_ARRAY_LEN(nodes));
	nodes[nodes_len++] = *n;
	return true;
}

static int graph_id(void *graph, uint32_t *ret)
{
	*ret = (uint32_t)(uintptr_t)graph;
	return 0;
}

static unsigned asked;   /* CUPTI, for numbers of nodes */
static uint64_t renamed; /* what numbers have become more since */

static int node_id(void *node, uint64_t *ret)
{
	asked++;
	*ret = (uintptr_t)node + renamed;
	return (uintptr_t)node == 13; /* one that CUPTI does not know */
}

static int enable_graphs(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	assert_int_equal(on, 1);
	assert_int_equal(domain, AIF_CUPTI_DOMAIN_RESOURCE);
	return id == refused_event;
}

static void graph_event(uint32_t event, uintptr_t node, uintptr_t original)
{
	const struct aif_cupti_graph g = {.graph = (void *)(uintptr_t)7,
					  .node = (void *)node,
					  .original_node = (void *)original};
	const struct aif_cupti_resource r = {.descriptor = &g};

	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_RESOURCE, event, &r);
}

/* Callbacks of graphs are written down with its numbers, while there is a recording, and by versions whose numbers are
 * known. */
static void what_becomes_of_nodes_is_recorded(void **state)
{
	static const struct aif_emit_node want[] = {
		{.kind = AIF_NODE_MADE, .node = 3, .stack = 0},
		{.kind = AIF_NODE_CLONED, .node = 4, .from = 3, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_INSTANTIATING, .node = 7, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_INSTANTIATED, .node = 7, .stack = AIF_WIRE_NONE},
		/* CUPTI names the node that the change comes from. */
		{.kind = AIF_NODE_UPDATED, .node = 4, .from = 5, .stack = AIF_WIRE_NONE},
		{.kind = AIF_GRAPH_GONE, .node = 7, .stack = AIF_WIRE_NONE},
	};

	(void)state;
	cuda.api.cuptiEnableCallback = enable_graphs;
	cuda.api.cuptiGetGraphId = graph_id;
	cuda.api.cuptiGetGraphNodeId = node_id;
	cuda.api.can_follow_graphs = true;
	nodes_len = 0;
	for (int i = 0; i < 6; i++) {
		cuda.version = i == 1 ? 130100 : i == 2 ? 120900 : 130001;
		/* 3: nobody records; 5: a recording is paused. */
		cuda.on = i != 3 && i != 5;
		atomic_store(&aif_agent.session.armed->recorder_alive, i == 5);
		refused_event = i == 4 ? AIF_CUPTI_GRAPHNODE_UPDATED : 0;
		aif_cuda_graphs_subscribe(&cuda);
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 3, 0);
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 13, 0);
		assert_int_equal(nodes_len, i == 5 ? 2 : 1);
	}
	nodes_len = 1;
	refused_event = 0;
	aif_cuda_graphs_subscribe(&cuda);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 4, 3);
	graph_event(AIF_CUPTI_GRAPHEXEC_STARTING, 0, 0);
	graph_event(AIF_CUPTI_GRAPHEXEC_CREATED, 0, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_UPDATED, 5, 4);
	graph_event(AIF_CUPTI_GRAPH_DESTROYED, 0, 0);
	assert_int_equal(nodes_len, AIF_ARRAY_LEN(want));
	for (unsigned i = 0; i < nodes_len; i++) {
		assert_int_equal(nodes[i].kind, want[i].kind);
		assert_int_equal(nodes[i].node, want[i].node);
		assert_int_equal(nodes[i].from, want[i].from);
		assert_int_equal(nodes[i].stack, want[i].stack);
		assert_true(nodes[i].time > 0);
	}
}

static void assert_node(enum aif_wire_node_kind kind, uint64_t node, uint64_t from)
{
	assert_int_equal(nodes_len, 1);
	assert_int_equal(nodes[0].kind, kind);
	assert_int_equal(nodes[0].node, node);
	assert_int_equal(nodes[0].from, from);
	nodes_len = 0;
}

/* CUPTI takes long for a number: a copy and its original have those that they had when they were made, until a graph is
 * gone, or something was made unseen. */
static void numbers_of_nodes_are_asked_for_once(void **state)
{
	(void)state;
	cuda.api.cuptiEnableCallback = enable_graphs;
	cuda.api.cuptiGetGraphId = graph_id;
	cuda.api.cuptiGetGraphNodeId = node_id;
	cuda.api.can_follow_graphs = true;
	cuda.version = 130001;
	cuda.on = true;
	refused_event = nodes_len = asked = 0;
	aif_cuda_graphs_subscribe(&cuda);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x1000, 0);
	assert_node(AIF_NODE_MADE, 0x1000, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x2000, 0);
	assert_node(AIF_NODE_MADE, 0x2000, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2000, 0x1000);
	assert_int_equal(asked, 2); /* for those that were made */
	/* Another node at the address of one that is gone. */
	renamed = 5;
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x2000, 0);
	assert_node(AIF_NODE_MADE, 0x2005, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2005, 0x1000);
	assert_int_equal(asked, 3);
	/* Nodes of a graph that is gone may have become another's. */
	graph_event(AIF_CUPTI_GRAPH_DESTROYED, 0, 0);
	nodes_len = 0;
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2005, 0x1005);
	assert_int_equal(asked, 5);
	/* While nobody records, nothing is known of what is made. */
	cuda.on = false;
	atomic_store(&aif_agent.session.armed->recorder_alive, 0);
	graph_event(AIF_CUPTI_GRAPHNODE_CREATED, 0x1000, 0);
	assert_int_equal(nodes_len, 0);
	cuda.on = true;
	renamed = 7;
	graph_event(AIF_CUPTI_GRAPHNODE_CLONED, 0x2000, 0x1000);
	assert_node(AIF_NODE_CLONED, 0x2007, 0x1007);
	/* More nodes than are remembered. */
	for (uintptr_t i = 1; i <= 300000; i++) {
		graph_event(AIF_CUPTI_GRAPHNODE_CREATED, i << 6, 0);
		assert_node(AIF_NODE_MADE, (i << 6) + 7, 0);
	}
	for (uintptr_t i = 1; i < 300000; i++) {
		graph_event(AIF_CUPTI_GRAPHNODE_CLONED, (i + 1) << 6, i << 6);
		assert_node(AIF_NODE_CLONED, ((i + 1) << 6) + 7, (i << 6) + 7);
	}
}

static unsigned enabled[1024], enabled_len;

static int enable(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	assert_int_equal(on, 1);
	if (domain == AIF_CUPTI_DOMAIN_DRIVER) {
		assert_true(id < AIF_ARRAY_LEN(enabled));
		enabled[id]++;
		enabled_len++;
	}
	return 0;
}

#define MEM_ALLOC_V2        243
#define MEM_HOST_REGISTER   301
#define MEMCPY_D_TO_H_V2    278
#define MEMCPY_D_TO_H_ASYNC 279

/* Begin and end of calls are recorded where that is asked for; else nothing more is watched than without it. */
static void calls_are_recorded_where_that_is_asked_for(void **state)
{
	static const uint32_t recorded[] = {STREAM_SYNCHRONIZE, MEM_ALLOC_V2, LIBRARY_UNLOAD,
					    MEMCPY_D_TO_H_V2};
	static const enum aif_host_call_id ids[] = {AIF_CALL_cuStreamSynchronize,
						    AIF_CALL_cuMemAlloc, AIF_CALL_cuLibraryUnload,
						    AIF_CALL_cuMemcpyDtoH};
	unsigned before;

	(void)state;
	memset(&host_calls, 0, sizeof(host_calls));
	memset(enabled, 0, sizeof(enabled));
	enabled_len = 0;
	here = aif_self = &threads[0];
	atomic_store(&aif_agent.session.armed->on, 1);
	cuda.api.cuptiEnableCallback = enable;
	aif_agent.session.options = AIF_OPTION_CALLS; /* of other runtimes */
	aif_cuda_callbacks_subscribe(&cuda);
	before = enabled_len;
	assert_int_equal(enabled[MEM_HOST_REGISTER], 0);
	assert_int_equal(enabled[STREAM_SYNCHRONIZE], 1);
	aside(STREAM_SYNCHRONIZE);
	assert_int_equal(host_calls.begun, 0);
	aif_agent.session.options |= AIF_OPTION_CUDA_LONG_CALLS;
	enabled_len = 0;
	aif_cuda_callbacks_subscribe(&cuda);
	assert_int_equal(enabled[MEM_HOST_REGISTER], 1);
	for (unsigned i = 0; aif_cuda_allocation_at(i); i++)
		before++;
	assert_int_equal(enabled_len, before);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(recorded); i++) {
		uint64_t data = 77;
		int result = 0;
		struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
						.result = &result,
						.data = &data,
						.correlation = 100 + i};

		aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, recorded[i], &cb);
		assert_int_equal(host_calls.begun, i + 1);
		assert_int_equal(host_calls.ended, i);
		assert_int_equal(host_calls.id, ids[i]);
		cb.site = AIF_CUPTI_EXIT;
		aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, recorded[i], &cb);
		assert_int_equal(host_calls.ended, i + 1);
		assert_int_equal(host_calls.token, i + 1);
	}
	/* The default records long calls alone. */
	assert_int_equal(host_calls.least_ns, AIF_HOST_CALL_LONG_NS);
	aif_agent.session.options |= AIF_OPTION_CUDA_CALLS;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, LIBRARY_UNLOAD,
			  &(struct aif_cupti_callback){.site = AIF_CUPTI_ENTER,
						       .result = &(int){0},
						       .data = &(uint64_t){0}});
	assert_int_equal(host_calls.least_ns, AIF_HOST_CALL_SHORT_NS);
	host_calls.begun--;
	/* Calls that return at once. */
	call(0, 200);
	assert_int_equal(aif_cuda_host_call(MEMCPY_D_TO_H_ASYNC), AIF_HOST_CALLS);
	assert_int_equal(host_calls.begun, AIF_ARRAY_LEN(recorded));
	aif_agent.session.options = 0;
	atomic_store(&aif_agent.session.armed->on, 0);
}

static int device_of(void *context, uint32_t *ret)
{
	*ret = 3;
	return context == NULL;
}

/* Makes a call; result: of the driver. */
static void allocates(uint32_t id, const void *parameters, int result)
{
	struct aif_cupti_callback cb = {.site = AIF_CUPTI_ENTER,
					.parameters = parameters,
					.context = &cuda,
					.result = &result};

	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
	cb.site = AIF_CUPTI_EXIT;
	aif_cuda_callback(&cuda, AIF_CUPTI_DOMAIN_DRIVER, id, &cb);
}

static void memory_is(uint64_t block, uint64_t bytes, uint32_t device, bool is_release)
{
	assert_int_equal(memory_len, 1);
	assert_int_equal(memory[0].block, block);
	assert_int_equal(memory[0].bytes, bytes);
	assert_int_equal(memory[0].device, device);
	assert_int_equal(memory[0].is_release, is_release);
	assert_int_equal(memory[0].allocated, AIF_EMIT_MEMORY_UNKNOWN);
	memory_len = 0;
}

static void memory_is_recorded(void **state)
{
	static const uint32_t allocations[] = {MEM_ALLOC_V2, 371, 598, 599, 611, 612},
			      hosts[] = {37, 39, 271, 294}, frees[] = {245, 600, 601, 552};
	uint64_t address = 0x7000, none = 0, row = 512;
	struct aif_cuda_allocate a = {&address, 4096}, failed = {&none, 4096};
	struct aif_cuda_allocate_pitch p = {&address, &row, 500, 100};
	struct aif_cuda_map map = {0x9000, 1 << 20}, at = {0x7000, 77};

	(void)state;
	cuda.api.cuptiGetDeviceId = device_of;
	atomic_store(&aif_agent.session.armed->on, 1);
	here = &threads[0];
	memory_len = 0;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(allocations); i++) {
		allocates(allocations[i], &a, 0);
		memory_is(0x7000, 4096, 3, false);
		allocates(allocations[i], &failed, 2);
		allocates(allocations[i], &failed, 0);
		assert_int_equal(memory_len, 0);
	}
	for (unsigned i = 0; i < AIF_ARRAY_LEN(hosts); i++) {
		allocates(hosts[i], &a, 0);
		memory_is(0x7000, 4096, AIF_WIRE_NONE, false);
	}
	allocates(244, &p, 0);
	memory_is(0x7000, 51200, 3, false);
	p.height = UINT64_MAX;
	allocates(244, &p, 0);
	assert_int_equal(memory_len, 0);
	allocates(551, &map, 0);
	memory_is(0x9000, 1 << 20, 3, false);
	for (unsigned i = 0; i < AIF_ARRAY_LEN(frees); i++) {
		allocates(frees[i], &at, 0);
		memory_is(0x7000, 0, 3, true);
	}
	allocates(38, &at, 0);
	memory_is(0x7000, 0, AIF_WIRE_NONE, true);
	at.address = 0; /* cudaFree(NULL) */
	allocates(245, &at, 0);
	atomic_store(&aif_agent.session.armed->on, 0);
	allocates(MEM_ALLOC_V2, &a, 0);
	assert_int_equal(memory_len, 0);
	assert_int_equal(gated, 0);
}

/* In off-blocks of the budget large blocks have stacks, and all have sizes. */
static void stacks_of_memory_are_within_the_budget(void **state)
{
	uint64_t address = 0x7000;
	struct aif_cuda_allocate a = {&address, 4096};

	(void)state;
	cuda.api.cuptiGetDeviceId = device_of;
	atomic_store(&aif_agent.session.armed->on, 1);
	atomic_store(&aif_agent.budget.until, UINT64_MAX);
	here = &threads[0];
	for (uint32_t block = 1; block <= 2; block++) {
		atomic_store(&aif_agent.budget.block, block);
		memory_len = 0;
		a.bytes = 4096;
		allocates(MEM_ALLOC_V2, &a, 0);
		a.bytes = 1 << 20;
		allocates(MEM_ALLOC_V2, &a, 0);
		assert_int_equal(memory_len, 2);
		assert_int_equal(memory[0].stack, block == 1 ? 0 : AIF_WIRE_NONE);
		assert_int_equal(memory[0].bytes, 4096);
		assert_int_equal(memory[1].stack, 0);
	}
	atomic_store(&aif_agent.budget.block, 1);
	atomic_store(&aif_agent.session.armed->on, 0);
}

/* A thread that launches does not wait any more, whether its waiting call has come back or was left
 * by longjmp(). */
static void who_launches_does_not_wait(void **state)
{
	(void)state;
	atomic_store(&threads[0].spins, 1);
	atomic_store(&threads[1].spins, 1);
	call(0, 1);
	assert_int_equal(threads[0].spins, 0);
	assert_int_equal(threads[1].spins, 1);
	cuda.duty.capture = false;
	call(1, 2);
	assert_int_equal(threads[1].spins, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_launch_is_shown_while_its_call_lasts, setup),
		cmocka_unit_test_setup(each_number_is_a_launch, setup),
		cmocka_unit_test_setup(a_number_of_many_calls_is_nobodys, setup),
		cmocka_unit_test_setup(nor_is_it_of_who_gets_it_by_counting, setup),
		cmocka_unit_test_setup(what_is_unloaded_takes_its_names, setup),
		cmocka_unit_test_setup(who_synchronizes_waits, setup),
		cmocka_unit_test_setup(calls_are_recorded_where_that_is_asked_for, setup),
		cmocka_unit_test_setup(memory_is_recorded, setup),
		cmocka_unit_test_setup(stacks_of_memory_are_within_the_budget, setup),
		cmocka_unit_test_setup(who_launches_does_not_wait, setup),
		cmocka_unit_test_setup(what_becomes_of_nodes_is_recorded, setup),
		cmocka_unit_test_setup(numbers_of_nodes_are_asked_for_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
