/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <dlfcn.h>
#include <string.h>

/*
 * CUPTI copies the name of the function that a sample is in, and where it knows none it ends the program: it calls
 * strdup(NULL) inside cuptiPCSamplingGetData(). That was met where several processes share a GPU, in 13.0 once in some 200 s
 * of sampling (bench/results/h100-survive.md). So, preloaded, this is everybody's strdup(), which differs in that one case:
 * CUPTI's code without a name has an empty one.
 *
 * CUPTI may hold its lock then, and who is loading a library the loader's, and be about to ask CUPTI. So the loader is not
 * asked here who calls.
 *
 * Called by anybody else it is the C library's, and ends the program where that does.
 */

AIF_PUBLIC char *strdup(const char *s);
/* glibc's own other name of it. musl has none, which loads us into programs in which we do nothing else. */
extern char *__strdup(const char *s) __attribute__((weak));

/* As any C library's. */
static char *copy_text(const char *s)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	size_t n = strlen(s) + 1;
	char *copy = allocate ? allocate(n) : NULL;

	return copy ? memcpy(copy, s, n) : NULL;
}

char *strdup(const char *s)
{
	const char *volatile from = s;

	if (!from && aif_cuda_is_cupti(__builtin_return_address(0)))
		from = "";
	return __strdup ? __strdup(from) : copy_text(from);
}

bool aif_cuda_names_are_safe(void)
{
	Dl_info theirs, ours;
	void *first = dlsym(RTLD_DEFAULT, "strdup");

	return first && dladdr(first, &theirs) && dladdr((void *)aif_cuda_names_are_safe, &ours) &&
	       theirs.dli_fbase == ours.dli_fbase;
}
