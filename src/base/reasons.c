/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reasons.h"

#include <string.h>

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

void aif_reason_say(const struct aif_reason_info *info, uint64_t count, struct aif_buf *out)
{
	const char *at = info->sentence;

	for (const char *open; (open = strchr(at, '{')) != NULL;) {
		const char *bar = strchr(open, '|'), *close = strchr(open, '}');
		const char *from = count == 1 ? open + 1 : bar + 1;

		aif_buf_append(out, at, (size_t)(open - at));
		aif_buf_append(out, from, (size_t)((count == 1 ? bar : close) - from));
		at = close + 1;
	}
	aif_buf_puts(out, at);
}
