/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/*
 * CUPTI copies the name of the function that a sample is in, and where it knows none it ends the program: it calls
 * strdup(NULL) inside cuptiPCSamplingGetData(). That was met where several processes share a GPU, in 13.0 once in some 200 s
 * of sampling (bench/results/h100-survive.md). So, preloaded, this is everybody's strdup(), which differs in that one case:
 * CUPTI's code without a name has an empty one.
 *
 * Called by anybody else it is the C library's, and ends the program where that does.
 */

AIF_PUBLIC char *strdup(const char *s);
char *strdup(const char *s)
{
	const char *volatile from = s;
	char *copy;
	size_t n;

	if (!from && aif_cuda_is_cupti(__builtin_return_address(0)))
		from = "";
	n = strlen(from) + 1;
	copy = malloc(n);
	return copy ? memcpy(copy, from, n) : NULL;
}

bool aif_cuda_names_are_safe(void)
{
	Dl_info theirs, ours;
	void *first = dlsym(RTLD_DEFAULT, "strdup");

	return first && dladdr(first, &theirs) && dladdr((void *)aif_cuda_names_are_safe, &ours) &&
	       theirs.dli_fbase == ours.dli_fbase;
}
