/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/op_tree.h"
#include "analysis/roof/roof.h"

/*
 * Opportunity: time that better use of the device would save, kernel by kernel:
 *
 *   work         operations and bytes of executions: of matrix products, gradients of convolutions and elementwise operators by
 *                the shapes of their operator's inputs (op_work.h; torch.profiler's record_shapes), of copies within a device and
 *                fills by their bytes. An operator's work is shared among its executions by their time; if it is a product, among
 *                those that compute one by their name. Bytes are the least: each input read once, the output written once
 *   least        the time that the work takes at the device's peaks (roof.h): the longer one of operations / peak of the kernel's
 *                precision and bytes / peak of the memory
 *   utilisation  least / time, of executions whose work is known, if these are at least half of the kernel's time
 *   opportunity  time * (1 - utilisation)
 *
 * Precision is that of the kernel's name, else of the inputs' type; products of "float" whose kernel does not say are FP32, or
 * TF32 where they are faster than FP32 can be.
 */
struct aif_opportunity_kernel {
	double time_ns, known_ns,
		roof_ns; /* of all executions; of those whose work is known; and the device's peaks, too */
	double flops, bytes, least_ns;
	double memory_ns;             /* of .roof_ns: the memory's peak is what bounds it */
	enum aif_precision precision; /* of its products; NONE: it has none, or not known */
	bool is_known;                /* the work is */
	bool has_roof;                /* and the utilisation */
};
struct aif_opportunity {
	struct aif_opportunity_kernel *kernels;
	size_t len, cap;
	struct aif_map of; /* kind << 32 | the kernel's name -> its place in .kernels */
	/* Time of products that matrix units could compute, but are in FP32 outside of these; on this device. */
	double fp32_ns;
	struct aif_roof fp32_roof;
	uint32_t fp32_device; /* its name */
	uint32_t
		without_roof; /* name of a device with known work whose peaks are not known; AIF_NONE: there is none */
	double time_ns, known_ns, roof_ns;
	/* Operations of products whose precision has a listed peak, and that peak, operations/s; devices whose peaks differ have
	 * none. */
	double flops_of[AIF_PRECISIONS], peak_of[AIF_PRECISIONS];
	bool do_peaks_differ;
	uint64_t damaged;
};

/* Use of a time by products (MFU, model FLOPs utilisation): their operations, of what the device can do in all of that time in
 * the precision that has the most of them. Kernels whose work is not known add nothing: it is the least that it can be. */
struct aif_opportunity_mfu {
	double share, per_s, peak_per_s;
	enum aif_precision precision;
	double known; /* part of the time of kernels and copies whose work is known */
};
/* False: no product's work and peak are known. device_ns: the time of all devices together. */
bool aif_opportunity_mfu(const struct aif_opportunity *o, double device_ns,
			 struct aif_opportunity_mfu *ret);

/* Measures the executions of `t`, each with the ns that ns(arg, x) says (NULL: its own). *ret is finished by the caller, also after
 * a failure. 0 or -errno. */
int aif_opportunity_make(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_exec_timeline *t,
			 uint64_t (*ns)(const void *arg, const struct aif_timeline_exec *x),
			 const void *arg, struct aif_opportunity *ret);
void aif_opportunity_finish(struct aif_opportunity *o);
/* Returns what is known of a kernel or transfer, or NULL. */
const struct aif_opportunity_kernel *aif_opportunity_of(const struct aif_opportunity *o,
							const struct aif_profile *p, uint32_t kind,
							uint32_t kernel);
/* Returns the utilisation, 0 to 1, of a kernel that .has_roof. */
static inline double aif_opportunity_used(const struct aif_opportunity_kernel *k)
{
	return k->least_ns < k->roof_ns ? k->least_ns / k->roof_ns : 1;
}
/* Returns what bounds a kernel that .has_roof: "BF16", "memory". */
const char *aif_opportunity_bound(const struct aif_opportunity_kernel *k);
/* Appends a sentence on precision that is not used, if it has a part of the time; else nothing. */
void aif_opportunity_say_precision(const struct aif_opportunity *o, const struct aif_profile *p,
				   struct aif_buf *out);
