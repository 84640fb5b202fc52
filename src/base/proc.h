/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* The text of a small file of /proc, as much of it as there is room for, with a terminator. Its
 * length or -errno; then the text is "". No memory is taken, and nothing but system calls is
 * used. */
ssize_t aif_proc_read(const char *path, char *text, size_t size);

/* Returns NULL, or that /proc is not mounted, and what to do: "WHY; DO THIS". */
const char *aif_proc_why_none(void);

/* The n-th field of a text of /proc/PID/stat, as proc(5) counts them, from the third on; its
 * length ends with a space or the text. NULL: there is none. The name before them may hold
 * anything. */
const char *aif_proc_stat_field(const char *text, int n);

/* Seccomp filters that a text of /proc/PID/status names: how many, and the mode (2: there are some, 1: nothing but read(),
 * write() and exit()). Before Linux 5.9 the number is not there: then it is 0. */
struct aif_proc_filters {
	uint32_t mode, len;
};
struct aif_proc_filters aif_proc_filters(const char *status);

/* Times of all CPUs together since the machine has started, as the first line of a text of /proc/stat has them: in all, and what a
 * hypervisor gave to other machines while this one had work. Both in ticks; 0: the text says nothing. */
struct aif_proc_cpus {
	uint64_t all, stolen;
};
struct aif_proc_cpus aif_proc_cpus(const char *stat);

/* Is this process the machine's administrator, as drivers ask for it (the kernel's capable())?
 * Root of a user namespace is not. */
bool aif_proc_is_admin(void);
