/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <unistd.h>

/*
 * From a launch to its end. A launch that was recorded takes a description from the pool, which the
 * event's callback gets, on a thread of the driver's or within one of our own calls. The callback reads
 * the times and writes the EXEC record to its own thread's ring. Where that thread has none, or is
 * inside an entry, the description joins the deferred list, which the helper thread empties each
 * 250 ms.
 *
 * Pool and deferred list are stacks of indices. A change count in the upper half of the head word keeps
 * a slow thread from taking back a head that has come and gone (ABA).
 */

int aif_cl_pool_init(struct aif_cl_pool *pool)
{
	pool->all = aif_pages(AIF_CL_PENDING_MAX * sizeof(*pool->all));
	return pool->all ? 0 : -1;
}

static void push(_Atomic uint64_t *head, struct aif_cl_pending *p)
{
	uint64_t old = atomic_load_explicit(head, memory_order_relaxed), new;

	do {
		atomic_store_explicit(&p->next, (uint32_t)old, memory_order_relaxed);
		new = ((old >> 32) + 1) << 32 | (uint32_t)(p - CL->pool.all + 1);
	} while (!atomic_compare_exchange_weak_explicit(head, &old, new, memory_order_release,
							memory_order_relaxed));
}

static struct aif_cl_pending *pop(_Atomic uint64_t *head)
{
	uint64_t old = atomic_load_explicit(head, memory_order_acquire), new;
	struct aif_cl_pending *p;

	do {
		if (!(uint32_t)old)
			return NULL;
		p = &CL->pool.all[(uint32_t)old - 1];
		new = ((old >> 32) + 1) << 32 |
		      atomic_load_explicit(&p->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(head, &old, new, memory_order_acquire,
							memory_order_acquire));
	return p;
}

struct aif_cl_pending *aif_cl_pending_new(void)
{
	struct aif_cl_pool *pool = &CL->pool;
	struct aif_cl_pending *p = pop(&pool->free);
	uint32_t i;

	if (p)
		return p;
	if (atomic_load_explicit(&pool->made, memory_order_relaxed) >= AIF_CL_PENDING_MAX)
		return NULL;
	i = atomic_fetch_add_explicit(&pool->made, 1, memory_order_relaxed);
	return i < AIF_CL_PENDING_MAX ? &pool->all[i] : NULL;
}

void aif_cl_pending_free(struct aif_cl_pending *p)
{
	p->queue = NULL;
	push(&CL->pool.free, p);
}

void aif_cl_pending_put(struct aif_cl_pending *p)
{
	if (atomic_fetch_sub_explicit(&p->callbacks, 1, memory_order_acq_rel) == 1)
		aif_cl_pending_free(p);
}

static void tell(struct aif_thread *t, const struct aif_cl_pending *p)
{
	const struct aif_emit_exec e = {
		.kind = p->kind,
		.launch = p->launch,
		.start = p->start,
		.end = p->end,
		.stream = p->queue->id,
		.kernel = p->kernel,
		.bytes = p->bytes,
	};

	if (p->generation != t->generation)
		return; /* a child ends what its parent launched */
	aif_cl_clock_pair(t, p);
	if (p->status < 0)
		aif_emit_note(t, AIF_REASON_FAILED_COMMAND, 1, "");
	else if (!aif_cl_times_good(p->start, p->end))
		aif_emit_note(t, AIF_REASON_NO_TIMES, 1, "");
	else
		aif_emit_exec(t, &e);
	if (p->queue->by_host)
		aif_emit_note(t, AIF_REASON_HOST_TIMES, 1, "");
}

static uint64_t stamp(void *event, uint32_t name)
{
	uint64_t ns = 0;

	return TARGET->clGetEventProfilingInfo(event, name, sizeof(ns), &ns, NULL) < 0 ? 0 : ns;
}

/* Begins when the driver says that it runs, at the earliest when it was launched and, in order, the one before has ended. A
 * driver that says both at once says nothing of its beginning. */
static void time_by_host(struct aif_cl_pending *p)
{
	struct aif_cl_queue *q = p->queue;
	/* In this order, so that what is found for the launch is no earlier than it was. */
	uint64_t since = aif_now_ns() - p->before, now = aif_cl_clock_now(q->device),
		 before = now - since,
		 running = atomic_load_explicit(&p->running, memory_order_acquire),
		 last = atomic_exchange_explicit(&q->last_end, now, memory_order_relaxed);

	if (!q->out_of_order)
		before = AIF_MAX(before, last);
	p->start = running && now - running >= 1000 ? AIF_MAX(running, before) : before;
	p->end = AIF_MAX(now, p->start + 1);
}

void aif_cl_pending_runs(void *event, int32_t status, void *data)
{
	struct aif_cl_pending *p = data;

	(void)event;
	if (status >= 0)
		atomic_store_explicit(&p->running, aif_cl_clock_now(p->queue->device),
				      memory_order_release);
	aif_cl_pending_put(p);
}

/* Notes a CPU device's worker that was there before the agent: it ends commands, and is neither in a call of the program's nor has it
 * launched anything. */
static void see_worker(const struct aif_thread *t, enum aif_busy was,
		       const struct aif_cl_pending *p)
{
	if (CL->is_late && was == AIF_BUSY_NOT && !t->stacks.len && !t->block_launches &&
	    p->queue->device->desc.kind == AIF_EMIT_DEVICE_CPU && t->tid != (uint32_t)getpid())
		aif_sampler_see_worker(&aif_agent.sampler, t->tid);
}

void aif_cl_pending_ended(void *event, int32_t status, void *data)
{
	struct aif_cl_pending *p = data;
	struct aif_thread *t;
	enum aif_busy was;

	p->status = status;
	if (p->queue->by_host) {
		time_by_host(p);
	} else {
		p->start = stamp(event, AIF_CL_PROFILING_COMMAND_START);
		p->end = stamp(event, AIF_CL_PROFILING_COMMAND_END);
		if (p->after)
			p->queued = stamp(event, AIF_CL_PROFILING_COMMAND_QUEUED);
	}
	TARGET->clReleaseEvent(event);
	t = aif_thread_enter_callback(&was);
	if (t) {
		see_worker(t, was, p);
		tell(t, p);
		aif_thread_leave_callback(t, was);
		p->number = UINT64_MAX;
		aif_cl_pending_put(p);
	} else {
		push(&CL->pool.deferred, p);
	}
}

void aif_cl_pending_tick(struct aif_thread *t)
{
	struct aif_cl_pending *p;

	while ((p = pop(&CL->pool.deferred))) {
		tell(t, p);
		p->number = UINT64_MAX;
		aif_cl_pending_put(p);
	}
}

uint32_t aif_cl_pending_awaited(void)
{
	struct aif_cl_pool *pool = &CL->pool;
	uint32_t made = AIF_MIN(atomic_load(&pool->made), AIF_CL_PENDING_MAX), n = 0;

	for (uint32_t i = 0; i < made; i++) {
		const struct aif_cl_pending *p = &pool->all[i];
		const struct aif_cl_queue *q = p->queue;

		n += q && p->number <= atomic_load_explicit(&q->awaited, memory_order_relaxed);
	}
	return n;
}
