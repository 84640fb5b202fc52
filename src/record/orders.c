/* SPDX-License-Identifier: Apache-2.0 */
#include "record/orders.h"

#include "base/job_rank.h"
#include "base/process_read.h"

#include <stdio.h>
#include <time.h>

static uint64_t job_of(int pid)
{
	struct aif_buf text = {0};
	uint64_t job;

	(void)aif_process_text(pid, "environ", ENVIRONMENT_MAX, &text);
	job = aif_job_number(aif_buf_str(&text), text.len);
	aif_buf_finish(&text);
	return job;
}

/* Returns CLOCK_REALTIME less CLOCK_MONOTONIC. */
static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * AIF_NS_PER_S + (uint64_t)t.tv_nsec - aif_now_ns();
}

void aif_orders_write(const struct aif_record_opts *o, int pid, const struct aif_hello *h,
		      struct aif_shm *shm)
{
	shm->options = (o->device_lines ? AIF_OPTION_DEVICE_LINES : 0) |
		       (o->no_source ? AIF_OPTION_NO_SOURCE : 0) |
		       (o->no_python ? AIF_OPTION_NO_PYTHON : 0) |
		       (o->children ? AIF_OPTION_CHILDREN : 0) |
		       (o->calls != AIF_RECORD_CALLS_OFF ? AIF_OPTION_CALLS : 0) |
		       (o->calls == AIF_RECORD_CALLS_ON     ? AIF_OPTION_CUDA_CALLS
			: o->calls == AIF_RECORD_CALLS_AUTO ? AIF_OPTION_CUDA_LONG_CALLS
							    : 0);
	shm->options |= o->cpu_may_tick ? AIF_OPTION_CPU_TICKS : 0;
	shm->options |= aif_record_has_all_cpu(o) ? AIF_OPTION_CPU_ALL : 0;
	shm->device_rate = aif_record_rate(o);
	shm->stall_rate = o->device_rate;
	static_assert(AIF_RECORD_COUNTERS == AIF_SHM_COUNTERS, "no name is cut");
	if (o->counters)
		snprintf(shm->counters, sizeof(shm->counters), "%s", o->counters);
	shm->counters_period_ns =
		o->counters_period_ns ? o->counters_period_ns : AIF_RECORD_COUNTERS_PERIOD_NS;
	shm->cpu_rate = o->cpu_rate;
	shm->filters = h->filters;
	shm->schedule = o->schedule;
	shm->overhead_ppm = o->all_launches ? 0 : o->overhead_ppm;
	shm->job = pid > 0 ? job_of(pid) : 0;
	shm->realtime = realtime();
	shm->cupti = (uint32_t)o->cupti;
}
