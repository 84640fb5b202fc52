/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI loses count of a thread's calls, so that all of them have one correlation id: when? Apart from aiflame. Three
 * threads: one launches, one copies from the device what a kernel of 2 ms makes, one waits for such a kernel. Beside them
 * something is switched, again and again. Says which threads were lost, and what brings them back.
 *
 *     cc -O2 -pthread -o confused confused.c -I$CUDA/include -I$CUDA/extras/CUPTI/include -L$CUDA/lib64 -lcupti -lcuda
 *     ./confused SECONDS WHAT[,WHAT...]
 *
 * WHAT, in the order in which it is switched off: records (kernels', copies', fills'; never beside a call that makes
 * them), sampling (nor beside such calls, with an idle device), launches (callbacks of launches and copies), gated
 * (these, too, never beside a call), waits (callbacks of waits), subscriber. Those not named are on throughout, but
 * for records and sampling, which are off unless it says records=on.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHER, COPIER, WAITER, THREADS };
static const char *const names[] = {"launching", "copying", "waiting"};
static const CUpti_CallbackId launch_ids[] = {307, 442, 477, 478, 652, 653};
static const CUpti_CallbackId copy_ids[][2] = {{216, 227}, {249, 255}, {276, 294}, {305, 307}};
static const CUpti_CallbackId wait_ids[] = {126, 440, 121, 17, 800};

static struct {
	CUcontext context;
	CUfunction empty, spin;
	CUpti_SubscriberHandle subscriber;
	pthread_rwlock_t gate;
	bool records, keeps_records, sampling, launches, gated, waits, subscription;
	_Atomic bool over;
	_Atomic unsigned lost[THREADS], calls[THREADS], last_id[THREADS];
	_Atomic bool is_lost[THREADS];
	CUpti_PCSamplingData *data, *out;
} it;
static _Thread_local int self = -1;
static _Thread_local uint32_t last;

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry nothing() { ret; }\n"
	".visible .entry spin(.param .u64 ns) {\n.reg .u64 %a, %b, %n;\n.reg .pred %p;\n"
	"ld.param.u64 %n, [ns];\nmov.u64 %a, %globaltimer;\nagain:\nmov.u64 %b, %globaltimer;\nsub.u64 %b, %b, %a;\n"
	"setp.lt.u64 %p, %b, %n;\n@%p bra again;\nret; }\n";

static void must(const char *what, int r)
{
	if (!r)
		return;
	fprintf(stderr, "confused: %s: %d\n", what, r);
	_exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *cb = data;

	(void)user;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || self < 0 || cb->callbackSite != CUPTI_API_ENTER)
		return;
	it.calls[self]++;
	if (cb->correlationId == last && !it.is_lost[self]) {
		it.is_lost[self] = true;
		it.lost[self]++;
	} else if (cb->correlationId != last) {
		it.is_lost[self] = false;
	}
	last = cb->correlationId;
	it.last_id[self] = id;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	(void)c, (void)s, (void)size, (void)valid;
	free(buffer);
}

static void launch(CUfunction f, CUstream s, uint64_t ns)
{
	void *parameters[] = {&ns};

	pthread_rwlock_rdlock(&it.gate);
	must("launch", (int)cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, parameters, NULL));
	pthread_rwlock_unlock(&it.gate);
}

static void *works(void *which)
{
	CUdeviceptr memory;
	CUstream stream;
	char to[65536];

	self = (int)(intptr_t)which;
	must("context", (int)cuCtxSetCurrent(it.context));
	must("stream", (int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	must("memory", (int)cuMemAlloc(&memory, sizeof(to)));
	while (!it.over) {
		for (int i = 0; i < 20; i++)
			launch(it.empty, stream, 0);
		if (self == LAUNCHER) {
			cuStreamQuery(stream);
			usleep(200);
			continue;
		}
		launch(it.spin, stream, 2000000);
		if (self == COPIER) {
			pthread_rwlock_rdlock(&it.gate);
			must("copy", (int)cuMemcpyDtoHAsync(to, memory, sizeof(to), stream));
			pthread_rwlock_unlock(&it.gate);
		}
		cuStreamSynchronize(stream);
	}
	return NULL;
}

static void listen(const CUpti_CallbackId *ids, unsigned n, bool on)
{
	for (unsigned i = 0; i < n; i++)
		cuptiEnableCallback(on, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i]);
}

static void launches(bool on)
{
	listen(launch_ids, sizeof(launch_ids) / sizeof(*launch_ids), on);
	for (unsigned i = 0; i < sizeof(copy_ids) / sizeof(*copy_ids); i++)
		for (CUpti_CallbackId k = copy_ids[i][0]; k < copy_ids[i][1]; k++)
			listen(&k, 1, on);
}

static void waits(bool on)
{
	listen(wait_ids, sizeof(wait_ids) / sizeof(*wait_ids), on);
}

static void records(bool on)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						   CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMSET};

	for (unsigned i = 0; i < 3; i++)
		if (on)
			cuptiActivityEnable(kinds[i]);
		else
			cuptiActivityDisable(kinds[i]);
}

static CUpti_PCSamplingData *new_buffer(void)
{
	CUpti_PCSamplingData *b = calloc(1, sizeof(*b));

	b->size = sizeof(*b);
	b->collectNumPcs = 4096;
	b->pPcData = calloc(4096, sizeof(*b->pPcData));
	for (unsigned i = 0; i < 4096; i++) {
		b->pPcData[i].size = sizeof(*b->pPcData);
		b->pPcData[i].stallReason = calloc(64, sizeof(*b->pPcData[i].stallReason));
	}
	return b;
}

static void sampling(bool on)
{
	CUpti_PCSamplingEnableParams e = {.size = CUpti_PCSamplingEnableParamsSize,
					  .ctx = it.context};
	CUpti_PCSamplingDisableParams d = {.size = CUpti_PCSamplingDisableParamsSize,
					   .ctx = it.context};
	CUpti_PCSamplingConfigurationInfo info[2] = {
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER}};
	CUpti_PCSamplingConfigurationInfoParams c = {
		.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = it.context,
		.numAttributes = 2,
		.pPCSamplingConfigurationInfo = info};

	if (!on) {
		must("sampling's end", (int)cuptiPCSamplingDisable(&d));
		return;
	}
	if (!it.data)
		it.data = new_buffer();
	info[0].attributeData.collectionModeData.collectionMode =
		CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	info[1].attributeData.samplingDataBufferData.samplingDataBuffer = it.data;
	must("sampling", (int)cuptiPCSamplingEnable(&e));
	must("sampling's buffer", (int)cuptiPCSamplingSetConfigurationAttribute(&c));
}

static void subscribe(bool on)
{
	if (!on) {
		must("unsubscribe", (int)cuptiUnsubscribe(it.subscriber));
		return;
	}
	must("subscribe", (int)cuptiSubscribe(&it.subscriber, callback, NULL));
	must("buffers", (int)cuptiActivityRegisterCallbacks(request, complete));
	if (!it.waits)
		waits(true);
	if (!it.launches)
		launches(true);
}

static void gate(bool shut)
{
	if (shut)
		pthread_rwlock_wrlock(&it.gate);
	else
		pthread_rwlock_unlock(&it.gate);
}

static void everything(bool on)
{
	if (on) {
		if (it.subscription)
			subscribe(true);
		if (it.waits)
			waits(true);
		if (it.launches)
			launches(true);
		if (it.records)
			records(true);
		if (it.sampling) {
			gate(true);
			sampling(true);
			gate(false);
		}
		return;
	}
	if (it.sampling) {
		gate(true);
		cuCtxSynchronize();
		sampling(false);
		gate(false);
	}
	if (it.records) {
		gate(true);
		records(false);
		gate(false);
	}
	if (it.launches) {
		if (it.gated)
			gate(true);
		launches(false);
		if (it.gated)
			gate(false);
	}
	if (it.waits)
		waits(false);
	if (it.subscription)
		subscribe(false);
}

static void say(const char *when)
{
	memset((void *)it.calls, 0, sizeof(it.calls));
	usleep(200000);
	printf("  %s:", when);
	for (int i = 0; i < THREADS; i++)
		printf(" %s %s (%u calls back)%s", names[i], it.is_lost[i] ? "LOST" : "counted",
		       it.calls[i], i < THREADS - 1 ? "," : "\n");
}

int main(int argc, char **argv)
{
	pthread_rwlockattr_t attribute;
	pthread_t threads[THREADS];
	CUmodule module;
	CUdevice device;
	uint64_t end;
	unsigned cycles = 0, first[THREADS] = {0};
	char *what = argc > 2 ? strdup(argv[2]) : strdup(""), *one;

	while ((one = strsep(&what, ","))) {
		it.records |= !strcmp(one, "records");
		it.keeps_records |= !strcmp(one, "records=on");
		it.sampling |= !strcmp(one, "sampling");
		it.launches |= !strcmp(one, "launches");
		it.gated |= !strcmp(one, "gated");
		it.waits |= !strcmp(one, "waits");
		it.subscription |= !strcmp(one, "subscriber");
	}
	pthread_rwlockattr_init(&attribute);
	pthread_rwlockattr_setkind_np(&attribute, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&it.gate, &attribute);
	must("init", (int)cuInit(0));
	must("device", (int)cuDeviceGet(&device, 0));
	must("context", (int)cuDevicePrimaryCtxRetain(&it.context, device));
	must("context", (int)cuCtxSetCurrent(it.context));
	must("module", (int)cuModuleLoadData(&module, ptx));
	must("function", (int)cuModuleGetFunction(&it.empty, module, "nothing"));
	must("function", (int)cuModuleGetFunction(&it.spin, module, "spin"));
	if (!it.subscription)
		subscribe(true);
	if (it.keeps_records)
		records(true);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, works, (void *)i);
	for (end = now_ms() + 1000 * (uint64_t)(argc > 1 ? atoi(argv[1]) : 5); now_ms() < end;
	     cycles++) {
		everything(true);
		usleep(it.sampling ? 100000 : 15000);
		for (int i = 0; i < THREADS; i++)
			if (it.is_lost[i] && !first[i])
				first[i] = cycles;
		everything(false);
		usleep(it.sampling ? 20000 : 5000);
		cuptiActivityFlushAll(0);
	}
	everything(true);
	printf("%s: %u cycles;", argc > 2 ? argv[2] : "nothing", cycles);
	for (int i = 0; i < THREADS; i++)
		printf(" %s lost %u (first in cycle %u),", names[i], it.lost[i], first[i]);
	printf("\n");
	say("in the end");
	if (it.is_lost[0] || it.is_lost[1] || it.is_lost[2]) {
		everything(false);
		usleep(20000);
		everything(true);
		say("switched off and on");
		if (it.subscription)
			everything(false);
		else
			cuptiUnsubscribe(it.subscriber);
		usleep(20000);
		if (it.subscription)
			everything(true);
		else
			subscribe(true);
		say("subscribed again");
		gate(true);
		cuCtxSynchronize();
		cuptiUnsubscribe(it.subscriber);
		must("finalize", (int)cuptiFinalize());
		it.waits = it.launches = false;
		subscribe(true);
		gate(false);
		say("finalized and subscribed");
	}
	fflush(stdout);
	_exit(0);
}
