/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Declarations of NVML (NVIDIA Management Library), as far as aiflame uses it: nothing of CUDA is needed to build. Layouts
 * and numbers are those of nvml.h of driver 580 (CUDA 13.0); each was there unchanged in R535, but for what calls.def
 * marks as newer. Tried on an H200 with driver 580.159.04. Every function returns an enum aif_nvml_result.
 */
enum aif_nvml_result {
	AIF_NVML_OK = 0,
	AIF_NVML_NOT_SUPPORTED = 3,
	AIF_NVML_NO_PERMISSION = 4,
	AIF_NVML_NOT_FOUND = 6,
};

enum { AIF_NVML_CLOCK_SM = 1, AIF_NVML_CLOCK_MEMORY = 2 };
enum { AIF_NVML_TEMPERATURE_GPU = 0 };
enum { AIF_NVML_MIG_ON = 1 };

struct aif_nvml_memory { /* bytes */
	unsigned long long total, free, used;
};
struct aif_nvml_use { /* percent of the driver's last sampling period, 1/6 s to 1 s */
	unsigned gpu, memory;
};

/* GPM (GPU performance monitoring), Hopper and later. A metric is computed from two samples. */
struct aif_gpm_support {
	unsigned version /* 1 */, is_supported;
};
struct aif_gpm_metric {
	unsigned id;
	int result;   /* enum aif_nvml_result */
	double value; /* NaN where there was nothing to divide by */
	const char *short_name, *long_name, *unit;
};
/* The driver's structure has room for 210 metrics (R550) to 333 (2026) under one version. */
#define AIF_GPM_METRICS 400
struct aif_gpm_get {
	unsigned version /* 1 */, len;
	void *from, *to; /* samples */
	struct aif_gpm_metric metrics[AIF_GPM_METRICS];
};
