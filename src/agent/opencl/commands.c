/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"
#include "agent/opencl/opencl.h"

/*
 * Every clEnqueue... that makes the device work. Each goes the same way:
 *
 *     begin    may this thread speak now, and is this launch to be captured? where are we? (registers,
 *              in the replaced function itself)
 *     launch   stack, LAUNCH record, a pending command
 *     the driver's function, with an event of ours where the application gave none
 *     finish   the application's event; the callback that will bring the times
 *
 * What the application gets is what it would get without us: result, event (with a reference more
 * until the callback has run), errors.
 */

struct command {
	struct aif_thread *thread;
	struct aif_cl_queue *queue;
	uint64_t time;
	struct aif_cl_pending *pending; /* NULL: its end will not be told */
	void *event;
	struct aif_regs regs;
	struct aif_emit_cost cost;
	uint64_t number;          /* among the queue's */
	bool blocking;            /* the driver's function returns when it is done */
	enum aif_host_call_id id; /* if blocking */
	uint32_t call;            /* token */
	uint32_t stack;
	struct aif_wait wait; /* if blocking */
};

static AIF_NOINLINE bool begin_rest(struct command *c, void *queue)
{
	if (!c->thread) {
		aif_emit_missed();
		return false;
	}
	c->queue = aif_cl_queue_get(queue);
	c->time = aif_now_ns();
	if (c->queue && aif_emit_wanted(c->thread, c->time))
		return true;
	aif_thread_leave(c->thread);
	return false;
}

/* Inlined, so that the registers are those of the replaced function. */
static inline __attribute__((always_inline)) bool begin(struct command *c, void *queue)
{
	c->blocking = false;
	c->thread = aif_thread_enter();
	AIF_REGS_HERE(&c->regs);
	return begin_rest(c, queue);
}

/* `shape`: a kernel's. */
static void launch(struct command *c, const struct aif_emit_api *api, struct aif_emit_launch *l,
		   const struct aif_emit_shape *shape)
{
	struct aif_thread *t = c->thread;
	struct aif_cl_pending *p;
	uint64_t number;

	c->pending = NULL;
	c->event = NULL;
	c->number = atomic_fetch_add_explicit(&c->queue->launched, 1, memory_order_relaxed) + 1;
	l->time = c->time;
	aif_emit_cost_begin(t, &c->cost, l->time);
	aif_capture_prefetch(t, &c->regs);
	if (shape)
		aif_emit_shape_prefetch(t, shape);
	aif_cl_queue_define(t, c->queue);
	l->stream = c->queue->id;
	l->stack = c->stack = aif_capture(t, &c->regs, api);
	if (shape) /* after the stack, which may make shapes' numbers start anew */
		l->shape = aif_emit_shape(t, shape);
	if (!aif_emit_launch(t, l, &number))
		goto out;
	aif_launching_set(number + 1);
	p = c->queue->profiled || c->queue->by_host ? aif_cl_pending_new() : NULL;
	if (!p) {
		aif_emit_note(t, AIF_REASON_NO_TIMES, 1, "");
		goto out;
	}
	p->kind = l->kind;
	p->queue = c->queue;
	p->number = c->number;
	p->launch = number;
	p->generation = t->generation;
	p->kernel = l->kernel;
	p->bytes = l->bytes;
	p->before = l->time;
	p->after = 0;
	p->queued = 0;
	p->running = 0;
	p->callbacks = 1;
	c->pending = p;
out:
	aif_emit_cost_pause(&c->cost);
	c->wait = (struct aif_wait){.since = 0};
	c->call = 0;
	if (c->blocking) {
		aif_wait_begin(&c->wait, &c->regs, api);
		if (aif_host_call_wanted(AIF_OPTION_CALLS))
			c->call = aif_host_call_open(t, c->id, AIF_HOST_CALL_SHORT_NS, l->time,
						     c->regs.sp, c->stack);
	}
	aif_thread_vendor(t);
}

static AIF_NOINLINE void launch_transfer(struct command *c, const struct aif_emit_api *api,
					 enum aif_emit_kind kind, uint64_t bytes)
{
	struct aif_emit_launch l = {.kind = kind, .kernel = AIF_WIRE_NONE, .bytes = bytes};

	launch(c, api, &l, NULL);
}

static AIF_NOINLINE void launch_kernel(struct command *c, const struct aif_emit_api *api,
				       void *kernel, uint32_t dims, const size_t *global,
				       const size_t *local)
{
	struct aif_emit_launch l = {.kind = AIF_EMIT_KERNEL, .kernel = AIF_WIRE_NONE};
	struct aif_cl_kernel *k = aif_cl_kernel_get(kernel);
	struct aif_emit_shape shape;

	if (k) {
		aif_cl_kernel_define(c->thread, k);
		l.kernel = k->id;
	}
	aif_cl_shape(dims, global, local, &shape);
	launch(c, api, &l, &shape);
}

/* The event that the driver is to fill. */
static void **event_for(struct command *c, void **event)
{
	return c->pending ? &c->event : event;
}

/* The driver is to call us when the command begins, where that tells its time, and when it has ended. Either may happen within
 * the call, and then writes to this thread's ring. */
static bool callbacks_set(struct command *c)
{
	struct aif_cl_pending *p = c->pending;
	bool ok;

	aif_thread_vendor(c->thread);
	if (c->queue->by_host) {
		p->callbacks = 2;
		if (TARGET->clSetEventCallback(c->event, AIF_CL_RUNNING, aif_cl_pending_runs, p) !=
		    AIF_CL_SUCCESS)
			p->callbacks = 1;
	}
	ok = TARGET->clSetEventCallback(c->event, AIF_CL_COMPLETE, aif_cl_pending_ended, p) ==
	     AIF_CL_SUCCESS;
	aif_thread_back(c->thread);
	return ok;
}

static AIF_NOINLINE int32_t finish(struct command *c, int32_t result, void **event)
{
	struct aif_cl_pending *p = c->pending;
	struct aif_thread *t = c->thread;
	uint64_t waited, since;

	aif_launching_set(0);
	aif_thread_back(t);
	if (c->call)
		aif_host_call_close(t, c->call, NULL, NULL);
	waited = aif_wait_over(&c->wait, &since);
	aif_emit_cost_resume(&c->cost);
	if (waited)
		aif_emit_wait(t, since, waited, c->stack);
	if (result != AIF_CL_SUCCESS)
		aif_emit_note(t, AIF_REASON_FAILED_COMMAND, 1, "");
	else if (c->blocking)
		aif_cl_queue_awaited(c->queue, c->number);
	if (p && result == AIF_CL_SUCCESS) {
		uint64_t now = c->queue->device->own_clock ? aif_now_ns() : 0;

		if (now && aif_cl_clock_pair_wanted(c->queue->device, now))
			p->after = now;
		/* The application's reference; the callback gives up ours. */
		if (event) {
			TARGET->clRetainEvent(c->event);
			*event = c->event;
			atomic_store_explicit(&c->queue->last, c->number, memory_order_relaxed);
			atomic_store_explicit(&c->queue->last_event, c->event,
					      memory_order_release);
		}
		if (!callbacks_set(c)) {
			TARGET->clReleaseEvent(c->event);
			aif_cl_pending_put(p);
			aif_emit_note(t, AIF_REASON_NO_TIMES, 1, "");
		}
	} else if (p) {
		aif_cl_pending_free(p);
	}
	aif_emit_cost_end(&c->cost);
	aif_thread_leave(t);
	return result;
}

static size_t element_size(void *image)
{
	size_t size = 0;

	TARGET->clGetImageInfo(image, AIF_CL_IMAGE_ELEMENT_SIZE, sizeof(size), &size, NULL);
	return size;
}

static uint64_t mems_size(uint32_t n, void *const *mems)
{
	uint64_t sum = 0;
	size_t size;

	for (uint32_t i = 0; mems && i < n; i++)
		if (TARGET->clGetMemObjectInfo(mems[i], AIF_CL_MEM_SIZE, sizeof(size), &size,
					       NULL) == AIF_CL_SUCCESS)
			sum += size;
	return sum;
}

static uint64_t sizes_sum(uint32_t n, const size_t *sizes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; sizes && i < n; i++)
		sum += sizes[i];
	return sum;
}

/* A command that is not captured may be waited for all the same. */
static inline void left_out(struct command *c, bool blocking, const struct aif_emit_api *api)
{
	c->wait = (struct aif_wait){.since = 0};
	if (blocking)
		aif_wait_begin(&c->wait, &c->regs, api);
}

#define WAIT uint32_t nwait, const void *wait, void **event

/* The replacement of `name`: its parameters, whether it returns when it is done, what it does, and (...) its arguments
 * up to the event. */
#define COMMAND(name, parameters, blocks, call_id, do_launch, ...)                              \
	static int32_t layer_##name parameters                                                  \
	{                                                                                       \
		struct command c;                                                               \
		int32_t r;                                                                      \
		if (aif_thread_asleep())                                                        \
			return TARGET->name(__VA_ARGS__, nwait, wait, event);                   \
		if (!begin(&c, queue)) {                                                        \
			left_out(&c, blocks, API(name));                                        \
			r = TARGET->name(__VA_ARGS__, nwait, wait, event);                      \
			aif_wait_end(&c.wait, &c.regs, API(name));                              \
			return r;                                                               \
		}                                                                               \
		c.blocking = blocks;                                                            \
		c.id = call_id;                                                                 \
		do_launch;                                                                      \
		return finish(&c, TARGET->name(__VA_ARGS__, nwait, wait, event_for(&c, event)), \
			      event);                                                           \
	}
#define BLOCKING(name, parameters, kind, bytes, ...)         \
	COMMAND(name, parameters, blocking, AIF_CALL_##name, \
		launch_transfer(&c, API(name), AIF_EMIT_##kind, bytes), __VA_ARGS__)
#define TRANSFER(name, parameters, kind, bytes, ...)     \
	COMMAND(name, parameters, false, AIF_HOST_CALLS, \
		launch_transfer(&c, API(name), AIF_EMIT_##kind, bytes), __VA_ARGS__)

COMMAND(clEnqueueNDRangeKernel,
	(void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global,
	 const size_t *local, WAIT),
	false, AIF_HOST_CALLS,
	launch_kernel(&c, API(clEnqueueNDRangeKernel), kernel, dims, global, local), queue, kernel,
	dims, offset, global, local)
COMMAND(clEnqueueTask, (void *queue, void *kernel, WAIT), false, AIF_HOST_CALLS,
	launch_kernel(&c, API(clEnqueueTask), kernel, 1, NULL, NULL), queue, kernel)

BLOCKING(clEnqueueReadBuffer,
	 (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size, void *to, WAIT),
	 READ, size, queue, buffer, blocking, offset, size, to)
BLOCKING(clEnqueueWriteBuffer,
	 (void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
	  const void *from, WAIT),
	 WRITE, size, queue, buffer, blocking, offset, size, from)
BLOCKING(clEnqueueReadBufferRect,
	 (void *queue, void *buffer, uint32_t blocking, const size_t *origin,
	  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
	  size_t host_row, size_t host_slice, void *to, WAIT),
	 READ, aif_cl_region_bytes(region, 1), queue, buffer, blocking, origin, host_origin, region,
	 row, slice, host_row, host_slice, to)
BLOCKING(clEnqueueWriteBufferRect,
	 (void *queue, void *buffer, uint32_t blocking, const size_t *origin,
	  const size_t *host_origin, const size_t *region, size_t row, size_t slice,
	  size_t host_row, size_t host_slice, const void *from, WAIT),
	 WRITE, aif_cl_region_bytes(region, 1), queue, buffer, blocking, origin, host_origin,
	 region, row, slice, host_row, host_slice, from)
TRANSFER(clEnqueueCopyBuffer,
	 (void *queue, void *from, void *to, size_t from_offset, size_t to_offset, size_t size,
	  WAIT),
	 COPY, size, queue, from, to, from_offset, to_offset, size)
TRANSFER(clEnqueueCopyBufferRect,
	 (void *queue, void *from, void *to, const size_t *from_origin, const size_t *to_origin,
	  const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
	  WAIT),
	 COPY, aif_cl_region_bytes(region, 1), queue, from, to, from_origin, to_origin, region,
	 from_row, from_slice, to_row, to_slice)
TRANSFER(clEnqueueFillBuffer,
	 (void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t offset,
	  size_t size, WAIT),
	 FILL, size, queue, buffer, pattern, pattern_size, offset, size)
TRANSFER(clEnqueueFillImage,
	 (void *queue, void *image, const void *color, const size_t *origin, const size_t *region,
	  WAIT),
	 FILL, aif_cl_region_bytes(region, element_size(image)), queue, image, color, origin,
	 region)
BLOCKING(clEnqueueReadImage,
	 (void *queue, void *image, uint32_t blocking, const size_t *origin, const size_t *region,
	  size_t row, size_t slice, void *to, WAIT),
	 READ, aif_cl_region_bytes(region, element_size(image)), queue, image, blocking, origin,
	 region, row, slice, to)
BLOCKING(clEnqueueWriteImage,
	 (void *queue, void *image, uint32_t blocking, const size_t *origin, const size_t *region,
	  size_t row, size_t slice, const void *from, WAIT),
	 WRITE, aif_cl_region_bytes(region, element_size(image)), queue, image, blocking, origin,
	 region, row, slice, from)
TRANSFER(clEnqueueCopyImage,
	 (void *queue, void *from, void *to, const size_t *from_origin, const size_t *to_origin,
	  const size_t *region, WAIT),
	 COPY, aif_cl_region_bytes(region, element_size(from)), queue, from, to, from_origin,
	 to_origin, region)
TRANSFER(clEnqueueCopyImageToBuffer,
	 (void *queue, void *image, void *buffer, const size_t *origin, const size_t *region,
	  size_t offset, WAIT),
	 COPY, aif_cl_region_bytes(region, element_size(image)), queue, image, buffer, origin,
	 region, offset)
TRANSFER(clEnqueueCopyBufferToImage,
	 (void *queue, void *buffer, void *image, size_t offset, const size_t *origin,
	  const size_t *region, WAIT),
	 COPY, aif_cl_region_bytes(region, element_size(image)), queue, buffer, image, offset,
	 origin, region)
TRANSFER(clEnqueueUnmapMemObject, (void *queue, void *mem, void *mapped, WAIT), UNMAP, 0, queue,
	 mem, mapped)
TRANSFER(clEnqueueMigrateMemObjects,
	 (void *queue, uint32_t n, void *const *mems, uint64_t flags, WAIT), MIGRATE,
	 mems_size(n, mems), queue, n, mems, flags)
BLOCKING(clEnqueueSVMMemcpy,
	 (void *queue, uint32_t blocking, void *to, const void *from, size_t size, WAIT), COPY,
	 size, queue, blocking, to, from, size)
TRANSFER(clEnqueueSVMMemFill,
	 (void *queue, void *to, const void *pattern, size_t pattern_size, size_t size, WAIT), FILL,
	 size, queue, to, pattern, pattern_size, size)
BLOCKING(clEnqueueSVMMap,
	 (void *queue, uint32_t blocking, uint64_t flags, void *at, size_t size, WAIT), MAP, size,
	 queue, blocking, flags, at, size)
TRANSFER(clEnqueueSVMUnmap, (void *queue, void *at, WAIT), UNMAP, 0, queue, at)
TRANSFER(clEnqueueSVMMigrateMem,
	 (void *queue, uint32_t n, const void **at, const size_t *sizes, uint64_t flags, WAIT),
	 MIGRATE, sizes_sum(n, sizes), queue, n, at, sizes, flags)

/* Mapping calls return a pointer, and their error by reference. */

static void *layer_clEnqueueMapBuffer(void *queue, void *buffer, uint32_t blocking, uint64_t flags,
				      size_t offset, size_t size, WAIT, int32_t *ret_error)
{
	struct command c;
	int32_t error = AIF_CL_SUCCESS;
	void *at;

	if (aif_thread_asleep())
		return TARGET->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size,
						  nwait, wait, event, ret_error);
	if (!begin(&c, queue)) {
		left_out(&c, blocking, API(clEnqueueMapBuffer));
		at = TARGET->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, nwait,
						wait, event, ret_error);
		aif_wait_end(&c.wait, &c.regs, API(clEnqueueMapBuffer));
		return at;
	}
	c.blocking = blocking;
	c.id = AIF_CALL_clEnqueueMapBuffer;
	launch_transfer(&c, API(clEnqueueMapBuffer), AIF_EMIT_MAP, size);
	at = TARGET->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, nwait, wait,
					event_for(&c, event), &error);
	finish(&c, error, event);
	if (ret_error)
		*ret_error = error;
	return at;
}

static void *layer_clEnqueueMapImage(void *queue, void *image, uint32_t blocking, uint64_t flags,
				     const size_t *origin, const size_t *region, size_t *ret_row,
				     size_t *ret_slice, WAIT, int32_t *ret_error)
{
	struct command c;
	int32_t error = AIF_CL_SUCCESS;
	void *at;

	if (aif_thread_asleep())
		return TARGET->clEnqueueMapImage(queue, image, blocking, flags, origin, region,
						 ret_row, ret_slice, nwait, wait, event, ret_error);
	if (!begin(&c, queue)) {
		left_out(&c, blocking, API(clEnqueueMapImage));
		at = TARGET->clEnqueueMapImage(queue, image, blocking, flags, origin, region,
					       ret_row, ret_slice, nwait, wait, event, ret_error);
		aif_wait_end(&c.wait, &c.regs, API(clEnqueueMapImage));
		return at;
	}
	c.blocking = blocking;
	c.id = AIF_CALL_clEnqueueMapImage;
	launch_transfer(&c, API(clEnqueueMapImage), AIF_EMIT_MAP,
			aif_cl_region_bytes(region, element_size(image)));
	at = TARGET->clEnqueueMapImage(queue, image, blocking, flags, origin, region, ret_row,
				       ret_slice, nwait, wait, event_for(&c, event), &error);
	finish(&c, error, event);
	if (ret_error)
		*ret_error = error;
	return at;
}

void aif_cl_commands_install(struct aif_cl_dispatch *layer)
{
#define INSTALL(name) layer->name = layer_##name
	INSTALL(clEnqueueNDRangeKernel);
	INSTALL(clEnqueueTask);
	INSTALL(clEnqueueReadBuffer);
	INSTALL(clEnqueueWriteBuffer);
	INSTALL(clEnqueueReadBufferRect);
	INSTALL(clEnqueueWriteBufferRect);
	INSTALL(clEnqueueCopyBuffer);
	INSTALL(clEnqueueCopyBufferRect);
	INSTALL(clEnqueueFillBuffer);
	INSTALL(clEnqueueFillImage);
	INSTALL(clEnqueueReadImage);
	INSTALL(clEnqueueWriteImage);
	INSTALL(clEnqueueCopyImage);
	INSTALL(clEnqueueCopyImageToBuffer);
	INSTALL(clEnqueueCopyBufferToImage);
	INSTALL(clEnqueueMapBuffer);
	INSTALL(clEnqueueMapImage);
	INSTALL(clEnqueueUnmapMemObject);
	INSTALL(clEnqueueMigrateMemObjects);
	INSTALL(clEnqueueSVMMemcpy);
	INSTALL(clEnqueueSVMMemFill);
	INSTALL(clEnqueueSVMMap);
	INSTALL(clEnqueueSVMUnmap);
	INSTALL(clEnqueueSVMMigrateMem);
#undef INSTALL
}
