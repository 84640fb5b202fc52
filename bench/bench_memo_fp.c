/* SPDX-License-Identifier: Apache-2.0 */
/* The same program with frame pointers, walked by them: no unwinder can be faster that goes from frame
 * to frame. */
#include "bench_memo_fp.h"

#define MAX_FRAMES 128

struct launch {
	struct pollution *pollution;
	uint64_t lo, hi, *ticks;
	unsigned n, depth;
};

static AIF_NOINLINE unsigned by_frame_pointers(const struct launch *l, uint64_t *pcs)
{
	const uint64_t *fp = __builtin_frame_address(0);
	unsigned depth = 0;

	while ((uint64_t)(uintptr_t)fp >= l->lo && (uint64_t)(uintptr_t)fp < l->hi - 16 &&
	       depth < MAX_FRAMES) {
		pcs[depth++] = fp[1];
		if (fp[0] <= (uint64_t)(uintptr_t)fp)
			break;
		fp = (const uint64_t *)(uintptr_t)fp[0];
	}
	return depth;
}

static AIF_NOINLINE void launch(void *arg)
{
	struct launch *l = arg;
	uint64_t pcs[MAX_FRAMES], from;
	unsigned aux;

	pollute(l->pollution);
	from = __rdtscp(&aux);
	l->depth = by_frame_pointers(l, pcs);
	l->ticks[l->n++] = __rdtscp(&aux) - from;
	use(pcs);
}

unsigned bench_frame_pointers(const uint16_t *paths, unsigned n, unsigned len,
			      struct pollution *pollution, uint64_t lo, uint64_t hi,
			      uint64_t *ticks)
{
	struct launch l = {.pollution = pollution, .lo = lo, .hi = hi, .ticks = ticks};
	struct walk w = {.len = len, .launch = launch, .arg = &l};

	for (unsigned i = 0; i < n; i++) {
		w.path = paths + (size_t)i * len;
		next(&w, 0, i, 3);
	}
	return l.depth;
}
