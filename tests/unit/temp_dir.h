/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <unistd.h>

/*
 * Names the directory in which unit tests make their files: in memory where the system has such a place. Reading a
 * profile writes its cache and flushes it; on a disk, tests that read hundreds of profiles spend most of their time in
 * those flushes.
 */
static inline const char *temp_dir(void)
{
	return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}
