/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/oldglibc.h"

/*
 * Force-included (-include) into every file of the agent: see unwind/oldglibc.h for why. These
 * functions have existed since 2.2.5, on aarch64 since 2.17 (2.12: pthread_setname_np is not used, prctl
 * does it); the newer versions that a linker would choose today came when glibc 2.32 to 2.34 merged its
 * libraries.
 * timer_create() and its like lived in librt then: the agent makes those system calls itself.
 * With 64-bit file offsets fcntl became fcntl64 in 2.28; on 64-bit machines both are the same.
 * fstat() became a symbol of libc in 2.33 only: compat.c has our own.
 */
#if defined(__GLIBC__) && !defined(__ASSEMBLER__)
AIF_OLD_SYMBOL(dlopen, dlopen);
AIF_OLD_SYMBOL(dladdr, dladdr);
AIF_OLD_SYMBOL(dlvsym, dlvsym);
AIF_OLD_SYMBOL(fcntl64, fcntl);
AIF_OLD_SYMBOL(pthread_create, pthread_create);
AIF_OLD_SYMBOL(pthread_attr_setstacksize, pthread_attr_setstacksize);
AIF_OLD_SYMBOL(pthread_key_create, pthread_key_create);
AIF_OLD_SYMBOL(pthread_setspecific, pthread_setspecific);
AIF_OLD_SYMBOL(pthread_mutex_trylock, pthread_mutex_trylock);
AIF_OLD_SYMBOL(pthread_sigmask, pthread_sigmask);
#endif
