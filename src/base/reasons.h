/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* See reasons.def. */
enum aif_reason {
#define AIF_REASON(number, name, class, sentence, fix) AIF_REASON_##name = number,
#include "base/reasons.def"
#undef AIF_REASON
};

struct aif_reason_info {
	int number;
	const char *name, *sentence, *fix; /* fix "" when nothing helps */
	bool is_loss;                      /* counts lost things; else names a degradation */
};

/* NULL for a number that this version does not know. */
const struct aif_reason_info *aif_reason_info(int number);

/* Appends the sentence as it is said of `count` things. */
void aif_reason_say(const struct aif_reason_info *info, uint64_t count, struct aif_buf *out);
