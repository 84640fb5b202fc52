/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/roof/roof.h"

/* Work of one call of an operator: at least so many bytes are read and written, and multiplications and additions made. */
struct aif_op_work {
	double flops;                 /* 0: it only moves memory */
	double bytes;                 /* 0: not known */
	enum aif_precision precision; /* of its inputs' type; NONE: not known */
	bool is_product;
	bool is_pair; /* of two products that are alike, each of which a kernel computes, if it is asked for */
};

/* Sets *ret by the operator's name (op_work.def), and the texts "[[2, 3], [3, 4]]" and "[\"float\", \"float\"]" of its inputs' shapes
 * and types; types may be "". False: it is not known. */
bool aif_op_work(const char *name, const char *shapes, const char *types, struct aif_op_work *ret);
