/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/oldglibc.h"

/*
 * Force-included (-include) into every file of the agent: see unwind/oldglibc.h for why. These
 * functions have existed since 2.2.5 (2.12: pthread_setname_np is not used, prctl does it); the newer
 * versions that a linker would choose today came when glibc 2.32 to 2.34 merged its libraries.
 * timer_create() and its like lived in librt then: the agent makes those system calls itself.
 * With 64-bit file offsets fcntl became fcntl64 in 2.28; on 64-bit machines both are the same.
 * fstat() became a symbol of libc in 2.33 only: compat.c has our own.
 */
#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dladdr, dladdr@GLIBC_2.2.5");
__asm__(".symver fcntl64, fcntl@GLIBC_2.2.5");
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstacksize, pthread_attr_setstacksize@GLIBC_2.2.5");
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
#endif
