/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "walk.h"

/* Walks all paths; the ticks of each launch. Returns the depth of the last stack. */
unsigned bench_frame_pointers(const uint16_t *paths, unsigned n, unsigned len,
			      struct pollution *pollution, uint64_t lo, uint64_t hi,
			      uint64_t *ticks);
