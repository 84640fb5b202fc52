/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Many tests at once. Both functions replace each p by its adjusted value, which is compared with the level as if it were
 * the only one. 0 or -ENOMEM with p unchanged.
 */

/* S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian J. of Statistics 6, 1979: the
 * probability that any rejection is wrong stays below the level. */
int aif_holm_adjust(double *p, size_t n);
/* Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, J. of the Royal Statistical Society B 57, 1995:
 * the part of the rejections that is wrong stays below the level on average. */
int aif_benjamini_hochberg_adjust(double *p, size_t n);
