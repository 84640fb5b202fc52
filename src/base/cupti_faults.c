/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cupti_faults.h"

static const struct aif_cupti_fault faults[] = {
#define AIF_CUPTI_FAULT(from, fixed, in, is_of_switching, what) \
	{from, fixed, in, is_of_switching, what},
#include "base/cupti_faults.def"
#undef AIF_CUPTI_FAULT
};

const struct aif_cupti_fault *aif_cupti_fault_next(uint32_t version,
						   const struct aif_cupti_fault *last)
{
	for (size_t i = last ? (size_t)(last - faults) + 1 : 0; i < AIF_ARRAY_LEN(faults); i++)
		if (faults[i].from <= version && version < faults[i].fixed)
			return &faults[i];
	return NULL;
}
