/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what parts of CUPTI cost a program by themselves: an injection library that does what FLOOR says, with a callback that does
 * nothing. A floor under what aiflame can cost, for bench/gpu/price --floor. Built where it runs:
 *
 *     cc -O2 -shared -fPIC -o floor.so price_floor.c -I$CUDA/include -I$CUDA/extras/CUPTI/include -ldl
 *     CUPTI_LIB=LIBCUPTI bench/gpu/price --floor floor.so --ways floor:sub+drv,floor:turn1+sub+buf+rec_on+turn2+rec_off PROGRAM
 *
 * FLOOR is a list with commas: sub, unsub, fin (finalize); drv, rt, sync, copies, loads, mems, contexts, nodes, all: callbacks of launches by the
 * driver and by the runtime, of calls that wait, copy, load code, allocate, of contexts and modules, of graphs' nodes, of all calls of both domains; buf: buffers for records;
 * rec_on, rec_off: kernel records; graphs_on: records of graphs as a whole; copies_on, copies_off: those of copies and fills; pc_on, pc_off: instruction sampling; turn1,
 * turn2: waits until the program has worked once, twice (FLOOR_DIRECTORY); a number: sleeps so many ms.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN(a)      (sizeof(a) / sizeof(*(a)))
#define CUPTI(name) ((__typeof__(&name))dlsym(library, #name))
#define PERIOD      20
#define PCS         4096
#define REASONS     64

static void *library;
static CUpti_SubscriberHandle subscriber;

/* Numbers of callbacks, as src/agent/cuda/cupti_abi.h has them. */
static const struct {
	const char *name;
	int domain;
	CUpti_CallbackId ids[40];
} calls[] = {
	{"drv", CUPTI_CB_DOMAIN_DRIVER_API, {307, 442, 477, 478, 652, 653, 514, 515}},
	{"rt", CUPTI_CB_DOMAIN_RUNTIME_API, {211, 214, 430, 431, 505, 506}},
	{"contexts", CUPTI_CB_DOMAIN_RESOURCE, {1, 2, 6}},
	{"nodes", CUPTI_CB_DOMAIN_RESOURCE, {13, 20, 10, 17, 18, 22}},
	{"sync", CUPTI_CB_DOMAIN_DRIVER_API, {126, 440, 121, 17, 800}},
	{"copies", CUPTI_CB_DOMAIN_DRIVER_API, {276, 277, 278, 279, 280, 281, 305, 306, 397, 398,
						399, 408, 418, 421, 422, 423, 249, 250, 251, 252,
						253, 254, 216, 217, 218, 287, 289, 290, 291}},
	{"loads", CUPTI_CB_DOMAIN_DRIVER_API, {18,  19,  20,  21,  22,  23,  24,  85,  86,
					       241, 338, 374, 384, 451, 452, 481, 502, 516,
					       543, 561, 675, 676, 678, 679, 680, 682, 683,
					       684, 685, 686, 687, 688, 689, 696, 700, 742}},
	{"mems", CUPTI_CB_DOMAIN_DRIVER_API, {243, 244, 371, 598, 599, 611, 612, 37,
					      294, 39,  271, 551, 245, 600, 601, 38,
					      552, 301, 379, 549, 302, 550}},
};

static int asks_ids;

/* Does nothing, but asks for the numbers of a graph's nodes after "ids". */
static void CUPTIAPI nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_ResourceData *r = data;
	const CUpti_GraphData *g;
	uint64_t node;

	(void)user;
	if (!asks_ids || domain != CUPTI_CB_DOMAIN_RESOURCE || id < 10 || !r->resourceDescriptor)
		return;
	g = r->resourceDescriptor;
	if ((id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
	     id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) &&
	    g->node)
		CUPTI(cuptiGetGraphNodeId)(g->node, &node);
}

/* Has CUPTI hand over its full buffers four times a second. */
static void *flush(void *unused)
{
	for (;;) {
		usleep(250000);
		CUPTI(cuptiActivityFlushAll)(0);
	}
	return unused;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 2 << 20;
	*buffer = aligned_alloc(64, *size);
	*records = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid)
{
	static __typeof__(&cuptiActivityGetNextRecord) next;
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	if (!next)
		next = CUPTI(cuptiActivityGetNextRecord);
	while (next(buffer, valid, &record) == CUPTI_SUCCESS)
		;
	free(buffer);
}

static int enable(const char *name)
{
	for (size_t i = 0; i < LEN(calls); i++) {
		if (strcmp(calls[i].name, name) != 0)
			continue;
		for (size_t k = 0; k < LEN(calls[i].ids) && calls[i].ids[k]; k++)
			CUPTI(cuptiEnableCallback)
		(1, subscriber, (CUpti_CallbackDomain)calls[i].domain, calls[i].ids[k]);
		return 0;
	}
	return -1;
}

static int sample(int on)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuDevicePrimaryCtxRetain) retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
	CUpti_PCSamplingEnableParams e = {CUpti_PCSamplingEnableParamsSize, NULL, NULL};
	CUpti_PCSamplingDisableParams d = {CUpti_PCSamplingDisableParamsSize, NULL, NULL};
	CUpti_PCSamplingConfigurationInfo c[3];
	CUpti_PCSamplingConfigurationInfoParams p = {CUpti_PCSamplingConfigurationInfoParamsSize,
						     NULL, NULL, LEN(c), c};
	static CUpti_PCSamplingData data;
	CUcontext context;
	int r;

	if (retain(&context, 0))
		return -1;
	e.ctx = d.ctx = p.ctx = context;
	if (!on)
		return CUPTI(cuptiPCSamplingDisable)(&d);
	r = CUPTI(cuptiPCSamplingEnable)(&e);
	if (r)
		return r;
	data.size = sizeof(data);
	data.collectNumPcs = PCS;
	data.pPcData = calloc(PCS, sizeof(*data.pPcData));
	for (int i = 0; i < PCS; i++) {
		data.pPcData[i].size = sizeof(*data.pPcData);
		data.pPcData[i].stallReason = calloc(REASONS, sizeof(CUpti_PCSamplingStallReason));
	}
	memset(c, 0, sizeof(c));
	c[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
	c[0].attributeData.collectionModeData.collectionMode =
		CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	c[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
	c[1].attributeData.samplingDataBufferData.samplingDataBuffer = &data;
	c[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
	c[2].attributeData.samplingPeriodData.samplingPeriod = PERIOD;
	return CUPTI(cuptiPCSamplingSetConfigurationAttribute)(&p);
}

static int records(int on, CUpti_ActivityKind kind)
{
	return on ? CUPTI(cuptiActivityEnable)(kind) : CUPTI(cuptiActivityDisable)(kind);
}

static void await_turn(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", getenv("FLOOR_DIRECTORY"), name);
	while (access(path, F_OK))
		usleep(20000);
}

static int act(const char *what)
{
	if (!strcmp(what, "sub"))
		return CUPTI(cuptiSubscribe)(&subscriber, nothing, NULL);
	if (!strcmp(what, "unsub"))
		return CUPTI(cuptiUnsubscribe)(subscriber);
	if (!strcmp(what, "fin"))
		return CUPTI(cuptiActivityFlushAll)(1) | CUPTI(cuptiFinalize)();
	if (!strcmp(what, "all"))
		return CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) |
		       CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	if (!strcmp(what, "buf"))
		return CUPTI(cuptiActivityRegisterCallbacks)(request, complete);
	if (!strcmp(what, "rec_on") || !strcmp(what, "rec_off"))
		return records(!strcmp(what, "rec_on"), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (!strcmp(what, "copies_on") || !strcmp(what, "copies_off"))
		return records(!strcmp(what, "copies_on"), CUPTI_ACTIVITY_KIND_MEMCPY) |
		       records(!strcmp(what, "copies_on"), CUPTI_ACTIVITY_KIND_MEMSET);
	if (!strcmp(what, "pc_on") || !strcmp(what, "pc_off"))
		return sample(!strcmp(what, "pc_on"));
	if (!strcmp(what, "ids"))
		return asks_ids = 1, 0;
	if (!strcmp(what, "flush"))
		return pthread_create(&(pthread_t){0}, NULL, flush, NULL);
	if (!strcmp(what, "peers_on"))
		return records(1, CUPTI_ACTIVITY_KIND_MEMCPY2);
	if (!strcmp(what, "graphs_on"))
		return CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	if (!strncmp(what, "turn", 4))
		return await_turn(what), 0;
	if (atoi(what) > 0)
		return usleep((useconds_t)atoi(what) * 1000);
	return enable(what);
}

static void *run(void *script)
{
	char *save;

	for (char *a = strtok_r(script, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
		int r = act(a);

		if (r)
			fprintf(stderr, "price_floor: %s: %d\n", a, r);
	}
	return NULL;
}

int InitializeInjection(void)
{
	const char *script = getenv("FLOOR");
	pthread_t thread;

	library = dlopen(getenv("CUPTI_LIB"), RTLD_NOW);
	if (!library || !script) {
		fprintf(stderr, "price_floor: CUPTI_LIB: %s\n", dlerror());
		return 1;
	}
	if (!strncmp(script, "turn", 4))
		pthread_create(&thread, NULL, run, strdup(script));
	else
		run(strdup(script));
	return 1;
}
