/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Helpers of the OpenCL targets. These targets check what an application sees, so each must pass without the agent and
 * with it. */

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

struct target {
	cl_platform_id platform;
	cl_device_id devices[8];
	cl_uint devices_len;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

/* add_one adds 1 to each element; spin does that `rounds` times, slowly. */
extern const char *const target_source;

/* Platform, devices, context, program, and a queue of the first device without any property. */
void target_open(struct target *t);
cl_kernel target_kernel(struct target *t, const char *name, cl_mem buffer, cl_int rounds);
cl_mem target_buffer(struct target *t, size_t ints);
void target_launch(cl_command_queue queue, cl_kernel kernel, size_t items);
