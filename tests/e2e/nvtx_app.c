/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * A program that marks ranges with NVTX.  nvtx_app WHAT
 *   ranges LIB     in every form; LIB, with tables of its own, is loaded, called and unloaded
 *   names N        N different names
 *   storm LIB N    threads that push, pop, load and unload LIB; a fork
 *   wrong          pops of nothing, ranges that never end, too deep ones
 *   again N        a payload of long registered strings, N times
 *   hostile        schemas and payloads that lie
 *   layers N       a model's pass, N times: ranges in ranges, launches within
 *   steps N        the same, each pass in a range that says which it is
 *   cost N         ns of a push and a pop, N times, each form, of each 400
 *   hold SECONDS   launches and marks until then, for who attaches
 */

static struct target t;
static cl_kernel add_one;

static void launch(int n)
{
	while (n--)
		target_launch(t.queue, add_one, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

static nvtxEventAttributes_t named(int32_t type)
{
	return (nvtxEventAttributes_t){.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = type};
}

static void with_ascii(nvtxDomainHandle_t d, const char *name)
{
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_ASCII);

	a.message.ascii = name;
	nvtxDomainRangePushEx(d, &a);
}

/* ---- payloads -------------------------------------------------------------------------------- */

#define SCHEMA    ((1 << 24) + 5)
#define OPERATION ((1 << 24) + 20)
struct reduce {
	uint64_t comm;
	size_t bytes;
	int op;
	const char *text;
};

static void schemas(nvtxDomainHandle_t d)
{
	static const nvtxPayloadEnum_t ops[] = {{"Sum", 0, 0}, {"Prod", 1, 0}};
	const nvtxPayloadEnumAttr_t e = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
						      NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
						      NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
						      NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
					 .entries = ops,
					 .numEntries = 2,
					 .sizeOfEnum = sizeof(int),
					 .schemaId = OPERATION};
	static const nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "comm"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
		 .name = "Message size [bytes]",
		 .offset = offsetof(struct reduce, bytes)},
		{.type = OPERATION, .name = "op", .offset = offsetof(struct reduce, op)},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
		 .name = "text",
		 .offset = offsetof(struct reduce, text)},
	};
	const nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
					   .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
					   .entries = entries,
					   .numEntries = 4,
					   .payloadStaticSize = sizeof(struct reduce),
					   .schemaId = SCHEMA};

	nvtxPayloadEnumRegister(d, &e);
	nvtxPayloadSchemaRegister(d, &a);
}

static void reduce(nvtxDomainHandle_t d, nvtxStringHandle_t name, const struct reduce *r,
		   size_t size)
{
	const nvtxPayloadData_t data = {SCHEMA, size, r};
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_REGISTERED);

	a.message.registered = name;
	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = 1;
	a.payload.ullValue = (uint64_t)(uintptr_t)&data;
	nvtxDomainRangePushEx(d, &a);
	launch(1);
	nvtxDomainRangePop(d);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* An instruction of XLA, as its launches are marked: each of them has the same strings. */
struct thunk {
	nvtxStringHandle_t source;
	int id;
};

static nvtxEventAttributes_t thunk_of(nvtxDomainHandle_t d, nvtxPayloadData_t *ret_data,
				      struct thunk *ret_thunk, int id)
{
	static const nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE,
		 .name = "Source locations"},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "id", .offset = 8}};
	static const nvtxPayloadSchemaAttr_t schema = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = entries,
		.numEntries = 2,
		.payloadStaticSize = sizeof(*ret_thunk)};
	static uint64_t number;
	static char tree[3001];
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_ASCII);

	if (!number)
		number = nvtxPayloadSchemaRegister(d, &schema);
	memset(tree, 't', 3000);
	for (int i = 0, rest = id; rest; i++, rest /= 10)
		tree[i] = (char)('0' + rest % 10);
	*ret_thunk = (struct thunk){nvtxDomainRegisterStringA(d, tree), id};
	*ret_data = (nvtxPayloadData_t){number, sizeof(*ret_thunk), ret_thunk};
	a.message.ascii = "thunk";
	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = 1;
	a.payload.ullValue = (uint64_t)(uintptr_t)ret_data;
	return a;
}

static void again(int n)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("TSL");
	nvtxPayloadData_t data;
	struct thunk thunk;
	nvtxEventAttributes_t a = thunk_of(d, &data, &thunk, 7);

	launch(1);
	for (int i = 0; i < n; i++) {
		nvtxDomainRangePushEx(d, &a);
		nvtxDomainRangePop(d);
		nvtxDomainRangeEnd(d, nvtxDomainRangeStartEx(d, &a));
	}
	launch(1);
}

static nvtxRangeId_t across;

static void *end_across(void *arg)
{
	(void)arg;
	nvtxRangePushA("other thread");
	launch(2);
	nvtxRangeEnd(across);
	nvtxRangePop();
	return NULL;
}

static void use_library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(void (*)(int)) =
		lib ? (void (*)(void (*)(int)))dlsym(lib, "nvtx_lib_work") : NULL;

	CHECK(work);
	work(launch);
	CHECK(!dlclose(lib));
}

static void ranges(const char *library)
{
	nvtxDomainHandle_t d;
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_UNICODE);
	nvtxStringHandle_t all_reduce;
	struct reduce r = {77, 4096, 0, "a text"};
	pthread_t thread;
	int levels[3];

	launch(1);
	nvtxRangePushA("outer \xc3\xa4");
	nvtxRangePushA("inner");
	launch(3);
	nvtxRangePop();
	d = nvtxDomainCreateA("NCCL");
	all_reduce = nvtxDomainRegisterStringA(d, "ncclAllReduce");
	schemas(d);
	reduce(d, all_reduce, &r, sizeof(r));
	/* Domains nest each by itself: this one goes on below. */
	with_ascii(d, "crosses");
	nvtxRangePushA("crossed");
	nvtxDomainRangePop(d);
	launch(1);
	nvtxRangePop();
	a.message.unicode = L"wide \xe4\x20ac";
	a.category = 3;
	a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	a.payload.iValue = -7;
	nvtxDomainNameCategoryA(NULL, 3, "loading");
	nvtxRangePushEx(&a);
	nvtxMarkA("a moment");
	nvtxRangePop();
	nvtxRangePushA("not \xff utf-8");
	nvtxRangePop();
	across = nvtxRangeStartA("across threads");
	CHECK(!pthread_create(&thread, NULL, end_across, NULL));
	CHECK(!pthread_join(thread, NULL));
	use_library(library);
	use_library(library);
	nvtxRangePop();
	levels[0] = nvtxRangePushA("a");
	levels[1] = nvtxRangePushA("b");
	levels[2] = nvtxRangePop();
	nvtxRangePop();
	printf("levels %d %d %d\n", levels[0], levels[1], levels[2]);
}

static void wrong(void)
{
	launch(1);
	for (int i = 0; i < 5; i++)
		nvtxRangePop();
	for (int i = 0; i < 70; i++)
		nvtxRangePushA("deep");
	for (int i = 0; i < 70; i++)
		nvtxRangePop();
	nvtxRangeEnd(12345);
	nvtxRangeEnd(0);
	nvtxRangeStartA("never ends, of two threads");
	nvtxDomainRangePushEx((nvtxDomainHandle_t)(uintptr_t)0xdeadbeef, NULL);
	nvtxRangePop();
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	nvtxRangePushA(NULL);
	nvtxRangePop();
	nvtxRangePushA("never ends");
	launch(1);
}

static void names(int n)
{
	char name[32];

	launch(1);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		nvtxRangePushA(name);
		nvtxRangePop();
		if (i % 4096 == 0)
			usleep(2000); /* the recorder keeps up */
	}
}

/* Registers a schema of one number at `offset`, of any size, and as many entries as it says. */
static uint64_t lying_schema(nvtxDomainHandle_t d, uint64_t offset, const char *name,
			     size_t entries)
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	nvtxPayloadSchemaEntry_t *e = (void *)(pages + 4096 - sizeof(*e));
	nvtxPayloadSchemaAttr_t a = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
						  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
				     .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
				     .entries = e,
				     .numEntries = entries,
				     .payloadStaticSize = SIZE_MAX};
	uint64_t schema;

	CHECK(pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_NONE));
	*e = (nvtxPayloadSchemaEntry_t){
		.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = name, .offset = offset};
	schema = nvtxPayloadSchemaRegister(d, &a);
	munmap(pages, 8192);
	return schema;
}

/* Pushes a range with payloads that are not where they are said to be, or not so large. */
static void wild_payloads(nvtxDomainHandle_t d)
{
	const void *const nowhere = (const void *)(uintptr_t)0x1234;
	uint64_t here = 1,
		 schemas[] = {lying_schema(d, UINT64_C(1) << 40, "far", 1),
			      lying_schema(d, 0, nowhere, 1), lying_schema(d, 0, "many", SIZE_MAX),
			      NVTX_PAYLOAD_ENTRY_TYPE_UINT64};
	const nvtxPayloadData_t data[] = {{schemas[0], SIZE_MAX, &here},
					  {schemas[1], 8, nowhere},
					  {schemas[2], SIZE_MAX, &here},
					  {schemas[3], 8, nowhere},
					  {schemas[3], 8, (const void *)(UINTPTR_MAX - 3)}};
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_ASCII);

	a.message.ascii = "wild";
	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
		a.reserved0 = 1;
		a.payload.ullValue = (uint64_t)(uintptr_t)&data[i];
		nvtxDomainRangePushEx(d, &a);
		nvtxDomainRangePop(d);
	}
	a.reserved0 = 8;
	a.payload.ullValue = (uint64_t)(uintptr_t)nowhere;
	nvtxDomainRangePushEx(d, &a);
	nvtxDomainRangePop(d);
}

static void hostile(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("NCCL");
	nvtxStringHandle_t name = nvtxDomainRegisterStringA(d, "call");
	struct reduce r = {1, 2, 99, (const char *)(uintptr_t)0x1234};
	nvtxPayloadSchemaEntry_t e[2] = {{.type = SCHEMA, .name = "me", .offset = 0},
					 {.type = 7777777, .offset = UINT64_MAX - 3}};
	nvtxPayloadSchemaAttr_t a = {.fieldMask = UINT64_MAX,
				     .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
				     .entries = e,
				     .numEntries = 2,
				     .payloadStaticSize = SIZE_MAX,
				     .schemaId = (1 << 24) + 6};

	launch(1);
	schemas(d);
	for (size_t size = 0; size <= sizeof(r); size++)
		reduce(d, name, &r, size);
	nvtxPayloadSchemaRegister(d, &a);
	nvtxPayloadSchemaRegister(d, NULL);
	nvtxPayloadEnumRegister(d, NULL);
	e[0].type = (1 << 24) + 6; /* in itself */
	a.schemaId = 0;
	nvtxPayloadSchemaRegister(d, &a);
	for (int i = 0; i < 1000; i++) {
		nvtxPayloadData_t data = {(1 << 24) + 6, i % 2 ? sizeof(r) : SIZE_MAX, &r};

		with_ascii(d, "pop");
		data.schemaId += (uint64_t)(i % 3);
		nvtxRangePopPayload(d, &data, i % 2 ? 1 : 0);
	}
	wild_payloads(d);
}

/* ---- threads --------------------------------------------------------------------------------- */

static const char *storm_library;

static void *storm_thread(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++) {
		nvtxRangePushA("storm");
		for (int k = 0; k < i % 7; k++) {
			char name[32];

			snprintf(name, sizeof(name), "storm %d", (i * k) % 500);
			nvtxRangePushA(name);
			nvtxMarkA(name);
		}
		if (i % 50 == 0)
			target_launch(t.queue, add_one, 64);
		for (int k = 0; k < i % 7; k++)
			nvtxRangePop();
		nvtxRangeEnd(nvtxRangeStartA("span"));
		if (i % 200 == 199)
			use_library(storm_library);
		nvtxRangePop();
	}
	return NULL;
}

static void storm(const char *library, int n)
{
	pthread_t threads[8];
	pid_t child;

	storm_library = library;
	launch(1);
	/* NVTX's headers wait, in a child too, for the thread that is at its first call when the program forks. */
	nvtxRangePushA("first");
	nvtxRangePop();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			CHECK(!pthread_create(&threads[i], NULL, storm_thread, &n));
		child = fork();
		if (!child) {
			for (int i = 0; i < 100; i++) {
				nvtxRangePushA("child");
				nvtxRangePop();
			}
			_exit(0);
		}
		CHECK(waitpid(child, NULL, 0) == child);
		for (int i = 0; i < 8; i++)
			CHECK(!pthread_join(threads[i], NULL));
	}
	launch(1);
}

/* ---- a model --------------------------------------------------------------------------------- */

__attribute__((noinline)) static void layer(int i)
{
	char name[32];

	snprintf(name, sizeof(name), "layer %d", i);
	nvtxRangePushA(name);
	nvtxRangePushA("attention");
	launch(3);
	nvtxRangePop();
	nvtxRangePushA("mlp");
	launch(2);
	nvtxRangePop();
	nvtxRangePop();
}

static void layers(int n, const char *step)
{
	char name[64];

	launch(1);
	for (int i = 0; i < n; i++) {
		if (step) {
			snprintf(name, sizeof(name), "%s %d", step, i);
			nvtxRangePushA(name);
		}
		nvtxRangePushA("forward");
		for (int k = 0; k < 3; k++)
			layer(k);
		nvtxRangePop();
		nvtxRangePushA("optimizer");
		launch(1);
		nvtxRangePop();
		if (step)
			nvtxRangePop();
	}
}

static double ns_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) * 1e9 + (double)(now.tv_nsec - from->tv_nsec);
}

/* A step of so many instructions. */
#define THUNKS    200
#define COST_EACH 400 /* pairs of a round */

static void cost(int n)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("domain");
	nvtxEventAttributes_t a = named(NVTX_MESSAGE_TYPE_REGISTERED), thunk[THUNKS];
	nvtxPayloadData_t data[THUNKS];
	struct thunk strings[THUNKS];
	char names[THUNKS][120];
	struct timespec from;

	if (!getenv("NVTX_APP_NO_LAUNCH"))
		launch(1);
	for (int i = 0; i < THUNKS; i++) {
		thunk[i] = thunk_of(d, &data[i], &strings[i], i);
		snprintf(
			names[i], sizeof(names[i]),
			"Thunk:#name=jit(train_step)/transpose(jvp(Dense_%d))/dot_general,hlo_op=fusion.%d#",
			i, i);
		thunk[i].message.ascii = names[i];
	}
	a.message.registered = nvtxDomainRegisterStringA(d, "registered");
	/* Short rounds: the least of many is without what else the machine does. */
	for (int round = 0; round < n / COST_EACH; round++) {
		double ns[3];

		if (getenv("NVTX_APP_PAUSES"))
			usleep(2000); /* the recorder keeps up */
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_EACH; i++) {
			nvtxRangePushA("a name of usual length");
			nvtxRangePop();
		}
		ns[0] = ns_since(&from);
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_EACH; i++) {
			nvtxDomainRangePushEx(d, &a);
			nvtxDomainRangePop(d);
		}
		ns[1] = ns_since(&from);
		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_EACH; i++) {
			nvtxDomainRangePushEx(d, &thunk[i % THUNKS]);
			nvtxDomainRangePop(d);
		}
		printf("text %.1f registered %.1f thunk %.1f\n", ns[0] / COST_EACH,
		       ns[1] / COST_EACH, ns_since(&from) / COST_EACH);
	}
}

static void hold(int seconds)
{
	struct timespec from;

	clock_gettime(CLOCK_MONOTONIC, &from);
	nvtxRangePushA("before");
	printf("ready\n");
	fflush(stdout);
	while (ns_since(&from) < seconds * 1e9 && access("stop", F_OK)) {
		nvtxRangePushA("turn");
		launch(1);
		nvtxRangePop();
		usleep(1000);
	}
	nvtxRangePop();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[argc - 1]) : 0;

	if (strcmp(what, "cost") || !getenv("NVTX_APP_NO_LAUNCH")) {
		target_open(&t);
		add_one = target_kernel(&t, "add_one", target_buffer(&t, 64), 1);
	}
	if (!strcmp(what, "ranges") && argc == 3)
		ranges(argv[2]);
	else if (!strcmp(what, "wrong"))
		wrong();
	else if (!strcmp(what, "names") && n)
		names(n);
	else if (!strcmp(what, "again") && n)
		again(n);
	else if (!strcmp(what, "hostile"))
		hostile();
	else if (!strcmp(what, "storm") && argc == 4)
		storm(argv[2], n);
	else if (!strcmp(what, "layers") && n)
		layers(n, NULL);
	else if (!strcmp(what, "steps") && n)
		layers(n, "train_step");
	else if (!strcmp(what, "cost") && n)
		cost(n);
	else if (!strcmp(what, "hold") && n)
		hold(n);
	else
		return 2;
	return 0;
}
