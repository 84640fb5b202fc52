/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/*
 * A program that holds its device up by calls, and writes down what it did itself: calls_app MODE ROUNDS [SEED] prints
 *   E thread launch start end    a command: when its call began, and when it ran
 *   A thread class label begin end ns   what a thread did on the host, ns of it on a CPU; label: the function
 * all in CLOCK_MONOTONIC ns. Modes: finish, allocate, copy, compile, event, threads, compute; mix, which chooses among
 * four causes for each gap, of lengths log-uniform from 5 us to 50 ms; poll, calls that have nothing to wait for; hang, one
 * that does not return.
 */
#define NS_PER_S   1000000000ull
#define RECORDS    200000
#define SHORTEST   5e3
#define LONGEST    5e7
#define COPY_BYTES (256 << 20)

struct command {
	uint64_t launch, start, end;
	int thread;
	cl_event event;
};
struct activity {
	uint64_t begin, end, on_cpu;
	int thread;
	const char *class, *label;
};
static struct command commands[RECORDS];
static struct activity activities[RECORDS];
static unsigned commands_len, activities_len;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int self;
static struct target t;

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* The last statement of what it describes: no tail call, whose frame would be missing. */
static void did_on_cpu(const char *class, const char *label, uint64_t begin, uint64_t on_cpu)
{
	uint64_t end = now();

	pthread_mutex_lock(&lock);
	CHECK(activities_len < RECORDS);
	activities[activities_len++] = (struct activity){begin, end, on_cpu, self, class, label};
	pthread_mutex_unlock(&lock);
}

static void did(const char *class, const char *label, uint64_t begin)
{
	did_on_cpu(class, label, begin, 0);
}

static void commanded(uint64_t launch, cl_event event)
{
	pthread_mutex_lock(&lock);
	CHECK(commands_len < RECORDS);
	commands[commands_len++] =
		(struct command){.launch = launch, .thread = self, .event = event};
	pthread_mutex_unlock(&lock);
}

#define FUNCTION __attribute__((noinline)) static void

FUNCTION launch(cl_command_queue queue, cl_kernel kernel, size_t items)
{
	uint64_t at = now();
	cl_event event;

	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event) ==
	      CL_SUCCESS);
	commanded(at, event);
}

FUNCTION wait_for_queue(cl_command_queue queue)
{
	uint64_t at = now();

	CHECK(clFinish(queue) == CL_SUCCESS);
	did("wait", "wait_for_queue", at);
}

FUNCTION compute_on_host(uint64_t ns)
{
	uint64_t at = now(), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
	volatile unsigned x = 1;

	while (now() - at < ns)
		for (int i = 0; i < 20000; i++)
			x = x * 1664525 + 1013904223;
	did_on_cpu("compute", "compute_on_host", at, read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

static char *bytes;

/* The driver copies the bytes before it returns. */
FUNCTION allocate_buffer(size_t size)
{
	uint64_t at = now();
	cl_int e;
	cl_mem buffer = clCreateBuffer(t.context, CL_MEM_COPY_HOST_PTR, size, bytes, &e);

	CHECK(e == CL_SUCCESS);
	CHECK(clReleaseMemObject(buffer) == CL_SUCCESS);
	did("allocate", "allocate_buffer", at);
}

/* Another program each time: no driver has it in its cache. */
FUNCTION compile_program(int number)
{
	uint64_t at = now();
	char source[256];
	const char *text = source;
	cl_program program;
	cl_int e;

	snprintf(source, sizeof(source), "kernel void k%d(global int *a) { a[0] += %d + %d; }",
		 number, number, (int)(at % 1000000));
	program = clCreateProgramWithSource(t.context, 1, &text, NULL, &e);
	CHECK(e == CL_SUCCESS);
	CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	clReleaseProgram(program);
	did("compile", "compile_program", at);
}

/* Another thread lets a user's event happen after some time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	cl_event event;
	uint64_t at;
	bool is_over;
} timer = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, false};

static void *run_timer(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&timer.lock);
	while (!timer.is_over) {
		if (timer.event) {
			struct timespec ts = {.tv_sec = (time_t)(timer.at / NS_PER_S),
					      .tv_nsec = (long)(timer.at % NS_PER_S)};

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
			CHECK(clSetUserEventStatus(timer.event, CL_COMPLETE) == CL_SUCCESS);
			timer.event = NULL;
		} else {
			pthread_cond_wait(&timer.changed, &timer.lock);
		}
	}
	pthread_mutex_unlock(&timer.lock);
	return NULL;
}

FUNCTION wait_for_event(uint64_t ns)
{
	uint64_t at;
	cl_int e;
	cl_event event = clCreateUserEvent(t.context, &e);

	CHECK(e == CL_SUCCESS);
	pthread_mutex_lock(&timer.lock);
	timer.event = event;
	timer.at = now() + ns;
	pthread_cond_signal(&timer.changed);
	pthread_mutex_unlock(&timer.lock);
	at = now();
	CHECK(clWaitForEvents(1, &event) == CL_SUCCESS);
	did("wait", "wait_for_event", at);
	clReleaseEvent(event);
}

FUNCTION copy_to_device(cl_command_queue queue, cl_mem buffer, size_t size)
{
	uint64_t at = now();
	cl_event event;

	CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, &event) ==
	      CL_SUCCESS);
	commanded(at, event);
	did("wait", "copy_to_device", at);
}

FUNCTION copy_to_host(cl_command_queue queue, cl_mem buffer, size_t size)
{
	uint64_t at = now();
	cl_event event;

	CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, &event) ==
	      CL_SUCCESS);
	commanded(at, event);
	did("wait", "copy_to_host", at);
}

static cl_command_queue new_queue(void)
{
	cl_int e;
	cl_command_queue queue =
		clCreateCommandQueue(t.context, t.devices[0], CL_QUEUE_PROFILING_ENABLE, &e);

	CHECK(e == CL_SUCCESS);
	return queue;
}

static int rounds;

static void *launch_from_thread(void *number)
{
	cl_command_queue queue = new_queue();
	cl_kernel kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);

	self = (int)(intptr_t)number;
	for (int i = 0; i < rounds; i++) {
		compute_on_host(self ? 1000000 : 300000);
		launch(queue, kernel, 64);
		wait_for_queue(queue);
	}
	return NULL;
}

static double random_length(void)
{
	return SHORTEST * pow(LONGEST / SHORTEST, drand48());
}

static void mix(cl_command_queue queue, cl_kernel kernel, double bytes_per_ns)
{
	for (int i = 0; i < rounds; i++) {
		double ns = random_length();

		switch (i % 40 == 39 ? 3 : (int)(drand48() * 3)) {
		case 0:
			compute_on_host((uint64_t)ns);
			break;
		case 1:
			wait_for_event((uint64_t)ns);
			break;
		case 2:
			allocate_buffer((size_t)fmax(4096, fmin(ns * bytes_per_ns, COPY_BYTES)));
			break;
		default:
			compile_program(i);
		}
		launch(queue, kernel, 64);
		wait_for_queue(queue);
	}
}

static void run(const char *mode, cl_command_queue queue, cl_kernel kernel)
{
	cl_command_queue other = new_queue();
	cl_mem buffer = target_buffer(&t, 1 << 16);
	pthread_t threads[2];
	double bytes_per_ns;
	uint64_t at;

	if (!strcmp(mode, "threads")) {
		for (intptr_t i = 0; i < 2; i++)
			CHECK(!pthread_create(&threads[i], NULL, launch_from_thread, (void *)i));
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		return;
	}
	if (!strcmp(mode, "mix")) {
		allocate_buffer(16 << 20);
		at = now();
		allocate_buffer(16 << 20);
		bytes_per_ns = (16 << 20) / (double)(now() - at);
		launch(queue, kernel, 64);
		wait_for_queue(queue);
		mix(queue, kernel, bytes_per_ns);
		return;
	}
	if (!strcmp(mode, "poll")) {
		for (int i = 0; i < rounds; i++)
			CHECK(clFinish(queue) == CL_SUCCESS);
		return;
	}
	if (!strcmp(mode, "hang")) {
		wait_for_event(3600 * NS_PER_S);
		return;
	}
	for (int i = 0; i < rounds; i++) {
		if (!strcmp(mode, "compute"))
			compute_on_host(1000000);
		else if (!strcmp(mode, "allocate"))
			allocate_buffer(4 << 20);
		else if (!strcmp(mode, "compile"))
			compile_program(i);
		else if (!strcmp(mode, "event"))
			wait_for_event(1000000);
		else if (!strcmp(mode, "copy"))
			copy_to_device(queue, buffer, sizeof(cl_int) << 16);
		launch(i % 2 && !strcmp(mode, "event") ? other : queue, kernel, 64);
		if (!strcmp(mode, "copy"))
			copy_to_host(queue, buffer, sizeof(cl_int) << 16);
		else if (!strcmp(mode, "event"))
			wait_for_queue(i % 2 ? other : queue);
		else
			wait_for_queue(queue);
	}
}

static uint64_t stamp(cl_event event, cl_profiling_info which)
{
	cl_ulong value;

	CHECK(clGetEventProfilingInfo(event, which, sizeof(value), &value, NULL) == CL_SUCCESS);
	return value;
}

/* Stamps of PoCL are of CLOCK_MONOTONIC_RAW or CLOCK_MONOTONIC: a command is queued within its call. */
static int64_t device_offset(const struct command *c)
{
	int64_t raw = (int64_t)read_clock(CLOCK_MONOTONIC) -
		      (int64_t)read_clock(CLOCK_MONOTONIC_RAW),
		queued = (int64_t)stamp(c->event, CL_PROFILING_COMMAND_QUEUED) - (int64_t)c->launch;

	return llabs(queued) < llabs(queued + raw) ? 0 : raw;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "mix";
	cl_command_queue queue;
	cl_kernel kernel;
	pthread_t thread;
	int64_t offset;

	rounds = argc > 2 ? atoi(argv[2]) : 100;
	srand48(argc > 3 ? atol(argv[3]) : 1);
	bytes = malloc(COPY_BYTES);
	CHECK(bytes);
	memset(bytes, 1, COPY_BYTES);
	target_open(&t);
	queue = new_queue();
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);
	CHECK(!pthread_create(&thread, NULL, run_timer, NULL));
	launch(queue, kernel, 64);
	wait_for_queue(queue);
	run(mode, queue, kernel);
	pthread_mutex_lock(&timer.lock);
	timer.is_over = true;
	pthread_cond_signal(&timer.changed);
	pthread_mutex_unlock(&timer.lock);
	pthread_join(thread, NULL);
	offset = device_offset(&commands[commands_len - 1]);
	for (unsigned i = 0; i < commands_len; i++)
		printf("E %d %llu %lld %lld\n", commands[i].thread,
		       (unsigned long long)commands[i].launch,
		       (long long)stamp(commands[i].event, CL_PROFILING_COMMAND_START) + offset,
		       (long long)stamp(commands[i].event, CL_PROFILING_COMMAND_END) + offset);
	for (unsigned i = 0; i < activities_len; i++)
		printf("A %d %s %s %llu %llu %llu\n", activities[i].thread, activities[i].class,
		       activities[i].label, (unsigned long long)activities[i].begin,
		       (unsigned long long)activities[i].end,
		       (unsigned long long)activities[i].on_cpu);
	return 0;
}
