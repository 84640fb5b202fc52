/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction samples of the CUDA adapter, from a CUPTI of our own. */
#include "agent/cuda/cuda.h"

#include "agent/helper.h"
#include "agent/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct aif_agent aif_agent;
__thread struct aif_thread *aif_self __attribute__((tls_model("initial-exec")));

#define PREFIX "smsp__pcsamp_warps_issue_stalled_"
static const char *const reason_names[] = {
	"smsp__pcsamp_sample_count",  PREFIX "wait", PREFIX "wait_not_issued", PREFIX "selected",
	PREFIX "selected_not_issued",
};
enum { COUNT, WAIT, WAIT_NOT_ISSUED, SELECTED, REASONS = AIF_ARRAY_LEN(reason_names) };

/* Contexts are 1..3; 1 and 2 are of device 0, 3 is of device 1. */
enum { CONTEXTS = 4 };
static struct {
	struct aif_cuda cuda;
	struct aif_thread thread;
	bool sampled[CONTEXTS];
	unsigned enabled, disabled, refused;
	enum aif_reason why;
	int enable_error, data_error;
	uint32_t period;
	bool endless; /* says that there is more, and gives nothing */
	bool locked;  /* somebody else switches */
	bool no_ring;
	bool ring_full; /* but for a window */
	unsigned windows, pcs, codes, reasons, notes;
	uint64_t told[REASONS];
	bool gate_closed;
	bool busy[CONTEXTS], going[CONTEXTS];
	uintptr_t event[CONTEXTS];
	unsigned events;
	unsigned handlers; /* registered for the exit */
	bool no_preload, nameless;
	uint64_t others;
} it;

static uintptr_t number(const void *context)
{
	assert_true((uintptr_t)context > 0 && (uintptr_t)context < CONTEXTS);
	return (uintptr_t)context;
}

/* ---- CUPTI ---- */

static int enable(struct aif_cupti_context_params *p)
{
	uintptr_t n = number(p->context);

	it.gate_closed &= atomic_load(&it.cuda.gate.who) == (uint64_t)pthread_self();
	if (it.enable_error)
		return it.enable_error;
	assert_false(it.sampled[n]);
	/* One context of a device. */
	assert_false(n < 3 && it.sampled[3 - n]);
	it.sampled[n] = true;
	it.enabled++;
	return 0;
}

static int disable(struct aif_cupti_context_params *p)
{
	it.gate_closed &= atomic_load(&it.cuda.gate.who) == (uint64_t)pthread_self();
	assert_true(it.sampled[number(p->context)]);
	it.sampled[number(p->context)] = false;
	it.disabled++;
	return 0;
}

static int set(struct aif_cupti_attribute_params *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->attributes[i].type == AIF_CUPTI_PERIOD)
			it.period = p->attributes[i].number;
	return 0;
}

static int get(struct aif_cupti_attribute_params *p)
{
	p->attributes[0].number = it.period;
	return 0;
}

static int reasons_len(struct aif_cupti_reasons_len_params *p)
{
	*p->len = REASONS;
	return 0;
}

/* The other device's numbers are others. */
static uint32_t index_of(const void *context, uint32_t reason)
{
	return number(context) == 3 ? REASONS - 1 - reason : reason;
}

static int reasons(struct aif_cupti_reasons_params *p)
{
	for (uint32_t i = 0; i < REASONS; i++) {
		p->indices[i] = index_of(p->context, i);
		snprintf(p->names[i], AIF_CUPTI_REASON_NAME, "%s", reason_names[i]);
	}
	return 0;
}

/* One instruction: 10 samples waited, 6 of them with nothing issued, 3 were issuing. */
static int data(struct aif_cupti_samples_params *p)
{
	static const struct aif_cupti_pc_reason said[] = {
		{COUNT, 99}, {WAIT, 10}, {WAIT_NOT_ISSUED, 6}, {SELECTED, 3}};
	static char name[] = "f";
	struct aif_cupti_pc *pc = p->samples->pcs;

	assert_true(it.sampled[number(p->context)]);
	if (it.data_error)
		return it.data_error;
	p->samples->remaining = it.endless;
	if (it.endless)
		return 0;
	pc->hash = 7;
	pc->function = 1;
	pc->name = it.nameless ? name + 1 : name;
	pc->reasons_len = AIF_ARRAY_LEN(said);
	for (size_t i = 0; i < AIF_ARRAY_LEN(said); i++)
		pc->reasons[i] = (struct aif_cupti_pc_reason){index_of(p->context, said[i].reason),
							      said[i].samples};
	p->samples->len = 1;
	p->samples->total = 13;
	return 0;
}

static int hashes(aif_cupti_hash_fn *fn)
{
	uint64_t a, b;

	fn("0123456789", 10, &a);
	fn("0123456788", 10, &b);
	assert_int_not_equal(a, b);
	return 0;
}

static int device_of(void *context, uint32_t *ret)
{
	*ret = number(context) == 3;
	return 0;
}

static int device_get(int *ret, int ordinal)
{
	*ret = ordinal;
	return 0;
}

/* An H100. */
static int attribute(int *ret, int which, int device)
{
	(void)device;
	*ret = which == AIF_CUDA_ATTRIBUTE_CLOCK_KHZ ? 1980000 : 132;
	return 0;
}

static int push(void *context)
{
	return number(context) ? 0 : 1;
}

static int pop(void **ret)
{
	*ret = NULL;
	return 0;
}

static int event_new(void **ret, unsigned flags)
{
	*ret = it.events < CONTEXTS ? &it.event[it.events++] : NULL;
	return flags != 2 || !*ret;
}

static int event_record(void *context, void *event)
{
	assert_false(it.going[number(context)]);
	*(uintptr_t *)event = number(context);
	return 0;
}

static int event_query(void *event)
{
	return it.busy[*(uintptr_t *)event] ? 600 : 0;
}

/* ---- the rest of the agent ---- */

struct aif_thread *aif_thread_enter_slow(void)
{
	return it.no_ring ? NULL : &it.thread;
}

bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	(void)cuda;
	c->claim = 1;
	return true;
}

void aif_cuda_unclaim(struct aif_cuda_sampled *c)
{
	c->claim = 0;
}

bool aif_emit_code(struct aif_thread *t, uint32_t id, uint64_t hash, uint32_t symbol,
		   const char *name)
{
	(void)t, (void)id;
	assert_true(hash == 7 && symbol == 1 && !strcmp(name, "f"));
	it.codes++;
	return true;
}

bool aif_emit_reason(struct aif_thread *t, uint32_t id, const char *name)
{
	(void)t;
	/* All but the counter. */
	assert_true(id + 1 < REASONS);
	assert_string_equal(name, reason_names[id + 1] + sizeof(PREFIX) - 1);
	it.reasons++;
	return true;
}

bool aif_emit_window(struct aif_thread *t, const struct aif_emit_window *w)
{
	(void)t;
	assert_true(w->end >= w->start && w->samples == 13);
	it.windows++;
	it.others += w->others;
	return true;
}

bool aif_emit_pc(struct aif_thread *t, uint32_t window, uint32_t code, uint64_t pc,
		 const struct aif_emit_reason *r, unsigned n)
{
	(void)t, (void)window, (void)code, (void)pc;
	if (it.ring_full)
		return false;
	for (unsigned i = 0; i < n; i++)
		it.told[r[i].reason + 1] += r[i].samples;
	it.pcs++;
	return true;
}

bool aif_emit_note(struct aif_thread *t, enum aif_reason reason, uint64_t n, const char *detail)
{
	(void)t, (void)detail;
	assert_true(reason == AIF_REASON_CUDA_BUFFER_FULL);
	it.notes += (unsigned)n;
	return true;
}

bool aif_cuda_device_tell(struct aif_thread *t, struct aif_cuda *cuda, uint32_t ordinal)
{
	(void)t, (void)cuda, (void)ordinal;
	return true;
}

void aif_cuda_refused(enum aif_reason reason, const char *what, int error)
{
	(void)what, (void)error;
	it.why = reason;
	it.refused++;
}

void aif_cuda_refused_in(struct aif_thread *t, enum aif_reason reason, const char *what, int error)
{
	(void)t;
	aif_cuda_refused(reason, what, error);
}

bool aif_cuda_lock_soon(struct aif_cuda *cuda)
{
	(void)cuda;
	return !it.locked && !pthread_mutex_trylock(&it.cuda.switching);
}

void aif_agent_leave_first(void)
{
	it.handlers++;
}

bool aif_helper_is_here(void)
{
	return true;
}

bool aif_cuda_names_are_safe(void)
{
	return !it.no_preload;
}

bool aif_object_keep(uint64_t hash, const void *bytes, size_t n)
{
	(void)hash, (void)bytes, (void)n;
	return true;
}

/* ---- */

static void *context(uintptr_t n)
{
	return (void *)n;
}

static void created(uintptr_t n)
{
	struct aif_cupti_resource r = {.context = context(n)};

	aif_cuda_resource(&it.cuda, AIF_CUPTI_CONTEXT_CREATED, &r);
}

static void destroyed(uintptr_t n)
{
	struct aif_cupti_resource r = {.context = context(n)};

	it.going[n] = true;
	aif_cuda_resource(&it.cuda, AIF_CUPTI_CONTEXT_DESTROYED, &r);
	it.going[n] = it.sampled[n] = false; /* at the latest */
}

/* The helper's. */
static void tick(void)
{
	aif_cuda_sampling_tick(&it.cuda);
}

static int setup(void **state)
{
	struct aif_cuda *c = &it.cuda;

	(void)state;
	memset(&it, 0, sizeof(it));
	it.cuda.use = AIF_CUPTI_USE_BLOCKS;
	memset(&aif_agent, 0, sizeof(aif_agent));
	it.gate_closed = true;
	it.thread.generation = aif_agent.session.generation = 1;
	aif_agent.session.device_rate = 999;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->switching, NULL);
	c->on = c->listens = true;
	aif_cuda_gate_begin(c);
	aif_cuda_gate_settle(c);
	c->blocks.mode = AIF_CUDA_TOGETHER;
	c->version = AIF_CUPTI_VERSION_13_0;
	c->api = (struct aif_cupti){.can_sample = true,
				    .cuptiPCSamplingEnable = enable,
				    .cuptiPCSamplingDisable = disable,
				    .cuptiPCSamplingSetConfigurationAttribute = set,
				    .cuptiPCSamplingGetConfigurationAttribute = get,
				    .cuptiPCSamplingGetNumStallReasons = reasons_len,
				    .cuptiPCSamplingGetStallReasons = reasons,
				    .cuptiPCSamplingGetData = data,
				    .cuptiRegisterComputeCrcCallback = hashes,
				    .cuptiGetDeviceId = device_of,
				    .cuDeviceGet = device_get,
				    .cuDeviceGetAttribute = attribute,
				    .can_record = true,
				    .cuCtxPushCurrent_v2 = push,
				    .cuCtxPopCurrent_v2 = pop,
				    .cuEventCreate = event_new,
				    .cuEventQuery = event_query,
				    .cuCtxRecordEvent = event_record};
	/* As where the files allow it. */
	c->sampling.pc_size = sizeof(struct aif_cupti_pc);
	aif_cuda_sampling_init(c);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	aif_cuda_sampling(&it.cuda, false);
	assert_int_equal(it.enabled, it.disabled);
	assert_true(it.gate_closed);
	assert_int_equal(atomic_load(&it.cuda.gate.who), 0);
	return 0;
}

/* X_not_issued is part of X: told apart they add up to the samples, and counters are no reason. */
static void reasons_are_disjoint(void **state)
{
	(void)state;
	created(1);
	assert_int_equal(it.period, 18);
	tick();
	assert_int_equal(it.windows, 1);
	assert_int_equal(it.told[WAIT], 4);
	assert_int_equal(it.told[WAIT_NOT_ISSUED], 6);
	assert_int_equal(it.told[SELECTED], 3);
	assert_int_equal(it.told[COUNT], 0);
	tick();
	/* Once each. */
	assert_int_equal(it.codes, 1);
	assert_int_equal(it.reasons, REASONS - 1);
	assert_int_equal(it.pcs, 2);
	it.thread.generation = 2; /* the next session knows nothing */
	tick();
	assert_int_equal(it.codes, 2);
	it.thread.generation = 1;
}

/* Whose code CUPTI does not know, that has no name: not a place in the program. */
static void nameless_code_is_others(void **state)
{
	(void)state;
	created(1);
	it.nameless = true;
	tick();
	assert_int_equal(it.windows, 1);
	assert_int_equal(it.pcs, 0);
	assert_int_equal(it.codes, 0);
	assert_int_equal(it.others, 13);
	assert_int_equal(atomic_load(&it.cuda.nameless), 13);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 0);
}

/* Then CUPTI may end the program. */
static void without_preload_nothing_is_sampled(void **state)
{
	(void)state;
	it.no_preload = true;
	it.cuda.sampling.pc_size = 0;
	it.cuda.sampling.session = 0;
	it.refused = 0;
	aif_cuda_sampling_init(&it.cuda);
	created(1);
	assert_int_equal(it.refused, 1);
	assert_int_equal(it.why, AIF_REASON_CUDA_NO_SAMPLING);
	assert_int_equal(it.enabled, 0);
}

/* CUPTI destroys at exit what it made when sampling began. */
static void the_exit_handler_is_newer_than_sampling(void **state)
{
	(void)state;
	assert_int_equal(it.handlers, 0);
	created(1);
	assert_int_equal(it.handlers, 1);
	aif_cuda_sampling(&it.cuda, false);
	aif_cuda_sampling(&it.cuda, true);
	assert_int_equal(it.handlers, 1);
}

/* What CUPTI gave away while no ring could be had is counted, and told by others. */
static void samples_without_a_ring_are_counted(void **state)
{
	(void)state;
	created(1);
	tick();
	it.no_ring = true;
	tick(); /* takes nothing away */
	assert_int_equal(atomic_load(&it.cuda.unsampled), 0);
	aif_cuda_sampling(&it.cuda, false);
	assert_int_equal(it.windows, 1);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
	it.no_ring = false;
}

/* Where they had no room a note has none either: they are told later. */
static void samples_of_a_full_ring_are_counted(void **state)
{
	(void)state;
	created(1);
	it.ring_full = true;
	tick();
	it.ring_full = false;
	assert_int_equal(it.windows, 1);
	assert_int_equal(it.pcs, 0);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
	tick();
	assert_int_equal(it.pcs, 1);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
}

/* For each device that is sampled; it stays said after the end. */
static void memory_of_devices_is_told(void **state)
{
	(void)state;
	created(1);
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 64 << 20);
	created(2); /* the same device */
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 64 << 20);
	created(3);
	destroyed(3);
	destroyed(1);
	tick();
	assert_int_equal(atomic_load(&aif_agent.session.device_bytes), 128 << 20);
}

/* CUPTI samples one context of a GPU. A place that is free again does not come before one that is in use. */
static void one_context_of_a_device(void **state)
{
	(void)state;
	created(3);
	created(1);
	assert_true(it.sampled[3] && it.sampled[1]);
	destroyed(3);
	created(2); /* at 3's place */
	tick();
	assert_true(it.sampled[1] && !it.sampled[2]);
	destroyed(1);
	tick();
	assert_true(it.sampled[2]);
}

/* A reason is its name, whatever number a device has for it. */
static void two_kinds_of_device(void **state)
{
	(void)state;
	created(1);
	created(3);
	tick();
	assert_int_equal(it.pcs, 2);
	assert_int_equal(it.reasons, 2 * (REASONS - 1));
	assert_true(it.told[WAIT] == 8 && it.told[WAIT_NOT_ISSUED] == 12 && it.told[SELECTED] == 6);
	/* In a place that another had. */
	destroyed(1);
	destroyed(3);
	memset(it.told, 0, sizeof(it.told));
	created(3);
	tick();
	assert_true(it.told[WAIT] == 4 && it.told[WAIT_NOT_ISSUED] == 6 && it.told[SELECTED] == 3);
}

/* Beside records it is refused, which nothing but trying could tell: not for good, and it is not tried again there. */
static void not_beside_records(void **state)
{
	(void)state;
	aif_agent.budget.asked_ppm = 20000;
	it.enable_error = AIF_CUPTI_NOT_COMPATIBLE;
	created(1);
	assert_int_equal(it.refused, 0);
	assert_true(it.cuda.sampling.apart && aif_cuda_sampling_wanted(&it.cuda));
	it.enable_error = 0;
	tick();
	assert_false(it.sampled[1]);
	it.cuda.blocks.mode = AIF_CUDA_SAMPLES;
	tick();
	assert_true(it.sampled[1]);
	/* Without them it is refused for another reason. */
	aif_cuda_sampling(&it.cuda, false);
	it.enable_error = AIF_CUPTI_NOT_COMPATIBLE;
	tick();
	assert_int_equal(it.refused, 1);
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
}

/* Each recording is told that it cannot have all launches and samples of such a CUPTI. */
static void an_old_one_says_what_it_cannot_do(void **state)
{
	(void)state;
	it.cuda.sampling.apart = true;
	for (uint32_t session = 2; session < 4; session++) {
		aif_agent.session.generation = session;
		aif_cuda_sampling_init(&it.cuda);
		aif_cuda_sampling_init(&it.cuda); /* after a pause */
		assert_int_equal(it.refused, session - 1);
		assert_int_equal(it.why, AIF_REASON_CUDA_NO_SAMPLING);
		assert_false(aif_cuda_sampling_wanted(&it.cuda));
	}
	aif_agent.session.generation = 4;
	aif_agent.budget.asked_ppm = 20000;
	aif_cuda_sampling_init(&it.cuda);
	assert_int_equal(it.refused, 2);
	assert_true(aif_cuda_sampling_wanted(&it.cuda));
}

/* What runs on the other device may wait for a launch that is held meanwhile. The going one is not asked. */
static void a_context_goes_beside_a_busy_device(void **state)
{
	(void)state;
	created(1);
	created(3);
	it.busy[1] = it.busy[3] = true;
	destroyed(1);
	assert_int_equal(it.disabled, 0);
	it.enabled--; /* it went with its context */
	assert_true(it.sampled[3]);
	it.busy[3] = false;
	created(1);
	it.cuda.gate.again_ns = 0;
	tick();
	assert_true(it.sampled[1]);
	destroyed(1);
	assert_int_equal(it.disabled, 1);
	assert_null(atomic_load(&it.cuda.sampling.contexts[0].context));
	/* Nobody else: nobody is waited for. */
	it.busy[3] = true;
	destroyed(3);
	assert_int_equal(it.disabled, 2);
}

/* Records were on until a moment ago, which kernels under way still get. */
static void not_before_the_last_record(void **state)
{
	struct aif_cuda *c = &it.cuda;

	(void)state;
	aif_cuda_context(c, (void *)1);
	c->blocks.mode = AIF_CUDA_SAMPLES;
	it.busy[1] = true;
	assert_false(aif_cuda_sampling(c, true));
	assert_false(it.sampled[1]);
	it.busy[1] = false;
	assert_true(aif_cuda_sampling(c, true));
	assert_true(it.sampled[1]);
}

/* Who switches waits for this thread: it goes on, and nobody uses its context any more. */
static void a_destroyer_does_not_wait(void **state)
{
	(void)state;
	created(1);
	it.locked = true;
	destroyed(1);
	it.locked = false;
	it.enabled--; /* it went with its context */
	assert_false(aif_cuda_is_sampling(&it.cuda) &&
		     !atomic_load(&it.cuda.sampling.contexts[0].gone));
	tick(); /* CUPTI would object */
	assert_null(atomic_load(&it.cuda.sampling.contexts[0].context));
	created(2);
	assert_true(it.sampled[2]);
}

static void a_full_buffer_means_fewer_samples(void **state)
{
	(void)state;
	created(1);
	it.data_error = AIF_CUPTI_OUT_OF_MEMORY;
	tick();
	it.data_error = 0;
	assert_int_equal(it.notes, 1);
	assert_int_equal(it.period, 20);
	assert_true(it.sampled[1]);
	assert_int_equal(it.enabled, 2);
	for (int i = 0; i < 5; i++) {
		it.data_error = AIF_CUPTI_OUT_OF_MEMORY;
		tick();
		it.data_error = 0;
	}
	/* So few that it cannot be that. */
	assert_int_equal(it.period, AIF_CUDA_PERIOD_MAX);
	assert_false(it.sampled[1]);
	assert_int_equal(it.refused, 1);
}

/* What one recording was refused the next one asks for again, and is told. */
static void a_new_session_tries_again(void **state)
{
	(void)state;
	it.enable_error = AIF_CUPTI_HARDWARE_BUSY;
	created(1);
	assert_int_equal(it.why, AIF_REASON_CUDA_COUNTERS_HELD);
	tick();
	tick();
	assert_int_equal(it.refused, 1);
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
	it.enable_error = 0;
	aif_cuda_sampling_init(&it.cuda); /* after a pause */
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
	aif_agent.session.generation++;
	aif_cuda_sampling_init(&it.cuda);
	assert_true(aif_cuda_sampling_wanted(&it.cuda));
	tick();
	assert_true(it.sampled[1]);
}

/* Another process has the unit: three errors, then nothing more is asked of CUPTI, not even to end it. */
static void errors_in_a_row(void **state)
{
	(void)state;
	created(1);
	it.data_error = AIF_CUPTI_UNKNOWN;
	tick();
	tick();
	assert_int_equal(it.refused, 0);
	tick();
	assert_int_equal(it.refused, 1);
	assert_int_equal(it.why, AIF_REASON_CUDA_COUNTERS_HELD);
	assert_true(it.cuda.sampling.is_stranded);
	assert_false(aif_cuda_is_sampling(&it.cuda) || aif_cuda_sampling_wanted(&it.cuda));
	it.data_error = 0;
	tick();
	assert_int_equal(it.windows, 0);
	aif_cuda_sampling(&it.cuda, false);
	aif_agent.session.generation++;
	aif_cuda_sampling_init(&it.cuda);
	tick();
	assert_true(it.sampled[1]);
	assert_int_equal(it.disabled, 0);
	it.disabled = it.enabled;
}

static void more_that_never_comes(void **state)
{
	(void)state;
	created(1);
	it.endless = true;
	tick();
	it.endless = false;
	assert_int_equal(it.windows, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_without_a_ring_are_counted),
		TEST(samples_of_a_full_ring_are_counted),
		TEST(memory_of_devices_is_told),
		TEST(nameless_code_is_others),
		TEST(without_preload_nothing_is_sampled),
		TEST(the_exit_handler_is_newer_than_sampling),
		TEST(reasons_are_disjoint),
		TEST(one_context_of_a_device),
		TEST(a_destroyer_does_not_wait),
		TEST(a_context_goes_beside_a_busy_device),
		TEST(not_before_the_last_record),
		TEST(two_kinds_of_device),
		TEST(not_beside_records),
		TEST(an_old_one_says_what_it_cannot_do),
		TEST(a_full_buffer_means_fewer_samples),
		TEST(a_new_session_tries_again),
		TEST(errors_in_a_row),
		TEST(more_that_never_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
