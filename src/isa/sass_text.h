/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The output of NVIDIA's nvdisasm for one function's raw bytes, line by line: "/" "*0010*" "/
 * @!P0 LDG.E R0, [R2] ;". probe/iga.h prints the same form. */

struct aif_sass_line {
	const char *text; /* "@!P0 LDG.E R0, [R2]", not terminated; NULL: nothing is known */
	size_t len;
};

/* The instruction at byte unit * i of the function into ret[i]; points into the text, which may
 * be anything. Returns how many of the n were found. */
size_t aif_sass_listing(const char *text, size_t len, unsigned unit, struct aif_sass_line *ret,
			size_t n);
