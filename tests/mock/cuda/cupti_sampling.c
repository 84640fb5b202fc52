/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Hides the sampling functions in the build of a libcupti that cannot sample. */
#ifdef WITHOUT_SAMPLING
#define X(name, result, parameters) result name parameters __attribute__((visibility("hidden")));
#else
#define X(name, result, parameters) result name parameters;
#endif
AIF_CUPTI_SAMPLING_FUNCTIONS(X)
#undef X

/*
 * Samples of what ran while it was sampled: of each unit one in each period. Three quarters of a function's stand at
 * PC_WAITS and wait for memory, a third of these without anybody else who could go on; the rest stand at
 * PC_GOES.
 */
#define PC_WAITS 0xc0
#define PC_GOES  0xd0
enum { REASON_COUNTER, REASON_GOES, REASON_WAITS, REASON_WAITS_ALONE, REASONS };
static const char *const reasons[] = {
	[REASON_COUNTER] = "smsp__pcsamp_sample_buffer_full",
	[REASON_GOES] = "smsp__pcsamp_warps_issue_stalled_selected",
	[REASON_WAITS] = "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	[REASON_WAITS_ALONE] = "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
};

#define FUNCTIONS 16
#define RUNS      65536
#define CONTEXTS  8
/* With "full": so many times there is data first. */
#define FULL_AFTER 3

struct run {
	const struct mock_function *function;
	uint64_t from, to;
};

struct sampled {
	struct mock_context *context;
	bool on, stuck; /* stuck: the buffer was full */
	uint32_t period, full_period;
	struct aif_cupti_samples *config;
	unsigned asked, runs_len;
	uint64_t dropped;
	struct run *runs;
	const struct mock_function *functions[FUNCTIONS];
	uint64_t ns[FUNCTIONS];
};

static struct {
	pthread_mutex_t lock;
	struct sampled contexts[CONTEXTS];
	_Atomic int on;
	bool made, destroyed, nameless, loading;
	aif_cupti_hash_fn *hash;
	bool full, held, denied, taken;
	long work_ms;
	_Atomic bool works;
} sampling = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mock_sampling_init(void)
{
	sampling.full = mock_option("full");
	sampling.held = mock_option("held");
	sampling.nameless = mock_option("nameless");
	sampling.loading = mock_option("loading");
	sampling.denied = mock_option("denied");
	sampling.taken = mock_option("taken");
	sampling.work_ms = mock_option("work");
}

bool mock_sampling_is_on(void)
{
	return atomic_load(&sampling.on);
}

static struct sampled *find(const struct mock_context *context)
{
	for (unsigned i = 0; i < CONTEXTS; i++)
		if (sampling.contexts[i].context == context)
			return &sampling.contexts[i];
	return NULL;
}

void mock_sampling_executed(const struct mock_call *call)
{
	struct sampled *s;

	if (!call->function || !atomic_load(&sampling.on))
		return;
	pthread_mutex_lock(&sampling.lock);
	s = find(call->context);
	if (s && s->on && s->runs_len < RUNS)
		s->runs[s->runs_len++] = (struct run){call->function, call->start, call->end};
	else if (s && s->on)
		s->dropped++;
	pthread_mutex_unlock(&sampling.lock);
}

/* Counts what has run until now; the rest stays. */
static void count_runs(struct sampled *s)
{
	uint64_t now = mock_now();
	unsigned left = 0, f;

	for (unsigned i = 0; i < s->runs_len; i++) {
		struct run r = s->runs[i];

		for (f = 0; f < FUNCTIONS - 1; f++)
			if (!s->functions[f] || s->functions[f] == r.function)
				break;
		s->functions[f] = r.function;
		if (r.from < now)
			s->ns[f] += AIF_MIN(r.to, now) - r.from;
		r.from = AIF_MAX(r.from, now);
		if (r.from < r.to)
			s->runs[left++] = r;
	}
	s->runs_len = left;
}

static size_t pc_size(void)
{
	return AIF_CUPTI_PC_SIZE(mock_cupti.version);
}

static bool is_fit(const struct aif_cupti_samples *b)
{
	size_t size = AIF_CUPTI_SAMPLES_SIZE(mock_cupti.version);

	if (b && b->size == size && b->cap && b->pcs &&
	    ((const struct aif_cupti_pc *)b->pcs)->size == pc_size())
		return true;
	mock_log("BAD samples buffer");
	return false;
}

static void put(struct aif_cupti_samples *b, const struct mock_function *f, uint64_t pc,
		const struct aif_cupti_pc_reason *of, size_t n)
{
	struct aif_cupti_pc *at = (void *)((uint8_t *)b->pcs + b->len * pc_size());

	if (b->len == b->cap || at->size != pc_size()) {
		mock_log("BAD record of a pc");
		return;
	}
	if (sampling.hash)
		sampling.hash(f->module->cubin, f->module->size, &at->hash);
	at->pc = pc;
	at->function = f->number;
	at->name = (char *)(uintptr_t)f->name;
	at->reasons_len = n;
	memcpy(at->reasons, of, n * sizeof(*of));
	b->len++;
}

/* A thread that loads a library, whose constructor lasts until it is told. */
static _Atomic enum { LOADED, LOADING } loader;

void mock_loading(void)
{
	const struct timespec step = {.tv_nsec = 1000000};

	atomic_store(&loader, LOADING);
	for (unsigned i = 0; i < 5000 && atomic_load(&loader) == LOADING; i++)
		nanosleep(&step, NULL);
	if (atomic_exchange(&loader, LOADED) == LOADING)
		mock_log("BAD asked for a name, the loader is waited for");
}

static void *load(void *unused)
{
	if (!dlopen("libmock_loading.so", RTLD_NOW))
		mock_log("BAD %s", dlerror());
	return unused;
}

static void begin_to_load(void)
{
	const struct timespec step = {.tv_nsec = 1000000};
	pthread_t thread;

	if (!sampling.loading || pthread_create(&thread, NULL, load, NULL))
		return;
	pthread_detach(thread);
	sampling.loading = false;
	for (unsigned i = 0; i < 5000 && atomic_load(&loader) != LOADING; i++)
		nanosleep(&step, NULL);
}

/* Adds a sample without a name, as CUPTI 13.0 does for code in no function that it knows. */
static void put_nameless(struct aif_cupti_samples *b)
{
	static struct mock_module module;
	static const struct mock_function nowhere = {.module = &module};
	const char *volatile unknown = NULL;
	const struct aif_cupti_pc_reason here = {REASON_GOES, 1};
	struct aif_cupti_pc *at = (void *)((uint8_t *)b->pcs + b->len * pc_size());

	put(b, &nowhere, 0, &here, 1);
	begin_to_load();
	at->name = strdup(unknown);
	atomic_store(&loader, LOADED);
	b->total++;
}

/* Moves what was counted into the caller's buffer. */
static void fill(struct sampled *s, struct aif_cupti_samples *b)
{
	count_runs(s);
	b->len = 0;
	b->total = 0;
	b->remaining = 0;
	b->dropped = 0;
	b->others = 0;
	for (unsigned i = 0; i < FUNCTIONS && s->functions[i]; i++) {
		uint32_t all = (uint32_t)(s->ns[i] * MOCK_UNITS >> s->period),
			 waits = all - all / 4;
		const struct aif_cupti_pc_reason here[] = {{REASON_WAITS, waits},
							   {REASON_WAITS_ALONE, waits / 3}},
						 there[] = {{REASON_GOES, all - waits},
							    {REASON_COUNTER, 7}};

		if (!all)
			continue;
		s->ns[i] -= ((uint64_t)all << s->period) / MOCK_UNITS;
		put(b, s->functions[i], PC_WAITS, here, AIF_ARRAY_LEN(here));
		put(b, s->functions[i], PC_GOES, there, AIF_ARRAY_LEN(there));
		b->total += all;
	}
	if (sampling.nameless)
		put_nameless(b);
}

/* Destroys at exit what make_samples() made when samples were first wanted. */
static void destroy_samples(void)
{
	sampling.destroyed = true;
}

static void make_samples(void)
{
	if (!sampling.made)
		atexit(destroy_samples);
	sampling.made = true;
}

/* Takes both locks. Enabling and disabling hold this library's lock and wait for the driver's, a launch holds the
 * driver's and waits for this one's; the pause is long enough for them to meet. Disabling, moreover, waits until the
 * device is idle: here that is only logged. */
static void lock_both(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	pthread_mutex_lock(&sampling.lock);
	nanosleep(&moment, NULL);
	mock_cuda_lock();
}

static void unlock_both(void)
{
	mock_cuda_unlock();
	pthread_mutex_unlock(&sampling.lock);
}

static void log_switch(const char *what, int result, unsigned beside)
{
	mock_log("sampling %s result=%d inside=%u beside=%u callback_kinds=%u record_kinds=%u",
		 what, result, mock_thread()->inside, beside, mock_callbacks_on(),
		 mock_records_on());
}

/* NULL: no such context. Under the lock. */
static struct sampled *of(size_t size, size_t wanted, void *context, const char *what)
{
	struct mock_context *c = context;
	struct sampled *s;

	mock_alive(what);
	if (sampling.destroyed)
		mock_log("BAD %s after the samples' end", what);
	if (size != wanted || !c || atomic_load(&c->gone)) {
		mock_log("BAD %s size=%zu gone=%d", what, size, c ? atomic_load(&c->gone) : -1);
		return NULL;
	}
	s = find(c);
	if (!s)
		s = find(NULL);
	if (s && !s->context) {
		s->context = c;
		s->runs = calloc(RUNS, sizeof(*s->runs));
		if (!s->runs)
			abort();
	}
	return s;
}

/* Uses CPU time like the thread of the real library that decodes samples. */
static void *work(void *arg)
{
	struct timespec used = {0};
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	while (!mock_cupti.over && used.tv_sec * 1000 + used.tv_nsec / 1000000 < sampling.work_ms)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	mock_log("worked");
	return NULL;
}

static void work_begin(void)
{
	pthread_t thread;

	if (!sampling.work_ms || atomic_exchange(&sampling.works, true))
		return;
	if (pthread_create(&thread, NULL, work, NULL))
		abort();
	pthread_detach(thread);
}

/* ---- what others call ---- */

int cuptiPCSamplingEnable(struct aif_cupti_context_params *p)
{
	unsigned beside = mock_launching();
	struct sampled *s;
	int r = 0;

	lock_both();
	s = of(p->size, sizeof(*p), p->context, __func__);
	if (!s || s->on)
		r = CUPTI_INVALID_CONTEXT;
	else if (sampling.denied)
		r = AIF_CUPTI_INSUFFICIENT_PRIVILEGES;
	else if (sampling.taken)
		r = AIF_CUPTI_HARDWARE_BUSY;
	else if ((mock_cupti.version < AIF_CUPTI_VERSION_12_8 || mock_option("apart")) &&
		 mock_records_on())
		r = AIF_CUPTI_NOT_COMPATIBLE;
	if (!r) {
		s->on = true;
		s->stuck = false;
		s->period = 11;
		s->runs_len = 0;
		memset(s->functions, 0, sizeof(s->functions));
		memset(s->ns, 0, sizeof(s->ns));
		atomic_fetch_add(&sampling.on, 1);
		make_samples();
	}
	unlock_both();
	work_begin();
	log_switch("on", r, beside);
	return r;
}

int cuptiPCSamplingDisable(struct aif_cupti_context_params *p)
{
	const uint64_t busy = mock_cuda_busy(), now = mock_now();
	unsigned beside = mock_launching();
	struct sampled *s;
	int r = 0;

	const struct timespec moment = {.tv_nsec = 100000};

	if (mock_sums_wait())
		mock_log("disabling waits for a launch");
	while (mock_sums_wait())
		nanosleep(&moment, NULL);
	if (busy > now)
		mock_log("disabling waits_ns=%llu", (unsigned long long)(busy - now));
	lock_both();
	s = of(p->size, sizeof(*p), p->context, __func__);
	if (!s || !s->on) {
		r = CUPTI_INVALID_CONTEXT;
	} else {
		s->on = false;
		if (s->config && is_fit(s->config) && !s->stuck && !sampling.held)
			fill(s, s->config);
		atomic_fetch_sub(&sampling.on, 1);
	}
	unlock_both();
	log_switch("off", r, beside);
	return r;
}

static int set(struct sampled *s, struct aif_cupti_attribute *a)
{
	switch (a->type) {
	case AIF_CUPTI_PERIOD:
		if (a->number < 5 || a->number > 31)
			return CUPTI_INVALID_PARAMETER;
		mock_log("period log2=%u", a->number);
		s->period = a->number;
		return 0;
	case AIF_CUPTI_DATA_BUFFER:
		s->config = a->pointer;
		return is_fit(s->config) ? 0 : CUPTI_INVALID_PARAMETER;
	case AIF_CUPTI_MODE:
		return a->number == AIF_CUPTI_MODE_CONTINUOUS ? 0 : CUPTI_INVALID_PARAMETER;
	default:
		return 0;
	}
}

int cuptiPCSamplingSetConfigurationAttribute(struct aif_cupti_attribute_params *p)
{
	struct sampled *s;
	int r = 0;

	pthread_mutex_lock(&sampling.lock);
	s = of(p->size, sizeof(*p), p->context, __func__);
	if (!s || !s->on)
		r = CUPTI_INVALID_CONTEXT;
	for (size_t i = 0; i < p->len && !r; i++)
		r = set(s, &p->attributes[i]);
	pthread_mutex_unlock(&sampling.lock);
	return r;
}

int cuptiPCSamplingGetConfigurationAttribute(struct aif_cupti_attribute_params *p)
{
	struct sampled *s;

	pthread_mutex_lock(&sampling.lock);
	s = of(p->size, sizeof(*p), p->context, __func__);
	for (size_t i = 0; i < p->len && s; i++)
		if (p->attributes[i].type == AIF_CUPTI_PERIOD)
			p->attributes[i].number = s->period;
	pthread_mutex_unlock(&sampling.lock);
	return s ? 0 : CUPTI_INVALID_CONTEXT;
}

int cuptiPCSamplingGetNumStallReasons(struct aif_cupti_reasons_len_params *p)
{
	*p->len = REASONS;
	return p->size == sizeof(*p) ? 0 : CUPTI_INVALID_PARAMETER;
}

int cuptiPCSamplingGetStallReasons(struct aif_cupti_reasons_params *p)
{
	if (p->size != sizeof(*p) || p->len != REASONS)
		return CUPTI_INVALID_PARAMETER;
	for (uint32_t i = 0; i < REASONS; i++) {
		p->indices[i] = i;
		snprintf(p->names[i], AIF_CUPTI_REASON_NAME, "%s", reasons[i]);
	}
	return 0;
}

/* The buffer was full, once: until the period is longer. */
static bool is_full(struct sampled *s)
{
	if (!sampling.full)
		return false;
	s->asked++;
	if (!s->full_period && s->asked > FULL_AFTER)
		s->full_period = s->period;
	if (s->full_period && s->period <= s->full_period)
		s->stuck = true;
	return s->stuck;
}

int cuptiPCSamplingGetData(struct aif_cupti_samples_params *p)
{
	struct sampled *s;
	int r = 0;

	pthread_mutex_lock(&sampling.lock);
	s = of(p->size, sizeof(*p), p->context, __func__);
	if (!s || !s->on || !is_fit(p->samples)) {
		mock_log("BAD data of a context that is not sampled");
		r = CUPTI_INVALID_CONTEXT;
	} else if (sampling.held) {
		r = AIF_CUPTI_UNKNOWN;
	} else if (is_full(s)) {
		r = AIF_CUPTI_OUT_OF_MEMORY;
	} else {
		fill(s, p->samples);
	}
	if (r)
		mock_log("data error=%d", r);
	pthread_mutex_unlock(&sampling.lock);
	return r;
}

void mock_sampling_forget(void)
{
	sampling.hash = NULL;
}

int cuptiRegisterComputeCrcCallback(aif_cupti_hash_fn *fn)
{
	sampling.hash = fn;
	return 0;
}
