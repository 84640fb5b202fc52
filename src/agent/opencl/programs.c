/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

#include <string.h>

/*
 * Programs and kernels as they are made. What they are called, their source and options are asked of
 * the driver when first needed, so that what was made before anybody recorded is known as well; here we
 * only learn that an address has a new meaning. The exception is --device-lines: then the driver's
 * compiler gets -g, and the application reads back its own options.
 */

#define OPTION_LINES " -g"

static void *created(void *program)
{
	if (program)
		aif_cl_program_new(program);
	return program;
}

static void *with_source(void *context, uint32_t n, const char **strings, const size_t *lengths,
			 int32_t *ret_error)
{
	return created(TARGET->clCreateProgramWithSource(context, n, strings, lengths, ret_error));
}

static void *with_binary(void *context, uint32_t n, void *const *devices, const size_t *lengths,
			 const uint8_t **binaries, int32_t *status, int32_t *ret_error)
{
	return created(CALL_TIMED(void *, clCreateProgramWithBinary, context, n, devices, lengths,
				  binaries, status, ret_error));
}

static void *with_built_in(void *context, uint32_t n, void *const *devices, const char *names,
			   int32_t *ret_error)
{
	return created(
		TARGET->clCreateProgramWithBuiltInKernels(context, n, devices, names, ret_error));
}

static void *with_il(void *context, const void *il, size_t length, int32_t *ret_error)
{
	return created(TARGET->clCreateProgramWithIL(context, il, length, ret_error));
}

static void *link_program(void *context, uint32_t n, void *const *devices, const char *options,
			  uint32_t inputs, void *const *input, aif_cl_program_notify *notify,
			  void *data, int32_t *ret_error)
{
	return created(CALL_TIMED(void *, clLinkProgram, context, n, devices, options, inputs,
				  input, notify, data, ret_error));
}

/* The options to give the driver: `options` itself, or a longer text in `buffer`. */
static const char *with_lines(void *program, const char *options, char *buffer, size_t size)
{
	struct aif_cl_program *p;
	const char *own = options ? options : "";
	size_t len = strlen(own);

	if (!aif_session_wanted() || !(aif_agent.session.options & AIF_OPTION_DEVICE_LINES) ||
	    len + sizeof(OPTION_LINES) > size)
		return options;
	p = aif_cl_program_get(program);
	if (!p)
		return options;
	pthread_mutex_lock(&CL->lock);
	p->app_options = aif_arena_strdup(&CL->arena, own);
	pthread_mutex_unlock(&CL->lock);
	if (!p->app_options)
		return options;
	memcpy(buffer, own, len);
	memcpy(buffer + len, OPTION_LINES, sizeof(OPTION_LINES));
	return buffer;
}

static int32_t build_program(void *program, uint32_t n, void *const *devices, const char *options,
			     aif_cl_program_notify *notify, void *data)
{
	char buffer[8192];

	options = with_lines(program, options, buffer, sizeof(buffer));
	return CALL_TIMED(int32_t, clBuildProgram, program, n, devices, options, notify, data);
}

static int32_t compile_program(void *program, uint32_t n, void *const *devices, const char *options,
			       uint32_t headers, void *const *header, const char **header_names,
			       aif_cl_program_notify *notify, void *data)
{
	char buffer[8192];

	options = with_lines(program, options, buffer, sizeof(buffer));
	return CALL_TIMED(int32_t, clCompileProgram, program, n, devices, options, headers, header,
			  header_names, notify, data);
}

static int32_t get_build_info(void *program, void *device, uint32_t name, size_t size, void *value,
			      size_t *ret_size)
{
	const struct aif_cl_program *p = aif_handles_get(&CL->programs, program);
	size_t len;
	int32_t r;

	if (name != AIF_CL_PROGRAM_BUILD_OPTIONS || !p || !p->app_options)
		return TARGET->clGetProgramBuildInfo(program, device, name, size, value, ret_size);
	/* The driver judges program and device. */
	r = TARGET->clGetProgramBuildInfo(program, device, name, 0, NULL, NULL);
	if (r < 0)
		return r;
	len = strlen(p->app_options) + 1;
	if (value && size < len)
		return AIF_CL_INVALID_VALUE;
	if (value)
		memcpy(value, p->app_options, len);
	if (ret_size)
		*ret_size = len;
	return r;
}

static void *create_kernel(void *program, const char *name, int32_t *ret_error)
{
	void *kernel = CALL_TIMED(void *, clCreateKernel, program, name, ret_error);

	if (kernel)
		aif_cl_kernel_new(kernel, program, name);
	return kernel;
}

static int32_t create_kernels(void *program, uint32_t n, void **kernels, uint32_t *ret_n)
{
	int32_t r = TARGET->clCreateKernelsInProgram(program, n, kernels, ret_n);
	uint32_t made = 0;

	/* The number of kernels is asked for apart: the application may pass no ret_n. */
	if (r == AIF_CL_SUCCESS && kernels &&
	    TARGET->clCreateKernelsInProgram(program, 0, NULL, &made) == AIF_CL_SUCCESS)
		for (uint32_t i = 0; i < AIF_MIN(made, n); i++)
			aif_cl_kernel_forget(kernels[i]);
	return r;
}

static void *clone_kernel(void *kernel, int32_t *ret_error)
{
	void *clone = TARGET->clCloneKernel(kernel, ret_error);

	if (clone)
		aif_cl_kernel_forget(clone);
	return clone;
}

void aif_cl_programs_install(struct aif_cl_dispatch *layer)
{
	layer->clCreateProgramWithSource = with_source;
	layer->clCreateProgramWithBinary = with_binary;
	layer->clCreateProgramWithBuiltInKernels = with_built_in;
	layer->clCreateProgramWithIL = with_il;
	layer->clLinkProgram = link_program;
	layer->clBuildProgram = build_program;
	layer->clCompileProgram = compile_program;
	layer->clGetProgramBuildInfo = get_build_info;
	layer->clCreateKernel = create_kernel;
	layer->clCreateKernelsInProgram = create_kernels;
	layer->clCloneKernel = clone_kernel;
}
