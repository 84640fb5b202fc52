/* SPDX-License-Identifier: Apache-2.0 */
#include "mock.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { INVALID = 1, NOT_INITIALIZED = 3, NOT_FOUND = 500, NOT_READY = 600 };

/* The launch's way to the device. */
#define LATENCY_NS 3000
/* A stream takes no more than this in advance. */
#define QUEUE_NS 3000000

static struct {
	struct mock_hooks hooks;
	_Atomic bool hooked;
	pid_t pid;
	pthread_mutex_t lock;
	uint64_t busy[MOCK_STREAMS]; /* until then */
	uint64_t first[MOCK_DEVICES],
		last[MOCK_DEVICES]; /* a device's work began and ended; 0: none */
	uint64_t call_ns;
	bool spins;
	_Atomic bool quits;
	uint32_t contexts, modules;
	pthread_mutex_t driver;
	_Atomic uint64_t *sums;  /* of both ranks: launched */
	_Atomic bool is_ours[2]; /* a rank that launches here */
} mock = {.lock = PTHREAD_MUTEX_INITIALIZER, .driver = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct mock_context *current, *pushed;

/* ---- for both libraries ---- */

long mock_option(const char *word)
{
	const char *at = getenv("MOCK_CUPTI");
	size_t len = strlen(word);

	for (; at && *at; at += strcspn(at, ",")) {
		at += *at == ',';
		if (!strncmp(at, word, len) && at[len] == '=')
			return strtol(at + len + 1, NULL, 10);
		if (!strncmp(at, word, len) && (!at[len] || at[len] == ','))
			return 1;
	}
	return 0;
}

uint64_t mock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * AIF_NS_PER_S + (uint64_t)t.tv_nsec;
}

void mock_spend(uint64_t ns)
{
	uint64_t until = ns ? mock_now() + ns : 0;

	while (ns && mock_now() < until)
		;
}

void mock_log(const char *format, ...)
{
	const char *path = getenv("MOCK_LOG");
	char line[512];
	va_list args;
	int fd, n;

	if (!path)
		return;
	n = snprintf(line, sizeof(line), "%llu %ld ", (unsigned long long)mock_now(),
		     syscall(SYS_gettid));
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	n = (int)strlen(line);
	line[n++] = '\n';
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort(); /* a test without its log would pass */
	close(fd);
}

void mock_cuda_hook(const struct mock_hooks *hooks)
{
	mock.hooks = *hooks;
	atomic_store(&mock.hooked, true);
}

/* ---- ranks ---- */

/* Number of launches that one rank may be ahead of the other. */
#define SUMS_AHEAD 16

static _Atomic uint64_t *sums(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const char *path = getenv("MOCK_SUMS");
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (!mock.sums) {
		fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
		if (path && (fd < 0 || ftruncate(fd, 4096)))
			abort();
		mock.sums = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
		if (mock.sums == MAP_FAILED)
			abort();
		if (path)
			close(fd);
	}
	pthread_mutex_unlock(&lock);
	return mock.sums;
}

static bool is_ahead(unsigned rank, uint64_t launched, uint64_t most)
{
	return atomic_load(&mock.is_ours[rank]) && launched > atomic_load(&sums()[1 - rank]) + most;
}

bool mock_sums_wait(void)
{
	for (unsigned rank = 0; rank < 2; rank++)
		if (is_ahead(rank, atomic_load(&sums()[rank]), 0))
			return true;
	return false;
}

void mock_sum_over(unsigned rank)
{
	atomic_store(&mock.is_ours[rank], false);
	atomic_store(&sums()[rank], UINT64_MAX / 2);
}

static void sum(const struct mock_sum *s)
{
	const struct timespec step = {.tv_nsec = 50000};
	uint64_t n = atomic_fetch_add(&sums()[s->rank], 1) + 1;

	atomic_store(&mock.is_ours[s->rank], true);
	while (is_ahead(s->rank, n, SUMS_AHEAD))
		nanosleep(&step, NULL);
}

/* ---- the driver ---- */

static void over(void)
{
	if (atomic_load(&mock.hooked) && getpid() == mock.pid)
		mock.hooks.over();
}

int cuInit(unsigned flags)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = lib ? (int (*)(void))dlsym(lib, "InitializeInjection") : NULL;

	if (flags || mock.pid)
		return mock.pid ? 0 : INVALID;
	mock.pid = getpid();
	mock.call_ns = (uint64_t)mock_option("call");
	mock.spins = mock_option("spin");
	mock.quits = mock_option("quit");
	/* Handlers that are registered after this one are called before it. */
	atexit(over);
	if (initialize && initialize() != 1)
		mock_log("BAD injection");
	return 0;
}

static bool is_up(void)
{
	return mock.pid && getpid() == mock.pid; /* a forked child has no driver */
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	*count = 2;
	return mock.pid ? 0 : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal)
{
	if (!is_up() || ordinal < 0 || ordinal > 1)
		return INVALID;
	*device = ordinal;
	return 0;
}

/* CUDA_VISIBLE_DEVICES=1: the second is the first. */
static int mock_bus(int device)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	return 0x10 + (device + (visible ? atoi(visible) : 0)) % 2;
}

int cuDeviceGetName(char *name, int len, int device)
{
	(void)device;
	snprintf(name, (size_t)len, "Mock GPU");
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	switch (attribute) {
	case AIF_CUDA_ATTRIBUTE_PCI_BUS:
		*value = mock_bus(device);
		return 0;
	case AIF_CUDA_ATTRIBUTE_PCI_SLOT:
	case AIF_CUDA_ATTRIBUTE_PCI_DOMAIN:
		*value = 0;
		return 0;
	case AIF_CUDA_ATTRIBUTE_CLOCK_KHZ:
		*value = MOCK_KHZ;
		return 0;
	case AIF_CUDA_ATTRIBUTE_MEMORY_KHZ:
		*value = 2619000;
		return 0;
	case AIF_CUDA_ATTRIBUTE_MEMORY_BITS:
		*value = 5120;
		return 0;
	case AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS:
		*value = MOCK_UNITS;
		return 0;
	case AIF_CUDA_ATTRIBUTE_MAJOR:
		*value = 9;
		return 0;
	case AIF_CUDA_ATTRIBUTE_MINOR:
		*value = 0;
		return 0;
	case AIF_CUDA_ATTRIBUTE_UNIT_THREADS:
		*value = 2048;
		return 0;
	case AIF_CUDA_ATTRIBUTE_UNIT_BLOCKS:
		*value = 32;
		return 0;
	case AIF_CUDA_ATTRIBUTE_UNIT_REGISTERS:
		*value = 65536;
		return 0;
	case AIF_CUDA_ATTRIBUTE_UNIT_SHARED:
		*value = 233472;
		return 0;
	case AIF_CUDA_ATTRIBUTE_BLOCK_SHARED:
		*value = 1024;
		return 0;
	default:
		return INVALID;
	}
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

static void tell(uint32_t event, struct mock_context *context, const void *descriptor)
{
	if (atomic_load(&mock.hooked))
		mock.hooks.resource(event, context, descriptor);
}

int cuCtxCreate_v2(void **ret, unsigned flags, int device)
{
	bool fits = is_up() && !flags && device >= 0 && device < MOCK_DEVICES;
	struct mock_context *c = fits ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NOT_INITIALIZED;
	pthread_mutex_lock(&mock.lock);
	c->id = ++mock.contexts;
	pthread_mutex_unlock(&mock.lock);
	c->device = (uint32_t)device;
	current = c;
	*ret = c;
	tell(AIF_CUPTI_CONTEXT_CREATED, c, NULL);
	return 0;
}

/* Destroys a context; its memory stays allocated, so that later uses are seen. */
int cuCtxDestroy_v2(void *context)
{
	struct mock_context *c = context;

	tell(AIF_CUPTI_CONTEXT_DESTROYED, c, NULL);
	atomic_store(&c->gone, true);
	mock_log("destroyed context=%u", c->id);
	if (current == c)
		current = NULL;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	current = context;
	return 0;
}

static void wait_until(uint64_t until)
{
	struct timespec t = {.tv_sec = (time_t)(until / AIF_NS_PER_S),
			     .tv_nsec = (long)(until % AIF_NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

uint64_t mock_cuda_busy(void)
{
	uint64_t until = 0;

	pthread_mutex_lock(&mock.lock);
	for (unsigned i = 0; i < MOCK_STREAMS; i++)
		until = AIF_MAX(until, mock.busy[i]);
	pthread_mutex_unlock(&mock.lock);
	return until;
}

/* With "spin": by looking again and again, as CUDA's does where it may. */
static void wait_for_device(void)
{
	uint64_t until = mock_cuda_busy(), now = mock_now();

	if (!mock.spins)
		wait_until(until);
	else if (until > now)
		mock_spend(until - now);
	while (mock_sums_wait())
		wait_until(mock_now() + 100000);
}

int cuCtxSynchronize(void)
{
	struct mock_call call = {.id = MOCK_WAIT, .name = "cuCtxSynchronize", .context = current};

	if (!is_up())
		return NOT_INITIALIZED;
	if (mock.hooks.waits && current)
		mock.hooks.waits(&call, false);
	if (atomic_exchange(&mock.quits, false))
		pthread_exit(NULL);
	wait_for_device();
	if (mock.hooks.waits && current)
		mock.hooks.waits(&call, true);
	return 0;
}

/* Until then; and until the other rank has launched as many. */
struct event {
	uint64_t busy, sums[2];
};

/* Makes a context current and remembers the one before: a stack of one entry. */
int cuCtxPushCurrent_v2(void *context)
{
	pushed = current;
	current = context;
	return 0;
}

int cuCtxPopCurrent_v2(void **ret)
{
	*ret = current;
	current = pushed;
	return 0;
}

int cuEventCreate(void **ret, unsigned flags)
{
	*ret = is_up() && current && flags == 2 ? calloc(1, sizeof(struct event)) : NULL;
	return *ret ? 0 : INVALID;
}

/* Records an event of all contexts, which share the streams of the mock. */
int cuCtxRecordEvent(void *context, void *event)
{
	struct mock_context *c = context;
	struct event *e = event;

	if (!c || !event || atomic_load(&c->gone)) {
		mock_log("BAD event of a context that is gone");
		return INVALID;
	}
	e->busy = mock_cuda_busy();
	for (unsigned rank = 0; rank < 2; rank++)
		e->sums[rank] = atomic_load(&sums()[rank]);
	return 0;
}

int cuEventQuery(void *event)
{
	const struct event *e = event;

	return mock_now() < e->busy || is_ahead(0, e->sums[0], 0) || is_ahead(1, e->sums[1], 0)
		       ? NOT_READY
		       : 0;
}

void mock_cuda_lock(void)
{
	pthread_mutex_lock(&mock.driver);
}

void mock_cuda_unlock(void)
{
	pthread_mutex_unlock(&mock.driver);
}

int cuModuleLoad(void **ret, const char *path)
{
	struct mock_module *m = is_up() ? calloc(1, sizeof(*m)) : NULL;
	FILE *f = m ? fopen(path, "rb") : NULL;
	struct aif_cupti_module said;

	if (!f) {
		free(m);
		return NOT_FOUND;
	}
	m->cubin = malloc(1u << 20);
	m->size = m->cubin ? fread(m->cubin, 1, 1u << 20, f) : 0;
	fclose(f);
	pthread_mutex_lock(&mock.lock);
	m->id = ++mock.modules;
	pthread_mutex_unlock(&mock.lock);
	said = (struct aif_cupti_module){.id = m->id, .size = m->size, .cubin = m->cubin};
	tell(AIF_CUPTI_MODULE_LOADED, current, &said);
	*ret = m;
	return 0;
}

int cuModuleGetFunction(void **ret, void *module, const char *name)
{
	struct mock_module *m = module;
	const Elf64_Ehdr *e = (const void *)m->cubin;
	const Elf64_Shdr *s = (const void *)(m->cubin + e->e_shoff);
	struct mock_function *f;

	for (unsigned i = 0; i < e->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(m->cubin + s[i].sh_offset);
		const char *names = (const char *)m->cubin + s[s[i].sh_link].sh_offset;

		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		for (uint32_t k = 0; k < s[i].sh_size / sizeof(*symbols); k++) {
			if (ELF64_ST_TYPE(symbols[k].st_info) != STT_FUNC ||
			    strcmp(names + symbols[k].st_name, name) != 0)
				continue;
			f = malloc(sizeof(*f));
			if (!f)
				return INVALID;
			*f = (struct mock_function){
				.name = names + symbols[k].st_name, .module = m, .number = k};
			*ret = f;
			return 0;
		}
	}
	return NOT_FOUND;
}

/* Notes from when to when a device had work: streams run side by side, so the first call is not always the first work. */
static void note_span(const struct mock_call *call)
{
	uint64_t *first = &mock.first[call->context->device],
		 *last = &mock.last[call->context->device];

	*first = *first ? AIF_MIN(*first, call->start) : call->start;
	*last = AIF_MAX(*last, call->end);
}

uint64_t mock_device_spans(void)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&mock.lock);
	for (unsigned i = 0; i < MOCK_DEVICES; i++)
		sum += mock.last[i] - mock.first[i];
	pthread_mutex_unlock(&mock.lock);
	return sum;
}

static int work(struct mock_call *call, uint64_t ns)
{
	bool heard = atomic_load(&mock.hooked);
	uint64_t *busy = &mock.busy[call->stream % MOCK_STREAMS], now, ahead;

	if (!is_up() || !current || atomic_load(&current->gone))
		return NOT_INITIALIZED;
	call->context = current;
	if (heard)
		mock.hooks.enter(call);
	pthread_mutex_lock(&mock.lock);
	now = mock_now();
	call->start = AIF_MAX(now + LATENCY_NS, *busy);
	call->end = *busy = call->start + ns;
	note_span(call);
	ahead = call->start - now;
	pthread_mutex_unlock(&mock.lock);
	mock_cuda_lock();
	if (heard)
		mock.hooks.executed(call);
	mock_cuda_unlock();
	if (call->sum)
		sum(call->sum);
	if (ahead > QUEUE_NS)
		wait_until(now + QUEUE_NS / 2);
	if (mock.call_ns)
		wait_until(now + mock.call_ns);
	if (heard)
		mock.hooks.leave(call);
	return call->result;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
	struct aif_cuda_launch l = {.function = function,
				    .geometry = {.grid = {gx, gy, gz}, .block = {bx, by, bz}}};
	struct mock_call call = {.id = MOCK_LAUNCH,
				 .name = "cuLaunchKernel",
				 .parameters = &l,
				 .kind = AIF_CUPTI_KIND_CONCURRENT_KERNEL,
				 .function = function,
				 .stream = (uint32_t)(uintptr_t)stream,
				 .sum = (const struct mock_sum *)extra};

	(void)shared, (void)parameters;
	return work(&call, MOCK_KERNEL_NS + (uint64_t)gx * gy * gz * MOCK_BLOCK_NS);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	struct mock_call call = {.id = MOCK_COPY,
				 .name = "cuMemcpyHtoDAsync_v2",
				 .kind = AIF_CUPTI_KIND_MEMCPY,
				 .stream = (uint32_t)(uintptr_t)stream,
				 .bytes = bytes};

	(void)to, (void)from;
	return work(&call, MOCK_KERNEL_NS + bytes / MOCK_COPY_BYTES);
}
