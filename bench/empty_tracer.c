/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer of Level Zero's whose callbacks do nothing: what tracing a launch costs at all (bench/level_zero.sh). */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include <dlfcn.h>

static void nothing(ze_command_list_append_launch_kernel_params_t *p, ze_result_t result,
		    void *user, void **instance)
{
	(void)p, (void)result, (void)user, (void)instance;
}

ze_result_t zeInit(ze_init_flags_t flags)
{
	ze_result_t (*real)(ze_init_flags_t) = (__typeof__(real))dlsym(RTLD_NEXT, "zeInit");
	ze_result_t r = real(flags);
	static int user;
	const zel_tracer_desc_t desc = {.stype = ZEL_STRUCTURE_TYPE_TRACER_DESC,
					.pUserData = &user};
	zel_tracer_handle_t t;

	if (r || zelTracerCreate(&desc, &t))
		return r;
	zelTracerCommandListAppendLaunchKernelRegisterCallback(t, ZEL_REGISTER_PROLOGUE, nothing);
	zelTracerCommandListAppendLaunchKernelRegisterCallback(t, ZEL_REGISTER_EPILOGUE, nothing);
	zelTracerSetEnabled(t, 1);
	return r;
}
