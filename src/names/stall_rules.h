/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The meanings of the reasons for which device code stalls. The rules are data: stall_rules.def. */

enum aif_stall_class {
	AIF_STALL_MEMORY,
	AIF_STALL_EXECUTION,
	AIF_STALL_SYNC,
	AIF_STALL_FETCH,
	AIF_STALL_ISSUE, /* no stall: it issued, or could have */
	AIF_STALL_OTHER,
	AIF_STALL_CLASS_COUNT
};
const char *aif_stall_class_name(enum aif_stall_class of); /* "memory" */

struct aif_stall {
	const char *pattern;
	enum aif_stall_class of;
	bool pairs;          /* hidden and exposed ones are told apart */
	const char *meaning; /* "waits at a memory fence"; "" if it is not known */
	const char *helps;   /* "" if nothing is known to */
};

/* Finds a reason, with or without the ending that says exposed; never NULL. */
const struct aif_stall *aif_stall_find(const char *reason, size_t len);

/* The length of the reason without the ending that says that nothing was issued meanwhile. *ret_exposed (may be
 * NULL): it had it. */
size_t aif_stall_base(const char *reason, size_t len, bool *ret_exposed);
