/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "record/nvml/abi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A MOCK of NVIDIA's libnvidia-ml.so.1: simulated values, and faults that a real one does not show on demand. Says nothing
 * about what NVIDIA's own does; tests/gpu/nvml.sh asks that.
 *
 * Each GPU takes 150 W, at every time: what a reading of its energy must be follows from when it was made. GPM says that
 * SMs are active for 40 % of the time, tensor cores for 25 %.
 *
 * MOCK_NVML="WORD[=N],..." chooses the behaviour:
 *
 *     fails        nvmlInit_v2 does: the driver is not loaded
 *     init=MS      it takes so long
 *     slow=MS      each reading of the energy does
 *     hangs        the second reading of the energy does not return
 *     errors       readings of power fail: unknown error
 *     denied       GPM's samples need permission
 *     nogpm        the GPU has none
 *     nan          half of GPM's values are not numbers
 *     back=N       each Nth reading of the energy is that of a GPU that was reset
 *     mig          the GPU is divided
 *     lost         no GPU is found
 *     throttled    the power cap slows the SMs down to 990 MHz in every second reading
 *
 * MOCK_NVML_LOG=FILE: a line for each call that takes part in reading, "NS SYMBOL".
 */

#define API __attribute__((visibility("default")))
#define MW  150000

static bool has(const char *word, double *ret)
{
	const char *at = getenv("MOCK_NVML");
	size_t len = strlen(word);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, word, len) && strchr(",=", at[len])) {
			if (ret && at[len] == '=')
				*ret = strtod(at + len + 1, NULL);
			return true;
		}
	return false;
}

static void wait_ms(const char *word)
{
	double ms = 0;
	struct timespec pause;

	if (!has(word, &ms))
		return;
	pause = (struct timespec){.tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(fmod(ms, 1000) * 1e6)};
	nanosleep(&pause, NULL);
}

static void say(const char *symbol)
{
	const char *path = getenv("MOCK_NVML_LOG");
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (!f)
		return;
	fprintf(f, "%llu %s\n", (unsigned long long)aif_now_ns(), symbol);
	fclose(f);
}

/* GPUs are told apart by their bus: those of the mock of CUDA (tests/mock/cuda) are on 0x10 and 0x11. */
#define GPUS 2

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
	say("nvmlInit_v2");
	wait_ms("init");
	return has("fails", NULL) ? 9 : 0;
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
	say("nvmlShutdown");
	return 0;
}

API int nvmlSystemGetDriverVersion(char *ret, unsigned size);
API int nvmlSystemGetDriverVersion(char *ret, unsigned size)
{
	snprintf(ret, size, "999.1 (simulated)");
	return 0;
}

API int nvmlDeviceGetCount_v2(unsigned *ret);
API int nvmlDeviceGetCount_v2(unsigned *ret)
{
	*ret = GPUS;
	return 0;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
	*ret = (void *)(uintptr_t)(index + 1);
	return index < GPUS ? 0 : 2;
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **ret);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **ret)
{
	unsigned domain, bus, device, function;

	say("nvmlDeviceGetHandleByPciBusId_v2");
	if (has("lost", NULL) || sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return AIF_NVML_NOT_FOUND;
	*ret = (void *)(uintptr_t)(bus + 1);
	return 0;
}

API int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending);
API int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending)
{
	(void)device;
	*mode = *pending = has("mig", NULL);
	return 0;
}

static bool is_slowed(void)
{
	return has("throttled", NULL) && aif_now_ns() / 100000000 % 2;
}

API int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *ret);
API int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *ret)
{
	(void)device;
	say("nvmlDeviceGetClockInfo");
	*ret = type == AIF_NVML_CLOCK_MEMORY ? 3201 : is_slowed() ? 990 : 1980;
	return 0;
}

API int nvmlDeviceGetMaxClockInfo(void *device, unsigned type, unsigned *ret);
API int nvmlDeviceGetMaxClockInfo(void *device, unsigned type, unsigned *ret)
{
	(void)device;
	*ret = type == AIF_NVML_CLOCK_MEMORY ? 3201 : 1980;
	return 0;
}

API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret);
API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret)
{
	(void)device;
	*ret = is_slowed() ? 4 : 0;
	return 0;
}

API int nvmlDeviceGetPowerUsage(void *device, unsigned *ret);
API int nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
	(void)device;
	say("nvmlDeviceGetPowerUsage");
	*ret = MW;
	return has("errors", NULL) ? 999 : 0;
}

API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret);
API int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret)
{
	(void)device;
	*ret = 700000;
	return 0;
}

API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret);
API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret)
{
	static unsigned calls;
	double each = 0;

	(void)device;
	say("nvmlDeviceGetTotalEnergyConsumption");
	wait_ms("slow");
	calls++;
	while (has("hangs", NULL) && calls > 1)
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	*ret = (unsigned long long)((double)aif_now_ns() * 1e-9 * MW);
	if (has("back", &each) && each >= 1 && calls % (unsigned)each == 0)
		*ret = calls;
	return 0;
}

API int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *ret);
API int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *ret)
{
	(void)device;
	*ret = 40 + sensor;
	return 0;
}

API int nvmlDeviceGetMemoryInfo(void *device, struct aif_nvml_memory *ret);
API int nvmlDeviceGetMemoryInfo(void *device, struct aif_nvml_memory *ret)
{
	(void)device;
	*ret = (struct aif_nvml_memory){.total = 80ull << 30, .free = 79ull << 30, .used = 1 << 30};
	return 0;
}

API int nvmlDeviceGetUtilizationRates(void *device, struct aif_nvml_use *ret);
API int nvmlDeviceGetUtilizationRates(void *device, struct aif_nvml_use *ret)
{
	(void)device;
	*ret = (struct aif_nvml_use){.gpu = 70, .memory = 20};
	return 0;
}

#ifndef OLD
API int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *ret);
API int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *ret)
{
	return nvmlDeviceGetCurrentClocksThrottleReasons(device, ret);
}

API int nvmlGpmQueryDeviceSupport(void *device, struct aif_gpm_support *ret);
API int nvmlGpmQueryDeviceSupport(void *device, struct aif_gpm_support *ret)
{
	(void)device;
	ret->is_supported = !has("nogpm", NULL);
	return ret->version == 1 ? 0 : 2;
}

API int nvmlGpmSampleAlloc(void **ret);
API int nvmlGpmSampleAlloc(void **ret)
{
	*ret = calloc(1, sizeof(uint64_t));
	return *ret ? 0 : 20;
}

API int nvmlGpmSampleFree(void *sample);
API int nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return 0;
}

API int nvmlGpmSampleGet(void *device, void *sample);
API int nvmlGpmSampleGet(void *device, void *sample)
{
	(void)device;
	say("nvmlGpmSampleGet");
	*(uint64_t *)sample = aif_now_ns();
	return has("denied", NULL) ? AIF_NVML_NO_PERMISSION : 0;
}

API int nvmlGpmMetricsGet(struct aif_gpm_get *get);
API int nvmlGpmMetricsGet(struct aif_gpm_get *get)
{
	if (get->version != 1 || *(uint64_t *)get->to <= *(uint64_t *)get->from)
		return 2;
	for (unsigned i = 0; i < get->len; i++) {
		struct aif_gpm_metric *m = &get->metrics[i];

		m->result = 0;
		m->value = m->id == 2 ? 40 : m->id == 5 ? 25 : m->id;
		if (has("nan", NULL) && i % 2)
			m->value = NAN;
	}
	return 0;
}
#endif
