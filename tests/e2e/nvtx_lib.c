/* SPDX-License-Identifier: Apache-2.0 */
/* A library with NVTX tables of its own, which vanish when it is unloaded. */
#include <nvtx3/nvToolsExt.h>

void nvtx_lib_work(void (*launch)(int));
void nvtx_lib_work(void (*launch)(int))
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("library");
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
				   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

	a.message.registered = nvtxDomainRegisterStringA(d, "work");
	nvtxDomainRangePushEx(d, &a);
	launch(2);
	nvtxDomainRangePop(d);
}
