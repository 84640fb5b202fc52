/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/launch_probes.h"

#include <string.h>

#define CUDA "libcuda.so"
#define ZE   "libze_loader.so"

/* With _ptsz: what programs built with a default stream for each thread call. */
const struct aif_launch_probe aif_launch_probes[] = {
	{CUDA, "cuLaunchKernel"},
	{CUDA, "cuLaunchKernel_ptsz"},
	{CUDA, "cuLaunchKernelEx"},
	{CUDA, "cuLaunchKernelEx_ptsz"},
	{CUDA, "cuLaunchCooperativeKernel"},
	{CUDA, "cuLaunchCooperativeKernel_ptsz"},
	{CUDA, "cuGraphLaunch"},
	{CUDA, "cuGraphLaunch_ptsz"},
	{ZE, "zeCommandListAppendLaunchKernel"},
	{ZE, "zeCommandListAppendLaunchCooperativeKernel"},
	{ZE, "zeCommandListAppendLaunchKernelIndirect"},
	{ZE, "zeCommandListAppendLaunchMultipleKernelsIndirect"},
};
const size_t aif_launch_probes_len = AIF_ARRAY_LEN(aif_launch_probes);

bool aif_launch_probes_has(const char *path, size_t i)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(aif_launch_probes[i].library);

	/* "libcuda.so", "libcuda.so.1", "libcuda.so.550.54.14" */
	return !strncmp(name, aif_launch_probes[i].library, len) &&
	       (!name[len] || name[len] == '.');
}

bool aif_launch_probes_path(const char *path)
{
	for (size_t i = 0; i < aif_launch_probes_len; i++)
		if (aif_launch_probes_has(path, i))
			return true;
	return false;
}
