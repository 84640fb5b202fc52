/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what ends a program when CUPTI's records are switched on and off while it launches: a library that the driver
 * loads into any program, with a thread that switches. It has nothing of aiflame. Built where it runs
 * (bench/gpu/protocol toggle):
 *
 *     cc -shared -fPIC -O2 -pthread -o toggle.so toggle.c -I$CUDA/include -L$CUDA/lib64 -lcupti -lcuda
 *     TOGGLE=on=5,off=10 CUDA_INJECTION64_PATH=$PWD/toggle.so python3 tests/gpu/scenes/cupy_mix.py
 *
 * TOGGLE is a list of NAME=NUMBER; `options` below explains them and has the defaults. When the program ends the library prints
 * what it did; if the program ends by SIGSEGV, in which function of which library, and which registers point into records'
 * buffers. Results: bench/results/h100-survive.md.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PCS       16384
#define REASONS   128
#define BUFFERS   4096
#define FUNCTIONS 512

static struct option {
	const char *name;
	int value;
} options[] = {
#define ON 0
	/* Records are on for so many ms at a time; 0: always. */
	{"on", 20},
#define OFF 1
	/* Records are off for so many ms at a time. */
	{"off", 60},
#define SAMPLING 2
	/* Instruction sampling: 0 never; 1 from the context's creation for UNTIL ms; 2 to the end. */
	{"sampling", 0},
#define UNTIL 3
	{"until", 1000},
#define FLUSH 4
	/* The time between two flushes in ms; 0: never flush. */
	{"flush", 250},
#define REUSE 5
	/* Record buffers: 0 malloc and free, 1 reuse the last returned, 2 reuse the first returned, 3 never reuse. */
	{"reuse", 1},
#define KB 6
	/* The size of a record buffer in KiB. */
	{"kb", 2048},
#define KINDS 7
	/* 1 kernel records only; 2 kernels, copies and fills; 3 as 2, but kernels stay on; 4 as 2, but copies and fills stay on. */
	{"kinds", 2},
#define HOW 8
	/* The sum of: before records go off, 1 flush, 2 shut the gate, 4 wait for an idle context; afterwards, 8 flush, 16 flush by
	 * force; 32 shut the gate before records go on. The gate holds the calls that call back. */
	{"how", 0},
#define CALLBACKS 9
	/* Launches call back. */
	{"callbacks", 1},
#define READ 10
	/* Records are read. */
	{"read", 1},
#define DELAY 11
	/* The time before the first switch in ms. */
	{"delay", 1000},
#define PER_THREAD 12
	/* One buffer for each thread; -1: CUPTI's default. */
	{"per_thread", -1},
#define POOL 13
	/* The size of CUPTI's device buffers in MB; 0: CUPTI's default. */
	{"pool", 0},
#define NAP 14
	/* The time between the flush and the switch in ms. */
	{"nap", 0},
#define STRADDLE 15
	/* A launching thread waits inside its call while records are switched: 1 off, 2 on; 4: at its end, not its beginning. */
	{"straddle", 0},
#define COPIES 16
	/* Copies and fills call back, too. */
	{"copies", 0},
#define DATA 17
	/* The time between two requests for samples in ms. */
	{"data", 250},
#define CRC 18
	/* CUPTI gets cubins' hashes from this library. */
	{"crc", 1},
};

static struct {
	CUpti_SubscriberHandle subscriber;
	CUcontext context;
	pthread_t thread;
	bool sampled;
	CUpti_PCSamplingData *data, *out;
	_Atomic int gate, under_way, stop, parked; /* parked: 1 somebody is to be, 2 is */
	_Atomic uint64_t straddled;
	_Atomic uint64_t switches, records, samples, launches, zeros, completed, refused;
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS], *all[BUFFERS];
	unsigned first, last, made;
	struct {
		const char *name;
		uint64_t samples;
	} functions[FUNCTIONS];
	unsigned functions_len;
	uint64_t others, asked, began;
} it = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const uint32_t kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
				 CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMCPY2};

static int opt(unsigned i)
{
	return options[i].value;
}

static void parse(void)
{
	char *text = strdup(getenv("TOGGLE") ? getenv("TOGGLE") : ""), *at = text, *one;

	while ((one = strsep(&at, ","))) {
		char *value = strchr(one, '=');
		bool known = !*one;

		if (value)
			*value++ = 0;
		for (unsigned i = 0; i < sizeof(options) / sizeof(*options) && value; i++)
			if (!strcmp(options[i].name, one)) {
				options[i].value = atoi(value);
				known = true;
			}
		if (!known) {
			fprintf(stderr, "toggle: no option %s\n", one);
			_exit(2);
		}
	}
	free(text);
}

static int say(const char *what, int r)
{
	const char *why = "?";

	if (r) {
		cuptiGetResultString((CUptiResult)r, &why);
		fprintf(stderr, "toggle: %s: %s\n", what, why);
	}
	return r;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- buffers ---- */

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max)
{
	const size_t bytes = (size_t)opt(KB) << 10;

	*size = bytes;
	*max = 0;
	pthread_mutex_lock(&it.lock);
	if (!opt(REUSE)) {
		*buffer = malloc(bytes);
	} else if (it.first != it.last && opt(REUSE) == 1) {
		*buffer = it.free[--it.last % BUFFERS];
	} else if (it.last - it.first > 8 && opt(REUSE) == 2) {
		*buffer = it.free[it.first++ % BUFFERS];
	} else {
		*buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		if (it.made < BUFFERS)
			it.all[it.made++] = *buffer;
	}
	pthread_mutex_unlock(&it.lock);
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)c, (void)s, (void)size;
	it.completed++;
	while (opt(READ) && cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		it.records++;
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    !((CUpti_ActivityKernel5 *)(void *)r)->end)
			it.zeros++;
	}
	pthread_mutex_lock(&it.lock);
	if (!opt(REUSE))
		free(buffer);
	else if (opt(REUSE) != 3)
		it.free[it.last++ % BUFFERS] = buffer;
	pthread_mutex_unlock(&it.lock);
}

/* ---- where it died ---- */

static void where(const char *name, uintptr_t at)
{
	char line[512], text[640];
	FILE *maps;
	Dl_info info;
	int n = snprintf(text, sizeof(text), "toggle:   %s %#lx", name, (unsigned long)at);

	for (unsigned i = 0; i < it.made; i++)
		if (at - (uintptr_t)it.all[i] < (uintptr_t)opt(KB) << 10)
			n += snprintf(text + n, sizeof(text) - (size_t)n, " buffer %u+%#lx", i,
				      (unsigned long)(at - (uintptr_t)it.all[i]));
	if (dladdr((void *)at, &info) && info.dli_fname)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s+%#lx",
			      strrchr(info.dli_fname, '/'),
			      (unsigned long)(at - (uintptr_t)info.dli_fbase));
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && at >= from && at < to) {
			line[strcspn(line, "\n")] = 0;
			n += snprintf(text + n, sizeof(text) - (size_t)n, " [%s]", line);
		}
	}
	if (maps)
		fclose(maps);
	fprintf(stderr, "%.600s\n", text);
}

static void died(int signal, siginfo_t *info, void *context)
{
	static _Atomic int once;
	const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	void *frames[32];
	int n;

	if (!once++) {
		fprintf(stderr, "toggle: signal %d at %p, code %d, %lu switches\n", signal,
			info->si_addr, info->si_code, (unsigned long)it.switches);
		where("rip", (uintptr_t)g[REG_RIP]);
		for (n = REG_R8; n <= REG_RSP; n++) {
			static const char *const names[] = {
				"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
				"rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp"};

			where(names[n], (uintptr_t)g[n]);
		}
		n = backtrace(frames, 32);
		for (int i = 0; i < n; i++)
			where("frame", (uintptr_t)frames[i]);
	}
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal);
}

/* ---- sampling ---- */

static CUpti_PCSamplingData *new_data(void)
{
	CUpti_PCSamplingData *b = calloc(1, sizeof(*b));

	b->size = sizeof(*b);
	b->collectNumPcs = PCS;
	b->pPcData = calloc(PCS, sizeof(*b->pPcData));
	for (unsigned i = 0; i < PCS; i++) {
		b->pPcData[i].size = sizeof(b->pPcData[i]);
		b->pPcData[i].stallReason = calloc(REASONS, sizeof(*b->pPcData[i].stallReason));
	}
	return b;
}

static void CUPTIAPI hash(const void *cubin, size_t size, uint64_t *hashed)
{
	const uint8_t *at = cubin;

	*hashed = 14695981039346656037u; /* FNV-1a */
	for (size_t i = 0; i < size; i++)
		*hashed = (*hashed ^ at[i]) * 1099511628211u;
}

static void sample(bool on)
{
	CUpti_PCSamplingEnableParams e = {.size = CUpti_PCSamplingEnableParamsSize,
					  .ctx = it.context};
	CUpti_PCSamplingDisableParams d = {.size = CUpti_PCSamplingDisableParamsSize,
					   .ctx = it.context};
	CUpti_PCSamplingConfigurationInfo info[] = {
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE},
		{.attributeType =
			 CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN}};
	CUpti_PCSamplingConfigurationInfoParams c = {
		.size = CUpti_PCSamplingConfigurationInfoParamsSize,
		.ctx = it.context,
		.numAttributes = 6,
		.pPCSamplingConfigurationInfo = info};

	if (opt(CRC))
		say("hashes", (int)cuptiRegisterComputeCrcCallback(hash));
	if (!on) {
		it.sampled = false;
		say("disable", (int)cuptiPCSamplingDisable(&d));
		return;
	}
	if (!it.data)
		it.data = new_data();
	if (!it.out)
		it.out = new_data();
	info[0].attributeData.collectionModeData.collectionMode =
		CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	info[1].attributeData.samplingDataBufferData.samplingDataBuffer = it.data;
	info[2].attributeData.samplingPeriodData.samplingPeriod = 18;
	info[3].attributeData.hardwareBufferSizeData.hardwareBufferSize = 64 << 20;
	info[4].attributeData.scratchBufferSizeData.scratchBufferSize = 16 << 20;
	info[5].attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = 50;
	it.sampled = !say("enable", (int)cuptiPCSamplingEnable(&e)) &&
		     !say("configure", (int)cuptiPCSamplingSetConfigurationAttribute(&c));
}

static void count_function(const CUpti_PCSamplingPCData *pc)
{
	const char *name = pc->functionName ? pc->functionName : "";
	unsigned i = 0;

	while (i < it.functions_len && strcmp(it.functions[i].name, name))
		i++;
	if (i == FUNCTIONS)
		return;
	if (i == it.functions_len)
		it.functions[it.functions_len++].name = name;
	for (size_t k = 0; k < pc->stallReasonCount; k++)
		it.functions[i].samples += pc->stallReason[k].samples;
}

static void drain(void)
{
	CUpti_PCSamplingGetDataParams p = {.size = CUpti_PCSamplingGetDataParamsSize,
					   .ctx = it.context,
					   .pcSamplingData = it.out};

	do {
		it.out->totalNumPcs = 0;
		it.out->totalSamples = 0;
		it.asked++;
		if (say("data", (int)cuptiPCSamplingGetData(&p)))
			return;
		it.samples += it.out->totalSamples;
		it.others += it.out->nonUsrKernelsTotalSamples;
		for (size_t i = 0; i < it.out->totalNumPcs; i++)
			count_function(&it.out->pPcData[i]);
	} while (it.out->remainingNumPcs && it.out->totalNumPcs);
}

/* ---- switching ---- */

/* Waits until no counted call is under way, and holds new ones; with `idle`, until the context has nothing to do either. */
static void shut(bool idle)
{
	CUcontext none;

	it.gate = 1;
	while (it.under_way)
		usleep(10);
	if (idle && !cuCtxPushCurrent(it.context)) {
		cuCtxSynchronize();
		cuCtxPopCurrent(&none);
	}
}

static void switch_records(bool on)
{
	unsigned first = opt(KINDS) == 3, last = opt(KINDS) == 1 || (opt(KINDS) == 4) ? 1 : 4;
	CUcontext none;

	if (!on && (opt(HOW) & 1))
		cuptiActivityFlushAll(0);
	if (opt(NAP))
		usleep((useconds_t)opt(NAP) * 1000);
	if (!on && (opt(HOW) & 2))
		shut(opt(HOW) & 4);
	else if (!on && (opt(HOW) & 4) && !cuCtxPushCurrent(it.context)) {
		cuCtxSynchronize();
		cuCtxPopCurrent(&none);
	}
	if (on && (opt(HOW) & 32))
		shut(false);
	if (opt(STRADDLE) & (on ? 2 : 1)) {
		it.parked = 1;
		for (int i = 0; i < 5000 && it.parked != 2; i++)
			usleep(10);
		it.straddled += it.parked == 2;
	}
	for (unsigned i = first; i < last; i++) {
		if (on)
			it.refused += cuptiActivityEnable((CUpti_ActivityKind)kinds[i]) && i < 3;
		else
			cuptiActivityDisable((CUpti_ActivityKind)kinds[i]);
	}
	it.gate = it.parked = 0;
	if (!on && (opt(HOW) & 24))
		cuptiActivityFlushAll(opt(HOW) & 16 ? 1 : 0);
	it.switches++;
}

static void *switching(void *none)
{
	uint64_t begin = now_ms(), flushed = begin, drained = begin,
		 next = begin + (uint64_t)opt(DELAY);
	bool on = true;
	unsigned seed = (unsigned)getpid();

	while (!it.stop) {
		uint64_t now = now_ms();

		usleep(1000);
		if (opt(FLUSH) && now >= flushed + (uint64_t)opt(FLUSH)) {
			cuptiActivityFlushAll(0);
			flushed = now;
		}
		if (it.sampled && now >= drained + (uint64_t)opt(DATA)) {
			drain();
			drained = now;
		}
		if (it.sampled && opt(SAMPLING) == 1 && now >= begin + (uint64_t)opt(UNTIL)) {
			shut(true);
			drain();
			sample(false);
			it.gate = 0;
		}
		if (opt(ON) && now >= next && (opt(SAMPLING) != 1 || !it.sampled)) {
			on = !on;
			switch_records(on);
			next = now + (uint64_t)(on ? opt(ON) : opt(OFF)) / 2 +
			       (uint64_t)rand_r(&seed) % (uint64_t)(on ? opt(ON) : opt(OFF));
		}
	}
	return none;
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			      const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)user;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && !it.context) {
			it.context = ((const CUpti_ResourceData *)data)->context;
			it.began = now_ms();
			if (opt(SAMPLING))
				sample(true);
			pthread_create(&it.thread, NULL, switching, NULL);
		}
		return;
	}
	if ((call->callbackSite == CUPTI_API_ENTER) == !(opt(STRADDLE) & 4)) {
		int one = 1;

		if (it.parked == 1 && atomic_compare_exchange_strong(&it.parked, &one, 2))
			while (it.parked)
				usleep(10);
	}
	if (call->callbackSite == CUPTI_API_ENTER) {
		for (it.under_way++; it.gate && !pthread_equal(pthread_self(), it.thread);
		     it.under_way++) {
			it.under_way--;
			usleep(20);
		}
		it.launches++;
	} else {
		it.under_way--;
	}
}

static void over(void)
{
	it.stop = 1;
	if (it.context)
		pthread_join(it.thread, NULL);
	fprintf(stderr,
		"toggle: %lu switches, %lu launches, %lu records (%lu unfinished) in %lu buffers, %lu samples, %lu refused, %lu straddled\n",
		(unsigned long)it.switches, (unsigned long)it.launches, (unsigned long)it.records,
		(unsigned long)it.zeros, (unsigned long)it.completed, (unsigned long)it.samples,
		(unsigned long)it.refused, (unsigned long)it.straddled);
	if (!opt(SAMPLING))
		return;
	fprintf(stderr,
		"toggle: asked %lu times for samples, of %.1f s; %lu are of others' kernels; of %u functions:\n",
		(unsigned long)it.asked, (double)(now_ms() - it.began) / 1e3,
		(unsigned long)it.others, it.functions_len);
	for (unsigned i = 0; i < it.functions_len; i++)
		fprintf(stderr, "toggle:   %10lu %.100s\n", (unsigned long)it.functions[i].samples,
			it.functions[i].name);
}

int InitializeInjection(void)
{
	static const CUpti_CallbackId launches[] = {307, 442, 477, 478, 652, 653, 514, 515};
	/* cuMemcpy*, cuMemset* */
	static const CUpti_CallbackId copies[][2] = {
		{216, 227}, {249, 255}, {276, 294}, {305, 307}};
	size_t size = 1, mb;
	uint8_t each = (uint8_t)opt(PER_THREAD);

	parse();
	sigaction(SIGSEGV,
		  &(struct sigaction){.sa_sigaction = died, .sa_flags = SA_SIGINFO | SA_ONSTACK},
		  NULL);
	if (opt(PER_THREAD) >= 0) {
		each = (uint8_t)opt(PER_THREAD);
		say("per thread",
		    (int)cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER,
						   &size, &each));
	}
	if (opt(POOL)) {
		mb = (size_t)opt(POOL) << 20;
		size = sizeof(mb);
		say("pool", (int)cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE,
							   &size, &mb));
	}
	say("subscribe", (int)cuptiSubscribe(&it.subscriber, callback, NULL));
	say("buffers", (int)cuptiActivityRegisterCallbacks(request, complete));
	cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
			    CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	for (unsigned i = 0; i < sizeof(launches) / sizeof(*launches) && opt(CALLBACKS); i++)
		cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);
	for (unsigned i = 0; i < sizeof(copies) / sizeof(*copies) && opt(COPIES); i++)
		for (CUpti_CallbackId k = copies[i][0]; k < copies[i][1]; k++)
			cuptiEnableCallback(1, it.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, k);
	for (unsigned i = 0; i < (opt(KINDS) == 1 ? 1u : 4u); i++)
		cuptiActivityEnable((CUpti_ActivityKind)kinds[i]);
	atexit(over);
	return 1;
}
