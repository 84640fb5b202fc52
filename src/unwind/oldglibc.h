/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <features.h>

/*
 * The agent is preloaded into children that may run in older containers, where a symbol newer than
 * GLIBC_2.17 would stop them from starting. These functions exist since 2.2.5, in libdl and
 * libpthread (aarch64: since its first, 2.17); glibc 2.32 and 2.34 gave them a second, newer
 * version when they moved into libc. Bind to the first one. (So the agent must also name libdl.so.2
 * and libpthread.so.0 as needed.) It is force-included (-include) into every file of the agent.
 * pthread_setname_np is not used: it has existed since 2.12, and prctl does it. timer_create() and
 * its like lived in librt then: the agent makes those system calls itself. With 64-bit file offsets
 * fcntl became fcntl64 in 2.28; on 64-bit machines both are the same. fstat() became a symbol of
 * libc in 2.33 only: agent/compat.c has our own.
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
AIF_OLD_SYMBOL(dlopen, dlopen);
AIF_OLD_SYMBOL(dladdr, dladdr);
AIF_OLD_SYMBOL(dlvsym, dlvsym);
AIF_OLD_SYMBOL(fcntl64, fcntl);
AIF_OLD_SYMBOL(pthread_attr_getstacksize, pthread_attr_getstacksize);
AIF_OLD_SYMBOL(pthread_attr_setstacksize, pthread_attr_setstacksize);
AIF_OLD_SYMBOL(pthread_key_create, pthread_key_create);
AIF_OLD_SYMBOL(pthread_setspecific, pthread_setspecific);
AIF_OLD_SYMBOL(pthread_mutex_trylock, pthread_mutex_trylock);
AIF_OLD_SYMBOL(pthread_sigmask, pthread_sigmask);
#endif
