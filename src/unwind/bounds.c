/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include "unwind/unwind.h"

#include "unwind/oldglibc.h"

#include <errno.h>
#include <pthread.h>

/* For the main thread glibc takes the upper end from /proc/self/maps and the lower one from the
 * stack's limit. The lower part need not be mapped: nothing below the stack pointer is read. */
int aif_stack_bounds_here(struct aif_stack_bounds *ret)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *lo = NULL;
	int rc;

	rc = pthread_getattr_np(pthread_self(), &attr);
	if (rc)
		return -rc;
	rc = pthread_attr_getstack(&attr, &lo, &size);
	pthread_attr_destroy(&attr);
	if (rc)
		return -rc;
	if (size == 0)
		return -ENODATA;
	*ret = (struct aif_stack_bounds){.lo = (uint64_t)(uintptr_t)lo,
					 .hi = (uint64_t)(uintptr_t)lo + size};
	return 0;
}
