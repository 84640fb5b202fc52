/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/library.h"

#include "agent/cuda/cuda.h"
#include "base/cupti_places.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 * Two copies of libcupti in one process disturb each other, so the one that is loaded is taken, then the
 * one that the application's Python packages bring and would load later, then the toolkit's.
 */

static void *loaded(void)
{
	void *lib = NULL;

	for (unsigned i = 0; !lib && i < AIF_ARRAY_LEN(aif_cupti_names); i++)
		lib = dlopen(aif_cupti_names[i], RTLD_LAZY | RTLD_NOLOAD);
	return lib;
}

/* From the path of a mapped file ".../site-packages/nvidia/PACKAGE/lib/...". */
static void *beside(const char *path)
{
	const char *at = strstr(path, AIF_CUPTI_PACKAGES);
	char candidate[4096];
	void *lib = NULL;

	for (unsigned i = 0; at && !lib && i < AIF_ARRAY_LEN(aif_cupti_in_packages); i++)
		if (snprintf(candidate, sizeof(candidate), "%.*s" AIF_CUPTI_PACKAGES "%s",
			     (int)(at - path), path,
			     aif_cupti_in_packages[i]) < (int)sizeof(candidate))
			lib = dlopen(candidate, RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

static void *from_packages(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4352];
	void *lib = NULL;

	while (maps && !lib && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (path && strstr(path, AIF_CUPTI_PACKAGES))
			lib = beside(path);
	}
	if (maps)
		fclose(maps);
	return lib;
}

static void *open_cupti(void)
{
	void *lib = loaded();

	if (!lib)
		lib = from_packages();
	for (unsigned i = 0; !lib && i < AIF_ARRAY_LEN(aif_cupti_names); i++)
		lib = dlopen(aif_cupti_names[i], RTLD_LAZY | RTLD_LOCAL);
	for (unsigned i = 0; !lib && i < AIF_ARRAY_LEN(aif_cupti_in_toolkits); i++)
		lib = dlopen(aif_cupti_in_toolkits[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

struct bounds {
	uintptr_t inside, lo, hi;
};

static int find_bounds(struct dl_phdr_info *info, size_t size, void *user)
{
	struct bounds *b = user, of = {.lo = UINTPTR_MAX};
	bool holds = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		of.lo = AIF_MIN(of.lo, lo);
		of.hi = AIF_MAX(of.hi, lo + ph->p_memsz);
		holds |= b->inside - lo < ph->p_memsz;
	}
	if (holds)
		*b = of;
	return holds;
}

void aif_cuda_library_bounds(uintptr_t inside, uintptr_t *ret_lo, uintptr_t *ret_hi)
{
	struct bounds b = {.inside = inside};

	dl_iterate_phdr(find_bounds, &b);
	*ret_lo = b.lo;
	*ret_hi = b.hi;
}

int aif_cuda_library_open(struct aif_cupti *api, void **ret_library, uint32_t *ret_version)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *cupti = open_cupti();
	bool whole = cuda && cupti;

	if (!whole)
		return -ENOENT;
#define X(name, result, parameters) \
	whole &= (api->name = (result(*) parameters)dlsym(cupti, #name)) != NULL;
	AIF_CUPTI_FUNCTIONS(X)
#undef X
	api->can_sample = true;
#define X(name, result, parameters) \
	api->can_sample &= (api->name = (result(*) parameters)dlsym(cupti, #name)) != NULL;
	AIF_CUPTI_SAMPLING_FUNCTIONS(X)
#undef X
	api->can_follow_graphs = true;
#define X(name, result, parameters) \
	api->can_follow_graphs &= (api->name = (result(*) parameters)dlsym(cupti, #name)) != NULL;
	AIF_CUPTI_GRAPH_FUNCTIONS(X)
#undef X
#define X(name, result, parameters) \
	whole &= (api->name = (result(*) parameters)dlsym(cuda, #name)) != NULL;
	AIF_CUDA_FUNCTIONS(X)
#undef X
	api->can_record = true;
#define X(name, result, parameters) \
	api->can_record &= (api->name = (result(*) parameters)dlsym(cuda, #name)) != NULL;
	AIF_CUDA_RECORD_FUNCTIONS(X)
#undef X
	*ret_library = cupti;
	return whole && !api->cuptiGetVersion(ret_version) ? 0 : -ENOENT;
}
