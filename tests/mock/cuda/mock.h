/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cupti_abi.h"

#include <stdatomic.h>

/*
 * A mock of NVIDIA's two libraries, for what real hardware does not show on demand: faults, refusals, and
 * orders of calls. It says nothing about what NVIDIA's own do: what it imitates was measured with them
 * (src/agent/cuda/ says where). Nothing is computed; a "device" is a time until which a stream is busy.
 *
 *     cuda.c             libcuda.so.1: contexts, modules, launches; opens CUDA_INJECTION64_PATH
 *     cupti.c            libcupti.so.13: seat, callbacks, correlation ids
 *     cupti_activity.c   records, and the buffers that they come in
 *     cupti_sampling.c   instruction samples
 *     app.c              a program that launches
 *
 * MOCK_CUPTI="WORD[=N],..." chooses the behaviour:
 *
 *     callback=NS, record=NS   what a callback, a record costs the launching thread
 *     call=NS                  how long a call stays in the driver, asleep
 *     version=N                what cuptiGetVersion says; before 22, records of a pc have 56 bytes
 *     apart                    nothing is sampled beside kernel records, as before version 26
 *     full                     sampling's buffer is full until the period is longer
 *     held                     sampling never has data: CUPTI_ERROR_UNKNOWN
 *     denied, taken            sampling cannot be enabled: no privilege; the hardware is busy
 *     hoard=N                  all buffers are asked for and kept until N records had none
 *     strange                  between records lie some of a kind that nobody knows
 *     timeless=N               each Nth record has no times
 *     foreign=N                each Nth record has a number that no launch had
 *     nameless                 some samples are in code without a function: CUPTI copies their name, which is NULL
 *     loading                  a library is being loaded when the first such name is copied
 *     spin                     who waits for a device looks again and again
 *     quit                     the first thread that waits for a device ends meanwhile
 *     crowded, unwilling       cuptiSubscribe finds another; gives CUPTI_ERROR_UNKNOWN
 *     work=MS                  a thread of libcupti's uses so much CPU time, from the first sampling on
 *     fresh                    CUPTI must not be flushed for 0.2 s after code was loaded
 *
 * MOCK_LOG=FILE: each switching, in order, "NS THREAD WHAT name=value...". A line with BAD is a call that must
 * not be made.
 */

struct mock_sum;
struct mock_context {
	uint32_t id, device;
	_Atomic bool gone;
};

struct mock_module {
	uint32_t id;
	size_t size;
	uint8_t *cubin;
};

struct mock_function {
	const char *name;
	struct mock_module *module;
	uint32_t number; /* in .symtab */
};

/* A call of the driver that makes the device work. */
struct mock_call {
	uint32_t id; /* of its callback */
	const char *name;
	const void *parameters;
	enum aif_cupti_activity_kind kind;
	const struct mock_function *function;
	struct mock_context *context;
	uint32_t stream;
	uint64_t bytes;
	const struct mock_sum *sum; /* NULL: none */
	int32_t result;
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
	/* CUPTI's. */
	uint32_t correlation;
	uint64_t data;
};

/* libcupti's ears in libcuda. */
struct mock_hooks {
	void (*enter)(struct mock_call *call);
	void (*executed)(struct mock_call *call); /* or will be */
	void (*leave)(struct mock_call *call);
	void (*waits)(struct mock_call *call, bool over); /* for the device */
	void (*resource)(uint32_t event, struct mock_context *context, const void *descriptor);
	void (*over)(void); /* the driver ends */
};
void mock_cuda_hook(const struct mock_hooks *hooks);

/* Returns the number of an option in MOCK_CUPTI: 0 = not named, 1 = without a number. */
long mock_option(const char *word);
void mock_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t mock_now(void);
/* Keeps the CPU busy for `ns`, as work does. */
void mock_spend(uint64_t ns);

/* Returns the sum over devices of the time, ns, from the begin of a device's first to the end of its last work. */
uint64_t mock_device_spans(void);

/* Called by libmock_loading.so, while it is loaded. */
void mock_loading(void);

/* Duration of a kernel: for each block of its grid, and in any case. */
#define MOCK_BLOCK_NS  100
#define MOCK_KERNEL_NS 5000
/* A copy takes as long as a kernel without blocks, and a ns for so many bytes. */
#define MOCK_COPY_BYTES 10
#define MOCK_UNITS      4       /* multiprocessors */
#define MOCK_KHZ        1000000 /* cycles are ns */
#define MOCK_STREAMS    64
#define MOCK_DEVICES    2

/* The callbacks of its two calls that make the device work. */
#define MOCK_LAUNCH 307 /* cuLaunchKernel */
#define MOCK_COPY   277 /* cuMemcpyHtoDAsync_v2 */
/* Callback of the call that waits for the device. */
#define MOCK_WAIT 17 /* cuCtxSynchronize */

/*
 * Kernels that two ranks launch in the same order, and of which each runs until the other's was launched, as those of
 * NCCL do: cuLaunchKernel with `extra` of a struct mock_sum. MOCK_SUMS=FILE: the ranks are processes, which share it;
 * else they are two devices of one.
 */
struct mock_sum {
	unsigned rank; /* 0 or 1 */
};
/* This rank launches no more of them. */
void mock_sum_over(unsigned rank);
/* Does anything here wait for the other rank? */
bool mock_sums_wait(void);

/* libcuda, as the program calls it. Not 0: error. */
int cuInit(unsigned flags);
int cuCtxCreate_v2(void **ret, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuModuleLoad(void **ret, const char *path);
int cuModuleGetFunction(void **ret, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);

#define X(name, result, parameters) result name parameters;
AIF_CUDA_FUNCTIONS(X)
AIF_CUDA_RECORD_FUNCTIONS(X)
#undef X

/* The lock that each launch has while it tells libcupti of its execution. */
void mock_cuda_lock(void);
void mock_cuda_unlock(void);
/* Until when the device has something to do. */
uint64_t mock_cuda_busy(void);
