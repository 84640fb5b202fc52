/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/sampling_setup.h"

#include "agent/cuda/cuda.h"
#include "base/proc.h"

#include <string.h>

/*
 * Prepares sampling: whether it is allowed, buffers and a configuration. A number that CUPTI does not accept is left as
 * CUPTI has it.
 */

/* Buffer in the device's memory. A sample takes some 32 bytes of it (inferred from when it overflows): 2 s at the
 * default rate. CUPTI's own choice is 512 MiB. */
#define HARDWARE_BUFFER (UINT64_C(64) << 20)
#define SCRATCH_BUFFER  (UINT64_C(16) << 20)
/* Taken at a time, into 17 MiB: their reasons' 16 MiB become real as they are used. */
#define PCS 16384
/* About a million samples a second of a GPU: 100 of a kernel that fills it for 100 us. */
#define SAMPLES_A_SECOND 750000.0
#define DEFAULT_RATE     999 /* --device-rate was not given */
#define MIN_PERIOD       10

/* True if the driver lets this process sample. Asking CUPTI and being refused would make its later
 * calls fail, too. */
bool aif_cuda_sampling_allowed(void)
{
	char params[8192];

	if (getenv("AIFLAME_NO_COUNTERS")) /* for tests: as where they are not allowed */
		return false;
	aif_proc_read("/proc/driver/nvidia/params", params, sizeof(params));
	return !strstr(params, "RmProfilingAdminOnly: 1") || aif_proc_is_admin();
}

static struct aif_cupti_samples *buffer_new(const struct aif_cuda *cuda)
{
	size_t each =
		cuda->sampling.pc_size + AIF_CUDA_REASONS * sizeof(struct aif_cupti_pc_reason);
	struct aif_cupti_samples *b = aif_pages(sizeof(*b) + PCS * each);
	struct aif_cupti_pc_reason *reasons;
	uint8_t *pcs;

	if (!b)
		return NULL;
	pcs = (uint8_t *)(b + 1);
	reasons = (struct aif_cupti_pc_reason *)(pcs + PCS * cuda->sampling.pc_size);
	b->size = AIF_CUPTI_SAMPLES_SIZE(cuda->version);
	b->cap = PCS;
	b->pcs = pcs;
	for (size_t i = 0; i < PCS; i++) {
		struct aif_cupti_pc *pc = (void *)(pcs + i * cuda->sampling.pc_size);

		pc->size = cuda->sampling.pc_size;
		pc->reasons = reasons + i * AIF_CUDA_REASONS;
	}
	return b;
}

/* log2 of the cycles between two samples of an SM. */
static uint32_t period_of(uint32_t rate, double units, double hertz)
{
	double cycles =
		rate == DEFAULT_RATE ? units * hertz / SAMPLES_A_SECOND : hertz / (double)rate;
	uint32_t p = MIN_PERIOD;

	/* The nearest power: 2^(p + 1/2) is the border. */
	while (p < AIF_CUDA_PERIOD_MAX && cycles > 1.41421356 * (double)(UINT64_C(1) << p))
		p++;
	return p;
}

static int set(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_cupti_attribute *a,
	       size_t n)
{
	struct aif_cupti_attribute_params p = {
		.size = sizeof(p), .context = c->context, .len = n, .attributes = a};

	return cuda->api.cuptiPCSamplingSetConfigurationAttribute(&p);
}

static int configure(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cupti_attribute musts[] = {
		{.type = AIF_CUPTI_MODE, .number = AIF_CUPTI_MODE_CONTINUOUS},
		{.type = AIF_CUPTI_DATA_BUFFER, .pointer = c->config}};
	/* Attributes are set one by one: a version or a device may not accept some. */
	struct aif_cupti_attribute wishes[] = {
		{.type = AIF_CUPTI_PERIOD, .number = c->period},
		{.type = AIF_CUPTI_HARDWARE_BUFFER, .bytes = HARDWARE_BUFFER},
		{.type = AIF_CUPTI_SCRATCH, .bytes = SCRATCH_BUFFER},
		{.type = AIF_CUPTI_WORKER_SLEEP, .number = AIF_CUDA_WORKER_MS}};
	int r = set(cuda, c, musts, AIF_ARRAY_LEN(musts));

	c->device_bytes = 0;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(wishes) && !r; i++)
		if (!set(cuda, c, &wishes[i], 1) && wishes[i].type == AIF_CUPTI_HARDWARE_BUFFER)
			c->device_bytes = HARDWARE_BUFFER;
	return r;
}

/* Reads back the period that CUPTI has set. */
static void read_period(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cupti_attribute a = {.type = AIF_CUPTI_PERIOD};
	struct aif_cupti_attribute_params p = {
		.size = sizeof(p), .context = c->context, .len = 1, .attributes = &a};

	if (!cuda->api.cuptiPCSamplingGetConfigurationAttribute(&p) && a.number < 64)
		c->period = a.number;
	c->period_ps = (uint64_t)((double)(UINT64_C(1) << c->period) / c->hertz * 1e12);
}

int aif_cuda_sampling_prepare(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	int device, units = 0, khz = 0;

	if (!cuda->api.cuDeviceGet(&device, (int)c->device)) {
		cuda->api.cuDeviceGetAttribute(&units, AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS, device);
		cuda->api.cuDeviceGetAttribute(&khz, AIF_CUDA_ATTRIBUTE_CLOCK_KHZ, device);
	}
	c->hertz = khz > 0 ? khz * 1e3 : 1.5e9;
	if (!c->period)
		c->period = period_of(aif_agent.session.device_rate, AIF_MAX(units, 1), c->hertz);
	if (!c->config)
		c->config = buffer_new(cuda);
	if (!c->out)
		c->out = buffer_new(cuda);
	return c->config && c->out ? 0 : AIF_CUPTI_OUT_OF_MEMORY;
}

int aif_cuda_sampling_configure(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	int r = configure(cuda, c);

	if (!r)
		read_period(cuda, c);
	return r;
}
