/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what each part of CUPTI costs, switched on and off inside one process by the process itself (lab.py, by
 * ctypes). Nothing of aiflame runs here: these are the floors that the adapter stands on. Built where it runs, with the
 * vendor's headers:
 *
 *     cc -shared -fPIC -O2 -o lab.so lab.c -I$CUDA/include -L$CUDA/lib64 -lcupti
 *     CUDA_INJECTION64_PATH=$PWD/lab.so python3 lab.py
 */
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NUM_PCS 20000

static struct {
	CUpti_SubscriberHandle subscriber;
	CUcontext context;
	_Atomic uint64_t launches, records, first_correlation, last_correlation, samples, dropped,
		pcs, not_user, errors;
	_Atomic uint64_t kernel_ns;
	CUpti_PCSamplingData config, out;
	size_t reasons;
	pthread_mutex_t lock;
	pthread_t drainer;
	_Atomic int sampling, draining;
	int start_stop, keeps;
} lab = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int tell(const char *what, CUptiResult r)
{
	const char *why = "?";

	if (r) {
		cuptiGetResultString(r, &why);
		fprintf(stderr, "lab: %s: %s\n", what, why);
		lab.errors++;
	}
	return (int)r;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 2 << 20;
	*buffer = malloc(*size);
	*max = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)c, (void)s, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		lab.records++;
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel5 *k = (void *)r;

			lab.kernel_ns += k->end - k->start;
		}
	}
	free(buffer);
}

static void drain(void)
{
	CUpti_PCSamplingGetDataParams g = {CUpti_PCSamplingGetDataParamsSize, 0, lab.context,
					   &lab.out};

	do {
		lab.out.totalNumPcs = 0;
		if (tell("get data", cuptiPCSamplingGetData(&g)))
			return;
		lab.samples += lab.out.totalSamples;
		lab.dropped += lab.out.droppedSamples;
		lab.pcs += lab.out.totalNumPcs;
		lab.not_user += lab.out.nonUsrKernelsTotalSamples;
	} while (lab.out.remainingNumPcs);
}

static void *drainer(void *none)
{
	for (;;) {
		usleep(50000);
		pthread_mutex_lock(&lab.lock);
		if (lab.sampling && !lab.keeps)
			drain();
		pthread_mutex_unlock(&lab.lock);
	}
	return none;
}

static void make(CUpti_PCSamplingData *d)
{
	if (d->pPcData)
		return;
	d->size = sizeof(*d);
	d->collectNumPcs = NUM_PCS;
	d->pPcData = calloc(NUM_PCS, sizeof(*d->pPcData));
	for (size_t i = 0; i < NUM_PCS; i++) {
		d->pPcData[i].size = sizeof(*d->pPcData);
		d->pPcData[i].stallReason =
			calloc(lab.reasons, sizeof(CUpti_PCSamplingStallReason));
	}
}

/* period: log2 of cycles; buffer: MiB of device memory; span: the workers' sleep in ms; 0 = CUPTI's choice */
int lab_sampling(int on, int period, int buffer, int span)
{
	CUpti_PCSamplingEnableParams e = {CUpti_PCSamplingEnableParamsSize, 0, lab.context};
	CUpti_PCSamplingDisableParams d = {CUpti_PCSamplingDisableParamsSize, 0, lab.context};
	CUpti_PCSamplingGetNumStallReasonsParams n = {CUpti_PCSamplingGetNumStallReasonsParamsSize,
						      0, lab.context, &lab.reasons};
	CUpti_PCSamplingConfigurationInfo c[7] = {0};
	CUpti_PCSamplingConfigurationInfoParams p = {CUpti_PCSamplingConfigurationInfoParamsSize, 0,
						     lab.context, 0, c};
	int r;

	pthread_mutex_lock(&lab.lock);
	if (!on) {
		drain();
		lab.sampling = 0;
		r = tell("disable sampling", cuptiPCSamplingDisable(&d));
		goto out;
	}
	r = tell("enable sampling", cuptiPCSamplingEnable(&e));
	if (r)
		goto out;
	tell("reasons", cuptiPCSamplingGetNumStallReasons(&n));
	make(&lab.config);
	make(&lab.out);
#define SET(TYPE, field, value)                                                               \
	(c[p.numAttributes].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##TYPE, \
	 c[p.numAttributes++].attributeData.field = (value))
	SET(COLLECTION_MODE, collectionModeData.collectionMode,
	    CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
	SET(SCRATCH_BUFFER_SIZE, scratchBufferSizeData.scratchBufferSize, (size_t)16 << 20);
	SET(SAMPLING_DATA_BUFFER, samplingDataBufferData.samplingDataBuffer, &lab.config);
	if (period)
		SET(SAMPLING_PERIOD, samplingPeriodData.samplingPeriod, (uint32_t)period);
	if (buffer)
		SET(HARDWARE_BUFFER_SIZE, hardwareBufferSizeData.hardwareBufferSize,
		    (size_t)buffer << 20);
	if (span)
		SET(WORKER_THREAD_PERIODIC_SLEEP_SPAN,
		    workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan,
		    (uint32_t)span);
	if (lab.start_stop)
		SET(ENABLE_START_STOP_CONTROL, enableStartStopControlData.enableStartStopControl,
		    1);
	r = tell("configure sampling", cuptiPCSamplingSetConfigurationAttribute(&p));
	lab.sampling = 1;
	if (!lab.draining++)
		pthread_create(&lab.drainer, NULL, drainer, NULL);
out:
	pthread_mutex_unlock(&lab.lock);
	return r;
}

/* Sets two modes of the sampling that is enabled next: start_stop, it waits for lab_start(); keeps, nothing is taken
 * from CUPTI before its end. */
void lab_way(int start_stop, int keeps)
{
	lab.start_stop = start_stop;
	lab.keeps = keeps;
}

int lab_start(int on)
{
	CUpti_PCSamplingStartParams a = {CUpti_PCSamplingStartParamsSize, 0, lab.context};
	CUpti_PCSamplingStopParams o = {CUpti_PCSamplingStopParamsSize, 0, lab.context};

	return on ? tell("start", cuptiPCSamplingStart(&a)) : tell("stop", cuptiPCSamplingStop(&o));
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *cb = data;
	const CUpti_ResourceData *r = data;

	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && !lab.context) {
			lab.context = r->context;
			if (getenv("LAB_SAMPLING"))
				lab_sampling(1, atoi(getenv("LAB_SAMPLING")), 64, 0);
		}
		return;
	}
	if (cb->callbackSite != CUPTI_API_ENTER)
		return;
	lab.launches++;
	if (!lab.first_correlation)
		lab.first_correlation = cb->correlationId;
	lab.last_correlation = cb->correlationId;
}

void lab_callbacks(int on)
{
	static const int ids[] = {307, 442, 652, 653, 514, 515};

	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		cuptiEnableCallback((uint32_t)on, lab.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				    (uint32_t)ids[i]);
}

/* Copies' and fills' callbacks: their number. */
void lab_other_callbacks(int on)
{
	for (int i = 216; i < 432; i++)
		if ((i >= 276 && i <= 293) || i == 305 || i == 306 || (i >= 216 && i <= 226) ||
		    (i >= 249 && i <= 254))
			cuptiEnableCallback((uint32_t)on, lab.subscriber,
					    CUPTI_CB_DOMAIN_DRIVER_API, (uint32_t)i);
}

int lab_activity(int kind, int on)
{
	return on ? (int)cuptiActivityEnable((CUpti_ActivityKind)kind)
		  : (int)cuptiActivityDisable((CUpti_ActivityKind)kind);
}

int lab_flush(int forced)
{
	return (int)cuptiActivityFlushAll((uint32_t)forced);
}

void lab_subscribe(int on)
{
	if (on && !lab.subscriber) {
		tell("subscribe", cuptiSubscribe(&lab.subscriber, callback, NULL));
		tell("buffers", cuptiActivityRegisterCallbacks(request, complete));
		cuptiEnableCallback(1, lab.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
				    CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	} else if (!on && lab.subscriber) {
		cuptiUnsubscribe(lab.subscriber);
		lab.subscriber = NULL;
	}
}

uint64_t lab_get(int what)
{
	switch (what) {
	case 0:
		return lab.launches;
	case 1:
		return lab.records;
	case 2:
		return lab.last_correlation;
	case 3:
		return lab.samples;
	case 4:
		return lab.dropped;
	case 5:
		return lab.pcs;
	case 6:
		return lab.kernel_ns;
	case 7:
		return lab.first_correlation;
	case 8:
		return lab.not_user;
	default:
		return lab.errors;
	}
}

void lab_forget(void)
{
	lab.launches = lab.records = lab.first_correlation = lab.last_correlation = lab.kernel_ns =
		0;
}

int InitializeInjection(void)
{
	lab_subscribe(1);
	return 1;
}
