/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cupti_faults.h"

void aif_cupti_version_text(uint32_t version, struct aif_buf *out)
{
	if (version < 10000) {
		aif_buf_printf(out, "API version %u", version);
		return;
	}
	aif_buf_printf(out, "%u.%u", version / 10000, version % 10000 / 100);
	if (version % 100)
		aif_buf_printf(out, " Update %u", version % 100);
}

bool aif_cupti_faults_text(uint32_t version, struct aif_buf *out)
{
	const struct aif_cupti_fault *fault = NULL, *last = NULL;

	while ((fault = aif_cupti_fault_next(version, fault)) != NULL) {
		aif_buf_printf(out, "%s%s", last ? ", " : "", fault->what);
		if (!last || fault->fixed > last->fixed)
			last = fault;
	}
	if (last)
		aif_buf_printf(out, ", fixed in CUPTI %s", last->fixed_in);
	return last;
}
