/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The words that every other file uses. No dependencies but the C library. */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define AIF_VERSION "0.1.0"

#define aif_likely(x)   __builtin_expect(!!(x), 1)
#define aif_unlikely(x) __builtin_expect(!!(x), 0)

#define AIF_ARRAY_LEN(a)          (sizeof(a) / sizeof((a)[0]))
#define AIF_MIN(a, b)             ((a) < (b) ? (a) : (b))
#define AIF_MAX(a, b)             ((a) > (b) ? (a) : (b))
#define AIF_CLAMP(a, low, high)   AIF_MIN(AIF_MAX(a, low), high)
#define AIF_ALIGN_UP(x, pow2)     (((x) + ((pow2)-1)) & ~((__typeof__(x))(pow2)-1))
#define AIF_PRINTF(fmt, args)     __attribute__((format(printf, fmt, args)))
#define AIF_NOINLINE              __attribute__((noinline))
#define AIF_PUBLIC                __attribute__((visibility("default")))
#define AIF_NS_PER_S              UINT64_C(1000000000)
#define AIF_IS_BIG                (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) /* this machine's byte order */
#define aif_container_of(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))

/* Returns the first index i of [from, end) of which `is_before`, an expression with i, is false; `end`: it is true of all. It is
 * true of all before and false of all behind. */
#define AIF_BISECT(i, from, end, is_before)                                            \
	({                                                                             \
		__typeof__((from) + (end)) bisect_from_ = (from), bisect_end_ = (end); \
                                                                                       \
		while (bisect_from_ < bisect_end_) {                                   \
			__typeof__(bisect_from_) i =                                   \
				bisect_from_ + (bisect_end_ - bisect_from_) / 2;       \
                                                                                       \
			if (is_before)                                                 \
				bisect_from_ = i + 1;                                  \
			else                                                           \
				bisect_end_ = i;                                       \
		}                                                                      \
		bisect_from_;                                                          \
	})
