/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <stdint.h>
#include <time.h>

/*
 * Programs whose loops have one shape each: shapes_app SHAPE [repaired]. Each prints "loop=FUNCTION line=N steps=N owner=FUNCTION
 * owner_ns=N ns=N": the function with the loop that has its steps, the line on which that loop begins, how many turns it makes; the
 * function that keeps the device waiting, its time, and that of all. Repaired, it takes none.
 *
 *   checkpoint   every ten steps, in the loop, buffers are read back one by one
 *   both         two loops in turns in main
 *   accumulate   four parts and an update make a step
 *   pingpong     even and odd steps call two functions
 *   products     eight inner products in each step, which waits for each
 *   epochs       steps in one function, called for each epoch; evaluations between
 *   last         validations every 20 steps, and 30 steps behind the last one
 *   sparse_log   a statistic every seven steps, at the head of the loop
 *   tokens       requests with any number of tokens
 *   one_line     all that a step launches is in one statement
 *   do_while     a step is repeated until it has converged
 *   layers       loops over layers, forward and back, in each step
 */
static cl_kernel work, other, third;
static struct target t;
static cl_mem buffer;
static int loop_line, steps, longer = 1;
static bool is_repaired;
static int64_t owner_ns;
static volatile double sink;

#define LOOP_BELOW()                      \
	do {                              \
		loop_line = __LINE__ + 1; \
	} while (0)
#define FUNCTION(name) static __attribute__((noinline)) void name

static int64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

/* Computes in the function that it stands in. Returns for how long. */
#define COMPUTE_US(us)                                                     \
	({                                                                 \
		struct timespec from_, to_;                                \
		int64_t took_;                                             \
                                                                           \
		clock_gettime(CLOCK_MONOTONIC, &from_);                    \
		do {                                                       \
			sink += 1;                                         \
			clock_gettime(CLOCK_MONOTONIC, &to_);              \
			took_ = (to_.tv_sec - from_.tv_sec) * 1000000000 + \
				(to_.tv_nsec - from_.tv_nsec);             \
		} while (took_ < (us)*1000);                               \
		took_;                                                     \
	})
/* The same of what keeps the device waiting. */
#define OWN_US(us) (owner_ns += is_repaired ? 0 : COMPUTE_US(us))

/* A kernel of another program than the target's. */
static void open_third(void)
{
	static const char *source =
		"kernel void twirl(global int *a) { a[get_global_id(0)] ^= 3; }";
	cl_program program = clCreateProgramWithSource(t.context, 1, &source, NULL, NULL);

	CHECK(program && clBuildProgram(program, 1, t.devices, "", NULL, NULL) == CL_SUCCESS);
	third = clCreateKernel(program, "twirl", NULL);
	CHECK(third && clSetKernelArg(third, 0, sizeof(buffer), &buffer) == CL_SUCCESS);
}

FUNCTION(load_batch)(void)
{
	OWN_US(2000);
	sink += 1;
}

FUNCTION(forward)(void)
{
	target_launch(t.queue, work, 64);
	sink += 2;
}

FUNCTION(backward)(void)
{
	target_launch(t.queue, other, 64);
	target_launch(t.queue, work, 64);
	sink += 3;
}

FUNCTION(update)(void)
{
	target_launch(t.queue, third, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	sink += 4;
}

FUNCTION(train_step)(void)
{
	forward();
	backward();
	update();
}

FUNCTION(read_back)(void)
{
	float at[64];

	CHECK(clEnqueueReadBuffer(t.queue, buffer, CL_TRUE, 0, sizeof(at), at, 0, NULL, NULL) ==
	      CL_SUCCESS);
	sink += at[0];
}

FUNCTION(save_checkpoint)(void)
{
	for (int i = 0; i < 3; i++)
		read_back();
}

/* Returns n, or as many times more as LONGER says: samples of short runs are few. */
static int turns(int n)
{
	return n * longer;
}

FUNCTION(train_with_checkpoints)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(110); i++) {
		load_batch();
		train_step();
		steps++;
		if (i % 10 == 9)
			save_checkpoint();
	}
}

FUNCTION(evaluate_one)(void)
{
	forward();
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

FUNCTION(accumulate)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(60); i++) {
		for (int k = 0; k < 4; k++) {
			OWN_US(300);
			forward();
			backward();
		}
		update();
		steps++;
	}
}

FUNCTION(even)(void)
{
	target_launch(t.queue, work, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

FUNCTION(odd)(void)
{
	target_launch(t.queue, other, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

FUNCTION(relax)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(80); i++) {
		OWN_US(1000);
		if (i % 2)
			odd();
		else
			even();
		steps++;
	}
}

FUNCTION(solve)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(100); i++) {
		OWN_US(1000);
		for (int k = 0; k < 8; k++)
			read_back();
		update();
		steps++;
	}
}

FUNCTION(train_epoch)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < 25; i++) {
		load_batch();
		train_step();
		steps++;
	}
}

FUNCTION(validate)(int n)
{
	for (int i = 0; i < n; i++)
		evaluate_one();
}

FUNCTION(fit)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(150); i++) {
		if (i % 20 == 0)
			validate(5);
		load_batch();
		train_step();
		steps++;
	}
}

FUNCTION(simulate)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(105); i++) {
		if (i % 7 == 6) {
			target_launch(t.queue, third, 64);
			read_back();
		}
		OWN_US(1500);
		even();
		steps++;
	}
}

FUNCTION(serve)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(40); i++) {
		OWN_US(500);
		forward();
		for (int k = 0; k < 3 + i * 7 % 11; k++)
			odd();
		steps++;
	}
}

FUNCTION(infer)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(90); i++) {
		OWN_US(1500);
		evaluate_one();
		steps++;
	}
}

FUNCTION(converge)(void)
{
	double error = 1;

	LOOP_BELOW();
	do {
		OWN_US(1200);
		train_step();
		error *= 0.9;
		steps++;
	} while (error > 1e-4 || steps < turns(88));
}

FUNCTION(train_layers)(void)
{
	LOOP_BELOW();
	for (int i = 0; i < turns(50); i++) {
		load_batch();
		for (int l = 0; l < 12; l++)
			forward();
		for (int l = 12; l-- > 0;)
			backward();
		update();
		steps++;
	}
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "checkpoint", *loop = "main",
		   *owner = "load_batch";
	int64_t begin;
	static const struct {
		const char *shape, *name;
		void (*loop)(void);
		const char *owner;
	} shapes[] = {
		{"checkpoint", "train_with_checkpoints", train_with_checkpoints, "load_batch"},
		{"accumulate", "accumulate", accumulate, "accumulate"},
		{"pingpong", "relax", relax, "relax"},
		{"products", "solve", solve, "solve"},
		{"last", "fit", fit, "load_batch"},
		{"sparse_log", "simulate", simulate, "simulate"},
		{"tokens", "serve", serve, "serve"},
		{"one_line", "infer", infer, "infer"},
		{"do_while", "converge", converge, "converge"},
		{"layers", "train_layers", train_layers, "load_batch"},
	};

	is_repaired = argc > 2;
	if (getenv("LONGER"))
		longer = atoi(getenv("LONGER"));
	target_open(&t);
	buffer = target_buffer(&t, 64);
	work = target_kernel(&t, "spin", buffer, 2000);
	other = target_kernel(&t, "add_one", buffer, 0);
	open_third();
	evaluate_one();
	begin = now();
	if (!strcmp(shape, "both")) {
		for (int epoch = 0; epoch < turns(6); epoch++) {
			LOOP_BELOW();
			for (int i = 0; i < 20; i++) {
				load_batch();
				train_step();
				steps++;
			}
			for (int i = 0; i < 8; i++) {
				COMPUTE_US(500);
				evaluate_one();
			}
		}
	} else if (!strcmp(shape, "epochs")) {
		loop = "train_epoch";
		for (int epoch = 0; epoch < turns(5); epoch++) {
			train_epoch();
			validate(6);
		}
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!strcmp(shape, shapes[i].shape)) {
			loop = shapes[i].name;
			owner = shapes[i].owner;
			shapes[i].loop();
		}
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	if (!strcmp(shape, "accumulate"))
		owner_ns = 0; /* it computes while the device works, too */
	printf("loop=%s line=%d steps=%d owner=%s owner_ns=%lld ns=%lld\n", loop, loop_line, steps,
	       owner, (long long)owner_ns, (long long)(now() - begin));
	return 0;
}
