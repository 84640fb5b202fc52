/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>

/*
 * Shortens tests that repeat themselves with other seeds or other damage. With AIFLAME_TEST_QUICK set, as `make check`
 * does, they make an eighth of their rounds.
 */
static inline unsigned stride(void)
{
	return getenv("AIFLAME_TEST_QUICK") ? 8 : 1;
}

static inline unsigned rounds(unsigned n)
{
	return (n + stride() - 1) / stride();
}
