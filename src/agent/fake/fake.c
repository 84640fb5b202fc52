/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"
#include "agent/emit.h"
#include "agent/fake/script.h"
#include "agent/memory/pages.h"
#include "agent/objects.h"
#include "agent/runtime.h"
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A runtime without a device, driven by a script (script.h): golden tests, benches, and the
 * template for adding a real one. Its "vendor's library" is the two functions below, which a host
 * program finds with dlsym: tests/mock/fake_app.c.
 */

/* Runs the script in the file of that name; if there is none, `script` itself. 0 or -errno. */
AIF_PUBLIC int aif_fake_run(const char *script);
/* Launches a kernel that ends at once, with the caller's real stack. The script has made kernel and stream. */
AIF_PUBLIC void aif_fake_launch(uint32_t stream, uint32_t kernel);

#define OBJECTS 256
#define SCRIPT  (1u << 20)
#define OBJECT  (16u << 20) /* device code */

struct object { /* a device, stream, program or kernel */
	struct aif_fake_order order;
	bool made;
	_Atomic uint32_t defined_gen; /* session generation */
};

struct aif_fake {
	pthread_mutex_t lock;
	_Atomic uint64_t now; /* what is added to an order's times */
	struct object devices[OBJECTS], streams[OBJECTS], programs[OBJECTS], kernels[OBJECTS];
};

#define FAKE AIF_RUNTIME_STATE(fake, aif_fake)

static bool is_defined(struct object *o, const struct aif_thread *t)
{
	return atomic_load_explicit(&o->defined_gen, memory_order_relaxed) == t->generation;
}

static void device_define(struct aif_thread *t, struct object *d)
{
	const struct aif_emit_device desc = {
		.id = d->order.id,
		.kind = d->order.kind,
		.units = d->order.units,
		.pci = d->order.pci,
		.clock = d->order.own_clock ? AIF_CLOCK_DEVICE + d->order.id : d->order.clock,
		.name = d->order.name,
		.vendor = "aiflame",
		.driver = AIF_VERSION,
		.runtime = "fake",
	};

	if (!is_defined(d, t) && aif_emit_device(t, &desc))
		d->defined_gen = t->generation;
}

static void stream_define(struct aif_thread *t, struct object *s)
{
	struct object *d = &FAKE->devices[s->order.device];

	device_define(t, d);
	if (is_defined(d, t) && !is_defined(s, t) &&
	    aif_emit_stream(t, s->order.id, s->order.device, s->order.id, s->order.out_of_order))
		s->defined_gen = t->generation;
}

static void kernel_define(struct aif_thread *t, struct object *k)
{
	struct object *p = &FAKE->programs[k->order.program];

	if (!is_defined(p, t) && aif_emit_program(t, p->order.id, p->order.options, p->order.source,
						  strlen(p->order.source), 0))
		p->defined_gen = t->generation;
	if (!is_defined(k, t) && aif_emit_kernel(t, k->order.id, k->order.program, k->order.name))
		k->defined_gen = t->generation;
}

/* Lazily, at the launch that needs it; the lock only while something is untold. */
static void tell(struct aif_thread *t, struct object *stream, struct object *kernel)
{
	if (aif_likely(is_defined(stream, t) && (!kernel || is_defined(kernel, t))))
		return;
	pthread_mutex_lock(&FAKE->lock);
	if (!is_defined(stream, t))
		stream_define(t, stream);
	if (kernel && !is_defined(kernel, t))
		kernel_define(t, kernel);
	pthread_mutex_unlock(&FAKE->lock);
}

static void emit(struct aif_thread *t, const struct aif_emit_launch *l, uint64_t start,
		 uint64_t end)
{
	struct aif_emit_exec e = {.kind = l->kind,
				  .start = start,
				  .end = end,
				  .stream = l->stream,
				  .kernel = l->kernel,
				  .bytes = l->bytes};

	if (aif_emit_launch(t, l, &e.launch) && start)
		aif_emit_exec(t, &e);
}

static void exec(struct aif_thread *t, const struct aif_fake_order *o, uint64_t launch)
{
	bool is_kernel = o->kind == AIF_EMIT_KERNEL;
	const struct aif_emit_exec e = {.kind = (enum aif_emit_kind)o->kind,
					.launch = launch,
					.start = o->start,
					.end = o->end,
					.stream = o->stream,
					.kernel = is_kernel ? o->kernel : AIF_WIRE_NONE,
					.registers = o->registers,
					.shared = o->shared,
					.bytes = o->bytes,
					.graph = o->graph,
					.node = o->node};

	tell(t, &FAKE->streams[o->stream % OBJECTS],
	     is_kernel ? &FAKE->kernels[o->kernel % OBJECTS] : NULL);
	aif_emit_exec(t, &e);
}

static void launch(struct aif_thread *t, const struct aif_fake_order *o, uint64_t *last)
{
	bool is_kernel = o->kind == AIF_EMIT_KERNEL && !o->graph;
	struct object *stream = &FAKE->streams[o->stream % OBJECTS],
		      *kernel = is_kernel ? &FAKE->kernels[o->kernel % OBJECTS] : NULL;
	struct aif_emit_launch l = {.kind = o->kind,
				    .time = o->time,
				    .stream = o->stream,
				    .kernel = is_kernel ? o->kernel : AIF_WIRE_NONE,
				    .shape = AIF_WIRE_NONE,
				    .bytes = o->bytes};
	struct aif_emit_shape shape;

	tell(t, stream, kernel);
	for (unsigned i = 0; i < 3; i++) {
		shape.grid[i] = (uint32_t)o->grid[i];
		shape.block[i] = (uint32_t)o->block[i];
	}
	l.stack = aif_emit_stack(t, o->stack, o->stack_len, AIF_STOP_END);
	if (is_kernel)
		l.shape = aif_emit_shape(t, &shape);
	if (aif_emit_launch(t, &l, last) && o->start)
		exec(t, o, *last);
}

void aif_fake_launch(uint32_t stream, uint32_t kernel)
{
	static const struct aif_emit_shape shape = {.grid = {64, 64, 1}, .block = {8, 8, 1}};
	struct aif_thread *t = aif_thread_enter();
	struct aif_emit_launch l = {
		.kind = AIF_EMIT_KERNEL, .stream = stream, .kernel = kernel, .time = aif_now_ns()};
	const struct aif_emit_api api = {.pc = (uintptr_t)aif_fake_launch};
	struct aif_emit_cost cost;
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	if (!t) {
		aif_emit_missed();
		return;
	}
	if (!aif_emit_wanted(t, l.time)) {
		aif_thread_leave(t);
		return;
	}
	aif_emit_cost_begin(t, &cost, l.time);
	aif_capture_prefetch(t, &regs);
	tell(t, &FAKE->streams[stream % OBJECTS], &FAKE->kernels[kernel % OBJECTS]);
	l.stack = aif_capture(t, &regs, &api);
	l.shape = aif_emit_shape(t, &shape);
	emit(t, &l, l.time + 1000, l.time + 2000);
	aif_emit_cost_end(&cost);
	aif_thread_leave(t);
}

/* ---- generate -------------------------------------------------------------------------------- */

static void make(struct object *list, uint32_t id, const struct aif_fake_order *o)
{
	pthread_mutex_lock(&FAKE->lock);
	if (!list[id % OBJECTS].made) {
		list[id % OBJECTS].order = *o;
		list[id % OBJECTS].order.id = id % OBJECTS;
		list[id % OBJECTS].made = true;
	}
	pthread_mutex_unlock(&FAKE->lock);
}

static void make_all(const struct aif_fake_order *g)
{
	struct aif_fake_order o = {.kind = AIF_EMIT_DEVICE_GPU, .units = 16, .name = "Fake GPU"};

	make(FAKE->devices, 0, &o);
	o = (struct aif_fake_order){.options = "-O2", .source = "kernel void generated() {}\n"};
	make(FAKE->programs, 0, &o);
	for (uint32_t i = 0; i < g->streams; i++) {
		o = (struct aif_fake_order){0};
		make(FAKE->streams, i, &o);
	}
	for (uint32_t i = 0; i < g->kernels; i++) {
		o = (struct aif_fake_order){.name = "generated_00"};
		o.name[10] = (char)('0' + i / 10 % 10);
		o.name[11] = (char)('0' + i % 10);
		make(FAKE->kernels, i, &o);
	}
}

static void generate_one(struct aif_thread *t, const struct aif_fake_order *g, uint64_t i,
			 uint64_t now)
{
	/* A loop, as inference is: the same launches in the same, disordered sequence, with durations
	 * that scatter by 10 % around each one's own. */
	uint64_t random = aif_mix64(i), step = aif_mix64(i % (4 * g->stacks) + 1),
		 stack_id = step % g->stacks, usual = 200 + stack_id * 37 % 600;
	uint32_t stream = (uint32_t)((step >> 16) % g->streams),
		 kernel = (uint32_t)(stack_id % g->kernels);
	const struct aif_emit_shape shape = {.grid = {1024, 1, 1}, .block = {64, 1, 1}};
	struct aif_emit_launch l = {
		.kind = AIF_EMIT_KERNEL, .time = now, .stream = stream, .kernel = kernel};
	uint64_t pcs[AIF_FAKE_DEPTH];

	/* Addresses in no module: frames of the outer half are shared by all. */
	for (uint64_t k = 0; k < g->depth; k++)
		pcs[k] = UINT64_C(0x10000) + k * 64 + (k < g->depth / 2 ? stack_id << 16 : 0);
	tell(t, &FAKE->streams[stream], &FAKE->kernels[kernel]);
	l.stack = aif_emit_stack(t, pcs, (unsigned)g->depth, AIF_STOP_END);
	l.shape = aif_emit_shape(t, &shape);
	emit(t, &l, now + 200, now + 200 + usual * 9 / 10 + (random >> 32) % (usual / 5));
}

static void spin(uint64_t ns)
{
	uint64_t begin = ns ? aif_now_ns() : 0;

	while (ns && aif_now_ns() - begin < ns)
		;
}

static int generate(struct aif_fake_order *g)
{
	const struct timespec nap = {.tv_nsec = 100000};
	uint64_t start = aif_now_ns(), now = start;

	g->stacks = g->stacks ? g->stacks : 1;
	g->depth = AIF_MIN(g->depth ? g->depth : 40, AIF_FAKE_DEPTH);
	g->kernels = AIF_MIN(g->kernels ? g->kernels : 1, 100);
	g->streams = AIF_MIN(g->streams ? g->streams : 1, OBJECTS);
	make_all(g);
	for (uint64_t i = 0; i < g->launches; i++) {
		struct aif_thread *t;

		spin(g->work);
		t = aif_thread_enter();

		now = aif_now_ns();
		if (t) {
			if (aif_emit_wanted(t, now)) {
				generate_one(t, g, i, now);
				spin(g->vendor);
			}
			aif_thread_leave(t);
		} else {
			aif_emit_missed();
		}
		while (g->rate && (now - start) * g->rate < i * AIF_NS_PER_S) {
			nanosleep(&nap, NULL);
			now = aif_now_ns();
		}
	}
	return 0;
}

/* ---- the script ------------------------------------------------------------------------------ */

static void keep_object(const struct aif_fake_order *o)
{
	void *bytes = aif_pages(OBJECT);
	int fd = open(o->object, O_RDONLY | O_CLOEXEC);
	ssize_t n = bytes && fd >= 0 ? read(fd, bytes, OBJECT) : 0;

	if (n > 0)
		aif_object_keep(o->hash, bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	if (bytes)
		munmap(bytes, OBJECT);
}

static void window(struct aif_thread *t, const struct aif_fake_order *o)
{
	struct object *d = &FAKE->devices[o->device % OBJECTS];
	const struct aif_emit_window w = {.id = o->id,
					  .device = o->device,
					  .start = o->start,
					  .end = o->end,
					  .period_ps = o->period,
					  .samples = o->samples,
					  .lost = o->lost,
					  .others = o->others};

	pthread_mutex_lock(&FAKE->lock);
	device_define(t, d);
	pthread_mutex_unlock(&FAKE->lock);
	aif_emit_window(t, &w);
}

static void pc(struct aif_thread *t, const struct aif_fake_order *o)
{
	struct aif_emit_reason hits[AIF_FAKE_DEPTH / 2];
	unsigned n = 0;

	for (unsigned i = 0; i + 1 < o->stack_len; i += 2)
		hits[n++] = (struct aif_emit_reason){.reason = (uint32_t)o->stack[i],
						     .samples = (uint32_t)o->stack[i + 1]};
	aif_emit_pc(t, o->window, o->code, o->pc, hits, n);
}

static void counter(struct aif_thread *t, const struct aif_fake_order *o)
{
	pthread_mutex_lock(&FAKE->lock);
	device_define(t, &FAKE->devices[o->device % OBJECTS]);
	pthread_mutex_unlock(&FAKE->lock);
	aif_emit_counter(t, o->id, o->device, o->name, o->unit);
}

static void values(struct aif_thread *t, const struct aif_fake_order *o)
{
	double v[AIF_FAKE_DEPTH];

	for (unsigned i = 0; i < o->stack_len; i++)
		v[i] = (double)o->stack[i];
	aif_emit_values(t, o->counter, o->time, 0, v, o->stack_len);
}

static void place(struct aif_thread *t, const struct aif_fake_order *o)
{
	const struct aif_emit_place p = {.code = o->code,
					 .device = o->device,
					 .time = o->time,
					 .address = o->address,
					 .size = o->size};

	pthread_mutex_lock(&FAKE->lock);
	device_define(t, &FAKE->devices[o->device % OBJECTS]);
	pthread_mutex_unlock(&FAKE->lock);
	aif_emit_place(t, &p);
}

static void node(struct aif_thread *t, const struct aif_fake_order *o)
{
	struct aif_emit_node n = {.kind = (enum aif_wire_node_kind)o->id,
				  .time = o->time,
				  .node = o->id < AIF_GRAPH_INSTANTIATING
						  ? (uint64_t)o->graph << 32 | o->node
						  : o->graph,
				  .from = o->from,
				  .stack = AIF_WIRE_NONE};

	if (o->stack_len)
		n.stack = aif_emit_stack(t, o->stack, o->stack_len, AIF_STOP_END);
	aif_emit_node(t, &n);
}

static void speak(struct aif_thread *t, const struct aif_fake_order *o, uint64_t *last)
{
	switch (o->verb) {
	case AIF_FAKE_LAUNCH:
		launch(t, o, last);
		break;
	case AIF_FAKE_EXEC:
		exec(t, o, *last);
		break;
	case AIF_FAKE_CLOCK:
		aif_emit_clock(t, AIF_CLOCK_DEVICE + o->device, o->before, o->after, o->value);
		break;
	case AIF_FAKE_CODE:
		aif_emit_code(t, o->id, o->hash, o->symbol, o->name);
		break;
	case AIF_FAKE_REASON:
		aif_emit_reason(t, o->id, o->name);
		break;
	case AIF_FAKE_WINDOW:
		window(t, o);
		break;
	case AIF_FAKE_PC:
		pc(t, o);
		break;
	case AIF_FAKE_PLACE:
		place(t, o);
		break;
	case AIF_FAKE_NODE:
		node(t, o);
		break;
	case AIF_FAKE_COUNTER:
		counter(t, o);
		break;
	case AIF_FAKE_VALUES:
		values(t, o);
		break;
	default:
		aif_emit_note(t, (enum aif_reason)o->reason, o->count, o->detail);
		break;
	}
}

static void shift_times(struct aif_fake_order *o)
{
	uint64_t now = FAKE->now;

	o->time += now;
	o->before += now;
	o->after += now;
	o->end += now;
	if (o->start || o->verb != AIF_FAKE_LAUNCH) /* 0: it never ends */
		o->start += now;
}

/* `last`: the launch that executions are of. */
static int obey(struct aif_fake_order *o, uint64_t *last)
{
	struct timespec nap;
	struct aif_thread *t;

	switch (o->verb) {
	case AIF_FAKE_NOTHING:
		return 0;
	case AIF_FAKE_DEVICE:
		make(FAKE->devices, o->id, o);
		return 0;
	case AIF_FAKE_STREAM:
		make(FAKE->streams, o->id, o);
		return 0;
	case AIF_FAKE_PROGRAM:
		make(FAKE->programs, o->id, o);
		return 0;
	case AIF_FAKE_KERNEL:
		make(FAKE->kernels, o->id, o);
		return 0;
	case AIF_FAKE_GENERATE:
		return generate(o);
	case AIF_FAKE_NOW:
		FAKE->now = aif_now_ns();
		return 0;
	case AIF_FAKE_SLEEP:
		nap = (struct timespec){.tv_sec = (time_t)(o->time / AIF_NS_PER_S),
					.tv_nsec = (long)(o->time % AIF_NS_PER_S)};
		nanosleep(&nap, NULL);
		return 0;
	case AIF_FAKE_CODE:
		if (*o->object)
			keep_object(o);
		break;
	default:
		shift_times(o);
		break;
	}
	t = aif_thread_enter();
	if (!t) {
		aif_emit_missed();
		return 0;
	}
	speak(t, o, last);
	aif_thread_leave(t);
	return 0;
}

static int start(void)
{
	struct aif_fake *fake = FAKE;
	void *none = NULL;

	if (fake)
		return 0;
	fake = aif_pages(sizeof(*fake));
	if (!fake)
		return -ENOMEM;
	pthread_mutex_init(&fake->lock, NULL);
	if (!atomic_compare_exchange_strong(&aif_agent.runtime[AIF_RUNTIME_ID(fake)].state, &none,
					    fake))
		return 0; /* another thread was first */
	/* Like any vendor's library it works as well where nobody records. */
	(void)aif_agent_start(AIF_RUNTIME_ID(fake));
	return 0;
}

int aif_fake_run(const char *script)
{
	struct aif_fake_order *order = aif_pages(sizeof(*order));
	char *text = NULL;
	uint64_t last = AIF_WIRE_NONE;
	int fd, r = start();

	if (!order)
		r = -ENOMEM;
	if (r < 0)
		return r;
	fd = open(script, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		text = aif_pages(SCRIPT);
		if (!text || read(fd, text, SCRIPT - 1) < 0)
			r = -EIO;
		close(fd);
		script = text;
	}
	while (r == 0 && *script) {
		r = aif_fake_order_read(&script, order, NULL);
		if (r == 0)
			r = obey(order, &last);
	}
	return r;
}

static void after_fork(void)
{
	if (FAKE)
		pthread_mutex_init(&FAKE->lock, NULL);
}

const struct aif_runtime aif_runtime_fake = {
	.bound_ns = 20000, /* its scripts' `vendor` is less */
	.after_fork = after_fork,
};
