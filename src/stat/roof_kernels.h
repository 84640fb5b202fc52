/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The loops whose speed is a roof, for one instruction set. Buffers are aligned to 64 bytes, lengths multiples of 1 KiB. */
struct aif_roof_kernels {
	const char *isa;
	double flops; /* of a turn of fma_sp; fma_dp does half as many */
	float (*fma_sp)(uint64_t turns);
	double (*fma_dp)(uint64_t turns);
	float (*read)(const float *from, size_t bytes);
	void (*triad)(double *a, const double *b, const double *c, size_t bytes); /* of each */
};

/* Returns those for the widest vectors of this CPU. */
const struct aif_roof_kernels *aif_roof_kernels(void);
