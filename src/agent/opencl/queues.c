/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <string.h>

/*
 * Every queue gets profiling, without which the driver gives no times. An application that did not ask
 * for it sees its own properties, and is refused times, as if we were not there. While no recorder
 * lives queues are made as asked.
 */

static void *create_queue(void *context, void *device, uint64_t properties, int32_t *ret_error)
{
	struct aif_task_list tasks;
	bool profiled = aif_session_wanted() && !(properties & AIF_CL_QUEUE_ON_DEVICE);
	void *queue = NULL;

	aif_sampler_before(&tasks);
	if (profiled)
		queue = TARGET->clCreateCommandQueue(
			context, device, properties | AIF_CL_QUEUE_PROFILING_ENABLE, ret_error);
	if (!queue) {
		profiled = properties & AIF_CL_QUEUE_PROFILING_ENABLE;
		queue = TARGET->clCreateCommandQueue(context, device, properties, ret_error);
	}
	aif_sampler_after(&tasks);
	if (queue)
		aif_cl_queue_new(queue, context, device, profiled, properties, NULL, false);
	return queue;
}

static void *create_queue_with_properties(void *context, void *device, const uint64_t *list,
					  int32_t *ret_error)
{
	uint64_t forced[AIF_CL_PROPERTIES_MAX], asked = 0;
	struct aif_task_list tasks;
	bool profiled =
		aif_session_wanted() && aif_cl_properties_profiled(list, forced, &asked) > 0;
	void *queue = NULL;

	aif_sampler_before(&tasks);
	if (profiled)
		queue = TARGET->clCreateCommandQueueWithProperties(context, device, forced,
								   ret_error);
	if (queue) {
		aif_cl_queue_new(queue, context, device, true, asked, list, true);
	} else {
		queue = TARGET->clCreateCommandQueueWithProperties(context, device, list,
								   ret_error);
		for (; queue && list && *list; list += 2)
			if (*list == AIF_CL_QUEUE_PROPERTIES)
				asked = list[1];
		if (queue)
			aif_cl_queue_new(queue, context, device,
					 asked & AIF_CL_QUEUE_PROFILING_ENABLE, asked, NULL, false);
	}
	aif_sampler_after(&tasks);
	return queue;
}

/* Did we turn profiling on, unasked? */
static bool is_hidden(const struct aif_cl_queue *q)
{
	return q && q->profiled && !q->app_profiles;
}

static int32_t get_queue_info(void *queue, uint32_t name, size_t size, void *value,
			      size_t *ret_size)
{
	const struct aif_cl_queue *q = aif_handles_get(&CL->queues, queue);
	size_t len = q ? q->list_len * sizeof(*q->list) : 0;
	int32_t r;

	if (name == AIF_CL_QUEUE_PROPERTIES_ARRAY && is_hidden(q) && q->has_list) {
		/* Asks also for what the driver says: it may not know the name. */
		r = TARGET->clGetCommandQueueInfo(queue, name, 0, NULL, NULL);
		if (r < 0)
			return r;
		if (value && size < len)
			return AIF_CL_INVALID_VALUE;
		if (value && len)
			memcpy(value, q->list, len);
		if (ret_size)
			*ret_size = len;
		return r;
	}
	r = TARGET->clGetCommandQueueInfo(queue, name, size, value, ret_size);
	if (r == AIF_CL_SUCCESS && name == AIF_CL_QUEUE_PROPERTIES && value && is_hidden(q))
		*(uint64_t *)value &= ~(uint64_t)AIF_CL_QUEUE_PROFILING_ENABLE;
	return r;
}

/* OpenCL 1.0: an application may turn profiling on and off. It stays on; what it sees follows. */
static int32_t set_queue_property(void *queue, uint64_t properties, uint32_t enable,
				  uint64_t *ret_old)
{
	struct aif_cl_queue *q = aif_handles_get(&CL->queues, queue);
	const uint64_t bit = AIF_CL_QUEUE_PROFILING_ENABLE;
	uint64_t others = properties & ~bit;
	bool hidden = is_hidden(q);
	int32_t r;

	if (!q || !q->profiled || !(properties & bit))
		r = TARGET->clSetCommandQueueProperty(queue, properties, enable, ret_old);
	else if (enable || !others)
		r = TARGET->clSetCommandQueueProperty(queue, properties, 1, ret_old);
	else
		r = TARGET->clSetCommandQueueProperty(queue, others, 0, ret_old);
	if (r == AIF_CL_SUCCESS && hidden && ret_old)
		*ret_old &= ~bit;
	if (r == AIF_CL_SUCCESS && q && q->profiled && (properties & bit))
		q->app_profiles = enable;
	return r;
}

static int32_t get_profiling_info(void *event, uint32_t name, size_t size, void *value,
				  size_t *ret_size)
{
	void *queue = NULL;

	if (TARGET->clGetEventInfo(event, AIF_CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
				   NULL) == AIF_CL_SUCCESS &&
	    queue && is_hidden(aif_handles_get(&CL->queues, queue)))
		return AIF_CL_PROFILING_INFO_NOT_AVAILABLE;
	return TARGET->clGetEventProfilingInfo(event, name, size, value, ret_size);
}

/* Commands that the application has waited for. */

void aif_cl_queue_awaited(struct aif_cl_queue *q, uint64_t number)
{
	uint64_t old = atomic_load_explicit(&q->awaited, memory_order_relaxed);

	while (old < number &&
	       !atomic_compare_exchange_weak_explicit(&q->awaited, &old, number,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static int32_t finish_queue(void *queue)
{
	struct aif_cl_queue *q = aif_thread_asleep() ? NULL : aif_handles_get(&CL->queues, queue);
	uint64_t launched = q ? atomic_load_explicit(&q->launched, memory_order_relaxed) : 0;
	struct aif_wait wait;
	struct aif_regs regs;
	uint32_t call;
	int32_t r;

	AIF_REGS_HERE(&regs);
	call = CALL_BEGIN(clFinish, &regs);
	aif_wait_begin(&wait, &regs, API(clFinish));
	r = TARGET->clFinish(queue);
	aif_wait_end(&wait, &regs, API(clFinish));
	CALL_END(clFinish, call, &regs);
	if (q && r == AIF_CL_SUCCESS)
		aif_cl_queue_awaited(q, launched);
	return r;
}

/* The queue whose last event this is, and its number. An event other than its queue's last one tells nothing
 * here: then an exit waits for a command less. */
static struct aif_cl_queue *last_of(void *event, uint64_t *ret_number)
{
	struct aif_cl_queue *q;
	void *queue = NULL;

	if (TARGET->clGetEventInfo(event, AIF_CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
				   NULL) != AIF_CL_SUCCESS)
		return NULL;
	q = aif_handles_get(&CL->queues, queue);
	if (!q || atomic_load_explicit(&q->last_event, memory_order_acquire) != event)
		return NULL;
	*ret_number = atomic_load_explicit(&q->last, memory_order_relaxed);
	return q;
}

/* Looks at the events before it waits: afterwards another thread may have released them. */
static int32_t wait_for_events(uint32_t n, void *const *events)
{
	struct {
		struct aif_cl_queue *queue;
		uint64_t number;
	} last[8];
	uint32_t len = 0;
	struct aif_wait wait;
	struct aif_regs regs;
	uint32_t call;
	int32_t r;

	if (aif_thread_asleep())
		return TARGET->clWaitForEvents(n, events);
	for (uint32_t i = n; events && i-- > 0 && n - i <= AIF_ARRAY_LEN(last);) {
		last[len].queue = last_of(events[i], &last[len].number);
		len += last[len].queue != NULL;
	}
	AIF_REGS_HERE(&regs);
	call = CALL_BEGIN(clWaitForEvents, &regs);
	aif_wait_begin(&wait, &regs, API(clWaitForEvents));
	r = TARGET->clWaitForEvents(n, events);
	aif_wait_end(&wait, &regs, API(clWaitForEvents));
	CALL_END(clWaitForEvents, call, &regs);
	for (uint32_t i = 0; i < len && r == AIF_CL_SUCCESS; i++)
		aif_cl_queue_awaited(last[i].queue, last[i].number);
	return r;
}

/* The driver's worker threads start in one of these. */

static int32_t get_device_ids(void *platform, uint64_t type, uint32_t n, void **devices,
			      uint32_t *ret_n)
{
	struct aif_task_list tasks;
	int32_t r;

	aif_sampler_before(&tasks);
	r = TARGET->clGetDeviceIDs(platform, type, n, devices, ret_n);
	aif_sampler_after(&tasks);
	return r;
}

static void *create_context(const intptr_t *properties, uint32_t n, void *const *devices,
			    aif_cl_context_notify *notify, void *data, int32_t *ret_error)
{
	struct aif_task_list tasks;
	void *context;

	aif_sampler_before(&tasks);
	context = TARGET->clCreateContext(properties, n, devices, notify, data, ret_error);
	aif_sampler_after(&tasks);
	return context;
}

static void *create_context_from_type(const intptr_t *properties, uint64_t type,
				      aif_cl_context_notify *notify, void *data, int32_t *ret_error)
{
	struct aif_task_list tasks;
	void *context;

	aif_sampler_before(&tasks);
	context = TARGET->clCreateContextFromType(properties, type, notify, data, ret_error);
	aif_sampler_after(&tasks);
	return context;
}

void aif_cl_queues_install(struct aif_cl_dispatch *layer)
{
	layer->clFinish = finish_queue;
	layer->clWaitForEvents = wait_for_events;
	layer->clGetDeviceIDs = get_device_ids;
	layer->clCreateContext = create_context;
	layer->clCreateContextFromType = create_context_from_type;
	layer->clCreateCommandQueue = create_queue;
	layer->clCreateCommandQueueWithProperties = create_queue_with_properties;
	layer->clGetCommandQueueInfo = get_queue_info;
	layer->clSetCommandQueueProperty = set_queue_property;
	layer->clGetEventProfilingInfo = get_profiling_info;
}
