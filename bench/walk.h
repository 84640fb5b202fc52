/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For benches of stacks: a program of 600 functions of different frame sizes, 4 % with alloca and 2 %
 * with over-aligned locals, called along random paths; and how figures are made of ticks.
 */

#include "base/base.h"
#include "base/clock.h"

#include <alloca.h>
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

#define FUNCTIONS 600

struct walk {
	const uint16_t *path;
	unsigned len;
	void (*launch)(void *arg);
	void *arg;
};

typedef long function(const struct walk *w, unsigned at, long a, long b);
static function *const functions[FUNCTIONS];

/* Keeps what it points to alive. */
static AIF_NOINLINE void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static inline long next(const struct walk *w, unsigned at, long a, long b)
{
	if (at == w->len) {
		w->launch(w->arg);
		return a;
	}
	return functions[w->path[at]](w, at + 1, a, b);
}

/* n runs from 1000 to 1599: digits are pasted, and a leading 0 would make it octal. */
#define PLAIN(n)                                                                         \
	static AIF_NOINLINE long f##n(const struct walk *w, unsigned at, long a, long b) \
	{                                                                                \
		char frame[8 + (n % 11) * (n % 5) * 8];                                  \
		long x = a * (n % 7) + b, y = a ^ b, r;                                  \
                                                                                         \
		memset(frame, (int)a, sizeof(frame));                                    \
		use(frame);                                                              \
		r = next(w, at, a + n, b ^ (n * 7));                                     \
		use(frame);                                                              \
		if (n % 3)                                                               \
			r += x * 3;                                                      \
		if (n % 5)                                                               \
			r += y * 5;                                                      \
		if (__builtin_expect(r == n * 1234567, 0))                               \
			for (int k = 0; k < n % 30; k++)                                 \
				r = r * 31 + k;                                          \
		return r + n;                                                            \
	}
#define ALLOCA(n)                                                                        \
	static AIF_NOINLINE long f##n(const struct walk *w, unsigned at, long a, long b) \
	{                                                                                \
		char *frame = alloca(32 + (size_t)(a & 63));                             \
		long r;                                                                  \
                                                                                         \
		memset(frame, (int)b, 16);                                               \
		use(frame);                                                              \
		r = next(w, at, a + n, b ^ (n * 7));                                     \
		use(frame);                                                              \
		return r + n;                                                            \
	}
#define ALIGNED(n)                                                                       \
	static AIF_NOINLINE long f##n(const struct walk *w, unsigned at, long a, long b) \
	{                                                                                \
		char frame[64] __attribute__((aligned(64)));                             \
		long r;                                                                  \
                                                                                         \
		memset(frame, (int)b, 32);                                               \
		use(frame);                                                              \
		r = next(w, at, a + n, b ^ (n * 7));                                     \
		use(frame);                                                              \
		return r + n;                                                            \
	}
#define NAME(n)    f##n,
#define NINE(M, p) M(p##1) M(p##2) M(p##3) M(p##4) M(p##5) M(p##6) M(p##7) M(p##8) M(p##9)
/* Two passes of the formatter disagree on the next lines. */
/* clang-format off */
#define HUNDRED(M, A, O, h)                                                                \
	A(h##00)                                                                           \
	NINE(M, h##0)                                                                      \
	A(h##10)                                                                           \
	NINE(M, h##1)                                                                      \
	A(h##20)                                                                           \
	NINE(M, h##2)                                                                      \
	A(h##30)                                                                           \
	NINE(M, h##3)                                                                      \
	O(h##40)                                                                           \
	NINE(M, h##4) O(h##50) NINE(M, h##5) M(h##60) NINE(M, h##6) M(h##70) NINE(M, h##7) \
		M(h##80) NINE(M, h##8) M(h##90) NINE(M, h##9)
#define ALL(M, A, O)         \
	HUNDRED(M, A, O, 10) \
	HUNDRED(M, A, O, 11) \
	HUNDRED(M, A, O, 12) HUNDRED(M, A, O, 13) HUNDRED(M, A, O, 14) HUNDRED(M, A, O, 15)
/* clang-format on */

ALL(PLAIN, ALLOCA, ALIGNED)

static function *const functions[FUNCTIONS] = {ALL(NAME, NAME, NAME)};

static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state >> 32) * n >> 32);
}

/* Consecutive paths share their outer part, as consecutive launches do. */
static inline void make_paths(uint16_t *paths, unsigned n, unsigned len)
{
	uint64_t state = 88172645463325252u;

	for (unsigned i = 0; i < n; i++) {
		unsigned shared = i ? len / 2 + random_below(&state, len / 2) : 0;

		for (unsigned k = 0; k < len; k++)
			paths[i * len + k] = k < shared ? paths[(i - 1) * len + k]
							: (uint16_t)random_below(&state, FUNCTIONS);
	}
}

/* Memory that pollute() walks through to take the caches for itself, as a program does between
 * launches. */
struct pollution {
	uint64_t *words;
	unsigned kb;
	uint64_t random;
};

static inline void pollute(struct pollution *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->kb * 16; i++) /* as many reads as there are cache lines */
		sum += p->words[random_below(&p->random, p->kb * 128)];
	use(&sum);
}

/* ---- figures ---- */

static inline int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static inline int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static inline double median_ticks(uint64_t *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare_u64);
	return n ? (double)v[n / 2] : 0;
}

static inline void print_row(const char *name, double *v, unsigned n, const char *unit)
{
	qsort(v, n, sizeof(*v), compare_double);
	printf("%-32s %10.1f %10.1f %10.1f  %s\n", name, v[n / 2], v[n / 10], v[n - 1 - n / 10],
	       unit);
}

static inline double ticks_per_ns(void)
{
	uint64_t from = aif_now_ns(), ticks = __rdtsc();

	while (aif_now_ns() - from < 50 * 1000 * 1000)
		;
	return (double)(__rdtsc() - ticks) / (double)(aif_now_ns() - from);
}
