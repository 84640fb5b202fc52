/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <features.h>

/*
 * The agent is preloaded into children that may run in older containers, where a symbol newer than
 * GLIBC_2.17 would stop them from starting. These functions exist since 2.2.5, in libdl and
 * libpthread; glibc 2.32 and 2.34 gave them a second, newer version when they moved into libc. Bind
 * to the first one. (So the agent must also name libdl.so.2 and libpthread.so.0 as needed.)
 */
#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_getattr_np, pthread_getattr_np@GLIBC_2.2.5");
__asm__(".symver pthread_attr_getstack, pthread_attr_getstack@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
#endif
