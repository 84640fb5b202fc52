/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/launch.h"

#include "agent/calls/host_call.h"
#include "agent/capture.h"
#include "agent/cuda/allocations.h"
#include "agent/cuda/correlation.h"
#include "agent/cuda/cuda.h"
#include "agent/cuda/graphs.h"
#include "agent/cuda/names.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/sampling.h"
#include "agent/cuda/translate.h"
#include "agent/emit.h"
#include "agent/wait.h"

/*
 * The driver's calls that make a device work. CUPTI calls back at their beginning and at their end, on the
 * launching thread. The application's frames are below those of the driver and of CUPTI.
 *
 * A launch is written at the beginning, so that it is known before its execution can be. But while a stream is
 * captured, only the end of the call shows whether it has launched anything: then a node of a graph may have
 * been made instead, on this thread.
 */

static AIF_NOINLINE void launch(struct aif_cuda *cuda, struct aif_thread *t,
				const struct aif_cuda_call *call,
				const struct aif_cupti_callback *cb, const struct aif_regs *regs,
				uint64_t now)
{
	struct aif_emit_launch l = {.kind = call->kind,
				    .time = now,
				    .stream = AIF_WIRE_NONE,
				    .kernel = AIF_WIRE_NONE,
				    .shape = AIF_WIRE_NONE};
	static const struct aif_emit_api none;
	struct aif_emit_shape shape;
	struct aif_cuda_kernel *k;
	struct aif_emit_cost cost;
	uint64_t number;
	bool has_shape;

	aif_emit_cost_begin(t, &cost, now);
	aif_cuda_correlation_prefetch(cuda->correlations, cb->correlation);
	aif_capture_prefetch(t, regs);
	has_shape = aif_cuda_shape(call, cb->parameters, &shape);
	if (has_shape)
		aif_emit_shape_prefetch(t, &shape);
	if (call->kind == AIF_EMIT_KERNEL && cb->symbol) {
		k = aif_cuda_kernel_launched(cuda, cb->symbol);
		l.kernel = k ? aif_cuda_kernel_define(t, k) : AIF_WIRE_NONE;
	}
	l.stack = aif_capture(t, regs, &none);
	/* After the stack, which may start the ring's ids anew. */
	if (has_shape)
		l.shape = aif_emit_shape(t, &shape);
	if (aif_emit_launch(t, &l, &number)) {
		aif_cuda_correlation_set(cuda->correlations, cb->correlation, number);
		aif_launching_set(number + 1);
	}
	aif_emit_cost_end(&cost);
}

/* CUPTI has lost count of this thread's calls (cuda.c): they all have one number. Or it has lost another
 * thread's, and has come to that number again by counting. */
static bool is_confused(struct aif_cuda *cuda, const struct aif_thread *t, uint32_t correlation)
{
	uint64_t launch;

	return t->correlation == correlation ||
	       (atomic_load_explicit(&cuda->any_confused, memory_order_relaxed) &&
		aif_cuda_correlation_get(cuda->correlations, correlation, &launch) &&
		launch == AIF_CUDA_CONFUSED);
}

/* Marks a correlation id that several calls have: an execution under it may belong to any of
 * them. */
static AIF_NOINLINE void confused(struct aif_cuda *cuda, uint32_t correlation)
{
	atomic_store_explicit(&cuda->any_confused, true, memory_order_relaxed);
	aif_cuda_correlation_set(cuda->correlations, correlation, AIF_CUDA_CONFUSED);
	atomic_fetch_add_explicit(&cuda->confused, 1, memory_order_relaxed);
}

/* Notes the replay of a graph, some of whose executions may not name their call. time: as for begin(). */
static AIF_NOINLINE void replayed(struct aif_cuda *cuda, const struct aif_cupti_callback *cb,
				  uint64_t time)
{
	uint64_t launch;

	atomic_store_explicit(&cuda->has_replays, true, memory_order_relaxed);
	if (aif_cuda_correlation_get(cuda->correlations, cb->correlation, &launch))
		aif_cuda_graph_launched(cuda, cb, time ? aif_now_ns() - time : 0, launch);
}

/* A call that waits was left by longjmp(): who launches does not wait. */
static void end_spins(struct aif_thread *t)
{
	if (aif_unlikely(atomic_load_explicit(&t->spins, memory_order_relaxed)))
		atomic_store_explicit(&t->spins, 0, memory_order_relaxed);
}

/* Launches after which a thread's are counted apart. */
#define MANY 1000

/* The place in counts of the thread's launches; until they are counted apart, how many were captured, and the last one's block. */
static __thread struct {
	uint32_t at, captured, block;
} own __attribute__((tls_model("initial-exec")));

/* Counts the thread's launches apart from here on, if there is room. */
static AIF_NOINLINE void count_apart(struct aif_cuda_duty *b, uint32_t tid)
{
	uint32_t n = atomic_load(&b->counted_threads);

	while (n < AIF_CUDA_COUNTED_THREADS)
		if (atomic_compare_exchange_weak(&b->counted_threads, &n, n + 1)) {
			atomic_store(&b->counts[n + 1].tid, tid);
			own.at = n + 1;
			return;
		}
}

/* Returns the count of a launch of this thread. Of each block it is one: a thread's launches are counted apart from the
 * beginning of one on. */
static struct aif_cuda_count *count_of(struct aif_cuda_duty *b)
{
	uint32_t block;

	if (aif_likely(own.at))
		return &b->counts[own.at];
	block = atomic_load_explicit(&b->blocks, memory_order_relaxed);
	if (own.block != block && own.captured >= MANY && aif_self)
		count_apart(b, aif_self->tid);
	own.block = block;
	return &b->counts[own.at];
}

static void count_captured(struct aif_cuda_duty *b)
{
	atomic_fetch_add_explicit(&count_of(b)->captured, 1, memory_order_relaxed);
	own.captured++;
}

static void count_left_out(struct aif_cuda_duty *b)
{
	atomic_fetch_add_explicit(&count_of(b)->left_out, 1, memory_order_relaxed);
}

/* The launch of this call, whose registers were taken in the callback, and which began at `time`; 0 = now, which
 * launches that are left out need not know. */
static void begin(struct aif_cuda *cuda, const struct aif_cuda_call *call,
		  const struct aif_cupti_callback *cb, const struct aif_regs *regs, uint64_t time)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t) {
		/* The launch's record may come nevertheless. */
		aif_cuda_correlation_set(cuda->correlations, cb->correlation,
					 AIF_CUDA_NOT_CAPTURED);
		aif_emit_missed();
		return;
	}
	if (aif_unlikely(is_confused(cuda, t, cb->correlation))) {
		confused(cuda, cb->correlation);
	} else if (atomic_load_explicit(&cuda->duty.capture, memory_order_relaxed)) {
		count_captured(&cuda->duty);
		launch(cuda, t, call, cb, regs, time ? time : aif_now_ns());
	} else {
		count_left_out(&cuda->duty);
		aif_cuda_correlation_set(cuda->correlations, cb->correlation,
					 AIF_CUDA_NOT_CAPTURED);
	}
	t->correlation = cb->correlation;
	if (call->id == AIF_CUDA_GRAPH_LAUNCH || call->id == AIF_CUDA_GRAPH_LAUNCH_PTSZ)
		replayed(cuda, cb, time);
	end_spins(t);
	aif_thread_leave(t);
}

/*
 * True if the launch that begins is left out, which is then counted; so most are where they are many, and what is done for each of
 * them is in none of the budget's comparisons. So it touches as little memory as it can: not the thread's, which is cold
 * among a program's other work (1 us a launch; bench/results/h200-price.md). A thread that CUPTI has lost count of is found
 * by what is captured of it.
 */
static bool is_left_out(struct aif_cuda *cuda, const struct aif_cuda_call *call,
			const struct aif_cupti_callback *cb)
{
	if (atomic_load_explicit(&cuda->duty.capture, memory_order_relaxed) ||
	    atomic_load_explicit(&cuda->captures, memory_order_relaxed) ||
	    atomic_load_explicit(&cuda->any_confused, memory_order_relaxed) ||
	    call->id == AIF_CUDA_GRAPH_LAUNCH || call->id == AIF_CUDA_GRAPH_LAUNCH_PTSZ)
		return false;
	count_left_out(&cuda->duty);
	aif_cuda_correlation_set(cuda->correlations, cb->correlation, AIF_CUDA_NOT_CAPTURED);
	if (aif_self && atomic_load_explicit(&cuda->duty.waits, memory_order_relaxed) !=
				atomic_load_explicit(&cuda->duty.waited, memory_order_relaxed))
		end_spins(aif_self);
	return true;
}

/* Counts a launch that was refused: nothing will be executed. */
static void failed(void)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	aif_emit_note(t, AIF_REASON_FAILED_COMMAND, 1, "");
	aif_thread_leave(t);
}

/* Begin and end of a call that can hold the thread up: of long ones, of all with record --calls on. *token lasts from the
 * one callback to the other. */
#define CALLS (AIF_OPTION_CUDA_CALLS | AIF_OPTION_CUDA_LONG_CALLS)
static AIF_NOINLINE void host_call(uint32_t id, const struct aif_cupti_callback *cb,
				   const struct aif_regs *regs, uint64_t *token)
{
	static const struct aif_emit_api none;
	enum aif_host_call_id call = aif_cuda_host_call(id);

	if (call == AIF_HOST_CALLS)
		return;
	if (cb->site == AIF_CUPTI_ENTER)
		*token = aif_host_call_begin(call, CALLS,
					     aif_agent.session.options & AIF_OPTION_CUDA_CALLS
						     ? AIF_HOST_CALL_SHORT_NS
						     : AIF_HOST_CALL_LONG_NS,
					     regs, &none);
	else
		aif_host_call_end((uint32_t)*token, regs, &none);
}

static bool has_host_calls(void)
{
	return aif_agent.session.options & CALLS;
}

static void called(struct aif_cuda *cuda, const struct aif_cuda_call *call,
		   const struct aif_cupti_callback *cb, const struct aif_regs *regs)
{
	/* Shared by the two callbacks of a call: when it began, if that is still to be written. */
	uint64_t *began = cb->data;
	struct aif_thread *t;

	if (call->kind != AIF_EMIT_KERNEL && has_host_calls() && aif_self)
		host_call(call->id, cb, regs, &aif_self->copy_token);
	if (cb->site == AIF_CUPTI_ENTER) {
		aif_cuda_quiesce_enter(cuda, false);
		*began = 0;
		/* A context older than an attach is known by its launches only: a launch that is left out must register it, too. */
		aif_cuda_context_used(cuda, cb->context);
		if (is_left_out(cuda, call, cb))
			return;
		aif_thread_prefetch();
		if (aif_likely(!atomic_load_explicit(&cuda->captures, memory_order_relaxed))) {
			begin(cuda, call, cb, regs, 0);
			return;
		}
		*began = aif_now_ns();
		t = aif_thread_enter();
		if (t) {
			t->graph_nodes = 0;
			t->graph_copies = AIF_CUDA_COPIES_NOT;
			t->graph_call = cb->correlation;
			aif_thread_leave(t);
		}
		return;
	}
	if (*cb->result)
		failed();
	else if (*began && aif_self && aif_self->graph_call == cb->correlation &&
		 !aif_self->graph_nodes) /* else callbacks were switched on meanwhile */
		begin(cuda, call, cb, regs, *began);
	aif_launching_set(0);
	aif_cuda_quiesce_leave(cuda);
}

/* A capture that has become invalid ends with an error. One that began before callbacks came was not counted. */
static void count_capture(struct aif_cuda *cuda, int step, int result)
{
	int n = atomic_load(&cuda->captures);

	if (step == 1 && !result)
		atomic_fetch_add(&cuda->captures, 1);
	else if (step == -1 && (!result || result == AIF_CUDA_CAPTURE_INVALIDATED ||
				result == AIF_CUDA_CAPTURE_UNJOINED))
		while (n > 0 && !atomic_compare_exchange_weak(&cuda->captures, &n, n - 1))
			;
}

/* Notes a call that waits for the device in a loop: its CPU time counts as waiting. */
static void called_to_wait(struct aif_cuda *cuda, const struct aif_cupti_callback *cb,
			   const struct aif_regs *regs)
{
	if (cb->site == AIF_CUPTI_ENTER) {
		atomic_fetch_add_explicit(&cuda->duty.waits, 1, memory_order_relaxed);
		aif_wait_spin_begin();
	} else {
		atomic_fetch_add_explicit(&cuda->duty.waited, 1, memory_order_relaxed);
		aif_wait_spin_end(regs);
	}
}

static void called_aside(struct aif_cuda *cuda, uint32_t id, const struct aif_cupti_callback *cb,
			 const struct aif_regs *regs)
{
	int step = aif_cuda_aside_step(id);

	if (aif_cuda_is_memory_call(id)) {
		aif_cuda_allocation(cuda, id, cb, regs);
		if (!has_host_calls())
			return;
	}
	if (has_host_calls())
		host_call(id, cb, regs, cb->data);
	if (step == AIF_CUDA_WAITS) {
		called_to_wait(cuda, cb, regs);
		return;
	}
	/* Before and after: who looks a name up meanwhile may see either. */
	if (step == AIF_CUDA_UNLOADS)
		aif_cuda_names_invalidate(cuda);
	aif_cuda_graphs_called(cuda, step, cb->site);
	if (cb->site == AIF_CUPTI_ENTER) {
		aif_cuda_quiesce_enter(cuda,
				       step == AIF_CUDA_LOADS || step == AIF_CUDA_INSTANTIATES);
		return;
	}
	count_capture(cuda, step, *cb->result);
	aif_cuda_quiesce_leave(cuda);
}

static void resource_event(struct aif_cuda *cuda, uint32_t id, const struct aif_cupti_resource *r,
			   const struct aif_regs *regs)
{
	if (id != AIF_CUPTI_CONTEXT_CREATED && id != AIF_CUPTI_CONTEXT_DESTROYED)
		aif_cuda_activity_made(cuda);
	switch (id) {
	case AIF_CUPTI_CONTEXT_CREATED:
	case AIF_CUPTI_CONTEXT_DESTROYED:
	case AIF_CUPTI_MODULE_LOADED:
		aif_cuda_resource_event(cuda, id, r);
		return;
	case AIF_CUPTI_GRAPHNODE_CREATED:
		atomic_store_explicit(&cuda->has_graphs, true, memory_order_relaxed);
		if (aif_self)
			aif_self->graph_nodes++;
		break;
	}
	if (r->descriptor)
		aif_cuda_graph_event(cuda, id, r->descriptor, regs);
}

void aif_cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
	struct aif_cuda *cuda = user;
	const struct aif_cupti_callback *cb = data;
	const struct aif_cuda_call *call;
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	/* In a forked child nobody opens the gate. */
	if (aif_unlikely(!aif_agent.session.armed ||
			 !atomic_load_explicit(&aif_agent.session.armed->generation,
					       memory_order_relaxed)))
		return;
	if (domain == AIF_CUPTI_DOMAIN_RESOURCE) {
		resource_event(cuda, id, data, &regs);
		return;
	}
	call = aif_cuda_call(id);
	if (aif_likely(call))
		called(cuda, call, cb, &regs);
	else
		called_aside(cuda, id, cb, &regs);
}

int aif_cuda_callbacks_switch(struct aif_cuda *cuda, bool on)
{
	const struct aif_cuda_call *c;
	int r = 0;

	/* Callbacks are switched one by one: the whole domain would call back for every call of the driver. A number
	 * that this version of CUPTI does not know is refused, and cannot be called either. */
	for (unsigned i = 0; (c = aif_cuda_call_at(i)); i++) {
		int one = cuda->api.cuptiEnableCallback(on, cuda->subscriber,
							AIF_CUPTI_DOMAIN_DRIVER, c->id);

		if (c->form != AIF_CUDA_FORM_OTHER && one)
			r = one;
	}
	return r;
}

void aif_cuda_callbacks_subscribe(struct aif_cuda *cuda)
{
	static const uint32_t events[] = {AIF_CUPTI_CONTEXT_CREATED, AIF_CUPTI_CONTEXT_DESTROYED,
					  AIF_CUPTI_MODULE_LOADED, AIF_CUPTI_GRAPHNODE_CREATED};

	for (unsigned i = 0; aif_cuda_aside_at(i); i++)
		cuda->api.cuptiEnableCallback(1, cuda->subscriber, AIF_CUPTI_DOMAIN_DRIVER,
					      aif_cuda_aside_at(i));
	for (unsigned i = 0; has_host_calls() && aif_cuda_allocation_at(i); i++)
		cuda->api.cuptiEnableCallback(1, cuda->subscriber, AIF_CUPTI_DOMAIN_DRIVER,
					      aif_cuda_allocation_at(i));
	for (unsigned i = 0; aif_cuda_memory_call_at(i); i++)
		cuda->api.cuptiEnableCallback(1, cuda->subscriber, AIF_CUPTI_DOMAIN_DRIVER,
					      aif_cuda_memory_call_at(i));
	/* Not the whole domain: that would call back for each launch. */
	for (unsigned i = 0; i < AIF_ARRAY_LEN(events); i++)
		cuda->api.cuptiEnableCallback(1, cuda->subscriber, AIF_CUPTI_DOMAIN_RESOURCE,
					      events[i]);
	aif_cuda_graphs_subscribe(cuda);
}
