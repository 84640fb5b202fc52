/* SPDX-License-Identifier: Apache-2.0 */
#include "record/nvml/library.h"

#include <dlfcn.h>

/* A pointer to data becomes one to a function, which C does not convert. */
static void find(void *lib, const char *symbol, void *ret, size_t size)
{
	void *at = dlsym(lib, symbol);

	static_assert(sizeof(at) == sizeof(void (*)(void)), "dlsym");
	__builtin_memcpy(ret, &at, size);
}

const char *aif_nvml_load(struct aif_nvml *ret)
{
	*ret = (struct aif_nvml){.lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
	if (!ret->lib)
		return "libnvidia-ml.so.1 was not found";
#define AIF_NVML_CALL(field, symbol, parameters) \
	find(ret->lib, symbol, &ret->field, sizeof(ret->field));
#include "record/nvml/calls.def"
	if (ret->init && (ret->by_pci || ret->by_index))
		return NULL;
	aif_nvml_unload(ret);
	return "libnvidia-ml.so.1 lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
}

void aif_nvml_unload(struct aif_nvml *n)
{
	if (n->lib)
		dlclose(n->lib);
	*n = (struct aif_nvml){0};
}

const char *aif_nvml_result_text(int result)
{
	static const struct {
		int result;
		const char *text;
	} texts[] = {{0, "success"},
		     {1, "not initialized"},
		     {2, "invalid argument"},
		     {AIF_NVML_NOT_SUPPORTED, "not supported"},
		     {AIF_NVML_NO_PERMISSION, "no permission"},
		     {AIF_NVML_NOT_FOUND, "not found"},
		     {9, "the driver is not loaded"},
		     {10, "timeout"},
		     {12, "the library was not found"},
		     {13, "the driver lacks this function"},
		     {15, "the GPU is lost"},
		     {16, "the GPU needs a reset"},
		     {17, "the operating system refuses"},
		     {18, "driver and library are of different versions"},
		     {19, "the GPU is in use"},
		     {999, "unknown error"}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(texts); i++)
		if (texts[i].result == result)
			return texts[i].text;
	return "an error";
}
