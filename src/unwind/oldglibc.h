/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <features.h>

/*
 * The agent is preloaded into children that may run in older containers, where a symbol newer than
 * GLIBC_2.17 would stop them from starting. These functions exist since 2.2.5, in libdl and
 * libpthread (aarch64: since its first, 2.17); glibc 2.32 and 2.34 gave them a second, newer version when they moved into libc. Bind
 * to the first one. (So the agent must also name libdl.so.2 and libpthread.so.0 as needed.)
 */
#if defined(__x86_64__)
#define AIF_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define AIF_FIRST_GLIBC "GLIBC_2.17"
#endif

#if defined(__GLIBC__) && !defined(__ASSEMBLER__)
#define AIF_OLD_SYMBOL(name, first) __asm__(".symver " #name ", " #first "@" AIF_FIRST_GLIBC)
AIF_OLD_SYMBOL(dlsym, dlsym);
AIF_OLD_SYMBOL(pthread_getattr_np, pthread_getattr_np);
AIF_OLD_SYMBOL(pthread_attr_getstack, pthread_attr_getstack);
AIF_OLD_SYMBOL(dlerror, dlerror);
#endif
