/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <errno.h>

/*
 * A driver that stamps with a host clock is found out when an application makes its first queue on
 * a device: three markers in a queue of our own, each between two readings of all clocks. That
 * costs about as much as a queue does, once per device, outside of any launch. A device that does
 * not come to them in a tenth of a second (another process's kernel runs there, or nothing does at
 * all) is not waited for: it counts as one of the others, and what was asked of it is left, since
 * giving it back may wait, too. On a busy host this thread loses its CPU as the device's threads
 * do, and that time counts in part only. All other drivers' times are recorded as they are, as
 * ticks of the device's own clock, with pairs that tie it to the host's: from
 * clGetDeviceAndHostTimer each second, else from launches (before, QUEUED, after), at most ten a
 * second.
 */

#define PROBES         3
#define PROBES_NS      (AIF_NS_PER_S / 10)
#define PROBES_MOST_NS AIF_NS_PER_S
#define PROBE_STEP_NS  50000
/* The most that a step counts for. It takes about twice what it was asked to, where a CPU is free. */
#define PROBE_COUNTS_NS 150000
#define TIMER_EACH_NS   AIF_NS_PER_S
#define BRACKET_EACH_NS (AIF_NS_PER_S / 10)

static const clockid_t ids[AIF_CL_HOST_CLOCKS] = {
	[AIF_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
	[AIF_CLOCK_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
	[AIF_CLOCK_REALTIME] = CLOCK_REALTIME,
	[AIF_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
};

uint64_t aif_cl_clock_now(const struct aif_cl_device *d)
{
	return aif_clock_ns(ids[d->desc.clock]);
}

static void read_clocks(uint64_t now[AIF_CL_HOST_CLOCKS])
{
	for (unsigned i = 0; i < AIF_CL_HOST_CLOCKS; i++)
		now[i] = aif_clock_ns(ids[i]);
}

/* The time for which a device is still waited for, and its latest end, ns. */
struct patience {
	uint64_t left, until;
};

/* Returns false if the event does not end in that time. */
static bool ends(void *event, struct patience *p)
{
	const struct timespec step = {.tv_nsec = PROBE_STEP_NS};
	uint64_t now = aif_now_ns(), before;
	int32_t status;

	while (TARGET->clGetEventInfo(event, AIF_CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				      &status, NULL) == 0 &&
	       status > AIF_CL_COMPLETE) {
		if (!p->left || now > p->until)
			return false;
		nanosleep(&step, NULL);
		before = now;
		now = aif_now_ns();
		p->left -= AIF_MIN(p->left, AIF_MIN(now - before, PROBE_COUNTS_NS));
	}
	return true;
}

/* 1, 0: nothing was learnt; -EBUSY: nor will be. */
static int probe_once(void *queue, struct aif_cl_probe *p, struct patience *patience)
{
	void *event = NULL;
	bool good;

	read_clocks(p->before);
	if (TARGET->clEnqueueMarker(queue, &event) < 0)
		return 0;
	read_clocks(p->after);
	if (TARGET->clFlush(queue) < 0 || !ends(event, patience))
		return -EBUSY;
	good = TARGET->clGetEventProfilingInfo(event, AIF_CL_PROFILING_COMMAND_QUEUED,
					       sizeof(p->queued), &p->queued, NULL) == 0;
	TARGET->clReleaseEvent(event);
	return good;
}

uint32_t aif_cl_clock_probe(void *context, void *device)
{
	struct aif_cl_probe probes[PROBES];
	const int saved = errno;
	unsigned n = 0;
	struct patience patience;
	int32_t error;
	void *queue;
	int r = 0;

	if (!TARGET->clCreateCommandQueue || !TARGET->clEnqueueMarker)
		return AIF_WIRE_NONE;
	queue = TARGET->clCreateCommandQueue(context, device, AIF_CL_QUEUE_PROFILING_ENABLE,
					     &error);
	if (!queue)
		return AIF_WIRE_NONE;
	patience = (struct patience){PROBES_NS, aif_now_ns() + PROBES_MOST_NS};
	while (n < PROBES && (r = probe_once(queue, &probes[n], &patience)) > 0)
		n++;
	if (r >= 0)
		TARGET->clReleaseCommandQueue(queue);
	errno = saved;
	return n == PROBES ? aif_cl_clock_of(probes, n) : AIF_WIRE_NONE;
}

static bool read_timer(void *device, uint64_t *ret_value)
{
	uint64_t host;

	return TARGET->clGetDeviceAndHostTimer(device, ret_value, &host) >= 0;
}

void aif_cl_clock_tick(struct aif_thread *t, uint64_t now)
{
	for (struct aif_cl_device *d = CL->devices; d; d = d->next) {
		uint64_t last = atomic_load_explicit(&d->pair_ns, memory_order_relaxed);
		struct aif_clock_reading r;

		if (!d->own_clock || !d->has_timer || now - last < TIMER_EACH_NS)
			continue;
		if (!aif_clock_read(read_timer, d->handle, &r)) {
			d->has_timer = false; /* launches bring the pairs then */
			continue;
		}
		if (aif_emit_clock(t, d->desc.clock, r.before, r.after, r.value))
			atomic_store_explicit(&d->pair_ns, now, memory_order_relaxed);
	}
}

bool aif_cl_clock_pair_wanted(const struct aif_cl_device *d, uint64_t now)
{
	return d->own_clock && !d->has_timer &&
	       now - atomic_load_explicit(&d->pair_ns, memory_order_relaxed) >= BRACKET_EACH_NS;
}

void aif_cl_clock_pair(struct aif_thread *t, const struct aif_cl_pending *p)
{
	struct aif_cl_device *d = p->queue->device;

	if (p->after && p->queued && aif_cl_clock_pair_wanted(d, p->after) &&
	    aif_emit_clock(t, d->desc.clock, p->before, p->after, p->queued))
		atomic_store_explicit(&d->pair_ns, p->after, memory_order_relaxed);
}
