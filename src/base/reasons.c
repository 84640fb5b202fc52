/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reasons.h"

enum { LOSS = 1, DEGRADED = 0 };

static const struct aif_reason_info reasons[] = {
#define AIF_REASON(number, name, class, sentence, fix) {number, #name, sentence, fix, class},
#include "base/reasons.def"
#undef AIF_REASON
};

const struct aif_reason_info *aif_reason_info(int number)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons); i++)
		if (reasons[i].number == number)
			return &reasons[i];
	return NULL;
}
