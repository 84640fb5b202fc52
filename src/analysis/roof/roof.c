/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roof/roof.h"

#include "base/base.h"

#include <string.h>

const char *aif_precision_name(enum aif_precision p)
{
	static const char *const names[AIF_PRECISIONS] = {
		"", "FP64", "FP64 matrix", "FP32", "TF32", "FP16", "BF16", "FP8", "INT8"};

	return p < AIF_PRECISIONS ? names[p] : "";
}

/* Multiply-adds of a unit a clock, in the order of enum aif_precision. */
struct arch {
	uint32_t arch;
	double per_clock[AIF_PRECISIONS];
};

static const struct arch *arch_of(uint32_t arch)
{
	static const struct arch archs[] = {
#define AIF_ROOF_ARCH(arch, fp64, fp64_matrix, fp32, tf32, fp16, bf16, fp8, int8, source) \
	{arch, {0, fp64, fp64_matrix, fp32, tf32, fp16, bf16, fp8, int8}},
#include "analysis/roof/devices.def"
#undef AIF_ROOF_ARCH
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(archs); i++)
		if (archs[i].arch == arch)
			return &archs[i];
	return NULL;
}

static void compute_peaks(uint32_t arch, double units, double hz, double matrix_hz,
			  struct aif_roof *ret)
{
	const struct arch *a = arch_of(arch);

	for (unsigned i = 0; a && i < AIF_PRECISIONS; i++)
		ret->per_s[i] =
			2 * units * a->per_clock[i] *
			(i == AIF_PRECISION_FP64 || i == AIF_PRECISION_FP32 ? hz : matrix_hz);
}

static bool listed_peaks(const char *name, struct aif_roof *ret)
{
	static const struct {
		const char *name;
		uint32_t arch;
		double units, mhz, matrix_mhz, gb_per_s;
	} devices[] = {
#define AIF_ROOF_DEVICE(name, arch, units, mhz, matrix_mhz, gb_per_s, source) \
	{name, arch, units, mhz, matrix_mhz, gb_per_s},
#include "analysis/roof/devices.def"
#undef AIF_ROOF_DEVICE
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(devices); i++) {
		if (!strstr(name, devices[i].name))
			continue;
		ret->bytes_per_s = devices[i].gb_per_s * 1e9;
		compute_peaks(devices[i].arch, devices[i].units, devices[i].mhz * 1e6,
			      devices[i].matrix_mhz * 1e6, ret);
		return true;
	}
	return false;
}

bool aif_roof_of(const struct aif_profile *p, const struct aif_device *d, struct aif_roof *ret)
{
	*ret = (struct aif_roof){0};
	if (!d->clock_khz || !d->memory_khz || !d->memory_bits)
		return listed_peaks(aif_profile_str(p, d->name), ret);
	ret->bytes_per_s = 2 * 1e3 * d->memory_khz * d->memory_bits / 8;
	compute_peaks(d->arch, d->units, 1e3 * d->clock_khz, 1e3 * d->clock_khz, ret);
	return true;
}

enum aif_precision aif_precision_of_kernel(const char *kernel)
{
	static const struct {
		enum aif_precision precision;
		const char *beginning, *part;
	} rules[] = {
#define AIF_PRECISION_RULE(precision, beginning, part) {AIF_PRECISION_##precision, beginning, part},
#include "analysis/roof/precisions.def"
#undef AIF_PRECISION_RULE
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (!strncmp(kernel, rules[i].beginning, strlen(rules[i].beginning)) &&
		    strstr(kernel + strlen(rules[i].beginning), rules[i].part))
			return rules[i].precision;
	return AIF_PRECISION_NONE;
}

enum aif_precision aif_precision_of_type(const char *type)
{
	static const struct {
		const char *name;
		enum aif_precision precision;
	} types[] = {{"double", AIF_PRECISION_FP64},
		     {"c10::Half", AIF_PRECISION_FP16},
		     {"c10::BFloat16", AIF_PRECISION_BF16},
		     {"c10::Float8_e4m3fn", AIF_PRECISION_FP8},
		     {"c10::Float8_e4m3fnuz", AIF_PRECISION_FP8},
		     {"c10::Float8_e5m2", AIF_PRECISION_FP8},
		     {"signed char", AIF_PRECISION_INT8}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(types); i++)
		if (!strcmp(type, types[i].name))
			return types[i].precision;
	return AIF_PRECISION_NONE;
}
