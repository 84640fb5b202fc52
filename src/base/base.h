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

/* Compares as qsort() wants it: -1, 0 or 1. By a, then by b, greatest first:
 * `AIF_ORDER(x->a, y->a) ?: AIF_ORDER(y->b, x->b)`. */
#define AIF_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

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

/* Returns the same of [0, end), for who asks for one index after another: looks at `near` first, the one that was returned before, then
 * at steps that double until they have passed it. */
#define AIF_BISECT_NEAR(i, end, near, is_before)                                      \
	({                                                                            \
		size_t near_end_ = (end), near_ = AIF_MIN((size_t)(near), near_end_); \
		size_t near_lo_ = 0, near_hi_ = near_, near_step_ = 1;                \
		bool near_is_behind_ = false;                                         \
                                                                                      \
		if (near_ < near_end_) {                                              \
			size_t i = near_;                                             \
                                                                                      \
			near_is_behind_ = (is_before);                                \
		}                                                                     \
		if (near_is_behind_) {                                                \
			near_lo_ = near_ + 1;                                         \
			for (; near_ + near_step_ < near_end_; near_step_ *= 2) {     \
				size_t i = near_ + near_step_;                        \
                                                                                      \
				if (!(is_before))                                     \
					break;                                        \
				near_lo_ = i + 1;                                     \
			}                                                             \
			near_hi_ = AIF_MIN(near_ + near_step_, near_end_);            \
		} else {                                                              \
			for (; near_step_ <= near_; near_step_ *= 2) {                \
				size_t i = near_ - near_step_;                        \
                                                                                      \
				if (is_before) {                                      \
					near_lo_ = i + 1;                             \
					break;                                        \
				}                                                     \
				near_hi_ = i;                                         \
			}                                                             \
		}                                                                     \
		AIF_BISECT(i, near_lo_, near_hi_, is_before);                         \
	})
