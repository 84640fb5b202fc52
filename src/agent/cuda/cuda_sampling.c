/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include "agent/objects.h"
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Instruction samples: each SM tells, each 2^period cycles, where one of its warps is and why it does not
 * go on. CUPTI adds them up by instruction and reason; the helper takes the sums away. There are no times and no
 * launches in them: their window is all that is known (profile/attribution_windows.c does the rest).
 *
 * What is known of CUPTI's manners (measured; CUDA 13.0, H100): enabling takes 150 ms once and 1 ms afterwards, the
 * next launches 0.1 s; disabling 45 ms. Code that was loaded before is sampled as well. A second process on the
 * GPU is let in and then gets CUPTI_ERROR_UNKNOWN for data, the first is undisturbed. The sum over reasons equals
 * the samples only if X_not_issued, which is part of X, is left out: here the two are made disjoint.
 * Names of functions are CUPTI's to share and ours to free, but nobody says when: they are copied and left.
 *
 * CUPTI's own hash of a cubin reads some 30 bytes of it, and kernels that differ in a constant get the same;
 * so CUPTI is given ours (cuptiRegisterComputeCrcCallback), which comes back with each sample.
 */

/* 40 reasons, and some counters that are none. */
#define PREFIX     "smsp__pcsamp_warps_issue_stalled_"
#define NOT_ISSUED "_not_issued"
/* Of the device's memory: 2 s at the default rate; CUPTI's own choice is 512 MiB. */
#define HARDWARE_BUFFER (UINT64_C(64) << 20)
#define SCRATCH_BUFFER  (UINT64_C(16) << 20)
#define WORKER_SLEEP_MS 50
/* Taken at a time: 6 MiB of which what is used becomes real. */
#define PCS 16384
/* About a million samples a second of a GPU: 100 of a kernel that fills it for 100 us. */
#define SAMPLES_A_SECOND 750000.0
#define DEFAULT_RATE     999 /* --device-rate was not given */
enum { MIN_PERIOD = 10, MAX_PERIOD = 24 };
/* A second process on the GPU meets only errors. */
#define ERRORS_MAX 3

#define CAP_SYS_ADMIN_BIT 21

static uint64_t hash_of(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t h = aif_mix64(n), word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = aif_mix64(h ^ word);
	}
	word = 0;
	memcpy(&word, p, n);
	return aif_mix64(h ^ word);
}

static void on_hash(const void *cubin, size_t size, uint64_t *hash)
{
	*hash = hash_of(cubin, size);
}

static bool file_says(const char *path, const char *what)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[8192];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, what);
}

static bool is_admin(void)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	unsigned long long caps = 0;
	char text[4096];
	const char *at;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "CapEff:");
	return at && sscanf(at, "CapEff: %llx", &caps) == 1 && caps >> CAP_SYS_ADMIN_BIT & 1;
}

/* To ask and be refused makes later calls of CUPTI fail, too. */
static bool is_allowed(void)
{
	if (getenv("AIFLAME_NO_COUNTERS")) /* for tests: as where they are not allowed */
		return false;
	return !file_says("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1") || is_admin();
}

bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda)
{
	return cuda->sampling.pc_size && aif_agent.session.device_rate;
}

void aif_cuda_sampling_init(struct aif_cuda *cuda)
{
	struct aif_cuda_sampling *s = &cuda->sampling;

	if (s->pc_size)
		return;
	if (!cuda->api.can_sample) {
		aif_cuda_refused(AIF_REASON_CUDA_NO_SAMPLING, "this libcupti", 0);
		return;
	}
	if (!is_allowed()) {
		aif_cuda_refused(AIF_REASON_CUDA_COUNTERS, "", 0);
		return;
	}
	if (cuda->api.cuptiRegisterComputeCrcCallback(on_hash))
		return;
	s->pc_size = cuda->version >= AIF_CUPTI_VERSION_12_4
			     ? sizeof(struct aif_cupti_pc)
			     : offsetof(struct aif_cupti_pc, correlation);
}

/* ---- what it is that waits ---- */

static void learn_reason(struct aif_cuda_sampling *s, uint32_t index, const char *name)
{
	struct aif_cuda_reason *r = &s->reasons[index];

	r->other = (uint16_t)index;
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1))
		return; /* a counter */
	snprintf(r->name, sizeof(r->name), "%s", name + sizeof(PREFIX) - 1);
	s->reasons_len = AIF_MAX(s->reasons_len, index + 1);
}

static void pair_reasons(struct aif_cuda_sampling *s)
{
	for (unsigned i = 0; i < s->reasons_len; i++) {
		size_t len = strlen(s->reasons[i].name), tail = sizeof(NOT_ISSUED) - 1;

		if (len <= tail || strcmp(s->reasons[i].name + len - tail, NOT_ISSUED))
			continue;
		for (unsigned k = 0; k < s->reasons_len; k++)
			if (strlen(s->reasons[k].name) == len - tail &&
			    !memcmp(s->reasons[k].name, s->reasons[i].name, len - tail))
				s->reasons[i].other = (uint16_t)k;
	}
}

static int learn_reasons(struct aif_cuda *cuda, void *context)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	size_t n = 0;
	struct aif_cupti_reasons_len_params l = {.size = sizeof(l), .context = context, .len = &n};
	struct aif_cupti_reasons_params p = {.size = sizeof(p), .context = context};
	struct {
		char *pointers[AIF_CUDA_REASONS];
		uint32_t indices[AIF_CUDA_REASONS];
		char names[AIF_CUDA_REASONS][AIF_CUPTI_REASON_NAME];
	} * said;
	int r = cuda->api.cuptiPCSamplingGetNumStallReasons(&l);

	if (r || s->reasons_len)
		return r;
	said = n <= AIF_CUDA_REASONS ? aif_pages(sizeof(*said)) : NULL;
	if (!said)
		return AIF_CUPTI_OUT_OF_MEMORY;
	for (size_t i = 0; i < n; i++)
		said->pointers[i] = said->names[i];
	p.len = n;
	p.indices = said->indices;
	p.names = said->pointers;
	r = cuda->api.cuptiPCSamplingGetStallReasons(&p);
	for (size_t i = 0; i < n && !r; i++)
		if (said->indices[i] < AIF_CUDA_REASONS)
			learn_reason(s, said->indices[i], said->names[i]);
	munmap(said, sizeof(*said));
	pair_reasons(s);
	return r;
}

/* ---- a context ---- */

static struct aif_cupti_samples *buffer_new(const struct aif_cuda *cuda)
{
	size_t each =
		cuda->sampling.pc_size + AIF_CUDA_REASONS * sizeof(struct aif_cupti_pc_reason);
	struct aif_cupti_samples *b = aif_pages(sizeof(*b) + PCS * each);
	struct aif_cupti_pc_reason *reasons;
	uint8_t *pcs;

	if (!b)
		return NULL;
	pcs = (uint8_t *)(b + 1);
	reasons = (struct aif_cupti_pc_reason *)(pcs + PCS * cuda->sampling.pc_size);
	b->size = cuda->version >= AIF_CUPTI_VERSION_12_4
			  ? sizeof(*b)
			  : offsetof(struct aif_cupti_samples, full);
	b->cap = PCS;
	b->pcs = pcs;
	for (size_t i = 0; i < PCS; i++) {
		struct aif_cupti_pc *pc = (void *)(pcs + i * cuda->sampling.pc_size);

		pc->size = cuda->sampling.pc_size;
		pc->reasons = reasons + i * AIF_CUDA_REASONS;
	}
	return b;
}

/* log2 of the cycles between two samples of an SM. */
static uint32_t period_of(uint32_t rate, double units, double hertz)
{
	double cycles =
		rate == DEFAULT_RATE ? units * hertz / SAMPLES_A_SECOND : hertz / (double)rate;
	uint32_t p = MIN_PERIOD;

	/* The nearest power: 2^(p + 1/2) is the border. */
	while (p < MAX_PERIOD && cycles > 1.41421356 * (double)(UINT64_C(1) << p))
		p++;
	return p;
}

static int set(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_cupti_attribute *a,
	       size_t n)
{
	struct aif_cupti_attribute_params p = {
		.size = sizeof(p), .context = c->context, .len = n, .attributes = a};

	return cuda->api.cuptiPCSamplingSetConfigurationAttribute(&p);
}

static int configure(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cupti_attribute musts[] = {
		{.type = AIF_CUPTI_MODE, .number = AIF_CUPTI_MODE_CONTINUOUS},
		{.type = AIF_CUPTI_DATA_BUFFER, .pointer = c->config}};
	/* One by one: what a version or a device does not take, it does not get. */
	struct aif_cupti_attribute wishes[] = {
		{.type = AIF_CUPTI_PERIOD, .number = c->period},
		{.type = AIF_CUPTI_HARDWARE_BUFFER, .bytes = HARDWARE_BUFFER},
		{.type = AIF_CUPTI_SCRATCH, .bytes = SCRATCH_BUFFER},
		{.type = AIF_CUPTI_WORKER_SLEEP, .number = WORKER_SLEEP_MS}};
	int r = set(cuda, c, musts, AIF_ARRAY_LEN(musts));

	for (unsigned i = 0; i < AIF_ARRAY_LEN(wishes) && !r; i++)
		(void)set(cuda, c, &wishes[i], 1);
	return r;
}

/* What it was set to, as CUPTI says. */
static void read_period(struct aif_cuda *cuda, struct aif_cuda_sampled *c, double hertz)
{
	struct aif_cupti_attribute a = {.type = AIF_CUPTI_PERIOD};
	struct aif_cupti_attribute_params p = {
		.size = sizeof(p), .context = c->context, .len = 1, .attributes = &a};

	if (!cuda->api.cuptiPCSamplingGetConfigurationAttribute(&p) && a.number < 64)
		c->period = a.number;
	c->period_ps = (uint64_t)((double)(UINT64_C(1) << c->period) / hertz * 1e12);
}

static enum aif_reason reason_of(int error)
{
	switch (error) {
	case AIF_CUPTI_INSUFFICIENT_PRIVILEGES:
	case AIF_CUPTI_VIRTUAL_PRIVILEGES:
		return AIF_REASON_CUDA_COUNTERS;
	case AIF_CUPTI_HARDWARE_BUSY:
	case AIF_CUPTI_UNKNOWN:
		return AIF_REASON_CUDA_COUNTERS_HELD;
	default:
		return AIF_REASON_CUDA_NO_SAMPLING;
	}
}

static void give_up(struct aif_thread *t, struct aif_cuda_sampled *c, int error)
{
	char what[32];

	snprintf(what, sizeof(what), "device %u", c->device);
	if (t)
		aif_cuda_refused_in(t, reason_of(error), what, error);
	else
		aif_cuda_refused(reason_of(error), what, error);
	c->refused = true;
	c->again = c->on;
}

/* One context of a device: the first that came. */
static bool is_first(const struct aif_cuda_sampling *s, const struct aif_cuda_sampled *c)
{
	for (const struct aif_cuda_sampled *o = s->contexts; o < c; o++)
		if (atomic_load(&o->context) && o->device == c->device && !o->refused)
			return false;
	return true;
}

static void begin(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct aif_cupti_context_params p = {.size = sizeof(p), .context = c->context};
	int device, units = 0, khz = 0, r;
	double hertz;

	if (c->on || c->refused || !is_first(&cuda->sampling, c))
		return;
	if (!cuda->api.cuDeviceGet(&device, (int)c->device)) {
		cuda->api.cuDeviceGetAttribute(&units, AIF_CUDA_ATTRIBUTE_MULTIPROCESSORS, device);
		cuda->api.cuDeviceGetAttribute(&khz, AIF_CUDA_ATTRIBUTE_CLOCK_KHZ, device);
	}
	hertz = khz > 0 ? khz * 1e3 : 1.5e9;
	if (!c->config)
		c->config = buffer_new(cuda);
	if (!c->out)
		c->out = buffer_new(cuda);
	if (!c->config || !c->out)
		return;
	if (!c->period)
		c->period = period_of(aif_agent.session.device_rate, AIF_MAX(units, 1), hertz);
	r = cuda->api.cuptiPCSamplingEnable(&p);
	if (!r) {
		c->on = true;
		r = learn_reasons(cuda, c->context);
	}
	if (!r)
		r = configure(cuda, c);
	if (r) {
		give_up(NULL, c, r);
		return;
	}
	read_period(cuda, c, hertz);
	c->since = aif_now_ns();
	c->errors = 0;
}

/* ---- what it saw ---- */

static struct aif_cuda_code *code_of(struct aif_cuda *cuda, const struct aif_cupti_pc *pc)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	void *key = (void *)(uintptr_t)(aif_mix64(pc->hash ^ aif_mix64(pc->function)) | 1);
	struct aif_cuda_code *code = aif_handles_get(&s->codes, key);
	size_t len;

	if (code)
		return code->hash == pc->hash && code->function == pc->function ? code : NULL;
	len = pc->name ? strlen(pc->name) : 0;
	pthread_mutex_lock(&cuda->lock);
	code = aif_arena_alloc(&cuda->arena, sizeof(*code) + len + 1);
	if (code) {
		code->id = s->codes_len++;
		code->function = pc->function;
		code->hash = pc->hash;
		code->name = (char *)(code + 1);
		memcpy(code->name, pc->name ? pc->name : "", len);
		if (aif_handles_put(&s->codes, key, code) < 0)
			code = NULL;
	}
	pthread_mutex_unlock(&cuda->lock);
	return code;
}

static bool tell_reasons(struct aif_thread *t, struct aif_cuda_sampling *s,
			 struct aif_cuda_sampled *c)
{
	if (c->told == t->generation)
		return true;
	for (uint32_t i = 0; i < s->reasons_len; i++)
		if (*s->reasons[i].name && !aif_emit_reason(t, i, s->reasons[i].name))
			return false;
	c->told = t->generation;
	return true;
}

/* X without X_not_issued: the two become disjoint. Returns the samples that could not be told. */
static uint64_t tell_pc(struct aif_thread *t, struct aif_cuda *cuda, uint32_t window,
			const struct aif_cupti_pc *pc)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	struct aif_emit_reason out[AIF_CUDA_REASONS];
	uint64_t sums[AIF_CUDA_REASONS] = {0}, all = 0;
	struct aif_cuda_code *code = code_of(cuda, pc);
	unsigned n = 0;

	for (size_t i = 0; i < AIF_MIN(pc->reasons_len, (size_t)AIF_CUDA_REASONS); i++)
		if (pc->reasons[i].reason < s->reasons_len)
			sums[pc->reasons[i].reason] += pc->reasons[i].samples;
	for (unsigned i = 0; i < s->reasons_len; i++) {
		uint64_t *base = &sums[s->reasons[i].other];

		if (s->reasons[i].other != i)
			*base -= AIF_MIN(*base, sums[i]);
	}
	for (unsigned i = 0; i < s->reasons_len; i++)
		if (sums[i] && *s->reasons[i].name) {
			out[n++] = (struct aif_emit_reason){
				.reason = i, .samples = (uint32_t)AIF_MIN(sums[i], UINT32_MAX)};
			all += sums[i];
		}
	if (!n)
		return 0;
	if (code && code->told != t->generation &&
	    aif_emit_code(t, code->id, code->hash, code->function, code->name))
		code->told = t->generation;
	return code && code->told == t->generation &&
			       aif_emit_pc(t, window, code->id, pc->pc, out, n)
		       ? 0
		       : all;
}

static void tell(struct aif_thread *t, struct aif_cuda *cuda, struct aif_cuda_sampled *c,
		 const struct aif_cupti_samples *b)
{
	uint64_t now = aif_now_ns(), untold = 0;
	struct aif_emit_window w = {.id = cuda->sampling.windows++,
				    .device = c->device,
				    .start = c->since,
				    .end = now,
				    .period_ps = c->period_ps,
				    .samples = b->total,
				    .lost = b->dropped,
				    .others = b->others};

	c->since = now;
	if (!aif_cuda_device_tell(t, cuda, c->device) || !tell_reasons(t, &cuda->sampling, c) ||
	    !aif_emit_window(t, &w)) {
		untold = b->total;
	} else {
		for (size_t i = 0; i < AIF_MIN(b->len, b->cap); i++)
			untold += tell_pc(
				t, cuda, w.id,
				(const void *)((uint8_t *)b->pcs + i * cuda->sampling.pc_size));
	}
	if (untold)
		aif_emit_note(t, AIF_REASON_SAMPLE_LOST, untold, "");
}

/* It comes as often as there is more. */
static void drain(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	struct aif_cupti_samples_params p = {
		.size = sizeof(p), .context = c->context, .samples = c->out};
	int r;

	do {
		c->out->len = 0;
		c->out->total = 0;
		r = cuda->api.cuptiPCSamplingGetData(&p);
		if (r)
			break;
		c->errors = 0;
		if (c->out->total && t)
			tell(t, cuda, c, c->out);
	} while (c->out->remaining);
	if (r && ++c->errors >= ERRORS_MAX)
		c->errors = ERRORS_MAX;
	if (r == AIF_CUPTI_OUT_OF_MEMORY || (r && c->errors >= ERRORS_MAX))
		c->errors = (unsigned)r << 8;
}

static void end(struct aif_cuda *cuda, struct aif_cuda_sampled *c, struct aif_thread *t)
{
	struct aif_cupti_context_params p = {.size = sizeof(p), .context = c->context};

	if (!c->on)
		return;
	if (!c->again)
		drain(cuda, c, t);
	c->on = false;
	c->config->len = 0;
	c->config->total = 0;
	cuda->api.cuptiPCSamplingDisable(&p);
	/* What was under way. */
	if (c->config->total && c->config->len && t)
		tell(t, cuda, c, c->config);
}

/* After CUPTI's buffer was full nothing comes any more: less often, from the beginning. */
static void recover(struct aif_cuda_sampled *c, struct aif_thread *t)
{
	int error = (int)(c->errors >> 8);

	if (!error)
		return;
	c->errors = 0;
	if (error != AIF_CUPTI_OUT_OF_MEMORY || c->period + 2 > MAX_PERIOD) {
		give_up(t, c, error);
		return;
	}
	aif_emit_note(t, AIF_REASON_CUDA_BUFFER_FULL, 1, "");
	c->period += 2;
	c->again = true;
}

bool aif_cuda_is_sampling(const struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++)
		if (cuda->sampling.contexts[i].on)
			return true;
	return false;
}

void aif_cuda_sampling(struct aif_cuda *cuda, bool on)
{
	struct aif_cuda_sampled *first = cuda->sampling.contexts, *c;
	struct aif_thread *t = aif_thread_enter();

	for (c = first; c < first + AIF_CUDA_CONTEXTS; c++) {
		if (atomic_load(&c->context) && (!on || c->again))
			end(cuda, c, t);
		c->again = false;
	}
	if (t)
		aif_thread_leave(t);
	for (c = first; c < first + AIF_CUDA_CONTEXTS && on; c++)
		if (atomic_load(&c->context))
			begin(cuda, c);
}

void aif_cuda_sampling_tick(struct aif_cuda *cuda)
{
	bool wanted = cuda->blocks.mode != AIF_CUDA_RECORDS && aif_cuda_sampling_wanted(cuda),
	     new = false;
	struct aif_thread *t;

	if (!wanted)
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	for (struct aif_cuda_sampled *c = cuda->sampling.contexts;
	     c < cuda->sampling.contexts + AIF_CUDA_CONTEXTS; c++) {
		if (c->on && !c->again) {
			drain(cuda, c, t);
			recover(c, t);
		}
		new |= c->again || (atomic_load(&c->context) && !c->on && !c->refused &&
				    is_first(&cuda->sampling, c));
	}
	aif_thread_leave(t);
	if (new && !atomic_load(&cuda->blocks.asked))
		aif_cuda_ask(cuda, cuda->blocks.mode, aif_now_ns());
}

void aif_cuda_context(struct aif_cuda *cuda, void *context)
{
	struct aif_cuda_sampling *s = &cuda->sampling;
	struct aif_cuda_sampled *free = NULL;
	uint32_t device;

	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++) {
		void *known = atomic_load_explicit(&s->contexts[i].context, memory_order_relaxed);

		if (known == context)
			return;
		if (!known && !free)
			free = &s->contexts[i];
	}
	if (!free || !s->pc_size || cuda->api.cuptiGetDeviceId(context, &device))
		return;
	pthread_mutex_lock(&cuda->lock);
	if (!atomic_load(&free->context)) {
		free->device = device;
		free->refused = false;
		atomic_store(&free->context, context);
	}
	pthread_mutex_unlock(&cuda->lock);
}

/* The context goes, with its samples. */
static void context_gone(struct aif_cuda *cuda, void *context)
{
	struct aif_thread *t;

	pthread_mutex_lock(&cuda->switching);
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++) {
		struct aif_cuda_sampled *c = &cuda->sampling.contexts[i];

		if (atomic_load(&c->context) != context)
			continue;
		t = aif_thread_enter();
		end(cuda, c, t);
		if (t)
			aif_thread_leave(t);
		c->period = 0;
		atomic_store(&c->context, NULL);
	}
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_resource(struct aif_cuda *cuda, uint32_t event, const struct aif_cupti_resource *r)
{
	const struct aif_cupti_module *m = r->descriptor;

	switch (event) {
	case AIF_CUPTI_CONTEXT_CREATED:
		aif_cuda_context(cuda, r->context);
		/* At once, where nobody else switches; else the helper does. */
		if (!pthread_mutex_trylock(&cuda->switching)) {
			if (cuda->on && cuda->blocks.mode != AIF_CUDA_RECORDS)
				aif_cuda_sampling(cuda, true);
			pthread_mutex_unlock(&cuda->switching);
		}
		break;
	case AIF_CUPTI_CONTEXT_DESTROYED:
		context_gone(cuda, r->context);
		break;
	case AIF_CUPTI_MODULE_LOADED:
		if (m && m->cubin && cuda->sampling.pc_size)
			(void)aif_object_keep(hash_of(m->cubin, m->size), m->cubin, m->size);
		break;
	default:
		break;
	}
}
