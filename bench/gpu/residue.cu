/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI's kernel records leave behind in each launch once they are off again, by what was done with them: how often
 * they were switched, flushed, of which kinds they were, buffers by thread or not. Loop of launches whose caches are hot, and
 * one between whose launches 2 MiB of memory are walked through, as a program's other work does. No aiflame.
 *
 *     nvcc -O2 -o residue residue.cu -I$CUDA/extras/CUPTI/include -lcuda -ldl
 *     CUPTI_LIB=LIBCUPTI ./residue WHAT...
 *
 * WHAT, in order: measure; sub, unsub, fin; drv (callbacks of launches); one (KIND CONCURRENT_KERNEL alone from here on; else
 * copies and fills, too); serial (KIND_KERNEL); shared (no buffers by thread); zeroed (CUPTI need not zero them); small (device
 * buffers for 10,000 kernels); on, off; context_on, context_off (of the context alone); domains, alldomains (callbacks of these
 * switched off); toggle:N (on, 100 launches, off, 100 launches); apart:N (the same, unsubscribed while records are switched off); flush, forced; launch:N. Printed are the medians and
 * means of launches in ns, hot and cold, at each measure.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#define CUPTI(name) ((__typeof__(&name))dlsym(library, #name))

static void *library;
static CUpti_SubscriberHandle subscriber;
static std::vector<CUpti_ActivityKind> kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						CUPTI_ACTIVITY_KIND_MEMCPY,
						CUPTI_ACTIVITY_KIND_MEMSET};
static bool has_buffers, is_zeroed;
static char other[2 << 20];
static unsigned sum, got;

__global__ void work(int *p)
{
	if (p)
		*p = 1;
}

static void CUPTIAPI nothing(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 256 << 10;
	*buffer = (uint8_t *)(is_zeroed ? calloc(1, *size) : malloc(*size));
	*records = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS)
		got++;
	free(buffer);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void launch(int n)
{
	for (int i = 0; i < n; i++) {
		work<<<1, 32>>>(NULL);
		if (i % 32 == 31)
			cudaDeviceSynchronize();
	}
	cudaDeviceSynchronize();
}

static void measure_one(bool cold)
{
	std::vector<double> all;
	double mean = 0;

	for (int i = 0; i < (cold ? 1500 : 6000); i++) {
		double begin;

		for (size_t k = 0; cold && k < sizeof(other); k += 64)
			sum += (unsigned)other[k]++;
		begin = now();
		work<<<1, 32>>>(NULL);
		all.push_back(now() - begin);
		if (i % 32 == 31)
			cudaDeviceSynchronize();
	}
	std::sort(all.begin(), all.end());
	all.resize(all.size() * 98 / 100);
	for (double t : all)
		mean += t / (double)all.size();
	printf("  %s %5.0f %5.0f", cold ? "cold" : "hot", all[all.size() / 2], mean);
}

static void records(bool on)
{
	if (!has_buffers)
		CUPTI(cuptiActivityRegisterCallbacks)(request, complete);
	has_buffers = true;
	for (CUpti_ActivityKind k : kinds)
		on ? CUPTI(cuptiActivityEnable)(k) : CUPTI(cuptiActivityDisable)(k);
}

/* The same of the context alone. */
static int of_context(bool on)
{
	CUcontext context;
	auto current = (__typeof__(&cuCtxGetCurrent))dlsym(dlopen("libcuda.so.1", RTLD_NOW),
							   "cuCtxGetCurrent");
	int r = current(&context);

	if (!has_buffers)
		CUPTI(cuptiActivityRegisterCallbacks)(request, complete);
	has_buffers = true;
	for (CUpti_ActivityKind k : kinds)
		r |= on ? CUPTI(cuptiActivityEnableContext)(context, k)
			: CUPTI(cuptiActivityDisableContext)(context, k);
	return r;
}

static int attribute(CUpti_ActivityAttribute a, size_t size, void *value)
{
	return CUPTI(cuptiActivitySetAttribute)(a, &size, value);
}

static int act(const char *what)
{
	static const CUpti_CallbackId launches[] = {307, 442, 477, 478, 652, 653, 514, 515};
	uint8_t no = 0, yes = 1;
	size_t small = 320000;

	if (!strcmp(what, "measure")) {
		measure_one(false);
		measure_one(true);
		return 0;
	}
	if (!strcmp(what, "sub"))
		return CUPTI(cuptiSubscribe)(&subscriber, nothing, NULL);
	if (!strcmp(what, "unsub"))
		return CUPTI(cuptiUnsubscribe)(subscriber);
	if (!strcmp(what, "fin"))
		return CUPTI(cuptiActivityFlushAll)(1) | CUPTI(cuptiFinalize)();
	if (!strcmp(what, "drv")) {
		for (CUpti_CallbackId id : launches)
			CUPTI(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
		return 0;
	}
	if (!strcmp(what, "domains"))
		return CUPTI(cuptiEnableDomain)(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) |
		       CUPTI(cuptiEnableDomain)(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	if (!strcmp(what, "alldomains"))
		return CUPTI(cuptiEnableAllDomains)(0, subscriber);
	if (!strcmp(what, "context_on") || !strcmp(what, "context_off"))
		return of_context(!strcmp(what, "context_on"));
	if (!strcmp(what, "one"))
		return kinds.resize(1), 0;
	if (!strcmp(what, "serial"))
		return kinds = {CUPTI_ACTIVITY_KIND_KERNEL}, 0;
	if (!strcmp(what, "copies"))
		return kinds = {CUPTI_ACTIVITY_KIND_MEMCPY}, 0;
	if (!strcmp(what, "shared"))
		return attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1, &no);
	if (!strcmp(what, "zeroed"))
		return is_zeroed = true,
		       attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, &yes);
	if (!strcmp(what, "small"))
		return attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(small), &small);
	if (!strcmp(what, "on") || !strcmp(what, "off"))
		return records(!strcmp(what, "on")), 0;
	if (!strcmp(what, "flush") || !strcmp(what, "forced"))
		return CUPTI(cuptiActivityFlushAll)(!strcmp(what, "forced"));
	if (!strncmp(what, "launch:", 7))
		return launch(atoi(what + 7)), 0;
	if (!strncmp(what, "apart:", 6)) {
		int r = 0;

		for (int n = atoi(what + 6); n > 0; n--) {
			records(true);
			launch(100);
			r |= act("unsub");
			records(false);
			r |= act("sub") | act("drv");
			launch(100);
		}
		return r;
	}
	if (!strncmp(what, "toggle:", 7)) {
		for (int n = atoi(what + 7); n > 0; n--) {
			records(true);
			launch(100);
			records(false);
			launch(100);
		}
		return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	library = dlopen(getenv("CUPTI_LIB"), RTLD_NOW);
	if (!library || argc < 2) {
		fprintf(stderr, "residue: CUPTI_LIB: %s\n", dlerror());
		return 1;
	}
	launch(3000);
	for (int i = 1; i < argc; i++) {
		int r = act(argv[i]);

		if (r)
			printf("  %s: %d", argv[i], r);
	}
	printf("  %u records\n", got);
	return 0;
}
