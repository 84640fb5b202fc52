/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* A running program, known by name, that keeps others from sampling the instructions of an NVIDIA GPU: the GPU has one
 * sampling unit, and the driver does not say which process holds it. */
struct aif_gpu_user {
	uint32_t pid;
	const char *name;
	const char *what; /* to do about it */
};

#define AIF_GPU_USERS_MAX 16

/* Finds such programs, except this process: fills in at most `max` (up to AIF_GPU_USERS_MAX), the likeliest first, and
 * returns their number. root: the directory that holds proc/, "" except in tests. */
size_t aif_gpu_users(const char *root, struct aif_gpu_user *ret, size_t max);
