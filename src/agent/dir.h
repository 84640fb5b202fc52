/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The names in a directory, by system calls: opendir() would take the target's malloc.
 *
 *     struct aif_dir dir = {.fd = fd};
 *
 *     while ((name = aif_dir_next(&dir)) != NULL)
 */
struct aif_dir {
	int fd; /* stays the caller's */
	long len, at;
	uint64_t buffer[512];
};

/* Valid until the next call. NULL: there are no more. */
const char *aif_dir_next(struct aif_dir *d);
