/* SPDX-License-Identifier: Apache-2.0 */
#include <level_zero/ze_api.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * An application of Level Zero: what it is told to do, word by word, with the module and the kernels of it that come
 * first.  ze_app MODULE KERNEL[,KERNEL] WORD...
 *
 * Built twice: linked to the loader, and (ZE_DLOPEN) with dlopen() and dlsym() only. It prints what goes wrong, and
 * what the application would notice if we were not invisible.
 */

/* clang-format off */
#define FUNCTIONS(X)                                                                                     \
	X(zeInit)                                                                                        \
	X(zeDriverGet)                                                                                   \
	X(zeDeviceGet) X(zeDeviceGetSubDevices) X(zeContextCreate) X(zeContextDestroy) X(zeCommandQueueCreate) X(                 \
		zeCommandQueueDestroy) X(zeCommandQueueExecuteCommandLists) X(zeCommandQueueSynchronize) \
		X(zeCommandListCreate) X(zeCommandListCreateImmediate) X(zeCommandListDestroy) X(        \
			zeCommandListClose) X(zeCommandListReset) X(zeCommandListAppendLaunchKernel)     \
			X(zeCommandListAppendLaunchCooperativeKernel) X(                                 \
				zeCommandListAppendLaunchKernelIndirect)                                 \
				X(zeCommandListAppendLaunchMultipleKernelsIndirect) X(                   \
					zeCommandListAppendMemoryCopy) X(zeCommandListAppendMemoryFill)  \
					X(zeCommandListAppendBarrier) X(zeModuleCreate) X(               \
						zeModuleDestroy) X(zeKernelCreate) X(zeKernelDestroy)    \
						X(zeKernelSetGroupSize) X(zeKernelSetArgumentValue) X(   \
							zeMemAllocShared) X(zeMemAllocDevice) X(zeMemAllocHost) \
							X(zeMemFree) X(zeEventPoolCreate) X(             \
								zeEventPoolDestroy) X(zeEventCreate)     \
								X(zeEventDestroy) X(                     \
									zeEventHostReset)                \
									X(zeEventHostSynchronize) X(     \
										zeEventQueryStatus)      \
										X(zeEventQueryKernelTimestamp)
/* clang-format on */

#ifdef ZE_DLOPEN
static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} ze;
static void find(void)
{
	void *lib = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		exit(77);
#define X(name) ze.name = (__typeof__(&name))dlsym(lib, #name);
	FUNCTIONS(X)
#undef X
}
#define ZE(name) ze.name
#else
static void find(void)
{
}
#define ZE(name) name
#endif

static ze_driver_handle_t drivers[4];
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static ze_module_handle_t module;
static ze_kernel_handle_t kernels[4];
static ze_event_pool_handle_t pool;
static ze_event_handle_t events[2];
static uint32_t drivers_len = 4, kernels_len;
static const char *kernel_names;
static unsigned char *binary;
static size_t binary_len;
static bool immediate, native;
static void *buffers[3];
static int n = 64, errors;

#define CHECK(call)                                     \
	do {                                            \
		ze_result_t r_ = (call);                \
		if (r_) {                               \
			printf("%s: %#x\n", #call, r_); \
			errors++;                       \
		}                                       \
	} while (0)

static void read_module(const char *path)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		exit(2);
	fseek(f, 0, SEEK_END);
	binary_len = (size_t)ftell(f);
	rewind(f);
	binary = malloc(binary_len);
	if (!binary || fread(binary, 1, binary_len, f) != binary_len)
		exit(2);
	fclose(f);
	native = binary_len > 4 && !memcmp(binary, "\177ELF", 4);
}

static void make_kernels(void)
{
	char names[256], *save = NULL;

	snprintf(names, sizeof(names), "%s", kernel_names);
	kernels_len = 0;
	for (char *k = strtok_r(names, ",", &save); k; k = strtok_r(NULL, ",", &save)) {
		const ze_kernel_desc_t kd = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					     .pKernelName = k};
		ze_kernel_handle_t *made = &kernels[kernels_len];

		CHECK(ZE(zeKernelCreate)(module, &kd, made));
		if (!*made)
			exit(1);
		CHECK(ZE(zeKernelSetGroupSize)(*made, 16, 1, 1));
		CHECK(ZE(zeKernelSetArgumentValue)(*made, 0, sizeof(n), &n));
		for (unsigned i = 0; i < 3; i++)
			CHECK(ZE(zeKernelSetArgumentValue)(*made, i + 1, sizeof(void *),
							   &buffers[i]));
		kernels_len++;
	}
}

static void make_module(void)
{
	const ze_module_desc_t md = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				     .format = native ? ZE_MODULE_FORMAT_NATIVE
						      : ZE_MODULE_FORMAT_IL_SPIRV,
				     .inputSize = binary_len,
				     .pInputModule = binary,
				     .pBuildFlags = "-g"};

	CHECK(ZE(zeModuleCreate)(context, device, &md, &module, NULL));
	if (!module)
		exit(1);
	make_kernels();
}

static void destroy_module(void)
{
	for (uint32_t i = 0; i < kernels_len; i++)
		CHECK(ZE(zeKernelDestroy)(kernels[i]));
	CHECK(ZE(zeModuleDestroy)(module));
	module = NULL;
}

static void make_list(void)
{
	const ze_command_list_desc_t ld = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};

	if (list)
		CHECK(ZE(zeCommandListDestroy)(list));
	list = NULL;
	if (immediate)
		CHECK(ZE(zeCommandListCreateImmediate)(context, device, &qd, &list));
	else
		CHECK(ZE(zeCommandListCreate)(context, device, &ld, &list));
}

static void start_on(ze_driver_handle_t driver, unsigned which, bool tile)
{
	ze_device_handle_t devices[2];
	const ze_context_desc_t cd = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	const ze_device_mem_alloc_desc_t da = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	const ze_host_mem_alloc_desc_t ha = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	uint32_t len = which + 1;

	CHECK(ZE(zeDeviceGet)(driver, &len, devices));
	device = devices[which];
	len = 1;
	if (tile)
		CHECK(ZE(zeDeviceGetSubDevices)(device, &len, &device));
	CHECK(ZE(zeContextCreate)(driver, &cd, &context));
	CHECK(ZE(zeCommandQueueCreate)(context, device, &qd, &queue));
	for (unsigned i = 0; i < 3; i++)
		CHECK(ZE(zeMemAllocShared)(context, &da, &ha, (size_t)n * (size_t)n * 4, 64, device,
					   &buffers[i]));
	list = NULL;
	make_list();
	make_module();
}

static void start(ze_driver_handle_t driver, unsigned which)
{
	start_on(driver, which, false);
}

static void finish(void)
{
	CHECK(ZE(zeCommandListDestroy)(list));
	destroy_module();
	for (unsigned i = 0; i < 3; i++)
		CHECK(ZE(zeMemFree)(context, buffers[i]));
	CHECK(ZE(zeCommandQueueDestroy)(queue));
	CHECK(ZE(zeContextDestroy)(context));
}

static const ze_group_count_t groups = {4, 64, 1};

/* Two ways to one kernel. */
__attribute__((noinline)) static void path_a(ze_event_handle_t event)
{
	CHECK(ZE(zeCommandListAppendLaunchKernel)(list, kernels[0], &groups, event, 0, NULL));
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void path_b(ze_event_handle_t event)
{
	CHECK(ZE(zeCommandListAppendLaunchKernel)(list, kernels[0], &groups, event, 0, NULL));
	__asm__ volatile("nop" ::: "memory"); /* else the two become one */
}

/* A launch on a list of its own. */
static void mark(void)
{
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	ze_command_list_handle_t own;

	CHECK(ZE(zeCommandListCreateImmediate)(context, device, &qd, &own));
	CHECK(ZE(zeCommandListAppendLaunchKernel)(own, kernels[1], &groups, NULL, 0, NULL));
	CHECK(ZE(zeCommandListDestroy)(own));
}

static void execute(unsigned times)
{
	if (immediate)
		return;
	CHECK(ZE(zeCommandListClose)(list));
	for (unsigned i = 0; i < times; i++) {
		CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
		CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
	}
	CHECK(ZE(zeCommandListReset)(list));
}

/* An event of the application's is signalled afterwards, and only then; it has times only if that was asked for. */
static void with_event(bool timed)
{
	ze_event_pool_desc_t pd = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
				   .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
				   .count = 2};
	ze_kernel_timestamp_result_t times = {.global = {.kernelEnd = 0}};

	if (timed)
		pd.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
	CHECK(ZE(zeEventPoolCreate)(context, &pd, 0, NULL, &pool));
	if ((pd.flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) != (timed ? 4u : 0u))
		printf("the description was changed\n"), errors++;
	for (uint32_t i = 0; i < 2; i++) {
		const ze_event_desc_t ed = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
					    .index = i,
					    .signal = ZE_EVENT_SCOPE_FLAG_HOST};

		CHECK(ZE(zeEventCreate)(pool, &ed, &events[i]));
	}
	for (unsigned i = 0; i < 3; i++) {
		if (ZE(zeEventQueryStatus)(events[0]) != ZE_RESULT_NOT_READY)
			printf("signalled too early\n"), errors++;
		path_a(events[0]);
		execute(1);
		CHECK(ZE(zeEventHostSynchronize)(events[0], 1000000000));
		/* AUB mode executes nothing, and so has no times. */
		if (timed && !ZE(zeEventQueryKernelTimestamp)(events[0], &times) &&
		    times.global.kernelEnd <= times.global.kernelStart)
			printf("no times\n"), errors++;
		CHECK(ZE(zeEventHostReset)(events[0]));
	}
	for (uint32_t i = 0; i < 2; i++)
		CHECK(ZE(zeEventDestroy)(events[i]));
	CHECK(ZE(zeEventPoolDestroy)(pool));
}

static void *waiter(void *arg)
{
	ze_event_handle_t event = arg;

	while (ZE(zeEventQueryStatus)(event) == ZE_RESULT_NOT_READY)
		usleep(1000);
	CHECK(ZE(zeEventHostReset)(event));
	return NULL;
}

/* Another thread waits for the end of a launch, and has its event reset, before the launching call returns. */
static void race(void)
{
	const ze_event_pool_desc_t pd = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					 .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					 .count = 1};
	const ze_event_desc_t ed = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
				    .signal = ZE_EVENT_SCOPE_FLAG_HOST};
	pthread_t t;

	CHECK(ZE(zeEventPoolCreate)(context, &pd, 0, NULL, &pool));
	CHECK(ZE(zeEventCreate)(pool, &ed, &events[0]));
	for (unsigned i = 0; i < 5; i++) {
		pthread_create(&t, NULL, waiter, events[0]);
		path_a(events[0]);
		pthread_join(t, NULL);
	}
	CHECK(ZE(zeEventDestroy)(events[0]));
	CHECK(ZE(zeEventPoolDestroy)(pool));
}

static void copies(void)
{
	const ze_device_mem_alloc_desc_t da = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	char *host = malloc(4096);
	void *mine = NULL;
	int pattern = 7;

	CHECK(ZE(zeMemAllocDevice)(context, &da, 4096, 64, device, &mine));
	CHECK(ZE(zeCommandListAppendMemoryCopy)(list, mine, host, 4096, NULL, 0, NULL));
	CHECK(ZE(zeCommandListAppendBarrier)(list, NULL, 0, NULL));
	CHECK(ZE(zeCommandListAppendMemoryFill)(list, mine, &pattern, sizeof(pattern), 1024, NULL,
						0, NULL));
	CHECK(ZE(zeCommandListAppendMemoryCopy)(list, host, mine, 2048, NULL, 0, NULL));
	CHECK(ZE(zeCommandListAppendMemoryCopy)(list, buffers[0], mine, 512, NULL, 0, NULL));
	execute(1);
	CHECK(ZE(zeMemFree)(context, mine));
	free(host);
}

static void memory(void)
{
	const ze_host_mem_alloc_desc_t ha = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	void *at = NULL;

	CHECK(ZE(zeMemAllocHost)(context, &ha, 8192, 64, &at));
	CHECK(ZE(zeMemFree)(context, at));
}

static void indirect(void)
{
	uint32_t *count = buffers[1];
	ze_group_count_t *where = buffers[2];

	*count = kernels_len;
	where[0] = where[1] = groups;
	CHECK(ZE(zeCommandListAppendLaunchKernelIndirect)(list, kernels[0], where, NULL, 0, NULL));
	CHECK(ZE(zeCommandListAppendLaunchMultipleKernelsIndirect)(list, kernels_len, kernels,
								   count, where, NULL, 0, NULL));
	execute(1);
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		printf("the child\n"), errors++;
}

/* A child that goes on with what its parent has made. */
static void inherit(void)
{
	int status;
	pid_t pid;

	path_a(NULL);
	CHECK(ZE(zeCommandListClose)(list));
	CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
	CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
	pid = fork();
	if (!pid) {
		ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL);
		ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX);
		ZE(zeCommandListDestroy)(list);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		printf("the child ends with %#x\n", (unsigned)status), errors++;
	CHECK(ZE(zeCommandListReset)(list));
}

/* A list that is executed again and again: to be recorded when it has been made already. Until there is the file that
 * ZE_APP_UNTIL names, or for 2 s. */
__attribute__((noinline)) static void loop(void)
{
	const char *until = getenv("ZE_APP_UNTIL");

	path_a(NULL);
	CHECK(ZE(zeCommandListClose)(list));
	for (unsigned i = 0; until ? i < 6000 && access(until, F_OK) : i < 200; i++) {
		CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
		CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
		usleep(10000);
	}
	CHECK(ZE(zeCommandListReset)(list));
}

/* A list that is executed again before it has ended, and again later; and in between another way to the kernel. */
static void overlap(void)
{
	path_a(NULL);
	CHECK(ZE(zeCommandListClose)(list));
	for (unsigned i = 0; i < 3; i++)
		CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
	CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
	mark();
	for (unsigned i = 0; i < 2; i++) {
		CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
		CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
	}
	CHECK(ZE(zeCommandListReset)(list));
}

/* Contexts that come and go, each with something to measure. */
static void contexts(void)
{
	const ze_context_desc_t cd = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};

	for (unsigned i = 0; i < 100; i++) {
		ze_context_handle_t c;
		ze_command_list_handle_t l;

		CHECK(ZE(zeContextCreate)(drivers[0], &cd, &c));
		CHECK(ZE(zeCommandListCreateImmediate)(c, device, &qd, &l));
		CHECK(ZE(zeCommandListAppendLaunchKernel)(l, kernels[0], &groups, NULL, 0, NULL));
		CHECK(ZE(zeCommandListDestroy)(l));
		CHECK(ZE(zeContextDestroy)(c));
	}
}

/* More contexts at once than the agent has pools of events for; the last one goes on when the others are gone. */
static void crowd(void)
{
	enum { CROWD = 70 };
	const ze_context_desc_t cd = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	ze_context_handle_t c[CROWD];
	ze_command_list_handle_t l[CROWD];

	for (unsigned i = 0; i < CROWD; i++) {
		CHECK(ZE(zeContextCreate)(drivers[0], &cd, &c[i]));
		CHECK(ZE(zeCommandListCreateImmediate)(c[i], device, &qd, &l[i]));
		CHECK(ZE(zeCommandListAppendLaunchKernel)(l[i], kernels[0], &groups, NULL, 0,
							  NULL));
	}
	for (unsigned i = 0; i < CROWD; i++) {
		if (i == CROWD - 1)
			CHECK(ZE(zeCommandListAppendLaunchKernel)(l[i], kernels[0], &groups, NULL,
								  0, NULL));
		CHECK(ZE(zeCommandListDestroy)(l[i]));
		CHECK(ZE(zeContextDestroy)(c[i]));
	}
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

/* Prints the cost of a launch: the median of bursts of 100. */
static void rate(void)
{
	enum { BURSTS = 1000, BURST = 100 };
	static double ns[BURSTS];

	for (unsigned i = 0; i < BURSTS; i++) {
		struct timespec a, b;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (unsigned k = 0; k < BURST; k++)
			ZE(zeCommandListAppendLaunchKernel)
		(list, kernels[0], &groups, NULL, 0, NULL);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns[i] = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
			BURST;
		usleep(100);
	}
	qsort(ns, BURSTS, sizeof(ns[0]), by_value);
	printf("median %.1f ns\n", ns[BURSTS / 2]);
}

static void *many(void *arg)
{
	const ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
	ze_command_list_handle_t own;
	unsigned times = *(unsigned *)arg;

	CHECK(ZE(zeCommandListCreateImmediate)(context, device, &qd, &own));
	for (unsigned i = 0; i < times; i++)
		CHECK(ZE(zeCommandListAppendLaunchKernel)(own, kernels[0], &groups, NULL, 0, NULL));
	CHECK(ZE(zeCommandListDestroy)(own));
	return NULL;
}

static void threads(void)
{
	unsigned times = 2000;
	pthread_t t[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, &times);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Opens a file beside the simulated driver's script, by which this program and metrics.c signal each other. True: the
 * file exists, or was made. */
static bool file(const char *what, int device_index, const char *mode)
{
	const char *script = getenv("ZE_MOCK_STALLS");
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%s.%d", script ? script : "", what, device_index);
	f = fopen(path, mode);
	if (f)
		fclose(f);
	return f != NULL;
}

static void await(const char *what, int devices)
{
	for (int i = 0; i < devices; i++)
		for (unsigned tries = 0; !file(what, i, "r"); tries++) {
			if (tries == 4000) {
				printf("no %s of device %d\n", what, i);
				errors++;
				return;
			}
			usleep(10000);
		}
}

static void obey(const char *word)
{
	if (!strcmp(word, "immediate")) {
		immediate = true;
		make_list();
	} else if (!strcmp(word, "regular")) {
		immediate = false;
		make_list();
	} else if (!strcmp(word, "a")) {
		path_a(NULL);
		execute(1);
	} else if (!strcmp(word, "b")) {
		path_b(NULL);
		execute(1);
	} else if (!strcmp(word, "add")) { /* the second kernel */
		CHECK(ZE(zeCommandListAppendLaunchKernel)(list, kernels[1], &groups, NULL, 0,
							  NULL));
		execute(1);
	} else if (!strcmp(word, "thrice")) {
		path_a(NULL);
		path_b(NULL);
		execute(3);
	} else if (!strcmp(word, "cooperative")) {
		CHECK(ZE(zeCommandListAppendLaunchCooperativeKernel)(list, kernels[0], &groups,
								     NULL, 0, NULL));
		execute(1);
	} else if (!strcmp(word, "indirect")) {
		indirect();
	} else if (!strcmp(word, "copies")) {
		copies();
	} else if (!strcmp(word, "memory")) {
		memory();
	} else if (!strcmp(word, "event")) {
		with_event(false);
	} else if (!strcmp(word, "timed")) {
		with_event(true);
	} else if (!strcmp(word, "reload")) {
		destroy_module();
		make_module();
	} else if (!strcmp(word, "second")) { /* the driver after this one */
		finish();
		start(drivers[1], 0);
	} else if (!strcmp(word, "also")) { /* the device after this one, which keeps what it has */
		start(drivers[0], 1);
	} else if (!strncmp(word, "streamed", 8)) { /* that many devices */
		await("open", atoi(word + 8));
	} else if (!strcmp(word, "race")) {
		race();
	} else if (!strcmp(word, "overlap")) {
		overlap();
	} else if (!strcmp(word,
			   "quit")) { /* and leaves all as it is: three executions, one event */
		path_a(NULL);
		CHECK(ZE(zeCommandListClose)(list));
		for (unsigned i = 0; i < 3; i++)
			CHECK(ZE(zeCommandQueueExecuteCommandLists)(queue, 1, &list, NULL));
		CHECK(ZE(zeCommandQueueSynchronize)(queue, UINT64_MAX));
		exit(errors != 0);
	} else if (!strcmp(word, "contexts")) {
		contexts();
	} else if (!strcmp(word, "crowd")) {
		crowd();
	} else if (!strcmp(word, "asked")) { /* for its metric groups */
		await("asked", 1);
	} else if (!strncmp(word, "counting", 8)) { /* that many devices */
		await("counting", atoi(word + 8));
	} else if (!strncmp(word, "counted", 7)) {
		await("counted", atoi(word + 7));
	} else if (!strncmp(word, "done", 4)) {
		await("done", atoi(word + 4));
	} else if (!strcmp(word, "tile")) { /* a part of the device; the rest stays */
		start_on(drivers[0], 0, true);
	} else if (!strncmp(word, "told", 4)) {
		file("go", 0, "w");
		await("done", atoi(word + 4));
	} else if (!strcmp(word, "fork")) {
		in_child();
	} else if (!strcmp(word, "inherit")) {
		inherit();
	} else if (!strcmp(word, "threads")) {
		threads();
	} else if (!strcmp(word, "pause")) {
		usleep(1200000);
	} else if (!strcmp(word, "rate")) {
		rate();
	} else if (!strcmp(word, "loop")) {
		loop();
	} else {
		exit(2);
	}
}

int main(int argc, char **argv)
{
	ze_result_t r;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	find();
	read_module(argv[1]);
	kernel_names = argv[2];
	r = ZE(zeInit)(0);
	if (r) { /* as on a machine without a GPU */
		printf("zeInit: %#x\n", r);
		return 3;
	}
	CHECK(ZE(zeDriverGet)(&drivers_len, drivers));
	start(drivers[0], 0);
	for (int i = 3; i < argc; i++)
		obey(argv[i]);
	finish();
	printf("drivers %u, errors %d\n", drivers_len, errors);
	return errors != 0;
}
